/* SPDX-License-Identifier: Apache-2.0 */

/* Offload threads
 * ===============
 *
 * Each thread serves the queue with its number (offload-queue.h), and sleeps
 * when that is empty.
 *
 * A thread sorts the items of its queue into two lists, and first handles what
 * is urgent: flows in tc that are to be deleted or changed, flows without
 * copies whose rules vanished, and ports.  The rest are offers of flows that
 * are in the kernel.  The threads that put items into the queue mark the
 * urgent ones, so that sorting takes no lock.  A waiting offer does not become
 * urgent: the flow stays in the kernel, and out of tc, until its thread takes
 * the first step.
 *
 * Sorting keeps the order of requests on one flow.  A flow is in at most one
 * list.  A flow in the backlog is not in tc, so that its deletion does not
 * need the thread.  A flow that comes while another one with the same ufid is
 * being deleted from tc is in the kernel, thus not urgent, or is deleted
 * itself, with nothing left to do.
 *
 * A thread that ends hands over the content of its queue in order, so that
 * requests on one flow stay in order. */

#include <config.h>
#include "offload/offload-engine.h"

#include <limits.h>
#include <stdlib.h>

#include "offload/offload-adopt.h"
#include "offload/offload-placement.h"
#include "offload/offload-waiter.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

/* Items sorted at a time: enough that urgent ones soon overtake a queue of any
 * length, few enough that the flows at hand do not wait for it. */
#define MAX_SORTED 1024

/* Time in ms that a batch may take: a user that wants a rule deleted waits for
 * the batch in progress.  A device may take 40 ms for a rule, so that
 * OFFLOAD_BATCH of them take 2.5 s. */
#define BATCH_MSEC 50

/* Flows of the first batch, whose duration is unknown. */
#define FIRST_BATCH 8

enum stop {
    RUN,
    HAND_OVER,                  /* Give everything to other threads. */
    DRAIN,                      /* Do everything first, except offers and
                                 * adopting rules. */
};

struct offload_thread {
    struct offload *offload;
    unsigned int id;
    struct offload_queue *queue;
    pthread_t thread;           /* Valid if 'queue->running'. */
    atomic_uint stop;           /* enum stop. */

    /* Items taken out of the queue.  Only the thread uses these members. */
    struct ovs_list urgent;
    struct ovs_list backlog;
    size_t batch;               /* Flows to take at a time, at most
                                 * OFFLOAD_BATCH. */
};

void
offload_threads_create(struct offload *offload)
{
    offload->threads = xcalloc(OFFLOAD_MAX_THREADS, sizeof *offload->threads);
    for (unsigned int i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        struct offload_thread *thread = &offload->threads[i];

        thread->offload = offload;
        thread->id = i;
        thread->queue = &offload->queues.queues[i];
        atomic_init(&thread->stop, RUN);
        thread->batch = FIRST_BATCH;
        ovs_list_init(&thread->urgent);
        ovs_list_init(&thread->backlog);
    }
}

/* Handles 'first', the removal of a port, and the removals in the urgent list.
 * These overtake other items.  That is harmless, because a removal concerns
 * only flows that were offered before it was sent. */
static void
withdraw_ports(struct offload_thread *thread, struct offload_control *first)
{
    struct offload_control **messages = NULL;
    size_t n = 0, allocated = 0;
    struct offload_item *item;

    ovs_list_push_front(&thread->urgent, &first->item.list_node);
    LIST_FOR_EACH_SAFE (item, list_node, &thread->urgent) {
        if (item->type == OFFLOAD_ITEM_PORT_GONE) {
            if (n == allocated) {
                messages = x2nrealloc(messages, &allocated, sizeof *messages);
            }
            messages[n++] = CONTAINER_OF(item, struct offload_control, item);
            ovs_list_remove(&item->list_node);
        }
    }
    offload_withdraw_ports(thread->offload, messages, n);
    for (size_t i = 0; i < n; i++) {
        if (messages[i] != first) {
            free(messages[i]);
        }
    }
    free(messages);
}

static void
run_control(struct offload_thread *thread, struct offload_control *control)
{
    struct offload *offload = thread->offload;
    unsigned int stop;

    atomic_read_relaxed(&thread->stop, &stop);
    switch (control->item.type) {
    case OFFLOAD_ITEM_ADOPT:
        offload_adopt_port(offload, thread->id, stop == DRAIN, control);
        break;
    case OFFLOAD_ITEM_PORT_GONE:
        withdraw_ports(thread, control);
        break;
    case OFFLOAD_ITEM_DISABLED:
        offload_withdraw_all(offload);
        break;
    case OFFLOAD_ITEM_SWEEP:
        offload_adopt_sweep(offload, thread->id, control);
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

static struct offload_item *
pop_item(struct offload_thread *thread)
{
    struct kdp_mpsc_node *node = kdp_mpsc_queue_pop(&thread->queue->items);
    struct offload_item *item
        = node ? CONTAINER_OF(node, struct offload_item, node) : NULL;

    if (item && item->type == OFFLOAD_ITEM_FLOW
        && flow_from_item(item)->resume) {
        /* There is another request before its pause is over. */
        struct offload_flow *flow = flow_from_item(item);

        ovs_mutex_lock(&flow->stripe->mutex);
        offload_queues_unpause(flow);
        ovs_mutex_unlock(&flow->stripe->mutex);
    }
    return item;
}

/* Moves a bounded number of items from the queue to the thread's lists. */
static void
sort_queue(struct offload_thread *thread)
{
    for (int i = 0; i < MAX_SORTED; i++) {
        struct offload_item *item = pop_item(thread);

        if (!item) {
            break;
        }
        ovs_list_push_back((item->urgent ? &thread->urgent
                            : &thread->backlog), &item->list_node);
    }
}

static struct offload_item *
pop_list(struct ovs_list *list)
{
    return CONTAINER_OF(ovs_list_pop_front(list), struct offload_item,
                        list_node);
}

/* If 'flow', the first in a list of a thread, is only offered, takes it out of
 * the queue, leaves it in the kernel and returns true. */
static bool
drop_offer(struct offload *offload, struct offload_flow *flow)
{
    struct ovs_mutex *mutex = &flow->stripe->mutex;
    bool drop;

    ovs_mutex_lock(mutex);
    drop = (flow->target == OFFLOAD_TARGET_TC && offload_flow_in_kernel(flow)
            && !offload_flow_in_tc(flow));
    if (drop) {
        offload_queues_out(&offload->queues, flow, OFFLOAD_WORK_IDLE);
        offload_flow_set_target(flow, OFFLOAD_TARGET_KERNEL);
        offload_placement_cancel(offload, flow);
        offload_flow_unref(flow);
    }
    ovs_mutex_unlock(mutex);
    return drop;
}

/* Takes flows out of 'list', up to the first item that is not a flow or has
 * the ufid of one of them: these have to be handled one after the other.  If
 * 'thread' is to end, drops offers on the way. */
static size_t
take_batch(struct offload_thread *thread, struct ovs_list *list,
           struct offload_flow *flows[])
{
    struct offload *offload = thread->offload;
    unsigned int stop;
    size_t n = 0;

    atomic_read_relaxed(&thread->stop, &stop);
    while (n < thread->batch && !ovs_list_is_empty(list)) {
        struct offload_item *item = CONTAINER_OF(
            ovs_list_front(list), struct offload_item, list_node);
        struct offload_flow *flow = flow_from_item(item);

        if (item->type != OFFLOAD_ITEM_FLOW
            || contains(flows, n, &flow->ufid)) {
            break;
        }
        ovs_list_remove(&item->list_node);
        if (stop == DRAIN && drop_offer(offload, flow)) {
            continue;
        }
        flows[n++] = flow;
    }
    return n;
}

/* Chooses the size of the next batch after one of 'n' flows that took
 * 'duration' ms, and updates the time per flow. */
static void
adapt_batch(struct offload_thread *thread, size_t n, long long int duration)
{
    uint64_t nsec = MIN(MAX(duration, 0) * 1000000 / n, UINT32_MAX);
    uint32_t before;

    atomic_read_relaxed(&thread->queue->flow_nsec, &before);
    atomic_store_relaxed(&thread->queue->flow_nsec,
                         (before ? (before * UINT64_C(7) + nsec) / 8 : nsec));
    if (duration > BATCH_MSEC) {
        thread->batch = MAX(1, n * BATCH_MSEC / duration);
    } else if (n == thread->batch && duration * 2 <= BATCH_MSEC) {
        thread->batch = MIN(n * 2, OFFLOAD_BATCH);
    }
}

/* Does a bounded part of the work.  Returns false if there is none. */
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
        long long int start = time_msec();

        offload_step_flows(thread->offload, flows, n);
        adapt_batch(thread, n, time_msec() - start);
    } else if (!ovs_list_is_empty(list)) {
        run_control(thread, CONTAINER_OF(pop_list(list),
                                         struct offload_control, item));
    }
    return true;
}

/* Gives the first item to the threads that are left.  Returns false if there
 * is none. */
static bool
hand_over_one(struct offload_thread *thread)
{
    struct offload *offload = thread->offload;
    struct offload_flow *flow;
    struct offload_item *item;

    item = (!ovs_list_is_empty(&thread->urgent) ? pop_list(&thread->urgent)
            : !ovs_list_is_empty(&thread->backlog) ? pop_list(&thread->backlog)
            : pop_item(thread));
    if (!item) {
        return false;
    }
    if (item->type != OFFLOAD_ITEM_FLOW) {
        /* Not a barrier: a thread that waits for one has config_mutex. */
        run_control(thread, CONTAINER_OF(item, struct offload_control, item));
        return true;
    }
    flow = flow_from_item(item);
    ovs_mutex_lock(&flow->stripe->mutex);
    offload_queues_out(&offload->queues, flow, OFFLOAD_WORK_IDLE);
    flow->thread = offload_queues_choose_for(&offload->queues, flow->desc);
    offload_queues_push(&offload->queues, flow);
    offload_flow_unref(flow);
    ovs_mutex_unlock(&flow->stripe->mutex);
    return true;
}

static void *
offload_thread_main(void *thread_)
{
    struct offload_thread *thread = thread_;
    struct offload_queues *queues = &thread->offload->queues;
    bool stopping = false;

    for (;;) {
        long long int resume = offload_queues_next_resume(thread->queue);
        unsigned int stop;

        /* Acquire: what was done before the release in stop_thread().  The
         * kick follows that, so the thread does not sleep through it. */
        atomic_read_explicit(&thread->stop, &stop, memory_order_acquire);
        if (stop == HAND_OVER || (stop == DRAIN && !stopping)) {
            /* Try once more, or leave it to another thread. */
            offload_queues_resume(queues, thread->id, LLONG_MAX);
            stopping = true;
        } else if (resume != LLONG_MAX) {
            offload_queues_resume(queues, thread->id, time_msec());
        }
        if (stop == HAND_OVER
            ? hand_over_one(thread) : run_some(thread)) {
            /* The thread may not sleep for long. */
            ovsrcu_quiesce();
            continue;
        }
        resume = offload_queues_next_resume(thread->queue);
        if (stop != RUN && resume == LLONG_MAX) {
            return NULL;
        }
        kdp_mpsc_queue_wait(&thread->queue->items, resume);
    }
}

static void
start_thread(struct offload_thread *thread)
{
    atomic_store_relaxed(&thread->stop, RUN);
    atomic_store_relaxed(&thread->queue->running, true);
    atomic_store_relaxed(&thread->queue->ever_ran, true);
    thread->thread = ovs_thread_create("offload", offload_thread_main, thread);
}

/* Ends 'thread', to which nothing is sent any more. */
static void
stop_thread(struct offload_thread *thread, enum stop how)
{
    /* Release: see offload_thread_main(). */
    atomic_store_explicit(&thread->stop, how, memory_order_release);
    kdp_mpsc_queue_kick(&thread->queue->items);
    xpthread_join(thread->thread, NULL);
    atomic_store_relaxed(&thread->queue->running, false);
}

/* Changes the number of threads to 'n', with config_mutex held.  Waits until
 * threads that end have finished their present batch. */
void
offload_threads_set(struct offload *offload, unsigned int n)
{
    unsigned int old;

    atomic_read_relaxed(&offload->queues.n, &old);
    for (unsigned int i = old; i < n; i++) {
        start_thread(&offload->threads[i]);
    }

    /* Messages are sent with this lock. */
    ovs_rwlock_wrlock(&offload->change_rwlock);
    atomic_store_relaxed(&offload->queues.n, n);
    ovs_rwlock_unlock(&offload->change_rwlock);
    if (n >= old) {
        return;
    }

    /* After this, a thread that takes a stripe's lock does not choose a thread
     * that ends, unless that still has an older flow of the same ufid. */
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        ovs_mutex_lock(&offload->table.stripes[i].mutex);
        ovs_mutex_unlock(&offload->table.stripes[i].mutex);
    }
    for (unsigned int i = n; i < old; i++) {
        stop_thread(&offload->threads[i], HAND_OVER);
    }
}

/* Ends all threads once everything except offers has been done.  Flows in the
 * kernel stay there, and rules of a previous run in tc: the end of the process
 * should not wait for tc to accept, or the kernel to look for, thousands of
 * flows.  A rule that tc fails to delete is left after
 * OFFLOAD_PATIENCE failures, or after the next failure if OFFLOAD_END_MSEC
 * have passed, as a driver may take long for each of thousands. */
void
offload_threads_destroy(struct offload *offload)
{
    unsigned int n;
    bool again;

    atomic_store_relaxed(&offload->queues.patience_end,
                         time_msec() + OFFLOAD_END_MSEC);
    atomic_read_relaxed(&offload->queues.n, &n);
    for (unsigned int i = 0; i < n; i++) {
        stop_thread(&offload->threads[i], DRAIN);
    }

    /* A thread may have sent a flow, whose parent came, to a thread that had
     * already ended. */
    do {
        again = false;
        for (unsigned int i = 0; i < n; i++) {
            struct offload_thread *thread = &offload->threads[i];

            sort_queue(thread);
            if (!ovs_list_is_empty(&thread->urgent)
                || !ovs_list_is_empty(&thread->backlog)) {
                start_thread(thread);
                stop_thread(thread, DRAIN);
                again = true;
            }
        }
    } while (again);
    free(offload->threads);
}
