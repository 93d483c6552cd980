/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/wait.h"

#include <errno.h>
#include <time.h>

#include "harness/unit.h"
#include "ovs-rcu.h"

/* In milliseconds, of a program without sanitizers. */
#define UNIT_PATIENCE_BASE 30000

/* Not a pointer: a failed assertion leaves the function that waits. */
static __thread struct unit_wait current;

long long int
unit_patience(void)
{
    return UNIT_PATIENCE_BASE * unit_time_factor();
}

void
unit_sleep_us(unsigned int usec)
{
    struct timespec rest = {
        .tv_sec = usec / 1000000,
        .tv_nsec = usec % 1000000 * 1000L,
    };

    while (nanosleep(&rest, &rest) && errno == EINTR) {
        continue;
    }
}

void
unit_pause(void)
{
    ovsrcu_quiesce();
    unit_sleep_us(1000);
}

void
unit_rcu_barrier(void)
{
    ovsrcu_barrier();
}

void
unit_wait_begin__(struct unit_wait *wait, const char *condition,
                  const char *file, int line)
{
    wait->condition = condition;
    wait->file = file;
    wait->line = line;
    wait->deadline = unit_now() + UNIT_PATIENCE;
    current = *wait;
}

void
unit_wait_pause__(struct unit_wait *wait)
{
    if (unit_now() > wait->deadline) {
        unit_die("%s:%d: gave up waiting for %s", wait->file, wait->line,
                 wait->condition);
    }
    unit_pause();
}

void
unit_wait_end__(struct unit_wait *wait OVS_UNUSED)
{
    current.condition = NULL;
}

struct unit_wait
unit_wait_current(void)
{
    return current;
}
