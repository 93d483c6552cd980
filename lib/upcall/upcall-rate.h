/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_RATE_H
#define KDP_UPCALL_RATE_H 1

/* Rates of a port
 * ===============
 *
 * Private to lib/upcall but for the structure, which is part of a snapshot.
 * Counters say what was; an operator asks what is.  So the counters of each
 * port are looked at every UPCALL_RATE_MSEC, and the differences are the rates
 * until the next time.  When a port lost upcalls last is known as exactly.
 *
 * Handlers have no part in it.
 *
 * Thread safety: none; the caller holds a mutex. */

#include <stdint.h>

struct upcall_channel_stats;

/* Milliseconds between two looks: as often as Open vSwitch looks at
 * statistics of interfaces. */
#define UPCALL_RATE_MSEC 5000

/* All zeros are those of a port that nothing is known of. */
struct upcall_rate {
    /* A second. */
    uint64_t received;
    uint64_t lost;
    uint64_t shed;

    long long int lost_at;      /* Last loss that was noticed: ms since 1970,
                                 * or 0. */

    /* Counters at the last look. */
    uint64_t last_received;
    uint64_t last_lost;
    uint64_t last_shed;
};

/* Takes a look at the counters 'stats', 'msec' after the last one, or 0 if
 * there was none, at 'wall' ms since 1970. */
void upcall_rate_update(struct upcall_rate *,
                        const struct upcall_channel_stats *stats,
                        long long int msec, long long int wall);

#endif /* lib/upcall/upcall-rate.h */
