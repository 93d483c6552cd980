/* SPDX-License-Identifier: Apache-2.0 */

/* Statistics and dumps of the offload engine.
 *
 *   O2  all of them */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "latch.h"
#include "offload/offload-engine.h"
#include "offload/offload-reader.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

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
statistics_start_again_during_a_put(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_PUT, .error = EINVAL,
    };
    struct unit_offload unit;
    uint64_t n;

    for (int i = 0; i < 2; i++) {
        unit_offload_init(&unit, NULL, 1);
        failure.n = i;          /* Does the first put fail? */
        offload_fake_fail_next(unit.fake, &failure);
        offload_fake_hold_returns(unit.fake);
        unit_put(&unit, unit_desc(1, 1), CREATE);
        offload_fake_wait_held(unit.fake, 1);
        unit_packets(&unit, 1, 4);
        unit_get(&unit, 1, &n, NULL);
        assert_int_equal(n, 4);

        unit_put(&unit, unit_desc(1, 1), MODIFY | OFFLOAD_PUT_ZERO_STATS);
        unit_get(&unit, 1, &n, NULL);
        assert_int_equal(n, 0);
        offload_fake_release(unit.fake);
        offload_barrier(unit.offload);
        assert_int_equal(unit_packets(&unit, 1, 3), TC);
        unit_get(&unit, 1, &n, NULL);
        assert_int_equal(n, 3);
        unit_del(&unit, 1, &n);
        assert_int_equal(n, 3);
        unit_offload_uninit(&unit);
    }
}

static int
start_dump(struct unit_offload *unit, struct offload_dump *dump)
{
    return offload_dump_start(unit->offload, OFFLOAD_DUMP_ALL, false, dump);
}

/* A dump of those who do not wait for tc. */
static void
start_lax(struct unit_offload *unit, struct offload_dump *dump)
{
    assert_int_equal(offload_dump_start(unit->offload, OFFLOAD_DUMP_ALL, true,
                                        dump), 0);
}

/* A thread that asked at 'when' learns of the rule of 'ufid'. */
static void
tc_tells(struct unit_offload *unit, const ovs_u128 *ufid,
         const struct offload_stats *stats, enum offload_hw hw,
         long long int when)
{
    struct offload_stripe *stripe = offload_stripe(unit->offload, ufid);

    ovs_mutex_lock(&stripe->mutex);
    offload_flow_saw_tc(offload_flow_find(stripe, ufid), stats, hw, when);
    ovs_mutex_unlock(&stripe->mutex);
}

/* What a rule had counted before the put returned, and was shown, is not
 * forgotten when that happens. */
static void
what_was_shown_during_a_put_is_kept(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(1);
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_hold_returns(unit.fake);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    assert_int_equal(unit_packets(&unit, 1, 5), TC);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 5);

    /* Nobody can read it again. */
    offload_fake_remove(unit.fake, true, &ufid);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 5);
    unit_offload_uninit(&unit);
}

/* Of several that read at the same time, the first may come last. */
static void
older_reading_does_not_set_statistics_back(void **state OVS_UNUSED)
{
    struct offload_stats newer = { .n_packets = 5 };
    struct offload_stats older = { .n_packets = 3 };
    struct unit_offload unit;
    struct offload_dump first, second;
    struct offload_dumped dumped;
    ovs_u128 in_tc = unit_ufid(1), in_kernel = unit_ufid(2);

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_put(&unit, unit_desc(2, 7), CREATE);   /* No such port. */
    offload_barrier(unit.offload);
    start_dump(&unit, &first);
    start_dump(&unit, &second);

    tc_tells(&unit, &in_tc, &newer, OFFLOAD_HW_NONE, time_msec());
    tc_tells(&unit, &in_tc, &older, OFFLOAD_HW_NONE, time_msec());

    assert_true(offload_dump_kernel(&second, &in_kernel, &newer, &dumped));
    offload_desc_unref(dumped.desc);
    assert_true(offload_dump_kernel(&first, &in_kernel, &older, &dumped));
    assert_int_equal(dumped.stats.n_packets, 5);
    offload_desc_unref(dumped.desc);

    assert_int_equal(offload_dump_next(&first, &dumped, 1), 1);
    assert_true(ovs_u128_equals(dumped.desc->ufid, in_tc));
    assert_int_equal(dumped.stats.n_packets, 5);
    offload_desc_unref(dumped.desc);
    offload_dump_done(&first);
    offload_dump_done(&second);
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
    assert_int_equal(start_dump(&unit, &dump), 0);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_int_equal(dumped.stats.n_packets, 3);
    assert_false(dumped.in_tc);
    offload_desc_unref(dumped.desc);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_false(offload_dump_next(&dump, &dumped, 1));
    offload_dump_done(&dump);

    /* It has moved since the kernel said so. */
    unit_packets(&unit, 1, 4);
    assert_int_equal(start_dump(&unit, &dump), 0);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_int_equal(dumped.stats.n_packets, 7);
    assert_true(dumped.in_tc);
    offload_desc_unref(dumped.desc);
    offload_dump_done(&dump);

    /* Here again, but with what it had before in 'base'. */
    assert_int_equal(start_dump(&unit, &dump), 0);
    offload_set_enabled(unit.offload, false);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_int_equal(dumped.stats.n_packets, 7);
    assert_false(dumped.in_tc);
    offload_desc_unref(dumped.desc);
    offload_dump_done(&dump);

    /* Found by neither. */
    assert_int_equal(start_dump(&unit, &dump), 0);
    assert_true(offload_dump_next(&dump, &dumped, 1));
    assert_int_equal(dumped.stats.n_packets, 7);
    offload_desc_unref(dumped.desc);
    assert_false(offload_dump_next(&dump, &dumped, 1));
    offload_dump_done(&dump);

    /* Unknown to the engine. */
    assert_int_equal(start_dump(&unit, &dump), 0);
    ufid = unit_ufid(99);
    assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
    assert_null(dumped.desc);
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
        assert_int_equal(start_dump(&unit, &dumps[i]), 0);
    }
    assert_int_equal(start_dump(&unit, &dump), EBUSY);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        offload_dump_done(&dumps[i]);
    }
    assert_int_equal(unit_dump(&unit, NULL, 0), 0);
    unit_offload_uninit(&unit);
}

/* Shows the only flow in a lax dump. */
static struct offload_dumped
dump_lax(struct unit_offload *unit)
{
    struct offload_dumped dumped;
    struct offload_dump dump;

    start_lax(unit, &dump);
    assert_int_equal(offload_dump_next(&dump, &dumped, 1), 1);
    offload_desc_unref(dumped.desc);
    offload_dump_done(&dump);
    return dumped;
}

/* Tc's lists do not say when a rule was used. */
static void
use_is_noticed_by_more_packets(void **state OVS_UNUSED)
{
    struct offload_stats stats = { .n_packets = 3 };
    const ovs_u128 ufid = unit_ufid(1);
    struct offload_dumped dumped;
    struct unit_offload unit;
    long long int start;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    start = time_msec();
    unit_clock_stop(start);
    tc_tells(&unit, &ufid, &stats, OFFLOAD_HW_ALL, start);
    dumped = dump_lax(&unit);
    assert_true(dumped.in_tc && offload_in_hw(dumped.hw));
    assert_int_equal(dumped.stats.used, start);

    /* No packet more: not used since. */
    unit_clock_advance(1000);
    tc_tells(&unit, &ufid, &stats, OFFLOAD_HW_NONE, start + 1000);
    dumped = dump_lax(&unit);
    assert_false(offload_in_hw(dumped.hw));
    assert_int_equal(dumped.stats.used, start);

    stats.n_packets++;
    tc_tells(&unit, &ufid, &stats, OFFLOAD_HW_NONE, start + 1000);
    assert_int_equal(dump_lax(&unit).stats.used, start + 1000);
    unit_clock_run();
    unit_offload_uninit(&unit);
}

/* What was read some time ago does not make a flow look idle that may be in
 * use. */
static void
flow_is_as_idle_as_it_was_when_it_was_read(void **state OVS_UNUSED)
{
    const ovs_u128 ufid = unit_ufid(1);
    struct unit_offload unit;
    long long int start;

    start = time_msec();
    unit_clock_stop(start);
    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);

    /* It was not used, but it has just been made. */
    unit_clock_advance(400);
    assert_int_equal(dump_lax(&unit).stats.used, start + 400);

    for (int i = 0; i < 2; i++) {
        const struct offload_stats stats = {
            .n_packets = 7, .used = start + 300,
        };

        /* 100 ms idle when it was read, 700 ms ago; then 800, 700 ago. */
        tc_tells(&unit, &ufid, &stats, OFFLOAD_HW_NONE, start + 400 + i * 700);
        unit_clock_advance(700);
        assert_int_equal(dump_lax(&unit).stats.used,
                         start + 1000);
        assert_int_equal(dump_lax(&unit).stats.n_packets, 7);
    }
    unit_clock_run();
    unit_offload_uninit(&unit);
}

/* Lax dumps ask tc for nothing, and see what was read last. */
static void
lax_dump_does_not_read_tc(void **state OVS_UNUSED)
{
    struct offload_dumped dumped[OFFLOAD_BATCH];
    uint64_t n_ops, n_calls, n_before;
    struct unit_offload unit;
    struct offload_dump dump;
    const size_t n_flows = 200;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 0; i < n_flows; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_settle(&unit);
    for (uint32_t i = 0; i < n_flows; i++) {
        unit_packets(&unit, i, 1);
    }
    for (unsigned int n_packets = 0; n_packets < 2; n_packets++) {
        size_t n_shown = 0, n;

        offload_fake_get_load(unit.fake, &n_before, &n_calls);
        start_lax(&unit, &dump);
        while ((n = offload_dump_next(&dump, dumped, OFFLOAD_BATCH))) {
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(dumped[i].stats.n_packets, n_packets);
                offload_desc_unref(dumped[i].desc);
            }
            n_shown += n;
        }
        offload_dump_done(&dump);
        offload_fake_get_load(unit.fake, &n_ops, &n_calls);
        assert_int_equal(n_shown, n_flows);
        assert_int_equal(n_ops, n_before);

        /* Many at a time. */
        n_before = n_calls;
        offload_read_rules(unit.offload);
        offload_fake_get_load(unit.fake, &n_ops, &n_calls);
        assert_int_equal(n_calls - n_before,
                         DIV_ROUND_UP(n_flows, OFFLOAD_BATCH));
    }
    unit_offload_uninit(&unit);
}

/* The thread reads again and again, without being asked. */
static void
reader_reads_by_itself(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;

    config.read_interval = 10;
    unit_offload_init(&unit, &config, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_settle(&unit);
    for (uint64_t n = 1; n <= 3; n++) {
        unit_packets(&unit, 1, 1);
        while (dump_lax(&unit).stats.n_packets < n) {
            sched_yield();
        }
        assert_int_equal(dump_lax(&unit).stats.n_packets, n);
    }
    unit_offload_uninit(&unit);
}

/* A thread that waits until a made-up time looks every millisecond whether it
 * has come. */
static ATOMIC(long long int) waits_until;
static atomic_count n_waits;

void __wrap_poll_timer_wait_until_at(long long int, const char *);
void __real_poll_timer_wait_until_at(long long int, const char *);
void
__wrap_poll_timer_wait_until_at(long long int msec, const char *where)
{
    atomic_store_relaxed(&waits_until, msec);
    atomic_count_inc(&n_waits);
    if (unit_clock_is_stopped()) {
        poll_timer_wait_at(1, where);
    } else {
        __real_poll_timer_wait_until_at(msec, where);
    }
}

/* Lets the reader see what time it is.  Returns how many rounds it did since
 * '*n_rounds', which is set. */
static uint32_t
let_read(struct unit_offload *unit, uint32_t *n_rounds)
{
    unsigned int before = atomic_count_get(&n_waits);
    uint32_t old = *n_rounds;

    /* It may be about to wait, as of a time that is over. */
    unit_wait_until(atomic_count_get(&n_waits) - before >= 2);
    atomic_read_relaxed(&unit->offload->last_round, n_rounds);
    return *n_rounds - old;
}

static void
reader_keeps_its_interval(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    const long long int start = 10000;
    struct unit_offload unit;
    long long int until;
    uint32_t n = 0;

    unit_clock_stop(start);
    config.read_interval = 1000;
    unit_offload_init(&unit, &config, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_settle(&unit);
    assert_int_equal(let_read(&unit, &n), 0);
    unit_clock_advance(999);
    assert_int_equal(let_read(&unit, &n), 0);
    for (int i = 1; i <= 3; i++) {
        unit_clock_advance(1);
        assert_int_equal(let_read(&unit, &n), 1);
        atomic_read_relaxed(&waits_until, &until);
        assert_int_equal(until, start + (i + 1) * 1000);
        unit_clock_advance(999);
        assert_int_equal(let_read(&unit, &n), 0);
    }

    /* One that comes late does not make up for the others. */
    unit_clock_advance(5001);
    assert_int_equal(let_read(&unit, &n), 1);
    assert_int_equal(let_read(&unit, &n), 0);
    atomic_read_relaxed(&waits_until, &until);
    assert_int_equal(until, start + 9000 + 1000);
    unit_clock_run();
    unit_offload_uninit(&unit);
}

/* A caller that ends the thread does not wait for a round of very many
 * rules. */
static void
round_ends_early_when_it_is_to(void **state OVS_UNUSED)
{
    static const struct offload_reader_pace pace = {
        .interval = 1, .max_reads = SIZE_MAX,
    };
    uint64_t n_before, n_after, n_calls;
    struct unit_offload unit;
    struct latch stop;

    latch_init(&stop);
    unit_clock_stop(time_msec());
    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 0; i < 200; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_settle(&unit);
    offload_fake_get_load(unit.fake, &n_before, &n_calls);
    unit_clock_advance(1);
    offload_reader_round(unit.offload, &pace, &stop);
    offload_fake_get_load(unit.fake, &n_after, &n_calls);
    assert_int_equal(n_after - n_before, 200);
    latch_set(&stop);
    unit_clock_advance(1);
    offload_reader_round(unit.offload, &pace, &stop);
    offload_fake_get_load(unit.fake, &n_before, &n_calls);
    assert_int_equal(n_after, n_before);
    latch_destroy(&stop);
    unit_offload_uninit(&unit);
    unit_clock_run();
}

/* How many rules a round reads.  The round does not read rules about which
 * the engine learnt something in the last second. */
static uint64_t
n_read_by_round(struct unit_offload *unit)
{
    static const struct offload_reader_pace pace = {
        .interval = 1000, .max_reads = SIZE_MAX,
    };
    uint64_t n_before, n_after, n_calls;
    struct latch stop;

    latch_init(&stop);
    offload_fake_get_load(unit->fake, &n_before, &n_calls);
    offload_reader_round(unit->offload, &pace, &stop);
    offload_fake_get_load(unit->fake, &n_after, &n_calls);
    latch_destroy(&stop);
    return n_after - n_before;
}

static void
rule_is_read_once_in_an_interval(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    uint64_t n;

    unit_clock_stop(time_msec());
    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 1; i <= 10; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_settle(&unit);
    unit_clock_advance(999);
    unit_packets(&unit, 1, 3);
    assert_int_equal(n_read_by_round(&unit), 0);
    unit_clock_advance(1);
    assert_int_equal(n_read_by_round(&unit), 10);
    assert_int_equal(n_read_by_round(&unit), 0);

    /* A new one does not keep the others from being read. */
    unit_clock_advance(500);
    unit_put(&unit, unit_desc(11, 1), CREATE);
    unit_settle(&unit);
    unit_clock_advance(500);
    assert_int_equal(n_read_by_round(&unit), 10);

    /* A caller that wants to know it exactly is told. */
    unit_packets(&unit, 11, 2);
    offload_read_rules(unit.offload);
    unit_get(&unit, 11, &n, NULL);
    assert_int_equal(n, 2);
    unit_clock_advance(999);
    assert_int_equal(n_read_by_round(&unit), 0);
    unit_clock_advance(1);
    assert_int_equal(n_read_by_round(&unit), 11);
    unit_offload_uninit(&unit);
    unit_clock_run();
}

static void
reader_finds_that_rules_vanished(void **state OVS_UNUSED)
{
    const ovs_u128 ufid = unit_ufid(1);
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_put(&unit, unit_desc(2, 1), CREATE);
    unit_settle(&unit);
    offload_fake_remove(unit.fake, true, &ufid);
    offload_read_rules(unit.offload);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(unit_where(&unit, 2), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_VANISHED), 1);
    unit_offload_uninit(&unit);
}

static void
dump_of_a_type_shows_those_flows(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    struct offload_dump dump;
    struct offload_dumped dumped;
    ovs_u128 in_tc = unit_ufid(1), in_kernel = unit_ufid(2);
    struct offload_stats stats = { .n_packets = 0 };

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_put(&unit, unit_desc(2, 7), CREATE);   /* No such port. */
    offload_barrier(unit.offload);

    offload_dump_start(unit.offload, OFFLOAD_DUMP_TC, false, &dump);
    assert_false(offload_dump_kernel(&dump, &in_kernel, &stats, &dumped));
    assert_true(offload_dump_next(&dump, &dumped, 1));
    assert_true(ovs_u128_equals(dumped.desc->ufid, in_tc));
    offload_desc_unref(dumped.desc);
    assert_false(offload_dump_next(&dump, &dumped, 1));
    offload_dump_done(&dump);

    offload_dump_start(unit.offload, OFFLOAD_DUMP_KERNEL, false, &dump);
    assert_true(offload_dump_next(&dump, &dumped, 1));
    assert_true(ovs_u128_equals(dumped.desc->ufid, in_kernel));
    offload_desc_unref(dumped.desc);
    assert_false(offload_dump_next(&dump, &dumped, 1));
    offload_dump_done(&dump);

    unit_offload_uninit(&unit);
}

/* Counts what is read one by one, with the lock of the fake. */
static int
count_gets(void *n_, bool tc OVS_UNUSED, const struct offload_copy_op *op)
{
    unsigned int *n = n_;

    *n += op->type == OFFLOAD_COPY_GET;
    return 0;
}

/* Flows of chains are in the kernel, which tells of them, and in tc, which has
 * been read. */
static void
flow_in_both_is_shown_without_being_read_by_itself(void **state OVS_UNUSED)
{
    const struct offload_stats kernel = { .n_packets = 2, .n_bytes = 200 };
    const ovs_u128 ufid = unit_ufid(1);
    struct offload_dumped dumped;
    struct unit_offload unit;
    unsigned int n_gets = 0;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 1; i <= 20; i++) {
        unit_put(&unit, unit_desc_full(i, 1, 55, 0, 0), CREATE);
    }
    unit_put(&unit, unit_desc_full(100, 1, 0, 55, 0), CREATE);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC | KERNEL);
    unit_packets(&unit, 1, 3);
    offload_fake_set_fail(unit.fake, count_gets, &n_gets);
    assert_int_equal(unit_dump(&unit, NULL, 0), 21);
    assert_int_equal(n_gets, 21);

    for (int lax = 0; lax < 2; lax++) {
        struct offload_dump dump;

        n_gets = 0;
        assert_int_equal(offload_dump_start(unit.offload, OFFLOAD_DUMP_ALL,
                                            lax, &dump), 0);
        assert_true(offload_dump_kernel(&dump, &ufid, &kernel, &dumped));
        assert_int_equal(dumped.stats.n_packets, 5);
        assert_true(dumped.in_tc);
        offload_desc_unref(dumped.desc);
        assert_false(offload_dump_kernel(&dump, &ufid, &kernel, &dumped));
        assert_int_equal(n_gets, lax ? 0 : 21);
        offload_dump_done(&dump);
    }
    unit_offload_uninit(&unit);
}

static void
flow_in_both_of_which_one_is_not_told_is_read(void **state OVS_UNUSED)
{
    struct offload_dumped dumped;
    struct unit_offload unit;
    struct offload_dump dump;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc_full(1, 1, 55, 0, 0), CREATE);
    unit_packets(&unit, 1, 2);
    unit_put(&unit, unit_desc_full(2, 1, 0, 55, 0), CREATE);
    unit_settle(&unit);
    unit_packets(&unit, 1, 3);
    start_dump(&unit, &dump);
    for (int i = 0; i < 2; i++) {
        assert_true(offload_dump_next(&dump, &dumped, 1));
        if (dumped.desc->ufid.u64.lo == 1) {
            assert_int_equal(dumped.stats.n_packets, 5);
        }
        offload_desc_unref(dumped.desc);
    }
    assert_false(offload_dump_next(&dump, &dumped, 1));
    offload_dump_done(&dump);
    unit_offload_uninit(&unit);
}

static void
flow_made_after_the_start_is_shown_without_being_read(void **state OVS_UNUSED)
{
    struct offload_stats stats = { .n_packets = 0 };
    ovs_u128 ufid = unit_ufid(1);
    struct offload_dumped dumped;
    struct unit_offload unit;
    unsigned int n_gets = 0;

    for (int lax = 0; lax < 2; lax++) {
        struct offload_dump dump;

        unit_offload_init(&unit, NULL, 1);
        offload_fake_set_fail(unit.fake, count_gets, &n_gets);
        assert_int_equal(offload_dump_start(unit.offload, OFFLOAD_DUMP_ALL,
                                            lax, &dump), 0);
        unit_put(&unit, unit_desc(1, 7), CREATE);
        assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
        assert_false(dumped.in_tc);
        offload_desc_unref(dumped.desc);
        assert_int_equal(n_gets, !lax);
        offload_dump_done(&dump);

        /* One that is only new to the engine has counted before. */
        n_gets = 0;
        assert_int_equal(offload_dump_start(unit.offload, OFFLOAD_DUMP_ALL,
                                            lax, &dump), 0);
        unit_put(&unit, unit_desc(2, 7), CREATE | MODIFY);
        ufid = unit_ufid(2);
        assert_true(offload_dump_kernel(&dump, &ufid, &stats, &dumped));
        offload_desc_unref(dumped.desc);
        assert_int_equal(n_gets, 1);
        offload_dump_done(&dump);
        ufid = unit_ufid(1);
        n_gets = 0;
        unit_offload_uninit(&unit);
    }
}

/* The kernel may have counted packets for it before the start. */
static void
flow_made_just_before_the_start_is_read(void **state OVS_UNUSED)
{
    for (int lax = 0; lax < 2; lax++) {
        struct offload_dumped dumped;
        struct unit_offload unit;
        unsigned int n_gets = 0;
        struct offload_dump dump;

        unit_offload_init(&unit, NULL, 1);
        offload_fake_set_fail(unit.fake, count_gets, &n_gets);
        unit_put(&unit, unit_desc(1, 7), CREATE);
        unit_packets(&unit, 1, 5);
        assert_int_equal(offload_dump_start(unit.offload, OFFLOAD_DUMP_ALL,
                                            lax, &dump), 0);
        unit_packets(&unit, 1, 2);
        assert_int_equal(offload_dump_next(&dump, &dumped, 1), 1);
        assert_int_equal(n_gets, 1);
        assert_int_equal(dumped.stats.n_packets, 7);
        assert_false(dumped.in_tc);
        assert_int_equal(dumped.hw, OFFLOAD_HW_UNKNOWN);
        offload_desc_unref(dumped.desc);
        assert_int_equal(offload_dump_next(&dump, &dumped, 1), 0);
        offload_dump_done(&dump);
        unit_offload_uninit(&unit);
    }
}

/* Even in an interval of an hour. */
static void
reader_ends_at_once(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    unsigned int before = atomic_count_get(&n_waits);
    struct unit_offload unit;

    config.read_interval = 3600 * 1000;
    unit_offload_init(&unit, &config, 1);
    unit_wait_until(atomic_count_get(&n_waits) != before);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_start_again_when_asked),
        cmocka_unit_test(statistics_start_again_during_a_put),
        cmocka_unit_test(what_was_shown_during_a_put_is_kept),
        cmocka_unit_test(older_reading_does_not_set_statistics_back),
        cmocka_unit_test(dump_shows_a_flow_once_while_it_moves),
        cmocka_unit_test(dump_of_a_type_shows_those_flows),
        cmocka_unit_test(use_is_noticed_by_more_packets),
        cmocka_unit_test(flow_is_as_idle_as_it_was_when_it_was_read),
        cmocka_unit_test(lax_dump_does_not_read_tc),
        cmocka_unit_test(reader_reads_by_itself),
        cmocka_unit_test(reader_keeps_its_interval),
        cmocka_unit_test(reader_ends_at_once),
        cmocka_unit_test(round_ends_early_when_it_is_to),
        cmocka_unit_test(rule_is_read_once_in_an_interval),
        cmocka_unit_test(reader_finds_that_rules_vanished),
        cmocka_unit_test(flow_in_both_is_shown_without_being_read_by_itself),
        cmocka_unit_test(flow_in_both_of_which_one_is_not_told_is_read),
        cmocka_unit_test(
            flow_made_after_the_start_is_shown_without_being_read),
        cmocka_unit_test(flow_made_just_before_the_start_is_read),
        cmocka_unit_test(dumps_are_limited),
    };

    unit_init("test-offload-stats");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-stats", tests, NULL, NULL);
}
