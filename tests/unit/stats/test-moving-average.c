/* SPDX-License-Identifier: Apache-2.0 */

/* Moving averages. */

#include <config.h>
#include "stats/moving-average.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "harness/unit.h"
#include "util.h"

static bool
near(double value, double expected, double relative)
{
    return fabs(value - expected) <= relative * MAX(fabs(expected), 1e-300);
}

static struct average_summary
summary_of(const struct moving_average *average)
{
    struct average_summary summary;

    moving_average_read(average, &summary);
    return summary;
}

/* A number in [0, 1) that is the same in each run. */
static double
noise(uint64_t i)
{
    return (i * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407))
           % 1000003 / 1000003.0;
}

static void
average_of_nothing_is_zero(void **state OVS_UNUSED)
{
    struct moving_average average;

    for (int kind = 0; kind < 2; kind++) {
        if (kind) {
            moving_average_init_exponential(&average, 0.1);
        } else {
            moving_average_init_cumulative(&average);
        }

        struct average_summary summary = summary_of(&average);

        assert_int_equal(summary.n, 0);
        assert_true(summary.mean == 0);
        assert_true(summary.variance == 0);

        /* One sample has no deviation. */
        moving_average_record(&average, -7);
        summary = summary_of(&average);
        assert_int_equal(summary.n, 1);
        assert_true(summary.mean == -7);
        assert_true(average_summary_deviation(&summary) == 0);

        /* Nor have several that are equal. */
        moving_average_record(&average, -7);
        moving_average_record(&average, -7);
        summary = summary_of(&average);
        assert_int_equal(summary.n, 3);
        assert_true(summary.mean == -7);
        assert_true(summary.variance == 0);
    }
}

static void
cumulative_average_is_that_of_all_samples(void **state OVS_UNUSED)
{
    enum { N = 100000 };
    struct moving_average average;
    long double sum = 0, squares = 0;
    struct average_summary summary;

    moving_average_init_cumulative(&average);
    for (int i = 0; i < N; i++) {
        moving_average_record(&average, 100 * noise(i));
        sum += 100 * noise(i);
    }
    for (int i = 0; i < N; i++) {
        squares += (100 * noise(i) - sum / N) * (100 * noise(i) - sum / N);
    }
    summary = summary_of(&average);
    assert_int_equal(summary.n, N);
    assert_true(near(summary.mean, sum / N, 1e-12));
    assert_true(near(summary.variance, squares / N, 1e-12));
    assert_true(near(average_summary_deviation(&summary), 100 / sqrt(12),
                     0.01));
}

static void
small_deviation_from_a_large_mean_is_kept(void **state OVS_UNUSED)
{
    enum { N = 1000000 };
    struct moving_average cumulative, exponential;
    double deviation, sum_of_squares = 0, sum = 0;
    struct average_summary summary;

    /* 1,000,000,001 and 1,000,000,003 by turns. */
    moving_average_init_cumulative(&cumulative);
    moving_average_init_exponential(&exponential, 0.001);
    for (int i = 0; i < N; i++) {
        double sample = 1e9 + 1 + i % 2 * 2;

        moving_average_record(&cumulative, sample);
        moving_average_record(&exponential, sample);
        sum += sample;
        sum_of_squares += sample * sample;
    }
    summary = summary_of(&cumulative);
    assert_true(near(summary.mean, 1e9 + 2, 1e-15));
    deviation = average_summary_deviation(&summary);
    assert_true(near(deviation, 1, 1e-6));
    summary = summary_of(&exponential);
    assert_true(near(summary.mean, 1e9 + 2, 1e-11));
    assert_true(near(average_summary_deviation(&summary), 1, 1e-2));

    /* Sums of squares do not know. */
    assert_false(near(sum_of_squares / N - sum / N * (sum / N), 1, 0.1));
}

static void
exponential_average_is_the_weighted_one(void **state OVS_UNUSED)
{
    static const double weights[] = { 0.01, 0.1, 0.5, 1 };
    enum { N = 300 };

    for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
        double w = weights[i], samples[N];
        struct moving_average average;

        moving_average_init_exponential(&average, w);
        for (int n = 1; n <= N; n++) {
            double mean = 0, variance = 0, sum = 0;
            struct average_summary summary;

            samples[n - 1] = 50 + 100 * noise(n);
            moving_average_record(&average, samples[n - 1]);

            /* By definition. */
            for (int pass = 0; pass < 2; pass++) {
                sum = 0;
                for (int j = 0; j < n; j++) {
                    double part = pow(1 - w, n - 1 - j) * (j ? w : 1);

                    if (!pass) {
                        mean += part * samples[j];
                    } else {
                        variance += part * pow(samples[j] - mean, 2);
                    }
                    sum += part;
                }
            }
            assert_true(near(sum, 1, 1e-9));
            summary = summary_of(&average);
            assert_int_equal(summary.n, n);
            assert_true(near(summary.mean, mean, 1e-9));
            assert_true(fabs(summary.variance - variance) < 1e-9 * 10000);
        }
    }
}

static void
exponential_average_follows(void **state OVS_UNUSED)
{
    struct moving_average average;
    struct average_summary summary;

    moving_average_init_exponential(&average, 0.05);
    for (int i = 0; i < 1000; i++) {
        moving_average_record(&average, 1000);
    }
    for (int i = 0; i < 1000; i++) {
        moving_average_record(&average, 10);
    }
    summary = summary_of(&average);
    assert_true(near(summary.mean, 10, 1e-6));
    assert_true(average_summary_deviation(&summary) < 1e-6);
}

static void
merged_averages_are_weighted_by_count(void **state OVS_UNUSED)
{
    struct average_summary total = { .n = 0 }, summary;
    struct moving_average all, parts[4];
    uint64_t n = 0;

    /* Parts of different sizes and levels, one of them empty. */
    moving_average_init_cumulative(&all);
    for (int i = 0; i < 4; i++) {
        moving_average_init_cumulative(&parts[i]);
        for (int j = 0; j < (int[]) { 3, 100000, 0, 700 }[i]; j++) {
            double sample = noise(n++) * 5 + i * 1000;

            moving_average_record(&parts[i], sample);
            moving_average_record(&all, sample);
        }
        summary = summary_of(&parts[i]);
        average_summary_merge(&total, &summary);
    }
    summary = summary_of(&all);
    assert_int_equal(total.n, summary.n);
    assert_true(near(total.mean, summary.mean, 1e-12));
    assert_true(near(total.variance, summary.variance, 1e-9));

    /* With nothing it stays. */
    average_summary_merge(&total, &(struct average_summary) { .n = 0 });
    assert_int_equal(total.n, summary.n);
}

/* The samples are 1, 2, 3 and so on: their number tells their mean and
 * variance, so that a reader knows whether what it saw belongs together. */

enum { N_RECORDS = 300000 };

static void *
record(void *average_)
{
    struct moving_average *average = average_;

    for (int i = 1; i <= N_RECORDS; i++) {
        moving_average_record(average, i);
    }
    return NULL;
}

static void
readers_see_whole_samples(void **state OVS_UNUSED)
{
    struct average_summary summary = { .n = 0 };
    struct moving_average average;
    uint64_t last = 0;
    pthread_t thread;

    moving_average_init_cumulative(&average);
    assert_int_equal(pthread_create(&thread, NULL, record, &average), 0);
    while (summary.n < N_RECORDS) {
        double n;

        moving_average_read(&average, &summary);
        n = summary.n;
        assert_true(summary.n >= last);
        assert_true(!n || near(summary.mean, (n + 1) / 2, 1e-9));
        assert_true(!n || fabs(summary.variance - (n * n - 1) / 12)
                          <= 1e-6 * n * n);
        last = summary.n;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(average_of_nothing_is_zero),
        cmocka_unit_test(cumulative_average_is_that_of_all_samples),
        cmocka_unit_test(small_deviation_from_a_large_mean_is_kept),
        cmocka_unit_test(exponential_average_is_the_weighted_one),
        cmocka_unit_test(exponential_average_follows),
        cmocka_unit_test(merged_averages_are_weighted_by_count),
        cmocka_unit_test(readers_see_whole_samples),
    };

    return cmocka_run_group_tests_name("moving-average", tests, NULL, NULL);
}
