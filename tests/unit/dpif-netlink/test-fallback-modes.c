/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U8: when the kernel refuses another way of dispatch, or other
 * sockets of CPUs, those that it knows stay and are read, and it is asked
 * again. */

#include <config.h>
#include "dpif-netlink/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "odp-netlink.h"
#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "unit/dpif-netlink/fallback-fixture.h"
#include "util.h"

/* Checks that somebody reads wherever the kernel sends while it dispatches by
 * CPU. */
static void
check_all_cpus(struct fixture *f)
{
    assert_true(kernel.features & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    assert_true(kernel.n_cpu_pids > 0);
    for (size_t i = 0; i < kernel.n_cpu_pids; i++) {
        check_upcalls_come(f, kernel.cpu_pids[i]);
    }
}

/* Upcalls are dispatched by CPU, by 'n' handlers, and nothing is drained. */
static void
start_by_cpu(struct fixture *f, uint32_t n)
{
    set_config(f, "upcall-dispatch", "per-cpu");
    start(f);
    dispatch_handlers_set(&f->dp, n);
    run(f);
    assert_string_equal(dispatch_of(f), "per-cpu");
    check_all_cpus(f);
    free(read_log());
}

/* 'takes_cpu_pids': it is the second of two requests that fails. */
static void
check_refused_by_port(struct fixture *f, bool takes_cpu_pids)
{
    char *log;

    start_by_cpu(f, 2);
    no_features_error = ENOMEM;
    kernel.takes_cpu_pids = takes_cpu_pids;
    set_config(f, "upcall-dispatch", "per-port");
    assert_string_equal(dispatch_of(f), "per-cpu");
    log = read_log();
    assert_non_null(strstr(log, "system@dp: the kernel does not dispatch "
                           "upcalls by port (Cannot allocate memory); going "
                           "on by CPU, and trying again every 1000 ms\n"));
    free(log);
    check_all_cpus(f);
    for (int i = 0; i < 3; i++) {
        run(f);
        assert_string_equal(dispatch_of(f), "per-cpu");
        check_all_cpus(f);
    }

    no_features_error = 0;
    run(f);
    check_per_port(f);
    log = read_log();
    assert_non_null(strstr(log, "upcalls are dispatched by port"));
    free(log);
}

static void
kernel_that_refuses_to_dispatch_by_port_goes_on_by_cpu(void **state)
{
    check_refused_by_port(*state, false);
}

static void
kernel_that_half_refuses_to_dispatch_by_port_goes_on_by_cpu(void **state)
{
    check_refused_by_port(*state, true);
}

/* It may have taken the feature and not the sockets. */
static void
kernel_that_half_refuses_to_dispatch_by_cpu_is_told_the_old_way(void **state)
{
    struct fixture *f = *state;
    unsigned int n_requests;

    start(f);
    run(f);
    check_per_port(f);
    n_requests = kernel.n_requests;
    set_features_error = ENOMEM;
    set_config(f, "upcall-dispatch", "per-cpu");
    assert_string_equal(dispatch_of(f), "per-port");
    assert_int_equal(kernel.n_requests, n_requests + 3);
    run(f);
    check_per_port(f);
}

static void
cpus_keep_the_sockets_that_the_kernel_knows(void **state)
{
    static const uint32_t numbers[] = { 1, 4 };
    struct fixture *f = *state;

    start_by_cpu(f, 2);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        dispatch_handlers_set(&f->dp, 2);
        run(f);
        free(read_log());
        no_features_error = ENOMEM;
        dispatch_handlers_set(&f->dp, numbers[i]);
        check_log("system@dp: giving each handler a socket failed (Cannot "
                  "allocate memory); CPUs keep the sockets that they have, "
                  "and it is tried again every 1000 ms\n");

        /* Something else is drained meanwhile. */
        ovs_mutex_lock(&f->dp.mutex);
        upcall_dest_drain(&f->dp);
        ovs_mutex_unlock(&f->dp.mutex);
        for (int j = 0; j < 3; j++) {
            run(f);
            check_all_cpus(f);
        }

        no_features_error = 0;
        run(f);
        check_all_cpus(f);
        assert_int_equal(upcall_table_n_channels(f->dp.upcalls),
                         2 + numbers[i]);
        for (size_t cpu = 0; cpu < kernel.n_cpu_pids; cpu++) {
            uint32_t port_no = UPCALL_PORT_CPU(cpu % numbers[i]);

            assert_int_equal(kernel.cpu_pids[cpu],
                             upcall_table_get_pid(f->dp.upcalls, port_no));
        }
    }
}

/* Another process changed the mode, once, and it cannot be restored at
 * once. */
static void
mode_that_cannot_be_restored_is_tried_again(void **state)
{
    struct fixture *f = *state;

    start(f);
    run(f);
    check_per_port(f);
    kernel.features = OVS_DP_F_DISPATCH_UPCALL_PER_CPU;
    kernel.announcements_lost = true;
    no_features_error = EBUSY;
    run(f);
    assert_int_equal(kernel.features, OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    check_all_cpus(f);
    no_features_error = 0;
    run(f);
    check_per_port(f);
}

static uint32_t
user_features(struct fixture *f)
{
    uint32_t features;

    ovs_mutex_lock(&f->dp.mutex);
    features = f->dp.user_features;
    ovs_mutex_unlock(&f->dp.mutex);
    return features;
}

/* Those of dispatch stay as they are. */
static void
features_that_the_bridge_sets_are_kept(void **state)
{
    const uint32_t old = OVS_DP_F_UNALIGNED | OVS_DP_F_VPORT_PIDS;
    const uint32_t new = OVS_DP_F_TC_RECIRC_SHARING;
    struct fixture *f = *state;

    start(f);
    run(f);
    assert_int_equal(kernel.features, old);

    /* The kernel fails, or does not have it. */
    set_features_error = ENOMEM;
    assert_int_equal(dispatch_set_features(&f->dp, new), ENOMEM);
    assert_int_equal(user_features(f), OVS_DP_F_UNALIGNED);
    kernel.lacks = new;
    assert_int_equal(dispatch_set_features(&f->dp, new), EOPNOTSUPP);
    assert_int_equal(kernel.features, old);
    assert_int_equal(user_features(f), OVS_DP_F_UNALIGNED);

    kernel.lacks = 0;
    assert_int_equal(dispatch_set_features(&f->dp, new), 0);
    assert_int_equal(kernel.features, old | new);
    assert_int_equal(user_features(f), OVS_DP_F_UNALIGNED | new);
    set_config(f, "upcall-dispatch", "per-cpu");
    assert_int_equal(kernel.features, (OVS_DP_F_UNALIGNED | new
                                       | OVS_DP_F_DISPATCH_UPCALL_PER_CPU));
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(features_that_the_bridge_sets_are_kept),
        TEST(kernel_that_refuses_to_dispatch_by_port_goes_on_by_cpu),
        TEST(kernel_that_half_refuses_to_dispatch_by_port_goes_on_by_cpu),
        TEST(kernel_that_half_refuses_to_dispatch_by_cpu_is_told_the_old_way),
        TEST(cpus_keep_the_sockets_that_the_kernel_knows),
        TEST(mode_that_cannot_be_restored_is_tried_again),
    };

    fallback_init("test-kdp-fallback-modes");
    return cmocka_run_group_tests_name("kdp-fallback-modes", tests, NULL,
                                       NULL);
}
