/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_CLOCK_H
#define KDP_UPCALL_CLOCK_H 1

/* The time of latencies and turns.
 *
 * Private to lib/upcall.  Open vSwitch's time_usec() may return the time of
 * the last poll, which is before the batch.
 *
 * Thread safety: any thread. */

#include <stdint.h>
#include <time.h>

/* Microseconds, monotonic. */
static inline uint64_t
upcall_now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000) + ts.tv_nsec / 1000;
}

#endif /* lib/upcall/upcall-clock.h */
