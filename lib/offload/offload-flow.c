/* SPDX-License-Identifier: Apache-2.0 */

/* Flows: what is asked of them and how it is accounted for.  All functions
 * that take a flow need the lock of its stripe. */

#include <config.h>
#include "offload/offload-private.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(offload_flow);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

struct offload_stripe *
offload_stripe(struct offload *offload, const ovs_u128 *ufid)
{
    /* The table uses the low bits of the hash. */
    return &offload->stripes[(ufid_hash(ufid) >> 16) % OFFLOAD_STRIPES];
}

/* Creates a flow without copies and puts it into the table, which has the only
 * reference.  Takes over the caller's reference to 'desc'. */
struct offload_flow *
offload_flow_create(struct offload_stripe *stripe, struct offload_desc *desc)
{
    struct offload_flow *flow = xzalloc(sizeof *flow);

    flow->item.type = OFFLOAD_ITEM_FLOW;
    flow->stripe = stripe;
    flow->ufid = desc->ufid;
    flow->created = time_msec();
    flow->n_refs = 1;
    flow->desc = desc;
    flow->keep_kernel = desc->recirc_id != 0;
    hmap_insert(&stripe->flows, &flow->hmap_node, ufid_hash(&flow->ufid));
    return flow;
}

static struct offload_flow *
find(const struct hmap *hmap, const ovs_u128 *ufid)
{
    struct offload_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, hmap_node, ufid_hash(ufid), hmap) {
        if (ovs_u128_equals(flow->ufid, *ufid)) {
            return flow;
        }
    }
    return NULL;
}

struct offload_flow *
offload_flow_find(struct offload_stripe *stripe, const ovs_u128 *ufid)
{
    return find(&stripe->flows, ufid);
}

/* Is a flow of 'ufid' on its way out of tc? */
bool
offload_flow_is_deleting(const struct offload_stripe *stripe,
                         const ovs_u128 *ufid)
{
    return find(&stripe->deleting, ufid) != NULL;
}

void
offload_flow_unref(struct offload_flow *flow)
{
    if (--flow->n_refs) {
        return;
    }
    ovs_assert(flow->work == OFFLOAD_WORK_IDLE);
    offload_desc_unref(flow->desc);
    offload_desc_unref(flow->tc_desc);
    free(flow);
}

/* Says that copies of 'flow', or what is added to their statistics, have
 * changed. */
void
offload_flow_moved(struct offload_flow *flow)
{
    uint64_t orig;

    atomic_add_relaxed(flow->stripe->move_clock, 1, &orig);
    flow->moved = orig + 1;
    xpthread_cond_broadcast(&flow->stripe->cond);
}

/* Changes of state.  Each of these functions is the only one that changes its
 * state, and keeps right what depends on it. */

static void
set_life(struct offload_flow *flow, enum offload_life life)
{
    offload_transition_check(OFFLOAD_MACHINE_LIFE, flow->life, life);
    flow->life = life;
}

/* The copy in the kernel has come, or gone, or been refused.  Statistics of
 * one that has gone are added to 'base'. */
void
offload_flow_set_kernel(struct offload_flow *flow,
                        enum offload_kernel_copy kernel)
{
    if (flow->kernel == kernel) {
        return;
    }
    offload_transition_check(OFFLOAD_MACHINE_KERNEL, flow->kernel, kernel);
    if (flow->kernel == OFFLOAD_KERNEL_PRESENT) {
        offload_stats_add(&flow->base, &flow->kernel_seen);
    }
    if (kernel == OFFLOAD_KERNEL_PRESENT) {
        flow->kernel_seen = (struct offload_stats) { .n_packets = 0 };
    }
    flow->kernel = kernel;
    offload_flow_moved(flow);
}

/* Likewise, for the copy in tc, which is made of 'desc' if it has come. */
void
offload_flow_set_tc(struct offload_flow *flow, enum offload_tc_copy tc,
                    const struct offload_desc *desc)
{
    enum offload_tc_copy old = flow->tc;

    offload_transition_check(OFFLOAD_MACHINE_TC, old, tc);
    flow->tc = tc;
    switch (tc) {
    case OFFLOAD_TC_INSERTING:
        flow->tc_seen = (struct offload_stats) { .n_packets = 0 };
        flow->in_hw = false;
        break;

    case OFFLOAD_TC_PRESENT:
        flow->tc_desc = offload_desc_ref(desc);
        offload_flow_moved(flow);
        if (old == OFFLOAD_TC_INSERTING) {
            flow->tc_since = flow->moved;
        }
        break;

    case OFFLOAD_TC_NONE:
    default:
        if (old == OFFLOAD_TC_PRESENT) {
            if (!flow->discard_tc) {
                offload_stats_add(&flow->base, &flow->tc_seen);
            }
            offload_desc_unref(flow->tc_desc);
            flow->tc_desc = NULL;
            offload_flow_moved(flow);
        }
        flow->discard_tc = false;
        break;
    }
}

void
offload_flow_set_target(struct offload_flow *flow, enum offload_target target)
{
    if (flow->target != target) {
        offload_transition_check(OFFLOAD_MACHINE_TARGET, flow->target, target);
        flow->target = target;
    }
}

/* Who waits until nobody is at the flow is told. */
void
offload_flow_set_work(struct offload_flow *flow, enum offload_work work)
{
    offload_transition_check(OFFLOAD_MACHINE_WORK, flow->work, work);
    if (flow->work == OFFLOAD_WORK_BUSY) {
        xpthread_cond_broadcast(&flow->stripe->cond);
    }
    flow->work = work;
}

/* From now on 'flow' is one that is shown. */
void
offload_flow_set_present(struct offload_flow *flow)
{
    if (flow->life == OFFLOAD_LIFE_NEW) {
        set_life(flow, OFFLOAD_LIFE_PRESENT);
    }
}

/* Takes 'flow', which could not be made, out of the table. */
void
offload_flow_discard(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    set_life(flow, OFFLOAD_LIFE_GONE);
    hmap_remove(&flow->stripe->flows, &flow->hmap_node);
    xpthread_cond_broadcast(&flow->stripe->cond);
    offload_flow_unref(flow);
}

/* Takes 'flow' out of the table, to delete it. */
void
offload_flow_remove(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_stripe *stripe = flow->stripe;

    set_life(flow, OFFLOAD_LIFE_DELETING);
    offload_flow_set_target(flow, OFFLOAD_TARGET_NOWHERE);
    hmap_remove(&stripe->flows, &flow->hmap_node);
    hmap_insert(&stripe->deleting, &flow->hmap_node, ufid_hash(&flow->ufid));
}

/* Ends the deletion of 'flow', unless it has ended already: what was in the
 * queue of a thread comes out later. */
void
offload_flow_gone(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (flow->life != OFFLOAD_LIFE_GONE) {
        set_life(flow, OFFLOAD_LIFE_GONE);
        if (flow->final) {
            *flow->final = flow->base;
        }
        if (flow->waiter) {
            offload_waiter_done(flow->waiter);
        }
        hmap_remove(&flow->stripe->deleting, &flow->hmap_node);
        offload_flow_unref(flow);
    }
}

void
offload_count(struct offload *offload, unsigned int thread,
              enum offload_counter counter)
{
    uint64_t orig;

    atomic_add_relaxed(&offload->threads[thread].counters[counter], 1, &orig);
}

/* Counts that 'flow' is not in tc for 'reason', and logs it the first time. */
void
offload_note_reason(struct offload *offload, const struct offload_flow *flow,
                    enum offload_reason reason, int error)
{
    struct offload_reason_info *info = &offload->reasons[reason];
    bool first;

    ovs_mutex_lock(&offload->reasons_mutex);
    first = !info->n++;
    info->ufid = flow->ufid;
    info->port = flow->desc->in_port;
    info->error = error;
    ovs_mutex_unlock(&offload->reasons_mutex);

    if (first && offload_reason_is_rejection(reason)) {
        VLOG_INFO_RL(&rl, "flow "UUID_FMT" on port %"PRIu32" stays in the "
                     "kernel datapath: %s%s%s",
                     UUID_ARGS((const struct uuid *) &flow->ufid),
                     flow->desc->in_port, offload_reason_to_string(reason),
                     error ? ": " : "", error ? ovs_strerror(error) : "");
    }
}

/* The thread that 'flow', which no thread has, goes to: behind another one of
 * the same ufid that is being deleted, if there is one. */
static unsigned int
thread_of(struct offload *offload, const struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    const struct offload_flow *old;

    if (offload_flow_in_table(flow)
        && !hmap_is_empty(&flow->stripe->deleting)) {
        old = find(&flow->stripe->deleting, &flow->ufid);
        if (old) {
            return old->thread;
        }
    }
    return offload_choose_thread(offload, flow->desc->in_port);
}

/* Puts 'flow' into the queue of its thread. */
void
offload_flow_push(struct offload *offload, struct offload_flow *flow)
{
    struct offload_thread *thread = &offload->threads[flow->thread];
    uint32_t orig, most;

    offload_flow_set_work(flow, OFFLOAD_WORK_QUEUED);
    flow->n_refs++;
    atomic_add_relaxed(&thread->n_queued, 1, &orig);
    atomic_read_relaxed(&thread->most_queued, &most);
    if (orig + 1 > most) {
        /* One who is preempted here may set it back a little. */
        atomic_store_relaxed(&thread->most_queued, orig + 1);
    }
    kdp_mpsc_queue_push(&thread->queue, &flow->item.node);
}

/* Asks the thread of 'flow', whose target the caller has set, to see to it. */
void
offload_flow_request(struct offload *offload, struct offload_flow *flow,
                     enum offload_request request)
{
    if (!offload_flow_has_thread(flow)) {
        offload_flow_unpark(offload, flow);
        flow->thread = thread_of(offload, flow);
    }
    if (flow->request) {
        offload_count(offload, flow->thread, OFFLOAD_SUPERSEDED);
    }
    offload_count(offload, flow->thread, OFFLOAD_ENQUEUED);
    flow->request = request;
    flow->requested = time_usec();

    /* A thread that is at the flow looks again before it leaves it. */
    if (!offload_flow_has_thread(flow)) {
        offload_flow_push(offload, flow);
    }
}

/* Takes back what was asked for and has not been begun. */
void
offload_flow_drop_request(struct offload *offload, struct offload_flow *flow)
{
    offload_flow_unpark(offload, flow);
    if (flow->request) {
        offload_count(offload, flow->thread, OFFLOAD_SUPERSEDED);
        flow->request = OFFLOAD_NO_REQUEST;
    }
}

static void
set_reason(struct offload *offload, struct offload_flow *flow,
           enum offload_reason reason)
{
    if (reason != flow->reason || reason == OFFLOAD_REASON_FULL) {
        offload_note_reason(offload, flow, reason, 0);
    }
    flow->reason = reason;
    flow->error = 0;
}

static bool
queue_is_full(struct offload *offload, const struct offload_flow *flow)
{
    unsigned int max;
    uint32_t n;

    atomic_read_relaxed(
        &offload->threads[thread_of(offload, flow)].n_queued, &n);
    atomic_read_relaxed(&offload->max_queued, &max);
    return n >= max;
}

/* Offers 'flow' to tc, if it is in the kernel only, nothing else is asked for
 * and nothing speaks against it. */
void
offload_flow_offer(struct offload *offload, struct offload_flow *flow)
{
    long long int now = time_msec();
    enum offload_reason reason;
    unsigned int delay;
    uint64_t port_seq;
    bool enabled;

    if (!offload_flow_in_table(flow) || !offload_flow_in_kernel(flow)
        || flow->kernel_claimed || offload_flow_in_tc(flow)
        || offload_flow_is_busy(flow) || flow->request) {
        return;
    }

    atomic_read_relaxed(&offload->enabled, &enabled);
    atomic_read_relaxed(&offload->delay, &delay);
    reason = offload_port_admit(offload, flow->desc, &port_seq);
    if (offload_reason_is_rejection(flow->reason)
        && port_seq == flow->port_seq
        && (!flow->retry || now < flow->retry)) {
        return;
    }
    if (!enabled) {
        reason = OFFLOAD_REASON_DISABLED;
    } else if (now - flow->created < delay) {
        reason = OFFLOAD_REASON_YOUNG;
    } else if (!reason && queue_is_full(offload, flow)) {
        reason = OFFLOAD_REASON_FULL;
    }
    if (reason) {
        set_reason(offload, flow, reason);
        return;
    }
    flow->reason = OFFLOAD_REASON_NONE;
    offload_flow_set_target(flow, OFFLOAD_TARGET_TC);
    offload_flow_request(offload, flow, OFFLOAD_INSERT);
}

/* Moves 'flow' back to the kernel, or leaves it there, for 'reason'. */
void
offload_flow_return(struct offload *offload, struct offload_flow *flow,
                    enum offload_reason reason)
{
    offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
    set_reason(offload, flow, reason);
    flow->retry = 0;
    flow->port_seq = 0;
    if (offload_flow_in_tc(flow) || offload_flow_is_busy(flow)
        || !offload_flow_in_kernel(flow)) {
        offload_flow_request(offload, flow, OFFLOAD_RETURN);
    } else {
        offload_flow_drop_request(offload, flow);
    }
}

/* Sets when 'flow' may be offered again after a failure that may go away. */
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

/* Found that the copy of 'flow' in tc, which no thread is at, is not there. */
void
offload_flow_vanished(struct offload *offload, struct offload_flow *flow)
{
    unsigned int thread = offload_choose_thread(offload, flow->desc->in_port);

    offload_count(offload, thread, OFFLOAD_VANISHED);
    offload_chains_remove(offload, flow->tc_desc);
    offload_flow_set_tc(flow, OFFLOAD_TC_NONE, NULL);

    if (offload_flow_in_table(flow) && !flow->request) {
        offload_note_reason(offload, flow, OFFLOAD_REASON_VANISHED, 0);
        flow->reason = OFFLOAD_REASON_VANISHED;
        flow->error = 0;
        offload_port_admit(offload, flow->desc, &flow->port_seq);
        set_retry(offload, flow);
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
        if (!offload_flow_in_kernel(flow)) {
            offload_flow_request(offload, flow, OFFLOAD_RETURN);
        }
    }
}

/* Found that somebody else has deleted the kernel copy of 'flow', which is in
 * tc, too, and which nobody is at. */
void
offload_flow_left_kernel(struct offload *offload, struct offload_flow *flow)
{
    offload_flow_set_kernel(flow, OFFLOAD_KERNEL_NONE);
    if (offload_flow_in_table(flow) && !flow->request) {
        /* So it should be in both: see next_step(). */
        offload_flow_request(offload, flow, OFFLOAD_MODIFY);
    }
}

/* Takes note of what tc said of the copy of 'flow' there, unless it said more
 * before: what several threads read may come in any order. */
void
offload_flow_saw_tc(struct offload_flow *flow,
                    const struct offload_stats *stats, bool in_hw)
{
    const struct offload_stats last = flow->tc_seen;

    if (stats->n_packets < last.n_packets) {
        return;
    }
    flow->tc_seen = *stats;
    flow->in_hw = in_hw;
    if (!stats->used) {
        flow->tc_seen.used = (stats->n_packets != last.n_packets
                              ? time_msec() : last.used);
    }
}

/* Likewise, for the kernel. */
void
offload_flow_saw_kernel(struct offload_flow *flow,
                        const struct offload_stats *stats)
{
    if (stats->n_packets >= flow->kernel_seen.n_packets) {
        flow->kernel_seen = *stats;
    }
}

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

/* Tc did not take 'flow' because of 'error'. */
void
offload_flow_reject(struct offload *offload, struct offload_flow *flow,
                    int error)
{
    enum offload_reason reason = reason_from_error(error);

    offload_port_failed(offload, flow->desc, error);
    offload_note_reason(offload, flow, reason, error);
    offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
    flow->reason = reason;
    flow->error = error;
    flow->retry = 0;
    offload_port_admit(offload, flow->desc, &flow->port_seq);
    if (reason == OFFLOAD_REASON_NO_SPACE || reason == OFFLOAD_REASON_EXISTS
        || reason == OFFLOAD_REASON_ERROR) {
        set_retry(offload, flow);
    }
    if (flow->request) {
        offload_count(offload, flow->thread, OFFLOAD_REJECTED);
        flow->request = OFFLOAD_NO_REQUEST;
    }
}

enum offload_state
offload_flow_state(const struct offload_flow *flow)
{
    switch (flow->target) {
    case OFFLOAD_TARGET_NOWHERE:
        return (offload_flow_in_table(flow) ? OFFLOAD_STATE_REJECTED
                : OFFLOAD_STATE_DELETING);
    case OFFLOAD_TARGET_TC:
        return (flow->work == OFFLOAD_WORK_WAITING ? OFFLOAD_STATE_PARKED
                : !offload_flow_in_tc(flow) ? OFFLOAD_STATE_QUEUED
                : offload_flow_is_current(flow) ? OFFLOAD_STATE_IN_TC
                : OFFLOAD_STATE_MOVING_BACK);
    case OFFLOAD_TARGET_KERNEL:
    default:
        return (offload_flow_in_tc(flow) || flow->request
                ? OFFLOAD_STATE_MOVING_BACK
                : offload_reason_is_rejection(flow->reason)
                ? OFFLOAD_STATE_REJECTED : OFFLOAD_STATE_KERNEL);
    }
}
