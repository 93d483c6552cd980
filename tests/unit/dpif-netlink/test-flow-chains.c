/* SPDX-License-Identifier: Apache-2.0 */

/* R5: what revalidators see of recirculation chains of a previous run, and
 * when nothing leads to them any more. */

#include <config.h>
#include "dpif-netlink/flow-chains.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "dpif.h"
#include "harness/unit.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

#define N_ROOTS 1000

static ovs_u128
ufid_of(uint32_t flow)
{
    return (ovs_u128) { .u32 = { flow, 1, 2, 3 } };
}

static int
setup(void **state)
{
    struct flow_chains *chains = flow_chains_create();

    for (uint32_t i = 0; i < N_ROOTS; i++) {
        const ovs_u128 root = ufid_of(i), flow = ufid_of(N_ROOTS + i);

        flow_chains_add(chains, &root, true);
        flow_chains_add(chains, &flow, false);
    }
    *state = chains;
    return 0;
}

static int
teardown(void **state)
{
    flow_chains_destroy(*state);
    return 0;
}

/* Says that operation 'type' on flow 'number' had 'error'. */
static bool
done(struct flow_chains *chains, enum dpif_op_type type, uint32_t number,
     int error)
{
    const ovs_u128 ufid = ufid_of(number);
    struct dpif_op op = { .type = type, .error = error };

    if (type == DPIF_OP_FLOW_PUT) {
        op.flow_put.ufid = &ufid;
    } else if (type == DPIF_OP_FLOW_DEL) {
        op.flow_del.ufid = &ufid;
    } else {
        op.flow_get.ufid = &ufid;
    }
    return flow_chains_done(chains, &op);
}

static void
roots_are_told_from_flows_of_chains(void **state)
{
    struct flow_chains *chains = *state;
    const ovs_u128 root = ufid_of(0), flow = ufid_of(N_ROOTS);
    const ovs_u128 other = ufid_of(2 * N_ROOTS);
    ovs_u128 similar = root;

    similar.u32[3]++;
    assert_int_equal(flow_chains_n_roots(chains), N_ROOTS);
    assert_true(flow_chains_has_root(chains, &root));
    assert_false(flow_chains_has(chains, &root));
    assert_true(flow_chains_has(chains, &flow));
    assert_false(flow_chains_has_root(chains, &flow));
    assert_false(flow_chains_has(chains, &other));
    assert_false(flow_chains_has_root(chains, &other));
    assert_false(flow_chains_has_root(chains, &similar));
}

static void
root_is_done_when_it_was_changed_or_is_gone(void **state)
{
    struct flow_chains *chains = *state;
    const ovs_u128 root = ufid_of(0);

    assert_false(done(chains, DPIF_OP_FLOW_GET, 0, 0));
    assert_false(done(chains, DPIF_OP_FLOW_PUT, 0, ENOBUFS));
    assert_false(done(chains, DPIF_OP_FLOW_PUT, N_ROOTS, 0));
    assert_false(done(chains, DPIF_OP_FLOW_PUT, 2 * N_ROOTS, 0));
    assert_int_equal(flow_chains_n_roots(chains), N_ROOTS);

    assert_false(done(chains, DPIF_OP_FLOW_PUT, 0, 0));
    assert_false(flow_chains_has_root(chains, &root));
    assert_int_equal(flow_chains_n_roots(chains), N_ROOTS - 1);
    assert_false(done(chains, DPIF_OP_FLOW_PUT, 0, 0));
    assert_false(done(chains, DPIF_OP_FLOW_DEL, 0, 0));
    assert_int_equal(flow_chains_n_roots(chains), N_ROOTS - 1);

    assert_false(done(chains, DPIF_OP_FLOW_DEL, 1, ENOENT));
    for (uint32_t i = 2; i < N_ROOTS; i++) {
        assert_int_equal(done(chains, DPIF_OP_FLOW_DEL, i, 0),
                         i == N_ROOTS - 1);
    }
    assert_int_equal(flow_chains_n_roots(chains), 0);
}

/* An operation without a ufid is about another flow. */
static void
operation_without_a_ufid_changes_nothing(void **state)
{
    struct flow_chains *chains = *state;
    struct dpif_op op = { .type = DPIF_OP_FLOW_PUT };

    assert_false(flow_chains_done(chains, &op));
    assert_int_equal(flow_chains_n_roots(chains), N_ROOTS);
}

static void
root_is_disguised_until_it_is_done(void **state)
{
    struct flow_chains *chains = *state;
    struct { struct nlattr attr; uint32_t port; } output = {
        { .nla_len = sizeof output, .nla_type = OVS_ACTION_ATTR_OUTPUT }, 1
    };
    const struct dpif_flow plain = {
        .actions = &output.attr, .actions_len = sizeof output,
        .ufid = ufid_of(0), .ufid_present = true,
    };
    struct dpif_flow flow = plain;

    flow_chains_disguise(chains, &flow);
    assert_int_equal(flow.actions_len, 8);
    assert_int_equal(nl_attr_type(flow.actions), OVS_ACTION_ATTR_TRUNC);
    assert_int_equal(nl_attr_get_size(flow.actions), 4);

    /* A terse one has no actions. */
    flow.actions_len = 0;
    flow_chains_disguise(chains, &flow);
    assert_int_equal(flow.actions_len, 0);

    flow = plain;
    flow.ufid_present = false;
    flow_chains_disguise(chains, &flow);
    assert_ptr_equal(flow.actions, &output.attr);

    flow = plain;
    flow.ufid = ufid_of(N_ROOTS);
    flow_chains_disguise(chains, &flow);
    assert_ptr_equal(flow.actions, &output.attr);

    flow = plain;
    done(chains, DPIF_OP_FLOW_PUT, 0, 0);
    flow_chains_disguise(chains, &flow);
    assert_ptr_equal(flow.actions, &output.attr);
}

static atomic_count n_last;

static void *
change_all(void *chains)
{
    for (uint32_t i = 0; i < N_ROOTS; i++) {
        if (done(chains, DPIF_OP_FLOW_PUT, i, 0)) {
            atomic_count_inc(&n_last);
        }
    }
    return NULL;
}

/* Whatever the order in which revalidators get to them. */
static void
one_thread_is_told_of_the_last_root(void **state)
{
    pthread_t threads[3];

    atomic_count_init(&n_last, 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("change", change_all, *state);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        xpthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_count_get(&n_last), 1);
    assert_int_equal(flow_chains_n_roots(*state), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(roots_are_told_from_flows_of_chains),
        TEST(root_is_done_when_it_was_changed_or_is_gone),
        TEST(operation_without_a_ufid_changes_nothing),
        TEST(root_is_disguised_until_it_is_done),
        TEST(one_thread_is_told_of_the_last_root),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("flow-chains", tests, NULL, NULL);
}
