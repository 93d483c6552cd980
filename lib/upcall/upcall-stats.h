/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_STATS_H
#define KDP_UPCALL_STATS_H 1

/* Counters of handlers
 * ====================
 *
 * Private to lib/upcall.  Each handler counts in a block of its own
 * (stats/thread-counters.h), on cache lines that no other thread writes to.
 * Readers get the counts of one handler, or the sum over all handlers so far,
 * past ones included.
 *
 * A reset does not write to the blocks, which would disturb their writers.  It
 * notes the counts so far, and later reads subtract them.  So no count is
 * missed.
 *
 * Life cycle
 * ----------
 *
 * The table and each handler hold a reference.  The counts of a handler stay
 * in the sum after the handler is destroyed.
 *
 * Thread safety
 * -------------
 *
 *      upcall_stats_add            the handler's thread, or the thread that
 *                                  ends an unused handler
 *      upcall_stats_block_init,    the control thread, under a mutex of the
 *      _uninit, _get, _reset       caller's
 *      all others                  any thread, any time */

#include <stddef.h>
#include <stdint.h>

#include "stats/thread-counters.h"
#include "upcall/upcall-info.h"

struct upcall_stats;

/* See struct upcall_handler_stats and struct upcall_table_info. */
enum upcall_stat {
    UPCALL_STAT_WAKEUPS,
    UPCALL_STAT_EMPTY_WAKEUPS,
    UPCALL_STAT_UPCALLS,
    UPCALL_STAT_RECEIVES,
    UPCALL_STAT_STEALS,
    UPCALL_STAT_LOANS,
    UPCALL_STAT_BUSY_USEC,
    UPCALL_STAT_FOREIGN,
    UPCALL_STAT_ABANDONED,
    UPCALL_STAT_REFUSED,
    UPCALL_STAT_OUTDATED,
    UPCALL_STAT_ADOPTED,
    UPCALL_STAT_BATCHES,        /* The first of UPCALL_N_BATCH_SIZES counters,
                                 * one for each size of batches. */
};
#define UPCALL_N_STATS (UPCALL_STAT_BATCHES + UPCALL_N_BATCH_SIZES)

struct upcall_stats *upcall_stats_create(void);
void upcall_stats_unref(struct upcall_stats *);

/* Stores in 'totals' what all handlers together counted since the last
 * reset. */
void upcall_stats_get(struct upcall_stats *, uint64_t totals[UPCALL_N_STATS]);
void upcall_stats_reset(struct upcall_stats *);

/* Counters of one handler. */
struct upcall_stats_block {
    struct upcall_stats *stats;
    struct thread_counters_block *counters;
    uint64_t base[UPCALL_N_STATS];  /* Counted before the last reset. */
};

void upcall_stats_block_init(struct upcall_stats_block *,
                             struct upcall_stats *);
void upcall_stats_block_uninit(struct upcall_stats_block *);
void upcall_stats_block_get(const struct upcall_stats_block *,
                            struct upcall_handler_stats *);
void upcall_stats_block_reset(struct upcall_stats_block *);

/* Counts 'n' more of 'stat'. */
static inline void
upcall_stats_add(struct upcall_stats_block *block, enum upcall_stat stat,
                 uint64_t n)
{
    thread_counters_add(block->counters, stat, n);
}

#endif /* lib/upcall/upcall-stats.h */
