/* SPDX-License-Identifier: Apache-2.0 */

/* What handlers count: U4 and U5 are told by these numbers, so they must be
 * exact, whoever asks or resets meanwhile. */

#include <config.h>
#include "upcall/upcall-stats.h"

#include "harness/unit.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "upcall/upcall-info.h"
#include "util.h"

/* Counts a different number of everything, from 'n' up. */
static void
count_all(struct upcall_stats_block *block, uint64_t n)
{
    for (size_t i = 0; i < UPCALL_N_STATS; i++) {
        upcall_stats_add(block, i, n + i);
    }
}

static void
expect_block(const struct upcall_stats_block *block, uint64_t n)
{
    struct upcall_handler_stats stats;
    uint64_t batches = 0;

    upcall_stats_block_get(block, &stats);
    assert_int_equal(stats.wakeups, n + UPCALL_STAT_WAKEUPS);
    assert_int_equal(stats.empty_wakeups, n + UPCALL_STAT_EMPTY_WAKEUPS);
    assert_int_equal(stats.upcalls, n + UPCALL_STAT_UPCALLS);
    assert_int_equal(stats.receives, n + UPCALL_STAT_RECEIVES);
    assert_int_equal(stats.steals, n + UPCALL_STAT_STEALS);
    for (size_t i = 0; i < UPCALL_N_BATCH_SIZES; i++) {
        assert_int_equal(stats.batch_sizes[i], n + UPCALL_STAT_BATCHES + i);
        batches += stats.batch_sizes[i];
    }
    assert_int_equal(stats.batches, batches);
}

static void
expect_totals(struct upcall_stats *stats, uint64_t n, uint64_t factor)
{
    uint64_t totals[UPCALL_N_STATS];

    upcall_stats_get(stats, totals);
    for (size_t i = 0; i < UPCALL_N_STATS; i++) {
        assert_int_equal(totals[i], n + factor * i);
    }
}

static void
each_handler_has_its_own_and_all_add_up(void **state OVS_UNUSED)
{
    struct upcall_stats *stats = upcall_stats_create();
    struct upcall_stats_block a, b;

    upcall_stats_block_init(&a, stats);
    upcall_stats_block_init(&b, stats);
    count_all(&a, 100);
    count_all(&b, 1000);
    expect_block(&a, 100);
    expect_block(&b, 1000);
    expect_totals(stats, 1100, 2);
    upcall_stats_block_uninit(&a);
    upcall_stats_block_uninit(&b);
    upcall_stats_unref(stats);
    upcall_stats_unref(NULL);
}

static void
what_a_handler_counted_outlives_it(void **state OVS_UNUSED)
{
    struct upcall_stats *stats = upcall_stats_create();
    struct upcall_stats_block a, b;

    upcall_stats_block_init(&a, stats);
    count_all(&a, 100);
    upcall_stats_block_uninit(&a);
    expect_totals(stats, 100, 1);

    /* The statistics outlive the table. */
    upcall_stats_block_init(&b, stats);
    upcall_stats_unref(stats);
    count_all(&b, 1);
    expect_block(&b, 1);
    expect_totals(stats, 101, 2);
    upcall_stats_block_uninit(&b);
}

static void
reset_starts_from_zero(void **state OVS_UNUSED)
{
    struct upcall_stats *stats = upcall_stats_create();
    struct upcall_stats_block a, b;

    upcall_stats_block_init(&a, stats);
    upcall_stats_block_init(&b, stats);
    count_all(&a, 100);
    count_all(&b, 1000);
    upcall_stats_reset(stats);
    upcall_stats_block_reset(&a);
    expect_totals(stats, 0, 0);
    count_all(&a, 7);
    expect_block(&a, 7);
    expect_block(&b, 1000);

    /* One that goes takes nothing along that was counted since. */
    upcall_stats_block_uninit(&b);
    upcall_stats_block_uninit(&a);
    expect_totals(stats, 7, 1);
    upcall_stats_unref(stats);
}

/* A handler that counts without a pause, and says how far it is. */
struct counter {
    struct upcall_stats_block block;
    atomic_uint64_t n;
    atomic_bool exit;
};

static void *
counter_main(void *counter_)
{
    struct counter *counter = counter_;

    for (uint64_t n = 1;; n++) {
        bool end;

        upcall_stats_add(&counter->block, UPCALL_STAT_UPCALLS, 1);
        atomic_store_explicit(&counter->n, n, memory_order_release);
        atomic_read_relaxed(&counter->exit, &end);
        if (end) {
            return NULL;
        }
    }
}

static uint64_t
counted(struct counter *counter)
{
    uint64_t n;

    atomic_read_explicit(&counter->n, &n, memory_order_acquire);
    return n;
}

static void
reset_misses_no_count_and_brings_none_back(void **state OVS_UNUSED)
{
    enum { N_RESETS = 500 };
    struct upcall_stats *stats = upcall_stats_create();
    struct counter counter;
    pthread_t thread;

    upcall_stats_block_init(&counter.block, stats);
    atomic_init(&counter.n, 0);
    atomic_init(&counter.exit, false);
    thread = ovs_thread_create("counter", counter_main, &counter);
    for (int i = 0; i < N_RESETS; i++) {
        struct upcall_handler_stats one;
        uint64_t totals[UPCALL_N_STATS];
        uint64_t before, reset, after;

        /* The reset is between 'before' and 'reset', what is read is between
         * 'reset' and 'after'.  The last count may not be in 'n' yet, so only
         * the second one after 'reset' was surely made after the reset. */
        before = counted(&counter);
        upcall_stats_reset(stats);
        upcall_stats_block_reset(&counter.block);
        reset = counted(&counter);
        if (i % 2) {
            unit_wait_until(counted(&counter) > reset + 1);
        }
        upcall_stats_get(stats, totals);
        upcall_stats_block_get(&counter.block, &one);
        after = counted(&counter);

        assert_true(totals[UPCALL_STAT_UPCALLS] <= after + 1 - before);
        assert_true(one.upcalls <= after + 1 - before);
        if (i % 2) {
            assert_true(one.upcalls > 0);
            assert_true(totals[UPCALL_STAT_UPCALLS] > 0);
        }
    }
    atomic_store_relaxed(&counter.exit, true);
    xpthread_join(thread, NULL);
    upcall_stats_block_uninit(&counter.block);
    upcall_stats_unref(stats);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_handler_has_its_own_and_all_add_up),
        cmocka_unit_test(what_a_handler_counted_outlives_it),
        cmocka_unit_test(reset_starts_from_zero),
        cmocka_unit_test(reset_misses_no_count_and_brings_none_back),
    };

    unit_init("test-upcall-stats");
    return cmocka_run_group_tests_name("upcall-stats", tests, NULL, NULL);
}
