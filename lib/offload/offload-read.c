/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-read.h"

#include <errno.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "timeval.h"
#include "util.h"

/* Carries out the operations that are not NULL. */
static void
read_copies(struct offload *offload, struct offload_copy_op *kernel,
            struct offload_copy_op *tc)
{
    if (kernel) {
        offload_kernel_operate(offload, kernel);
    }
    if (tc) {
        offload_tc_operate(offload, tc);
    }
}

/* Stores the statistics of 'flow' in '*stats', whether it is in tc in
 * '*in_tc', and whether the device has it in '*hw'.  Returns false if it turns
 * out not to exist.
 *
 * The caller has a reference and the lock of the flow's stripe, which is
 * released meanwhile. */
bool
offload_read_flow(struct offload *offload, struct offload_flow *flow,
                  struct offload_stats *stats, bool *in_tc,
                  enum offload_hw *hw)
    OVS_REQUIRES(flow->stripe->mutex)
{
    for (;;) {
        struct offload_desc *desc = offload_desc_ref(flow->desc);
        struct offload_desc *tc_desc = (flow->tc_desc
                                        ? offload_desc_ref(flow->tc_desc)
                                        : NULL);
        struct offload_copy_op kernel = {
            .type = OFFLOAD_COPY_GET, .ufid = flow->ufid, .desc = desc,
        };
        struct offload_copy_op tc = {
            .type = OFFLOAD_COPY_GET, .ufid = flow->ufid,
            .desc = tc_desc ? tc_desc : desc,
            .rule = offload_rule_ref(flow->rule),
        };
        bool in_kernel = offload_flow_in_kernel(flow);

        /* tc may have the rule before the put has returned. */
        bool in_tc_or_soon = flow->tc != OFFLOAD_TC_NONE;
        uint64_t moved = flow->moved;
        long long int now = time_msec();
        bool missing;

        ovs_mutex_unlock(&flow->stripe->mutex);
        read_copies(offload, in_kernel ? &kernel : NULL,
                    in_tc_or_soon ? &tc : NULL);
        offload_desc_unref(desc);
        offload_desc_unref(tc_desc);
        offload_rule_unref(tc.rule);
        ovs_mutex_lock(&flow->stripe->mutex);

        if (flow->moved != moved) {
            continue;
        }
        missing = (kernel.error == ENOENT
                   || (tc_desc && tc.error == ENOENT));
        if (missing && (offload_flow_is_busy(flow)
                        || flow->kernel_claimed)) {
            /* Another thread is working on it and will signal. */
            ovs_mutex_cond_wait(&flow->stripe->cond, &flow->stripe->mutex);
            continue;
        }
        if (in_kernel && !kernel.error) {
            offload_flow_saw_kernel(flow, &kernel.stats);
        }
        if (in_tc_or_soon && !tc.error && flow->tc != OFFLOAD_TC_NONE) {
            offload_flow_saw_tc(flow, &tc.stats, tc.hw, now);
        }
        if (tc_desc && tc.error == ENOENT) {
            offload_placement_rule_vanished(offload, flow);
        }
        if (kernel.error == ENOENT) {
            bool in_tc_only = offload_flow_in_tc(flow);

            offload_placement_left_kernel(offload, flow);
            if (!in_tc_only) {
                return false;
            }
        }
        *stats = flow->base;
        if (offload_flow_in_kernel(flow)) {
            offload_stats_add(stats, &flow->kernel_seen);
        }
        *in_tc = offload_flow_in_tc(flow);
        *hw = *in_tc ? flow->hw : OFFLOAD_HW_UNKNOWN;
        if (flow->tc != OFFLOAD_TC_NONE && !flow->discard_tc) {
            /* tc may already count, although the operation that puts the rule
             * there has not returned. */
            offload_stats_add(stats, &flow->tc_seen);
        }
        return true;
    }
}
