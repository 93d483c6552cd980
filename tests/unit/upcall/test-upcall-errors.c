/* SPDX-License-Identifier: Apache-2.0 */

/* U4, U5: channels that cannot be read, for a moment or for good.  Such a
 * channel stays readable, so what must not happen is that its handler does
 * nothing else. */

#include <config.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "fake/uring-fake.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-table.h"
#include "util.h"

/* Reads of 'bad_fd' fail with 'bad_error'. */
static int bad_fd = -1;
static int bad_error;
static unsigned int n_tries;    /* Reads of 'bad_fd'. */

int __wrap_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
int __real_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
int
__wrap_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
                struct timespec *timeout)
{
    if (fd == bad_fd) {
        n_tries++;
        if (bad_error) {
            errno = bad_error;
            return -1;
        }
    }
    return __real_recvmmsg(fd, msgs, n, flags, timeout);
}

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    uint32_t pid;               /* Of port 1, which is the bad one. */
    int sender;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);
    struct upcall_channel *channel;

    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    for (uint32_t port_no = 1; port_no <= 2; port_no++) {
        assert_int_equal(upcall_channel_create(&channel), 0);
        if (port_no == 1) {
            bad_fd = upcall_channel_fd(channel);
        }
        assert_int_equal(upcall_table_add_queues(f->table, port_no, "port",
                                                 &channel, 1), 0);
    }
    f->pid = upcall_table_get_pid(f->table, 1);
    f->sender = unit_sender_open();
    unit_clock_stop(1000000);
    bad_error = EACCES;
    n_tries = 0;
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_clock_run();
    bad_fd = -1;
    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

/* Receives with all handlers in turn until two rounds gave nothing.  Returns
 * the number of upcalls, and the last one's sequence number in '*seq'. */
static size_t
receive_all(struct fixture *f, uint64_t *seq)
{
    size_t n_total = 0;

    for (int n_empty = 0; n_empty < 2; n_empty++) {
        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            struct upcall_view view;

            while (!upcall_table_recv(f->table, h, &view)) {
                *seq = unit_view_seq(&view);
                n_total++;
                n_empty = -1;
            }
        }
    }
    return n_total;
}

static uint64_t
count_errors(const struct fixture *f)
{
    struct upcall_table_info info;
    uint64_t n;

    upcall_table_get_info(f->table, &info);
    n = info.ports[0].stats.errors;
    assert_int_equal(info.ports[0].port_no, 1);
    assert_int_equal(info.ports[1].stats.errors, 0);
    upcall_table_info_uninit(&info);
    return n;
}

static void
failed_read_is_repeated_at_once(void **state)
{
    struct fixture *f = *state;
    uint64_t seq;

    for (int i = 0; i < 3; i++) {
        struct upcall_view view;

        unit_send_upcall(f->sender, f->pid, i);
        bad_error = ENOMEM;
        assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
        bad_error = 0;
        assert_int_equal(receive_all(f, &seq), 1);
        assert_int_equal(seq, i);
    }
    assert_int_equal(count_errors(f), 3);
}

static void
pauses_grow_while_reading_fails(void **state)
{
    struct fixture *f = *state;
    long long int pause = 1;
    uint64_t seq;

    unit_send_upcall(f->sender, f->pid, 1);
    assert_int_equal(receive_all(f, &seq), 0);
    assert_int_equal(n_tries, 2);
    for (unsigned int i = 3; i < 20; i++) {
        /* The other port has its turn all the while. */
        unit_clock_advance(pause - 1);
        for (int j = 0; j < 10; j++) {
            unit_send_upcall(f->sender, upcall_table_get_pid(f->table, 2), j);
            assert_int_equal(receive_all(f, &seq), 1);
        }
        assert_int_equal(n_tries, i - 1);

        unit_clock_advance(1);
        assert_int_equal(receive_all(f, &seq), 0);
        assert_int_equal(n_tries, i);
        assert_int_equal(count_errors(f), i);
        pause = MIN(pause * 2, 1024);
    }

    /* It was not for good: nothing is lost, and the next failure is a first
     * one. */
    unit_send_upcall(f->sender, f->pid, 2);
    bad_error = 0;
    assert_int_equal(receive_all(f, &seq), 0);
    unit_clock_advance(pause);
    assert_int_equal(receive_all(f, &seq), 2);
    assert_int_equal(seq, 2);
    unit_send_upcall(f->sender, f->pid, 3);
    bad_error = EACCES;
    n_tries = 0;
    assert_int_equal(receive_all(f, &seq), 0);
    assert_int_equal(n_tries, 2);
}

static void
sleeper_wakes_up_for_the_next_try(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    long long int begin;

    /* This test runs by the real clock.  The first eight tries take 63 ms.  A
     * handler that does not pause needs less time.  A handler that nothing
     * wakes sleeps for ever. */
    unit_clock_run();
    begin = unit_now();
    unit_send_upcall(f->sender, f->pid, 1);
    while (n_tries < 8) {
        assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
        upcall_table_recv_wait(f->table, 0);
        poll_block();
    }
    assert_true(unit_now() - begin >= 62);

    bad_error = 0;
    while (upcall_table_recv(f->table, 0, &view)) {
        upcall_table_recv_wait(f->table, 0);
        poll_block();
    }
    assert_int_equal(unit_view_seq(&view), 1);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);

    /* Once nothing fails any more it sleeps as long as it may. */
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);
    begin = unit_now();
    upcall_table_recv_wait(f->table, 0);
    poll_timer_wait(20);
    poll_block();
    assert_true(unit_now() - begin >= 19);
}

static void
pausing_channel_is_handed_to_new_handlers(void **state)
{
    struct fixture *f = *state;
    uint64_t seq;

    unit_send_upcall(f->sender, f->pid, 1);
    for (uint32_t n = 2; n <= 4; n++) {
        for (int i = 0; i < 15; i++) {
            assert_int_equal(receive_all(f, &seq), 0);
            unit_clock_advance(1024);
        }
        assert_int_equal(receive_all(f, &seq), 0);
        n_tries = 0;
        assert_int_equal(receive_all(f, &seq), 0);
        assert_int_equal(n_tries, 0);

        /* They try it again, and once. */
        assert_int_equal(upcall_table_set_handlers(f->table, n), 0);
        assert_int_equal(receive_all(f, &seq), 0);
        assert_int_equal(n_tries, 1);
    }

    /* Those without a successor release theirs. */
    assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
    unit_rcu_barrier();
    bad_error = 0;
    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    assert_int_equal(receive_all(f, &seq), 1);
    assert_int_equal(seq, 1);
}

static void
pausing_channel_of_a_deleted_port_is_closed(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();
    uint64_t seq;

    unit_send_upcall(f->sender, f->pid, 1);
    assert_int_equal(receive_all(f, &seq), 0);
    n_tries = 0;
    upcall_table_del(f->table, 1);
    unit_clock_advance(1);
    assert_int_equal(receive_all(f, &seq), 0);
    unit_rcu_barrier();
    assert_int_equal(n_tries, 0);
    assert_int_equal(unit_count_fds(), n_fds - 1);
}

/* Errors of the ring concern all channels that are read together. */
static void
ring_that_fails_is_made_anew(void **state)
{
    static const int errors[] = { EPERM, EINVAL, EBADF, EAGAIN, EBUSY };
    struct fixture *f = *state;
    uint64_t seq = 0;

    bad_fd = -1;
    assert_int_equal(upcall_engine_uring.probe(), 0);
    assert_int_equal(upcall_table_set_engine(f->table, &upcall_engine_uring),
                     0);
    assert_int_equal(receive_all(f, &seq), 0);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        uint64_t n_errors = count_errors(f);

        unit_send_upcall(f->sender, f->pid, 2 * i);
        unit_send_upcall(f->sender, f->pid, 2 * i + 1);
        unit_uring_fail(UNIT_URING_SUBMIT, 1, UINT_MAX, errors[i]);
        for (int j = 0; j < 20; j++) {
            assert_int_equal(receive_all(f, &seq), 0);
            unit_clock_advance(1024);
        }
        assert_true(count_errors(f) >= n_errors + 20);

        /* Neither without end. */
        assert_true(unit_uring_n_failed() < 20 * 100);

        unit_uring_fail(UNIT_URING_SUBMIT, 0, 0, 0);
        assert_int_equal(receive_all(f, &seq), 2);
        assert_int_equal(seq, 2 * i + 1);
    }
}

/* Receives with io_uring from now on.  Returns the number of errors so far. */
static uint64_t
start_uring(struct fixture *f)
{
    uint64_t seq = 0;

    bad_fd = -1;
    assert_int_equal(upcall_table_set_engine(f->table, &upcall_engine_uring),
                     0);
    assert_int_equal(receive_all(f, &seq), 0);
    return count_errors(f);
}

/* A wait may end without an error and without a completion. */
static void
wait_that_ends_early_is_no_failure(void **state)
{
    struct fixture *f = *state;
    uint64_t seq = 0, n_errors;

    n_errors = start_uring(f);
    unit_send_upcall(f->sender, f->pid, 1);
    unit_send_upcall(f->sender, f->pid, 2);
    unit_uring_fail(UNIT_URING_NOTHING, 1, 1000, EAGAIN);
    assert_int_equal(receive_all(f, &seq), 2);
    assert_int_equal(seq, 2);
    assert_int_equal(unit_uring_n_failed(), 1000);
    assert_int_equal(count_errors(f), n_errors);
}

/* Errors that pass are waited out.  Others end the ring at once. */
static void
wait_is_repeated_only_after_errors_that_pass(void **state)
{
    static const int passing[] = { EINTR, EAGAIN, EBUSY };
    struct fixture *f = *state;
    uint64_t seq = 0, n_errors;

    n_errors = start_uring(f);
    for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
        unit_send_upcall(f->sender, f->pid, i + 1);
        unit_uring_fail(UNIT_URING_SUBMIT, 1, 5, passing[i]);
        assert_int_equal(receive_all(f, &seq), 1);
        assert_int_equal(seq, i + 1);
        assert_int_equal(unit_uring_n_failed(), 5);
        assert_int_equal(count_errors(f), n_errors);
    }
    unit_send_upcall(f->sender, f->pid, 10);
    unit_uring_fail(UNIT_URING_SUBMIT, 1, 1, EPERM);
    assert_int_equal(receive_all(f, &seq), 1);
    assert_int_equal(seq, 10);
    assert_int_equal(unit_uring_n_failed(), 1);
    assert_int_equal(count_errors(f), n_errors + 1);
}

/* A message that does not even have its header is as good as none, and the
 * next one is what it is. */
static void
message_that_the_kernel_cut_off_is_truncated(void **state)
{
    struct fixture *f = *state;
    struct upcall_engine *engine;
    struct upcall_rx rx[3];
    struct upcall_view view;

    assert_int_equal(upcall_engine_uring.create(3, &engine), 0);
    for (int i = 0; i < 2; i++) {
        struct upcall_read read = { .fd = bad_fd, .max = 3 };

        unit_send_upcall(f->sender, f->pid, i);
        unit_send_upcall(f->sender, f->pid, i);
        unit_uring_fail(UNIT_URING_SHORT, 1, !i, EIO);
        upcall_engine_uring.begin(engine);
        assert_int_equal(upcall_engine_uring.read(engine, &read, 1, rx), 1);
        assert_int_equal(read.n, 2);
        assert_int_equal(read.error, 0);
        assert_int_equal(read.overruns, 0);
        assert_true(read.empty);
        for (int j = 0; j < 2; j++) {
            assert_int_equal(rx[j].truncated, !i);
            if (!i) {
                assert_int_equal(rx[j].len, 0);
                assert_int_equal(rx[j].source, UINT32_MAX);
            } else {
                assert_int_equal(upcall_msg_parse(rx[j].data, rx[j].len,
                                                  UNIT_FAMILY, &view), 0);
                assert_int_equal(unit_view_seq(&view), i);
                assert_int_not_equal(rx[j].source, UINT32_MAX);
            }
        }
    }
    upcall_engine_uring.destroy(engine);
}

/* A buffer that comes back with an error has no message, whatever the
 * error. */
static void
buffer_with_an_error_has_no_message(void **state)
{
    static const int errors[] = { EPERM, EIO };
    struct fixture *f = *state;
    struct upcall_engine *engine;
    struct upcall_rx rx[3];
    struct upcall_view view;

    assert_int_equal(upcall_engine_uring.create(3, &engine), 0);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        struct upcall_read read = { .fd = bad_fd, .max = 3 };

        unit_send_upcall(f->sender, f->pid, 1);
        unit_send_upcall(f->sender, f->pid, 2);
        unit_uring_fail(UNIT_URING_NO_MESSAGE, 1, 1, errors[i]);
        upcall_engine_uring.begin(engine);
        assert_int_equal(upcall_engine_uring.read(engine, &read, 1, rx), 1);
        assert_int_equal(unit_uring_n_failed(), 1);
        assert_int_equal(read.n, 1);
        assert_true(read.empty);
        assert_false(rx[0].truncated);
        assert_int_equal(upcall_msg_parse(rx[0].data, rx[0].len, UNIT_FAMILY,
                                          &view), 0);
        assert_int_equal(unit_view_seq(&view), 2);
    }
    upcall_engine_uring.destroy(engine);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(failed_read_is_repeated_at_once),
        TEST(pauses_grow_while_reading_fails),
        TEST(sleeper_wakes_up_for_the_next_try),
        TEST(pausing_channel_is_handed_to_new_handlers),
        TEST(pausing_channel_of_a_deleted_port_is_closed),
        TEST(ring_that_fails_is_made_anew),
        TEST(wait_that_ends_early_is_no_failure),
        TEST(message_that_the_kernel_cut_off_is_truncated),
        TEST(buffer_with_an_error_has_no_message),
        TEST(wait_is_repeated_only_after_errors_that_pass),
    };

    unit_init("test-upcall-errors");
    return cmocka_run_group_tests_name("upcall-errors", tests, NULL, NULL);
}
