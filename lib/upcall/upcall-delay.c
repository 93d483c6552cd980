/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-delay.h"

#include <limits.h>
#include <string.h>

#include "util.h"

/* The last look is 1/2^this of the moving average: several looks decide, and
 * not a single look that was delayed. */
#define RATE_SHIFT 2

/* Upcalls are summed up in this fraction of an upcall, so that the average of
 * a few does not become 0. */
#define RATE_UNIT 256

/* A longer time between two looks says nothing about a rate: the machine was
 * suspended, or the daemon stopped. */
#define LOOK_USEC_MAX UINT64_C(60000000)

/* Turns that 'keep' is at least enough for: the next turn, and one more for
 * uneven arrivals, so that no turn is short. */
#define KEEP_TURNS 2

void
upcall_delay_init(struct upcall_delay *delay)
{
    memset(delay, 0, sizeof *delay);
}

/* Restarts counting with a look at 'now', in a turn of 'quantum'. */
static void
upcall_delay_restart(struct upcall_delay *delay, uint64_t now,
                     unsigned int quantum)
{
    delay->looked_at = now;
    delay->granted = quantum;
    delay->served = 0;
}

bool
upcall_delay_turn(struct upcall_delay *delay, uint64_t now,
                  unsigned int quantum)
{
    bool due = false;

    delay->turn_quantum = quantum;
    delay->turn_served = 0;
    if (!delay->looked_at) {
        upcall_delay_restart(delay, now, quantum);
    } else if (now - delay->looked_at >= UPCALL_DELAY_LOOK) {
        due = true;
    } else {
        delay->granted += quantum;
    }
    return due;
}

/* Takes the time until 'now' into the average, and returns how many upcalls
 * may wait. */
static unsigned int
upcall_delay_measure(struct upcall_delay *delay, uint64_t now,
                     unsigned int quantum, uint64_t target)
{
    uint64_t usec = MIN(now - delay->looked_at, LOOK_USEC_MAX);
    uint64_t n = (uint64_t) delay->granted * RATE_UNIT;
    uint64_t keep;

    if (!delay->usec) {
        delay->n = n << RATE_SHIFT;
        delay->usec = usec << RATE_SHIFT;
    } else {
        delay->n += n - (delay->n >> RATE_SHIFT);
        delay->usec += usec - (delay->usec >> RATE_SHIFT);
    }
    keep = delay->n * target / RATE_UNIT / MAX(delay->usec, 1);
    return MAX(quantum * KEEP_TURNS, MIN(keep, INT_MAX));
}

/* Says whether to limit an unlimited port from 'now' on, when 'queued' upcalls
 * wait and 'keep' may. */
static bool
upcall_delay_is_standing(struct upcall_delay *delay, uint64_t now,
                         unsigned int queued, unsigned int keep)
{
    if (queued <= keep) {
        delay->since = 0;
    } else if (!delay->since) {
        delay->since = now;
    }
    return delay->since && now - delay->since >= UPCALL_DELAY_INTERVAL;
}

/* Says whether a limited port sent no more than its share in an interval that
 * ends now.  The kernel dropped 'dropped' of its upcalls since the last
 * look. */
static bool
upcall_delay_is_within_share(struct upcall_delay *delay, uint64_t now,
                             uint32_t dropped)
{
    bool within;

    delay->share += delay->granted;
    delay->offered += (uint64_t) delay->served + dropped;
    if (now - delay->since < UPCALL_DELAY_INTERVAL) {
        return false;
    }
    within = delay->offered <= delay->share;
    delay->since = now;
    delay->share = delay->offered = 0;
    return within;
}

unsigned int
upcall_delay_look(struct upcall_delay *delay, uint64_t now,
                  unsigned int queued, uint32_t drops, unsigned int quantum,
                  uint64_t target)
{
    unsigned int keep = upcall_delay_measure(delay, now, quantum, target);
    uint32_t dropped = drops - delay->drops;

    delay->drops = drops;
    if (!target
        || (delay->keep
            && upcall_delay_is_within_share(delay, now, dropped))) {
        delay->keep = delay->since = 0;
        delay->shedding = false;
    } else if (delay->keep) {
        delay->keep = keep;
    } else if (upcall_delay_is_standing(delay, now, queued, keep)) {
        delay->keep = keep;
        delay->shedding = true;
        delay->since = now;
        delay->share = delay->offered = 0;
    }
    upcall_delay_restart(delay, now, quantum);
    return delay->keep;
}
