/* SPDX-License-Identifier: Apache-2.0 */

/* R4: a process that ends leaves the upcalls that wait to the next one, and
 * processes what it has taken or read ahead. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/made-up-clock.h"
#include "harness/unit.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "upcall/upcall-engine.h"
#include "unit/upcall/table-fixture.h"

/* No time passes for the thread that waits, or too much. */
static bool times_out;

/* When it was to stop waiting. */
static struct timespec waited_until;

/* Some thread has waited. */
static atomic_bool waits;

int __wrap_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *,
                                  const struct timespec *);

int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                              const struct timespec *until)
{
    waited_until = *until;
    atomic_store(&waits, true);
    return times_out ? ETIMEDOUT : pthread_cond_wait(cond, mutex);
}

/* The batch has been processed. */
static atomic_bool processed;

static bool
is_set(atomic_bool *flag)
{
    bool value;

    atomic_read(flag, &value);
    return value;
}

static void *
halt(void *f_)
{
    const struct fixture *f = f_;

    upcall_table_halt(f->table, true);
    unit_check(is_set(&processed));
    return NULL;
}

static void
halt_waits_for_batches_that_are_processed(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    pthread_t thread;

    atomic_store(&processed, false);
    atomic_store(&waits, false);
    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 0);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(pthread_create(&thread, NULL, halt, f), 0);

    /* The batch ends, and is processed after that. */
    unit_wait_until(is_set(&waits));
    while (!upcall_table_recv(f->table, 0, &view)) {
        continue;
    }
    atomic_store(&processed, true);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    assert_int_equal(pthread_join(thread, NULL), 0);

    /* What comes waits. */
    send_to(f, 1, 1);
    expect_nothing(f, 0);
    expect_nothing(f, 1);
    assert_true(stats_of(f, 1).backlog > 0);
}

static void
halt_does_not_wait_for_idle_handlers(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 2);
    add_port(f, 1);
    send_to(f, 1, 0);
    expect_batch(f, 0, 0, 1);
    expect_nothing(f, 0);
    upcall_table_halt(f->table, true);
    send_to(f, 1, 1);
    expect_nothing(f, 0);
}

/* A signal may end the process in a thread of a handler. */
static void
handler_that_halts_does_not_wait_for_itself(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    send_to(f, 1, 0);
    expect_batch(f, 0, 0, 1);
    upcall_table_halt(f->table, true);
    send_to(f, 1, 1);
    expect_nothing(f, 0);
}

static void
halt_does_not_wait_for_ever(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    pthread_t thread;

    set_handlers(f, 1);
    add_port(f, 1);
    send_to(f, 1, 0);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    times_out = true;
    unit_made_up_advance(12345678);
    atomic_store(&processed, true);
    assert_int_equal(pthread_create(&thread, NULL, halt, f), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    times_out = false;
    assert_int_equal(waited_until.tv_sec * 1000000
                     + waited_until.tv_nsec / 1000,
                     unit_made_up_usec() + 1000000);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
}

#define N_LOOKS 2000

static void *
look_for_upcalls(void *f_)
{
    struct fixture *f = f_;
    struct upcall_view view;

    for (int i = 0; i < N_LOOKS; i++) {
        unit_check(upcall_table_recv(f->table, 0, &view) == EAGAIN);
    }
    atomic_store(&processed, true);
    return NULL;
}

/* For the thread sanitizer: a thread may begin a batch while another one looks
 * whether it is busy. */
static void
halt_may_meet_a_handler_that_looks_for_upcalls(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    set_handlers(f, 1);
    atomic_store(&processed, false);
    assert_int_equal(pthread_create(&thread, NULL, look_for_upcalls, f), 0);
    do {
        upcall_table_halt(f->table, true);
    } while (!is_set(&processed));
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* R6: the next process did not serve. */
static void
handlers_go_on_with_what_has_waited(void **state)
{
    struct fixture *f = *state;

    set_handlers(f, 1);
    add_port(f, 1);
    upcall_table_halt(f->table, true);
    send_to(f, 1, 0);
    expect_nothing(f, 0);
    upcall_table_go_on(f->table);
    expect_batch(f, 0, 0, 1);
}

/* Upcalls that were read ahead: several batches, and some that wait on the
 * socket behind them. */
#define N_AHEAD 200
#define N_BEHIND 10

/* Adds a tunnel port, whose upcalls are read ahead. */
static struct upcall_channel *
add_tunnel(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel *channel = add_port(f, port_no);

    channel->senders = UPCALL_SENDERS_TUNNEL;
    return channel;
}

/* Receives the next upcall of 'handler', which is number '*seq', unless the
 * batch is over.  Returns false if it is. */
static bool
recv_next(struct fixture *f, uint32_t handler, uint64_t *seq)
{
    struct upcall_view view;

    if (upcall_table_recv(f->table, handler, &view)) {
        return false;
    }
    assert_int_equal(unit_view_seq(&view), *seq);
    ++*seq;
    return true;
}

/* Receives with 'handler' up to number N_AHEAD, and processes all of it. */
static void
take_the_rest(struct fixture *f, uint32_t handler, uint64_t *seq)
{
    while (*seq < N_AHEAD) {
        recv_next(f, handler, seq);
    }
    assert_false(recv_next(f, handler, seq));
    atomic_store(&processed, true);
    expect_nothing(f, handler);
}

static void
upcalls_that_were_read_ahead_are_handed_out(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    uint64_t seq = 0;

    atomic_store(&processed, false);
    atomic_store(&waits, false);
    set_handlers(f, 1);
    add_tunnel(f, 1);
    for (int i = 0; i < N_AHEAD; i++) {
        send_to(f, 1, i);
    }
    assert_true(recv_next(f, 0, &seq));
    for (int i = 0; i < N_BEHIND; i++) {
        send_to(f, 1, N_AHEAD + i);
    }
    assert_int_equal(pthread_create(&thread, NULL, halt, f), 0);
    unit_wait_until(is_set(&waits));
    take_the_rest(f, 0, &seq);
    assert_int_equal(pthread_join(thread, NULL), 0);

    /* Nothing more was read. */
    assert_int_equal(stats_of(f, 1).received, N_AHEAD);
    assert_true(stats_of(f, 1).backlog > 0);

    upcall_table_go_on(f->table);
    expect_batch(f, 0, N_AHEAD, N_BEHIND);
}

/* All handlers are idle. */
static void
halt_waits_for_upcalls_in_the_run_queue(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    uint64_t seq = 0;

    atomic_store(&processed, false);
    atomic_store(&waits, false);
    set_handlers(f, 2);
    add_tunnel(f, 1);
    for (int i = 0; i < N_AHEAD; i++) {
        send_to(f, 1, i);
    }
    while (recv_next(f, 1, &seq)) {
        continue;
    }
    set_handlers(f, 1);
    unit_rcu_barrier();
    add_tunnel(f, 2);
    send_to(f, 2, 0);

    assert_int_equal(pthread_create(&thread, NULL, halt, f), 0);
    unit_wait_until(is_set(&waits));
    take_the_rest(f, 0, &seq);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(stats_of(f, 2).received, 0);
    upcall_table_go_on(f->table);
    expect_batch(f, 0, 0, 1);
}

/* Receives what handler 'handler' finds in a number of batches that suffices
 * for everything. */
static void
take_all(struct fixture *f, uint32_t handler)
{
    struct upcall_view view;

    for (int i = 0; i < 200; i++) {
        while (!upcall_table_recv(f->table, handler, &view)) {
            continue;
        }
    }
}

/* Handler 0 has an event of a port, which will not come again, when it serves
 * what another handler has read ahead, and meanwhile the table goes on. */
static void
event_is_kept_if_the_table_goes_on_in_a_batch(void **state)
{
    enum { FIRST = 1, LAST = 8, QUIET };
    struct fixture *f = *state;
    struct upcall_view view;

    set_handlers(f, 2);
    for (uint32_t port_no = FIRST; port_no <= LAST; port_no++) {
        add_tunnel(f, port_no);
    }
    add_port(f, QUIET);
    upcall_table_recv_wait(f->table, 0);
    send_to(f, QUIET, 0);
    poll_block();

    /* More tunnels than have a turn in one batch: some are in the run queue
     * while the handler is in a batch. */
    for (uint32_t port_no = FIRST; port_no <= LAST; port_no++) {
        for (int i = 0; i < N_AHEAD; i++) {
            send_to(f, port_no, i);
        }
    }
    for (int i = 0; i < LAST; i++) {
        while (!upcall_table_recv(f->table, 1, &view)) {
            continue;
        }
    }
    assert_int_equal(upcall_table_recv(f->table, 1, &view), 0);

    upcall_table_halt(f->table, false);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    upcall_table_go_on(f->table);
    take_all(f, 0);
    take_all(f, 1);
    take_all(f, 0);
    assert_int_equal(stats_of(f, QUIET).received, 1);
}

/* Threads. */

#define N_TUNNELS 6
#define N_OTHERS 6
#define N_HANDLERS 4
#define N_ROUNDS 20
#define SEQ_BITS 32

struct run {
    struct unit_handlers handlers;
    uint64_t n_sent;            /* To each port. */
    atomic_count n_processed;
    uint64_t next[N_TUNNELS + N_OTHERS];    /* Owned by a channel's owner. */
};

static void
process(uint32_t handler OVS_UNUSED, const struct upcall_view views[],
        size_t n, void *run_)
{
    struct run *run = run_;

    for (size_t i = 0; i < n; i++) {
        uint64_t seq = unit_view_seq(&views[i]);
        uint32_t port_no = seq >> SEQ_BITS;

        unit_check((uint32_t) seq == run->next[port_no]++);
        atomic_count_inc(&run->n_processed);
    }
}

/* Upcalls wait on tunnel ports and others, and the table is halted while the
 * handlers, which are asleep, at work or about to sleep, serve them. */
static void
handlers_leave_nothing_that_they_have_read(struct fixture *f,
                                           uint32_t group_size)
{
    struct upcall_channel *channels[N_TUNNELS + N_OTHERS];
    struct run *run = xzalloc(sizeof *run);

    assert_int_equal(upcall_table_set_group_size(f->table, group_size), 0);
    set_handlers(f, N_HANDLERS);
    for (uint32_t i = 0; i < ARRAY_SIZE(channels); i++) {
        channels[i] = i < N_TUNNELS ? add_tunnel(f, i) : add_port(f, i);
    }
    unit_handlers_start(&run->handlers, f->table, N_HANDLERS, process, run);
    for (int round = 0; round < N_ROUNDS; round++) {
        unsigned int n_before = atomic_count_get(&run->n_processed);
        unsigned int n_received = 0, n_now;

        for (int i = 0; i < N_AHEAD; i++) {
            for (uint32_t j = 0; j < ARRAY_SIZE(channels); j++) {
                send_to(f, j, (uint64_t) j << SEQ_BITS | run->n_sent);
            }
            run->n_sent++;
        }
        unit_wait_until(atomic_count_get(&run->n_processed)
                        > n_before + round * 50);
        upcall_table_halt(f->table, true);
        n_now = atomic_count_get(&run->n_processed);
        for (uint32_t i = 0; i < ARRAY_SIZE(channels); i++) {
            n_received += stats_of(f, i).received;
            assert_int_equal(channels[i]->fq.n, 0);
        }
        assert_int_equal(n_received, n_now);
        upcall_table_go_on(f->table);
        unit_wait_until(atomic_count_get(&run->n_processed)
                        == run->n_sent * ARRAY_SIZE(channels));
    }
    unit_handlers_stop(&run->handlers);
    free(run);
}

static void
handlers_of_a_group_leave_nothing_that_they_have_read(void **state)
{
    handlers_leave_nothing_that_they_have_read(*state, N_HANDLERS);
}

static void
handlers_of_groups_leave_nothing_that_they_have_read(void **state)
{
    handlers_leave_nothing_that_they_have_read(*state, 1);
}

static void
handlers_with_io_uring_leave_nothing_that_they_have_read(void **state)
{
    struct fixture *f = *state;

    if (upcall_engine_uring.probe()) {
        skip();
    }
    assert_int_equal(upcall_table_set_engine(f->table, &upcall_engine_uring),
                     0);
    handlers_leave_nothing_that_they_have_read(f, 2);
}

#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, table_setup, table_teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(halt_waits_for_batches_that_are_processed),
        TEST(halt_does_not_wait_for_idle_handlers),
        TEST(handler_that_halts_does_not_wait_for_itself),
        TEST(halt_does_not_wait_for_ever),
        TEST(halt_may_meet_a_handler_that_looks_for_upcalls),
        TEST(handlers_go_on_with_what_has_waited),
        TEST(upcalls_that_were_read_ahead_are_handed_out),
        TEST(halt_waits_for_upcalls_in_the_run_queue),
        TEST(event_is_kept_if_the_table_goes_on_in_a_batch),
        TEST(handlers_of_a_group_leave_nothing_that_they_have_read),
        TEST(handlers_of_groups_leave_nothing_that_they_have_read),
        TEST(handlers_with_io_uring_leave_nothing_that_they_have_read),
    };

    unit_init("test-upcall-halt");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-halt", tests, NULL, NULL);
}
