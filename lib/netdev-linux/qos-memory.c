/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/qos-memory.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

struct qos_queue {
    struct hmap_node node;      /* In 'queues', by 'id'. */
    unsigned int id;
    struct smap details;
};

void
qos_memory_init(struct qos_memory *memory)
{
    memset(memory, 0, sizeof *memory);
    smap_init(&memory->details);
    hmap_init(&memory->queues);
}

static struct qos_queue *
qos_queue_find(const struct qos_memory *memory, unsigned int id)
{
    struct qos_queue *queue;

    HMAP_FOR_EACH_WITH_HASH (queue, node, hash_int(id, 0), &memory->queues) {
        if (queue->id == id) {
            return queue;
        }
    }
    return NULL;
}

static void
qos_queue_remove(struct qos_memory *memory, struct qos_queue *queue)
{
    hmap_remove(&memory->queues, &queue->node);
    smap_destroy(&queue->details);
    free(queue);
}

void
qos_memory_forget(struct qos_memory *memory)
{
    struct qos_queue *queue, *next;

    free(memory->type);
    memory->type = NULL;
    smap_clear(&memory->details);
    HMAP_FOR_EACH_SAFE (queue, next, node, &memory->queues) {
        qos_queue_remove(memory, queue);
    }
}

void
qos_memory_destroy(struct qos_memory *memory)
{
    qos_memory_forget(memory);
    smap_destroy(&memory->details);
    hmap_destroy(&memory->queues);
}

bool
qos_basis_rates_equal(const struct qos_basis *a, const struct qos_basis *b)
{
    return (a->ifindex == b->ifindex && a->mtu == b->mtu
            && a->speed == b->speed);
}

bool
qos_memory_holds(const struct qos_memory *memory,
                 const struct qos_basis *basis)
{
    const struct qos_basis *mine = &memory->basis;

    return (memory->type && qos_basis_rates_equal(mine, basis)
            && mine->seqno == basis->seqno);
}

bool
qos_memory_has(const struct qos_memory *memory, const struct qos_basis *basis,
               const char *type, const struct smap *details)
{
    return (qos_memory_holds(memory, basis) && !strcmp(memory->type, type)
            && smap_equal(&memory->details, details));
}

bool
qos_memory_has_queue(const struct qos_memory *memory,
                     const struct qos_basis *basis, unsigned int id,
                     const struct smap *details)
{
    const struct qos_queue *queue = qos_queue_find(memory, id);

    return (qos_memory_holds(memory, basis) && queue
            && smap_equal(&queue->details, details));
}

void
qos_memory_set(struct qos_memory *memory, const struct qos_basis *basis,
               const char *type, const struct smap *details)
{
    qos_memory_forget(memory);
    memory->type = xstrdup(type);
    smap_destroy(&memory->details);
    smap_clone(&memory->details, details);
    memory->basis = *basis;
}

void
qos_memory_set_queue(struct qos_memory *memory, const struct qos_basis *basis,
                     unsigned int id, const struct smap *details)
{
    struct qos_queue *queue = qos_queue_find(memory, id);

    if (queue) {
        qos_queue_remove(memory, queue);
    }
    if (details) {
        queue = xmalloc(sizeof *queue);
        queue->id = id;
        smap_clone(&queue->details, details);
        hmap_insert(&memory->queues, &queue->node, hash_int(id, 0));
    }
    memory->basis = *basis;
}
