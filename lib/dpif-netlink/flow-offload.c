/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-offload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/flow-ports.h"
#include "hash.h"
#include "netdev-linux/lag.h"
#include "netdev-linux/links.h"
#include "odp-netlink.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs/compat-offload.h"
#include "smap.h"
#include "tc/tc-backend.h"
#include "tc/tc-chains.h"
#include "tc/tc-orphans.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_flow_offload);

#define KEY_HW_OFFLOAD "hw-offload"
#define KEY_THREADS "n-offload-threads"
#define KEY_DELAY "offload-delay"
#define KEY_BYTES "offload-bytes"
#define KEY_REBALANCE "offload-rebalance"

/* Milliseconds between checks whether the rules of a previous run are gone, so
 * that members of bonds can be unbound.  This happens once, at the start. */
#define UNBIND_INTERVAL 100

/* Longest KEY_DELAY, in ms: a flow that lives longer than an hour is not
 * short-lived. */
#define MAX_DELAY 3600000

/* Settings, kept while there is no engine, too. */
struct kdp_flow_offload {
    struct offload_config config;
    bool count_headers;         /* Count headers in the bytes of rules in
                                 * tc. */
    bool keeps_old;             /* Rules that a previous run left on ports
                                 * stay. */
    bool unbind;                /* Unbind members of bonds once the rules of
                                 * the previous run are gone; unbinding earlier
                                 * would make the kernel delete these rules. */
    bool look;                  /* Look for rules of the previous run, */
    bool may_look;              /* which is allowed after a bridge has set
                                 * settings. */
    bool wanted;                /* Setting: offload is wanted. */

    /* Values looked at last, or NULL. */
    char *threads;
    char *delay;
    char *bytes;
};

/* Meters. */

struct meter {
    struct hmap_node node;      /* In kdp_flow_meters->meters, by id. */
    struct ovs_list list_node;  /* In kdp_flow_meters->missing, or empty. */
    ofproto_meter_id id;
    struct ofputil_meter_config config;
};

struct kdp_flow_meters {
    struct ovs_mutex mutex;
    struct hmap meters OVS_GUARDED;
    struct ovs_list missing OVS_GUARDED;        /* Meters that tc does not
                                                 * have. */
};

static struct kdp_flow_meters *
kdp_flow_meters_create(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct kdp_flow_meters *meters = xmalloc(sizeof *meters);

    ovs_mutex_init(&meters->mutex);
    hmap_init(&meters->meters);
    ovs_list_init(&meters->missing);
    return meters;
}

static void
meter_destroy(struct kdp_flow_meters *meters, struct meter *meter)
    OVS_REQUIRES(meters->mutex)
{
    hmap_remove(&meters->meters, &meter->node);
    ovs_list_remove(&meter->list_node);
    free(meter->config.bands);
    free(meter);
}

static void
kdp_flow_meters_destroy(struct kdp_flow_meters *meters)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct meter *meter;

    HMAP_FOR_EACH_SAFE (meter, node, &meters->meters) {
        meter_destroy(meters, meter);
    }
    hmap_destroy(&meters->meters);
    ovs_mutex_destroy(&meters->mutex);
    free(meters);
}

static struct meter *
meter_find(struct kdp_flow_meters *meters, ofproto_meter_id id)
    OVS_REQUIRES(meters->mutex)
{
    struct meter *meter;

    HMAP_FOR_EACH_WITH_HASH (meter, node, hash_int(id.uint32, 0),
                             &meters->meters) {
        if (meter->id.uint32 == id.uint32) {
            return meter;
        }
    }
    return NULL;
}

/* Remembers that meter 'id' is 'config', and whether tc has it. */
static void
meter_set(struct kdp_flow_meters *meters, ofproto_meter_id id,
          const struct ofputil_meter_config *config, bool in_tc)
    OVS_REQUIRES(meters->mutex)
{
    struct meter *meter = meter_find(meters, id);

    if (!meter) {
        meter = xzalloc(sizeof *meter);
        meter->id = id;
        ovs_list_init(&meter->list_node);
        hmap_insert(&meters->meters, &meter->node, hash_int(id.uint32, 0));
    }
    free(meter->config.bands);
    meter->config = *config;
    meter->config.bands
        = (config->n_bands
           ? xmemdup(config->bands, config->n_bands * sizeof *config->bands)
           : NULL);
    ovs_list_remove(&meter->list_node);
    ovs_list_init(&meter->list_node);
    if (!in_tc) {
        ovs_list_push_back(&meters->missing, &meter->list_node);
    }
}

int
kdp_flow_meters_set(struct kdp_datapath *dp, ofproto_meter_id id,
                    struct ofputil_meter_config *config)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct kdp_flow_meters *meters = dp->meters;
    struct dpif *inner = dp->inner;
    int error;

    ovs_mutex_lock(&meters->mutex);
    error = inner->dpif_class->meter_set(inner, id, config);
    if (!error) {
        meter_set(meters, id, config, ovs_compat_offload_is_enabled());
    }
    ovs_mutex_unlock(&meters->mutex);
    if (!error && engine) {
        offload_meters_changed(engine->offload);
    }
    return error;
}

int
kdp_flow_meters_del(struct kdp_datapath *dp, ofproto_meter_id id,
                    struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    struct kdp_flow_meters *meters = dp->meters;
    struct dpif *inner = dp->inner;
    struct meter *meter;
    int error;

    ovs_mutex_lock(&meters->mutex);
    error = inner->dpif_class->meter_del(inner, id, stats, n_bands);
    meter = meter_find(meters, id);
    if (!error && meter) {
        meter_destroy(meters, meter);
    }
    ovs_mutex_unlock(&meters->mutex);
    return error;
}

/* Creates one missing policer.  Returns false if none is missing. */
static bool
offload_one(struct kdp_flow_meters *meters)
{
    struct meter *meter = NULL;

    ovs_mutex_lock(&meters->mutex);
    if (!ovs_list_is_empty(&meters->missing)) {
        meter = CONTAINER_OF(ovs_list_pop_front(&meters->missing),
                             struct meter, list_node);
        ovs_list_init(&meter->list_node);
        ovs_compat_meter_set(meter->id, &meter->config);
    }
    ovs_mutex_unlock(&meters->mutex);
    return meter != NULL;
}

/* Creates the missing policers in tc, now that offload is on.  'dp_' is a
 * struct kdp_datapath.  For struct kdp_tc. */
static void
kdp_flow_meters_offload(void *dp_)
{
    struct kdp_datapath *dp = dp_;
    bool any = false;

    while (offload_one(dp->meters)) {
        /* Creating a policer takes the RTNL lock. */
        ovsrcu_quiesce();
        any = true;
    }
    if (any) {
        struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

        if (engine) {
            offload_meters_changed(engine->offload);
        }
    }
}

/* Settings and life cycle. */

/* Life cycle. */

void
kdp_flow_offload_create(struct kdp_datapath *dp)
{
    dp->offload = xzalloc(sizeof *dp->offload);
    dp->offload->config = (struct offload_config) OFFLOAD_CONFIG_DEFAULT;
    dp->offload->config.read_interval = OFFLOAD_READ_INTERVAL;
    dp->offload->config.audit_interval = OFFLOAD_AUDIT_INTERVAL;
    dp->offload->keeps_old = dp->offload->look = true;
    dp->meters = kdp_flow_meters_create();
}

/* True if the datapath shares recirculation chains with tc. */
static bool
shares_chains(struct kdp_datapath *dp)
{
    bool shares;

    ovs_mutex_lock(&dp->mutex);
    shares = (dp->user_features & OVS_DP_F_TC_RECIRC_SHARING) != 0;
    ovs_mutex_unlock(&dp->mutex);
    return shares;
}

static struct kdp_flow_engine *
create_engine(struct kdp_datapath *dp)
{
    const struct offload_config *config = &dp->offload->config;
    struct kdp_flow_engine *engine = xzalloc(sizeof *engine);
    struct offload_kernel kernel_side;
    struct offload_backend backend;
    bool sharing = shares_chains(dp);

    engine->dp = dp;
    kdp_tc_init(&engine->tc, kdp_dpif_type, sharing);
    engine->tc.begin = kdp_flow_meters_offload;
    engine->tc.begin_aux = dp;
    atomic_store_relaxed(&engine->tc.count_headers,
                         dp->offload->count_headers);
    atomic_init(&engine->enabled, true);
    kdp_flow_ports_create(engine);
    kernel_side = kdp_flow_kernel(engine);
    backend = kdp_tc_backend(&engine->tc);
    engine->offload = offload_create(&kernel_side, &backend, config);
    offload_set_chains(engine->offload, sharing);
    offload_keep_chains(engine->offload, dp->offload->keeps_old);
    VLOG_INFO("%s: flows are offloaded to tc by %u thread%s%s", dp->name,
              config->n_threads, config->n_threads == 1 ? "" : "s",
              sharing ? "" : "; those of recirculation chains stay in the "
              "kernel datapath, which cannot share their ids with tc");
    return engine;
}

static void
destroy_engine(struct kdp_flow_engine *engine)
{
    if (engine) {
        offload_destroy(engine->offload);
        kdp_tc_destroy(&engine->tc);
        kdp_flow_ports_destroy(engine);
        free(engine);
    }
}

void
kdp_flow_offload_destroy(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct kdp_flow_offload *offload = dp->offload;

    kdp_flow_engine_set(dp, NULL);
    destroy_engine(engine);
    kdp_links_follow_qdiscs(true);
    if (offload->may_look) {
        kdp_tc_orphans_stop(false);
    }
    kdp_flow_meters_destroy(dp->meters);
    free(offload->threads);
    free(offload->delay);
    free(offload->bytes);
    free(offload);
}

void
kdp_flow_offload_clean_up(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    if (engine) {
        kdp_flow_ports_enable(engine, false);
        offload_flush(engine->offload);
        offload_set_enabled(engine->offload, false);
    }
    kdp_tc_orphans_stop(true);
}

/* Rules of a previous run. */

/* Unbinds devices that a previous run bound to a bond and this run did not. */
static void
unbind_old(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    if (engine) {
        /* All ports have been added by now.  The engine has to know the bonds
         * among them before anything is unbound. */
        kdp_flow_ports_changed(engine);
        kdp_flow_ports_run(engine);
    }
    netdev_kdp_lag_clean(true, kdp_tc_orphans_may_unbind);
}

/* Looks for rules of a previous run, once the bridge has added its ports.  The
 * engine knows the rules on ports. */
static void
look_for_old(struct kdp_datapath *dp)
{
    struct kdp_flow_offload *offload = dp->offload;

    if (offload->look && offload->may_look) {
        bool spare = (offload->keeps_old || offload->wanted
                      || kdp_flow_engine_get(dp));

        offload->look = false;
        offload->unbind = !offload->keeps_old;
        kdp_tc_orphans_look(kdp_dpif_type,
                            (spare ? KDP_TC_ORPHANS_SPARE_PORTS : 0)
                            | (offload->keeps_old ? 0 : KDP_TC_ORPHANS_LAST));
    }
}

void
kdp_flow_offload_keep_old(struct kdp_datapath *dp)
{
    dp->offload->keeps_old = true;
}

size_t
kdp_flow_offload_delete_old_chains(struct kdp_datapath *dp)
{
    return shares_chains(dp) ? kdp_tc_clean_chains(kdp_dpif_type) : 0;
}

void
kdp_flow_offload_end_old(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    dp->offload->keeps_old = false;
    dp->offload->look = true;
    if (engine) {
        offload_keep_chains(engine->offload, false);
    }
}

bool
kdp_flow_offload_keeps_old(const struct kdp_datapath *dp)
{
    return dp->offload->keeps_old;
}

void
kdp_flow_offload_was_port(struct kdp_datapath *dp, int ifindex)
{
    if (dp->offload->keeps_old) {
        kdp_tc_orphans_was_port(ifindex);
    }
}

/* Settings. */

/* Stores the whole number 'key' of 'config', from 'min' to 'max', in '*value'.
 * An invalid value is logged, unless it was logged last time, and changes
 * nothing. */
static void
set_number(const struct kdp_datapath *dp, const struct smap *config,
           const char *key, unsigned int min, unsigned int max,
           unsigned int deflt, char **last, unsigned int *value)
{
    const char *string = smap_get(config, key);
    unsigned int n;

    if (!string) {
        *value = deflt;
    } else if (str_to_uint(string, 10, &n) && n >= min && n <= max) {
        *value = n;
    } else if (!*last || strcmp(*last, string)) {
        VLOG_WARN("%s: other_config:%s is \"%s\", expected a number from %u "
                  "to %u; going on with %u", dp->name, key, string, min, max,
                  *value);
    }
    free(*last);
    *last = nullable_xstrdup(string);
}

/* Sets whether the bytes of packets that tc forwards are reported with their
 * headers, as the kernel datapath does, or as tc counts them. */
static void
set_bytes(struct kdp_datapath *dp, const struct smap *config)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct kdp_flow_offload *last = dp->offload;
    const char *string = smap_get_def(config, KEY_BYTES, "tc");

    if (!strcmp(string, "tc") || !strcmp(string, "datapath")) {
        last->count_headers = !strcmp(string, "datapath");
    } else if (!last->bytes || strcmp(last->bytes, string)) {
        VLOG_WARN("%s: other_config:"KEY_BYTES" is \"%s\", expected \"tc\" or "
                  "\"datapath\"; going on with \"%s\"", dp->name, string,
                  last->count_headers ? "datapath" : "tc");
    }
    free(last->bytes);
    last->bytes = xstrdup(string);
    if (engine) {
        atomic_store_relaxed(&engine->tc.count_headers, last->count_headers);
    }
}

static void
set_engine(struct kdp_datapath *dp, const struct smap *config)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct kdp_flow_offload *last = dp->offload;
    struct offload_config old = last->config;

    set_number(dp, config, KEY_THREADS, 1, OFFLOAD_MAX_THREADS, 1,
               &last->threads, &last->config.n_threads);
    set_number(dp, config, KEY_DELAY, 0, MAX_DELAY, 0, &last->delay,
               &last->config.delay);
    last->config.max_idle = MAX(0, smap_get_int(config, "max-idle",
                                                OFFLOAD_MAX_IDLE));
    last->config.rebalance_interval
        = (smap_get_bool(config, KEY_REBALANCE, false)
           ? OFFLOAD_REBALANCE_INTERVAL : 0);
    if (engine && memcmp(&old, &last->config, sizeof old)) {
        offload_configure(engine->offload, &last->config);
    }
}

/* See kdp_flow_offload_forbid(). */
static bool forbidden;

void
kdp_flow_offload_forbid(void)
{
    forbidden = true;
}

void
kdp_flow_offload_set(struct kdp_datapath *dp, const struct smap *config)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    bool enable = smap_get_bool(config, KEY_HW_OFFLOAD, false);
    struct kdp_flow_offload *offload = dp->offload;
    bool enabled = false;

    if (enable && forbidden) {
        VLOG_WARN_ONCE("%s: other_config:"KEY_HW_OFFLOAD" has no effect: "
                       "there is no offload in this program", dp->name);
        enable = false;
    }
    set_engine(dp, config);
    set_bytes(dp, config);
    if (engine) {
        atomic_read_relaxed(&engine->enabled, &enabled);
    }
    offload->wanted = enable;
    offload->may_look = true;

    /* The kernel would announce each rule. */
    kdp_links_follow_qdiscs(!enable);
    if (enable && !engine) {
        kdp_flow_engine_set(dp, create_engine(dp));
    } else if (engine && enable != enabled) {
        VLOG_INFO("%s: offload to tc is turned %s%s", dp->name,
                  enable ? "on" : "off",
                  enable ? "" : "; flows move back to the kernel datapath");
        atomic_store_relaxed(&engine->enabled, enable);
        kdp_flow_ports_enable(engine, enable);
        offload_set_enabled(engine->offload, enable);
    }
}

/* Ports. */

void
kdp_flow_offload_ports_changed(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    if (engine) {
        kdp_flow_ports_changed(engine);
    }
}

void
kdp_flow_offload_port_del(struct kdp_datapath *dp, uint32_t port_no)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    if (engine) {
        kdp_flow_ports_del(engine, port_no);
    }
}

void
kdp_flow_offload_run(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    look_for_old(dp);
    if (dp->offload->unbind && kdp_tc_orphans_last_ended()) {
        dp->offload->unbind = false;
        unbind_old(dp);
    }
    if (engine) {
        kdp_flow_ports_run(engine);
    }
}

void
kdp_flow_offload_wait(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    if (dp->offload->unbind) {
        /* The thread that goes through rules does not wake the main loop. */
        poll_timer_wait(UNBIND_INTERVAL);
    }
    if (engine) {
        kdp_flow_ports_wait(engine);
    }
}
