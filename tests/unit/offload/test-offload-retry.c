/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine when copies of flows cannot be deleted.
 *
 *   O2  kernel_copy_that_stays_does_no_harm,
 *       user_is_told_all_packets_of_a_rule_that_goes_late,
 *       packets_of_a_rule_that_stays_are_counted,
 *       new_flow_waits_for_the_rule_of_the_old_one
 *   O5  the others
 *   O7  engine_ends_though_a_rule_stays, engine_ends_though_many_rules_stay */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "harness/wait.h"
#include "offload/offload-engine.h"
#include "offload/offload-flow.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

/* Deletions from tc that are still to fail, and that have. */
static atomic_count n_to_fail = ATOMIC_COUNT_INIT(0);
static atomic_count n_failed = ATOMIC_COUNT_INIT(0);

/* How long a deletion from tc takes in ms, while the clock is stopped. */
#define SLOW_MSEC 40

static int
fail_deletions(void *error, bool tc, const struct offload_copy_op *op)
{
    if (!tc || op->type != OFFLOAD_COPY_DEL) {
        return 0;
    }
    if (unit_clock_is_stopped()) {
        unit_clock_advance(SLOW_MSEC);
    }
    if (!atomic_count_get(&n_to_fail)) {
        return 0;
    }
    atomic_count_dec(&n_to_fail);
    atomic_count_inc(&n_failed);
    return *(const int *) error;
}

/* Makes the next 'n' deletions from tc fail. */
static void
fail_next(struct unit_offload *unit, unsigned int n)
{
    static int error = ENOBUFS;

    offload_fake_set_fail(unit->fake, fail_deletions, &error);
    atomic_count_set(&n_failed, 0);
    atomic_count_set(&n_to_fail, n);
}

/* So many that a deletion does not succeed during a test. */
#define FOR_EVER 100000

/* Creates an engine with flows 1 to 'n' of as many ports.  All of these flows
 * are in tc. */
static void
init(struct unit_offload *unit, unsigned int n_threads, uint32_t n)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;

    config.n_threads = n_threads;
    config.backoff = 1;
    unit_offload_init(unit, &config, n);
    for (uint32_t i = 1; i <= n; i++) {
        unit_put(unit, unit_desc(i, i), CREATE);
    }
    offload_barrier(unit->offload);
    for (uint32_t i = 1; i <= n; i++) {
        assert_int_equal(unit_where(unit, i), TC);
    }
}

static uint64_t
n_stuck(struct unit_offload *unit)
{
    struct offload_engine_info info;

    offload_get_info(unit->offload, &info);
    return info.n_stuck;
}

/* When the only flow that is shown was used. */
static long long int
shown_as_used(struct unit_offload *unit)
{
    struct offload_dumped dumped;
    struct offload_dump dump;

    assert_int_equal(offload_dump_start(unit->offload, OFFLOAD_DUMP_ALL, true,
                                        &dump), 0);
    assert_int_equal(offload_dump_next(&dump, &dumped, 1), 1);
    offload_dump_done(&dump);
    offload_desc_unref(dumped.desc);
    return dumped.stats.used;
}

static void
kernel_copy_that_stays_does_no_harm(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .type = OFFLOAD_COPY_DEL, .error = ENOMEM, .n = 3,
    };
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
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

struct sender {
    struct unit_offload *unit;
    atomic_bool stop;
    uint64_t n;                 /* Packets that met the flow. */
};

static void *
send_packets(void *sender_)
{
    struct sender *sender = sender_;
    bool stop;

    do {
        sender->n += unit_packets(sender->unit, 1, 1) != 0;
        unit_sleep_us(100);
        atomic_read(&sender->stop, &stop);
    } while (!stop);
    return NULL;
}

/* Packets meet the rule until it is gone. */
static void
user_is_told_all_packets_of_a_rule_that_goes_late(void **state OVS_UNUSED)
{
    for (unsigned int i = 1; i < OFFLOAD_PATIENCE; i += 3) {
        struct unit_offload unit;
        struct sender sender = { .unit = &unit };
        pthread_t thread;
        uint64_t n;

        init(&unit, 1, 1);
        fail_next(&unit, i);
        atomic_init(&sender.stop, false);
        thread = ovs_thread_create("sender", send_packets, &sender);
        assert_int_equal(unit_del(&unit, 1, &n), 0);
        atomic_store(&sender.stop, true);
        xpthread_join(thread, NULL);
        assert_int_equal(n, sender.n);
        assert_int_equal(unit_where(&unit, 1), 0);
        assert_int_equal(atomic_count_get(&n_failed), i);
        assert_int_equal(unit_counter(&unit, OFFLOAD_DELETED), 1);
        assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 0);
        assert_int_equal(unit_retried(&unit), 0);
        unit_offload_uninit(&unit);
    }
}

/* The user does not wait for ever, but the flow comes back, so that nothing is
 * missing from its counts. */
static void
packets_of_a_rule_that_stays_are_counted(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    unsigned int seen[2] = { 0 };
    bool in_tc;
    uint64_t n;

    init(&unit, 1, 1);
    unit_packets(&unit, 1, 5);
    fail_next(&unit, FOR_EVER);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 5);
    assert_int_equal(atomic_count_get(&n_failed), OFFLOAD_PATIENCE);
    assert_int_equal(unit_retried(&unit), 1);
    assert_int_equal(n_stuck(&unit), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_DELETED), 0);

    /* It is there, and counts from 0. */
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_DELETING);
    assert_int_equal(unit_packets(&unit, 1, 3), TC);
    unit_dump(&unit, seen, 2);
    assert_int_equal(seen[1], 1);
    assert_int_equal(unit_get(&unit, 1, &n, &in_tc), 0);
    assert_int_equal(n, 3);
    assert_true(in_tc);

    /* A user who deletes it again is told at once what is known.  (It was
     * read.)  That makes no further try. */
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(unit_packets(&unit, 1, 4), TC);
    assert_int_equal(n_stuck(&unit), 1);

    /* It goes in the end, and stays without copies until it is deleted. */
    fail_next(&unit, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_DELETED), 1);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_REJECTED);
    assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_ERROR);
    assert_int_equal(shown_as_used(&unit), 1);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 4);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), ENOENT);
    unit_offload_uninit(&unit);
}

static int
shown_error(struct unit_offload *unit)
{
    const ovs_u128 ufid = unit_ufid(1);
    struct offload_flow_info info;

    assert_int_equal(offload_get_flow_info(unit->offload, &ufid, &info), 0);
    return info.error;
}

/* Lets offload threads act on messages, and on what these lead to. */
static void
settle_messages(struct unit_offload *unit)
{
    for (int i = 0; i < 3; i++) {
        offload_barrier(unit->offload);
    }
}

enum event { OFFLOAD_OFF, PORT_BACK, PORT_GONE_BEFORE, N_EVENTS };

/* The user has deleted it, so the kernel does not get it, whatever happens
 * before tc deletes the rule. */
static void
deleted_flow_is_not_put_into_the_kernel(void **state OVS_UNUSED)
{
    for (enum event event = 0; event < N_EVENTS; event++) {
        struct unit_offload unit;

        init(&unit, 1, 1);
        fail_next(&unit, FOR_EVER);
        if (event == PORT_GONE_BEFORE) {
            offload_port_del(unit.offload, 1);
            unit_wait_until(n_stuck(&unit) == 1);
            assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_NO_PORT);
            assert_int_equal(shown_error(&unit), 0);
        }
        assert_int_equal(unit_del(&unit, 1, NULL), 0);
        assert_int_equal(n_stuck(&unit), 1);
        if (event == OFFLOAD_OFF) {
            offload_set_enabled(unit.offload, false);
        } else if (event == PORT_BACK) {
            offload_port_del(unit.offload, 1);
        }
        settle_messages(&unit);
        if (event != OFFLOAD_OFF) {
            offload_port_add(unit.offload, 1);
            settle_messages(&unit);
        }
        assert_int_equal(unit_where(&unit, 1), TC);
        assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_DELETING);
        assert_int_equal(unit_reason(&unit, 1), OFFLOAD_REASON_ERROR);
        assert_int_equal(shown_error(&unit), ENOBUFS);
        fail_next(&unit, 0);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1), 0);
        assert_int_equal(unit_packets(&unit, 1, 1), 0);
        assert_int_equal(shown_as_used(&unit), 1);
        unit_offload_uninit(&unit);
    }
}

/* Nobody has deleted it: its port was gone for a moment, and meanwhile offload
 * was turned off. */
static void
flow_of_a_port_that_comes_back_goes_on(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init(&unit, 1, 1);
    fail_next(&unit, FOR_EVER);
    offload_port_del(unit.offload, 1);
    unit_wait_until(n_stuck(&unit) == 1);
    offload_set_enabled(unit.offload, false);
    settle_messages(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    offload_port_add(unit.offload, 1);
    settle_messages(&unit);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    fail_next(&unit, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    unit_offload_uninit(&unit);
}

/* The user wants it after all, with other actions. */
static void
flow_whose_rule_stays_can_be_changed(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    init(&unit, 1, 1);
    fail_next(&unit, FOR_EVER);
    assert_int_equal(unit_del(&unit, 1, NULL), 0);
    unit_packets(&unit, 1, 2);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), CREATE), EEXIST);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_MOVING_BACK);
    fail_next(&unit, 0);
    unit_settle(&unit);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    assert_int_equal(unit_packets(&unit, 1, 3), TC);
    assert_int_equal(unit_del(&unit, 1, &n), 0);
    assert_int_equal(n, 5);
    unit_offload_uninit(&unit);
}

/* Nobody asks for it any more after a flush. */
static void
new_flow_waits_for_the_rule_of_the_old_one(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    init(&unit, 1, 1);
    unit_packets(&unit, 1, 5);
    fail_next(&unit, FOR_EVER);
    assert_int_equal(offload_flush(unit.offload), 0);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_QUEUED);

    /* What the old rule counts is not the new flow's. */
    unit_packets(&unit, 1, 5);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 0);
    fail_next(&unit, 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_packets(&unit, 1, 2), TC);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 2);
    assert_int_equal(unit_counter(&unit, OFFLOAD_REJECTED), 0);
    unit_offload_uninit(&unit);
}

/* It does not wait any more, as it has gone or changed, or offload is off. */
static void
new_flow_may_go_before_the_old_one(void **state OVS_UNUSED)
{
    for (int i = 0; i < 4; i++) {
        struct unit_offload unit;

        init(&unit, 2, 1);
        fail_next(&unit, FOR_EVER);
        assert_int_equal(offload_flush(unit.offload), 0);
        unit_put(&unit, unit_desc(1, 1), CREATE);
        offload_barrier(unit.offload);
        assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_QUEUED);
        switch (i) {
        case 0:
            assert_int_equal(unit_del(&unit, 1, NULL), 0);
            break;
        case 1:
            offload_set_enabled(unit.offload, false);
            offload_barrier(unit.offload);
            assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_KERNEL);
            break;
        case 2:
            assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
            break;
        default:
            assert_int_equal(offload_flush(unit.offload), 0);
            unit_put(&unit, unit_desc(1, 1), CREATE);
            break;
        }
        fail_next(&unit, 0);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1),
                         i == 0 ? 0 : i == 1 ? KERNEL : TC);
        unit_offload_uninit(&unit);
    }
}

enum way { FLUSH, PORT_DEL, DISABLE, FEWER_THREADS, N_WAYS };

/* Rules that cannot be deleted at first go, whatever they were deleted for. */
static void
rules_go_whatever_happens_meanwhile(void **state OVS_UNUSED)
{
    enum { N = 5 };

    for (enum way way = 0; way < N_WAYS; way++) {
        struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
        struct unit_offload unit;

        init(&unit, 3, N);
        fail_next(&unit, FOR_EVER);
        switch (way) {
        case FLUSH:
        case FEWER_THREADS:
            assert_int_equal(offload_flush(unit.offload), 0);
            break;
        case PORT_DEL:
            for (uint32_t i = 1; i <= N; i++) {
                offload_port_del(unit.offload, i);
            }
            break;
        case DISABLE:
        default:
            offload_set_enabled(unit.offload, false);
            break;
        case N_WAYS:
            OVS_NOT_REACHED();
        }
        unit_wait_until(unit_retried(&unit) == N);
        assert_int_equal(offload_fake_count(unit.fake, true), N);
        assert_int_equal(offload_fake_count(unit.fake, false),
                         way == DISABLE ? N : 0);

        /* Requests that come later do not wait for them. */
        offload_barrier(unit.offload);
        if (way == FEWER_THREADS) {
            for (uint32_t i = 1; i <= N; i++) {
                unit_put(&unit, unit_desc(i, i), CREATE);
            }
            offload_barrier(unit.offload);
            offload_configure(unit.offload, &config);
            assert_int_equal(unit_retried(&unit), N);
        } else if (way != DISABLE) {
            offload_port_add(unit.offload, N + 1);
            unit_put(&unit, unit_desc(N + 1, N + 1), CREATE);
            unit_wait_until(unit_where(&unit, N + 1) == TC);
        }
        fail_next(&unit, 0);
        unit_settle(&unit);
        for (uint32_t i = 1; i <= N; i++) {
            assert_int_equal(unit_where(&unit, i),
                             (way == DISABLE ? KERNEL
                              : way == FEWER_THREADS ? TC : 0));
        }
        unit_offload_uninit(&unit);
    }
}

/* Time passes only here, and the barrier wakes up the thread. */
static unsigned int
failures_after(struct unit_offload *unit, long long int msec)
{
    unit_clock_advance(msec);
    offload_barrier(unit->offload);
    return atomic_count_get(&n_failed);
}

/* More failures than their counter can hold change nothing. */
static void
rule_is_leaked_once_however_often_it_fails(void **state OVS_UNUSED)
{
    enum { N = UINT8_MAX + 2 * OFFLOAD_PATIENCE };
    const long long int pause = 1 << OFFLOAD_N_PAUSES;
    struct unit_offload unit;

    init(&unit, 1, 1);
    fail_next(&unit, FOR_EVER);
    unit_clock_stop(1000);
    assert_int_equal(offload_flush(unit.offload), 0);
    for (unsigned int i = 1; i < N; i++) {
        unit_wait_until(failures_after(&unit, pause) >= i);
        if (i > OFFLOAD_PATIENCE) {
            assert_int_equal(unit_retried(&unit), 1);
            assert_int_equal(n_stuck(&unit), 1);
        }
    }
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 1);

    /* The clock of the machine may be far behind. */
    fail_next(&unit, 0);
    unit_wait_until((failures_after(&unit, pause), !unit_retried(&unit)));
    unit_clock_run();
    unit_offload_uninit(&unit);
}

/* Somebody deletes the rule meanwhile, or its device goes. */
static void
rule_that_others_delete_is_gone(void **state OVS_UNUSED)
{
    static const int errors[] = { ENOENT, ENODEV };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        static int error;
        const ovs_u128 ufid = unit_ufid(1);
        struct unit_offload unit;

        init(&unit, 1, 1);
        fail_next(&unit, FOR_EVER);
        assert_int_equal(offload_flush(unit.offload), 0);
        unit_wait_until(atomic_count_get(&n_failed) >= 3);
        offload_fake_remove(unit.fake, true, &ufid);
        error = errors[i];
        offload_fake_set_fail(unit.fake, fail_deletions, &error);
        unit_settle(&unit);
        assert_int_equal(unit_counter(&unit, OFFLOAD_DELETED), 1);
        unit_offload_uninit(&unit);
    }
}

static void
stale_rule_is_deleted_in_the_end(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1);
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 0);
    offload_fake_add(unit.fake, true, desc);
    unit_put(&unit, offload_desc_ref(desc), CREATE);
    fail_next(&unit, FOR_EVER);
    offload_port_add(unit.offload, 1);
    offload_barrier(unit.offload);
    offload_barrier(unit.offload);
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 1);
    assert_int_equal(unit_retried(&unit), 1);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_QUEUED);

    /* When the port goes and comes the rule is found again, and known. */
    offload_port_del(unit.offload, 1);
    offload_port_add(unit.offload, 1);
    offload_barrier(unit.offload);
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 1);
    fail_next(&unit, 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true)
                     + offload_fake_count(unit.fake, false), 1);
    assert_int_equal(offload_flush(unit.offload), 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

/* The end of the engine waits for a deletion as long as a user does, be it of
 * a flow that is gone, of one that goes back to the kernel, or of one that has
 * changed. */
static void
engine_ends_though_a_rule_stays(void **state OVS_UNUSED)
{
    enum { GONE, BACK, CHANGED, N };

    for (int i = 0; i < 2 * N; i++) {
        bool goes = i % 2;
        struct unit_offload unit;

        init(&unit, 2, 3);
        fail_next(&unit, goes ? OFFLOAD_PATIENCE - 1 : FOR_EVER);
        switch (i / 2) {
        case GONE:
            assert_int_equal(offload_flush(unit.offload), 0);
            break;
        case BACK:
            offload_set_enabled(unit.offload, false);
            break;
        case CHANGED:
        default:
            for (uint32_t flow = 1; flow <= 3; flow++) {
                unit_put(&unit, unit_desc(flow, flow), MODIFY);
            }
            break;
        }
        offload_destroy(unit.offload);
        assert_in_range(atomic_count_get(&n_failed), 3,
                        3 * (OFFLOAD_PATIENCE + 1));
        if (!goes) {
            assert_int_equal(offload_fake_count(unit.fake, true), 3);
        } else if (i / 2 != CHANGED) {
            assert_int_equal(offload_fake_count(unit.fake, true), 0);
        }
        for (uint32_t flow = 1; flow <= 3; flow++) {
            assert_true(i / 2 == GONE || unit_where(&unit, flow));
        }
        offload_fake_destroy(unit.fake);
    }
}

struct releaser {
    struct unit_offload *unit;
    atomic_bool stop;
};

/* Lets the device go as soon as the engine ends.  From then on time passes,
 * slowly, also while every rule waits for another try. */
static void *
release_at_the_end(void *releaser_)
{
    struct releaser *releaser = releaser_;
    struct unit_offload *unit = releaser->unit;
    long long int patience_end;
    bool stop;

    do {
        unit_pause();
        atomic_read_relaxed(&unit->offload->queues.patience_end,
                            &patience_end);
    } while (patience_end == LLONG_MAX);
    offload_fake_release(unit->fake);
    do {
        unit_clock_advance(1);
        unit_sleep_us(100);
        atomic_read(&releaser->stop, &stop);
    } while (!stop);
    return NULL;
}

/* A device takes its time for each of many rules.  The engine has it delete
 * each, but the time for more tries is that for all together. */
static void
engine_ends_though_many_rules_stay(void **state OVS_UNUSED)
{
    enum { N = 200, N_AGAIN = OFFLOAD_END_MSEC / SLOW_MSEC };

    for (int fails = 0; fails < 2; fails++) {
        struct unit_offload unit;
        struct releaser releaser = { .unit = &unit };
        pthread_t thread;

        init(&unit, 1, N);
        fail_next(&unit, fails ? FOR_EVER : 0);
        offload_fake_hold(unit.fake);
        unit_clock_stop(1000);
        assert_int_equal(offload_flush(unit.offload), 0);
        offload_fake_wait_held(unit.fake, 1);
        atomic_init(&releaser.stop, false);
        thread = ovs_thread_create("releaser", release_at_the_end, &releaser);
        offload_destroy(unit.offload);
        atomic_store(&releaser.stop, true);
        xpthread_join(thread, NULL);
        unit_clock_run();
        assert_int_equal(offload_fake_count(unit.fake, true), fails ? N : 0);
        if (fails) {
            assert_in_range(atomic_count_get(&n_failed), N, N + N_AGAIN);
        }
        offload_fake_destroy(unit.fake);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_copy_that_stays_does_no_harm),
        cmocka_unit_test(user_is_told_all_packets_of_a_rule_that_goes_late),
        cmocka_unit_test(packets_of_a_rule_that_stays_are_counted),
        cmocka_unit_test(deleted_flow_is_not_put_into_the_kernel),
        cmocka_unit_test(flow_of_a_port_that_comes_back_goes_on),
        cmocka_unit_test(flow_whose_rule_stays_can_be_changed),
        cmocka_unit_test(new_flow_waits_for_the_rule_of_the_old_one),
        cmocka_unit_test(new_flow_may_go_before_the_old_one),
        cmocka_unit_test(rules_go_whatever_happens_meanwhile),
        cmocka_unit_test(rule_is_leaked_once_however_often_it_fails),
        cmocka_unit_test(rule_that_others_delete_is_gone),
        cmocka_unit_test(stale_rule_is_deleted_in_the_end),
        cmocka_unit_test(engine_ends_though_a_rule_stays),
        cmocka_unit_test(engine_ends_though_many_rules_stay),
    };

    unit_init("test-offload-retry");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-retry", tests, NULL, NULL);
}
