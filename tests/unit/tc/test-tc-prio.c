/* SPDX-License-Identifier: Apache-2.0 */

/* Priorities of rules: a function of the protocol, and what happens when
 * somebody else has the priority. */

#include <config.h>
#include "tc/tc-prio.h"

#include <errno.h>
#include <limits.h>
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

/* Can the place for rules be restored? */
static bool restorable;

bool
__wrap_kdp_tc_prepare_restore(struct netdev *netdev OVS_UNUSED)
{
    if (restorable) {
        backend_fail(UNIT_TC_REFUSED, 0, 0, 0);
    }
    return restorable;
}

/* The next 'n' requests find no place for rules. */
static void
lose_place(unsigned int n)
{
    backend_fail(UNIT_TC_REFUSED, 0, EINVAL, n);
}

static int
setup(void **state)
{
    restorable = false;
    return backend_setup(state);
}

static size_t
n_requests(void)
{
    size_t messages, requests;

    unit_tc_get_load(&messages, &requests);
    return requests;
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

/* Puts 'n' rules for flows from 'first' on, of 'backend_protocol', in one
 * batch, which all end with 'error'.  Returns the number of requests that this
 * took. */
static size_t
put_batch(struct kdp_tc *tc, uint32_t first, size_t n, int error)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_copy_op ops[KDP_TC_BATCH], *opps[KDP_TC_BATCH];
    size_t before = n_requests();

    assert_in_range(n, 1, KDP_TC_BATCH);
    for (uint32_t i = 0; i < n; i++) {
        opps[i] = &ops[i];
        ops[i] = (struct offload_copy_op) {
            .type = OFFLOAD_COPY_PUT,
            .ufid = unit_tc_ufid(first + i),
            .desc = unit_tc_desc(first + i, 1, 0),
            .rule = backend.create_rule(backend.aux),
        };
    }
    backend.operate(backend.aux, opps, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].error, error);
        assert_int_equal(ops[i].why != NULL, error == EAGAIN);
        offload_rule_unref(ops[i].rule);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i].desc));
    }
    return n_requests() - before;
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
    unit_tc_take_prio(LO, 9);
    backend_protocol = ETH_TYPE_NSH;

    /* The rules; for the first one its priority, twice, the chain, and the
     * spare priority. */
    assert_int_equal(put_batch(*state, 0, 10, EAGAIN), 10 + 4);
    assert_int_equal(put(*state, 1, ETH_TYPE_NSH, 0), 11);
}

/* Somebody has deleted the queueing discipline. */
static void
missing_place_is_restored_first(void **state)
{
    const ovs_u128 ufid = unit_tc_ufid(0);

    restorable = true;
    lose_place(UINT_MAX);
    backend_protocol = ETH_TYPE_RARP;
    assert_int_equal(put_batch(*state, 0, KDP_TC_BATCH, 0), 2 * KDP_TC_BATCH);
    assert_int_equal(unit_tc_prio(&ufid), 10);
}

/* If the place cannot be restored, each rule costs two questions. */
static void
missing_place_is_no_priority_of_others(void **state)
{
    lose_place(UINT_MAX);
    backend_protocol = ETH_TYPE_RARP;
    assert_int_equal(put_batch(*state, 0, KDP_TC_BATCH, EINVAL),
                     3 * KDP_TC_BATCH);
    lose_place(0);
    assert_int_equal(put(*state, 1, ETH_TYPE_RARP, 0), 10);
}

/* A driver refuses the first rule of a chain, which tc does not have yet. */
static void
missing_chain_is_no_priority_of_others(void **state)
{
    size_t before = n_requests();

    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EINVAL, 1);
    put(*state, 1, ETH_TYPE_IPV6, EINVAL);
    assert_int_equal(n_requests() - before, 1 + 2);

    /* The chain is there now. */
    assert_int_equal(put(*state, 1, ETH_TYPE_IPV6, 0), 3);
    before = n_requests();
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EINVAL, 1);
    put(*state, 2, ETH_TYPE_IPV6, EINVAL);
    assert_int_equal(n_requests() - before, 1 + 1);
}

/* The place or the chain comes back between any two requests. */
static void
place_that_comes_back_changes_no_priority(void **state)
{
    assert_int_equal(put(*state, 100, ETH_TYPE_IP, 0), 2);
    for (unsigned int n = 1; n < 10; n++) {
        lose_place(n);
        put(*state, n, ETH_TYPE_RARP, EINVAL);
        lose_place(0);
        assert_int_equal(put(*state, n, ETH_TYPE_RARP, 0), 10);
    }
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
        cmocka_unit_test_setup_teardown(NAME, setup, backend_teardown)
        TEST(each_protocol_has_a_priority),
        TEST(order_of_appearance_does_not_matter),
        TEST(priority_of_others_is_avoided),
        TEST(rules_of_another_numbering_are_avoided),
        TEST(there_may_be_no_priority_left),
        TEST(rule_that_is_wrong_by_itself_keeps_its_priority),
        TEST(priority_that_cannot_be_asked_about_is_asked_about_again),
        TEST(batch_asks_once),
        TEST(missing_place_is_restored_first),
        TEST(missing_place_is_no_priority_of_others),
        TEST(missing_chain_is_no_priority_of_others),
        TEST(place_that_comes_back_changes_no_priority),
        TEST(what_was_chosen_is_bounded),
#undef TEST
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-prio", tests, NULL, NULL);
}
