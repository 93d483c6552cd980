/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include "mpsc-queue.h"

#define BENCH_NAME queue_bench_ovs
#define BENCH_MODULE "openvswitch"

struct queue {
    struct mpsc_queue queue;
};

struct node {
    struct mpsc_queue_node node;
};

/* The lock of the consumer is held as long as the queue exists. */

static void
queue_init(struct queue *queue)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    mpsc_queue_init(&queue->queue);
    mpsc_queue_acquire(&queue->queue);
}

static void
queue_uninit(struct queue *queue)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    mpsc_queue_release(&queue->queue);
    mpsc_queue_destroy(&queue->queue);
}

static inline void
queue_push(struct queue *queue, struct node *node)
{
    mpsc_queue_insert(&queue->queue, &node->node);
}

static inline struct node *
queue_poll(struct queue *queue)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct mpsc_queue_node *node;

    return (mpsc_queue_poll(&queue->queue, &node) == MPSC_QUEUE_ITEM
            ? CONTAINER_OF(node, struct node, node) : NULL);
}

#include "modules-queue.h"
