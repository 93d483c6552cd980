/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-stats.h"

#include <stdlib.h>

#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "util.h"

struct upcall_stats {
    struct ovs_refcount refcount;
    struct thread_counters *counters;
    struct ovs_mutex mutex;
    uint64_t base[UPCALL_N_STATS] OVS_GUARDED;  /* Counted before the last
                                                 * reset. */
};

struct upcall_stats *
upcall_stats_create(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_stats *stats = xzalloc(sizeof *stats);

    ovs_refcount_init(&stats->refcount);
    stats->counters = thread_counters_create(UPCALL_N_STATS);
    ovs_mutex_init(&stats->mutex);
    return stats;
}

void
upcall_stats_unref(struct upcall_stats *stats)
{
    if (stats && upcall_refcount_unref(&stats->refcount)) {
        thread_counters_destroy(stats->counters);
        ovs_mutex_destroy(&stats->mutex);
        free(stats);
    }
}

void
upcall_stats_get(struct upcall_stats *stats, uint64_t totals[UPCALL_N_STATS])
{
    /* No fold is older than 'base': both are taken with the mutex held. */
    ovs_mutex_lock(&stats->mutex);
    thread_counters_fold(stats->counters, totals);
    for (size_t i = 0; i < UPCALL_N_STATS; i++) {
        totals[i] -= stats->base[i];
    }
    ovs_mutex_unlock(&stats->mutex);
}

void
upcall_stats_reset(struct upcall_stats *stats)
{
    ovs_mutex_lock(&stats->mutex);
    thread_counters_fold(stats->counters, stats->base);
    ovs_mutex_unlock(&stats->mutex);
}

void
upcall_stats_block_init(struct upcall_stats_block *block,
                        struct upcall_stats *stats)
{
    ovs_refcount_ref(&stats->refcount);
    *block = (struct upcall_stats_block) {
        .stats = stats,
        .counters = thread_counters_block_create(stats->counters),
    };
}

void
upcall_stats_block_uninit(struct upcall_stats_block *block)
{
    thread_counters_block_destroy(block->stats->counters, block->counters);
    upcall_stats_unref(block->stats);
}

/* Count of 'stat' in 'block' since the last reset. */
static uint64_t
upcall_stats_block_read(const struct upcall_stats_block *block,
                        enum upcall_stat stat)
{
    return thread_counters_read(block->counters, stat) - block->base[stat];
}

void
upcall_stats_block_get(const struct upcall_stats_block *block,
                       struct upcall_handler_stats *stats)
{
    *stats = (struct upcall_handler_stats) {
        .wakeups = upcall_stats_block_read(block, UPCALL_STAT_WAKEUPS),
        .empty_wakeups
            = upcall_stats_block_read(block, UPCALL_STAT_EMPTY_WAKEUPS),
        .upcalls = upcall_stats_block_read(block, UPCALL_STAT_UPCALLS),
        .receives = upcall_stats_block_read(block, UPCALL_STAT_RECEIVES),
        .steals = upcall_stats_block_read(block, UPCALL_STAT_STEALS),
        .loans = upcall_stats_block_read(block, UPCALL_STAT_LOANS),
        .busy_usec = upcall_stats_block_read(block, UPCALL_STAT_BUSY_USEC),
    };
    for (size_t i = 0; i < UPCALL_N_BATCH_SIZES; i++) {
        uint64_t n = upcall_stats_block_read(block, UPCALL_STAT_BATCHES + i);

        stats->batch_sizes[i] = n;
        stats->batches += n;
    }
}

void
upcall_stats_block_reset(struct upcall_stats_block *block)
{
    for (size_t i = 0; i < UPCALL_N_STATS; i++) {
        block->base[i] = thread_counters_read(block->counters, i);
    }
}
