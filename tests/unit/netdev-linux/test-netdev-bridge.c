/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L1: what the bridge and the router of tunnels are told of
 * links. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpif.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "if-notifier.h"
#include "netdev-linux/links.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs-features.h"
#include "ovs-thread.h"
#include "packets.h"
#include "link/link-route.h"
#include "netdev-linux/links.h"
#include "netdev-linux/route-table-kdp.h"
#include "route-table.h"
#include "sset.h"
#include "timeval.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

static unsigned int n_notices;

static void
notice(void *aux OVS_UNUSED)
{
    n_notices++;
}

/* Takes all events and tells the bridge, if it is to be told. */
static unsigned int
count_notices(void)
{
    unsigned int before = n_notices;

    for (int i = 0; i < 20; i++) {
        netdev_run();
        if_notifier_run();
        unit_sleep_us(IF_NOTIFIER_INTERVAL * 1000 / 10);
    }
    return n_notices - before;
}

/* Ofproto finds out about a port in the middle of a turn, after the bridge's
 * question whether something has changed. */
static void
the_bridge_is_told_in_the_middle_of_a_turn(void **state OVS_UNUSED)
{
    struct if_notifier *notifier = if_notifier_create(notice, NULL);
    unsigned int before;

    while (count_notices()) {
        continue;
    }
    before = n_notices;
    OK(unit_link_set_mtu(own, A, 1302));
    if_notifier_kdp_catch_up();
    assert_int_equal(n_notices, before + 1);
    assert_int_equal(count_notices(), 0);

    if_notifier_kdp_catch_up();
    assert_int_equal(n_notices, before + 1);
    if_notifier_destroy(notifier);
}

static void
the_bridge_is_told_of_its_own_devices_alone(void **state OVS_UNUSED)
{
    struct unit_ns *other = unit_ns_create();
    struct if_notifier *notifier = if_notifier_create(notice, NULL);
    struct netdev *netdev;

    OK(unit_ns_set_nsid(own, other, NSID));
    count_notices();
    OK(unit_link_set_mtu(own, A, 1300));
    OK(unit_link_set_mtu(own, A, 1301));
    assert_int_equal(count_notices(), 1);
    OK(unit_link_set_up(own, A, false));
    assert_int_equal(count_notices(), 0);

    /* Foreign ones, of the same name, and of the same index. */
    OK(unit_link_add(own, "ifb", B + 1, "foreign"));
    OK(unit_link_del(own, B + 1));
    OK(unit_link_add(other, "ifb", A, "x"));
    OK(unit_link_set_name(other, A, "a"));
    OK(unit_link_set_mtu(other, A, 1300));
    OK(unit_link_del(other, A));
    assert_int_equal(count_notices(), 0);

    /* One that something else than the bridge has opened, such as the router
     * of tunnels. */
    OK(unit_link_add(own, "ifb", B + 1, "routed"));
    netdev_run();
    OK(netdev_open("routed", NULL, &netdev));
    OK(unit_link_set_mtu(own, B + 1, 1300));
    assert_int_equal(count_notices(), 0);
    netdev_close(netdev);
    OK(unit_link_del(own, B + 1));
    assert_int_equal(count_notices(), 0);

    /* One that is missed. */
    assert_int_equal(netdev_open("missed", "system", &netdev), ENODEV);
    OK(unit_link_add(other, "ifb", A, "missed"));
    assert_int_equal(count_notices(), 0);
    OK(unit_link_add(own, "ifb", B + 1, "missed"));
    assert_int_equal(count_notices(), 1);
    OK(unit_link_del(own, B + 1));
    count_notices();

    if_notifier_destroy(notifier);
    unit_ns_destroy(other);
}

/* Tells the link table of a device of a kind that this kernel may lack. */
static void
tell(const char *name, const char *kind, uint32_t flags)
{
    const struct link_view view = {
        .ifindex = B + 1,
        .name = name,
        .kind = kind,
        .flags = flags,
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };

    link_table_update(kdp_links_table(), LINK_NSID_LOCAL, &view);
}

static unsigned int
notices_when_gone(const char *name, const char *kind, bool refused)
{
    tell(name, kind, IFF_UP);
    count_notices();
    if (refused) {
        if_notifier_kdp_tunnel_refused();
    }
    link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, B + 1);
    return count_notices();
}

/* Another device may have had its UDP port. */
static void
a_tunnel_that_was_refused_is_tried_again(void **state OVS_UNUSED)
{
    struct if_notifier *notifier = if_notifier_create(notice, NULL);

    assert_int_equal(notices_when_gone("flannel", "vxlan", false), 0);
    assert_int_equal(notices_when_gone("flannel", "vxlan", true), 1);

    /* Once.  Then it is refused again, or not. */
    assert_int_equal(notices_when_gone("flannel", "vxlan", false), 0);

    /* Not with any device, or with what Open vSwitch made in trying. */
    assert_int_equal(notices_when_gone("dummy0", "dummy", true), 0);
    assert_int_equal(notices_when_gone("vxlan_sys_4789", "vxlan", true), 0);

    /* It is enough that the device goes down. */
    tell("flannel", "vxlan", IFF_UP);
    assert_int_equal(count_notices(), 0);
    tell("flannel", "vxlan", 0);
    assert_int_equal(count_notices(), 1);
    link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, B + 1);
    if_notifier_destroy(notifier);
}

/* Device through which 10.9.9.9 is reached, or an empty string. */
static bool
routed_to(const char *expected)
{
    struct in6_addr dst, gateway;
    char name[IFNAMSIZ] = "";

    netdev_run();
    route_table_run();
    in6_addr_set_mapped_ipv4(&dst, htonl(0x0a090909));
    ovs_router_lookup(0, &dst, name, NULL, &gateway);
    return !strcmp(name, expected);
}

static void
tunnels_follow_their_routes(void **state OVS_UNUSED)
{
    static const struct unit_route via_a = { .dst = "10.9.0.0/16",
                                             .gateway = "10.0.0.9" };
    static const struct unit_route via_b = { .dst = "10.9.0.0/16",
                                             .gateway = "10.1.0.9" };
    uint64_t seq;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_ip_add(own, B, "10.1.0.1/24"));
    unit_wait_until(routed_to(""));
    seq = route_table_get_change_seq();
    OK(unit_route_add(own, &via_a, NLM_F_EXCL));
    unit_wait_until(routed_to("a"));
    assert_true(route_table_get_change_seq() != seq);
    OK(unit_route_add(own, &via_b, NLM_F_REPLACE));
    unit_wait_until(routed_to("b"));
    OK(unit_link_set_up(own, B, false));
    unit_wait_until(routed_to(""));
    OK(unit_link_set_up(own, B, true));
    OK(unit_route_add(own, &via_b, NLM_F_EXCL));
    unit_wait_until(routed_to("b"));

    /* Since Linux 6.2 a link may have another name while it is up. */
    if (!unit_link_set_name(own, B, "bb")) {
        unit_wait_until(routed_to("bb"));
    }
    OK(unit_link_del(own, B));
    unit_wait_until(routed_to(""));
}

/* Source address with which 10.9.9.9 is reached, or 0. */
static uint32_t
source_of_route(void)
{
    struct in6_addr dst, gateway, source = in6addr_any;
    char name[IFNAMSIZ];

    netdev_run();
    route_table_run();
    in6_addr_set_mapped_ipv4(&dst, htonl(0x0a090909));
    return (ovs_router_lookup(0, &dst, name, &source, &gateway)
            ? ntohl(in6_addr_get_mapped_ipv4(&source)) : 0);
}

/* Before 3.2 Open vSwitch looks at the addresses of the device alone. */
static void
tunnels_have_the_source_that_their_route_prefers(void **state OVS_UNUSED)
{
    static const struct unit_route route = { .dst = "10.9.0.0/16",
                                             .gateway = "10.0.0.9",
                                             .source = "10.0.0.2" };
    static const struct unit_route plain = { .dst = "10.9.0.0/16",
                                             .gateway = "10.0.0.9" };

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_ip_add(own, A, "10.0.0.2/24"));
    OK(unit_route_add(own, &route, NLM_F_EXCL));
    unit_wait_until(source_of_route() == (OVS_HAVE_ROUTER_PREFSRC
                                          ? 0x0a000002 : 0x0a000001));
    OK(unit_route_add(own, &plain, NLM_F_REPLACE));
    unit_wait_until(source_of_route() == 0x0a000001);
}

/* True if there are 'n' routes, and the router was told of them. */
static bool
has_routes(size_t n)
{
    netdev_run();
    route_table_run();
    return (link_routes_count(kdp_links_routes()) == n
            && !link_routes_has_changed(kdp_links_routes()));
}

/* Open vSwitch knows no tables.  A VRF's is not to be taken for the main one
 * because of its number. */
static void
the_main_table_beats_those_of_vrfs(void **state OVS_UNUSED)
{
    static const struct unit_route via_a = {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9", .priority = 100,
    };

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_ip_add(own, B, "10.1.0.1/24"));
    OK(unit_route_add(own, &via_a, NLM_F_EXCL));
    unit_wait_until(routed_to("a"));
    for (uint32_t table = 1276; table <= 1280; table++) {
        size_t n = link_routes_count(kdp_links_routes());

        OK(unit_route_add(own, &(struct unit_route) {
            .dst = "10.9.0.0/16", .gateway = "10.1.0.9", .table = table },
            NLM_F_EXCL));
        unit_wait_until(has_routes(n + 1));
        assert_true(routed_to("a"));
    }
    OK(unit_route_del(own, &via_a));
    unit_wait_until(routed_to("b"));
}

/* True if tunnels are told to look at the carriers of devices again, of which
 * that of 'netdev' is 'expected'. */
static bool
told_of_carrier(struct netdev *netdev, bool expected, uint64_t seq)
{
    netdev_run();
    route_table_run();
    return (netdev_get_carrier(netdev) == expected
            && route_table_get_change_seq() != seq);
}

static void
tunnels_look_again_when_a_carrier_changes(void **state OVS_UNUSED)
{
    struct unit_ns *other = unit_ns_create();
    struct netdev *netdev;

    /* Whose peer is elsewhere, so that nothing else changes here. */
    OK(unit_link_add_veth(own, B + 1, "c", other, A, "c"));
    OK(unit_link_set_no_addresses(own, B + 1));
    OK(unit_link_set_up(own, B + 1, true));
    OK(unit_link_set_up(other, A, true));
    OK(unit_ip_add(own, B + 1, "10.0.0.1/24"));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9" }, NLM_F_EXCL));
    unit_wait_until(routed_to("c"));
    OK(netdev_open("c", "system", &netdev));
    unit_wait_until(told_of_carrier(netdev, true, 0));
    for (int i = 0; i < 4; i++) {
        uint64_t seq = route_table_get_change_seq();

        OK(unit_link_set_up(other, A, i % 2));
        unit_wait_until(told_of_carrier(netdev, i % 2, seq));
        assert_true(routed_to("c"));
    }
    netdev_close(netdev);
    OK(unit_link_del(own, B + 1));
    unit_ns_destroy(other);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
        cmocka_unit_test_setup_teardown(NAME, setup_quiet, teardown)
        TEST(the_bridge_is_told_in_the_middle_of_a_turn),
        TEST(the_bridge_is_told_of_its_own_devices_alone),
        TEST(a_tunnel_that_was_refused_is_tried_again),
    };
    static const struct CMUnitTest routes[] = {
        TEST(tunnels_follow_their_routes),
        TEST(tunnels_have_the_source_that_their_route_prefers),
        TEST(the_main_table_beats_those_of_vrfs),
        TEST(tunnels_look_again_when_a_carrier_changes),
    };
    int error;

    netdev_fixture_init(argv[0]);
    error = cmocka_run_group_tests(tests, NULL, NULL);

    /* With tables, Open vSwitch's own code fills the router. */
    return (error || OVS_HAVE_ROUTER_TABLES ? error
            : cmocka_run_group_tests(routes, NULL, NULL));
}
