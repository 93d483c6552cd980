/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DPIF_KDP_H
#define KDP_DPIF_NETLINK_DPIF_KDP_H 1

/* A dpif of our class, for files that implement functions of the class. */

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

#endif /* lib/dpif-netlink/dpif-kdp.h */
