/* SPDX-License-Identifier: Apache-2.0 */

/* What the daemon finds wrong with its seams to Open vSwitch's devices. */

#include <config.h>
#include "netdev-linux/netdev-check.h"

#include <errno.h>

#include "harness/unit.h"
#include "netdev-linux/device.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-linux-valid.h"
#include "openvswitch/vlog.h"
#include "util.h"

static const struct netdev_check_bits right = {
    .ifindex = VALID_IFINDEX,
    .etheraddr = VALID_ETHERADDR,
    .mtu = VALID_MTU,
    .policing = VALID_POLICING,
    .features = VALID_FEATURES,
};

static void
what_was_built_holds(void **state OVS_UNUSED)
{
    assert_true(netdev_kdp_check());
    assert_null(netdev_kdp_check_bits(&right));
}

/* Each bit that means something else is found by its name. */
static void
bits_that_mean_something_else_are_found(void **state OVS_UNUSED)
{
    struct netdev_check_bits bits = right;

    bits.ifindex = VALID_MTU;
    assert_string_equal(netdev_kdp_check_bits(&bits), "VALID_IFINDEX");
    bits = right;
    bits.etheraddr = VALID_IFINDEX;
    assert_string_equal(netdev_kdp_check_bits(&bits), "VALID_ETHERADDR");
    bits = right;
    bits.mtu = 0;
    assert_string_equal(netdev_kdp_check_bits(&bits), "VALID_MTU");
    bits = right;
    bits.policing = VALID_FEATURES;
    assert_string_equal(netdev_kdp_check_bits(&bits), "VALID_POLICING");
    bits = right;
    bits.features = VALID_DRVINFO;
    assert_string_equal(netdev_kdp_check_bits(&bits), "VALID_FEATURES");
}

static void
symbols_of_the_library_itself_are_found(void **state OVS_UNUSED)
{
    static const char ours, stock;
    struct netdev_check_symbol symbols[] = {
        { "one", &ours, &stock },
        { "two", &ours, &stock },
        { "three", &ours, &stock },
    };

    assert_null(netdev_kdp_check_symbols(symbols, ARRAY_SIZE(symbols)));
    for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
        symbols[i].used = &stock;
        assert_string_equal(netdev_kdp_check_symbols(symbols,
                                                     ARRAY_SIZE(symbols)),
                            symbols[i].name);
        symbols[i].used = &ours;
    }
    symbols[2].used = &stock;
    assert_null(netdev_kdp_check_symbols(symbols, 2));
    assert_null(netdev_kdp_check_symbols(symbols, 0));
}

/* What the library does with devices of a class that it does not take for that
 * of internal devices. */
static bool refused;

int __wrap_netdev_linux_construct(struct netdev *);
int __real_netdev_linux_construct(struct netdev *);
int
__wrap_netdev_linux_construct(struct netdev *netdev)
{
    return refused ? ENODEV : __real_netdev_linux_construct(netdev);
}

static void
a_device_that_the_library_refuses_is_found(void **state OVS_UNUSED)
{
    netdev_linux_kdp_init(false);
    assert_int_equal(netdev_kdp_check_device(), 0);
    refused = true;
    kdp_internal_class.construct = netdev_linux_construct;
    assert_int_equal(netdev_kdp_check_device(), ENODEV);
    refused = false;
    assert_int_equal(netdev_kdp_check_device(), 0);

    /* The class that the library has registered is not ours. */
    kdp_internal_class.alloc = kdp_stock_netdev_internal_class.alloc;
    kdp_internal_class.dealloc = kdp_stock_netdev_internal_class.dealloc;
    assert_int_equal(netdev_kdp_check_device(), EXFULL);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_built_holds),
        cmocka_unit_test(bits_that_mean_something_else_are_found),
        cmocka_unit_test(symbols_of_the_library_itself_are_found),
        cmocka_unit_test(a_device_that_the_library_refuses_is_found),
    };

    unit_init(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    return cmocka_run_group_tests_name("netdev-check", tests, NULL, NULL);
}
