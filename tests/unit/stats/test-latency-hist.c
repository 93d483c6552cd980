/* SPDX-License-Identifier: Apache-2.0 */

/* Latency histograms. */

#include <config.h>
#include "stats/latency-hist.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

static void
buckets_follow_each_other_without_gaps(void **state OVS_UNUSED)
{
    for (unsigned int i = 0; i + 1 < LATENCY_BUCKETS; i++) {
        uint32_t end = latency_hist_bucket_end(i);

        assert_int_equal(latency_hist_bucket(end), i);
        assert_int_equal(latency_hist_bucket(end + 1), i + 1);
    }
    assert_int_equal(latency_hist_bucket(0), 0);
    assert_int_equal(latency_hist_bucket(UINT32_MAX), LATENCY_BUCKETS - 1);
    assert_int_equal(latency_hist_bucket_end(LATENCY_BUCKETS - 1),
                     UINT32_MAX);
}

static void
buckets_are_exact_to_an_eighth(void **state OVS_UNUSED)
{
    for (uint64_t usec = 1; usec < UINT32_MAX; usec = usec * 9 / 8 + 1) {
        uint64_t end = latency_hist_bucket_end(latency_hist_bucket(usec));

        assert_true(end >= usec && end - usec <= usec / 8);
    }
}

static void
percentiles_are_those_of_what_was_recorded(void **state OVS_UNUSED)
{
    struct latency_summary summary;
    struct latency_hist hist;

    latency_hist_init(&hist);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, 0);
    assert_int_equal(summary.p50, 0);
    assert_int_equal(summary.max, 0);

    for (uint64_t i = 1; i <= 1000; i++) {
        latency_hist_record(&hist, i);
    }
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, 1000);
    assert_int_equal(summary.max, 1000);
    assert_true(summary.p50 >= 500 && summary.p50 <= 500 * 9 / 8);
    assert_true(summary.p99 >= 990 && summary.p99 <= 1000);

    /* More than an hour. */
    latency_hist_record(&hist, UINT64_MAX);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.max, UINT32_MAX);

    latency_hist_reset(&hist);
    latency_hist_record(&hist, 7);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, 1);
    assert_int_equal(summary.p50, 7);
    assert_int_equal(summary.p99, 7);
    assert_int_equal(summary.max, 7);
    latency_hist_uninit(&hist);
}

/* Makes the bucket of 'usec' count 'n' durations. */
static void
set_bucket(struct latency_hist *hist, uint32_t usec, uint32_t n)
{
    unsigned int i = latency_hist_bucket(usec);
    struct latency_part *part;

    latency_hist_record(hist, usec);
    atomic_read_relaxed(&hist->parts[i / LATENCY_PART_BUCKETS], &part);
    atomic_store_relaxed(&part->buckets[i % LATENCY_PART_BUCKETS], n);
}

static unsigned int
n_parts(struct latency_hist *hist)
{
    unsigned int n = 0;

    for (size_t i = 0; i < LATENCY_N_PARTS; i++) {
        struct latency_part *part;

        atomic_read_relaxed(&hist->parts[i], &part);
        n += part != NULL;
    }
    return n;
}

static void
only_what_was_recorded_takes_memory(void **state OVS_UNUSED)
{
    struct latency_summary summary;
    struct latency_hist hist;

    latency_hist_init(&hist);
    latency_hist_summarize(&hist, &summary);
    latency_hist_reset(&hist);
    assert_int_equal(n_parts(&hist), 0);

    for (uint32_t usec = 64; usec < 1024; usec++) {
        latency_hist_record(&hist, usec);
    }
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, 960);
    assert_int_equal(n_parts(&hist), 2);

    /* A reset keeps it, as readers may be there. */
    latency_hist_reset(&hist);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, 0);
    assert_int_equal(n_parts(&hist), 2);

    for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
        latency_hist_record(&hist, latency_hist_bucket_end(i));
    }
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, LATENCY_BUCKETS);
    assert_int_equal(n_parts(&hist), LATENCY_N_PARTS);
    latency_hist_uninit(&hist);
}

static void
full_bucket_stays_full(void **state OVS_UNUSED)
{
    struct latency_summary summary;
    struct latency_hist hist;

    latency_hist_init(&hist);
    set_bucket(&hist, 1000, UINT32_MAX - 1);
    for (int i = 0; i < 3; i++) {
        latency_hist_record(&hist, 1000);
    }
    latency_hist_record(&hist, 1);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, UINT64_C(1) + UINT32_MAX);
    assert_int_equal(summary.p50, 1000);
    assert_int_equal(summary.p99, 1000);
    assert_int_equal(summary.max, 1000);

    /* Any number of full ones add up. */
    for (unsigned int i = 0; i < LATENCY_BUCKETS; i++) {
        set_bucket(&hist, latency_hist_bucket_end(i), UINT32_MAX);
    }
    latency_hist_record(&hist, UINT32_MAX);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, (uint64_t) UINT32_MAX * LATENCY_BUCKETS);
    assert_int_equal(summary.p50,
                     latency_hist_bucket_end(LATENCY_BUCKETS / 2 - 1));
    latency_hist_uninit(&hist);
}

static void
bounds_are_ends_of_buckets(void **state OVS_UNUSED)
{
    for (unsigned int i = 0; i < LATENCY_N_BOUNDS; i++) {
        unsigned int bucket = latency_hist_bucket(LATENCY_BOUND(i) - 1);

        assert_int_equal(latency_hist_bucket_end(bucket),
                         LATENCY_BOUND(i) - 1);
    }
}

static void
sum_and_counts_below_bounds_are_exact(void **state OVS_UNUSED)
{
    struct latency_summary summary;
    struct latency_hist hist;

    latency_hist_init(&hist);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.sum, 0);
    assert_int_equal(summary.below[LATENCY_N_BOUNDS - 1], 0);

    for (uint64_t i = 0; i < 1000; i++) {
        latency_hist_record(&hist, i);
    }
    latency_hist_record(&hist, 1024);
    latency_hist_record(&hist, 5000000);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.sum, 999 * 1000 / 2 + 1024 + 5000000);
    assert_int_equal(summary.below[0], 64);
    assert_int_equal(summary.below[1], 256);
    assert_int_equal(summary.below[2], 1000);
    assert_int_equal(summary.below[3], 1001);
    assert_int_equal(summary.below[LATENCY_N_BOUNDS - 1], 1001);
    assert_int_equal(summary.n, 1002);

    latency_hist_reset(&hist);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.sum, 0);
    latency_hist_uninit(&hist);
}

static void
sum_of_histograms_is_that_of_all_durations(void **state OVS_UNUSED)
{
    static const uint32_t first[] = { 0, 5, 5, 1000, 70000, 70000 };
    static const uint32_t second[] = { 5, 1000, 1000, 9000000 };
    struct latency_hist a, b, all;
    struct latency_summary sum, expected;

    /* What was in the memory before does not matter. */
    memset(&a, 0xff, sizeof a);
    latency_hist_init(&a);
    latency_hist_init(&b);
    latency_hist_init(&all);
    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        latency_hist_record(&a, first[i]);
        latency_hist_record(&all, first[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(second); i++) {
        latency_hist_record(&b, second[i]);
        latency_hist_record(&all, second[i]);
    }
    latency_hist_add(&a, &b);
    latency_hist_summarize(&a, &sum);
    latency_hist_summarize(&all, &expected);
    assert_memory_equal(&sum, &expected, sizeof sum);
    assert_int_equal(sum.n, 10);
    assert_int_equal(sum.sum, 10 + 141000 + 5 + 2000 + 9000000);
    assert_int_equal(sum.max, 9000000);
    assert_int_equal(n_parts(&a), n_parts(&all));

    /* The other one stays, and a smaller maximum is none. */
    latency_hist_summarize(&b, &sum);
    assert_int_equal(sum.n, 4);
    assert_int_equal(sum.sum, 9002005);
    latency_hist_add(&b, &a);
    latency_hist_summarize(&b, &sum);
    assert_int_equal(sum.n, 14);
    assert_int_equal(sum.max, 9000000);

    /* Full buckets stay full. */
    latency_hist_reset(&a);
    latency_hist_reset(&b);
    set_bucket(&a, 7, UINT32_MAX - 2);
    set_bucket(&b, 7, 2);
    latency_hist_add(&a, &b);
    latency_hist_summarize(&a, &sum);
    assert_int_equal(sum.n, UINT32_MAX);
    latency_hist_add(&a, &b);
    latency_hist_summarize(&a, &sum);
    assert_int_equal(sum.n, UINT32_MAX);
    latency_hist_uninit(&a);
    latency_hist_uninit(&b);
    latency_hist_uninit(&all);
}

#define N_RECORDS 200000

/* Each part is made at another time. */
static void *
record(void *hist)
{
    for (uint64_t i = 0; i < N_RECORDS; i++) {
        latency_hist_record(hist, latency_hist_bucket_end(
                                i * LATENCY_BUCKETS / N_RECORDS));
    }
    return NULL;
}

static void
histogram_can_be_read_while_it_is_written(void **state OVS_UNUSED)
{
    struct latency_summary summary;
    struct latency_hist hist;
    pthread_t thread;
    uint64_t last = 0;

    latency_hist_init(&hist);
    assert_int_equal(pthread_create(&thread, NULL, record, &hist), 0);
    while (last < N_RECORDS) {
        latency_hist_summarize(&hist, &summary);
        assert_true(summary.n >= last);
        assert_true(summary.p50 <= summary.p99);
        last = summary.n;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(summary.n, N_RECORDS);
    assert_int_equal(n_parts(&hist), LATENCY_N_PARTS);
    latency_hist_uninit(&hist);
}

static void
histogram_can_be_reset_while_it_is_written(void **state OVS_UNUSED)
{
    struct latency_summary summary;
    struct latency_hist hist;
    pthread_t thread;

    latency_hist_init(&hist);
    assert_int_equal(pthread_create(&thread, NULL, record, &hist), 0);
    while (n_parts(&hist) < LATENCY_N_PARTS) {
        latency_hist_reset(&hist);
        latency_hist_summarize(&hist, &summary);
        assert_true(summary.n <= N_RECORDS);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    latency_hist_reset(&hist);
    latency_hist_summarize(&hist, &summary);
    assert_int_equal(summary.n, 0);
    latency_hist_uninit(&hist);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other_without_gaps),
        cmocka_unit_test(buckets_are_exact_to_an_eighth),
        cmocka_unit_test(percentiles_are_those_of_what_was_recorded),
        cmocka_unit_test(only_what_was_recorded_takes_memory),
        cmocka_unit_test(full_bucket_stays_full),
        cmocka_unit_test(bounds_are_ends_of_buckets),
        cmocka_unit_test(sum_and_counts_below_bounds_are_exact),
        cmocka_unit_test(sum_of_histograms_is_that_of_all_durations),
        cmocka_unit_test(histogram_can_be_read_while_it_is_written),
        cmocka_unit_test(histogram_can_be_reset_while_it_is_written),
    };

    return cmocka_run_group_tests_name("latency-hist", tests, NULL, NULL);
}
