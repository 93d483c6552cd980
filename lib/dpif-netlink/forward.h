/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FORWARD_H
#define KDP_DPIF_NETLINK_FORWARD_H 1

/* A dpif of our class, for files that implement functions of the class; and
 * the functions that change nothing: each calls the function of the same name
 * of the inner dpif.  Only get_stats() adds the flows in tc to the kernel's
 * flows, for versions of Open vSwitch that do not.
 *
 * Thread safety and failure: like the inner dpif. */

#include "dpif-netlink/datapath.h"
#include "util.h"

struct vport_poller;

struct dpif_kdp {
    struct dpif dpif;
    struct kdp_datapath *dp;
    struct vport_poller *poller;    /* For port_poll; NULL before that. */
    bool is_bridge;                 /* The dpif belongs to a bridge, not to a
                                     * command. */

    /* Requests of the bridge in the shadow of another process. */
    bool recv_wanted;
    uint32_t n_handlers;
};

/* Declares the class's function for member NAME. */
#define DPIF_KDP_DECLARE(NAME) \
    extern __typeof__(*((struct dpif_class *) 0)->NAME) dpif_kdp_##NAME

DPIF_KDP_DECLARE(get_stats);
DPIF_KDP_DECLARE(queue_to_priority);
DPIF_KDP_DECLARE(get_datapath_version);
DPIF_KDP_DECLARE(ct_dump_start);
DPIF_KDP_DECLARE(ct_dump_next);
DPIF_KDP_DECLARE(ct_dump_done);
DPIF_KDP_DECLARE(ct_flush);
DPIF_KDP_DECLARE(ct_set_limits);
DPIF_KDP_DECLARE(ct_get_limits);
DPIF_KDP_DECLARE(ct_del_limits);
DPIF_KDP_DECLARE(ct_set_timeout_policy);
DPIF_KDP_DECLARE(ct_get_timeout_policy);
DPIF_KDP_DECLARE(ct_del_timeout_policy);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_start);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_next);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_done);
DPIF_KDP_DECLARE(ct_get_timeout_policy_name);
DPIF_KDP_DECLARE(ct_get_features);
DPIF_KDP_DECLARE(meter_get_features);
DPIF_KDP_DECLARE(meter_set);
DPIF_KDP_DECLARE(meter_get);
DPIF_KDP_DECLARE(meter_del);
DPIF_KDP_DECLARE(cache_get_supported_levels);
DPIF_KDP_DECLARE(cache_get_name);
DPIF_KDP_DECLARE(cache_get_size);
DPIF_KDP_DECLARE(cache_set_size);

static inline struct dpif_kdp *
dpif_kdp_cast(const struct dpif *dpif)
{
    /* The class itself is in a file above the callers.  No other class has
     * this function. */
    ovs_assert(dpif->dpif_class->get_stats == dpif_kdp_get_stats);
    return CONTAINER_OF(dpif, struct dpif_kdp, dpif);
}

/* The inner dpif of 'dpif'. */
static inline struct dpif *
dpif_kdp_inner(const struct dpif *dpif)
{
    return dpif_kdp_cast(dpif)->dp->inner;
}

#endif /* lib/dpif-netlink/forward.h */
