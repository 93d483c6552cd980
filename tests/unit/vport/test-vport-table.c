/* SPDX-License-Identifier: Apache-2.0 */

/* A table of the ports of a made-up datapath: what it answers, and what it
 * asks for that. */

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
#include "util.h"

static int
setup(void **state)
{
    unit_datapath_init();
    *state = unit_vport_table();
    return 0;
}

static int
teardown(void **state)
{
    vport_table_destroy(*state);
    unit_datapath_uninit();
    return 0;
}

/* Questions, after which nothing is left of the answer. */

static int
by_number(struct vport_table *table, uint32_t port_no, const char *name)
{
    struct ovs_vport vport;
    int error = vport_table_get_by_number(table, port_no, &vport);

    if (!error) {
        assert_int_equal(vport.port_no, port_no);
        assert_string_equal(vport.name, name);
    }
    return error;
}

static int
by_name(struct vport_table *table, const char *name, uint32_t port_no)
{
    struct ovs_vport vport;
    int error = vport_table_get_by_name(table, name, &vport);

    if (!error) {
        assert_int_equal(vport.port_no, port_no);
        assert_string_equal(vport.name, name);
    }
    return error;
}

/* Checks that 'name' is port 'port_no', asked in both ways, now. */
static void
check_port(struct vport_table *table, const char *name, uint32_t port_no)
{
    vport_table_expire(table);
    assert_int_equal(by_name(table, name, port_no), 0);
    assert_int_equal(by_number(table, port_no, name), 0);
}

static size_t
count_ports(struct vport_table *table)
{
    struct ovs_vport *vports;
    size_t n;

    assert_int_equal(vport_table_list(table, &vports, &n), 0);
    for (size_t i = 1; i < n; i++) {
        assert_true(vports[i - 1].port_no < vports[i].port_no);
    }
    free(vports);
    return n;
}

static uint64_t
asked(struct vport_table *table, enum vport_ask reason)
{
    struct vport_table_info info;
    uint64_t n;

    vport_table_get_info(table, &info);
    n = info.stats.asked[reason];
    vport_table_info_uninit(&info);
    return n;
}

/* Brings 'table' in sync, with nothing asked so far. */
static void
start(struct vport_table *table)
{
    assert_true(count_ports(table) > 0);
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;
}

/* Checks how many requests the table counted for a reason. */
#define REASON(TABLE, WHICH, N)                                         \
    assert_int_equal(asked(TABLE, VPORT_ASK_##WHICH), N)

static void
nothing_is_opened_before_something_is_asked(void **state)
{
    struct vport_table *table = *state;
    size_t n_fds = unit_count_fds();

    vport_table_expire(table);
    assert_int_equal(unit_n_requests(), 0);
    assert_int_equal(count_ports(table), 1);
    assert_int_equal(unit_count_fds(), n_fds + 3);
    vport_table_destroy(table);
    assert_int_equal(unit_count_fds(), n_fds);
    *state = NULL;
    vport_table_destroy(NULL);
}

static void
ports_are_dumped_once_and_names_confirmed_once(void **state)
{
    struct vport_table *table = *state;
    char name[IFNAMSIZ];

    for (uint32_t i = 1; i <= 40; i++) {
        snprintf(name, sizeof name, "p%"PRIu32, i);
        unit_port_add(i, OVS_VPORT_TYPE_NETDEV, name, 100 + i);
    }
    assert_int_equal(count_ports(table), 41);
    REASON(table, START, 1);
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 1; i <= 40; i++) {
            snprintf(name, sizeof name, "p%"PRIu32, i);
            check_port(table, name, i);
        }
        assert_int_equal(by_name(table, "p0", 0), ENODEV);
        assert_int_equal(by_number(table, 41, ""), ENODEV);
        assert_int_equal(count_ports(table), 41);
        REASON(table, NAME, 40);
        assert_int_equal(unit_n_requests(), 41);
    }
}

static void
ports_come_and_go_without_a_request(void **state)
{
    struct vport_table *table = *state;

    start(table);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(by_name(table, "a", 1), ENODEV);
        unit_add(1, "a");
        unit_add(2, "b");
        check_port(table, "a", 1);
        check_port(table, "b", 2);
        assert_int_equal(count_ports(table), 3);
        unit_del(1);
        vport_table_expire(table);
        assert_int_equal(by_name(table, "a", 1), ENODEV);
        assert_int_equal(by_number(table, 1, "a"), ENODEV);
        check_port(table, "b", 2);
        unit_del(2);
        assert_int_equal(count_ports(table), 1);
    }
    assert_int_equal(unit_n_requests(), 0);
}

static void
number_is_used_again_without_a_request(void **state)
{
    struct vport_table *table = *state;

    start(table);
    unit_add(1, "a");
    unit_del(1);
    unit_add(1, "b");
    check_port(table, "b", 1);
    unit_del(1);
    unit_add(1, "b");
    check_port(table, "b", 1);
    vport_table_expire(table);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(unit_n_requests(), 0);
}

static void
port_that_is_there_is_answered_without_looking_until_it_expires(void **state)
{
    struct vport_table *table = *state;

    start(table);
    unit_add(1, "a");
    assert_int_equal(by_name(table, "a", 1), 0);
    unit_del(1);
    assert_int_equal(by_name(table, "a", 1), 0);
    assert_int_equal(by_number(table, 1, "a"), 0);

    /* What is not there is looked for. */
    unit_add(2, "b");
    assert_int_equal(by_name(table, "b", 2), 0);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    unit_add(3, "c");
    assert_int_equal(by_number(table, 3, "c"), 0);

    unit_del(3);
    vport_table_expire(table);
    assert_int_equal(by_name(table, "c", 3), ENODEV);
    assert_int_equal(unit_n_requests(), 0);
}

static void
changes_are_taken_over(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport vport;

    start(table);
    unit_add(1, "a");
    vport = unit_port_set(1, 4711);
    assert_int_equal(unit_announce(&vport), 0);
    vport_table_expire(table);
    assert_int_equal(vport_table_get_by_number(table, 1, &vport), 0);
    assert_int_equal(vport.pid, 4711);
    check_port(table, "a", 1);
    assert_int_equal(unit_n_requests(), 0);
}

static void
other_datapaths_do_not_matter(void **state)
{
    struct vport_table *table = *state;
    struct vport_table_info info;
    struct ovs_vport vport;

    start(table);
    unit_add(1, "a");
    vport = unit_port_set(1, 1);
    vport.dp_ifindex++;
    vport.cmd = OVS_VPORT_CMD_DEL;
    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    assert_int_equal(unit_n_requests(), 0);
    vport_table_get_info(table, &info);
    assert_int_equal(info.stats.foreign, 1);
    vport_table_info_uninit(&info);
}

/* Announcements in the wrong order. */

static void
announcement_of_a_new_port_overtakes_that_of_the_old_one(void **state)
{
    /* With another device, or the same. */
    static const char *const names[] = { "b", "a" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct vport_table *table = unit_vport_table();
        struct ovs_vport old, new;

        start(table);
        unit_add(1, "a");
        check_port(table, "a", 1);
        old = unit_port_del(1);
        new = unit_port_add(1, OVS_VPORT_TYPE_NETDEV, names[i],
                            101 + !i);
        assert_int_equal(unit_announce(&new), 0);
        vport_table_expire(table);
        assert_int_equal(by_number(table, 1, names[i]), 0);
        assert_int_equal(unit_announce(&old), 0);
        check_port(table, names[i], 1);
        check_port(table, names[i], 1);
        REASON(table, ORDER, 2);

        /* The next ones are in order. */
        unit_del(1);
        vport_table_expire(table);
        assert_int_equal(by_number(table, 1, ""), ENODEV);
        unit_add(1, "c");
        check_port(table, "c", 1);
        unit_del(1);
        unit_add(1, "c");
        check_port(table, "c", 1);
        REASON(table, ORDER, 2);
        unit_port_del(1);
        vport_table_destroy(table);
    }
    (void) state;
}

static void
announcement_of_the_end_overtakes_that_of_the_start(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport new, old;

    start(table);
    new = unit_port_add(1, OVS_VPORT_TYPE_NETDEV, "a", 101);
    old = unit_port_del(1);
    assert_int_equal(unit_announce(&old), 0);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(unit_announce(&new), 0);
    assert_int_equal(by_name(table, "a", 1), ENODEV);
    assert_int_equal(by_number(table, 1, "a"), ENODEV);
    REASON(table, ORDER, 2);
    unit_add(1, "a");
    check_port(table, "a", 1);
    REASON(table, ORDER, 2);
}

static void
many_doubts_are_one_dump(void **state)
{
    struct vport_table *table = *state;
    char name[IFNAMSIZ];

    start(table);
    for (uint32_t i = 1; i <= VPORT_MAX_ASKS + 1; i++) {
        snprintf(name, sizeof name, "p%"PRIu32, i);
        unit_add(i, name);
        struct ovs_vport again = unit_dp.ports[i].vport;
        assert_int_equal(unit_announce(&again), 0);
    }
    assert_int_equal(count_ports(table), VPORT_MAX_ASKS + 2);
    assert_int_equal(unit_dp.n_dumps, 1);
    assert_int_equal(unit_n_requests(), 1);
    REASON(table, ORDER, 1);
}

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

/* Checks that port 1 is gone, and that this was asked for 'n' times at most;
 * then that it can come back. */
static void
check_gone(struct vport_table *table, unsigned int n)
{
    uint32_t port_no;

    for (int i = 0; i < 3; i++) {
        vport_table_expire(table);
        assert_int_equal(by_number(table, 1, ""), ENODEV);
        assert_int_equal(by_name(table, "a", 1), ENODEV);
        assert_int_equal(by_name(table, "b", 1), ENODEV);
        assert_int_equal(count_ports(table), 1);
    }
    assert_in_range(unit_n_requests(), 0, n);
    assert_true(vport_table_next_gone(table, &port_no));
    assert_int_equal(port_no, 1);
    unit_add(1, "a");
    check_port(table, "a", 1);
    assert_int_equal(count_ports(table), 2);
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

static void
port_that_could_not_be_deleted_is_asked_for(void **state)
{
    struct vport_table *table = *state;

    start(table);
    unit_add(1, "a");
    check_port(table, "a", 1);

    /* It went, and nobody said so. */
    unit_port_del(1);
    assert_int_equal(by_number(table, 1, "a"), 0);
    vport_table_doubt(table, 1);
    check_gone(table, 1);

    /* One that is there stays; one that is not is not asked for. */
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;
    vport_table_doubt(table, 1);
    vport_table_doubt(table, 2);
    vport_table_doubt(table, UINT32_MAX);
    check_port(table, "a", 1);
    assert_int_equal(by_number(table, 2, ""), ENODEV);
    assert_int_equal(unit_dp.n_gets_by_number, 1);
}

static void
two_ports_of_one_name_are_told_apart_by_the_kernel(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport vport;

    start(table);
    unit_add(1, "a");
    vport = unit_port_add(2, OVS_VPORT_TYPE_INTERNAL, "a", 3);
    vport.nsid = unit_dp.ports[2].vport.nsid = UNIT_NSID;
    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    assert_int_equal(by_number(table, 2, "a"), 0);
    REASON(table, NAME, 1);
    unit_del(1);
    check_port(table, "a", 2);
    REASON(table, NAME, 1);
}

static void
unusual_questions_are_for_the_kernel(void **state)
{
    struct vport_table *table = *state;

    start(table);
    assert_int_equal(by_name(table, "a-name-that-is-too-long", 0), ENODEV);
    assert_int_equal(by_number(table, OVS_VPORT_MAX_PORTS, ""), ENODEV);
    assert_int_equal(by_number(table, UINT32_MAX, ""), ENODEV);
    REASON(table, UNUSUAL, 3);
    assert_int_equal(by_name(table, "", 0), ENODEV);
    assert_int_equal(by_number(table, OVS_VPORT_MAX_PORTS - 1, ""), ENODEV);
    REASON(table, UNUSUAL, 3);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(nothing_is_opened_before_something_is_asked),
        TEST(ports_are_dumped_once_and_names_confirmed_once),
        TEST(ports_come_and_go_without_a_request),
        TEST(number_is_used_again_without_a_request),
        TEST(port_that_is_there_is_answered_without_looking_until_it_expires),
        TEST(changes_are_taken_over),
        TEST(other_datapaths_do_not_matter),
        TEST(announcement_of_a_new_port_overtakes_that_of_the_old_one),
        TEST(announcement_of_the_end_overtakes_that_of_the_start),
        TEST(many_doubts_are_one_dump),
        TEST(renamed_device_is_found_as_the_kernel_finds_it),
        TEST(port_and_new_name_come_together),
        TEST(devices_that_keep_their_names_cost_nothing),
        TEST(internal_port_is_followed_to_another_namespace),
        TEST(other_namespaces_with_the_same_index_cost_nothing),
        TEST(port_of_an_unknown_namespace_is_asked_for),
        TEST(internal_port_goes_with_its_namespace),
        TEST(internal_port_goes_after_its_namespace_by_number),
        TEST(internal_port_goes_after_its_namespace_by_name),
        TEST(port_that_could_not_be_deleted_is_asked_for),
        TEST(two_ports_of_one_name_are_told_apart_by_the_kernel),
        TEST(unusual_questions_are_for_the_kernel),
    };

    unit_init("test-vport-table");
    return cmocka_run_group_tests_name("vport-table", tests, NULL, NULL);
}
