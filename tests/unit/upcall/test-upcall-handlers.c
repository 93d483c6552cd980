/* SPDX-License-Identifier: Apache-2.0 */

/* Handlers that change while they have upcalls.
 *
 * U1: no upcall is lost or overtaken by that.  U5: what goes with a handler
 * that is removed within a batch is counted. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <string.h>

#include "openvswitch/poll-loop.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-ports.h"
#include "util.h"


static void
number_of_handlers_is_bounded(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    assert_int_equal(upcall_table_set_handlers(f->table,
                                               UPCALL_MAX_HANDLERS + 1),
                     EINVAL);
    assert_int_equal(upcall_table_n_handlers(f->table), 1);
}

/* Open vSwitch may have more threads than there could be handlers made. */
static void
thread_without_a_handler_sleeps_until_there_is_one(void **state)
{
    static const uint32_t numbers[] = { 0, 2 };
    struct fixture *f = *state;

    add_port(f, 1);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        set_handlers(f, numbers[i]);
        send_to(f, 1, i);
        expect_nothing(f, 3);
        upcall_table_recv_wait(f->table, 3);
        set_handlers(f, 4);
        poll_block();
        expect_batch(f, 3, i, 1);
        expect_nothing(f, 3);
    }
}

static void
same_number_of_handlers_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 1);
    send_to(f, 1, 2);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    set_handlers(f, 2);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(unit_view_seq(&view), 2);
}

/* The generation of handlers tells them from those before, whose tokens may
 * still be in the words of owners.  0 is no owner's. */
static void
generation_differs_from_the_last_one(void **state)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    static const uint32_t last[] = { 0, 1, UPCALL_MAX_GENERATION - 1 };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
        f->table->set_generation = last[i];
        set_handlers(f, 2 + i);
        assert_int_not_equal(f->table->set_generation, last[i]);
        assert_in_range(f->table->set_generation, 1, UPCALL_MAX_GENERATION);
    }
}

static void
no_upcall_is_lost_when_handlers_change(void **state)
{
    static const uint32_t n_handlers[] = { 0, 1, 4, 2, 0, 3, 1, 0, 2 };
    enum { N_PORTS = 5 };
    struct fixture *f = *state;
    uint64_t n_sent[N_PORTS] = { 0 }, n_received[N_PORTS] = { 0 };
    uint32_t pids[N_PORTS];
    int again = 2;

    for (uint32_t port = 0; port < N_PORTS; port++) {
        pids[port] = add_port(f, port)->pid;
    }
    for (size_t i = 0; i < ARRAY_SIZE(n_handlers); i++) {
        /* Some upcalls come before the change, some after it.  During the
         * change, old handlers hold some of the ports. */
        for (int when = 0; when < 2; when++) {
            for (uint32_t port = 0; port < N_PORTS; port++) {
                for (int j = 0; j < 30; j++) {
                    send_to(f, port, port * 10000 + n_sent[port]++);
                }
            }
            for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
                struct upcall_view views[UPCALL_BATCH];
                size_t n = recv_batch(f, h, views);

                for (size_t j = 0; j < n; j++) {
                    uint64_t seq = unit_view_seq(&views[j]);
                    uint64_t port = seq / 10000;

                    assert_true(port < N_PORTS);
                    assert_int_equal(seq % 10000, n_received[port]);
                    n_received[port]++;
                }
            }
            if (!when) {
                set_handlers(f, n_handlers[i]);
            }
        }
    }

    for (;;) {
        struct upcall_view views[UPCALL_BATCH];
        size_t n = 0;

        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            size_t n_batch = recv_batch(f, h, views);

            for (size_t j = 0; j < n_batch; j++) {
                uint64_t seq = unit_view_seq(&views[j]);

                assert_int_equal(seq % 10000, n_received[seq / 10000]);
                n_received[seq / 10000]++;
            }
            n += n_batch;
        }
        if (!n && !again--) {
            break;
        }

        /* Handlers that went for good release their channels when nobody can
         * be using them any more. */
        unit_rcu_barrier();
    }
    for (uint32_t port = 0; port < N_PORTS; port++) {
        assert_int_equal(n_received[port], n_sent[port]);
        assert_int_equal(upcall_table_get_pid(f->table, port), pids[port]);
        assert_int_equal(stats_of(f, port).received, n_sent[port]);
    }
}

static void
upcalls_lost_with_an_unfinished_batch_are_counted(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    for (uint64_t seq = 0; seq < 5; seq++) {
        send_to(f, 1, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    set_handlers(f, 1);
    unit_rcu_barrier();
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 4);
    upcall_table_info_uninit(&info);

    /* The port is not. */
    send_to(f, 1, 5);
    expect_batch(f, 0, 5, 1);
}

static void
batch_goes_on_when_its_handler_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    for (uint64_t seq = 0; seq < 5; seq++) {
        send_to(f, 1, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    assert_int_equal(unit_view_seq(&view), 0);

    /* Twice, and with the other engine. */
    set_handlers(f, 3);
    assert_int_equal(upcall_table_set_engine(f->table, &upcall_engine_uring),
                     0);
    send_to(f, 1, 5);

    /* Nobody else gets what follows before the batch is over and processed. */
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    for (uint64_t seq = 1; seq < 5; seq++) {
        assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
        assert_int_equal(unit_view_seq(&view), seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(f->table, 2, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    assert_int_equal(unit_view_seq(&view), 5);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.abandoned, 0);
    assert_string_equal(info.engine, "io_uring");
    upcall_table_info_uninit(&info);
}

static void
batch_stays_bounded_when_its_handler_goes_and_comes_back(void **state)
{
    enum { N_BEFORE = 10 };
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    add_port(f, 1);
    add_port(f, 2);
    for (uint64_t seq = 0; seq < N_BEFORE; seq++) {
        send_to(f, 1, seq);
    }
    for (uint64_t seq = 0; seq < N_BEFORE; seq++) {
        assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
        assert_int_equal(unit_view_seq(&view), seq);
    }

    /* The new handler does not go on with the batch of the old one, nor does
     * it begin one of its own before what the thread has is processed. */
    set_handlers(f, 1);
    set_handlers(f, 2);
    for (uint64_t seq = 0; seq < UPCALL_BATCH; seq++) {
        send_to(f, 2, seq);
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), EAGAIN);
    expect_batch(f, 1, 0, UPCALL_BATCH);

    /* The same if the thread finds that it has none. */
    send_to(f, 2, UPCALL_BATCH);
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);
    set_handlers(f, 1);
    assert_int_equal(upcall_table_recv(f->table, 1, &view), EAGAIN);
    set_handlers(f, 2);
    unit_rcu_barrier();
    send_to(f, 2, UPCALL_BATCH + 1);
    expect_batch(f, 1, UPCALL_BATCH + 1, 1);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(number_of_handlers_is_bounded),
        TEST(thread_without_a_handler_sleeps_until_there_is_one),
        TEST(same_number_of_handlers_changes_nothing),
        TEST(generation_differs_from_the_last_one),
        TEST(no_upcall_is_lost_when_handlers_change),
        TEST(upcalls_lost_with_an_unfinished_batch_are_counted),
        TEST(batch_goes_on_when_its_handler_is_replaced),
        TEST(batch_stays_bounded_when_its_handler_goes_and_comes_back),
    };

    unit_init("test-upcall-handlers");
    return cmocka_run_group_tests_name("upcall-handlers", tests, NULL, NULL);
}
