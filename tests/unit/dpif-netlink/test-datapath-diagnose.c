/* SPDX-License-Identifier: Apache-2.0 */

/* Each finding about a datapath as a whole, from facts that show it. */

#include <config.h>
#include "dpif-netlink/diagnose.h"

#include "harness/found.h"
#include "harness/unit.h"
#include "util.h"

static const struct kdp_diagnose_facts well = {
    .name = "dp", .engine = "epoll", .offload = true, .chains = true,
};

static void
diagnose(void **state OVS_UNUSED)
{
    struct kdp_diagnose_facts facts = well;
    struct findings findings;

    findings_init(&findings);
    kdp_diagnose_facts(&facts, &findings);
    unit_found_nothing(&findings);

    facts.n_restored = 3;
    kdp_diagnose_facts(&facts, &findings);
    unit_found(&findings, 1, "dispatch-changed", "dp: another process changed "
               "how upcalls are dispatched 3 times");

    facts = well;
    facts.wanted_engine = "io_uring";
    kdp_diagnose_facts(&facts, &findings);
    unit_found(&findings, 1, "engine-not-used", "\"epoll\" is in use");
    facts.engine = "io_uring";
    kdp_diagnose_facts(&facts, &findings);
    unit_found_nothing(&findings);

    /* A wrong one is for those who look at settings. */
    facts.wanted_engine = "poll";
    kdp_diagnose_facts(&facts, &findings);
    unit_found_nothing(&findings);

    facts = well;
    facts.chains = false;
    kdp_diagnose_facts(&facts, &findings);
    unit_found(&findings, 1, "offload-chains-missing", "dp: ");
    facts.offload = false;
    kdp_diagnose_facts(&facts, &findings);
    unit_found_nothing(&findings);
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnose),
    };

    unit_init("test-datapath-diagnose");
    return cmocka_run_group_tests_name("datapath-diagnose", tests, NULL,
                                       NULL);
}
