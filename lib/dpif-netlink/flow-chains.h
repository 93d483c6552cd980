/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_CHAINS_H
#define KDP_DPIF_NETLINK_FLOW_CHAINS_H 1

/* Recirculation chains of a previous run
 * ======================================
 *
 * When a flow recirculates a packet, for connection tracking for example, the
 * packet looks for its next flow with a recirculation id.  The flows of an id
 * are a "chain".  A flow that recirculates and has no id in its key is a
 * "root".  Only the run of the daemon that allocated an id knows its meaning.
 * Open vSwitch's revalidators delete each flow whose key or actions have an id
 * that they do not know.
 *
 * Here such flows stay after a restart, and go on forwarding (R5):
 *
 *   - Ids of this run differ from ids of the previous run (takeover.h), so no
 *     flow of an old chain ever gets a packet that this run recirculates.
 *
 *   - Revalidators do not see the flows of chains.
 *
 *   - Revalidators see a root with actions that no translation produces.  So
 *     they translate the root and replace its actions.  The root switches from
 *     the old chain to a new one at a single moment.
 *
 *   - When the last root has other actions, or is deleted, packets no longer
 *     get to old chains, and the chains can be deleted.
 *
 * Thread safety: one thread calls _create() and _add().  After that any thread
 * may call the other functions.  _destroy() postpones itself until no thread
 * uses the object any more (RCU). */

#include <stdbool.h>
#include <stddef.h>

#include "openvswitch/types.h"

struct dpif_flow;
struct dpif_op;
struct flow_chains;

struct flow_chains *flow_chains_create(void);
void flow_chains_destroy(struct flow_chains *);

/* Adds flow 'ufid', a root or a flow of a chain. */
void flow_chains_add(struct flow_chains *, const ovs_u128 *ufid, bool root);

/* Number of roots that still lead to a chain of the previous run. */
size_t flow_chains_n_roots(const struct flow_chains *);

/* True if flow 'ufid' is such a root. */
bool flow_chains_has_root(const struct flow_chains *, const ovs_u128 *ufid);

/* True if flow 'ufid' is part of a chain. */
bool flow_chains_has(const struct flow_chains *, const ovs_u128 *ufid);

/* If the flow is such a root, replaces the actions in '*flow' with actions
 * that no translation produces. */
void flow_chains_disguise(const struct flow_chains *, struct dpif_flow *flow);

/* Evaluates operation 'op', which has been carried out.  Returns true if the
 * last root just got other actions or was deleted. */
bool flow_chains_done(struct flow_chains *, const struct dpif_op *op);

#endif /* lib/dpif-netlink/flow-chains.h */
