/* SPDX-License-Identifier: Apache-2.0 */

/* The tc side of offload: what becomes of rules when requests fail (O1, O5,
 * O6). */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "link/link-qdisc.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/links.h"
#include "netdev.h"
#include "ovs-rcu.h"
#include "tc.h"
#include "tc/tc-prepare.h"
#include "tc/tc-skip.h"
#include "tc/tc-transact.h"
#include "timeval.h"
#include "util.h"

/* Requests to add a queueing discipline, and what they end with. */
static unsigned int n_qdiscs_added;
static int qdisc_error;

/* Do the link tables know which devices have one, and do all have one then? */
static bool is_known = true, has_ingress;

int __wrap_tc_add_del_qdisc(int ifindex, bool add, uint32_t block_id,
                            enum tc_qdisc_hook);
struct link_qdiscs *__wrap_kdp_links_qdiscs(void);
bool __wrap_link_qdiscs_are_known(const struct link_qdiscs *);
bool __wrap_link_qdiscs_has_ingress(const struct link_qdiscs *, int ifindex);

/* What a device has, if that is not left to 'qdisc_error'. */
static enum { QDISC_ANY, QDISC_NONE, QDISC_INGRESS, QDISC_CLSACT } qdisc;

int
__wrap_tc_add_del_qdisc(int ifindex OVS_UNUSED, bool add,
                        uint32_t block_id OVS_UNUSED,
                        enum tc_qdisc_hook hook)
{
    n_qdiscs_added += add;
    if (qdisc == QDISC_ANY) {
        return qdisc_error;
    } else if (add != (qdisc == QDISC_NONE)) {
        return add ? EEXIST : ENOENT;
    }
    qdisc = (!add ? QDISC_NONE
             : hook == TC_EGRESS ? QDISC_CLSACT : QDISC_INGRESS);
    return 0;
}

bool __wrap_ingress_qdisc_get(int ifindex, struct ingress_qdisc *);

bool
__wrap_ingress_qdisc_get(int ifindex, struct ingress_qdisc *found)
{
    *found = (struct ingress_qdisc) {
        .ifindex = ifindex, .is_clsact = qdisc == QDISC_CLSACT,
    };
    return qdisc == QDISC_INGRESS || qdisc == QDISC_CLSACT;
}

/* The place of a port of type "internal", if that is true. */
static bool is_internal;

struct tcf_id __wrap_kdp_tc_place(struct netdev *, int ifindex);
struct tcf_id __real_kdp_tc_place(struct netdev *, int ifindex);

struct tcf_id
__wrap_kdp_tc_place(struct netdev *netdev, int ifindex)
{
    return (is_internal ? tc_make_tcf_id(ifindex, 0, 0, TC_EGRESS)
            : __real_kdp_tc_place(netdev, ifindex));
}

struct link_qdiscs *
__wrap_kdp_links_qdiscs(void)
{
    return (void *) &has_ingress;
}

bool
__wrap_link_qdiscs_are_known(const struct link_qdiscs *qdiscs OVS_UNUSED)
{
    return is_known;
}

bool
__wrap_link_qdiscs_has_ingress(const struct link_qdiscs *qdiscs OVS_UNUSED,
                               int ifindex OVS_UNUSED)
{
    return has_ingress;
}

/* Has the next 'n' rules of 'N' that are put together on two ports fail, and
 * returns how many are in tc then. */
static size_t
put_while_failing(struct kdp_tc *tc, int error, unsigned int n)
{
    enum { N = 20 };
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_copy_op ops_[N], *ops[N];
    size_t n_put = 0;

    n_qdiscs_added = 0;
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, error, n);
    for (uint32_t i = 0; i < N; i++) {
        ops_[i] = (struct offload_copy_op) {
            .type = OFFLOAD_COPY_PUT,
            .ufid = unit_tc_ufid(i),
            .desc = unit_tc_desc(i, 1 + i % 2, 0),
            .rule = backend.create_rule(backend.aux),
        };
        ops[i] = &ops_[i];
    }
    backend.operate(backend.aux, ops, N);
    for (uint32_t i = 0; i < N; i++) {
        n_put += !ops[i]->error;
        ops[i]->type = OFFLOAD_COPY_DEL;
    }
    backend.operate(backend.aux, ops, N);
    for (uint32_t i = 0; i < N; i++) {
        offload_rule_unref(ops[i]->rule);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i]->desc));
    }
    backend_fail(UNIT_TC_REFUSED, 0, 0, 0);
    return n_put;
}

static void
place_for_rules_is_asked_for_once_for_each_port(void **state)
{
    static const int errors[] = { EINVAL, ENOENT };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        /* It was gone. */
        has_ingress = false;
        qdisc_error = 0;
        assert_int_equal(put_while_failing(*state, errors[i], 20), 20);
        assert_int_equal(n_qdiscs_added, 2);

        /* It was there, which the link tables did not know. */
        qdisc_error = EEXIST;
        assert_int_equal(put_while_failing(*state, errors[i], 20), 0);
        assert_int_equal(n_qdiscs_added, 2);

        /* Which they do. */
        has_ingress = true;
        assert_int_equal(put_while_failing(*state, errors[i], 20), 0);
        assert_int_equal(n_qdiscs_added, 0);
    }

    /* That is not what is wrong. */
    has_ingress = false;
    assert_int_equal(put_while_failing(*state, EOPNOTSUPP, 20), 0);
    assert_int_equal(n_qdiscs_added, 0);
}

/* While there is offload the link tables do not know.  To ask takes RTNL. */
static void
place_that_is_there_is_asked_for_once_a_second(void **state)
{
    unit_clock_stop(time_msec() + 10000);
    is_known = has_ingress = false;
    qdisc_error = EEXIST;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(put_while_failing(*state, EINVAL, 20), 0);
        assert_int_equal(n_qdiscs_added, !i);
    }
    unit_clock_advance(1000);
    assert_int_equal(put_while_failing(*state, EINVAL, 20), 0);
    assert_int_equal(n_qdiscs_added, 1);

    /* Those that are gone are all added again. */
    unit_clock_advance(1000);
    qdisc_error = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(put_while_failing(*state, EINVAL, 20), 20);
        assert_int_equal(n_qdiscs_added, 2);
    }
    is_known = true;
    unit_clock_run();
}

/* Rules of internal ports are on outgoing packets, which takes another
 * discipline.  Filters of others would go with the one that is there. */
static void
place_without_the_other_direction_is_replaced(void **state)
{
    struct netdev *netdev;

    has_ingress = false;
    assert_int_equal(netdev_open("lo", "system", &netdev), 0);
    qdisc = QDISC_INGRESS;
    assert_false(kdp_tc_prepare_restore(netdev));
    assert_int_equal(qdisc, QDISC_INGRESS);

    is_internal = true;
    assert_int_equal(PUT(1), 0);
    assert_false(kdp_tc_prepare_restore(netdev));
    assert_int_equal(qdisc, QDISC_INGRESS);
    assert_int_equal(DEL(1).error, 0);
    assert_true(kdp_tc_prepare_restore(netdev));
    assert_int_equal(qdisc, QDISC_CLSACT);
    assert_false(kdp_tc_prepare_restore(netdev));
    assert_int_equal(qdisc, QDISC_CLSACT);
    qdisc = QDISC_NONE;
    assert_true(kdp_tc_prepare_restore(netdev));
    assert_int_equal(qdisc, QDISC_CLSACT);
    netdev_close(netdev);
    is_internal = false;
    qdisc = QDISC_ANY;
}

/* Asserts that 'desc', which it frees, fails with 'error' for reason 'why'. */
static void
assert_refused(struct kdp_tc *tc, struct offload_desc *desc, int error,
               const char *why)
{
    struct offload_copy_op op = backend_operate(tc, OFFLOAD_COPY_PUT, 1, desc);

    assert_int_equal(op.error, error);
    if (why) {
        assert_non_null(op.why);
        assert_string_equal(op.why, why);
    } else {
        assert_null(op.why);
    }
    offload_desc_unref(desc);
}

static void
what_tc_cannot_have_is_not_asked_for(void **state)
{
    static const uint32_t child = 7;
    struct offload_desc *desc = unit_tc_desc(1, 1, 0);
    struct offload_desc chain = *desc;
    size_t n_messages, n_requests;

    /* No such ports. */
    assert_refused(*state, unit_tc_desc(1, 99, 0), ENODEV, NULL);
    unit_tc_ports_del(BACKEND_N_PORTS);
    assert_refused(*state, unit_tc_desc(1, 1, 0), EOPNOTSUPP,
                   "an output port has no offload, or is coming or going");
    unit_tc_ports_add(BACKEND_N_PORTS);

    /* Chains, if tc and the datapath do not share them. */
    chain.recirc_id = 1;
    assert_refused(*state, offload_desc_create(&chain), EOPNOTSUPP,
                   "chains of tc are not known to the kernel datapath");
    chain.recirc_id = 0;
    chain.children = &child;
    chain.n_children = 1;
    assert_refused(*state, offload_desc_create(&chain), EOPNOTSUPP,
                   "chains of tc are not known to the kernel datapath");
    offload_desc_unref(desc);

    /* What Open vSwitch cannot translate, or fails to. */
    backend_error = EOPNOTSUPP;
    assert_refused(*state, unit_tc_desc(1, 1, 0), EOPNOTSUPP,
                   "Open vSwitch has no rule of tc for it");
    backend_error = ENOMEM;
    assert_refused(*state, unit_tc_desc(1, 1, 0), ENOMEM, NULL);
    backend_error = 0;

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
        assert_int_equal(backend_n_known(), cases[i].known);
        assert_int_equal(DEL(1).error, cases[i].known ? 0 : ENOENT);
        assert_int_equal(backend_n_known(), 0);
        unit_tc_uninit();
    }
}

static void
rule_that_others_deleted_is_told(void **state)
{
    const ovs_u128 ufid = unit_tc_ufid(1);
    struct offload_copy_op op;

    assert_int_equal(PUT(1), 0);
    backend_packets(1, 3);
    assert_true(unit_tc_remove(&ufid));
    op = GET(1);
    assert_int_equal(op.error, ENOENT);
    assert_int_equal(op.stats.n_packets, 0);
    assert_int_equal(op.hw, OFFLOAD_HW_UNKNOWN);
    assert_int_equal(DEL(1).error, ENOENT);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(DEL(1).error, 0);
}

static void
statistics_of_another_rule_are_not_taken(void **state)
{
    struct offload_copy_op op;

    assert_int_equal(PUT(1), 0);
    backend_fail(UNIT_TC_MISTAKEN, RTM_GETTFILTER, 0, 1);
    op = GET(1);
    assert_int_equal(op.error, ENOENT);
    assert_int_equal(op.stats.n_packets, 0);
    backend_fail(UNIT_TC_MISTAKEN, RTM_DELTFILTER, 0, 1);
    op = DEL(1);
    assert_int_equal(op.stats.n_packets, 0);
    assert_int_equal(backend_n_known(), 0);
}

static void
rule_whose_acknowledgement_was_lost_is_known(void **state)
{
    /* The request is sent again and finds the rule in its way. */
    backend_fail(UNIT_TC_REPEATED, RTM_NEWTFILTER, 0, 1);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(unit_tc_count(), 1);
    backend_packets(1, 3);
    assert_int_equal(DEL(1).stats.n_packets, 3);
    assert_int_equal(unit_tc_count(), 0);
}

static void
rule_without_any_answer_does_not_stay_unknown(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EPROTO, EIO };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        backend_fail(UNIT_TC_NOT_RECEIVED, RTM_NEWTFILTER, errors[i], 1);
        assert_int_equal(PUT(1), 0);
        assert_int_equal(backend_n_known(), 1);
        assert_int_equal(DEL(1).error, 0);
        assert_int_equal(unit_tc_count(), 0);
    }
}

static void
request_that_was_not_sent_makes_no_rule(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EMFILE };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        backend_fail(UNIT_TC_NOT_SENT, RTM_NEWTFILTER, errors[i], 1);
        assert_int_equal(PUT(1), errors[i]);
        assert_int_equal(backend_n_known(), 0);
        backend_fail(UNIT_TC_NOT_SENT, 0, errors[i], 2);
        assert_int_equal(PUT(1), errors[i]);
        assert_int_equal(backend_n_known(), 0);
    }
    assert_int_equal(PUT(1), 0);
    assert_int_equal(DEL(1).error, 0);
}

/* Users read with pointers that RCU guards. */
static void
only_changes_are_waited_for_in_a_quiescent_state(void **state)
{
    assert_int_equal(PUT(1), 0);
    assert_true(unit_tc_was_quiescent());
    assert_int_equal(GET(1).error, 0);
    assert_false(unit_tc_was_quiescent());
    assert_int_equal(DEL(1).error, 0);
    assert_true(unit_tc_was_quiescent());
    assert_false(ovsrcu_is_quiescent());
}

static void
rule_of_somebody_else_is_in_the_way(void **state)
{
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EEXIST, 1);
    assert_int_equal(PUT(1), EEXIST);
    assert_int_equal(backend_n_known(), 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(DEL(1).error, 0);
}

/* The backend asks once in a batch what the kernel says about a refusal. */
static void
refusal_is_explained(void **state)
{
    static const int errors[] = { EOPNOTSUPP, EINVAL, ENOSPC };
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_copy_op ops[10], *opps[10];

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        for (uint32_t j = 0; j < 10; j++) {
            opps[j] = &ops[j];
            ops[j] = (struct offload_copy_op) {
                .type = OFFLOAD_COPY_PUT,
                .ufid = unit_tc_ufid(j),
                .desc = unit_tc_desc(j, 1, 0),
                .rule = backend.create_rule(backend.aux),
                .why = "something else",
            };
        }
        unit_tc_explain("too many labels", false);
        backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, errors[i], UINT_MAX);
        backend.operate(backend.aux, opps, 10);
        for (uint32_t j = 0; j < 10; j++) {
            unit_check(ops[j].error == errors[i]);
            unit_check(j ? !ops[j].why
                       : !strcmp(ops[j].why, "too many labels"));
            offload_rule_unref(ops[j].rule);
            offload_desc_unref(CONST_CAST(struct offload_desc *, ops[j].desc));
        }
        unit_check(unit_tc_explain(NULL, false) == i + 1);
    }

    /* Others are not asked about. */
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EPERM, 1);
    assert_int_equal(PUT(1), EPERM);
    assert_int_equal(unit_tc_explain(NULL, false), ARRAY_SIZE(errors));
    assert_int_equal(unit_tc_count(), 0);
}

/* Tc has room, or its device has changed, by the time it is asked why. */
static void
rule_that_is_taken_when_asked_about_is_there(void **state)
{
    unit_tc_explain(NULL, true);
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, ENOSPC, 1);
    assert_int_equal(PUT(1), 0);
    assert_int_equal(unit_tc_explain(NULL, true), 1);
    assert_int_equal(unit_tc_count(), 1);
    assert_int_equal(GET(1).error, 0);
    assert_int_equal(DEL(1).error, 0);
}

/* Puts flow 'flow' of 'kind', and returns why cards skip it. */
static const char *
put_of_kind(struct kdp_tc *tc, uint32_t flow, uint32_t kind)
{
    struct offload_desc *desc = unit_tc_desc(flow, 1, 0);
    struct offload_copy_op op;

    desc->kind = kind;
    op = backend_operate(tc, OFFLOAD_COPY_PUT, flow, desc);
    assert_int_equal(op.error, 0);
    offload_desc_unref(desc);
    return op.why;
}

/* One rule of each kind asks, and again after a while; it holds for all. */
static void
driver_says_why_cards_skip_rules(void **state)
{
    unit_clock_stop(1000000);
    assert_null(put_of_kind(*state, 1, 77));
    assert_int_equal(unit_tc_skip("card: no MPLS"), 0);
    assert_string_equal(put_of_kind(*state, 2, 77), "card: no MPLS");
    assert_int_equal(unit_tc_skip("card: full"), 1);
    assert_string_equal(put_of_kind(*state, 3, 77), "card: no MPLS");
    assert_int_equal(unit_tc_skip("card: full"), 1);

    /* The backend asks about another kind, but not about an unknown one. */
    assert_string_equal(put_of_kind(*state, 4, 78), "card: full");
    assert_int_equal(unit_tc_skip("card: full"), 2);
    assert_null(put_of_kind(*state, 5, 0));
    assert_int_equal(unit_tc_skip("card: full"), 2);

    unit_clock_advance(KDP_TC_SKIP_MSEC);
    assert_string_equal(put_of_kind(*state, 6, 77), "card: full");
    assert_int_equal(unit_tc_skip(NULL), 3);
    assert_int_equal(unit_tc_count(), 6);
    unit_clock_run();
}

/* Requests before and behind one that asks are sent as before, in order. */
static void
rule_that_asks_keeps_its_place_in_the_batch(void **state)
{
    struct offload_copy_op ops[5], *opps[5];
    struct offload_desc *descs[5];
    size_t messages, requests, before;

    unit_clock_stop(2000000);
    unit_tc_skip("card: no");
    unit_tc_get_load(&before, &requests);
    for (uint32_t i = 0; i < 5; i++) {
        descs[i] = unit_tc_desc(i + 1, 1, 0);
        descs[i]->kind = i == 2 ? 90 : 0;
        backend_rules[i + 1] = kdp_tc_rule_create(*state);
        ops[i] = (struct offload_copy_op) {
            .type = OFFLOAD_COPY_PUT, .ufid = descs[i]->ufid,
            .desc = descs[i], .rule = backend_rules[i + 1],
        };
        opps[i] = &ops[i];
    }
    kdp_tc_backend(*state).operate(*state, opps, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(ops[i].error, 0);
        assert_int_equal(ops[i].why != NULL, i == 2);
        offload_desc_unref(descs[i]);
    }
    unit_tc_get_load(&messages, &requests);
    assert_int_equal(messages - before, 3);
    assert_int_equal(unit_tc_skip(NULL), 1);
    assert_int_equal(unit_tc_count(), 5);
    unit_clock_run();
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, backend_setup, backend_teardown)
    const struct CMUnitTest tests[] = {
        TEST(refusal_is_explained),
        TEST(rule_that_is_taken_when_asked_about_is_there),
        TEST(driver_says_why_cards_skip_rules),
        TEST(rule_that_asks_keeps_its_place_in_the_batch),
        TEST(what_tc_cannot_have_is_not_asked_for),
        TEST(rule_that_could_not_be_deleted_is_still_known),
        TEST(rule_that_others_deleted_is_told),
        TEST(statistics_of_another_rule_are_not_taken),
        TEST(rule_whose_acknowledgement_was_lost_is_known),
        TEST(rule_without_any_answer_does_not_stay_unknown),
        TEST(request_that_was_not_sent_makes_no_rule),
        TEST(only_changes_are_waited_for_in_a_quiescent_state),
        TEST(rule_of_somebody_else_is_in_the_way),
        TEST(place_for_rules_is_asked_for_once_for_each_port),
        TEST(place_without_the_other_direction_is_replaced),
        TEST(place_that_is_there_is_asked_for_once_a_second),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-backend", tests, NULL, NULL);
}
