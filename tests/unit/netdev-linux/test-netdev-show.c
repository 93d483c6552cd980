/* SPDX-License-Identifier: Apache-2.0 */

/* What an operator gets to see of devices and routes. */

#include <config.h>
#include "netdev-linux/device-show.h"
#include "netdev-linux/routes-show.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink.h"
#include "link/link-listener.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "netdev-linux/links.h"
#include "netnsid.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "ovs/compat-netdev.h"
#include "ovs/compat-util.h"
#include "route-table.h"
#include "simap.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* The datapath has port "int0", in that namespace. */
int __wrap_dpif_netlink_vport_get(const char *, struct dpif_netlink_vport *,
                                  struct ofpbuf **);
int
__wrap_dpif_netlink_vport_get(const char *name,
                              struct dpif_netlink_vport *vport,
                              struct ofpbuf **buf)
{
    if (strcmp(name, "int0")) {
        return ENODEV;
    }
    dpif_netlink_vport_init(vport);
    netnsid_set(&vport->netnsid, NSID);
    *buf = NULL;
    return 0;
}

/* Asserts that 's', which it frees, has 'part'. */
static void
assert_has(struct ds *s, const char *part)
{
    if (!strstr(ds_cstr(s), part)) {
        fail_msg("\"%s\" is not in:\n%s", part, ds_cstr(s));
    }
}

static bool
shows_device(const char *part)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    netdev_run();
    device_show_text(&s);
    bool shows = strstr(ds_cstr(&s), part) != NULL;
    ds_destroy(&s);
    return shows;
}

static void
devices_that_are_not_where_they_were_are_shown(void **state OVS_UNUSED)
{
    struct unit_ns *other = unit_ns_create();
    struct netdev *netdev;

    OK(unit_ns_set_nsid(own, other, NSID));
    OK(unit_link_add(own, "ifb", B + 1, "int0"));
    netdev_run();
    OK(netdev_open("int0", "internal", &netdev));
    unit_wait_until(shows_device("devices: open 2, elsewhere none, "
                                 "absent none, behind none\n"));
    OK(unit_link_move(own, B + 1, other, B + 1));
    unit_wait_until(shows_device("elsewhere int0 (4000), absent none, "
                                 "behind none\n"));
    OK(unit_link_del(other, B + 1));
    unit_wait_until(shows_device("elsewhere none, absent int0, "
                                 "behind none\n"));

    struct json *json = device_show_json();
    const struct json *absent = shash_find_data(json_object(json), "absent");
    assert_int_equal(ovs_compat_json_size(absent), 1);
    json_destroy(json);
    netdev_close(netdev);
    unit_ns_destroy(other);
}

/* True if the router was told of all, and there are 'n' routes to 10.9.0.0 of
 * length 16. */
static bool
has_routes(size_t n)
{
    struct link_dest_key dest = { .dst_len = 112 };
    struct link_route route;

    netdev_run();
    route_table_run();
    in6_addr_set_mapped_ipv4(&dest.dst, htonl(0x0a090000));
    return (!link_routes_has_changed(kdp_links_routes())
            && (!n || link_routes_get_nth(kdp_links_routes(), &dest, n - 1,
                                          &route))
            && !link_routes_get_nth(kdp_links_routes(), &dest, n, &route));
}

static void
routes_are_shown_with_what_became_of_them(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .ifindex = B, .priority = 1 }, NLM_F_EXCL));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9", .priority = 2 },
        NLM_F_EXCL));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.8", .priority = 3 },
        NLM_F_EXCL));
    unit_wait_until(has_routes(3));
    routes_show_text(&s);
    if (ovs_compat_router_classifier()) {
        assert_has(&s, "  10.9.0.0/16 dev b table 254 metric 1: no source\n"
                   "  10.9.0.0/16 dev a table 254 metric 2 via 10.0.0.9: "
                   "used\n"
                   "  10.9.0.0/16 dev a table 254 metric 3 via 10.0.0.8: "
                   "not preferred\n");
        assert_has(&s,
                   "  10.0.0.1/32 dev a table 255 metric 0 local: used\n");
    } else {
        /* Nobody can tell. */
        assert_has(&s, "  10.9.0.0/16 dev b table 254 metric 1: unknown\n"
                   "  10.9.0.0/16 dev a table 254 metric 2 via 10.0.0.9: "
                   "unknown\n"
                   "  10.9.0.0/16 dev a table 254 metric 3 via 10.0.0.8: "
                   "unknown\n");
    }
    assert_has(&s, "  ignored: hidden 0, several ");
    ds_destroy(&s);

    /* Why a route is not there at all is counted. */
    struct link_routes_stats before, after;
    link_routes_get_stats(kdp_links_routes(), &before);
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.7.0.0/16", .type = RTN_BLACKHOLE }, NLM_F_EXCL));
    assert_true(kdp_links_catch_up());
    link_routes_get_stats(kdp_links_routes(), &after);
    assert_int_equal(after.type, before.type + 1);
    OK(unit_route_del(own, &(struct unit_route) {
        .dst = "10.7.0.0/16", .type = RTN_BLACKHOLE }));

    struct json *json = routes_show_json();
    const struct json *array = shash_find_data(json_object(json), "routes");
    assert_true(ovs_compat_json_size(array) >= 5);
    assert_non_null(shash_find_data(json_object(json), "ignored"));
    json_destroy(json);
}

static void
a_route_of_which_the_router_is_yet_to_be_told_waits(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    unit_wait_until(has_routes(0));
    OK(unit_route_add(own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9" }, NLM_F_EXCL));
    assert_true(kdp_links_catch_up());
    routes_show_text(&s);
    assert_has(&s, "via 10.0.0.9: waiting\n");
    ds_destroy(&s);
}

/* How far behind the tables are. */
static void
the_age_of_what_is_known_is_told(void **state OVS_UNUSED)
{
    struct link_listener *listener = kdp_links_listener();
    struct link_listener_lag lag;

    OK(unit_link_set_no_addresses(own, A));
    unit_wait_until((netdev_run(), link_listener_is_current(listener)));
    link_listener_get_lag(listener, &lag);
    assert_true(lag.rcvbuf >= LINK_RCVBUF / 64);

    /* Something waits while nobody looks. */
    OK(unit_link_set_mtu(own, A, 1400));
    link_listener_get_lag(listener, &lag);
    assert_true(lag.backlog > 0);
    unit_clock_stop(time_msec() + 1000);
    link_listener_get_lag(listener, &lag);
    assert_true(lag.event_age >= 1000);
    assert_true(lag.current_age >= 1000);
    assert_true(kdp_links_catch_up());
    unit_wait_until((netdev_run(), link_listener_is_current(listener)));
    link_listener_get_lag(listener, &lag);
    assert_int_equal(lag.event_age, 0);
    assert_int_equal(lag.current_age, 0);
}

static void
the_tables_are_in_what_memory_show_says(void **state OVS_UNUSED)
{
    struct simap usage = SIMAP_INITIALIZER(&usage);

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    assert_true(kdp_links_catch_up());
    kdp_links_get_memory_usage(&usage);
    assert_int_equal(simap_get(&usage, "link namespaces") >= 1, true);
    assert_true(simap_get(&usage, "links") >= 3);
    assert_true(simap_get(&usage, "link addresses") >= 1);
    assert_true(simap_get(&usage, "link routes") >= 2);
    simap_destroy(&usage);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
#define QUIET(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_quiet, teardown)
        TEST(devices_that_are_not_where_they_were_are_shown),
        /* Routes that the kernel makes by itself would be counted, too. */
        QUIET(routes_are_shown_with_what_became_of_them),
        TEST(a_route_of_which_the_router_is_yet_to_be_told_waits),
        TEST(the_age_of_what_is_known_is_told),
        TEST(the_tables_are_in_what_memory_show_says),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
