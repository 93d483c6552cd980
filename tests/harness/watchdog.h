/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_WATCHDOG_H
#define HARNESS_WATCHDOG_H 1

/* Time limits
 * ===========
 *
 * A hanging test would block all others without showing where it hangs.
 * unit_run_tests() gives each test UNIT_TIME_LIMIT; at its end the program
 * prints the test, the seed, and where each thread is, and aborts.
 *
 * The limit is for one test, not for the program, and is many times the
 * duration of the longest test: it is for tests that make no progress.
 *
 * It is a timer of the process, whose signal any thread may get.  That thread
 * makes the others report where they are, one by one.  A second timer kills
 * the program some time later, in case that hangs, too.
 *
 * Thread safety: unit_watchdog_test() may be called by any thread, the others
 * by the main thread. */

/* In seconds; multiplied by unit_time_factor(). */
#define UNIT_TIME_LIMIT 300

/* Starts the limit for test 'test'. */
void unit_watchdog_start(const char *test);

/* Restarts the limit of the running test.  For tests of many rounds, each of
 * them being progress. */
void unit_watchdog_progress(void);

/* Ends the limit. */
void unit_watchdog_stop(void);

/* The name of the running test. */
const char *unit_watchdog_test(void);

#endif /* tests/harness/watchdog.h */
