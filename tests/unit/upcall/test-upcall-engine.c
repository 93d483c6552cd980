/* SPDX-License-Identifier: Apache-2.0 */

/* Receive engines: the same tests for each of them.
 *
 * U1: messages come in order.  U5: none is lost, and overruns are told. */

#include <config.h>
#include "upcall/upcall-engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-table.h"
#include "util.h"

#define N_CHANNELS 4
#define GROUP 9

struct fixture {
    const struct upcall_engine_class *class;
    struct upcall_engine *engine;
    struct upcall_channel *channels[N_CHANNELS];
    struct upcall_rx rx[UPCALL_BATCH];
    size_t n_fds;
    int sender;
};

static int
setup(void **state, const struct upcall_engine_class *class)
{
    struct fixture *f = xzalloc(sizeof *f);

    f->n_fds = unit_count_fds();
    f->class = class;
    assert_int_equal(class->create(UPCALL_BATCH, &f->engine), 0);
    assert_ptr_equal(f->engine->class, class);
    for (size_t i = 0; i < N_CHANNELS; i++) {
        assert_int_equal(upcall_channel_create(&f->channels[i]), 0);
    }
    f->sender = unit_sender_open();
    class->begin(f->engine);
    *state = f;
    return 0;
}

static int
setup_epoll(void **state)
{
    return setup(state, &upcall_engine_epoll);
}

static int
setup_uring(void **state)
{
    int error = upcall_engine_uring.probe();

    if (error) {
        unit_die("io_uring cannot be tested on this kernel: %s",
                 ovs_strerror(error));
    }
    return setup(state, &upcall_engine_uring);
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    f->class->destroy(f->engine);
    for (size_t i = 0; i < N_CHANNELS; i++) {
        upcall_channel_unref(f->channels[i]);
    }
    close(f->sender);
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

static void
send_n(struct fixture *f, size_t channel, uint64_t first, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        unit_send_upcall(f->sender, f->channels[channel]->pid, first + i);
    }
}

/* What an earlier read has left in it does not matter. */
static struct upcall_read
read_of(const struct fixture *f, size_t channel, unsigned int max)
{
    return (struct upcall_read) {
        .fd = upcall_channel_fd(f->channels[channel]), .max = max,
        .n = 3, .overruns = 2, .error = EIO,
    };
}

static uint64_t
seq_of(const struct upcall_rx *rx)
{
    struct upcall_view view;

    assert_false(rx->truncated);
    assert_int_equal((uintptr_t) rx->data % 4, 0);
    assert_int_equal(upcall_msg_parse(rx->data, rx->len, UNIT_FAMILY, &view),
                     0);
    return unit_view_seq(&view);
}

static void
nothing_is_read_from_an_empty_socket(void **state)
{
    struct fixture *f = *state;
    struct upcall_read read = read_of(f, 0, 5);

    assert_true(f->class->read(f->engine, &read, 1, f->rx) >= 1);
    assert_int_equal(read.n, 0);
    assert_true(read.empty);
    assert_int_equal(read.error, 0);
    assert_int_equal(read.overruns, 0);
}

static void
messages_come_in_order(void **state)
{
    struct fixture *f = *state;
    struct upcall_read read = read_of(f, 0, 30);

    send_n(f, 0, 100, 20);
    f->class->read(f->engine, &read, 1, f->rx);
    assert_int_equal(read.n, 20);
    assert_true(read.empty);
    for (unsigned int i = 0; i < 20; i++) {
        assert_int_equal(seq_of(&f->rx[i]), 100 + i);
    }
}

static void
no_more_is_read_than_asked_for(void **state)
{
    struct fixture *f = *state;
    struct upcall_read read = read_of(f, 0, 7);

    send_n(f, 0, 0, 10);
    f->class->read(f->engine, &read, 1, f->rx);
    assert_int_equal(read.n, 7);
    assert_false(read.empty);

    /* The rest is still there, and nothing has taken it meanwhile. */
    f->class->begin(f->engine);
    read = read_of(f, 0, 7);
    f->class->read(f->engine, &read, 1, f->rx);
    assert_int_equal(read.n, 3);
    assert_true(read.empty);
    assert_int_equal(seq_of(&f->rx[0]), 7);
    assert_int_equal(seq_of(&f->rx[2]), 9);
}

static void
several_sockets_are_read_at_once(void **state)
{
    struct fixture *f = *state;
    struct upcall_read reads[N_CHANNELS];
    unsigned int n_calls;

    send_n(f, 0, 0, 30);
    send_n(f, 2, 2000, 3);
    send_n(f, 3, 3000, 10);
    for (size_t i = 0; i < N_CHANNELS; i++) {
        reads[i] = read_of(f, i, 10);
    }
    n_calls = f->class->read(f->engine, reads, N_CHANNELS, f->rx);
    if (f->class == &upcall_engine_uring) {
        assert_int_equal(n_calls, 1);
    } else {
        assert_int_equal(n_calls, N_CHANNELS);
    }
    assert_int_equal(reads[0].n, 10);
    assert_false(reads[0].empty);
    assert_int_equal(reads[1].n, 0);
    assert_true(reads[1].empty);
    assert_int_equal(reads[2].n, 3);
    assert_true(reads[2].empty);
    assert_int_equal(reads[3].n, 10);
    for (unsigned int i = 0; i < 10; i++) {
        assert_int_equal(seq_of(&f->rx[i]), i);
        assert_int_equal(seq_of(&f->rx[13 + i]), 3000 + i);
    }
    for (unsigned int i = 0; i < 3; i++) {
        assert_int_equal(seq_of(&f->rx[10 + i]), 2000 + i);
    }
}

static void
messages_of_a_batch_stay_valid(void **state)
{
    struct fixture *f = *state;
    unsigned int n = 0;

    /* Batches of several reads, more of them than there are buffers. */
    for (unsigned int batch = 0; batch < 20; batch++) {
        unsigned int first = n;

        f->class->begin(f->engine);
        send_n(f, 0, n, UPCALL_BATCH);
        while (n < first + UPCALL_BATCH) {
            unsigned int want = MIN(1 + n % 13, first + UPCALL_BATCH - n);
            struct upcall_read read = read_of(f, 0, want);

            f->class->read(f->engine, &read, 1, &f->rx[n - first]);
            assert_int_equal(read.n, want);
            n += want;
        }
        for (unsigned int i = 0; i < UPCALL_BATCH; i++) {
            assert_int_equal(seq_of(&f->rx[i]), first + i);
        }
    }
}

static void
messages_of_many_reads_stay_valid(void **state)
{
    struct fixture *f = *state;

    /* Each read finds its socket empty after one message.  Several batches, so
     * that buffers come back. */
    for (uint64_t batch = 0; batch < 5; batch++) {
        unsigned int n = 0;

        f->class->begin(f->engine);
        while (n < UPCALL_BATCH) {
            unsigned int room = UPCALL_BATCH - n;
            size_t channel = n % N_CHANNELS;
            struct upcall_read reads[2] = {
                read_of(f, channel, room - room / 2),
                read_of(f, (channel + 1) % N_CHANNELS, room / 2),
            };

            send_n(f, channel, batch * 1000 + n, 1);
            f->class->read(f->engine, reads, reads[1].max ? 2 : 1, &f->rx[n]);
            assert_int_equal(reads[0].n, 1);
            assert_int_equal(reads[1].n, reads[1].max ? 0 : 3);
            n++;
        }
        for (unsigned int i = 0; i < n; i++) {
            assert_int_equal(seq_of(&f->rx[i]), batch * 1000 + i);
        }
    }
}

static void
long_message_is_truncated_and_says_so(void **state)
{
    struct fixture *f = *state;
    struct upcall_read read = read_of(f, 0, 3);
    char *buf = xzalloc(UPCALL_MSG_SIZE + 100);
    struct unit_msg msg;

    unit_msg_upcall(&msg, 1, 65000);
    assert_int_equal(unit_send(f->sender, f->channels[0]->pid, msg.buf,
                               msg.len), 0);
    assert_int_equal(unit_send(f->sender, f->channels[0]->pid, buf,
                               UPCALL_MSG_SIZE + 100), 0);
    assert_int_equal(unit_send(f->sender, f->channels[0]->pid, buf,
                               UPCALL_MSG_SIZE), 0);
    f->class->read(f->engine, &read, 1, f->rx);
    assert_int_equal(read.n, 3);
    assert_int_equal(f->rx[0].len, msg.len);
    assert_int_equal(seq_of(&f->rx[0]), 1);
    assert_true(f->rx[1].truncated);
    assert_false(f->rx[2].truncated);
    assert_int_equal(f->rx[2].len, UPCALL_MSG_SIZE);
    unit_msg_uninit(&msg);
    free(buf);
}

static void
overrun_is_told_and_what_was_queued_is_read(void **state)
{
    struct fixture *f = *state;
    struct unit_msg msg;
    unsigned int n_overruns = 0;
    uint64_t n_sent = 0, n_read = 0;
    struct upcall_channel_stats stats;

    unit_channel_join(f->channels[0], GROUP);
    unit_msg_upcall(&msg, 0, 1000);
    do {
        unit_msg_set_seq(&msg, n_sent++);
        unit_send_group(f->sender, GROUP, msg.buf, msg.len);
        upcall_channel_get_stats(f->channels[0], &stats);
    } while (stats.lost < 3);
    unit_msg_uninit(&msg);

    for (;;) {
        struct upcall_read read = read_of(f, 0, 21);

        f->class->begin(f->engine);
        f->class->read(f->engine, &read, 1, f->rx);
        n_overruns += read.overruns;
        for (unsigned int i = 0; i < read.n; i++) {
            assert_int_equal(seq_of(&f->rx[i]), n_read + i);
        }
        n_read += read.n;
        if (read.empty) {
            break;
        }
    }
    assert_int_equal(n_overruns, 1);
    assert_int_equal(n_read + stats.lost, n_sent);
}

static void
error_of_a_socket_harms_no_other(void **state)
{
    struct fixture *f = *state;
    struct upcall_read reads[2];
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    send_n(f, 0, 5, 2);
    reads[0] = (struct upcall_read) { .fd = fds[0], .max = 4 };
    reads[1] = read_of(f, 0, 4);
    f->class->read(f->engine, reads, 2, f->rx);
    assert_int_equal(reads[0].error, ENOTSOCK);
    assert_int_equal(reads[0].n, 0);
    assert_int_equal(reads[1].error, 0);
    assert_int_equal(reads[1].n, 2);
    assert_int_equal(seq_of(&f->rx[1]), 6);
    close(fds[0]);
    close(fds[1]);
}

/* A message that comes after a read has ended belongs to the next one, by
 * whichever engine. */
static void
nothing_is_taken_between_reads(void **state)
{
    struct fixture *f = *state;
    struct upcall_engine *other;

    assert_int_equal(f->class->create(UPCALL_BATCH, &other), 0);
    for (uint64_t i = 0; i < 200; i++) {
        struct upcall_engine *engine = i % 2 ? other : f->engine;
        struct upcall_read read = read_of(f, 0, 1 + i % 3);

        send_n(f, 0, i, 1);
        engine->class->begin(engine);
        engine->class->read(engine, &read, 1, f->rx);
        assert_int_equal(read.n, 1);
        assert_int_equal(seq_of(&f->rx[0]), i);
        if (read.max > 1) {
            assert_true(read.empty);
        }
    }
    other->class->destroy(other);
}

static void
names_are_found(void **state OVS_UNUSED)
{
    assert_ptr_equal(upcall_engine_lookup("epoll"), &upcall_engine_epoll);
    assert_ptr_equal(upcall_engine_lookup("io_uring"), &upcall_engine_uring);
    assert_null(upcall_engine_lookup("epol"));
    assert_null(upcall_engine_lookup(""));
}

#define TEST(NAME)                                                      \
    { "epoll: " #NAME, NAME, setup_epoll, teardown, NULL },             \
    { "io_uring: " #NAME, NAME, setup_uring, teardown, NULL }

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(nothing_is_read_from_an_empty_socket),
        TEST(messages_come_in_order),
        TEST(no_more_is_read_than_asked_for),
        TEST(several_sockets_are_read_at_once),
        TEST(messages_of_a_batch_stay_valid),
        TEST(messages_of_many_reads_stay_valid),
        TEST(long_message_is_truncated_and_says_so),
        TEST(overrun_is_told_and_what_was_queued_is_read),
        TEST(error_of_a_socket_harms_no_other),
        TEST(nothing_is_taken_between_reads),
        cmocka_unit_test(names_are_found),
    };

    unit_init("test-upcall-engine");
    return cmocka_run_group_tests_name("upcall-engine", tests, NULL, NULL);
}
