/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine when tc or the kernel do not take a flow, or others
 * interfere.
 *
 *   O1  failures_of_the_kernel_are_reported,
 *       change_that_the_kernel_refuses_reaches_tc,
 *       change_that_nobody_takes_ends_the_flow,
 *       flow_of_a_chain_comes_back_to_the_kernel
 *   O2  rule_that_vanishes_comes_back_to_the_kernel
 *   O6  rejection_has_a_reason_and_is_remembered,
 *       rejection_is_of_the_version_that_was_tried, and each test at its
 *       end */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

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
        { EEXIST, OFFLOAD_REASON_EXISTS, true },
        { EINVAL, OFFLOAD_REASON_ERROR, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
        struct offload_fake_failure failure = {
            .tc = true, .type = OFFLOAD_COPY_PUT, .error = cases[i].error,
            .n = 1,
        };
        struct offload_engine_info info;
        struct unit_offload unit;

        config.backoff = cases[i].retried ? 20 : 3600000;
        unit_offload_init(&unit, &config, 2);
        offload_fake_fail_next(unit.fake, &failure);
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
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
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
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;
    uint64_t n_ops, n_calls;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
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

static uint64_t
n_tc_ops(struct unit_offload *unit)
{
    uint64_t n_ops, n_calls;

    offload_fake_get_load(unit->fake, &n_ops, &n_calls);
    return n_ops;
}

/* Offers what may be offered, and waits until that has been done. */
static void
offer_all(struct unit_offload *unit)
{
    unit_dump_lax(unit, NULL, 0);
    offload_barrier(unit->offload);
}

static void
refused_kind_is_tried_once_a_minute(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 2,
    };
    struct unit_offload unit;
    uint64_t n_ops;

    unit_clock_stop(1000000);
    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
    for (uint32_t i = 1; i <= 20; i++) {
        unit_put(&unit, unit_desc_full(i, 1, 0, 0, 77), CREATE);
        offload_barrier(unit.offload);
    }
    n_ops = n_tc_ops(&unit);
    assert_int_equal(n_ops, 1);
    unit_clock_advance(OFFLOAD_REFUSED_MSEC - 1);
    offer_all(&unit);
    assert_int_equal(n_tc_ops(&unit), n_ops);

    /* One is, which fails again.  The others wait for its outcome. */
    unit_clock_advance(1);
    offer_all(&unit);
    assert_int_equal(n_tc_ops(&unit), n_ops + 1);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_UNSUPPORTED);
    unit_clock_advance(OFFLOAD_REFUSED_MSEC - 1);
    offer_all(&unit);
    assert_int_equal(n_tc_ops(&unit), n_ops + 1);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);

    /* The next one is taken, and the others follow. */
    unit_clock_advance(1);
    offer_all(&unit);
    assert_in_range(offload_fake_count(unit.fake, true), 1, 20);
    unit_clock_advance(OFFLOAD_REFUSED_MSEC);
    offer_all(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 20);
    unit_offload_uninit(&unit);
    unit_clock_run();
}

/* A flow that was on its way when another of its kind was refused is taken:
 * the kind stays refused. */
static void
refusal_outlasts_flows_under_way(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc_full(1, 1, 0, 0, 77), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    unit_put(&unit, unit_desc_full(2, 1, 0, 0, 77), CREATE);
    offload_fake_fail_next(unit.fake, &failure);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_where(&unit, 2), TC);
    unit_put(&unit, unit_desc_full(3, 1, 0, 0, 77), CREATE);
    assert_int_equal(unit_reason(&unit, 3), OFFLOAD_REASON_KIND);
    unit_offload_uninit(&unit);
}

/* Has 'failure' meet flow 'flow' of kind 77, from port 1 to port 2, which
 * names a meter. */
static void
be_rejected(struct unit_offload *unit, struct offload_fake_failure failure,
            uint32_t flow)
{
    failure.n = 1;
    offload_fake_fail_next(unit->fake, &failure);
    unit_put(unit, unit_desc_to(flow, 1, 77, 2, true), CREATE);
    offload_barrier(unit->offload);
    assert_int_equal(unit_reason(unit, flow), OFFLOAD_REASON_UNSUPPORTED);
    unit_put(unit, unit_desc_to(flow + 1, 1, 77, 2, true), CREATE);
    assert_int_equal(unit_reason(unit, flow + 1), OFFLOAD_REASON_KIND);
}

static void
rejection_is_forgotten_when_its_cause_may_have_gone(void **state OVS_UNUSED)
{
    const struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 3);

    /* What they do not depend on. */
    be_rejected(&unit, failure, 1);
    offload_port_changed(unit.offload, 3);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);

    /* The output port changes, or comes again. */
    offload_port_changed(unit.offload, 2);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 2);
    be_rejected(&unit, failure, 11);
    offload_port_del(unit.offload, 2);
    offload_port_add(unit.offload, 2);
    /* Flows that were in tc have left it. */
    unit_settle(&unit);
    unit_dump(&unit, NULL, 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 4);

    /* A meter does. */
    be_rejected(&unit, failure, 21);
    offload_meters_changed(unit.offload);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 6);

    /* To flows without, it makes no difference. */
    offload_fake_fail_next(unit.fake, &(struct offload_fake_failure) {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    });
    unit_put(&unit, unit_desc_to(31, 1, 78, 2, false), CREATE);
    offload_barrier(unit.offload);
    offload_meters_changed(unit.offload);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 31), KERNEL);
    unit_offload_uninit(&unit);
}

/* Puts flows 'first' to 'last' of kind 'kind', one after the other. */
static void
put_each(struct unit_offload *unit, uint32_t first, uint32_t last,
         uint32_t kind)
{
    for (uint32_t i = first; i <= last; i++) {
        unit_put(unit, unit_desc_to(i, 1, kind, 2, false), CREATE);
        offload_barrier(unit->offload);
    }
}

static void
kind_that_fails_in_a_row_pauses(void **state OVS_UNUSED)
{
    static const int errors[] = { EINVAL, ENOENT };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
        struct offload_fake_failure failure = {
            .tc = true, .type = OFFLOAD_COPY_PUT, .error = errors[i], .n = 100,
        };
        struct unit_offload unit;
        uint64_t n_ops, n_calls;

        config.backoff = 3600000;
        unit_offload_init(&unit, &config, 2);
        offload_fake_fail_next(unit.fake, &failure);
        put_each(&unit, 1, 20, 77);
        offload_fake_get_load(unit.fake, &n_ops, &n_calls);
        assert_int_equal(n_ops, OFFLOAD_KIND_FAILURES);
        assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_ERROR);
        assert_int_equal(unit_reason(&unit, 20), OFFLOAD_REASON_KIND);

        /* Others are tried. */
        failure.n = 0;
        offload_fake_fail_next(unit.fake, &failure);
        put_each(&unit, 21, 21, 78);
        assert_int_equal(unit_where(&unit, 21), TC);

        /* It is over when the output port changes. */
        offload_port_changed(unit.offload, 2);
        unit_dump(&unit, NULL, 0);
        offload_barrier(unit.offload);
        assert_int_equal(offload_fake_count(unit.fake, true), 21);

        /* Those that are taken in between tell that it is not the kind. */
        for (uint32_t j = 30; j < 50; j++) {
            failure.n = j % 2;
            offload_fake_fail_next(unit.fake, &failure);
            put_each(&unit, j, j, 79);
        }
        assert_int_equal(offload_fake_count(unit.fake, true), 31);
        unit_offload_uninit(&unit);
    }
}

static void
pauses_grow(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EINVAL, .n = 20,
    };
    struct unit_offload unit;
    struct offload_flow_info info;
    ovs_u128 ufid = unit_ufid(1);

    config.backoff = 100000;
    unit_offload_init(&unit, &config, 1);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    for (unsigned int factor = 1; factor <= OFFLOAD_BACKOFF_FACTOR;
         factor *= 2) {
        offload_barrier(unit.offload);
        assert_int_equal(offload_get_flow_info(unit.offload, &ufid, &info), 0);
        assert_true(info.retry <= 100000 * factor);
        assert_true(info.retry > 100000 * factor - 50000);

        /* A change of the port ends the pause. */
        offload_port_changed(unit.offload, 1);
        unit_dump(&unit, NULL, 0);
    }

    /* No longer than that. */
    offload_barrier(unit.offload);
    offload_get_flow_info(unit.offload, &ufid, &info);
    assert_true(info.retry <= 100000 * OFFLOAD_BACKOFF_FACTOR);

    /* A success is the end of it. */
    failure.n = 0;
    offload_fake_fail_next(unit.fake, &failure);
    offload_port_changed(unit.offload, 1);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), OFFLOAD_FAKE_TC);
    offload_set_enabled(unit.offload, false);
    unit_settle(&unit);
    failure.n = 1;
    offload_fake_fail_next(unit.fake, &failure);
    offload_set_enabled(unit.offload, true);
    unit_dump(&unit, NULL, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), OFFLOAD_FAKE_KERNEL);
    assert_int_equal(offload_get_flow_info(unit.offload, &ufid, &info), 0);
    assert_true(info.retry > 50000);
    assert_true(info.retry <= 100000);
    unit_offload_uninit(&unit);
}

static void
full_device_backs_off(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = ENOSPC, .n = 1,
    };
    struct unit_offload unit;
    struct offload_engine_info info;

    config.backoff = 3600000;
    unit_offload_init(&unit, &config, 1);
    offload_fake_fail_next(unit.fake, &failure);
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

/* A flow of a chain is in both, as packets may come from a parent in the
 * kernel. */
static void
flow_of_a_chain_comes_back_to_the_kernel(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .type = OFFLOAD_COPY_PUT, .error = ENOMEM, .n = 0,
    };
    struct offload_desc *desc, *rule;
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(1);
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc_full(1, 1, 55, 0, 0), CREATE);
    assert_int_equal(unit_packets(&unit, 1, 2), KERNEL);
    unit_put(&unit, unit_desc_full(2, 1, 0, 55, 0), CREATE);
    offload_barrier(unit.offload);
    offload_barrier(unit.offload);
    assert_int_equal(unit_packets(&unit, 1, 3), TC);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 5);

    /* Noticed by a dump. */
    offload_fake_remove(unit.fake, false, &ufid);
    assert_int_equal(unit_dump(&unit, NULL, 0), 2);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 5);

    /* Noticed by a change. */
    offload_fake_remove(unit.fake, false, &ufid);
    desc = unit_desc_full(1, 1, 55, 0, 0);
    assert_int_equal(unit_put(&unit, offload_desc_ref(desc), MODIFY), 0);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    rule = offload_fake_rule(unit.fake, &ufid);
    assert_ptr_equal(rule, desc);
    offload_desc_unref(rule);
    offload_desc_unref(desc);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 5);

    /* If the kernel does not take it, it does not stay in tc. */
    failure.n = 1;
    offload_fake_fail_next(unit.fake, &failure);
    offload_fake_remove(unit.fake, false, &ufid);
    unit_dump(&unit, NULL, 0);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LOST), 1);
    unit_offload_uninit(&unit);
}

static void
failures_of_the_kernel_are_reported(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .type = OFFLOAD_COPY_PUT, .error = ENOMEM, .n = 1,
    };
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), ENOMEM);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), ENOENT);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), 0);
    offload_barrier(unit.offload);

    /* A change that fails leaves the flow as it is. */
    failure.n = 1;
    offload_fake_fail_next(unit.fake, &failure);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), ENOMEM);
    assert_int_equal(unit_packets(&unit, 1, 6), TC);

    /* A flow that cannot go back is lost, not left in tc. */
    failure.n = 1;
    offload_fake_fail_next(unit.fake, &failure);
    offload_set_enabled(unit.offload, false);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LOST), 1);

    /* The user who put the flow can find it, put it again and delete it. */
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_REJECTED);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 6);
    assert_int_equal(unit_dump(&unit, NULL, 0), 1);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_DISABLED);
    unit_packets(&unit, 1, 1);
    offload_set_enabled(unit.offload, true);
    unit_dump(&unit, NULL, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    failure.n = 1;
    offload_fake_fail_next(unit.fake, &failure);
    offload_set_enabled(unit.offload, false);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 7);
    assert_int_equal(unit_del(&unit, 1, NULL), ENOENT);

    /* One that cannot be deleted stays. */
    unit_put(&unit, unit_desc(2, 1), CREATE);
    failure = (struct offload_fake_failure) {
        .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 1,
    };
    offload_fake_fail_next(unit.fake, &failure);
    assert_int_equal(unit_del(&unit, 2, NULL), EBUSY);
    assert_int_equal(unit_get(&unit, 2, NULL, NULL), 0);
    unit_offload_uninit(&unit);
}

/* A flow that is in tc only is changed while the kernel has another one that
 * matches its key. */
static void
change_that_the_kernel_refuses_reaches_tc(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1), *rule;
    struct offload_desc *other = unit_desc_like(2, desc);
    struct unit_offload unit;
    uint64_t n;
    bool in_tc;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, offload_desc_ref(desc), CREATE);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 3);
    offload_fake_add(unit.fake, false, other);
    assert_int_equal(unit_put(&unit, unit_desc_like(3, desc), CREATE), EEXIST);

    /* Twice, the second time while the thread is at the first. */
    offload_fake_hold(unit.fake);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    offload_fake_wait_held(unit.fake, 1);
    offload_desc_unref(desc);
    desc = unit_desc(1, 1);
    assert_int_equal(unit_put(&unit, offload_desc_ref(desc), MODIFY), 0);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_get(&unit, 1, &n, &in_tc), 0);
    assert_int_equal(n, 3);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    rule = offload_fake_rule(unit.fake, &desc->ufid);
    assert_ptr_equal(rule, desc);
    offload_desc_unref(rule);
    unit_packets(&unit, 1, 4);
    assert_int_equal(unit_get(&unit, 1, &n, &in_tc), 0);
    assert_int_equal(n, 7);
    assert_true(in_tc);
    assert_int_equal(unit_counter(&unit, OFFLOAD_MODIFIED), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_SUPERSEDED), 1);

    /* When nothing is in the way any more it goes through the kernel. */
    offload_fake_remove(unit.fake, false, &other->ufid);
    offload_fake_hold(unit.fake);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 7);
    offload_desc_unref(other);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

/* Neither the kernel nor tc takes the new content: the rule with the old one
 * must not stay. */
static void
change_that_nobody_takes_ends_the_flow(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EOPNOTSUPP, .n = 1,
    };
    struct offload_desc *desc = unit_desc(1, 1);
    struct offload_desc *other = unit_desc_like(2, desc);
    struct unit_offload unit;

    for (int i = 0; i < 2; i++) {
        bool gone = i;          /* Is the other flow, meanwhile? */

        unit_offload_init(&unit, NULL, 1);
        unit_put(&unit, offload_desc_ref(desc), CREATE);
        offload_barrier(unit.offload);
        offload_fake_add(unit.fake, false, other);
        failure.n = 1;
        offload_fake_fail_next(unit.fake, &failure);
        offload_fake_hold(unit.fake);
        assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
        if (gone) {
            offload_fake_remove(unit.fake, false, &other->ufid);
        }
        offload_fake_release(unit.fake);
        offload_barrier(unit.offload);
        assert_int_equal(unit_where(&unit, 1), gone ? KERNEL : 0);
        assert_int_equal(unit_counter(&unit, OFFLOAD_OVERLAPPED), !gone);
        assert_int_equal(unit_counter(&unit, OFFLOAD_LOST), 0);
        assert_int_equal(unit_counter(&unit, OFFLOAD_REJECTED), 1);

        /* Tc may take another version, still refused by the kernel or not. */
        assert_int_equal(unit_put(&unit, unit_desc_full(1, 1, 0, 0, 5),
                                  MODIFY), 0);
        offload_barrier(unit.offload);
        assert_int_equal(unit_where(&unit, 1), TC);
        assert_int_equal(unit_del(&unit, 1, NULL), 0);
        assert_int_equal(unit_where(&unit, 1), 0);
        offload_fake_remove(unit.fake, false, &other->ufid);
        unit_offload_uninit(&unit);
    }
    offload_desc_unref(other);
    offload_desc_unref(desc);
}

/* A rule of a previous run is in tc while the kernel, which was flushed, has a
 * wider flow.  When OpenFlow wants the former changed, and a port of the new
 * actions is not known yet, the flow goes, and the wider one serves its
 * packets; if the kernel would take it, it is not. */
static void
adopted_flow_goes_only_if_another_serves_its_packets(
    void **state OVS_UNUSED)
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EAGAIN,
    };

    for (int wider = 0; wider < 2; wider++) {
        struct offload_desc *desc = unit_desc(1, 1);
        struct offload_desc *other = unit_desc_like(2, desc);
        struct offload_kernel kernel;
        struct offload_backend backend;
        struct unit_offload unit;

        unit.fake = offload_fake_create();
        kernel = offload_fake_kernel(unit.fake);
        backend = offload_fake_backend(unit.fake);
        offload_fake_add(unit.fake, true, desc);
        unit.offload = offload_create(&kernel, &backend, &config);
        offload_port_add(unit.offload, 1);
        unit_settle(&unit);
        assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
        if (wider) {
            /* Of a port that is not offloaded, so that it stays there. */
            offload_fake_add(unit.fake, false, other);
        }
        failure.n = 1;
        offload_fake_fail_next(unit.fake, &failure);
        assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
        unit_settle(&unit);
        assert_int_equal(unit_counter(&unit, OFFLOAD_OVERLAPPED), wider);
        assert_int_equal(unit_counter(&unit, OFFLOAD_LOST), 0);
        assert_int_equal(unit_where(&unit, 1), wider ? 0 : KERNEL);
        assert_int_equal(offload_fake_count(unit.fake, false), 1);
        if (wider) {
            offload_fake_remove(unit.fake, false, &other->ufid);
        }
        offload_desc_unref(other);
        offload_desc_unref(desc);
        unit_offload_uninit(&unit);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejection_has_a_reason_and_is_remembered),
        cmocka_unit_test(rejection_is_of_the_version_that_was_tried),
        cmocka_unit_test(device_rejects_a_kind_once),
        cmocka_unit_test(refused_kind_is_tried_once_a_minute),
        cmocka_unit_test(refusal_outlasts_flows_under_way),
        cmocka_unit_test(rejection_is_forgotten_when_its_cause_may_have_gone),
        cmocka_unit_test(kind_that_fails_in_a_row_pauses),
        cmocka_unit_test(pauses_grow),
        cmocka_unit_test(full_device_backs_off),
        cmocka_unit_test(rule_that_vanishes_comes_back_to_the_kernel),
        cmocka_unit_test(flow_deleted_from_the_kernel_by_others_is_forgotten),
        cmocka_unit_test(flow_of_a_chain_comes_back_to_the_kernel),
        cmocka_unit_test(failures_of_the_kernel_are_reported),
        cmocka_unit_test(change_that_the_kernel_refuses_reaches_tc),
        cmocka_unit_test(change_that_nobody_takes_ends_the_flow),
        cmocka_unit_test(
            adopted_flow_goes_only_if_another_serves_its_packets),
    };

    unit_init("test-offload-failure");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-failure", tests, NULL, NULL);
}
