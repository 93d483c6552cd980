/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "ovs-atomic.h"
#include "timeval.h"
#include "util.h"

/* Slowdown of a program, with a safety margin. */
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define UNIT_SANITIZER_FACTOR 5
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define UNIT_SANITIZER_FACTOR 3
#else
#define UNIT_SANITIZER_FACTOR 1
#endif

/* The value of time_msec(), or 0 if it runs. */
static ATOMIC(long long int) stopped_at;

long long int
unit_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void
unit_clock_stop(long long int now)
{
    atomic_store_relaxed(&stopped_at, now);
}

void
unit_clock_run(void)
{
    atomic_store_relaxed(&stopped_at, 0);
}

void
unit_clock_advance(long long int msec)
{
    long long int orig;

    atomic_add_relaxed(&stopped_at, msec, &orig);
}

bool
unit_clock_is_stopped(void)
{
    long long int now;

    atomic_read_relaxed(&stopped_at, &now);
    return now != 0;
}

/* Replaces time_msec() in programs with $(unit_clock_wrap).  In others it is
 * not called, and there is no original. */
long long int __wrap_time_msec(void);
long long int __real_time_msec(void) __attribute__((weak));
long long int
__wrap_time_msec(void)
{
    long long int now;

    atomic_read_relaxed(&stopped_at, &now);
    return now ? now : __real_time_msec();
}

double
unit_time_factor(void)
{
    const char *s = getenv("KDP_TIME_FACTOR");
    double factor = s ? strtod(s, NULL) : 1;

    return UNIT_SANITIZER_FACTOR * (factor > 0 ? factor : 1);
}
