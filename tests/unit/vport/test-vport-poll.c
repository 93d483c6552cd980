/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant U6: whom a vport table tells of changes. */

#include <config.h>
#include "vport/vport-table.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "harness/clock.h"
#include "sset.h"
#include "vport/vport-store.h"
#include "fake/vport-fake.h"
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

/* Checks that 'poller' tells of the 'n' names in 'names', in any order. */
static void
check_told(struct vport_poller *poller, const char *const names[], size_t n)
{
    struct sset expected = SSET_INITIALIZER(&expected);
    char *name;

    for (size_t i = 0; i < n; i++) {
        sset_add(&expected, names[i]);
    }
    while (!vport_poller_next(poller, &name)) {
        if (!sset_find_and_delete(&expected, name)) {
            fail_msg("told of %s", name);
        }
        free(name);
    }
    assert_true(sset_is_empty(&expected));
    sset_destroy(&expected);
}
#define TOLD(POLLER, ...)                                               \
    check_told(POLLER, (const char *const[]) { __VA_ARGS__ },           \
               ARRAY_SIZE(((const char *const[]) { __VA_ARGS__ })))

static void
pollers_are_told_of_every_change(void **state)
{
    struct vport_table *table = *state;
    struct vport_poller *early = vport_poller_create(table);
    struct vport_poller *late;
    struct ovs_vport vport;
    char *name;

    assert_int_equal(vport_poller_next(early, &name), ENOBUFS);
    assert_int_equal(vport_poller_next(early, &name), EAGAIN);
    unit_add(1, "a");
    TOLD(early, "a");
    late = vport_poller_create(table);
    unit_add(2, "b");
    assert_int_equal(vport_poller_next(late, &name), ENOBUFS);
    assert_int_equal(vport_poller_next(late, &name), EAGAIN);
    TOLD(early, "b");
    vport = unit_port_set(1, 3);
    assert_int_equal(unit_announce(&vport), 0);
    unit_del(2);
    unit_add(3, "c");
    TOLD(early, "a", "b", "c");
    assert_int_equal(unit_by_name(table, "b"), ENODEV);
    TOLD(late, "a", "b", "c");

    /* All pollers are told, whichever of them asks first. */
    unit_del(3);
    vport_table_expire(table);
    assert_int_equal(unit_by_name(table, "c"), ENODEV);
    TOLD(late, "c");
    vport_poller_destroy(late);
    TOLD(early, "c");
    vport_poller_destroy(early);
    vport_poller_destroy(NULL);
}

static void
pollers_are_told_of_names_that_are_lost(void **state)
{
    struct vport_table *table = *state;
    struct vport_poller *poller = vport_poller_create(table);
    char *name;

    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    unit_add(1, "a");
    TOLD(poller, "a");
    unit_port_rename(1, "b");
    unit_announce_link(unit_dp.links, false, 101, "b");
    TOLD(poller, "a");
    assert_int_equal(unit_by_name(table, "a"), ENODEV);

    /* In another namespace nobody cares. */
    unit_dp.ports[1].vport.nsid = UNIT_NSID;
    unit_port_rename(1, "c");
    assert_int_equal(unit_announce_link(unit_dp.links, false, 101, "c"), 0);
    assert_int_equal(vport_poller_next(poller, &name), EAGAIN);
    assert_int_equal(unit_by_name(table, "b"), ENODEV);
    vport_poller_destroy(poller);
}

static void
pollers_look_at_everything_after_a_loss(void **state)
{
    struct vport_table *table = *state;
    struct vport_poller *poller = vport_poller_create(table);
    char *name;

    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    unit_add(1, "a");
    unit_overrun(false);
    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    assert_int_equal(vport_poller_next(poller, &name), EAGAIN);
    assert_int_equal(unit_by_name(table, "a"), 0);
    vport_poller_destroy(poller);
}

/* Sleeps as the main loop does, for at most 'msec' ms.  Returns how long that
 * took. */
static long long int
sleep_for(struct vport_poller *poller, long long int msec)
{
    long long int start_time = unit_now();

    vport_poller_wait(poller);
    poll_timer_wait(msec);
    poll_block();
    return unit_now() - start_time;
}

/* True if something ends the sleep of the main loop long before its time, and
 * if nothing does.  A thread may be late, but not early. */
static bool
wakes(struct vport_poller *poller)
{
    return sleep_for(poller, UNIT_PATIENCE) < UNIT_PATIENCE / 2;
}

static bool
sleeps(struct vport_poller *poller)
{
    return sleep_for(poller, 200) >= 199;
}

static void
pollers_wake_the_main_loop(void **state)
{
    struct vport_table *table = *state;
    struct vport_poller *poller = vport_poller_create(table);
    char *name;

    assert_true(wakes(poller));
    assert_int_equal(vport_poller_next(poller, &name), ENOBUFS);
    assert_true(sleeps(poller));
    unit_add(1, "a");
    assert_true(wakes(poller));
    assert_int_equal(unit_by_name(table, "a"), 0);
    assert_true(wakes(poller));
    TOLD(poller, "a");
    assert_true(sleeps(poller));
    unit_announce_link(unit_dp.links, false, 101, "a");
    assert_true(wakes(poller));
    assert_int_equal(vport_poller_next(poller, &name), EAGAIN);
    assert_true(sleeps(poller));
    vport_poller_destroy(poller);
}

static void
numbers_of_ports_that_went_are_told_once(void **state)
{
    struct vport_table *table = *state;
    uint32_t port_no;

    unit_clock_stop(1);
    assert_int_equal(unit_by_number(table, 0), 0);
    unit_clock_advance(VPORT_LATE_MS + 1);
    unit_clock_run();
    unit_add(1, "a");
    unit_add(2, "b");
    unit_add(3, "c");
    assert_int_equal(unit_by_name(table, "c"), 0);
    assert_false(vport_table_next_gone(table, &port_no));
    unit_del(3);
    unit_del(1);
    unit_add(1, "d");
    assert_int_equal(unit_by_name(table, "d"), 0);
    assert_true(vport_table_next_gone(table, &port_no));
    assert_int_equal(port_no, 1);
    assert_true(vport_table_next_gone(table, &port_no));
    assert_int_equal(port_no, 3);
    assert_false(vport_table_next_gone(table, &port_no));

    unit_overrun(false);
    unit_del(2);
    vport_table_expire(table);
    assert_int_equal(unit_by_number(table, 2), ENODEV);
    assert_true(vport_table_next_gone(table, &port_no));
    assert_int_equal(port_no, VPORT_ALL);
    assert_false(vport_table_next_gone(table, &port_no));
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(pollers_are_told_of_every_change),
        TEST(pollers_are_told_of_names_that_are_lost),
        TEST(pollers_look_at_everything_after_a_loss),
        TEST(pollers_wake_the_main_loop),
        TEST(numbers_of_ports_that_went_are_told_once),
    };

    unit_init("test-vport-poll");
    return cmocka_run_group_tests_name("vport-poll", tests, NULL, NULL);
}
