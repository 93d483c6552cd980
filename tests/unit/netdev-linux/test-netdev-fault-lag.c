/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1, L2 and L7: members of bonds, when the system refuses, and
 * when bonds and members change. */

#include <config.h>
#include "netdev-linux/lag.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "link/link-table.h"
#include "netdev-linux/links.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "unit/netdev-linux/netdev-fault-fixture.h"
#include "util.h"

#define C (A + 2)
#define D (A + 3)

/* The block that device 'ifindex' is bound to, or 0. */
static uint32_t
block_of(int ifindex)
{
    return unit_ingress[ifindex - A].block_id;
}

/* Gives device 'ifindex' a discipline at ingress with 'block_id', or 0. */
static void
give_ingress(int ifindex, uint32_t block_id)
{
    unit_ingress[ifindex - A] = (struct unit_ingress) { true, block_id };
}

static void
use_block(int ifindex)
{
    netdev_kdp_lag_add(ifindex, ifindex);
    n_bound = n_unbound = 0;
}

static void
a_member_that_cannot_be_bound_is_bound_later(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    use_block(A);
    unit_plan_failures(UNIT_CALL_QDISC, 1, 1, ENOMEM);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(n_bound, 1);
    assert_int_equal(block_of(B), 0);
    assert_false(netdev_kdp_lag_is_bound(B));

    tell(B, "b", NULL, A, 0);
    assert_int_equal(n_bound, 2);
    assert_int_equal(block_of(B), A);
    assert_true(netdev_kdp_lag_is_bound(B));
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 2);
    assert_int_equal(n_unbound, 0);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_int_equal(block_of(B), 0);
    assert_int_equal(n_bound, 2);
    assert_int_equal(n_unbound, 1);
}

static void
a_discipline_that_cannot_be_replaced_is_replaced_later(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    give_ingress(B, 0);
    unit_plan_failures(UNIT_CALL_QDISC, 2, 1, ENOMEM);
    use_block(A);
    assert_int_equal(unit_n_failed(), 1);
    assert_false(netdev_kdp_lag_is_bound(B));
    tell(B, "b", NULL, A, 0);
    assert_int_equal(block_of(B), A);
}

/* Members that were there before the port have no event. */
static void
members_that_were_there_first_are_bound(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    tell(C, "c", NULL, A, IFF_UP);
    tell(D, "d", NULL, 0, IFF_UP);
    assert_int_equal(block_of(B), 0);
    netdev_kdp_lag_add(A, A);
    assert_int_equal(block_of(B), A);
    assert_int_equal(block_of(C), A);
    assert_int_equal(block_of(D), 0);

    /* Once is enough. */
    n_bound = n_unbound = 0;
    netdev_kdp_lag_add(A, A);
    tell(B, "b", NULL, A, 0);
    assert_int_equal(n_bound, 0);
    tell(D, "d", NULL, A, IFF_UP);
    assert_int_equal(block_of(D), A);

    netdev_kdp_lag_remove(A, true);
    assert_int_equal(block_of(B), 0);
    assert_int_equal(block_of(C), 0);
    assert_int_equal(block_of(D), 0);
    assert_int_equal(n_unbound, 3);

    /* The block is not in use, however often it was added. */
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(block_of(B), 0);
    netdev_kdp_lag_remove(A, true);
    tell(B, "b", NULL, A, 0);
    assert_int_equal(n_unbound, 3);
    assert_int_equal(block_of(B), 0);
}

/* Their rules stay, too. */
static void
members_stay_bound_when_the_process_ends(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    use_block(A);
    netdev_kdp_lag_remove(A, false);
    assert_int_equal(block_of(B), A);
    assert_int_equal(n_unbound, 0);
    assert_false(netdev_kdp_lag_is_bound(B));
}

static void
a_discipline_with_the_right_block_stays(void **state OVS_UNUSED)
{
    static const uint32_t others[] = { 0, D };

    tell(A, "a", "team", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    give_ingress(B, A);
    use_block(A);
    assert_int_equal(n_unbound, 0);
    assert_true(netdev_kdp_lag_is_bound(B));

    /* Any other is replaced. */
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        tell(B, "b", NULL, 0, IFF_UP);
        assert_int_equal(block_of(B), 0);
        give_ingress(B, others[i]);
        tell(B, "b", NULL, A, IFF_UP);
        assert_int_equal(block_of(B), A);
    }
}

/* Names and indexes of other namespaces mean other devices. */
static void
members_elsewhere_are_of_no_interest(void **state OVS_UNUSED)
{
    enum { NSID = 4000 };

    tell(A, "a", "bond", 0, IFF_UP);
    tell_ns(NSID, A, "a", "bond", 0, IFF_UP);
    tell_ns(NSID, B, "b", NULL, A, IFF_UP);
    use_block(A);
    tell_ns(NSID, C, "c", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 0);
    tell(B, "b", NULL, A, IFF_UP);
    tell_ns(NSID, B, "b", NULL, 0, IFF_UP);
    assert_int_equal(block_of(B), A);
    link_table_drop_ns(kdp_links_table(), NSID);
    assert_int_equal(block_of(B), A);
}

/* The device that has the index of a member may be another one. */
static void
a_member_that_comes_again_is_bound_again(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    use_block(A);
    tell(C, "c", NULL, A, IFF_UP);
    assert_int_equal(block_of(C), A);
    assert_true(link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, C));
    assert_false(netdev_kdp_lag_is_bound(C));
    assert_int_equal(n_unbound, 0);

    /* Its discipline went with it. */
    memset(unit_ingress, 0, sizeof unit_ingress);
    tell(C, "c", NULL, A, IFF_UP);
    assert_int_equal(block_of(C), A);
}

/* A block that somebody else's rules are in, or 0. */
static uint32_t foreign_block;

static bool
is_ours(uint32_t block_id)
{
    return block_id != foreign_block;
}

/* Somebody else's block may have the number of a bond. */
static void
blocks_of_others_stay(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    tell(C, "c", NULL, 0, IFF_UP);
    give_ingress(B, A);
    give_ingress(C, A);
    foreign_block = A;
    n_unbound = 0;
    netdev_kdp_lag_clean(false, is_ours);
    netdev_kdp_lag_clean(true, is_ours);
    assert_int_equal(block_of(B), A);
    assert_int_equal(block_of(C), A);
    assert_int_equal(n_unbound, 0);
    foreign_block = 0;
    netdev_kdp_lag_clean(true, is_ours);
    assert_int_equal(n_unbound, 2);
}

static void
what_a_previous_run_bound_is_unbound(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    tell(C, "c", NULL, 0, IFF_UP);
    tell(D, "d", "dummy", 0, IFF_UP);
    tell(D + 1, "e", NULL, D, IFF_UP);
    give_ingress(A, A);
    give_ingress(B, A);
    give_ingress(C, A);
    give_ingress(D, 0);
    give_ingress(D + 1, D);     /* The number of no bond. */

    /* The bond may become a port yet. */
    netdev_kdp_lag_clean(false, is_ours);
    assert_int_equal(block_of(A), A);
    assert_int_equal(block_of(B), A);
    assert_int_equal(block_of(C), 0);
    use_block(A);
    netdev_kdp_lag_clean(true, is_ours);
    assert_int_equal(block_of(A), A);
    assert_int_equal(block_of(B), A);
    assert_int_equal(n_unbound, 0);

    /* It has not become one. */
    netdev_kdp_lag_remove(A, false);
    netdev_kdp_lag_clean(true, is_ours);
    assert_int_equal(block_of(A), A);
    assert_int_equal(block_of(B), 0);
    assert_int_equal(n_unbound, 1);
    assert_true(unit_ingress[D - A].exists);
    assert_int_equal(block_of(D + 1), D);

    /* Without bonds there is nothing to look for. */
    tell(A, "a", "dummy", 0, IFF_UP);
    give_ingress(B, A);
    netdev_kdp_lag_clean(true, is_ours);
    assert_int_equal(block_of(B), A);
}

/* Its bond may be gone, so that nothing shows whose block that was. */
static void
a_port_is_unbound_from_the_block_of_no_bond(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    tell(C, "c", NULL, 0, IFF_UP);
    assert_false(netdev_kdp_lag_clean_port("C", C, is_ours));
    give_ingress(C, 0);
    assert_false(netdev_kdp_lag_clean_port("C", C, is_ours));
    give_ingress(C, D);
    foreign_block = D;
    assert_false(netdev_kdp_lag_clean_port("C", C, is_ours));
    foreign_block = 0;
    assert_int_equal(block_of(C), D);
    assert_true(netdev_kdp_lag_clean_port("C", C, is_ours));
    assert_false(unit_ingress[C - A].exists);

    /* Members and bonds have a block. */
    use_block(A);
    tell(B, "b", NULL, A, IFF_UP);
    give_ingress(A, A);
    assert_false(netdev_kdp_lag_clean_port("A", A, is_ours));
    assert_false(netdev_kdp_lag_clean_port("B", B, is_ours));
    assert_int_equal(block_of(A), A);
    assert_int_equal(block_of(B), A);
    assert_int_equal(n_unbound, 0);
}

/* True if reading the features of 'netdev' makes a request to the kernel. */
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
    tell(A, "a", "bond", 0, IFF_UP);
    use_block(A);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 1);
    assert_int_equal(block_of(B), A);
    tell(B, "renamed", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 1);
    assert_int_equal(n_unbound, 0);
    tell(B, "renamed", NULL, 0, IFF_UP);
    assert_int_equal(n_unbound, 1);
    assert_int_equal(block_of(B), 0);

    /* From one bond to another at once. */
    tell(C, "c", "bond", 0, IFF_UP);
    netdev_kdp_lag_add(C, C);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(block_of(B), A);
    tell(B, "b", NULL, C, IFF_UP);
    assert_int_equal(block_of(B), C);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_int_equal(block_of(B), 0);
}

/* Open vSwitch then has rules in the block with that number. */
static void
a_bond_has_the_block_of_its_index(void **state)
{
    struct netdev *netdev = *state;

    unit_wait_until(a_has_carrier());
    assert_int_equal(netdev_get_block_id(netdev), 0);
    tell(A, "a", "bond", 0, IFF_UP);
    assert_int_equal(netdev_get_block_id(netdev), A);
    tell(A, "a", "veth", 0, IFF_UP);
    assert_int_equal(netdev_get_block_id(netdev), 0);
    tell(A, "a", "team", 0, IFF_UP);
    assert_int_equal(netdev_get_block_id(netdev), A);
    tell(A, "a", "bonding", 0, IFF_UP);
    assert_int_equal(netdev_get_block_id(netdev), 0);

    /* When it goes, it has none. */
    tell(A, "a", "bond", 0, IFF_UP);
    assert_int_equal(netdev_get_block_id(netdev), A);
    assert_true(link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, A));
    assert_int_equal(netdev_get_ifindex(netdev), -ENODEV);
    assert_int_equal(netdev_get_block_id(netdev), 0);
}

static int
teardown_lag(void **state)
{
    netdev_kdp_lag_remove(A, false);
    netdev_kdp_lag_remove(C, false);
    for (int ifindex = C; ifindex < A + N_INGRESS; ifindex++) {
        link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, ifindex);
    }
    memset(unit_ingress, 0, sizeof unit_ingress);
    return teardown(state);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown_lag)
        TEST(a_member_that_cannot_be_bound_is_bound_later),
        TEST(a_discipline_that_cannot_be_replaced_is_replaced_later),
        TEST(members_that_were_there_first_are_bound),
        TEST(members_stay_bound_when_the_process_ends),
        TEST(a_discipline_with_the_right_block_stays),
        TEST(members_elsewhere_are_of_no_interest),
        TEST(a_member_that_comes_again_is_bound_again),
        TEST(what_a_previous_run_bound_is_unbound),
        TEST(blocks_of_others_stay),
        TEST(a_port_is_unbound_from_the_block_of_no_bond),
        TEST(the_speed_of_a_bond_changes_with_its_members),
        TEST(a_member_is_known_by_its_index),
        TEST(a_bond_has_the_block_of_its_index),
    };

    netdev_fault_listen(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
