/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-diagnose.h"

#include <inttypes.h>
#include <stdlib.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "unixctl/findings.h"
#include "util.h"

/* Losses that are worth a word: a few come with bursts of new devices. */
#define MANY_LOSSES 10

/* Namespaces that are named. */
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
link_diagnose(const struct link_listener_stats *stats,
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
