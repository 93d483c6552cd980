/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_WATCHDOG_H
#define HARNESS_WATCHDOG_H 1

/* Time limits
 * ===========
 *
 * A test that hangs would hold up all others, and nobody would learn where it
 * hung.  unit_run_tests() gives each test UNIT_TIME_LIMIT; at its end the
 * program prints the test, the seed, and where each thread is, and aborts.
 *
 * The limit is for one test, not for the program, and is many times what the
 * longest test takes: it is there to end what makes no progress.
 *
 * It is a timer of the process, whose signal any thread may get.  That thread
 * has the others tell where they are, one by one.  A second timer kills the
 * program some time later, in case that hangs, too.
 *
 * Thread safety: unit_watchdog_test() may be called by any thread, the others
 * by the main thread. */

/* In seconds; multiplied by unit_time_factor(). */
#define UNIT_TIME_LIMIT 300

/* Gives what runs now, 'test', the limit from now on. */
void unit_watchdog_start(const char *test);

/* Restarts the limit of the test that runs.  For tests of many rounds, each
 * of which is progress. */
void unit_watchdog_progress(void);

/* Ends the limit. */
void unit_watchdog_stop(void);

/* The name of the test that runs. */
const char *unit_watchdog_test(void);

#endif /* tests/harness/watchdog.h */
