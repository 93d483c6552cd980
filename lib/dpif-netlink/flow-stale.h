/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_STALE_H
#define KDP_DPIF_NETLINK_FLOW_STALE_H 1

/* Flows of a previous run that must not stay
 * ==========================================
 *
 * A flow that a previous run of the daemon left in the kernel still forwards,
 * and is kept until it has been translated again.  But some flows name objects
 * that only that run knew.  They are deleted before the first upcall of this
 * run is handed out:
 *
 *      what the flow has        why it cannot stay
 *      ---------------------    -------------------------------------------
 *      userspace()              it names a socket that is closed: its packets
 *                               would be lost
 *      a port with a number     the number is another port's now
 *      assigned again
 *      a recirculation id up    each run allocates the same ids to bonds
 *      to UPCALL_RECIRC_STATIC
 *
 * Flows with other recirculation ids, and flows that lead to such ids, stay if
 * this run allocates different ids (flow-chains.h).
 *
 * A flow with userspace() inside sample(), as for sFlow, stays: its packets
 * reach their ports, and translation replaces the socket.  A flow with a meter
 * stays, too: translation names the rule's present meter.
 *
 * Thread safety: any thread.  The function has no state. */

#include <stdbool.h>
#include <stdint.h>

struct dpif_flow;

enum flow_stale {
    FLOW_FRESH,                 /* May stay until it is translated again. */
    FLOW_ROOT,                  /* The same if its ids are not allocated again:
                                 * it recirculates, and has no id itself. */
    FLOW_CHAIN,                 /* The same, but it has an id. */
    FLOW_STALE_ROOT,            /* To be deleted before FLOW_STALE flows, which
                                 * packets reach only by recirculation:
                                 * otherwise packets would miss half-way, with
                                 * an unknown id. */
    FLOW_STALE,                 /* To be deleted after those. */
    FLOW_N_STALE
};

/* True if number 'port_no' has been assigned to another port. */
typedef bool flow_stale_port_cb(void *aux, uint32_t port_no);

/* Returns what to do with 'flow', which a previous run left.  'flow' has a
 * key, actions and a ufid.  Raises '*max_id' to the highest recirculation id
 * in it. */
enum flow_stale flow_stale(const struct dpif_flow *flow,
                           flow_stale_port_cb *is_new, void *aux,
                           uint32_t *max_id);

#endif /* lib/dpif-netlink/flow-stale.h */
