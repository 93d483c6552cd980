/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_UNIT_H
#define HARNESS_UNIT_H 1

/* Unit test programs
 * ==================
 *
 * A test program calls unit_init() first thing in main(), and runs its tests
 * with cmocka_run_group_tests() or cmocka_run_group_tests_name(), which are
 * unit_run_tests() here: each test has a time limit of its own (watchdog.h).
 *
 * Every program that calls unit_init() runs in a network namespace of its own,
 * so that netlink port ids, multicast groups and devices are private.  It
 * needs no privilege beyond a user namespace.
 *
 * unit_check() and unit_die() end the program with a message, in any thread.
 * cmocka's assertions work in the main thread only.
 *
 * The rest of the harness is in files of its own:
 *
 *   clock.h            the time
 *   wait.h             waiting for what another thread or the kernel does
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

/* Moves the process to namespaces of its own.  To be called first thing in
 * main(). */
void unit_init(const char *program);

/* Has Open vSwitch log to a file, from level INFO on, but for what it says of
 * a slow machine.  Returns a descriptor of the file, which has no name. */
int unit_log_open(void);

/* Makes the process one with several threads as far as Open vSwitch is
 * concerned, with the one that runs what was postponed with RCU.  Left alone,
 * whichever thread quiesces first does that, racing with others (harmlessly,
 * but a thread sanitizer cannot know). */
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
