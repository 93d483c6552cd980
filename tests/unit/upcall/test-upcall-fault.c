/* SPDX-License-Identifier: Apache-2.0 */

/* U2, U6: what happens when the system refuses.  The linker sends the calls
 * that the code under test makes here (--wrap), and each operation is repeated
 * with its first call failing, its second, and so on until it needs no more of
 * them: every failure must be reported, leave what was there as it was and
 * leak nothing. */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl/nl-mcast.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-fd-limit.h"
#include "upcall/upcall-table.h"
#include "util.h"

UNIT_WRAP(int, epoll_create1, (int flags), (flags), UNIT_CALL_EPOLL_CREATE, -1)
UNIT_WRAP(int, epoll_ctl, (int epfd, int op, int fd,
                           struct epoll_event *event),
          (epfd, op, fd, event),
          /* Removing does not fail. */
          op == EPOLL_CTL_ADD ? UNIT_CALL_EPOLL_CTL : UNIT_N_CALLS, -1)
UNIT_WRAP(int, eventfd, (unsigned int count, int flags), (count, flags),
          UNIT_CALL_EVENTFD, -1)
UNIT_WRAP(void *, mmap, (void *addr, size_t len, int prot, int flags, int fd,
                         off_t offset),
          (addr, len, prot, flags, fd, offset), UNIT_CALL_MMAP, MAP_FAILED)
UNIT_WRAP(int, recvmmsg, (int fd, struct mmsghdr *msgs, unsigned int n,
                          int flags, struct timespec *timeout),
          (fd, msgs, n, flags, timeout), UNIT_CALL_RECVMMSG, -1)

UNIT_WRAP(DIR *, opendir, (const char *name), (name), UNIT_CALL_OPEN, NULL)

/* Limits on open files are made up. */
static struct rlimit limit;

int __wrap_getrlimit(__rlimit_resource_t, struct rlimit *);
int
__wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *l)
{
    assert_int_equal(resource, RLIMIT_NOFILE);
    if (unit_fails(UNIT_CALL_GETRLIMIT)) {
        return -1;
    }
    *l = limit;
    return 0;
}

int __wrap_setrlimit(__rlimit_resource_t, const struct rlimit *);
int
__wrap_setrlimit(__rlimit_resource_t resource, const struct rlimit *l)
{
    assert_int_equal(resource, RLIMIT_NOFILE);
    if (unit_fails(UNIT_CALL_SETRLIMIT)) {
        return -1;
    }
    assert_true(l->rlim_cur <= l->rlim_max);
    assert_int_equal(l->rlim_max, limit.rlim_max);
    limit = *l;
    return 0;
}

/* What questions about descriptors end with. */
static int ppoll_error;

int __real_ppoll(struct pollfd *, nfds_t, const struct timespec *,
                 const sigset_t *);
int __wrap_ppoll(struct pollfd *, nfds_t, const struct timespec *,
                 const sigset_t *);
int
__wrap_ppoll(struct pollfd *pfds, nfds_t n, const struct timespec *timeout,
             const sigset_t *mask)
{
    errno = ppoll_error;
    return ppoll_error ? -1 : __real_ppoll(pfds, n, timeout, mask);
}

/* Tables. */

struct fixture {
    size_t n_fds;
    struct upcall_table *table;
    int sender;
    uint64_t seq;
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_plan_none();
    unit_rcu_barrier();
    f->n_fds = unit_count_fds();
    f->table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    f->sender = unit_sender_open();
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_plan_none();
    upcall_table_destroy(f->table);
    close(f->sender);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

static struct upcall_channel *
create_channel(void)
{
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    return channel;
}

static void
add_port(struct fixture *f, uint32_t port_no)
{
    struct upcall_channel *channel = create_channel();

    assert_int_equal(upcall_table_add_queues(f->table, port_no, "port",
                                             &channel, 1), 0);
}

/* Receives whatever there is with all handlers in turn, until two rounds gave
 * nothing, after which no handler holds a port.  Returns the number of
 * upcalls. */
static size_t
receive_all(struct fixture *f)
{
    size_t n_total = 0;

    for (int n_empty = 0; n_empty < 2; n_empty++) {
        size_t n = 0;

        for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
            struct upcall_view view;

            while (upcall_table_recv(f->table, h, &view) == 0) {
                n++;
            }
        }
        if (n) {
            n_total += n;
            n_empty = -1;
        }
    }
    return n_total;
}

/* Checks that upcalls of port 'port_no' are received by every handler. */
static void
check_port_works(struct fixture *f, uint32_t port_no)
{
    for (uint32_t h = 0; h < upcall_table_n_handlers(f->table); h++) {
        struct upcall_view view;
        uint64_t seq = f->seq++;

        receive_all(f);
        unit_send_upcall(f->sender, upcall_table_get_pid(f->table, port_no),
                         seq);
        assert_int_equal(upcall_table_recv(f->table, h, &view), 0);
        assert_int_equal(unit_view_seq(&view), seq);
        assert_int_equal(upcall_table_recv(f->table, h, &view), EAGAIN);
    }
    assert_int_equal(receive_all(f), 0);
}

static void
channel_that_cannot_be_made_leaves_nothing_behind(void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        int error;
    } failures[] = {
        { UNIT_CALL_SOCKET, EMFILE },
        { UNIT_CALL_SOCKET, ENFILE },
        { UNIT_CALL_SOCKET, ENOMEM },
        { UNIT_CALL_BIND, EADDRINUSE },
        { UNIT_CALL_BIND, ENOMEM },
    };

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        struct upcall_channel *channel = (struct upcall_channel *) &channel;
        size_t n_fds = unit_count_fds();

        unit_plan_failures(failures[i].which, 1, 1, failures[i].error);
        assert_int_equal(upcall_channel_create(&channel), failures[i].error);
        assert_int_equal(unit_n_failed(), 1);
        assert_null(channel);
        assert_int_equal(unit_count_fds(), n_fds);
    }
}

static void
channel_whose_buffer_cannot_be_enlarged_works(void **state)
{
    struct fixture *f = *state;

    /* First without the privilege, then not at all. */
    for (unsigned int n = 1; n <= 2; n++) {
        struct upcall_channel *channel;

        unit_plan_failures(UNIT_CALL_SETSOCKOPT, 1, n, EPERM);
        assert_int_equal(upcall_channel_create(&channel), 0);
        assert_int_equal(unit_n_failed(), n);
        unit_plan_none();
        assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
        assert_int_equal(upcall_table_add_queues(f->table, 1, "port", &channel,
                                                 1), 0);
        check_port_works(f, 1);
    }
}

/* Adds a port to a table with 'n' handlers, failing at each step. */
static void
new_port_that_cannot_be_registered_is_not_there(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel;
    unsigned int nth;
    size_t n_fds;
    int error;

    assert_int_equal(upcall_table_set_handlers(f->table, 3), 0);
    add_port(f, 1);
    channel = create_channel();
    n_fds = unit_count_fds();
    for (nth = 1; ; nth++) {
        unit_plan_failures(UNIT_CALL_EPOLL_CTL, nth, 1, ENOSPC);
        error = upcall_table_add_queues(f->table, 2, "new", &channel, 1);
        if (!error) {
            break;
        }
        unit_plan_none();
        assert_int_equal(error, ENOSPC);
        assert_int_equal(upcall_table_get_pid(f->table, 2), 0);
        assert_int_equal(upcall_table_n_channels(f->table), 1);
        check_port_works(f, 1);

        /* No handler is left with it. */
        unit_send_upcall(f->sender, channel->pid, 1000);
        assert_int_equal(receive_all(f), 0);
        upcall_channel_drain(channel);
        unit_rcu_barrier();
        assert_int_equal(unit_count_fds(), n_fds);
    }
    unit_plan_none();
    assert_int_equal(nth, 2);

    /* The caller's reference was good for another try. */
    assert_int_equal(upcall_table_get_pid(f->table, 2), channel->pid);
    check_port_works(f, 2);
    check_port_works(f, 1);
}

static void
channel_that_was_refused_belongs_to_the_caller(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel = create_channel();
    size_t n_fds = unit_count_fds();

    assert_int_equal(upcall_table_set_handlers(f->table, 2), 0);
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 1, ENOMEM);
    assert_int_equal(upcall_table_add_queues(f->table, 2, "new", &channel, 1),
                     ENOMEM);
    unit_plan_none();
    assert_int_equal(upcall_table_set_handlers(f->table, 0), 0);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);
    upcall_channel_unref(channel);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds - 1);
}

/* A handler may have found it while it was about to be added. */
static void
channel_that_was_refused_lives_for_a_grace_period(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel = create_channel();
    size_t n_fds;

    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    unit_rcu_barrier();
    n_fds = unit_count_fds();
    unit_plan_failures(UNIT_CALL_EPOLL_CTL, 1, 1, ENOSPC);
    assert_int_equal(upcall_table_add_queues(f->table, 2, "new", &channel, 1),
                     ENOSPC);
    unit_plan_none();
    upcall_channel_unref(channel);
    assert_int_equal(unit_count_fds(), n_fds);
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds - 1);
}

static void
port_keeps_its_channel_when_the_replacement_fails(void **state)
{
    struct fixture *f = *state;
    struct upcall_channel *channel = create_channel();
    uint32_t pid;
    int error;

    assert_int_equal(upcall_table_set_handlers(f->table, 2), 0);
    add_port(f, 1);
    pid = upcall_table_get_pid(f->table, 1);
    for (unsigned int nth = 1; ; nth++) {
        unit_plan_failures(UNIT_CALL_EPOLL_CTL, nth, 1, ENOSPC);
        error = upcall_table_add_queues(f->table, 1, "again", &channel, 1);
        if (!error) {
            break;
        }
        unit_plan_none();
        assert_int_equal(error, ENOSPC);
        assert_int_equal(upcall_table_get_pid(f->table, 1), pid);
        assert_int_equal(upcall_table_n_channels(f->table), 1);
        check_port_works(f, 1);
    }
    unit_plan_none();
    assert_int_equal(upcall_table_get_pid(f->table, 1), channel->pid);
    check_port_works(f, 1);
}

/* Changes the number of handlers from 'from' to 'to' with 'which' failing at
 * each step. */
static void
check_set_handlers(struct fixture *f, uint32_t from, uint32_t to,
                   enum unit_call which, int fault, unsigned int n_steps)
{
    unsigned int nth;
    uint32_t pid;
    size_t n_fds;
    int error;

    assert_int_equal(upcall_table_set_handlers(f->table, from), 0);

    /* Each handler lets the one that it replaced go. */
    assert_int_equal(receive_all(f), 0);
    unit_rcu_barrier();
    n_fds = unit_count_fds();
    pid = upcall_table_get_pid(f->table, 1);
    for (nth = 1; ; nth++) {
        uint64_t seq = f->seq++;

        unit_send_upcall(f->sender, pid, seq);
        unit_plan_failures(which, nth, 1, fault);
        error = upcall_table_set_handlers(f->table, to);
        if (!error) {
            break;
        }
        unit_plan_none();
        assert_int_equal(error, fault);
        assert_int_equal(upcall_table_n_handlers(f->table), from);
        assert_int_equal(upcall_table_get_pid(f->table, 1), pid);
        if (from) {
            assert_int_equal(receive_all(f), 1);
            check_port_works(f, 1);
            check_port_works(f, 2);
        }
        unit_rcu_barrier();
        assert_int_equal(unit_count_fds(), n_fds);
    }
    unit_plan_none();
    assert_int_equal(nth, n_steps + 1);
    assert_int_equal(upcall_table_n_handlers(f->table), to);
    assert_int_equal(upcall_table_get_pid(f->table, 1), pid);

    /* Those that were sent while there was no handler came too. */
    assert_int_equal(receive_all(f), from ? 1 : nth);
    check_port_works(f, 1);
    check_port_works(f, 2);
}

static void
handlers_stay_when_new_ones_cannot_be_made(void **state)
{
    static const uint32_t before[] = { 0, 2 };
    struct fixture *f = *state;

    add_port(f, 1);
    add_port(f, 2);
    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        uint32_t n = before[i];

        check_set_handlers(f, n, 3, UNIT_CALL_EVENTFD, EMFILE, 2);
        check_set_handlers(f, n, 3, UNIT_CALL_MMAP, ENOMEM, 6);
        check_set_handlers(f, n, 3, UNIT_CALL_EPOLL_CREATE, EMFILE, 1);

        /* What wakes the handlers, and two ports. */
        check_set_handlers(f, n, 3, UNIT_CALL_EPOLL_CTL, ENOSPC, 4);
        check_set_handlers(f, n, 3, UNIT_CALL_EPOLL_CTL, ENOMEM, 4);
    }
}

static void
interrupted_receive_is_repeated(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    add_port(f, 1);
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, 1), 5);
    unit_plan_failures(UNIT_CALL_RECVMMSG, 1, 3, EINTR);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(unit_n_failed(), 3);
    assert_int_equal(unit_view_seq(&view), 5);
}

static void
overruns_are_counted_and_receiving_goes_on(void **state)
{
    struct fixture *f = *state;
    struct upcall_table_info info;

    /* More than one turn puts up with. */
    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    add_port(f, 1);
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, 1), 5);
    unit_plan_failures(UNIT_CALL_RECVMMSG, 1, 9, ENOBUFS);
    assert_int_equal(receive_all(f), 1);
    assert_int_equal(unit_n_failed(), 9);
    upcall_table_get_info(f->table, &info);
    assert_int_equal(info.ports[0].stats.overruns, 9);
    assert_int_equal(info.ports[0].stats.received, 1);
    upcall_table_info_uninit(&info);
}

static void
port_that_cannot_be_read_does_not_stop_the_others(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    assert_int_equal(upcall_table_set_handlers(f->table, 1), 0);
    add_port(f, 1);
    add_port(f, 2);
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, 1), 1);
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, 2), 2);
    unit_plan_failures(UNIT_CALL_RECVMMSG, 1, 1, ENOMEM);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), 0);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(unit_view_seq(&view), 2);
    assert_int_equal(upcall_table_recv(f->table, 0, &view), EAGAIN);

    /* What was left waits for the next edge. */
    unit_send_upcall(f->sender, upcall_table_get_pid(f->table, 1), 3);
    assert_int_equal(receive_all(f), 2);
}

/* Connections. */

static void
connection_that_cannot_be_opened_leaves_nothing_behind(
    void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        int error;
    } failures[] = {
        { UNIT_CALL_SOCKET, EMFILE },
        { UNIT_CALL_BIND, EADDRINUSE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        struct nl_conn *conn = (struct nl_conn *) &conn;
        size_t n_fds = unit_count_fds();

        unit_plan_failures(failures[i].which, 1, 1, failures[i].error);
        assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn),
                         failures[i].error);
        assert_null(conn);
        assert_int_equal(unit_count_fds(), n_fds);
    }
}

static void
connection_does_without_explanations_of_errors(void **state OVS_UNUSED)
{
    struct genl_family family;
    struct nl_conn *conn;

    unit_plan_failures(UNIT_CALL_MNL_SETSOCKOPT, 1, 1, ENOPROTOOPT);
    assert_int_equal(nl_conn_open(NETLINK_GENERIC, &conn), 0);
    assert_int_equal(unit_n_failed(), 1);
    unit_plan_none();
    assert_int_equal(genl_family_lookup(conn, "nlctrl", NULL, &family), 0);
    nl_conn_close(conn);
}

static void
multicast_socket_that_cannot_be_opened_leaves_nothing_behind(
    void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        int error;
    } failures[] = {
        { UNIT_CALL_SOCKET, EMFILE },
        { UNIT_CALL_BIND, EADDRINUSE },
        { UNIT_CALL_MNL_SETSOCKOPT, EPERM },
    };

    const struct nl_mcast_options options = {
        .groups = (const unsigned int[]) { 16 }, .n_groups = 1,
    };

    for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
        struct nl_mcast *mcast = (struct nl_mcast *) &mcast;
        size_t n_fds = unit_count_fds();

        unit_plan_failures(failures[i].which, 1, 1, failures[i].error);
        assert_int_equal(nl_mcast_open(NETLINK_GENERIC, &options, &mcast),
                         failures[i].error);
        assert_null(mcast);
        assert_int_equal(unit_count_fds(), n_fds);
    }
}

/* Limits. */

static void
limit_that_suffices_is_left_alone(void **state OVS_UNUSED)
{
    limit = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 4096 };
    assert_int_equal(upcall_fd_limit_ensure("dp", 100, 4), 0);
    assert_int_equal(limit.rlim_cur, 1024);

    limit = (struct rlimit) { .rlim_cur = RLIM_INFINITY,
                              .rlim_max = RLIM_INFINITY };
    assert_int_equal(upcall_fd_limit_ensure("dp", 65536, 100), 0);
    assert_true(limit.rlim_cur == RLIM_INFINITY);
}

static void
soft_limit_is_raised_for_many_ports(void **state OVS_UNUSED)
{
    limit = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 1048576 };
    assert_int_equal(upcall_fd_limit_ensure("dp", 5000, 16), 0);
    assert_true(limit.rlim_cur > 5000 + 16);
    assert_true(limit.rlim_cur < 10000);

    /* A few more ports fit without another change. */
    struct rlimit before = limit;
    assert_int_equal(upcall_fd_limit_ensure("dp", 5001, 16), 0);
    assert_true(limit.rlim_cur == before.rlim_cur);

    limit = (struct rlimit) { .rlim_cur = 1024, .rlim_max = RLIM_INFINITY };
    assert_int_equal(upcall_fd_limit_ensure("dp", 65536, 16), 0);
    assert_true(limit.rlim_cur > 65536);
}

/* Channels, handlers and what else is open are added up, and the limit grows
 * in large steps, once they exceed it. */
static void
soft_limit_is_raised_when_it_is_exceeded(void **state OVS_UNUSED)
{
    enum { SOFT = 1000, HARD = 10000, STEP = 1024, N_HANDLERS = 10 };
    size_t n;

    unit_clock_stop(unit_now() + 200000);
    limit = (struct rlimit) { .rlim_cur = SOFT, .rlim_max = HARD };
    n = SOFT - (HARD - upcall_fd_limit_max_channels()) - N_HANDLERS;
    assert_int_equal(upcall_fd_limit_ensure("dp", n, N_HANDLERS), 0);
    assert_int_equal(limit.rlim_cur, SOFT);
    assert_int_equal(upcall_fd_limit_ensure("dp", n + 1, N_HANDLERS), 0);
    assert_int_equal(limit.rlim_cur, STEP);
    limit.rlim_cur = SOFT;
    assert_int_equal(upcall_fd_limit_ensure("dp", n, N_HANDLERS + 1), 0);
    assert_int_equal(limit.rlim_cur, STEP);

    /* By another step, or by as much as is possible. */
    n += STEP - SOFT;
    assert_int_equal(upcall_fd_limit_ensure("dp", n, N_HANDLERS), 0);
    assert_int_equal(limit.rlim_cur, STEP);
    assert_int_equal(upcall_fd_limit_ensure("dp", n + 1, N_HANDLERS), 0);
    assert_int_equal(limit.rlim_cur, 2 * STEP);
    n += 2000 - STEP;
    limit = (struct rlimit) { .rlim_cur = STEP, .rlim_max = 2000 };
    assert_int_equal(upcall_fd_limit_ensure("dp", n, N_HANDLERS), 0);
    assert_int_equal(limit.rlim_cur, 2000);

    /* What cannot be raised is not set. */
    unit_plan_failures(UNIT_CALL_SETRLIMIT, 1, 1, EPERM);
    assert_int_equal(upcall_fd_limit_ensure("dp", n + 1, N_HANDLERS), EMFILE);
    assert_int_equal(unit_n_failed(), 0);
    unit_plan_none();
    unit_clock_run();
}

static void
hard_limit_that_is_too_low_is_reached_and_reported(
    void **state OVS_UNUSED)
{
    limit = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 2000 };
    assert_int_equal(upcall_fd_limit_ensure("dp", 5000, 16), EMFILE);
    assert_int_equal(limit.rlim_cur, 2000);

    /* Also where there is nothing to raise any more. */
    assert_int_equal(upcall_fd_limit_ensure("dp", 5000, 16), EMFILE);
    assert_int_equal(limit.rlim_cur, 2000);
}

static void
what_else_is_open_is_counted(void **state OVS_UNUSED)
{
    struct upcall_channel *channels[10];
    int fds[300];
    size_t n;

    limit = (struct rlimit) { 1024, 10000 };
    unit_clock_stop(unit_now() + 1000000);
    n = upcall_fd_limit_max_channels();
    assert_in_range(n, 9000, 9999);
    for (size_t i = 0; i < ARRAY_SIZE(channels); i++) {
        channels[i] = create_channel();
    }
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = dup(1);
        assert_true(fds[i] >= 0);
    }

    /* Not each time. */
    assert_int_equal(upcall_fd_limit_max_channels(), n);
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), n - ARRAY_SIZE(fds));
    assert_int_equal(upcall_fd_limit_ensure("dp", n - ARRAY_SIZE(fds), 0), 0);
    assert_int_equal(upcall_fd_limit_ensure("dp", n - ARRAY_SIZE(fds) + 1, 0),
                     EMFILE);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(channels); i++) {
        upcall_channel_unref(channels[i]);
    }
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), n);
    unit_clock_run();
}

/* Channels are to adopt the sockets, so the budget counts each once.  The soft
 * limit has room for them besides the channels: perhaps no channel adopts
 * them. */
static void
sockets_of_a_previous_run_are_no_others(void **state OVS_UNUSED)
{
    enum { SOFT = 1024, HARD = 10000 };
    int fds[300];
    size_t max, n;

    limit = (struct rlimit) { SOFT, HARD };
    unit_clock_stop(unit_now() + 2000000);
    max = upcall_fd_limit_max_channels();
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = dup(1);
        assert_true(fds[i] >= 0);
    }
    upcall_fd_limit_set_found(ARRAY_SIZE(fds));
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), max);

    n = SOFT - (HARD - max) - ARRAY_SIZE(fds);
    assert_int_equal(upcall_fd_limit_ensure("dp", n, 0), 0);
    assert_int_equal(limit.rlim_cur, SOFT);
    assert_int_equal(upcall_fd_limit_ensure("dp", n + 1, 0), 0);
    assert_int_equal(limit.rlim_cur, 2 * SOFT);
    assert_int_equal(upcall_fd_limit_ensure("dp", max, 0), 0);
    assert_int_equal(limit.rlim_cur, HARD);
    assert_int_equal(upcall_fd_limit_ensure("dp", max + 1, 0), EMFILE);

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    upcall_fd_limit_set_found(0);
    assert_int_equal(upcall_fd_limit_max_channels(), max);
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), max);
    unit_clock_run();
}

/* As when there is no descriptor left to list them with, or no /proc. */
static void
what_else_is_open_is_counted_without_proc(void **state OVS_UNUSED)
{
    struct upcall_channel *channels[10];
    int fds[300];
    size_t n;

    limit = (struct rlimit) { 1024, 10000 };
    unit_clock_stop(unit_now() + 100000);
    for (size_t i = 0; i < ARRAY_SIZE(channels); i++) {
        channels[i] = create_channel();
    }
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = dup(1);
        assert_true(fds[i] >= 0);
    }
    unit_plan_failures(UNIT_CALL_OPEN, 1, 1, EMFILE);
    n = upcall_fd_limit_max_channels();
    assert_int_equal(unit_n_failed(), 1);
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), n);

    /* Those that are closed count no more. */
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        close(fds[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(channels); i++) {
        upcall_channel_unref(channels[i]);
    }
    unit_plan_failures(UNIT_CALL_OPEN, 1, 1, EMFILE);
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), n + ARRAY_SIZE(fds));
    assert_int_equal(unit_n_failed(), 1);

    /* What cannot be asked about is taken for open. */
    unit_plan_failures(UNIT_CALL_OPEN, 1, 1, ENOENT);
    ppoll_error = ENOMEM;
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), 10000 - 1024 - 64);
    ppoll_error = 0;
    unit_clock_advance(60000);
    assert_int_equal(upcall_fd_limit_max_channels(), n + ARRAY_SIZE(fds));
    unit_clock_run();
}

static void
limit_that_cannot_be_raised_is_reported(void **state OVS_UNUSED)
{
    limit = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 8192 };
    unit_plan_failures(UNIT_CALL_SETRLIMIT, 1, 1, EPERM);
    assert_int_equal(upcall_fd_limit_ensure("dp", 5000, 16), EMFILE);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(limit.rlim_cur, 1024);
}

static void
limit_that_cannot_be_read_keeps_nobody_from_trying(void **state OVS_UNUSED)
{
    limit = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 8192 };
    unit_plan_failures(UNIT_CALL_GETRLIMIT, 1, 1, EPERM);
    assert_int_equal(upcall_fd_limit_ensure("dp", 5000, 16), 0);
    assert_int_equal(limit.rlim_cur, 1024);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(channel_that_cannot_be_made_leaves_nothing_behind),
        TEST(channel_whose_buffer_cannot_be_enlarged_works),
        TEST(new_port_that_cannot_be_registered_is_not_there),
        TEST(channel_that_was_refused_belongs_to_the_caller),
        TEST(channel_that_was_refused_lives_for_a_grace_period),
        TEST(port_keeps_its_channel_when_the_replacement_fails),
        TEST(handlers_stay_when_new_ones_cannot_be_made),
        TEST(interrupted_receive_is_repeated),
        TEST(overruns_are_counted_and_receiving_goes_on),
        TEST(port_that_cannot_be_read_does_not_stop_the_others),
        TEST(connection_that_cannot_be_opened_leaves_nothing_behind),
        TEST(connection_does_without_explanations_of_errors),
        TEST(multicast_socket_that_cannot_be_opened_leaves_nothing_behind),
        TEST(what_else_is_open_is_counted_without_proc),
        TEST(limit_that_suffices_is_left_alone),
        TEST(soft_limit_is_raised_for_many_ports),
        TEST(soft_limit_is_raised_when_it_is_exceeded),
        TEST(hard_limit_that_is_too_low_is_reached_and_reported),
        TEST(what_else_is_open_is_counted),
        TEST(sockets_of_a_previous_run_are_no_others),
        TEST(limit_that_cannot_be_raised_is_reported),
        TEST(limit_that_cannot_be_read_keeps_nobody_from_trying),
    };

    unit_init("test-fault");
    return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
