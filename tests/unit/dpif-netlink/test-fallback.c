/* SPDX-License-Identifier: Apache-2.0 */

/* Kernels that lack what a setting of the dpif provider asks for: upcalls go
 * on to be received as before (U8), and the log says so. */

#include <config.h>
#include "dpif-netlink/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "odp-netlink.h"
#include "harness/descriptors.h"
#include "harness/unit.h"
#include "fake/uring-fake.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "util.h"

/* Asks for io_uring, which the kernel lacks because of 'error'. */
static void
check_no_io_uring(struct fixture *f, int error)
{
    char *message, *log;
    size_t n_fds;

    unit_rcu_barrier();
    n_fds = unit_count_fds();
    set_config(f, "upcall-engine", "io_uring");
    message = xasprintf("system@dp: the kernel lacks what upcall engine "
                        "\"io_uring\" needs (%s); using \"epoll\"\n",
                        ovs_strerror(error));
    check_log(message);
    free(message);
    check_engine(f, "epoll");
    unit_rcu_barrier();
    assert_int_equal(unit_count_fds(), n_fds);

    /* A setting is looked at once. */
    set_config(f, "upcall-engine", "io_uring");
    check_engine(f, "epoll");
    set_config(f, "upcall-engine", "epoll");
    log = read_log();
    assert_string_equal(log, "");
    free(log);
}

static void
kernel_without_io_uring_leaves_epoll(void **state)
{
    static const struct {
        enum unit_uring_call call;
        unsigned int nth;
        int error;
    } lacks[] = {
        { UNIT_URING_SETUP, 1, ENOSYS },    /* Linux before 5.1. */
        { UNIT_URING_SETUP, 1, EPERM },     /* Forbidden. */
        { UNIT_URING_REGISTER, 1, EINVAL }, /* Linux before 5.19. */
        { UNIT_URING_REGISTER, 5, ENOMEM },
        { UNIT_URING_REQUEST, 1, EINVAL },  /* Linux before 6.0. */
        { UNIT_URING_SUBMIT, 1, EPERM },
    };
    struct fixture *f = *state;

    start(f);
    check_engine(f, "epoll");
    free(read_log());
    for (size_t i = 0; i < ARRAY_SIZE(lacks); i++) {
        unit_uring_fail(lacks[i].call, lacks[i].nth, 1, lacks[i].error);
        check_no_io_uring(f, lacks[i].error);
        assert_int_equal(unit_uring_n_failed(), 1);
    }

    set_config(f, "upcall-engine", "io_uring");
    check_log("system@dp: upcalls are received with engine \"io_uring\"\n");
    check_engine(f, "io_uring");
}

static void
engine_in_use_stays_when_the_next_cannot_start(void **state)
{
    struct fixture *f = *state;

    /* The first ring is the probe's; then there is one for each handler. */
    start(f);
    free(read_log());
    unit_uring_fail(UNIT_URING_SETUP, 3, 1, ENOMEM);
    set_config(f, "upcall-engine", "io_uring");
    assert_int_equal(unit_uring_n_failed(), 1);
    char *log = read_log();
    assert_non_null(strstr(log, "system@dp: starting upcall engine "
                           "\"io_uring\" failed (Cannot allocate memory); "
                           "going on with \"epoll\"\n"));
    free(log);
    check_engine(f, "epoll");
}

static void
kernel_that_cannot_dispatch_by_cpu_goes_on_by_port(void **state)
{
    struct fixture *f = *state;
    unsigned int n_requests;

    forget_per_cpu(f);
    start(f);
    check_per_port(f);
    free(read_log());
    n_requests = kernel.n_requests;
    set_config(f, "upcall-dispatch", "per-cpu");
    check_log("system@dp: the kernel does not dispatch upcalls by CPU "
              "(Operation not supported); going on by port\n");
    check_per_port(f);
    run(f);
    check_per_port(f);

    /* The kernel was not asked for what it does not know. */
    assert_int_equal(kernel.n_requests, n_requests);
}

static void
kernel_that_cannot_dispatch_by_cpu_starts_by_port(void **state)
{
    struct fixture *f = *state;

    /* The database is read before upcalls are turned on. */
    forget_per_cpu(f);
    set_config(f, "upcall-dispatch", "per-cpu");
    start(f);
    check_log("system@dp: the kernel does not dispatch upcalls by CPU "
              "(Operation not supported); going on by port\n");
    check_per_port(f);
    assert_int_equal(kernel.n_requests, 1);
    run(f);
    check_per_port(f);
}

static void
kernel_that_refuses_to_dispatch_by_cpu_goes_on_by_port(void **state)
{
    struct fixture *f = *state;

    start(f);
    check_per_port(f);
    for (int i = 0; i < 2; i++) {
        free(read_log());
        set_features_error = i ? ENOMEM : EOPNOTSUPP;
        set_config(f, "upcall-dispatch", "per-cpu");
        check_log(i ? "by CPU (Cannot allocate memory); going on by port\n"
                  : "by CPU (Operation not supported); going on by port\n");

        /* The sockets that were meant for the CPUs go. */
        assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 5);
        run(f);
        check_per_port(f);
        set_config(f, "upcall-dispatch", "per-port");
    }

    /* It was not for good. */
    set_config(f, "upcall-dispatch", "per-cpu");
    run(f);
    assert_string_equal(dispatch_of(f), "per-cpu");
    assert_int_equal(kernel.features,
                     OVS_DP_F_UNALIGNED | OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    assert_int_equal(upcall_table_n_channels(f->dp.upcalls), 4);
    check_upcalls_come(f, kernel.cpu_pid);
    set_config(f, "upcall-dispatch", "per-port");
    run(f);
    check_per_port(f);
}

/* Another process changes the mode, which is restored. */
static void
restore_once(struct fixture *f)
{
    kernel.announcements_lost = true;
    turn(f);
    assert_true(kernel.features & OVS_DP_F_VPORT_PIDS);
    assert_false(kernel.features & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
}

/* U8. */
static void
mode_that_others_keep_changing_is_warned_of_once(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    free(read_log());

    /* Many in a short time, and for a long time with a pause, are not it. */
    for (int i = 0; i < 30; i++) {
        restore_once(f);
    }
    for (int i = 0; i < 15; i++) {
        unit_clock_advance(i == 5 ? 60000 : 58000);
        restore_once(f);
    }
    char *log = read_log();
    assert_null(strstr(log, "changing"));
    free(log);

    unit_clock_advance(58000);
    restore_once(f);
    unit_clock_advance(58000);
    restore_once(f);
    check_log("other processes have kept changing how the datapath "
              "dispatches");
    for (int i = 0; i < 30; i++) {
        unit_clock_advance(58000);
        restore_once(f);
    }
    log = read_log();
    assert_null(strstr(log, "changing"));
    free(log);
    ovs_mutex_lock(&f->dp.mutex);
    assert_int_equal(dispatch_n_restored(&f->dp), 77);
    ovs_mutex_unlock(&f->dp.mutex);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(kernel_without_io_uring_leaves_epoll),
        TEST(engine_in_use_stays_when_the_next_cannot_start),
        TEST(kernel_that_cannot_dispatch_by_cpu_goes_on_by_port),
        TEST(kernel_that_cannot_dispatch_by_cpu_starts_by_port),
        TEST(kernel_that_refuses_to_dispatch_by_cpu_goes_on_by_port),
        TEST(mode_that_others_keep_changing_is_warned_of_once),
    };

    fallback_init("test-kdp-fallback");
    return cmocka_run_group_tests_name("kdp-fallback", tests, NULL, NULL);
}
