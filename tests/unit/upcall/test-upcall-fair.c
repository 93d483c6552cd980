/* SPDX-License-Identifier: Apache-2.0 */

/* U3: ports with a standing backlog share what there is.  U1: their order
 * holds meanwhile, with several handlers and when ports and handlers go. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <stdlib.h>
#include <string.h>

#include "harness/descriptors.h"
#include "harness/prng.h"
#include "harness/unit.h"
#include "unit/upcall/fair-fixture.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-turn.h"
#include "util.h"


/* Noisy ports. */

static void
flooded_ports_are_served_equally(void **state)
{
    static const uint32_t counts[] = { 2, 3, 4, 5, 8, 16, 33 };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        prepare(f, 1, counts[i]);
        for (size_t k = 0; k < 8 * counts[i]; k++) {
            top_up_all(f, UPCALL_BATCH + 1);
            assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
        }
        assert_true(jain_upcalls(f) >= 0.99);
        for (uint32_t p = 0; p < f->n_ports; p++) {
            assert_true(f->ports[p].n_received + 2 * UPCALL_BATCH
                        >= f->ports[0].n_received);
        }
        upcall_table_del_all(f->table);
    }
}

static void
flooded_ports_are_served_equally_by_several_handlers(void **state)
{
    struct fixture *f = *state;
    size_t n_batches = 0, n = 0;

    /* One round robin for all: it does not matter which handler comes when, as
     * long as none of them keeps its ports for long. */
    prepare(f, 3, 16);
    for (; n_batches < 200; n_batches++) {
        top_up_all(f, UPCALL_BATCH + 1);
        n += recv_batch(f, (n_batches + n_batches / 7) % 3, NULL);
    }
    assert_true(jain_upcalls(f) >= 0.99);
    assert_true(n > n_batches * UPCALL_BATCH * 9 / 10);
    recv_all(f);
}

static void
large_packets_get_no_more_bytes_than_others(void **state)
{
    struct fixture *f = *state;

    /* Packets of 2.5 kB are already limited by their bytes. */
    prepare(f, 1, 5);
    for (uint32_t i = 0; i < 5; i++) {
        f->ports[i].packet_len = i ? 2500 : 16000;
    }
    for (size_t k = 0; k < 400; k++) {
        top_up_all(f, 24);
        recv_batch(f, 0, NULL);
    }
    assert_true(jain_bytes(f) >= 0.99);
}

static void
large_packets_do_not_delay_small_ones(void **state)
{
    struct fixture *f = *state;
    uint64_t n_rounds, others;

    prepare(f, 1, 4);
    f->ports[0].packet_len = 16000;
    for (size_t k = 0; k < 300; k++) {
        top_up_all(f, 24);
        recv_batch(f, 0, NULL);
    }

    /* The others are limited by their number.  What the large ones got is the
     * quantum of bytes for each round of theirs. */
    others = f->ports[1].n_received;
    for (uint32_t i = 2; i < 4; i++) {
        assert_true(f->ports[i].n_received + UPCALL_QUANTUM >= others
                    && f->ports[i].n_received <= others + UPCALL_QUANTUM);
    }
    n_rounds = others / UPCALL_QUANTUM;
    assert_true(f->ports[0].bytes
                <= (n_rounds + 2) * UPCALL_QUANTUM_BYTES + 21 * 16000);
    assert_true(f->ports[0].bytes + 3 * UPCALL_QUANTUM_BYTES
                >= n_rounds * UPCALL_QUANTUM_BYTES * 9 / 10);
}

static void
crowd_of_sparse_ports_leaves_room_for_the_backlog(void **state)
{
    struct fixture *f = *state;
    enum { N_NOISY = 3, N_SPARSE = 40 };
    size_t n_noisy = 0, n_all = 0;

    prepare(f, 1, N_NOISY + N_SPARSE);
    for (unsigned int i = 0; i < 100; i++) {
        /* More sparse ports are ready than one batch takes events of. */
        for (uint32_t port = 0; port < f->n_ports; port++) {
            top_up(f, port, port < N_NOISY ? 64 : 1);
        }
        n_all += recv_batch(f, 0, NULL);
        for (uint32_t port = 0; port < N_NOISY; port++) {
            n_noisy += f->ports[port].n_batch;
        }
    }
    assert_true(n_noisy * 3 >= n_all);
}

static void
port_that_goes_empty_in_between_gets_no_more_than_noisy_ones(void **state)
{
    static const size_t bursts[] = { 1, 7, UPCALL_QUANTUM - 1, UPCALL_QUANTUM,
                                     UPCALL_QUANTUM + 1, 40, 63 };
    enum { N_NOISY = 6, SLY = N_NOISY };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(bursts); i++) {
        struct port *sly = &f->ports[SLY];

        prepare(f, 1, N_NOISY + 1);
        for (unsigned int k = 0; k < 100; k++) {
            uint64_t most = 0, least = UINT64_MAX;

            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            if (!n_waiting(sly)) {
                top_up(f, SLY, bursts[i]);
            }
            assert_true(recv_batch(f, 0, NULL) >= UPCALL_QUANTUM);
            for (uint32_t port = 0; port < N_NOISY; port++) {
                most = MAX(most, f->ports[port].n_received);
                least = MIN(least, f->ports[port].n_received);
            }

            /* No more than the turn that it may have ahead of them.  The first
             * turns of the noisy ones are all sparse, one after the other. */
            assert_true(sly->n_received <= most + UPCALL_QUANTUM);
            assert_true(k < 10
                        || sly->n_received <= least + 2 * UPCALL_QUANTUM);
        }
        upcall_table_del_all(f->table);
    }
}

/* A round lasts until all had their turn, those too that a handler has at the
 * moment. */
static void
port_that_goes_empty_gains_nothing_from_several_handlers(void **state)
{
    static const size_t bursts[] = { 1, 7, UPCALL_QUANTUM - 1, UPCALL_QUANTUM,
                                     UPCALL_QUANTUM + 1, 40, 63 };
    enum { N_NOISY = 24, SLY = N_NOISY };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(bursts); i++) {
        struct port *sly = &f->ports[SLY];
        uint64_t sum = 0;

        prepare(f, MAX_HANDLERS, N_NOISY + 1);
        for (unsigned int k = 0; k < 400; k++) {
            for (uint32_t port = 0; port < N_NOISY; port++) {
                top_up(f, port, 64);
            }
            if (!n_waiting(sly)) {
                top_up(f, SLY, bursts[i]);
            }
            recv_batch(f, k % MAX_HANDLERS, NULL);
        }
        for (uint32_t port = 0; port < N_NOISY; port++) {
            sum += f->ports[port].n_received;
        }

        /* A turn ahead of the others for each handler. */
        assert_true(sly->n_received
                    <= sum / N_NOISY + MAX_HANDLERS * UPCALL_QUANTUM);
        upcall_table_del_all(f->table);
        memset(f->held, 0, sizeof f->held);
        memset(f->in_batch, 0, sizeof f->in_batch);
    }
}

static void
lone_noisy_port_gets_whole_batches(void **state)
{
    struct fixture *f = *state;

    prepare(f, 1, 3);
    for (unsigned int k = 0; k < 20; k++) {
        top_up(f, 1, 64);
        assert_int_equal(recv_batch(f, 0, NULL), UPCALL_BATCH);
    }
    recv_all(f);
}

/* Several handlers. */

static void
no_port_is_with_two_handlers_at_a_time(void **state)
{
    struct fixture *f = *state;

    /* Upcall by upcall, so that batches overlap in every way.  recv_one()
     * checks who has what, and the order of each port. */
    prepare(f, MAX_HANDLERS, 12);
    for (unsigned int i = 0; i < 20000; i++) {
        if (unit_random(8) == 0) {
            top_up(f, unit_random(f->n_ports), 1 + unit_random(64));
        }
        recv_one(f, unit_random(MAX_HANDLERS));
    }
    for (uint32_t h = 0; h < MAX_HANDLERS; h++) {
        while (recv_one(f, h) != UINT32_MAX) {
            continue;
        }
    }
    recv_all(f);
}

static void
backlog_moves_between_handlers_in_order(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    uint64_t seen[2] = { 0, 0 };

    prepare(f, 2, 7);
    for (unsigned int k = 0; k < 200; k++) {
        uint32_t handler = unit_random(2);

        top_up_all(f, 64);
        recv_batch(f, handler, NULL);
        seen[handler] |= f->held[handler];
    }
    assert_int_equal(seen[0], 0x7f);
    assert_int_equal(seen[1], 0x7f);
    recv_all(f);

    upcall_table_get_info(f->table, &info);
    assert_true(info.handlers[0].steals > 0);
    assert_true(info.handlers[1].steals > 0);
    assert_int_equal(info.abandoned, 0);
    upcall_table_info_uninit(&info);
}

static void
upcalls_in_the_run_queue_survive_a_change_of_handlers(void **state)
{
    static const uint32_t n_handlers[] = { 3, 1, 2, 0, 4, 1, 0, 2 };
    struct fixture *f = *state;
    struct upcall_table_info info;

    prepare(f, 2, 20);
    for (size_t i = 0; i < ARRAY_SIZE(n_handlers); i++) {
        uint32_t n = upcall_table_n_handlers(f->table);

        top_up_all(f, 64);
        for (unsigned int k = 0; n && k < 12; k++) {
            recv_batch(f, k % n, NULL);
        }

        /* Some ports are in the run queue, some with a handler, some have an
         * event that nobody took. */
        assert_int_equal(upcall_table_set_handlers(f->table, n_handlers[i]),
                         0);
        memset(f->held, 0, sizeof f->held);
    }
    recv_all(f);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 0);
    for (size_t i = 0; i < info.n_ports; i++) {
        assert_int_equal(info.ports[i].stats.received, f->ports[i].n_sent);
    }
    upcall_table_info_uninit(&info);
}

/* Ports that go. */

static void
deleted_port_leaves_the_run_queue(void **state)
{
    enum { N_PORTS = 12 };
    struct fixture *f = *state;
    size_t n_fds;

    /* All are in the run queue but those of the last batch. */
    prepare(f, 1, N_PORTS);
    for (unsigned int k = 0; k < 2 * N_PORTS; k++) {
        top_up_all(f, 64);
        recv_batch(f, 0, NULL);
    }
    unit_rcu_barrier();
    n_fds = unit_count_fds();

    for (uint32_t gone = 0; gone < N_PORTS; gone++) {
        upcall_table_del(f->table, gone);
        unit_rcu_barrier();
        for (unsigned int k = 0; k < N_PORTS; k++) {
            size_t n;

            for (uint32_t port = gone + 1; port < N_PORTS; port++) {
                top_up(f, port, 64);
            }
            n = recv_batch(f, 0, NULL);
            for (uint32_t port = 0; port <= gone; port++) {
                assert_int_equal(f->ports[port].n_batch, 0);
            }

            /* Its turn is not lost but somebody else's. */
            assert_true(n == UPCALL_BATCH || gone + 1 == N_PORTS);
        }
        unit_rcu_barrier();
        assert_int_equal(unit_count_fds(), n_fds - 1 - gone);
    }
    recv_batch(f, 0, NULL);
    assert_int_equal(unit_count_fds(), n_fds - N_PORTS);
}

static void
deleted_ports_in_the_run_queue_go_with_the_handlers(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();

    prepare(f, 2, 12);
    for (unsigned int k = 0; k < 24; k++) {
        top_up_all(f, 64);
        recv_batch(f, k % 2, NULL);
    }
    upcall_table_del_all(f->table);
    assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, fair_setup, fair_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(flooded_ports_are_served_equally),
        TEST(flooded_ports_are_served_equally_by_several_handlers),
        TEST(large_packets_get_no_more_bytes_than_others),
        TEST(large_packets_do_not_delay_small_ones),
        TEST(crowd_of_sparse_ports_leaves_room_for_the_backlog),
        TEST(port_that_goes_empty_in_between_gets_no_more_than_noisy_ones),
        TEST(port_that_goes_empty_gains_nothing_from_several_handlers),
        TEST(lone_noisy_port_gets_whole_batches),
        TEST(no_port_is_with_two_handlers_at_a_time),
        TEST(backlog_moves_between_handlers_in_order),
        TEST(upcalls_in_the_run_queue_survive_a_change_of_handlers),
        TEST(deleted_port_leaves_the_run_queue),
        TEST(deleted_ports_in_the_run_queue_go_with_the_handlers),
    };

    unit_init("test-upcall-fair");
    return cmocka_run_group_tests_name("upcall-fair", tests, NULL, NULL);
}
