/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: flows move, change and go.
 *
 *   O1  flow_moves_to_tc, change_takes_effect_without_a_gap
 *   O2  delete_waits_for_an_insertion_that_is_under_way
 *   O3  requests_collapse, new_flow_comes_after_the_old_one_has_gone,
 *       same_flow_in_a_batch
 *   O4  flow_moves_to_tc
 *   O6  requests_collapse, and each test at its end */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "ovs-thread.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

static void
flow_moves_to_tc(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;
    bool in_tc;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold(unit.fake);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);

    /* Nobody waits for tc, and meanwhile the flow is in the kernel. */
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_QUEUED);
    assert_int_equal(unit_packets(&unit, 1, 10), KERNEL);
    offload_fake_wait_held(unit.fake, 1);
    assert_int_equal(unit_get(&unit, 1, &n, &in_tc), 0);
    assert_int_equal(n, 10);
    assert_false(in_tc);

    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    assert_int_equal(unit_packets(&unit, 1, 5), TC);
    assert_int_equal(unit_get(&unit, 1, &n, &in_tc), 0);
    assert_int_equal(n, 15);
    assert_true(in_tc);

    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), EEXIST);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 15);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), ENOENT);
    assert_int_equal(unit_del(&unit, 1, NULL), ENOENT);
    assert_int_equal(unit_counter(&unit, OFFLOAD_INSERTED), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_DELETED), 1);
    unit_offload_uninit(&unit);
}

/* The kernel does not count them. */
static void
flows_in_tc_alone_are_counted(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 0; i < 200; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    offload_barrier(unit.offload);
    assert_int_equal(offload_n_tc_only(unit.offload), 200);
    for (uint32_t i = 0; i < 200; i++) {
        unit_del(&unit, i, NULL);
        assert_int_equal(offload_n_tc_only(unit.offload), 199 - i);
    }
    unit_offload_uninit(&unit);
}

static void
change_takes_effect_without_a_gap(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct offload_desc *desc, *rule;
    ovs_u128 ufid = unit_ufid(1);
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_packets(&unit, 1, 3), TC);

    offload_fake_hold(unit.fake);
    desc = unit_desc(1, 1);
    assert_int_equal(unit_put(&unit, offload_desc_ref(desc), MODIFY), 0);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_MOVING_BACK);
    assert_int_equal(unit_packets(&unit, 1, 3), TC);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 6);

    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    rule = offload_fake_rule(unit.fake, &ufid);
    assert_ptr_equal(rule, desc);
    offload_desc_unref(rule);
    offload_desc_unref(desc);
    unit_packets(&unit, 1, 3);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 9);
    assert_int_equal(unit_counter(&unit, OFFLOAD_MODIFIED), 1);
    unit_offload_uninit(&unit);
}

static void
requests_collapse(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n_ops, n_calls, n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(100, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);

    /* The thread is at another flow. */
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_packets(&unit, 1, 7);
    for (int i = 0; i < 10; i++) {
        unit_put(&unit, unit_desc(1, 1), MODIFY);
    }
    assert_int_equal(unit_counter(&unit, OFFLOAD_SUPERSEDED), 10);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 7);
    assert_int_equal(unit_counter(&unit, OFFLOAD_SUPERSEDED), 11);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    offload_fake_get_load(unit.fake, &n_ops, &n_calls);
    assert_int_equal(n_ops, 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_INSERTED), 1);
    unit_offload_uninit(&unit);
}

/* Deletes and changes flow 1 in a thread of its own. */
struct helper {
    struct unit_offload *unit;
    uint64_t n;
    int error;
};

static void *
delete_flow(void *helper_)
{
    struct helper *helper = helper_;

    helper->error = unit_del(helper->unit, 1, &helper->n);
    return NULL;
}

static void
delete_waits_for_an_insertion_that_is_under_way(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct helper helper = { .unit = &unit };
    pthread_t thread;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_packets(&unit, 1, 4);
    offload_fake_wait_held(unit.fake, 1);
    thread = ovs_thread_create("delete", delete_flow, &helper);

    /* The kernel copy goes at once, and a new flow can come at once. */
    unit_wait_until(!unit_where(&unit, 1));
    unit_wait_until(unit_get(&unit, 1, NULL, NULL) == ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);
    unit_packets(&unit, 1, 3);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    offload_fake_release(unit.fake);
    xpthread_join(thread, NULL);
    assert_int_equal(helper.error, 0);
    assert_int_equal(helper.n, 4);

    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 3);
    unit_offload_uninit(&unit);
}

static void
new_flow_comes_after_the_old_one_has_gone(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 2,
    };
    struct unit_offload unit;
    struct helper helper = { .unit = &unit };
    pthread_t thread;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 4);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(2, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);

    /* Both wait in the queue, and the deletion takes several attempts. */
    offload_fake_fail_next(unit.fake, &failure);
    thread = ovs_thread_create("delete", delete_flow, &helper);
    unit_wait_until(unit_get(&unit, 1, NULL, NULL) == ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);
    offload_fake_release(unit.fake);
    xpthread_join(thread, NULL);
    assert_int_equal(helper.error, 0);
    assert_int_equal(helper.n, 4);
    /* The user is told before the thread goes on with the new flow. */
    unit_wait_until(unit_where(&unit, 1) == TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_REJECTED), 0);
    unit_offload_uninit(&unit);
}

struct deletion {
    struct unit_offload *unit;
    struct offload_op ops[60];
};

static void *
delete_flows(void *deletion_)
{
    struct deletion *deletion = deletion_;
    struct offload_op *ops[ARRAY_SIZE(deletion->ops)];

    for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
        deletion->ops[i] = (struct offload_op) {
            .type = OFFLOAD_DEL, .ufid = unit_ufid(i),
        };
        ops[i] = &deletion->ops[i];
    }
    offload_operate(deletion->unit->offload, ops, ARRAY_SIZE(ops));
    return NULL;
}

static uint32_t
n_queued(struct unit_offload *unit)
{
    struct offload_engine_info info;

    offload_get_info(unit->offload, &info);
    return info.total.n_queued;
}

static void
batch_of_deletes_is_sent_together(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct deletion deletion = { .unit = &unit };
    enum { N = ARRAY_SIZE(deletion.ops) };
    uint64_t n_ops, n_ops2, n_calls, n_calls2;
    pthread_t thread;

    unit_offload_init(&unit, NULL, 1);
    /* Tc takes no time, so that batches grow until all flows fit into one. */
    unit_clock_stop(1000000);
    for (int i = 0; i < 2; i++) {
        offload_fake_hold(unit.fake);
        for (uint32_t j = 0; j < N; j++) {
            unit_put(&unit, unit_desc(j, 1), CREATE | MODIFY);
        }
        offload_fake_release(unit.fake);
        offload_barrier(unit.offload);
    }
    for (uint32_t i = 0; i < N; i++) {
        unit_packets(&unit, i, i);
    }
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(100, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    thread = ovs_thread_create("delete", delete_flows, &deletion);
    unit_wait_until(n_queued(&unit) == N);
    offload_fake_get_load(unit.fake, &n_ops, &n_calls);
    offload_fake_release(unit.fake);
    xpthread_join(thread, NULL);
    offload_fake_get_load(unit.fake, &n_ops2, &n_calls2);
    assert_int_equal(n_ops2 - n_ops, N);
    assert_int_equal(n_calls2 - n_calls, 1);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(deletion.ops[i].error, 0);
        assert_int_equal(deletion.ops[i].stats.n_packets, i);
    }
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
    unit_clock_run();
    unit_offload_uninit(&unit);
}

static void
same_flow_in_a_batch(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct offload_desc *desc = unit_desc(1, 1);
    struct offload_op put = { .type = OFFLOAD_PUT, .flags = CREATE,
                              .desc = desc };
    struct offload_op del = { .type = OFFLOAD_DEL, .ufid = desc->ufid };
    struct offload_op get = { .type = OFFLOAD_GET, .ufid = desc->ufid };
    struct offload_op again = put, other = put;
    struct offload_op *ops[] = { &put, &get, &del, &again, &other };

    unit_offload_init(&unit, NULL, 1);
    offload_operate(unit.offload, ops, ARRAY_SIZE(ops));
    assert_int_equal(put.error, 0);
    assert_int_equal(get.error, 0);
    assert_int_equal(del.error, 0);
    assert_int_equal(again.error, 0);
    assert_int_equal(other.error, EEXIST);
    offload_desc_unref(get.result);
    offload_desc_unref(desc);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    unit_offload_uninit(&unit);
}

/* Where tc cannot do chains, it is the one to say so. */
static void
flow_of_a_chain_is_rejected_where_there_are_none(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_set_chains(unit.offload, false);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc_full(1, 1, 7, 0, 0), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_REJECTED);
    assert_int_equal(unit_counter(&unit, OFFLOAD_PARKED), 0);
    unit_offload_uninit(&unit);
}

/* What the kernel would say of flow 1. */
static struct offload_desc *
learn_known(void *n_calls_, const ovs_u128 *ufid)
{
    int *n_calls = n_calls_;

    ++*n_calls;
    assert_true(ovs_u128_equals(*ufid, unit_ufid(1)));
    return unit_desc(1, 1);
}

static struct offload_desc *
learn_nothing(void *n_calls, const ovs_u128 *ufid OVS_UNUSED)
{
    ++*(int *) n_calls;
    return NULL;
}

static void
flow_of_before_is_taken_over(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1);
    ovs_u128 ufid = unit_ufid(1);
    struct unit_offload unit;
    uint64_t n_packets;
    int n_calls = 0;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_add(unit.fake, false, desc);
    unit_packets(&unit, 1, 2);

    /* It has gone by now. */
    assert_false(offload_learn(unit.offload, &ufid, learn_nothing, &n_calls));
    assert_int_equal(n_calls, 1);
    assert_int_equal(unit_where(&unit, 1), KERNEL);

    assert_true(offload_learn(unit.offload, &ufid, learn_known, &n_calls));
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    unit_packets(&unit, 1, 3);
    unit_get(&unit, 1, &n_packets, NULL);
    assert_int_equal(n_packets, 5);

    /* Known: nobody is asked. */
    assert_false(offload_learn(unit.offload, &ufid, learn_known, &n_calls));
    assert_int_equal(n_calls, 2);

    unit_del(&unit, 1, &n_packets);
    assert_int_equal(n_packets, 5);
    assert_int_equal(unit_where(&unit, 1), 0);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

/* A delete that comes while a flow is being taken over is not lost. */
struct delete_during {
    struct helper helper;
    pthread_t thread;
};

static struct offload_desc *
learn_during_delete(void *during_, const ovs_u128 *ufid OVS_UNUSED)
{
    struct delete_during *during = during_;

    during->thread = ovs_thread_create("delete", delete_flow,
                                       &during->helper);
    return unit_desc(1, 1);
}

static void
flow_that_is_taken_over_can_be_deleted(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1);
    ovs_u128 ufid = unit_ufid(1);
    struct unit_offload unit;
    struct delete_during during = { .helper = { .unit = &unit } };

    unit_offload_init(&unit, NULL, 1);
    offload_fake_add(unit.fake, false, desc);
    offload_learn(unit.offload, &ufid, learn_during_delete, &during);
    xpthread_join(during.thread, NULL);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), 0);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_moves_to_tc),
        cmocka_unit_test(flows_in_tc_alone_are_counted),
        cmocka_unit_test(change_takes_effect_without_a_gap),
        cmocka_unit_test(requests_collapse),
        cmocka_unit_test(delete_waits_for_an_insertion_that_is_under_way),
        cmocka_unit_test(new_flow_comes_after_the_old_one_has_gone),
        cmocka_unit_test(batch_of_deletes_is_sent_together),
        cmocka_unit_test(same_flow_in_a_batch),
        cmocka_unit_test(flow_of_a_chain_is_rejected_where_there_are_none),
        cmocka_unit_test(flow_of_before_is_taken_over),
        cmocka_unit_test(flow_that_is_taken_over_can_be_deleted),
    };

    unit_init("test-offload");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload", tests, NULL, NULL);
}
