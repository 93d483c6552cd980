/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-queue.h"

#include <limits.h>
#include <stdlib.h>

#include "hash.h"
#include "offload/offload-waiter.h"
#include "timeval.h"
#include "util.h"

/* Samples that mainly determine the exponential average of the latency, as in
 * Open vSwitch. */
#define EMA_SAMPLES 100

static void
queue_init(struct offload_queue *queue)
{
    kdp_mpsc_queue_init(&queue->items);
    atomic_init(&queue->running, false);
    atomic_init(&queue->ever_ran, false);
    atomic_init(&queue->n_flows, 0);
    atomic_init(&queue->most_flows, 0);
    atomic_init(&queue->flow_nsec, 0);
    for (size_t i = 0; i < OFFLOAD_N_PAUSES; i++) {
        ovs_list_init(&queue->pauses[i]);
    }
    moving_average_init_cumulative(&queue->cumulative);
    moving_average_init_exponential(&queue->exponential,
                                    2.0 / (EMA_SAMPLES + 1));
    latency_hist_init(&queue->latency);
}

void
offload_queues_init(struct offload_queues *queues)
{
    for (unsigned int i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        queue_init(&queues->queues[i]);
    }
    atomic_init(&queues->n, 0);
    atomic_init(&queues->patience_end, LLONG_MAX);
}

void
offload_queues_destroy(struct offload_queues *queues)
{
    for (unsigned int i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        kdp_mpsc_queue_destroy(&queues->queues[i].items);
        latency_hist_uninit(&queues->queues[i].latency);
    }
}

static unsigned int
choose(struct offload_queues *queues, uint32_t hash)
{
    unsigned int n;

    atomic_read_relaxed(&queues->n, &n);
    return hash % n;
}

/* Returns the thread that 'port' belongs to. */
unsigned int
offload_queues_choose(struct offload_queues *queues, uint32_t port)
{
    return choose(queues, hash_int(port, 0));
}

/* Returns the thread for flows of 'desc'. */
unsigned int
offload_queues_choose_for(struct offload_queues *queues,
                          const struct offload_desc *desc)
{
    return choose(queues, (desc->spread ? desc->spread
                           : hash_int(desc->in_port, 0)));
}

/* Returns the number of flows that 'thread' has to process. */
uint32_t
offload_queues_length(struct offload_queues *queues, unsigned int thread)
{
    uint32_t n;

    atomic_read_relaxed(&queues->queues[thread].n_flows, &n);
    return n;
}

/* Puts 'flow' into the queue of its thread, with a reference.
 *
 * It is urgent unless it is only offered.  A rule that is to be deleted or is
 * outdated should not be in force longer than necessary, and a revalidator may
 * wait for it.  The packets of a flow without copies are upcalls. */
void
offload_queues_push(struct offload_queues *queues, struct offload_flow *flow)
{
    struct offload_queue *queue = &queues->queues[flow->thread];
    uint32_t orig, most;

    offload_flow_set_work(flow, OFFLOAD_WORK_QUEUED);
    flow->item.urgent = (offload_flow_in_tc(flow)
                         || !offload_flow_in_kernel(flow));
    flow->n_refs++;
    atomic_add_relaxed(&queue->n_flows, 1, &orig);
    atomic_read_relaxed(&queue->most_flows, &most);
    if (orig + 1 > most) {
        /* A thread that is preempted here may reduce it a little. */
        atomic_store_relaxed(&queue->most_flows, orig + 1);
    }
    kdp_mpsc_queue_push(&queue->items, &flow->item.node);
}

/* Records that 'flow' came out of the queue, and sets its state to 'work'.
 * The caller gets the queue's reference. */
void
offload_queues_out(struct offload_queues *queues, struct offload_flow *flow,
                   enum offload_work work)
{
    uint32_t orig;

    offload_flow_set_work(flow, work);
    atomic_sub_relaxed(&queues->queues[flow->thread].n_flows, 1, &orig);
}

/* Handles 'flow', which its thread works on and whose rule tc has failed to
 * delete: the flow waits until the thread retries, or until there is another
 * request.  Takes over the caller's reference. */
void
offload_queues_pause(struct offload_queues *queues, struct offload_flow *flow)
{
    unsigned int i = MIN(flow->n_tc_failures, OFFLOAD_N_PAUSES) - 1;

    offload_flow_set_work(flow, OFFLOAD_WORK_PAUSED);
    flow->resume = time_msec() + (1 << i);
    ovs_list_push_back(&queues->queues[flow->thread].pauses[i],
                       &flow->item.list_node);
}

/* Takes 'flow' out of the list of pauses, and gives up that list's
 * reference. */
void
offload_queues_unpause(struct offload_flow *flow)
{
    ovs_list_remove(&flow->item.list_node);
    flow->resume = 0;
    offload_flow_unref(flow);
}

/* Puts the flows of 'thread' whose pauses have ended at 'now' into its
 * queue. */
void
offload_queues_resume(struct offload_queues *queues, unsigned int thread,
                      long long int now)
{
    struct ovs_list *pauses = queues->queues[thread].pauses;

    for (size_t i = 0; i < OFFLOAD_N_PAUSES; i++) {
        while (!ovs_list_is_empty(&pauses[i])) {
            struct offload_flow *flow = CONTAINER_OF(
                ovs_list_front(&pauses[i]), struct offload_flow,
                item.list_node);
            struct ovs_mutex *mutex = &flow->stripe->mutex;

            if (flow->resume > now) {
                break;
            }
            ovs_mutex_lock(mutex);
            if (flow->work == OFFLOAD_WORK_PAUSED) {
                offload_queues_push(queues, flow);
            }
            offload_queues_unpause(flow);
            ovs_mutex_unlock(mutex);
        }
    }
}

/* Returns when the first pause in 'queue' ends, in ms, or LLONG_MAX if there
 * is none. */
long long int
offload_queues_next_resume(const struct offload_queue *queue)
{
    long long int next = LLONG_MAX;

    for (size_t i = 0; i < OFFLOAD_N_PAUSES; i++) {
        if (!ovs_list_is_empty(&queue->pauses[i])) {
            const struct offload_flow *flow = CONTAINER_OF(
                ovs_list_front(&queue->pauses[i]), struct offload_flow,
                item.list_node);

            next = MIN(next, flow->resume);
        }
    }
    return next;
}

/* Puts a copy of 'message' into the queue of 'thread'.  If it has a waiter,
 * that is notified when the message has been processed. */
void
offload_queues_send(struct offload_queues *queues, unsigned int thread,
                    const struct offload_control *message)
{
    struct offload_control *control = xmemdup(message, sizeof *message);

    if (control->waiter) {
        offload_waiter_add(control->waiter);
    }
    control->item.urgent = control->item.type != OFFLOAD_ITEM_BARRIER;
    kdp_mpsc_queue_push(&queues->queues[thread].items, &control->item.node);
}

/* Records that 'thread' inserted a flow 'latency' microseconds after the
 * request. */
void
offload_queues_inserted(struct offload_queues *queues, unsigned int thread,
                        long long int latency)
{
    struct offload_queue *queue = &queues->queues[thread];

    moving_average_record(&queue->cumulative, latency);
    moving_average_record(&queue->exponential, latency);
    latency_hist_record(&queue->latency, latency);
}
