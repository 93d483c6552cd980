/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_THREAD_COUNTERS_H
#define KDP_THREAD_COUNTERS_H 1

/* Per-thread counters
 * ===================
 *
 * A set has a number of items to count.  Each thread counts in its own block,
 * which has all items one after another, on cache lines that no other thread
 * writes to.  So counting is a load and a store and never waits for another
 * CPU. A reader adds up the blocks.
 *
 * It walks through each block once, all items together.  If it added up one
 * item over all threads, then the next item, it would fetch the same cache
 * lines, which come from the CPUs of their writers, once for each item: with
 * many threads they do not stay in the cache until the next item's turn.  (The
 * kernel's per-CPU network statistics were changed in the same way in 2015.)
 * While one block is added up, the next blocks are prefetched.
 *
 * Life cycle
 * ----------
 *
 * thread_counters_create().  A thread gets its block at its first
 * thread_counters_self(); when the thread ends, its counts are kept and the
 * block is freed.  To count for something that is not a thread, the caller
 * creates and destroys blocks itself.  thread_counters_destroy() frees the
 * remaining blocks, when no thread uses the set any more.
 *
 * What a fold sees
 * ----------------
 *
 * Each item is read atomically.  Items are read at different times, so in a
 * fold a later count may be ahead of an earlier one.  From one fold to the
 * next, no item decreases.  A fold includes everything that a thread counted
 * before it ended, or before an event that the caller waited for.
 *
 * Thread safety
 * -------------
 *
 *     thread_counters_create, _destroy       no other call on the set
 *     thread_counters_self, _fold, _read     any thread, any time
 *     thread_counters_block_create           any thread, any time
 *     thread_counters_block_destroy, _add    the owner of the block
 */

#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "util.h"

struct thread_counters;

/* A block.  The set knows the number of items. */
struct thread_counters_block {
    atomic_uint64_t items[1];
};

struct thread_counters *thread_counters_create(size_t n_items);
void thread_counters_destroy(struct thread_counters *);
struct thread_counters_block *thread_counters_self(struct thread_counters *);
void thread_counters_fold(struct thread_counters *, uint64_t totals[]);

struct thread_counters_block *thread_counters_block_create(
    struct thread_counters *);
void thread_counters_block_destroy(struct thread_counters *,
                                   struct thread_counters_block *);

/* Adds 'n' to 'item', which must be below the set's number of items, in the
 * caller's 'block'.  Relaxed: counters order nothing. */
static inline void
thread_counters_add(struct thread_counters_block *block, size_t item,
                    uint64_t n)
{
    uint64_t value;

    atomic_read_relaxed(&block->items[item], &value);
    atomic_store_relaxed(&block->items[item], value + n);
}

/* Returns the present count of 'item' in 'block'.  Never decreases. */
static inline uint64_t
thread_counters_read(const struct thread_counters_block *block, size_t item)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, &block->items[item]),
                        &value);
    return value;
}

#endif /* lib/stats/thread-counters.h */
