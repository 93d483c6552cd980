/* SPDX-License-Identifier: Apache-2.0 */

/* U4: poll() of a thread that armed it for a handler, which must be to its
 * caller as any other poll(). */

#include <config.h>
#include "upcall/upcall-poll.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-stats.h"
#include "util.h"

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    struct upcall_groups *groups;
    struct upcall_sched *sched;
    struct upcall_handler *handler;
    struct upcall_channel *channel;
    int epoll_fd;
    int sender;
    int pipes[2][2];
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_rcu_barrier();
    f->n_fds = unit_count_fds();

    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_groups_create(1, 4, 4, &f->groups), 0);
    f->sched = upcall_groups_sched(f->groups, 0);
    assert_int_equal(upcall_handler_create(f->table, 0, 1, f->groups,
                                           &upcall_engine_epoll,
                                           &f->handler), 0);
    assert_int_equal(upcall_channel_create(&f->channel), 0);
    assert_int_equal(upcall_sched_add(f->sched, f->channel), 0);
    f->epoll_fd = upcall_sched_epoll_fd(f->sched);
    f->sender = unit_sender_open();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pipe(f->pipes[i]), 0);
    }
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    /* A thread that never polls again keeps what it armed; poll() once. */
    struct pollfd none = { .fd = -1 };
    __wrap_poll(&none, 1, 0);

    for (int i = 0; i < 2; i++) {
        close(f->pipes[i][0]);
        close(f->pipes[i][1]);
    }
    close(f->sender);
    upcall_channel_unref(f->channel);
    upcall_handler_unref(f->handler);
    upcall_groups_unref(f->groups);
    upcall_table_destroy(f->table);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

static uint64_t
n_wakeups(const struct fixture *f)
{
    struct upcall_handler_stats stats;

    upcall_handler_get_stats(f->handler, &stats);
    return stats.wakeups;
}

static void
write_byte(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

/* Polls the handler and two latches, the reading ends of the pipes.  Stores
 * which of the three are ready. */
static int
poll_three(struct fixture *f, bool arm, int timeout, bool ready[3])
{
    struct pollfd fds[] = {
        { .fd = f->pipes[0][0], .events = POLLIN, .revents = POLLERR },
        { .fd = f->epoll_fd, .events = POLLIN, .revents = POLLERR },
        { .fd = f->pipes[1][0], .events = POLLIN, .revents = POLLERR },
    };
    int n;

    if (arm) {
        upcall_poll_arm(f->handler);
    }
    n = __wrap_poll(fds, ARRAY_SIZE(fds), timeout);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        assert_true(!fds[i].revents || fds[i].revents == POLLIN);
        ready[i] = fds[i].revents != 0;
    }
    assert_int_equal(fds[1].fd, f->epoll_fd);
    assert_int_equal(n, ready[0] + ready[1] + ready[2]);
    return n;
}

static void
upcall_makes_the_handler_readable(void **state)
{
    struct fixture *f = *state;
    bool ready[3];

    unit_send_upcall(f->sender, f->channel->pid, 1);
    assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
    assert_true(ready[1]);
    assert_int_equal(n_wakeups(f), 1);

    /* The event is the handler's now. */
    assert_true(upcall_handler_is_ready(f->handler, false));
}

static void
run_queue_makes_the_handler_readable(void **state)
{
    struct fixture *f = *state;
    bool ready[3];

    /* Without an event: it was filled before the handler looked. */
    assert_true(upcall_channel_take(f->channel, upcall_token(1, 7)));
    ovs_refcount_ref(&f->channel->refcount);
    assert_true(upcall_sched_push(f->sched, f->channel, upcall_token(1, 7)));
    assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
    assert_true(ready[1]);
    assert_ptr_equal(upcall_sched_pop(f->sched, upcall_token(1, 0), NULL),
                     f->channel);
    upcall_channel_unref(f->channel);
    assert_int_equal(poll_three(f, true, 0, ready), 0);
}

static void
nothing_ready_times_out(void **state)
{
    struct fixture *f = *state;
    long long int start = unit_now();
    bool ready[3];

    assert_int_equal(poll_three(f, true, 50, ready), 0);
    assert_true(unit_now() - start >= 49);
    assert_int_equal(poll_three(f, true, 0, ready), 0);
    assert_int_equal(n_wakeups(f), 0);
}

static void
latches_wake_as_well(void **state)
{
    struct fixture *f = *state;
    bool ready[3];

    write_byte(f->pipes[1][1]);
    assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
    assert_true(ready[2]);
    assert_int_equal(n_wakeups(f), 0);

    /* For as long as they are readable, like poll(). */
    write_byte(f->pipes[0][1]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 2);
        assert_true(ready[0] && ready[2]);
    }
    unit_send_upcall(f->sender, f->channel->pid, 1);
    unit_wait_until(poll_three(f, true, UNIT_PATIENCE, ready) == 3);
}

/* What poll() says of a latch alone, without waiting. */
static bool
is_set(int fd)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN, .revents = POLLERR };
    int n = __wrap_poll(&pfd, 1, 0);

    assert_int_equal(pfd.revents, n ? POLLIN : 0);
    return n > 0;
}

/* So a thread that never sleeps ends soon, and one that sleeps at once. */
static void
latch_that_is_set_is_seen_late_but_soon(void **state)
{
    struct fixture *f = *state;
    int latch = f->pipes[0][0];
    unsigned int n = 0;
    bool ready[3];

    /* A descriptor that was not polled with the handler is no latch. */
    write_byte(f->pipes[0][1]);
    assert_true(is_set(latch));
    assert_int_equal(poll_three(f, true, 0, ready), 1);
    assert_true(is_set(latch));

    /* Checks of another one do not count. */
    while (!is_set(latch)) {
        assert_false(is_set(f->pipes[1][0]));
        n++;
    }
    assert_int_equal(n, 15);
    assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
    assert_true(is_set(latch));
}

static void
retired_handler_is_readable(void **state)
{
    struct fixture *f = *state;
    bool ready[3];

    upcall_sched_retire(f->sched, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
        assert_true(ready[1]);
    }
}

static void
only_the_next_poll_is_the_handlers(void **state)
{
    struct fixture *f = *state;
    bool ready[3];

    /* Without arming, the event stays in the epoll instance. */
    unit_send_upcall(f->sender, f->channel->pid, 1);
    assert_int_equal(poll_three(f, false, UNIT_PATIENCE, ready), 1);
    assert_true(ready[1]);
    assert_false(upcall_handler_is_ready(f->handler, false));
    assert_int_equal(n_wakeups(f), 0);

    assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
    assert_int_equal(n_wakeups(f), 1);
    assert_int_equal(poll_three(f, false, 0, ready), 0);
}

static void
armed_poll_without_the_handler_is_plain(void **state)
{
    struct fixture *f = *state;
    struct pollfd pfd = { .fd = f->pipes[0][0], .events = POLLIN };

    unit_send_upcall(f->sender, f->channel->pid, 1);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(&pfd, 1, 0), 0);
    write_byte(f->pipes[0][1]);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(&pfd, 1, UNIT_PATIENCE), 1);
    assert_int_equal(pfd.revents, POLLIN);
    assert_false(upcall_handler_is_ready(f->handler, false));
}

static void
poll_for_anything_but_input_is_plain(void **state)
{
    struct fixture *f = *state;
    struct pollfd fds[] = {
        { .fd = f->epoll_fd, .events = POLLIN },
        { .fd = f->pipes[0][1], .events = POLLOUT },
    };

    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(fds, ARRAY_SIZE(fds), UNIT_PATIENCE), 1);
    assert_int_equal(fds[0].revents, 0);
    assert_int_equal(fds[1].revents, POLLOUT);

    unit_send_upcall(f->sender, f->channel->pid, 1);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(fds, ARRAY_SIZE(fds), UNIT_PATIENCE), 2);
    assert_int_equal(fds[0].revents, POLLIN);
}

static void
more_descriptors_than_fit_are_polled_plainly(void **state)
{
    struct fixture *f = *state;
    struct pollfd fds[64];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = (struct pollfd) {
            .fd = i ? dup(f->pipes[0][0]) : f->epoll_fd, .events = POLLIN,
        };
    }
    write_byte(f->pipes[0][1]);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(fds, ARRAY_SIZE(fds), UNIT_PATIENCE),
                     ARRAY_SIZE(fds));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        assert_int_equal(fds[i].revents, POLLIN);
        if (i) {
            close(fds[i].fd);
        }
    }
}

/* A poll() that does not wait for the latches is carried out plainly, and
 * leaves them to one that does. */
static void
latch_of_others_is_polled_plainly(void **state)
{
    struct fixture *f = *state;
    struct pollfd pfd = { .fd = f->epoll_fd, .events = POLLIN };
    bool ready[3];

    assert_int_equal(poll_three(f, true, 0, ready), 0);
    write_byte(f->pipes[0][1]);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(&pfd, 1, UNIT_PATIENCE), 1);
    assert_int_equal(pfd.revents, POLLIN);
    assert_int_equal(n_wakeups(f), 0);
    assert_int_equal(poll_three(f, true, UNIT_PATIENCE, ready), 1);
    assert_true(ready[0]);
}

static void
descriptor_that_is_there_twice_is_told_twice(void **state)
{
    struct fixture *f = *state;
    struct pollfd fds[] = {
        { .fd = f->pipes[0][0], .events = POLLIN },
        { .fd = f->epoll_fd, .events = POLLIN },
        { .fd = f->pipes[0][0], .events = POLLIN },
    };

    write_byte(f->pipes[0][1]);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(fds, ARRAY_SIZE(fds), UNIT_PATIENCE), 2);
    assert_int_equal(fds[0].revents, POLLIN);
    assert_int_equal(fds[1].revents, 0);
    assert_int_equal(fds[2].revents, POLLIN);
}

static void
descriptor_that_epoll_does_not_take_is_polled_plainly(void **state)
{
    struct fixture *f = *state;
    struct pollfd fds[] = {
        { .fd = f->epoll_fd, .events = POLLIN },
        { .events = POLLIN },
    };
    FILE *file = tmpfile();

    /* A file is always ready. */
    assert_non_null(file);
    fds[1].fd = fileno(file);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(fds, ARRAY_SIZE(fds), UNIT_PATIENCE), 1);
    assert_int_equal(fds[0].revents, 0);
    assert_int_equal(fds[1].revents, POLLIN);
    fclose(file);
}

static void *
thread_that_waits_for_its_latch(void *f_)
{
    bool ready[3];

    assert_int_equal(poll_three(f_, true, UNIT_PATIENCE, ready), 1);
    assert_true(ready[0]);
    return NULL;
}

/* Threads that follow each other have latches of their own, which may have the
 * same number. */
static void
latch_with_the_number_of_a_closed_one_wakes(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        pthread_t thread = ovs_thread_create("handler",
                                             thread_that_waits_for_its_latch,
                                             f);
        int new[2];

        write_byte(f->pipes[0][1]);
        xpthread_join(thread, NULL);
        assert_int_equal(pipe(new), 0);
        assert_int_equal(dup2(new[0], f->pipes[0][0]), f->pipes[0][0]);
        assert_int_equal(dup2(new[1], f->pipes[0][1]), f->pipes[0][1]);
        close(new[0]);
        close(new[1]);
    }
}

static void
hang_up_wakes(void **state)
{
    struct fixture *f = *state;
    struct pollfd fds[] = {
        { .fd = f->epoll_fd, .events = POLLIN },
        { .fd = f->pipes[0][0], .events = POLLIN },
    };

    close(f->pipes[0][1]);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(fds, ARRAY_SIZE(fds), UNIT_PATIENCE), 1);
    assert_int_equal(fds[0].revents, 0);
    assert_int_not_equal(fds[1].revents, 0);
    f->pipes[0][1] = dup(f->pipes[1][1]);
}

static void
on_signal(int signal_number OVS_UNUSED)
{
}

static void
signal_interrupts(void **state)
{
    struct fixture *f = *state;
    struct sigaction action = { .sa_handler = on_signal };
    struct itimerval timer = { .it_value.tv_usec = 20000,
                               .it_interval.tv_usec = 20000 };
    static const struct itimerval off;
    struct pollfd pfd = { .fd = f->epoll_fd, .events = POLLIN };
    struct pollfd plain[] = {
        pfd, { .fd = f->pipes[0][0], .events = POLLPRI },
    };

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(plain, ARRAY_SIZE(plain), UNIT_PATIENCE), -1);
    assert_int_equal(errno, EINTR);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(&pfd, 1, UNIT_PATIENCE), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
    signal(SIGALRM, SIG_DFL);

    /* A thread that polls again after that, as poll_block() does, sleeps as a
     * handler: the wake-up is counted, and the event is the handler's. */
    unit_send_upcall(f->sender, f->channel->pid, 1);
    assert_int_equal(__wrap_poll(&pfd, 1, UNIT_PATIENCE), 1);
    assert_int_equal(pfd.revents, POLLIN);
    assert_int_equal(n_wakeups(f), 1);
    assert_true(upcall_handler_is_ready(f->handler, false));

    /* Once. */
    assert_int_equal(__wrap_poll(&pfd, 1, 0), 0);
    assert_int_equal(n_wakeups(f), 1);
}

static void
handler_lives_while_it_is_polled(void **state)
{
    struct fixture *f = *state;
    struct pollfd pfd = { .fd = f->epoll_fd, .events = POLLIN };
    struct upcall_handler *handler;

    /* Arming is a reference, given up by the next poll() or arming. */
    assert_int_equal(upcall_handler_create(f->table, 1, 1, f->groups,
                                           &upcall_engine_epoll, &handler), 0);
    upcall_poll_arm(handler);
    upcall_handler_unref(handler);
    upcall_poll_arm(f->handler);
    assert_int_equal(__wrap_poll(&pfd, 1, 0), 0);

    assert_int_equal(upcall_handler_create(f->table, 1, 1, f->groups,
                                           &upcall_engine_epoll, &handler), 0);
    upcall_poll_arm(handler);
    upcall_handler_unref(handler);
    assert_int_equal(__wrap_poll(&pfd, 1, 0), 0);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(upcall_makes_the_handler_readable),
        TEST(run_queue_makes_the_handler_readable),
        TEST(nothing_ready_times_out),
        TEST(latches_wake_as_well),
        TEST(latch_that_is_set_is_seen_late_but_soon),
        TEST(retired_handler_is_readable),
        TEST(only_the_next_poll_is_the_handlers),
        TEST(armed_poll_without_the_handler_is_plain),
        TEST(poll_for_anything_but_input_is_plain),
        TEST(more_descriptors_than_fit_are_polled_plainly),
        TEST(latch_of_others_is_polled_plainly),
        TEST(descriptor_that_is_there_twice_is_told_twice),
        TEST(descriptor_that_epoll_does_not_take_is_polled_plainly),
        TEST(latch_with_the_number_of_a_closed_one_wakes),
        TEST(hang_up_wakes),
        TEST(signal_interrupts),
        TEST(handler_lives_while_it_is_polled),
    };

    unit_init("test-upcall-poll");
    return cmocka_run_group_tests_name("upcall-poll", tests, NULL, NULL);
}
