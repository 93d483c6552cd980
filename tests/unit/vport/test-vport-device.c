/* SPDX-License-Identifier: Apache-2.0 */

/* A table of the ports of a made-up datapath whose devices change.  Invariant
 * U6: a device is renamed, moves to another namespace, or goes with one. */

#include <config.h>
#include "vport/vport-sync.h"
#include "vport/vport-table.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "fake/vport-fake.h"
#include "harness/descriptors.h"
#include "unit/vport/vport-fixture.h"
#include "util.h"

/* Names. */

static void
renamed_device_is_found_as_the_kernel_finds_it(void **state)
{
    struct vport_table *table = *state;

    start(table);
    unit_add(1, "a");
    check_port(table, "a", 1);
    unit_port_rename(1, "b");
    assert_int_equal(unit_announce_link(unit_dp.links, false, 101, "b"), 0);

    vport_table_expire(table);
    assert_int_equal(by_number(table, 1, "b"), 0);
    REASON(table, DEVICE, 1);
    for (int i = 0; i < 3; i++) {
        vport_table_expire(table);
        assert_int_equal(by_name(table, "a", 1), ENODEV);
        assert_int_equal(by_name(table, "b", 1), ENODEV);
    }
    REASON(table, NAME, 1);

    /* And back. */
    unit_port_rename(1, "a");
    assert_int_equal(unit_announce_link(unit_dp.links, false, 101, "a"), 0);
    for (int i = 0; i < 3; i++) {
        check_port(table, "a", 1);
        assert_int_equal(by_name(table, "b", 1), ENODEV);
    }
    REASON(table, NAME, 2);
    REASON(table, DEVICE, 2);
    assert_int_equal(unit_n_requests(), 4);
}

static void
port_and_new_name_come_together(void **state)
{
    struct vport_table *table = *state;

    /* The device was there before, became a port, and was renamed. */
    start(table);
    assert_int_equal(unit_announce_link(unit_dp.links, false, 101, "a"), 0);
    unit_add(1, "a");
    unit_port_rename(1, "b");
    assert_int_equal(unit_announce_link(unit_dp.links, false, 101, "b"), 0);
    assert_int_equal(by_number(table, 1, "b"), 0);
    assert_int_equal(by_name(table, "a", 1), ENODEV);

    /* It was renamed and then became a port. */
    assert_int_equal(unit_announce_link(unit_dp.links, false, 102, "c"), 0);
    assert_int_equal(unit_announce_link(unit_dp.links, false, 102, "d"), 0);
    unit_add(2, "d");
    check_port(table, "d", 2);
    assert_int_equal(by_name(table, "c", 2), ENODEV);
}

static void
devices_that_keep_their_names_cost_nothing(void **state)
{
    struct vport_table *table = *state;

    start(table);
    unit_add(1, "a");
    for (int i = 0; i < 10; i++) {
        check_port(table, "a", 1);
        unit_announce_link(unit_dp.links, false, 101, "a");
        unit_announce_link(unit_dp.links, false, 55, "other");
        unit_announce_link(unit_dp.links, true, 55, "other");
        unit_announce_link(unit_dp.other_links, false, 101, "a");

        /* What follows this is an announcement of the port. */
        unit_announce_link(unit_dp.links, true, 101, "a");
    }
    check_port(table, "a", 1);
    assert_int_equal(unit_n_requests(), 0);
}

static void
internal_port_is_followed_to_another_namespace(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport *kernel = &unit_dp.ports[1].vport;
    struct ovs_vport vport;

    start(table);
    vport = unit_port_add(1, OVS_VPORT_TYPE_INTERNAL, "a", 101);
    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    kernel->nsid = UNIT_NSID;
    kernel->ifindex = 3;
    assert_int_equal(unit_announce_link(unit_dp.links, true, 101, "a"), 0);
    vport_table_expire(table);
    assert_int_equal(vport_table_get_by_number(table, 1, &vport), 0);
    assert_int_equal(vport.nsid, UNIT_NSID);
    assert_int_equal(vport.ifindex, 3);
    check_port(table, "a", 1);
    assert_int_equal(unit_n_requests(), 2);

    /* Its namesakes in our namespace are others. */
    unit_announce_link(unit_dp.links, false, 3, "x");
    unit_announce_link(unit_dp.links, true, 3, "x");
    check_port(table, "a", 1);
    assert_int_equal(unit_n_requests(), 2);

    unit_port_rename(1, "b");
    unit_announce_link(unit_dp.other_links, false, 3, "b");
    vport_table_expire(table);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(by_number(table, 1, "b"), 0);
    unit_port_rename(1, "a");
    unit_announce_link(unit_dp.other_links, false, 3, "a");
    check_port(table, "a", 1);

    /* Back. */
    kernel->nsid = OVS_VPORT_LOCAL;
    kernel->ifindex = 101;
    unit_announce_link(unit_dp.other_links, true, 3, "a");
    unit_announce_link(unit_dp.links, false, 101, "a");
    check_port(table, "a", 1);
    assert_int_equal(vport_table_get_by_number(table, 1, &vport), 0);
    assert_int_equal(vport.nsid, OVS_VPORT_LOCAL);
    REASON(table, UNSYNCED, 0);
    REASON(table, NAMESPACE, 0);
}

static void
other_namespaces_with_the_same_index_cost_nothing(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport vport;

    /* A device that exists, as its name is looked at. */
    start(table);
    vport = unit_port_add(1, OVS_VPORT_TYPE_INTERNAL, "lo",
                          if_nametoindex("lo"));
    assert_int_equal(unit_announce(&vport), 0);
    for (int i = 0; i < 3; i++) {
        unit_announce_link(unit_dp.other_links, false, vport.ifindex, "x");
        unit_announce_link(unit_dp.other_links, true, vport.ifindex, "x");
        check_port(table, "lo", 1);
    }
    assert_int_equal(unit_n_requests(), 0);
}

static void
port_of_an_unknown_namespace_is_asked_for(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport vport;

    start(table);
    unit_add(2, "b");
    vport = unit_port_add(1, OVS_VPORT_TYPE_INTERNAL, "a", 101);
    vport.nsid = unit_dp.ports[1].vport.nsid = NL_NSID_NONE;
    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    check_port(table, "a", 1);
    REASON(table, NAMESPACE, 4);
    unit_port_rename(1, "c");
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(by_number(table, 1, "c"), 0);
    assert_int_equal(by_name(table, "c", 1), ENODEV);
    assert_int_equal(count_ports(table), 3);
    REASON(table, NAMESPACE, 8);

    /* The others are answered, and when it has gone all is as before. */
    check_port(table, "b", 2);
    unit_del(1);
    vport_table_expire(table);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(count_ports(table), 2);
    REASON(table, NAMESPACE, 8);
}

/* Adds port 1, "a", of the other namespace. */
static void
add_elsewhere(struct vport_table *table)
{
    struct ovs_vport vport;

    vport = unit_port_add(1, OVS_VPORT_TYPE_INTERNAL, "a", 3);
    vport.nsid = unit_dp.ports[1].vport.nsid = UNIT_NSID;
    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    REASON(table, NAMESPACE, 0);
}

static void
internal_port_goes_with_its_namespace(void **state)
{
    struct vport_table *table = *state;
    struct vport_poller *poller;
    char *name;

    start(table);
    poller = vport_poller_create(table);
    add_elsewhere(table);
    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    assert_int_equal(vport_poller_next(poller, &name), EAGAIN);
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;

    /* Another namespace is of no interest. */
    assert_int_equal(unit_announce_nsid_gone(unit_dp.links, UNIT_NSID + 1),
                     0);
    vport_table_expire(table);
    assert_int_equal(by_number(table, 1, "a"), 0);
    assert_int_equal(unit_n_requests(), 0);

    /* The port is not announced, nor is its device. */
    unit_port_del(1);
    assert_int_equal(unit_announce_nsid_gone(unit_dp.links, UNIT_NSID), 0);
    assert_int_equal(vport_poller_next(poller, &name), 0);
    assert_string_equal(name, "a");
    free(name);
    assert_int_equal(vport_poller_next(poller, &name), EAGAIN);
    vport_poller_destroy(poller);
    check_gone(table, 1);
}

/* Its namespace loses its id before the port goes. */
static void
leave_without_id(struct vport_table *table)
{
    start(table);
    add_elsewhere(table);
    unit_dp.ports[1].vport.nsid = NL_NSID_NONE;
    assert_int_equal(unit_announce_nsid_gone(unit_dp.links, UNIT_NSID), 0);
    vport_table_expire(table);
    assert_int_equal(by_number(table, 1, "a"), 0);
    REASON(table, DEVICE, 2);
    REASON(table, NAMESPACE, 1);
    unit_port_del(1);
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;
}

static void
internal_port_goes_after_its_namespace_by_number(void **state)
{
    struct vport_table *table = *state;

    leave_without_id(table);
    check_gone(table, 1);
}

static void
internal_port_goes_after_its_namespace_by_name(void **state)
{
    struct vport_table *table = *state;

    leave_without_id(table);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(unit_dp.n_gets_by_name, 1);
    assert_int_equal(unit_dp.n_gets_by_number, 1);
    check_gone(table, 2);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(renamed_device_is_found_as_the_kernel_finds_it),
        TEST(port_and_new_name_come_together),
        TEST(devices_that_keep_their_names_cost_nothing),
        TEST(internal_port_is_followed_to_another_namespace),
        TEST(other_namespaces_with_the_same_index_cost_nothing),
        TEST(port_of_an_unknown_namespace_is_asked_for),
        TEST(internal_port_goes_with_its_namespace),
        TEST(internal_port_goes_after_its_namespace_by_number),
        TEST(internal_port_goes_after_its_namespace_by_name),
    };

    unit_init("test-vport-device");
    return cmocka_run_group_tests_name("vport-device", tests, NULL, NULL);
}
