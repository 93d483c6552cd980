/* SPDX-License-Identifier: Apache-2.0 */

/* Who takes the RTNL lock too often is named. */

#include <config.h>
#include "netdev-linux/rtnl-diagnose.h"

#include "harness/found.h"
#include "harness/unit.h"
#include "util.h"

static void
diagnose(void **state OVS_UNUSED)
{
    uint64_t counts[KDP_N_RTNL_CALLS] = {
        [KDP_RTNL_MII] = 40, [KDP_RTNL_QOS] = 50, [KDP_RTNL_SET_MTU] = 10,
        [KDP_RTNL_PORT_ADD] = 5,
    };
    struct findings findings;

    findings_init(&findings);
    kdp_rtnl_diagnose(counts, 106, &findings);
    unit_found_nothing(&findings);
    /* At the start. */
    kdp_rtnl_diagnose(counts, 59, &findings);
    unit_found_nothing(&findings);
    kdp_rtnl_diagnose(counts, 0, &findings);
    unit_found_nothing(&findings);

    kdp_rtnl_diagnose(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "105 calls took the RTNL lock in "
               "100 s, most of them to: quality of service 50, MII monitoring "
               "40, set MTU 10");

    /* Audits of offload are left out. */
    counts[KDP_RTNL_TC_AUDIT] = 1000;
    kdp_rtnl_diagnose(counts, 106, &findings);
    unit_found_nothing(&findings);
    kdp_rtnl_diagnose(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "105 calls took the RTNL lock in "
               "100 s, most of them to: quality of service 50");

    counts[KDP_RTNL_QOS] = counts[KDP_RTNL_SET_MTU] = 0;
    counts[KDP_RTNL_PORT_ADD] = 0;
    counts[KDP_RTNL_MII] = 400;
    kdp_rtnl_diagnose(counts, 100, &findings);
    unit_found(&findings, 1, "rtnl-busy", "to: MII monitoring 400");
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnose),
    };

    unit_init("test-rtnl-diagnose");
    return cmocka_run_group_tests_name("rtnl-diagnose", tests, NULL, NULL);
}
