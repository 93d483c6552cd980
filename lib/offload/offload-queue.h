/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_QUEUE_H
#define OFFLOAD_QUEUE_H 1

/* Queues of offload threads
 * =========================
 *
 * Each offload thread has a queue, in which flows wait for it, each at most
 * once, and messages about ports and barriers.  A port belongs to the thread
 * that its number's hash says, and so do its flows that have to do with
 * recirculation chains: those that lead to a chain are in tc before those of
 * it.  The others are independent of each other, but for those that match the
 * same packets, and go by a hash of what they match (offload_desc.spread): so
 * several threads work for one busy port.  When the number of threads changes,
 * flows that no thread has go to the new one the next time that they are
 * queued.
 *
 * Here is also what is measured of each thread, apart from its counters.
 *
 * What the queue is for, and what the lock
 * ----------------------------------------
 *
 * The queue hands a flow from the thread that asks for something to the
 * offload thread.  The latter takes no lock to look whether there is
 * something, to take it out and to sort it by urgency: what it needs for that
 * is in the item, which was written before the push.  So neither a handler nor
 * another offload thread that is preempted with a lock stops it.  A push
 * allocates nothing and cannot fail, and costs a system call only if the
 * offload thread sleeps.
 *
 * The lock of the flow's stripe guards the flow, not the queue.  Whoever wants
 * something changes the flow's target with the lock, and if no thread has the
 * flow, pushes it before giving the lock up.  So a flow is in one queue, once,
 * and requests on one flow apply in order (O3).  The offload thread takes the
 * lock when it begins to work on the flow.  As there are OFFLOAD_STRIPES locks
 * and nobody waits for tc or the kernel with one, producers rarely meet except
 * in the push, which is one exchange.
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
    atomic_uint32_t flow_nsec;  /* What a flow takes lately, in ns; 0 if that
                                 * is not known yet. */

    /* The thread's own: flows that wait until it tries again to delete their
     * rules, by the length of the pause, so that each list is in the order in
     * which pauses end. */
    struct ovs_list pauses[OFFLOAD_N_PAUSES];

    /* From request to insertion, in microseconds. */
    struct moving_average cumulative;
    struct moving_average exponential;
    struct latency_hist latency;
};

struct offload_queues {
    struct offload_queue queues[OFFLOAD_MAX_THREADS];
    atomic_uint n;              /* The first so many are in use. */
    atomic_llong patience_end;  /* When the engine, which ends, tries no
                                 * deletion again any more, in ms; LLONG_MAX
                                 * while it does not end. */
};

/* A message to a thread that is not a flow.  The thread frees it. */
struct offload_control {
    struct offload_item item;
    uint32_t port;              /* About which it is, or 0. */
    bool located;               /* 'place' is valid: */
    struct offload_place place; /* that of 'port'. */
    uint64_t port_id;           /* ADOPT: which port of that number it is, */
    uint64_t n_flushes;         /* and flushes when it came. */
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
