/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine when several threads do whatever they like to the same
 * few flows, in batches of any order, without agreeing on anything.
 *
 *   O2  What is there at the end depends on who came last, but no packet may
 *       be lost or counted twice: those that met a flow somewhere are those
 *       that deletes reported.
 *   O6  Nobody waits for each other for ever, and each request has one outcome
 *       (unit_offload_uninit()). */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "harness/prng.h"
#include "harness/unit.h"
#include "util.h"

#define N_FLOWS 6
#define N_PORTS 2
#define N_THREADS 4
#define N_BATCHES 3000          /* Of each thread. */
#define MAX_BATCH 5

static struct unit_offload unit;
static atomic_bool stop;
static atomic_uint64_t met;     /* Packets that met a flow. */
static atomic_uint64_t reported;

static void
choose(struct offload_op *op)
{
    uint32_t flow = unit_random(N_FLOWS);
    uint32_t what = unit_random(16);

    *op = (struct offload_op) {
        .type = what < 9 ? OFFLOAD_PUT : what < 11 ? OFFLOAD_DEL : OFFLOAD_GET,
        .ufid = unit_ufid(flow),
        .want_stats = unit_random(2),
    };
    if (op->type == OFFLOAD_PUT) {
        op->flags = (what < 5 ? OFFLOAD_PUT_CREATE
                     : OFFLOAD_PUT_CREATE | OFFLOAD_PUT_MODIFY);
        op->desc = unit_desc_full(flow, 1 + flow % N_PORTS, flow == 1 ? 99 : 0,
                                  flow == 0 ? 99 : 0, 0);
    }
}

static void
check(const struct offload_op *op)
{
    uint64_t orig;

    if (op->type == OFFLOAD_DEL) {
        unit_check(!op->error || op->error == ENOENT);
        atomic_add(&reported, op->stats.n_packets, &orig);
    } else if (op->type == OFFLOAD_GET) {
        unit_check(!op->error || op->error == ENOENT);
        offload_desc_unref(op->result);
    } else {
        unit_check(!op->error || (op->error == EEXIST
                                  && op->flags == OFFLOAD_PUT_CREATE));
        offload_desc_unref(op->desc);
    }
}

/* The sender may be late.  Without it there is nothing to lose. */
static bool
has_met(void)
{
    uint64_t n_met;

    atomic_read(&met, &n_met);
    return n_met > 0;
}

static void *
user_main(void *stream)
{
    unit_random_stream(*(uint32_t *) stream);
    for (int i = 0; i < N_BATCHES || !has_met(); i++) {
        struct offload_op ops_[MAX_BATCH], *ops[MAX_BATCH];
        size_t n = 1 + unit_random(MAX_BATCH);

        for (size_t j = 0; j < n; j++) {
            choose(&ops_[j]);
            ops[j] = &ops_[j];
        }
        offload_operate(unit.offload, ops, n);
        for (size_t j = 0; j < n; j++) {
            check(ops[j]);
        }
        if (unit_random(2)) {
            /* Some flows should get to tc meanwhile. */
            unit_sleep_us(50);
        }
    }
    return NULL;
}

static bool
is_stopped(void)
{
    bool stopped;

    atomic_read_relaxed(&stop, &stopped);
    return stopped;
}

static void *
sender_main(void *stream)
{
    uint64_t orig;

    unit_random_stream(*(uint32_t *) stream);
    while (!is_stopped()) {
        if (unit_packets(&unit, unit_random(N_FLOWS), 1)) {
            atomic_add(&met, 1, &orig);
        }
    }
    return NULL;
}

static void *
manager_main(void *stream)
{
    unit_random_stream(*(uint32_t *) stream);
    while (!is_stopped()) {
        struct offload_config config = OFFLOAD_CONFIG_DEFAULT;

        switch (unit_random(32)) {
        case 0:
            offload_port_del(unit.offload, 1);
            offload_port_add(unit.offload, 1);
            break;
        case 1:
            offload_set_enabled(unit.offload, false);
            offload_set_enabled(unit.offload, true);
            break;
        case 2:
            config.n_threads = 1 + unit_random(3);
            offload_configure(unit.offload, &config);
            break;
        default:
            unit_dump(&unit, NULL, 0);
            break;
        }
    }
    return NULL;
}

static void
no_packet_is_lost_or_counted_twice(void **state OVS_UNUSED)
{
    pthread_t users[N_THREADS], sender, manager;
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    uint32_t streams[N_THREADS + 2];
    uint64_t n_met, n_reported;

    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        streams[i] = i + 1;
    }
    config.read_interval = 1;
    unit_offload_init(&unit, &config, N_PORTS);
    offload_fake_set_delay(unit.fake, 0, 3);
    sender = ovs_thread_create("sender", sender_main, &streams[N_THREADS + 1]);
    for (size_t i = 0; i < N_THREADS; i++) {
        users[i] = ovs_thread_create("user", user_main, &streams[i]);
    }
    /* It makes threads, which only one thread may do at a time. */
    manager = ovs_thread_create("manager", manager_main, &streams[N_THREADS]);
    for (size_t i = 0; i < N_THREADS; i++) {
        xpthread_join(users[i], NULL);
    }
    atomic_store_relaxed(&stop, true);
    xpthread_join(sender, NULL);
    xpthread_join(manager, NULL);

    for (uint32_t i = 0; i < N_FLOWS; i++) {
        uint64_t n, orig;

        if (!unit_del(&unit, i, &n)) {
            atomic_add(&reported, n, &orig);
        }
    }
    atomic_read(&met, &n_met);
    atomic_read(&reported, &n_reported);
    if (n_met != n_reported) {
        unit_die("%"PRIu64" packets met a flow, %"PRIu64" were reported",
                 n_met, n_reported);
    }
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(offload_fake_count(unit.fake, false), 0);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_packet_is_lost_or_counted_twice),
    };

    unit_init("test-offload-race");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-race", tests, NULL, NULL);
}
