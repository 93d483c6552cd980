/* SPDX-License-Identifier: Apache-2.0 */

/* A made-up snapshot of a vport table as text and as JSON. */

#include <config.h>
#include "vport/vport-show.h"

#include <stdlib.h>
#include <string.h>

#include "odp-netlink.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "harness/shown.h"
#include "ovs/compat-util.h"
#include "harness/unit.h"
#include "util.h"

/* Numbers that are told apart wherever they turn up. */
static struct ovs_vport vports[] = {
    { .port_no = 0, .name = "dp", .type = OVS_VPORT_TYPE_INTERNAL,
      .ifindex = 4001, .nsid = OVS_VPORT_LOCAL },
    { .port_no = 17, .name = "odd \"name\"", .type = OVS_VPORT_TYPE_NETDEV,
      .ifindex = 4002, .nsid = 4003 },
};

static const struct vport_table_info info = {
    .name = "system@dp", .open = true, .in_sync = true,
    .all_namespaces = true,
    .stats = {
        .by_number = 101, .by_name = 102, .lists = 103,
        .asked = { 201, 202, 203, 204, 205, 206, 207, 208 },
        .new = 301, .deleted = 302, .changed = 303, .foreign = 304,
        .links = 305, .malformed = 306, .vport_overruns = 307,
        .link_overruns = 308, .renamed = 309, .resyncs = 310,
    },
    .vports = vports, .n_vports = ARRAY_SIZE(vports),
};

static const struct vport_table_info empty = { .name = "system@dp" };

static void
text_says_all(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    vport_show_text(&info, &s);
    assert_string_equal(
        ds_cstr(&s),
        "system@dp: vport table\n"
        "  ports 2, in sync, follows all namespaces\n"
        "  questions: by_name 102, by_number 101, lists 103\n"
        "  events: new 301, deleted 302, changed 303, foreign 304, "
        "links 305, renamed 309\n"
        "  losses: vport_overruns 307, link_overruns 308, malformed 306, "
        "resyncs 310\n"
        "  requests: 1636 (start 201, loss 202, order 203, device 204, "
        "name 205, namespace 206, unsynced 207, unusual 208)\n"
        "   port name             type    ifindex  namespace\n"
        "      0 dp                  2       4001          -\n"
        "     17 odd \"name\"          1       4002       4003\n");
    ds_destroy(&s);
}

static void
text_of_a_table_that_was_not_used(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    vport_show_text(&empty, &s);
    assert_non_null(strstr(ds_cstr(&s), "ports 0, not used yet"));
    ds_destroy(&s);
}

/* Returns member 'name' of 'json', taking several names apart at dots. */
static const struct json *
member(const struct json *json, const char *path)
{
    char *copy = xstrdup(path);
    char *save = NULL;

    for (char *name = strtok_r(copy, ".", &save); name;
         name = strtok_r(NULL, ".", &save)) {
        json = shash_find_data(json_object(json), name);
        if (!json) {
            fail_msg("no member \"%s\" of \"%s\"", name, path);
        }
    }
    free(copy);
    return json;
}

static void
json_says_all(void **state OVS_UNUSED)
{
    static const struct {
        const char *path;
        long long int value;
    } members[] = {
        { "questions.by_number", 101 }, { "questions.by_name", 102 },
        { "questions.lists", 103 }, { "asked.start", 201 },
        { "asked.loss", 202 }, { "asked.order", 203 },
        { "asked.device", 204 }, { "asked.name", 205 },
        { "asked.namespace", 206 }, { "asked.unsynced", 207 },
        { "asked.unusual", 208 }, { "requests", 1636 },
        { "events.new", 301 }, { "events.deleted", 302 },
        { "events.changed", 303 }, { "events.foreign", 304 },
        { "events.links", 305 }, { "events.renamed", 309 },
        { "losses.malformed", 306 }, { "losses.vport_overruns", 307 },
        { "losses.link_overruns", 308 }, { "losses.resyncs", 310 },
    };
    struct json *json = vport_show_json(&info);
    const struct json *ports = member(json, "ports");
    const struct json *port;

    unit_shown("vport-table-show#table", json);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        assert_int_equal(json_integer(member(json, members[i].path)),
                         members[i].value);
    }
    assert_string_equal(json_string(member(json, "name")), "system@dp");
    assert_true(json_boolean(member(json, "open")));
    assert_true(json_boolean(member(json, "in_sync")));
    assert_true(json_boolean(member(json, "all_namespaces")));
    assert_int_equal(ovs_compat_json_size(ports), 2);
    port = ovs_compat_json_at(ports, 0);
    assert_int_equal(member(port, "nsid")->type, JSON_NULL);
    port = ovs_compat_json_at(ports, 1);
    assert_int_equal(json_integer(member(port, "port_no")), 17);
    assert_string_equal(json_string(member(port, "name")), "odd \"name\"");
    assert_int_equal(json_integer(member(port, "type")), 1);
    assert_int_equal(json_integer(member(port, "ifindex")), 4002);
    assert_int_equal(json_integer(member(port, "nsid")), 4003);
    json_destroy(json);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_says_all),
        cmocka_unit_test(text_of_a_table_that_was_not_used),
        cmocka_unit_test(json_says_all),
    };

    unit_init("test-vport-show");
    return cmocka_run_group_tests_name("vport-show", tests, NULL, NULL);
}
