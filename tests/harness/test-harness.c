/* SPDX-License-Identifier: Apache-2.0 */

/* Tests of the harness: a hanging test is ended and reports where it hung,
 * random numbers can be repeated, the clock can be stopped, calls fail by
 * plan. */

#include <config.h>
#include "harness/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/fault.h"
#include "harness/prng.h"
#include "harness/wait.h"
#include "harness/watchdog.h"
#include "latch.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

/* Failing programs, which this program runs as itself. */

static atomic_bool waiter_runs = ATOMIC_VAR_INIT(false);

static void *
thread_that_never_ends(void *latch)
{
    atomic_store(&waiter_runs, true);
    latch_wait(latch);
    poll_block();
    return NULL;
}

static bool
is_waiting(void)
{
    bool runs;

    atomic_read(&waiter_runs, &runs);
    return runs;
}

static void
hang(void **state OVS_UNUSED)
{
    struct latch latch;
    pthread_t thread;

    /* The limit is short, and the thread may be late. */
    unit_watchdog_stop();
    latch_init(&latch);
    thread = ovs_thread_create("waiter", thread_that_never_ends, &latch);
    while (!is_waiting()) {
        unit_pause();
    }
    unit_watchdog_start("hang");
    xpthread_join(thread, NULL);
}

static void
give_up(void **state OVS_UNUSED)
{
    int never = 0;

    unit_wait_until(never == 1);
}

static const struct CMUnitTest programs[] = {
    cmocka_unit_test(hang),
    cmocka_unit_test(give_up),
};

/* Runs program 'name' of the above with short time limits, and returns its
 * output.  Stores its status, as from waitpid(), in '*status'. */
static char *
run_program(const char *name, int *status)
{
    size_t n = 0, size = 65536;
    char *text = xzalloc(size);
    ssize_t received;
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        close(fds[1]);
        setenv("KDP_TIME_FACTOR", "0.004", 1);
        setenv("KDP_SEED", "4711", 1);
        execl("/proc/self/exe", "test-harness", name, NULL);
        _exit(EXIT_FAILURE);
    }
    close(fds[1]);
    while (n < size - 1
           && (received = read(fds[0], text + n, size - 1 - n)) > 0) {
        n += received;
    }
    close(fds[0]);
    assert_int_equal(waitpid(pid, status, 0), pid);
    return text;
}

static void
check_output(char *text, int status, const char *const expected[])
{
    bool right = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;

    for (size_t i = 0; expected[i]; i++) {
        right = right && strstr(text, expected[i]);
    }
    if (!right) {
        unit_die("status %#x, output:\n%s", status, text);
    }
    free(text);
}

static void
a_test_that_hangs_ends_and_says_where(void **state OVS_UNUSED)
{
    static const char *const expected[] = {
        "test hang did not end within", "KDP_SEED=4711",
        "thread_that_never_ends", "in the kernel at", NULL
    };
    int status;
    char *text = run_program("hang", &status);

    check_output(text, status, expected);
}

static void
a_test_that_waits_in_vain_says_for_what(void **state OVS_UNUSED)
{
    static const char *const expected[] = {
        "gave up waiting for never == 1", "test give_up, KDP_SEED=4711", NULL
    };
    int status;
    char *text = run_program("give_up", &status);

    check_output(text, status, expected);
}

/* Random numbers. */

enum { N_NUMBERS = 1000 };

static void *
draw(void *numbers_)
{
    uint32_t *numbers = numbers_;

    unit_random_stream(numbers[0]);
    for (int i = 0; i < N_NUMBERS; i++) {
        numbers[i] = unit_random(UINT32_MAX);
    }
    return NULL;
}

static void
a_stream_of_random_numbers_can_be_had_again(void **state OVS_UNUSED)
{
    uint32_t ours[N_NUMBERS] = { 7 }, theirs[N_NUMBERS] = { 7 };
    uint32_t others[N_NUMBERS] = { 8 };
    unsigned int n_equal = 0;

    draw(ours);
    draw(others);
    xpthread_join(ovs_thread_create("draw", draw, theirs), NULL);
    assert_memory_equal(ours, theirs, sizeof ours);
    for (int i = 0; i < N_NUMBERS; i++) {
        n_equal += ours[i] == others[i];
    }
    assert_true(n_equal < 3);
}

static void
random_numbers_are_spread_evenly(void **state OVS_UNUSED)
{
    unsigned int counts[10] = { 0 };

    for (int i = 0; i < 100000; i++) {
        uint32_t number = unit_random(10);

        assert_true(number < 10);
        counts[number]++;
    }
    for (int i = 0; i < 10; i++) {
        /* Ten standard deviations. */
        assert_in_range(counts[i], 9050, 10950);
    }
}

static void
the_clock_stands_still_and_runs_again(void **state OVS_UNUSED)
{
    unit_clock_stop(1000);
    assert_true(unit_clock_is_stopped());
    unit_sleep_us(2000);
    assert_int_equal(time_msec(), 1000);
    unit_clock_advance(23);
    assert_int_equal(time_msec(), 1023);
    unit_clock_run();
    assert_false(unit_clock_is_stopped());

    long long int start = time_msec();
    unit_wait_until(time_msec() > start);
}

static void
calls_fail_by_plan(void **state OVS_UNUSED)
{
    unit_plan_failures(UNIT_CALL_MMAP, 2, 2, ENOMEM);
    assert_false(unit_fails(UNIT_CALL_MMAP));
    assert_false(unit_fails(UNIT_CALL_OPEN));
    for (int i = 0; i < 2; i++) {
        errno = 0;
        assert_true(unit_fails(UNIT_CALL_MMAP));
        assert_int_equal(errno, ENOMEM);
    }
    assert_false(unit_fails(UNIT_CALL_MMAP));
    assert_int_equal(unit_n_failed(), 2);

    unit_plan_failures(UNIT_CALL_MMAP, 1, 9, ENOMEM);
    unit_plan_none();
    assert_false(unit_fails(UNIT_CALL_MMAP));
}

int
main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_that_hangs_ends_and_says_where),
        cmocka_unit_test(a_test_that_waits_in_vain_says_for_what),
        cmocka_unit_test(a_stream_of_random_numbers_can_be_had_again),
        cmocka_unit_test(random_numbers_are_spread_evenly),
        cmocka_unit_test(the_clock_stands_still_and_runs_again),
        cmocka_unit_test(calls_fail_by_plan),
    };

    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        if (argc > 1 && !strcmp(argv[1], programs[i].name)) {
            return unit_run_tests(argv[1], &programs[i], 1, NULL, NULL);
        }
    }
    return cmocka_run_group_tests_name("harness", tests, NULL, NULL);
}
