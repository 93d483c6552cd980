/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_UNIT_H
#define HARNESS_UNIT_H 1

/* Unit test programs
 * ==================
 *
 * A test program calls unit_init() first in main(), and runs its tests with
 * cmocka_run_group_tests() or cmocka_run_group_tests_name(), which are
 * unit_run_tests() here: each test has its own time limit (watchdog.h).
 *
 * Every program that calls unit_init() runs in its own network namespace, so
 * that netlink port ids, multicast groups and devices are private.  It needs
 * no privilege beyond a user namespace.
 *
 * unit_check() and unit_die() end the program with a message, in any thread.
 * cmocka's assertions work in the main thread only.
 *
 * The rest of the harness is in separate files:
 *
 *   clock.h            the time
 *   wait.h             waiting for another thread or the kernel
 *   prng.h             pseudo-random numbers, from one seed
 *   watchdog.h         time limits
 *   descriptors.h      open file descriptors
 *   fault.h            calls that are made to fail
 *   kernel-messages.h  messages that the kernel could have sent, and sockets
 *                      that stand in for the kernel */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/clock.h"
#include "harness/wait.h"

/* Moves the process to its own namespaces.  To be called first in main(). */
void unit_init(const char *program);

/* Makes Open vSwitch log to a file, from level INFO on, except for messages
 * about a slow machine.  Returns a descriptor of the file, which has no
 * name. */
int unit_log_open(void);

/* Makes Open vSwitch treat the process as one with several threads, and starts
 * the one that runs RCU callbacks.  Otherwise any thread that quiesces first
 * runs them, in a race with others (harmless, but a thread sanitizer cannot
 * know that). */
void unit_start_threads(void);

/* Runs the 'n' tests in 'tests' as cmocka does, each with a time limit. */
int unit_run_tests(const char *name, const struct CMUnitTest tests[], size_t n,
                   CMFixtureFunction group_setup,
                   CMFixtureFunction group_teardown);

#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests(TESTS, SETUP, TEARDOWN)  \
    cmocka_run_group_tests_name(#TESTS, TESTS, SETUP, TEARDOWN)
#define cmocka_run_group_tests_name(NAME, TESTS, SETUP, TEARDOWN)       \
    unit_run_tests(NAME, TESTS, sizeof (TESTS) / sizeof (TESTS)[0],     \
                   SETUP, TEARDOWN)

/* Assertion for any thread. */
#define unit_check(CONDITION)                                           \
    ((CONDITION) ? (void) 0                                             \
     : unit_die("%s:%d: %s does not hold", __FILE__, __LINE__, #CONDITION))

/* Prints a message, the test and the seed, and ends the program. */
void unit_die(const char *format, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif /* tests/harness/unit.h */
