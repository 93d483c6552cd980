/* SPDX-License-Identifier: Apache-2.0 */

/* What the build system put together is what it says it is. */

#include <config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dirs.h"
#include "harness/unit.h"
#include "kdp-version.h"
#include "util.h"

/* The library tells its version when that of the program is another.  Some
 * versions end that with a new line. */
static void
test_ovs_version_is_that_of_the_linked_library(void **state)
{
    char expected[128], *version;

    snprintf(expected, sizeof expected,
             "test-build-info (ovs-kdp) %s\nOpen vSwitch Library %s",
             kdp_version(), kdp_ovs_version());
    ovs_set_program_name("test-build-info (ovs-kdp)", kdp_version());
    version = xstrdup(ovs_get_program_version());
    if (*version && version[strlen(version) - 1] == '\n') {
        version[strlen(version) - 1] = '\0';
    }
    assert_string_equal(version, expected);
    free(version);
}

/* Whatever prefix ovs-kdp itself was configured for, sockets, database and
 * schema are where the distribution's programs look for them. */
static void
test_directories_are_those_of_the_distribution(void **state)
{
    assert_string_equal(ovs_logdir(), "/var/log/openvswitch");
    assert_string_equal(ovs_dbdir(), "/etc/openvswitch");
    assert_string_equal(ovs_pkgdatadir(), "/usr/share/openvswitch");
    assert_string_equal(ovs_rundir(), "/var/run/openvswitch");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ovs_version_is_that_of_the_linked_library),
        cmocka_unit_test(test_directories_are_those_of_the_distribution),
    };

    unsetenv("OVS_LOGDIR");
    unsetenv("OVS_DBDIR");
    unsetenv("OVS_PKGDATADIR");
    unsetenv("OVS_RUNDIR");
    unsetenv("OVS_SYSCONFDIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
