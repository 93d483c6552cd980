/* SPDX-License-Identifier: Apache-2.0 */

/* The action that rules to internal ports share: which have it, what they
 * count, and what comes of it if somebody else has one with its number (O1,
 * O2). */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_skbedit.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "tc/tc-action.h"
#include "tc/tc-parse.h"
#include "tc/tc-prepare.h"
#include "util.h"

bool __wrap_kdp_tc_prepare_restore(struct netdev *);

/* The place for rules is there. */
bool
__wrap_kdp_tc_prepare_restore(struct netdev *netdev OVS_UNUSED)
{
    return false;
}

static int
setup(void **state)
{
    int error = backend_setup(state);

    kdp_tc_action_next_range();
    unit_tc_send_to_host(true);
    return error;
}

/* Numbers. */

/* An action of a request: one that edits packets, or an output. */
struct action {
    bool edits;
    int control;
    uint16_t option;            /* Of those that edit, and of 'size' bytes. */
    uint16_t size;
    uint32_t value;
};

static const struct action to_host = {
    true, TC_ACT_PIPE, TCA_SKBEDIT_PTYPE, 2, PACKET_HOST,
};
static const struct action output = { .edits = false };

static void
put_action(const struct action *action, size_t order, struct ofpbuf *buf)
{
    const struct tc_skbedit skbedit = { .action = action->control };
    const struct tc_mirred mirred = { .action = TC_ACT_STOLEN };
    size_t nest = nl_msg_start_nested(buf, order);
    size_t options;

    nl_msg_put_string(buf, TCA_ACT_KIND, action->edits ? "skbedit" : "mirred");
    options = nl_msg_start_nested(buf, TCA_ACT_OPTIONS);
    if (action->edits) {
        nl_msg_put_unspec(buf, TCA_SKBEDIT_PARMS, &skbedit, sizeof skbedit);
        nl_msg_put_unspec(buf, action->option, &action->value, action->size);
    } else {
        nl_msg_put_unspec(buf, TCA_MIRRED_PARMS, &mirred, sizeof mirred);
    }
    nl_msg_end_nested(buf, options);
    nl_msg_end_nested(buf, nest);
}

#define MAX_ACTIONS 4

/* A request, and the numbers of its actions. */
struct request {
    struct ofpbuf msg;
    uint32_t numbers[MAX_ACTIONS];
};

static void
read_numbers(struct request *request)
{
    const size_t header = NLMSG_HDRLEN + sizeof(struct tcmsg);
    const struct nlattr *acts, *action;
    size_t left, i = 0;

    acts = nl_attr_find_nested(nl_attr_find(&request->msg, header,
                                            TCA_OPTIONS), TCA_FLOWER_ACT);
    NL_NESTED_FOR_EACH (action, left, acts) {
        const struct nlattr *options
            = nl_attr_find_nested(action, TCA_ACT_OPTIONS);
        const struct nlattr *parms
            = nl_attr_find_nested(options, TCA_SKBEDIT_PARMS);

        if (!parms || nl_attr_get_size(parms) != sizeof(struct tc_skbedit)) {
            parms = nl_attr_find_nested(options, TCA_MIRRED_PARMS);
        }
        unit_check(i < MAX_ACTIONS);
        memcpy(&request->numbers[i++], nl_attr_get(parms), sizeof(uint32_t));
    }
}

/* Makes a request with 'flags' for a rule with 'n' actions, and has their
 * numbers named. */
static void
name(uint32_t flags, const struct action actions[], size_t n,
     struct request *request)
{
    struct ofpbuf *buf = &request->msg;
    size_t options, acts;

    ofpbuf_init(buf, 0);
    nl_msg_put_nlmsghdr(buf, sizeof(struct tcmsg), RTM_NEWTFILTER, 0);
    ofpbuf_put_zeros(buf, sizeof(struct tcmsg));
    nl_msg_put_string(buf, TCA_KIND, "flower");
    options = nl_msg_start_nested(buf, TCA_OPTIONS);
    nl_msg_put_u32(buf, TCA_FLOWER_FLAGS, flags);
    acts = nl_msg_start_nested(buf, TCA_FLOWER_ACT);
    for (size_t i = 0; i < n; i++) {
        put_action(&actions[i], i + 1, buf);
    }
    nl_msg_end_nested(buf, acts);
    nl_msg_end_nested(buf, options);
    kdp_tc_action_name(buf);
    read_numbers(request);
}

/* The same, for a rule to an internal port that no driver is told of. */
static void
name_usual(struct request *request)
{
    const struct action actions[] = { to_host, output };

    name(TCA_CLS_FLAGS_SKIP_HW, actions, ARRAY_SIZE(actions), request);
}

/* The number that the next rule to an internal port shares. */
static uint32_t
shared_number(void)
{
    struct request request;

    name_usual(&request);
    ofpbuf_uninit(&request.msg);
    return request.numbers[0];
}

static void
rules_name_the_same_number(void **state OVS_UNUSED)
{
    struct request a, b;

    name_usual(&a);
    name_usual(&b);
    assert_true(a.numbers[0] >= KDP_TC_ACTION_FIRST);
    assert_int_equal(a.numbers[0], b.numbers[0]);
    assert_int_not_equal(a.numbers[1], b.numbers[1]);
    assert_int_not_equal(a.numbers[1], a.numbers[0]);
    assert_int_not_equal(b.numbers[1], b.numbers[0]);
    ofpbuf_uninit(&a.msg);
    ofpbuf_uninit(&b.msg);
}

/* A driver may refuse what it knows from another rule. */
static void
rule_for_drivers_shares_nothing(void **state OVS_UNUSED)
{
    const uint32_t flags[] = { 0, TCA_CLS_FLAGS_SKIP_SW };
    const struct action actions[] = { to_host, output };
    uint32_t shared = shared_number();
    struct request request;

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        uint32_t number;

        name(flags[i], actions, ARRAY_SIZE(actions), &request);
        number = request.numbers[0];
        assert_int_not_equal(number, shared);
        assert_int_equal(request.numbers[1], number + 1);
        assert_false(kdp_tc_action_unshare(&request.msg));
        ofpbuf_uninit(&request.msg);
    }
    assert_int_equal(shared_number(), shared);
}

/* The kernel does not end if a request names a number twice. */
static void
only_the_first_of_a_rule_is_shared(void **state OVS_UNUSED)
{
    const struct action actions[] = { to_host, output, to_host, output };
    uint32_t shared = shared_number();
    struct request request;

    name(TCA_CLS_FLAGS_SKIP_HW, actions, ARRAY_SIZE(actions), &request);
    assert_int_equal(request.numbers[0], shared);
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(request.numbers[i], request.numbers[j]);
        }
    }
    ofpbuf_uninit(&request.msg);
}

static void
other_edits_are_not_shared(void **state OVS_UNUSED)
{
    const struct action others[] = {
        { true, TC_ACT_PIPE, TCA_SKBEDIT_PTYPE, 2, PACKET_OTHERHOST },
        { true, TC_ACT_PIPE, TCA_SKBEDIT_MARK, 4, 0 },
        { true, TC_ACT_OK, TCA_SKBEDIT_PTYPE, 2, PACKET_HOST },
        { true, TC_ACT_PIPE, TCA_SKBEDIT_PTYPE, 4, PACKET_HOST },
    };
    uint32_t shared = shared_number();

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct request request;

        name(TCA_CLS_FLAGS_SKIP_HW, &others[i], 1, &request);
        assert_int_not_equal(request.numbers[0], 0);
        assert_int_not_equal(request.numbers[0], shared);
        assert_false(kdp_tc_action_unshare(&request.msg));
        ofpbuf_uninit(&request.msg);
    }
}

static void
refused_request_gets_a_number_of_its_own(void **state OVS_UNUSED)
{
    struct request a, b;
    uint32_t shared, next;

    name_usual(&a);
    name_usual(&b);
    shared = a.numbers[0];
    assert_true(kdp_tc_action_unshare(&a.msg));
    read_numbers(&a);
    next = shared_number();
    assert_int_not_equal(a.numbers[0], shared);
    assert_int_not_equal(next, shared);
    assert_int_not_equal(a.numbers[0], next);

    /* A late one does not take from the others what they share by then. */
    assert_true(kdp_tc_action_unshare(&b.msg));
    read_numbers(&b);
    assert_int_equal(shared_number(), next);
    assert_int_not_equal(b.numbers[0], next);
    assert_int_not_equal(b.numbers[0], a.numbers[0]);
    ofpbuf_uninit(&a.msg);
    ofpbuf_uninit(&b.msg);
}

#define N_THREADS 4
#define N_EACH 300

struct namer {
    pthread_t thread;
    pthread_barrier_t *begin;   /* No thread is made after this. */
    struct request requests[N_EACH];
};

static void *
name_some(void *namer_)
{
    struct namer *namer = namer_;

    pthread_barrier_wait(namer->begin);
    for (size_t i = 0; i < N_EACH; i++) {
        name_usual(&namer->requests[i]);
    }
    return NULL;
}

static void
threads_share_one_number(void **state OVS_UNUSED)
{
    struct namer *namers = xcalloc(N_THREADS, sizeof *namers);
    pthread_barrier_t begin;
    uint32_t shared;

    pthread_barrier_init(&begin, NULL, N_THREADS + 1);
    for (size_t i = 0; i < N_THREADS; i++) {
        namers[i].begin = &begin;
        namers[i].thread = ovs_thread_create("namer", name_some, &namers[i]);
    }
    pthread_barrier_wait(&begin);
    for (size_t i = 0; i < N_THREADS; i++) {
        xpthread_join(namers[i].thread, NULL);
    }
    shared = shared_number();
    for (size_t i = 0; i < N_THREADS; i++) {
        for (size_t j = 0; j < N_EACH; j++) {
            struct request *request = &namers[i].requests[j];

            assert_int_equal(request->numbers[0], shared);
            assert_int_not_equal(request->numbers[1], shared);
            ofpbuf_uninit(&request->msg);
        }
    }
    pthread_barrier_destroy(&begin);
    free(namers);
}

/* Rules. */

static uint32_t
common_number_of(uint32_t flow)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    return unit_tc_common_number(&ufid);
}

/* The shared action counts packets of all rules. */
static void
each_rule_tells_what_it_met_itself(void **state)
{
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(PUT(i), 0);
        backend_packets(i, i);
    }
    assert_int_equal(common_number_of(1), common_number_of(2));
    assert_int_equal(common_number_of(1), common_number_of(3));
    for (uint32_t i = 1; i <= 3; i++) {
        struct offload_copy_op op = GET(i);

        assert_int_equal(op.error, 0);
        assert_int_equal(op.stats.n_packets, i);
    }
    assert_int_equal(DEL(2).stats.n_packets, 2);
    assert_int_equal(GET(3).stats.n_packets, 3);
}

/* What a list told. */
struct told {
    size_t n;
    size_t n_right;
};

static void
take_told(void *told_, const ovs_u128 *ufid, const void *rule_)
{
    const struct kdp_tc_rule *rule = rule_;
    struct told *told = told_;

    told->n++;
    told->n_right += rule->stats.n_packets == ufid->u32[0];
}

/* Terse lists do not say what actions are like. */
static void
terse_list_tells_what_each_rule_met(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct told told = { .n = 0 };

    unit_tc_set_in_hw(true);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(PUT(i), 0);
        backend_packets(i, i);
        assert_int_equal(GET(i).error, 0);
    }
    backend.list(backend.aux, false, take_told, &told);
    assert_int_equal(told.n, 3);
    assert_int_equal(told.n_right, 3);
}

/* The kernel does not mix flags of rules in an action. */
static void
refused_rule_is_tried_with_a_number_of_its_own(void **state)
{
    uint32_t number;

    assert_int_equal(PUT(1), 0);
    number = common_number_of(1);
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EINVAL, 1);
    assert_int_equal(PUT(2), 0);
    assert_int_not_equal(common_number_of(2), number);
    assert_int_equal(PUT(3), 0);
    assert_int_not_equal(common_number_of(3), number);
    assert_int_not_equal(common_number_of(3), common_number_of(2));
    assert_int_equal(PUT(4), 0);
    assert_int_equal(common_number_of(4), common_number_of(3));
}

/* Once, whatever the reason is. */
static void
rule_that_is_refused_again_is_given_up(void **state)
{
    size_t n_messages, before, after;

    assert_int_equal(PUT(1), 0);
    unit_tc_explain("no", false);
    unit_tc_get_load(&n_messages, &before);
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, EINVAL, 2);
    assert_int_equal(PUT(2), EINVAL);
    unit_tc_get_load(&n_messages, &after);
    /* Tc is also asked about the priority. */
    assert_int_equal(after - before, 3);
    assert_int_equal(unit_tc_count(), 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup, backend_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_name_the_same_number),
        TEST(rule_for_drivers_shares_nothing),
        TEST(only_the_first_of_a_rule_is_shared),
        TEST(other_edits_are_not_shared),
        TEST(refused_request_gets_a_number_of_its_own),
        TEST(threads_share_one_number),
        TEST(each_rule_tells_what_it_met_itself),
        TEST(terse_list_tells_what_each_rule_met),
        TEST(refused_rule_is_tried_with_a_number_of_its_own),
        TEST(rule_that_is_refused_again_is_given_up),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-shared-action", tests, NULL, NULL);
}
