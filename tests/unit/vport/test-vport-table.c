/* SPDX-License-Identifier: Apache-2.0 */

/* A table of the ports of a made-up datapath: what it answers, and what it
 * asks for that.  Invariant U6: a port added, deleted, added again or
 * renumbered. */

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
#include "harness/clock.h"
#include "harness/descriptors.h"
#include "unit/vport/vport-fixture.h"
#include "util.h"

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

/* It may be older than a deletion that was announced before. */
static void
change_of_a_port_that_is_not_there_is_asked_about(void **state)
{
    struct vport_table *table = *state;
    struct vport_table_info info;
    struct ovs_vport vport;

    start(table);
    unit_port_add(1, OVS_VPORT_TYPE_NETDEV, "a", 101);
    vport = unit_port_set(1, 4711);
    unit_port_del(1);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(unit_announce(&vport), 0);
        assert_int_equal(by_number(table, 1, ""), ENODEV);
        REASON(table, ORDER, i);
    }

    /* No more announcements are to come: the next ones are believed. */
    unit_add(1, "a");
    check_port(table, "a", 1);
    unit_del(1);
    vport_table_expire(table);
    assert_int_equal(by_number(table, 1, ""), ENODEV);
    REASON(table, ORDER, 2);

    vport_table_get_info(table, &info);
    assert_int_equal(info.stats.new, 1);
    assert_int_equal(info.stats.deleted, 1);
    assert_int_equal(info.stats.changed, 2);
    assert_int_equal(info.stats.foreign, 0);
    assert_int_equal(info.stats.malformed, 0);
    vport_table_info_uninit(&info);
}

/* Announces a change of port 1, which has happened.  Returns whether the table
 * asks about it. */
static bool
is_in_doubt(struct vport_table *table)
{
    uint64_t before = asked(table, VPORT_ASK_ORDER);
    struct ovs_vport vport = unit_port_set(1, 4711);

    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    return asked(table, VPORT_ASK_ORDER) != before;
}

static void
doubts_end_after_a_time(void **state)
{
    struct vport_table *table = *state;
    struct ovs_vport vport;

    /* After a dump. */
    unit_port_add(1, OVS_VPORT_TYPE_NETDEV, "a", 101);
    assert_int_equal(count_ports(table), 2);
    assert_true(is_in_doubt(table));
    unit_clock_advance(VPORT_LATE_MS - 1);
    assert_true(is_in_doubt(table));
    unit_clock_advance(1);
    assert_false(is_in_doubt(table));

    /* After the announcement of a port that is there: the end of the old port
     * may still come. */
    vport = unit_dp.ports[1].vport;
    vport.cmd = OVS_VPORT_CMD_NEW;
    assert_int_equal(unit_announce(&vport), 0);
    check_port(table, "a", 1);
    assert_true(is_in_doubt(table));
    unit_clock_advance(VPORT_LATE_MS);
    check_port(table, "a", 1);
    assert_true(is_in_doubt(table));
    unit_clock_advance(1);
    check_port(table, "a", 1);
    assert_false(is_in_doubt(table));
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
    vport_table_recheck(table, 1);
    assert_int_equal(by_number(table, 1, ""), ENODEV);
    REASON(table, ORDER, 1);
    check_gone(table, 1);

    /* One that is there stays; one that is not is not asked for. */
    unit_dp.n_dumps = unit_dp.n_gets_by_name = unit_dp.n_gets_by_number = 0;
    vport_table_recheck(table, 1);
    vport_table_recheck(table, 2);
    vport_table_recheck(table, UINT32_MAX);
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
        TEST(change_of_a_port_that_is_not_there_is_asked_about),
        TEST(doubts_end_after_a_time),
        TEST(many_doubts_are_one_dump),
        TEST(port_that_could_not_be_deleted_is_asked_for),
        TEST(two_ports_of_one_name_are_told_apart_by_the_kernel),
        TEST(unusual_questions_are_for_the_kernel),
    };

    unit_init("test-vport-table");
    return cmocka_run_group_tests_name("vport-table", tests, NULL, NULL);
}
