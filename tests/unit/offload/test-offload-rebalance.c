/* SPDX-License-Identifier: Apache-2.0 */

/* Which flows a full card has: those with the most packets, if that is wanted.
 * Others are in the kernel, or wait. */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "offload/offload-engine.h"
#include "offload/offload-rebalance.h"
#include "timeval.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE

/* An engine with a card that has room for 'n_room' rules, and 'n' flows. */
static void
setup(struct unit_offload *unit, unsigned int n_room, bool only_card,
      uint32_t n)
{
    unit_clock_stop(1000000);
    unit_offload_init(unit, NULL, 2);
    offload_fake_set_card(unit->fake, n_room, only_card);
    for (uint32_t i = 1; i <= n; i++) {
        unit_put(unit, unit_desc(i, 1), CREATE);
        unit_settle(unit);
    }
}

static void
teardown(struct unit_offload *unit)
{
    unit_clock_run();
    unit_offload_uninit(unit);
}

/* What happens in 'msec' ms: 'n_packets' of each flow, the sweeps of
 * revalidators and rounds of the reader, and then a ranking. */
static void
pass(struct unit_offload *unit, const unsigned int n_packets[], uint32_t n,
     unsigned int msec)
{
    for (uint32_t i = 1; i <= n; i++) {
        unit_packets(unit, i, n_packets[i - 1]);
    }
    unit_clock_advance(msec);
    unit_dump(unit, NULL, 0);
    unit_settle(unit);
    offload_rebalance_run(unit->offload);
    unit_settle(unit);
}

static enum offload_hw
hw_of(struct unit_offload *unit, uint32_t flow)
{
    const ovs_u128 ufid = unit_ufid(flow);
    struct offload_flow_info info;

    offload_read_rules(unit->offload);
    assert_int_equal(offload_get_flow_info(unit->offload, &ufid, &info), 0);
    assert_int_equal(unit_get_hw(unit, flow), info.hw);
    return info.hw;
}

static void
flow_with_more_packets_has_the_place(void **state OVS_UNUSED)
{
    static const unsigned int n_packets[] = { 1, 50, 100, 10 };
    static const unsigned int none[4];
    struct unit_offload unit;

    setup(&unit, 2, true, 4);
    assert_int_equal(unit_where(&unit, 2), TC);
    assert_int_equal(unit_where(&unit, 3), KERNEL);
    assert_int_equal(unit_where(&unit, 4), KERNEL);
    assert_int_equal(unit_reason(&unit, 3), OFFLOAD_REASON_NO_SPACE);

    /* The third has clearly more than the first; the fourth has not more than
     * the second. */
    pass(&unit, n_packets, 4, 10);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_OUTRANKED);
    pass(&unit, n_packets, 4, 10);
    assert_int_equal(hw_of(&unit, 3), OFFLOAD_HW_ALL);
    assert_int_equal(hw_of(&unit, 2), OFFLOAD_HW_ALL);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_where(&unit, 4), KERNEL);

    /* They stay as long as nothing changes. */
    for (int i = 0; i < 20; i++) {
        pass(&unit, n_packets, 4, 3000);
        assert_int_equal(unit_where(&unit, 2), TC);
        assert_int_equal(unit_where(&unit, 3), TC);
    }

    /* One goes, and another has its place, the one with more packets. */
    unit_del(&unit, 3, NULL);
    unit_settle(&unit);
    pass(&unit, (unsigned int[]) { 1, 50, 0, 10 }, 4, 3000);
    pass(&unit, none, 4, 10);
    assert_int_equal(unit_where(&unit, 4), TC);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    teardown(&unit);
}

/* Which of the flows that are not in the card would have which place is
 * compared pair by pair, the best one first.  It has to have more packets by
 * more than a quarter. */
static void
best_flow_is_compared_with_the_worst(void **state OVS_UNUSED)
{
    static const struct {
        unsigned int n_packets[4];
        size_t n_swaps;
    } tests[] = {
        { { 10, 50, 100, 1 }, 1 },
        { { 10, 50, 1, 100 }, 1 },
        { { 50, 10, 100, 1 }, 1 },
        { { 10, 50, 100, 70 }, 2 },
        { { 100, 300, 125, 1 }, 0 },
        { { 100, 300, 126, 1 }, 1 },
        { { 100, 300, 126, 125 }, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct unit_offload unit;

        setup(&unit, 2, true, 4);
        assert_int_equal(unit_where(&unit, 1), TC);
        assert_int_equal(unit_where(&unit, 2), TC);
        pass(&unit, tests[i].n_packets, 4, 10);
        assert_int_equal(unit_counter(&unit, OFFLOAD_RETURNED),
                         tests[i].n_swaps);
        teardown(&unit);
    }
}

static void
flows_that_are_alike_stay(void **state OVS_UNUSED)
{
    static const unsigned int n_packets[] = { 100, 100, 110, 120 };
    struct unit_offload unit;

    setup(&unit, 2, true, 4);
    for (int i = 0; i < 10; i++) {
        pass(&unit, n_packets, 4, 3000);
        assert_int_equal(unit_where(&unit, 1), TC);
        assert_int_equal(unit_where(&unit, 2), TC);
    }
    assert_int_equal(unit_counter(&unit, OFFLOAD_RETURNED), 0);
    teardown(&unit);
}

/* With tc-policy=none tc takes what the card has no room for. */
static void
flow_that_only_tc_has_goes_back(void **state OVS_UNUSED)
{
    static const unsigned int n_packets[] = { 1, 50, 100, 10 };
    static const unsigned int none[4];
    struct unit_offload unit;

    setup(&unit, 2, false, 4);
    assert_int_equal(hw_of(&unit, 2), OFFLOAD_HW_ALL);
    assert_int_equal(hw_of(&unit, 4), OFFLOAD_HW_NONE);

    /* The best changes places at once, the other one after a while. */
    pass(&unit, n_packets, 4, 10);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_where(&unit, 3), KERNEL);
    assert_int_equal(unit_reason(&unit, 3), OFFLOAD_REASON_SOFTWARE);
    assert_int_equal(unit_where(&unit, 4), TC);
    pass(&unit, n_packets, 4, 10);
    assert_int_equal(hw_of(&unit, 3), OFFLOAD_HW_ALL);
    assert_int_equal(unit_where(&unit, 1), KERNEL);

    pass(&unit, n_packets, 4, OFFLOAD_SOFTWARE_MSEC);
    assert_int_equal(unit_where(&unit, 4), KERNEL);
    assert_int_equal(unit_reason(&unit, 4), OFFLOAD_REASON_SOFTWARE);
    assert_int_equal(hw_of(&unit, 2), OFFLOAD_HW_ALL);
    assert_int_equal(hw_of(&unit, 3), OFFLOAD_HW_ALL);

    /* It comes when there is room. */
    unit_del(&unit, 2, NULL);
    unit_settle(&unit);
    pass(&unit, (unsigned int[]) { 0, 0, 100, 10 }, 4, 10);
    pass(&unit, none, 4, 10);
    assert_int_equal(hw_of(&unit, 4), OFFLOAD_HW_ALL);
    teardown(&unit);
}

/* A flow competes for a place if the card lacked room for it, however that
 * was found out. */
static void
flow_that_lacks_room_competes(void **state OVS_UNUSED)
{
    static const unsigned int none[3];
    struct unit_offload unit;

    /* The card refused it, or is known to be full. */
    setup(&unit, 1, true, 3);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_reason(&unit, 2), OFFLOAD_REASON_NO_SPACE);
    assert_int_equal(unit_reason(&unit, 3), OFFLOAD_REASON_BACKOFF);
    pass(&unit, (unsigned int[]) { 0, 0, 100 }, 3, 10);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    pass(&unit, none, 3, 10);
    assert_int_equal(hw_of(&unit, 3), OFFLOAD_HW_ALL);

    /* It gave way to another one. */
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_OUTRANKED);
    pass(&unit, (unsigned int[]) { 100, 0, 0 }, 3, 10);
    assert_int_equal(unit_where(&unit, 3), KERNEL);
    pass(&unit, none, 3, 10);
    assert_int_equal(hw_of(&unit, 1), OFFLOAD_HW_ALL);
    assert_int_equal(unit_counter(&unit, OFFLOAD_RETURNED), 2);
    teardown(&unit);

    /* Only tc had it. */
    setup(&unit, 1, false, 2);
    pass(&unit, (unsigned int[]) { 50, 10 }, 2, OFFLOAD_SOFTWARE_MSEC);
    assert_int_equal(unit_where(&unit, 2), KERNEL);
    assert_int_equal(unit_reason(&unit, 2), OFFLOAD_REASON_SOFTWARE);
    pass(&unit, (unsigned int[]) { 0, 100 }, 2, 10);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_OUTRANKED);
    pass(&unit, none, 2, 10);
    assert_int_equal(hw_of(&unit, 2), OFFLOAD_HW_ALL);
    teardown(&unit);
}

/* A place does not help a flow that the card cannot have. */
static void
flow_that_is_not_supported_does_not_compete(void **state OVS_UNUSED)
{
    const struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;

    setup(&unit, 1, true, 1);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc(2, 1), CREATE);
    unit_settle(&unit);
    assert_int_equal(unit_reason(&unit, 2), OFFLOAD_REASON_UNSUPPORTED);
    pass(&unit, (unsigned int[]) { 0, 100 }, 2, 10);
    assert_int_equal(unit_reason(&unit, 2), OFFLOAD_REASON_UNSUPPORTED);
    assert_int_equal(hw_of(&unit, 1), OFFLOAD_HW_ALL);
    assert_int_equal(unit_counter(&unit, OFFLOAD_RETURNED), 0);
    teardown(&unit);
}

static void
without_a_card_nothing_moves(void **state OVS_UNUSED)
{
    static const unsigned int n_packets[] = { 1, 50, 100, 10 };
    struct unit_offload unit;

    setup(&unit, 0, false, 4);
    for (int i = 0; i < 3; i++) {
        pass(&unit, n_packets, 4, OFFLOAD_SOFTWARE_MSEC);
    }
    assert_int_equal(offload_fake_count(unit.fake, true), 4);
    assert_int_equal(unit_counter(&unit, OFFLOAD_RETURNED), 0);
    teardown(&unit);
}

/* A flow of a chain, which is of no use without the one that leads there, gets
 * a place together with it, whichever came first. */
static void
chain_gets_places_together_with_what_leads_there(void **state OVS_UNUSED)
{
    static const unsigned int n_packets[] = { 1, 2, 90, 100 };

    for (int parent_first = 0; parent_first < 2; parent_first++) {
        struct unit_offload unit;

        setup(&unit, 2, true, 2);
        for (int i = 0; i < 2; i++) {
            unit_put(&unit, (i != parent_first
                             ? unit_desc_full(3, 1, 0, 55, 0)
                             : unit_desc_full(4, 1, 55, 0, 0)), CREATE);
            unit_settle(&unit);
        }
        assert_int_equal(unit_where(&unit, 3), KERNEL);
        assert_int_equal(unit_state(&unit, 4),
                         (parent_first ? OFFLOAD_STATE_KERNEL
                          : OFFLOAD_STATE_PARKED));
        for (int i = 0; i < 3; i++) {
            pass(&unit, n_packets, 4, 3000);
        }
        assert_int_equal(unit_where(&unit, 1), KERNEL);
        assert_int_equal(unit_where(&unit, 2), KERNEL);
        assert_int_equal(hw_of(&unit, 3), OFFLOAD_HW_ALL);
        assert_int_equal(hw_of(&unit, 4), OFFLOAD_HW_ALL);
        teardown(&unit);
    }
}

/* However few packets it has itself, what leads to a chain goes after the
 * chain's flows.  Flow 1 leads to 2, which leads to 3. */
static void
what_leads_to_a_chain_goes_last(void **state OVS_UNUSED)
{
    static const unsigned int busy[] = { 1, 1, 100, 50, 50, 50 };
    static const unsigned int idle[] = { 0, 0, 0, 50, 0, 0 };
    struct unit_offload unit;

    setup(&unit, 3, true, 0);
    unit_put(&unit, unit_desc_full(1, 1, 0, 55, 0), CREATE);
    unit_put(&unit, unit_desc_full(2, 1, 55, 56, 0), CREATE);
    unit_put(&unit, unit_desc_full(3, 1, 56, 0, 0), CREATE);
    unit_settle(&unit);
    for (uint32_t i = 4; i <= 6; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
        unit_settle(&unit);
    }
    for (int i = 0; i < 5; i++) {
        pass(&unit, busy, 6, 3000);
        assert_int_equal(unit_where(&unit, 1), TC);
        assert_int_equal(unit_where(&unit, 2), TC | KERNEL);
        assert_int_equal(unit_where(&unit, 3), TC | KERNEL);
    }
    assert_int_equal(unit_counter(&unit, OFFLOAD_RETURNED), 0);

    /* One after the other has no packets any more and is replaced. */
    for (uint32_t i = 0; i < 3; i++) {
        unsigned int n_packets[ARRAY_SIZE(idle)];

        memcpy(n_packets, idle, sizeof n_packets);
        for (uint32_t j = 3; j <= 3 + i; j++) {
            n_packets[j] = 50;
        }
        pass(&unit, n_packets, 6, 3000);
        pass(&unit, n_packets, 6, 3000);
        for (uint32_t flow = 1; flow <= 3; flow++) {
            assert_int_equal(unit_where(&unit, flow) & TC,
                             flow < 3 - i ? TC : 0);
        }
        assert_int_equal(unit_where(&unit, 4 + i), TC);
    }
    teardown(&unit);
}

/* Chains that lead to each other do not stop it. */
static void
chains_in_a_circle_are_ranked(void **state OVS_UNUSED)
{
    static const unsigned int n_packets[] = { 1, 2, 3, 100 };
    struct unit_offload unit;

    setup(&unit, 3, true, 0);
    unit_put(&unit, unit_desc_full(1, 1, 0, 55, 0), CREATE);
    unit_put(&unit, unit_desc_full(2, 1, 55, 56, 0), CREATE);
    unit_put(&unit, unit_desc_full(3, 1, 56, 55, 0), CREATE);
    unit_put(&unit, unit_desc(4, 1), CREATE);
    unit_settle(&unit);
    pass(&unit, n_packets, 4, 3000);
    pass(&unit, n_packets, 4, 3000);
    assert_int_equal(unit_where(&unit, 4), TC);
    assert_int_equal(unit_where(&unit, 1), TC);
    teardown(&unit);
}

static int
take_40_ms(void *aux OVS_UNUSED, bool tc, const struct offload_copy_op *op)
{
    if (tc && op->type != OFFLOAD_COPY_GET) {
        unit_clock_advance(40);
    }
    return 0;
}

/* The changes of a ranking take half of the time until the next one: with 40
 * ms for each change, two changes to a swap, 18 swaps in 3 s. */
static void
slow_card_changes_few_flows_at_a_time(void **state OVS_UNUSED)
{
    enum { N = 200 };
    unsigned int n_packets[N];
    struct unit_offload unit;
    uint64_t n;

    setup(&unit, N / 2, true, 0);
    offload_fake_set_fail(unit.fake, take_40_ms, NULL);
    for (uint32_t i = 1; i <= N; i++) {
        n_packets[i - 1] = i <= N / 2 ? 0 : 10;
        unit_put(&unit, unit_desc(i, 1), CREATE);
        unit_settle(&unit);
    }
    for (int i = 0; i < 3; i++) {
        uint64_t before = unit_counter(&unit, OFFLOAD_RETURNED);

        pass(&unit, n_packets, N, 3000);
        n = unit_counter(&unit, OFFLOAD_RETURNED) - before;
        assert_in_range(n, 15, 20);
    }
    offload_fake_set_fail(unit.fake, NULL, NULL);
    teardown(&unit);
}

/* Few packets are no reason to change the card. */
static void
small_counts_differ_by_chance(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    setup(&unit, 1, true, 2);
    for (int i = 0; i < 5; i++) {
        pass(&unit, (unsigned int[]) { 0, OFFLOAD_REBALANCE_GAIN - 1 }, 2,
             3000);
        assert_int_equal(unit_where(&unit, 1), TC);
    }
    pass(&unit, (unsigned int[]) { 0, OFFLOAD_REBALANCE_GAIN }, 2, 3000);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    teardown(&unit);
}

/* Also flows with so few get places that are free. */
static void
free_places_are_for_all(void **state OVS_UNUSED)
{
    static const unsigned int none[10];
    struct unit_offload unit;
    size_t n = 0;

    setup(&unit, 5, true, 10);
    pass(&unit, none, 10, 3000);
    for (uint32_t i = 1; i <= 3; i++) {
        unit_del(&unit, i, NULL);
    }
    unit_settle(&unit);
    pass(&unit, none, 10, 3000);
    pass(&unit, none, 10, 3000);
    for (uint32_t i = 4; i <= 10; i++) {
        n += unit_where(&unit, i) == TC;
    }
    assert_int_equal(n, 5);
    teardown(&unit);
}

/* Many packets meet flow 2. */
static bool
is_moved_by_packets(struct unit_offload *unit)
{
    unit_packets(unit, 2, 1000);
    unit_dump_lax(unit, NULL, 0);
    return unit_where(unit, 2) == TC;
}

static uint32_t
n_rounds(struct unit_offload *unit)
{
    uint32_t n;

    atomic_read_relaxed(&unit->offload->last_round, &n);
    return n;
}

/* The thread does it by itself, if and while that is configured. */
static void
reader_rebalances_if_it_is_wanted(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    uint32_t n;

    config.read_interval = 1;
    config.rebalance_interval = 0;
    unit_offload_init(&unit, &config, 1);
    offload_fake_set_card(unit.fake, 1, true);
    for (uint32_t i = 1; i <= 2; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
        unit_settle(&unit);
    }
    assert_int_equal(unit_where(&unit, 1), TC);
    n = n_rounds(&unit);
    unit_wait_until((assert_false(is_moved_by_packets(&unit)),
                     n_rounds(&unit) - n >= 5));
    config.rebalance_interval = 1;
    offload_configure(unit.offload, &config);
    unit_wait_until(is_moved_by_packets(&unit));
    teardown(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_with_more_packets_has_the_place),
        cmocka_unit_test(best_flow_is_compared_with_the_worst),
        cmocka_unit_test(flows_that_are_alike_stay),
        cmocka_unit_test(flow_that_only_tc_has_goes_back),
        cmocka_unit_test(flow_that_lacks_room_competes),
        cmocka_unit_test(flow_that_is_not_supported_does_not_compete),
        cmocka_unit_test(without_a_card_nothing_moves),
        cmocka_unit_test(chain_gets_places_together_with_what_leads_there),
        cmocka_unit_test(what_leads_to_a_chain_goes_last),
        cmocka_unit_test(chains_in_a_circle_are_ranked),
        cmocka_unit_test(slow_card_changes_few_flows_at_a_time),
        cmocka_unit_test(small_counts_differ_by_chance),
        cmocka_unit_test(free_places_are_for_all),
        cmocka_unit_test(reader_rebalances_if_it_is_wanted),
    };

    unit_init("test-offload-rebalance");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-rebalance", tests, NULL, NULL);
}
