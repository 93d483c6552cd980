/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_QUEUE_H
#define KDP_UPCALL_QUEUE_H 1

/* Run queues
 * ==========
 *
 * Private to lib/upcall.  The channels of a scheduler (upcall-sched.h) that
 * wait for their turn, in rounds.
 *
 * A channel of several senders (upcall-fq.h) has a weight, the number of those
 * that have a backlog.  It waits beside the others and gets as many turns in a
 * round as it weighs, evenly spread, those that are due together as one larger
 * turn.  As it has one owner at a time, it gets no more than what one handler
 * does.
 *
 * The queue measures how long a round takes, and adapts the quantum of turns
 * to a goal (upcall-turn.h).
 *
 *
 * Synchronisation
 * ---------------
 *
 *      what                          written by            read by
 *      ---------------------------   -------------------   -----------------
 *      goal                          any handler           any thread
 *      quantum, pushed, popped       who holds the lock    any thread
 *      everything else               who holds the lock    likewise
 *
 * The lock is the scheduler's mutex: push, pop and drain need it.  What others
 * read is relaxed, a number that was true lately. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "upcall/upcall-fifo.h"
#include "util.h"

struct upcall_queue {
    struct upcall_fifo light;   /* In turn; an urgent one is first. */
    struct upcall_fifo heavy;   /* Those with a weight, a few. */
    uint64_t round_end;         /* Value of 'popped'. */
    uint64_t round_at;          /* Its begin in microseconds, or 0. */
    atomic_uint64_t goal;       /* Microseconds of a round, or 0. */
    atomic_uint32_t quantum;
    atomic_uint64_t pushed;     /* Light ones ever put in and taken out, but */
    atomic_uint64_t popped;     /* for the urgent one. */
};

void upcall_queue_init(struct upcall_queue *);

/* Frees what upcall_queue_init() and pushes made.  Channels that are in it are
 * the caller's to take out first. */
void upcall_queue_uninit(struct upcall_queue *);

/* Puts 'channel' at the end, or at the head if it is urgent. */
void upcall_queue_push(struct upcall_queue *, struct upcall_channel *);

/* Takes the channel whose turn it is, or returns NULL.  Stores how many
 * upcalls the turn may take. */
struct upcall_channel *upcall_queue_pop(struct upcall_queue *,
                                        unsigned int *quantum);

/* Takes any channel, or returns NULL. */
struct upcall_channel *upcall_queue_drain(struct upcall_queue *);

/* Sets how many microseconds a round should take at most, 0 for no matter. */
void upcall_queue_set_goal(struct upcall_queue *, uint64_t usec);

/* Number of channels. */
static inline size_t
upcall_queue_n(const struct upcall_queue *queue)
{
    return queue->light.n + queue->heavy.n;
}

/* Upcalls that a turn takes now, of a channel without a weight. */
static inline unsigned int
upcall_queue_quantum(const struct upcall_queue *queue)
{
    uint32_t quantum;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &queue->quantum),
                        &quantum);
    return quantum;
}

#endif /* lib/upcall/upcall-queue.h */
