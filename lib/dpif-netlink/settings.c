/* SPDX-License-Identifier: Apache-2.0 */

/* Settings of the dpif provider: keys of column other_config of table
 * Open_vSwitch. */

#include <config.h>
#include "dpif-netlink/datapath.h"

#include <stdlib.h>
#include <string.h>

#include "netdev-linux/links.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "upcall/upcall-engine.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_config);

#define KEY_DISPATCH "upcall-dispatch"
#define KEY_ENGINE "upcall-engine"
#define KEY_MAX_SOCKETS "upcall-max-sockets"

/* Range of KEY_MAX_SOCKETS: one for the channel that belongs to no port, one
 * for a port and one for a port on its way, to more than a datapath can have
 * ports. */
#define MAX_SOCKETS_MIN 3
#define MAX_SOCKETS_MAX 1000000

/* True if 'value' of 'key' differs from the one in '*last' that was looked at
 * before.  A value is looked at once, so that a wrong one is reported once. */
static bool
config_changed(char **last, const struct smap *config, const char *key,
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
config_dispatch(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    if (!kdp_dispatch_from_name(dp->config_dispatch, &dp->wanted_dispatch)) {
        VLOG_WARN("%s: other_config:"KEY_DISPATCH" is \"%s\", expected "
                  "\"per-port\" or \"per-cpu\"; going on with \"%s\"",
                  dp->name, dp->config_dispatch,
                  kdp_dispatch_name(dp->dispatch));
        return;
    }
    kdp_dispatch_change(dp);
}

static void
config_engine(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    const char *old_name = upcall_table_engine_name(dp->upcalls);
    const struct upcall_engine_class *class;
    int error;

    class = upcall_engine_lookup(dp->config_engine);
    if (!class) {
        VLOG_WARN("%s: other_config:"KEY_ENGINE" is \"%s\", expected "
                  "\"epoll\" or \"io_uring\"; going on with \"%s\"",
                  dp->name, dp->config_engine,
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
config_max_sockets(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    unsigned int n;

    if (!str_to_uint(dp->config_max_sockets, 10, &n)
        || (n && n < MAX_SOCKETS_MIN) || n > MAX_SOCKETS_MAX) {
        VLOG_WARN("%s: other_config:"KEY_MAX_SOCKETS" is \"%s\", expected 0 "
                  "(no limit) or %d to %d; going on with %"PRIuSIZE, dp->name,
                  dp->config_max_sockets, MAX_SOCKETS_MIN, MAX_SOCKETS_MAX,
                  dp->max_sockets);
        return;
    }
    if (n != dp->max_sockets) {
        dp->max_sockets = n;
        dp->share_noted = false;
        dp->refresh = dp->recv;
        dp->refresh_at = LLONG_MIN;
    }
}

void
kdp_datapath_set_config(struct kdp_datapath *dp, const struct smap *config)
{
    kdp_links_set_config(config);
    ovs_mutex_lock(&dp->mutex);
    if (config_changed(&dp->config_dispatch, config, KEY_DISPATCH,
                       kdp_dispatch_name(KDP_PER_PORT))) {
        config_dispatch(dp);
    }
    if (config_changed(&dp->config_max_sockets, config, KEY_MAX_SOCKETS,
                       "0")) {
        config_max_sockets(dp);
    }
    if (config_changed(&dp->config_engine, config, KEY_ENGINE,
                       upcall_engine_epoll.name)) {
        config_engine(dp);
    }
    ovs_mutex_unlock(&dp->mutex);
}
