/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/prng.h"
#include "harness/watchdog.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "random.h"
#include "util.h"

void
unit_die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "\n");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\ntest %s, KDP_SEED=%"PRIu32"\n", unit_watchdog_test(),
            unit_seed());
    va_end(args);
    abort();
}

void
unit_init(const char *program)
{
    int flags = CLONE_NEWNET | (geteuid() ? CLONE_NEWUSER : 0);

    if (unshare(flags)) {
        fprintf(stderr, "%s: making a network namespace failed (%s); the "
                "test needs root or user namespaces\n", program,
                strerror(errno));
        exit(EXIT_FAILURE);
    }
    ovs_set_program_name(program, "test");

    /* Open vSwitch's own random choices in this thread. */
    random_set_seed(unit_seed() | 1);

    /* Most tests provoke warnings. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
}

int
unit_log_open(void)
{
    static const char *const of_machine[] = {
        "coverage", "ovs_rcu", "poll_loop", "timeval",
    };
    char name[] = "/tmp/unit-log-XXXXXX";
    int fd = mkstemp(name);

    if (fd < 0 || vlog_set_log_file(name)) {
        unit_die("%s: cannot log there", name);
    }
    unlink(name);
    vlog_set_levels(NULL, VLF_FILE, VLL_INFO);
    for (size_t i = 0; i < ARRAY_SIZE(of_machine); i++) {
        struct vlog_module *module = vlog_module_from_name(of_machine[i]);

        unit_check(module != NULL);
        vlog_set_levels(module, VLF_FILE, VLL_OFF);
    }
    return fd;
}

static void *
unit_thread_main(void *aux OVS_UNUSED)
{
    return NULL;
}

void
unit_start_threads(void)
{
    xpthread_join(ovs_thread_create("first", unit_thread_main, NULL), NULL);
    ovsrcu_quiesce();
}

/* The running group.  cmocka calls a test's setup function, the test and its
 * teardown function one after the other: the first of them starts the time
 * limit. */
static struct {
    const char *name;
    CMFixtureFunction setup, teardown;
    void *state;                /* Of the group. */
} group;

static int
setup_group(void **state)
{
    int error = 0;

    unit_watchdog_start(group.name);
    if (group.setup) {
        error = group.setup(state);
    }
    group.state = *state;
    return error;
}

static int
teardown_group(void **state)
{
    unit_watchdog_start(group.name);
    return group.teardown ? group.teardown(state) : 0;
}

/* 'state' points to the test when its setup function is called, and is set to
 * what cmocka would have passed. */
static int
setup_test(void **state)
{
    const struct CMUnitTest *test = *state;

    unit_watchdog_start(test->name);
    *state = test->initial_state ? test->initial_state : group.state;
    return test->setup_func ? test->setup_func(state) : 0;
}

int
unit_run_tests(const char *name, const struct CMUnitTest tests[], size_t n,
               CMFixtureFunction group_setup, CMFixtureFunction group_teardown)
{
    struct CMUnitTest *copies = xmemdup(tests, n * sizeof *tests);
    int n_failed;

    group.name = name;
    group.setup = group_setup;
    group.teardown = group_teardown;
    for (size_t i = 0; i < n; i++) {
        copies[i].setup_func = setup_test;
        copies[i].initial_state = CONST_CAST(struct CMUnitTest *, &tests[i]);
    }
    n_failed = _cmocka_run_group_tests(name, copies, n, setup_group,
                                       teardown_group);
    unit_watchdog_stop();
    free(copies);
    return n_failed;
}
