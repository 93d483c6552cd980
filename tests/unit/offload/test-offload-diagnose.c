/* SPDX-License-Identifier: Apache-2.0 */

/* Each finding about offload, from a snapshot that shows it. */

#include <config.h>
#include "offload/offload-info.h"

#include "harness/found.h"
#include "harness/unit.h"
#include "util.h"

static void
diagnose(void **state OVS_UNUSED)
{
    static const struct {
        enum offload_counter counter;
        const char *name;
        const char *what;
    } counters[] = {
        { OFFLOAD_VANISHED, "offload-rules-removed", "dp: 7 rules" },
        { OFFLOAD_LOST, "offload-flows-lost", "dp: 7 flows" },
        { OFFLOAD_ORPHANS, "offload-orphans", "dp: 7 rules" },
    };
    static const struct offload_engine_info well = {
        .total = { .counters = { [OFFLOAD_ENQUEUED] = 5,
                                 [OFFLOAD_INSERTED] = 5 } },
    };
    struct offload_engine_info info = well;
    struct findings findings;

    findings_init(&findings);
    offload_diagnose("dp", &info, &findings);
    unit_found_nothing(&findings);

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        info = well;
        info.total.counters[counters[i].counter] = 7;
        offload_diagnose("dp", &info, &findings);
        unit_found(&findings, 1, counters[i].name, counters[i].what);
    }

    /* The other flow serves the packets. */
    info = well;
    info.total.counters[OFFLOAD_OVERLAPPED] = 7;
    offload_diagnose("dp", &info, &findings);
    unit_found_nothing(&findings);

    /* What is tried again for a moment only is nothing to see to. */
    info = well;
    info.n_retried = 9;
    info.total.counters[OFFLOAD_LEAKED] = 9;
    offload_diagnose("dp", &info, &findings);
    unit_found_nothing(&findings);
    info.n_stuck = 7;
    offload_diagnose("dp", &info, &findings);
    unit_found(&findings, 1, "offload-rules-left", "dp: 7 rules");

    info = well;
    info.n_backoffs = 2;
    offload_diagnose("dp", &info, &findings);
    unit_found(&findings, 1, "offload-device-full", "2 ports");

    info = well;
    info.reasons[OFFLOAD_REASON_UNSUPPORTED].n = 3;
    info.reasons[OFFLOAD_REASON_UNSUPPORTED].port = 4;
    offload_diagnose("dp", &info, &findings);
    unit_found(&findings, 1, "offload-unsupported",
               "3 flows, the latest of port 4");
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnose),
    };

    unit_init("test-offload-diagnose");
    return cmocka_run_group_tests_name("offload-diagnose", tests, NULL, NULL);
}
