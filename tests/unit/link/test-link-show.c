/* SPDX-License-Identifier: Apache-2.0 */

/* What a listener and its table tell people and programs. */

#include <config.h>
#include "link/link-show.h"

#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs/compat-util.h"
#include "harness/netns.h"
#include "harness/shown.h"
#include "util.h"

#define INDEX 1000
#define NSID 4000
#define SELF_NSID 5000

struct fixture {
    struct unit_ns *own, *other;
    struct link_table *table;
    struct link_listener *listener;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    /* The ids of the test before are not free at once. */
    unit_check(!unshare(CLONE_NEWNET));
    f->own = unit_ns_own();
    f->other = unit_ns_create();
    f->table = link_table_create();
    unit_ns_set_nsid(f->own, f->other, NSID);
    unit_ns_set_nsid(f->own, f->own, SELF_NSID);
    unit_link_add(f->other, "ifb", INDEX, "br\"0");
    unit_link_add_alt_name(f->other, INDEX, "a\\lternative");
    unit_link_set_mtu(f->other, INDEX, 1300);
    assert_int_equal(link_listener_open(f->table, NULL, &f->listener), 0);
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    link_listener_close(f->listener);
    link_table_destroy(f->table);
    unit_ns_destroy(f->own);
    unit_ns_destroy(f->other);
    free(f);
    return 0;
}

static const struct json *
member(const struct json *object, const char *name)
{
    const struct json *json = shash_find_data(json_object(object), name);

    if (!json) {
        fail_msg("no member \"%s\"", name);
    }
    return json;
}

static long long int
integer(const struct json *object, const char *name)
{
    return json_integer(member(object, name));
}

static const char *
string(const struct json *object, const char *name)
{
    return json_string(member(object, name));
}

static const struct json *
array(const struct json *object, const char *name)
{
    return member(object, name);
}

/* The JSON after a trip through text, as programs see it. */
static struct json *
show_json(struct fixture *f, int32_t nsid)
{
    struct json *json = link_show_json(f->listener, nsid);
    char *text = json_to_string(json, JSSF_PRETTY | JSSF_SORT);
    struct json *parsed = json_from_string(text);

    assert_int_equal(parsed->type, JSON_OBJECT);
    assert_true(json_equal(json, parsed));
    unit_shown("link-table-show", json);
    json_destroy(json);
    free(text);
    return parsed;
}

static char *
show_text(struct fixture *f, int32_t nsid)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    link_show_text(f->listener, nsid, &s);
    return ds_steal_cstr(&s);
}

/* Asserts that 'text' has the line 'line', with blanks in place of runs of
 * them. */
static void
assert_line(const char *text, const char *line)
{
    char *squeezed = xmalloc(strlen(text) + 2);
    char *wanted = xasprintf("\n%s\n", line);
    char *p = squeezed;

    *p++ = '\n';
    for (; *text; text++) {
        if (*text == ' ' && (p[-1] == ' ' || p[-1] == '\n')) {
            continue;
        }
        *p++ = *text;
    }
    *p = '\0';
    if (!strstr(squeezed, wanted)) {
        fail_msg("no line \"%s\" in:\n%s", line, squeezed);
    }
    free(wanted);
    free(squeezed);
}

static void
namespaces_go_by_several_names(void **state)
{
    struct fixture *f = *state;
    int32_t nsid;

    assert_true(link_show_parse_nsid(f->listener, "local", &nsid));
    assert_int_equal(nsid, LINK_NSID_LOCAL);
    assert_true(link_show_parse_nsid(f->listener, "4000", &nsid));
    assert_int_equal(nsid, NSID);
    assert_true(link_show_parse_nsid(f->listener, "5000", &nsid));
    assert_int_equal(nsid, LINK_NSID_LOCAL);
    assert_false(link_show_parse_nsid(f->listener, "4001", &nsid));
    assert_false(link_show_parse_nsid(f->listener, "-1", &nsid));
    assert_false(link_show_parse_nsid(f->listener, "-2147483648", &nsid));
    assert_false(link_show_parse_nsid(f->listener, "", &nsid));
    assert_false(link_show_parse_nsid(f->listener, "4000x", &nsid));
}

static void
text_tells_of_every_namespace(void **state)
{
    struct fixture *f = *state;
    char *text = show_text(f, LINK_NSID_ALL);

    assert_line(text, "local 1 -4 0 0 1 current (id 5000)");
    assert_line(text, "4000 2 -4 0 0 1 current");
    assert_line(text, "requests under RTNL: start 3, loss 0, namespace 0, "
                "asked 0, without: 1");
    assert_line(text, "skipped: malformed 0, foreign 0, bridge ports 0, "
                "sender 0, own 0");
    assert_line(text, "losses: overruns 0, lost 0, truncated 0, drained 0");
    assert_line(text, "resyncs: 1, dumps interrupted 0, failed 0, refused 0");
    assert_null(strstr(text, "br\"0"));
    free(text);

    link_table_set_buckets(f->table, 64);
    link_table_set_stale(f->table, NSID, 1 /* EPERM */);
    unit_link_set_mtu(f->other, INDEX, 1301);
    link_listener_catch_up(f->listener);
    text = show_text(f, LINK_NSID_ALL);
    assert_line(text, "4000 2 64 1 0 1 stale (Operation not permitted)");
    assert_line(text, "events: newlink 1, dellink 0, newaddr 0, deladdr 0, "
                "newnsid 0, delnsid 0, newqdisc 0, delqdisc 0, newtclass 0, "
                "deltclass 0, other 0");
    free(text);
}

static void
text_tells_of_the_links_of_one(void **state)
{
    struct fixture *f = *state;
    struct link_info link;

    assert_true(link_table_find(f->table, NSID, INDEX, &link));
    char *text = show_text(f, NSID);
    char *line = xasprintf("1000 br\"0 ifb 1300 down yes 0 0 0 "
                           "%02x:%02x:%02x:%02x:%02x:%02x", link.hwaddr[0],
                           link.hwaddr[1], link.hwaddr[2], link.hwaddr[3],
                           link.hwaddr[4], link.hwaddr[5]);
    assert_line(text, line);
    free(line);
    assert_null(strstr(text, "local"));
    assert_null(strstr(text, "RTNL"));
    free(text);

    text = show_text(f, LINK_NSID_LOCAL);
    assert_line(text, "1 lo - 65536 down yes 0 0 0 00:00:00:00:00:00");
    assert_null(strstr(text, "ifb"));
    free(text);
}

static void
json_tells_all(void **state)
{
    struct fixture *f = *state;
    struct json *json = show_json(f, LINK_NSID_ALL);
    const struct json *namespaces = array(json, "namespaces");
    const struct json *local, *other;

    assert_int_equal(shash_count(json_object(json)), 27);
    assert_int_equal(integer(json, "event_age") >= 0, true);
    assert_true(json_boolean(member(json, "current")));
    assert_true(integer(json, "rcvbuf") > 0);
    assert_int_equal(shash_count(json_object(member(json, "rtnl_us"))),
                     LINK_N_REASONS);
    assert_int_equal(integer(json, "resyncs"), 1);
    assert_int_equal(integer(json, "nsid_requests"), 1);
    assert_int_equal(integer(member(json, "rtnl"), "start"), 3);
    assert_int_equal(shash_count(json_object(member(json, "rtnl"))),
                     LINK_N_REASONS);
    assert_int_equal(integer(member(json, "events"), "newlink"), 0);
    assert_int_equal(shash_count(json_object(member(json, "events"))),
                     LINK_N_MSGS);
    assert_int_equal(ovs_compat_json_size(namespaces), 2);
    local = ovs_compat_json_at(namespaces, 0);
    other = ovs_compat_json_at(namespaces, 1);
    assert_string_equal(string(local, "namespace"), "local");
    assert_int_equal(integer(local, "self_nsid"), SELF_NSID);
    assert_string_equal(string(other, "namespace"), "4000");
    assert_string_equal(string(other, "state"), "current");
    assert_int_equal(integer(other, "n_links"), 2);
    assert_int_equal(integer(other, "buckets"), -4);
    assert_null(shash_find(json_object(other), "links"));
    json_destroy(json);
}

static void
json_tells_of_the_links_of_one(void **state)
{
    struct fixture *f = *state;
    struct json *json = show_json(f, NSID);
    const struct json *namespaces = array(json, "namespaces");

    assert_int_equal(ovs_compat_json_size(namespaces), 1);

    const struct json *links = array(ovs_compat_json_at(namespaces, 0),
                                     "links");
    assert_int_equal(ovs_compat_json_size(links), 2);

    const struct json *link = ovs_compat_json_at(links, 1);
    assert_string_equal(string(link, "name"), "br\"0");
    assert_string_equal(string(link, "kind"), "ifb");
    assert_int_equal(integer(link, "ifindex"), INDEX);
    assert_int_equal(integer(link, "mtu"), 1300);
    assert_int_equal(member(link, "carrier")->type, JSON_TRUE);
    assert_string_equal(string(link, "lower_nsid"), "same");
    const struct json *names = array(link, "alt_names");
    assert_int_equal(ovs_compat_json_size(names), 1);
    assert_string_equal(json_string(ovs_compat_json_at(names, 0)),
                        "a\\lternative");
    json_destroy(json);
}

/* Of a namespace whose links nobody wants, too. */
static void
states_have_names(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 4; i++) {
        const char *name = (i == 0 ? "current" : i == 1 ? "pending"
                            : i == 2 ? "stale" : "not followed");
        const struct json *namespaces, *other;
        struct json *json;
        char *text, *line;

        if (i == 1) {
            link_table_set_pending(f->table, NSID);
        } else if (i == 2) {
            link_table_set_stale(f->table, NSID, 22 /* EINVAL */);
        } else if (i == 3) {
            link_table_set_on_demand(f->table);
            link_table_unfollow_ns(f->table, NSID);
        }
        text = show_text(f, LINK_NSID_ALL);
        line = xasprintf("4000 %d -4 0 0 %d %s%s", i == 3 ? 0 : 2, i != 3,
                         name, i == 2 ? " (Invalid argument)" : "");
        assert_line(text, line);
        free(line);
        free(text);

        json = show_json(f, LINK_NSID_ALL);
        namespaces = array(json, "namespaces");
        other = ovs_compat_json_at(namespaces, 1);
        assert_string_equal(string(other, "state"), name);
        assert_int_equal(integer(other, "events"), 0);
        assert_int_equal(integer(other, "overruns"), 0);
        assert_int_equal(integer(other, "resyncs"), i != 3);
        assert_null(shash_find(json_object(other), "self_nsid"));
        if (i == 2) {
            assert_string_equal(string(other, "error"), "Invalid argument");
        } else {
            assert_null(shash_find(json_object(other), "error"));
        }
        json_destroy(json);
    }
}

/* The second link of the first namespace that 'json' tells of. */
static const struct json *
second_link(const struct json *json)
{
    const struct json *namespace
        = ovs_compat_json_at(array(json, "namespaces"), 0);

    return ovs_compat_json_at(array(namespace, "links"), 1);
}

/* Makes the link of the other namespace a port of a switch, as far as the
 * table knows. */
static void
make_switch_port(struct fixture *f, const char *port_name)
{
    static const uint8_t id[] = { 0x02, 0xab, 0x00, 0x9f };
    const struct link_view view = {
        .ifindex = INDEX,
        .name = "representor",
        .lower_nsid = LINK_NSID_SAME,
        .hwaddr = (const uint8_t *) "\2\0\0\0\0\1",
        .hwaddr_len = 6,
        .port_name = port_name,
        .switch_id = id,
        .switch_id_len = sizeof id,
    };

    link_table_update(f->table, NSID, &view);
}

static void
ports_of_switches_are_shown_as_such(void **state)
{
    struct fixture *f = *state;
    const struct json *link;
    struct json *json;
    char *text;

    json = show_json(f, NSID);
    link = second_link(json);
    assert_null(shash_find(json_object(link), "phys_port_name"));
    assert_null(shash_find(json_object(link), "phys_switch_id"));
    json_destroy(json);

    make_switch_port(f, "pf0vf1");
    text = show_text(f, NSID);
    assert_line(text, "1000 representor - 1300 down yes 0 0 0 "
                "02:00:00:00:00:01 portname pf0vf1 switchid 02ab009f");
    free(text);
    json = show_json(f, NSID);
    link = second_link(json);
    assert_string_equal(string(link, "phys_port_name"), "pf0vf1");
    assert_string_equal(string(link, "phys_switch_id"), "02ab009f");
    json_destroy(json);

    make_switch_port(f, NULL);
    text = show_text(f, NSID);
    assert_line(text, "1000 representor - 1300 down yes 0 0 0 "
                "02:00:00:00:00:01 switchid 02ab009f");
    free(text);
}

/* Every member of a link, each with a value of its own. */
static void
a_link_is_shown_in_full(void **state)
{
    static const struct {
        const char *name;
        long long int value;
    } integers[] = {
        { "ifindex", INDEX }, { "arp_type", 772 },
        { "flags", IFF_UP | IFF_PROMISC }, { "operstate", 5 },
        { "carrier_up", 31 }, { "carrier_down", 32 }, { "mtu", 1400 },
        { "master", 71 }, { "lower", 72 }, { "addr_seqno", 0 },
    };
    static const int32_t nsids[] = { 73, LINK_NSID_OTHER, LINK_NSID_SAME };
    struct fixture *f = *state;
    struct link_view view = {
        .ifindex = INDEX, .name = "veth9", .kind = "veth", .arp_type = 772,
        .flags = IFF_UP | IFF_PROMISC, .operstate = 5, .carrier = false,
        .carrier_up = 31, .carrier_down = 32, .mtu = 1400,
        .hwaddr = (const uint8_t *) "\2\0\0\0\0\xfe", .hwaddr_len = 6,
        .master = 71, .lower = 72,
        .has = (LINK_HAS_OPERSTATE | LINK_HAS_CARRIER | LINK_HAS_CARRIER_COUNT
                | LINK_HAS_MTU),
    };

    for (size_t i = 0; i < ARRAY_SIZE(nsids); i++) {
        const struct json *link;
        struct link_info info;
        struct json *json;
        char *text;

        view.lower_nsid = nsids[i];
        link_table_update(f->table, NSID, &view);
        assert_true(link_table_find(f->table, NSID, INDEX, &info));
        json = show_json(f, NSID);
        link = second_link(json);
        assert_int_equal(shash_count(json_object(link)),
                         ARRAY_SIZE(integers) + 7);
        for (size_t j = 0; j < ARRAY_SIZE(integers); j++) {
            assert_int_equal(integer(link, integers[j].name),
                             integers[j].value);
        }
        assert_int_equal(integer(link, "change_seqno"), info.change_seqno);
        assert_string_equal(string(link, "name"), "veth9");
        assert_string_equal(string(link, "kind"), "veth");
        assert_string_equal(string(link, "hwaddr"), "02:00:00:00:00:fe");
        assert_int_equal(member(link, "carrier")->type, JSON_FALSE);
        assert_int_equal(ovs_compat_json_size(array(link, "alt_names")), 0);
        if (nsids[i] == 73) {
            assert_int_equal(integer(link, "lower_nsid"), 73);
        } else {
            assert_string_equal(string(link, "lower_nsid"),
                                nsids[i] == LINK_NSID_SAME ? "same"
                                : "other");
        }
        json_destroy(json);

        text = show_text(f, NSID);
        assert_line(text, "1000 veth9 veth 1400 up no 71 31 32 "
                    "02:00:00:00:00:fe");
        free(text);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(namespaces_go_by_several_names),
        TEST(text_tells_of_every_namespace),
        TEST(text_tells_of_the_links_of_one),
        TEST(json_tells_all),
        TEST(json_tells_of_the_links_of_one),
        TEST(states_have_names),
        TEST(ports_of_switches_are_shown_as_such),
        TEST(a_link_is_shown_in_full),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
