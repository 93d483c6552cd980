/* SPDX-License-Identifier: Apache-2.0 */

/* U6, U8: upcalls follow the ports that the kernel has: what belonged to a
 * port that has gone goes, and a port whose fate is not known keeps it. */

#include <config.h>
#include "dpif-netlink/upcall-sync.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/upcall-dest.h"
#include "harness/unit.h"
#include "odp-netlink.h"
#include "timeval.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "upcall/upcall-table.h"
#include "util.h"

/* Sockets that belong to no port. */
#define N_SPECIAL 2

/* The end of port 'port_no', or VPORT_ALL, was announced. */
static void
announce_end(uint32_t port_no)
{
    assert_true(kernel.n_gone < ARRAY_SIZE(kernel.gone));
    kernel.gone[kernel.n_gone++] = port_no;
}

/* A turn of the main loop, 'msec' after the last one.  Returns true if ports
 * may have gone. */
static bool
turn_after(struct fixture *f, long long int msec)
{
    unit_clock_advance(msec);
    kernel.n_lists = kernel.n_outdated = 0;
    return dispatch_run(&f->dp);
}

static bool
has_port(struct fixture *f)
{
    return upcall_table_get_pid(f->dp.upcalls, PORT) != 0;
}

static void
upcalls_of_a_port_go_with_it(void **state)
{
    struct fixture *f = *state;

    start(f);
    check_per_port(f);
    assert_false(turn_after(f, 0));
    assert_int_equal(kernel.n_lists, 0);

    /* The bridge hears of it if another process has deleted it. */
    kernel.get_error = ENODEV;
    announce_end(PORT);
    assert_true(turn_after(f, 0));
    assert_false(has_port(f));
    assert_int_equal(kernel.n_outdated, 1);
    assert_int_equal(kernel.n_lists, 0);
    announce_end(PORT);
    announce_end(PORT);
    assert_true(turn_after(f, 0));
    assert_int_equal(kernel.n_gone, 0);
    assert_int_equal(kernel.n_outdated, 0);
    assert_false(turn_after(f, 10000));
    assert_int_equal(kernel.n_lists, 0);
    unit_wait_until((revalidators_run(f), turn_after(f, 1000),
                     upcall_table_n_channels(f->dp.upcalls)) == N_SPECIAL);
}

static void
a_number_may_belong_to_another_port_by_now(void **state)
{
    struct fixture *f = *state;

    start(f);
    check_per_port(f);
    strcpy(kernel.vport.name, "other");
    kernel.vport.pid = 0;
    announce_end(PORT);
    assert_true(turn_after(f, 0));
    assert_int_equal(kernel.n_outdated, 0);
    assert_int_equal(kernel.n_lists, 0);
    check_per_port(f);
}

static void
a_port_whose_fate_is_unknown_is_looked_for_later(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    start(f);
    check_per_port(f);
    pid = kernel.vport.pid;
    kernel.get_error = ENOBUFS;
    announce_end(PORT);
    assert_false(wakes_within(f, 1000 - 1));
    assert_true(turn_after(f, 0));
    assert_int_equal(kernel.n_lists, 0);
    assert_true(wakes_within(f, 1000));
    assert_false(turn_after(f, 999));
    assert_int_equal(kernel.n_lists, 0);
    assert_false(turn_after(f, 1));
    assert_int_equal(kernel.n_lists, 1);
    assert_int_equal(kernel.vport.pid, pid);
    check_per_port(f);
    assert_false(turn_after(f, 10000));
    assert_int_equal(kernel.n_lists, 0);
}

static void
all_ports_are_listed_if_any_may_have_gone(void **state)
{
    struct fixture *f = *state;

    start(f);
    check_per_port(f);
    announce_end(VPORT_ALL);
    announce_end(VPORT_ALL);
    assert_true(turn_after(f, 0));
    assert_int_equal(kernel.n_lists, 1);
    check_per_port(f);

    /* Until that works. */
    free(read_log());
    kernel.list_error = ENOBUFS;
    announce_end(VPORT_ALL);
    assert_true(turn_after(f, 0));
    assert_int_equal(kernel.n_lists, 1);
    check_log("system@dp: listing the vports failed (No buffer space "
              "available); trying again in 1000 ms\n");
    check_per_port(f);
    assert_false(turn_after(f, 999));
    assert_int_equal(kernel.n_lists, 0);
    assert_false(turn_after(f, 1));
    assert_int_equal(kernel.n_lists, 1);
    check_per_port(f);
    kernel.list_error = 0;
    assert_false(turn_after(f, 1000));
    assert_int_equal(kernel.n_lists, 1);
    assert_false(turn_after(f, 1000));
    assert_int_equal(kernel.n_lists, 0);
    check_per_port(f);
}

/* The datapath itself has gone: that is no failure. */
static void
no_port_is_left_of_a_datapath_that_has_gone(void **state)
{
    static const int errors[] = { ENODEV, ENOENT };
    struct fixture *f = *state;

    start(f);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        char *log;

        assert_true(has_port(f));
        free(read_log());
        kernel.list_error = errors[i];
        announce_end(VPORT_ALL);
        assert_true(turn_after(f, 0));
        assert_int_equal(kernel.n_lists, 1);
        assert_false(has_port(f));
        log = read_log();
        assert_null(strstr(log, "|WARN|"));
        free(log);
        assert_false(turn_after(f, 10000));
        assert_int_equal(kernel.n_lists, 0);

        kernel.list_error = 0;
        announce_end(VPORT_ALL);
        assert_true(turn_after(f, 0));
        assert_int_equal(kernel.vport.pid,
                         upcall_table_get_pid(f->dp.upcalls, PORT));
    }
}

/* Another process had the datapath for a while. */
static void
what_another_process_changed_is_set_again_at_once(void **state)
{
    struct fixture *f = *state;
    unsigned int n_requests;

    /* Upcalls are off. */
    n_requests = kernel.n_requests;
    kernel.n_lists = 0;
    dispatch_check(&f->dp);
    assert_int_equal(kernel.n_requests, n_requests);
    assert_int_equal(kernel.n_lists, 0);

    start(f);
    check_per_port(f);
    kernel.features = 0;
    kernel.vport.pid = 0;
    kernel.n_lists = 0;
    dispatch_check(&f->dp);
    assert_int_equal(kernel.n_lists, 1);
    check_per_port(f);
}

static bool
is_on(struct fixture *f)
{
    bool on;

    ovs_mutex_lock(&f->dp.mutex);
    on = dispatch_is_on(&f->dp);
    ovs_mutex_unlock(&f->dp.mutex);
    return on;
}

static void
upcalls_that_cannot_be_turned_on_stay_off(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(upcall_table_set_handlers(f->dp.upcalls, 0), 0);
    epoll_create_error = EMFILE;
    assert_int_equal(dispatch_recv_set(&f->dp, true), EMFILE);
    check_log("system@dp: turning upcalls on failed (Too many open files)\n");
    assert_false(is_on(f));
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 0);
    assert_false(turn_after(f, 0));
    assert_false(dispatch_revalidate(&f->dp));

    epoll_create_error = 0;
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    assert_true(is_on(f));
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        dispatch_run(&f->dp);
    }
    check_per_port(f);
    assert_int_equal(dispatch_recv_set(&f->dp, false), 0);
    assert_false(is_on(f));
    assert_false(has_port(f));
}

/* Otherwise the kernel would go on queueing upcalls that nobody reads. */
static void
ports_have_no_sockets_once_upcalls_are_off(void **state)
{
    struct fixture *f = *state;

    start(f);
    check_per_port(f);
    kernel.n_set_pids = 0;
    assert_int_equal(dispatch_recv_set(&f->dp, false), 0);
    assert_int_equal(kernel.n_set_pids, 1);
    assert_int_equal(kernel.vport.n_pids, 1);
    assert_int_equal(kernel.vport.pid, 0);

    /* A port that has none is left alone. */
    start(f);
    check_per_port(f);
    kernel.vport.pid = 0;
    kernel.n_set_pids = 0;
    assert_int_equal(dispatch_recv_set(&f->dp, false), 0);
    assert_int_equal(kernel.n_set_pids, 0);
}

/* R6: in the shadow of another process, which goes on if this one cannot
 * serve. */
static void
ports_keep_their_sockets_if_another_process_reads_them(void **state)
{
    struct fixture *f = *state;

    kernel.vport.pid = 77;
    kernel.n_set_pids = 0;
    assert_int_equal(upcall_table_set_handlers(f->dp.upcalls, 0), 0);
    kdp_datapath_set_shadow(true);
    epoll_create_error = EMFILE;
    assert_int_equal(dispatch_recv_set(&f->dp, true), EMFILE);
    check_log("system@dp: turning upcalls on failed (Too many open files)\n");
    assert_int_equal(kernel.n_set_pids, 0);
    assert_int_equal(kernel.vport.pid, 77);

    kdp_datapath_set_shadow(false);
    epoll_create_error = EMFILE;
    assert_int_equal(dispatch_recv_set(&f->dp, true), EMFILE);
    assert_int_equal(kernel.vport.pid, 0);
}

/* When the rates of ports are to be looked at next, in ms. */
static long long int rates_at = LLONG_MAX;

long long int __wrap_upcall_table_update_rates(struct upcall_table *,
                                               long long int, long long int);
long long int
__wrap_upcall_table_update_rates(struct upcall_table *table OVS_UNUSED,
                                 long long int now OVS_UNUSED,
                                 long long int wall OVS_UNUSED)
{
    return rates_at;
}

static unsigned int n_budget_waits;

void __wrap_socket_budget_wait(struct kdp_datapath *);
void __real_socket_budget_wait(struct kdp_datapath *);
void
__wrap_socket_budget_wait(struct kdp_datapath *dp)
{
    n_budget_waits++;
    __real_socket_budget_wait(dp);
}

/* Sockets of generic netlink that somebody waits to read. */
static unsigned int n_genl_waits;

void __wrap_poll_fd_wait_at(int, short int, const char *);
void __real_poll_fd_wait_at(int, short int, const char *);
void
__wrap_poll_fd_wait_at(int fd, short int events, const char *where)
{
    int protocol;
    socklen_t len = sizeof protocol;

    if (events == POLLIN
        && !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len)
        && protocol == NETLINK_GENERIC) {
        n_genl_waits++;
    }
    __real_poll_fd_wait_at(fd, events, where);
}

/* Checks that the main loop runs again in 'msec' ms. */
static void
check_wakes_in(struct fixture *f, long long int msec)
{
    assert_false(wakes_within(f, msec - 1));
    assert_true(wakes_within(f, msec));
}

static void
main_loop_waits_for_each_thing_that_is_to_be_done(void **state)
{
    const long long int long_time = 100000;
    struct fixture *f = *state;

    /* The number of queues is not judged once a second. */
    start(f);
    set_config(f, "upcall-port-queues", "1");
    run(f);
    check_per_port(f);
    n_genl_waits = n_budget_waits = 0;
    assert_false(wakes_within(f, long_time));
    assert_int_equal(n_genl_waits, 1);
    assert_int_equal(n_budget_waits, 1);

    /* The rates of ports. */
    rates_at = time_msec() + 70;
    assert_false(turn_after(f, 0));
    check_wakes_in(f, 70);
    rates_at = LLONG_MAX;
    assert_false(turn_after(f, 70));
    assert_false(wakes_within(f, long_time));

    /* A port that could not be looked for. */
    kernel.get_error = ENOBUFS;
    announce_end(PORT);
    assert_true(turn_after(f, 0));
    check_wakes_in(f, 1000);
    kernel.get_error = 0;
    run(f);
    assert_false(wakes_within(f, long_time));

    /* Handlers that could not be made. */
    epoll_create_error = EMFILE;
    dispatch_handlers_set(&f->dp, 3);
    assert_false(turn_after(f, 500));
    check_wakes_in(f, 500);
    epoll_create_error = 0;
    run(f);
    assert_int_equal(upcall_table_n_handlers(f->dp.upcalls), 3);
    assert_false(wakes_within(f, long_time));

    /* Nothing at all. */
    assert_int_equal(dispatch_recv_set(&f->dp, false), 0);
    n_genl_waits = n_budget_waits = 0;
    assert_false(wakes_within(f, long_time));
    assert_int_equal(n_genl_waits, 0);
    assert_int_equal(n_budget_waits, 0);
}

static void
mode_is_by_port_if_it_is_wanted_and_set(void **state)
{
    struct fixture *f = *state;

    start(f);
    assert_true(dispatch_is_per_port(&f->dp));
    set_config(f, "upcall-dispatch", "per-cpu");
    assert_string_equal(dispatch_of(f), "per-cpu");
    assert_false(dispatch_is_per_port(&f->dp));

    /* It is wanted, but the kernel refuses it for now. */
    no_features_error = ENOMEM;
    set_config(f, "upcall-dispatch", "per-port");
    assert_string_equal(dispatch_of(f), "per-cpu");
    assert_false(dispatch_is_per_port(&f->dp));
    no_features_error = 0;
    run(f);
    assert_true(dispatch_is_per_port(&f->dp));
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        TEST(upcalls_of_a_port_go_with_it),
        TEST(a_number_may_belong_to_another_port_by_now),
        TEST(a_port_whose_fate_is_unknown_is_looked_for_later),
        TEST(all_ports_are_listed_if_any_may_have_gone),
        TEST(no_port_is_left_of_a_datapath_that_has_gone),
        TEST(what_another_process_changed_is_set_again_at_once),
        TEST(upcalls_that_cannot_be_turned_on_stay_off),
        TEST(ports_have_no_sockets_once_upcalls_are_off),
        TEST(ports_keep_their_sockets_if_another_process_reads_them),
        TEST(main_loop_waits_for_each_thing_that_is_to_be_done),
        TEST(mode_is_by_port_if_it_is_wanted_and_set),
    };

    fallback_init(argv[0]);
    return cmocka_run_group_tests_name("sync", tests, NULL, NULL);
}
