/* SPDX-License-Identifier: Apache-2.0 */

/* Floods, as seen by the user of a table (test-upcall-fair.c looks closer).
 *
 * U3: flooded ports share, and a quiet port does not wait behind them. */

#include <config.h>
#include "upcall/upcall-table.h"

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-turn.h"
#include "util.h"


static void
quiet_port_does_not_wait_behind_a_noisy_one(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    bool found = false;
    size_t n;

    set_handlers(f, 1);
    add_port(f, 1);
    add_port(f, 2);
    for (uint64_t seq = 0; seq < 200; seq++) {
        send_to(f, 1, seq);
    }
    expect_batch(f, 0, 0, UPCALL_BATCH);

    /* In the next batch, though the noisy port has enough for two more. */
    send_to(f, 2, 1000);
    n = recv_batch(f, 0, views);
    assert_int_equal(n, UPCALL_BATCH);
    for (size_t i = 0; i < n; i++) {
        found |= unit_view_seq(&views[i]) == 1000;
    }
    assert_true(found);
}

static void
noisy_ports_share_a_batch(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    unsigned int share[3] = { 0, 0, 0 };

    set_handlers(f, 1);
    for (uint32_t port = 0; port < 3; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < 100; i++) {
            send_to(f, port, port * 1000 + i);
        }
    }
    for (int batch = 0; batch < 3; batch++) {
        assert_int_equal(recv_batch(f, 0, views), UPCALL_BATCH);
        for (size_t i = 0; i < UPCALL_BATCH; i++) {
            uint64_t seq = unit_view_seq(&views[i]);

            assert_int_equal(seq % 1000, share[seq / 1000]);
            share[seq / 1000]++;
        }

        /* No port is ahead of another by more than two turns of 16. */
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                assert_true(share[i] <= share[j] + 32);
            }
        }
    }
}

static double
jain(const uint64_t n[], size_t n_ports)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n_ports; i++) {
        sum += n[i];
        squares += (double) n[i] * n[i];
    }
    return sum * sum / (n_ports * squares);
}

static void
flooded_ports_get_equal_shares(void **state)
{
    enum { N_PORTS = 10, N_MSGS = 400 };
    struct fixture *f = *state;
    uint64_t n[N_PORTS] = { 0 };

    /* Two handlers.  One of them works twice as often. */
    set_handlers(f, 2);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < N_MSGS; i++) {
            send_to(f, port, port * 10000 + i);
        }
    }
    for (int i = 0; i < 300; i++) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n_batch = recv_batch(f, i % 3 == 0, views);

        assert_int_equal(n_batch, UPCALL_BATCH);
        for (size_t j = 0; j < n_batch; j++) {
            uint64_t seq = unit_view_seq(&views[j]);
            uint64_t port = seq / 10000;

            assert_int_equal(seq % 10000, n[port]);
            n[port]++;
            send_to(f, port, seq + N_MSGS);
        }
    }
    assert_true(jain(n, N_PORTS) > 0.98);
}

static void
quiet_port_is_in_the_next_batch_of_flooded_ones(void **state)
{
    enum { N_PORTS = 20, N_MSGS = 200, QUIET = 99 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];

    set_handlers(f, 1);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < N_MSGS; i++) {
            send_to(f, port, i);
        }
    }
    add_port(f, QUIET);
    for (int i = 0; i < 10; i++) {
        recv_batch(f, 0, views);
    }
    for (uint64_t i = 0; i < 5; i++) {
        bool found = false;
        size_t n;

        send_to(f, QUIET, 1000000 + i);
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            found |= unit_view_seq(&views[j]) == 1000000 + i;
        }
        assert_true(found);
    }
}

static void
port_that_goes_empty_in_between_gets_no_more_than_its_share(void **state)
{
    enum { N_PORTS = 10, N_MSGS = 300, SLY = 99 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    unsigned int n_sly = 0, n_others = 0;
    uint64_t sly = 0;

    set_handlers(f, 1);
    add_port(f, SLY);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        add_port(f, port);
        for (uint64_t i = 0; i < N_MSGS; i++) {
            send_to(f, port, i);
        }
    }

    /* Each time just what it may have without a backlog. */
    for (int i = 0; i < 30; i++) {
        size_t n;

        while (sly < n_sly + UPCALL_QUANTUM) {
            send_to(f, SLY, 1000000 + sly++);
        }
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            if (unit_view_seq(&views[j]) >= 1000000) {
                n_sly++;
            } else {
                n_others++;
            }
        }
    }

    /* A fair share is a tenth of what the others get; it begins with
     * credit. */
    assert_true(n_sly <= n_others / N_PORTS + 3 * UPCALL_QUANTUM);
}

static void
crowd_of_quiet_ports_does_not_starve_a_flooded_one(void **state)
{
    enum { N_QUIET = 200, FLOODED = 999 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    unsigned int n_flooded = 0;

    set_handlers(f, 1);
    add_port(f, FLOODED);
    for (uint32_t port = 0; port < N_QUIET; port++) {
        add_port(f, port);
    }
    for (uint64_t i = 0; i < 500; i++) {
        send_to(f, FLOODED, i);
    }
    recv_batch(f, 0, views);
    for (int i = 0; i < 5; i++) {
        size_t n;

        for (uint32_t port = 0; port < N_QUIET; port++) {
            send_to(f, port, 1000000);
        }
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            n_flooded += unit_view_seq(&views[j]) < 1000000;
        }
    }
    assert_true(n_flooded >= 5 * (UPCALL_QUANTUM - UPCALL_EVENTS));
}

static void
quiet_ports_that_use_their_quantum_do_not_starve_a_flooded_one(void **state)
{
    enum { FLOODED = 999 };
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    uint32_t port = 0;

    set_handlers(f, 1);
    add_port(f, FLOODED);
    for (uint64_t i = 0; i < 500; i++) {
        send_to(f, FLOODED, i);
    }
    recv_batch(f, 0, views);
    for (int i = 0; i < 5; i++) {
        unsigned int n_flooded = 0;
        size_t n;

        /* Enough for a whole batch. */
        for (int j = 0; j < 3; j++, port++) {
            add_port(f, port);
            for (int k = 0; k < UPCALL_QUANTUM; k++) {
                send_to(f, port, 1000000);
            }
        }
        n = recv_batch(f, 0, views);
        for (size_t j = 0; j < n; j++) {
            n_flooded += unit_view_seq(&views[j]) < 1000000;
        }
        assert_int_equal(n_flooded, UPCALL_QUANTUM);
    }
}

static void
large_packets_get_an_equal_share_of_bytes(void **state)
{
    enum { N_MSGS = 150, LARGE = 8000, SMALL = 1000 };
    struct fixture *f = *state;
    struct unit_msg large, small;
    uint64_t bytes[2] = { 0 };

    set_handlers(f, 1);
    add_port(f, 0);
    add_port(f, 1);
    unit_msg_upcall(&large, 0, LARGE);
    unit_msg_upcall(&small, 1, SMALL);
    for (int i = 0; i < N_MSGS; i++) {
        assert_int_equal(unit_send(f->sender,
                                   upcall_table_get_pid(f->table, 0),
                                   large.buf, large.len), 0);
    }
    for (int i = 0; i < 4 * N_MSGS; i++) {
        assert_int_equal(unit_send(f->sender,
                                   upcall_table_get_pid(f->table, 1),
                                   small.buf, small.len), 0);
    }
    for (int i = 0; i < 6; i++) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n = recv_batch(f, 0, views);

        for (size_t j = 0; j < n; j++) {
            bytes[unit_view_seq(&views[j])] += views[j].packet_len;
        }
    }
    unit_msg_uninit(&large);
    unit_msg_uninit(&small);

    /* Both have a quantum of 43 kB; the small ones use half of theirs, being
     * limited by number. */
    assert_true(bytes[0] <= 3 * bytes[1]);
    assert_true(bytes[1] > 0);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(quiet_port_does_not_wait_behind_a_noisy_one),
        TEST(noisy_ports_share_a_batch),
        TEST(flooded_ports_get_equal_shares),
        TEST(quiet_port_is_in_the_next_batch_of_flooded_ones),
        TEST(port_that_goes_empty_in_between_gets_no_more_than_its_share),
        TEST(crowd_of_quiet_ports_does_not_starve_a_flooded_one),
        TEST(quiet_ports_that_use_their_quantum_do_not_starve_a_flooded_one),
        TEST(large_packets_get_an_equal_share_of_bytes),
    };

    unit_init("test-upcall-flood");
    return cmocka_run_group_tests_name("upcall-flood", tests, NULL, NULL);
}
