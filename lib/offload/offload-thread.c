/* SPDX-License-Identifier: Apache-2.0 */

/* Offload threads.
 *
 * A port belongs to the thread that its number's hash says.  When the number
 * of threads changes, flows that no thread has go to the new one the next
 * time that they are queued; a thread that is to go hands over what is in its
 * queue, in order, so that requests on one flow stay in order.
 *
 * A thread sorts what comes out of its queue into two lists and does what is
 * urgent first: flows that are in tc, to be deleted or changed, flows that are
 * nowhere because their rules vanished, and ports.  What is left are offers of
 * flows that are in the kernel.  This does not change the order of requests on
 * one flow.  Each flow is in at most one list; one in the backlog is not in
 * tc, so that a delete does not need the thread; and one that comes while
 * another one of the same ufid is being deleted from tc is in the kernel, thus
 * not urgent, or deleted itself, with nothing left to do. */

#include <config.h>
#include "offload/offload-private.h"

#include <limits.h>
#include <stdlib.h>

#include "hash.h"
#include "ovs-rcu.h"
#include "util.h"

/* Items sorted at a time: enough that what is urgent soon overtakes a queue of
 * any length, few enough that the flows at hand do not wait for it. */
#define MAX_SORTED 1024

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

/* Sends a message to all threads and waits until they have acted upon it.  The
 * threads stay the same meanwhile. */
static void
send_to_all(struct offload *offload, enum offload_item_type type)
{
    struct offload_waiter waiter;
    unsigned int n;

    offload_waiter_init(&waiter);
    ovs_mutex_lock(&offload->config_mutex);
    atomic_read_relaxed(&offload->n_threads, &n);
    for (unsigned int i = 0; i < n; i++) {
        offload_send(offload, i, type, 0, &waiter);
    }
    offload_waiter_wait(&waiter, true);
    ovs_mutex_unlock(&offload->config_mutex);
}

/* Waits until all that was asked for before has been done, offers included. */
void
offload_barrier(struct offload *offload)
{
    send_to_all(offload, OFFLOAD_ITEM_BARRIER);
}

/* Waits until all that was asked for before has been done, as far as it is
 * about flows that are in tc, or were on their way there, or lost their rules,
 * and about ports. */
void
offload_urgent_barrier(struct offload *offload)
{
    send_to_all(offload, OFFLOAD_ITEM_URGENT_BARRIER);
}

/* Likewise, and tries to delete rules that could not be deleted. */
void
offload_retry_leaks(struct offload *offload)
{
    send_to_all(offload, OFFLOAD_ITEM_RETRY_LEAKS);
}

/* Deletes all rules of ours on the 'n' 'ports' from tc. */
void
offload_flush_ports(struct offload *offload, const uint32_t ports[], size_t n)
{
    struct offload_waiter waiter;

    offload_waiter_init(&waiter);
    ovs_mutex_lock(&offload->config_mutex);
    for (size_t i = 0; i < n; i++) {
        offload_send(offload, offload_choose_thread(offload, ports[i]),
                     OFFLOAD_ITEM_FLUSH_PORT, ports[i], &waiter);
    }
    offload_waiter_wait(&waiter, true);
    ovs_mutex_unlock(&offload->config_mutex);
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
        offload_flush_port(offload, control->port);
        break;
    case OFFLOAD_ITEM_RETRY_LEAKS:
        offload_leaks_retry(thread);
        break;
    case OFFLOAD_ITEM_BARRIER:
    case OFFLOAD_ITEM_URGENT_BARRIER:
    case OFFLOAD_ITEM_FLOW:
    default:
        break;
    }
    if (control->waiter) {
        offload_waiter_done(control->waiter);
    }
    free(control);
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

/* Notes that 'flow' is out of the queue, and that the thread is at it.  Passes
 * the queue's reference on to the caller. */
static void
take(struct offload_thread *thread, struct offload_flow *flow)
{
    uint32_t orig;

    ovs_mutex_lock(&flow->stripe->mutex);
    offload_flow_set_work(flow, OFFLOAD_WORK_BUSY);
    ovs_mutex_unlock(&flow->stripe->mutex);
    atomic_sub_relaxed(&thread->n_queued, 1, &orig);
}

/* Should 'item' come before offers that wait?  A rule that is to go, or is
 * outdated, should not be in force longer than need be, and somebody may wait
 * for it.  The packets of a flow that is nowhere are upcalls. */
static bool
is_urgent(struct offload_item *item)
{
    struct offload_flow *flow;
    bool urgent;

    if (item->type != OFFLOAD_ITEM_FLOW) {
        return item->type != OFFLOAD_ITEM_BARRIER;
    }
    flow = flow_from_item(item);
    ovs_mutex_lock(&flow->stripe->mutex);
    urgent = offload_flow_in_tc(flow) || !offload_flow_in_kernel(flow);
    ovs_mutex_unlock(&flow->stripe->mutex);
    return urgent;
}

static struct offload_item *
pop_item(struct offload_thread *thread)
{
    struct kdp_mpsc_node *node = kdp_mpsc_queue_pop(&thread->queue);

    return node ? CONTAINER_OF(node, struct offload_item, node) : NULL;
}

/* Moves what is in the queue to the thread's lists, a bounded number. */
static void
sort_queue(struct offload_thread *thread)
{
    for (int i = 0; i < MAX_SORTED; i++) {
        struct offload_item *item = pop_item(thread);

        if (!item) {
            break;
        }
        ovs_list_push_back((is_urgent(item) ? &thread->urgent
                            : &thread->backlog), &item->list_node);
    }
}

static struct offload_item *
pop_list(struct ovs_list *list)
{
    return CONTAINER_OF(ovs_list_pop_front(list), struct offload_item,
                        list_node);
}

/* If 'flow', the first in a list of 'thread', is only offered, takes it out of
 * the queue, leaves it in the kernel and returns true. */
static bool
drop_offer(struct offload_thread *thread, struct offload_flow *flow)
{
    struct ovs_mutex *mutex = &flow->stripe->mutex;
    uint32_t orig;
    bool drop;

    ovs_mutex_lock(mutex);
    drop = (flow->target == OFFLOAD_TARGET_TC && offload_flow_in_kernel(flow)
            && !offload_flow_in_tc(flow));
    if (drop) {
        offload_flow_set_work(flow, OFFLOAD_WORK_IDLE);
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
        atomic_sub_relaxed(&thread->n_queued, 1, &orig);
        offload_flow_drop_request(thread->offload, flow);
        offload_flow_unref(flow);
    }
    ovs_mutex_unlock(mutex);
    return drop;
}

/* Takes flows out of 'list', up to the first item that is not one, or that has
 * the ufid of another one: what is done with these has to be done in turn.  If
 * 'thread' is to end, drops offers on the way. */
static size_t
take_batch(struct offload_thread *thread, struct ovs_list *list,
           struct offload_flow *flows[])
{
    unsigned int stop;
    size_t n = 0;

    atomic_read_relaxed(&thread->stop, &stop);
    while (n < OFFLOAD_BATCH && !ovs_list_is_empty(list)) {
        struct offload_item *item = CONTAINER_OF(
            ovs_list_front(list), struct offload_item, list_node);
        struct offload_flow *flow = flow_from_item(item);

        if (item->type != OFFLOAD_ITEM_FLOW
            || contains(flows, n, &flow->ufid)) {
            break;
        }
        ovs_list_remove(&item->list_node);
        if (stop != OFFLOAD_THREAD_DRAIN || !drop_offer(thread, flow)) {
            take(thread, flow);
            flows[n++] = flow;
        }
    }
    return n;
}

/* Does what there is to do, a bounded part of it.  Returns false if there is
 * nothing. */
static bool
run_some(struct offload_thread *thread)
{
    struct offload_flow *flows[OFFLOAD_BATCH];
    struct ovs_list *list;
    size_t n;

    sort_queue(thread);
    list = (ovs_list_is_empty(&thread->urgent) ? &thread->backlog
            : &thread->urgent);
    if (ovs_list_is_empty(list)) {
        return false;
    }
    n = take_batch(thread, list, flows);
    if (n) {
        offload_step_flows(thread, flows, n);
    } else if (!ovs_list_is_empty(list)) {
        run_control(thread, CONTAINER_OF(pop_list(list),
                                         struct offload_control, item));
    }
    return true;
}

/* Gives the first of what there is to do to the threads that are left.
 * Returns false if there is nothing. */
static bool
hand_over_one(struct offload_thread *thread)
{
    struct offload *offload = thread->offload;
    struct offload_flow *flow;
    struct offload_item *item;
    uint32_t orig;

    item = (!ovs_list_is_empty(&thread->urgent) ? pop_list(&thread->urgent)
            : !ovs_list_is_empty(&thread->backlog) ? pop_list(&thread->backlog)
            : pop_item(thread));
    if (!item) {
        return false;
    }
    if (item->type != OFFLOAD_ITEM_FLOW) {
        /* Not a barrier: who waits for one has config_mutex. */
        run_control(thread, CONTAINER_OF(item, struct offload_control, item));
        return true;
    }
    flow = flow_from_item(item);
    ovs_mutex_lock(&flow->stripe->mutex);
    offload_flow_set_work(flow, OFFLOAD_WORK_IDLE);
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
    atomic_store_relaxed(&thread->running, true);
    atomic_store_relaxed(&thread->ever_ran, true);
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
    atomic_store_relaxed(&thread->running, false);
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

/* Ends all threads once everything but offers has been done.  What is in the
 * kernel can stay there: nobody would wait for tc to take thousands of flows
 * before the process ends. */
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
