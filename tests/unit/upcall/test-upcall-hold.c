/* SPDX-License-Identifier: Apache-2.0 */

/* Channels that are held: the bridge does not know their ports yet.
 *
 * R3: no handler hands out an upcall of a held channel, whatever else happens:
 * its socket overruns, the handlers are replaced, the port goes.  U5: the loss
 * is counted for the port when the channel is released. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/upcall/table-fixture.h"
#include "upcall/upcall-engine.h"
#include "util.h"

#define GROUP 16
#define PORT 1

/* More readable channels than a handler takes events for at once. */
#define N_OTHERS 20

/* Adds port 'port_no', held for 'n' calls of release. */
static struct upcall_channel *
add_held(struct fixture *f, uint32_t port_no, unsigned int n)
{
    struct upcall_channel *channel = create_channel();

    unit_channel_join(channel, GROUP);
    upcall_table_hold(f->table, channel, n);
    assert_int_equal(upcall_table_add_queues(f->table, port_no, "held",
                                             &channel, 1), 0);
    return channel;
}

/* Fills the socket of PORT, whose channel has joined the group, until an
 * upcall is lost, as the kernel would.  Returns the number of upcalls. */
static size_t
overrun(struct fixture *f)
{
    struct unit_msg msg;
    size_t n = 0;

    unit_msg_upcall(&msg, 0, 10000);
    do {
        unit_msg_set_seq(&msg, n++);
        assert_int_equal(unit_send_group(f->sender, GROUP, msg.buf, msg.len),
                         0);
    } while (!stats_of(f, PORT).lost);
    unit_msg_uninit(&msg);
    return n;
}

static void
expect_nothing_at_all(struct fixture *f)
{
    for (int i = 0; i < 2; i++) {
        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            expect_nothing(f, h);
        }
    }
}

/* Receives what there is, of PORT, in order.  Returns the number of upcalls,
 * which 'first' and those that follow are. */
static size_t
receive_all(struct fixture *f, uint64_t first)
{
    uint64_t next = first;
    size_t n;

    do {
        n = 0;
        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            struct upcall_view views[UPCALL_BATCH];
            size_t n_batch = recv_batch(f, h, views);

            for (size_t i = 0; i < n_batch; i++) {
                assert_int_equal(unit_view_seq(&views[i]), next++);
            }
            n += n_batch;
        }
    } while (n);
    return next - first;
}

/* Checks that 'n_sent' upcalls of PORT were sent, and are received or counted
 * as lost once it is released. */
static void
check_released(struct fixture *f, size_t n_sent)
{
    struct upcall_channel_stats stats;
    size_t n = receive_all(f, 0);

    stats = stats_of(f, PORT);
    assert_int_equal(stats.received, n);
    assert_int_equal(stats.overruns, 1);
    assert_true(stats.lost > 0);
    assert_int_equal(n + stats.lost, n_sent);

    /* It works as any other from now on. */
    send_to(f, PORT, 77);
    assert_int_equal(receive_all(f, 77), 1);
}

static void
check_overrun(struct fixture *f, const struct upcall_engine_class *engine)
{
    size_t n_sent;

    if (engine->probe && engine->probe()) {
        skip();
    }
    assert_int_equal(upcall_table_set_engine(f->table, engine), 0);
    set_handlers(f, 2);
    add_held(f, PORT, 2);
    send_to(f, PORT, 0);
    expect_nothing_at_all(f);
    assert_true(upcall_table_release(f->table));
    expect_nothing_at_all(f);
    upcall_table_purge(f->table);

    n_sent = overrun(f);
    expect_nothing_at_all(f);
    assert_int_equal(stats_of(f, PORT).received, 0);
    assert_false(upcall_table_release(f->table));
    check_released(f, n_sent);
}

static void
overrun_releases_nothing(void **state)
{
    check_overrun(*state, &upcall_engine_epoll);
}

static void
overrun_releases_nothing_with_io_uring(void **state)
{
    check_overrun(*state, &upcall_engine_uring);
}

static void
handlers_that_change_leave_it_held(void **state)
{
    struct fixture *f = *state;
    size_t n_sent;

    set_handlers(f, 2);
    add_held(f, PORT, 1);
    n_sent = overrun(f);
    expect_nothing_at_all(f);

    /* The first event, which is in the socket still, is one of each set. */
    set_handlers(f, 4);
    expect_nothing_at_all(f);
    assert_int_equal(upcall_table_set_group_size(f->table, 1), 0);
    expect_nothing_at_all(f);
    if (!upcall_engine_uring.probe()) {
        assert_int_equal(upcall_table_set_engine(f->table,
                                                 &upcall_engine_uring), 0);
        expect_nothing_at_all(f);
    }
    set_handlers(f, 1);
    unit_rcu_barrier();
    expect_nothing_at_all(f);
    assert_int_equal(stats_of(f, PORT).received, 0);
    assert_false(upcall_table_release(f->table));
    check_released(f, n_sent);
}

static void
channel_that_is_released_without_handlers_waits_for_them(void **state)
{
    struct fixture *f = *state;
    size_t n_sent;

    set_handlers(f, 2);
    add_held(f, PORT, 2);
    n_sent = overrun(f);
    assert_true(upcall_table_release(f->table));
    set_handlers(f, 0);
    assert_false(upcall_table_release(f->table));
    unit_rcu_barrier();
    set_handlers(f, 3);
    check_released(f, n_sent);
}

static void
port_that_goes_while_it_is_held_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    size_t n_fds;

    set_handlers(f, 2);
    unit_rcu_barrier();
    n_fds = unit_count_fds();
    add_held(f, PORT, 2);
    overrun(f);
    upcall_table_del(f->table, PORT);
    expect_nothing_at_all(f);
    assert_false(upcall_table_release(f->table));
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);

    /* One of the same number is held on its own. */
    add_held(f, PORT, 1);
    send_to(f, PORT, 5);
    expect_nothing_at_all(f);
    assert_false(upcall_table_release(f->table));
    assert_int_equal(receive_all(f, 5), 1);
}

/* A handler with many events takes the urgent channel without one. */
static void
urgent_channel_is_held_like_any_other(void **state)
{
    struct fixture *f = *state;
    struct upcall_view views[UPCALL_BATCH];
    size_t n, n_total = 0;

    set_handlers(f, 1);
    add_held(f, UPCALL_PORT_NONE, 1);
    send_to(f, UPCALL_PORT_NONE, 1000);
    for (uint32_t port_no = PORT; port_no < PORT + N_OTHERS; port_no++) {
        add_port(f, port_no);
        send_to(f, port_no, port_no);
    }
    do {
        n = recv_batch(f, 0, views);
        for (size_t i = 0; i < n; i++) {
            assert_true(unit_view_seq(&views[i]) < PORT + N_OTHERS);
        }
        n_total += n;
    } while (n);
    assert_int_equal(n_total, N_OTHERS);
    assert_false(upcall_table_release(f->table));
    expect_batch(f, 0, 1000, 1);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(overrun_releases_nothing),
        TEST(overrun_releases_nothing_with_io_uring),
        TEST(handlers_that_change_leave_it_held),
        TEST(channel_that_is_released_without_handlers_waits_for_them),
        TEST(port_that_goes_while_it_is_held_leaves_nothing),
        TEST(urgent_channel_is_held_like_any_other),
    };

    unit_init("test-upcall-hold");
    return cmocka_run_group_tests_name("upcall-hold", tests, NULL, NULL);
}
