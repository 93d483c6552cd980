/* SPDX-License-Identifier: Apache-2.0 */

/* Which rules the reader thread reads when there are too many to read all of
 * them in each round.
 *
 *   O2  idle_flow_expires_in_time: what dumps show of a flow is not more idle
 *       than the flow is, and not much less */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "offload/offload-engine.h"
#include "offload/offload-reader.h"
#include "timeval.h"
#include "util.h"

#define CREATE OFFLOAD_PUT_CREATE
#define INTERVAL 1000

static void
setup(struct unit_offload *unit, uint32_t n)
{
    unit_clock_stop(1000000);
    unit_offload_init(unit, NULL, 1);
    for (uint32_t i = 0; i < n; i++) {
        unit_put(unit, unit_desc(i, 1), CREATE);
    }
    unit_settle(unit);
}

static void
teardown(struct unit_offload *unit)
{
    unit_clock_run();
    unit_offload_uninit(unit);
}

/* A round that reads 'max_reads' rules at most.  Returns how many it read. */
static uint64_t
read_some(struct unit_offload *unit, size_t max_reads, bool crowded)
{
    const struct offload_reader_pace pace = {
        .interval = INTERVAL, .max_reads = max_reads, .crowded = crowded,
    };
    uint64_t n_before, n_after, n_calls;

    offload_fake_get_load(unit->fake, &n_before, &n_calls);
    offload_reader_round(unit->offload, &pace, NULL);
    offload_fake_get_load(unit->fake, &n_after, &n_calls);
    assert_true(n_after - n_before <= max_reads);
    return n_after - n_before;
}

/* Stores in 'idle' for how long flows 0 to 'n' - 1 look unused to those who do
 * not wait for tc, -1 for flows that are not there. */
static void
look(struct unit_offload *unit, long long int idle[], uint32_t n)
{
    struct offload_dumped dumped[OFFLOAD_BATCH];
    struct offload_dump dump;
    size_t n_dumped;

    for (uint32_t i = 0; i < n; i++) {
        idle[i] = -1;
    }
    assert_int_equal(offload_dump_start(unit->offload, OFFLOAD_DUMP_ALL, true,
                                        &dump), 0);
    while ((n_dumped = offload_dump_next(&dump, dumped, OFFLOAD_BATCH))) {
        for (size_t i = 0; i < n_dumped; i++) {
            for (uint32_t flow = 0; flow < n; flow++) {
                const ovs_u128 ufid = unit_ufid(flow);

                if (ovs_u128_equals(ufid, dumped[i].desc->ufid)) {
                    idle[flow] = time_msec() - dumped[i].stats.used;
                }
            }
            offload_desc_unref(dumped[i].desc);
        }
    }
    offload_dump_done(&dump);
}

/* Each second a flow comes to its end.  The user deletes those that look idle
 * for OFFLOAD_MAX_IDLE.  A fifth of the rules can be read in a round. */
static void
idle_flow_expires_in_time(void **state OVS_UNUSED)
{
    enum { N = 100, N_SECONDS = 60 };
    long long int used[N], idle[N];
    struct unit_offload unit;
    size_t n_expired = 0;

    setup(&unit, N);
    for (uint32_t i = 0; i < N; i++) {
        used[i] = time_msec();
    }
    for (int second = 0; second < N_SECONDS; second++) {
        unit_clock_advance(500);
        for (uint32_t i = second; i < N; i++) {
            unit_packets(&unit, i, 1);
            used[i] = time_msec();
        }
        unit_clock_advance(500);
        read_some(&unit, N / 5, false);
        look(&unit, idle, N);
        for (uint32_t i = 0; i < N; i++) {
            long long int truth = time_msec() - used[i];

            if (idle[i] < 0) {
                continue;
            }
            assert_true(idle[i] <= truth);
            if (idle[i] >= OFFLOAD_MAX_IDLE) {
                unit_del(&unit, i, NULL);
                n_expired++;
            } else {
                assert_true(truth < OFFLOAD_MAX_IDLE + 2000);
            }
        }
    }
    assert_true(n_expired >= N_SECONDS - OFFLOAD_MAX_IDLE / 1000 - 2);
    teardown(&unit);
}

/* With room for all of them, rules are read in each round. */
static void
all_are_read_in_each_round_if_that_can_be(void **state OVS_UNUSED)
{
    enum { N = 200 };
    struct unit_offload unit;

    setup(&unit, N);
    for (int i = 0; i < 20; i++) {
        unit_clock_advance(INTERVAL);
        assert_int_equal(read_some(&unit, N, false), N);
    }
    teardown(&unit);
}

/* Returns the first flow from 'flow' on that stripe 'i' of the table has. */
static uint32_t
flow_of_stripe(struct unit_offload *unit, uint32_t flow, size_t i)
{
    for (;; flow++) {
        const ovs_u128 ufid = unit_ufid(flow);

        if (offload_stripe(unit->offload, &ufid)
            == &unit->offload->table.stripes[i]) {
            return flow;
        }
    }
}

/* If a fifth of the rules can be read in a round, each is read in the fifth
 * one, whichever part of the table has them. */
static void
time_to_read_all_counts_all_stripes(void **state OVS_UNUSED)
{
    enum { N = 20 };
    static const size_t stripes[] = { 0, 1, OFFLOAD_STRIPES - 1 };

    for (size_t i = 0; i < ARRAY_SIZE(stripes); i++) {
        struct unit_offload unit;
        uint32_t flow = 0;

        setup(&unit, 0);
        for (int j = 0; j < N; j++) {
            flow = flow_of_stripe(&unit, flow + 1, stripes[i]);
            unit_put(&unit, unit_desc(flow, 1), CREATE);
        }
        unit_settle(&unit);
        for (int round = 1; round < 5; round++) {
            unit_clock_advance(INTERVAL);
            assert_int_equal(read_some(&unit, N / 5, false), 0);
        }
        unit_clock_advance(INTERVAL);
        assert_int_equal(read_some(&unit, N / 5, false), N / 5);
        teardown(&unit);
    }
}

/* No rule is forgotten when there are too many even to read each one once
 * before its flow might expire: they take turns. */
static void
overdue_rules_take_turns(void **state OVS_UNUSED)
{
    enum { N = 400, MAX = N / 20 };
    struct unit_offload unit;

    setup(&unit, N);
    unit_clock_advance(OFFLOAD_MAX_IDLE);
    for (int round = 0; round < N / MAX; round++) {
        for (uint32_t i = 0; i < N; i++) {
            unit_packets(&unit, i, 1);
        }
        assert_int_equal(read_some(&unit, MAX, false), MAX);
        unit_clock_advance(INTERVAL);
    }

    /* Each one was read once in that time. */
    for (uint32_t i = 0; i < N; i++) {
        const ovs_u128 ufid = unit_ufid(i);
        struct offload_stripe *stripe = offload_stripe(unit.offload, &ufid);
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        flow = offload_flow_find(stripe, &ufid);
        assert_true(flow->tc_seen.n_packets > 0);
        ovs_mutex_unlock(&stripe->mutex);
    }
    teardown(&unit);
}

/* When there are more flows than the user wants, those that have been idle for
 * long are found at once, and not only when they may expire. */
static void
idle_flows_are_found_at_once_in_a_crowd(void **state OVS_UNUSED)
{
    enum { N = 200, N_IDLE = 50 };
    long long int idle[N];
    struct unit_offload unit;

    setup(&unit, N_IDLE);
    unit_clock_advance(3000);
    for (uint32_t i = N_IDLE; i < N; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_settle(&unit);
    unit_clock_advance(INTERVAL);

    /* Nothing is due. */
    assert_int_equal(read_some(&unit, N_IDLE / 5, false), 0);
    for (int round = 0; round < 5; round++) {
        size_t n = 0;

        assert_int_equal(read_some(&unit, N_IDLE / 5, true), N_IDLE / 5);
        look(&unit, idle, N);
        for (uint32_t i = 0; i < N; i++) {
            if (idle[i] > 100) {
                assert_true(i < N_IDLE);
                unit_del(&unit, i, NULL);
                n++;
            }
        }
        assert_int_equal(n, N_IDLE / 5);
        unit_clock_advance(100);
    }
    teardown(&unit);
}

/* A rule that cannot be read is not tried again and again in a round. */
static void
unreadable_rule_costs_one_request(void **state OVS_UNUSED)
{
    static const struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_GET, .error = EIO, .n = 4,
    };
    struct unit_offload unit;

    setup(&unit, 1);
    offload_fake_fail_next(unit.fake, &failure);
    for (int i = 0; i < 6; i++) {
        unit_clock_advance(INTERVAL);
        assert_int_equal(read_some(&unit, 100, false), 1);
    }
    teardown(&unit);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_flow_expires_in_time),
        cmocka_unit_test(all_are_read_in_each_round_if_that_can_be),
        cmocka_unit_test(time_to_read_all_counts_all_stripes),
        cmocka_unit_test(overdue_rules_take_turns),
        cmocka_unit_test(idle_flows_are_found_at_once_in_a_crowd),
        cmocka_unit_test(unreadable_rule_costs_one_request),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-reader", tests, NULL, NULL);
}
