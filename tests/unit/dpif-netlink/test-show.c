/* SPDX-License-Identifier: Apache-2.0 */

/* Commands about datapaths, over a control socket: which datapaths, ports and
 * flows they show.  How they show them is tested where the text is made. */

#include <config.h>
#include "dpif-netlink/show.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/diagnose.h"
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/upcall-dest.h"
#include "fake/dpif-fake.h"
#include "fake/tc-fake.h"
#include "harness/control.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "ovs/compat-util.h"
#include "smap.h"
#include "unixctl/findings.h"
#include "unixctl.h"
#include "upcall/upcall-channel.h"
#include "util.h"
#include "uuid.h"

/* The datapaths that are open. */
static struct kdp_datapath *datapaths[2];

void __wrap_kdp_datapaths_for_each(void (*)(struct kdp_datapath *, void *),
                                   void *);
void
__wrap_kdp_datapaths_for_each(void (*cb)(struct kdp_datapath *, void *aux),
                              void *aux)
{
    for (size_t i = 0; i < ARRAY_SIZE(datapaths); i++) {
        cb(datapaths[i], aux);
    }
}

int __wrap_vport_table_list(struct vport_table *, struct ovs_vport **,
                            size_t *);
int
__wrap_vport_table_list(struct vport_table *vports OVS_UNUSED,
                        struct ovs_vport **vportsp, size_t *n)
{
    static const struct ovs_vport ports[] = {
        { .port_no = 1, .name = "p1" },
        { .port_no = 2, .name = "p2" },
    };

    *n = ARRAY_SIZE(ports);
    *vportsp = xmemdup(ports, sizeof ports);
    return 0;
}

/* What the stock command says. */
static void
stock_upcall_show(struct unixctl_conn *conn, int argc OVS_UNUSED,
                  const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    unixctl_command_reply(conn, "revalidators\n");
}

/* One datapath with offload and ports 1 and 2, and another one, "other", that
 * never had offload. */
struct fixture {
    struct unit_dpif u;
    struct kdp_datapath other;
    struct unit_dpif none;      /* Has the inner dpif of 'other'. */
};

static void
create_parts(struct kdp_datapath *dp, const char *base_name)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    static const struct genl_family family = {
        .id = UNIT_FAMILY, .mcgroup = 1,
    };

    dp->inner->base_name = CONST_CAST(char *, base_name);
    dp->upcalls = upcall_table_create(dp->name, UNIT_DP_IFINDEX, UNIT_FAMILY);
    dp->vports = vport_table_create(dp->name, UNIT_DP_IFINDEX, &family);
    upcall_dests_create(dp);
    dispatch_create(dp);
}

static void
destroy_parts(struct kdp_datapath *dp)
{
    dispatch_destroy(dp);
    upcall_dests_destroy(dp);
    vport_table_destroy(dp->vports);
    upcall_table_destroy(dp->upcalls);
}

static void
add_port(struct kdp_datapath *dp, uint32_t port_no, const char *name)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    assert_int_equal(upcall_table_add_queues(dp->upcalls, port_no, name,
                                             &channel, 1), 0);
}

static int
setup(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_dpif_init(&f->u, 2);
    f->none.inner.dpif_class = f->u.inner.dpif_class;
    ovs_mutex_init(&f->none.mutex);
    f->other.name = "system@other";
    f->other.inner = &f->none.inner;
    ovs_mutex_init(&f->other.mutex);
    atomic_init(&f->other.engine, NULL);
    create_parts(&f->u.dp, "unit");
    create_parts(&f->other, "other");
    add_port(&f->u.dp, 1, "p1");
    add_port(&f->u.dp, 2, "p2");
    datapaths[0] = &f->u.dp;
    datapaths[1] = &f->other;
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    destroy_parts(&f->other);
    ovs_mutex_destroy(&f->other.mutex);
    ovs_mutex_destroy(&f->none.mutex);
    destroy_parts(&f->u.dp);
    unit_dpif_uninit(&f->u);
    free(f);
    return 0;
}

/* Asserts that the reply to a command has all PARTS in this order. */
#define SHOWS(REPLY, ...) \
    assert_shows(REPLY, (const char *const []) { __VA_ARGS__, NULL })
static void
assert_shows(char *reply, const char *const *parts)
{
    const char *s = reply;

    for (; *parts; parts++) {
        s = strstr(s, *parts);
        if (!s) {
            fail_msg("no \"%s\" in \"%s\"", *parts, reply);
        }
        s += strlen(*parts);
    }
    free(reply);
}

static void
assert_lacks(char *reply, const char *part)
{
    if (strstr(reply, part)) {
        fail_msg("\"%s\" in \"%s\"", part, reply);
    }
    free(reply);
}

/* The array that a command replies with. */
static struct json *
array(char *reply, size_t n)
{
    struct json *json = json_from_string(reply);

    free(reply);
    assert_int_equal(json->type, JSON_ARRAY);
    assert_int_equal(ovs_compat_json_size(json), n);
    return json;
}

static const struct json *
member(const struct json *array, size_t i, const char *name)
{
    const struct json *json = shash_find_data(
        json_object(ovs_compat_json_at(array, i)), name);

    assert_non_null(json);
    return json;
}

#define RUN(...) unit_control_run(__VA_ARGS__, NULL)

static void
upcall_show_has_all_datapaths(void **state)
{
    struct fixture *f = *state;
    struct json *json;

    SHOWS(RUN("upcall/show"), "revalidators\n", "system@unit:", " p1 ",
          " p2 ", "dispatch per-port, restored after other processes: 0\n",
          "system@other:", "dispatch per-port");
    json = array(RUN("upcall/show", "--format", "json"), 2);
    assert_string_equal(json_string(member(json, 0, "name")), "system@unit");
    assert_int_equal(ovs_compat_json_size(member(json, 0, "ports")), 2);
    assert_string_equal(json_string(member(json, 0, "dispatch")), "per-port");
    assert_int_equal(json_integer(member(json, 0, "dispatch_restored")), 0);
    assert_int_equal(json_integer(member(json, 0, "lost_nowhere")), 0);
    assert_string_equal(json_string(member(json, 1, "name")), "system@other");
    assert_int_equal(ovs_compat_json_size(member(json, 1, "ports")), 0);
    json_destroy(json);

    /* What the kernel lost and no socket did. */
    assert_lacks(RUN("upcall/show"), "lost on no socket");
    f->u.n_lost = 5;
    SHOWS(RUN("upcall/show"), "system@unit:", "lost on no socket: 5 ",
          "system@other:");
    json = array(RUN("upcall/show", "--format", "json"), 2);
    assert_int_equal(json_integer(member(json, 0, "lost_nowhere")), 5);
    json_destroy(json);
}

static void
upcall_show_has_one_port_of_any_datapath(void **state OVS_UNUSED)
{
    struct json *json;

    SHOWS(RUN("upcall/show", "p2"), "system@unit: port 2 p2,");
    SHOWS(RUN("upcall/show", "1"), "system@unit: port 1 p1,");
    assert_lacks(RUN("upcall/show", "p2"), "revalidators");
    json = array(RUN("upcall/show", "--format", "json", "p2"), 1);
    assert_string_equal(json_string(member(json, 0, "datapath")),
                        "system@unit");
    assert_string_equal(json_string(member(json, 0, "name")), "p2");
    json_destroy(json);
    SHOWS(RUN("upcall/show", "p3"), "error: p3: no datapath has an upcall "
          "channel of that name or port number");
}

static void
upcall_show_sorts_ports(void **state)
{
    struct fixture *f = *state;
    int sender = unit_sender_open();
    struct upcall_view view;
    struct json *json;

    /* Port 2 has more upcalls than port 1. */
    assert_int_equal(upcall_table_set_handlers(f->u.dp.upcalls, 1), 0);
    unit_send_upcall(sender, upcall_table_get_pid(f->u.dp.upcalls, 2), 1);
    unit_wait_until(!upcall_table_recv(f->u.dp.upcalls, 0, &view));
    close(sender);

    SHOWS(RUN("upcall/show"), " p1 ", " p2 ");
    SHOWS(RUN("upcall/show", "--sort", "received"), " p2 ", " p1 ");
    SHOWS(RUN("upcall/show", "--top", "1"), " p2 ");
    assert_lacks(RUN("upcall/show", "--top", "1"), " p1 ");
    json = array(RUN("upcall/show", "--sort", "received", "--format", "json",
                     "--top", "1"), 2);
    assert_int_equal(ovs_compat_json_size(member(json, 0, "ports")), 1);
    json_destroy(json);

    SHOWS(RUN("upcall/show", "--top", "0"), "error: --top 0: expected a "
          "number of ports, at least 1");
    SHOWS(RUN("upcall/show", "--top"), "error: --top : expected a number");
    SHOWS(RUN("upcall/show", "--top", "x"), "error: --top x: expected");
    SHOWS(RUN("upcall/show", "--sort", "x"), "error: --sort x: expected "
          "upcalls, rate,");
    SHOWS(RUN("upcall/show", "p1", "--top", "1"),
          "error: p1: expected no port with --top or --sort");

    SHOWS(RUN("upcall/show", "--senders"), "senders of upcalls",
          "tunnels and shared sockets had no upcalls of several senders");
    assert_lacks(RUN("upcall/show", "--senders"), " p1 ");
    SHOWS(RUN("upcall/show", "--senders", "--top", "1", "--sort", "shed/s",
              "p1"), "p1 had no upcalls of several senders");
    json = array(RUN("upcall/show", "--senders", "p1", "--format", "json"), 1);
    assert_int_equal(ovs_compat_json_size(
                         shash_find_data(json_object(
                             ovs_compat_json_at(json, 0)), "senders")), 0);
    json_destroy(json);
    SHOWS(RUN("upcall/show", "--senders", "--top", "0"),
          "error: --top 0: expected a number of senders, at least 1");
    SHOWS(RUN("upcall/show", "--senders", "--sort", "p99"),
          "error: --sort p99: expected rate, ");
    SHOWS(RUN("upcall/show", "--queues", "--senders"), "error: --queues: ");
    SHOWS(RUN("upcall/show", "--format", "x"), "error: ");

    /* What was counted starts again. */
    SHOWS(RUN("upcall/show", "p2"), "upcalls received   1\n");
    free(RUN("upcall/reset"));
    SHOWS(RUN("upcall/show", "p2"), "upcalls received   0\n");
}

static void
vport_table_show_has_all_or_one(void **state OVS_UNUSED)
{
    static const char *const names[] = { "system@other", "other" };
    struct json *json;

    SHOWS(RUN("vport-table/show"), "system@unit: vport table\n",
          "system@other: vport table\n");
    json = array(RUN("vport-table/show", "--format", "json"), 2);
    assert_string_equal(json_string(member(json, 0, "name")), "system@unit");
    json_destroy(json);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        SHOWS(RUN("vport-table/show", names[i]), "system@other: vport");
        assert_lacks(RUN("vport-table/show", names[i]), "system@unit");
    }
    SHOWS(RUN("vport-table/show", "x"), "error: x: no such datapath is open");
    SHOWS(RUN("vport-table/show", "--format", "x"), "error: ");
}

static void
offload_show_has_all_or_one(void **state)
{
    static const char *const names[] = { "system@other", "other" };
    struct fixture *f = *state;
    struct json *json;

    SHOWS(RUN("offload/show"), "system@unit: on\n",
          "system@other: off, never used\n");
    json = array(RUN("offload/show", "--format", "json"), 2);
    assert_string_equal(json_string(member(json, 0, "datapath")),
                        "system@unit");
    assert_true(json_boolean(member(json, 0, "enabled")));
    member(json, 0, "orphans");
    assert_string_equal(json_string(member(json, 1, "datapath")),
                        "system@other");
    assert_false(json_boolean(member(json, 1, "enabled")));
    member(json, 1, "orphans");
    json_destroy(json);

    atomic_store_relaxed(&f->u.engine->enabled, false);
    SHOWS(RUN("offload/show", "unit"), "system@unit: off\n");
    atomic_store_relaxed(&f->u.engine->enabled, true);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        SHOWS(RUN("offload/show", names[i]), "system@other: off, never used");
        assert_lacks(RUN("offload/show", names[i]), "system@unit");
    }
    SHOWS(RUN("offload/show", "x"), "error: x: no such datapath is open");
    SHOWS(RUN("offload/show", "--format", "x"), "error: ");
}

static void
offload_why_finds_flows(void **state)
{
    struct fixture *f = *state;
    ovs_u128 ufid = unit_tc_ufid(1);
    char *uuid = xasprintf(UUID_FMT, UUID_ARGS((struct uuid *) &ufid));
    char *named = xasprintf("ufid:%s, in_port(p1)", uuid);
    char *cut = xasprintf("%s0", uuid);
    struct json *json;

    for (uint32_t flow = 1; flow <= 30; flow++) {
        assert_int_equal(unit_dpif_put(&f->u, unit_tc_desc(flow, 2, 0),
                                       DPIF_FP_CREATE, NULL), 0);
    }
    unit_dpif_settle(&f->u);

    SHOWS(RUN("offload/why", uuid), "ufid:", uuid, ": in tc");
    SHOWS(RUN("offload/why", named), "ufid:", uuid, ": in tc");
    json = array(RUN("offload/why", "--format", "json", uuid), 1);
    assert_string_equal(json_string(member(json, 0, "state")), "in tc");
    json_destroy(json);

    /* By what it matches. */
    SHOWS(RUN("offload/why", "in_port(p2),eth_type(0x0800),"
              "ipv4(dst=0.0.0.1), packets:0, bytes:0"), uuid);
    json = array(RUN("offload/why", "--format", "json", "in_port(2),"
                     "eth_type(0x0800),ipv4(dst=0.0.0.1)"), 1);
    json_destroy(json);
    json = array(RUN("offload/why", "--format", "json", "in_port(2),"
                     "eth_type(0x0800),ipv4(dst=0.0.0.0/255.255.255.252)"), 3);
    json_destroy(json);

    /* Of many, some. */
    json = array(RUN("offload/why", "--format", "json", "in_port(p2),"
                     "eth_type(0x0800)"), 20);
    json_destroy(json);
    SHOWS(RUN("offload/why", "in_port(p2),eth_type(0x0800)"),
          "ufid:", "and 10 more\n");
    assert_lacks(RUN("offload/why", "in_port(2),eth_type(0x0800),"
                     "ipv4(dst=0.0.0.0/255.255.255.240)"), "more");

    SHOWS(RUN("offload/why", "in_port(p1),eth_type(0x0800)"), "error: ",
          "no such flow is known to offload");
    SHOWS(RUN("offload/why", "--format", "json", cut), "error: ");
    SHOWS(RUN("offload/why", "nonsense()"), "error: nonsense(): expected a "
          "ufid, or a flow as \"dpctl/dump-flows\" shows it");
    SHOWS(RUN("offload/why", "--format", "json"), "error: expected a ufid");
    ufid = unit_tc_ufid(31);
    free(uuid);
    uuid = xasprintf(UUID_FMT, UUID_ARGS((struct uuid *) &ufid));
    SHOWS(RUN("offload/why", uuid), "error: ", "no such flow is known");
    free(cut);
    free(named);
    free(uuid);
}

static void
doctor_looks_at_settings_and_datapaths(void **state)
{
    struct smap config = SMAP_INITIALIZER(&config);
    struct fixture *f = *state;

    f->u.engine->tc.recirc_sharing = true;
    assert_lacks(RUN("kdp/doctor"), "setting-wrong");
    assert_lacks(RUN("kdp/doctor"), "engine-not-used");
    assert_lacks(RUN("kdp/doctor"), "offload-chains-missing");
    smap_add(&config, "upcall-max-sockets", "2");
    smap_add(&config, "upcall-engine", "io_uring");
    kdp_diagnose_set_config(&config);
    smap_clear(&config);
    SHOWS(RUN("kdp/doctor"), "setting-wrong", "upcall-max-sockets");
    SHOWS(RUN("kdp/doctor"), "engine-not-used", "system@unit",
          "engine-not-used", "system@other");
    kdp_diagnose_set_config(&config);
    smap_destroy(&config);
    assert_lacks(RUN("kdp/doctor"), "setting-wrong");

    /* Where there is offload. */
    f->u.engine->tc.recirc_sharing = false;
    SHOWS(RUN("kdp/doctor"), "offload-chains-missing", "system@unit");
    assert_lacks(RUN("kdp/doctor"), "system@other: the kernel");
    atomic_store_relaxed(&f->u.engine->enabled, false);
    assert_lacks(RUN("kdp/doctor"), "offload-chains-missing");
    atomic_store_relaxed(&f->u.engine->enabled, true);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(upcall_show_has_all_datapaths),
        TEST(upcall_show_has_one_port_of_any_datapath),
        TEST(upcall_show_sorts_ports),
        TEST(vport_table_show_has_all_or_one),
        TEST(offload_show_has_all_or_one),
        TEST(offload_why_finds_flows),
        TEST(doctor_looks_at_settings_and_datapaths),
    };
    int result;

    unit_init(argv[0]);
    show_register();
    kdp_diagnose_register();
    findings_register_command();
    unixctl_command_register("upcall/show", "", 0, 0, stock_upcall_show, NULL);
    unit_control_start();
    unit_dpif_start_threads();
    result = cmocka_run_group_tests(tests, NULL, NULL);
    unit_control_stop();
    return result;
}
