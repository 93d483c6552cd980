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
#include "ovs-thread.h"
#include "packets.h"
#include "netdev-linux/route-table-kdp.h"
#include "route-table.h"
#include "sset.h"
#include "timeval.h"
#include "harness/control.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* Is there a datapath in user space? */
static bool has_userspace_datapath;

void __wrap_dp_enumerate_names(const char *, struct sset *);
void
__wrap_dp_enumerate_names(const char *type, struct sset *names)
{
    assert_string_equal(type, "netdev");
    if (has_userspace_datapath) {
        sset_add(names, "ovs-netdev");
    }
}

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

/* Checks that since the last time the bridge was told 'told' times and not
 * told of 'not_told' changes. */
static void
check_counts(unsigned int told, unsigned int not_told)
{
    static unsigned long long int before, before_foreign;
    unsigned long long int notices, foreign;

    if_notifier_kdp_get_counts(&notices, &foreign);
    if (told != UINT_MAX) {
        assert_int_equal(notices - before, told);
        assert_int_equal(foreign - before_foreign, not_told);
    }
    before = notices;
    before_foreign = foreign;
}

/* A device that is not open comes, changes and goes.  The one that is open
 * does, too. */
static void
changes_that_the_bridge_is_not_told_of_are_counted(void **state OVS_UNUSED)
{
    struct if_notifier *notifier = if_notifier_create(notice, NULL);
    struct netdev *netdev;

    while (count_notices()) {
        continue;
    }
    check_counts(UINT_MAX, 0);
    tell("other", "dummy", 0);
    check_counts(0, 1);
    tell("other", "dummy", 0);
    check_counts(0, 0);
    tell("another", "dummy", 0);
    check_counts(0, 1);
    tell("another", "dummy", IFF_UP);
    check_counts(0, 0);
    link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, B + 1);
    check_counts(0, 1);
    assert_int_equal(count_notices(), 0);
    check_counts(UINT_MAX, 0);

    /* One that was wanted. */
    assert_int_equal(netdev_open("other", "system", &netdev), ENODEV);
    tell("other", "dummy", IFF_UP);
    check_counts(0, 0);
    assert_int_equal(count_notices(), 1);
    check_counts(1, 0);
    link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, B + 1);
    check_counts(0, 1);
    if_notifier_destroy(notifier);
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

/* A turn of the main loop. */
static void
turn(void)
{
    netdev_run();
    route_table_run();
    route_table_wait();
    poll_immediate_wake();
    poll_block();
}

/* True if tunnels were told to look again since '*seq', and 10.9.9.9 is
 * reached through device 'expected', or not if that is empty. */
static bool
routed_to(const char *expected, uint64_t *seq)
{
    struct in6_addr dst, gateway;
    char name[IFNAMSIZ] = "";

    turn();
    in6_addr_set_mapped_ipv4(&dst, htonl(0x0a090909));
    ovs_router_lookup(0, &dst, name, NULL, &gateway);
    if (route_table_get_change_seq() == *seq || strcmp(name, expected)) {
        return false;
    }
    *seq = route_table_get_change_seq();
    return true;
}

static void
tunnels_follow_their_routes(void **state OVS_UNUSED)
{
    static const struct unit_route via_a = { .dst = "10.9.0.0/16",
                                             .gateway = "10.0.0.9" };
    static const struct unit_route via_b = { .dst = "10.9.0.0/16",
                                             .gateway = "10.1.0.9" };
    uint64_t seq = route_table_get_change_seq();

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_ip_add(own, B, "10.1.0.1/24"));
    unit_wait_until(routed_to("", &seq));
    OK(unit_route_add(own, &via_a, NLM_F_EXCL));
    unit_wait_until(routed_to("a", &seq));
    OK(unit_route_add(own, &via_b, NLM_F_REPLACE));
    unit_wait_until(routed_to("b", &seq));
    OK(unit_link_set_up(own, B, false));
    unit_wait_until(routed_to("", &seq));
    OK(unit_link_set_up(own, B, true));
    OK(unit_route_add(own, &via_b, NLM_F_EXCL));
    unit_wait_until(routed_to("b", &seq));

    /* Since Linux 6.2 a link may have another name while it is up. */
    if (!unit_link_set_name(own, B, "bb")) {
        unit_wait_until(routed_to("bb", &seq));
    }
    OK(unit_link_del(own, B));
    unit_wait_until(routed_to("", &seq));
}

/* Source address with which 'dst' is reached, or an empty string. */
static const char *
source_of(const char *dst)
{
    static char text[INET6_ADDRSTRLEN];
    struct in6_addr ip6, gateway, source = in6addr_any;
    char name[IFNAMSIZ];
    ovs_be32 ip;

    turn();
    if (inet_pton(AF_INET, dst, &ip) == 1) {
        in6_addr_set_mapped_ipv4(&ip6, ip);
    } else {
        assert_int_equal(inet_pton(AF_INET6, dst, &ip6), 1);
    }
    if (!ovs_router_lookup(0, &ip6, name, &source, &gateway)) {
        return "";
    }
    ipv6_string_mapped(text, &source);
    return text;
}

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
    assert_string_equal(source_of("10.9.9.9"), "10.0.0.2");
    OK(unit_route_add(own, &plain, NLM_F_REPLACE));
    assert_string_equal(source_of("10.9.9.9"), "10.0.0.1");

    /* An address is there at once, whatever the main thread is doing. */
    OK(unit_ip_add(own, A, "10.3.0.1/24"));
    assert_string_equal(source_of("10.3.0.9"), "10.3.0.1");
}

/* Of two equal prefixes, the kernel's choice counts, in whatever order the
 * addresses are listed. */
static void
a_source_is_the_one_that_the_kernel_would_choose(void **state OVS_UNUSED)
{
    OK(unit_ip_add(own, A, "fd00::1/64"));
    OK(unit_ip_add(own, A, "fd00::2/64"));

    char *first = xstrdup(source_of("fd00::9"));
    for (int i = 0; i < 2; i++) {
        link_listener_resync(kdp_links_listener());
        unit_wait_until((netdev_run(),
                         link_listener_is_current(kdp_links_listener())));
        assert_string_equal(source_of("fd00::9"), first);
    }
    free(first);
}

/* Neither does one of a policy, where no rule leads to it. */
static void
tables_of_vrfs_are_not_looked_at(void **state OVS_UNUSED)
{
    static const struct unit_route via_a = {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9", .priority = 100,
    };
    uint64_t seq = route_table_get_change_seq();

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_ip_add(own, B, "10.1.0.1/24"));
    for (uint32_t table = 1276; table <= 1280; table++) {
        OK(unit_route_add(own, &(struct unit_route) {
            .dst = "10.9.0.0/16", .gateway = "10.1.0.9", .table = table },
            NLM_F_EXCL));
    }
    unit_wait_until(routed_to("", &seq));
    OK(unit_route_add(own, &via_a, NLM_F_EXCL));
    unit_wait_until(routed_to("a", &seq));
    OK(unit_route_del(own, &via_a));
    unit_wait_until(routed_to("", &seq));
}

/* What "ovs/route/show" says.  The caller frees it. */
static char *
show_routes(void)
{
    return unit_control_run("ovs/route/show", NULL);
}

static void
the_router_is_filled_to_be_shown(void **state OVS_UNUSED)
{
    struct route_table_kdp_stats before, after;
    uint64_t seq = route_table_get_change_seq();
    char *shown;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9" }, NLM_F_EXCL));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.8.0.0/16", .gateway = "10.0.0.9", .table = 1000 },
        NLM_F_EXCL));
    unit_wait_until(routed_to("a", &seq));
    route_table_kdp_get_stats(&before);
    free(unit_control_run("ovs/route/add", "10.7.0.0/16", "a", "10.0.0.8",
                          NULL));
    for (int i = 0; i < 2; i++) {
        shown = show_routes();
        assert_non_null(strstr(shown, "Cached: 10.0.0.0/24 dev a"));
        assert_non_null(strstr(shown, "Cached: 10.9.0.0/16 dev a GW 10.0.0.9 "
                               "SRC 10.0.0.1"));
        assert_null(strstr(shown, "10.8.0.0"));
        assert_non_null(strstr(shown, "User: 10.7.0.0/16 dev a GW 10.0.0.8"));
        free(shown);
    }
    route_table_kdp_get_stats(&after);
    assert_int_equal(after.filled, before.filled + 2);

    /* It is empty again, except what users added. */
    OK(unit_route_del(own, &(struct unit_route) { .dst = "10.9.0.0/16" }));
    assert_string_equal(source_of("10.9.9.9"), "");
    assert_string_equal(source_of("10.7.9.9"), "10.0.0.1");
    free(unit_control_run("ovs/route/del", "10.7.0.0/16", NULL));
    assert_string_equal(source_of("10.7.9.9"), "");
    route_table_kdp_get_stats(&before);
    assert_int_equal(after.filled, before.filled);
}

/* A datapath in user space has the router filled. */
static void
the_router_follows_for_datapaths_in_user_space(void **state OVS_UNUSED)
{
    struct route_table_kdp_stats before, after;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    unit_wait_until(!strcmp(source_of("10.0.0.9"), "10.0.0.1"));
    route_table_kdp_get_stats(&before);
    has_userspace_datapath = true;
    unit_wait_until((turn(), route_table_kdp_get_stats(&after),
                     after.filled != before.filled));
    assert_int_equal(after.filled, before.filled + 1);
    assert_int_equal(after.asked, before.asked);
    assert_string_equal(source_of("10.0.0.9"), "10.0.0.1");
    route_table_kdp_get_stats(&before);
    assert_int_equal(before.asked, after.asked);
    OK(unit_ip_add(own, A, "10.3.0.1/24"));
    unit_wait_until(!strcmp(source_of("10.3.0.9"), "10.3.0.1"));
    route_table_kdp_get_stats(&after);
    assert_true(after.filled > before.filled);
    assert_int_equal(after.asked, before.asked);

    has_userspace_datapath = false;
    turn();
    assert_string_equal(source_of("10.0.0.9"), "10.0.0.1");
    route_table_kdp_get_stats(&before);
    assert_true(before.asked > after.asked);
    assert_int_equal(before.filled, after.filled);
}

static void
tunnels_look_again_when_a_carrier_changes(void **state OVS_UNUSED)
{
    struct unit_ns *other = unit_ns_create();
    uint64_t seq = route_table_get_change_seq();
    struct netdev *netdev;

    /* Whose peer is elsewhere, so that nothing else changes here. */
    OK(unit_link_add_veth(own, B + 1, "c", other, A, "c"));
    OK(unit_link_set_no_addresses(own, B + 1));
    OK(unit_link_set_up(own, B + 1, true));
    OK(unit_link_set_up(other, A, true));
    OK(unit_ip_add(own, B + 1, "10.0.0.1/24"));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9" }, NLM_F_EXCL));
    unit_wait_until(routed_to("c", &seq));
    OK(netdev_open("c", "system", &netdev));
    for (int i = 0; i < 4; i++) {
        OK(unit_link_set_up(other, A, i % 2));
        unit_wait_until(routed_to("c", &seq)
                        && netdev_get_carrier(netdev) == i % 2);
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
        TEST(changes_that_the_bridge_is_not_told_of_are_counted),
        TEST(a_tunnel_that_was_refused_is_tried_again),
        TEST(tunnels_follow_their_routes),
        TEST(tunnels_have_the_source_that_their_route_prefers),
        TEST(a_source_is_the_one_that_the_kernel_would_choose),
        TEST(tables_of_vrfs_are_not_looked_at),
        TEST(the_router_is_filled_to_be_shown),
        TEST(the_router_follows_for_datapaths_in_user_space),
        TEST(tunnels_look_again_when_a_carrier_changes),
    };
    int result;

    netdev_fixture_init(argv[0]);
    unit_control_start();
    result = cmocka_run_group_tests(tests, NULL, NULL);
    unit_control_stop();
    return result;
}
