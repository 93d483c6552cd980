/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: how much its threads do at a time.
 *
 *   O4, O7  batch_is_as_small_as_tc_is_slow: who wants a rule deleted waits
 *           for one batch */

#include <config.h>
#include "harness/offload-engine.h"

#include "harness/clock.h"
#include "harness/unit.h"
#include "offload/offload-engine.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "util.h"

#define CREATE OFFLOAD_PUT_CREATE

/* How long tc takes for a rule, in ms of a clock that stands still otherwise;
 * and how often the kernel was asked by a thread that was not quiescent. */
struct device {
    atomic_uint delay;
    atomic_count n_not_quiescent;
};

static int
work(void *device_, bool tc, const struct offload_copy_op *op)
{
    struct device *device = device_;
    unsigned int delay;

    if (tc && op->type == OFFLOAD_COPY_PUT) {
        atomic_read_relaxed(&device->delay, &delay);
        unit_clock_advance(delay);
    } else if (!tc && op->type == OFFLOAD_COPY_DEL
               && !ovsrcu_is_quiescent()) {
        atomic_count_inc(&device->n_not_quiescent);
    }
    return 0;
}

static void
init(struct unit_offload *unit, struct device *device)
{
    atomic_init(&device->delay, 0);
    atomic_count_init(&device->n_not_quiescent, 0);
    unit_offload_init(unit, NULL, 1);
    offload_fake_set_fail(unit->fake, work, device);
    unit_clock_stop(1000000);
}

static void
uninit(struct unit_offload *unit)
{
    unit_clock_run();
    offload_fake_set_fail(unit->fake, NULL, NULL);
    unit_offload_uninit(unit);
}

/* Offers 'n' flows from 'first' on.  All of them are there when the thread
 * begins.  Returns how many batches the thread makes of them. */
static uint64_t
offer(struct unit_offload *unit, uint32_t first, uint32_t n)
{
    uint64_t n_ops, n_before, n_calls;

    offload_fake_get_load(unit->fake, &n_ops, &n_before);
    offload_fake_hold(unit->fake);
    for (uint32_t i = 0; i < n; i++) {
        unit_put(unit, unit_desc(first + i, 1), CREATE);
    }
    offload_fake_release(unit->fake);
    offload_barrier(unit->offload);
    offload_fake_get_load(unit->fake, &n_ops, &n_calls);
    return n_calls - n_before;
}

static void
batch_is_as_small_as_tc_is_slow(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct device device;
    uint64_t n_calls;

    init(&unit, &device);

    /* The first ones are for finding out. */
    atomic_store_relaxed(&device.delay, 40);
    n_calls = offer(&unit, 0, 200);
    assert_true(n_calls >= 200 - 8);

    /* So are the first that are quick again. */
    atomic_store_relaxed(&device.delay, 0);
    n_calls = offer(&unit, 1000, 64 * 20);
    assert_in_range(n_calls, 20, 20 + 7);
    atomic_store_relaxed(&device.delay, 10);
    n_calls = offer(&unit, 3000, 500);
    assert_in_range(n_calls, (500 - 64) / 5, 500 / 4);
    uninit(&unit);
}

/* Returns the time per flow, in ns, that the thread has measured. */
static uint32_t
flow_nsec(struct unit_offload *unit)
{
    uint32_t nsec;

    atomic_read_relaxed(&unit->offload->queues.queues[0].flow_nsec, &nsec);
    return nsec;
}

/* Each batch is a single flow. */
static void
time_per_flow_is_a_moving_average(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct device device;

    init(&unit, &device);
    assert_int_equal(flow_nsec(&unit), 0);
    atomic_store_relaxed(&device.delay, 40);
    assert_int_equal(offer(&unit, 0, 1), 1);
    assert_int_equal(flow_nsec(&unit), 40000000);
    atomic_store_relaxed(&device.delay, 48);
    assert_int_equal(offer(&unit, 1, 1), 1);
    assert_int_equal(flow_nsec(&unit), 41000000);
    atomic_store_relaxed(&device.delay, 0);
    assert_int_equal(offer(&unit, 2, 1), 1);
    assert_int_equal(flow_nsec(&unit), 35875000);

    /* More than fits. */
    atomic_store_relaxed(&device.delay, 10000);
    assert_int_equal(offer(&unit, 3, 1), 1);
    assert_int_equal(flow_nsec(&unit),
                     (35875000 * UINT64_C(7) + UINT32_MAX) / 8);
    uninit(&unit);
}

static void
thread_is_quiescent_while_the_kernel_works(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct device device;

    init(&unit, &device);
    offer(&unit, 0, 100);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    assert_int_equal(atomic_count_get(&device.n_not_quiescent), 0);
    uninit(&unit);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_is_as_small_as_tc_is_slow),
        cmocka_unit_test(time_per_flow_is_a_moving_average),
        cmocka_unit_test(thread_is_quiescent_while_the_kernel_works),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-batch", tests, NULL, NULL);
}
