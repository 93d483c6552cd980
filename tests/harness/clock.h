/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_CLOCK_H
#define HARNESS_CLOCK_H 1

/* The time
 * ========
 *
 * unit_now() is the time that tests measure with: it only runs forward.
 *
 * The code under test gets the time from time_msec(), which a test can stop
 * and advance.  Such a program adds $(unit_clock_wrap) to its LDFLAGS; in
 * others unit_clock_stop() has no effect.
 *
 * Time limits and UNIT_PATIENCE are multiplied by unit_time_factor(), as an
 * instrumented program or a loaded machine is slower.
 *
 * Thread safety: all functions may be called at any time by any thread. */

#include <stdbool.h>

/* Milliseconds. */
long long int unit_now(void);

/* Stops time_msec() at 'now', and makes it run again. */
void unit_clock_stop(long long int now);
void unit_clock_run(void);

/* Advances a stopped time_msec() by 'msec'. */
void unit_clock_advance(long long int msec);

/* True if time_msec() is stopped. */
bool unit_clock_is_stopped(void);

/* The factor by which everything may take longer: 1, more in a program with
 * sanitizers, multiplied by environment variable KDP_TIME_FACTOR. */
double unit_time_factor(void);

#endif /* tests/harness/clock.h */
