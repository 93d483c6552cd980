/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L5: what a change of a route or of an address costs in Open
 * vSwitch's router depends neither on the number of routes nor on that of
 * devices.  Asserted by the number of calls. */

#include <config.h>
#include "netdev-linux/route-table-kdp.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-route.h"
#include "netdev-linux/links.h"
#include "netdev-linux/router.h"
#include "openvswitch/poll-loop.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "ovs/compat-netdev.h"
#include "route-table.h"
#include "tnl-ports.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* Calls of the router and of the tunnels' addresses. */
static struct calls {
    unsigned int inserts, flushes, ipdev_inserts, ipdev_deletes;
} calls;

#if OVS_HAVE_ROUTER_PREFSRC
#define PREFSRC_PARAM , const struct in6_addr *prefsrc
#define PREFSRC_ARG , prefsrc
#else
#define PREFSRC_PARAM
#define PREFSRC_ARG
#endif

void __wrap_ovs_router_flush(void);
void __real_ovs_router_flush(void);
void
__wrap_ovs_router_flush(void)
{
    calls.flushes++;
    __real_ovs_router_flush();
}

void __wrap_ovs_router_insert(uint32_t, const struct in6_addr *, uint8_t, bool,
                              const char[], const struct in6_addr *
                              PREFSRC_PARAM);
void __real_ovs_router_insert(uint32_t, const struct in6_addr *, uint8_t, bool,
                              const char[], const struct in6_addr *
                              PREFSRC_PARAM);
void
__wrap_ovs_router_insert(uint32_t mark, const struct in6_addr *dst,
                         uint8_t plen, bool local, const char device[],
                         const struct in6_addr *gateway PREFSRC_PARAM)
{
    calls.inserts++;
    __real_ovs_router_insert(mark, dst, plen, local, device, gateway
                             PREFSRC_ARG);
}

void __wrap_tnl_port_map_insert_ipdev(const char[]);
void __real_tnl_port_map_insert_ipdev(const char[]);
void
__wrap_tnl_port_map_insert_ipdev(const char device[])
{
    calls.ipdev_inserts++;
    __real_tnl_port_map_insert_ipdev(device);
}

void __wrap_tnl_port_map_delete_ipdev(const char[]);
void __real_tnl_port_map_delete_ipdev(const char[]);
void
__wrap_tnl_port_map_delete_ipdev(const char device[])
{
    calls.ipdev_deletes++;
    __real_tnl_port_map_delete_ipdev(device);
}

#define FIRST 2000

/* True if all that there is to take was taken, and the router has 'n'
 * routes. */
static bool
router_has_routes(size_t n)
{
    netdev_run();
    route_table_run();
    return (kdp_links_are_idle() && router_count() == n
            && !link_routes_has_changed(kdp_links_routes()));
}

/* Adds device number 'i' with an IPv6 address of its own, and waits for its
 * three routes. */
static void
add_device(int i)
{
    char *address = xasprintf("fe80::%x/64", i + 1);
    char *name = xasprintf("r%d", i);
    size_t n = router_count();

    OK(unit_link_add(own, "ifb", FIRST + i, name));
    OK(unit_link_set_no_addresses(own, FIRST + i));
    OK(unit_link_set_up(own, FIRST + i, true));
    OK(unit_ip_add(own, FIRST + i, address));

    /* The prefix is there already, through another one. */
    unit_wait_until(router_has_routes(n + (i ? 1 : 2)));
    free(name);
    free(address);
}

static void
del_device(int i, bool last)
{
    size_t n = router_count();

    OK(unit_link_del(own, FIRST + i));
    unit_wait_until(router_has_routes(n - (last ? 2 : 1)));
}

static struct calls
calls_for_a_device(int i)
{
    memset(&calls, 0, sizeof calls);
    add_device(i);
    del_device(i, false);
    return calls;
}

/* Device through which 'address' is reached, or an empty string. */
static bool
is_routed(const char *address, const char *expected)
{
    struct in6_addr dst, gateway;
    char name[IFNAMSIZ] = "";

    netdev_run();
    route_table_run();
    if (strchr(address, ':')) {
        unit_check(inet_pton(AF_INET6, address, &dst) == 1);
    } else {
        struct in_addr ip;

        unit_check(inet_pton(AF_INET, address, &ip) == 1);
        in6_addr_set_mapped_ipv4(&dst, ip.s_addr);
    }
    ovs_router_lookup(0, &dst, name, NULL, &gateway);
    return !strcmp(name, expected);
}

/* Nothing is left over in the router, either. */
static int
setup_empty(void **state)
{
    int retval = setup_quiet(state);

    unit_wait_until(router_has_routes(0)
                    && !link_routes_count(kdp_links_routes()));
    return retval;
}

static void
a_device_costs_the_same_among_many(void **state OVS_UNUSED)
{
    enum { FEW = 2, MANY = 40 };
    struct calls few, many;

    for (int i = 0; i < FEW; i++) {
        add_device(i);
    }
    few = calls_for_a_device(MANY);
    for (int i = FEW; i < MANY; i++) {
        add_device(i);
    }
    many = calls_for_a_device(MANY);

    /* Its address, the prefix of all, and that once more through another
     * device at the end.  Each may be tried twice: whether the address comes
     * in one turn with the routes is a matter of time. */
    assert_int_equal(few.flushes + many.flushes, 0);
    assert_int_equal(few.ipdev_deletes, 1);
    assert_int_equal(many.ipdev_deletes, 1);
    assert_true(few.inserts >= 3 && few.inserts <= 8);
    assert_true(many.inserts >= 3 && many.inserts <= 8);
    assert_true(many.ipdev_inserts <= many.inserts);
    for (int i = 0; i < MANY; i++) {
        char *name = xasprintf("r%d", i);
        char *address = xasprintf("fe80::%x", i + 1);

        assert_true(is_routed(address, name));
        free(name);
        free(address);
        del_device(i, i == MANY - 1);
    }
}

static void
a_route_that_goes_goes_alone(void **state OVS_UNUSED)
{
    enum { N = 20 };
    struct router_stats before, after;
    size_t n;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    unit_wait_until(is_routed("10.0.0.9", "a"));
    n = router_count();
    for (int i = 0; i < N; i++) {
        char *dst = xasprintf("10.8.%d.0/24", i);

        OK(unit_route_add(own, &(struct unit_route) {
            .dst = dst, .gateway = "10.0.0.9" }, NLM_F_EXCL));
        free(dst);
    }
    unit_wait_until(router_has_routes(n + N));

    router_get_stats(&before);
    memset(&calls, 0, sizeof calls);
    OK(unit_route_del(own, &(struct unit_route) {
        .dst = "10.8.3.0/24", .gateway = "10.0.0.9" }));
    unit_wait_until(router_has_routes(n + N - 1));
    router_get_stats(&after);
    assert_int_equal(after.removed, before.removed + 1);
    assert_int_equal(calls.inserts + calls.flushes, 0);
    assert_int_equal(calls.ipdev_inserts + calls.ipdev_deletes, 0);
    assert_true(is_routed("10.8.3.1", ""));
    assert_true(is_routed("10.8.4.1", "a"));
}

/* An address of which the kernel tells again is no change. */
static void
an_address_that_is_told_again_touches_nothing(void **state OVS_UNUSED)
{
    struct netdev *netdev = *state;
    uint64_t route_seq, netdev_seq;
    struct in6_addr *addrs, *masks;

    OK(unit_ip_add(own, A, "fe80::99/64"));
    unit_wait_until(router_has_routes(2));
    memset(&calls, 0, sizeof calls);
    route_seq = route_table_get_change_seq();
    netdev_seq = netdev_get_change_seq(netdev);
    for (int i = 0; i < 3; i++) {
        OK(unit_ip_renew(own, A, "fe80::99/64"));
        netdev_run();
        route_table_run();
    }
    assert_int_equal(link_addrs_get(kdp_links_addrs(), A, &addrs, &masks), 1);
    free(addrs);
    free(masks);
    assert_int_equal(calls.inserts + calls.flushes, 0);
    assert_int_equal(route_table_get_change_seq(), route_seq);
    assert_int_equal(netdev_get_change_seq(netdev), netdev_seq);
}

/* Of a device without an address the router takes no route. */
static void
the_next_best_route_is_taken_if_one_is_refused(void **state OVS_UNUSED)
{
    static const struct unit_route best = {
        .dst = "10.9.0.0/16", .ifindex = B, .priority = 1,
    };
    struct router_stats stats;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_route_add(own, &best, NLM_F_EXCL));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9", .priority = 2 },
        NLM_F_EXCL));
    unit_wait_until(is_routed("10.9.0.1", "a"));
    router_get_stats(&stats);
    assert_true(stats.refused > 0);

    /* Now it has one. */
    OK(unit_ip_add(own, B, "10.9.0.1/16"));
    unit_wait_until(is_routed("10.9.0.2", "b"));
    OK(unit_ip_del(own, B, "10.9.0.1/16"));
    unit_wait_until(is_routed("10.9.0.2", "a"));
}

/* So that very many do not keep the main loop from its other work. */
static void
a_turn_takes_a_bounded_number_of_routes(void **state OVS_UNUSED)
{
    enum { N = 2 * ROUTE_TABLE_TURN + 10 };
    uint64_t seqno;
    size_t n;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    unit_wait_until(is_routed("10.0.0.9", "a"));
    unit_wait_until(router_has_routes(router_count()));
    n = router_count();
    seqno = link_routes_seqno(kdp_links_routes());
    for (int i = 0; i < N; i++) {
        char *dst = xasprintf("10.8.%d.%d/32", i / 256, i % 256);

        OK(unit_route_add(own, &(struct unit_route) {
            .dst = dst, .gateway = "10.0.0.9" }, NLM_F_EXCL));
        free(dst);
    }
    kdp_links_catch_up();
    assert_int_equal(link_routes_seqno(kdp_links_routes()), seqno + N);

    memset(&calls, 0, sizeof calls);
    for (int i = 1; i <= 3; i++) {
        long long int start = unit_now();

        route_table_wait();
        poll_timer_wait(UNIT_PATIENCE);
        poll_block();
        assert_true(unit_now() - start < UNIT_PATIENCE / 2);
        route_table_run();
        assert_int_equal(calls.inserts, MIN(N, i * ROUTE_TABLE_TURN));
    }
    assert_false(link_routes_has_changed(kdp_links_routes()));
    assert_int_equal(router_count(), n + N);
    assert_int_equal(calls.flushes, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup_empty, teardown)
        TEST(a_device_costs_the_same_among_many),
        TEST(a_route_that_goes_goes_alone),
        TEST(an_address_that_is_told_again_touches_nothing),
        TEST(the_next_best_route_is_taken_if_one_is_refused),
        TEST(a_turn_takes_a_bounded_number_of_routes),
    };

    if (!ovs_compat_router_classifier()) {
        return 77;              /* Open vSwitch's own code fills the router. */
    }
    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
