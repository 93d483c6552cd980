/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_QUEUE_H
#define OFFLOAD_QUEUE_H 1

/* Queues of offload threads
 * =========================
 *
 * Each offload thread has a queue with flows, each at most once, and messages
 * about ports and barriers.  A hash of the port number assigns a port to a
 * thread, and with it the port's flows that involve recirculation chains, so
 * that flows that lead to a chain are in tc before the flows of the chain.
 * The others are independent of each other, unless they match the same
 * packets.  They are spread by a hash of what they match
 * (offload_desc.spread), so that several threads work for one busy port.  When
 * the number of threads changes, a flow without a thread goes to its new one
 * the next time that it is queued.
 *
 * This module also has the measurements of each thread, apart from its
 * counters.
 *
 * The queue and the lock
 * ----------------------
 *
 * The queue hands a flow from a requesting thread to the offload thread.  The
 * latter takes no lock to check the queue, to take an item out and to sort it
 * by urgency: everything that it needs for that is in the item, which was
 * written before the push.  So a handler or another offload thread that is
 * preempted with a lock does not stop it.  A push allocates nothing, cannot
 * fail, and costs a system call only if the offload thread sleeps.
 *
 * The lock of the flow's stripe guards the flow, not the queue.  A requesting
 * thread changes the flow's target under the lock and, if no thread has the
 * flow, pushes it before it releases the lock.  So a flow is in one queue,
 * once, and requests on one flow apply in order (O3).  The offload thread
 * takes the lock when it begins to work on the flow.  As there are
 * OFFLOAD_STRIPES locks and no thread waits for tc or the kernel with one,
 * producers rarely meet except in the push, which is one exchange.
 *
 * Thread safety
 * -------------
 *
 *     offload_queues_init, _destroy       no other call on the queues
 *     offload_queues_choose, _choose_for, any thread, any time
 *       _length
 *     offload_queues_push                 with the lock of the flow's stripe
 *     offload_queues_send                 with offload->change_rwlock, or
 *                                         config_mutex, so that the thread
 *                                         stays
 *     offload_queues_out                  the thread of the queue, with the
 *                                         lock of the flow's stripe
 *     offload_queues_inserted,            the thread of the queue; no lock
 *       _resume, _next_resume
 *     offload_queues_pause, _unpause      the thread of the queue, with the
 *                                         lock of the flow's stripe */

#include <stdbool.h>
#include <stdint.h>

#include "offload/kdp-mpsc-queue.h"
#include "offload/offload-flow.h"
#include "ovs-atomic.h"
#include "stats/latency-hist.h"
#include "stats/moving-average.h"

struct offload_queue {
    struct kdp_mpsc_queue items;
    atomic_bool running;        /* A thread serves it. */
    atomic_bool ever_ran;
    atomic_uint32_t n_flows;    /* In the queue and the thread's lists. */
    atomic_uint32_t most_flows;
    atomic_uint32_t flow_nsec;  /* Recent time per flow, in ns; 0 if
                                 * unknown. */

    /* Flows that wait until the thread retries to delete their rules, by the
     * length of the pause, so that each list is in the order in which pauses
     * end.  Only the thread uses them. */
    struct ovs_list pauses[OFFLOAD_N_PAUSES];

    /* From request to insertion, in microseconds. */
    struct moving_average cumulative;
    struct moving_average exponential;
    struct latency_hist latency;
};

struct offload_queues {
    struct offload_queue queues[OFFLOAD_MAX_THREADS];
    atomic_uint n;              /* The first n are in use. */
    atomic_llong patience_end;  /* When the engine, which is being destroyed,
                                 * stops retrying deletions, in ms; LLONG_MAX
                                 * if it is not being destroyed. */
};

/* A message to a thread that is not a flow.  The thread frees it. */
struct offload_control {
    struct offload_item item;
    uint32_t port;              /* The port that it is about, or 0. */
    bool located;               /* 'place' is valid. */
    struct offload_place place; /* Where the rules of 'port' are. */
    uint64_t port_id;           /* ADOPT: id of that port... */
    uint64_t n_flushes;         /* ...and flushes when it came. */
    struct offload_waiter *waiter;  /* Or NULL. */
};

void offload_queues_init(struct offload_queues *);
void offload_queues_destroy(struct offload_queues *);
unsigned int offload_queues_choose(struct offload_queues *, uint32_t port);
unsigned int offload_queues_choose_for(struct offload_queues *,
                                       const struct offload_desc *);
uint32_t offload_queues_length(struct offload_queues *, unsigned int thread);
void offload_queues_push(struct offload_queues *, struct offload_flow *);
void offload_queues_out(struct offload_queues *, struct offload_flow *,
                        enum offload_work);
void offload_queues_pause(struct offload_queues *, struct offload_flow *);
void offload_queues_unpause(struct offload_flow *);
void offload_queues_resume(struct offload_queues *, unsigned int thread,
                           long long int now);
long long int offload_queues_next_resume(const struct offload_queue *);
void offload_queues_send(struct offload_queues *, unsigned int thread,
                         const struct offload_control *);
void offload_queues_inserted(struct offload_queues *, unsigned int thread,
                             long long int latency);

#endif /* lib/offload/offload-queue.h */
