/* SPDX-License-Identifier: Apache-2.0 */

/* The tc side of offload: names and statistics of rules, and what becomes of
 * them when requests fail. */

#include <config.h>
#include "tc/tc-adopt.h"
#include "tc/tc-backend.h"
#include "tc/tc-handle.h"
#include "tc/tc-rules.h"
#include "tc/tc-transact.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "netdev-linux/qdisc-lock.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "tc.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "util.h"

#define N_PORTS 2

/* Bytes of each packet as tc counts them. */
#define PACKET 100

/* The hook that rules are translated for. */
static uint32_t hook = TC_INGRESS_PARENT;

/* The block that they are for, or 0 for the device. */
static uint32_t block;

int __wrap_kdp_tc_translate(struct netdev *, const struct offload_desc *,
                            bool recirc_sharing, struct ofpbuf **,
                            struct kdp_tc_id *);

int
__wrap_kdp_tc_translate(struct netdev *netdev,
                        const struct offload_desc *desc,
                        bool recirc_sharing OVS_UNUSED,
                        struct ofpbuf **rule, struct kdp_tc_id *id)
{
    struct tcmsg *tcm;

    *rule = ofpbuf_new(0);
    unit_tc_make_rule(&desc->ufid, 4 << 16 | 8, 0, *rule);
    tcm = ofpbuf_at_assert(*rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = netdev_get_ifindex(netdev);
    tcm->tcm_parent = hook;
    if (block) {
        tcm->tcm_ifindex = TCM_IFINDEX_MAGIC_BLOCK;
        tcm->tcm_parent = block;
    }
    kdp_tc_id_parse(*rule, id);
    return 0;
}

/* Rules of flows, as the engine keeps them. */
#define N_FLOWS 512
static struct offload_rule *rules[N_FLOWS];

/* Forgets the rule of 'flow', as the engine does. */
static void
forget(uint32_t flow)
{
    offload_rule_unref(rules[flow]);
    rules[flow] = NULL;
}

static void
forget_all(void)
{
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        forget(i);
    }
}

static int
setup(void **state)
{
    struct kdp_tc *tc = xzalloc(sizeof *tc);

    hook = TC_INGRESS_PARENT;
    block = 0;
    unit_tc_init();
    unit_tc_ports_add(N_PORTS);
    kdp_tc_init(tc, kdp_dpif_type, false);
    atomic_store_relaxed(&tc->count_headers, true);
    *state = tc;
    return 0;
}

static int
teardown(void **state)
{
    forget_all();
    kdp_tc_destroy(*state);
    free(*state);
    unit_tc_ports_del(N_PORTS);
    unit_tc_uninit();
    return 0;
}

static struct offload_copy_op
operate(struct kdp_tc *tc, enum offload_copy_type type, uint32_t flow,
        struct offload_desc *desc)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_copy_op op = {
        .type = type, .ufid = unit_tc_ufid(flow), .desc = desc,
        .error = -1, .stats.n_packets = 99, .in_hw = true,
    };

    if (type == OFFLOAD_COPY_PUT) {
        forget(flow);
        rules[flow] = backend.create_rule(backend.aux);
    }
    op.rule = rules[flow];
    backend.operate(backend.aux, (struct offload_copy_op *[]) { &op }, 1);
    if (type == OFFLOAD_COPY_PUT ? op.error
        : type == OFFLOAD_COPY_DEL
        && (!op.error || op.error == ENOENT || op.error == ENODEV)) {
        forget(flow);
    }
    return op;
}

/* Returns the error. */
static int
put(struct kdp_tc *tc, struct offload_desc *desc)
{
    struct offload_copy_op op = operate(tc, OFFLOAD_COPY_PUT,
                                        desc->ufid.u32[0], desc);

    offload_desc_unref(desc);
    return op.error;
}

#define PUT(FLOW) put(*state, unit_tc_desc(FLOW, 1, 0))
#define GET(FLOW) operate(*state, OFFLOAD_COPY_GET, FLOW, NULL)
#define DEL(FLOW) operate(*state, OFFLOAD_COPY_DEL, FLOW, NULL)

static void
packets(uint32_t flow, unsigned int n)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    while (n--) {
        assert_true(unit_tc_packet(&ufid, PACKET));
    }
}

/* Lists the rules as a dump does. */
static void
make_list(uint64_t n_dump, struct kdp_tc_list *list)
{
    kdp_tc_list_init(list, n_dump);
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        const ovs_u128 ufid = unit_tc_ufid(i);

        if (rules[i]) {
            kdp_tc_list_add(list, &ufid, rules[i]);
        }
    }
}

/* Number of rules that are known. */
static size_t
n_known(void)
{
    struct kdp_tc_list list;
    size_t n;

    make_list(UINT64_MAX, &list);
    n = list.n_rules;
    kdp_tc_list_uninit(&list);
    return n;
}

/* Bytes that a packet of 'flags' counts more than tc tells. */
static uint64_t
overhead(struct kdp_tc *tc, uint32_t parent, unsigned int flags)
{
    struct offload_copy_op op;
    struct kdp_tc_list list;

    hook = parent;
    assert_int_equal(put(tc, unit_tc_desc(1, 1, flags)), 0);
    packets(1, 3);
    op = operate(tc, OFFLOAD_COPY_GET, 1, NULL);
    assert_int_equal(op.stats.n_packets, 3);
    assert_int_equal(op.stats.n_bytes % 3, 0);

    /* Dumps count alike. */
    make_list(UINT64_MAX, &list);
    assert_int_equal(list.n_rules, 1);
    assert_int_equal(list.rules[0].known.overhead,
                     op.stats.n_bytes / 3 - PACKET);
    kdp_tc_list_uninit(&list);
    assert_int_equal(operate(tc, OFFLOAD_COPY_DEL, 1, NULL).stats.n_bytes,
                     op.stats.n_bytes);
    return op.stats.n_bytes / 3 - PACKET;
}

static void
bytes_can_be_those_that_the_kernel_datapath_would_count(void **state)
{
    const unsigned int bare_vlan = UNIT_TC_VLAN | UNIT_TC_NO_ETHERNET;

    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, 0), 14);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, UNIT_TC_VLAN), 18);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, UNIT_TC_NO_VLAN),
                     14);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT,
                              UNIT_TC_NO_ETHERNET), 0);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, bare_vlan), 4);
    assert_int_equal(overhead(*state, TC_EGRESS_PARENT, 0), 0);
    assert_int_equal(overhead(*state, TC_EGRESS_PARENT, UNIT_TC_VLAN), 4);
}

static void
bytes_are_those_of_tc_unless_it_is_asked_for_headers(void **state)
{
    struct kdp_tc tc;

    kdp_tc_init(&tc, kdp_dpif_type, false);
    assert_int_equal(overhead(&tc, TC_INGRESS_PARENT, 0), 0);
    assert_int_equal(overhead(&tc, TC_INGRESS_PARENT, UNIT_TC_VLAN), 0);
    assert_int_equal(overhead(&tc, TC_EGRESS_PARENT, UNIT_TC_VLAN), 0);
    forget_all();
    kdp_tc_destroy(&tc);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, 0), 14);
}

static void
bytes_of_a_rule_are_counted_alike_as_long_as_it_lives(void **state)
{
    struct kdp_tc *tc = *state;

    assert_int_equal(PUT(1), 0);
    packets(1, 3);
    assert_int_equal(GET(1).stats.n_bytes, 3 * (PACKET + 14));
    atomic_store_relaxed(&tc->count_headers, false);
    assert_int_equal(PUT(2), 0);
    packets(2, 3);
    assert_int_equal(GET(1).stats.n_bytes, 3 * (PACKET + 14));
    assert_int_equal(GET(2).stats.n_bytes, 3 * PACKET);
    assert_int_equal(DEL(1).stats.n_bytes, 3 * (PACKET + 14));
    assert_int_equal(DEL(2).stats.n_bytes, 3 * PACKET);
}

static void
packets_of_the_device_are_counted_as_they_are(void **state OVS_UNUSED)
{
    const struct kdp_tc_rule rule = {
        .stats = { .n_packets = 10, .n_bytes = 1000, .used = 5 },
        .n_sw_packets = 3,
    };
    struct offload_stats stats = kdp_tc_stats(&rule, 14);

    assert_int_equal(stats.n_packets, 10);
    assert_int_equal(stats.n_bytes, 1000 + 3 * 14);
    assert_int_equal(stats.used, 5);
}

static void
packets_of_a_meter_are_not_those_of_the_flow(void **state)
{
    struct offload_copy_op op;

    /* One that all flows of the meter share. */
    assert_int_equal(PUT(1), 0);
    packets(1, 3);
    unit_tc_set_policer(1000, false);
    op = GET(1);
    assert_int_equal(op.error, 0);
    assert_int_equal(op.stats.n_packets, 3);
    assert_int_equal(op.stats.n_bytes, 3 * (PACKET + 14));
    assert_int_equal(op.stats.used, 0);

    /* One of the rule itself. */
    unit_tc_set_policer(4, true);
    op = GET(1);
    assert_int_equal(op.stats.n_packets, 4);
    assert_int_not_equal(op.stats.used, 0);
    unit_tc_set_policer(1000, false);
    assert_int_equal(DEL(1).stats.n_packets, 3);
}

#define N_RULES 300

static void
handles_are_unique_and_of_one_range(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_copy_op ops[N_RULES], *opps[N_RULES];
    struct kdp_tc_list list;

    for (uint32_t i = 0; i < N_RULES; i++) {
        opps[i] = &ops[i];
        ops[i] = (struct offload_copy_op) {
            .type = OFFLOAD_COPY_PUT,
            .ufid = unit_tc_ufid(i),
            .desc = unit_tc_desc(i, 1, 0),
            .rule = rules[i] = backend.create_rule(backend.aux),
        };
    }
    backend.operate(backend.aux, opps, N_RULES);
    for (uint32_t i = 0; i < N_RULES; i++) {
        assert_int_equal(ops[i].error, 0);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i].desc));
        ops[i].type = OFFLOAD_COPY_DEL;
    }

    make_list(UINT64_MAX, &list);
    assert_int_equal(list.n_rules, N_RULES);
    for (size_t i = 0; i < N_RULES; i++) {
        const uint32_t handle = list.rules[i].known.id.handle;

        assert_in_range(handle, 0x10000000, 0xefffffff);
        assert_int_equal(handle >> 24, list.rules[0].known.id.handle >> 24);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(handle, list.rules[j].known.id.handle);
        }
    }
    kdp_tc_list_uninit(&list);
    assert_int_equal(kdp_tc_count(*state, 1), N_RULES);
    assert_int_equal(kdp_tc_count(*state, 2), 0);
    backend.operate(backend.aux, opps, N_RULES);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(n_known(), 0);
    assert_int_equal(kdp_tc_count(*state, 1), 0);
}

static void
rules_of_a_bond_are_counted_for_it(void **state)
{
    block = 77;
    assert_int_equal(PUT(1), 0);
    block = 78;
    assert_int_equal(PUT(2), 0);
    assert_int_equal(kdp_tc_count(*state, 77), 1);
    assert_int_equal(kdp_tc_count(*state, 78), 1);
    assert_int_equal(kdp_tc_count(*state, TCM_IFINDEX_MAGIC_BLOCK), 0);
    assert_int_equal(kdp_tc_rule_saw(rules[1], true), 14);
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(kdp_tc_count(*state, 77), 0);
    assert_int_equal(kdp_tc_count(*state, 78), 1);
    assert_int_equal(DEL(2).error, 0);
    assert_int_equal(kdp_tc_count(*state, 78), 0);
}

/* Checks the list with 'n_dump': 'n_rules' by name, and the device of
 * port 'port_no' unless that is 0. */
static void
check_list(uint64_t n_dump, size_t n_rules, uint32_t port_no, bool in_hw)
{
    struct kdp_tc_list list;

    make_list(n_dump, &list);
    assert_int_equal(list.n_rules, n_rules);
    assert_int_equal(list.n_devices, port_no > 0);
    if (port_no) {
        assert_int_equal(list.devices[0].port_no, port_no);
        assert_int_equal(list.devices[0].in_hw, in_hw);
    }
    for (size_t i = 0; i < n_rules; i++) {
        assert_int_not_equal(list.rules[i].known.port_no, port_no);
    }
    kdp_tc_list_uninit(&list);
}

static void
rules_are_listed_by_name_or_by_device(void **state)
{
    struct kdp_tc *tc = *state;

    check_list(1, 0, 0, false);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(put(tc, unit_tc_desc(i, i < 2 ? 1 : 2, 0)), 0);
    }
    check_list(UINT64_MAX, 5, 0, false);
    check_list(4, 5, 0, false);
    /* Twice: nothing is left of the first time. */
    check_list(3, 2, 2, false);
    check_list(3, 2, 2, false);

    /* One in the device is enough. */
    kdp_tc_rule_saw(rules[1], true);
    check_list(UINT64_MAX, 3, 1, true);
    /* A new one is taken to be there, too. */
    assert_int_equal(put(tc, unit_tc_desc(9, 1, 0)), 0);
    assert_int_equal(DEL(1).error, 0);
    check_list(UINT64_MAX, 3, 1, true);
    assert_int_equal(DEL(9).error, 0);
    check_list(UINT64_MAX, 4, 0, false);
}

static void
dumps_pause_after_a_slow_one(void **state)
{
    struct kdp_tc *tc = *state;

    assert_true(kdp_tc_may_dump(tc));
    kdp_tc_dump_waited(tc, KDP_TC_SLOW_DUMP - 1);
    assert_true(kdp_tc_may_dump(tc));
    kdp_tc_dump_waited(tc, KDP_TC_SLOW_DUMP);
    assert_false(kdp_tc_may_dump(tc));
    kdp_tc_dump_waited(tc, 0);
    assert_false(kdp_tc_may_dump(tc));
    atomic_store_relaxed(&tc->dump_after, time_msec());
    assert_true(kdp_tc_may_dump(tc));
}

static void
what_tc_cannot_have_is_not_asked_for(void **state)
{
    static const uint32_t child = 7;
    struct offload_desc *desc = unit_tc_desc(1, 1, 0);
    struct offload_desc chain = *desc;
    size_t n_messages, n_requests;

    /* No such ports.  Another flow of the kind may be taken. */
    assert_int_equal(put(*state, unit_tc_desc(1, 99, 0)), ENODEV);
    unit_tc_ports_del(N_PORTS);
    assert_int_equal(PUT(1), EAGAIN);
    unit_tc_ports_add(N_PORTS);

    /* Chains, if tc and the datapath do not share them. */
    chain.recirc_id = 1;
    assert_int_equal(put(*state, offload_desc_create(&chain)), EOPNOTSUPP);
    chain.recirc_id = 0;
    chain.children = &child;
    chain.n_children = 1;
    assert_int_equal(put(*state, offload_desc_create(&chain)), EOPNOTSUPP);
    offload_desc_unref(desc);

    /* What is not there. */
    assert_int_equal(GET(1).error, ENOENT);
    assert_int_equal(DEL(1).error, ENOENT);
    unit_tc_get_load(&n_messages, &n_requests);
    assert_int_equal(n_requests, 0);
}

static void
rule_that_could_not_be_deleted_is_still_known(void **state)
{
    static const struct {
        int error;
        bool known;
    } cases[] = {
        { EBUSY, true }, { ENOMEM, true }, { ENOENT, false },
        { ENODEV, false }, { EINVAL, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct unit_tc_plan plan = {
            .fault = UNIT_TC_REFUSED, .error = cases[i].error, .n = 1,
        };

        assert_int_equal(PUT(1), 0);
        unit_tc_plan(&plan);
        assert_int_not_equal(DEL(1).error, 0);
        assert_int_equal(n_known(), cases[i].known);
        assert_int_equal(DEL(1).error, cases[i].known ? 0 : ENOENT);
        assert_int_equal(n_known(), 0);
        unit_tc_uninit();
    }
}

static void
rule_that_others_deleted_is_told(void **state)
{
    const ovs_u128 ufid = unit_tc_ufid(1);
    struct offload_copy_op op;

    assert_int_equal(PUT(1), 0);
    packets(1, 3);
    assert_true(unit_tc_remove(&ufid));
    op = GET(1);
    assert_int_equal(op.error, ENOENT);
    assert_int_equal(op.stats.n_packets, 0);
    assert_false(op.in_hw);
    assert_int_equal(DEL(1).error, ENOENT);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(DEL(1).error, 0);
}

/* Lets the next 'n' requests of 'type' fail. */
static void
let_fail(enum unit_tc_fault fault, uint16_t type, int error,
         unsigned int n)
{
    const struct unit_tc_plan plan = {
        .fault = fault, .type = type, .error = error, .n = n,
    };

    unit_tc_plan(&plan);
}

static void
statistics_of_another_rule_are_not_taken(void **state)
{
    struct offload_copy_op op;

    assert_int_equal(PUT(1), 0);
    let_fail(UNIT_TC_MISTAKEN, RTM_GETTFILTER, 0, 1);
    op = GET(1);
    assert_int_equal(op.error, ENOENT);
    assert_int_equal(op.stats.n_packets, 0);
    let_fail(UNIT_TC_MISTAKEN, RTM_DELTFILTER, 0, 1);
    op = DEL(1);
    assert_int_equal(op.stats.n_packets, 0);
    assert_int_equal(n_known(), 0);
}

static void
rule_whose_acknowledgement_was_lost_is_known(void **state)
{
    /* The request is sent again and finds the rule in its way. */
    let_fail(UNIT_TC_REPEATED, RTM_NEWTFILTER, 0, 1);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(unit_tc_count(), 1);
    packets(1, 3);
    assert_int_equal(DEL(1).stats.n_packets, 3);
    assert_int_equal(unit_tc_count(), 0);
}

static void
rule_without_any_answer_does_not_stay_unknown(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EPROTO, EIO };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        let_fail(UNIT_TC_NOT_RECEIVED, RTM_NEWTFILTER, errors[i], 1);
        assert_int_equal(PUT(1), 0);
        assert_int_equal(n_known(), 1);
        assert_int_equal(DEL(1).error, 0);
        assert_int_equal(unit_tc_count(), 0);
    }
}

static void
request_that_was_not_sent_makes_no_rule(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EMFILE };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        let_fail(UNIT_TC_NOT_SENT, RTM_NEWTFILTER, errors[i], 1);
        assert_int_equal(PUT(1), errors[i]);
        assert_int_equal(n_known(), 0);
        let_fail(UNIT_TC_NOT_SENT, 0, errors[i], 2);
        assert_int_equal(PUT(1), errors[i]);
        assert_int_equal(n_known(), 0);
    }
    assert_int_equal(PUT(1), 0);
    assert_int_equal(DEL(1).error, 0);
}

static void
rule_of_somebody_else_is_in_the_way(void **state)
{
    let_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EEXIST, 1);
    assert_int_equal(PUT(1), EEXIST);
    assert_int_equal(n_known(), 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(DEL(1).error, 0);
}

/* Rules that are found. */

/* A rule of flow 'flow' on port 1 that 'tc' does not know. */
static void
add_unknown(uint32_t flow, uint32_t handle)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct kdp_tc_request request = { .type = KDP_TC_ADD };
    struct ofpbuf rule;
    struct tcmsg *tcm;

    ofpbuf_init(&rule, 0);
    unit_tc_make_rule(&ufid, 4 << 16 | 8, 0, &rule);
    tcm = ofpbuf_at_assert(&rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = 1;
    request.rule = &rule;
    kdp_tc_id_parse(&rule, &request.id);
    request.id.handle = handle;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    ofpbuf_uninit(&rule);
}

static int
flush(struct kdp_tc *tc, uint32_t port_no)
{
    struct offload_backend backend = kdp_tc_backend(tc);

    return backend.flush(backend.aux, port_no);
}

static void
flush_deletes_all_rules_of_the_port(void **state)
{
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(put(*state, unit_tc_desc(i, 1 + i % 2, 0)), 0);
    }
    add_unknown(100, 0x10000001);
    add_unknown(101, 1);
    assert_int_equal(flush(*state, 1), 0);
    assert_int_equal(unit_tc_count(), 5);
    for (uint32_t i = 0; i < 10; i += 2) {
        assert_int_equal(GET(i).error, ENOENT);
        forget(i);
    }
    assert_int_equal(n_known(), 5);
    assert_int_equal(flush(*state, 2), 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(flush(*state, 99), 0);
}

static void
flush_that_fails_says_so(void **state)
{
    assert_int_equal(PUT(1), 0);
    assert_int_equal(PUT(2), 0);
    let_fail(UNIT_TC_REFUSED, RTM_DELTFILTER, EBUSY, 1);
    assert_int_equal(flush(*state, 1), EBUSY);
    assert_int_equal(unit_tc_count(), 1);
    let_fail(UNIT_TC_NOT_SENT, 0, EMFILE, 1);
    assert_int_equal(flush(*state, 1), EMFILE);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(flush(*state, 1), ENOBUFS);
    unit_tc_fail_dumps(ENODEV, 0);
    assert_int_equal(flush(*state, 1), 0);
    unit_tc_fail_dumps(0, 0);
    assert_int_equal(flush(*state, 1), 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(unit_tc_n_dumps(), 0);
}

static size_t
delete_left(struct netdev *netdev)
{
    atomic_bool stop = ATOMIC_VAR_INIT(false);

    return kdp_tc_delete_left(netdev, &stop);
}

static void
only_rules_with_our_handles_are_left_ones(void **state OVS_UNUSED)
{
    static const uint32_t others[] = { 1, 0x0fffffff, 0xf0000000, UINT32_MAX };
    static const uint32_t ours[] = { 0x10000000, 0x12345678, 0xefffffff };
    struct netdev *netdev;

    unit_check(!netdev_open("lo", "system", &netdev));
    for (uint32_t i = 0; i < ARRAY_SIZE(others); i++) {
        add_unknown(i, others[i]);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(ours); i++) {
        add_unknown(10 + i, ours[i]);
    }

    /* What cannot be deleted, or is gone, does not count. */
    let_fail(UNIT_TC_REFUSED, RTM_DELTFILTER, EBUSY, 1);
    assert_int_equal(delete_left(netdev), ARRAY_SIZE(ours) - 1);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(delete_left(netdev), 0);
    unit_tc_fail_dumps(0, 0);
    assert_int_equal(delete_left(netdev), 1);
    assert_int_equal(delete_left(netdev), 0);
    assert_int_equal(unit_tc_count(), ARRAY_SIZE(others));
    netdev_close(netdev);
}

/* Deletion by a thread of its own. */
struct deletion {
    struct netdev *netdev;
    atomic_bool stop;
    atomic_bool started;
};

static void *
delete_in_thread(void *deletion_)
{
    struct deletion *deletion = deletion_;

    atomic_store_relaxed(&deletion->started, true);
    kdp_tc_delete_left(deletion->netdev, &deletion->stop);
    return NULL;
}

static void
deletion_of_left_rules_can_be_stopped(void **state OVS_UNUSED)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct deletion deletion = { .netdev = NULL };
    struct qdisc_lock *lock;
    bool started = false;
    pthread_t thread;

    unit_check(!netdev_open("lo", "system", &deletion.netdev));
    lock = qdisc_lock_get(netdev_get_ifindex(deletion.netdev));
    for (uint32_t i = 0; i < 10; i++) {
        add_unknown(i, 0x10000000 + i);
    }
    atomic_init(&deletion.stop, false);
    atomic_init(&deletion.started, false);

    /* It waits for the lock, or will find that it is to stop. */
    qdisc_lock_acquire(lock);
    thread = ovs_thread_create("deletion", delete_in_thread, &deletion);
    while (!started) {
        xnanosleep(1000000);
        atomic_read_relaxed(&deletion.started, &started);
    }
    xnanosleep(10000000);
    atomic_store_relaxed(&deletion.stop, true);
    qdisc_lock_release(lock);
    xpthread_join(thread, NULL);
    assert_true(unit_tc_count() >= 9);

    /* Not even looked for. */
    kdp_tc_delete_left(deletion.netdev, &deletion.stop);
    assert_true(unit_tc_count() >= 9);
    assert_int_not_equal(delete_left(deletion.netdev), 0);
    assert_int_equal(unit_tc_count(), 0);
    netdev_close(deletion.netdev);
}

static void
note_found(void *n, const ovs_u128 *ufid OVS_UNUSED, struct offload_desc *desc,
           const struct offload_stats *stats, struct offload_rule *rule)
{
    assert_null(desc);
    assert_int_equal(stats->n_packets, 3);
    rules[1] = rule;
    ++*(unsigned int *) n;
}

static void
rules_that_cannot_be_told_are_found_and_can_be_deleted(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    unsigned int n = 0;

    add_unknown(1, 0x10000001);
    packets(1, 3);
    assert_int_equal(backend.dump(backend.aux, 99, note_found, &n), ENODEV);
    assert_int_equal(backend.dump(backend.aux, 2, note_found, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(backend.dump(backend.aux, 1, note_found, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(n_known(), 1);
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(n_known(), 0);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(backend.dump(backend.aux, 1, note_found, &n), ENOBUFS);
    unit_tc_fail_dumps(0, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(bytes_can_be_those_that_the_kernel_datapath_would_count),
        TEST(bytes_are_those_of_tc_unless_it_is_asked_for_headers),
        TEST(bytes_of_a_rule_are_counted_alike_as_long_as_it_lives),
        TEST(packets_of_the_device_are_counted_as_they_are),
        TEST(packets_of_a_meter_are_not_those_of_the_flow),
        TEST(handles_are_unique_and_of_one_range),
        TEST(rules_of_a_bond_are_counted_for_it),
        TEST(rules_are_listed_by_name_or_by_device),
        TEST(dumps_pause_after_a_slow_one),
        TEST(what_tc_cannot_have_is_not_asked_for),
        TEST(rule_that_could_not_be_deleted_is_still_known),
        TEST(rule_that_others_deleted_is_told),
        TEST(statistics_of_another_rule_are_not_taken),
        TEST(rule_whose_acknowledgement_was_lost_is_known),
        TEST(rule_without_any_answer_does_not_stay_unknown),
        TEST(request_that_was_not_sent_makes_no_rule),
        TEST(rule_of_somebody_else_is_in_the_way),
        TEST(flush_deletes_all_rules_of_the_port),
        TEST(flush_that_fails_says_so),
        TEST(only_rules_with_our_handles_are_left_ones),
        TEST(deletion_of_left_rules_can_be_stopped),
        TEST(rules_that_cannot_be_told_are_found_and_can_be_deleted),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-backend", tests, NULL, NULL);
}
