/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/made-up-clock.h"

#include <time.h>

#include "ovs-atomic.h"
#include "util.h"

static atomic_uint64_t now = ATOMIC_VAR_INIT(1000000);

uint64_t
unit_made_up_usec(void)
{
    uint64_t usec;

    atomic_read_relaxed(&now, &usec);
    return usec;
}

void
unit_made_up_advance(uint64_t usec)
{
    uint64_t orig;

    atomic_add_relaxed(&now, usec, &orig);
}

int __wrap_clock_gettime(clockid_t, struct timespec *);
int
__wrap_clock_gettime(clockid_t clock OVS_UNUSED, struct timespec *ts)
{
    uint64_t usec = unit_made_up_usec();

    ts->tv_sec = usec / 1000000;
    ts->tv_nsec = usec % 1000000 * 1000;
    return 0;
}
