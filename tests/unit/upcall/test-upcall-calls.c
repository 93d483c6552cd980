/* SPDX-License-Identifier: Apache-2.0 */

/* U4: what a lonely upcall costs, in system calls: a handler thread does what
 * Open vSwitch's do, sleeps, and gets one upcall at a time. */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "harness/handlers.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "util.h"

/* Calls of the handler's thread, which is the only one that waits. */
enum { EPOLL_WAIT, EPOLL_CTL, EPOLL_CTL_FAILED, RECVMMSG, POLL, N_KINDS };
static atomic_count calls[N_KINDS];

int __wrap_epoll_wait(int, struct epoll_event *, int, int);
int __real_epoll_wait(int, struct epoll_event *, int, int);
int
__wrap_epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
    atomic_count_inc(&calls[EPOLL_WAIT]);
    return __real_epoll_wait(fd, events, n, timeout);
}

int __wrap_epoll_ctl(int, int, int, struct epoll_event *);
int __real_epoll_ctl(int, int, int, struct epoll_event *);
int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    int retval = __real_epoll_ctl(epfd, op, fd, event);

    atomic_count_inc(&calls[retval ? EPOLL_CTL_FAILED : EPOLL_CTL]);
    return retval;
}

int __wrap_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
int __real_recvmmsg(int, struct mmsghdr *, unsigned int, int,
                    struct timespec *);
int
__wrap_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
                struct timespec *timeout)
{
    atomic_count_inc(&calls[RECVMMSG]);
    return __real_recvmmsg(fd, msgs, n, flags, timeout);
}

/* What upcall-poll.c does with a poll() that is no handler's. */
static __thread bool in_handler;

int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
    struct timespec ts = { timeout / 1000, timeout % 1000 * 1000000 };

    if (in_handler) {
        atomic_count_inc(&calls[POLL]);
    }
    return syscall(SYS_ppoll, fds, n, timeout < 0 ? NULL : &ts, NULL, 0);
}

static atomic_count n_processed;

static void
process(uint32_t handler OVS_UNUSED,
        const struct upcall_view views[] OVS_UNUSED, size_t n,
        void *aux OVS_UNUSED)
{
    in_handler = true;
    unit_check(n == 1);
    atomic_count_inc(&n_processed);
}

/* Counts the calls for a lonely upcall of 'n_handlers' handlers, each a group
 * of its own. */
static void
check_lonely(uint32_t n_handlers)
{
    enum { N = 50 };
    struct upcall_channel *channel;
    struct unit_handlers handlers;
    struct upcall_table *table;
    int sender = unit_sender_open();

    atomic_count_set(&n_processed, 0);
    table = upcall_table_create("dp", UNIT_DP_IFINDEX, UNIT_FAMILY);
    assert_int_equal(upcall_table_set_group_size(table, 1), 0);
    assert_int_equal(upcall_table_set_handlers(table, n_handlers), 0);
    assert_int_equal(upcall_channel_create(&channel), 0);
    assert_int_equal(upcall_table_add_queues(table, 1, "port", &channel, 1),
                     0);
    unit_handlers_start(&handlers, table, n_handlers, process, NULL);
    for (int i = 0; i < N + 1; i++) {
        unit_wait_until(unit_handlers_are_in_epoll_wait(&handlers));
        if (i == 1) {
            /* The first one finds things to set up. */
            for (int kind = 0; kind < N_KINDS; kind++) {
                atomic_count_set(&calls[kind], 0);
            }
        }
        unit_send_upcall(sender, channel->pid, i);
        unit_wait_until(atomic_count_get(&n_processed) == i + 1);
    }
    unit_wait_until(unit_handlers_are_in_epoll_wait(&handlers));

    print_message("for an upcall: epoll_wait %.2f, recvmmsg %.2f, epoll_ctl "
                  "%.2f and %.2f that failed, poll %.2f\n",
                  atomic_count_get(&calls[EPOLL_WAIT]) / (double) N,
                  atomic_count_get(&calls[RECVMMSG]) / (double) N,
                  atomic_count_get(&calls[EPOLL_CTL]) / (double) N,
                  atomic_count_get(&calls[EPOLL_CTL_FAILED]) / (double) N,
                  atomic_count_get(&calls[POLL]) / (double) N);

    /* The last sleep is that of the next upcall. */
    assert_int_equal(atomic_count_get(&calls[EPOLL_WAIT]), N);
    assert_int_equal(atomic_count_get(&calls[RECVMMSG]), N);
    assert_int_equal(atomic_count_get(&calls[EPOLL_CTL]), N);
    assert_int_equal(atomic_count_get(&calls[EPOLL_CTL_FAILED]), 0);

    /* Those of Open vSwitch: whether the thread is to end, twice, and whether
     * the process is, by poll_block() after the batch.  Few of these ask the
     * kernel. */
    assert_true(atomic_count_get(&calls[POLL]) > 0);
    assert_true(atomic_count_get(&calls[POLL]) <= N / 4);

    unit_handlers_stop(&handlers);
    upcall_table_destroy(table);
    close(sender);
    unit_rcu_barrier();
}

static void
lonely_upcall_takes_three_calls(void **state OVS_UNUSED)
{
    check_lonely(1);
}

static void
lonely_upcall_takes_three_calls_with_groups(void **state OVS_UNUSED)
{
    check_lonely(4);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lonely_upcall_takes_three_calls),
        cmocka_unit_test(lonely_upcall_takes_three_calls_with_groups),
    };

    unit_init("test-upcall-calls");
    unit_start_threads();
    return cmocka_run_group_tests_name("upcall-calls", tests, NULL, NULL);
}
