/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_MADE_UP_CLOCK_H
#define HARNESS_MADE_UP_CLOCK_H 1

/* Made-up time
 * ============
 *
 * In a program with $(unit_made_up_clock), and $(unit_made_up_clock_wrap) in
 * its LDFLAGS, the test determines the result of clock_gettime(): one second
 * at the start, and more only when the test advances it.  This affects all
 * callers, including the harness and time limits.
 *
 * Thread safety: any thread may call all functions at any time. */

#include <stdint.h>

/* Microseconds. */
uint64_t unit_made_up_usec(void);
void unit_made_up_advance(uint64_t usec);

#endif /* tests/harness/made-up-clock.h */
