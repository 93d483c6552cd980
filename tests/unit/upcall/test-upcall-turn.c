/* SPDX-License-Identifier: Apache-2.0 */

/* U3: turns on their own: credit, debts and rounds. */

#include <config.h>
#include "upcall/upcall-turn.h"

#include <stdlib.h>

#include "harness/unit.h"
#include "util.h"

static int32_t
upcalls_of(struct upcall_turn *turn)
{
    int32_t upcalls;

    atomic_read(&turn->upcalls, &upcalls);
    return upcalls;
}

static int32_t
bytes_of(struct upcall_turn *turn)
{
    int32_t bytes;

    atomic_read(&turn->bytes, &bytes);
    return bytes;
}

/* Makes the channel readable in a new epoch. */
static bool
activate(struct upcall_turn *turn, uint64_t pushed, uint64_t popped)
{
    static uint32_t epoch;

    return upcall_turn_activate(turn, pushed, popped, ++epoch, UPCALL_QUANTUM);
}

static void
new_turn_has_no_credit_until_its_channel_is_readable(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    assert_false(upcall_turn_has_credit(&turn));
    assert_true(activate(&turn, 0, 0));
    assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM);
    assert_int_equal(bytes_of(&turn), UPCALL_QUANTUM_BYTES);
    assert_int_equal(upcall_turn_allowance(&turn), UPCALL_QUANTUM);

    /* Also where the run queue is busy. */
    upcall_turn_init(&turn);
    assert_true(activate(&turn, 1000, 990));
}

static void
credit_ends_with_the_quantum_of_upcalls(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    for (int i = 1; i <= UPCALL_QUANTUM; i++) {
        assert_true(upcall_turn_has_credit(&turn));
        assert_int_equal(upcall_turn_allowance(&turn),
                         UPCALL_QUANTUM - i + 1);
        upcall_turn_spend(&turn, 1, 100);
        assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM - i);
    }
    assert_false(upcall_turn_has_credit(&turn));
}

static void
credit_ends_with_the_quantum_of_bytes(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, 1, UPCALL_QUANTUM_BYTES - 1);
    assert_true(upcall_turn_has_credit(&turn));
    upcall_turn_spend(&turn, 1, 1);
    assert_false(upcall_turn_has_credit(&turn));
    assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM - 2);
}

static void
nothing_read_costs_nothing(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, 2, 18000);
    unsigned int allowance = upcall_turn_allowance(&turn);
    upcall_turn_spend(&turn, 0, 0);
    assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM - 2);
    assert_int_equal(bytes_of(&turn), UPCALL_QUANTUM_BYTES - 18000);
    assert_int_equal(upcall_turn_allowance(&turn), allowance);
}

static void
credit_does_not_add_up(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    for (int i = 0; i < 5; i++) {
        assert_true(upcall_turn_begin(&turn, i, UPCALL_QUANTUM));
        assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM);
        assert_int_equal(bytes_of(&turn), UPCALL_QUANTUM_BYTES);
    }
}

static void
overdrawn_bytes_are_paid_for_by_the_next_turns(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    /* A little: the next turn is that much shorter. */
    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, 1, UPCALL_QUANTUM_BYTES + 1000);
    assert_false(upcall_turn_has_credit(&turn));
    assert_true(upcall_turn_begin(&turn, 1, UPCALL_QUANTUM));
    assert_int_equal(bytes_of(&turn), UPCALL_QUANTUM_BYTES - 1000);

    /* A lot: turns are left out, exactly as many as it owes for. */
    upcall_turn_spend(&turn, UPCALL_QUANTUM,
                      4 * UPCALL_QUANTUM_BYTES - 1000);
    for (int i = 0; i < 3; i++) {
        assert_false(upcall_turn_begin(&turn, 2 + i, UPCALL_QUANTUM));
        assert_true(bytes_of(&turn) <= 0);
    }
    assert_true(upcall_turn_begin(&turn, 5, UPCALL_QUANTUM));
    assert_int_equal(bytes_of(&turn), UPCALL_QUANTUM_BYTES);
}

static void
allowance_follows_the_size_of_what_was_read_last(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, 2, 2 * 9000);
    assert_int_equal(upcall_turn_allowance(&turn),
                     (UPCALL_QUANTUM_BYTES - 2 * 9000) / 9000);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    assert_int_equal(upcall_turn_allowance(&turn),
                     UPCALL_QUANTUM_BYTES / 9000);

    /* Small ones are limited by their number again. */
    upcall_turn_spend(&turn, 1, 100);
    assert_int_equal(upcall_turn_allowance(&turn), UPCALL_QUANTUM - 1);
}

static void
allowance_is_at_least_one(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    assert_int_equal(upcall_turn_allowance(&turn), 1);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, 1, UPCALL_QUANTUM_BYTES - 1);
    assert_int_equal(upcall_turn_allowance(&turn), 1);
    upcall_turn_spend(&turn, 1, 60000);
    assert_int_equal(upcall_turn_allowance(&turn), 1);

    /* Messages without a byte have no size to go by. */
    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 0, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, 3, 0);
    assert_int_equal(upcall_turn_allowance(&turn), UPCALL_QUANTUM - 3);
}

static void
what_a_backlog_gets_is_a_quantum_per_round(void **state OVS_UNUSED)
{
    static const size_t sizes[] = { 1, 100, 1500, 2047, 2048, 2049, 4000,
                                    9000, 30000, 43008, 65000, 80 * 1024 };
    enum { N_ROUNDS = 1000 };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        uint64_t n_upcalls = 0, n_bytes = 0;
        struct upcall_turn turn;

        upcall_turn_init(&turn);
        for (int round = 1; round <= N_ROUNDS; round++) {
            bool credit = upcall_turn_begin(&turn, round, UPCALL_QUANTUM);

            while (credit) {
                unsigned int n = upcall_turn_allowance(&turn);

                upcall_turn_spend(&turn, n, n * sizes[i]);
                n_upcalls += n;
                n_bytes += n * sizes[i];
                credit = upcall_turn_has_credit(&turn);
            }
            assert_true(n_upcalls <= (uint64_t) round * UPCALL_QUANTUM);

            /* The first read of all is made without knowing a size. */
            assert_true(n_bytes <= (uint64_t) round * UPCALL_QUANTUM_BYTES
                                   + UPCALL_QUANTUM * sizes[i]);
        }

        /* And no less than either quantum. */
        assert_true(n_upcalls == N_ROUNDS * UPCALL_QUANTUM
                    || n_bytes + sizes[i]
                       >= (uint64_t) N_ROUNDS * UPCALL_QUANTUM_BYTES);
    }
}

static void
credit_comes_back_when_the_round_is_over(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    /* A round that begins with five channels in the run queue. */
    upcall_turn_init(&turn);
    assert_true(activate(&turn, 105, 100));
    upcall_turn_spend(&turn, 20, 2000);

    /* Until they had their turn there is what is left, and no more, however
     * many have come after them. */
    for (uint64_t popped = 100; popped < 105; popped++) {
        assert_true(activate(&turn, 200, popped));
        assert_int_equal(upcalls_of(&turn), 1);
    }
    upcall_turn_spend(&turn, 1, 100);
    assert_false(activate(&turn, 200, 104));
    assert_true(activate(&turn, 200, 105));
    assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM);

    /* The next one ends with all of those that have come. */
    upcall_turn_spend(&turn, UPCALL_QUANTUM, 2000);
    assert_false(activate(&turn, 300, 106));
    assert_false(activate(&turn, 300, 199));
    assert_true(activate(&turn, 300, 200));
}

static void
round_without_anybody_in_the_run_queue_is_over_at_once(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    for (int i = 0; i < 3; i++) {
        assert_true(activate(&turn, 50, 50));
        assert_int_equal(upcalls_of(&turn), UPCALL_QUANTUM);
        upcall_turn_spend(&turn, UPCALL_QUANTUM, 2000);
    }
}

static void
debt_outlasts_the_round(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    assert_true(activate(&turn, 10, 10));
    upcall_turn_spend(&turn, 21, 3 * UPCALL_QUANTUM_BYTES);
    assert_false(activate(&turn, 10, 10));
    assert_false(activate(&turn, 10, 10));
    assert_true(activate(&turn, 10, 10));
}

static void
rounds_of_another_set_of_handlers_are_over(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    /* The new set has not yet counted as far as the old one. */
    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, 1000, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, UPCALL_QUANTUM, 2000);
    assert_true(activate(&turn, 999, 0));

    /* It has: at worst the round ends when it reaches that number. */
    upcall_turn_begin(&turn, 1000, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, UPCALL_QUANTUM, 2000);
    assert_false(activate(&turn, 1005, 990));
    assert_true(activate(&turn, 1005, 1000));
}

static void
counts_that_wrap_around_end_the_round(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    upcall_turn_begin(&turn, UINT64_MAX, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, UPCALL_QUANTUM, 2000);
    assert_false(activate(&turn, UINT64_MAX, UINT64_MAX - 1));
    assert_true(activate(&turn, 3, 0));

    upcall_turn_begin(&turn, 2, UPCALL_QUANTUM);
    upcall_turn_spend(&turn, UPCALL_QUANTUM, 2000);
    assert_false(activate(&turn, 3, UINT64_MAX));
    assert_false(activate(&turn, 3, 1));
    assert_true(activate(&turn, 3, 2));
}

static void
debt_is_bounded(void **state OVS_UNUSED)
{
    struct upcall_turn turn;
    unsigned int n_turns = 0;

    upcall_turn_init(&turn);
    for (int i = 0; i < 100000; i++) {
        upcall_turn_begin(&turn, i, UPCALL_QUANTUM);
        upcall_turn_spend(&turn, 1, 65000);
    }
    do {
        n_turns++;
    } while (!upcall_turn_begin(&turn, n_turns, UPCALL_QUANTUM));
    assert_int_equal(n_turns, UPCALL_DEBT_BYTES / UPCALL_QUANTUM_BYTES + 1);
}

static void
nobody_goes_first_twice_in_an_epoch(void **state OVS_UNUSED)
{
    struct upcall_turn turn;

    upcall_turn_init(&turn);
    assert_true(upcall_turn_activate(&turn, 0, 0, 1, UPCALL_QUANTUM));
    upcall_turn_spend(&turn, 1, 100);
    for (int i = 0; i < 3; i++) {
        assert_false(upcall_turn_activate(&turn, 0, 0, 1, UPCALL_QUANTUM));
        assert_true(upcall_turn_has_credit(&turn));
    }
    assert_true(upcall_turn_activate(&turn, 0, 0, 2, UPCALL_QUANTUM));

    /* Without credit a new epoch is of no use. */
    upcall_turn_spend(&turn, UPCALL_QUANTUM, 100);
    assert_false(upcall_turn_activate(&turn, 10, UINT64_MAX, 3,
                                      UPCALL_QUANTUM));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_turn_has_no_credit_until_its_channel_is_readable),
        cmocka_unit_test(credit_ends_with_the_quantum_of_upcalls),
        cmocka_unit_test(credit_ends_with_the_quantum_of_bytes),
        cmocka_unit_test(nothing_read_costs_nothing),
        cmocka_unit_test(credit_does_not_add_up),
        cmocka_unit_test(overdrawn_bytes_are_paid_for_by_the_next_turns),
        cmocka_unit_test(allowance_follows_the_size_of_what_was_read_last),
        cmocka_unit_test(allowance_is_at_least_one),
        cmocka_unit_test(what_a_backlog_gets_is_a_quantum_per_round),
        cmocka_unit_test(credit_comes_back_when_the_round_is_over),
        cmocka_unit_test(
            round_without_anybody_in_the_run_queue_is_over_at_once),
        cmocka_unit_test(debt_outlasts_the_round),
        cmocka_unit_test(rounds_of_another_set_of_handlers_are_over),
        cmocka_unit_test(counts_that_wrap_around_end_the_round),
        cmocka_unit_test(debt_is_bounded),
        cmocka_unit_test(nobody_goes_first_twice_in_an_epoch),
    };

    return cmocka_run_group_tests_name("upcall-turn", tests, NULL, NULL);
}
