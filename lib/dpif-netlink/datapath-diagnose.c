/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/datapath-diagnose.h"

#include <inttypes.h>
#include <string.h>

#include "unixctl/findings.h"

static const struct finding_kind dispatch_changed = {
    "dispatch-changed",
    "Until it is set back, upcalls of all ports share a socket, or go to the "
    "other process and are lost.",
    "Find the process: a second ovs-vswitchd, or ovs-dpctl, on this "
    "datapath.",
};

static const struct finding_kind engine_not_used = {
    "engine-not-used",
    "The kernel lacks what the engine needs; upcalls are served all the same.",
    "io_uring needs Linux 5.18 and must not be switched off "
    "(kernel.io_uring_disabled).",
};

static const struct finding_kind chains_not_offloaded = {
    "offload-chains-missing",
    "Flows that recirculate, such as those with connection tracking, stay in "
    "the kernel datapath.",
    "Needs a kernel with CONFIG_NET_TC_SKB_EXT.",
};

void
datapath_diagnose(const struct datapath_facts *facts,
                  struct findings *findings)
{
    if (facts->wanted_engine && !strcmp(facts->wanted_engine, "io_uring")
        && strcmp(facts->engine, facts->wanted_engine)) {
        findings_add(findings, &engine_not_used, "%s: upcall-engine is "
                     "\"%s\", and \"%s\" is in use", facts->name,
                     facts->wanted_engine, facts->engine);
    }
    if (facts->n_restored) {
        findings_add(findings, &dispatch_changed, "%s: another process "
                     "changed how upcalls are dispatched %"PRIu64" times",
                     facts->name, facts->n_restored);
    }
    if (facts->offload && !facts->chains) {
        findings_add(findings, &chains_not_offloaded, "%s: the kernel "
                     "datapath cannot share ids of recirculation with tc",
                     facts->name);
    }
}
