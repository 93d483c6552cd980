/* SPDX-License-Identifier: Apache-2.0 */

/* liburcu's queue with its functions inline, as its fastest users have it. */

#include <config.h>

#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#include "util.h"

#define BENCH_NAME queue_bench_urcu
#define BENCH_MODULE "liburcu"

/* As its header recommends, on different cache lines. */
struct queue {
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct __cds_wfcq_head head;
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct cds_wfcq_tail tail;
};

struct node {
    struct cds_wfcq_node node;
};

static void
queue_init(struct queue *queue)
{
    __cds_wfcq_init(&queue->head, &queue->tail);
}

static void
queue_uninit(struct queue *queue OVS_UNUSED)
{
}

static inline void
queue_push(struct queue *queue, struct node *node)
{
    cds_wfcq_node_init(&node->node);
    cds_wfcq_enqueue(&queue->head, &queue->tail, &node->node);
}

static inline struct node *
queue_poll(struct queue *queue)
{
    struct cds_wfcq_node *node;

    node = __cds_wfcq_dequeue_nonblocking(&queue->head, &queue->tail);
    return (node && node != CDS_WFCQ_WOULDBLOCK
            ? CONTAINER_OF(node, struct node, node) : NULL);
}

#include "modules-queue.h"
