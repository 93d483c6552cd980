/* SPDX-License-Identifier: Apache-2.0 */

/* Numbers of actions: each is named once, and none that is taken, as what
 * is somebody else's would become a part of our rule otherwise. */

#include <config.h>
#include "tc/tc-action.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_pedit.h>
#include <linux/tc_act/tc_skbedit.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "netdev-linux/rtnl-count.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "tc/tc-transact.h"
#include "util.h"

/* An action of a message. */
struct action {
    const char *kind;
    uint16_t parms;
    uint32_t number;
};

static const struct action skbedit = { "skbedit", TCA_SKBEDIT_PARMS, 0 };
static const struct action mirred = { "mirred", TCA_MIRRED_PARMS, 0 };

/* What the kernel has, and how often it was asked.  Set and read while no
 * other thread asks. */
static struct action found[KDP_TC_ACTION_N_RANGES];
static size_t n_found;
static int dump_error;
static atomic_count n_dumps = ATOMIC_COUNT_INIT(0);

static void
put_actions(const struct action actions[], size_t n, struct ofpbuf *buf)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t parms[2] = { actions[i].number, 0xabababab };
        size_t action = nl_msg_start_nested(buf, i + 1);
        size_t options;

        nl_msg_put_string(buf, TCA_ACT_KIND, actions[i].kind);
        options = nl_msg_start_nested(buf, TCA_ACT_OPTIONS);
        nl_msg_put_unspec(buf, actions[i].parms, parms, sizeof parms);
        nl_msg_end_nested(buf, options);
        nl_msg_end_nested(buf, action);
    }
}

/* Makes a request for a rule with 'n' actions. */
static void
make_request(const struct action actions[], size_t n, struct ofpbuf *buf)
{
    size_t options, acts;

    ofpbuf_init(buf, 0);
    nl_msg_put_nlmsghdr(buf, sizeof(struct tcmsg), RTM_NEWTFILTER, 0);
    ofpbuf_put_zeros(buf, sizeof(struct tcmsg));
    nl_msg_put_string(buf, TCA_KIND, "flower");
    options = nl_msg_start_nested(buf, TCA_OPTIONS);
    acts = nl_msg_start_nested(buf, TCA_FLOWER_ACT);
    put_actions(actions, n, buf);
    nl_msg_end_nested(buf, acts);
    nl_msg_end_nested(buf, options);
}

/* Makes a part of a dump with 'n' actions. */
static void
make_dump(const struct action actions[], size_t n, struct ofpbuf *buf)
{
    size_t tab;

    ofpbuf_init(buf, 0);
    nl_msg_put_nlmsghdr(buf, sizeof(struct tcamsg), RTM_NEWACTION, 0);
    ofpbuf_put_zeros(buf, sizeof(struct tcamsg));
    tab = nl_msg_start_nested(buf, TCA_ACT_TAB);
    put_actions(actions, n, buf);
    nl_msg_end_nested(buf, tab);
}

int __wrap_kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *,
                               void *aux);

int
__wrap_kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *cb, void *aux)
{
    struct ofpbuf msg;

    atomic_count_inc(&n_dumps);
    for (size_t i = 0; i < n_found; i++) {
        if (!strcmp(found[i].kind, kind)) {
            make_dump(&found[i], 1, &msg);
            cb(aux, &msg);
            ofpbuf_uninit(&msg);
        }
    }
    return dump_error;
}

/* A dump of the kernel: what was asked for, and the parts of the answer that
 * are left. */
static struct ofpbuf *dump_request;
static size_t n_parts;

void __wrap_nl_dump_start(struct nl_dump *, int protocol,
                          const struct ofpbuf *request);
void
__wrap_nl_dump_start(struct nl_dump *dump OVS_UNUSED, int protocol,
                     const struct ofpbuf *request)
{
    assert_int_equal(protocol, NETLINK_ROUTE);
    assert_null(dump_request);
    dump_request = ofpbuf_clone(request);
}

bool __wrap_kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *msg,
                                   struct ofpbuf *buffer);
bool
__wrap_kdp_stock_nl_dump_next(struct nl_dump *dump OVS_UNUSED,
                              struct ofpbuf *msg, struct ofpbuf *buffer)
{
    if (!n_parts) {
        return false;
    }
    ofpbuf_clear(buffer);
    ofpbuf_put(buffer, &n_parts, sizeof n_parts);
    n_parts--;
    ofpbuf_use_const(msg, buffer->data, buffer->size);
    return true;
}

int __wrap_nl_dump_done(struct nl_dump *);
int
__wrap_nl_dump_done(struct nl_dump *dump OVS_UNUSED)
{
    assert_int_equal(n_parts, 0);
    return dump_error;
}

static void
count_part(void *n_, const struct ofpbuf *msg)
{
    size_t *n = n_;

    assert_int_equal(msg->size, sizeof n_parts);
    assert_int_equal(*(const size_t *) msg->data, 3 - *n);
    ++*n;
}

int __real_kdp_tc_dump_actions(const char *kind, kdp_tc_actions_cb *,
                               void *aux);

static void
actions_of_one_kind_are_dumped(void **state OVS_UNUSED)
{
    uint64_t before[KDP_N_RTNL_CALLS], after[KDP_N_RTNL_CALLS];
    const size_t header = NLMSG_HDRLEN + sizeof(struct tcamsg);
    const struct nlattr *action;

    for (dump_error = 0; dump_error <= EIO; dump_error += EIO) {
        size_t n = 0;

        n_parts = 3;
        kdp_rtnl_get_counts(before);
        assert_int_equal(__real_kdp_tc_dump_actions("skbedit", count_part,
                                                    &n), dump_error);
        kdp_rtnl_get_counts(after);
        assert_int_equal(n, 3);
        assert_int_equal(after[KDP_RTNL_TC_DUMP],
                         before[KDP_RTNL_TC_DUMP] + 1);
        assert_int_equal(nl_msg_nlmsghdr(dump_request)->nlmsg_type,
                         RTM_GETACTION);
        action = nl_attr_find_nested(nl_attr_find(dump_request, header,
                                                  TCA_ACT_TAB), 1);
        assert_non_null(action);
        assert_string_equal(
            nl_attr_get_string(nl_attr_find_nested(action, TCA_ACT_KIND)),
            "skbedit");
        ofpbuf_delete(dump_request);
        dump_request = NULL;
    }
    dump_error = 0;
}

/* Names a rule with 'n' actions, at most 4, and stores their numbers. */
static void
name(const struct action actions[], size_t n, uint32_t numbers[])
{
    const size_t header = NLMSG_HDRLEN + sizeof(struct tcmsg);
    const struct nlattr *acts, *action;
    struct ofpbuf request, before;
    size_t left, i = 0, differ = 0;

    make_request(actions, n, &request);
    make_request(actions, n, &before);
    kdp_tc_action_name(&request);
    acts = nl_attr_find_nested(nl_attr_find(&request, header, TCA_OPTIONS),
                               TCA_FLOWER_ACT);
    NL_NESTED_FOR_EACH (action, left, acts) {
        const struct nlattr *options
            = nl_attr_find_nested(action, TCA_ACT_OPTIONS);
        const struct nlattr *parms
            = nl_attr_find_nested(options, actions[i].parms);

        memcpy(&numbers[i], nl_attr_get(parms), sizeof numbers[i]);
        differ += numbers[i] != actions[i].number;
        i++;
    }
    unit_check(i == n);

    /* Nothing else has changed. */
    unit_check(request.size == before.size);
    unit_check(differ || !memcmp(request.data, before.data, before.size));
    ofpbuf_uninit(&request);
    ofpbuf_uninit(&before);
}

static uint32_t
name_one(void)
{
    uint32_t number;

    name(&mirred, 1, &number);
    return number;
}

/* The range of 'number'. */
static uint32_t
range_of(uint32_t number)
{
    assert_true(number >= KDP_TC_ACTION_FIRST);
    return (number - KDP_TC_ACTION_FIRST) / KDP_TC_ACTION_RANGE;
}

static int
setup(void **state OVS_UNUSED)
{
    n_found = 0;
    dump_error = 0;
    kdp_tc_action_next_range();
    return 0;
}

static void
each_action_has_a_number_of_its_own(void **state OVS_UNUSED)
{
    const struct action actions[] = {
        skbedit, mirred, { "pedit", TCA_PEDIT_PARMS_EX, 0 }, mirred,
    };
    uint32_t numbers[ARRAY_SIZE(actions)], next;

    name(actions, ARRAY_SIZE(actions), numbers);
    for (size_t i = 1; i < ARRAY_SIZE(actions); i++) {
        assert_int_equal(numbers[i], numbers[0] + i);
    }
    next = name_one();
    assert_int_equal(next, numbers[0] + ARRAY_SIZE(actions));
    assert_true(range_of(next) < KDP_TC_ACTION_N_RANGES);
}

/* A number that means something stays, and so does what is not known. */
static void
named_and_unknown_actions_stay(void **state OVS_UNUSED)
{
    const struct action actions[] = {
        { "police", 2, 0x10000005 }, { "police", 2, 0 },
        { "mirred", TCA_MIRRED_PARMS, 7 }, { "mirred", TCA_MIRRED_TM, 0 },
    };
    uint32_t numbers[ARRAY_SIZE(actions)];

    name(actions, ARRAY_SIZE(actions), numbers);
    assert_int_equal(numbers[0], 0x10000005);
    assert_int_equal(numbers[1], 0);
    assert_int_equal(numbers[2], 7);
    assert_int_equal(numbers[3], 0);
}

/* The kernel is asked once for each range, not for each rule. */
static void
range_is_chosen_once(void **state OVS_UNUSED)
{
    unsigned int n;

    name_one();
    n = atomic_count_get(&n_dumps);
    for (int i = 0; i < 100; i++) {
        name_one();
    }
    assert_int_equal(atomic_count_get(&n_dumps), n);
}

/* All ranges have an action, of one kind or another, but one. */
static void
range_with_actions_is_not_chosen(void **state OVS_UNUSED)
{
    const struct action kinds[] = {
        mirred, skbedit, { "pedit", TCA_PEDIT_PARMS_EX, 0 },
        { "pedit", TCA_PEDIT_PARMS, 0 },
    };

    for (uint32_t is_free = 0; is_free < KDP_TC_ACTION_N_RANGES; is_free++) {
        n_found = 0;
        for (uint32_t i = 0; i < KDP_TC_ACTION_N_RANGES; i++) {
            if (i != is_free) {
                /* The first number of some, and the last one of others. */
                found[n_found] = kinds[i % ARRAY_SIZE(kinds)];
                found[n_found++].number
                    = (KDP_TC_ACTION_FIRST + i * KDP_TC_ACTION_RANGE
                       + (i & 1 ? KDP_TC_ACTION_RANGE - 1 : 0));
            }
        }
        kdp_tc_action_next_range();
        assert_int_equal(range_of(name_one()), is_free);
    }
}

/* Numbers that the kernel or meters have do not make a range used. */
static void
other_numbers_do_not_matter(void **state OVS_UNUSED)
{
    bool used[KDP_TC_ACTION_N_RANGES + 1] = { false };  /* And one behind. */
    const struct action others[] = {
        { "mirred", TCA_MIRRED_PARMS, 1 },
        { "mirred", TCA_MIRRED_PARMS, KDP_TC_ACTION_FIRST - 1 },
        { "mirred", TCA_MIRRED_PARMS, (KDP_TC_ACTION_FIRST
                                       + (KDP_TC_ACTION_N_RANGES
                                          * KDP_TC_ACTION_RANGE)) },
        { "mirred", TCA_MIRRED_PARMS, UINT32_MAX },
        { "police", 2, KDP_TC_ACTION_FIRST },
    };
    struct ofpbuf msg;

    make_dump(others, ARRAY_SIZE(others), &msg);
    for (size_t size = 0; size <= msg.size; size += 4) {
        struct ofpbuf cut = msg;

        cut.size = size;
        kdp_tc_action_mark(&cut, used);
    }
    ofpbuf_uninit(&msg);
    for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
        assert_false(used[i]);
    }
}

/* If no range is free, or the kernel does not tell, it goes on to choose
 * numbers, and is not asked again. */
static void
kernel_chooses_if_nothing_else_can(void **state OVS_UNUSED)
{
    for (int i = 0; i < 2; i++) {
        unsigned int n;

        n_found = 0;
        dump_error = i ? EPERM : 0;
        for (uint32_t j = 0; !i && j < KDP_TC_ACTION_N_RANGES; j++) {
            found[n_found] = mirred;
            found[n_found++].number
                = KDP_TC_ACTION_FIRST + j * KDP_TC_ACTION_RANGE;
        }
        kdp_tc_action_next_range();
        assert_int_equal(name_one(), 0);
        n = atomic_count_get(&n_dumps);
        n_found = 0;
        dump_error = 0;
        assert_int_equal(name_one(), 0);
        assert_int_equal(atomic_count_get(&n_dumps), n);
    }
}

#define N_THREADS 4
#define N_EACH 500

struct namer {
    pthread_t thread;
    pthread_barrier_t *begin;   /* No thread is made after this: the first one
                                 * that is quiescent makes another. */
    uint32_t numbers[N_EACH];
};

static void *
name_some(void *namer_)
{
    struct namer *namer = namer_;

    pthread_barrier_wait(namer->begin);
    for (size_t i = 0; i < N_EACH; i++) {
        namer->numbers[i] = name_one();
    }
    return NULL;
}

static int
compare_numbers(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Threads that all need a range choose one, and share no number. */
static void
threads_share_a_range(void **state OVS_UNUSED)
{
    struct namer *namers = xcalloc(N_THREADS, sizeof *namers);
    uint32_t *all = xcalloc(N_THREADS * N_EACH, sizeof *all);
    pthread_barrier_t begin;
    unsigned int n;

    pthread_barrier_init(&begin, NULL, N_THREADS + 1);
    name_one();
    kdp_tc_action_next_range();
    n = atomic_count_get(&n_dumps);
    for (size_t i = 0; i < N_THREADS; i++) {
        namers[i].begin = &begin;
        namers[i].thread = ovs_thread_create("namer", name_some, &namers[i]);
    }
    pthread_barrier_wait(&begin);
    for (size_t i = 0; i < N_THREADS; i++) {
        xpthread_join(namers[i].thread, NULL);
        memcpy(&all[i * N_EACH], namers[i].numbers, sizeof namers[i].numbers);
    }

    /* Nine kinds. */
    assert_int_equal(atomic_count_get(&n_dumps), n + 9);
    qsort(all, N_THREADS * N_EACH, sizeof *all, compare_numbers);
    for (size_t i = 0; i < N_THREADS * N_EACH; i++) {
        assert_int_equal(all[i], all[0] + i);
    }
    pthread_barrier_destroy(&begin);
    free(all);
    free(namers);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(actions_of_one_kind_are_dumped, setup),
        cmocka_unit_test_setup(each_action_has_a_number_of_its_own, setup),
        cmocka_unit_test_setup(named_and_unknown_actions_stay, setup),
        cmocka_unit_test_setup(range_is_chosen_once, setup),
        cmocka_unit_test_setup(range_with_actions_is_not_chosen, setup),
        cmocka_unit_test_setup(other_numbers_do_not_matter, setup),
        cmocka_unit_test_setup(kernel_chooses_if_nothing_else_can, setup),
        cmocka_unit_test_setup(threads_share_a_range, setup),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-action", tests, NULL, NULL);
}
