/* SPDX-License-Identifier: Apache-2.0 */

#ifndef MPSC_QUEUE_ITEM_H
#define MPSC_QUEUE_ITEM_H 1

/* What tests put into a queue (offload/kdp-mpsc-queue.h). */

#include "harness/unit.h"
#include "offload/kdp-mpsc-queue.h"

struct item {
    struct kdp_mpsc_node node;
    unsigned int producer;
    unsigned int seq;
};

static inline struct item *
item_of(struct kdp_mpsc_node *node)
{
    return node ? CONTAINER_OF(node, struct item, node) : NULL;
}

/* Is nothing in 'queue', not even half-way? */
static inline bool
is_empty(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *tail;

    atomic_read_relaxed(&queue->tail, &tail);
    return !queue->first && tail == queue->front;
}

static inline void
assert_empty(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *node;

    assert_int_equal(kdp_mpsc_queue_poll(queue, &node), KDP_MPSC_EMPTY);
    assert_null(kdp_mpsc_queue_pop(queue));
    assert_true(is_empty(queue));
}

#endif /* tests/unit/offload/mpsc-queue-item.h */
