/* SPDX-License-Identifier: Apache-2.0 */

/* Each finding about link tables, from a snapshot that shows it. */

#include <config.h>
#include "link/link-diagnose.h"

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
    link_diagnose(&stats, ns, 10, &findings);
    unit_found_nothing(&findings);

    ns[3].state = LINK_NS_STALE;
    ns[3].error = EPERM;
    link_diagnose(&stats, ns, 10, &findings);
    unit_found(&findings, 1, "link-table-not-current", "namespace 3: its "
               "devices could not be listed (Operation not permitted)");

    for (int i = 1; i < 10; i++) {
        ns[i].state = LINK_NS_STALE;
    }
    link_diagnose(&stats, ns, 10, &findings);
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
    link_diagnose(&stats, NULL, 0, &findings);
    unit_found(&findings, 1, "link-events-lost", "12 times (345 events)");
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_are_not_current),
        cmocka_unit_test(events_that_were_lost),
    };

    unit_init("test-link-diagnose");
    return cmocka_run_group_tests_name("link-diagnose", tests, NULL, NULL);
}
