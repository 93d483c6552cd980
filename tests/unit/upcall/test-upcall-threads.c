/* SPDX-License-Identifier: Apache-2.0 */

/* U4: handlers that sleep, and what wakes them. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "ovs-thread.h"
#include "harness/descriptors.h"
#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "util.h"

#define N_THREADS 4

struct fixture {
    struct upcall_table *table;
    struct unit_handlers handlers;
    int sender;
    atomic_count n_processed;
    atomic_count last_handler;  /* That processed something. */

    /* The handlers that get upcalls BLOCK(0) and BLOCK(1) wait here. */
    struct latch go[2];
    atomic_count n_blocked;
};

/* Sequence numbers of upcalls that take long to process. */
#define BLOCK(I) (999999 + (I))

static void
process(uint32_t handler, const struct upcall_view views[], size_t n, void *f_)
{
    struct fixture *f = f_;

    for (size_t i = 0; i < n; i++) {
        uint64_t seq = unit_view_seq(&views[i]);

        if (seq >= BLOCK(0)) {
            atomic_count_inc(&f->n_blocked);
            unit_wait_until(latch_is_set(&f->go[seq - BLOCK(0)]));
        }
    }
    atomic_count_set(&f->last_handler, handler);
    for (size_t i = 0; i < n; i++) {
        atomic_count_inc(&f->n_processed);
    }
}

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    atomic_count_init(&f->n_processed, 0);
    atomic_count_init(&f->last_handler, 0);
    atomic_count_init(&f->n_blocked, 0);
    latch_init(&f->go[0]);
    latch_init(&f->go[1]);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    upcall_table_destroy(f->table);
    close(f->sender);
    latch_destroy(&f->go[0]);
    latch_destroy(&f->go[1]);
    unit_rcu_barrier();
    free(f);
    return 0;
}

static void
add_port(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    assert_int_equal(upcall_table_add_queues(f->table, port_no, "port",
                                             &channel, 1), 0);
}

static void
send_to(struct fixture *f, uint32_t port_no, uint64_t seq)
{
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, port_no), seq);
}

static void
start(struct fixture *f, uint32_t n)
{
    assert_int_equal(upcall_table_set_handlers(f->table, n), 0);
    unit_handlers_start(&f->handlers, f->table, n, process, f);
}

static void
wait_asleep(struct fixture *f)
{
    unit_wait_until(unit_handlers_are_in_epoll_wait(&f->handlers));
}

static void
wait_processed(struct fixture *f, unsigned int n)
{
    unit_wait_until(atomic_count_get(&f->n_processed) == n);
}

static struct upcall_handler_stats
sum_stats(struct fixture *f)
{
    struct upcall_handler_stats sum = { .wakeups = 0 };
    struct upcall_table_info info;

    upcall_table_get_info(f->table, &info);
    for (size_t i = 0; i < info.n_handlers; i++) {
        sum.wakeups += info.handlers[i].wakeups;
        sum.empty_wakeups += info.handlers[i].empty_wakeups;
        sum.batches += info.handlers[i].batches;
        sum.upcalls += info.handlers[i].upcalls;
    }
    upcall_table_info_uninit(&info);
    return sum;
}

static void
sleeping_handler_is_woken_by_an_upcall(void **state)
{
    struct fixture *f = *state;

    add_port(f, 1);
    start(f, 1);
    for (unsigned int i = 0; i < 20; i++) {
        wait_asleep(f);
        send_to(f, 1, i);
        wait_processed(f, i + 1);
    }
    unit_handlers_stop(&f->handlers);
    assert_int_equal(sum_stats(f).wakeups, 20);
    assert_int_equal(sum_stats(f).upcalls, 20);
}

static void
sleeping_handler_is_woken_by_the_latch_that_ends_it(void **state)
{
    struct fixture *f = *state;

    add_port(f, 1);
    start(f, N_THREADS);
    wait_asleep(f);
    unit_handlers_stop(&f->handlers);
    assert_int_equal(sum_stats(f).wakeups, 0);
}

static void
one_upcall_wakes_one_of_the_sleeping_handlers(void **state)
{
    struct fixture *f = *state;
    enum { N_ROUNDS = 100 };

    /* More than one port, as the herd would be of all handlers for any. */
    add_port(f, 1);
    add_port(f, 2);
    start(f, N_THREADS);
    wait_asleep(f);
    for (unsigned int i = 0; i < N_ROUNDS; i++) {
        uint64_t n_sleeps[N_THREADS];
        unsigned int n_woken = 0;

        for (uint32_t j = 0; j < N_THREADS; j++) {
            n_sleeps[j] = unit_handler_n_sleeps(&f->handlers, j);
        }
        send_to(f, 1 + i % 2, i);
        wait_processed(f, i + 1);
        wait_asleep(f);

        /* Nor did the kernel wake a thread and put it to sleep again because
         * it found nothing. */
        for (uint32_t j = 0; j < N_THREADS; j++) {
            n_woken += unit_handler_n_sleeps(&f->handlers, j) != n_sleeps[j];
        }
        assert_int_equal(n_woken, 1);
    }
    assert_int_equal(sum_stats(f).wakeups, N_ROUNDS);
    assert_int_equal(sum_stats(f).empty_wakeups, 0);
    assert_int_equal(sum_stats(f).batches, N_ROUNDS);
    unit_handlers_stop(&f->handlers);
}

static void
port_added_while_handlers_sleep_wakes_them_if_it_has_upcalls(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel;

    start(f, N_THREADS);
    wait_asleep(f);
    assert_int_equal(upcall_channel_create(&channel), 0);
    unit_send_upcall(f->sender, channel->pid, 1);
    assert_int_equal(upcall_table_add_queues(f->table, 1, "port", &channel, 1),
                     0);
    wait_processed(f, 1);

    /* And for those that come later. */
    wait_asleep(f);
    send_to(f, 1, 2);
    wait_processed(f, 2);
    unit_handlers_stop(&f->handlers);
}

static void
busy_handler_keeps_its_port_and_no_other(void **state)
{
    struct fixture *f = *state;

    add_port(f, 1);
    add_port(f, 2);
    start(f, 2);
    wait_asleep(f);
    send_to(f, 1, BLOCK(0));
    unit_wait_until(atomic_count_get(&f->n_blocked) == 1);

    /* The other handler serves the other port, */
    send_to(f, 2, 1);
    wait_processed(f, 1);
    uint32_t other = atomic_count_get(&f->last_handler);

    /* but does not touch what the busy one owns. */
    unit_wait_until(unit_handler_is_in_epoll_wait(&f->handlers, other));
    send_to(f, 1, 2);
    send_to(f, 2, 3);
    wait_processed(f, 2);
    unit_wait_until(unit_handler_is_in_epoll_wait(&f->handlers, other));
    assert_int_equal(atomic_count_get(&f->n_processed), 2);

    /* A free handler does that when the busy one releases the channel. */
    latch_set(&f->go[0]);
    wait_processed(f, 4);
    unit_handlers_stop(&f->handlers);
}

static void
upcall_of_a_busy_port_wakes_nobody(void **state)
{
    struct fixture *f = *state;
    uint64_t n_sleeps;
    uint32_t idle;

    add_port(f, 1);
    add_port(f, 2);
    start(f, 2);
    wait_asleep(f);
    send_to(f, 1, BLOCK(0));
    unit_wait_until(atomic_count_get(&f->n_blocked) == 1);
    send_to(f, 2, 1);
    wait_processed(f, 1);
    idle = atomic_count_get(&f->last_handler);
    unit_wait_until(unit_handler_is_in_epoll_wait(&f->handlers, idle));

    /* Had they woken it, it would have gone to sleep more often by the time
     * that it is seen asleep.  What it does when it is awake is not looked at:
     * there it may sleep for a lock that another thread has. */
    n_sleeps = unit_handler_n_sleeps(&f->handlers, idle);
    for (unsigned int i = 0; i < 50; i++) {
        send_to(f, 1, 2 + i);
        unit_wait_until(unit_handler_is_in_epoll_wait(&f->handlers, idle));
    }
    assert_int_equal(unit_handler_n_sleeps(&f->handlers, idle), n_sleeps);

    send_to(f, 2, 100);
    wait_processed(f, 2);
    latch_set(&f->go[0]);
    wait_processed(f, 53);
    assert_int_equal(sum_stats(f).empty_wakeups, 0);
    unit_handlers_stop(&f->handlers);
}

/* Takes a batch for handler 'handler', in the thread of the test. */
static size_t
take_batch(struct fixture *f, uint32_t handler)
{
    struct upcall_view view;
    size_t n = 0;

    while (!upcall_table_recv(f->table, handler, &view)) {
        n++;
    }
    return n;
}

/* A handler with more than it can do at once gets help. */
static void
sleeping_handler_is_kicked_for_the_run_queue(void **state)
{
    enum { N_MSGS = 200 };
    struct fixture *f = *state;

    /* The test is handler 1, and takes both ports while there is no other. */
    for (uint32_t port = 1; port <= 2; port++) {
        add_port(f, port);
        for (unsigned int i = 0; i < N_MSGS; i++) {
            send_to(f, port, i);
        }
    }
    assert_int_equal(upcall_table_set_handlers(f->table, 2), 0);
    assert_int_equal(take_batch(f, 1), UPCALL_BATCH);
    unit_handlers_start(&f->handlers, f->table, 1, process, f);
    wait_asleep(f);
    assert_int_equal(atomic_count_get(&f->n_processed), 0);

    /* Now there is: it takes one port and leaves the other, for which it wakes
     * the sleeper. */
    size_t n = take_batch(f, 1);
    assert_true(n > 0);
    unit_wait_until(atomic_count_get(&f->n_processed) > 0);
    while (UPCALL_BATCH + n + atomic_count_get(&f->n_processed)
           < 2 * N_MSGS) {
        n += take_batch(f, 1);
    }
    unit_handlers_stop(&f->handlers);
    assert_int_equal(sum_stats(f).upcalls, 2 * N_MSGS);
}

static void
sleeping_handlers_notice_that_they_were_replaced(void **state)
{
    struct fixture *f = *state;
    size_t n_fds;

    add_port(f, 1);
    start(f, N_THREADS);
    wait_asleep(f);
    n_fds = unit_count_fds();

    /* The old epoll instance goes when the last sleeper has left it and the
     * handlers that stay have looked. */
    assert_int_equal(upcall_table_set_handlers(f->table, 2), 0);
    unit_wait_until(unit_count_fds() == n_fds);

    for (unsigned int i = 0; i < 10; i++) {
        unit_wait_until(unit_handler_is_in_epoll_wait(&f->handlers, 0)
                        && unit_handler_is_in_epoll_wait(&f->handlers, 1));
        send_to(f, 1, i);
        wait_processed(f, i + 1);
    }
    assert_int_equal(sum_stats(f).upcalls, 10);

    /* With no handler left the threads still heed their latch. */
    assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
    unit_wait_until(unit_count_fds() == n_fds - 3);
    send_to(f, 1, 11);
    unit_handlers_stop(&f->handlers);
    assert_int_equal(atomic_count_get(&f->n_processed), 10);

    /* And the upcall waits for the next ones. */
    start(f, 1);
    wait_processed(f, 11);
    unit_handlers_stop(&f->handlers);
}

static void
deleted_port_is_dropped_by_the_handler_that_served_it(void **state)
{
    struct fixture *f = *state;
    size_t n_fds;

    start(f, N_THREADS);
    wait_asleep(f);
    n_fds = unit_count_fds();
    for (unsigned int i = 0; i < 20; i++) {
        add_port(f, 1);
        send_to(f, 1, i);
        wait_processed(f, i + 1);
        upcall_table_del(f->table, 1);
        unit_wait_until(unit_count_fds() == n_fds);
    }
    unit_handlers_stop(&f->handlers);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(sleeping_handler_is_woken_by_an_upcall),
        TEST(sleeping_handler_is_woken_by_the_latch_that_ends_it),
        TEST(one_upcall_wakes_one_of_the_sleeping_handlers),
        TEST(port_added_while_handlers_sleep_wakes_them_if_it_has_upcalls),
        TEST(busy_handler_keeps_its_port_and_no_other),
        TEST(upcall_of_a_busy_port_wakes_nobody),
        TEST(sleeping_handler_is_kicked_for_the_run_queue),
        TEST(sleeping_handlers_notice_that_they_were_replaced),
        TEST(deleted_port_is_dropped_by_the_handler_that_served_it),
    };

    unit_init("test-upcall-threads");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-threads", tests, NULL, NULL);
}
