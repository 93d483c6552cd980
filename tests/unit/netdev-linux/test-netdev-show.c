/* SPDX-License-Identifier: Apache-2.0 */

/* What an operator gets to see of devices. */

#include <config.h>
#include "netdev-linux/links-show.h"
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpif-netlink.h"
#include "link/link-listener.h"
#include "link/link-table.h"
#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "netdev-linux/links-show.h"
#include "netdev-linux/links.h"
#include "netdev-linux/route-table-kdp.h"
#include "netdev-linux/rtnl-count.h"
#include "netnsid.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "ovs/compat-util.h"
#include "simap.h"
#include "smap.h"
#include "harness/control.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* How often the datapath was asked for a port. */
static unsigned int n_asked;

/* The datapath has port "int0", in that namespace. */
int __wrap_dpif_netlink_vport_get(const char *, struct dpif_netlink_vport *,
                                  struct ofpbuf **);
int
__wrap_dpif_netlink_vport_get(const char *name,
                              struct dpif_netlink_vport *vport,
                              struct ofpbuf **buf)
{
    n_asked++;
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
    links_show_devices_text(&s);
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

    /* It is not looked for while nothing happens. */
    kdp_links_catch_up();
    netdev_run();
    n_asked = 0;
    for (int i = 0; i < 10; i++) {
        netdev_run();
    }
    assert_int_equal(n_asked, 0);

    struct json *json = links_show_devices_json();
    const struct json *absent = shash_find_data(json_object(json), "absent");
    assert_int_equal(ovs_compat_json_size(absent), 1);
    json_destroy(json);
    netdev_close(netdev);
    unit_ns_destroy(other);
}

/* True if namespace NSID has that state and so many links. */
static bool
namespace_is(enum link_ns_state state, size_t n_links)
{
    struct link_ns_info *ns;
    bool is = false;
    size_t n;

    netdev_run();
    ns = link_table_get_namespaces(kdp_links_table(), &n);
    for (size_t i = 0; i < n; i++) {
        is |= (ns[i].nsid == NSID && ns[i].state == state
               && ns[i].n_links == n_links);
    }
    free(ns);
    return is;
}

/* Invariant L5: it costs the receipt of its events again. */
static void
a_namespace_is_not_followed_after_its_last_port(void **state OVS_UNUSED)
{
    struct unit_ns *other = unit_ns_create();
    struct netdev *netdev;
    int error;

    /* The kernel frees the id after the namespace of the test before has gone,
     * which it lets a thread do. */
    unit_wait_until((error = unit_ns_set_nsid(own, other, NSID)) != EEXIST);
    OK(error);
    for (int i = 0; i < 2; i++) {
        /* The port goes, or its device comes back. */
        OK(unit_link_add(own, "ifb", B + 1, "int0"));
        netdev_run();
        OK(netdev_open("int0", "internal", &netdev));
        OK(unit_link_move(own, B + 1, other, B + 1));
        unit_wait_until(shows_device("elsewhere int0 (4000)"));
        unit_wait_until(namespace_is(LINK_NS_CURRENT, 2));
        if (i) {
            netdev_close(netdev);
            OK(unit_link_del(other, B + 1));
        } else {
            OK(unit_link_move(other, B + 1, own, B + 1));
        }
        unit_wait_until(namespace_is(LINK_NS_UNFOLLOWED, 0));
        if (!i) {
            unit_wait_until(shows_device("elsewhere none, absent none"));
            netdev_close(netdev);
            OK(unit_link_del(own, B + 1));
        }
    }
    unit_ns_destroy(other);
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

static const struct json *
member(const struct json *object, const char *name)
{
    const struct json *json = shash_find_data(json_object(object), name);

    assert_non_null(json);
    return json;
}

/* How often the table was given a number of buckets, and the last one. */
static unsigned int n_set_buckets;
static uint32_t last_buckets;

void __wrap_link_table_set_buckets(struct link_table *, uint32_t n);
void __real_link_table_set_buckets(struct link_table *, uint32_t n);
void
__wrap_link_table_set_buckets(struct link_table *table, uint32_t n)
{
    n_set_buckets++;
    last_buckets = n;
    __real_link_table_set_buckets(table, n);
}

/* Sets the number of entries of each namespace to 'value', or to none if that
 * is NULL.  Returns how often the log complains about it. */
static unsigned int
set_entries(const char *value)
{
    struct smap config = SMAP_INITIALIZER(&config);
    int fd = unit_log_open();
    char log[2000] = "";
    unsigned int n = 0;

    if (value) {
        smap_add(&config, "link-table-netns-entries", value);
    }
    kdp_links_set_config(&config);
    smap_destroy(&config);
    assert_true(pread(fd, log, sizeof log - 1, 0) >= 0);
    close(fd);
    for (const char *s = log; (s = strstr(s, "expected 0 ")) != NULL; s++) {
        n++;
    }
    return n;
}

/* A value counts, or is complained about, when it is new. */
static void
entries_of_a_namespace_can_be_set(void **state OVS_UNUSED)
{
    static const struct {
        const char *value;
        unsigned int n_complaints;
        uint32_t n_buckets;             /* UINT32_MAX: it is not set. */
    } steps[] = {
        { NULL, 0, UINT32_MAX },        /* That is the default. */
        { "16", 0, 16 },
        { "16", 0, UINT32_MAX },
        { "abc", 1, UINT32_MAX },
        { "abc", 0, UINT32_MAX },
        { "16777217", 1, UINT32_MAX },
        { "-1", 1, UINT32_MAX },
        { "16", 0, UINT32_MAX },        /* As it still is. */
        { "64", 0, 64 },
        { "0", 0, 0 },
        { NULL, 0, UINT32_MAX },
        { "1024", 0, 1024 },
        { NULL, 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        n_set_buckets = 0;
        assert_int_equal(set_entries(steps[i].value), steps[i].n_complaints);
        assert_int_equal(n_set_buckets, steps[i].n_buckets != UINT32_MAX);
        if (n_set_buckets) {
            assert_int_equal(last_buckets, steps[i].n_buckets);
        }
    }
}

/* The whole of "link-table/show", and a namespace. */
static void
commands_show_what_is_counted(void **state OVS_UNUSED)
{
    uint64_t counts[KDP_N_RTNL_CALLS], usecs[KDP_N_RTNL_CALLS];
    struct ds expected = DS_EMPTY_INITIALIZER;
    const struct json *calls, *times;
    struct json *json;
    char *reply;

    kdp_rtnl_end(KDP_RTNL_LAG, kdp_rtnl_begin() - 5000);
    reply = unit_control_run("link-table/show", "--format", "json", NULL);
    json = json_from_string(reply);
    free(reply);
    kdp_rtnl_get_counts(counts);
    kdp_rtnl_get_usecs(usecs);
    assert_true(usecs[KDP_RTNL_LAG] >= 5000);
    calls = member(json, "rtnl_calls");
    times = member(json, "rtnl_calls_us");
    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        const char *name = kdp_rtnl_call_name(i);

        assert_int_equal(json_integer(member(calls, name)), counts[i]);
        assert_int_equal(json_integer(member(times, name)), usecs[i]);
    }
    assert_int_equal(json_integer(member(json, "addresses")),
                     link_addrs_count(kdp_links_addrs()));
    assert_int_equal(json_integer(member(json, "qdiscs")),
                     link_qdiscs_count(kdp_links_qdiscs()));
    member(json, "bridge_told");
    member(json, "bridge_not_told");
    member(json, "devices");
    struct route_table_kdp_stats routes;
    route_table_kdp_get_stats(&routes);
    assert_int_equal(json_integer(member(member(json, "routes"), "asked")),
                     routes.asked);
    assert_int_equal(json_integer(member(member(json, "routes"), "changes")),
                     routes.changes);
    json_destroy(json);

    reply = unit_control_run("link-table/show", NULL);
    ds_put_format(&expected, "%s %"PRIu64, kdp_rtnl_call_name(KDP_RTNL_LAG),
                  counts[KDP_RTNL_LAG]);
    assert_non_null(strstr(reply, "  calls under RTNL: "));
    assert_non_null(strstr(reply, ds_cstr(&expected)));
    ds_clear(&expected);
    ds_put_format(&expected, "%s %"PRIu64, kdp_rtnl_call_name(KDP_RTNL_LAG),
                  usecs[KDP_RTNL_LAG]);
    assert_non_null(strstr(reply, "  time of calls under RTNL (us): "));
    assert_non_null(strstr(strstr(reply, "time of calls"),
                           ds_cstr(&expected)));
    ds_clear(&expected);
    ds_put_format(&expected, "\n  local: addresses %"PRIuSIZE", queueing "
                  "disciplines %"PRIuSIZE"\n  bridge: notified of changes ",
                  link_addrs_count(kdp_links_addrs()),
                  link_qdiscs_count(kdp_links_qdiscs()));
    assert_non_null(strstr(reply, ds_cstr(&expected)));
    ds_destroy(&expected);
    free(reply);

    /* Counts of the daemon are none of a namespace. */
    reply = unit_control_run("link-table/show", "local", NULL);
    assert_null(strstr(reply, "calls under RTNL"));
    free(reply);
    reply = unit_control_run("link-table/show", "--format", "json", "local",
                             NULL);
    assert_null(strstr(reply, "rtnl_calls"));
    free(reply);
    reply = unit_control_run("link-table/show", "17", NULL);
    assert_true(!strncmp(reply, "error: 17: no network namespace of that id",
                         42));
    free(reply);
}

static void
other_commands_do_what_they_say(void **state OVS_UNUSED)
{
    struct link_listener *listener = kdp_links_listener();

    unit_wait_until((netdev_run(), link_listener_is_current(listener)));
    free(unit_control_run("link-table/resync", NULL));
    assert_false(link_listener_is_current(listener));
    unit_wait_until((netdev_run(), link_listener_is_current(listener)));
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
        TEST(a_namespace_is_not_followed_after_its_last_port),
        TEST(the_age_of_what_is_known_is_told),
        TEST(entries_of_a_namespace_can_be_set),
        TEST(commands_show_what_is_counted),
        TEST(other_commands_do_what_they_say),
        TEST(the_tables_are_in_what_memory_show_says),
    };

    int result;

    netdev_fixture_init(argv[0]);
    kdp_links_show_register();
    unit_control_start();
    result = cmocka_run_group_tests(tests, NULL, NULL);
    unit_control_stop();
    return result;
}
