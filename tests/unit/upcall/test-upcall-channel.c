/* SPDX-License-Identifier: Apache-2.0 */

/* A channel on its own: its references, its owner word (U1) and its counters
 * (U5). */

#include <config.h>
#include "upcall/upcall-channel.h"

#include <errno.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-rcvbuf.h"
#include "util.h"

#define GROUP 16

static struct upcall_channel *
create_channel(void)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    assert_non_null(channel);
    return channel;
}

static uint32_t
owner_of(const struct upcall_channel *channel)
{
    uint32_t owner;

    atomic_read(CONST_CAST(atomic_uint32_t *, &channel->owner), &owner);
    return owner;
}

static void
free_channel_is_taken_once(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();

    assert_int_equal(owner_of(channel), 0);
    assert_true(upcall_channel_take(channel, upcall_token(1, 0)));
    assert_int_equal(owner_of(channel), upcall_token(1, 0));
    assert_false(upcall_channel_take(channel, upcall_token(1, 1)));
    assert_false(upcall_channel_take(channel, upcall_token(1, 0)));
    assert_int_equal(owner_of(channel), upcall_token(1, 0));
    upcall_channel_unref(channel);
}

static void
released_channel_can_be_taken(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();

    assert_true(upcall_channel_take(channel, upcall_token(1, 0)));
    upcall_channel_release(channel, upcall_token(1, 0));
    assert_int_equal(owner_of(channel), 0);
    assert_true(upcall_channel_take(channel, upcall_token(1, 1)));
    upcall_channel_unref(channel);
}

static void
channel_in_the_run_queue_is_nobody_elses(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();

    assert_true(upcall_channel_take(channel, upcall_token(1, 0)));
    upcall_channel_enqueue(channel, upcall_token(1, 0), upcall_token_queue(1));
    assert_false(upcall_channel_take(channel, upcall_token(1, 1)));
    upcall_channel_dequeue(channel, upcall_token_queue(1), upcall_token(1, 1));
    assert_int_equal(owner_of(channel), upcall_token(1, 1));
    upcall_channel_unref(channel);
}

static void
later_generation_does_not_take_over(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();

    assert_true(upcall_channel_take(channel, upcall_token(1, 0)));
    assert_false(upcall_channel_take(channel, upcall_token(2, 0)));
    assert_int_equal(owner_of(channel), upcall_token(1, 0));
    upcall_channel_unref(channel);
}

static void
owner_words_are_all_different(void **state OVS_UNUSED)
{
    uint32_t last = upcall_token(UPCALL_MAX_GENERATION - 1,
                                 UPCALL_MAX_HANDLERS - 1);

    assert_int_equal(last, UINT32_MAX);
    assert_int_not_equal(upcall_token_queue(1), 0);
    assert_int_not_equal(upcall_token_queue(1), upcall_token(1, 0));
    assert_int_equal(upcall_token(1, UPCALL_MAX_HANDLERS - 1) + 1,
                     upcall_token_queue(2));
}

static void
numbers_of_channels_without_a_port_are_no_ports(void **state OVS_UNUSED)
{
    uint32_t last = UPCALL_PORT_CPU(UPCALL_MAX_HANDLERS - 1);

    assert_true(upcall_port_is_real(0));
    assert_true(upcall_port_is_real(UPCALL_MAX_PORTS - 1));
    assert_false(upcall_port_is_real(UPCALL_MAX_PORTS));
    assert_false(upcall_port_is_real(UPCALL_PORT_NONE));
    assert_false(upcall_port_is_real(UPCALL_PORT_CPU(0)));
    assert_true(upcall_port_is_cpu(UPCALL_PORT_CPU(0)));
    assert_true(upcall_port_is_cpu(last));
    assert_int_equal(last + 1, UPCALL_PORT_SHARED);
    assert_int_equal(UPCALL_PORT_SHARED + 1, UPCALL_PORT_NONE);
    assert_false(upcall_port_is_cpu(UPCALL_PORT_SHARED));
    assert_false(upcall_port_is_real(UPCALL_PORT_SHARED));
    assert_false(upcall_port_is_cpu(UPCALL_PORT_NONE));
    assert_false(upcall_port_is_cpu(0));
}

/* Handlers that compete for a channel. */
struct contest {
    struct upcall_channel *channel;
    atomic_count inside;        /* How many are the owner. */
    uint64_t turns;             /* Touched by the owner alone. */
};

#define CONTEST_THREADS 4
#define CONTEST_TURNS 20000

struct contestant {
    struct contest *contest;
    uint32_t token;
    uint64_t turns;
};

static void *
compete(void *contestant_)
{
    struct contestant *contestant = contestant_;
    struct contest *contest = contestant->contest;

    for (int i = 0; i < CONTEST_TURNS; i++) {
        if (upcall_channel_take(contest->channel, contestant->token)) {
            unit_check(atomic_count_inc(&contest->inside) == 0);
            contest->turns++;
            contestant->turns++;
            unit_check(atomic_count_dec(&contest->inside) == 1);
            upcall_channel_release(contest->channel, contestant->token);
        }
    }
    return NULL;
}

static void
channel_has_one_owner_at_a_time(void **state OVS_UNUSED)
{
    struct contest contest = { .channel = create_channel() };
    struct contestant contestants[CONTEST_THREADS];
    pthread_t threads[CONTEST_THREADS];
    uint64_t turns = 0;

    atomic_count_init(&contest.inside, 0);
    for (int i = 0; i < CONTEST_THREADS; i++) {
        contestants[i] = (struct contestant) { &contest, upcall_token(1, i),
                                               0 };
        assert_int_equal(pthread_create(&threads[i], NULL, compete,
                                        &contestants[i]), 0);
    }
    for (int i = 0; i < CONTEST_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        turns += contestants[i].turns;
    }
    assert_true(turns > 0);
    assert_int_equal(contest.turns, turns);
    assert_int_equal(owner_of(contest.channel), 0);
    upcall_channel_unref(contest.channel);
}

static void
reset_starts_counting_from_zero(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    struct upcall_channel_stats stats;

    upcall_count(&channel->received, 5);
    upcall_count(&channel->malformed, 4);
    upcall_count(&channel->overruns, 3);
    upcall_count(&channel->errors, 2);
    upcall_count(&channel->shed, 1);
    latency_hist_record(&channel->latency, 1000);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.received, 5);
    assert_int_equal(stats.malformed, 4);
    assert_int_equal(stats.overruns, 3);
    assert_int_equal(stats.errors, 2);
    assert_int_equal(stats.shed, 1);
    assert_int_equal(stats.latency.max, 1000);

    upcall_channel_reset_stats(channel);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.received, 0);
    assert_int_equal(stats.malformed, 0);
    assert_int_equal(stats.overruns, 0);
    assert_int_equal(stats.errors, 0);
    assert_int_equal(stats.shed, 0);
    assert_int_equal(stats.lost, 0);
    assert_int_equal(stats.latency.n, 0);
    assert_int_equal(stats.latency.max, 0);
    upcall_channel_unref(channel);
}

/* An owner that counts without a pause, and says how far it is. */
struct counter {
    struct upcall_channel *channel;
    atomic_uint64_t n;
    atomic_bool exit;
};

static void *
count_until_exit(void *counter_)
{
    struct counter *counter = counter_;
    bool end = false;

    for (uint64_t n = 1; !end; n++) {
        upcall_count(&counter->channel->received, 1);
        atomic_store_explicit(&counter->n, n, memory_order_release);
        atomic_read_relaxed(&counter->exit, &end);
    }
    return NULL;
}

static uint64_t
counted(struct counter *counter)
{
    uint64_t n;

    atomic_read_explicit(&counter->n, &n, memory_order_acquire);
    return n;
}

static void
reset_brings_no_count_back(void **state OVS_UNUSED)
{
    enum { N_RESETS = 300 };
    struct counter counter = { .channel = create_channel() };
    pthread_t thread;

    atomic_init(&counter.n, 0);
    atomic_init(&counter.exit, false);
    assert_int_equal(pthread_create(&thread, NULL, count_until_exit,
                                    &counter), 0);
    for (int i = 0; i < N_RESETS; i++) {
        struct upcall_channel_stats stats;
        uint64_t before, after;

        /* The last count may not be in 'n' yet.  The owner has stored the
         * count that it was about to store at the reset once it has got on. */
        before = counted(&counter);
        upcall_channel_reset_stats(counter.channel);
        unit_wait_until(counted(&counter) > before + 1);
        upcall_channel_get_stats(counter.channel, &stats);
        after = counted(&counter);
        assert_true(stats.received <= after + 1 - before);
    }
    atomic_store_relaxed(&counter.exit, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    upcall_channel_unref(counter.channel);
}

static void
last_reference_closes_the_socket(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();
    struct upcall_channel *channel = create_channel();

    assert_int_equal(unit_count_fds(), n_fds + 1);
    ovs_refcount_ref(&channel->refcount);
    upcall_channel_unref(channel);
    assert_int_equal(unit_count_fds(), n_fds + 1);
    upcall_channel_unref(channel);
    assert_int_equal(unit_count_fds(), n_fds);
    upcall_channel_unref(NULL);
}

static void
channels_have_port_ids_and_serials_of_their_own(void **state OVS_UNUSED)
{
    struct upcall_channel *a = create_channel();
    struct upcall_channel *b = create_channel();

    assert_int_not_equal(a->pid, 0);
    assert_int_not_equal(b->pid, 0);
    assert_int_not_equal(a->pid, b->pid);
    assert_int_not_equal(a->serial, b->serial);
    assert_false(upcall_port_is_real(a->port_no));
    assert_false(upcall_channel_is_urgent(a));
    upcall_channel_unref(a);
    upcall_channel_unref(b);
}

static void
channel_never_blocks_its_reader(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    char c;

    assert_int_equal(recv(upcall_channel_fd(channel), &c, sizeof c, 0), -1);
    assert_int_equal(errno, EAGAIN);
    upcall_channel_unref(channel);
}

static void
new_channel_has_nothing_to_report(void **state OVS_UNUSED)
{
    size_t n_open = upcall_channel_n_open();
    struct upcall_channel *channel = create_channel();
    struct upcall_channel_stats stats;
    uint32_t rcvbuf;

    assert_int_equal(upcall_channel_n_open(), n_open + 1);
    assert_int_equal(upcall_channel_weight(channel), 1);
    assert_int_equal(channel->state, UPCALL_STATE_IDLE);
    assert_int_equal(channel->senders, UPCALL_SENDERS_UNKNOWN);
    assert_false(channel->adopted || channel->waited);
    assert_false(upcall_channel_is_dead(channel));
    assert_false(upcall_channel_is_retired(channel));
    assert_true(upcall_channel_is_idle(channel));
    assert_true(upcall_channel_is_done(channel));
    assert_int_equal(upcall_channel_dropped(channel), 0);
    atomic_read_relaxed(&channel->rcvbuf, &rcvbuf);
    assert_int_equal(rcvbuf, UPCALL_RCVBUF_MAX);

    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.received, 0);
    assert_int_equal(stats.malformed, 0);
    assert_int_equal(stats.overruns, 0);
    assert_int_equal(stats.errors, 0);
    assert_int_equal(stats.lost, 0);
    assert_int_equal(stats.lost_limited, 0);
    assert_int_equal(stats.shed, 0);
    assert_int_equal(stats.backlog, 0);
    assert_int_equal(stats.backlog_max, 0);
    assert_int_equal(stats.latency.n, 0);
    assert_int_equal(stats.latency.max, 0);
    upcall_channel_unref(channel);
    assert_int_equal(upcall_channel_n_open(), n_open);
}

static void
backlog_is_what_waits_on_the_socket(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    struct upcall_channel_stats stats;
    int sender = unit_sender_open();

    unit_send_upcall(sender, channel->pid, 1);
    upcall_channel_get_stats(channel, &stats);
    assert_true(stats.backlog > 0);

    upcall_channel_drain(channel);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.backlog, 0);
    close(sender);
    upcall_channel_unref(channel);
}

/* Reads 'channel' until it is empty.  Returns the number of messages and
 * stores that of overruns that the socket told of. */
static size_t
read_all(const struct upcall_channel *channel, size_t *n_overruns)
{
    size_t n = 0;

    *n_overruns = 0;
    for (;;) {
        char c;

        if (recv(upcall_channel_fd(channel), &c, sizeof c, 0) >= 0) {
            n++;
        } else if (errno == ENOBUFS) {
            ++*n_overruns;
        } else {
            assert_int_equal(errno, EAGAIN);
            return n;
        }
    }
}

/* Sends upcalls to the group of 'channel' until one is lost, and 'n_more'
 * more.  Returns how many it sent. */
static size_t
overrun(const struct upcall_channel *channel, int sender, size_t n_more)
{
    struct upcall_channel_stats before, stats;
    struct unit_msg msg;
    size_t n = 0;

    upcall_channel_get_stats(channel, &before);
    unit_msg_upcall(&msg, 0, 1000);
    do {
        assert_int_equal(unit_send_group(sender, GROUP, msg.buf, msg.len), 0);
        n++;
        upcall_channel_get_stats(channel, &stats);
    } while (stats.lost == before.lost);
    for (size_t i = 0; i < n_more; i++, n++) {
        assert_int_equal(unit_send_group(sender, GROUP, msg.buf, msg.len), 0);
    }
    unit_msg_uninit(&msg);
    return n;
}

static void
every_upcall_that_found_no_room_is_counted_as_lost(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    struct upcall_channel_stats stats;
    int sender = unit_sender_open();
    size_t n_sent, n_received, n_overruns;

    unit_channel_join(channel, GROUP);
    n_sent = overrun(channel, sender, 99);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.lost, 100);

    n_received = read_all(channel, &n_overruns);
    assert_int_equal(n_overruns, 1);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(n_received + stats.lost, n_sent);

    /* The count goes on with the next overrun. */
    n_sent += overrun(channel, sender, 9);
    n_received += read_all(channel, &n_overruns);
    assert_int_equal(n_overruns, 1);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(n_received + stats.lost, n_sent);
    close(sender);
    upcall_channel_unref(channel);
}

/* Checks the size that the receive buffer of 'channel' was set to, which the
 * kernel doubles, and whether it reports overruns. */
static void
check_socket(const struct upcall_channel *channel, int size, bool reports)
{
    int fd = upcall_channel_fd(channel);
    int rcvbuf, no_enobufs;
    socklen_t len = sizeof rcvbuf;

    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &len), 0);
    assert_int_equal(rcvbuf, 2 * size);
    assert_int_equal(getsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS,
                                &no_enobufs, &len), 0);
    assert_int_equal(no_enobufs, !reports);
}

/* Loses 'n' upcalls, and checks how many were lost by now and how many of
 * these in limits, and whether the socket reports an overrun. */
static void
check_overrun(struct upcall_channel *channel, int sender, size_t n,
              uint64_t lost, uint64_t lost_limited, bool reports)
{
    struct upcall_channel_stats stats;
    size_t n_overruns;

    overrun(channel, sender, n - 1);
    assert_true(read_all(channel, &n_overruns) > 0);
    assert_int_equal(n_overruns, reports);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.lost, lost);
    assert_int_equal(stats.lost_limited, lost_limited);
}

static void
limit_has_a_smaller_buffer_and_a_count_of_its_own(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    int sender = unit_sender_open();
    uint32_t drops;

    unit_channel_join(channel, GROUP);
    upcall_channel_set_rcvbuf(channel, 50000);
    check_socket(channel, 50000, true);
    check_overrun(channel, sender, 5, 5, 0, true);
    assert_int_equal(upcall_channel_look(channel, &drops), 0);
    assert_int_equal(drops, 5);

    /* The limit may change, and is no larger than the buffer would be. */
    upcall_channel_limit(channel, 30000, drops);
    check_socket(channel, 30000, false);
    check_overrun(channel, sender, 3, 8, 3, false);
    upcall_channel_limit(channel, 60000, 8);
    check_socket(channel, 50000, false);
    upcall_channel_limit(channel, 20000, 8);
    check_socket(channel, 20000, false);
    check_overrun(channel, sender, 1, 9, 4, false);

    /* Another size of the buffer is for the time after the limit. */
    upcall_channel_set_rcvbuf(channel, 40000);
    check_socket(channel, 20000, false);
    upcall_channel_unlimit(channel);
    check_socket(channel, 40000, true);
    check_overrun(channel, sender, 2, 11, 4, true);
    upcall_channel_unlimit(channel);
    check_socket(channel, 40000, true);

    /* The next limit goes on counting, and a reset starts over. */
    upcall_channel_limit(channel, 20000, 11);
    check_overrun(channel, sender, 1, 12, 5, false);
    upcall_channel_reset_stats(channel);
    check_overrun(channel, sender, 2, 2, 2, false);
    upcall_channel_unlimit(channel);
    check_overrun(channel, sender, 1, 3, 2, true);
    assert_int_equal(upcall_channel_dropped(channel), 15);
    close(sender);
    upcall_channel_unref(channel);
}

static void
reset_forgets_the_largest_backlog(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    int sender = unit_sender_open();
    struct upcall_channel_stats stats;
    uint32_t drops, backlog;
    size_t n_overruns;

    for (uint64_t seq = 0; seq < 10; seq++) {
        unit_send_upcall(sender, channel->pid, seq);
    }
    backlog = upcall_channel_look(channel, &drops);
    assert_true(backlog > 0);
    assert_int_equal(read_all(channel, &n_overruns), 10);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.backlog, 0);
    assert_int_equal(stats.backlog_max, backlog);
    upcall_channel_reset_stats(channel);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.backlog_max, 0);
    close(sender);
    upcall_channel_unref(channel);
}

static void
receive_buffer_holds_hundreds_of_upcalls(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    int sender = unit_sender_open();
    int forced = 1024 * 1024;
    int rcvbuf;
    socklen_t len = sizeof rcvbuf;

    /* The kernel doubles what it is told, for its own overhead.  Where the
     * process may not exceed net.core.rmem_max that is the size. */
    assert_int_equal(getsockopt(upcall_channel_fd(channel), SOL_SOCKET,
                                SO_RCVBUF, &rcvbuf, &len), 0);
    if (!setsockopt(sender, SOL_SOCKET, SO_RCVBUFFORCE, &forced,
                    sizeof forced)) {
        assert_int_equal(rcvbuf, 2 * forced);
    } else {
        setsockopt(sender, SOL_SOCKET, SO_RCVBUF, &forced, sizeof forced);
        assert_int_equal(getsockopt(sender, SOL_SOCKET, SO_RCVBUF, &forced,
                                    &len), 0);
        assert_int_equal(rcvbuf, forced);
    }
    close(sender);
    upcall_channel_unref(channel);
}

static void
drain_throws_everything_away_overrun_or_not(void **state OVS_UNUSED)
{
    struct upcall_channel *channel = create_channel();
    struct upcall_channel_stats stats;
    int sender = unit_sender_open();
    size_t n_overruns;

    unit_channel_join(channel, GROUP);
    overrun(channel, sender, 0);
    upcall_channel_drain(channel);
    assert_int_equal(read_all(channel, &n_overruns), 0);
    assert_int_equal(n_overruns, 0);

    /* And the channel goes on working. */
    unit_send_upcall(sender, channel->pid, 1);
    assert_int_equal(read_all(channel, &n_overruns), 1);

    /* An empty one is left as it is. */
    upcall_channel_drain(channel);
    upcall_channel_get_stats(channel, &stats);
    assert_int_equal(stats.received, 0);
    close(sender);
    upcall_channel_unref(channel);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_channel_is_taken_once),
        cmocka_unit_test(released_channel_can_be_taken),
        cmocka_unit_test(channel_in_the_run_queue_is_nobody_elses),
        cmocka_unit_test(later_generation_does_not_take_over),
        cmocka_unit_test(owner_words_are_all_different),
        cmocka_unit_test(numbers_of_channels_without_a_port_are_no_ports),
        cmocka_unit_test(channel_has_one_owner_at_a_time),
        cmocka_unit_test(reset_starts_counting_from_zero),
        cmocka_unit_test(reset_brings_no_count_back),
        cmocka_unit_test(reset_forgets_the_largest_backlog),
        cmocka_unit_test(last_reference_closes_the_socket),
        cmocka_unit_test(channels_have_port_ids_and_serials_of_their_own),
        cmocka_unit_test(channel_never_blocks_its_reader),
        cmocka_unit_test(new_channel_has_nothing_to_report),
        cmocka_unit_test(backlog_is_what_waits_on_the_socket),
        cmocka_unit_test(every_upcall_that_found_no_room_is_counted_as_lost),
        cmocka_unit_test(limit_has_a_smaller_buffer_and_a_count_of_its_own),
        cmocka_unit_test(receive_buffer_holds_hundreds_of_upcalls),
        cmocka_unit_test(drain_throws_everything_away_overrun_or_not),
    };

    unit_init("test-upcall-channel");
    return cmocka_run_group_tests_name("upcall-channel", tests, NULL, NULL);
}
