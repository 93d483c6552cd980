/* SPDX-License-Identifier: Apache-2.0 */

/* Counters of all devices at one time. */

#include <config.h>
#include "netdev-linux/stats-snapshot.h"

#include <stdio.h>
#include <stdlib.h>

#include "harness/unit.h"
#include "unaligned.h"
#include "util.h"

#define N_DEVICES 1000

static void
add_vport(struct stats_snapshot *snapshot, const char *name, uint64_t packets)
{
    struct ovs_vport_counters vport = { .dp_ifindex = 1 };

    ovs_strlcpy(vport.name, name, sizeof vport.name);
    put_32aligned_u64(&vport.stats.rx_packets, packets);
    stats_snapshot_add_vport(snapshot, &vport);
}

static void
add_dev(struct stats_snapshot *snapshot, const char *name, uint64_t packets)
{
    struct proc_net_dev dev = { .rx_packets = packets };

    ovs_strlcpy(dev.name, name, sizeof dev.name);
    stats_snapshot_add_dev(snapshot, &dev);
}

static uint64_t
vport_packets(const struct stats_snapshot *snapshot, const char *name)
{
    const struct ovs_vport_counters *vport
        = stats_snapshot_find_vport(snapshot, name);

    assert_non_null(vport);
    assert_string_equal(vport->name, name);
    return get_32aligned_u64(&vport->stats.rx_packets);
}

static uint64_t
dev_packets(const struct stats_snapshot *snapshot, const char *name)
{
    const struct proc_net_dev *dev = stats_snapshot_find_dev(snapshot, name);

    assert_non_null(dev);
    assert_string_equal(dev->name, name);
    return dev->rx_packets;
}

static void
nothing_is_found_in_an_empty_snapshot(void **state OVS_UNUSED)
{
    struct stats_snapshot snapshot = { .vports = NULL };

    stats_snapshot_sort(&snapshot);
    assert_null(stats_snapshot_find_vport(&snapshot, "p0"));
    assert_null(stats_snapshot_find_dev(&snapshot, "p0"));
    stats_snapshot_clear(&snapshot);
}

static void
all_are_found_in_whatever_order_they_came(void **state OVS_UNUSED)
{
    struct stats_snapshot snapshot = { .vports = NULL };
    char name[IFNAMSIZ];

    /* Vports have even numbers, devices are all. */
    for (unsigned int i = 0; i < N_DEVICES; i++) {
        unsigned int j = i * 617 % N_DEVICES;

        snprintf(name, sizeof name, "p%u", j);
        add_dev(&snapshot, name, 2 * j);
        if (!(j % 2)) {
            add_vport(&snapshot, name, j);
        }
    }
    stats_snapshot_sort(&snapshot);
    for (unsigned int i = 0; i < N_DEVICES; i++) {
        snprintf(name, sizeof name, "p%u", i);
        assert_int_equal(dev_packets(&snapshot, name), 2 * i);
        if (i % 2) {
            assert_null(stats_snapshot_find_vport(&snapshot, name));
        } else {
            assert_int_equal(vport_packets(&snapshot, name), i);
        }
    }
    assert_null(stats_snapshot_find_dev(&snapshot, "p"));
    assert_null(stats_snapshot_find_dev(&snapshot, "p1000"));
    assert_null(stats_snapshot_find_vport(&snapshot, "q"));
    stats_snapshot_clear(&snapshot);
}

static void
cleared_snapshot_is_filled_anew(void **state OVS_UNUSED)
{
    struct stats_snapshot snapshot = { .vports = NULL };

    add_vport(&snapshot, "old", 1);
    add_dev(&snapshot, "old", 1);
    stats_snapshot_sort(&snapshot);
    stats_snapshot_clear(&snapshot);
    assert_null(snapshot.vports);
    assert_null(snapshot.devs);

    add_vport(&snapshot, "new", 2);
    stats_snapshot_sort(&snapshot);
    assert_int_equal(vport_packets(&snapshot, "new"), 2);
    assert_null(stats_snapshot_find_vport(&snapshot, "old"));
    assert_null(stats_snapshot_find_dev(&snapshot, "old"));
    stats_snapshot_clear(&snapshot);
}

/* A device that moved to a container may have the name of one that stayed. */
static void
a_name_of_two_vports_is_for_the_kernel_to_find(void **state OVS_UNUSED)
{
    static const char *const names[] = { "a", "b", "c" };
    struct stats_snapshot snapshot = { .vports = NULL };

    for (size_t twice = 0; twice < ARRAY_SIZE(names); twice++) {
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
            add_vport(&snapshot, names[i], i);
        }
        add_vport(&snapshot, names[twice], 3);
        stats_snapshot_sort(&snapshot);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
            if (i == twice) {
                assert_null(stats_snapshot_find_vport(&snapshot, names[i]));
            } else {
                assert_int_equal(vport_packets(&snapshot, names[i]), i);
            }
        }
        stats_snapshot_clear(&snapshot);
    }
}

/* Whatever is in memory before the first vport and behind the last one. */
static void
only_vports_of_the_snapshot_have_names(void **state OVS_UNUSED)
{
    struct ovs_vport_counters vports[3] = {
        { .name = "a" }, { .name = "a" }, { .name = "a" }
    };
    const struct stats_snapshot snapshot = {
        .vports = &vports[1], .n_vports = 1
    };

    assert_ptr_equal(stats_snapshot_find_vport(&snapshot, "a"), &vports[1]);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_in_an_empty_snapshot),
        cmocka_unit_test(all_are_found_in_whatever_order_they_came),
        cmocka_unit_test(cleared_snapshot_is_filled_anew),
        cmocka_unit_test(a_name_of_two_vports_is_for_the_kernel_to_find),
        cmocka_unit_test(only_vports_of_the_snapshot_have_names),
    };

    return cmocka_run_group_tests_name("stats-snapshot", tests, NULL, NULL);
}
