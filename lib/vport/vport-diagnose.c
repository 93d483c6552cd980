/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-diagnose.h"

#include <inttypes.h>

#include "unixctl/findings.h"
#include "vport/vport-table.h"

/* Losses that are worth reporting: bursts of new ports cause a few. */
#define MANY_LOSSES 10

static const struct finding_kind table_not_current = {
    "port-table-not-current",
    "Each question about a port goes to the kernel, and may wait there.",
    "Look for failed lists of ports in the log; the table is listed again in "
    "each turn of the main loop.",
};

static const struct finding_kind namespaces_not_followed = {
    "namespaces-not-followed",
    "The kernel is asked about ports whose devices are in other namespaces.",
    "Needs Linux 4.2 and CAP_NET_BROADCAST in the daemon's user namespace.",
};

static const struct finding_kind events_lost = {
    "port-events-lost",
    "The ports are listed again each time, which takes longer the more there "
    "are.",
    "Look for what keeps the main loop (\"Unreasonably long\" in the log).",
};

void
vport_diagnose(const struct vport_table_info *info, struct findings *findings)
{
    const struct vport_table_stats *stats = &info->stats;
    uint64_t losses = (stats->vport_overruns + stats->link_overruns
                       + stats->malformed);

    if (!info->open) {
        return;
    }
    if (!info->in_sync) {
        findings_add(findings, &table_not_current, "%s: the table of ports is "
                     "not in sync with the kernel", info->name);
    }
    if (!info->all_namespaces) {
        findings_add(findings, &namespaces_not_followed, "%s: the kernel "
                     "does not announce devices in other network namespaces",
                     info->name);
    }
    if (losses >= MANY_LOSSES) {
        findings_add(findings, &events_lost, "%s: announcements of ports were "
                     "lost %"PRIu64" times", info->name, losses);
    }
}
