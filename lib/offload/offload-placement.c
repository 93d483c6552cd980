/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-placement.h"

#include <errno.h>

#include "offload/offload-engine.h"
#include "timeval.h"
#include "util.h"

/* Returns the thread for 'flow', which has none.  If another flow of the same
 * ufid is being deleted, that flow's thread, so that the old rule is gone
 * before the new one is added. */
static unsigned int
thread_of(struct offload *offload, const struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (offload_flow_in_table(flow)
        && !hmap_is_empty(&flow->stripe->deleting)) {
        const struct offload_flow *old
            = offload_flow_find_deleting(flow->stripe, &flow->ufid);

        if (old) {
            return old->thread;
        }
    }
    return offload_queues_choose_for(&offload->queues, flow->desc);
}

/* If 'flow' waits for its parent or for an older flow, ends that. */
static void
stop_waiting(struct offload *offload, struct offload_flow *flow)
{
    if (flow->work == OFFLOAD_WORK_WAITING) {
        offload_chains_cancel(&offload->chains, &flow->chain_waiter);
        offload_flow_set_work(flow, OFFLOAD_WORK_IDLE);
    } else if (flow->work == OFFLOAD_WORK_PAUSED && !flow->resume) {
        offload_flow_set_work(flow, OFFLOAD_WORK_IDLE);
    }
}

/* Ends the request on 'flow', if there is one, with the outcome 'counter'. */
static void
end_request(struct offload *offload, struct offload_flow *flow,
            enum offload_counter counter)
{
    if (flow->request) {
        offload_count(offload, flow->thread, counter);
        flow->request = OFFLOAD_NO_REQUEST;
    }
}

/* Makes a request for 'flow', whose target the caller has set. */
static void
make_request(struct offload *offload, struct offload_flow *flow,
             enum offload_request request)
{
    bool has_thread = offload_flow_has_thread(flow);

    if (!has_thread) {
        stop_waiting(offload, flow);
        if (!flow->resume) {
            flow->thread = thread_of(offload, flow);
        }
    }
    end_request(offload, flow, OFFLOAD_SUPERSEDED);
    offload_count(offload, flow->thread, OFFLOAD_ENQUEUED);
    flow->request = request;
    flow->requested = time_usec();

    /* A thread that works on the flow checks it again before it leaves it. */
    if (!has_thread) {
        offload_queues_push(&offload->queues, flow);
    }
}

/* Cancels a request that was not begun. */
void
offload_placement_cancel(struct offload *offload, struct offload_flow *flow)
{
    stop_waiting(offload, flow);
    end_request(offload, flow, OFFLOAD_SUPERSEDED);
}

/* Accounts for the request on 'flow', which has reached its target. */
void
offload_placement_done(struct offload *offload, struct offload_flow *flow)
{
    enum offload_counter counter
        = (flow->target == OFFLOAD_TARGET_NOWHERE ? OFFLOAD_DELETED
           : flow->target == OFFLOAD_TARGET_KERNEL ? OFFLOAD_RETURNED
           : flow->request == OFFLOAD_MODIFY ? OFFLOAD_MODIFIED
           : OFFLOAD_INSERTED);

    if (flow->request == OFFLOAD_REMAKE && counter == OFFLOAD_INSERTED) {
        offload_count(offload, flow->thread, OFFLOAD_REMADE);
    }
    end_request(offload, flow, counter);
}

static void
set_reason(struct offload *offload, struct offload_flow *flow,
           enum offload_reason reason)
{
    if (reason != flow->reason || reason == OFFLOAD_REASON_FULL) {
        offload_reasons_note(&offload->reasons, reason, flow->desc, 0,
                             NULL);
    }
    flow->reason = reason;
    flow->error = 0;
}

static bool
queue_is_full(struct offload *offload, const struct offload_flow *flow)
{
    unsigned int max;

    atomic_read_relaxed(&offload->max_queued, &max);
    return offload_queues_length(&offload->queues,
                                 thread_of(offload, flow)) >= max;
}

/* Offers 'flow' to tc, if it is in the kernel only, has no request, and there
 * is no reason against it. */
void
offload_placement_offer(struct offload *offload, struct offload_flow *flow)
{
    long long int now = time_msec();
    enum offload_reason reason = OFFLOAD_REASON_NONE;
    enum offload_request request;
    unsigned int delay;
    bool enabled;

    if (!offload_flow_in_table(flow) || !offload_flow_in_kernel(flow)
        || flow->kernel_claimed || offload_flow_needs_thread(flow)
        || flow->request) {
        return;
    }

    atomic_read_relaxed(&offload->enabled, &enabled);
    atomic_read_relaxed(&offload->delay, &delay);
    if (offload_reason_is_rejection(flow->reason)
        && (!flow->retry || now < flow->retry)
        && (offload_ports_seq(&offload->ports, flow->desc)
            == flow->port_seq)) {
        return;
    }
    if (!enabled) {
        reason = OFFLOAD_REASON_DISABLED;
    } else if (now - flow->created < delay) {
        reason = OFFLOAD_REASON_YOUNG;
    } else if (queue_is_full(offload, flow)) {
        reason = OFFLOAD_REASON_FULL;
    } else {
        reason = offload_ports_admit(&offload->ports, flow->desc);
    }
    if (reason == OFFLOAD_REASON_KIND
        && flow->reason == OFFLOAD_REASON_UNSUPPORTED) {
        /* The flow itself was refused, which is a better reason. */
        return;
    }
    if (reason) {
        set_reason(offload, flow, reason);
        return;
    }
    request = (flow->reason == OFFLOAD_REASON_VANISHED ? OFFLOAD_REMAKE
               : OFFLOAD_INSERT);
    flow->reason = OFFLOAD_REASON_NONE;
    offload_flow_set_target(flow, OFFLOAD_TARGET_TC);
    make_request(offload, flow, request);
}

/* Moves 'flow' back to the kernel, or leaves it there, for 'reason'. */
void
offload_placement_return(struct offload *offload, struct offload_flow *flow,
                         enum offload_reason reason)
{
    offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
    set_reason(offload, flow, reason);
    flow->retry = 0;
    flow->port_seq = 0;
    if (offload_flow_needs_thread(flow) || !offload_flow_in_kernel(flow)) {
        make_request(offload, flow, OFFLOAD_RETURN);
    } else {
        offload_placement_cancel(offload, flow);
    }
}

/* Does not offer 'flow', which is in the kernel or goes there because its
 * device had no room, for 'pause' ms. */
void
offload_placement_postpone(struct offload *offload, struct offload_flow *flow,
                           unsigned int pause)
{
    if (!offload_reason_is_rejection(flow->reason)) {
        set_reason(offload, flow, OFFLOAD_REASON_NO_SPACE);
    }
    flow->port_seq = offload_ports_seq(&offload->ports, flow->desc);
    flow->retry = time_msec() + MAX(pause, 1);
}

/* Moves 'flow', which is in tc, back to the kernel for 'reason', which is a
 * rejection, and does not offer it again for 'pause' ms. */
void
offload_placement_return_for(struct offload *offload,
                             struct offload_flow *flow,
                             enum offload_reason reason, unsigned int pause)
{
    offload_placement_return(offload, flow, reason);
    offload_placement_postpone(offload, flow, pause);
}

/* Handles 'flow' when its port goes, after which it gets no packets.  If it is
 * in tc only, deletes it from there without putting it into the kernel: it
 * stays in the table without copies until the user deletes it. */
void
offload_placement_drop(struct offload *offload, struct offload_flow *flow)
{
    if (offload_flow_in_kernel(flow) || !offload_flow_needs_thread(flow)) {
        offload_placement_return(offload, flow, OFFLOAD_REASON_NO_PORT);
        return;
    }
    set_reason(offload, flow, OFFLOAD_REASON_NO_PORT);
    flow->retry = 0;
    flow->port_seq = 0;
    offload_flow_set_target(flow, OFFLOAD_TARGET_NOWHERE);
    make_request(offload, flow, OFFLOAD_DELETE);
}

/* Handles 'flow' when its port is there again.  If it has no copies since the
 * port went, puts it into the kernel. */
void
offload_placement_revive(struct offload *offload, struct offload_flow *flow)
{
    if (flow->life == OFFLOAD_LIFE_PRESENT && !offload_flow_in_kernel(flow)
        && flow->target == OFFLOAD_TARGET_NOWHERE
        && flow->reason == OFFLOAD_REASON_NO_PORT) {
        flow->reason = OFFLOAD_REASON_NONE;
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
        make_request(offload, flow, OFFLOAD_RETURN);
    }
}

/* Handles new content of 'flow', which the kernel has unless it refused it:
 * makes tc follow. */
void
offload_placement_changed(struct offload *offload, struct offload_flow *flow)
{
    enum offload_reason reason;
    bool enabled;

    flow->reason = OFFLOAD_REASON_NONE;
    flow->error = 0;
    flow->retry = 0;
    flow->retry_msec = 0;
    if (flow->target == OFFLOAD_TARGET_NOWHERE) {
        /* It was lost. */
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
    }
    if (offload_flow_in_kernel(flow) && !offload_flow_needs_thread(flow)
        && !flow->request) {
        offload_placement_offer(offload, flow);
        return;
    }
    atomic_read_relaxed(&offload->enabled, &enabled);
    reason = (enabled ? offload_ports_admit(&offload->ports, flow->desc)
              : OFFLOAD_REASON_DISABLED);
    if (reason) {
        offload_placement_return(offload, flow, reason);
    } else {
        offload_flow_set_target(flow, OFFLOAD_TARGET_TC);
        make_request(offload, flow, (offload_flow_in_tc(flow) ? OFFLOAD_MODIFY
                                     : OFFLOAD_INSERT));
    }
}

/* Deletes 'flow', which is not in the table any more and has no kernel copy,
 * from tc, or ends its deletion if it cannot be there. */
void
offload_placement_delete(struct offload *offload, struct offload_flow *flow)
{
    if (offload_flow_needs_thread(flow)) {
        make_request(offload, flow, OFFLOAD_DELETE);
    } else {
        offload_placement_cancel(offload, flow);
        offload_flow_gone(flow);
    }
}

/* Handles a 'flow' that the user has deleted but whose rule tc has failed to
 * delete for long.  It stays in the table meanwhile, with no other target. */
void
offload_placement_keep_deleted(struct offload_flow *flow)
{
    offload_flow_set_target(flow, OFFLOAD_TARGET_NOWHERE);
    flow->reason = OFFLOAD_REASON_ERROR;
    flow->error = flow->tc_error;
    flow->why = "tc does not delete its rule";
}

/* Sets when 'flow' may be offered again after a failure that may be
 * temporary. */
static void
set_retry(struct offload *offload, struct offload_flow *flow)
{
    unsigned int backoff;

    atomic_read_relaxed(&offload->backoff, &backoff);
    flow->retry_msec = (flow->retry_msec
                        ? MIN(flow->retry_msec * 2,
                              backoff * OFFLOAD_BACKOFF_FACTOR)
                        : backoff);
    flow->retry = time_msec() + flow->retry_msec;
}

/* Handles 'flow', on which no thread works, when its copy in tc was not
 * found. */
void
offload_placement_rule_vanished(struct offload *offload,
                                struct offload_flow *flow)
{
    unsigned int thread = offload_queues_choose_for(&offload->queues,
                                                    flow->desc);

    offload_count(offload, thread, OFFLOAD_VANISHED);
    offload_chains_remove(&offload->chains, flow->tc_desc);
    offload_flow_set_tc_none(flow);

    if (offload_flow_in_table(flow) && !flow->request) {
        offload_reasons_note(&offload->reasons, OFFLOAD_REASON_VANISHED,
                             flow->desc, 0, NULL);
        flow->reason = OFFLOAD_REASON_VANISHED;
        flow->error = 0;
        flow->port_seq = offload_ports_seq(&offload->ports, flow->desc);
        set_retry(offload, flow);
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
        if (!offload_flow_in_kernel(flow)) {
            make_request(offload, flow, OFFLOAD_RETURN);
        }
    }
}

/* Handles 'flow', on which no thread works, when another process has deleted
 * its kernel copy.  If the flow is also in tc, it should be in both: see
 * offload-step.c.  Otherwise it is gone. */
void
offload_placement_left_kernel(struct offload *offload,
                              struct offload_flow *flow)
{
    offload_flow_set_kernel(flow, OFFLOAD_KERNEL_NONE);
    if (!offload_flow_in_table(flow)) {
        return;
    }
    if (!offload_flow_in_tc(flow)) {
        offload_flow_remove(flow);
        offload_placement_cancel(offload, flow);
        offload_flow_gone(flow);
    } else if (!flow->request) {
        make_request(offload, flow, OFFLOAD_MODIFY);
    }
}

/* Returns why tc refused a flow with 'error'. */
static enum offload_reason
reason_from_error(int error)
{
    switch (error) {
    case EOPNOTSUPP: return OFFLOAD_REASON_UNSUPPORTED;
    case ENOSPC: return OFFLOAD_REASON_NO_SPACE;
    case ENODEV: return OFFLOAD_REASON_NO_DEVICE;
    case EEXIST: return OFFLOAD_REASON_EXISTS;
    default: return OFFLOAD_REASON_ERROR;
    }
}

/* Handles 'flow' when tc has refused it with 'error'.  'why' gives the reason
 * in words, as a string that is never freed, or is NULL. */
void
offload_placement_reject(struct offload *offload, struct offload_flow *flow,
                         int error, const char *why)
{
    enum offload_reason reason = reason_from_error(error);
    unsigned int backoff;

    atomic_read_relaxed(&offload->backoff, &backoff);
    offload_ports_failed(&offload->ports, flow->desc, error, backoff);
    offload_reasons_note(&offload->reasons, reason, flow->desc, error, why);
    offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
    flow->reason = reason;
    flow->error = error;
    flow->why = why;
    flow->retry = (reason == OFFLOAD_REASON_UNSUPPORTED
                   ? time_msec() + OFFLOAD_REFUSED_MSEC : 0);
    flow->port_seq = offload_ports_seq(&offload->ports, flow->desc);
    if (reason == OFFLOAD_REASON_NO_SPACE || reason == OFFLOAD_REASON_EXISTS
        || reason == OFFLOAD_REASON_ERROR) {
        set_retry(offload, flow);
    }
    end_request(offload, flow, OFFLOAD_REJECTED);
}

/* If 'flow', which its thread works on, is in a chain to which no rule in tc
 * recirculates, makes it wait for one and returns true. */
bool
offload_placement_wait_for_parent(struct offload *offload,
                                  struct offload_flow *flow)
{
    if (!offload_chains_wait(&offload->chains, flow->desc,
                             &flow->chain_waiter)) {
        return false;
    }
    offload_flow_set_work(flow, OFFLOAD_WORK_WAITING);
    offload_count(offload, flow->thread, OFFLOAD_PARKED);
    return true;
}

/* If another flow with the ufid of 'flow', which its thread works on, is still
 * to be deleted from tc, makes 'flow' wait for that and returns true: both
 * rules would match the same packets. */
bool
offload_placement_wait_for_old(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (hmap_is_empty(&flow->stripe->deleting)
        || !offload_flow_find_deleting(flow->stripe, &flow->ufid)) {
        return false;
    }
    offload_flow_set_work(flow, OFFLOAD_WORK_PAUSED);
    return true;
}

/* 'old' is gone.  If a flow waits for that, the same thread continues with
 * it. */
void
offload_placement_wake_new(struct offload *offload,
                           const struct offload_flow *old)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_flow *flow = offload_flow_find(old->stripe, &old->ufid);

    if (flow && flow->work == OFFLOAD_WORK_PAUSED && !flow->resume) {
        flow->thread = old->thread;
        offload_queues_push(&offload->queues, flow);
    }
}

/* Offers flows again that have waited for 'desc', which is in tc now. */
void
offload_placement_wake_children(struct offload *offload,
                                const struct offload_desc *desc)
{
    for (size_t i = 0; i < desc->n_children; i++) {
        ovs_u128 ufid;

        while (offload_chains_pop(&offload->chains, desc->children[i],
                                  &ufid)) {
            struct offload_stripe *stripe = offload_stripe(offload, &ufid);
            struct offload_flow *flow;

            /* It may be gone.  Or it waits again since then, and another
             * thread may be about to take it out of the list. */
            ovs_mutex_lock(&stripe->mutex);
            flow = offload_flow_find(stripe, &ufid);
            if (flow && flow->work == OFFLOAD_WORK_WAITING
                && !offload_chains_is_waiting(&offload->chains,
                                              &flow->chain_waiter)) {
                flow->requested = time_usec();
                flow->thread = offload_queues_choose_for(&offload->queues,
                                                         flow->desc);
                offload_queues_push(&offload->queues, flow);
            }
            ovs_mutex_unlock(&stripe->mutex);
        }
    }
}

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
offload_placement_read(struct offload *offload, struct offload_flow *flow,
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
