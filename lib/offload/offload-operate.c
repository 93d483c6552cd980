/* SPDX-License-Identifier: Apache-2.0 */

/* The operations of users: handlers, revalidators and the main thread. */

#include <config.h>
#include "offload/offload-private.h"

#include <errno.h>
#include <stdlib.h>

#include "util.h"

/* Operations sent to the kernel together. */
#define MAX_PENDING 64

/* An operation whose kernel part is under way. */
struct pending {
    struct offload_op *op;
    struct offload_stripe *stripe;
    struct offload_flow *flow;  /* Claimed, with a reference; or NULL. */
    bool new;                   /* Made for this operation. */
    struct offload_copy_op copy_op;
};

/* What the start of an operation came to. */
enum started {
    DONE,                       /* There is no kernel part. */
    PENDING,                    /* There is one. */
    WOULD_WAIT,                 /* Somebody else changes the kernel copy. */
};

static void
claim(struct pending *pending, struct offload_flow *flow)
{
    flow->kernel_claimed = true;
    flow->n_refs++;
    pending->flow = flow;
}

/* Finds the flow of 'ufid' for 'pending->op'.  Returns false if someone else
 * has claimed it; if 'wait' is true, waits instead. */
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
        /* It may be in tc only. */
        flags |= OFFLOAD_PUT_CREATE;
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

/* Makes a flow that has no copies and no content, only to be claimed. */
static struct offload_flow *
create_placeholder(struct offload_stripe *stripe, const ovs_u128 *ufid)
    OVS_REQUIRES(stripe->mutex)
{
    struct offload_desc proto = { .ufid = *ufid, .in_port = UINT32_MAX };

    return offload_flow_create(stripe, offload_desc_create(&proto));
}

/* Deletes 'flow', which has no kernel copy any more, from tc. */
static void
delete_rest(struct offload *offload, struct offload_flow *flow,
            struct offload_op *op, struct offload_waiter *waiter)
{
    offload_flow_remove(flow);
    flow->final = &op->stats;
    if (flow->tc_desc || flow->busy) {
        flow->waiter = waiter;
        offload_waiter_add(waiter);
        offload_flow_request(offload, flow, OFFLOAD_DELETE);
    } else {
        offload_flow_drop_request(offload, flow);
        offload_flow_gone(flow);
    }
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
    if (flow && !flow->in_kernel) {
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
        /* So that nobody puts it there meanwhile. */
        flow = create_placeholder(pending->stripe, &op->ufid);
        pending->new = true;
    }
    claim(pending, flow);
    return PENDING;
}

static enum started
start_get(struct offload *offload, struct pending *pending, bool wait)
    OVS_REQUIRES(pending->stripe->mutex)
{
    struct offload_op *op = pending->op;
    struct offload_flow *flow;

    if (!find_unclaimed(pending, &op->ufid, wait, &flow)) {
        return WOULD_WAIT;
    }
    if (flow && (flow->in_kernel || flow->tc_desc)) {
        flow->n_refs++;
        if (offload_flow_read(offload, flow, &op->stats, &op->in_tc)) {
            op->tracked = true;
            op->result = offload_desc_ref(flow->desc);
        } else {
            op->error = ENOENT;
        }
        offload_flow_unref(flow);
        return DONE;
    }
    pending->copy_op = (struct offload_copy_op) {
        .type = OFFLOAD_COPY_GET,
        .ufid = op->ufid,
        .cookie = op->cookie,
    };
    return PENDING;
}

/* Starts 'op'.  If it has to wait for somebody who changes the kernel copy, it
 * does, or returns WOULD_WAIT, according to 'wait'. */
static enum started
start(struct offload *offload, struct pending *pending, struct offload_op *op,
      bool wait, struct offload_waiter *waiter)
{
    const ovs_u128 *ufid = (op->type == OFFLOAD_PUT ? &op->desc->ufid
                            : &op->ufid);
    enum started started;

    *pending = (struct pending) { .op = op };
    pending->stripe = offload_stripe(offload, ufid);
    op->error = 0;
    op->tracked = false;
    op->in_tc = false;
    op->stats = (struct offload_stats) { .n_packets = 0 };
    op->result = NULL;

    ovs_mutex_lock(&pending->stripe->mutex);
    started = (op->type == OFFLOAD_PUT ? start_put(pending, wait)
               : op->type == OFFLOAD_DEL ? start_del(offload, pending, wait,
                                                     waiter)
               : start_get(offload, pending, wait));
    ovs_mutex_unlock(&pending->stripe->mutex);
    return started;
}

/* The flow has new content, in the kernel.  Sees to it that tc follows. */
static void
flow_changed(struct offload *offload, struct offload_flow *flow)
{
    enum offload_reason reason;
    uint64_t port_seq;
    bool enabled;

    if (!flow->tc_desc && !flow->busy && !flow->request) {
        offload_flow_offer(offload, flow);
        return;
    }
    atomic_read_relaxed(&offload->enabled, &enabled);
    reason = offload_port_admit(offload, flow->desc, &port_seq);
    if (!enabled) {
        reason = OFFLOAD_REASON_DISABLED;
    }
    if (reason) {
        offload_flow_return(offload, flow, reason);
    } else {
        flow->target = OFFLOAD_TO_TC;
        offload_flow_request(offload, flow, (flow->tc_desc ? OFFLOAD_MODIFY
                                             : OFFLOAD_INSERT));
    }
}

static void
finish_put(struct offload *offload, struct pending *pending)
    OVS_REQUIRES(pending->stripe->mutex)
{
    struct offload_flow *flow = pending->flow;
    struct offload_op *op = pending->op;

    op->error = pending->copy_op.error;
    if (op->error) {
        if (pending->new) {
            offload_flow_remove(flow);
            offload_flow_gone(flow);
        }
        return;
    }
    op->tracked = true;
    if (op->flags & OFFLOAD_PUT_ZERO_STATS) {
        flow->base = (struct offload_stats) { .n_packets = 0 };
        flow->discard_tc = flow->tc_desc != NULL;
    }
    if (!flow->in_kernel || op->flags & OFFLOAD_PUT_ZERO_STATS) {
        flow->kernel_seen = (struct offload_stats) { .n_packets = 0 };
    }
    flow->in_kernel = true;
    if (!pending->new) {
        /* Another version, even if it says the same. */
        struct offload_desc *desc = (flow->desc == op->desc
                                     ? offload_desc_create(op->desc)
                                     : offload_desc_ref(op->desc));

        offload_desc_unref(flow->desc);
        flow->desc = desc;
    }
    flow->keep_kernel = flow->desc->recirc_id != 0;
    flow->reason = OFFLOAD_REASON_NONE;
    flow->error = 0;
    flow->retry = 0;
    flow->retry_msec = 0;
    offload_flow_moved(offload, flow);
    flow_changed(offload, flow);
    if (op->want_stats) {
        offload_flow_read(offload, flow, &op->stats, &op->in_tc);
    }
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
        offload_flow_remove(flow);
        offload_flow_gone(flow);
        return;
    }
    if (copy_op->error && copy_op->error != ENOENT) {
        op->error = copy_op->error;
        return;
    }
    if (copy_op->error && !flow->tc_desc && !flow->busy) {
        /* Somebody else has deleted it. */
        op->error = ENOENT;
    }
    flow->in_kernel = false;
    offload_stats_add(&flow->base, (copy_op->error ? &flow->kernel_seen
                                    : &copy_op->stats));
    offload_flow_moved(offload, flow);
    delete_rest(offload, flow, op, waiter);
}

static void
finish(struct offload *offload, struct pending *pending,
       struct offload_waiter *waiter)
{
    struct offload_op *op = pending->op;

    ovs_mutex_lock(&pending->stripe->mutex);
    if (pending->flow) {
        pending->flow->kernel_claimed = false;
        xpthread_cond_broadcast(&pending->stripe->cond);
    }
    if (op->type == OFFLOAD_PUT) {
        finish_put(offload, pending);
    } else if (op->type == OFFLOAD_DEL) {
        finish_del(offload, pending, waiter);
    } else {
        op->error = pending->copy_op.error;
        op->stats = pending->copy_op.stats;
    }
    if (pending->flow) {
        offload_flow_unref(pending->flow);
    }
    ovs_mutex_unlock(&pending->stripe->mutex);
}

/* Does the 'n' operations 'ops', in order as far as they are on the same flow.
 * Those in the kernel are sent down together, and if flows are deleted from
 * tc, that is waited for once. */
void
offload_operate(struct offload *offload, struct offload_op *ops[], size_t n)
{
    struct pending *pending = xmalloc(MIN(n, MAX_PENDING) * sizeof *pending);
    struct offload_copy_op *copy_ops[MAX_PENDING];
    struct offload_waiter waiter;
    size_t i = 0;

    offload_waiter_init(&waiter);
    ovs_rwlock_rdlock(&offload->gate);
    while (i < n) {
        size_t n_pending = 0;

        /* Nobody waits who has a claim. */
        for (; i < n && n_pending < MAX_PENDING; i++) {
            enum started started;

            started = start(offload, &pending[n_pending], ops[i], !n_pending,
                            &waiter);
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
            finish(offload, &pending[j], &waiter);
        }
    }
    ovs_rwlock_unlock(&offload->gate);
    offload_waiter_wait(&waiter, false);
    free(pending);
}
