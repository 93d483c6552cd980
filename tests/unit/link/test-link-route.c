/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L5: routes, and when they have to be asked for anew. */

#include <config.h>
#include "link/link-route.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

#define LINK 7
#define OTHER 8

static int
setup(void **state)
{
    *state = link_routes_create();
    return 0;
}

static int
teardown(void **state)
{
    link_routes_destroy(*state);
    return 0;
}

/* A view and what it points to. */
struct route {
    struct link_route_view view;
    struct in6_addr dst, gateway;
};

/* Makes '*route' a route to 'dst' ("ADDRESS/LENGTH") through 'gateway', which
 * may be NULL, and LINK, in the main table, of protocol "static". */
static void
route_init(struct route *route, const char *dst, const char *gateway)
{
    struct link_route_view *view = &route->view;
    char address[INET6_ADDRSTRLEN];

    memset(route, 0, sizeof *route);
    ovs_strlcpy(address, dst, MIN(strcspn(dst, "/") + 1, sizeof address));
    view->family = strchr(dst, ':') ? AF_INET6 : AF_INET;
    view->type = RTN_UNICAST;
    view->protocol = RTPROT_STATIC;
    view->table = RT_TABLE_MAIN;
    view->oif = LINK;
    view->dst_len = atoi(strchr(dst, '/') + 1);
    assert_int_equal(inet_pton(view->family, address, &route->dst), 1);
    view->dst = view->dst_len ? &route->dst : NULL;
    if (gateway) {
        assert_int_equal(inet_pton(view->family, gateway, &route->gateway), 1);
        view->gateway = &route->gateway;
    }
}

static void
add(struct link_routes *routes, const struct route *route)
{
    link_routes_update(routes, &route->view, false);
}

/* As a dump tells it. */
static void
enter(struct link_routes *routes, const struct route *route)
{
    link_routes_enter(routes, &route->view);
}

static void
del(struct link_routes *routes, const struct route *route)
{
    link_routes_update(routes, &route->view, true);
}

/* Enters a route of link 'ifindex' that nothing else depends on. */
static void
add_simple(struct link_routes *routes, const char *dst, int ifindex,
           uint8_t protocol)
{
    struct route route;

    route_init(&route, dst, NULL);
    route.view.oif = ifindex;
    route.view.protocol = protocol;
    add(routes, &route);
}

static void
assert_stale(struct link_routes *routes)
{
    assert_true(link_routes_is_stale(routes));
    link_routes_mark(routes);
    link_routes_sweep(routes);
    assert_false(link_routes_is_stale(routes));
}

static void
assert_address(struct in6_addr got, const char *expected)
{
    char string[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, &got, string, sizeof string);
    assert_string_equal(string, expected);
}

/* Returns the only route. */
static struct link_route
only_route(struct link_routes *routes)
{
    struct link_route *all, route;
    size_t n;

    all = link_routes_get(routes, &n);
    assert_int_equal(n, 1);
    route = all[0];
    free(all);
    return route;
}

static void
routes_are_told_in_full(void **state)
{
    struct link_route got;
    struct route route;

    route_init(&route, "10.1.0.0/16", "10.0.0.1");
    route.view.priority = 100;
    route.view.mark = 5;
    route.view.table = 1000;
    add(*state, &route);
    got = only_route(*state);
    assert_address(got.dst, "::ffff:10.1.0.0");
    assert_int_equal(got.dst_len, 96 + 16);
    assert_address(got.gateway, "::ffff:10.0.0.1");
    assert_int_equal(got.ifindex, LINK);
    assert_int_equal(got.priority, 100);
    assert_int_equal(got.mark, 5);
    assert_int_equal(got.table, 1000);
    assert_false(got.local);
    del(*state, &route);
    assert_int_equal(link_routes_count(*state), 0);

    route_init(&route, "fd00::1/128", NULL);
    route.view.type = RTN_LOCAL;
    add(*state, &route);
    got = only_route(*state);
    assert_address(got.dst, "fd00::1");
    assert_int_equal(got.dst_len, 128);
    assert_address(got.gateway, "::");
    assert_true(got.local);
    assert_false(link_routes_is_stale(*state));
}

static void
default_routes_of_both_families_are_two(void **state)
{
    struct route route;

    route_init(&route, "0.0.0.0/0", "10.0.0.1");
    add(*state, &route);
    assert_address(only_route(*state).dst, "::ffff:0.0.0.0");
    assert_int_equal(only_route(*state).dst_len, 96);
    route_init(&route, "::/0", "fe80::1");
    add(*state, &route);
    assert_int_equal(link_routes_count(*state), 2);
    del(*state, &route);
    assert_address(only_route(*state).gateway, "::ffff:10.0.0.1");
    assert_false(link_routes_is_stale(*state));
}

/* Each difference makes another route. */
static void
what_the_kernel_tells_apart_is_told_apart(void **state)
{
    struct route route;
    size_t n = 0;

#define DIFFERENT(CHANGE)                                       \
    do {                                                        \
        route_init(&route, "10.1.0.0/16", "10.0.0.1");          \
        CHANGE;                                                 \
        add(*state, &route);                                    \
        assert_int_equal(link_routes_count(*state), ++n);       \
    } while (0)
    DIFFERENT((void) 0);
    DIFFERENT(route.view.dst_len = 17);
    DIFFERENT(route.view.priority = 1);
    DIFFERENT(route.view.table = RT_TABLE_LOCAL);
    DIFFERENT(route.view.oif = OTHER);
    DIFFERENT(route.view.tos = 4);
    DIFFERENT(route.view.type = RTN_LOCAL);
    DIFFERENT(route.gateway.s6_addr[3] = 2);
    DIFFERENT(route.view.gateway = NULL);
    DIFFERENT(route.view.source = "\n\0\0\1");
    DIFFERENT(route.dst.s6_addr[1] = 2);
    assert_false(link_routes_is_stale(*state));
}

static void
what_changes_nothing_is_no_change(void **state)
{
    struct route route;
    uint64_t seqno;

    route_init(&route, "10.1.0.0/16", NULL);
    add(*state, &route);
    seqno = link_routes_seqno(*state);
    add(*state, &route);
    assert_int_equal(link_routes_seqno(*state), seqno);
    route.view.mark = 1;
    add(*state, &route);
    assert_true(link_routes_seqno(*state) > seqno);
    assert_int_equal(only_route(*state).mark, 1);
}

static void
other_routes_are_ignored(void **state)
{
    static const uint8_t types[] = {
        RTN_UNSPEC, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST, RTN_BLACKHOLE,
        RTN_UNREACHABLE, RTN_PROHIBIT, RTN_THROW, RTN_NAT,
    };
    struct route route;

    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        route_init(&route, "10.1.0.0/16", NULL);
        route.view.type = types[i];
        add(*state, &route);
        del(*state, &route);
    }
    route_init(&route, "10.1.0.0/16", NULL);
    route.view.scope = RT_SCOPE_NOWHERE;
    add(*state, &route);
    del(*state, &route);
    route_init(&route, "10.1.0.0/16", NULL);
    route.view.oif = 0;
    add(*state, &route);
    del(*state, &route);

    /* Of a cache, and of another family, whatever else they say. */
    route_init(&route, "fd00::/64", NULL);
    route.view.cloned = route.view.replace = route.view.several = true;
    add(*state, &route);
    del(*state, &route);
    route.view.cloned = false;
    route.view.family = AF_MPLS;
    add(*state, &route);
    del(*state, &route);

    assert_int_equal(link_routes_count(*state), 0);
    assert_int_equal(link_routes_seqno(*state), 0);
    assert_false(link_routes_is_stale(*state));
}

static void
a_link_that_goes_down_with_routes_makes_stale(void **state)
{
    add_simple(*state, "10.1.0.0/16", LINK, RTPROT_STATIC);
    link_routes_link_down(*state, LINK);

    /* The kernel may yet tell. */
    assert_false(link_routes_is_stale(*state));
    link_routes_check_stale(*state);
    assert_stale(*state);
    assert_int_equal(link_routes_count(*state), 0);

    /* Those of IPv6, and those that came with an address, too. */
    add_simple(*state, "fd00::/64", LINK, RTPROT_KERNEL);
    link_routes_link_down(*state, LINK);
    link_routes_check_stale(*state);
    assert_stale(*state);
}

static void
a_link_whose_routes_were_all_told_makes_nothing_stale(void **state)
{
    struct route route;

    route_init(&route, "fd00::/64", NULL);
    add(*state, &route);
    link_routes_link_down(*state, LINK);
    del(*state, &route);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));

    /* What it gets later has nothing to do with that. */
    add(*state, &route);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));
}

static void
a_link_without_routes_makes_nothing_stale(void **state)
{
    add_simple(*state, "10.1.0.0/16", LINK, RTPROT_STATIC);
    link_routes_link_down(*state, OTHER);
    add_simple(*state, "10.2.0.0/16", OTHER, RTPROT_STATIC);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));
}

static void
a_sweep_forgets_links_that_went_down_before(void **state)
{
    add_simple(*state, "10.1.0.0/16", LINK, RTPROT_STATIC);
    link_routes_link_down(*state, LINK);
    link_routes_link_down(*state, LINK);
    link_routes_mark(*state);
    add_simple(*state, "10.1.0.0/16", LINK, RTPROT_STATIC);
    link_routes_sweep(*state);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));
    assert_int_equal(link_routes_count(*state), 1);

    /* And destroying it with links that are down leaks nothing. */
    link_routes_link_down(*state, LINK);
    link_routes_destroy(NULL);
}

/* Says that address 'string' of link 'ifindex' went, which was the 'last' IPv4
 * one or not, and that all was told. */
static void
lose_address(struct link_routes *routes, int ifindex, const char *string,
             bool last)
{
    struct in6_addr ip;
    struct link_addr_view view = {
        .family = strchr(string, ':') ? AF_INET6 : AF_INET,
        .ifindex = ifindex, .address = &ip,
    };

    assert_int_equal(inet_pton(view.family, string, &ip), 1);
    view.address_len = view.family == AF_INET ? 4 : 16;
    link_routes_addr_gone(routes, &view, last);
    link_routes_check_stale(routes);
}

/* The kernel removes the IPv4 routes of a link with its last address. */
static void
the_last_address_that_goes_makes_stale_if_its_link_has_routes(void **state)
{
    add_simple(*state, "10.1.0.0/16", LINK, RTPROT_KERNEL);
    add_simple(*state, "fd00::/64", OTHER, RTPROT_STATIC);
    lose_address(*state, LINK, "fd00::1", true);
    lose_address(*state, OTHER, "10.1.0.1", true);
    lose_address(*state, LINK, "10.1.0.1", false);
    assert_false(link_routes_is_stale(*state));
    lose_address(*state, LINK, "10.1.0.1", true);
    assert_stale(*state);
}

/* The kernel removes the routes that prefer an address as their source. */
static void
an_address_that_goes_makes_stale_if_routes_prefer_it(void **state)
{
    struct in6_addr source;
    struct route route;

    assert_int_equal(inet_pton(AF_INET, "10.0.0.1", &source), 1);
    route_init(&route, "10.1.0.0/16", NULL);
    route.view.source = &source;
    add(*state, &route);
    lose_address(*state, OTHER, "10.0.0.2", false);
    assert_false(link_routes_is_stale(*state));
    lose_address(*state, OTHER, "10.0.0.1", false);
    assert_stale(*state);
}

static void
an_address_whose_routes_were_all_told_makes_nothing_stale(void **state)
{
    struct in6_addr source = IN6ADDR_ANY_INIT;
    struct link_addr_view view = {
        .family = AF_INET, .ifindex = LINK, .address = &source,
        .address_len = 4,
    };
    struct route route;

    route_init(&route, "10.1.0.0/16", NULL);
    route.view.source = &source;
    add(*state, &route);
    link_routes_addr_gone(*state, &view, true);
    del(*state, &route);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));

    view.address = NULL;
    link_routes_addr_gone(*state, &view, true);
}

static void
several_next_hops_make_stale_and_are_not_entered(void **state)
{
    struct route route;

    route_init(&route, "10.1.0.0/16", NULL);
    route.view.several = true;
    route.view.oif = 0;
    add(*state, &route);
    assert_stale(*state);
    del(*state, &route);
    assert_stale(*state);

    /* Even if the kernel tells a device with them. */
    route.view.oif = LINK;
    add(*state, &route);
    assert_int_equal(link_routes_count(*state), 0);
    assert_stale(*state);
}

static void
links_have_routes_or_not(void **state)
{
    struct route route;

    assert_false(link_routes_has_link(*state, LINK));
    route_init(&route, "10.1.0.0/16", "10.0.0.1");
    add(*state, &route);
    assert_true(link_routes_has_link(*state, LINK));
    assert_false(link_routes_has_link(*state, LINK + 1));
    del(*state, &route);
    assert_false(link_routes_has_link(*state, LINK));
}

/* Of a next hop object, the kernel says what it stands for. */
static void
a_next_hop_object_is_known_by_its_id(void **state)
{
    struct route route, single;
    uint64_t seqno;

    route_init(&single, "10.1.0.0/16", "10.0.0.1");
    single.view.nh_id = 1;
    add(*state, &single);
    assert_int_equal(only_route(*state).ifindex, LINK);
    del(*state, &single);
    assert_int_equal(link_routes_count(*state), 0);
    assert_false(link_routes_is_stale(*state));

    /* Several, or something that the kernel does not tell. */
    route_init(&route, "10.1.0.0/16", NULL);
    route.view.nh_id = 2;
    seqno = link_routes_seqno(*state);
    for (int i = 0; i < 2; i++) {
        size_t n;

        route.view.several = !i;
        route.view.oif = i ? 0 : LINK;
        add(*state, &route);
        assert_int_equal(link_routes_count(*state), 0);
        free(link_routes_get(*state, &n));
        assert_int_equal(n, 0);
        link_routes_nexthop_changed(*state, 1, false);
        assert_false(link_routes_is_stale(*state));
        link_routes_nexthop_changed(*state, 2, false);
        assert_true(link_routes_is_stale(*state));
        link_routes_mark(*state);
        enter(*state, &route);
        link_routes_sweep(*state);
        del(*state, &route);
        link_routes_nexthop_changed(*state, 2, false);
        assert_false(link_routes_is_stale(*state));
    }
    assert_int_equal(link_routes_seqno(*state), seqno);
}

static void
routes_may_go_with_a_next_hop_object(void **state)
{
    struct route route;

    route_init(&route, "10.1.0.0/16", "10.0.0.1");
    route.view.nh_id = 1;
    add(*state, &route);

    /* The kernel tells right after it that they did. */
    link_routes_nexthop_changed(*state, 1, true);
    assert_false(link_routes_is_stale(*state));
    del(*state, &route);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));

    /* Or not. */
    add(*state, &route);
    link_routes_nexthop_changed(*state, 2, true);
    link_routes_check_stale(*state);
    assert_false(link_routes_is_stale(*state));
    link_routes_nexthop_changed(*state, 1, true);
    link_routes_check_stale(*state);
    assert_stale(*state);
}

static void
a_replacement_makes_stale(void **state)
{
    struct route route;

    route_init(&route, "10.1.0.0/16", "10.0.0.1");
    add(*state, &route);
    route_init(&route, "10.1.0.0/16", "10.0.0.2");
    route.view.replace = true;
    add(*state, &route);
    assert_true(link_routes_is_stale(*state));
    link_routes_mark(*state);
    enter(*state, &route);
    link_routes_sweep(*state);
    assert_false(link_routes_is_stale(*state));
    assert_address(only_route(*state).gateway, "::ffff:10.0.0.2");

    /* By one that is not for us, as well. */
    route.view.type = RTN_BLACKHOLE;
    add(*state, &route);
    assert_stale(*state);
}

static void
the_end_of_an_unknown_route_makes_stale(void **state)
{
    struct route route;

    add_simple(*state, "10.1.0.0/16", LINK, RTPROT_STATIC);
    route_init(&route, "10.1.0.0/16", "10.0.0.1");
    del(*state, &route);
    assert_int_equal(link_routes_count(*state), 1);
    assert_stale(*state);
}

/* The kernel may have several that differ in what the table does not keep. */
static void
one_of_several_like_routes_that_goes_makes_stale(void **state)
{
    struct route route;

    route_init(&route, "10.1.0.0/16", "10.0.0.1");
    add(*state, &route);
    add(*state, &route);
    assert_int_equal(link_routes_count(*state), 1);
    del(*state, &route);
    assert_stale(*state);

    /* Told again in a dump, it is the one that was there. */
    add(*state, &route);
    add(*state, &route);
    link_routes_mark(*state);
    enter(*state, &route);
    link_routes_sweep(*state);
    del(*state, &route);
    assert_int_equal(link_routes_count(*state), 0);
    assert_false(link_routes_is_stale(*state));
}

/* While a dump is under way. */
static void
a_route_told_by_an_event_and_then_a_dump_is_one(void **state)
{
    struct route a;

    route_init(&a, "10.0.0.0/8", "192.0.2.1");
    link_routes_mark(*state);
    add(*state, &a);
    enter(*state, &a);
    link_routes_sweep(*state);
    del(*state, &a);
    assert_false(link_routes_is_stale(*state));

    /* One that was known before. */
    add(*state, &a);
    link_routes_mark(*state);
    add(*state, &a);
    enter(*state, &a);
    link_routes_sweep(*state);
    del(*state, &a);
    assert_false(link_routes_is_stale(*state));
}

static void
a_route_told_twice_by_a_dump_or_after_it_is_several(void **state)
{
    struct route a;

    route_init(&a, "10.0.0.0/8", "192.0.2.1");
    link_routes_mark(*state);
    add(*state, &a);
    enter(*state, &a);
    enter(*state, &a);
    link_routes_sweep(*state);
    del(*state, &a);
    assert_stale(*state);

    /* By events only, which the dump then confirms. */
    link_routes_mark(*state);
    add(*state, &a);
    add(*state, &a);
    enter(*state, &a);
    link_routes_sweep(*state);
    del(*state, &a);
    assert_stale(*state);

    link_routes_mark(*state);
    enter(*state, &a);
    add(*state, &a);
    link_routes_sweep(*state);
    del(*state, &a);
    assert_stale(*state);
}

/* A router may have the whole Internet behind one link.  If a route that comes
 * or goes had others looked at, the test would run into its time limit. */
static void
very_many_routes_of_a_link_come_and_go(void **state)
{
    const int n = 200000;
    struct route route;

    route_init(&route, "10.0.0.0/32", "10.0.0.1");
    for (int i = 0; i < n; i++) {
        memcpy(&route.dst, &i, sizeof i);
        add(*state, &route);
    }
    for (int i = 0; i < n; i += 2) {
        memcpy(&route.dst, &i, sizeof i);
        del(*state, &route);
    }
    assert_int_equal(link_routes_count(*state), n / 2);
    link_routes_mark(*state);
    link_routes_sweep(*state);
    assert_int_equal(link_routes_count(*state), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(routes_are_told_in_full),
        TEST(default_routes_of_both_families_are_two),
        TEST(what_the_kernel_tells_apart_is_told_apart),
        TEST(what_changes_nothing_is_no_change),
        TEST(other_routes_are_ignored),
        TEST(a_link_that_goes_down_with_routes_makes_stale),
        TEST(a_link_whose_routes_were_all_told_makes_nothing_stale),
        TEST(a_link_without_routes_makes_nothing_stale),
        TEST(a_sweep_forgets_links_that_went_down_before),
        TEST(the_last_address_that_goes_makes_stale_if_its_link_has_routes),
        TEST(an_address_that_goes_makes_stale_if_routes_prefer_it),
        TEST(an_address_whose_routes_were_all_told_makes_nothing_stale),
        TEST(several_next_hops_make_stale_and_are_not_entered),
        TEST(links_have_routes_or_not),
        TEST(a_next_hop_object_is_known_by_its_id),
        TEST(routes_may_go_with_a_next_hop_object),
        TEST(a_replacement_makes_stale),
        TEST(the_end_of_an_unknown_route_makes_stale),
        TEST(one_of_several_like_routes_that_goes_makes_stale),
        TEST(a_route_told_by_an_event_and_then_a_dump_is_one),
        TEST(a_route_told_twice_by_a_dump_or_after_it_is_several),
        TEST(very_many_routes_of_a_link_come_and_go),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
