/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/forward.h"

#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-offload.h"
#include "offload/offload-info.h"
#include "ovs/compat-dpif.h"

#define INNER_CLASS(DPIF) (dpif_kdp_inner(DPIF)->dpif_class)
#define INNER_CALL(NAME, DPIF, ...) \
    INNER_CLASS(DPIF)->NAME(dpif_kdp_inner(DPIF), ##__VA_ARGS__)

int
dpif_kdp_get_stats(const struct dpif *dpif, struct dpif_dp_stats *stats)
{
    int error = INNER_CALL(get_stats, dpif, stats);

    if (!error && ovs_compat_counts_tc_flows()) {
        struct kdp_flow_engine *engine
            = kdp_flow_engine_get(dpif_kdp_cast(dpif)->dp);

        /* The kernel counts only its own flows. */
        stats->n_flows += engine ? offload_n_tc_only(engine->offload) : 0;
    }
    return error;
}

int
dpif_kdp_queue_to_priority(const struct dpif *dpif, uint32_t queue_id,
                           uint32_t *priority)
{
    return INNER_CALL(queue_to_priority, dpif, queue_id, priority);
}

char *
dpif_kdp_get_datapath_version(void)
{
    return dpif_netlink_class.get_datapath_version();
}

int
dpif_kdp_ct_dump_start(struct dpif *dpif, struct ct_dpif_dump_state **state,
                       const uint16_t *zone, int *tot_bkts)
{
    return INNER_CALL(ct_dump_start, dpif, state, zone, tot_bkts);
}

int
dpif_kdp_ct_dump_next(struct dpif *dpif, struct ct_dpif_dump_state *state,
                      struct ct_dpif_entry *entry)
{
    return INNER_CALL(ct_dump_next, dpif, state, entry);
}

int
dpif_kdp_ct_dump_done(struct dpif *dpif, struct ct_dpif_dump_state *state)
{
    return INNER_CALL(ct_dump_done, dpif, state);
}

int
dpif_kdp_ct_flush(struct dpif *dpif, const uint16_t *zone,
                  const struct ct_dpif_tuple *tuple)
{
    return INNER_CALL(ct_flush, dpif, zone, tuple);
}

int
dpif_kdp_ct_set_limits(struct dpif *dpif,
                       OVS_COMPAT_CT_DEFAULT_PARAM(const uint32_t *)
                       const struct ovs_list *zone_limits)
{
    return INNER_CALL(ct_set_limits, dpif,
                      OVS_COMPAT_CT_DEFAULT_ARG zone_limits);
}

int
dpif_kdp_ct_get_limits(struct dpif *dpif,
                       OVS_COMPAT_CT_DEFAULT_PARAM(uint32_t *)
                       const struct ovs_list *zone_limits_request,
                       struct ovs_list *zone_limits_reply)
{
    return INNER_CALL(ct_get_limits, dpif,
                      OVS_COMPAT_CT_DEFAULT_ARG zone_limits_request,
                      zone_limits_reply);
}

int
dpif_kdp_ct_del_limits(struct dpif *dpif, const struct ovs_list *zone_limits)
{
    return INNER_CALL(ct_del_limits, dpif, zone_limits);
}

int
dpif_kdp_ct_set_timeout_policy(struct dpif *dpif,
                               const struct ct_dpif_timeout_policy *tp)
{
    return INNER_CALL(ct_set_timeout_policy, dpif, tp);
}

int
dpif_kdp_ct_get_timeout_policy(struct dpif *dpif, uint32_t tp_id,
                               struct ct_dpif_timeout_policy *tp)
{
    return INNER_CALL(ct_get_timeout_policy, dpif, tp_id, tp);
}

int
dpif_kdp_ct_del_timeout_policy(struct dpif *dpif, uint32_t tp_id)
{
    return INNER_CALL(ct_del_timeout_policy, dpif, tp_id);
}

int
dpif_kdp_ct_timeout_policy_dump_start(struct dpif *dpif, void **statep)
{
    return INNER_CALL(ct_timeout_policy_dump_start, dpif, statep);
}

int
dpif_kdp_ct_timeout_policy_dump_next(struct dpif *dpif, void *state,
                                     struct ct_dpif_timeout_policy *tp)
{
    return INNER_CALL(ct_timeout_policy_dump_next, dpif, state, tp);
}

int
dpif_kdp_ct_timeout_policy_dump_done(struct dpif *dpif, void *state)
{
    return INNER_CALL(ct_timeout_policy_dump_done, dpif, state);
}

int
dpif_kdp_ct_get_timeout_policy_name(struct dpif *dpif, uint32_t tp_id,
                                    uint16_t dl_type, uint8_t nw_proto,
                                    char **tp_name, bool *is_generic)
{
    return INNER_CALL(ct_get_timeout_policy_name, dpif, tp_id, dl_type,
                      nw_proto, tp_name, is_generic);
}

int
dpif_kdp_ct_get_features(struct dpif *dpif, enum ct_features *features)
{
    return INNER_CALL(ct_get_features, dpif, features);
}

void
dpif_kdp_meter_get_features(const struct dpif *dpif,
                            struct ofputil_meter_features *features)
{
    INNER_CALL(meter_get_features, dpif, features);
}

int
dpif_kdp_meter_set(struct dpif *dpif, ofproto_meter_id meter_id,
                   struct ofputil_meter_config *config)
{
    /* In the process that serves, the number may belong to another meter. */
    return (kdp_datapath_is_shadow() ? EBUSY
            : kdp_flow_meters_set(dpif_kdp_cast(dpif)->dp, meter_id, config));
}

int
dpif_kdp_meter_get(const struct dpif *dpif, ofproto_meter_id meter_id,
                   struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    return INNER_CALL(meter_get, dpif, meter_id, stats, n_bands);
}

int
dpif_kdp_meter_del(struct dpif *dpif, ofproto_meter_id meter_id,
                   struct ofputil_meter_stats *stats, uint16_t n_bands)
{
    return kdp_flow_meters_del(dpif_kdp_cast(dpif)->dp, meter_id, stats,
                               n_bands);
}

int
dpif_kdp_cache_get_supported_levels(struct dpif *dpif, uint32_t *levels)
{
    return INNER_CALL(cache_get_supported_levels, dpif, levels);
}

int
dpif_kdp_cache_get_name(struct dpif *dpif, uint32_t level, const char **name)
{
    return INNER_CALL(cache_get_name, dpif, level, name);
}

int
dpif_kdp_cache_get_size(struct dpif *dpif, uint32_t level, uint32_t *size)
{
    return INNER_CALL(cache_get_size, dpif, level, size);
}

int
dpif_kdp_cache_set_size(struct dpif *dpif, uint32_t level, uint32_t size)
{
    return INNER_CALL(cache_set_size, dpif, level, size);
}
