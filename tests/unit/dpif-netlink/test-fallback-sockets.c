/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U8: sockets of ports live as long as the kernel, or a flow, may
 * send to them, R1: upcalls wait until the bridge has its ports, and R4:
 * sockets of a previous run are used where the kernel names them. */

#include <config.h>
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "openvswitch/dynamic-string.h"
#include "upcall/upcall-store.h"
#include "util.h"

/* Sets the budget of sockets, to one that is too small for any port to have
 * its own or to one that is not. */
static void
set_budget(struct fixture *f, bool small)
{
    ovs_mutex_lock(&f->dp.mutex);
    assert_true(socket_budget_set_max(&f->dp, small ? 1 : 100));
    ovs_mutex_unlock(&f->dp.mutex);
}

/* Checks that the kernel sends to the socket that the port shares. */
static void
check_shared(struct fixture *f)
{
    assert_true(upcall_table_is_shared(f->dp.upcalls, PORT));
    assert_int_equal(kernel.vport.pid,
                     upcall_table_get_pid(f->dp.upcalls, UPCALL_PORT_SHARED));
    check_upcalls_come(f, kernel.vport.pid);
}

static void
port_keeps_the_socket_that_the_kernel_knows(void **state)
{
    struct fixture *f = *state;
    char *log;

    start(f);
    run(f);
    check_per_port(f);
    free(read_log());

    set_budget(f, true);
    set_pid_error = ENOMEM;
    run(f);
    check_per_port(f);
    log = read_log();
    assert_non_null(strstr(log, "system@dp: the kernel does not take another "
                           "socket for the upcalls of port port (Cannot "
                           "allocate memory); they go to the one that it "
                           "knows\n"));
    free(log);
    set_pid_error = 0;
    run(f);
    check_shared(f);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);

    set_budget(f, false);
    set_pid_error = ENOMEM;
    run(f);
    check_shared(f);

    /* The socket that was meant for the port goes when nobody wants it. */
    set_budget(f, true);
    run(f);
    check_shared(f);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);

    set_budget(f, false);
    run(f);
    check_shared(f);
    set_pid_error = 0;
    run(f);
    check_per_port(f);
}

/* R1: what comes before the bridge has added its ports is not refused. */
static void
upcalls_wait_until_the_bridge_has_its_ports(void **state)
{
    struct fixture *f = *state;
    struct upcall_table *table = f->dp.upcalls;
    struct upcall_view view;
    unsigned int n = 0;

    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    unit_send_upcall(f->sender, kernel.vport.pid, ++f->seq);
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        for (uint32_t h = 0; h < upcall_table_n_handlers(table); h++) {
            assert_int_equal(upcall_table_recv(table, h, &view), EAGAIN);
        }
        dispatch_run(&f->dp);
    }
    for (uint32_t h = 0; h < upcall_table_n_handlers(table); h++) {
        n += !upcall_table_recv(table, h, &view);
    }
    assert_int_equal(n, 1);

    /* Sockets that are made later are those of ports that are known. */
    set_config(f, "upcall-dispatch", "per-cpu");
    check_upcalls_come(f, kernel.cpu_pid);
}

static unsigned int
receive_one_each(struct fixture *f)
{
    unsigned int n = 0;

    for (uint32_t h = 0; h < upcall_table_n_handlers(f->dp.upcalls); h++) {
        struct upcall_view view;

        n += !upcall_table_recv(f->dp.upcalls, h, &view);
    }
    return n;
}

/* Opens 'n' sockets that a previous run used for the port, tells the kernel
 * their port ids, and passes all but the one with index 'missing'. */
static void
pass_sockets(size_t n, size_t missing)
{
    struct ds names = DS_EMPTY_INITIALIZER;
    int fds[UPCALL_MAX_QUEUES], last = 2;

    for (size_t i = 0; i < n; i++) {
        struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
        socklen_t len = sizeof addr;

        fds[i] = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_GENERIC);
        assert_true(fds[i] > last);
        assert_int_equal(bind(fds[i], (struct sockaddr *) &addr, sizeof addr),
                         0);
        assert_int_equal(getsockname(fds[i], (struct sockaddr *) &addr, &len),
                         0);
        kernel.pids[i] = addr.nl_pid;
        while (++last < fds[i]) {
            ds_put_cstr(&names, "other:");
        }
        if (i == missing) {
            ds_put_cstr(&names, "gone:");
        } else {
            ds_put_format(&names, "kdp-%d-%d-%"PRIu32":", UNIT_DP_IFINDEX,
                          PORT, addr.nl_pid);
        }
    }
    kernel.vport.pid = kernel.pids[0];
    kernel.vport.n_pids = n;
    setenv("LISTEN_FDNAMES", ds_cstr(&names), 1);
    ds_clear(&names);
    ds_put_format(&names, "%d", last - 2);
    setenv("LISTEN_FDS", ds_cstr(&names), 1);
    ds_destroy(&names);
    upcall_store_open(false);
    if (missing < n) {
        close(fds[missing]);
    }
}

/* R4: upcalls that waited on the sockets of a previous run are handed out,
 * when the bridge has its ports. */
static void
sockets_of_a_previous_run_are_used(void **state)
{
    struct fixture *f = *state;
    uint32_t pids[UPCALL_MAX_QUEUES];

    pass_sockets(2, SIZE_MAX);
    memcpy(pids, kernel.pids, sizeof pids);
    unit_send_upcall(f->sender, pids[0], ++f->seq);
    unit_send_upcall(f->sender, pids[1], ++f->seq);

    /* The kernel need not be told. */
    set_pid_error = EPERM;
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    set_pid_error = 0;
    assert_int_equal(upcall_dest_n_queues(&f->dp, PORT), 2);
    assert_memory_equal(kernel.pids, pids, sizeof pids);
    assert_false(upcall_store_has_found());
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        assert_int_equal(receive_one_each(f), 0);
        dispatch_run(&f->dp);
    }
    assert_int_equal(receive_one_each(f) + receive_one_each(f), 2);
}

/* One that is not there any more is replaced, and the others stay where they
 * are. */
static void
socket_that_was_not_kept_is_replaced(void **state)
{
    struct fixture *f = *state;
    uint32_t pids[UPCALL_MAX_QUEUES];

    pass_sockets(3, 1);
    memcpy(pids, kernel.pids, sizeof pids);
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    assert_int_equal(kernel.vport.n_pids, 3);
    assert_int_equal(kernel.pids[0], pids[0]);
    assert_int_not_equal(kernel.pids[1], pids[1]);
    assert_int_equal(kernel.pids[2], pids[2]);
}

/* One that the port does not name goes. */
static void
socket_that_no_port_names_is_closed(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    pass_sockets(1, SIZE_MAX);
    pid = kernel.vport.pid++;
    start(f);
    check_per_port(f);
    assert_int_not_equal(kernel.vport.pid, pid);
    assert_false(upcall_store_has_found());
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 3);
}

/* R3: nor is what comes on a socket that is made in between. */
static void
sockets_made_before_the_bridge_has_its_ports_wait_too(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    for (int i = 1; i < UPCALL_DEST_HOLD_TURNS; i++) {
        dispatch_run(&f->dp);
    }
    set_config(f, "upcall-dispatch", "per-cpu");
    unit_send_upcall(f->sender, kernel.cpu_pid, ++f->seq);
    assert_int_equal(receive_one_each(f), 0);
    dispatch_run(&f->dp);
    assert_int_equal(receive_one_each(f), 1);
}

/* Turns until flows are to be revalidated. */
static void
turn_until_revalidation(struct fixture *f)
{
    for (int i = 0; !turn(f); i++) {
        assert_true(i < 3);
    }
}

/* Flows that send to a controller or to sFlow name the socket that the port
 * had when they were translated. */
static void
socket_lives_until_flows_that_name_it_are_revalidated(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    start(f);
    run(f);
    pid = kernel.vport.pid;
    assert_int_equal(upcall_table_get_own_pid(f->dp.upcalls, PORT), pid);

    /* The port loses its socket. */
    set_budget(f, true);
    turn_until_revalidation(f);
    assert_int_not_equal(kernel.vport.pid, pid);
    for (int i = 0; i < 5; i++) {
        unit_rcu_barrier();
        assert_false(turn(f));
        check_upcalls_come(f, pid);
    }
    run(f);
    check_shared(f);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);

    /* It gets one. */
    set_budget(f, false);
    turn_until_revalidation(f);
    run(f);
    check_per_port(f);

    /* The mode changes, there and back. */
    pid = kernel.vport.pid;
    set_config(f, "upcall-dispatch", "per-cpu");
    turn_until_revalidation(f);
    for (int i = 0; i < 5; i++) {
        assert_false(turn(f));
        check_upcalls_come(f, pid);
    }
    set_config(f, "upcall-dispatch", "per-port");
    turn(f);
    check_upcalls_come(f, pid);
    run(f);
    check_per_port(f);
    assert_int_equal(kernel.vport.pid, pid);

    set_config(f, "upcall-dispatch", "per-cpu");
    run(f);
    set_config(f, "upcall-dispatch", "per-port");
    turn_until_revalidation(f);
    run(f);
    check_per_port(f);
}

/* Each time the kernel is asked whether anything waits on it. */
static void
socket_that_is_left_is_looked_at_ten_times_a_second(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;
    uint32_t pid;

    start(f);
    run(f);
    pid = kernel.vport.pid;
    set_budget(f, true);
    unit_send_upcall(f->sender, pid, ++f->seq);
    run(f);
    assert_int_not_equal(kernel.vport.pid, pid);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 3);
    for (uint32_t h = 0; h < 2; h++) {
        while (!upcall_table_recv(f->dp.upcalls, h, &view)) {
            assert_int_equal(unit_view_seq(&view), f->seq);
        }
    }
    assert_false(wakes_within(f, 99));
    assert_true(wakes_within(f, 100));
    unit_clock_advance(99);
    dispatch_run(&f->dp);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 3);
    assert_false(wakes_within(f, 0));
    assert_true(wakes_within(f, 1));
    unit_clock_advance(1);
    dispatch_run(&f->dp);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 2);
    assert_false(wakes_within(f, 100));
}

/* Upcalls of no port come on a socket that no port has. */
static void
check_control(struct fixture *f)
{
    uint32_t pid = upcall_dest_pid(&f->dp, UPCALL_PORT_NONE);

    assert_int_not_equal(pid, kernel.vport.pid);
    assert_int_not_equal(pid, kernel.cpu_pid);
    check_upcalls_come(f, pid);
}

static void
set_takeover(struct fixture *f, bool takeover)
{
    ovs_mutex_lock(&f->dp.mutex);
    upcall_dest_set_takeover(&f->dp, takeover);
    ovs_mutex_unlock(&f->dp.mutex);
}

/* However many turns of the main loop that takes. */
static void
upcalls_wait_as_long_as_flows_of_a_previous_run_forward(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    set_takeover(f, true);
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    unit_send_upcall(f->sender, kernel.vport.pid, ++f->seq);
    for (int i = 0; i < 10; i++) {
        dispatch_run(&f->dp);
        assert_int_equal(upcall_table_recv(f->dp.upcalls, 0, &view), EAGAIN);
    }
    set_takeover(f, false);
    for (int i = 0; i < UPCALL_DEST_HOLD_TURNS; i++) {
        assert_int_equal(upcall_table_recv(f->dp.upcalls, 0, &view), EAGAIN);
        dispatch_run(&f->dp);
    }
    assert_int_equal(upcall_table_recv(f->dp.upcalls, 0, &view), 0);
    assert_int_equal(unit_view_seq(&view), f->seq);
    assert_int_equal(upcall_table_recv(f->dp.upcalls, 0, &view), EAGAIN);
}

static void
upcalls_of_no_port_have_their_own_socket(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    check_control(f);
    set_budget(f, true);
    run(f);
    check_shared(f);
    check_control(f);
    assert_int_equal(upcall_dest_pid(&f->dp, PORT + 1), kernel.vport.pid);
    set_config(f, "upcall-dispatch", "per-cpu");
    run(f);
    check_control(f);
}

static void
nothing_is_revalidated_without_a_change_of_sockets(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    for (int i = 0; i < 10; i++) {
        assert_false(turn(f));
        revalidators_run(f);
    }
}

/* Upcalls are turned on, the kernel knows the socket of the port, and refuses
 * another one when all ports are compared. */
static void
comparison_keeps_the_socket_that_the_kernel_knows(void **state)
{
    struct fixture *f = *state;
    uint32_t pid;

    start(f);
    run(f);
    pid = kernel.vport.pid;
    set_budget(f, true);
    set_pid_error = ENOMEM;
    set_config(f, "upcall-dispatch", "per-cpu");
    for (int i = 0; i < 10; i++) {
        turn(f);
        revalidators_run(f);
        assert_int_equal(kernel.vport.pid, pid);
        check_upcalls_come(f, pid);
    }
    set_pid_error = 0;
    run(f);
    assert_int_equal(upcall_table_get_own_pid(f->dp.upcalls, PORT), 0);
    assert_int_not_equal(kernel.vport.pid, pid);
    check_upcalls_come(f, kernel.vport.pid);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(port_keeps_the_socket_that_the_kernel_knows),
        TEST(upcalls_wait_until_the_bridge_has_its_ports),
        TEST(sockets_made_before_the_bridge_has_its_ports_wait_too),
        TEST(upcalls_wait_as_long_as_flows_of_a_previous_run_forward),
        TEST(socket_lives_until_flows_that_name_it_are_revalidated),
        TEST(socket_that_is_left_is_looked_at_ten_times_a_second),
        TEST(upcalls_of_no_port_have_their_own_socket),
        TEST(nothing_is_revalidated_without_a_change_of_sockets),
        TEST(comparison_keeps_the_socket_that_the_kernel_knows),
        TEST(sockets_of_a_previous_run_are_used),
        TEST(socket_that_was_not_kept_is_replaced),
        TEST(socket_that_no_port_names_is_closed),
    };

    fallback_init("test-kdp-fallback-sockets");
    return cmocka_run_group_tests_name("kdp-fallback-sockets", tests, NULL,
                                       NULL);
}
