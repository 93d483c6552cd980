/* SPDX-License-Identifier: Apache-2.0 */

/* R4: sockets for upcalls outlive the process.  Each process here is one that
 * the test forks: the test itself is the monitor, and the service manager. */

#include <config.h>
#include "upcall/upcall-store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/unit.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

#define DP 3
#define PORT 7

/* Errors that all such calls fail with, or 0. */
static int socketpair_error, sendmsg_error;

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
    errno = sendmsg_error;
    return errno ? -1 : __real_sendmsg(fd, msg, flags);
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

/* Keeps a socket for 'port_no', and returns its port id. */
static uint32_t
keep_socket(uint32_t port_no)
{
    uint32_t pid;
    int fd = open_socket(NETLINK_GENERIC, &pid);

    upcall_store_add(fd, DP, port_no, pid);
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

/* Runs 'function' in a process that is a monitor, and starts others. */
static void
in_monitor(void (*function)(void))
{
    int status;
    pid_t child = fork();

    if (!child) {
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

    /* The other end goes in the middle. */
    assert_int_equal(send(handover[0], &n, sizeof n, 0), sizeof n);
    close(handover[0]);
    in_process(cut_off);
    close(handover[1]);
    close(first);
    close(second);
}

#define SYSTEMD_TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, open_manager, close_manager)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(monitor_hands_sockets_to_the_next_process),
        cmocka_unit_test(sockets_that_went_do_not_fill_the_store),
        cmocka_unit_test(what_cannot_be_kept_is_tried_again),
        cmocka_unit_test(without_a_pair_of_sockets_there_is_no_store),
        cmocka_unit_test(sockets_are_handed_over_to_a_process_that_runs),
        SYSTEMD_TEST(service_manager_gets_and_passes_sockets),
        SYSTEMD_TEST(full_store_is_noticed),
        SYSTEMD_TEST(only_sockets_that_are_what_they_are_called_are_taken),
        SYSTEMD_TEST(monitor_keeps_what_was_passed),
    };

    unit_init("test-upcall-store");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("upcall-store", tests, NULL, NULL);
}
