/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/links-diagnose.h"

#include <stdlib.h>

#include "link/link-diagnose.h"
#include "link/link-listener.h"
#include "link/link-table.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-diagnose.h"
#include "timeval.h"
#include "unixctl/findings.h"
#include "util.h"

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
    link_diagnose(&stats, ns, n, findings);
    free(ns);

    kdp_rtnl_get_counts(calls);
    kdp_rtnl_diagnose(calls, (time_msec() - time_boot_msec()) / 1000,
                      findings);
}

void
kdp_links_diagnose_register(void)
{
    findings_register_source(diagnose, NULL);
}
