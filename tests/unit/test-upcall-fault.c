/* SPDX-License-Identifier: Apache-2.0 */

/* Every call that opens or allocates something fails in turn.  After each
 * failure the error is reported, nothing has leaked, and what worked before
 * works on. */

#include <config.h>

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "nl/nl-conn.h"
#include "tests/unit/unit-upcall.h"
#include "upcall/upcall-fd-limit.h"
#include "upcall/upcall-table.h"
#include "util.h"

/* Fault injection: the call number 'calls_left' from now fails with
 * 'fault_errno', once. */
static int calls_left = -1;
static int fault_errno;
static bool injected;

static void
inject_fault(int call, int error)
{
    calls_left = call;
    fault_errno = error;
    injected = false;
}

static bool
fails(void)
{
    if (calls_left < 0 || calls_left-- > 0) {
        return false;
    }
    injected = true;
    errno = fault_errno;
    return true;
}

#define WRAP(TYPE, NAME, FAILURE, PARAMETERS, ARGUMENTS)        \
    TYPE __wrap_##NAME PARAMETERS;                              \
    TYPE __real_##NAME PARAMETERS;                              \
    TYPE                                                        \
    __wrap_##NAME PARAMETERS                                    \
    {                                                           \
        return fails() ? FAILURE : __real_##NAME ARGUMENTS;     \
    }

WRAP(struct mnl_socket *, mnl_socket_open2, NULL, (int bus, int flags),
     (bus, flags))
WRAP(int, mnl_socket_bind, -1,
     (struct mnl_socket *sock, unsigned int groups, pid_t pid),
     (sock, groups, pid))
WRAP(int, epoll_create1, -1, (int flags), (flags))
WRAP(int, epoll_ctl, -1,
     (int epoll_fd, int op, int fd, struct epoll_event *event),
     (epoll_fd, op, fd, event))
WRAP(int, eventfd, -1, (unsigned int value, int flags), (value, flags))
WRAP(void *, mmap, MAP_FAILED,
     (void *addr, size_t len, int prot, int flags, int fd, off_t offset),
     (addr, len, prot, flags, fd, offset))
WRAP(int, recvmmsg, -1,
     (int fd, struct mmsghdr *msgs, unsigned int n, int flags,
      struct timespec *timeout),
     (fd, msgs, n, flags, timeout))

/* Runs OPERATION, an expression with an errno value, once for each of its
 * calls that can fail, and then once without a fault.  CHECK runs after each
 * failure. */
#define FOR_EACH_FAULT(ERROR, OPERATION, CHECK)                 \
    do {                                                        \
        size_t n_fds__ = count_fds();                           \
        int n_faults__ = 0;                                     \
                                                                \
        for (;;) {                                              \
            int error__;                                        \
                                                                \
            inject_fault(n_faults__, ERROR);                    \
            error__ = (OPERATION);                              \
            calls_left = -1;                                    \
            if (!injected) {                                    \
                assert_int_equal(error__, 0);                   \
                break;                                          \
            }                                                   \
            n_faults__++;                                       \
            assert_int_equal(error__, ERROR);                   \
            CHECK;                                              \
            assert_int_equal(count_fds(), n_fds__);             \
        }                                                       \
        assert_true(n_faults__ > 0);                            \
    } while (0)

static size_t
count_fds(void)
{
    unit_rcu_barrier();
    return unit_count_fds();
}

/* A table with handlers and ports 0 to N_PORTS - 1. */
enum { N_HANDLERS = 3, N_PORTS = 3 };

static struct upcall_table *
make_table(void)
{
    struct upcall_table *table = upcall_table_create("fault", UNIT_DP_IFINDEX,
                                                     UNIT_FAMILY);

    for (uint32_t i = 0; i < N_PORTS; i++) {
        struct upcall_channel *channel;

        assert_int_equal(upcall_channel_create(&channel), 0);
        assert_int_equal(upcall_table_add(table, i, "port", channel), 0);
    }
    assert_int_equal(upcall_table_set_handlers(table, N_HANDLERS), 0);
    return table;
}

/* Sends an upcall to port 'port_no' and expects handler 'handler' to get it,
 * and it alone. */
static void
check_delivery(struct upcall_table *table, uint32_t port_no, uint32_t handler)
{
    static uint64_t seq;
    int sender = unit_sender_open();
    struct upcall_view view;

    unit_send_upcall(sender, upcall_table_get_pid(table, port_no), ++seq);
    assert_int_equal(upcall_table_recv(table, handler, &view), 0);
    assert_int_equal(unit_view_seq(&view), seq);

    /* The end of the batch, and the start of the next, which lets go. */
    assert_int_equal(upcall_table_recv(table, handler, &view), EAGAIN);
    assert_int_equal(upcall_table_recv(table, handler, &view), EAGAIN);
    close(sender);
}

static void
check_all_delivery(struct upcall_table *table)
{
    for (uint32_t i = 0; i < N_PORTS; i++) {
        for (uint32_t j = 0; j < upcall_table_n_handlers(table); j++) {
            check_delivery(table, i, j);
        }
    }
}

static void
a_channel_that_cannot_be_opened_leaks_nothing(void **state OVS_UNUSED)
{
    struct upcall_channel *channel;

    FOR_EACH_FAULT(EMFILE, upcall_channel_create(&channel),
                   assert_null(channel));
    upcall_channel_unref(channel);
}

static void
a_port_that_cannot_be_added_is_not_there(void **state OVS_UNUSED)
{
    struct upcall_table *table = make_table();
    struct upcall_channel *channel;

    /* A channel that was not added is dropped; the next try has another. */
    assert_int_equal(upcall_channel_create(&channel), 0);
    FOR_EACH_FAULT(ENOSPC, upcall_table_add(table, N_PORTS, "new", channel), {
        assert_int_equal(upcall_table_get_pid(table, N_PORTS), 0);
        assert_int_equal(upcall_table_n_channels(table), N_PORTS);
        check_all_delivery(table);
        upcall_channel_unref(channel);
        assert_int_equal(upcall_channel_create(&channel), 0);
    });
    assert_int_equal(upcall_table_get_pid(table, N_PORTS), channel->pid);
    check_delivery(table, N_PORTS, 1);
    upcall_table_destroy(table);
}

static void
a_port_keeps_its_channel_when_the_new_one_cannot_be_added(
    void **state OVS_UNUSED)
{
    struct upcall_table *table = make_table();
    uint32_t old_pid = upcall_table_get_pid(table, 1);
    struct upcall_channel *channel;

    assert_int_equal(upcall_channel_create(&channel), 0);
    for (int call = 0; call < N_HANDLERS; call++) {
        inject_fault(call, ENOMEM);
        assert_int_equal(upcall_table_add(table, 1, "new", channel), ENOMEM);
        assert_true(injected);
        assert_int_equal(upcall_table_get_pid(table, 1), old_pid);
        assert_int_equal(upcall_table_n_channels(table), N_PORTS);
        check_all_delivery(table);
        upcall_channel_unref(channel);
        assert_int_equal(upcall_channel_create(&channel), 0);
    }
    assert_int_equal(upcall_table_add(table, 1, "new", channel), 0);
    assert_int_not_equal(upcall_table_get_pid(table, 1), old_pid);
    assert_int_equal(upcall_table_n_channels(table), N_PORTS);
    check_all_delivery(table);
    upcall_table_destroy(table);
}

static void
the_old_handlers_work_on_when_new_ones_cannot_be_made(void **state OVS_UNUSED)
{
    struct upcall_table *table = make_table();

    FOR_EACH_FAULT(EMFILE, upcall_table_set_handlers(table, N_HANDLERS + 2), {
        assert_int_equal(upcall_table_n_handlers(table), N_HANDLERS);
        check_all_delivery(table);
    });
    assert_int_equal(upcall_table_n_handlers(table), N_HANDLERS + 2);
    check_all_delivery(table);
    upcall_table_destroy(table);
}

static void
the_first_handlers_that_cannot_be_made_leave_none(void **state OVS_UNUSED)
{
    struct upcall_table *table = make_table();

    assert_int_equal(upcall_table_set_handlers(table, 0), 0);
    FOR_EACH_FAULT(ENOMEM, upcall_table_set_handlers(table, 2),
                   assert_int_equal(upcall_table_n_handlers(table), 0));
    check_all_delivery(table);
    upcall_table_destroy(table);
}

/* Lets the first receive call fail with 'error' and expects the upcall behind
 * it all the same. */
static void
check_recv_error(int error, unsigned int n_overruns)
{
    struct upcall_table *table = make_table();
    int sender = unit_sender_open();
    struct upcall_table_info info;
    struct upcall_view view;

    unit_send_upcall(sender, upcall_table_get_pid(table, 2), 1);

    /* The events are looked at first, without a call that may fail. */
    inject_fault(0, error);
    assert_int_equal(upcall_table_recv(table, 0, &view), 0);
    assert_true(injected);
    assert_int_equal(unit_view_seq(&view), 1);
    assert_int_equal(upcall_table_recv(table, 0, &view), EAGAIN);

    upcall_table_get_info(table, &info);
    assert_int_equal(info.ports[2].stats.overruns, n_overruns);
    assert_int_equal(info.ports[2].stats.received, 1);
    upcall_table_info_uninit(&info);
    close(sender);
    upcall_table_destroy(table);
}

static void
an_interrupted_receive_is_repeated(void **state OVS_UNUSED)
{
    check_recv_error(EINTR, 0);
}

static void
an_overrun_is_counted_and_reading_goes_on(void **state OVS_UNUSED)
{
    check_recv_error(ENOBUFS, 1);
}

static void
a_failed_receive_is_repeated_at_the_next_upcall(void **state OVS_UNUSED)
{
    struct upcall_table *table = make_table();
    int sender = unit_sender_open();
    struct upcall_view view;

    unit_send_upcall(sender, upcall_table_get_pid(table, 0), 1);
    inject_fault(0, ENOMEM);
    assert_int_equal(upcall_table_recv(table, 0, &view), EAGAIN);
    assert_true(injected);
    assert_int_equal(upcall_table_recv(table, 0, &view), EAGAIN);

    unit_send_upcall(sender, upcall_table_get_pid(table, 0), 2);
    for (uint64_t seq = 1; seq <= 2; seq++) {
        assert_int_equal(upcall_table_recv(table, 0, &view), 0);
        assert_int_equal(unit_view_seq(&view), seq);
    }
    close(sender);
    upcall_table_destroy(table);
}

static void
a_connection_that_cannot_be_opened_leaks_nothing(void **state OVS_UNUSED)
{
    struct nl_conn *conn;

    FOR_EACH_FAULT(EMFILE, nl_conn_open(NETLINK_GENERIC, &conn),
                   assert_null(conn));
    nl_conn_close(conn);
}

static void
a_multicast_socket_that_cannot_be_opened_leaks_nothing(void **state OVS_UNUSED)
{
    struct nl_mcast *mcast;

    FOR_EACH_FAULT(EMFILE,
                   nl_mcast_open(NETLINK_GENERIC, GENL_ID_CTRL, &mcast),
                   assert_null(mcast));
    nl_mcast_close(mcast);
}

static void
a_group_that_cannot_be_joined_leaks_nothing(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_GENERIC, UINT32_MAX, &mcast),
                     EINVAL);
    assert_null(mcast);
    assert_int_equal(unit_count_fds(), n_fds);
}

/* The limit on open files, as the process sees it. */
static struct rlimit nofile;
static int nofile_error;

int __wrap_getrlimit(int resource, struct rlimit *);
int __wrap_setrlimit(int resource, const struct rlimit *);

int
__wrap_getrlimit(int resource, struct rlimit *limit)
{
    assert_int_equal(resource, RLIMIT_NOFILE);
    *limit = nofile;
    return 0;
}

int
__wrap_setrlimit(int resource, const struct rlimit *limit)
{
    assert_int_equal(resource, RLIMIT_NOFILE);
    assert_true(limit->rlim_cur <= limit->rlim_max);
    assert_int_equal(limit->rlim_max, nofile.rlim_max);
    if (nofile_error) {
        errno = nofile_error;
        return -1;
    }
    nofile = *limit;
    return 0;
}

static void
the_soft_limit_on_open_files_is_raised(void **state OVS_UNUSED)
{
    nofile = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 65536 };
    assert_int_equal(upcall_fd_limit_ensure("fault", 100, 4), 0);
    assert_int_equal(nofile.rlim_cur, 1024);
    assert_int_equal(upcall_fd_limit_ensure("fault", 5000, 4), 0);
    assert_in_range(nofile.rlim_cur, 5004, 65536);
}

static void
a_hard_limit_on_open_files_that_is_too_low_is_an_error(void **state OVS_UNUSED)
{
    nofile = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 4096 };
    assert_int_equal(upcall_fd_limit_ensure("fault", 5000, 4), EMFILE);
    assert_int_equal(nofile.rlim_cur, 4096);

    nofile = (struct rlimit) { .rlim_cur = 1024, .rlim_max = 65536 };
    nofile_error = EPERM;
    assert_int_equal(upcall_fd_limit_ensure("fault", 5000, 4), EMFILE);
    assert_int_equal(nofile.rlim_cur, 1024);
    nofile_error = 0;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_that_cannot_be_opened_leaks_nothing),
        cmocka_unit_test(a_port_that_cannot_be_added_is_not_there),
        cmocka_unit_test(
            a_port_keeps_its_channel_when_the_new_one_cannot_be_added),
        cmocka_unit_test(
            the_old_handlers_work_on_when_new_ones_cannot_be_made),
        cmocka_unit_test(the_first_handlers_that_cannot_be_made_leave_none),
        cmocka_unit_test(an_interrupted_receive_is_repeated),
        cmocka_unit_test(an_overrun_is_counted_and_reading_goes_on),
        cmocka_unit_test(a_failed_receive_is_repeated_at_the_next_upcall),
        cmocka_unit_test(a_connection_that_cannot_be_opened_leaks_nothing),
        cmocka_unit_test(
            a_multicast_socket_that_cannot_be_opened_leaks_nothing),
        cmocka_unit_test(a_group_that_cannot_be_joined_leaks_nothing),
        cmocka_unit_test(the_soft_limit_on_open_files_is_raised),
        cmocka_unit_test(
            a_hard_limit_on_open_files_that_is_too_low_is_an_error),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
