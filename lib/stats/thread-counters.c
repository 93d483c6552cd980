/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "stats/thread-counters.h"

#include <stdlib.h>

#include "openvswitch/thread.h"
#include "ovs-thread.h"
#include "util.h"

struct thread_counters {
    size_t n_items;             /* Constant. */
    ovsthread_key_t key;        /* Holds a struct self. */

    struct ovs_mutex mutex;
    struct thread_counters_block **blocks OVS_GUARDED;
    size_t n_blocks OVS_GUARDED;
    size_t allocated_blocks OVS_GUARDED;
    uint64_t *kept OVS_GUARDED; /* Sums of blocks that are gone. */
    struct self *selves OVS_GUARDED;    /* The blocks of all threads. */
};

/* The block of a thread. */
struct self {
    struct thread_counters *counters;
    struct thread_counters_block *block;
    struct self *next, **prevp; /* In counters->selves. */
};

static void
self_end(void *self_)
{
    struct self *self = self_;
    struct thread_counters *counters = self->counters;

    thread_counters_block_destroy(counters, self->block);
    ovs_mutex_lock(&counters->mutex);
    *self->prevp = self->next;
    if (self->next) {
        self->next->prevp = self->prevp;
    }
    ovs_mutex_unlock(&counters->mutex);
    free(self);
}

/* Creates a set of 'n_items' counters, which are 0. */
struct thread_counters *
thread_counters_create(size_t n_items)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct thread_counters *counters = xzalloc(sizeof *counters);

    counters->n_items = n_items;
    counters->kept = xcalloc(MAX(n_items, 1), sizeof *counters->kept);
    ovsthread_key_create(&counters->key, self_end);
    ovs_mutex_init(&counters->mutex);
    return counters;
}

/* Destroys 'counters' with all blocks.  Threads that have one may live on, but
 * must not use it.  NULL does nothing. */
void
thread_counters_destroy(struct thread_counters *counters)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct self *self, *next;

    if (!counters) {
        return;
    }

    /* From here on no ending thread calls self_end() or is in it. */
    ovsthread_key_delete(counters->key);
    for (self = counters->selves; self; self = next) {
        next = self->next;
        free(self);
    }
    for (size_t i = 0; i < counters->n_blocks; i++) {
        free_cacheline(counters->blocks[i]);
    }
    free(counters->blocks);
    free(counters->kept);
    ovs_mutex_destroy(&counters->mutex);
    free(counters);
}

/* Returns the block of the calling thread, which stays the same until the
 * thread ends. */
struct thread_counters_block *
thread_counters_self(struct thread_counters *counters)
{
    struct self *self = ovsthread_getspecific(counters->key);

    if (!self) {
        self = xmalloc(sizeof *self);
        self->counters = counters;
        self->block = thread_counters_block_create(counters);
        ovs_mutex_lock(&counters->mutex);
        self->next = counters->selves;
        self->prevp = &counters->selves;
        if (self->next) {
            self->next->prevp = &self->next;
        }
        counters->selves = self;
        ovs_mutex_unlock(&counters->mutex);
        ovsthread_setspecific(counters->key, self);
    }
    return self->block;
}

/* Creates a block of 'counters'. */
struct thread_counters_block *
thread_counters_block_create(struct thread_counters *counters)
{
    struct thread_counters_block *block;

    /* Nothing else shares the last cache line either. */
    block = xmalloc_cacheline(ROUND_UP(
        MAX(counters->n_items, 1) * sizeof block->items[0], CACHE_LINE_SIZE));
    for (size_t i = 0; i < counters->n_items; i++) {
        atomic_init(&block->items[i], 0);
    }

    ovs_mutex_lock(&counters->mutex);
    if (counters->n_blocks == counters->allocated_blocks) {
        counters->blocks = x2nrealloc(counters->blocks,
                                      &counters->allocated_blocks,
                                      sizeof *counters->blocks);
    }
    counters->blocks[counters->n_blocks++] = block;
    ovs_mutex_unlock(&counters->mutex);
    return block;
}

/* Blocks that are added up at the same time, so that the totals are loaded and
 * stored once for all of them, and cache lines of several blocks are in flight
 * at once. */
#define STRIDE 4

/* Distance in blocks between adding up and prefetching: cache lines come from
 * other CPUs, which takes longer than adding up a block. */
#define AHEAD (2 * STRIDE)

static void
prefetch_block(const struct thread_counters_block *block, size_t n_items)
{
    for (size_t i = 0; i < n_items; i += CACHE_LINE_SIZE / sizeof(uint64_t)) {
        OVS_PREFETCH(&block->items[i]);
    }
}

/* Adds the 'n_items' items of 'n' blocks to 'totals'. */
static void
add_blocks(uint64_t totals[], struct thread_counters_block **blocks, size_t n,
           size_t n_items)
{
    for (; n >= STRIDE; blocks += STRIDE, n -= STRIDE) {
        if (n >= AHEAD + STRIDE) {
            for (size_t i = 0; i < STRIDE; i++) {
                prefetch_block(blocks[AHEAD + i], n_items);
            }
        }
        for (size_t i = 0; i < n_items; i++) {
            totals[i] += (thread_counters_read(blocks[0], i)
                          + thread_counters_read(blocks[1], i)
                          + thread_counters_read(blocks[2], i)
                          + thread_counters_read(blocks[3], i));
        }
    }
    for (; n > 0; blocks++, n--) {
        for (size_t i = 0; i < n_items; i++) {
            totals[i] += thread_counters_read(blocks[0], i);
        }
    }
}

/* Destroys 'block' of 'counters', and keeps its counts.  NULL does nothing. */
void
thread_counters_block_destroy(struct thread_counters *counters,
                              struct thread_counters_block *block)
{
    if (!block) {
        return;
    }
    ovs_mutex_lock(&counters->mutex);
    add_blocks(counters->kept, &block, 1, counters->n_items);
    for (size_t i = 0; i < counters->n_blocks; i++) {
        if (counters->blocks[i] == block) {
            counters->blocks[i] = counters->blocks[--counters->n_blocks];
            break;
        }
    }
    ovs_mutex_unlock(&counters->mutex);
    free_cacheline(block);
}

/* Stores the sum of each item over all blocks, including destroyed ones, in
 * 'totals', which must have room for all items. */
void
thread_counters_fold(struct thread_counters *counters, uint64_t totals[])
{
    ovs_mutex_lock(&counters->mutex);
    for (size_t i = 0; i < counters->n_items; i++) {
        totals[i] = counters->kept[i];
    }
    add_blocks(totals, counters->blocks, counters->n_blocks,
               counters->n_items);
    ovs_mutex_unlock(&counters->mutex);
}
