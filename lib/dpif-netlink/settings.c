/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/settings.h"

#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/takeover.h"
#include "dpif-netlink/upcall-queues.h"
#include "dpif-netlink/upcall-sync.h"
#include "netdev-linux/links.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_settings);

#define KEY_DISPATCH "upcall-dispatch"
#define KEY_ENGINE "upcall-engine"
#define KEY_MAX_SOCKETS "upcall-max-sockets"
#define KEY_BUFFER_MAX "upcall-buffer-max"
#define KEY_TARGET_DELAY "upcall-target-delay"
#define KEY_GROUP_SIZE "upcall-group-size"
#define KEY_QUEUES "upcall-port-queues"
#define KEY_HOLD "restart-hold"

/* Range of KEY_GROUP_SIZE: from one handler in each group to the most that one
 * lock was ever good for, and the value for the size that fits the machine. */
#define GROUP_SIZE_MIN 1
#define GROUP_SIZE_MAX 64
#define GROUP_SIZE_AUTO "auto"

/* The value for the number of queues that fits the port. */
#define QUEUES_AUTO "auto"

/* Range of KEY_BUFFER_MAX, in MiB: from room for a few sockets to more memory
 * than any machine has. */
#define BUFFER_MAX_MIN 16
#define BUFFER_MAX_MAX 1048576
#define BUFFER_MAX_DEFAULT "1024"
BUILD_ASSERT_DECL(UPCALL_BUFFER_MAX == UINT64_C(1024) << 20);

/* Range of KEY_MAX_SOCKETS: from two for the channels that belong to no port
 * and one for a new port, to more than a datapath can have ports. */
#define MAX_SOCKETS_MIN 3
#define MAX_SOCKETS_MAX 1000000

/* The values checked last, or NULL.  Under the mutex of the datapath. */
struct settings {
    char *dispatch;
    char *engine;
    char *max_sockets;
    char *buffer_max;
    char *target_delay;
    unsigned int target_ms;     /* In use. */
    char *group_size;
    char *queues;
    char *hold;
    unsigned int hold_s;        /* In use. */
    unsigned int buffer_mib;    /* In use. */
};

void
settings_create(struct kdp_datapath *dp)
{
    dp->settings = xzalloc(sizeof *dp->settings);
    dp->settings->buffer_mib = UPCALL_BUFFER_MAX >> 20;
    dp->settings->target_ms = UPCALL_DELAY_DEFAULT;
    dp->settings->hold_s = TAKEOVER_HOLD_DEFAULT;
    upcall_table_set_target_delay(dp->upcalls, UPCALL_DELAY_DEFAULT * 1000);
}

void
settings_destroy(struct kdp_datapath *dp)
{
    free(dp->settings->dispatch);
    free(dp->settings->engine);
    free(dp->settings->max_sockets);
    free(dp->settings->buffer_max);
    free(dp->settings->target_delay);
    free(dp->settings->group_size);
    free(dp->settings->queues);
    free(dp->settings->hold);
    free(dp->settings);
}

/* True if the value of 'key' differs from '*last', the value checked before.
 * A value is checked once, so that an invalid value is reported once. */
static bool
has_changed(char **last, const struct smap *config, const char *key,
            const char *deflt)
{
    const char *value = smap_get_def(config, key, deflt);

    if (*last && !strcmp(*last, value)) {
        return false;
    }
    free(*last);
    *last = xstrdup(value);
    return true;
}

static void
set_dispatch(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    enum dispatch_mode mode;

    if (!dispatch_mode_from_name(value, &mode)) {
        VLOG_WARN("%s: other_config:"KEY_DISPATCH" is \"%s\", expected "
                  "\"per-port\" or \"per-cpu\"; going on with \"%s\"",
                  dp->name, value,
                  dispatch_mode_name(upcall_dest_mode(dp)));
        return;
    }
    dispatch_set_mode(dp, mode);
}

static void
set_engine(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    const char *old_name = upcall_table_engine_name(dp->upcalls);
    const struct upcall_engine_class *class;
    int error;

    class = upcall_engine_lookup(value);
    if (!class) {
        VLOG_WARN("%s: other_config:"KEY_ENGINE" is \"%s\", expected "
                  "\"epoll\" or \"io_uring\"; going on with \"%s\"",
                  dp->name, value,
                  upcall_table_engine_name(dp->upcalls));
        return;
    }
    error = class->probe ? class->probe() : 0;
    if (error) {
        VLOG_WARN("%s: the kernel lacks what upcall engine \"%s\" needs (%s); "
                  "using \"%s\"", dp->name, class->name, ovs_strerror(error),
                  upcall_engine_epoll.name);
        class = &upcall_engine_epoll;
    }
    error = upcall_table_set_engine(dp->upcalls, class);
    if (error) {
        VLOG_WARN("%s: starting upcall engine \"%s\" failed (%s); going on "
                  "with \"%s\"", dp->name, class->name, ovs_strerror(error),
                  upcall_table_engine_name(dp->upcalls));
        return;
    }
    if (class->name == old_name) {
        return;
    }
    VLOG_INFO("%s: upcalls are received with engine \"%s\"", dp->name,
              class->name);
}

static void
set_max_sockets(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int n;

    if (!str_to_uint(value, 10, &n)
        || (n && n < MAX_SOCKETS_MIN) || n > MAX_SOCKETS_MAX) {
        VLOG_WARN("%s: other_config:"KEY_MAX_SOCKETS" is \"%s\", expected 0 "
                  "(no limit) or %d to %d; going on with %"PRIuSIZE, dp->name,
                  value, MAX_SOCKETS_MIN, MAX_SOCKETS_MAX,
                  socket_budget_get_max(dp));
    } else if (socket_budget_set_max(dp, n) && dispatch_is_on(dp)) {
        upcall_sync_request(dp);
    }
}

static void
set_buffer_max(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int mib;

    if (!str_to_uint(value, 10, &mib)
        || mib < BUFFER_MAX_MIN || mib > BUFFER_MAX_MAX) {
        VLOG_WARN("%s: other_config:"KEY_BUFFER_MAX" is \"%s\", expected %d "
                  "to %d MiB; going on with %u", dp->name, value,
                  BUFFER_MAX_MIN, BUFFER_MAX_MAX, dp->settings->buffer_mib);
        return;
    }
    dp->settings->buffer_mib = mib;
    upcall_table_set_buffer_max(dp->upcalls, (uint64_t) mib << 20);
}

static void
set_target_delay(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int ms;

    if (!str_to_uint(value, 10, &ms) || ms > UPCALL_DELAY_MAX) {
        VLOG_WARN("%s: other_config:"KEY_TARGET_DELAY" is \"%s\", expected 0 "
                  "(off) to %d ms; going on with %u", dp->name, value,
                  UPCALL_DELAY_MAX, dp->settings->target_ms);
        return;
    }
    dp->settings->target_ms = ms;
    upcall_table_set_target_delay(dp->upcalls, ms * 1000);
}

static void
set_group_size(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t old = upcall_table_group_size(dp->upcalls);
    unsigned int size;
    int error;

    if (!strcmp(value, GROUP_SIZE_AUTO)) {
        size = upcall_llc_group_size(upcall_llc_n_cpus(UPCALL_LLC_SYSFS));
    } else if (!str_to_uint(value, 10, &size)
               || size < GROUP_SIZE_MIN || size > GROUP_SIZE_MAX) {
        VLOG_WARN("%s: other_config:"KEY_GROUP_SIZE" is \"%s\", expected "
                  "\""GROUP_SIZE_AUTO"\" or %d to %d; going on with %"PRIu32,
                  dp->name, value, GROUP_SIZE_MIN, GROUP_SIZE_MAX, old);
        return;
    }
    error = upcall_table_set_group_size(dp->upcalls, size);
    if (error) {
        VLOG_WARN("%s: making groups of %u upcall handlers failed (%s); going "
                  "on with %"PRIu32, dp->name, size, ovs_strerror(error), old);
    }
}

/* Parses a number of queues, or "auto" as 0. */
static bool
parse_queues(const char *value, unsigned int *n)
{
    *n = 0;
    return (!strcmp(value, QUEUES_AUTO)
            || (str_to_uint(value, 10, n) && *n && *n <= UPCALL_MAX_QUEUES));
}

static void
set_queues(struct kdp_datapath *dp, const char *value)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int n;

    if (parse_queues(value, &n)) {
        upcall_queues_set(dp, n);
    } else {
        n = upcall_queues_get(dp);
        VLOG_WARN("%s: other_config:"KEY_QUEUES" is \"%s\", expected "
                  "\""QUEUES_AUTO"\" or 1 to %d; going on with %s%.0u",
                  dp->name, value, UPCALL_MAX_QUEUES, n ? "" : QUEUES_AUTO, n);
    }
}

static void
set_hold(struct kdp_datapath *dp, const char *value)
{
    unsigned int s;

    if (!str_to_uint(value, 10, &s) || s > TAKEOVER_HOLD_MAX) {
        VLOG_WARN("%s: other_config:"KEY_HOLD" is \"%s\", expected 0 (off) to "
                  "%d s; going on with %u", dp->name, value,
                  TAKEOVER_HOLD_MAX, dp->settings->hold_s);
        return;
    }
    dp->settings->hold_s = s;
    takeover_set_hold(dp, s);
}

void
settings_set_port(struct kdp_datapath *dp, uint32_t port_no,
                  const struct smap *config)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    const char *value = smap_get_def(config, KEY_QUEUES, QUEUES_AUTO);
    unsigned int n;

    if (!parse_queues(value, &n)) {
        struct ovs_vport vport = { .port_no = port_no };

        vport_table_get_by_number(dp->vports, port_no, &vport);
        VLOG_WARN_RL(&rl, "%s: other_config:"KEY_QUEUES" of the interface of "
                     "port %"PRIu32" (%s) is \"%s\", expected "
                     "\""QUEUES_AUTO"\" or 1 to %d; going on as without it",
                     dp->name, port_no, vport.name, value, UPCALL_MAX_QUEUES);
        n = 0;
    }
    ovs_mutex_lock(&dp->mutex);
    upcall_queues_set_port(dp, port_no, n);
    ovs_mutex_unlock(&dp->mutex);
}

void
settings_set(struct kdp_datapath *dp, const struct smap *config)
{
    struct settings *settings = dp->settings;

    kdp_links_set_config(config);
    ovs_mutex_lock(&dp->mutex);
    if (has_changed(&settings->dispatch, config, KEY_DISPATCH,
                    dispatch_mode_name(DISPATCH_PER_PORT))) {
        set_dispatch(dp, settings->dispatch);
    }
    if (has_changed(&settings->max_sockets, config, KEY_MAX_SOCKETS, "0")) {
        set_max_sockets(dp, settings->max_sockets);
    }
    if (has_changed(&settings->buffer_max, config, KEY_BUFFER_MAX,
                    BUFFER_MAX_DEFAULT)) {
        set_buffer_max(dp, settings->buffer_max);
    }
    if (has_changed(&settings->target_delay, config, KEY_TARGET_DELAY,
                    OVS_STRINGIZE(UPCALL_DELAY_DEFAULT))) {
        set_target_delay(dp, settings->target_delay);
    }
    if (has_changed(&settings->group_size, config, KEY_GROUP_SIZE,
                    GROUP_SIZE_AUTO)) {
        set_group_size(dp, settings->group_size);
    }
    if (has_changed(&settings->queues, config, KEY_QUEUES, QUEUES_AUTO)) {
        set_queues(dp, settings->queues);
    }
    if (has_changed(&settings->hold, config, KEY_HOLD,
                    OVS_STRINGIZE(TAKEOVER_HOLD_DEFAULT))) {
        set_hold(dp, settings->hold);
    }
    if (has_changed(&settings->engine, config, KEY_ENGINE,
                    upcall_engine_epoll.name)) {
        set_engine(dp, settings->engine);
    }
    ovs_mutex_unlock(&dp->mutex);
}

int
settings_limit_handlers(int n)
{
    static int last, wrong;

    if (n <= (int) UPCALL_MAX_HANDLERS) {
        last = n;
        wrong = 0;
    } else if (n != wrong) {
        char *instead = (last > 0 ? xasprintf("%d", last)
                         : xstrdup("a number that fits the machine"));

        wrong = n;
        VLOG_WARN("other_config:n-handler-threads is %d, expected 1 to %u; "
                  "going on with %s", n, UPCALL_MAX_HANDLERS, instead);
        free(instead);
    }
    return last;
}
