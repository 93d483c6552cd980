/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_MADE_UP_CLOCK_H
#define HARNESS_MADE_UP_CLOCK_H 1

/* Time that is made up
 * ====================
 *
 * In a program with $(unit_made_up_clock), and $(unit_made_up_clock_wrap) in
 * its LDFLAGS, clock_gettime() says what the test wants: one second at the
 * start, and more only when the test moves it on.  So it does to everybody,
 * the harness and time limits included.
 *
 * Thread safety: all functions may be called at any time by any thread. */

#include <stdint.h>

/* Microseconds. */
uint64_t unit_made_up_usec(void);
void unit_made_up_advance(uint64_t usec);

#endif /* tests/harness/made-up-clock.h */
