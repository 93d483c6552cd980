/* SPDX-License-Identifier: Apache-2.0 */

/* Statistics of devices that only some versions of Open vSwitch, or of the
 * kernel, have.  The datapath is made up. */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "nl/ovs-stats.h"
#include "openvswitch/netdev.h"
#include "ovs/compat-netdev.h"
#include "unaligned.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* What the datapath has of port "a". */
static struct ovs_vport_counters a;
static bool has_a;

int __wrap_ovs_genl_open(struct ovs_genl *);
int __wrap_ovs_vport_counters_get(struct ovs_genl *, const char *name,
                                  struct ovs_vport_counters *);
int __wrap_ovs_vport_counters_dump(struct ovs_genl *, int dp_ifindex,
                                   ovs_vport_counters_func *cb, void *aux);

int
__wrap_ovs_genl_open(struct ovs_genl *genl)
{
    static char conn;

    genl->conn = (struct nl_conn *) &conn;
    return 0;
}

int
__wrap_ovs_vport_counters_get(struct ovs_genl *genl OVS_UNUSED,
                              const char *name,
                              struct ovs_vport_counters *counters)
{
    *counters = a;
    return has_a && !strcmp(name, "a") ? 0 : ENODEV;
}

int
__wrap_ovs_vport_counters_dump(struct ovs_genl *genl OVS_UNUSED,
                               int dp_ifindex, ovs_vport_counters_func *cb,
                               void *aux)
{
    if (has_a && dp_ifindex == a.dp_ifindex) {
        cb(&a, aux);
    }
    return 0;
}

static int
setup_port(void **state)
{
    a = (struct ovs_vport_counters) {
        .dp_ifindex = 7, .name = "a", .upcall_packets = 12,
        .upcall_errors = 5,
    };
    put_32aligned_u64(&a.stats.rx_packets, 3);
    has_a = true;
    return setup(state);
}

/* Checks that the statistics of 'netdev' have these of upcalls, if Open
 * vSwitch knows any. */
static void
check_upcalls(struct netdev *netdev, uint64_t packets, uint64_t errors)
{
    uint64_t got_packets, got_errors;
    struct netdev_stats stats;

    OK(netdev_get_stats(netdev, &stats));
    if (ovs_compat_netdev_get_upcalls(&stats, &got_packets, &got_errors)) {
        assert_true(got_packets == packets);
        assert_true(got_errors == errors);
    }
}

static void
upcalls_of_a_port_are_statistics_of_its_device(void **state)
{
    struct netdev *netdev = *state, *other;

    check_upcalls(netdev, 12, 5);
    a.upcall_packets = 13;
    netdev_run();
    check_upcalls(netdev, 13, 5);

    /* In one request for all. */
    OK(netdev_open("b", "system", &other));
    for (int i = 0; i < 3; i++) {
        netdev_run();
        a.upcall_errors = 20 + i;
        check_upcalls(other, UINT64_MAX, UINT64_MAX);
        check_upcalls(netdev, 13, 20 + i);
    }
    netdev_close(other);
}

static void
upcalls_that_nobody_counts_are_unknown(void **state)
{
    struct netdev *netdev = *state;

    a.upcall_packets = a.upcall_errors = UINT64_MAX;
    check_upcalls(netdev, UINT64_MAX, UINT64_MAX);
    has_a = false;
    netdev_run();
    check_upcalls(netdev, UINT64_MAX, UINT64_MAX);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup_port, teardown)
        TEST(upcalls_of_a_port_are_statistics_of_its_device),
        TEST(upcalls_that_nobody_counts_are_unknown),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
