/* SPDX-License-Identifier: Apache-2.0 */

/* Questions about routes, and when to ask them again (invariant L8): a route
 * in a table that nobody uses wakes nobody, and a flood of others is looked at
 * in bounded intervals. */

#include <config.h>
#include "link/link-route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "nl/nl-conn.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "packets.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "harness/unit.h"
#include "util.h"

/* Two links, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001

#define OK(CALL) assert_int_equal(CALL, 0)

struct fixture {
    struct unit_ns *own;        /* Private to the test. */
    struct nl_conn *conn;
    struct link_route_watch *watch;
};

/* Makes the namespace of the thread one without IPv6. */
static void
disable_ipv6(void)
{
    static const char *const paths[] = {
        "/proc/sys/net/ipv6/conf/all/disable_ipv6",
        "/proc/sys/net/ipv6/conf/default/disable_ipv6",
    };

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        int fd = open(paths[i], O_WRONLY);

        unit_check(fd >= 0 && write(fd, "1", 1) == 1);
        close(fd);
    }
}

static int
setup__(void **state, bool ipv6)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_check(!unshare(CLONE_NEWNET));
    if (!ipv6) {
        disable_ipv6();
    }
    f->own = unit_ns_own();
    for (int i = A; i <= B; i++) {
        OK(unit_link_add(f->own, "ifb", i, i == A ? "a" : "b"));
        OK(unit_link_set_up(f->own, i, true));
    }
    OK(unit_link_set_up(f->own, 1, true));
    OK(unit_ip_add(f->own, A, "10.0.0.1/24"));
    if (ipv6) {
        OK(unit_ip_add(f->own, A, "fd00::1/64"));
    }
    OK(unit_ip_add(f->own, B, "10.1.0.1/24"));
    OK(nl_conn_open(NETLINK_ROUTE, &f->conn));
    OK(link_route_watch_open(&f->watch));
    *state = f;
    return 0;
}

static int
setup(void **state)
{
    return setup__(state, true);
}

/* IPv6 goes on making routes for some time after a link came up. */
static int
setup_quiet(void **state)
{
    return setup__(state, false);
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_clock_run();
    link_route_watch_close(f->watch);
    nl_conn_close(f->conn);
    unit_ns_destroy(f->own);
    free(f);
    return 0;
}

/* Questions. */

static struct in6_addr
address(const char *text)
{
    struct in6_addr ip6;
    ovs_be32 ip;

    if (inet_pton(AF_INET, text, &ip) == 1) {
        in6_addr_set_mapped_ipv4(&ip6, ip);
    } else {
        unit_check(inet_pton(AF_INET6, text, &ip6) == 1);
    }
    return ip6;
}

/* Asserts that the way to 'dst' is "INDEX via GATEWAY src SOURCE", with "-"
 * for what there is not, or "error". */
static void
assert_way__(struct fixture *f, uint32_t mark, const char *dst,
             const char *src, const char *expected)
{
    struct in6_addr dst6 = address(dst), src6 = address(src ? src : dst);
    struct ds s = DS_EMPTY_INITIALIZER;
    struct link_route route;

    if (link_route_ask(f->conn, mark, &dst6, src ? &src6 : NULL, &route)) {
        ds_put_cstr(&s, "error");
    } else {
        ds_put_format(&s, "%d via ", route.ifindex);
        if (ipv6_addr_is_set(&route.gateway)) {
            ipv6_format_mapped(&route.gateway, &s);
        } else {
            ds_put_char(&s, '-');
        }
        ds_put_cstr(&s, " src ");
        if (ipv6_addr_is_set(&route.source)) {
            ipv6_format_mapped(&route.source, &s);
        } else {
            ds_put_char(&s, '-');
        }
        ds_put_cstr(&s, route.local ? " local" : "");
    }
    assert_string_equal(ds_cstr(&s), expected);
    ds_destroy(&s);
}
#define assert_way(F, DST, EXPECTED) assert_way__(F, 0, DST, NULL, EXPECTED)

static void
the_kernel_says_the_way(void **state)
{
    struct fixture *f = *state;

    assert_way(f, "10.0.0.9", "1000 via - src 10.0.0.1");
    assert_way(f, "fd00::9", "1000 via - src fd00::1");
    assert_way(f, "10.9.0.1", "error");
    assert_way(f, "fd09::1", "error");
    OK(unit_ip_add(f->own, A, "10.0.0.2/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9", .source = "10.0.0.2" },
        NLM_F_EXCL));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "fd09::/64", .gateway = "fd00::9" }, NLM_F_EXCL));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.9.9.0/24", .type = RTN_BLACKHOLE }, NLM_F_EXCL));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "fd09::9/128", .type = RTN_UNREACHABLE }, NLM_F_EXCL));
    assert_way(f, "10.9.0.1", "1000 via 10.0.0.9 src 10.0.0.2");
    assert_way(f, "fd09::1", "1000 via fd00::9 src fd00::1");
    assert_way(f, "10.9.9.1", "error");
    assert_way(f, "fd09::9", "error");

    /* Not the loopback device, unless it has the address. */
    assert_way(f, "10.1.0.1", "1001 via - src 10.1.0.1 local");
    assert_way(f, "127.0.0.1", "1 via - src 127.0.0.1 local");

    /* Packets to several go out of a device, too. */
    assert_way(f, "10.0.0.255", "1000 via - src 10.0.0.1");
}

static void
several_next_hops_and_objects_are_a_way(void **state)
{
    static const uint32_t members[] = { 1, 2 };
    struct fixture *f = *state;

    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.8", .ifindex = A,
        .gateway2 = "10.0.0.9", .ifindex2 = A }, NLM_F_EXCL));
    OK(unit_nexthop_set(f->own, 1, B));
    OK(unit_nexthop_set(f->own, 2, B));
    OK(unit_nexthop_set_group(f->own, 3, members, ARRAY_SIZE(members)));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.8.0.0/16", .nh_id = 1 }, NLM_F_EXCL));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.7.0.0/16", .nh_id = 3 }, NLM_F_EXCL));

    struct in6_addr dst = address("10.9.1.1");
    struct link_route route;
    OK(link_route_ask(f->conn, 0, &dst, NULL, &route));
    assert_int_equal(route.ifindex, A);
    assert_true(ipv6_addr_is_set(&route.gateway));
    assert_way(f, "10.8.1.1", "1001 via - src 10.1.0.1");
    assert_way(f, "10.7.1.1", "1001 via - src 10.1.0.1");
}

static void
rules_choose_the_way(void **state)
{
    struct fixture *f = *state;

    /* A table that no rule leads to, such as that of a VRF, is not used. */
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.1.0.9", .table = 1000 },
        NLM_F_EXCL));
    assert_way(f, "10.9.0.1", "error");
    OK(unit_rule_add(f->own, "10.1.0.1/32", 0, 1000));
    OK(unit_rule_add(f->own, NULL, 5, 1000));
    assert_way(f, "10.9.0.1", "error");
    assert_way__(f, 0, "10.9.0.1", "10.1.0.1", "1001 via 10.1.0.9 src -");
    assert_way__(f, 5, "10.9.0.1", NULL, "1001 via 10.1.0.9 src 10.1.0.1");

    /* An address that the host does not have is no source. */
    assert_way__(f, 0, "10.0.0.9", "10.5.0.1", "error");
}

/* Answers. */

static struct nlmsghdr *
put_answer(void *buf, uint8_t family, uint8_t type, uint32_t ifindex)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct rtmsg *rtm = mnl_nlmsg_put_extra_header(nlh, sizeof *rtm);

    nlh->nlmsg_type = RTM_NEWROUTE;
    rtm->rtm_family = family;
    rtm->rtm_type = type;
    if (ifindex) {
        mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
    }
    return nlh;
}

static void
answers_are_checked(void **state OVS_UNUSED)
{
    static const char via6[18] = "\x0a\0\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct in6_addr gateway = address("fd00::1");
    struct link_route route;
    struct nlmsghdr *nlh;

    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 7);
    mnl_attr_put(nlh, RTA_VIA, sizeof via6, via6);
    OK(link_route_parse(nlh, &route));
    assert_int_equal(route.ifindex, 7);
    assert_false(route.local);
    assert_true(ipv6_addr_equals(&route.gateway, &gateway));
    assert_false(ipv6_addr_is_set(&route.source));

    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 7);
    mnl_attr_put(nlh, RTA_VIA, sizeof via6 - 1, via6);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 7);
    mnl_attr_put(nlh, RTA_VIA, 1, via6);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET6, RTN_UNICAST, 7);
    mnl_attr_put_u32(nlh, RTA_GATEWAY, 1);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 7);
    mnl_attr_put(nlh, RTA_PREFSRC, 16, &gateway);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 0);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 0x80000000);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET, RTN_PROHIBIT, 7);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_UNIX, RTN_UNICAST, 7);
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = put_answer(buf, AF_INET, RTN_UNICAST, 7);
    nlh->nlmsg_type = RTM_DELROUTE;
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
    nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = RTM_NEWROUTE;
    assert_int_equal(link_route_parse(nlh, &route), EINVAL);
}

/* Watches. */

/* Stops the clock when all that the kernel said was looked at. */
static void
be_quiet(struct fixture *f)
{
    unit_clock_stop(1000000);
    do {
        unit_clock_advance(LINK_ROUTE_WATCH_MS);
    } while (link_route_watch_run(f->watch));
}

static void
routes_of_unused_tables_wake_nobody(void **state)
{
    struct fixture *f = *state;

    be_quiet(f);
    for (uint32_t table = 1; table < 2000; table++) {
        if (table < RT_TABLE_DEFAULT || table > RT_TABLE_LOCAL) {
            OK(unit_route_add(f->own, &(struct unit_route) {
                .dst = "10.9.0.0/16", .gateway = "10.1.0.9",
                .table = table }, NLM_F_EXCL));
        }
    }

    /* Nothing came on the socket. */
    assert_false(link_route_watch_run(f->watch));

    static const uint32_t used[] = { RT_TABLE_DEFAULT, RT_TABLE_MAIN };
    for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
        struct unit_route route = { .dst = "10.9.0.0/16",
                                    .gateway = "10.1.0.9",
                                    .table = used[i] };

        OK(unit_route_add(f->own, &route, NLM_F_EXCL));
        assert_true(link_route_watch_run(f->watch));
        unit_clock_advance(LINK_ROUTE_WATCH_MS);
        OK(unit_route_del(f->own, &route));
        assert_true(link_route_watch_run(f->watch));
        unit_clock_advance(LINK_ROUTE_WATCH_MS);
        assert_false(link_route_watch_run(f->watch));
    }
    OK(unit_rule_add(f->own, NULL, 5, 1000));
    assert_true(link_route_watch_run(f->watch));
    unit_clock_advance(LINK_ROUTE_WATCH_MS);
    OK(unit_nexthop_set(f->own, 1, B));
    assert_true(link_route_watch_run(f->watch));
    unit_clock_advance(LINK_ROUTE_WATCH_MS);
    assert_false(link_route_watch_run(f->watch));
}

static void
a_flood_is_looked_at_once_in_an_interval(void **state)
{
    struct fixture *f = *state;
    int n = 0;

    be_quiet(f);
    for (int i = 0; i < 4 * LINK_ROUTE_WATCH_MS; i++) {
        char *dst = xasprintf("10.9.%d.%d/32", i / 256, i % 256);

        OK(unit_route_add(f->own, &(struct unit_route) {
            .dst = dst, .gateway = "10.0.0.9" }, NLM_F_EXCL));
        n += link_route_watch_run(f->watch);
        unit_clock_advance(1);
        free(dst);
    }
    assert_int_equal(n, 4);

    /* What came last is looked at, too, and nothing after that. */
    unit_clock_advance(LINK_ROUTE_WATCH_MS);
    assert_true(link_route_watch_run(f->watch));
    unit_clock_advance(LINK_ROUTE_WATCH_MS);
    assert_false(link_route_watch_run(f->watch));
}

static void
other_changes_count(void **state)
{
    struct fixture *f = *state;

    be_quiet(f);
    link_route_watch_note(f->watch);
    assert_true(link_route_watch_run(f->watch));
    link_route_watch_note(f->watch);
    assert_false(link_route_watch_run(f->watch));
    unit_clock_advance(LINK_ROUTE_WATCH_MS - 1);
    assert_false(link_route_watch_run(f->watch));
    unit_clock_advance(1);
    assert_true(link_route_watch_run(f->watch));
    unit_clock_advance(LINK_ROUTE_WATCH_MS);
    assert_false(link_route_watch_run(f->watch));
}

/* Each would sleep for ever otherwise. */
static void
the_process_wakes_up_to_look(void **state)
{
    struct fixture *f = *state;

    be_quiet(f);
    unit_clock_run();
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9" }, NLM_F_EXCL));
    while (!link_route_watch_run(f->watch)) {
        link_route_watch_wait(f->watch);
        poll_block();
    }
    link_route_watch_note(f->watch);
    while (!link_route_watch_run(f->watch)) {
        link_route_watch_wait(f->watch);
        poll_block();
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(the_kernel_says_the_way),
        TEST(several_next_hops_and_objects_are_a_way),
        TEST(rules_choose_the_way),
        cmocka_unit_test(answers_are_checked),
#define QUIET(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_quiet, teardown)
        QUIET(routes_of_unused_tables_wake_nobody),
        QUIET(a_flood_is_looked_at_once_in_an_interval),
        QUIET(other_changes_count),
        TEST(the_process_wakes_up_to_look),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
