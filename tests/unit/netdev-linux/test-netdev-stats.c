/* SPDX-License-Identifier: Apache-2.0 */

/* Statistics of devices that only some versions of Open vSwitch, or of the
 * kernel, have, and those of tap devices.  The datapath is made up. */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "netdev-linux-private.h"
#include "netdev-linux/device.h"
#include "netdev-linux/stats.h"
#include "nl/ovs-stats.h"
#include "openvswitch/netdev.h"
#include "ovs/compat-netdev.h"
#include "stats/proc-net-dev.h"
#include "unaligned.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* What the datapath has of port "a". */
static struct ovs_vport_counters a;
static bool has_a;

/* The datapaths that were asked for all ports, and the error when the one of
 * "a" has told. */
static int dumped[100];
static size_t n_dumped;
static int dump_error;

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
    assert_true(n_dumped < ARRAY_SIZE(dumped));
    dumped[n_dumped++] = dp_ifindex;
    if (has_a && dp_ifindex == a.dp_ifindex) {
        cb(&a, aux);
        return dump_error;
    }
    return dump_error == EINTR ? 0 : ENODEV;
}

/* What the kernel has of device "a", if that is made up.  The list of all
 * devices cannot be read then. */
static struct netdev_stats made_up;
static bool is_made_up;
static int made_up_error;

int __wrap_get_stats_via_netlink(const struct netdev *, struct netdev_stats *);
int __real_get_stats_via_netlink(const struct netdev *, struct netdev_stats *);
int
__wrap_get_stats_via_netlink(const struct netdev *netdev,
                             struct netdev_stats *stats)
{
    if (!is_made_up) {
        return __real_get_stats_via_netlink(netdev, stats);
    }
    if (!made_up_error) {
        *stats = made_up;
    }
    return made_up_error;
}

int __wrap_proc_net_dev_read(const char *, proc_net_dev_func *, void *);
int __real_proc_net_dev_read(const char *, proc_net_dev_func *, void *);
int
__wrap_proc_net_dev_read(const char *path, proc_net_dev_func *cb, void *aux)
{
    return (is_made_up ? ENOENT : __real_proc_net_dev_read(path, cb, aux));
}

static int
teardown_port(void **state)
{
    is_made_up = false;
    return teardown(state);
}

static int
setup_port(void **state)
{
    n_dumped = 0;
    dump_error = 0;
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

/* Reads both devices in another turn, which takes one request for each known
 * datapath. */
static void
check_dumped(struct netdev *netdev, struct netdev *other, size_t n, int first)
{
    struct netdev_stats stats;

    netdev_run();
    n_dumped = 0;
    OK(netdev_get_stats(netdev, &stats));
    OK(netdev_get_stats(other, &stats));
    assert_int_equal(n_dumped, n);
    if (n) {
        assert_int_equal(dumped[0], first);
    }
}

static void
datapaths_are_asked_as_long_as_they_are_there(void **state)
{
    struct netdev *netdev = *state, *other;

    OK(netdev_open("b", "system", &other));
    check_upcalls(netdev, 12, 5);
    check_dumped(netdev, other, 1, 7);

    /* Others have the port: those before are asked once more. */
    for (int i = 1; i < 5; i++) {
        a.dp_ifindex = 7 + i;
        check_dumped(netdev, other, 1, 7 + i - 1);
        check_dumped(netdev, other, 1, 7 + i);
    }

    /* A dump that is not consistent is no reason to forget a datapath. */
    dump_error = EINTR;
    check_dumped(netdev, other, 1, 11);
    check_dumped(netdev, other, 1, 11);
    dump_error = ENODEV;
    check_dumped(netdev, other, 1, 11);
    dump_error = 0;
    has_a = false;
    check_dumped(netdev, other, 0, 0);
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

/* Gets statistics of 'netdev' as of a tap device, in another turn. */
static int
get_tap(struct netdev *netdev, struct netdev_stats *stats)
{
    netdev_run();
    memset(stats, 0xff, sizeof *stats);
    return netdev_kdp_stats_get_tap(netdev, stats);
}

/* Asserts that none of the kinds of errors has been counted that neither the
 * datapath knows nor a tap device counts for the other side. */
static void
assert_no_details(const struct netdev_stats *stats)
{
    assert_int_equal(stats->rx_length_errors, 0);
    assert_int_equal(stats->rx_over_errors, 0);
    assert_int_equal(stats->rx_crc_errors, 0);
    assert_int_equal(stats->rx_frame_errors, 0);
    assert_int_equal(stats->rx_fifo_errors, 0);
    assert_int_equal(stats->rx_missed_errors, 0);
    assert_int_equal(stats->tx_aborted_errors, 0);
    assert_int_equal(stats->tx_carrier_errors, 0);
    assert_int_equal(stats->tx_fifo_errors, 0);
    assert_int_equal(stats->tx_heartbeat_errors, 0);
    assert_int_equal(stats->tx_window_errors, 0);
}

/* The device counts what the switch sends as received.  What the switch drops
 * before it gets to the device counts, too. */
static void
a_tap_device_counts_the_other_way_around(void **state)
{
    struct netdev *netdev = *state;
    struct netdev_linux *up = &netdev_kdp_cast(netdev)->up;
    struct netdev_stats stats;

    made_up = (struct netdev_stats) {
        .rx_packets = 1, .tx_packets = 2, .rx_bytes = 3, .tx_bytes = 4,
        .rx_errors = 5, .tx_errors = 6, .rx_dropped = 7, .tx_dropped = 8,
        .multicast = 9, .collisions = 10, .rx_length_errors = 11,
        .rx_over_errors = 12, .rx_crc_errors = 13, .rx_frame_errors = 14,
        .rx_fifo_errors = 15, .rx_missed_errors = 16, .tx_aborted_errors = 17,
        .tx_carrier_errors = 18, .tx_fifo_errors = 19,
        .tx_heartbeat_errors = 20, .tx_window_errors = 21,
    };
    is_made_up = true;
    ovs_mutex_lock(&up->mutex);
    up->rx_dropped = 100;
    up->tx_dropped = 200;
    ovs_mutex_unlock(&up->mutex);

    /* Of no datapath. */
    has_a = false;
    OK(get_tap(netdev, &stats));
    assert_int_equal(stats.rx_packets, 2);
    assert_int_equal(stats.tx_packets, 1);
    assert_int_equal(stats.rx_bytes, 4);
    assert_int_equal(stats.tx_bytes, 3);
    assert_int_equal(stats.rx_errors, 6);
    assert_int_equal(stats.tx_errors, 5);
    assert_int_equal(stats.rx_dropped, 8 + 100);
    assert_int_equal(stats.tx_dropped, 7 + 200);
    assert_int_equal(stats.multicast, 9);
    assert_int_equal(stats.collisions, 10);
    assert_no_details(&stats);

    /* A port: what the datapath drops counts as well. */
    put_32aligned_u64(&a.stats.rx_packets, 5000);
    put_32aligned_u64(&a.stats.rx_dropped, 1000);
    put_32aligned_u64(&a.stats.tx_dropped, 2000);
    put_32aligned_u64(&a.stats.rx_errors, 3000);
    put_32aligned_u64(&a.stats.tx_errors, 4000);
    has_a = true;
    OK(get_tap(netdev, &stats));
    assert_int_equal(stats.rx_packets, 2);
    assert_int_equal(stats.tx_packets, 1);
    assert_int_equal(stats.rx_bytes, 4);
    assert_int_equal(stats.tx_bytes, 3);
    assert_int_equal(stats.rx_dropped, 1000 + 8 + 100);
    assert_int_equal(stats.tx_dropped, 2000 + 7 + 200);
    assert_int_equal(stats.rx_errors, 3000 + 6);
    assert_int_equal(stats.tx_errors, 4000 + 5);
    assert_int_equal(stats.multicast, 9);
    assert_int_equal(stats.collisions, 10);
    assert_no_details(&stats);

    /* The datapath alone will do, but not neither. */
    made_up_error = ENOMEM;
    OK(get_tap(netdev, &stats));
    assert_int_equal(stats.rx_packets, 5000);
    assert_int_equal(stats.rx_dropped, 1000 + 100);
    assert_int_equal(stats.tx_dropped, 2000 + 200);
    assert_int_equal(stats.multicast, 0);
    assert_int_equal(stats.collisions, 0);
    assert_no_details(&stats);
    has_a = false;
    assert_int_equal(get_tap(netdev, &stats), ENOMEM);
    made_up_error = 0;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_port, teardown_port)
        TEST(upcalls_of_a_port_are_statistics_of_its_device),
        TEST(datapaths_are_asked_as_long_as_they_are_there),
        TEST(upcalls_that_nobody_counts_are_unknown),
        TEST(a_tap_device_counts_the_other_way_around),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
