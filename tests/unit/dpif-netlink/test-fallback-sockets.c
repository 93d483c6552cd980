/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U8: sockets of ports live as long as the kernel, or a flow, may
 * send to them, and R1: upcalls wait until the bridge has its ports. */

#include <config.h>
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/dpif-netlink/fallback-fixture.h"
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
mark_outdated(struct fixture *f, bool mark)
{
    ovs_mutex_lock(&f->dp.mutex);
    upcall_dest_mark_outdated(&f->dp, mark);
    ovs_mutex_unlock(&f->dp.mutex);
}

/* However many turns of the main loop that takes. */
static void
upcalls_wait_as_long_as_flows_of_a_previous_run_forward(void **state)
{
    struct fixture *f = *state;
    struct upcall_view view;

    mark_outdated(f, true);
    assert_int_equal(dispatch_recv_set(&f->dp, true), 0);
    unit_send_upcall(f->sender, kernel.vport.pid, ++f->seq);
    for (int i = 0; i < 10; i++) {
        dispatch_run(&f->dp);
        assert_int_equal(upcall_table_recv(f->dp.upcalls, 0, &view), EAGAIN);
    }
    mark_outdated(f, false);
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
        TEST(upcalls_of_no_port_have_their_own_socket),
        TEST(nothing_is_revalidated_without_a_change_of_sockets),
        TEST(comparison_keeps_the_socket_that_the_kernel_knows),
    };

    fallback_init("test-kdp-fallback-sockets");
    return cmocka_run_group_tests_name("kdp-fallback-sockets", tests, NULL,
                                       NULL);
}
