/* SPDX-License-Identifier: Apache-2.0 */

/* Open vSwitch gets the types of ports of kernel datapaths without a lock, and
 * those of other datapaths from their classes. */

#include <config.h>
#include "vswitchd/port-types.h"

#include "dpif.h"
#include "dpif-provider.h"
#include "harness/unit.h"
#include "util.h"

static unsigned int n_asked;

static const char *
open_type(const struct dpif_class *class OVS_UNUSED,
          const char *type OVS_UNUSED)
{
    n_asked++;
    return "other";
}

static const struct dpif_class other_class = {
    .type = "other",
    .port_open_type = open_type,
};

/* As long as nothing else is known, the class of "system" may have the
 * callback, too: --enable-dummy=system registers such a class. */
static void
first_the_classes_are_asked(void **state OVS_UNUSED)
{
    static struct dpif_class class;

    class = other_class;
    class.type = "system";
    assert_int_equal(dp_register_provider(&class), 0);
    n_asked = 0;
    assert_string_equal(dpif_port_open_type("system", "internal"), "other");
    assert_int_equal(n_asked, 1);

    port_types_init();
    assert_string_equal(dpif_port_open_type("system", "internal"),
                        "internal");
    assert_string_equal(dpif_port_open_type("system", "patch"), "patch");
    assert_int_equal(n_asked, 1);
}

static void
other_classes_are_asked(void **state OVS_UNUSED)
{
    assert_int_equal(dp_register_provider(&other_class), 0);
    n_asked = 0;
    port_types_init();
    assert_string_equal(dpif_port_open_type("other", "internal"), "other");
    assert_int_equal(n_asked, 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_the_classes_are_asked),
        cmocka_unit_test(other_classes_are_asked),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("types of ports", tests, NULL, NULL);
}
