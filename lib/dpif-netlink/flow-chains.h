/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_CHAINS_H
#define KDP_DPIF_NETLINK_FLOW_CHAINS_H 1

/* Recirculation chains of a previous run
 * ======================================
 *
 * A packet that a flow recirculates, for connection tracking for example, looks
 * for its next flow with a recirculation id.  The flows of an id are a "chain".
 * A flow without an id in its key that recirculates is a "root".  Only the run of
 * the daemon that gave an id knows its meaning.  Open vSwitch's revalidators
 * delete each flow whose key or actions have an id that they do not know.
 *
 * Here such flows stay after a restart, and go on forwarding (R5):
 *
 *   - Ids of this run differ from those of the previous one (takeover.h), so no
 *     flow of a chain ever gets a packet that this run recirculates.
 *
 *   - Revalidators do not see the flows of chains.
 *
 *   - Revalidators see a root with actions that no translation has.  So they
 *     translate the root and replace its actions.  Those that lead to the old
 *     chain go in the same moment in which those that lead to a new one come.
 *
 *   - When the last root has other actions, or has gone, no packet gets to a
 *     chain any more: the chains can be deleted.
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

/* True if flow 'ufid' is one of them. */
bool flow_chains_has_root(const struct flow_chains *, const ovs_u128 *ufid);

/* True if flow 'ufid' is one of a chain. */
bool flow_chains_has(const struct flow_chains *, const ovs_u128 *ufid);

/* Replaces the actions in '*flow' by some that no translation has, if the flow
 * is such a root. */
void flow_chains_disguise(const struct flow_chains *, struct dpif_flow *flow);

/* Looks at operation 'op', which has been carried out.  Returns true if it was
 * the last root that got other actions or was deleted. */
bool flow_chains_done(struct flow_chains *, const struct dpif_op *op);

#endif /* lib/dpif-netlink/flow-chains.h */
