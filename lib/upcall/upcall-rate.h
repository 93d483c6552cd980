/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_RATE_H
#define KDP_UPCALL_RATE_H 1

/* Rates of a port
 * ===============
 *
 * Private to lib/upcall, except for the structure, which is part of a
 * snapshot.  Counters tell the past, but an operator wants to know the
 * present.  So the main loop looks at the counters of each port every
 * UPCALL_RATE_MSEC.  The differences are the rates until the next look.  The
 * time of a port's last loss has the same precision.
 *
 * Handlers are not involved.
 *
 * Thread safety: none; the caller holds a mutex. */

#include <stdint.h>

struct upcall_channel_stats;

/* Milliseconds between two looks: as often as Open vSwitch looks at
 * statistics of interfaces. */
#define UPCALL_RATE_MSEC 5000

/* All zeros mean that nothing is known of the port yet. */
struct upcall_rate {
    /* Upcalls per second. */
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

/* Looks at the counters 'stats' at 'wall' ms since 1970.  'msec' is the time
 * since the last look, or 0 if there was none. */
void upcall_rate_update(struct upcall_rate *,
                        const struct upcall_channel_stats *stats,
                        long long int msec, long long int wall);

#endif /* lib/upcall/upcall-rate.h */
