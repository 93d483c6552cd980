/* SPDX-License-Identifier: Apache-2.0 */

/* What Open vSwitch is told about flows that are in the kernel or in tc, or go
 * from one to the other: its own statistics of a flow stay right (O2), and it
 * knows how many flows there are.  And what it is told of an upcall. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <unistd.h>

#include "dpif-netlink/forward.h"
#include "dpif-netlink/dpif-netlink-kdp.h"
#include "dpif-netlink/flow-chains.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/takeover-ports.h"
#include "dpif-netlink/takeover.h"
#include "dpif-netlink/upcall-dest.h"
#include "fake/dpif-fake.h"
#include "fake/tc-fake.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "netlink.h"
#include "odp-util.h"
#include "ovs-features.h"
#include "ovs/compat-dpif.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-table.h"
#include "util.h"

#define N_FLOWS 100

/* The class that was registered last. */
static const struct dpif_class *registered;

int __wrap_dp_unregister_provider(const char *type);
int __wrap_dp_register_provider(const struct dpif_class *);

int
__wrap_dp_unregister_provider(const char *type)
{
    unit_check(!strcmp(type, "system"));
    return 0;
}

int
__wrap_dp_register_provider(const struct dpif_class *class)
{
    registered = class;
    return 0;
}

/* What Open vSwitch takes for the number of flows in the datapath. */
static uint64_t
n_flows(struct unit_dpif *u)
{
    struct dpif_kdp dpif = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
    };
    struct dpif_dp_stats stats;

    assert_int_equal(registered->get_stats(&dpif.dpif, &stats), 0);
    return stats.n_flows;
}

/* The part of 'n_tc' that the datapath has to count among its flows. */
static uint64_t
counted(uint64_t n_tc)
{
    return ovs_compat_counts_tc_flows() ? n_tc : 0;
}

static void
put(struct unit_dpif *u, uint32_t flow, unsigned int flags)
{
    assert_int_equal(unit_dpif_put(u, unit_tc_desc(flow, 1, flags),
                                   DPIF_FP_CREATE | DPIF_FP_MODIFY, NULL), 0);
}

/* A revalidator that begins again counts all packets of the flow again. */
static void
revalidators_keep_statistics_of_flows_that_move(void **state OVS_UNUSED)
{
    assert_non_null(registered);
    assert_true(ovs_compat_keeps_statistics(registered));
}

static void
number_of_flows_includes_those_in_tc(void **state)
{
    static const struct unit_tc_plan refuse = {
        .fault = UNIT_TC_REFUSED, .error = EOPNOTSUPP,
        .type = RTM_NEWTFILTER, .n = UINT_MAX,
    };
    static const struct unit_tc_plan allow;
    struct unit_dpif *u = *state;

    assert_int_equal(n_flows(u), 0);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        put(u, i, 0);
    }
    unit_dpif_settle(u);
    assert_int_equal(unit_dpif_count(u), 0);
    assert_int_equal(n_flows(u), counted(N_FLOWS));

    /* Of the other half, none is in tc. */
    unit_tc_plan(&refuse);
    for (uint32_t i = N_FLOWS; i < 2 * N_FLOWS; i++) {
        put(u, i, 0);
    }
    unit_dpif_settle(u);
    assert_int_equal(n_flows(u), N_FLOWS + counted(N_FLOWS));

    for (uint32_t i = 0; i < 2 * N_FLOWS; i++) {
        assert_int_equal(unit_dpif_del(u, i, NULL), 0);
    }
    unit_dpif_settle(u);
    assert_int_equal(n_flows(u), 0);
    unit_tc_plan(&allow);
}

static void
flow_in_both_places_is_one(void **state)
{
    struct unit_dpif *u = *state;

    put(u, 0, UNIT_TC_TO_CHAIN);
    unit_dpif_settle(u);
    put(u, 1, UNIT_TC_OF_CHAIN);
    unit_dpif_settle(u);
    assert_int_equal(unit_tc_count(), 2);
    assert_int_equal(unit_dpif_count(u), 1);
    assert_int_equal(n_flows(u), 1 + counted(1));
}

static void
flow_whose_rule_vanished_is_not_in_tc(void **state)
{
    const ovs_u128 ufid = unit_tc_ufid(0);
    struct unit_dpif *u = *state;
    struct dpif_flow flow;
    uint64_t stub[256];
    struct ofpbuf buffer;

    put(u, 0, 0);
    unit_dpif_settle(u);
    assert_int_equal(n_flows(u), counted(1));
    assert_true(unit_tc_remove(&ufid));

    /* It is noticed when it is read; the flow goes back to the kernel. */
    ofpbuf_use_stub(&buffer, stub, sizeof stub);
    unit_dpif_get(u, 0, &buffer, &flow);
    ofpbuf_uninit(&buffer);
    unit_dpif_settle(u);
    assert_int_equal(unit_dpif_count(u), 1);
    assert_int_equal(n_flows(u), 1);
}

/* R1: a bridge that starts deletes no flow and sees none; others do. */

static void
upcall_cb_of_a_bridge(void)
{
}

/* Number of flows that a thread called 'name' sees. */
static int
n_seen(struct dpif_kdp *dpif, const char *name)
{
    char *old = xstrdup(get_subprogram_name());
    struct dpif_flow_dump_thread *thread;
    struct dpif_flow_dump *dump;
    const struct dpif_class *class;
    struct dpif_flow flows[50];
    int n, sum = 0;

    set_subprogram_name(name);
    dump = registered->flow_dump_create(&dpif->dpif, false, NULL);
    class = dump->dpif->dpif_class;
    thread = class->flow_dump_thread_create(dump);
    while ((n = class->flow_dump_next(thread, flows, ARRAY_SIZE(flows)))) {
        sum += n;
    }
    class->flow_dump_thread_destroy(thread);
    assert_int_equal(class->flow_dump_destroy(dump), 0);
    set_subprogram_name(old);
    free(old);
    return sum;
}

/* There is nothing of a previous run in tc. */
void __wrap_kdp_flow_offload_keep_old(struct kdp_datapath *);
size_t __wrap_kdp_flow_offload_delete_old_chains(struct kdp_datapath *);
void __wrap_kdp_flow_offload_end_old(struct kdp_datapath *);

void
__wrap_kdp_flow_offload_keep_old(struct kdp_datapath *dp OVS_UNUSED)
{
}

size_t
__wrap_kdp_flow_offload_delete_old_chains(struct kdp_datapath *dp OVS_UNUSED)
{
    return 0;
}

void
__wrap_kdp_flow_offload_end_old(struct kdp_datapath *dp OVS_UNUSED)
{
}

/* The parts that a bridge that starts goes through. */
static void
create_parts(struct unit_dpif *u)
{
    u->dp.upcalls = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    upcall_dests_create(&u->dp);
    takeover_create(&u->dp);
    takeover_ports_create(&u->dp);
}

static void
destroy_parts(struct unit_dpif *u)
{
    takeover_ports_destroy(&u->dp);
    takeover_destroy(&u->dp);
    upcall_dests_destroy(&u->dp);
    upcall_table_destroy(u->dp.upcalls);
    u->dp.upcalls = NULL;
}

static void
bridge_that_starts_keeps_flows_a_command_does_not(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_kdp bridge = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
    };
    struct dpif_kdp command = bridge;

    create_parts(u);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        put(u, i, 0);
    }
    unit_dpif_settle(u);

    assert_false(dpif_netlink_kdp_run_alone());
    registered->register_upcall_cb(
        &bridge.dpif, (upcall_callback *) upcall_cb_of_a_bridge, NULL);
    assert_int_equal(registered->flow_flush(&bridge.dpif), 0);
    assert_int_equal(n_seen(&command, "main"), N_FLOWS);
    assert_int_equal(n_seen(&bridge, "revalidator7"), 0);

    assert_int_equal(registered->flow_flush(&command.dpif), 0);
    assert_int_equal(n_seen(&command, "main"), 0);

    /* It is closed. */
    put(u, 1, 0);
    unit_dpif_settle(u);
    registered->register_upcall_cb(&bridge.dpif, NULL, NULL);
    assert_false(dpif_netlink_kdp_run_alone());
    assert_int_equal(registered->flow_flush(&bridge.dpif), 0);
    assert_int_equal(n_seen(&command, "main"), 0);
    unit_dpif_settle(u);
    destroy_parts(u);
}

/* R5: revalidators do not see the flows of chains of a previous run, and see
 * no actions that lead to one. */

static size_t n_disguised;

static void
get_as(struct dpif_kdp *dpif, const char *name, uint32_t flow)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    char *old = xstrdup(get_subprogram_name());
    uint64_t stub[256];
    struct dpif_flow out;
    struct ofpbuf buffer;
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_GET,
        .flow_get = { .ufid = &ufid, .pmd_id = PMD_ID_NULL,
                      .buffer = &buffer, .flow = &out },
    };
    struct dpif_op *ops = &op;

    ofpbuf_use_stub(&buffer, stub, sizeof stub);
    memset(&out, 0, sizeof out);
    set_subprogram_name(name);
    ovs_compat_operate(&dpif->dpif, &ops, 1);
    set_subprogram_name(old);
    free(old);
    assert_int_equal(op.error, 0);
    n_disguised += (nl_attr_type(out.actions) == OVS_ACTION_ATTR_TRUNC);
    ofpbuf_uninit(&buffer);
}

static void
check_chains(struct unit_dpif *u)
{
    struct flow_chains *chains = flow_chains_create();
    struct dpif_kdp bridge = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
        .is_bridge = true,
    };
    const ovs_u128 root = unit_tc_ufid(1), chain = unit_tc_ufid(2);
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_DEL,
        .flow_del = { .ufid = &root, .pmd_id = PMD_ID_NULL },
    };
    struct dpif_op *ops = &op;
    struct offload_desc *desc;

    create_parts(u);
    unit_dpif_add(u, unit_tc_desc(0, 1, 0));
    unit_dpif_add(u, unit_tc_desc(1, 1, UNIT_TC_TO_CHAIN));
    unit_dpif_add(u, unit_tc_desc(2, 1, UNIT_TC_OF_CHAIN));
    flow_chains_add(chains, &root, true);
    flow_chains_add(chains, &chain, false);
    ovsrcu_set(&u->dp.chains, chains);

    assert_int_equal(n_seen(&bridge, "revalidator7"), 2);
    assert_int_equal(n_seen(&bridge, "main"), 3);
    n_disguised = 0;
    get_as(&bridge, "main", 1);
    get_as(&bridge, "revalidator7", 0);
    assert_int_equal(n_disguised, 0);
    get_as(&bridge, "revalidator7", 1);
    assert_int_equal(n_disguised, 1);

    /* It deletes the root. */
    desc = unit_tc_desc(1, 1, UNIT_TC_TO_CHAIN);
    op.flow_del.key = desc->key;
    op.flow_del.key_len = desc->key_len;
    ovs_compat_operate(&bridge.dpif, &ops, 1);
    assert_int_equal(op.error, 0);
    assert_int_equal(flow_chains_n_roots(chains), 0);
    offload_desc_unref(desc);

    assert_int_equal(n_seen(&bridge, "revalidator7"), 1);
    takeover_cancel(&u->dp);
    assert_null(kdp_datapath_chains(&u->dp));
    assert_int_equal(n_seen(&bridge, "revalidator7"), 2);
    destroy_parts(u);
}

static void
revalidators_do_not_see_chains_of_a_previous_run(void **state)
{
    struct unit_dpif *u = *state;
    struct kdp_flow_engine *engine = u->engine;

    /* Without offload. */
    kdp_flow_engine_set(&u->dp, NULL);
    check_chains(u);
    kdp_flow_engine_set(&u->dp, engine);
    assert_int_equal(offload_flush(engine->offload), 0);
}

static void
nor_do_they_with_offload(void **state)
{
    struct unit_dpif *u = *state;

    check_chains(u);
    /* None was offered to tc. */
    unit_dpif_settle(u);
    assert_true(unit_dpif_has(u, 2));
    assert_int_equal(offload_flush(u->engine->offload), 0);
}

/* What was lost before the datapath was ours does not count. */
static void
lost_upcalls_are_told(void **state)
{
    struct unit_dpif *u = *state;

    u->n_lost = 10;
    assert_int_equal(kdp_datapath_n_lost(&u->dp), 10);
    u->dp.lost_before = 4;
    assert_int_equal(kdp_datapath_n_lost(&u->dp), 6);
    u->n_lost = 3;
    assert_int_equal(kdp_datapath_n_lost(&u->dp), 0);
    u->n_lost = UINT64_MAX;
    assert_int_equal(kdp_datapath_n_lost(&u->dp), 0);
}

/* The upcall that waits. */
static struct upcall_view received;

int __wrap_upcall_table_recv(struct upcall_table *, uint32_t handler_id,
                             struct upcall_view *);

int
__wrap_upcall_table_recv(struct upcall_table *table OVS_UNUSED,
                         uint32_t handler_id, struct upcall_view *view)
{
    if (handler_id != 3) {
        return EAGAIN;
    }
    *view = received;
    return 0;
}

/* The port id of its socket among it, from the version on that tells the
 * kernel again, which sends what recirculates to the socket of that id. */
static void
upcall_is_passed_on_whole(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_kdp dpif = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
    };
    struct nlattr attrs[5];
    char frame[32 + UPCALL_PACKET_MIN];
    struct dpif_upcall upcall;
    struct ofpbuf key;
    ovs_u128 ufid;

    ofpbuf_init(&key, 0);
    nl_msg_put_u32(&key, OVS_KEY_ATTR_IN_PORT, 7);
    nl_msg_put_be16(&key, OVS_KEY_ATTR_ETHERTYPE, htons(0x88b5));
    received = (struct upcall_view) {
        .type = UPCALL_ACTION, .pid = 0x89abcdef,
        .packet = &frame[32], .packet_len = UPCALL_PACKET_MIN, .headroom = 32,
        .key = key.data, .key_len = key.size,
        .userdata = &attrs[0], .egress_tun_key = &attrs[1],
        .actions = &attrs[2], .mru = &attrs[3], .hash = &attrs[4],
    };
    memset(&upcall, 0xff, sizeof upcall);
    assert_int_equal(registered->recv(&dpif.dpif, 2, &upcall, NULL), EAGAIN);
    assert_int_equal(registered->recv(&dpif.dpif, 3, &upcall, NULL), 0);
    assert_int_equal(upcall.type, DPIF_UC_ACTION);
    assert_ptr_equal(upcall.key, key.data);
    assert_int_equal(upcall.key_len, key.size);
    odp_flow_key_hash(key.data, key.size, &ufid);
    assert_memory_equal(&upcall.ufid, &ufid, sizeof ufid);
    assert_ptr_equal(upcall.userdata, &attrs[0]);
    assert_ptr_equal(upcall.out_tun_key, &attrs[1]);
    assert_ptr_equal(upcall.actions, &attrs[2]);
    assert_ptr_equal(upcall.mru, &attrs[3]);
    assert_ptr_equal(upcall.hash, &attrs[4]);
    assert_ptr_equal(dp_packet_data(&upcall.packet), &frame[32]);
    assert_int_equal(dp_packet_size(&upcall.packet), UPCALL_PACKET_MIN);
    assert_int_equal(dp_packet_headroom(&upcall.packet), 32);
    assert_int_equal(dp_packet_tailroom(&upcall.packet), 0);
#if OVS_HAVE_UPCALL_PID
    assert_int_equal(upcall.pid, 0x89abcdef);
#endif
    dp_packet_uninit(&upcall.packet);
    ofpbuf_uninit(&key);
}

/* The bridge asks for changes of ports once before it waits for them. */
static void
bridge_does_not_wait_before_it_has_asked(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_kdp dpif = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
    };

    registered->port_poll_wait(&dpif.dpif);
    poll_block();
    assert_null(dpif.poller);
}

/* Asserts that an upcall with 'key' has a packet of type 'type', which begins
 * with Ethernet or with layer 3. */
static void
assert_packet_type(struct unit_dpif *u, const struct ofpbuf *key,
                   ovs_be32 type)
{
    struct dpif_kdp dpif = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
    };
    char frame[UPCALL_PACKET_MIN];
    struct dpif_upcall upcall;

    received = (struct upcall_view) {
        .type = UPCALL_MISS, .packet = frame, .packet_len = UPCALL_PACKET_MIN,
        .key = key->data, .key_len = key->size,
    };
    assert_int_equal(registered->recv(&dpif.dpif, 3, &upcall, NULL), 0);
    assert_int_equal(upcall.type, DPIF_UC_MISS);
    assert_int_equal(upcall.packet.packet_type, type);
    assert_ptr_equal(dp_packet_l3(&upcall.packet),
                     type == htonl(PT_ETH) ? NULL : frame);
    dp_packet_uninit(&upcall.packet);
}

static void
packet_has_the_type_of_its_key(void **state)
{
    static const struct ovs_key_ethernet eth;
    struct ofpbuf key;

    ofpbuf_init(&key, 0);
    assert_packet_type(*state, &key, PACKET_TYPE_BE(OFPHTN_ETHERTYPE, 0));
    nl_msg_put_be16(&key, OVS_KEY_ATTR_ETHERTYPE, htons(0x88b5));
    assert_packet_type(*state, &key,
                       PACKET_TYPE_BE(OFPHTN_ETHERTYPE, 0x88b5));
    nl_msg_put_unspec(&key, OVS_KEY_ATTR_ETHERNET, &eth, sizeof eth);
    assert_packet_type(*state, &key, htonl(PT_ETH));

    /* Not even the kernel's word is taken for its length. */
    ofpbuf_clear(&key);
    nl_msg_put_u8(&key, OVS_KEY_ATTR_ETHERTYPE, 0x88);
    assert_packet_type(*state, &key, PACKET_TYPE_BE(OFPHTN_ETHERTYPE, 0));
    ofpbuf_uninit(&key);
}

/* Asks the class for 'op', for a bridge or for a command. */
static void
operate(struct unit_dpif *u, struct dpif_op *op, bool is_bridge)
{
    struct dpif_kdp dpif = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
        .is_bridge = is_bridge,
    };

    op->error = -1;
    ovs_compat_operate(&dpif.dpif, &op, 1);
}

static int
get(struct unit_dpif *u, uint32_t flow)
{
    struct dpif_flow out;
    struct ofpbuf buffer;
    int error;

    ofpbuf_init(&buffer, 0);
    error = unit_dpif_get(u, flow, &buffer, &out);
    ofpbuf_uninit(&buffer);
    return error;
}

/* An operation that adds the flow of 'desc'. */
static struct dpif_op
add_op(const struct offload_desc *desc)
{
    return (struct dpif_op) {
        .type = DPIF_OP_FLOW_PUT,
        .flow_put = {
            .flags = DPIF_FP_CREATE,
            .key = desc->key, .key_len = desc->key_len,
            .mask = desc->mask, .mask_len = desc->mask_len,
            .actions = desc->actions, .actions_len = desc->actions_len,
            .ufid = &desc->ufid, .pmd_id = PMD_ID_NULL,
        },
    };
}

/* R6: another process serves the datapath.  The bridge finds out what that can
 * do, and a command does what it is told. */
static void
bridge_in_the_shadow_changes_nothing(void **state)
{
    struct offload_desc *desc = unit_tc_desc(1, 1, 0);
    struct unit_dpif *u = *state;
    struct dpif_kdp bridge = {
        .dpif = { .dpif_class = registered },
        .dp = &u->dp,
        .is_bridge = true,
    };
    struct dpif_op add = add_op(desc);
    struct dpif_op del = {
        .type = DPIF_OP_FLOW_DEL,
        .flow_del = { .ufid = &desc->ufid, .pmd_id = PMD_ID_NULL },
    };
    struct dpif_op execute = { .type = DPIF_OP_EXECUTE };

    dpif_netlink_kdp_enter_shadow();
    operate(u, &add, true);
    assert_int_equal(add.error, 0);
    assert_int_equal(get(u, 1), ENOENT);
    operate(u, &execute, true);
    assert_int_equal(execute.error, 0);
    assert_int_equal(registered->meter_set(&bridge.dpif,
                                           (ofproto_meter_id) { 1 }, NULL),
                     EBUSY);
    assert_int_equal(registered->recv_set(&bridge.dpif, true), 0);
    assert_true(bridge.recv_wanted);
    assert_int_equal(registered->destroy(&bridge.dpif), 0);

    /* By a command. */
    operate(u, &add, false);
    assert_int_equal(get(u, 1), 0);
    operate(u, &del, true);
    assert_int_equal(del.error, 0);
    assert_int_equal(get(u, 1), 0);
    operate(u, &del, false);
    assert_int_equal(del.error, 0);
    assert_int_equal(get(u, 1), ENOENT);
    dpif_netlink_kdp_leave_shadow();
    offload_desc_unref(desc);
}

/* A bridge that goes has lost its ports when its threads look at flows (R1).
 * The last test: nothing takes that back. */
static void
flows_stay_when_the_daemon_ends(void **state)
{
    struct offload_desc *desc = unit_tc_desc(1, 1, 0);
    const ovs_u128 ufid = unit_tc_ufid(0);
    struct dpif_flow_stats stats = { .n_packets = 77 };
    struct unit_dpif *u = *state;
    struct dpif_op del = {
        .type = DPIF_OP_FLOW_DEL,
        .flow_del = {
            .ufid = &ufid, .pmd_id = PMD_ID_NULL, .stats = &stats,
        },
    };
    struct dpif_op add = add_op(desc);

    put(u, 0, 0);
    operate(u, &del, true);
    assert_int_equal(del.error, 0);
    assert_int_equal(get(u, 0), ENOENT);
    put(u, 0, 0);

    dpif_netlink_kdp_leave_flows();
    stats.n_packets = 77;
    operate(u, &del, true);
    assert_int_equal(del.error, 0);
    assert_int_equal(stats.n_packets, 0);
    assert_int_equal(get(u, 0), 0);
    operate(u, &add, true);
    assert_int_equal(add.error, 0);
    assert_int_equal(get(u, 1), ENOENT);

    /* A command still adds and deletes flows. */
    operate(u, &add, false);
    assert_int_equal(add.error, 0);
    assert_int_equal(get(u, 1), 0);
    operate(u, &del, false);
    assert_int_equal(get(u, 0), ENOENT);
    offload_desc_unref(desc);
}

/* The number is checked where the class is registered. */
static void
too_many_handlers_are_refused(void **state OVS_UNUSED)
{
    assert_int_equal(dpif_netlink_kdp_limit_handlers(4), 4);
    assert_int_equal(dpif_netlink_kdp_limit_handlers(5000), 4);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, unit_dpif_setup, unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(revalidators_keep_statistics_of_flows_that_move),
        cmocka_unit_test(too_many_handlers_are_refused),
        TEST(number_of_flows_includes_those_in_tc),
        TEST(flow_in_both_places_is_one),
        TEST(flow_whose_rule_vanished_is_not_in_tc),
        TEST(revalidators_do_not_see_chains_of_a_previous_run),
        TEST(nor_do_they_with_offload),
        TEST(lost_upcalls_are_told),
        TEST(upcall_is_passed_on_whole),
        TEST(packet_has_the_type_of_its_key),
        TEST(bridge_does_not_wait_before_it_has_asked),
        TEST(bridge_that_starts_keeps_flows_a_command_does_not),
        TEST(bridge_in_the_shadow_changes_nothing),
        TEST(flows_stay_when_the_daemon_ends),
    };

    unit_init(argv[0]);
    unit_check(!dpif_netlink_kdp_register());
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("dpif-class", tests, NULL, NULL);
}
