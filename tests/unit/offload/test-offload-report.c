/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: what it reports about itself. */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <math.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "offload/offload-engine.h"
#include "util.h"

#define CREATE OFFLOAD_PUT_CREATE

/* Counts as if 'thread' had done something, (j + 1) times for counter j and a
 * hundred times more often for each thread. */
static void
count_all(struct offload *offload, unsigned int thread)
{
    for (size_t j = 0; j < OFFLOAD_N_COUNTERS; j++) {
        for (size_t k = 0; k < (thread * 100 + 1) * (j + 1); k++) {
            offload_count(offload, thread, j);
        }
    }
}

static void
check_average(const struct average_summary *average, uint64_t n, double mean,
              double variance)
{
    assert_int_equal(average->n, n);
    assert_true(fabs(average->mean - mean) < 1e-6 * mean);
    assert_true(fabs(average->variance - variance) <= 1e-6 * variance);
}

static void
report_has_the_figures_of_each_thread(void **state OVS_UNUSED)
{
    /* Of the second sample in the exponential average. */
    const double weight = 2.0 / 101;
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_engine_info info;
    struct offload_queues *queues;
    struct unit_offload unit;

    config.n_threads = 2;
    unit_offload_init(&unit, &config, 0);
    queues = &unit.offload->queues;
    for (unsigned int i = 0; i < 2; i++) {
        count_all(unit.offload, i);
        offload_queues_inserted(queues, i, 100 * (i + 1));
        offload_queues_inserted(queues, i, 300 * (i + 1));
        atomic_store_relaxed(&queues->queues[i].n_flows, 3 + i);
        atomic_store_relaxed(&queues->queues[i].most_flows, 9 - i);
    }
    offload_get_info(unit.offload, &info);
    for (unsigned int i = 0; i < 2; i++) {
        atomic_store_relaxed(&queues->queues[i].n_flows, 0);
    }

    assert_int_equal(info.n_threads, 2);
    assert_int_equal(info.n_running, 2);
    for (unsigned int i = 0; i < 2; i++) {
        const struct offload_thread_info *thread = &info.threads[i];
        double unit_usec = 100 * (i + 1);

        assert_int_equal(thread->id, i);
        assert_true(thread->running);
        for (size_t j = 0; j < OFFLOAD_N_COUNTERS; j++) {
            assert_int_equal(thread->counters[j], (i * 100 + 1) * (j + 1));
        }
        assert_int_equal(thread->n_queued, 3 + i);
        assert_int_equal(thread->most_queued, 9 - i);
        assert_int_equal(thread->n_rules, 0);
        check_average(&thread->cumulative, 2, 2 * unit_usec,
                      unit_usec * unit_usec);
        check_average(&thread->exponential, 2, (1 + weight * 2) * unit_usec,
                      ((1 - weight) * weight * 4 * unit_usec * unit_usec));
        assert_int_equal(thread->latency.n, 2);
        assert_int_equal(thread->latency.max, 3 * unit_usec);
        assert_in_range(thread->latency.p50, unit_usec, 1.1 * unit_usec);
        assert_int_equal(thread->latency.p99, 3 * unit_usec);
    }

    assert_int_equal(info.total.n_queued, 7);
    assert_int_equal(info.total.most_queued, 9);
    for (size_t j = 0; j < OFFLOAD_N_COUNTERS; j++) {
        assert_int_equal(info.total.counters[j], 102 * (j + 1));
    }
    check_average(&info.total.cumulative, 4, 300, 35000);
    assert_int_equal(info.total.exponential.n, 4);
    assert_true(info.total.exponential.mean
                > info.threads[0].exponential.mean);
    assert_true(info.total.exponential.mean
                < info.threads[1].exponential.mean);
    assert_int_equal(info.total.latency.n, 4);
    assert_int_equal(info.total.latency.max, 600);

    /* A thread that has ended is still shown. */
    config.n_threads = 1;
    offload_configure(unit.offload, &config);
    offload_get_info(unit.offload, &info);
    assert_int_equal(info.n_threads, 2);
    assert_int_equal(info.n_running, 1);
    assert_true(info.threads[0].running);
    assert_false(info.threads[1].running);
    assert_int_equal(info.threads[1].counters[OFFLOAD_ENQUEUED], 101);
    offload_destroy(unit.offload);
    offload_fake_destroy(unit.fake);
}

static void
report_counts_flows_by_state_thread_and_hardware(void **state OVS_UNUSED)
{
    static const struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_engine_info info;
    struct unit_offload unit;
    uint64_t n_rules = 0;

    config.n_threads = 3;
    unit_offload_init(&unit, &config, 1);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    for (uint32_t i = 10; i < 40; i++) {
        unit_put(&unit, unit_desc_spread(i, 1, i), CREATE);
    }
    unit_put(&unit, unit_desc(2, 7), CREATE);
    unit_put(&unit, unit_desc(3, 7), CREATE);
    offload_barrier(unit.offload);
    unit_put(&unit, unit_desc_full(4, 1, 55, 0, 0), CREATE);
    offload_barrier(unit.offload);

    offload_get_info(unit.offload, &info);
    for (size_t i = 0; i < OFFLOAD_N_STATES; i++) {
        assert_int_equal(info.n_flows[i], (i == OFFLOAD_STATE_KERNEL ? 2
                                           : i == OFFLOAD_STATE_PARKED ? 1
                                           : i == OFFLOAD_STATE_IN_TC ? 30
                                           : i == OFFLOAD_STATE_REJECTED ? 1
                                           : 0));
    }
    for (size_t i = 0; i < OFFLOAD_N_HW; i++) {
        assert_int_equal(info.n_hw[i], i == OFFLOAD_HW_UNKNOWN ? 30 : 0);
    }
    for (size_t i = 0; i < info.n_threads; i++) {
        assert_true(info.threads[i].n_rules > 0);
        n_rules += info.threads[i].n_rules;
    }
    assert_int_equal(n_rules, 30);
    assert_int_equal(info.total.n_rules, 30);
    assert_int_equal(info.n_retried, 0);
    assert_int_equal(info.n_stuck, 0);
    assert_int_equal(info.n_backoffs, 0);
    assert_int_equal(info.n_audits, 0);
    for (size_t i = 0; i < OFFLOAD_N_REASONS; i++) {
        assert_int_equal(info.reasons[i].n,
                         (i == OFFLOAD_REASON_NO_PORT ? 2
                          : i == OFFLOAD_REASON_UNSUPPORTED ? 1 : 0));
    }
    assert_int_equal(info.reasons[OFFLOAD_REASON_UNSUPPORTED].ufid.u64.lo, 1);
    assert_int_equal(info.reasons[OFFLOAD_REASON_UNSUPPORTED].port, 1);
    assert_int_equal(info.reasons[OFFLOAD_REASON_UNSUPPORTED].error,
                     EOPNOTSUPP);
    assert_int_equal(info.reasons[OFFLOAD_REASON_NO_PORT].ufid.u64.lo, 3);
    assert_int_equal(info.reasons[OFFLOAD_REASON_NO_PORT].port, 7);
    assert_int_equal(info.reasons[OFFLOAD_REASON_NO_PORT].error, 0);
    unit_offload_uninit(&unit);
}

/* Sets what the report of flow 1 depends on. */
static void
set_flow(struct unit_offload *unit, enum offload_hw hw, int error,
         long long int retry)
{
    const ovs_u128 ufid = unit_ufid(1);
    struct offload_stripe *stripe = offload_stripe(unit->offload, &ufid);
    struct offload_flow *flow;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, &ufid);
    flow->hw = hw;
    flow->error = error;
    flow->why = "why";
    flow->retry = retry;
    ovs_mutex_unlock(&stripe->mutex);
}

/* Checks that all ways to ask for flow 1 return the same. */
static struct offload_flow_info
get_flow(struct unit_offload *unit)
{
    const ovs_u128 ufid = unit_ufid(1);
    struct offload_flow_info info;

    assert_int_equal(offload_get_flow_info(unit->offload, &ufid, &info), 0);
    return info;
}

struct visited {
    struct offload_flow_info info;
    size_t n;
};

static void
visit(void *visited_, const struct offload_desc *desc,
      const struct offload_flow_info *info)
{
    struct visited *visited = visited_;

    assert_true(ovs_u128_equals(desc->ufid, unit_ufid(1)));
    visited->info = *info;
    visited->n++;
}

static void
report_of_a_flow_says_why_it_is_not_in_hardware(void **state OVS_UNUSED)
{
    struct offload_flow_info info;
    struct visited visited = { .n = 0 };
    struct unit_offload unit;
    ovs_u128 ufid;

    unit_clock_stop(1000000);
    for (int in_tc = 0; in_tc < 2; in_tc++) {
        unit_offload_init(&unit, NULL, in_tc);
        unit_put(&unit, unit_desc_full(1, 1, 0, 0, 0), CREATE);
        offload_barrier(unit.offload);
        for (enum offload_hw hw = 0; hw < OFFLOAD_N_HW; hw++) {
            bool skipped = (in_tc && (hw == OFFLOAD_HW_NONE
                                      || hw == OFFLOAD_HW_PARTLY));

            set_flow(&unit, hw, 0, 0);
            info = get_flow(&unit);
            assert_int_equal(info.state, (in_tc ? OFFLOAD_STATE_IN_TC
                                          : OFFLOAD_STATE_KERNEL));
            assert_int_equal(info.hw, in_tc ? hw : OFFLOAD_HW_UNKNOWN);
            assert_int_equal(info.reason, (in_tc ? OFFLOAD_REASON_NONE
                                           : OFFLOAD_REASON_NO_PORT));
            assert_int_equal(info.error, 0);
            assert_int_equal(info.port, 1);
            assert_int_equal(info.recirc_id, 0);
            assert_int_equal(info.retry, 0);
            if (skipped) {
                assert_string_equal(info.why, "why");
            } else {
                assert_null(info.why);
            }

            /* With an error, the words explain that. */
            set_flow(&unit, hw, ENOSPC, 1000250);
            info = get_flow(&unit);
            assert_int_equal(info.error, ENOSPC);
            assert_string_equal(info.why, "why");
            assert_int_equal(info.retry, 250);
            set_flow(&unit, hw, 0, 999999);
            assert_int_equal(get_flow(&unit).retry, 0);
        }
        set_flow(&unit, OFFLOAD_HW_PARTLY, 0, 0);
        info = get_flow(&unit);
        visited.n = 0;
        offload_for_each_flow(unit.offload, visit, &visited);
        assert_int_equal(visited.n, 1);
        assert_int_equal(visited.info.state, info.state);
        assert_int_equal(visited.info.hw, info.hw);
        assert_int_equal(visited.info.reason, info.reason);
        assert_ptr_equal(visited.info.why, info.why);

        ufid = unit_ufid(2);
        assert_int_equal(offload_get_flow_info(unit.offload, &ufid, &info),
                         ENOENT);
        unit_offload_uninit(&unit);
    }
    unit_clock_run();
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_has_the_figures_of_each_thread),
        cmocka_unit_test(report_counts_flows_by_state_thread_and_hardware),
        cmocka_unit_test(report_of_a_flow_says_why_it_is_not_in_hardware),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-report", tests, NULL, NULL);
}
