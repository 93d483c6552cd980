/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/rtnl-diagnose.h"

#include <inttypes.h>
#include <stdbool.h>

#include "openvswitch/dynamic-string.h"
#include "unixctl/findings.h"

/* Calls a second, on average, that are worth a word.  In steady state there is
 * none; each may wait for as long as another process holds the lock. */
#define MANY_CALLS 1

/* Seconds before that says anything: ports are added at the start. */
#define MIN_SECONDS 60

/* Kinds of calls that are named. */
#define MAX_KINDS 3

static const struct finding_kind rtnl_busy = {
    "rtnl-busy",
    "Each call may wait for whoever holds the kernel's RTNL lock, and the "
    "daemon with it.",
    "Look for what makes these calls: ports that come and go, MII monitoring "
    "of bonds, controllers that set QoS again.",
};

/* The kind of which there are most that is not in 'named' yet. */
static enum kdp_rtnl_call
most(const uint64_t counts[KDP_N_RTNL_CALLS],
     const bool named[KDP_N_RTNL_CALLS])
{
    enum kdp_rtnl_call best = KDP_N_RTNL_CALLS;

    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        if (!named[i] && counts[i]
            && (best == KDP_N_RTNL_CALLS || counts[i] > counts[best])) {
            best = i;
        }
    }
    return best;
}

void
kdp_rtnl_diagnose(const uint64_t counts[KDP_N_RTNL_CALLS],
                  unsigned int seconds, struct findings *findings)
{
    /* One for each device with offload each few seconds, which cannot be
     * helped, and holds the lock for microseconds only. */
    bool named[KDP_N_RTNL_CALLS] = { [KDP_RTNL_TC_AUDIT] = true };
    struct ds kinds = DS_EMPTY_INITIALIZER;
    uint64_t total = 0;

    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        total += named[i] ? 0 : counts[i];
    }
    if (seconds >= MIN_SECONDS && total / seconds >= MANY_CALLS) {
        for (int i = 0; i < MAX_KINDS; i++) {
            enum kdp_rtnl_call call = most(counts, named);

            if (call == KDP_N_RTNL_CALLS) {
                break;
            }
            named[call] = true;
            ds_put_format(&kinds, "%s%s %"PRIu64, i ? ", " : "",
                          kdp_rtnl_call_name(call), counts[call]);
        }
        findings_add(findings, &rtnl_busy, "%"PRIu64" calls took the RTNL "
                     "lock in %u s, most of them to: %s", total, seconds,
                     ds_cstr(&kinds));
    }
    ds_destroy(&kinds);
}
