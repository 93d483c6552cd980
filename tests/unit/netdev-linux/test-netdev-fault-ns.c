/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2, L3 and L5: network devices that move to other namespaces, of
 * which the datapath tells late. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <net/if.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "unit/netdev-linux/netdev-fault-fixture.h"
#include "util.h"

/* Index of the device in whatever namespace it is, or 0 if there is none.  The
 * library tells only those of ours. */
static int
present_index(const struct netdev *netdev)
{
    const struct netdev_kdp *dev = netdev_kdp_cast(netdev);

    return dev->present ? dev->link.ifindex : 0;
}

/* Asks for the flags of 'netdev'.  Returns how often that was a question about
 * a device that is not in the table. */
static uint64_t
n_unknown(struct netdev *netdev)
{
    uint64_t before[KDP_N_RTNL_CALLS], after[KDP_N_RTNL_CALLS];
    enum netdev_flags flags;

    kdp_rtnl_get_counts(before);
    netdev_get_flags(netdev, &flags);
    kdp_rtnl_get_counts(after);
    return after[KDP_RTNL_UNKNOWN] - before[KDP_RTNL_UNKNOWN];
}

/* The datapath knows where a port is, maybe only some time after its device
 * has left. */
static void
a_device_is_found_in_whatever_namespace_it_moves_to(void **state OVS_UNUSED)
{
    static const int32_t nsids[] = { LINK_NSID_LOCAL, 4001, 4002, 4001, 4003,
                                     LINK_NSID_LOCAL, 4002 };
    struct link_table *table = kdp_links_table();
    struct netdev *netdev;

    tell(B + 1, "int0", "openvswitch", 0, IFF_UP);
    OK(netdev_open("int0", "internal", &netdev));
    for (int late = 0; late < 2; late++) {
        for (size_t i = 1; i < ARRAY_SIZE(nsids); i++) {
            if (!late) {
                int0_nsid = nsids[i];
            }
            link_table_remove(table, nsids[i - 1], B + i);
            int0_nsid = nsids[i];
            tell_ns(nsids[i], B + 1 + i, "int0", "openvswitch", 0, IFF_UP);
            assert_int_equal(present_index(netdev), B + 1 + i);
        }
        size_t n = ARRAY_SIZE(nsids);
        link_table_remove(table, nsids[n - 1], B + n);
        int0_nsid = LINK_NSID_LOCAL;
        tell(B + 1, "int0", "openvswitch", 0, IFF_UP);
        assert_int_equal(present_index(netdev), B + 1);
    }

    /* The kernel is not asked for one that the table does not have. */
    assert_int_equal(n_unknown(netdev), 0);
    int0_nsid = 4001;
    link_table_remove(table, LINK_NSID_LOCAL, B + 1);
    assert_int_equal(present_index(netdev), 0);
    assert_int_equal(n_unknown(netdev), 0);
    int0_nsid = LINK_NSID_LOCAL;
    tell(B + 1, "int0", "openvswitch", 0, IFF_UP);
    assert_int_equal(present_index(netdev), B + 1);
    assert_int_equal(n_unknown(netdev), 0);

    /* One elsewhere that happens to have its name is not it. */
    int0_nsid = LINK_NSID_NONE;
    link_table_remove(table, LINK_NSID_LOCAL, B + 1);
    tell_ns(4001, A, "int0", "ifb", 0, IFF_UP);
    assert_int_equal(present_index(netdev), 0);

    /* Not even where it was before the datapath lost it.  Flags are those of a
     * device of ours again, which does not exist. */
    int0_nsid = 4002;
    tell_ns(4002, B + 2, "int0", "openvswitch", 0, IFF_UP);
    assert_int_equal(present_index(netdev), B + 2);
    int0_nsid = LINK_NSID_NONE;
    link_table_remove(table, 4002, B + 2);
    assert_int_equal(present_index(netdev), 0);
    assert_int_equal(netdev_turn_flags_on(netdev, NETDEV_PROMISC, NULL),
                     ENODEV);
    tell_ns(4002, B + 3, "int0", "ifb", 0, IFF_UP);
    assert_int_equal(present_index(netdev), 0);
    for (int32_t nsid = 4001; nsid <= 4003; nsid++) {
        link_table_drop_ns(table, nsid);
    }
    netdev_close(netdev);
}

static int
mtu_of(struct netdev *netdev)
{
    int mtu;

    OK(netdev_get_mtu(netdev, &mtu));
    return mtu;
}

static uint64_t
n_asked_for_namespaces(void)
{
    struct link_listener_stats stats;

    link_listener_get_stats(kdp_links_listener(), &stats);
    return stats.rtnl[LINK_REASON_NAMESPACE];
}

static bool
is_followed(int32_t nsid)
{
    netdev_run();
    return (link_table_has_ns(kdp_links_table(), nsid)
            && !link_table_skips(kdp_links_table(), nsid));
}

static bool
is_present_as(const struct netdev *netdev, int ifindex)
{
    netdev_run();
    return present_index(netdev) == ifindex;
}

/* Invariant L5: the daemon asks a namespace for its links when the device of a
 * port moves there, and not before.  The datapath learns of the move some time
 * after the device has left. */
static void
a_namespace_is_asked_for_when_a_port_moves_there(void **state OVS_UNUSED)
{
    enum { N = 3 };
    uint64_t asked = n_asked_for_namespaces();
    struct unit_ns *others[N];
    struct netdev *netdev;
    uint64_t seq;

    for (int i = 0; i < N; i++) {
        others[i] = unit_ns_create();
        OK(unit_ns_set_nsid(own, others[i], 6000 + i));
        OK(unit_link_add(others[i], "ifb", A, "int0"));
    }
    OK(unit_link_add(own, "ifb", B + 1, "int0"));
    netdev_run();
    OK(netdev_open("int0", "internal", &netdev));
    assert_int_equal(present_index(netdev), B + 1);
    assert_int_equal(n_asked_for_namespaces(), asked);

    int0_nsid = LINK_NSID_LOCAL;
    OK(unit_link_del(others[1], A));
    OK(unit_link_move(own, B + 1, others[1], B + 2));
    unit_wait_until(is_present_as(netdev, 0));
    assert_int_equal(n_asked_for_namespaces(), asked);
    int0_nsid = 6001;
    seq = netdev_get_change_seq(netdev);
    OK(unit_link_set_mtu(others[1], B + 2, 1400));
    unit_wait_until(is_present_as(netdev, B + 2));
    assert_true(netdev_get_change_seq(netdev) != seq);
    assert_int_equal(n_asked_for_namespaces(), asked + 1);
    assert_int_equal(mtu_of(netdev), 1400);

    /* It is known by events from then on, also when it goes to another one.
     * The bridge looks at a port whose device tells of a change. */
    seq = netdev_get_change_seq(netdev);
    OK(unit_link_set_mtu(others[1], B + 2, 1300));
    unit_wait_until((netdev_run(), mtu_of(netdev) == 1300));
    assert_true(netdev_get_change_seq(netdev) != seq);
    seq = netdev_get_change_seq(netdev);
    OK(unit_link_del(others[2], A));
    OK(unit_ns_set_nsid(others[1], others[2], 1));
    OK(unit_link_move(others[1], B + 2, others[2], B + 3));
    unit_wait_until(!is_present_as(netdev, B + 2));
    assert_true(netdev_get_change_seq(netdev) != seq);
    int0_nsid = 6002;
    OK(unit_link_set_mtu(others[2], B + 3, 1200));
    unit_wait_until(is_present_as(netdev, B + 3));
    assert_int_equal(n_asked_for_namespaces(), asked + 2);
    assert_false(is_followed(6000));

    /* Once the datapath does not have the port, it is not asked again. */
    int0_nsid = LINK_NSID_LOCAL;
    OK(unit_link_del(others[2], B + 3));
    unit_wait_until(is_present_as(netdev, 0));
    int0_nsid = LINK_NSID_NONE;
    n_int0 = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t skipped = link_table_get_skipped(kdp_links_table());

        OK(unit_link_set_mtu(others[0], A, 1300 + i));
        unit_wait_until((netdev_run(),
                         link_table_get_skipped(kdp_links_table())
                         != skipped));
        netdev_run();
        assert_int_equal(n_int0, 1);
    }

    netdev_close(netdev);
    for (int i = 0; i < N; i++) {
        unit_ns_destroy(others[i]);
    }
}

/* Invariant L3: while an internal port is in another namespace, another device
 * of ours may have its name.  It has that when the daemon starts, or later. */
static void
a_device_with_the_name_of_a_port_elsewhere_is_not_the_port(
    void **state OVS_UNUSED)
{
    struct unit_ns *other = unit_ns_create();
    struct netdev *netdev;

    OK(unit_ns_set_nsid(own, other, 6005));
    OK(unit_link_add(other, "ifb", B + 3, "int0"));
    OK(unit_link_set_mtu(other, B + 3, 1400));
    OK(unit_link_add_veth(own, B + 1, "int0", own, B + 2, "peer"));
    netdev_run();
    int0_nsid = 6005;
    OK(netdev_open("int0", "internal", &netdev));
    assert_int_equal(n_unknown(netdev), 0);
    assert_int_equal(mtu_of(netdev), 1400);
    assert_int_equal(present_index(netdev), B + 3);
    assert_int_equal(netdev_get_ifindex(netdev), -EOPNOTSUPP);
    assert_int_equal(netdev_turn_flags_on(netdev, NETDEV_PROMISC, NULL),
                     EOPNOTSUPP);

    /* A physical device has no kind. */
    int0_nsid = LINK_NSID_NONE;
    OK(unit_link_del(other, B + 3));
    unit_wait_until(is_present_as(netdev, 0));
    tell(B + 1, "int0", "veth", 0, IFF_UP);
    assert_int_equal(present_index(netdev), 0);
    tell(B + 1, "int0", NULL, 0, IFF_UP);
    assert_int_equal(present_index(netdev), 0);

    /* The port's device comes back to our namespace. */
    link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, B + 1);
    tell(B + 4, "int0", "openvswitch", 0, IFF_UP);
    assert_int_equal(present_index(netdev), B + 4);
    link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, B + 4);
    netdev_close(netdev);
    OK(unit_link_del(own, B + 1));
    unit_ns_destroy(other);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(a_device_is_found_in_whatever_namespace_it_moves_to),
        TEST(a_namespace_is_asked_for_when_a_port_moves_there),
        TEST(a_device_with_the_name_of_a_port_elsewhere_is_not_the_port),
    };

    netdev_fault_listen(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
