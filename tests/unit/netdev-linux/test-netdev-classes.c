/* SPDX-License-Identifier: Apache-2.0 */

/* Our netdev classes take the place of the stock ones inside the library,
 * which knows them by the addresses of symbols that are weak in the copy of it
 * that we link. */

#include <config.h>
#include <net/if.h>

#include "harness/unit.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "netdev.h"

extern const struct netdev_class kdp_stock_netdev_linux_class;
extern const struct netdev_class kdp_stock_netdev_internal_class;
extern const struct netdev_class kdp_stock_netdev_tap_class;
void kdp_stock_netdev_linux_run(const struct netdev_class *);

/* The originals are reachable, and are not ours under another name.  Their
 * callbacks refer to the symbol, and so to ours. */
static void
test_originals_are_reachable_and_refer_to_ours(void **state)
{
    assert_ptr_not_equal(&netdev_linux_class, &kdp_stock_netdev_linux_class);
    assert_ptr_not_equal(&netdev_internal_class,
                         &kdp_stock_netdev_internal_class);
    assert_ptr_not_equal(&netdev_tap_class, &kdp_stock_netdev_tap_class);
    assert_ptr_not_equal(netdev_linux_run, kdp_stock_netdev_linux_run);

    assert_string_equal(kdp_stock_netdev_linux_class.type, "system");
    assert_string_equal(kdp_stock_netdev_internal_class.type, "internal");
    assert_string_equal(kdp_stock_netdev_tap_class.type, "tap");

    assert_ptr_equal(kdp_stock_netdev_linux_class.run, netdev_linux_run);
    assert_ptr_equal(kdp_stock_netdev_internal_class.run, netdev_linux_run);
    assert_ptr_equal(kdp_stock_netdev_tap_class.run, netdev_linux_run);
}

/* A device of type "system" is of our class, and the library's own functions
 * still take it for a Linux device: they assert that when they cast it. */
static void
test_library_opens_devices_of_our_class(void **state)
{
    struct netdev *netdev;
    enum netdev_flags flags;

    assert_int_equal(netdev_open("lo", "system", &netdev), 0);
    assert_ptr_equal(netdev->netdev_class, &netdev_linux_class);
    assert_ptr_not_equal(netdev->netdev_class->alloc,
                         kdp_stock_netdev_linux_class.alloc);
    assert_true(is_netdev_linux_class(netdev->netdev_class));
    assert_int_equal(netdev_get_ifindex(netdev), if_nametoindex("lo"));
    assert_int_equal(netdev_get_flags(netdev, &flags), 0);
    assert_true(flags & NETDEV_LOOPBACK);
    netdev_close(netdev);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_originals_are_reachable_and_refer_to_ours),
        cmocka_unit_test(test_library_opens_devices_of_our_class),
    };

    netdev_linux_kdp_init(false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
