/* SPDX-License-Identifier: Apache-2.0 */

/* Each finding about link tables and the RTNL lock, from a snapshot that shows
 * it. */

#include <config.h>
#include "netdev-linux/links-show.h"

#include <errno.h>

#include "harness/found.h"
#include "harness/unit.h"
#include "link/link-listener.h"
#include "link/link-table.h"
#include "util.h"

static void
tables_that_are_not_current(void **state OVS_UNUSED)
{
    const struct link_listener_stats stats = { .overruns = 2 };
    struct link_ns_info ns[10] = { { .nsid = LINK_NSID_LOCAL } };
    struct findings findings;

    for (int i = 1; i < 10; i++) {
        ns[i].nsid = i;
        ns[i].state = LINK_NS_PENDING;
    }
    findings_init(&findings);
    kdp_links_diagnose_tables(&stats, ns, 10, &findings);
    unit_found_nothing(&findings);

    ns[3].state = LINK_NS_STALE;
    ns[3].error = EPERM;
    kdp_links_diagnose_tables(&stats, ns, 10, &findings);
    unit_found(&findings, 1, "link-table-not-current", "namespace 3: its "
               "devices could not be listed (Operation not permitted)");

    for (int i = 1; i < 10; i++) {
        ns[i].state = LINK_NS_STALE;
    }
    kdp_links_diagnose_tables(&stats, ns, 10, &findings);
    assert_string_equal(findings.array[5].what, "4 more network namespaces");
    unit_found(&findings, 6, "link-table-not-current", "namespace 1");
    findings_uninit(&findings);
}

static void
events_that_were_lost(void **state OVS_UNUSED)
{
    const struct link_listener_stats stats = { .overruns = 12, .lost = 345 };
    struct findings findings;

    findings_init(&findings);
    kdp_links_diagnose_tables(&stats, NULL, 0, &findings);
    unit_found(&findings, 1, "link-events-lost", "12 times (345 events)");
    findings_uninit(&findings);
}

static void
calls_under_the_rtnl_lock(void **state OVS_UNUSED)
{
    uint64_t counts[KDP_N_RTNL_CALLS] = {
        [KDP_RTNL_MII] = 40, [KDP_RTNL_QOS] = 50, [KDP_RTNL_SET_MTU] = 10,
        [KDP_RTNL_PORT_ADD] = 5,
    };
    struct findings findings;

    findings_init(&findings);
    kdp_links_diagnose_rtnl(counts, 106, &findings);
    unit_found_nothing(&findings);
    /* At the start. */
    kdp_links_diagnose_rtnl(counts, 59, &findings);
    unit_found_nothing(&findings);
    kdp_links_diagnose_rtnl(counts, 0, &findings);
    unit_found_nothing(&findings);

    kdp_links_diagnose_rtnl(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "105 calls took the RTNL lock in "
               "100 s, most of them to: quality of service 50, MII monitoring "
               "40, set MTU 10");

    /* Audits of offload are left out. */
    counts[KDP_RTNL_TC_AUDIT] = 1000;
    kdp_links_diagnose_rtnl(counts, 106, &findings);
    unit_found_nothing(&findings);
    kdp_links_diagnose_rtnl(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "105 calls took the RTNL lock in "
               "100 s, most of them to: quality of service 50");

    counts[KDP_RTNL_QOS] = counts[KDP_RTNL_SET_MTU] = 0;
    counts[KDP_RTNL_PORT_ADD] = 0;
    counts[KDP_RTNL_MII] = 400;
    kdp_links_diagnose_rtnl(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "to: MII monitoring 400");

    /* The first kind and the last one. */
    counts[KDP_RTNL_FEATURES] = 300;
    counts[KDP_RTNL_UNKNOWN] = 200;
    kdp_links_diagnose_rtnl(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "900 calls took the RTNL lock in "
               "100 s, most of them to: MII monitoring 400, ethtool link "
               "settings 300, device not in table 200");
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_are_not_current),
        cmocka_unit_test(events_that_were_lost),
        cmocka_unit_test(calls_under_the_rtnl_lock),
    };

    unit_init("test-links-diagnose");
    return cmocka_run_group_tests_name("links-diagnose", tests, NULL, NULL);
}
