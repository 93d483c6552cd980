/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-meters.h"

#include <errno.h>
#include <stdlib.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-engine.h"
#include "hash.h"
#include "openvswitch/list.h"
#include "ovs-rcu.h"
#include "ovs/compat-offload.h"
#include "util.h"

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

struct kdp_flow_meters *
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

void
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

void
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
