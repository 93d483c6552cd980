/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that got an action of somebody else, who has named its number: they
 * are found when they are read, so that they are made anew (O1, O2). */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <linux/pkt_cls.h>

#include "harness/unit.h"
#include "tc/tc-action.h"
#include "tc/tc-backend.h"
#include "util.h"

static int
setup(void **state)
{
    kdp_tc_action_next_range();
    return backend_setup(state);
}

static uint32_t
number_of(uint32_t flow)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    return unit_tc_number(&ufid);
}

static uint32_t
range_of(uint32_t flow)
{
    assert_true(number_of(flow) >= KDP_TC_ACTION_FIRST);
    return (number_of(flow) - KDP_TC_ACTION_FIRST) / KDP_TC_ACTION_RANGE;
}

static void
action_of_somebody_else_is_found(void **state)
{
    struct offload_copy_op op;

    unit_tc_take_numbers(1);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(PUT(2), 0);
    backend_packets(1, 3);
    backend_packets(2, 3);

    /* It counts the packets of others, too. */
    op = GET(1);
    assert_int_equal(op.error, 0);
    assert_true(op.conflict);
    assert_int_equal(op.stats.n_packets, 0);
    assert_int_equal(op.stats.n_bytes, 0);
    op = GET(2);
    assert_false(op.conflict);
    assert_int_equal(op.stats.n_packets, 3);

    /* Made anew, it is all right. */
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(PUT(1), 0);
    assert_int_not_equal(range_of(1), range_of(2));
    assert_false(GET(1).conflict);
}

/* Rules that met the same range give it up once. */
static void
range_is_given_up_once(void **state)
{
    unit_tc_take_numbers(3);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(PUT(i), 0);
    }
    assert_true(GET(1).conflict);
    assert_int_equal(PUT(4), 0);
    assert_true(GET(2).conflict);
    assert_true(GET(3).conflict);
    assert_int_equal(PUT(5), 0);
    assert_int_not_equal(range_of(4), range_of(1));
    assert_int_equal(number_of(5), number_of(4) + 1);
}

/* Somebody who looks at an action refers to it for a moment. */
static void
look_at_an_action_is_no_conflict(void **state)
{
    assert_int_equal(PUT(1), 0);
    unit_tc_look_at_actions(1);
    assert_false(GET(1).conflict);
    assert_int_equal(PUT(2), 0);
    assert_int_equal(number_of(2), number_of(1) + 1);
    unit_tc_look_at_actions(2);
    assert_true(GET(1).conflict);
}

/* Numbers that the kernel chooses nobody else has, and who refers to such an
 * action later has ours, not we his. */
static void
kernel_chooses_after_many_conflicts(void **state)
{
    for (uint32_t i = 0; i < KDP_TC_ACTION_MAX_CONFLICTS; i++) {
        unit_tc_take_numbers(1);
        assert_int_equal(PUT(i), 0);
        assert_int_not_equal(number_of(i), 0);
        assert_true(GET(i).conflict);
    }
    unit_tc_take_numbers(1);
    assert_int_equal(PUT(100), 0);
    assert_int_equal(number_of(100), 0);
    backend_packets(100, 2);
    assert_false(GET(100).conflict);
    assert_int_equal(GET(100).stats.n_packets, 2);
}

/* Rules of a list, and which of them were taken. */
struct listed {
    struct offload_backend backend;
    unsigned int n_terse;
    unsigned int n_taken;
    bool taken[BACKEND_N_FLOWS];
};

static void
take_listed(void *listed_, const ovs_u128 *ufid, const void *told_)
{
    struct listed *listed = listed_;
    const struct kdp_tc_rule *told = told_;
    struct offload_stats stats;
    enum offload_hw hw;
    uint32_t flow;

    for (flow = 0; flow < BACKEND_N_FLOWS; flow++) {
        const ovs_u128 of_flow = unit_tc_ufid(flow);

        if (ovs_u128_equals(of_flow, *ufid)) {
            break;
        }
    }
    unit_check(flow < BACKEND_N_FLOWS);
    listed->n_terse += told->is_terse;
    listed->taken[flow] = (listed->backend.take(
        listed->backend.aux, backend_rules[flow], told, &stats, &hw)
        == OFFLOAD_TOLD_STATS);
    listed->n_taken += listed->taken[flow];
}

static struct listed
list(struct kdp_tc *tc)
{
    struct listed listed = { .backend = kdp_tc_backend(tc) };

    listed.backend.list(tc, false, take_listed, &listed);
    return listed;
}

/* Terse lists do not tell.  So many new rules are listed in full, once; few
 * are left to be read one by one. */
static void
rules_in_a_card_are_listed_in_full_once(void **state)
{
    enum { N = 40 };
    struct listed listed;

    unit_tc_set_in_hw(true);
    for (uint32_t i = 0; i < N; i++) {
        unit_tc_take_numbers(i == 1);
        assert_int_equal(PUT(i), 0);
    }
    assert_int_equal(GET(0).error, 0);      /* It is in a card. */
    listed = list(*state);
    assert_int_equal(listed.n_terse, 0);
    assert_int_equal(listed.n_taken, N - 1);
    assert_false(listed.taken[1]);

    listed = list(*state);
    assert_int_equal(listed.n_terse, N);
    assert_int_equal(listed.n_taken, N - 1);
    assert_false(listed.taken[1]);
    assert_true(GET(1).conflict);

    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(PUT(1), 0);
    listed = list(*state);
    assert_int_equal(listed.n_terse, N);
    assert_false(listed.taken[1]);
    assert_false(GET(1).conflict);
    listed = list(*state);
    assert_int_equal(listed.n_terse, N);
    assert_int_equal(listed.n_taken, N);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup, backend_teardown)
    const struct CMUnitTest tests[] = {
        TEST(action_of_somebody_else_is_found),
        TEST(range_is_given_up_once),
        TEST(look_at_an_action_is_no_conflict),
        TEST(kernel_chooses_after_many_conflicts),
        TEST(rules_in_a_card_are_listed_in_full_once),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-conflict", tests, NULL, NULL);
}
