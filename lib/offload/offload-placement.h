/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_PLACEMENT_H
#define OFFLOAD_PLACEMENT_H 1

/* Placement of flows
 * ==================
 *
 * Decides whether a flow is offered to tc, and what happens when tc refuses
 * it, when its rule vanishes, or when it has to return to the kernel.  Sets
 * the flow's target, gives the flow to its thread, stores why it is not in tc,
 * and accounts for each request.  offload-step.c says what the thread then
 * does.
 *
 * A request is counted as enqueued when it is made, and ends in exactly one
 * outcome (O6): in offload_placement_done() or _reject(), or as superseded by
 * the next request or by offload_placement_cancel().
 *
 * Thread safety: all functions that take a flow need the lock of its stripe;
 * offload_placement_wake_children() must be called without any. */

#include <stdbool.h>

#include "offload/offload-flow.h"
#include "offload/offload-info.h"

struct offload;

void offload_placement_offer(struct offload *, struct offload_flow *);
void offload_placement_cancel(struct offload *, struct offload_flow *);
void offload_placement_done(struct offload *, struct offload_flow *);
void offload_placement_return(struct offload *, struct offload_flow *,
                              enum offload_reason);
void offload_placement_return_for(struct offload *, struct offload_flow *,
                                  enum offload_reason, unsigned int pause);
void offload_placement_postpone(struct offload *, struct offload_flow *,
                                unsigned int pause);
void offload_placement_drop(struct offload *, struct offload_flow *);
void offload_placement_revive(struct offload *, struct offload_flow *);
void offload_placement_changed(struct offload *, struct offload_flow *);
void offload_placement_delete(struct offload *, struct offload_flow *);
void offload_placement_keep_deleted(struct offload_flow *);
void offload_placement_reject(struct offload *, struct offload_flow *,
                              int error, const char *why);
void offload_placement_rule_vanished(struct offload *, struct offload_flow *);
void offload_placement_left_kernel(struct offload *, struct offload_flow *);
bool offload_placement_wait_for_parent(struct offload *,
                                       struct offload_flow *);
bool offload_placement_wait_for_old(struct offload_flow *);
void offload_placement_wake_new(struct offload *, const struct offload_flow *);
void offload_placement_wake_children(struct offload *,
                                     const struct offload_desc *);

/* Reads the copies of a flow.  If a copy is missing, the flow returns to the
 * kernel, is put into it, or is forgotten.  The lock of the flow's stripe is
 * released while the kernel and tc are asked. */
bool offload_placement_read(struct offload *, struct offload_flow *flow,
                            struct offload_stats *, bool *in_tc,
                            enum offload_hw *)
    OVS_REQUIRES(flow->stripe->mutex);

#endif /* lib/offload/offload-placement.h */
