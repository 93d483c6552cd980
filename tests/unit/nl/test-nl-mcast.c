/* SPDX-License-Identifier: Apache-2.0 */

/* Netlink multicasts of the running kernel, in a network namespace with
 * nothing but a loopback device in it. */

#include <config.h>
#include "nl/nl-conn.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>

#include "harness/netns.h"
#include "harness/see-links.h"
#include "harness/unit.h"
#include "util.h"

/* Interface index of the loopback device. */
#define LO 1

static int
setup(void **state)
{
    *state = unit_ns_own();
    return 0;
}

static int
teardown(void **state)
{
    unit_ns_destroy(*state);
    return 0;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

static void
wait_readable(const struct nl_mcast *mcast)
{
    struct pollfd pfd = { .fd = nl_mcast_fd(mcast), .events = POLLIN };

    assert_int_equal(poll(&pfd, 1, UNIT_PATIENCE), 1);
    assert_true(pfd.revents & POLLIN);
}

static void
events_of_the_group_are_received(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_link, &seen), EAGAIN);
    assert_int_equal(seen.n, 0);

    assert_int_equal(unit_link_set_mtu(ns, LO, 5000), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_link, &seen), 0);
    assert_int_equal(seen.n_lo, 1);
    assert_int_equal(seen.mtu, 5000);
    assert_int_equal(seen.type, RTM_NEWLINK);
    while (nl_mcast_recv(mcast, unit_see_link, &seen) == 0) {
        continue;
    }

    assert_int_equal(unit_link_add_veth(ns, 0, "va", ns, 0, "vb"), 0);
    assert_int_equal(unit_link_del(ns, if_nametoindex("va")), 0);
    wait_readable(mcast);
    while (nl_mcast_recv(mcast, unit_see_link, &seen) == 0) {
        continue;
    }
    assert_int_equal(seen.type, RTM_DELLINK);
    nl_mcast_close(mcast);
}

static void
events_of_other_groups_are_not_received(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_TC, &mcast), 0);
    assert_int_equal(unit_link_set_mtu(ns, LO, 5001), 0);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_link, &seen), EAGAIN);
    assert_int_equal(seen.n, 0);
    nl_mcast_close(mcast);
}

static void
error_of_the_event_callback_is_returned(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .error = EXFULL };
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    assert_int_equal(unit_link_set_mtu(ns, LO, 5002), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_link, &seen), EXFULL);
    nl_mcast_close(mcast);
}

static void
overrun_is_reported_once_and_events_go_on(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast;
    int n_overruns = 0;
    uint32_t mtu = 2000;
    int error;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, RTNLGRP_LINK, &mcast), 0);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(unit_link_set_mtu(ns, LO, ++mtu), 0);
    }
    while ((error = nl_mcast_recv(mcast, unit_see_link, &seen)) != EAGAIN) {
        assert_true(!error || error == ENOBUFS);
        n_overruns += error == ENOBUFS;
    }
    assert_int_equal(n_overruns, 1);
    assert_in_range(seen.n, 1, 1999);

    assert_int_equal(unit_link_set_mtu(ns, LO, ++mtu), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_link, &seen), 0);
    assert_int_equal(seen.mtu, mtu);
    nl_mcast_close(mcast);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(events_of_the_group_are_received),
        TEST(events_of_other_groups_are_not_received),
        TEST(error_of_the_event_callback_is_returned),
        TEST(overrun_is_reported_once_and_events_go_on),
    };

    unit_init("test-nl-mcast");
    return cmocka_run_group_tests_name("nl-mcast", tests, NULL, NULL);
}
