/* SPDX-License-Identifier: Apache-2.0 */

/* Offload threads.
 *
 * A port belongs to the thread that its number's hash says.  When the number
 * of threads changes, flows that no thread has go to the new one the next
 * time that they are queued; a thread that is to go hands over what is in its
 * queue, in order, so that requests on one flow stay in order. */

#include <config.h>
#include "offload/offload-private.h"

#include <limits.h>
#include <stdlib.h>

#include "hash.h"
#include "ovs-rcu.h"
#include "util.h"

void
offload_waiter_init(struct offload_waiter *waiter)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    *waiter = (struct offload_waiter) { .n = 0 };
    ovs_mutex_init(&waiter->mutex);
    xpthread_cond_init(&waiter->cond, NULL);
}

void
offload_waiter_add(struct offload_waiter *waiter)
{
    ovs_mutex_lock(&waiter->mutex);
    waiter->n++;
    ovs_mutex_unlock(&waiter->mutex);
}

void
offload_waiter_done(struct offload_waiter *waiter)
{
    /* Signal with the lock: who waits destroys the waiter right after. */
    ovs_mutex_lock(&waiter->mutex);
    if (!--waiter->n) {
        xpthread_cond_signal(&waiter->cond);
    }
    ovs_mutex_unlock(&waiter->mutex);
}

/* Waits, and destroys 'waiter'.  The thread is quiescent meanwhile if
 * 'quiesce' says so. */
void
offload_waiter_wait(struct offload_waiter *waiter, bool quiesce)
{
    if (quiesce) {
        ovsrcu_quiesce_start();
    }
    ovs_mutex_lock(&waiter->mutex);
    while (waiter->n) {
        ovs_mutex_cond_wait(&waiter->cond, &waiter->mutex);
    }
    ovs_mutex_unlock(&waiter->mutex);
    if (quiesce) {
        ovsrcu_quiesce_end();
    }
    xpthread_cond_destroy(&waiter->cond);
    ovs_mutex_destroy(&waiter->mutex);
}

/* The thread that flows with input port 'port' go to. */
unsigned int
offload_choose_thread(struct offload *offload, uint32_t port)
{
    unsigned int n;

    atomic_read_relaxed(&offload->n_threads, &n);
    return hash_int(port, 0) % n;
}

/* Puts a message into the queue of 'thread'; 'waiter', if not NULL, is told
 * when it was acted upon.  The caller has the gate, or config_mutex, so that
 * the thread stays. */
void
offload_send(struct offload *offload, unsigned int thread,
             enum offload_item_type type, uint32_t port,
             struct offload_waiter *waiter)
{
    struct offload_control *control = xmalloc(sizeof *control);

    control->item.type = type;
    control->port = port;
    control->waiter = waiter;
    if (waiter) {
        offload_waiter_add(waiter);
    }
    kdp_mpsc_queue_push(&offload->threads[thread].queue, &control->item.node);
}

/* Waits until all that was asked for before has been done. */
void
offload_barrier(struct offload *offload)
{
    struct offload_waiter waiter;
    unsigned int n;

    offload_waiter_init(&waiter);
    ovs_rwlock_rdlock(&offload->gate);
    atomic_read_relaxed(&offload->n_threads, &n);
    for (unsigned int i = 0; i < n; i++) {
        offload_send(offload, i, OFFLOAD_ITEM_BARRIER, 0, &waiter);
    }
    ovs_rwlock_unlock(&offload->gate);
    offload_waiter_wait(&waiter, true);
}

static void
run_control(struct offload_thread *thread, struct offload_control *control)
{
    struct offload *offload = thread->offload;

    switch (control->item.type) {
    case OFFLOAD_ITEM_ADOPT:
        offload_adopt_port(thread, control->port);
        break;
    case OFFLOAD_ITEM_FLUSH_PORT:
        offload->backend.flush(offload->backend.aux, control->port);
        break;
    case OFFLOAD_ITEM_BARRIER:
    case OFFLOAD_ITEM_FLOW:
    default:
        break;
    }
    if (control->waiter) {
        offload_waiter_done(control->waiter);
    }
    free(control);
}

/* Returns what is next in the queue of 'thread', or NULL. */
static struct offload_item *
pop_item(struct offload_thread *thread)
{
    struct offload_item *item = thread->next;
    struct kdp_mpsc_node *node;

    if (item) {
        thread->next = NULL;
        return item;
    }
    node = kdp_mpsc_queue_pop(&thread->queue);
    return node ? CONTAINER_OF(node, struct offload_item, node) : NULL;
}

static struct offload_flow *
flow_from_item(struct offload_item *item)
{
    return CONTAINER_OF(item, struct offload_flow, item);
}

static bool
contains(struct offload_flow *flows[], size_t n, const ovs_u128 *ufid)
{
    for (size_t i = 0; i < n; i++) {
        if (ovs_u128_equals(flows[i]->ufid, *ufid)) {
            return true;
        }
    }
    return false;
}

/* Notes that 'flow' is out of the queue, and whether the thread is at it.
 * Passes the queue's reference on to the caller. */
static void
take(struct offload_thread *thread, struct offload_flow *flow, bool busy)
{
    uint32_t orig;

    ovs_mutex_lock(&flow->stripe->mutex);
    flow->queued = false;
    flow->busy = busy;
    ovs_mutex_unlock(&flow->stripe->mutex);
    atomic_sub_relaxed(&thread->n_queued, 1, &orig);
}

/* Takes flows out of the queue, up to the first that is not one, or that has
 * the ufid of another one: what is done with these has to be done in turn. */
static size_t
take_batch(struct offload_thread *thread, struct offload_flow *flows[])
{
    struct offload_item *item = NULL;
    size_t n = 0;

    while (n < OFFLOAD_BATCH) {
        struct offload_flow *flow;

        item = pop_item(thread);
        if (!item || item->type != OFFLOAD_ITEM_FLOW) {
            break;
        }
        flow = flow_from_item(item);
        if (contains(flows, n, &flow->ufid)) {
            break;
        }
        take(thread, flow, true);
        flows[n++] = flow;
        item = NULL;
    }
    thread->next = item;
    return n;
}

/* Does what is in the queue, a bounded part of it.  Returns false if it is
 * empty. */
static bool
run_some(struct offload_thread *thread)
{
    struct offload_flow *flows[OFFLOAD_BATCH];
    struct offload_item *item;
    size_t n;

    n = take_batch(thread, flows);
    if (n) {
        offload_step_flows(thread, flows, n);
        return true;
    }
    item = thread->next;
    if (!item) {
        return false;
    }
    thread->next = NULL;
    run_control(thread, CONTAINER_OF(item, struct offload_control, item));
    return true;
}

/* Gives what is in the queue to the threads that are left, in order. */
static bool
hand_over_one(struct offload_thread *thread)
{
    struct offload *offload = thread->offload;
    struct offload_item *item = pop_item(thread);
    struct offload_flow *flow;
    uint32_t orig;

    if (!item) {
        return false;
    }
    if (item->type != OFFLOAD_ITEM_FLOW) {
        run_control(thread, CONTAINER_OF(item, struct offload_control, item));
        return true;
    }
    flow = flow_from_item(item);
    ovs_mutex_lock(&flow->stripe->mutex);
    flow->queued = false;
    atomic_sub_relaxed(&thread->n_queued, 1, &orig);
    flow->thread = offload_choose_thread(offload, flow->desc->in_port);
    offload_flow_push(offload, flow);
    offload_flow_unref(flow);
    ovs_mutex_unlock(&flow->stripe->mutex);
    return true;
}

static void *
offload_thread_main(void *thread_)
{
    struct offload_thread *thread = thread_;

    for (;;) {
        unsigned int stop;

        /* Acquire: what was done before, with the release in stop_thread().
         * The kick comes after that, so that it is not slept through. */
        atomic_read_explicit(&thread->stop, &stop, memory_order_acquire);
        if (stop == OFFLOAD_THREAD_HAND_OVER
            ? hand_over_one(thread) : run_some(thread)) {
            /* There may be no sleep for long. */
            ovsrcu_quiesce();
            continue;
        }
        if (stop != OFFLOAD_THREAD_RUN) {
            return NULL;
        }
        kdp_mpsc_queue_wait(&thread->queue, LLONG_MAX);
    }
}

static void
start_thread(struct offload_thread *thread)
{
    atomic_store_relaxed(&thread->stop, OFFLOAD_THREAD_RUN);
    thread->running = true;
    thread->ever_ran = true;
    thread->thread = ovs_thread_create("offload", offload_thread_main, thread);
}

/* Ends 'thread', which nobody sends anything to any more. */
static void
stop_thread(struct offload_thread *thread, enum offload_thread_stop how)
{
    /* Release: see offload_thread_main(). */
    atomic_store_explicit(&thread->stop, how, memory_order_release);
    kdp_mpsc_queue_kick(&thread->queue);
    xpthread_join(thread->thread, NULL);
    thread->running = false;
}

/* Makes 'n' threads run, with config_mutex.  Waits for those that go to finish
 * the batch that they are at. */
void
offload_threads_set(struct offload *offload, unsigned int n)
{
    unsigned int old;

    atomic_read_relaxed(&offload->n_threads, &old);
    for (unsigned int i = old; i < n; i++) {
        start_thread(&offload->threads[i]);
    }

    /* Messages are sent with the gate. */
    ovs_rwlock_wrlock(&offload->gate);
    atomic_store_relaxed(&offload->n_threads, n);
    ovs_rwlock_unlock(&offload->gate);
    if (n >= old) {
        return;
    }

    /* From here on nobody who takes a stripe's lock chooses a thread that
     * goes, unless for a flow behind another one that it still has. */
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        ovs_mutex_lock(&offload->stripes[i].mutex);
        ovs_mutex_unlock(&offload->stripes[i].mutex);
    }
    for (unsigned int i = n; i < old; i++) {
        stop_thread(&offload->threads[i], OFFLOAD_THREAD_HAND_OVER);
    }
}

/* Ends all threads once everything has been done. */
void
offload_threads_stop(struct offload *offload)
{
    unsigned int n;
    bool again;

    atomic_read_relaxed(&offload->n_threads, &n);
    for (unsigned int i = 0; i < n; i++) {
        stop_thread(&offload->threads[i], OFFLOAD_THREAD_DRAIN);
    }

    /* A thread may have sent something to one that had ended already: a flow
     * whose parent came. */
    do {
        again = false;
        for (unsigned int i = 0; i < n; i++) {
            while (run_some(&offload->threads[i])) {
                again = true;
            }
        }
    } while (again);
}
