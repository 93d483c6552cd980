/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-delay.h"

#include <limits.h>
#include <string.h>

#include "util.h"

/* The last turn is 1/2^this of the moving average: some turns decide, and a
 * single one that was held up does not. */
#define RATE_SHIFT 2

/* Upcalls are summed up in this part of one, so that the average of few does
 * not become 0. */
#define RATE_UNIT 256

/* A longer time between two turns says nothing about a rate: the machine was
 * suspended, or the daemon stopped. */
#define TURN_USEC_MAX UINT64_C(60000000)

void
upcall_delay_init(struct upcall_delay *delay)
{
    memset(delay, 0, sizeof *delay);
}

/* Takes the turn that ends at 'now' into the average. */
static void
upcall_delay_measure(struct upcall_delay *delay, uint64_t now)
{
    if (delay->turn_at && delay->turn_n && now > delay->turn_at) {
        uint64_t n = (uint64_t) delay->turn_n * RATE_UNIT;
        uint64_t usec = MIN(now - delay->turn_at, TURN_USEC_MAX);

        if (!delay->usec) {
            delay->n = n << RATE_SHIFT;
            delay->usec = usec << RATE_SHIFT;
        } else {
            delay->n += n - (delay->n >> RATE_SHIFT);
            delay->usec += usec - (delay->usec >> RATE_SHIFT);
        }
    }
    delay->turn_at = now;
    delay->turn_n = 0;
}

unsigned int
upcall_delay_keep(const struct upcall_delay *delay, unsigned int quantum,
                  uint64_t target)
{
    uint64_t keep;

    if (!delay->usec) {
        return UINT_MAX;
    }
    keep = delay->n * target / RATE_UNIT / delay->usec;
    return MAX(quantum, MIN(keep, UINT_MAX));
}

unsigned int
upcall_delay_turn(struct upcall_delay *delay, uint64_t now,
                  unsigned int queued, unsigned int quantum, uint64_t target)
{
    unsigned int keep;

    upcall_delay_measure(delay, now);
    if (!target) {
        delay->shedding = false;
        delay->long_since = 0;
        return 0;
    }

    keep = upcall_delay_keep(delay, quantum, target);
    if (delay->shedding && now - delay->long_at > UPCALL_DELAY_INTERVAL) {
        delay->shedding = false;
    }
    if (queued <= keep) {
        delay->long_since = 0;
        return 0;
    }
    delay->long_at = now;
    if (!delay->long_since) {
        delay->long_since = now;
    }
    if (now - delay->long_since >= UPCALL_DELAY_INTERVAL) {
        delay->shedding = true;
    }
    return delay->shedding ? queued - keep : 0;
}

void
upcall_delay_empty(struct upcall_delay *delay)
{
    delay->turn_at = 0;
    delay->turn_n = 0;
    delay->long_since = 0;
}
