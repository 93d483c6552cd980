/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-rate.h"

#include "upcall/upcall-channel.h"
#include "util.h"

/* Returns how much a counter has grown since '*last', which becomes 'now'.  A
 * counter that is smaller was set to 0 meanwhile. */
static uint64_t
grown(uint64_t *last, uint64_t now)
{
    uint64_t n = now >= *last ? now - *last : now;

    *last = now;
    return n;
}

static uint64_t
a_second(uint64_t n, long long int msec)
{
    return msec > 0 ? DIV_ROUND_UP(n * 1000, msec) : 0;
}

void
upcall_rate_update(struct upcall_rate *rate,
                   const struct upcall_channel_stats *stats,
                   long long int msec, long long int wall)
{
    uint64_t n_lost = grown(&rate->last_lost, stats->lost);

    if (n_lost) {
        rate->lost_at = wall;
    }
    rate->lost = a_second(n_lost, msec);
    rate->received = a_second(grown(&rate->last_received, stats->received),
                              msec);
    rate->shed = a_second(grown(&rate->last_shed, stats->shed), msec);
}
