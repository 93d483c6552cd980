/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-diagnose.h"

#include <inttypes.h>

#include "offload/offload-info.h"
#include "unixctl/findings.h"

static const struct finding_kind rules_removed = {
    "offload-rules-removed",
    "Flows fall back to the kernel datapath, and packets between are not "
    "counted.",
    "Find the process that changes tc on these devices (\"tc monitor\").",
};

static const struct finding_kind rules_left = {
    "offload-rules-left",
    "Packets still match the rules of flows that were deleted or changed, or "
    "that never were.",
    "The deletion is tried again every few seconds; the log has the port and "
    "the error.",
};

static const struct finding_kind rules_orphaned = {
    "offload-orphans",
    "Packets matched rules that no flow had, for up to ten seconds.",
    "Find the process that adds such rules (\"tc monitor\"), or report a bug: "
    "the log has the devices.",
};

static const struct finding_kind flows_lost = {
    "offload-flows-lost",
    "Packets of these flows are upcalls until the revalidators see to them.",
    "The log has the kernel's error.",
};

static const struct finding_kind device_full = {
    "offload-device-full",
    "Flows stay in the kernel datapath, where packets cost processor time.",
    "Offload fewer flows (offload-delay), or widen what the card has room "
    "for.",
};

static const struct finding_kind not_offloaded = {
    "offload-unsupported",
    "Packets of these flows cost processor time.",
    "ovs-appctl offload/why says more of a flow; the driver or the kernel "
    "lacks what it needs.",
};

void
offload_diagnose(const char *name, const struct offload_engine_info *info,
                 struct findings *findings)
{
    const struct offload_reason_info *unsupported
        = &info->reasons[OFFLOAD_REASON_UNSUPPORTED];
    const struct {
        const struct finding_kind *kind;
        enum offload_counter counter;
        const char *what;
    } counters[] = {
        { &rules_removed, OFFLOAD_VANISHED,
          "rules in tc were removed by another process" },
        { &rules_orphaned, OFFLOAD_ORPHANS,
          "rules in tc belonged to no flow and are deleted" },
        { &flows_lost, OFFLOAD_LOST,
          "flows were not taken back by the kernel datapath" },
    };

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        uint64_t n = info->total.counters[counters[i].counter];

        if (n) {
            findings_add(findings, counters[i].kind, "%s: %"PRIu64" %s", name,
                         n, counters[i].what);
        }
    }
    if (info->n_stuck) {
        findings_add(findings, &rules_left, "%s: %"PRIu64" rules in tc cannot "
                     "be deleted", name, info->n_stuck);
    }
    if (info->n_backoffs) {
        findings_add(findings, &device_full, "%s: %"PRIu32" ports whose "
                     "device is full", name, info->n_backoffs);
    }
    if (unsupported->n) {
        findings_add(findings, &not_offloaded, "%s: tc does not support "
                     "%"PRIu64" flows, the latest of port %"PRIu32, name,
                     unsupported->n, unsupported->port);
    }
}
