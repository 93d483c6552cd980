/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_ENGINE_H
#define KDP_DPIF_NETLINK_FLOW_ENGINE_H 1

/* The offload engine of a datapath
 * ================================
 *
 * The offload engine (offload/offload.h) knows neither dpifs nor netdevs.
 * These files connect it to them:
 *
 *      dpif functions --> offload engine --> kernel side: the inner dpif
 *                                        `-> tc side: lib/tc
 *
 *      file            what it does
 *      --------------  ----------------------------------------------------
 *      flow-engine.h   the engine, for the files below
 *      flow-operate.h  operations on flows, and the kernel side
 *      flow-dump.h     dumps of flows
 *      flow-ports.h    the ports of the engine
 *      flow-offload.h  life cycle and settings; meters that flows name
 *      show.h          commands
 *      flow-api.h      questions of devices about datapaths
 *
 * A datapath has an engine from the first time that other_config:hw-offload is
 * true until the datapath is closed.  Without an engine, all operations go to
 * the inner dpif unchanged.
 *
 * Thread safety: members are constant unless their comment says otherwise. */

#include "dpif.h"
#include "dpif-netlink/datapath.h"
#include "offload/offload.h"
#include "ovs-atomic.h"
#include "tc/tc-rules.h"

struct kdp_flow_ports;

struct kdp_flow_engine {
    struct kdp_datapath *dp;
    struct offload *offload;
    struct kdp_tc tc;
    atomic_bool enabled;            /* hw-offload is true. */
    unsigned long long int n_limit_hits;        /* Hits of the flow limit at
                                                 * the reader thread's last
                                                 * look. */
    struct kdp_flow_ports *ports;   /* Ports; see flow-ports.h. */
};

/* The engine of 'dp', or NULL if it has none. */
static inline struct kdp_flow_engine *
kdp_flow_engine_get(const struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine;

    /* Consume: everything initialized before kdp_flow_engine_set(). */
    atomic_read_explicit(&CONST_CAST(struct kdp_datapath *, dp)->engine,
                         &engine, memory_order_consume);
    return engine;
}

/* Makes 'engine', which may be NULL, the engine of 'dp'. */
static inline void
kdp_flow_engine_set(struct kdp_datapath *dp, struct kdp_flow_engine *engine)
{
    /* Release: see kdp_flow_engine_get(). */
    atomic_store_explicit(&dp->engine, engine, memory_order_release);
}

/* Convert statistics of a flow between dpifs and the engine. */

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

#endif /* lib/dpif-netlink/flow-engine.h */
