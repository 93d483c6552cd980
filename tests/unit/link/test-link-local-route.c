/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: routes as the link listener keeps them, on the events of the
 * kernel, and those that go without an event. */

#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-resync.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "packets.h"
#include "timeval.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "harness/unit.h"
#include "unit/link/link-local-fixture.h"
#include "util.h"

static void
routes_come_and_go(void **state)
{
    struct fixture *f = *state;
    static const struct unit_route routes[] = {
        { .dst = "10.1.0.0/16", .ifindex = A },
        { .dst = "10.1.0.0/16", .ifindex = A, .priority = 100 },
        { .dst = "10.1.0.0/16", .ifindex = B, .priority = 200 },
        { .dst = "10.1.0.0/16", .ifindex = A, .table = 1000 },
        { .dst = "10.2.0.0/16", .gateway = "10.0.0.9" },
        { .dst = "0.0.0.0/0", .gateway = "10.0.0.9", .ifindex = A },
        { .dst = "10.3.0.1/32", .type = RTN_LOCAL, .ifindex = 1,
          .table = RT_TABLE_LOCAL },
        { .dst = "10.4.0.0/16", .type = RTN_BLACKHOLE },
        { .dst = "10.5.0.0/16", .type = RTN_UNREACHABLE },
        { .dst = "fd02::/64", .ifindex = A, .priority = 1024 },
        { .dst = "fd02::/64", .ifindex = A, .priority = 5 },
        { .dst = "fd03::/64", .gateway = "fd00::9" },
        { .dst = "::/0", .gateway = "fd00::9", .ifindex = A },
        { .dst = "fd04::/64", .type = RTN_BLACKHOLE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        WITHOUT_ASKING(OK(unit_route_add(f->own, &routes[i], NLM_F_EXCL)));
    }
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        WITHOUT_ASKING(OK(unit_route_del(f->own, &routes[i])));
    }
}

static void
replaced_routes_are_gone(void **state)
{
    static const struct {
        struct unit_route before, after;
    } tests[] = {
        { { .dst = "10.1.0.0/16", .gateway = "10.0.0.8" },
          { .dst = "10.1.0.0/16", .gateway = "10.0.0.9" } },
        { { .dst = "10.2.0.0/16", .ifindex = A },
          { .dst = "10.2.0.0/16", .ifindex = B } },
        { { .dst = "10.3.0.0/16", .ifindex = A },
          { .dst = "10.3.0.0/16", .type = RTN_BLACKHOLE } },
        { { .dst = "10.4.0.0/16", .ifindex = A },
          { .dst = "10.4.0.0/16", .ifindex = A, .ifindex2 = B } },
        { { .dst = "fd01::/64", .ifindex = A },
          { .dst = "fd01::/64", .ifindex = B } },
        { { .dst = "fd02::/64", .gateway = "fd00::8", .ifindex = A },
          { .dst = "fd02::/64", .gateway = "fd00::9", .ifindex = A } },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        OK(unit_route_add(f->own, &tests[i].before, NLM_F_EXCL));
        assert_equal(f);
        OK(unit_route_add(f->own, &tests[i].after, NLM_F_REPLACE));
        assert_equal(f);
        OK(unit_route_del(f->own, &tests[i].after));
        assert_equal(f);
    }
}

static void
several_next_hops_become_one_and_one_becomes_several(void **state)
{
    static const struct unit_route both = {
        .dst = "fd01::/64", .gateway = "fd00::8", .ifindex = A,
        .gateway2 = "fd00::9", .ifindex2 = A,
    };
    static const struct unit_route first = {
        .dst = "fd01::/64", .gateway = "fd00::8", .ifindex = A,
    };
    static const struct unit_route second = {
        .dst = "fd01::/64", .gateway = "fd00::9", .ifindex = A,
    };
    struct fixture *f = *state;

    OK(unit_route_add(f->own, &both, NLM_F_EXCL));
    assert_equal(f);
    OK(unit_route_del(f->own, &first));
    assert_equal(f);
    OK(unit_route_add(f->own, &first, NLM_F_APPEND));
    assert_equal(f);
    OK(unit_route_del(f->own, &second));
    assert_equal(f);
    OK(unit_route_del(f->own, &first));
    assert_equal(f);

    static const struct unit_route both4 = {
        .dst = "10.1.0.0/16", .ifindex = A, .ifindex2 = B,
    };
    OK(unit_route_add(f->own, &both4, NLM_F_EXCL));
    assert_equal(f);
    OK(unit_route_del(f->own, &both4));
    assert_equal(f);
}

/* Replaces a route 'n' times, each time another, and lets the listener run
 * after each. */
static void
replace_routes(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++) {
        OK(unit_route_add(f->own, &(struct unit_route) {
            .dst = "10.1.0.0/16", .ifindex = i % 2 ? A : B,
            .priority = 100 }, NLM_F_REPLACE));
        link_listener_run(f->listener);
    }
}

static bool
routes_are_right(struct fixture *f)
{
    char *d = unit_routes_diff(f->options.routes, f->own);
    bool right = !d;

    free(d);
    return right;
}

static void
dumps_of_routes_keep_their_distance(void **state)
{
    struct fixture *f = *state;
    uint64_t before = n_stale(f);

    /* The first change waits for nothing, the next ones for the time. */
    unit_clock_stop(time_msec() + 1000000);
    replace_routes(f, 2);
    assert_int_equal(n_stale(f), before + 1);
    assert_true(routes_are_right(f));
    replace_routes(f, 50);
    unit_clock_advance(LINK_ROUTES_MS - 1);
    replace_routes(f, 50);
    assert_int_equal(n_stale(f), before + 1);
    assert_false(link_listener_is_current(f->listener));
    assert_false(routes_are_right(f));
    unit_clock_advance(1);
    link_listener_run(f->listener);
    assert_int_equal(n_stale(f), before + 2);
    assert_true(link_listener_is_current(f->listener));
    assert_true(routes_are_right(f));

    /* Then there is peace. */
    unit_clock_advance(100 * LINK_ROUTES_MS);
    link_listener_run(f->listener);
    assert_int_equal(n_stale(f), before + 2);

    /* Dumps that take long keep more of it. */
    dump_duration = 10 * LINK_ROUTES_MS;
    replace_routes(f, 1);
    assert_int_equal(n_stale(f), before + 3);
    unit_clock_advance(LINK_ROUTES_REST * dump_duration - 1);
    replace_routes(f, 50);
    assert_int_equal(n_stale(f), before + 3);
    unit_clock_advance(1);
    link_listener_run(f->listener);
    assert_int_equal(n_stale(f), before + 4);
    assert_true(routes_are_right(f));

    /* A loss does not wait. */
    dump_duration = 0;
    replace_routes(f, 2);
    assert_false(routes_are_right(f));
    link_listener_resync(f->listener);
    assert_true(link_listener_catch_up(f->listener));
    assert_int_equal(n_stale(f), before + 4);
    assert_true(routes_are_right(f));
}

/* However many it is of, as long as events are left none is asked for. */
static void
a_burst_of_changes_ends_in_one_dump_of_routes(void **state)
{
    struct fixture *f = *state;
    uint64_t before = n_stale(f);

    unit_clock_stop(time_msec() + 1000000);
    for (int i = 0; i < 3 * LINK_RUN_DATAGRAMS; i++) {
        OK(unit_route_add(f->own, &(struct unit_route) {
            .dst = "10.1.0.0/16", .ifindex = i % 2 ? A : B,
            .ifindex2 = i % 2 ? B : A }, i ? NLM_F_REPLACE : NLM_F_EXCL));
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(n_stale(f), before);
        unit_clock_advance(10 * LINK_ROUTES_MS);
        link_listener_run(f->listener);
    }
    for (int i = 0; i < 3; i++) {
        unit_clock_advance(10 * LINK_ROUTES_MS);
        link_listener_run(f->listener);
        assert_int_equal(n_stale(f), before + 1);
    }
    assert_true(routes_are_right(f));
}

/* The main loop wakes up when it is time for the next dump. */
static void
the_next_dump_of_routes_is_waited_for(void **state)
{
    struct fixture *f = *state;
    long long int start;

    do {
        replace_routes(f, 2);
    } while (link_listener_is_current(f->listener));
    start = unit_now();
    while (!link_listener_is_current(f->listener)) {
        link_listener_wait(f->listener);
        poll_timer_wait(UNIT_PATIENCE);
        poll_block();
        link_listener_run(f->listener);
    }
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    assert_true(routes_are_right(f));
}

/* Makes next hop object 'id'.  Skips the test on a kernel without them. */
static void
set_nexthop(struct fixture *f, uint32_t id, int ifindex)
{
    int error = unit_nexthop_set(f->own, id, ifindex);

    if (error == EOPNOTSUPP) {
        print_message("this kernel has no such objects\n");
        skip();
    }
    OK(error);
}

/* Number of routes to 10.1.0.0/16. */
static size_t
n_routes_to_net(struct fixture *f)
{
    struct in6_addr net;
    struct link_route *routes;
    size_t n_all, n = 0;

    in6_addr_set_mapped_ipv4(&net, htonl(0x0a010000));
    routes = link_routes_get(f->options.routes, &n_all);
    for (size_t i = 0; i < n_all; i++) {
        n += (routes[i].dst_len == 112
              && ipv6_addr_equals(&routes[i].dst, &net));
    }
    free(routes);
    return n;
}

/* The kernel says what the object stands for.  No route has to be asked for
 * when one comes or goes. */
static void
next_hops_may_be_objects(void **state)
{
    struct fixture *f = *state;
    struct unit_route route = { .dst = "10.1.0.0/16", .nh_id = 7 };

    set_nexthop(f, 7, A);
    WITHOUT_ASKING(OK(unit_route_add(f->own, &route, NLM_F_EXCL)));
    assert_int_equal(n_routes_to_net(f), 1);
    WITHOUT_ASKING(OK(unit_route_del(f->own, &route)));
    assert_int_equal(n_routes_to_net(f), 0);
    OK(unit_route_add(f->own, &route, NLM_F_EXCL));
    OK(unit_nexthop_set(f->own, 7, B));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 1);

    /* Objects that no route uses are of no interest. */
    WITHOUT_ASKING(OK(unit_nexthop_set(f->own, 8, A)));
    WITHOUT_ASKING(OK(unit_nexthop_set(f->own, 8, B)));
    WITHOUT_ASKING(OK(unit_nexthop_del(f->own, 8)));

    /* IPv4 routes go with theirs, of which nothing else is said. */
    OK(unit_nexthop_del(f->own, 7));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 0);
}

/* A route with several next hops is none of the table's.  With one that is
 * left it is. */
static void
a_group_of_objects_may_shrink_to_one(void **state)
{
    static const uint32_t members[] = { 7, 8 };
    struct fixture *f = *state;
    struct unit_route route = { .dst = "10.1.0.0/16", .nh_id = 9 };

    set_nexthop(f, 7, A);
    set_nexthop(f, 8, B);
    OK(unit_nexthop_set_group(f->own, 9, members, ARRAY_SIZE(members)));
    WITHOUT_ASKING(OK(unit_route_add(f->own, &route, NLM_F_EXCL)));
    WITHOUT_ASKING(OK(unit_route_del(f->own, &route)));
    WITHOUT_ASKING(OK(unit_route_add(f->own, &route, NLM_F_EXCL)));
    assert_int_equal(n_routes_to_net(f), 0);
    OK(unit_nexthop_del(f->own, 7));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 1);
    OK(unit_nexthop_del(f->own, 8));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 0);

    /* If it was there when the listener started, too. */
    set_nexthop(f, 7, A);
    set_nexthop(f, 8, B);
    OK(unit_nexthop_set_group(f->own, 9, members, ARRAY_SIZE(members)));
    OK(unit_route_add(f->own, &route, NLM_F_EXCL));
    link_listener_resync(f->listener);
    assert_equal(f);
    OK(unit_nexthop_set_group(f->own, 9, members, 1));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 1);
}

/* Routes that the table cannot tell apart. */
static void
routes_may_differ_in_their_source_alone(void **state)
{
    static const struct unit_route first = {
        .dst = "10.1.0.0/16", .ifindex = A, .source = "10.0.0.1",
    };
    static const struct unit_route second = {
        .dst = "10.1.0.0/16", .ifindex = A, .source = "10.0.0.2",
    };
    struct fixture *f = *state;

    OK(unit_ip_add(f->own, A, "10.0.0.2/24"));
    OK(unit_route_add(f->own, &first, NLM_F_EXCL));
    OK(unit_route_add(f->own, &second, NLM_F_APPEND));
    assert_equal(f);
    OK(unit_route_del(f->own, &first));
    assert_equal(f);
    OK(unit_route_del(f->own, &second));
    assert_equal(f);

    /* And if both were there when the listener started. */
    OK(unit_route_add(f->own, &first, NLM_F_EXCL));
    OK(unit_route_add(f->own, &second, NLM_F_APPEND));
    link_listener_resync(f->listener);
    assert_equal(f);
    OK(unit_route_del(f->own, &second));
    assert_equal(f);
}

static void
routes_go_with_the_address_that_they_prefer(void **state)
{
    struct fixture *f = *state;

    OK(unit_ip_add(f->own, B, "192.168.0.1/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .ifindex = A, .source = "192.168.0.1" }, 0));
    assert_equal(f);
    OK(unit_ip_del(f->own, B, "192.168.0.1/24"));
    assert_equal(f);

    /* The last address of a link takes its other routes along. */
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_ip_del(f->own, A, "10.0.0.1/24"));
    assert_equal(f);
    assert_true(n_stale(f) > 0);

    /* And those that claim to come with an address. */
    OK(unit_ip_add(f->own, A, "10.0.0.1/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .ifindex = A, .protocol = RTPROT_KERNEL }, 0));
    assert_equal(f);
    OK(unit_ip_del(f->own, A, "10.0.0.1/24"));
    assert_equal(f);
}

/* The kernel removes IPv4 routes without a word. */
static void
routes_go_with_a_link_that_goes_down(void **state)
{
    struct fixture *f = *state;

    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "fd01::/64", .gateway = "fd00::9", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, false));
    assert_equal(f);
    assert_int_equal(n_stale(f), 1);
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);

    /* Down and up again before anybody looks. */
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, false));
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);
}

/* True if link 'ifindex' is up and has no carrier, as the kernel announced. */
static bool
has_no_carrier(struct fixture *f, int ifindex)
{
    struct link_info link;

    link_listener_run(f->listener);
    return (link_table_find(f->table, LINK_NSID_LOCAL, ifindex, &link)
            && link.flags & IFF_UP && !(link.flags & IFF_RUNNING));
}

/* The kernel removes next hop objects of a link that loses its carrier, with
 * their IPv4 routes, without a word.  Other routes through the link stay. */
static void
routes_of_an_object_go_with_the_carrier(void **state)
{
    struct fixture *f = *state;
    uint64_t before;

    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.2.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    set_nexthop(f, 7, A);
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .nh_id = 7 }, NLM_F_EXCL));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 1);
    OK(unit_link_set_up(f->own, B, false));
    unit_wait_until(has_no_carrier(f, A));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 0);

    /* Without such a route nothing is asked for. */
    OK(unit_link_set_up(f->own, B, true));
    unit_wait_until(!has_no_carrier(f, A));
    before = n_stale(f);
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    OK(unit_link_set_up(f->own, B, false));
    unit_wait_until(has_no_carrier(f, A));
    assert_equal(f);
    assert_int_equal(n_routes_to_net(f), 1);
    assert_int_equal(n_stale(f), before);
}

static void
routes_of_ipv6_may_go_without_a_word(void **state)
{
    struct fixture *f = *state;

    set_sysctl("ipv6/route/skip_notify_on_dev_down", "1");
    OK(unit_ip_del(f->own, A, "10.0.0.1/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "fd01::/64", .gateway = "fd00::9", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, false));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);
    OK(unit_link_del(f->own, A));
    assert_equal(f);
}

static void
a_link_without_routes_makes_nothing_stale(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add(f->own, "ifb", B + 1, "c"));
    OK(unit_link_set_no_addresses(f->own, B + 1));
    assert_equal(f);
    WITHOUT_ASKING(OK(unit_link_set_up(f->own, B + 1, true)));
    WITHOUT_ASKING(OK(unit_link_set_up(f->own, B + 1, false)));
    WITHOUT_ASKING(OK(unit_link_set_mtu(f->own, B + 1, 1300)));
    WITHOUT_ASKING(OK(unit_link_del(f->own, B + 1)));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(routes_come_and_go),
        TEST(replaced_routes_are_gone),
        TEST(several_next_hops_become_one_and_one_becomes_several),
        TEST(dumps_of_routes_keep_their_distance),
        TEST(a_burst_of_changes_ends_in_one_dump_of_routes),
        TEST(the_next_dump_of_routes_is_waited_for),
        TEST(next_hops_may_be_objects),
        TEST(a_group_of_objects_may_shrink_to_one),
        TEST(routes_may_differ_in_their_source_alone),
        TEST(routes_go_with_the_address_that_they_prefer),
        TEST(routes_go_with_a_link_that_goes_down),
        TEST(routes_of_an_object_go_with_the_carrier),
        TEST(routes_of_ipv6_may_go_without_a_word),
        TEST(a_link_without_routes_makes_nothing_stale),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
