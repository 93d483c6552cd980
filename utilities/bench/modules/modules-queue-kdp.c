/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include <limits.h>

#include "offload/kdp-mpsc-queue.h"

#define BENCH_NAME queue_bench_kdp
#define BENCH_MODULE "ovs-kdp"
#define BENCH_SLEEP

struct queue {
    struct kdp_mpsc_queue queue;
};

struct node {
    struct kdp_mpsc_node node;
};

static void
queue_init(struct queue *queue)
{
    kdp_mpsc_queue_init(&queue->queue);
}

static void
queue_uninit(struct queue *queue)
{
    kdp_mpsc_queue_destroy(&queue->queue);
}

static inline void
queue_push(struct queue *queue, struct node *node)
{
    kdp_mpsc_queue_push(&queue->queue, &node->node);
}

static inline struct node *
queue_poll(struct queue *queue)
{
    struct kdp_mpsc_node *node;

    return (kdp_mpsc_queue_poll(&queue->queue, &node) == KDP_MPSC_NODE
            ? CONTAINER_OF(node, struct node, node) : NULL);
}

static bool
queue_sleep(struct queue *queue)
{
    return kdp_mpsc_queue_wait(&queue->queue, LLONG_MAX);
}

static bool
queue_is_asleep(struct queue *queue)
{
    struct kdp_mpsc_node *tail;

    atomic_read_relaxed(&queue->queue.tail, &tail);
    return tail == &queue->queue.asleep;
}

#include "modules-queue.h"
