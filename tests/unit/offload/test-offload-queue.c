/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: what is offered and when, ports, flush.
 *
 *   O3  child_waits_for_its_parent
 *   O4  full_queue_leaves_flows_in_the_kernel,
 *       adding_waits_for_nobody_who_waits_for_tc
 *   O5  port_removal_leaves_no_rule, flush_deletes_everything,
 *       disabling_moves_everything_back,
 *       rules_of_a_previous_run_are_reconciled
 *   O6  each test at its end */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ovs-thread.h"
#include "harness/unit.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

static void
full_queue_leaves_flows_in_the_kernel(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    struct offload_engine_info info;

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

/* Flows of one port that are independent of each other: the engine asks a slow
 * device for several of them at a time. */
static void
flows_of_a_port_use_several_threads(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_engine_info info;
    struct unit_offload unit;

    config.n_threads = 4;
    for (int spread = 0; spread < 2; spread++) {
        unit_offload_init(&unit, &config, 1);
        offload_fake_hold(unit.fake);
        for (uint32_t i = 0; i < 16; i++) {
            unit_put(&unit, unit_desc_spread(i, 1, spread ? 100 + i : 0),
                     CREATE);
        }
        offload_fake_wait_held(unit.fake, spread ? 4 : 1);
        offload_fake_release(unit.fake);
        offload_barrier(unit.offload);
        offload_get_info(unit.offload, &info);
        for (size_t i = 0; i < 4; i++) {
            assert_true(info.threads[i].counters[OFFLOAD_INSERTED]
                        == (spread ? 4 : 0) || !spread);
        }
        assert_int_equal(offload_fake_count(unit.fake, true), 16);

        /* All leave with the port, whoever has them. */
        offload_port_del(unit.offload, 1);
        unit_settle(&unit);
        assert_int_equal(offload_fake_count(unit.fake, true), 0);
        unit_offload_uninit(&unit);
    }
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
    unit_settle(&unit);
    unit_packets(&unit, 1, 5);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 10);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_state(&unit, 4), OFFLOAD_STATE_KERNEL);
    unit_offload_uninit(&unit);
}

/* A packet's way through connection tracking, as OVN makes it: flow 1 leads to
 * a chain, flow 2 of that to the next one, and so on. */
#define N_STAGES 4

static struct offload_desc *
stage_desc(uint32_t stage)
{
    return unit_desc_full(stage, 1, stage > 1 ? 50 + stage - 1 : 0,
                          stage < N_STAGES ? 50 + stage : 0, 0);
}

/* Stores the 'k'-th order of all stages in 'order'. */
static void
order_stages(unsigned int k, uint32_t order[N_STAGES])
{
    uint32_t left[N_STAGES];

    for (uint32_t i = 0; i < N_STAGES; i++) {
        left[i] = 1 + i;
    }
    for (uint32_t i = 0; i < N_STAGES; i++) {
        uint32_t n = N_STAGES - i, pick = k % n;

        k /= n;
        order[i] = left[pick];
        memmove(&left[pick], &left[pick + 1],
                (n - pick - 1) * sizeof left[0]);
    }
}

/* Checks that the stages up to the first that is not in 'put' are in tc, all
 * but the first in the kernel, too, and that others wait. */
static void
check_stages(struct unit_offload *unit, unsigned int put)
{
    bool in_tc = true;

    unit_settle(unit);
    unit_settle(unit);
    for (uint32_t stage = 1; stage <= N_STAGES; stage++) {
        in_tc = in_tc && put & 1u << stage;
        assert_int_equal(unit_where(unit, stage),
                         (!(put & 1u << stage) ? 0
                          : !in_tc ? KERNEL
                          : stage == 1 ? TC : KERNEL | TC));
    }
}

static void
pipeline_gets_to_tc_from_its_start(void **state OVS_UNUSED)
{
    for (unsigned int k = 0; k < 24; k++) {
        uint32_t order[N_STAGES];
        struct unit_offload unit;
        unsigned int put = 0;
        uint64_t n;

        order_stages(k, order);
        unit_offload_init(&unit, NULL, 1);
        for (int i = 0; i < N_STAGES; i++) {
            unit_put(&unit, stage_desc(order[i]), CREATE);
            put |= 1u << order[i];
            check_stages(&unit, put);
            for (int j = 0; j <= i; j++) {
                unit_packets(&unit, order[j], 2);
            }
        }

        /* Translation changes, as when a connection is established. */
        unit_put(&unit, stage_desc(order[1]), MODIFY);
        check_stages(&unit, put);
        for (int i = 0; i < N_STAGES; i++) {
            unit_del(&unit, order[i], &n);
            assert_int_equal(n, 2 * (N_STAGES - i));
        }
        unit_settle(&unit);
        assert_int_equal(offload_fake_count(unit.fake, true), 0);
        unit_offload_uninit(&unit);
    }
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
    unit_settle(&unit);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(unit_where(&unit, i), i % 2 ? TC : 0);
    }
    unit_put(&unit, unit_desc(20, 1), CREATE);
    unit_put(&unit, unit_desc(0, 1), MODIFY);
    assert_int_equal(unit_reason(&unit, 20), OFFLOAD_REASON_NO_PORT);
    unit_get(&unit, 2, &n, NULL);
    assert_int_equal(n, 5);

    offload_port_add(unit.offload, 1);
    unit_settle(&unit);
    unit_dump(&unit, NULL, 0);
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
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), ENOENT);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);
    unit_offload_uninit(&unit);
}

static void *
flush_main(void *unit_)
{
    struct unit_offload *unit = unit_;

    offload_flush(unit->offload);
    return NULL;
}

static void *
delete_main(void *unit)
{
    unit_del(unit, 1, NULL);
    return NULL;
}

static void
adding_waits_for_nobody_who_waits_for_tc(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    pthread_t flusher, deleter;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(2, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    deleter = ovs_thread_create("delete", delete_main, &unit);
    flusher = ovs_thread_create("flush", flush_main, &unit);

    /* At whatever point they are. */
    for (uint32_t i = 100; i < 200; i++) {
        assert_int_equal(unit_put(&unit, unit_desc(i, 1), CREATE), 0);
    }
    offload_fake_release(unit.fake);
    xpthread_join(flusher, NULL);
    xpthread_join(deleter, NULL);
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
    unit_settle(&unit);
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

    /* What they had counted is no matter of this run (O2). */
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 0);
    unit_packets(&unit, 2, 3);
    assert_int_equal(unit_get(&unit, 2, &n, NULL), 0);
    assert_int_equal(n, 3);
    unit_packets(&unit, 2, 1);
    assert_int_equal(unit_del(&unit, 2, &n), 0);
    assert_int_equal(n, 4);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_queue_leaves_flows_in_the_kernel),
        cmocka_unit_test(flows_of_a_port_use_several_threads),
        cmocka_unit_test(young_flows_are_not_offered),
        cmocka_unit_test(child_waits_for_its_parent),
        cmocka_unit_test(pipeline_gets_to_tc_from_its_start),
        cmocka_unit_test(port_removal_leaves_no_rule),
        cmocka_unit_test(flush_deletes_everything),
        cmocka_unit_test(adding_waits_for_nobody_who_waits_for_tc),
        cmocka_unit_test(disabling_moves_everything_back),
        cmocka_unit_test(rules_of_a_previous_run_are_reconciled),
    };

    unit_init("test-offload-queue");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-queue", tests, NULL, NULL);
}
