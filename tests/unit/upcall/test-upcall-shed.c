/* SPDX-License-Identifier: Apache-2.0 */

/* U5, U7: limits of receive buffers, and shedding from sockets.  Upcalls go to
 * channels, a thread plays the handlers, and time is made up. */

#include <config.h>
#include "upcall/upcall-shed.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/made-up-clock.h"
#include "harness/unit.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-table.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#define TARGET 50000
#define STEP 100000             /* Time of a batch, in microseconds. */

/* Calls that throw upcalls away fail so often with this. */
static int shed_error;
static unsigned int n_errors;
static unsigned int n_shed_calls;
static int read_error;          /* Reads fail with this, or 0. */

int __wrap_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
int __real_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
int
__wrap_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
                struct timespec *timeout)
{
    bool shedding = !msgs[0].msg_hdr.msg_iovlen;

    n_shed_calls += shedding;
    if (shedding && n_errors) {
        n_errors--;
        errno = shed_error;
        return -1;
    } else if (!shedding && read_error) {
        errno = read_error;
        return -1;
    }
    return __real_recvmmsg(fd, msgs, n, flags, timeout);
}

/* A kernel that does not say how much memory upcalls take. */
static bool no_meminfo;

/* Upcalls of each port that found no room.  The kernel counts those that it
 * sends itself, so these are added to its count. */
#define N_PORTS 3               /* A batch has a turn of each. */
static struct {
    uint32_t pid;
    uint32_t n;
} drops[N_PORTS];

static void
add_drops(int fd, uint32_t *n)
{
    struct sockaddr_nl addr;
    socklen_t len = sizeof addr;

    if (!getsockname(fd, (struct sockaddr *) &addr, &len)) {
        for (size_t i = 0; i < N_PORTS; i++) {
            *n += addr.nl_pid == drops[i].pid ? drops[i].n : 0;
        }
    }
}

static unsigned int n_meminfo;  /* Looks at the memory of sockets. */

int __wrap_getsockopt(int, int, int, void *, socklen_t *);
int __real_getsockopt(int, int, int, void *, socklen_t *);
int
__wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    n_meminfo += level == SOL_SOCKET && name == SO_MEMINFO;
    if (no_meminfo && level == SOL_SOCKET && name == SO_MEMINFO) {
        errno = ENOPROTOOPT;
        return -1;
    }
    int retval = __real_getsockopt(fd, level, name, value, len);

    if (!retval && level == SOL_SOCKET && name == SO_MEMINFO) {
        add_drops(fd, &((uint32_t *) value)[SK_MEMINFO_DROPS]);
    }
    return retval;
}

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    int sender;
    uint32_t port_nos[N_PORTS];
    uint64_t n_sent[N_PORTS];
    uint64_t next[N_PORTS];     /* Sequence number expected at least. */
    uint64_t n_received[N_PORTS];
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    shed_error = n_errors = n_shed_calls = 0;
    read_error = 0;
    no_meminfo = false;
    memset(drops, 0, sizeof drops);
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    upcall_table_set_target_delay(f->table, TARGET);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

/* Makes 'port_no' the 'i'th port. */
static void
add(struct fixture *f, size_t i, uint32_t port_no)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    assert_int_equal(upcall_table_add_queues(f->table, port_no, "port",
                                             &channel, 1), 0);
    f->port_nos[i] = port_no;
}

static void
add_all(struct fixture *f)
{
    for (uint32_t i = 0; i < N_PORTS; i++) {
        add(f, i, i + 1);
    }
}

/* Sends 'n' upcalls to the 'i'th port. */
static void
send_n(struct fixture *f, size_t i, size_t n)
{
    uint32_t pid = upcall_table_get_own_pid(f->table, f->port_nos[i]);
    struct unit_msg msg;

    if (drops[i].pid != pid) {
        drops[i].pid = pid;
        drops[i].n = 0;
    }
    unit_msg_upcall(&msg, 0, UNIT_PACKET_MIN);
    for (size_t j = 0; j < n; j++) {
        int error;

        unit_msg_set_seq(&msg, (uint64_t) i << 32 | f->n_sent[i]++);
        error = unit_send(f->sender, pid, msg.buf, msg.len);
        assert_true(!error || error == EAGAIN);
        drops[i].n += error == EAGAIN;
    }
    unit_msg_uninit(&msg);
}

/* Number of upcalls that wait at the 'i'th port. */
static uint64_t stats_shed(struct fixture *f, size_t i);
static uint64_t
n_waiting(struct fixture *f, size_t i)
{
    return (f->n_sent[i] - f->n_received[i] - drops[i].n - stats_shed(f, i));
}

/* Receives a batch, in which the upcalls of each port are in order.  No time
 * passes. */
static void
recv_now(struct fixture *f)
{
    struct upcall_view view;

    while (!upcall_table_recv(f->table, 0, &view)) {
        uint64_t seq = unit_view_seq(&view);
        size_t i = seq >> 32;

        assert_true(i < N_PORTS);
        assert_true((uint32_t) seq >= f->next[i]);
        f->next[i] = (uint32_t) seq + 1;
        f->n_received[i]++;
    }
}

static void
recv_batch(struct fixture *f)
{
    recv_now(f);
    unit_made_up_advance(STEP);
}

static struct upcall_channel_stats
stats_of(struct fixture *f, size_t i)
{
    struct upcall_channel_stats stats = { .received = 0 };
    struct upcall_table_info info;

    upcall_table_get_info(f->table, &info);
    for (size_t j = 0; j < info.n_ports; j++) {
        if (info.ports[j].port_no == f->port_nos[i]) {
            stats = info.ports[j].stats;
        }
    }
    upcall_table_info_uninit(&info);
    return stats;
}

static uint64_t
stats_shed(struct fixture *f, size_t i)
{
    return stats_of(f, i).shed;
}

/* The statistics of one port are those of the snapshot. */
static void
check_port_stats(struct fixture *f, size_t i)
{
    struct upcall_channel_stats all = stats_of(f, i);
    struct upcall_channel_stats one;

    assert_true(upcall_table_get_stats(f->table, f->port_nos[i], &one));
    assert_int_equal(one.received, all.received);
    assert_int_equal(one.lost, all.lost);
    assert_int_equal(one.lost_limited, all.lost_limited);
    assert_int_equal(one.shed, all.shed);
}

/* Checks that every upcall was counted once, when none waits. */
static void
check_all_counted(struct fixture *f)
{
    for (size_t i = 0; i < N_PORTS; i++) {
        struct upcall_channel_stats stats = stats_of(f, i);

        assert_int_equal(stats.received, f->n_received[i]);
        assert_int_equal(stats.lost, no_meminfo ? 0 : drops[i].n);
        assert_int_equal(stats.lost_limited, stats.lost);
        assert_int_equal(stats.received + stats.shed + drops[i].n,
                         f->n_sent[i]);
        check_port_stats(f, i);
    }
}

static void
recv_all(struct fixture *f)
{
    for (int i = 0; i < 200; i++) {
        recv_batch(f);
    }
    check_all_counted(f);
}

/* Has all ports get 'n' upcalls in each of 'n_batches' batches, after
 * 'n_first' at once. */
static void
flood(struct fixture *f, size_t n_first, size_t n, int n_batches)
{
    for (size_t i = 0; i < N_PORTS; i++) {
        send_n(f, i, n_first);
    }
    for (int j = 0; j < n_batches; j++) {
        for (size_t i = 0; i < N_PORTS; i++) {
            send_n(f, i, n);
        }
        recv_batch(f);
    }
}

/* Size of the receive buffer of the 'i'th port, as the kernel has it. */
static uint32_t
buffer_of(struct fixture *f, size_t i)
{
    uint32_t pid = upcall_table_get_own_pid(f->table, f->port_nos[i]);
    uint32_t meminfo[SK_MEMINFO_VARS];
    struct sockaddr_nl addr;
    socklen_t len = sizeof addr;

    for (int fd = 0; fd < 1024; fd++) {
        if (!getsockname(fd, (struct sockaddr *) &addr, &len)
            && addr.nl_family == AF_NETLINK && addr.nl_pid == pid) {
            len = sizeof meminfo;
            assert_int_equal(__real_getsockopt(fd, SOL_SOCKET, SO_MEMINFO,
                                               meminfo, &len), 0);
            return meminfo[SK_MEMINFO_RCVBUF];
        }
        len = sizeof addr;
    }
    return 0;
}

/* Without a limit, a standing backlog costs a system call in one of 16 turns,
 * and is seen. */
static void
backlog_is_measured_now_and_then(void **state)
{
    struct fixture *f = *state;

    upcall_table_set_target_delay(f->table, 0);
    add_all(f);
    n_meminfo = 0;
    for (int i = 0; i < 30; i++) {
        for (size_t j = 0; j < N_PORTS; j++) {
            unsigned int before = n_meminfo;

            send_n(f, j, 100 - n_waiting(f, j));
            n_meminfo = before;
        }
        recv_now(f);
    }

    /* A batch has a turn of each port.  Besides, each port is looked at once
     * to know when its upcalls arrived, and once to know their size. */
    assert_in_range(n_meminfo, N_PORTS * 30 / 16,
                    N_PORTS * 30 / 16 + 1 + 2 * N_PORTS);
    for (size_t i = 0; i < N_PORTS; i++) {
        struct upcall_channel_stats stats;

        while (n_waiting(f, i)) {
            recv_now(f);
        }
        stats = stats_of(f, i);
        assert_int_equal(stats.shed, 0);
        assert_int_equal(stats.backlog, 0);
        assert_true(stats.backlog_max >= (100 - UPCALL_QUANTUM)
                                         * UPCALL_MEM_MIN);
    }
}

static void
standing_queue_is_limited_and_shed_from_its_oldest(void **state)
{
    struct fixture *f = *state;
    uint64_t n_before[N_PORTS];
    uint32_t size;

    add_all(f);
    size = buffer_of(f, 0);
    flood(f, 300, 30, 4);
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_int_equal(stats_of(f, i).shed, 0);
        assert_int_equal(buffer_of(f, i), size);
    }

    /* From the next interval on at most two turns wait, as far as that can be
     * told from the memory they take. */
    flood(f, 0, 30, 10);
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_in_range(buffer_of(f, i), 1, size / 2);
        n_before[i] = f->n_received[i];
        assert_in_range(stats_of(f, i).shed, 200, 300 + 14 * 30);
    }
    for (int j = 0; j < 10; j++) {
        flood(f, 0, 30, 1);
        for (size_t i = 0; i < N_PORTS; i++) {
            assert_in_range(n_waiting(f, i), 0, 3 * UPCALL_QUANTUM);
        }
    }

    /* Its turns are full nevertheless, and the rest is the kernel's to
     * drop. */
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_in_range(f->n_received[i] - n_before[i],
                        9 * UPCALL_QUANTUM, 11 * UPCALL_QUANTUM);
        assert_in_range(stats_of(f, i).lost_limited, 5 * 9, 24 * 30);
    }

    /* The limit ends with the flood. */
    recv_all(f);
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_int_equal(buffer_of(f, i), size);
        assert_in_range(drops[i].n, 5 * 9, 24 * 30);
    }
    send_n(f, 0, 300);
    recv_all(f);
}

static void
port_within_its_share_is_not_limited(void **state)
{
    struct fixture *f = *state;

    add_all(f);
    for (int j = 0; j < 60; j++) {
        send_n(f, 0, 100);
        send_n(f, 1, UPCALL_QUANTUM);
        send_n(f, 2, j % 5 ? 0 : 3 * UPCALL_QUANTUM);
        recv_batch(f);
    }
    assert_in_range(stats_of(f, 0).shed, 1, f->n_sent[0]);
    assert_in_range(stats_of(f, 0).lost_limited, 1, f->n_sent[0]);
    for (size_t i = 1; i < N_PORTS; i++) {
        assert_int_equal(stats_of(f, i).shed, 0);
        assert_int_equal(stats_of(f, i).lost, 0);
    }
    recv_all(f);
}

/* The budget of all buffers may change while a port is limited. */
static void
end_of_a_limit_gives_the_buffer_of_now(void **state)
{
    struct fixture *f = *state;
    uint32_t size;

    add_all(f);
    upcall_table_set_buffer_max(f->table, 8 << 20);
    size = buffer_of(f, 0);
    flood(f, 300, 30, 20);
    assert_in_range(buffer_of(f, 0), 1, size / 2);
    upcall_table_set_buffer_max(f->table, 1 << 20);
    assert_in_range(buffer_of(f, 0), 1, size / 2);
    recv_all(f);
    assert_in_range(buffer_of(f, 0), 1, size / 2);
    upcall_table_set_buffer_max(f->table, 8 << 20);
    assert_int_equal(buffer_of(f, 0), size);

    flood(f, 300, 30, 20);
    upcall_table_set_target_delay(f->table, 0);
    flood(f, 0, 30, 2);
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_int_equal(buffer_of(f, i), size);
    }
    recv_all(f);
}

static void
channels_of_no_port_and_of_several_are_not_limited(void **state)
{
    struct fixture *f = *state;
    uint32_t size;

    add(f, 0, UPCALL_PORT_NONE);
    add(f, 1, UPCALL_PORT_SHARED);
    add(f, 2, UPCALL_PORT_CPU(0));
    size = buffer_of(f, 0);
    flood(f, 300, 30, 20);
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_int_equal(buffer_of(f, i), size);
    }
    assert_int_equal(stats_of(f, 0).shed, 0);
    recv_all(f);
    assert_int_equal(n_shed_calls, 0);
}

static void
without_a_target_nothing_is_shed(void **state)
{
    struct fixture *f = *state;

    add_all(f);
    upcall_table_set_target_delay(f->table, 0);
    flood(f, 300, 30, 20);
    recv_all(f);
    assert_int_equal(n_shed_calls, 0);
}

static void
kernel_that_says_nothing_of_memory_has_nothing_shed(void **state)
{
    struct fixture *f = *state;

    no_meminfo = true;
    add_all(f);
    flood(f, 300, 30, 20);
    recv_all(f);
    assert_int_equal(n_shed_calls, 0);
}

static void
batch_sheds_no_more_than_its_bound(void **state)
{
    struct fixture *f = *state;
    uint64_t before = 0;

    add_all(f);
    flood(f, 1000, 30, 4);
    for (int j = 0; j < 20; j++) {
        uint64_t n_shed = 0;

        flood(f, 0, 30, 1);
        for (size_t i = 0; i < N_PORTS; i++) {
            n_shed += stats_of(f, i).shed;
        }
        assert_in_range(n_shed - before, 0, UPCALL_SHED_MAX);
        before = n_shed;
    }
    assert_in_range(before, 2000, 3000 + 24 * 30 * N_PORTS);
    recv_all(f);
}

/* The kernel drops nothing before what is too much was shed: then what is left
 * came last. */
static void
what_is_kept_came_last(void **state)
{
    struct fixture *f = *state;

    add_all(f);
    flood(f, 1000, 30, 4);
    for (int j = 0; !drops[0].n; j++) {
        assert_true(j < 50);
        flood(f, 0, 30, 1);
    }
    assert_in_range(n_waiting(f, 0), 0, 3 * UPCALL_QUANTUM);
    recv_all(f);
}

static void
overrun_is_counted_when_shedding_meets_it(void **state)
{
    struct fixture *f = *state;

    add_all(f);
    flood(f, 300, 30, 4);
    shed_error = ENOBUFS;
    n_errors = 2;
    flood(f, 0, 30, 10);
    assert_int_equal(n_errors, 0);
    assert_int_equal(stats_of(f, 0).overruns + stats_of(f, 1).overruns
                     + stats_of(f, 2).overruns, 2);
    recv_all(f);

    /* One that comes again and again does not hold up the handler. */
    flood(f, 300, 30, 4);
    n_errors = 1000;
    flood(f, 0, 30, 10);
    assert_in_range(n_errors, 1000 - 10 * N_PORTS * UPCALL_OVERRUNS, 999);
    n_errors = 0;
    recv_all(f);
}

static void
error_ends_shedding_and_loses_nothing(void **state)
{
    struct fixture *f = *state;

    add_all(f);
    flood(f, 300, 30, 4);
    shed_error = EINTR;
    n_errors = 3;
    flood(f, 0, 30, 10);
    assert_int_equal(n_errors, 0);
    recv_all(f);

    /* Reads meet it, too. */
    flood(f, 300, 30, 4);
    shed_error = read_error = EACCES;
    n_errors = 1000;
    flood(f, 0, 10, 3);
    assert_true(stats_of(f, 0).errors > 0);
    n_errors = 0;
    read_error = 0;
    for (int i = 0; i < 100; i++) {
        recv_batch(f);
    }
    for (size_t i = 0; i < N_PORTS; i++) {
        struct upcall_channel_stats stats = stats_of(f, i);

        assert_int_equal(stats.received, f->n_received[i]);
    }
}

static void
what_was_shed_goes_along_with_the_port(void **state)
{
    struct fixture *f = *state;
    uint64_t n_shed;

    add_all(f);
    flood(f, 300, 30, 20);
    recv_all(f);
    n_shed = stats_of(f, 0).shed;
    assert_true(n_shed > 0);

    upcall_table_share(f->table, 1, "port");
    check_port_stats(f, 0);
    assert_int_equal(stats_of(f, 0).shed, n_shed);
    upcall_table_del(f->table, 1);
    check_port_stats(f, 0);
    assert_int_equal(stats_of(f, 0).shed, n_shed);
    add(f, 0, 1);
    upcall_table_unshare(f->table, 1);
    assert_int_equal(stats_of(f, 0).shed, n_shed);

    upcall_table_reset_stats(f->table);
    assert_false(upcall_table_get_stats(f->table, 99,
                                        &(struct upcall_channel_stats) {
                                            .received = 0 }));
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_int_equal(stats_of(f, i).shed, 0);
    }
}

static struct upcall_rate
rate_of(struct fixture *f, size_t i)
{
    struct upcall_rate rate = { .received = 0 };
    struct upcall_table_info info;

    upcall_table_get_info(f->table, &info);
    for (size_t j = 0; j < info.n_ports; j++) {
        if (info.ports[j].port_no == f->port_nos[i]) {
            rate = info.ports[j].rate;
        }
    }
    upcall_table_info_uninit(&info);
    return rate;
}

/* U5. */
static void
rates_are_those_of_the_last_period(void **state)
{
    struct fixture *f = *state;
    long long int at = 1000, next;

    add_all(f);
    next = upcall_table_update_rates(f->table, at, 1);
    assert_int_equal(next, at + UPCALL_RATE_MSEC);
    flood(f, 300, 30, 20);
    recv_all(f);

    /* Not before it is time. */
    upcall_table_update_rates(f->table, next - 1, 2);
    assert_int_equal(rate_of(f, 0).received, 0);
    at = next;
    next = upcall_table_update_rates(f->table, at, 3);
    for (size_t i = 0; i < N_PORTS; i++) {
        struct upcall_channel_stats stats = stats_of(f, i);
        struct upcall_rate rate = rate_of(f, i);

        assert_int_equal(rate.received, DIV_ROUND_UP(stats.received, 5));
        assert_int_equal(rate.shed, DIV_ROUND_UP(stats.shed, 5));
        assert_int_equal(rate.lost, DIV_ROUND_UP(stats.lost, 5));
        assert_int_equal(rate.lost_at, stats.lost ? 3 : 0);
    }

    /* Nothing came since; a port that is another one has no past. */
    upcall_table_del(f->table, 2);
    add(f, 1, 2);
    upcall_table_update_rates(f->table, next, 4);
    for (size_t i = 0; i < N_PORTS; i++) {
        assert_int_equal(rate_of(f, i).received, 0);
    }

    /* Nor does a reset make a rate of what it takes away. */
    upcall_table_reset_stats(f->table);
    next = upcall_table_update_rates(f->table, next + 1, 5);
    assert_int_equal(rate_of(f, 0).received, 0);
}

static void
loss_has_a_time(void **state OVS_UNUSED)
{
    struct upcall_channel_stats stats = { .received = 10, .lost = 0 };
    struct upcall_rate rate = { .received = 0 };

    upcall_rate_update(&rate, &stats, 0, 100);
    assert_int_equal(rate.received, 0);
    stats.received = 20;
    stats.lost = 1;
    upcall_rate_update(&rate, &stats, 5000, 200);
    assert_int_equal(rate.received, 2);
    assert_int_equal(rate.lost, 1);
    assert_int_equal(rate.lost_at, 200);
    stats.lost = 6;
    upcall_rate_update(&rate, &stats, 5000, 300);
    assert_int_equal(rate.lost_at, 300);
    upcall_rate_update(&rate, &stats, 5000, 400);
    assert_int_equal(rate.lost, 0);
    assert_int_equal(rate.lost_at, 300);

    /* Counters that began again. */
    stats.received = 5;
    stats.lost = 2;
    upcall_rate_update(&rate, &stats, 1000, 500);
    assert_int_equal(rate.received, 5);
    assert_int_equal(rate.lost, 2);
    assert_int_equal(rate.lost_at, 500);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(backlog_is_measured_now_and_then),
        TEST(standing_queue_is_limited_and_shed_from_its_oldest),
        TEST(port_within_its_share_is_not_limited),
        TEST(end_of_a_limit_gives_the_buffer_of_now),
        TEST(channels_of_no_port_and_of_several_are_not_limited),
        TEST(without_a_target_nothing_is_shed),
        TEST(kernel_that_says_nothing_of_memory_has_nothing_shed),
        TEST(batch_sheds_no_more_than_its_bound),
        TEST(what_is_kept_came_last),
        TEST(overrun_is_counted_when_shedding_meets_it),
        TEST(error_ends_shedding_and_loses_nothing),
        TEST(what_was_shed_goes_along_with_the_port),
        TEST(rates_are_those_of_the_last_period),
        TEST(loss_has_a_time),
    };

    unit_init("test-upcall-shed");
    return cmocka_run_group_tests_name("upcall-shed", tests, NULL, NULL);
}
