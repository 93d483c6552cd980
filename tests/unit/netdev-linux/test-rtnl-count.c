/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L1: calls under the RTNL lock are counted, in every thread. */

#include <config.h>
#include "netdev-linux/rtnl-count.h"

#include <pthread.h>
#include <string.h>

#include "harness/unit.h"
#include "ovs-thread.h"
#include "util.h"

#define N_THREADS 4
#define N_CALLS 10000

static void *
count(void *aux OVS_UNUSED)
{
    for (int i = 0; i < N_CALLS; i++) {
        kdp_rtnl_count(KDP_RTNL_FEATURES);
        kdp_rtnl_count(i % KDP_N_RTNL_CALLS);
    }
    return NULL;
}

static uint64_t
total(void)
{
    uint64_t counts[KDP_N_RTNL_CALLS];
    uint64_t n = 0;

    kdp_rtnl_get_counts(counts);
    for (int i = 0; i < KDP_N_RTNL_CALLS; i++) {
        n += counts[i];
    }
    return n;
}

static void
calls_of_all_threads_count(void **state OVS_UNUSED)
{
    uint64_t counts[KDP_N_RTNL_CALLS];
    pthread_t threads[N_THREADS];
    uint64_t last = 0;

    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = ovs_thread_create("counter", count, NULL);
    }

    /* A reader sees no count decrease meanwhile. */
    for (int i = 0; i < 1000; i++) {
        uint64_t now = total();

        assert_true(now >= last);
        last = now;
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
    }
    assert_int_equal(total(), 2 * N_THREADS * N_CALLS);
    kdp_rtnl_get_counts(counts);
    assert_true(counts[KDP_RTNL_FEATURES] >= N_THREADS * N_CALLS);
}

static void
time_counts_with_its_call(void **state OVS_UNUSED)
{
    uint64_t counts[KDP_N_RTNL_CALLS], before[KDP_N_RTNL_CALLS];
    uint64_t usecs[KDP_N_RTNL_CALLS];
    long long int start;

    kdp_rtnl_get_counts(before);
    kdp_rtnl_get_usecs(usecs);
    for (int i = 0; i < KDP_N_RTNL_CALLS; i++) {
        assert_int_equal(usecs[i], 0);
    }
    start = kdp_rtnl_begin();
    unit_sleep_us(3000);
    kdp_rtnl_end(KDP_RTNL_SET_MTU, start);
    kdp_rtnl_get_counts(counts);
    kdp_rtnl_get_usecs(usecs);
    for (int i = 0; i < KDP_N_RTNL_CALLS; i++) {
        assert_int_equal(counts[i], before[i] + (i == KDP_RTNL_SET_MTU));
        assert_true(i == KDP_RTNL_SET_MTU ? usecs[i] >= 3000 : !usecs[i]);
    }
}

static void
every_kind_has_a_name(void **state OVS_UNUSED)
{
    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        assert_non_null(kdp_rtnl_call_name(i));
        for (enum kdp_rtnl_call j = 0; j < i; j++) {
            assert_string_not_equal(kdp_rtnl_call_name(i),
                                    kdp_rtnl_call_name(j));
        }
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_threads_count),
        cmocka_unit_test(time_counts_with_its_call),
        cmocka_unit_test(every_kind_has_a_name),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
