/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1 and L2: what the links of the daemon and the providers of
 * network devices do when the system refuses. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>

#include "if-notifier.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/links.h"
#include "netdev-linux/route-table-kdp.h"
#include "netdev-linux/driver.h"
#include "link/link-table.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "packets.h"
#include "harness/descriptors.h"
#include "unit/netdev-linux/netdev-fault-fixture.h"
#include "util.h"

static void
count_notice(void *n_notices_)
{
    unsigned int *n_notices = n_notices_;

    ++*n_notices;
}

/* The first test: when it ends, links are listened to. */
static void
a_listener_that_cannot_be_opened_leaves_nothing(void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        unsigned int nth;
    } tests[] = {
        { UNIT_CALL_SOCKET, 1 }, { UNIT_CALL_SOCKET, 2 },
        { UNIT_CALL_SOCKET, 3 },
        { UNIT_CALL_BIND, 1 }, { UNIT_CALL_BIND, 2 }, { UNIT_CALL_BIND, 3 },

        /* Two calls in a row fail.  The seventh call is to listen to other
         * namespaces, which is not vital. */
        { UNIT_CALL_MNL_SETSOCKOPT, 1 }, { UNIT_CALL_MNL_SETSOCKOPT, 2 },
        { UNIT_CALL_MNL_SETSOCKOPT, 3 }, { UNIT_CALL_MNL_SETSOCKOPT, 4 },
        { UNIT_CALL_MNL_SETSOCKOPT, 5 }, { UNIT_CALL_MNL_SETSOCKOPT, 6 },

        /* The size of the buffer, and the filter. */
        { UNIT_CALL_SETSOCKOPT, 2 },
    };
    size_t n_fds = unit_count_fds();

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        /* Without the privilege to exceed the system's limit on the size of
         * the buffer, the listener requests that size twice. */
        unit_plan_failures(tests[i].which, tests[i].nth, 2, EMFILE);
        assert_int_equal(kdp_links_init(), EMFILE);
        assert_true(unit_n_failed() > 0);
        unit_plan_none();
        assert_int_equal(unit_count_fds(), n_fds);
        assert_false(kdp_links_enabled());
        assert_false(kdp_links_is_main());
        assert_false(kdp_links_catch_up());
        assert_true(kdp_links_are_idle());
        assert_null(kdp_links_table());
        assert_null(kdp_links_addrs());
        assert_null(kdp_links_qdiscs());
        kdp_links_run();
        kdp_links_wait();
    }

    /* The bridge has Open vSwitch's own notifier for links then. */
    unsigned int n_notices = 0;
    struct if_notifier *notifier = if_notifier_create(count_notice,
                                                      &n_notices);
    assert_non_null(notifier);
    assert_int_equal(unit_count_fds(), n_fds + 1);
    if_notifier_run();
    assert_int_equal(n_notices, 0);
    if_notifier_kdp_outdated();
    if_notifier_run();
    assert_int_equal(n_notices, 1);
    if_notifier_run();
    assert_int_equal(n_notices, 1);
    if_notifier_destroy(notifier);
    assert_int_equal(unit_count_fds(), n_fds);

    OK(kdp_links_init());
    assert_true(kdp_links_enabled());
    assert_int_equal(unit_count_fds(), n_fds + 3);
    netdev_linux_kdp_init(false);
}

/* Then Open vSwitch's module does all. */
static void
routes_that_cannot_be_watched_leave_nothing(void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        unsigned int nth;
    } tests[] = {
        { UNIT_CALL_SOCKET, 1 }, { UNIT_CALL_SOCKET, 2 },
        { UNIT_CALL_BIND, 1 }, { UNIT_CALL_BIND, 2 },

        /* Explanations of errors come first, and are not vital. */
        { UNIT_CALL_MNL_SETSOCKOPT, 2 }, { UNIT_CALL_MNL_SETSOCKOPT, 5 },
        { UNIT_CALL_MNL_SETSOCKOPT, 6 },

        /* The filter. */
        { UNIT_CALL_SETSOCKOPT, 2 },
    };
    size_t n_fds = unit_count_fds();

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        unit_plan_failures(tests[i].which, tests[i].nth, 2, EMFILE);
        route_table_kdp_register();
        assert_true(unit_n_failed() > 0);
        unit_plan_none();
        assert_int_equal(unit_count_fds(), n_fds);
    }
}

static void
a_device_whose_index_cannot_be_asked_for_is_opened(void **state)
{
    struct netdev *netdev;

    netdev_close(*state);
    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1, ENOMEM);
    OK(netdev_open("a", "system", &netdev));
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(netdev_get_ifindex(netdev), A);
    *state = netdev;
}

/* As tunnels do for the device that they leave through. */
static void
who_opens_a_device_without_a_type_asks_for_nothing(void **state)
{
    struct netdev *netdev;

    netdev_close(*state);
    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1000000, EIO);
    OK(netdev_open("a", NULL, &netdev));
    assert_int_equal(netdev_get_ifindex(netdev), A);
    netdev_close(netdev);
    assert_int_equal(unit_n_failed(), 0);
    unit_plan_none();
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
}

static void
a_tap_device_that_cannot_be_made_leaves_nothing(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();
    struct netdev *netdev;

    unit_plan_failures(UNIT_CALL_OPEN, 1, 1, EMFILE);
    assert_int_equal(netdev_open("tap0", "tap", &netdev), EMFILE);
    assert_int_equal(unit_n_failed(), 1);
    assert_null(netdev);
    assert_null(netdev_from_name("tap0"));
    assert_int_equal(unit_count_fds(), n_fds);
}

static bool
carrier_is(struct netdev *netdev, bool expected)
{
    netdev_run();
    return netdev_get_carrier(netdev) == expected;
}

static void
a_link_whose_registers_cannot_be_read_is_down(void **state)
{
    struct netdev *netdev = *state;

    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1000000, EIO);
    OK(netdev_set_miimon_interval(netdev, 1));
    assert_true(carrier_is(netdev, false));
    assert_true(unit_n_failed() > 0);
    unit_plan_none();
    unit_wait_until(carrier_is(netdev, true));
    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1000000, EIO);
    unit_wait_until(carrier_is(netdev, false));
    unit_plan_none();
    OK(netdev_set_miimon_interval(netdev, 0));
    assert_true(carrier_is(netdev, true));
}

static void
driver_information_that_cannot_be_had_is_asked_for_again(void **state)
{
    struct smap smap = SMAP_INITIALIZER(&smap);
    struct netdev *netdev = *state;

    unit_plan_failures(UNIT_CALL_IOCTL, 2, 1, EBUSY);
    assert_int_equal(netdev_get_status(netdev, &smap), EBUSY);
    assert_int_equal(unit_n_failed(), 1);
    OK(netdev_get_status(netdev, &smap));
    assert_string_equal(smap_get(&smap, "driver_name"), "veth");

    /* The answer is kept, even if it is that there is none. */
    n_ethtool = 0;
    smap_clear(&smap);
    OK(netdev_get_status(netdev, &smap));
    assert_int_equal(n_ethtool, 0);
    OK(unit_link_del(own, A));
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
    netdev_kdp_driver_forget_veths();
    unit_plan_failures(UNIT_CALL_IOCTL, 2, 1, EOPNOTSUPP);
    smap_clear(&smap);
    assert_int_equal(netdev_get_status(netdev, &smap), EOPNOTSUPP);
    assert_int_equal(netdev_get_status(netdev, &smap), EOPNOTSUPP);
    assert_int_equal(n_ethtool, 1);
    smap_destroy(&smap);
}

/* The events of the device are waiting, and nobody has taken them. */
static void
a_device_that_has_gone_is_not_asked_about(void **state)
{
    enum netdev_features f[4];
    struct netdev *netdev = *state;
    struct smap smap = SMAP_INITIALIZER(&smap);

    n_ethtool = 0;
    OK(unit_link_del(own, A));
    assert_int_equal(netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]),
                     ENODEV);
    assert_int_equal(netdev_get_status(netdev, &smap), ENODEV);
    assert_int_equal(n_ethtool, 0);

    /* It was, or is another one, but its name is not known. */
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
    OK(unit_link_set_name(own, A, "c"));
    assert_int_equal(netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]),
                     ENODEV);
    assert_int_equal(n_ethtool, 0);
    smap_destroy(&smap);
}

static bool
links_are_current(void)
{
    netdev_run();
    return kdp_links_catch_up();
}

/* The events of the device were lost, and the daemon cannot request the
 * links. */
static void
a_device_is_not_taken_for_one_of_its_name_that_died(void **state)
{
    struct eth_addr mac, table_mac;
    struct link_info link;
    int mtu;

    unit_wait_until(a_has_carrier());
    netdev_close(*state);
    *state = NULL;
    tell(A + 100, "a", NULL, 0, IFF_UP);
    link_table_set_pending(kdp_links_table(), LINK_NSID_LOCAL);
    link_table_set_others_pending(kdp_links_table());
    unit_plan_failures(UNIT_CALL_SENDTO, 1, 1000, ENOMEM);
    assert_false(kdp_links_catch_up());
    assert_true(link_table_find_name(kdp_links_table(), LINK_NSID_LOCAL, "a",
                                     &link));
    assert_int_equal(link.ifindex, A + 100);

    struct netdev *netdev;
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;

    /* The list of addresses is taken again each time. */
    for (int i = 0; i < 3; i++) {
        struct in6_addr *addrs, *masks;
        int n;

        n_flushes = 0;
        if (!netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
            free(addrs);
            free(masks);
        }
        assert_int_equal(n_flushes, 1);
    }

    assert_int_equal(netdev_get_ifindex(netdev), A);
    OK(netdev_get_mtu(netdev, &mtu));
    assert_int_equal(mtu, 1500);
    OK(netdev_get_etheraddr(netdev, &mac));
    assert_false(eth_addr_is_zero(mac));
    assert_true(unit_n_failed() > 0);

    /* When they can, the device is what it was. */
    unit_plan_none();
    unit_wait_until(links_are_current());
    assert_int_equal(netdev_get_ifindex(netdev), A);
    OK(netdev_get_etheraddr(netdev, &table_mac));
    assert_true(eth_addr_equals(mac, table_mac));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        cmocka_unit_test(a_listener_that_cannot_be_opened_leaves_nothing),
        cmocka_unit_test(routes_that_cannot_be_watched_leave_nothing),
        TEST(a_device_whose_index_cannot_be_asked_for_is_opened),
        TEST(a_device_is_not_taken_for_one_of_its_name_that_died),
        TEST(who_opens_a_device_without_a_type_asks_for_nothing),
        TEST(a_tap_device_that_cannot_be_made_leaves_nothing),
        TEST(a_link_whose_registers_cannot_be_read_is_down),
        TEST(driver_information_that_cannot_be_had_is_asked_for_again),
        TEST(a_device_that_has_gone_is_not_asked_about),
    };

    netdev_fault_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
