/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_STALE_H
#define KDP_DPIF_NETLINK_FLOW_STALE_H 1

/* Flows of a previous run that must not stay
 * ==========================================
 *
 * A flow that a previous run of the daemon left in the kernel still forwards,
 * and is kept until it has been translated again.  Some flows name what only
 * that run knew.  They go before the first upcall of this run is handed out:
 *
 *      what the flow has        why it cannot stay
 *      ---------------------    -------------------------------------------
 *      userspace()              it names a socket that is closed: its packets
 *                               would be lost
 *      a port with a number     the number is another port's now
 *      that was given again
 *      a recirculation id up    each run gives the same ids to bonds
 *      to UPCALL_RECIRC_STATIC
 *
 * Flows with another recirculation id, and those that lead to one, stay if this
 * run gives other ids (flow-chains.h).
 *
 * A userspace() within sample(), as sFlow has it, is left: its packets reach
 * their ports, and translation gives it another socket.  A meter is left, too:
 * translation names the meter that the rule has now.
 *
 * Thread safety: any thread.  The function keeps nothing. */

#include <stdbool.h>
#include <stdint.h>

struct dpif_flow;

enum flow_stale {
    FLOW_FRESH,                 /* May stay until it is translated again. */
    FLOW_ROOT,                  /* The same if its ids are not given again: it
                                 * recirculates, and has no id itself. */
    FLOW_CHAIN,                 /* The same: it has an id. */
    FLOW_STALE_ROOT,            /* Goes, and before the flows that packets get
                                 * to only by recirculation: they would miss
                                 * half-way, with an id that nobody knows. */
    FLOW_STALE,                 /* Goes after those. */
    FLOW_N_STALE
};

/* True if number 'port_no' has been given to another port. */
typedef bool flow_stale_port_cb(void *aux, uint32_t port_no);

/* What is to become of 'flow', which a previous run left, with its key, its
 * actions and its ufid.  Raises '*max_id' to the highest recirculation id in
 * it. */
enum flow_stale flow_stale(const struct dpif_flow *flow,
                           flow_stale_port_cb *is_new, void *aux,
                           uint32_t *max_id);

#endif /* lib/dpif-netlink/flow-stale.h */
