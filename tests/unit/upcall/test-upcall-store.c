/* SPDX-License-Identifier: Apache-2.0 */

/* R4: sockets for upcalls outlive the process.  Each process here is one that
 * the test forks: the test itself is the monitor, and the service manager. */

#include <config.h>
#include "upcall/upcall-store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "openvswitch/dynamic-string.h"
#include "timeval.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

#define DP 3
#define PORT 7

/* Errors that all such calls fail with, or 0. */
static int socketpair_error, sendmsg_error, force_error;

/* Calls of sendmsg(). */
static unsigned int n_sendmsg;

/* The service manager reads all messages at once. */
static bool manager_reads_all;

int __real_socketpair(int, int, int, int[2]);
int __wrap_socketpair(int, int, int, int[2]);

int
__wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
    errno = socketpair_error;
    return errno ? -1 : __real_socketpair(domain, type, protocol, fds);
}

ssize_t __real_sendmsg(int, const struct msghdr *, int);
ssize_t __wrap_sendmsg(int, const struct msghdr *, int);

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    n_sendmsg++;
    if (manager_reads_all) {
        return 1;
    }
    errno = sendmsg_error;
    return errno ? -1 : __real_sendmsg(fd, msg, flags);
}

/* Send buffers that were asked for: how often, by which option, and the last
 * size. */
static unsigned int n_forced, n_asked;
static int send_buffer;

int __real_setsockopt(int, int, int, const void *, socklen_t);
int __wrap_setsockopt(int, int, int, const void *, socklen_t);

int
__wrap_setsockopt(int fd, int level, int option, const void *value,
                  socklen_t len)
{
    if (level == SOL_SOCKET && option == SO_SNDBUFFORCE) {
        n_forced++;
        memcpy(&send_buffer, value, sizeof send_buffer);
        if (force_error) {
            errno = force_error;
            return -1;
        }
        __real_setsockopt(fd, level, option, value, len);
        return 0;               /* As if the test had the privilege. */
    } else if (level == SOL_SOCKET && option == SO_SNDBUF) {
        n_asked++;
        memcpy(&send_buffer, value, sizeof send_buffer);
    }
    return __real_setsockopt(fd, level, option, value, len);
}

/* When the main loop is to run, or LLONG_MAX. */
static long long int wake_at;

void __wrap_poll_timer_wait_until_at(long long int, const char *);

void
__wrap_poll_timer_wait_until_at(long long int msec,
                                const char *where OVS_UNUSED)
{
    wake_at = MIN(wake_at, msec);
}

/* The next messages come without the descriptors that were sent. */
static bool no_room;

ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t __wrap_recvmsg(int, struct msghdr *, int);

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    if (no_room) {
        msg->msg_controllen = 0;
    }
    return __real_recvmsg(fd, msg, flags);
}

/* Sockets. */

static int
open_socket(int protocol, uint32_t *pid)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    socklen_t len = sizeof addr;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, protocol);

    unit_check(fd >= 0);
    unit_check(!bind(fd, (struct sockaddr *) &addr, sizeof addr));
    unit_check(!getsockname(fd, (struct sockaddr *) &addr, &len));
    *pid = addr.nl_pid;
    return fd;
}

/* Sends number 'n' to the socket with 'pid'. */
static void
send_number(uint32_t pid, uint32_t n)
{
    const struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = pid };
    struct { struct nlmsghdr nlh; uint32_t n; } msg = {
        .nlh.nlmsg_len = sizeof msg, .n = n
    };
    uint32_t sender_pid;
    int sender = open_socket(NETLINK_GENERIC, &sender_pid);

    unit_check(sendto(sender, &msg, sizeof msg, 0, (struct sockaddr *) &to,
                      sizeof to) == sizeof msg);
    close(sender);
}

static void
expect_number(int fd, uint32_t n)
{
    struct { struct nlmsghdr nlh; uint32_t n; } msg;

    unit_check(recv(fd, &msg, sizeof msg, 0) == sizeof msg);
    unit_check(msg.n == n);
}

/* Opens a socket for 'port_no' that is to be kept, and returns its port id. */
static uint32_t
add_socket(uint32_t port_no)
{
    uint32_t pid;
    int fd = open_socket(NETLINK_GENERIC, &pid);

    upcall_store_add(fd, DP, port_no, pid);
    return pid;
}

/* Keeps a socket for 'port_no', and returns its port id. */
static uint32_t
keep_socket(uint32_t port_no)
{
    uint32_t pid = add_socket(port_no);

    upcall_store_run();
    return pid;
}

/* What processes tell the test. */
static struct shared {
    uint32_t pids[4];
} *shared;

/* Runs 'function' in a process of its own. */
static void
in_process(void (*function)(void))
{
    int status;
    pid_t child = fork();

    if (!child) {
        upcall_store_start();
        function();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The monitor has no standard input, so that it uses descriptor 0. */
static bool no_stdin;

/* Runs 'function' in a process that is a monitor, and starts others. */
static void
in_monitor(void (*function)(void))
{
    int status;
    pid_t child = fork();

    if (!child) {
        if (no_stdin) {
            close(STDIN_FILENO);
        }
        upcall_store_open(true);
        function();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static struct upcall_store_info
get_info(void)
{
    struct upcall_store_info info;

    upcall_store_get_info(&info);
    return info;
}

/* The store of a monitor. */

static void
first_run(void)
{
    struct upcall_store_info info;

    unit_check(!upcall_store_has_found());
    shared->pids[0] = keep_socket(PORT);
    shared->pids[1] = keep_socket(UINT32_MAX - 1);
    shared->pids[2] = keep_socket(UINT32_MAX - 1);
    info = get_info();
    unit_check(info.exists && info.n_kept == 3 && !info.n_missing);
    send_number(shared->pids[0], 1);
}

static void
second_run(void)
{
    int fd;

    unit_check(upcall_store_has_found());
    unit_check(upcall_store_take(DP, PORT + 1, shared->pids[0]) == -1);
    unit_check(upcall_store_take(DP + 1, PORT, shared->pids[0]) == -1);
    unit_check(upcall_store_take(DP, PORT, shared->pids[1]) == -1);
    fd = upcall_store_take(DP, PORT, shared->pids[0]);
    unit_check(fd >= 0);
    unit_check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
    expect_number(fd, 1);
    expect_number(fd, 2);
    unit_check(upcall_store_take(DP, PORT, shared->pids[0]) == -1);

    /* It is kept already. */
    upcall_store_add(fd, DP, PORT, shared->pids[0]);
    unit_check(!get_info().n_missing);

    /* Those of no port are known by what they are for, and the last one is
     * the one that is used. */
    fd = upcall_store_take(DP, UINT32_MAX - 1, 0);
    send_number(shared->pids[2], 3);
    expect_number(fd, 3);
    unit_check(get_info().n_kept == 2);
    upcall_store_end();
    unit_check(!upcall_store_has_found());
    unit_check(upcall_store_take(DP, UINT32_MAX - 1, 0) == -1);
}

static void
third_run(void)
{
    unit_check(upcall_store_take(DP, PORT, shared->pids[0]) >= 0);
    unit_check(upcall_store_take(DP, UINT32_MAX - 1, shared->pids[2]) >= 0);
}

static void
monitor_starts_three(void)
{
    in_process(first_run);
    send_number(shared->pids[0], 2);
    in_process(second_run);
    in_process(third_run);
}

static void
monitor_hands_sockets_to_the_next_process(void **state OVS_UNUSED)
{
    in_monitor(monitor_starts_three);
    no_stdin = true;
    in_monitor(monitor_starts_three);
    no_stdin = false;
}

static void
store_is_large(void)
{
    unit_check(n_forced == 1 && !n_asked);
    unit_check(send_buffer == 1 << 30);
}

static void
store_is_as_large_as_it_may_be(void)
{
    unit_check(n_forced == 1 && n_asked == 1);
    unit_check(send_buffer == 1 << 30);
}

/* More than net.core.wmem_max, with the privilege. */
static void
store_of_a_monitor_has_room_for_all_sockets(void **state OVS_UNUSED)
{
    in_monitor(store_is_large);
    force_error = EPERM;
    in_monitor(store_is_as_large_as_it_may_be);
    force_error = 0;
}

/* Number of sockets that go in a process. */
#define N_GONE 1000

static void
many_sockets_go(void)
{
    shared->pids[0] = keep_socket(PORT);
    for (int i = 0; i < N_GONE; i++) {
        uint32_t pid;
        int fd = open_socket(NETLINK_GENERIC, &pid);

        upcall_store_add(fd, DP, PORT, pid);
        upcall_store_run();
        upcall_store_remove(pid);
        close(fd);
    }
}

/* Counts those that are found. */
static void
few_are_found(void)
{
    int n = 0;

    while (upcall_store_take(DP, PORT, 0) >= 0) {
        n++;
    }
    unit_check(n < N_GONE / 2);
}

static void
last_is_found(void)
{
    unit_check(upcall_store_take(DP, PORT, shared->pids[0]) >= 0);
}

static void
monitor_forgets(void)
{
    in_process(many_sockets_go);
    in_process(last_is_found);
    in_process(few_are_found);
}

static void
sockets_that_went_do_not_fill_the_store(void **state OVS_UNUSED)
{
    in_monitor(monitor_forgets);
    no_stdin = true;
    in_monitor(monitor_forgets);
    no_stdin = false;
}

static void
sending_fails(void)
{
    struct upcall_store_info info;

    sendmsg_error = ETOOMANYREFS;
    shared->pids[0] = keep_socket(PORT);
    info = get_info();
    unit_check(!info.n_kept && info.n_missing == 1);
    unit_check(info.error == ETOOMANYREFS);

    /* The next one makes it try both. */
    sendmsg_error = 0;
    shared->pids[1] = keep_socket(PORT + 1);
    info = get_info();
    unit_check(info.n_kept == 2 && !info.n_missing);
}

static void
receiving_fails(void)
{
    unit_check(upcall_store_has_found());
}

static void
nothing_is_found(void)
{
    unit_check(!upcall_store_has_found());
}

static void
monitor_has_failures(void)
{
    in_process(sending_fails);
    in_process(receiving_fails);
    no_room = true;
    in_process(nothing_is_found);
}

static void
what_cannot_be_kept_is_tried_again(void **state OVS_UNUSED)
{
    in_monitor(monitor_has_failures);
}

static void
there_is_no_store(void)
{
    unit_check(!get_info().exists);
    keep_socket(PORT);
    unit_check(!get_info().n_kept && !get_info().n_missing);
    upcall_store_leave();
    unit_check(!upcall_store_is_left());
}

static void
without_a_pair_of_sockets_there_is_no_store(void **state OVS_UNUSED)
{
    socketpair_error = EMFILE;
    in_monitor(there_is_no_store);
    socketpair_error = 0;
}

/* The store of systemd. */

/* The service manager's socket. */
static int manager;

static int
open_manager(void **state OVS_UNUSED)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    char name[sizeof addr.sun_path];
    int len = snprintf(name, sizeof name, "@kdp-test-%d", getpid());

    memcpy(addr.sun_path, name, len);
    addr.sun_path[0] = '\0';
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(manager, (struct sockaddr *) &addr,
                          offsetof(struct sockaddr_un, sun_path) + len), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    return 0;
}

static int
close_manager(void **state OVS_UNUSED)
{
    close(manager);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("FDSTORE");
    return 0;
}

/* Takes the next message, which has to be 'text' with 'pid' at the end.
 * Returns its descriptor, or -1. */
static int
expect_message(const char *text, uint32_t pid)
{
    char expected[256], got[256] = "", control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = { got, sizeof got - 1 };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
                          .msg_control = control,
                          .msg_controllen = sizeof control };
    int fd = -1;

    snprintf(expected, sizeof expected, "%s%"PRIu32, text, pid);
    unit_check(recvmsg(manager, &msg, MSG_DONTWAIT) > 0);
    if (strcmp(got, expected)) {
        unit_die("\"%s\" is not \"%s\"", got, expected);
    }
    if (msg.msg_controllen) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof fd);
    }
    return fd;
}

static void
service_first(void)
{
    upcall_store_open(false);
    shared->pids[0] = keep_socket(PORT);
    shared->pids[1] = keep_socket(PORT + 1);
    upcall_store_remove(shared->pids[1]);
    upcall_store_run();

    /* It ends, and the socket stays in the store. */
    upcall_store_leave();
    unit_check(upcall_store_is_left());
    upcall_store_remove(shared->pids[0]);
    upcall_store_run();
}

static void
service_second(void)
{
    upcall_store_open(false);
    unit_check(upcall_store_take(DP, PORT, shared->pids[0]) >= 0);
    unit_check(!upcall_store_has_found());
    unit_check(!getenv("LISTEN_FDS") && !getenv("LISTEN_FDNAMES"));
}

/* Says that descriptor 'fd' was passed by the name of 'pid'. */
static void
pass(int fd, uint32_t pid)
{
    char *n = xasprintf("%d", fd - 2);
    struct ds names = DS_EMPTY_INITIALIZER;

    for (int i = 3; i < fd; i++) {
        ds_put_cstr(&names, "other:");
    }
    ds_put_format(&names, "kdp-%d-%d-%"PRIu32, DP, PORT, pid);
    setenv("LISTEN_FDS", n, 1);
    setenv("LISTEN_FDNAMES", ds_cstr(&names), 1);
    ds_destroy(&names);
    free(n);
}

static void
service_without_stdin(void)
{
    close(STDIN_FILENO);
    service_first();
    upcall_store_notify("READY=1");
}

static void
service_manager_gets_and_passes_sockets(void **state OVS_UNUSED)
{
    int fd;

    in_process(service_first);
    fd = expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-7-",
                        shared->pids[0]);
    close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-8-",
                         shared->pids[1]));
    unit_check(expect_message("FDSTOREREMOVE=1\nFDNAME=kdp-3-8-",
                              shared->pids[1]) == -1);
    unit_check(recv(manager, &fd, sizeof fd, MSG_DONTWAIT) < 0);

    pass(fd, shared->pids[0]);
    in_process(service_second);
    close(fd);
    unsetenv("LISTEN_FDS");

    in_process(service_without_stdin);
    close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-7-",
                         shared->pids[0]));
    close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-8-",
                         shared->pids[1]));
    unit_check(expect_message("FDSTOREREMOVE=1\nFDNAME=kdp-3-8-",
                              shared->pids[1]) == -1);
    unit_check(expect_message("READY=", 1) == -1);
    unit_check(recv(manager, &fd, sizeof fd, MSG_DONTWAIT) < 0);
}

#define N_FOUND 20

/* Checks that the hard limit on open files has room for 'n' channels, now and
 * when the descriptors have been counted again. */
static void
check_max_channels(size_t n)
{
    unit_check(upcall_fd_limit_max_channels() == n);
    unit_clock_advance(60000);
    unit_check(upcall_fd_limit_max_channels() == n);
}

static void
service_that_counts(void)
{
    const struct rlimit limit = { 1024, 4096 };
    struct upcall_channel *channel;
    struct ds names = DS_EMPTY_INITIALIZER;
    uint32_t pids[N_FOUND];
    size_t n;
    int fd;

    unit_check(!setrlimit(RLIMIT_NOFILE, &limit));
    unit_clock_stop(100000);
    n = upcall_fd_limit_max_channels() - 1;     /* For the manager's socket. */
    unit_clock_advance(60000);

    /* It is passed N_FOUND sockets, and perhaps other descriptors. */
    for (int i = 0, next = 3; i < N_FOUND; i++) {
        for (fd = open_socket(NETLINK_GENERIC, &pids[i]); next < fd; next++) {
            ds_put_cstr(&names, "other:");
        }
        unit_check(next++ == fd);
        ds_put_format(&names, "kdp-%d-%d-%"PRIu32":", DP, PORT + i, pids[i]);
    }
    setenv("LISTEN_FDS", "1000", 1);
    setenv("LISTEN_FDNAMES", ds_cstr(&names), 1);
    ds_destroy(&names);
    upcall_store_open(false);
    check_max_channels(n);

    /* One becomes a channel, one goes, and the others are closed. */
    for (int i = 0; i < 2; i++) {
        fd = upcall_store_take(DP, PORT + i, pids[i]);
        unit_check(fd >= 0);
        unit_check(!upcall_channel_create_adopted(fd, &channel));
        check_max_channels(n);
    }
    upcall_store_remove(channel->pid);
    upcall_channel_unref(channel);
    check_max_channels(n);
    upcall_store_end();
    unit_check(!upcall_store_has_found());
    check_max_channels(n);
}

static void
sockets_that_are_found_count_once(void **state OVS_UNUSED)
{
    in_process(service_that_counts);
}

/* Runs the main loop once, and checks that it has sent 'n' messages since the
 * test began, and when it wants to run next: in 'msec', or -1 for never. */
static void
run(unsigned int n, int msec)
{
    long long int expected = msec < 0 ? LLONG_MAX : time_msec() + msec;

    upcall_store_run();
    unit_check(n_sendmsg == n);
    wake_at = LLONG_MAX;
    upcall_store_wait();
    unit_check(wake_at == expected);
}

static void
check_info(size_t n_kept, size_t n_missing, int error)
{
    struct upcall_store_info info = get_info();

    unit_check(info.exists);
    unit_check(info.n_kept == n_kept);
    unit_check(info.n_missing == n_missing);
    unit_check(info.error == error);
}

static void
service_that_is_refused(void)
{
    uint32_t first, second;

    unit_clock_stop(100000);
    n_sendmsg = 0;
    upcall_store_open(false);
    run(0, -1);
    first = add_socket(PORT);
    second = add_socket(PORT + 1);
    wake_at = LLONG_MAX;
    upcall_store_wait();
    unit_check(wake_at == LLONG_MIN);
    check_info(0, 0, 0);

    /* An error of one is no reason not to try the other, */
    sendmsg_error = ETOOMANYREFS;
    run(2, 1000);
    check_info(0, 2, ETOOMANYREFS);
    unit_clock_advance(999);
    run(2, 1);
    unit_clock_advance(1);
    run(4, 1000);

    /* unless systemd has to read first, which is no error. */
    sendmsg_error = EAGAIN;
    unit_clock_advance(1000);
    run(5, 10);
    check_info(0, 2, ETOOMANYREFS);
    unit_clock_advance(9);
    run(5, 1);
    unit_clock_advance(1);
    run(6, 10);
    sendmsg_error = 0;
    unit_clock_advance(10);
    run(8, -1);
    check_info(2, 0, 0);

    /* Both concern sockets that go, too. */
    sendmsg_error = ENOBUFS;
    upcall_store_remove(first);
    run(9, 1000);
    check_info(1, 0, 0);
    unit_clock_advance(1000);
    sendmsg_error = EAGAIN;
    run(10, 10);
    unit_clock_advance(10);
    sendmsg_error = 0;
    run(11, -1);

    /* One that has not been copied is not to be removed. */
    sendmsg_error = EAGAIN;
    first = add_socket(PORT);
    run(12, 10);
    upcall_store_remove(first);
    unit_clock_advance(10);
    sendmsg_error = 0;
    run(12, -1);
    check_info(1, 0, 0);

    /* What is left to the next process stays. */
    upcall_store_leave();
    add_socket(PORT);
    upcall_store_remove(second);
    run(12, -1);
    upcall_store_return();
    run(13, -1);
    check_info(2, 0, 0);
}

static void
service_manager_that_refuses_is_asked_again(void **state OVS_UNUSED)
{
    in_process(service_that_is_refused);
}

static void
service_full(void)
{
    struct upcall_store_info info;

    upcall_store_open(false);
    keep_socket(PORT);
    keep_socket(PORT);
    info = get_info();
    unit_check(info.n_missing == 1 && info.error == ENOSPC);
}

static void
full_store_is_noticed(void **state OVS_UNUSED)
{
    setenv("FDSTORE", "1", 1);
    in_process(service_full);
}

/* Length of the longest name, with a separator. */
#define LONG_NAME 37
#define N_LONG_NAMES 4000

static void
service_with_many_names(void)
{
    struct upcall_store_info info;

    manager_reads_all = true;
    upcall_store_open(false);
    for (uint32_t i = 0; i < N_LONG_NAMES; i++) {
        upcall_store_add(0, INT_MAX, UINT32_MAX, UINT32_MAX - i);
    }
    upcall_store_run();
    info = get_info();
    unit_check(info.n_kept + info.n_missing == N_LONG_NAMES);
    unit_check(info.error == ENOSPC);
    unit_check(info.n_kept == 120 * 1024 / LONG_NAME);

    /* There is room again. */
    for (uint32_t i = 0; i < N_LONG_NAMES; i++) {
        upcall_store_remove(UINT32_MAX - i);
    }
    upcall_store_run();
    upcall_store_add(0, INT_MAX, UINT32_MAX, UINT32_MAX);
    upcall_store_run();
    check_info(1, 0, 0);
}

/* With more, the kernel would refuse to start the next process. */
static void
names_fit_into_an_environment_variable(void **state OVS_UNUSED)
{
    in_process(service_with_many_names);
}

/* How long a service runs on after the command. */
static long long int clear_age;

static void
service_clears(void)
{
    unit_clock_stop(1000000);
    upcall_store_open(false);

    /* Perhaps it does not end. */
    upcall_store_clear_at_end();
    unit_check(!upcall_store_is_left());
    shared->pids[0] = add_socket(PORT);

    unit_clock_advance(clear_age);
    upcall_store_leave();
    unit_check(upcall_store_is_left());
    keep_socket(PORT + 1);
}

/* It talks to the service manager on descriptor 0. */
static void
service_without_stdin_clears(void)
{
    close(STDIN_FILENO);
    service_clears();
}

/* Nothing stays that nobody would get. */
static void
cleared_store_is_empty(void **state OVS_UNUSED)
{
    void (*const services[])(void) = {
        service_clears, service_without_stdin_clears
    };
    char byte;

    clear_age = 10 * 60 * 1000 - 1;
    for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
        in_process(services[i]);
        close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-7-",
                             shared->pids[0]));
        unit_check(expect_message("FDSTOREREMOVE=1\nFDNAME=kdp-3-7-",
                                  shared->pids[0]) == -1);
        unit_check(recv(manager, &byte, sizeof byte, MSG_DONTWAIT) < 0);
    }
}

/* The reload failed, and a restart passes the sockets. */
static void
store_stays_if_the_daemon_ends_much_later(void **state OVS_UNUSED)
{
    char byte;

    clear_age = 10 * 60 * 1000;
    in_process(service_clears);
    close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-7-",
                         shared->pids[0]));
    unit_check(recv(manager, &byte, sizeof byte, MSG_DONTWAIT) < 0);
}

static void
service_finds_nothing(void)
{
    upcall_store_open(false);
    unit_check(!upcall_store_has_found());
}

static void
service_finds_one(void)
{
    upcall_store_open(false);
    unit_check(upcall_store_take(DP, PORT, 0) >= 0);
    unit_check(upcall_store_take(DP, PORT, 0) == -1);
}

static void
only_sockets_that_are_what_they_are_called_are_taken(void **state OVS_UNUSED)
{
    uint32_t pid, other;
    int fd = open_socket(NETLINK_GENERIC, &pid);
    int route = open_socket(NETLINK_ROUTE, &other);
    int pair[2];

    pass(fd, pid);
    in_process(service_finds_one);
    pass(fd, pid + 1);
    in_process(service_finds_nothing);
    pass(route, other);
    in_process(service_finds_nothing);
    assert_int_equal(__real_socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pass(pair[0], pid);
    in_process(service_finds_nothing);
    pass(99, pid);              /* Not open. */
    in_process(service_finds_nothing);
    setenv("LISTEN_FDNAMES", "kdp-3-7-", 1);
    in_process(service_finds_nothing);
    unsetenv("LISTEN_FDNAMES");
    in_process(service_finds_nothing);
    unsetenv("LISTEN_FDS");
    close(pair[0]);
    close(pair[1]);
    close(route);
    close(fd);
}

static void
monitored_service_finds_one(void)
{
    in_process(last_is_found);
    in_process(last_is_found);
}

static void
monitor_of_a_service_has_none_open(void)
{
    unit_check(!upcall_store_has_found());
    monitored_service_finds_one();
}

static void
monitor_keeps_what_was_passed(void **state OVS_UNUSED)
{
    int fd = open_socket(NETLINK_GENERIC, &shared->pids[0]);

    pass(fd, shared->pids[0]);
    in_monitor(monitor_of_a_service_has_none_open);
    unsetenv("LISTEN_FDS");
    close(fd);
}

/* The connection of a handover. */
static int handover[2];

static void
taken_over(void)
{
    unit_check(!upcall_store_receive(handover[1]));
    unit_check(upcall_store_has_found());
    unit_check(upcall_store_take(DP, PORT, shared->pids[0]) >= 0);
    unit_check(upcall_store_take(DP, PORT + 1, 0) >= 0);
    unit_check(!upcall_store_has_found());
}

static void
taken_over_without_room(void)
{
    no_room = true;
    unit_check(!upcall_store_receive(handover[1]));
    unit_check(!upcall_store_has_found());
}

static void
cut_off(void)
{
    unit_check(upcall_store_receive(handover[1]) == EPROTO);
}

/* R6: without any store, too. */
static void
sockets_are_handed_over_to_a_process_that_runs(void **state OVS_UNUSED)
{
    int first = open_socket(NETLINK_GENERIC, &shared->pids[0]);
    int second = open_socket(NETLINK_GENERIC, &shared->pids[1]);
    int n = 2;

    assert_int_equal(__real_socketpair(AF_UNIX, SOCK_SEQPACKET, 0, handover),
                     0);
    upcall_store_add(first, DP, PORT, shared->pids[0]);
    upcall_store_add(second, DP, PORT + 1, shared->pids[1]);
    assert_int_equal(upcall_store_send(handover[0]), 0);
    assert_true(upcall_store_is_left());
    upcall_store_return();
    assert_false(upcall_store_is_left());
    assert_false(get_info().exists || get_info().n_kept);

    /* They are this process's, and not to be found in the other one. */
    upcall_store_remove(shared->pids[0]);
    upcall_store_remove(shared->pids[1]);
    in_process(taken_over);

    /* A process without a descriptor left gets nothing, and knows where the
     * messages end. */
    upcall_store_add(first, DP, PORT, shared->pids[0]);
    assert_int_equal(upcall_store_send(handover[0]), 0);
    in_process(taken_over_without_room);
    upcall_store_return();
    upcall_store_remove(shared->pids[0]);
    assert_int_equal(upcall_store_send(handover[0]), 0);
    upcall_store_return();
    in_process(taken_over_without_room);

    /* The other end goes in the middle. */
    assert_int_equal(send(handover[0], &n, sizeof n, 0), sizeof n);
    close(handover[0]);
    in_process(cut_off);
    close(handover[1]);
    close(first);
    close(second);
}

static void
full_service_hands_over(void)
{
    upcall_store_open(false);
    shared->pids[0] = keep_socket(PORT);
    shared->pids[1] = keep_socket(PORT + 1);
    unit_check(get_info().n_missing == 1);
    unit_check(!upcall_store_send(handover[0]));
}

static void
service_with_room_takes_over(void)
{
    upcall_store_open(false);
    unit_check(!upcall_store_receive(handover[1]));
    unit_check(upcall_store_take(DP, PORT, shared->pids[0]) >= 0);
    unit_check(upcall_store_take(DP, PORT + 1, shared->pids[1]) >= 0);
    unit_check(get_info().n_kept == 1);
    upcall_store_run();
    unit_check(get_info().n_kept == 2);
}

/* The process that takes over copies what the one before could not. */
static void
socket_that_is_handed_over_is_copied_once(void **state OVS_UNUSED)
{
    char byte;

    assert_int_equal(__real_socketpair(AF_UNIX, SOCK_SEQPACKET, 0, handover),
                     0);
    setenv("FDSTORE", "1", 1);
    in_process(full_service_hands_over);
    close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-7-",
                         shared->pids[0]));
    unsetenv("FDSTORE");
    in_process(service_with_room_takes_over);
    close(expect_message("FDSTORE=1\nFDPOLL=0\nFDNAME=kdp-3-8-",
                         shared->pids[1]));
    unit_check(recv(manager, &byte, sizeof byte, MSG_DONTWAIT) < 0);
    close(handover[0]);
    close(handover[1]);
}

#define SYSTEMD_TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, open_manager, close_manager)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(monitor_hands_sockets_to_the_next_process),
        cmocka_unit_test(store_of_a_monitor_has_room_for_all_sockets),
        cmocka_unit_test(sockets_that_went_do_not_fill_the_store),
        cmocka_unit_test(what_cannot_be_kept_is_tried_again),
        cmocka_unit_test(without_a_pair_of_sockets_there_is_no_store),
        cmocka_unit_test(sockets_are_handed_over_to_a_process_that_runs),
        SYSTEMD_TEST(service_manager_gets_and_passes_sockets),
        SYSTEMD_TEST(sockets_that_are_found_count_once),
        SYSTEMD_TEST(service_manager_that_refuses_is_asked_again),
        SYSTEMD_TEST(full_store_is_noticed),
        SYSTEMD_TEST(socket_that_is_handed_over_is_copied_once),
        SYSTEMD_TEST(names_fit_into_an_environment_variable),
        SYSTEMD_TEST(cleared_store_is_empty),
        SYSTEMD_TEST(store_stays_if_the_daemon_ends_much_later),
        SYSTEMD_TEST(only_sockets_that_are_what_they_are_called_are_taken),
        SYSTEMD_TEST(monitor_keeps_what_was_passed),
    };

    unit_init("test-upcall-store");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("upcall-store", tests, NULL, NULL);
}
