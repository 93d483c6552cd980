/* SPDX-License-Identifier: Apache-2.0 */

/* U8: when flows that were installed before a change of pids are known to have
 * been revalidated. */

#include <config.h>
#include "dpif-netlink/revalidation.h"

#include "harness/unit.h"

static int
setup(void **state)
{
    *state = revalidation_create();
    return 0;
}

static int
teardown(void **state)
{
    revalidation_destroy(*state);
    unit_rcu_barrier();
    return 0;
}

static void
dumps(struct revalidation *r, int n)
{
    for (int i = 0; i < n; i++) {
        revalidation_dump_begins(r);
    }
}

static void
nothing_to_do_without_a_change(void **state)
{
    struct revalidation *r = *state;

    assert_true(revalidation_is_done(r, 0));
    for (int i = 0; i < 10; i++) {
        assert_false(revalidation_run(r));
        unit_rcu_barrier();
        dumps(r, 1);
    }
}

static void
change_is_done_after_a_grace_period_and_the_dumps_that_follow(void **state)
{
    struct revalidation *r = *state;
    uint64_t change = revalidation_request(r);

    /* Dumps before the revalidation was passed on do not count. */
    dumps(r, 10);
    assert_true(revalidation_run(r));
    dumps(r, 10);
    unit_rcu_barrier();
    assert_false(revalidation_run(r));

    /* Nor do those before the end of the grace period. */
    dumps(r, 10);
    for (int i = 0; i < 5; i++) {
        assert_false(revalidation_run(r));
        assert_false(revalidation_is_done(r, change));
    }
    unit_rcu_barrier();
    dumps(r, 10);
    assert_false(revalidation_run(r));

    dumps(r, REVALIDATION_DUMPS - 1);
    assert_false(revalidation_run(r));
    assert_false(revalidation_is_done(r, change));
    dumps(r, 1);
    assert_false(revalidation_run(r));
    assert_true(revalidation_is_done(r, change));
    assert_false(revalidation_run(r));
}

static void
changes_that_come_within_a_round_are_those_of_the_next(
    void **state)
{
    struct revalidation *r = *state;
    uint64_t a = revalidation_request(r);
    uint64_t b = revalidation_request(r);
    uint64_t c = 0;
    int n_told = 0;

    assert_true(b > a);
    for (int i = 0; i < 20 && !revalidation_is_done(r, a); i++) {
        n_told += revalidation_run(r);
        if (i == 1) {
            c = revalidation_request(r);
        }
        unit_rcu_barrier();
        dumps(r, 1);
    }
    assert_int_equal(n_told, 1);
    assert_true(revalidation_is_done(r, b));
    assert_false(revalidation_is_done(r, c));
    for (int i = 0; i < 20 && !revalidation_is_done(r, c); i++) {
        n_told += revalidation_run(r);
        unit_rcu_barrier();
        dumps(r, 1);
    }
    assert_int_equal(n_told, 2);
    assert_true(revalidation_is_done(r, c));
}

static void
destroyed_while_it_waits_for_the_grace_period(void **state)
{
    struct revalidation *r = *state;

    revalidation_request(r);
    assert_true(revalidation_run(r));
    assert_false(revalidation_run(r));
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(nothing_to_do_without_a_change),
        TEST(change_is_done_after_a_grace_period_and_the_dumps_that_follow),
        TEST(changes_that_come_within_a_round_are_those_of_the_next),
        TEST(destroyed_while_it_waits_for_the_grace_period),
    };

    unit_init("test-revalidation");
    return cmocka_run_group_tests_name("revalidation", tests, NULL, NULL);
}
