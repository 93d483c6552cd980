/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1 and L2: members of bonds, when the system refuses, and when
 * bonds and members change. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <net/if.h>

#include "netdev-provider.h"
#include "netdev.h"
#include "unit/netdev-linux/netdev-fault-fixture.h"
#include "util.h"

static void
a_member_that_cannot_be_bound_is_bound_later(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    n_bound = n_unbound = 0;
    unit_plan_failures(UNIT_CALL_QDISC, 1, 1, ENOMEM);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(n_bound, 1);
    assert_int_equal(bound_block, 0);

    tell(B, "b", NULL, A, 0);
    assert_int_equal(n_bound, 2);
    assert_int_equal(bound_block, A);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 2);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_int_equal(bound_block, 0);
    assert_int_equal(n_bound, 2);
    assert_int_equal(n_unbound, 3);
}

/* True if the features of 'netdev' are asked for when they are wanted. */
static bool
features_are_asked_for(struct netdev *netdev)
{
    enum netdev_features f[4];

    n_ethtool = 0;
    netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]);
    return n_ethtool > 0;
}

/* It is the sum of its members' speeds. */
static void
the_speed_of_a_bond_changes_with_its_members(void **state)
{
    struct netdev *netdev = *state;

    unit_wait_until(a_has_carrier());
    tell(A, "a", "bond", 0, IFF_UP | IFF_RUNNING);
    features_are_asked_for(netdev);
    assert_false(features_are_asked_for(netdev));

    /* A member comes, fails, and leaves. */
    tell(B, "b", NULL, A, IFF_UP | IFF_RUNNING);
    assert_true(features_are_asked_for(netdev));
    assert_false(features_are_asked_for(netdev));
    tell(B, "b", NULL, A, IFF_UP);
    assert_true(features_are_asked_for(netdev));
    uint64_t seq = netdev_get_change_seq(netdev);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_true(netdev_get_change_seq(netdev) != seq);
    assert_true(features_are_asked_for(netdev));

    /* What is none is of no interest, and nor is who has another master. */
    tell(B, "b", NULL, 0, IFF_UP | IFF_RUNNING);
    tell(B, "b", NULL, A + 50, IFF_UP);
    assert_false(features_are_asked_for(netdev));
    tell(B, "b", NULL, A, IFF_UP);
    assert_true(features_are_asked_for(netdev));
    tell(B, "b", NULL, 0, IFF_UP);
}

/* A name may change, and another device may take it. */
static void
a_member_is_known_by_its_index(void **state OVS_UNUSED)
{
    struct netdev *bond;

    tell(A, "a", "bond", 0, IFF_UP);
    n_bound = n_unbound = 0;
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 1);
    assert_int_equal(bound_block, A);
    tell(B, "renamed", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 1);
    assert_int_equal(n_unbound, 1);
    tell(B, "renamed", NULL, 0, IFF_UP);
    assert_int_equal(n_unbound, 2);
    assert_int_equal(bound_block, 0);

    /* From one bond to another at once. */
    OK(unit_link_add(own, "ifb", B + 1, "c"));
    netdev_run();
    OK(netdev_open("c", "system", &bond));
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B + 1, "c", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(bound_block, A);
    tell(B, "b", NULL, B + 1, IFF_UP);
    assert_int_equal(bound_block, B + 1);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_int_equal(bound_block, 0);
    netdev_close(bond);
    OK(unit_link_del(own, B + 1));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(a_member_that_cannot_be_bound_is_bound_later),
        TEST(the_speed_of_a_bond_changes_with_its_members),
        TEST(a_member_is_known_by_its_index),
    };

    netdev_fault_listen(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
