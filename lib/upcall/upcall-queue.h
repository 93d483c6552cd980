/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_QUEUE_H
#define KDP_UPCALL_QUEUE_H 1

/* Run queues
 * ==========
 *
 * Private to lib/upcall.  A run queue has the channels of a scheduler
 * (upcall-sched.h) that wait for their turn.  It serves them in rounds.
 *
 * A channel of several senders (upcall-fq.h) has a weight, which is the number
 * of its senders with a backlog.  The queue gives the channel as many turns in
 * a round as its weight, spread evenly.  Turns that are due together become
 * one larger turn.  Because a channel has one owner at a time, its share is
 * limited to the work of one handler.
 *
 * The queue measures how long a round takes, and adapts the quantum of turns
 * to a goal (upcall-turn.h).
 *
 *
 * Synchronisation
 * ---------------
 *
 *      what                          written by            read by
 *      ---------------------------   -------------------   ------------------
 *      goal                          any handler           any thread
 *      quantum, pushed, popped       holder of the lock    any thread
 *      everything else               holder of the lock    holder of the lock
 *
 * The lock is the scheduler's mutex: push, pop and drain need it.  Reads
 * without the lock are relaxed and may return a slightly old number. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "upcall/upcall-fifo.h"
#include "util.h"

struct upcall_queue {
    struct upcall_fifo light;   /* In order of turns; an urgent channel is
                                 * first. */
    struct upcall_fifo heavy;   /* Channels with a weight; only a few. */
    uint64_t round_end;         /* 'popped' at the end of the round. */
    uint64_t round_at;          /* Its start in microseconds, or 0. */
    atomic_uint64_t goal;       /* Microseconds of a round, or 0. */
    atomic_uint32_t quantum;
    atomic_uint64_t pushed;     /* Light channels put in and taken out so
                                 * far, */
    atomic_uint64_t popped;     /* without the urgent one. */
};

void upcall_queue_init(struct upcall_queue *);

/* Frees the memory of the queue.  The caller takes all channels out first. */
void upcall_queue_uninit(struct upcall_queue *);

/* Puts 'channel' at the end, or at the head if it is urgent. */
void upcall_queue_push(struct upcall_queue *, struct upcall_channel *);

/* Takes the channel whose turn it is, or returns NULL.  Stores how many
 * upcalls the turn may take. */
struct upcall_channel *upcall_queue_pop(struct upcall_queue *,
                                        unsigned int *quantum);

/* Takes any channel, or returns NULL. */
struct upcall_channel *upcall_queue_drain(struct upcall_queue *);

/* Sets how many microseconds a round should take at most, 0 for no bound. */
void upcall_queue_set_goal(struct upcall_queue *, uint64_t usec);

/* Number of channels. */
static inline size_t
upcall_queue_n(const struct upcall_queue *queue)
{
    return queue->light.n + queue->heavy.n;
}

/* Number of upcalls in a turn of a channel without a weight now. */
static inline unsigned int
upcall_queue_quantum(const struct upcall_queue *queue)
{
    uint32_t quantum;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &queue->quantum),
                        &quantum);
    return quantum;
}

#endif /* lib/upcall/upcall-queue.h */
