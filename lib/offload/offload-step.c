/* SPDX-License-Identifier: Apache-2.0 */

/* Steps with the flows that an offload thread took out of its queue.
 *
 * In each turn, all flows that need a step in tc take it, in one call of the
 * backend, then all that need one in the kernel.  Claims of kernel copies are
 * held only for the latter.  Within a turn, flows keep the order of the
 * queue. */

#include <config.h>
#include "offload/offload-engine.h"

#include <errno.h>
#include <limits.h>

#include "offload/offload-placement.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(offload_step);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

enum step { NONE, TC_PUT, TC_DEL, KERNEL_PUT, KERNEL_DEL };

/* A flow that the thread works on. */
struct work {
    struct offload_flow *flow;  /* NULL when it has reached its target. */
    struct offload_desc *desc;  /* Of the operation; a reference. */
    struct offload_copy_op op;
};

/* Returns the next step, from the table in offload.h. */
static enum step
next_step(const struct offload_flow *flow)
{
    bool in_kernel = offload_flow_in_kernel(flow);
    bool in_tc = offload_flow_in_tc(flow);

    switch (flow->target) {
    case OFFLOAD_TARGET_TC:
        if (!in_tc || !offload_flow_is_current(flow)) {
            return (flow->kernel == OFFLOAD_KERNEL_NONE
                    || (!in_kernel && flow->keep_kernel)
                    ? KERNEL_PUT : in_tc ? TC_DEL : TC_PUT);
        }
        return (in_kernel == flow->keep_kernel ? NONE
                : in_kernel ? KERNEL_DEL : KERNEL_PUT);

    case OFFLOAD_TARGET_KERNEL:
        return !in_kernel ? KERNEL_PUT : in_tc ? TC_DEL : NONE;

    case OFFLOAD_TARGET_NOWHERE:
    default:
        return in_tc ? TC_DEL : NONE;
    }
}

static bool
is_tc_step(enum step step)
{
    return step == TC_PUT || step == TC_DEL;
}

/* Leaves 'flow', which has no next step or waits for another flow. */
static void
leave(struct offload *offload, struct offload_flow *flow)
{
    if (offload_flow_is_busy(flow)) {
        offload_flow_set_work(flow, OFFLOAD_WORK_IDLE);
        offload_placement_done(offload, flow);
        if (!offload_flow_in_table(flow)) {
            offload_flow_gone(flow);
            offload_placement_wake_new(offload, flow);
        }
    }
    offload_flow_unref(flow);
}

/* Prepares the next step of 'work', if it is one in tc or in the kernel
 * according to 'tc'.  Returns true if there is an operation. */
static bool
prepare(struct offload *offload, struct work *work, bool tc)
{
    struct offload_flow *flow = work->flow;
    struct ovs_mutex *mutex = &flow->stripe->mutex;
    enum step step;

    ovs_mutex_lock(mutex);
    if (flow->work == OFFLOAD_WORK_QUEUED) {
        offload_queues_out(&offload->queues, flow, OFFLOAD_WORK_BUSY);
    }
    for (;;) {
        step = next_step(flow);
        if (step == NONE
            || (step == TC_PUT
                && (offload_placement_wait_for_old(flow)
                    || offload_placement_wait_for_parent(offload, flow)))) {
            work->flow = NULL;
            leave(offload, flow);
            ovs_mutex_unlock(mutex);
            return false;
        }
        if (is_tc_step(step) != tc) {
            ovs_mutex_unlock(mutex);
            return false;
        }
        if (tc || !flow->kernel_claimed) {
            break;
        }
        /* Another thread, which waits for nothing, changes the kernel copy. */
        ovs_mutex_cond_wait(&flow->stripe->cond, mutex);
    }
    if (!tc) {
        offload_flow_claim(flow);
    }
    if (step == TC_PUT) {
        offload_flow_set_tc_inserting(
            flow, offload->backend.create_rule(offload->backend.aux));
    }
    work->desc = offload_desc_ref(step == TC_DEL ? flow->tc_desc : flow->desc);
    work->op = (struct offload_copy_op) {
        .type = (step == TC_DEL || step == KERNEL_DEL
                 ? OFFLOAD_COPY_DEL : OFFLOAD_COPY_PUT),
        .flags = OFFLOAD_PUT_CREATE | OFFLOAD_PUT_MODIFY,
        .ufid = flow->ufid,
        .desc = work->desc,
        .rule = tc ? offload_rule_ref(flow->rule) : NULL,
    };
    ovs_mutex_unlock(mutex);
    return true;
}

static void
put_into_tc(struct offload *offload, struct work *work)
{
    struct offload_flow *flow = work->flow;

    if (work->op.error) {
        offload_flow_set_tc_none(flow);

        /* A newer version of it may be accepted. */
        if (flow->target == OFFLOAD_TARGET_TC && flow->desc == work->desc) {
            offload_placement_reject(offload, flow, work->op.error,
                                     work->op.why);
        }
        return;
    }
    offload_flow_set_tc_present(flow, work->desc);
    flow->retry_msec = 0;
    flow->error = 0;
    flow->why = work->op.why;
    offload_chains_add(&offload->chains, work->desc);
    offload_ports_succeeded(&offload->ports, work->desc);
    if (flow->target == OFFLOAD_TARGET_TC && flow->desc == work->desc) {
        offload_queues_inserted(&offload->queues, flow->thread,
                                MAX(time_usec() - flow->requested, 0));
    }
}

/* Handles a failure of tc to delete the rule of 'work'.  Returns true if it is
 * not retried, as the engine is being destroyed. */
static bool
gives_up(struct offload *offload, struct work *work)
{
    struct offload_flow *flow = work->flow;
    long long int patience_end;
    bool closing, last;

    flow->n_tc_failures += flow->n_tc_failures < UINT8_MAX;
    flow->tc_error = work->op.error;
    atomic_read_relaxed(&offload->queues.patience_end, &patience_end);
    closing = patience_end != LLONG_MAX;
    last = closing && (offload_flow_is_stuck(flow)
                       || time_msec() >= patience_end);
    if (flow->n_tc_failures == OFFLOAD_PATIENCE) {
        offload_count(offload, flow->thread, OFFLOAD_LEAKED);
    }
    if (last || flow->n_tc_failures == OFFLOAD_PATIENCE) {
        VLOG_INFO_RL(&rl, "flow "UUID_FMT" on port %"PRIu32" could not be "
                     "deleted from tc: %s; %s",
                     UUID_ARGS((const struct uuid *) &flow->ufid),
                     work->desc->in_port, ovs_strerror(work->op.error),
                     last ? "its rule stays" : "it is tried again");
    }
    if (last && flow->target == OFFLOAD_TARGET_TC) {
        /* No other rule is added beside it. */
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
    }
    return last;
}

/* If tc has failed to delete the rule of 'work', and that still has to be
 * done, leaves the flow until the next try.  If it has failed for long,
 * reports the statistics of the rule to a waiting user. */
static void
retry_later(struct offload *offload, struct work *work)
{
    struct offload_flow *flow = work->flow;
    struct ovs_mutex *mutex = &flow->stripe->mutex;
    struct offload_copy_op get = {
        .type = OFFLOAD_COPY_GET, .ufid = flow->ufid, .desc = work->desc,
        .rule = work->op.rule,
    };

    ovs_mutex_lock(mutex);
    if (flow->waiter && offload_flow_is_stuck(flow)) {
        ovs_mutex_unlock(mutex);
        offload_tc_operate(offload, &get);
        ovs_mutex_lock(mutex);
        if (!get.error) {
            offload_flow_saw_tc(flow, &get.stats, get.hw, time_msec());
        }
        offload_flow_tell(flow);
        offload_flow_restore(flow);
        offload_placement_keep_deleted(flow);
    }
    if (flow->n_tc_failures && next_step(flow) == TC_DEL) {
        offload_queues_pause(&offload->queues, flow);
        work->flow = NULL;
    }
    ovs_mutex_unlock(mutex);
}

static void
delete_from_tc(struct offload *offload, struct work *work)
{
    struct offload_flow *flow = work->flow;
    int error = work->op.error;

    if (error && error != ENOENT && error != ENODEV
        && !gives_up(offload, work)) {
        return;
    }
    if (!error) {
        offload_flow_saw_tc(flow, &work->op.stats, OFFLOAD_HW_UNKNOWN,
                            time_msec());
    }
    offload_chains_remove(&offload->chains, flow->tc_desc);
    offload_flow_set_tc_none(flow);
}

/* Does 'error', with which the kernel refused a flow, mean that another flow
 * there overlaps with it?  That flow then gets the packets. */
static bool
is_overlap(int error)
{
    return error == ENOENT || error == EEXIST;
}

static void
put_into_kernel(struct offload *offload, struct work *work)
{
    struct offload_flow *flow = work->flow;

    if (!work->op.error) {
        offload_flow_set_kernel(flow, OFFLOAD_KERNEL_PRESENT);
        if (flow->target == OFFLOAD_TARGET_NOWHERE
            && offload_flow_in_table(flow)) {
            /* Its port went meanwhile (offload_placement_drop()).  It stays,
             * like flows of the port that were in the kernel before. */
            offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
        }
    } else if (offload_flow_in_table(flow)) {
        /* It cannot stay in tc either.  Its packets are upcalls then, or match
         * the flow that is in its way.  It stays in the table without copies
         * until the user sees that it is idle and deletes it, or changes it.
         * Before that, only a packet of another microflow, which has another
         * ufid, makes a new flow. */
        bool overlap = is_overlap(work->op.error);

        offload_count(offload, flow->thread,
                      overlap ? OFFLOAD_OVERLAPPED : OFFLOAD_LOST);
        VLOG_INFO_RL(&rl, "flow "UUID_FMT" on port %"PRIu32" is %s: the "
                     "kernel datapath does not take it: %s",
                     UUID_ARGS((const struct uuid *) &flow->ufid),
                     flow->desc->in_port,
                     overlap ? "overlapped by another one" : "lost",
                     ovs_strerror(work->op.error));
        offload_flow_set_target(flow, OFFLOAD_TARGET_NOWHERE);
        if (!offload_reason_is_rejection(flow->reason)) {
            flow->reason = OFFLOAD_REASON_ERROR;
            flow->error = work->op.error;
            flow->why = NULL;
        }
    }
}

static void
delete_from_kernel(struct offload *offload, struct work *work)
{
    struct offload_flow *flow = work->flow;
    int error = work->op.error;

    if (error && error != ENOENT) {
        if (++flow->n_failures >= OFFLOAD_MAX_FAILURES) {
            /* Then it has both, which does no harm. */
            flow->n_failures = 0;
            flow->keep_kernel = true;
        }
        return;
    }
    flow->n_failures = 0;
    if (!error) {
        offload_flow_saw_kernel(flow, &work->op.stats);
        /* The kernel has reported its last packets, and the rule is no older
         * than that. */
        flow->known = flow->tc_since;
    }
    offload_flow_set_kernel(flow, OFFLOAD_KERNEL_NONE);
}

/* Handles the result of 'work->op'. */
static void
commit(struct offload *offload, struct work *work, bool tc)
{
    struct offload_flow *flow = work->flow;
    struct ovs_mutex *mutex = &flow->stripe->mutex;
    bool put = work->op.type == OFFLOAD_COPY_PUT;

    ovs_mutex_lock(mutex);
    if (!tc) {
        offload_flow_release(flow);
        offload_flow_unref(flow);
    }
    if (tc && put) {
        put_into_tc(offload, work);
    } else if (tc) {
        delete_from_tc(offload, work);
    } else if (put) {
        put_into_kernel(offload, work);
    } else {
        delete_from_kernel(offload, work);
    }
    ovs_mutex_unlock(mutex);

    if (tc && put && !work->op.error) {
        offload_placement_wake_children(offload, work->desc);
    } else if (tc && !put && work->op.error) {
        retry_later(offload, work);
    }
    offload_rule_unref(work->op.rule);
    offload_desc_unref(work->desc);
    work->desc = NULL;
}

/* Takes one step of each flow, in tc or in the kernel. */
static void
turn(struct offload *offload, struct work works[], size_t n, bool tc)
{
    struct offload_copy_op *ops[OFFLOAD_BATCH];
    struct work *todo[OFFLOAD_BATCH];
    size_t n_ops = 0;

    for (size_t i = 0; i < n; i++) {
        if (!works[i].flow || !prepare(offload, &works[i], tc)) {
            continue;
        }
        ops[n_ops] = &works[i].op;
        todo[n_ops++] = &works[i];
    }
    if (!n_ops) {
        return;
    }
    if (tc) {
        offload->backend.operate(offload->backend.aux, ops, n_ops);
    } else {
        /* The thread has no pointers that RCU guards, and the kernel's locks
         * may be held by others. */
        ovsrcu_quiesce_start();
        offload->kernel.operate(offload->kernel.aux, ops, n_ops);
        ovsrcu_quiesce_end();
    }
    for (size_t i = 0; i < n_ops; i++) {
        commit(offload, todo[i], tc);
    }
}

static size_t
compact(struct work works[], size_t n)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        if (works[i].flow) {
            works[left++] = works[i];
        }
    }
    return left;
}

/* Takes 'n' flows, at most OFFLOAD_BATCH, to their targets.  To be called by
 * their thread, which took them out of its queue or works on them.  Gives up
 * the thread's reference to each. */
void
offload_step_flows(struct offload *offload, struct offload_flow *flows[],
                   size_t n)
{
    struct work works[OFFLOAD_BATCH];

    for (size_t i = 0; i < n; i++) {
        works[i] = (struct work) { .flow = flows[i] };
    }
    while (n) {
        turn(offload, works, n, true);
        turn(offload, works, n, false);
        n = compact(works, n);
    }
}
