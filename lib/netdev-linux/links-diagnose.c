/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/links-diagnose.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "netdev-linux/links.h"
#include "openvswitch/dynamic-string.h"
#include "timeval.h"
#include "unixctl/findings.h"
#include "util.h"

/* Losses that are worth reporting: bursts of new devices cause a few. */
#define MANY_LOSSES 10

/* Most namespaces that are named. */
#define MAX_NAMESPACES 5

static const struct finding_kind table_not_current = {
    "link-table-not-current",
    "State, addresses and statistics of devices there may be wrong.",
    "ovs-appctl link-table/resync asks again; the log says why it failed.",
};

static const struct finding_kind events_lost = {
    "link-events-lost",
    "All devices are listed again each time, under the RTNL lock.",
    "Look for what makes so many changes (\"ip monitor\"), and for what keeps "
    "the main loop (\"Unreasonably long\" in the log).",
};

void
kdp_links_diagnose_tables(const struct link_listener_stats *stats,
                          const struct link_ns_info *ns, size_t n,
                          struct findings *findings)
{
    size_t n_stale = 0;

    for (size_t i = 0; i < n; i++) {
        if (ns[i].state == LINK_NS_STALE && n_stale++ < MAX_NAMESPACES) {
            char *name = link_nsid_to_string(ns[i].nsid);

            findings_add(findings, &table_not_current, "network namespace %s: "
                         "its devices could not be listed (%s)", name,
                         ovs_strerror(ns[i].error));
            free(name);
        }
    }
    if (n_stale > MAX_NAMESPACES) {
        findings_add(findings, &table_not_current, "%"PRIuSIZE" more network "
                     "namespaces", n_stale - MAX_NAMESPACES);
    }
    if (stats->overruns >= MANY_LOSSES) {
        findings_add(findings, &events_lost, "link events were lost %"PRIu64
                     " times (%"PRIu64" events)", stats->overruns,
                     stats->lost);
    }
}

/* Calls per second, on average, that are worth reporting.  There are none in
 * steady state, and each may wait for as long as another process holds the
 * lock. */
#define MANY_CALLS 1

/* Seconds before the average means anything: ports are added at the start. */
#define MIN_SECONDS 60

/* Most kinds of calls that are named. */
#define MAX_KINDS 3

static const struct finding_kind rtnl_busy = {
    "rtnl-busy",
    "Each call may wait for another process that holds the kernel's RTNL "
    "lock.",
    "Look for what makes these calls: ports that come and go, MII monitoring "
    "of bonds, controllers that set QoS again.",
};

/* Returns the most frequent kind that is not in 'named' yet, or
 * KDP_N_RTNL_CALLS if there is none. */
static enum kdp_rtnl_call
most_frequent(const uint64_t counts[KDP_N_RTNL_CALLS],
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
kdp_links_diagnose_rtnl(const uint64_t counts[KDP_N_RTNL_CALLS],
                        unsigned int seconds, struct findings *findings)
{
    /* Audits are left out: one every few seconds for each device with offload
     * is unavoidable and holds the lock for microseconds only. */
    bool named[KDP_N_RTNL_CALLS] = { [KDP_RTNL_TC_AUDIT] = true };
    struct ds kinds = DS_EMPTY_INITIALIZER;
    uint64_t total = 0;

    for (enum kdp_rtnl_call i = 0; i < KDP_N_RTNL_CALLS; i++) {
        total += named[i] ? 0 : counts[i];
    }
    if (seconds >= MIN_SECONDS && total / seconds >= MANY_CALLS) {
        for (int i = 0; i < MAX_KINDS; i++) {
            enum kdp_rtnl_call call = most_frequent(counts, named);

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

static void
diagnose(struct findings *findings, void *aux OVS_UNUSED)
{
    uint64_t calls[KDP_N_RTNL_CALLS];
    struct link_listener_stats stats;
    struct link_ns_info *ns;
    size_t n;

    if (!kdp_links_enabled()) {
        return;
    }
    link_listener_get_stats(kdp_links_listener(), &stats);
    ns = link_table_get_namespaces(kdp_links_table(), &n);
    kdp_links_diagnose_tables(&stats, ns, n, findings);
    free(ns);

    kdp_rtnl_get_counts(calls);
    kdp_links_diagnose_rtnl(calls, (time_msec() - time_boot_msec()) / 1000,
                            findings);
}

void
kdp_links_diagnose_register(void)
{
    findings_register_source(diagnose, NULL);
}
