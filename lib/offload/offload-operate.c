/* SPDX-License-Identifier: Apache-2.0 */

/* Operations of users: handlers, revalidators and the main thread. */

#include <config.h>
#include "offload/offload.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "offload/offload-waiter.h"
#include "util.h"

/* Operations sent to the kernel together. */
#define MAX_PENDING 64

/* An operation whose kernel part is in progress. */
struct pending {
    struct offload_op *op;
    struct offload_stripe *stripe;
    struct offload_flow *flow;  /* Claimed, with a reference; or NULL. */
    bool new;                   /* Made for this operation. */
    struct offload_copy_op copy_op;
};

/* The result of starting an operation. */
enum started {
    DONE,                       /* There is no kernel part. */
    PENDING,                    /* There is one. */
    WOULD_WAIT,                 /* Another thread changes the kernel copy. */
};

static void
claim(struct pending *pending, struct offload_flow *flow)
{
    offload_flow_claim(flow);
    pending->flow = flow;
}

/* Finds the flow of 'ufid' for 'pending->op'.  If another thread has claimed
 * it, waits if 'wait' is true, and returns false otherwise. */
static bool
find_unclaimed(struct pending *pending, const ovs_u128 *ufid, bool wait,
               struct offload_flow **flow)
    OVS_REQUIRES(pending->stripe->mutex)
{
    for (;;) {
        *flow = offload_flow_find(pending->stripe, ufid);
        if (!*flow || !(*flow)->kernel_claimed) {
            return true;
        }
        if (!wait) {
            return false;
        }
        ovs_mutex_cond_wait(&pending->stripe->cond, &pending->stripe->mutex);
    }
}

static enum started
start_put(struct pending *pending, bool wait)
    OVS_REQUIRES(pending->stripe->mutex)
{
    struct offload_op *op = pending->op;
    struct offload_flow *flow;
    unsigned int flags = op->flags;

    if (!find_unclaimed(pending, &op->desc->ufid, wait, &flow)) {
        return WOULD_WAIT;
    }
    if (flow && !(op->flags & OFFLOAD_PUT_MODIFY)) {
        op->tracked = true;
        op->error = EEXIST;
        return DONE;
    }
    if (flow) {
        /* It may be in tc only.  The kernel is stricter about the key of a
         * flow that it might have to create: see finish_put(). */
        flags |= OFFLOAD_PUT_CREATE | OFFLOAD_PUT_MODIFY;
        if (offload_flow_in_kernel(flow)) {
            flags &= ~OFFLOAD_PUT_CREATE;
        }
    } else {
        flow = offload_flow_create(pending->stripe,
                                   offload_desc_ref(op->desc));
        pending->new = true;
    }
    claim(pending, flow);
    pending->copy_op = (struct offload_copy_op) {
        .type = OFFLOAD_COPY_PUT,
        .flags = flags,
        .ufid = op->desc->ufid,
        .desc = op->desc,
        .cookie = op->cookie,
    };
    return PENDING;
}

/* Deletes 'flow', which has no kernel copy any more, from tc.  If tc has
 * failed to do that for long, does not wait for it, and the flow stays in the
 * table. */
static void
delete_rest(struct offload *offload, struct offload_flow *flow,
            struct offload_op *op, struct offload_waiter *waiter)
{
    if (offload_flow_is_stuck(flow)) {
        offload_placement_keep_deleted(flow);
        offload_flow_report(flow, &op->stats);
        return;
    }
    offload_flow_remove(flow);
    flow->final = &op->stats;
    if (offload_flow_needs_thread(flow)) {
        flow->waiter = waiter;
        offload_waiter_add(waiter);
    }
    offload_placement_delete(offload, flow);
}

static enum started
start_del(struct offload *offload, struct pending *pending, bool wait,
          struct offload_waiter *waiter)
    OVS_REQUIRES(pending->stripe->mutex)
{
    struct offload_op *op = pending->op;
    struct offload_flow *flow;

    if (!find_unclaimed(pending, &op->ufid, wait, &flow)) {
        return WOULD_WAIT;
    }
    op->tracked = flow != NULL;
    if (flow && !offload_flow_in_kernel(flow)) {
        delete_rest(offload, flow, op, waiter);
        return DONE;
    }
    pending->copy_op = (struct offload_copy_op) {
        .type = OFFLOAD_COPY_DEL,
        .ufid = op->ufid,
        .desc = flow ? flow->desc : NULL,
        .cookie = op->cookie,
    };
    if (!flow) {
        /* Prevents another thread from creating it meanwhile. */
        flow = offload_flow_create_placeholder(pending->stripe, &op->ufid);
        pending->new = true;
    }
    claim(pending, flow);
    return PENDING;
}

static const ovs_u128 *
ufid_of(const struct offload_op *op)
{
    return op->type == OFFLOAD_PUT ? &op->desc->ufid : &op->ufid;
}

/* Starts 'op'.  If another thread changes the kernel copy, waits for it if
 * 'wait' is true, and returns WOULD_WAIT otherwise. */
static enum started
start(struct offload *offload, struct pending *pending, struct offload_op *op,
      bool wait, struct offload_waiter *waiter)
{
    enum started started;

    *pending = (struct pending) { .op = op };
    pending->stripe = offload_stripe(offload, ufid_of(op));

    ovs_mutex_lock(&pending->stripe->mutex);
    started = (op->type == OFFLOAD_PUT ? start_put(pending, wait)
               : start_del(offload, pending, wait, waiter));
    ovs_mutex_unlock(&pending->stripe->mutex);
    return started;
}

static void
finish_put(struct offload *offload, struct pending *pending)
    OVS_REQUIRES(pending->stripe->mutex)
{
    struct offload_flow *flow = pending->flow;
    struct offload_op *op = pending->op;
    bool missing, refused;

    op->error = pending->copy_op.error;

    /* ovs_flow_cmd_new() returns ENOENT if another flow matches the key, and
     * ovs_flow_cmd_set() if another process has deleted the kernel copy.  The
     * new content goes into tc anyway: the request would not be repeated, and
     * the rule would keep the old content. */
    refused = (op->error == ENOENT && !pending->new
               && !offload_flow_in_kernel(flow));
    missing = (op->error == ENOENT && offload_flow_in_kernel(flow)
               && offload_flow_needs_thread(flow));
    if (refused || missing) {
        op->error = 0;
    }
    if (op->error) {
        if (pending->new) {
            offload_flow_discard(flow);
        }
        return;
    }
    op->tracked = true;
    offload_flow_set_present(flow);
    offload_flow_set_kernel(flow, (refused ? OFFLOAD_KERNEL_REFUSED
                                   : missing ? OFFLOAD_KERNEL_NONE
                                   : OFFLOAD_KERNEL_PRESENT));
    if (op->flags & OFFLOAD_PUT_ZERO_STATS) {
        flow->base = (struct offload_stats) { .n_packets = 0 };
        flow->kernel_seen = flow->base;
        flow->discard_tc = flow->tc != OFFLOAD_TC_NONE;
    }
    if (!pending->new) {
        /* A new version, even if it is equal. */
        offload_flow_describe(flow, (flow->desc == op->desc
                                     ? offload_desc_create(op->desc)
                                     : offload_desc_ref(op->desc)));
    }
    offload_flow_moved(flow);
    if (pending->new && !(op->flags & OFFLOAD_PUT_MODIFY)) {
        /* The kernel has not counted anything yet. */
        flow->known = flow->moved;
    }
    offload_placement_changed(offload, flow);
}

static void
finish_del(struct offload *offload, struct pending *pending,
           struct offload_waiter *waiter)
    OVS_REQUIRES(pending->stripe->mutex)
{
    const struct offload_copy_op *copy_op = &pending->copy_op;
    struct offload_flow *flow = pending->flow;
    struct offload_op *op = pending->op;

    if (pending->new) {
        op->error = copy_op->error;
        op->stats = copy_op->stats;
        offload_flow_discard(flow);
        return;
    }
    if (copy_op->error && copy_op->error != ENOENT) {
        op->error = copy_op->error;
        return;
    }
    if (copy_op->error && !offload_flow_needs_thread(flow)) {
        /* Another process has deleted it. */
        op->error = ENOENT;
    }
    if (!copy_op->error) {
        offload_flow_saw_kernel(flow, &copy_op->stats);
    }
    offload_flow_set_kernel(flow, OFFLOAD_KERNEL_NONE);
    delete_rest(offload, flow, op, waiter);
}

static void
finish(struct offload *offload, struct pending *pending,
       struct offload_waiter *waiter)
{
    struct offload_op *op = pending->op;

    ovs_mutex_lock(&pending->stripe->mutex);
    if (pending->flow) {
        offload_flow_release(pending->flow);
    }
    if (op->type == OFFLOAD_PUT) {
        finish_put(offload, pending);
    } else {
        finish_del(offload, pending, waiter);
    }
    if (pending->flow) {
        offload_flow_unref(pending->flow);
    }
    ovs_mutex_unlock(&pending->stripe->mutex);
}

/* Reads the flow of 'op', on which no operation is in progress.  May wait:
 * nothing waits for the caller. */
static void
read_flow(struct offload *offload, struct offload_op *op)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct pending pending = {
        .op = op,
        .stripe = offload_stripe(offload, ufid_of(op)),
    };
    struct offload_flow *flow;
    bool found = false;

    ovs_mutex_lock(&pending.stripe->mutex);
    find_unclaimed(&pending, ufid_of(op), true, &flow);
    if (flow && flow->life == OFFLOAD_LIFE_PRESENT) {
        flow->n_refs++;
        found = offload_placement_read(offload, flow, &op->stats, &op->in_tc,
                                       &op->hw);
        if (found && op->type == OFFLOAD_GET) {
            op->result = offload_desc_ref(flow->desc);
        }
        offload_flow_unref(flow);
    }
    ovs_mutex_unlock(&pending.stripe->mutex);

    if (op->type == OFFLOAD_GET) {
        op->tracked = found;
    }
    if (!found && op->type == OFFLOAD_GET) {
        struct offload_copy_op copy_op = {
            .type = OFFLOAD_COPY_GET,
            .ufid = op->ufid,
            .cookie = op->cookie,
        };

        offload_kernel_operate(offload, &copy_op);
        op->error = copy_op.error;
        op->stats = copy_op.stats;
    }
}

/* Carries out puts and deletes from the start of the 'n' operations 'ops', up
 * to the first that is a get or has to wait for one of them.  Returns their
 * number. */
static size_t
change_some(struct offload *offload, struct offload_op *ops[], size_t n,
            struct pending pending[MAX_PENDING], struct offload_waiter *waiter)
{
    struct offload_copy_op *copy_ops[MAX_PENDING];
    size_t n_pending = 0, i;

    /* A thread with a claim must not wait. */
    for (i = 0; i < n && n_pending < MAX_PENDING; i++) {
        enum started started;

        if (ops[i]->type == OFFLOAD_GET) {
            break;
        }
        started = start(offload, &pending[n_pending], ops[i], !n_pending,
                        waiter);
        if (started == WOULD_WAIT) {
            break;
        }
        if (started == PENDING) {
            copy_ops[n_pending] = &pending[n_pending].copy_op;
            n_pending++;
        }
    }
    if (n_pending) {
        offload->kernel.operate(offload->kernel.aux, copy_ops, n_pending);
    }
    for (size_t j = 0; j < n_pending; j++) {
        finish(offload, &pending[j], waiter);
    }
    return i;
}

/* Carries out the 'n' operations 'ops', in order as far as they are on the
 * same flow.  Kernel operations are sent together.  If flows are deleted from
 * tc, waits for that once. */
void
offload_operate(struct offload *offload, struct offload_op *ops[], size_t n)
{
    struct pending *pending = xmalloc(MIN(n, MAX_PENDING) * sizeof *pending);
    struct offload_waiter waiter;

    offload_waiter_init(&waiter);
    for (size_t i = 0; i < n; i++) {
        ops[i]->error = 0;
        ops[i]->tracked = false;
        ops[i]->in_tc = false;
        ops[i]->hw = OFFLOAD_HW_UNKNOWN;
        ops[i]->stats = (struct offload_stats) { .n_packets = 0 };
        ops[i]->result = NULL;
    }
    for (size_t i = 0; i < n; ) {
        if (ops[i]->type == OFFLOAD_GET) {
            read_flow(offload, ops[i++]);
        } else {
            /* No thread waits for tc with this lock held. */
            ovs_rwlock_rdlock(&offload->change_rwlock);
            i += change_some(offload, &ops[i], n - i, pending, &waiter);
            ovs_rwlock_unlock(&offload->change_rwlock);
        }
    }
    offload_waiter_wait(&waiter, false);
    for (size_t i = 0; i < n; i++) {
        if (ops[i]->type == OFFLOAD_PUT && ops[i]->want_stats
            && !ops[i]->error) {
            read_flow(offload, ops[i]);
        }
    }
    free(pending);
}

/* Takes over a flow that is in the kernel but unknown to the engine, because
 * it is older than the engine.  Calls 'cb' with 'aux' to get its description,
 * while no other thread can change it.  Returns true if the flow was taken
 * over, false if it is known, being deleted, or gone. */
bool
offload_learn(struct offload *offload, const ovs_u128 *ufid,
              offload_learn_cb *cb, void *aux)
{
    struct offload_stripe *stripe = offload_stripe(offload, ufid);
    struct offload_flow *flow;
    struct offload_desc *desc;

    /* A flush must find all claims. */
    ovs_rwlock_rdlock(&offload->change_rwlock);
    ovs_mutex_lock(&stripe->mutex);
    if (offload_flow_find(stripe, ufid)
        || offload_flow_find_deleting(stripe, ufid)) {
        ovs_mutex_unlock(&stripe->mutex);
        ovs_rwlock_unlock(&offload->change_rwlock);
        return false;
    }
    flow = offload_flow_create_placeholder(stripe, ufid);
    offload_flow_claim(flow);
    ovs_mutex_unlock(&stripe->mutex);

    desc = cb(aux, ufid);

    ovs_mutex_lock(&stripe->mutex);
    offload_flow_release(flow);
    if (desc) {
        offload_flow_describe(flow, desc);
        offload_flow_set_present(flow);
        offload_flow_set_kernel(flow, OFFLOAD_KERNEL_PRESENT);
        offload_placement_offer(offload, flow);
    } else {
        offload_flow_discard(flow);
    }
    offload_flow_unref(flow);
    ovs_mutex_unlock(&stripe->mutex);
    ovs_rwlock_unlock(&offload->change_rwlock);
    return desc != NULL;
}
