/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_STATS_H
#define KDP_DPIF_NETLINK_FLOW_STATS_H 1

/* Converts statistics of a flow between dpifs and the offload engine. */

#include "dpif.h"
#include "offload/offload-backend.h"

static inline struct offload_stats
kdp_flow_stats_from_dpif(const struct dpif_flow_stats *src)
{
    return (struct offload_stats) {
        .n_packets = src->n_packets,
        .n_bytes = src->n_bytes,
        .used = src->used,
        .tcp_flags = src->tcp_flags,
    };
}

static inline struct dpif_flow_stats
kdp_flow_stats_to_dpif(const struct offload_stats *src)
{
    return (struct dpif_flow_stats) {
        .n_packets = src->n_packets,
        .n_bytes = src->n_bytes,
        .used = src->used,
        .tcp_flags = src->tcp_flags,
    };
}

#endif /* lib/dpif-netlink/flow-stats.h */
