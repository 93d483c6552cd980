/* SPDX-License-Identifier: Apache-2.0 */

/* Counters per thread. */

#include <config.h>
#include "stats/thread-counters.h"

#include <pthread.h>
#include <stdlib.h>

#include "harness/unit.h"
#include "util.h"

static void
fold_adds_all_blocks_up(void **state OVS_UNUSED)
{
    static const size_t sizes[] = { 0, 1, 7, 8, 9, 36 };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        enum { N_BLOCKS = 20 };
        struct thread_counters_block *blocks[N_BLOCKS];
        struct thread_counters *counters;
        uint64_t totals[36];

        counters = thread_counters_create(sizes[i]);
        for (size_t j = 0; j < N_BLOCKS; j++) {
            blocks[j] = thread_counters_block_create(counters);
            assert_int_equal((uintptr_t) blocks[j] % CACHE_LINE_SIZE, 0);
            for (size_t k = 0; k < sizes[i]; k++) {
                thread_counters_add(blocks[j], k, j * 1000);
                thread_counters_add(blocks[j], k, k);
            }
        }

        /* Some of them go. */
        for (size_t j = 0; j <= N_BLOCKS; j++) {
            thread_counters_fold(counters, totals);
            for (size_t k = 0; k < sizes[i]; k++) {
                assert_int_equal(totals[k], 190000 + N_BLOCKS * k);
            }
            if (j < N_BLOCKS) {
                thread_counters_block_destroy(counters,
                                              blocks[j * 7 % N_BLOCKS]);
            }
        }
        thread_counters_block_destroy(counters, NULL);
        thread_counters_destroy(counters);
    }
    thread_counters_destroy(NULL);
}

static void
items_count_to_64_bits(void **state OVS_UNUSED)
{
    struct thread_counters *counters = thread_counters_create(1);
    struct thread_counters_block *block;
    uint64_t total;

    block = thread_counters_block_create(counters);
    thread_counters_add(block, 0, UINT64_MAX - 1);
    thread_counters_add(thread_counters_self(counters), 0, 1);
    thread_counters_fold(counters, &total);
    assert_true(total == UINT64_MAX);
    thread_counters_destroy(counters);
}

enum { N_ITEMS = 10, N_THREADS = 4, N_COUNTS = 100000 };

static void *
count(void *counters)
{
    struct thread_counters_block *block = thread_counters_self(counters);

    for (int i = 0; i < N_COUNTS; i++) {
        for (int item = 0; item < N_ITEMS; item++) {
            thread_counters_add(block, item, item + 1);
        }
    }
    unit_check(thread_counters_self(counters) == block);
    return NULL;
}

static void
threads_that_end_keep_their_counts(void **state OVS_UNUSED)
{
    struct thread_counters *counters = thread_counters_create(N_ITEMS);
    struct thread_counters *others = thread_counters_create(1);
    uint64_t totals[N_ITEMS], last[N_ITEMS] = { 0 };
    pthread_t threads[N_THREADS];

    for (int round = 1; round <= 3; round++) {
        thread_counters_add(thread_counters_self(others), 0, 1);
        for (int i = 0; i < N_THREADS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, count,
                                            counters), 0);
        }

        /* Nothing decreases while they count and end. */
        do {
            thread_counters_fold(counters, totals);
            for (int i = 0; i < N_ITEMS; i++) {
                assert_true(totals[i] >= last[i]);
                last[i] = totals[i];
            }
        } while (totals[0] < round * N_THREADS * N_COUNTS);
        for (int i = 0; i < N_THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
        thread_counters_fold(counters, totals);
        for (int i = 0; i < N_ITEMS; i++) {
            assert_int_equal(totals[i],
                             round * N_THREADS * N_COUNTS * (i + 1));
        }
    }
    thread_counters_fold(others, totals);
    assert_int_equal(totals[0], 3);
    thread_counters_destroy(counters);
    thread_counters_destroy(others);
}

/* A thread that outlives the set. */

struct survivor {
    struct thread_counters *counters;
    pthread_barrier_t barrier;
};

static void *
survive(void *survivor_)
{
    struct survivor *survivor = survivor_;

    thread_counters_add(thread_counters_self(survivor->counters), 0, 5);
    pthread_barrier_wait(&survivor->barrier);
    pthread_barrier_wait(&survivor->barrier);
    return NULL;
}

static void
threads_may_outlive_the_set(void **state OVS_UNUSED)
{
    struct survivor survivor;
    pthread_t threads[2];
    uint64_t total;

    survivor.counters = thread_counters_create(1);
    pthread_barrier_init(&survivor.barrier, NULL, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, survive,
                                        &survivor), 0);
    }
    pthread_barrier_wait(&survivor.barrier);
    thread_counters_fold(survivor.counters, &total);
    assert_int_equal(total, 10);
    thread_counters_destroy(survivor.counters);
    pthread_barrier_wait(&survivor.barrier);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    pthread_barrier_destroy(&survivor.barrier);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(fold_adds_all_blocks_up),
        cmocka_unit_test(items_count_to_64_bits),
        cmocka_unit_test(threads_that_end_keep_their_counts),
        cmocka_unit_test(threads_may_outlive_the_set),
    };

    return cmocka_run_group_tests_name("thread-counters", tests, NULL, NULL);
}
