/* SPDX-License-Identifier: Apache-2.0 */

/* Each finding about the table of ports, from a snapshot that shows it. */

#include <config.h>
#include "vport/vport-show.h"

#include "harness/found.h"
#include "harness/unit.h"
#include "util.h"
#include "vport/vport-table.h"

static char name[] = "dp";

static const struct vport_table_info well = {
    .name = name, .open = true, .in_sync = true,
    .all_namespaces = true,
};

static void
diagnose(void **state OVS_UNUSED)
{
    struct vport_table_info info = well;
    struct findings findings;

    findings_init(&findings);
    vport_diagnose(&info, &findings);
    unit_found_nothing(&findings);

    info.in_sync = false;
    vport_diagnose(&info, &findings);
    unit_found(&findings, 1, "port-table-not-current", "dp: ");

    info = well;
    info.all_namespaces = false;
    vport_diagnose(&info, &findings);
    unit_found(&findings, 1, "namespaces-not-followed", "dp: ");

    info = well;
    info.stats.vport_overruns = 9;
    vport_diagnose(&info, &findings);
    unit_found_nothing(&findings);
    info.stats.link_overruns = 5;
    vport_diagnose(&info, &findings);
    unit_found(&findings, 1, "port-events-lost", "lost 14 times");

    /* One that nobody has asked yet. */
    info = (struct vport_table_info) { .name = name };
    vport_diagnose(&info, &findings);
    unit_found_nothing(&findings);
    findings_uninit(&findings);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnose),
    };

    unit_init("test-vport-diagnose");
    return cmocka_run_group_tests_name("vport-diagnose", tests, NULL, NULL);
}
