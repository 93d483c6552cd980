/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-queue.h"

#include "upcall/upcall-channel.h"
#include "upcall/upcall-clock.h"
#include "upcall/upcall-turn.h"

/* 'due' counts in these fractions of a turn. */
#define DUE_ONE UINT64_C(1024)

void
upcall_queue_init(struct upcall_queue *queue)
{
    upcall_fifo_init(&queue->light);
    upcall_fifo_init(&queue->heavy);
    queue->round_end = queue->round_at = 0;
    atomic_init(&queue->goal, 0);
    atomic_init(&queue->quantum, UPCALL_QUANTUM);
    atomic_init(&queue->pushed, 0);
    atomic_init(&queue->popped, 0);
}

void
upcall_queue_uninit(struct upcall_queue *queue)
{
    upcall_fifo_uninit(&queue->light);
    upcall_fifo_uninit(&queue->heavy);
}

/* Decides when 'channel', which has a weight, has its next turn: between two
 * of its turns, as many other channels have turns as there are other channels
 * per sender.  Turns that have been due for longer than a round are
 * forgotten. */
static void
upcall_queue_set_due(const struct upcall_queue *queue,
                     struct upcall_channel *channel)
{
    uint64_t now = upcall_counter_read(&queue->popped) * DUE_ONE;
    uint64_t round = queue->light.n * DUE_ONE;
    uint64_t due = MIN(channel->due, now);

    due = MAX(due, now - MIN(now, round));
    channel->due = due + (round * MAX(channel->n_turns, 1)
                          / upcall_channel_weight(channel));
}

void
upcall_queue_push(struct upcall_queue *queue, struct upcall_channel *channel)
{
    if (upcall_channel_is_urgent(channel)) {
        upcall_fifo_push_front(&queue->light, channel);
    } else if (upcall_channel_weight(channel) > 1) {
        upcall_queue_set_due(queue, channel);
        upcall_fifo_push(&queue->heavy, channel);
    } else {
        upcall_fifo_push(&queue->light, channel);
        upcall_count(&queue->pushed, 1);
    }
}

/* Ends a round, if it is over, and adapts the quantum to the length of the
 * round. */
static void
upcall_queue_end_round(struct upcall_queue *queue)
{
    uint64_t pushed = upcall_counter_read(&queue->pushed);
    uint64_t popped = upcall_counter_read(&queue->popped);
    unsigned int old = upcall_queue_quantum(queue);
    unsigned int quantum = UPCALL_QUANTUM;
    uint64_t goal;

    atomic_read_relaxed(&queue->goal, &goal);
    if (goal && !queue->light.n) {
        /* Nothing waits, so the quantum does not determine the length of the
         * next round. */
        quantum = upcall_turn_quantum(old, 0, goal);
        queue->round_at = 0;
    } else if (popped - queue->round_end >= UINT64_MAX / 2) {
        return;
    } else if (goal) {
        uint64_t now = upcall_now_usec();

        quantum = (queue->round_at
                   ? upcall_turn_quantum(old, now - queue->round_at, goal)
                   : old);
        queue->round_at = now;
    }
    queue->round_end = pushed;
    if (quantum != old) {
        atomic_store_relaxed(&queue->quantum, quantum);
    }
}

/* The number of turns, of 'quantum', that fill a batch. */
static unsigned int
turns_of_batch(unsigned int quantum)
{
    return UPCALL_TURNS * UPCALL_QUANTUM / quantum;
}

/* Takes the channel with a weight whose turn is due first. */
static struct upcall_channel *
upcall_queue_pop_first_due(struct upcall_queue *queue)
{
    struct upcall_channel *first = upcall_fifo_pop(&queue->heavy);

    for (size_t n = queue->heavy.n; n > 0; n--) {
        struct upcall_channel *channel = upcall_fifo_pop(&queue->heavy);

        if (channel->due < first->due) {
            struct upcall_channel *later = first;

            first = channel;
            channel = later;
        }
        upcall_fifo_push(&queue->heavy, channel);
    }
    return first;
}

/* Takes a channel that has a weight, if it is its turn, and multiplies
 * '*quantum' by the number of turns that are due.  Otherwise returns NULL. */
static struct upcall_channel *
upcall_queue_pop_heavy(struct upcall_queue *queue, unsigned int *quantum)
{
    const struct upcall_channel *light = upcall_fifo_first(&queue->light);
    uint32_t max = turns_of_batch(*quantum);
    struct upcall_channel *channel;

    if (!queue->heavy.n || (light && upcall_channel_is_urgent(light))) {
        return NULL;
    }
    channel = upcall_queue_pop_first_due(queue);
    channel->n_turns = max;
    if (light) {
        uint64_t now = upcall_counter_read(&queue->popped) * DUE_ONE;

        if (channel->due > now) {
            upcall_fifo_push(&queue->heavy, channel);
            return NULL;
        }
        /* Several turns may have become due while a handler owned the
         * channel. */
        channel->n_turns = MIN(max, 1 + ((now - channel->due)
                                         * upcall_channel_weight(channel)
                                         / (queue->light.n * DUE_ONE)));
    }
    *quantum *= channel->n_turns;
    return channel;
}

/* Takes the first of the other channels. */
static struct upcall_channel *
upcall_queue_pop_light(struct upcall_queue *queue)
{
    struct upcall_channel *channel = upcall_fifo_pop(&queue->light);

    if (channel && !upcall_channel_is_urgent(channel)) {
        upcall_count(&queue->popped, 1);
        upcall_queue_end_round(queue);
    }
    return channel;
}

struct upcall_channel *
upcall_queue_pop(struct upcall_queue *queue, unsigned int *quantum)
{
    struct upcall_channel *channel;

    *quantum = upcall_queue_quantum(queue);
    channel = upcall_queue_pop_heavy(queue, quantum);
    return channel ? channel : upcall_queue_pop_light(queue);
}

struct upcall_channel *
upcall_queue_drain(struct upcall_queue *queue)
{
    struct upcall_channel *channel = upcall_fifo_pop(&queue->light);

    return channel ? channel : upcall_fifo_pop(&queue->heavy);
}

void
upcall_queue_set_goal(struct upcall_queue *queue, uint64_t usec)
{
    uint64_t old;

    atomic_read_relaxed(&queue->goal, &old);
    if (old != usec) {
        atomic_store_relaxed(&queue->goal, usec);
    }
}
