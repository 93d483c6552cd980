/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine, one behaviour at a time. */

#include <config.h>
#include "unit-offload.h"

#include <errno.h>
#include <stdlib.h>

#include "ovs-thread.h"
#include "timeval.h"
#include "unit-upcall.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

/* Fails all operations of a type on one side. */
struct failure {
    bool tc;
    enum offload_copy_type type;
    int error;
    uint32_t n;                 /* So many times. */
};

static int
fail_some(void *failure_, bool tc, const struct offload_copy_op *op)
{
    struct failure *failure = failure_;

    if (failure->n && tc == failure->tc && op->type == failure->type) {
        failure->n--;
        return failure->error;
    }
    return 0;
}

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
    struct failure failure = {
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
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    thread = ovs_thread_create("delete", delete_flow, &helper);
    unit_wait_until(unit_get(&unit, 1, NULL, NULL) == ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);
    offload_fake_release(unit.fake);
    xpthread_join(thread, NULL);
    assert_int_equal(helper.error, 0);
    assert_int_equal(helper.n, 4);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
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
    struct offload_info info;

    offload_get_info(unit->offload, &info);
    return info.total.n_queued;
}

static void
batch_of_deletes_is_sent_together(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct deletion deletion = { .unit = &unit };
    enum { N = ARRAY_SIZE(deletion.ops) };
    uint64_t n_ops, n_calls, n_calls2;
    pthread_t thread;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 0; i < N; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    offload_barrier(unit.offload);
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
    offload_fake_get_load(unit.fake, &n_ops, &n_calls2);
    assert_int_equal(n_ops, 2 * N + 1);
    assert_int_equal(n_calls2 - n_calls, 1);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(deletion.ops[i].error, 0);
        assert_int_equal(deletion.ops[i].stats.n_packets, i);
    }
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
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

static void
rejection_has_a_reason_and_is_remembered(void **state OVS_UNUSED)
{
    static const struct {
        int error;
        enum offload_reason reason;
        bool retried;
    } cases[] = {
        { EOPNOTSUPP, OFFLOAD_REASON_UNSUPPORTED, false },
        { ENOSPC, OFFLOAD_REASON_NO_SPACE, true },
        { ENODEV, OFFLOAD_REASON_NO_DEVICE, false },
        { EEXIST, OFFLOAD_REASON_EXISTS, false },
        { EINVAL, OFFLOAD_REASON_ERROR, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
        struct failure failure = {
            .tc = true, .type = OFFLOAD_COPY_PUT, .error = cases[i].error,
            .n = 1,
        };
        struct offload_info info;
        struct unit_offload unit;

        config.backoff = cases[i].retried ? 20 : 3600000;
        unit_offload_init(&unit, &config, 2);
        offload_fake_set_fail(unit.fake, fail_some, &failure);
        unit_put(&unit, unit_desc(1, 1), CREATE);
        offload_barrier(unit.offload);
        assert_int_equal(unit_where(&unit, 1), KERNEL);
        assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_REJECTED);
        assert_int_equal(unit_reason(&unit, 1), cases[i].reason);
        offload_get_info(unit.offload, &info);
        assert_int_equal(info.reasons[cases[i].reason].n, 1);
        assert_int_equal(info.reasons[cases[i].reason].ufid.u64.lo, 1);
        assert_int_equal(info.reasons[cases[i].reason].error, cases[i].error);

        /* Another port is not concerned. */
        unit_put(&unit, unit_desc(2, 2), CREATE);
        offload_barrier(unit.offload);
        assert_int_equal(unit_where(&unit, 2), TC);

        if (cases[i].retried) {
            unit_wait_until((unit_dump(&unit, NULL, 0),
                           offload_barrier(unit.offload),
                           unit_where(&unit, 1) == TC));
        } else {
            unit_dump(&unit, NULL, 0);
            offload_barrier(unit.offload);
            assert_int_equal(unit_where(&unit, 1), KERNEL);
            offload_port_changed(unit.offload, 1);
            unit_dump(&unit, NULL, 0);
            offload_barrier(unit.offload);
            assert_int_equal(unit_where(&unit, 1), TC);
        }
        unit_offload_uninit(&unit);
    }
}

static void
rejection_is_of_the_version_that_was_tried(void **state OVS_UNUSED)
{
    struct failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc_full(1, 1, 0, 0, 77), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    unit_put(&unit, unit_desc_full(1, 1, 0, 0, 78), MODIFY);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_REJECTED), 0);
    unit_offload_uninit(&unit);
}

static void
device_rejects_a_kind_once(void **state OVS_UNUSED)
{
    struct failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;
    uint64_t n_ops, n_calls;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    unit_put(&unit, unit_desc_full(1, 1, 0, 0, 77), CREATE);
    offload_barrier(unit.offload);
    for (uint32_t i = 2; i < 10; i++) {
        unit_put(&unit, unit_desc_full(i, 1, 0, 0, 77), CREATE);
    }
    unit_put(&unit, unit_desc_full(10, 1, 0, 0, 78), CREATE);
    offload_barrier(unit.offload);
    offload_fake_get_load(unit.fake, &n_ops, &n_calls);
    assert_int_equal(n_ops, 2);
    assert_int_equal(unit_reason(&unit, 9), OFFLOAD_REASON_KIND);
    assert_int_equal(unit_where(&unit, 10), TC);

    /* A change of the flow can make it another kind. */
    unit_put(&unit, unit_desc_full(9, 1, 0, 0, 79), MODIFY);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 9), TC);

    offload_port_changed(unit.offload, 1);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 10);
    unit_offload_uninit(&unit);
}

static void
full_device_backs_off(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = ENOSPC, .n = 1,
    };
    struct unit_offload unit;
    struct offload_info info;

    config.backoff = 3600000;
    unit_offload_init(&unit, &config, 1);
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    unit_put(&unit, unit_desc(2, 1), CREATE);
    assert_int_equal(unit_reason(&unit, 2), OFFLOAD_REASON_BACKOFF);
    assert_int_equal(unit_state(&unit, 2), OFFLOAD_STATE_KERNEL);
    offload_get_info(unit.offload, &info);
    assert_int_equal(info.n_backoffs, 1);
    offload_port_changed(unit.offload, 1);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 2);
    unit_offload_uninit(&unit);
}

static void
full_queue_leaves_flows_in_the_kernel(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    struct offload_info info;

    config.max_queued = 3;
    unit_offload_init(&unit, &config, 1);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(0, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    for (uint32_t i = 1; i <= 5; i++) {
        assert_int_equal(unit_put(&unit, unit_desc(i, 1), CREATE), 0);
    }
    assert_int_equal(unit_state(&unit, 3), OFFLOAD_STATE_QUEUED);
    assert_int_equal(unit_state(&unit, 4), OFFLOAD_STATE_KERNEL);
    assert_int_equal(unit_reason(&unit, 5), OFFLOAD_REASON_FULL);
    offload_get_info(unit.offload, &info);
    assert_int_equal(info.reasons[OFFLOAD_REASON_FULL].n, 2);
    assert_int_equal(info.total.most_queued, 3);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 4);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 6);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    unit_offload_uninit(&unit);
}

static void
young_flows_are_not_offered(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;

    config.delay = 3600000;
    unit_offload_init(&unit, &config, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_dump(&unit, NULL, 0);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_YOUNG);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ENQUEUED), 0);
    config.delay = 0;
    offload_configure(unit.offload, &config);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    unit_offload_uninit(&unit);
}

static void
child_waits_for_its_parent(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 2);
    unit_put(&unit, unit_desc_full(1, 1, 55, 0, 0), CREATE);
    unit_put(&unit, unit_desc_full(2, 2, 55, 0, 0), CREATE);
    unit_put(&unit, unit_desc_full(3, 1, 55, 0, 0), CREATE);
    unit_put(&unit, unit_desc_full(4, 1, 56, 0, 0), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_PARKED);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    unit_del(&unit, 3, NULL);

    unit_put(&unit, unit_desc_full(10, 1, 0, 55, 0), CREATE);
    offload_barrier(unit.offload);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 10), TC);

    /* Packets may come from a parent in the kernel, too. */
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_where(&unit, 2), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    assert_int_equal(unit_state(&unit, 4), OFFLOAD_STATE_PARKED);
    unit_packets(&unit, 1, 5);
    offload_port_del(unit.offload, 1);
    unit_packets(&unit, 1, 5);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 10);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_state(&unit, 4), OFFLOAD_STATE_KERNEL);
    unit_offload_uninit(&unit);
}

static void
deletes_and_changes_overtake_offers(void **state OVS_UNUSED)
{
    enum { N = 1000 };
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(2);
    struct offload_info info;
    uint64_t n_ops, n_calls;
    struct offload_desc *desc, *rule;

    unit_offload_init(&unit, NULL, 2);
    for (uint32_t i = 1; i <= 3; i++) {
        unit_put(&unit, unit_desc(i, i == 3 ? 2 : 1), CREATE);
    }
    offload_barrier(unit.offload);
    offload_fake_hold(unit.fake);
    for (uint32_t i = 0; i < N; i++) {
        unit_put(&unit, unit_desc(100 + i, 1), CREATE);
    }
    offload_fake_wait_held(unit.fake, 1);
    offload_fake_set_delay(unit.fake, 500, 500);
    desc = unit_desc(2, 1);
    unit_put(&unit, offload_desc_ref(desc), MODIFY);
    offload_fake_release(unit.fake);

    /* The thread is at one batch whenever it is asked for something: for the
     * deletion, and for three barriers.  One more, which may have been first,
     * and one to spare. */
    assert_int_equal(unit_del(&unit, 1, NULL), 0);
    offload_port_del(unit.offload, 2);
    assert_int_equal(unit_where(&unit, 3), KERNEL);
    rule = offload_fake_rule(unit.fake, &ufid);
    assert_ptr_equal(rule, desc);
    offload_fake_get_load(unit.fake, &n_ops, &n_calls);
    assert_true(n_ops < 3 + 5 + 6 * OFFLOAD_BATCH);
    offload_get_info(unit.offload, &info);
    assert_true(info.total.n_queued > N / 4);
    offload_fake_set_delay(unit.fake, 0, 0);
    offload_desc_unref(rule);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

static void
port_removal_leaves_no_rule(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 2);
    for (uint32_t i = 0; i < 20; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 2), CREATE);
    }
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 5);
    unit_packets(&unit, 2, 5);
    offload_port_del(unit.offload, 1);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(unit_where(&unit, i), i % 2 ? TC : KERNEL);
    }
    unit_put(&unit, unit_desc(20, 1), CREATE);
    unit_put(&unit, unit_desc(0, 1), MODIFY);
    assert_int_equal(unit_reason(&unit, 20), OFFLOAD_REASON_NO_PORT);
    unit_get(&unit, 2, &n, NULL);
    assert_int_equal(n, 5);

    offload_port_add(unit.offload, 1);
    offload_barrier(unit.offload);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 21);
    unit_offload_uninit(&unit);
}

static void
flush_deletes_everything(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 3);
    for (uint32_t i = 0; i < 30; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 4), CREATE);
    }
    assert_int_equal(offload_flush(unit.offload), 0);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), ENOENT);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    unit_offload_uninit(&unit);
}

static void
disabling_moves_everything_back(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 2);
    for (uint32_t i = 0; i < 20; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 2), CREATE);
    }
    offload_barrier(unit.offload);
    unit_packets(&unit, 3, 9);
    offload_set_enabled(unit.offload, false);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(offload_fake_count(unit.fake, false), 20);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_DISABLED);
    unit_packets(&unit, 3, 1);
    unit_get(&unit, 3, &n, NULL);
    assert_int_equal(n, 10);
    offload_set_enabled(unit.offload, true);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 20);
    unit_offload_uninit(&unit);
}

static void
rules_of_a_previous_run_are_reconciled(void **state OVS_UNUSED)
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit = { .fake = offload_fake_create() };
    struct offload_kernel kernel = offload_fake_kernel(unit.fake);
    struct offload_backend backend = offload_fake_backend(unit.fake);
    uint64_t n;

    /* 1: in tc.  2: in both, in the middle of a move.  3: was deleted from the
     * table and put into the kernel by someone else. */
    for (uint32_t i = 1; i <= 3; i++) {
        struct offload_desc *desc = unit_desc(i, 1);

        offload_fake_add(unit.fake, true, desc);
        if (i == 2) {
            offload_fake_add(unit.fake, false, desc);
        }
        offload_desc_unref(desc);
        unit_packets(&unit, i, 7);
    }
    unit.offload = offload_create(&kernel, &backend, &config);
    unit_put(&unit, unit_desc(3, 1), CREATE);
    offload_fake_hold(unit.fake);
    offload_port_add(unit.offload, 1);
    offload_fake_wait_held(unit.fake, 1);
    unit_put(&unit, unit_desc(4, 1), CREATE);
    assert_int_equal(unit_reason(&unit, 4), OFFLOAD_REASON_RECONCILING);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_where(&unit, 2), TC);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 3), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ADOPTED), 2);
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 1);
    assert_int_equal(unit_where(&unit, 4), TC);
    assert_int_equal(unit_dump(&unit, NULL, 0), 4);
    assert_int_equal(unit_del(&unit, 2, &n), 0);
    assert_int_equal(n, 7);
    unit_offload_uninit(&unit);
}

static void
rule_that_vanishes_comes_back_to_the_kernel(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(1);
    uint64_t n;
    bool in_tc;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 5);
    unit_get(&unit, 1, &n, NULL);
    offload_fake_remove(unit.fake, true, &ufid);
    assert_int_equal(unit_get(&unit, 1, &n, &in_tc), 0);
    assert_int_equal(n, 5);
    assert_false(in_tc);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_REJECTED);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_VANISHED);
    assert_int_equal(unit_counter(&unit, OFFLOAD_VANISHED), 1);
    unit_offload_uninit(&unit);
}

static void
flow_deleted_from_the_kernel_by_others_is_forgotten(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(1);

    config.delay = 3600000;
    unit_offload_init(&unit, &config, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_fake_remove(unit.fake, false, &ufid);
    assert_int_equal(unit_dump(&unit, NULL, 0), 0);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);
    offload_fake_remove(unit.fake, false, &ufid);
    assert_int_equal(unit_del(&unit, 1, NULL), ENOENT);
    unit_offload_uninit(&unit);
}

static void
failures_of_the_kernel_are_reported(void **state OVS_UNUSED)
{
    struct failure failure = {
        .type = OFFLOAD_COPY_PUT, .error = ENOMEM, .n = 1,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), ENOMEM);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);
    offload_barrier(unit.offload);

    /* A change that fails leaves the flow as it is. */
    failure.n = 1;
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), ENOMEM);
    assert_int_equal(unit_where(&unit, 1), TC);

    /* A flow that cannot go back is lost, not left in tc. */
    failure.n = 1;
    offload_port_del(unit.offload, 1);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LOST), 1);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), ENOENT);

    /* One that cannot be deleted stays. */
    unit_put(&unit, unit_desc(2, 1), CREATE);
    failure = (struct failure) { .type = OFFLOAD_COPY_DEL, .error = EBUSY,
                                 .n = 1 };
    assert_int_equal(unit_del(&unit, 2, NULL), EBUSY);
    assert_int_equal(unit_get(&unit, 2, NULL, NULL), 0);
    unit_offload_uninit(&unit);
}

static void
kernel_copy_that_stays_does_no_harm(void **state OVS_UNUSED)
{
    struct failure failure = {
        .type = OFFLOAD_COPY_DEL, .error = ENOMEM, .n = 3,
    };
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_packets(&unit, 1, 4);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    unit_packets(&unit, 1, 4);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 8);
    assert_int_equal(unit_dump(&unit, NULL, 0), 1);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 8);
    unit_offload_uninit(&unit);
}

static void
rule_that_cannot_be_deleted_goes_with_its_port(void **state OVS_UNUSED)
{
    struct failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 3,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_set_fail(unit.fake, fail_some, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_del(&unit, 1, NULL), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 1);
    assert_int_equal(unit_where(&unit, 1), TC);
    offload_port_del(unit.offload, 1);
    assert_int_equal(unit_where(&unit, 1), 0);
    unit_offload_uninit(&unit);
}

static void
threads_come_and_go(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    struct offload_info info;

    config.n_threads = 10;
    unit_offload_init(&unit, &config, 50);
    for (uint32_t i = 0; i < 500; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 50), CREATE);
        if (i % 100 == 50) {
            config.n_threads = 1 + (config.n_threads + 6) % 10;
            offload_configure(unit.offload, &config);
        }
    }
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 500);
    offload_get_info(unit.offload, &info);
    assert_int_equal(info.n_threads, 10);
    assert_int_equal(info.total.counters[OFFLOAD_INSERTED], 500);
    assert_int_equal(info.total.cumulative.n, 500);
    unit_offload_uninit(&unit);
}

static void
thread_that_goes_hands_over(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    struct offload_info info;
    uint32_t port;

    config.n_threads = 2;
    unit_offload_init(&unit, &config, 8);

    /* A port of the second thread. */
    for (port = 1; ; port++) {
        unit_put(&unit, unit_desc(1000 + port, port), CREATE);
        offload_barrier(unit.offload);
        offload_get_info(unit.offload, &info);
        if (info.threads[1].counters[OFFLOAD_INSERTED]) {
            break;
        }
    }
    offload_fake_set_delay(unit.fake, 1000, 1000);
    for (uint32_t i = 0; i < 300; i++) {
        unit_put(&unit, unit_desc(i, port), CREATE);
    }
    config.n_threads = 1;
    offload_configure(unit.offload, &config);
    offload_get_info(unit.offload, &info);
    assert_false(info.threads[1].running);
    assert_true(info.threads[0].n_queued > 0);
    offload_fake_set_delay(unit.fake, 0, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 300 + port);
    unit_offload_uninit(&unit);
}

static void
destroy_does_what_is_queued(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold(unit.fake);
    for (uint32_t i = 0; i < 100; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_put(&unit, unit_desc_full(100, 1, 1, 0, 0), CREATE);
    offload_fake_release(unit.fake);
    offload_destroy(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 100);
    assert_int_equal(offload_fake_count(unit.fake, false), 1);
    offload_fake_destroy(unit.fake);
    offload_destroy(NULL);
    offload_fake_destroy(NULL);
}

static void
statistics_start_again_when_asked(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_packets(&unit, 1, 4);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 4);
    unit_put(&unit, unit_desc(1, 1), MODIFY | OFFLOAD_PUT_ZERO_STATS);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 0);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 2);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 2);
    unit_offload_uninit(&unit);
}

static void
dump_shows_a_flow_once_while_it_moves(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct offload_dump dump;
    struct offload_dumped dumped;
    struct offload_stats stats = { .n_packets = 3 };
    ovs_u128 ufid = unit_ufid(1);

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_packets(&unit, 1, 3);
    offload_fake_wait_held(unit.fake, 1);

    /* Shown where it was. */
    assert_int_equal(offload_dump_start(unit.offload, &dump), 0);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_int_equal(dumped.stats.n_packets, 3);
    assert_false(dumped.in_tc);
    offload_desc_unref(dumped.desc);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_false(offload_dump_tc(&dump, &ufid, &stats, &dumped));
    assert_false(offload_dump_next(&dump, &dumped));
    offload_dump_done(&dump);

    /* It has moved since the kernel said so. */
    assert_int_equal(offload_dump_start(unit.offload, &dump), 0);
    unit_packets(&unit, 1, 4);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_int_equal(dumped.stats.n_packets, 7);
    assert_true(dumped.in_tc);
    offload_desc_unref(dumped.desc);
    offload_dump_done(&dump);

    /* Here again, but with what it had before in 'base'. */
    assert_int_equal(offload_dump_start(unit.offload, &dump), 0);
    offload_port_del(unit.offload, 1);
    offload_port_add(unit.offload, 1);
    offload_set_enabled(unit.offload, false);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_int_equal(dumped.stats.n_packets, 7);
    assert_false(dumped.in_tc);
    offload_desc_unref(dumped.desc);
    offload_dump_done(&dump);

    /* Found by neither. */
    assert_int_equal(offload_dump_start(unit.offload, &dump), 0);
    assert_true(offload_dump_next(&dump, &dumped));
    assert_int_equal(dumped.stats.n_packets, 7);
    offload_desc_unref(dumped.desc);
    assert_false(offload_dump_next(&dump, &dumped));
    offload_dump_done(&dump);

    /* Unknown to the engine. */
    assert_int_equal(offload_dump_start(unit.offload, &dump), 0);
    ufid = unit_ufid(99);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_null(dumped.desc);
    assert_false(offload_dump_tc(&dump, &ufid, &stats, &dumped));
    offload_dump_done(&dump);
    unit_offload_uninit(&unit);
}

static void
dumps_are_limited(void **state OVS_UNUSED)
{
    struct offload_dump dumps[OFFLOAD_MAX_DUMPS], dump;
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        assert_int_equal(offload_dump_start(unit.offload, &dumps[i]), 0);
    }
    assert_int_equal(offload_dump_start(unit.offload, &dump), EBUSY);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        offload_dump_done(&dumps[i]);
    }
    assert_int_equal(unit_dump(&unit, NULL, 0), 0);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_moves_to_tc),
        cmocka_unit_test(change_takes_effect_without_a_gap),
        cmocka_unit_test(requests_collapse),
        cmocka_unit_test(delete_waits_for_an_insertion_that_is_under_way),
        cmocka_unit_test(new_flow_comes_after_the_old_one_has_gone),
        cmocka_unit_test(batch_of_deletes_is_sent_together),
        cmocka_unit_test(same_flow_in_a_batch),
        cmocka_unit_test(rejection_has_a_reason_and_is_remembered),
        cmocka_unit_test(rejection_is_of_the_version_that_was_tried),
        cmocka_unit_test(device_rejects_a_kind_once),
        cmocka_unit_test(full_device_backs_off),
        cmocka_unit_test(full_queue_leaves_flows_in_the_kernel),
        cmocka_unit_test(young_flows_are_not_offered),
        cmocka_unit_test(child_waits_for_its_parent),
        cmocka_unit_test(deletes_and_changes_overtake_offers),
        cmocka_unit_test(port_removal_leaves_no_rule),
        cmocka_unit_test(flush_deletes_everything),
        cmocka_unit_test(disabling_moves_everything_back),
        cmocka_unit_test(rules_of_a_previous_run_are_reconciled),
        cmocka_unit_test(rule_that_vanishes_comes_back_to_the_kernel),
        cmocka_unit_test(flow_deleted_from_the_kernel_by_others_is_forgotten),
        cmocka_unit_test(failures_of_the_kernel_are_reported),
        cmocka_unit_test(kernel_copy_that_stays_does_no_harm),
        cmocka_unit_test(rule_that_cannot_be_deleted_goes_with_its_port),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(thread_that_goes_hands_over),
        cmocka_unit_test(destroy_does_what_is_queued),
        cmocka_unit_test(statistics_start_again_when_asked),
        cmocka_unit_test(dump_shows_a_flow_once_while_it_moves),
        cmocka_unit_test(dumps_are_limited),
    };

    unit_init("test-offload");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload", tests, NULL, NULL);
}
