/* SPDX-License-Identifier: Apache-2.0 */

/* Handlers that cannot be made.  Open vSwitch has stopped its threads when it
 * asks for another number of handlers, and starts none if it is refused.  The
 * handlers that there are go on to receive upcalls, and the others are made as
 * soon as that is possible (U8). */

#include <config.h>
#include "dpif-netlink/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "util.h"

static void
expect_handlers(struct fixture *f, uint32_t n)
{
    assert_int_equal(upcall_table_n_handlers(f->dp.upcalls), n);
}

static void
expect_log(const char *message)
{
    char *log = read_log();

    if (!strstr(log, message)) {
        fail_msg("no \"%s\" in: %s", message, log);
    }
    free(log);
}

/* A thread of a handler that there is not. */
static void
receive_nothing(struct fixture *f, uint32_t handler_id)
{
    struct upcall_view view;

    assert_int_equal(upcall_table_recv(f->dp.upcalls, handler_id, &view),
                     EAGAIN);
}

static void
more_that_cannot_be_made_leave_those_that_there_are(void **state)
{
    static const int errors[] = { EMFILE, ENFILE, ENOMEM };
    struct fixture *f = *state;

    start(f);
    dispatch_handlers_set(&f->dp, 2);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        char *message = xasprintf(
            "system@dp: making 5 upcall handlers (other_config:"
            "n-handler-threads) failed (%s); going on with 2, and trying "
            "again every 1000 ms\n", ovs_strerror(errors[i]));

        run(f);
        free(read_log());
        epoll_create_error = errors[i];
        dispatch_handlers_set(&f->dp, 5);
        expect_log(message);
        free(message);
        for (int j = 0; j < 2; j++) {
            expect_handlers(f, 2);
            receive_nothing(f, 4);
            check_per_port(f);
            run(f);
        }
        epoll_create_error = 0;
        run(f);
        expect_handlers(f, 5);
        check_per_port(f);
        dispatch_handlers_set(&f->dp, 2);
    }

    /* It is not tried once nobody wants it any more. */
    epoll_create_error = EMFILE;
    dispatch_handlers_set(&f->dp, 5);
    dispatch_handlers_set(&f->dp, 2);
    epoll_create_error = 0;
    run(f);
    expect_handlers(f, 2);
    check_per_port(f);
}

/* There are no threads for the old ones. */
static void
fewer_that_cannot_be_made_are_made_later(void **state)
{
    struct fixture *f = *state;

    start(f);
    dispatch_handlers_set(&f->dp, 4);
    run(f);
    free(read_log());
    epoll_create_error = EMFILE;
    dispatch_handlers_set(&f->dp, 2);
    expect_log("system@dp: making 2 upcall handlers (other_config:"
               "n-handler-threads) failed (Too many open files); upcalls "
               "wait until there are, and it is tried again every 1000 ms\n");
    unit_send_upcall(f->sender, kernel.vport.pid, 1);
    turn(f);
    receive_nothing(f, 0);
    epoll_create_error = 0;
    turn(f);
    expect_handlers(f, 2);

    struct upcall_view view;
    assert_int_equal(upcall_table_recv(f->dp.upcalls, 0, &view), 0);
    assert_int_equal(unit_view_seq(&view), 1);
    run(f);
    check_per_port(f);
}

static void
as_many_as_are_possible_go_on_when_more_are_asked_for(void **state)
{
    struct fixture *f = *state;

    start(f);
    dispatch_handlers_set(&f->dp, 3);
    free(read_log());
    dispatch_handlers_set(&f->dp, UPCALL_MAX_HANDLERS + 1);
    expect_log("4096 upcall handlers asked for, at most 4095 are possible");
    expect_handlers(f, 3);
    receive_nothing(f, UPCALL_MAX_HANDLERS);
    receive_nothing(f, UINT32_MAX);
    run(f);
    expect_handlers(f, 3);
    check_per_port(f);
}

/* A handler gets a socket in the other mode, too. */
static void
cpus_go_on_when_handlers_cannot_be_made(void **state)
{
    static const uint32_t numbers[] = { 5, 2 };
    struct fixture *f = *state;

    set_config(f, "upcall-dispatch", "per-cpu");
    start(f);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        dispatch_handlers_set(&f->dp, 4);
        run(f);
        epoll_create_error = EMFILE;
        dispatch_handlers_set(&f->dp, numbers[i]);
        run(f);
        epoll_create_error = 0;
        run(f);
        expect_handlers(f, numbers[i]);
        for (size_t cpu = 0; cpu < kernel.n_cpu_pids; cpu++) {
            check_upcalls_come(f, kernel.cpu_pids[cpu]);
        }
        assert_int_equal(upcall_table_n_channels(f->dp.upcalls),
                         2 + numbers[i]);
    }
}

/* Nothing is left of it for the next time that upcalls are on. */
static void
nothing_is_tried_again_once_upcalls_are_off(void **state)
{
    struct fixture *f = *state;

    start(f);
    epoll_create_error = EMFILE;
    dispatch_handlers_set(&f->dp, 5);
    epoll_create_error = 0;
    assert_int_equal(dispatch_recv_set(&f->dp, false), 0);
    run(f);
    expect_handlers(f, 0);
    start(f);
    run(f);
    expect_handlers(f, 1);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(more_that_cannot_be_made_leave_those_that_there_are),
        TEST(fewer_that_cannot_be_made_are_made_later),
        TEST(as_many_as_are_possible_go_on_when_more_are_asked_for),
        TEST(cpus_go_on_when_handlers_cannot_be_made),
        TEST(nothing_is_tried_again_once_upcalls_are_off),
    };

    fallback_init("test-kdp-fallback-handlers");
    return cmocka_run_group_tests_name("kdp-fallback-handlers", tests, NULL,
                                       NULL);
}
