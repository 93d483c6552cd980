/* SPDX-License-Identifier: Apache-2.0 */

/* Priorities of rules: a function of the protocol, and what happens when
 * somebody else has the priority. */

#include <config.h>
#include "tc/tc-prio.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "harness/unit.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "tc.h"
#include "tc/tc-prepare.h"
#include "tc/tc-transact.h"
#include "unit/tc/backend-fixture.h"
#include "util.h"

/* Device of port 1. */
#define LO 1

bool __wrap_kdp_tc_prepare_restore(struct netdev *);

bool
__wrap_kdp_tc_prepare_restore(struct netdev *netdev OVS_UNUSED)
{
    return false;
}

/* Puts a rule of 'protocol' for 'flow' on port 1, and returns its priority, or
 * 0 if tc did not take it because of 'error'. */
static uint16_t
put(struct kdp_tc *tc, uint32_t flow, uint16_t protocol, int error)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    backend_protocol = protocol;
    assert_int_equal(backend_put(tc, unit_tc_desc(flow, 1, 0)), error);
    return error ? 0 : unit_tc_prio(&ufid);
}

static void
each_protocol_has_a_priority(void **state OVS_UNUSED)
{
    static const uint16_t common[] = {
        ETH_TYPE_IP, ETH_TYPE_IPV6, ETH_TYPE_VLAN_8021Q, ETH_TYPE_ARP,
        ETH_TYPE_VLAN_8021AD, ETH_TYPE_MPLS, ETH_TYPE_MPLS_MCAST,
        ETH_TYPE_NSH, ETH_TYPE_RARP,
    };
    static bool seen[UINT16_MAX + 1];

    /* These numbers must never change: other runs rely on them. */
    for (size_t i = 0; i < ARRAY_SIZE(common); i++) {
        assert_int_equal(kdp_tc_prio_own(htons(common[i])), 2 + i);
    }

    /* 0x05ff is what Open vSwitch has for frames without an Ethertype. */
    for (uint32_t type = 0x05ff; type <= UINT16_MAX; type++) {
        uint16_t prio = kdp_tc_prio_own(htons(type));

        unit_check(prio > TC_RESERVED_PRIORITY_POLICE);
        unit_check(prio <= 10 || prio > 16);
        unit_check(!seen[prio]);
        seen[prio] = true;
    }
    for (uint32_t type = 0; type < 0x05ff; type++) {
        unit_check(kdp_tc_prio_own(htons(type)) > 16);
    }
}

static void
order_of_appearance_does_not_matter(void **state)
{
    assert_int_equal(put(*state, 1, ETH_TYPE_MPLS, 0), 7);
    assert_int_equal(put(*state, 2, 0x88b5, 0), 0x88b5);
    assert_int_equal(put(*state, 3, ETH_TYPE_ARP, 0), 5);
    assert_int_equal(put(*state, 4, ETH_TYPE_IP, 0), 2);
    assert_int_equal(put(*state, 5, ETH_TYPE_MPLS, 0), 7);
    assert_int_equal(DEL(1).error, 0);
}

static void
priority_of_others_is_avoided(void **state)
{
    unit_tc_take_prio(LO, 5);
    unit_tc_take_prio(LO, 11);
    put(*state, 1, ETH_TYPE_ARP, EAGAIN);
    assert_int_equal(put(*state, 1, ETH_TYPE_ARP, 0), 12);
    assert_int_equal(put(*state, 3, ETH_TYPE_ARP, 0), 12);
    backend_packets(1, 3);
    assert_int_equal(GET(1).stats.n_packets, 3);
    assert_int_equal(DEL(1).stats.n_packets, 3);

    /* Other protocols keep theirs, and the spare one is this one's. */
    assert_int_equal(put(*state, 4, ETH_TYPE_IP, 0), 2);
    unit_tc_take_prio(LO, 4);
    put(*state, 5, ETH_TYPE_VLAN_8021Q, EAGAIN);
    assert_int_equal(put(*state, 5, ETH_TYPE_VLAN_8021Q, 0), 13);

    /* Somebody takes that one later. */
    assert_int_equal(DEL(5).error, 0);
    unit_tc_take_prio(LO, 13);
    put(*state, 6, ETH_TYPE_VLAN_8021Q, EAGAIN);
    assert_int_equal(put(*state, 6, ETH_TYPE_VLAN_8021Q, 0), 14);
}

/* A previous run, or the stock daemon, has numbered protocols otherwise. */
static void
rules_of_another_numbering_are_avoided(void **state)
{
    struct kdp_tc_request old = { .type = KDP_TC_ADD };
    const ovs_u128 ufid = unit_tc_ufid(100);
    struct tcmsg *tcm;

    old.rule = ofpbuf_new(0);
    unit_tc_make_rule(&ufid, tc_make_handle(6, htons(ETH_TYPE_IPV6)), 0,
                      old.rule);
    tcm = ofpbuf_at_assert(old.rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = LO;
    tcm->tcm_parent = TC_INGRESS_PARENT;
    kdp_tc_id_parse(old.rule, &old.id);
    old.id.handle = 1;
    kdp_tc_transact((struct kdp_tc_request *[]) { &old }, 1);
    assert_int_equal(old.error, 0);
    ofpbuf_delete(old.rule);

    put(*state, 1, ETH_TYPE_VLAN_8021AD, EAGAIN);
    assert_int_equal(put(*state, 1, ETH_TYPE_VLAN_8021AD, 0), 11);
    assert_int_equal(put(*state, 2, ETH_TYPE_IPV6, 0), 3);
}

static void
there_may_be_no_priority_left(void **state)
{
    for (uint16_t prio = 7; prio <= 16; prio++) {
        unit_tc_take_prio(LO, prio);
    }
    put(*state, 1, ETH_TYPE_MPLS, EINVAL);
    put(*state, 1, ETH_TYPE_MPLS, EINVAL);
    assert_int_equal(put(*state, 2, ETH_TYPE_IP, 0), 2);
}

static void
rule_that_is_wrong_by_itself_keeps_its_priority(void **state)
{
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EINVAL, 1);
    put(*state, 1, ETH_TYPE_IPV6, EINVAL);
    assert_int_equal(put(*state, 1, ETH_TYPE_IPV6, 0), 3);
}

/* Nothing is chosen when tc does not say whether the priority is taken. */
static void
priority_that_cannot_be_asked_about_is_asked_about_again(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EMFILE };

    unit_tc_take_prio(LO, 8);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        backend_fail(UNIT_TC_NOT_SENT, RTM_GETTFILTER, errors[i], 1);
        put(*state, 1, ETH_TYPE_MPLS_MCAST, EINVAL);
    }
    put(*state, 1, ETH_TYPE_MPLS_MCAST, EAGAIN);
    assert_int_equal(put(*state, 1, ETH_TYPE_MPLS_MCAST, 0), 11);
}

static void
batch_asks_once(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_copy_op ops[10], *opps[10];
    size_t messages, before, requests;

    unit_tc_take_prio(LO, 9);
    backend_protocol = ETH_TYPE_NSH;
    unit_tc_get_load(&messages, &before);
    for (uint32_t i = 0; i < 10; i++) {
        opps[i] = &ops[i];
        ops[i] = (struct offload_copy_op) {
            .type = OFFLOAD_COPY_PUT,
            .ufid = unit_tc_ufid(i),
            .desc = unit_tc_desc(i, 1, 0),
            .rule = backend.create_rule(backend.aux),
        };
    }
    backend.operate(backend.aux, opps, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(ops[i].error, EAGAIN);
        assert_non_null(ops[i].why);
        offload_rule_unref(ops[i].rule);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i].desc));
    }
    unit_tc_get_load(&messages, &requests);

    /* The rules, the two priorities, and whether the rules are there. */
    assert_int_equal(requests - before, 10 + 2 + 10);
    assert_int_equal(put(*state, 1, ETH_TYPE_NSH, 0), 11);
}

/* Of very many devices. */
static void
what_was_chosen_is_bounded(void **state OVS_UNUSED)
{
    enum { N = 5000 };
    size_t n_chosen = 0;

    for (int i = 1; i <= N; i++) {
        struct kdp_tc_request request = {
            .type = KDP_TC_ADD,
            .id = { .ifindex = 1000 + i, .parent = TC_INGRESS_PARENT,
                    .info = htons(ETH_TYPE_RARP), .handle = 1 },
        };

        unit_tc_take_prio(request.id.ifindex, 10);
        kdp_tc_prio_set(&request.id);
        assert_int_equal(tc_get_major(request.id.info), 10);
        assert_true(kdp_tc_prio_avoid(&request));
        kdp_tc_prio_set(&request.id);
        assert_int_equal(tc_get_major(request.id.info), 11);
    }
    for (int i = 1; i <= N; i++) {
        struct kdp_tc_id id = {
            .ifindex = 1000 + i, .parent = TC_INGRESS_PARENT,
            .info = htons(ETH_TYPE_RARP),
        };

        kdp_tc_prio_set(&id);
        n_chosen += tc_get_major(id.info) == 11;
    }
    assert_in_range(n_chosen, 1, N - 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
        cmocka_unit_test_setup_teardown(NAME, backend_setup, backend_teardown)
        TEST(each_protocol_has_a_priority),
        TEST(order_of_appearance_does_not_matter),
        TEST(priority_of_others_is_avoided),
        TEST(rules_of_another_numbering_are_avoided),
        TEST(there_may_be_no_priority_left),
        TEST(rule_that_is_wrong_by_itself_keeps_its_priority),
        TEST(priority_that_cannot_be_asked_about_is_asked_about_again),
        TEST(batch_asks_once),
        TEST(what_was_chosen_is_bounded),
#undef TEST
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-prio", tests, NULL, NULL);
}
