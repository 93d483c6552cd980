/* SPDX-License-Identifier: Apache-2.0 */

/* Our netdev classes take the place of the stock ones inside the library,
 * which knows them by the addresses of symbols that are weak in the copy of it
 * that we link. */

#include <config.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "harness/unit.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-linux/upcall-counters.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "openvswitch/netdev.h"
#include "ovs/compat-netdev.h"

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

/* Calls of the original netdev_linux_run(). */
static unsigned int n_stock_runs;

void __wrap_kdp_stock_netdev_linux_run(const struct netdev_class *);
void
__wrap_kdp_stock_netdev_linux_run(const struct netdev_class *class)
{
    assert_ptr_equal(class, &netdev_linux_class);
    n_stock_runs++;
}

/* As long as there is no other one to run. */
static void
test_without_links_the_original_runs(void **state)
{
    netdev_linux_run(&netdev_linux_class);
    assert_int_equal(n_stock_runs, 1);
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

/* What the datapath's provider knows of upcalls. */
static bool
knows_lo(const char *name, struct netdev_kdp_upcalls *upcalls)
{
    *upcalls = (struct netdev_kdp_upcalls) {
        .packets = 101, .errors = 102, .shed = 103,
    };
    return !strcmp(name, "lo");
}

static uint64_t
custom_counter(const struct netdev_custom_stats *stats, const char *name)
{
    for (size_t i = 0; i < stats->size; i++) {
        if (!strcmp(stats->counters[i].name, name)) {
            return stats->counters[i].value;
        }
    }
    return 0;
}

/* U5: monitoring of interfaces sees what became of upcalls. */
static void
test_statistics_tell_of_upcalls(void **state)
{
    struct netdev_custom_stats stats;
    struct netdev *netdev;

    assert_int_equal(netdev_open("lo", "system", &netdev), 0);
    assert_int_equal(netdev_get_custom_stats(netdev, &stats), EOPNOTSUPP);
    assert_int_equal(stats.size, 0);

    netdev_kdp_upcalls_set_source(knows_lo);
    assert_int_equal(netdev_get_custom_stats(netdev, &stats), 0);
    assert_int_equal(custom_counter(&stats, "upcall_shed"), 103);
    if (!OVS_HAVE_UPCALL_STATS) {
        assert_int_equal(custom_counter(&stats, "upcall_packets"), 101);
        assert_int_equal(custom_counter(&stats, "upcall_errors"), 102);
    }
    netdev_free_custom_stats_counters(&stats);
    netdev_kdp_upcalls_set_source(NULL);
    netdev_close(netdev);
}

/* The daemon that runs on stock providers. */
static void
test_stock_classes_can_be_had(void **state)
{
    netdev_linux_kdp_init(true);
    assert_memory_equal(&netdev_linux_class, &kdp_stock_netdev_linux_class,
                        sizeof netdev_linux_class);
    assert_memory_equal(&netdev_internal_class,
                        &kdp_stock_netdev_internal_class,
                        sizeof netdev_internal_class);
    assert_memory_equal(&netdev_tap_class, &kdp_stock_netdev_tap_class,
                        sizeof netdev_tap_class);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_originals_are_reachable_and_refer_to_ours),
        cmocka_unit_test(test_without_links_the_original_runs),
        cmocka_unit_test(test_library_opens_devices_of_our_class),
        cmocka_unit_test(test_statistics_tell_of_upcalls),
        cmocka_unit_test(test_stock_classes_can_be_had),        /* Last. */
    };

    netdev_linux_kdp_init(false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
