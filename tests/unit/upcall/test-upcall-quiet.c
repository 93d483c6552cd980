/* SPDX-License-Identifier: Apache-2.0 */

/* U3: a port that was quiet goes first while some of the other ports have a
 * standing backlog.  Upcalls of no port (U8) go before that port. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/upcall/fair-fixture.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-turn.h"
#include "util.h"


static void
quiet_port_is_first_in_the_next_batch(void **state)
{
    static const size_t bursts[] = { 1, 2, 7, UPCALL_QUANTUM };
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY };

    prepare(f, 1, N_NOISY + 1);
    for (unsigned int i = 0; i < 60; i++) {
        size_t burst = bursts[i % ARRAY_SIZE(bursts)];
        uint32_t order[UPCALL_BATCH];

        /* A burst that is no more than its share of what has been received
         * since the last one. */
        for (uint32_t port = 0; port < N_NOISY; port++) {
            top_up(f, port, 64);
        }
        for (int j = 0; j < 5; j++) {
            assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
        }
        top_up(f, QUIET, burst);
        assert_int_equal(recv_batch(f, 0, order),
                         burst < UPCALL_QUANTUM ? burst + UPCALL_QUANTUM
                         : UPCALL_BATCH);
        check_is_first(f, order, QUIET, burst);
        assert_int_equal(n_waiting(&f->ports[QUIET]), 0);
    }
}

static void
quiet_port_that_spreads_its_upcalls_never_waits(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY };

    /* The quiet port has one upcall in each batch.  A round of the noisy
     * ports takes ten batches. */
    prepare(f, 1, N_NOISY + 1);
    warm_up(f, N_NOISY);
    for (unsigned int i = 0; i < 200; i++) {
        uint32_t order[UPCALL_BATCH];

        for (uint32_t port = 0; port < N_NOISY; port++) {
            top_up(f, port, 64);
        }
        top_up(f, QUIET, 1);
        assert_int_equal(recv_batch(f, 0, order), 1 + UPCALL_QUANTUM);
        check_is_first(f, order, QUIET, 1);
    }
}

static void
quiet_port_is_first_after_a_change_of_handlers_too(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY };

    prepare(f, 1, N_NOISY + 1);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t order[UPCALL_BATCH];

        /* The old scheduler has counted some rounds when the port used all of
         * its credit, the new one counts from 0. */
        for (int j = 0; j < 20; j++) {
            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
        }
        top_up(f, QUIET, UPCALL_QUANTUM);
        recv_batch(f, 0, NULL);
        assert_int_equal(n_waiting(&f->ports[QUIET]), 0);
        memset(f->held, 0, sizeof f->held);
        assert_int_equal(upcall_table_set_handlers(f->table, 2 - i % 2), 0);

        /* All channels are new to the scheduler; after that the quiet one is
         * quiet. */
        for (int j = 0; j < 5; j++) {
            recv_batch(f, 0, NULL);
        }
        top_up(f, QUIET, 1);
        assert_int_equal(recv_batch(f, 0, order), 1 + UPCALL_QUANTUM);
        check_is_first(f, order, QUIET, 1);
    }
}

static void
many_quiet_ports_are_served_as_fast_as_events_are_taken(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 8, N_QUIET = 37 };

    /* No multiple of the events that are taken at a time, so that an
     * epoch ends after each crowd. */
    prepare(f, 1, N_NOISY + N_QUIET);
    warm_up(f, N_NOISY);
    for (unsigned int i = 0; i < 20; i++) {
        size_t n_left = N_QUIET;

        for (uint32_t port = N_NOISY; port < f->n_ports; port++) {
            top_up(f, port, 1);
        }
        while (n_left) {
            size_t n = 0;

            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            size_t n_batch = recv_batch(f, 0, NULL);
            for (uint32_t port = N_NOISY; port < f->n_ports; port++) {
                n += f->ports[port].n_batch;
            }

            /* They do not wait for a full batch of others. */
            assert_int_equal(n_batch, n + UPCALL_QUANTUM);
            assert_true(n >= MIN(n_left, UPCALL_EVENTS));
            n_left -= n;
        }
    }
}

static void
quiet_port_passes_a_crowd_of_small_bursts(void **state)
{
    struct fixture *f = *state;
    enum { N_CROWD = 40, QUIET = N_CROWD, N_TIMES = 100, PERIOD = 10 };
    unsigned int n_prompt = 0, since = 0;

    /* None of the crowd has more than a quantum waiting, but together they are
     * more than is served. */
    prepare(f, 1, N_CROWD + 1);
    for (unsigned int i = 0; i < N_TIMES * PERIOD; i++) {
        for (uint32_t port = 0; port < N_CROWD; port++) {
            top_up(f, port, 5);
        }
        if (i % PERIOD == 0) {
            top_up(f, QUIET, 1);
            since = i;
        }
        recv_batch(f, 0, NULL);
        if (f->ports[QUIET].n_batch) {
            n_prompt += i == since;
        }
    }

    /* Not always: when the end of an epoch cannot be told, it waits with the
     * others. */
    assert_true(n_prompt >= N_TIMES * 9 / 10);
}

/* Adds the channel for upcalls of no port, as the port after the others of the
 * fixture. */
static void
add_urgent(struct fixture *f)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    f->ports[f->n_ports++] = (struct port) {
        .pid = channel->pid, .packet_len = UNIT_PACKET_MIN,
    };
    assert_int_equal(upcall_table_add_queues(f->table, UPCALL_PORT_NONE,
                                             "control", &channel, 1), 0);
}

static void
upcalls_of_no_port_are_before_a_crowd_that_becomes_readable(void **state)
{
    struct fixture *f = *state;
    enum { N = MAX_PORTS - 1, URGENT = N };

    prepare(f, 1, N);
    add_urgent(f);
    for (int i = 0; i < 5; i++) {
        uint32_t order[UPCALL_BATCH];

        for (uint32_t port = 0; port < N; port++) {
            top_up(f, port, 5);
        }
        top_up(f, URGENT, 3);
        assert_true(recv_batch(f, 0, order) > 3);
        for (int j = 0; j < 3; j++) {
            assert_int_equal(order[j], URGENT);
        }
        recv_all(f);
    }
}

static void
flood_of_no_port_leaves_others_two_thirds(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 10, QUIET = N_NOISY, URGENT };

    prepare(f, 1, N_NOISY + 1);
    add_urgent(f);
    warm_up(f, N_NOISY);
    for (int i = 0; i < 30; i++) {
        uint32_t order[UPCALL_BATCH];
        size_t n, n_quiet = i > 2;

        for (uint32_t port = 0; port < N_NOISY; port++) {
            top_up(f, port, 64);
        }
        top_up(f, URGENT, 64);
        if (n_quiet) {
            top_up(f, QUIET, 1);
        }
        n = recv_batch(f, 0, order);
        assert_in_range(f->ports[URGENT].n_batch, 1, UPCALL_QUANTUM);
        if (i) {
            assert_int_equal(f->ports[URGENT].n_batch, UPCALL_QUANTUM);
        }
        assert_int_equal(f->ports[QUIET].n_batch, n_quiet);
        assert_true(n - f->ports[URGENT].n_batch >= UPCALL_QUANTUM - 1);
    }
    recv_all(f);
}

static void
upcalls_of_no_port_stay_in_order_with_several_handlers(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 10, URGENT = N_NOISY };

    prepare(f, MAX_HANDLERS, N_NOISY);
    add_urgent(f);
    for (int i = 0; i < 40; i++) {
        top_up_all(f, 64);
        for (uint32_t h = 0; h < MAX_HANDLERS; h++) {
            /* recv_one() checks the order, and who holds which port. */
            for (uint32_t j = 0; j < 10 + h; j++) {
                recv_one(f, h);
            }
        }
    }
    recv_all(f);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, fair_setup, fair_teardown)

/* U7.  A crowd of ports that become readable at the same time: where delay is
 * to be bounded, each of them has a few upcalls read at first, and so the last
 * one does not wait for full turns of all others. */
static void
crowd_is_read_in_small_turns(void **state)
{
    struct fixture *f = *state;
    uint64_t seen = 0;
    size_t n_seen = 0;
    uint32_t order[UPCALL_BATCH];

    prepare(f, 1, 40);
    upcall_table_set_target_delay(f->table, 50000);
    top_up_all(f, 64);
    for (size_t i = 0, n = recv_batch(f, 0, order); i < n; i++) {
        n_seen += !(seen >> order[i] & 1);
        seen |= UINT64_C(1) << order[i];
    }
    assert_in_range(n_seen, 8, 16);
    recv_all(f);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(quiet_port_is_first_in_the_next_batch),
        TEST(quiet_port_that_spreads_its_upcalls_never_waits),
        TEST(quiet_port_is_first_after_a_change_of_handlers_too),
        TEST(many_quiet_ports_are_served_as_fast_as_events_are_taken),
        TEST(quiet_port_passes_a_crowd_of_small_bursts),
        TEST(crowd_is_read_in_small_turns),
        TEST(upcalls_of_no_port_are_before_a_crowd_that_becomes_readable),
        TEST(flood_of_no_port_leaves_others_two_thirds),
        TEST(upcalls_of_no_port_stay_in_order_with_several_handlers),
    };

    unit_init("test-upcall-quiet");
    return cmocka_run_group_tests_name("upcall-quiet", tests, NULL, NULL);
}
