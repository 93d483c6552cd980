/* SPDX-License-Identifier: Apache-2.0 */

/* liburcu's queue, consumed by taking all at once into a second queue, from
 * which nodes are taken without competition. */

#include <config.h>

#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#include "util.h"

#define BENCH_NAME queue_bench_urcu_splice
#define BENCH_MODULE "liburcu-splice"

/* As its header recommends, on different cache lines. */
struct queue {
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct __cds_wfcq_head head;
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct cds_wfcq_tail tail;

    /* The consumer's own. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct __cds_wfcq_head taken_head;
    struct cds_wfcq_tail taken_tail;
};

struct node {
    struct cds_wfcq_node node;
};

static void
queue_init(struct queue *queue)
{
    __cds_wfcq_init(&queue->head, &queue->tail);
    __cds_wfcq_init(&queue->taken_head, &queue->taken_tail);
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

    if (cds_wfcq_empty(&queue->taken_head, &queue->taken_tail)) {
        __cds_wfcq_splice_nonblocking(&queue->taken_head, &queue->taken_tail,
                                      &queue->head, &queue->tail);
    }
    node = __cds_wfcq_dequeue_nonblocking(&queue->taken_head,
                                          &queue->taken_tail);
    return (node && node != CDS_WFCQ_WOULDBLOCK
            ? CONTAINER_OF(node, struct node, node) : NULL);
}

#include "modules-queue.h"
