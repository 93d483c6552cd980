/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1 and L2: statistics of network devices when the system
 * refuses. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>

#include "netdev-linux/stats.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "harness/descriptors.h"
#include "unit/netdev-linux/netdev-fault-fixture.h"
#include "util.h"

/* Invariants L1 and L2: those of the device are there, but not those of a port
 * of the datapath, which nobody else has. */
static void
statistics_do_without_the_datapath(void **state)
{
    struct netdev_stats stats;
    struct netdev *internal;
    size_t n_fds;

    /* Open vSwitch keeps a socket to ask for those of the device. */
    OK(netdev_get_stats(*state, &stats));
    n_fds = unit_count_fds();
    OK(netdev_open("int0", "internal", &internal));
    for (int i = 0; i < 3; i++) {
        netdev_run();
        unit_plan_failures(UNIT_CALL_SOCKET, 1, 100, EMFILE);
        OK(netdev_get_stats(*state, &stats));
        assert_true(stats.rx_packets != UINT64_MAX);
        assert_int_equal(netdev_get_stats(internal, &stats), EMFILE);
        assert_true(unit_n_failed() >= 2);
        unit_plan_none();
        assert_int_equal(unit_count_fds(), n_fds);
    }
    netdev_close(internal);
}

/* Of a device that is the only one in its turn and was not the first in the
 * last turn of several.  (Those in /sys are of another namespace.) */
static void
statistics_that_cannot_be_had_are_an_error(void **state OVS_UNUSED)
{
    struct netdev_stats stats;
    struct netdev *b;

    OK(netdev_open("b", "system", &b));
    netdev_run();
    unit_plan_failures(UNIT_CALL_STATS, 1, 1, ENOMEM);
    assert_int_equal(netdev_get_stats(b, &stats), ENOMEM);
    assert_int_equal(unit_n_failed(), 1);
    OK(netdev_get_stats(b, &stats));
    netdev_close(b);
}

/* Of all devices at once. */
static void
statistics_do_without_the_list_of_devices(void **state)
{
    struct netdev_stats stats;
    struct netdev *b;

    OK(netdev_open("b", "system", &b));
    netdev_run();
    unit_plan_failures(UNIT_CALL_FOPEN, 1, 1, EMFILE);
    OK(netdev_get_stats(*state, &stats));
    OK(netdev_get_stats(b, &stats));
    assert_int_equal(unit_n_failed(), 1);
    assert_true(stats.rx_packets != UINT64_MAX);
    netdev_close(b);
}

/* The daemon requests the statistics that the list has in sums only.  It
 * requests them again after a failure. */
static void
rare_statistics_that_cannot_be_had_are_asked_for_again(void **state)
{
    struct netdev_stats stats;
    struct netdev *b;

    OK(netdev_open("b", "system", &b));
    more_rx_frame = 1;
    netdev_run();
    OK(netdev_get_stats(*state, &stats));
    unit_plan_failures(UNIT_CALL_STATS, 1, 1, ENOMEM);
    assert_int_equal(netdev_get_stats(b, &stats), ENOMEM);
    assert_int_equal(unit_n_failed(), 1);
    OK(netdev_get_stats(b, &stats));
    assert_int_equal(stats.rx_frame_errors, 0);

    /* The answer is kept. */
    unit_plan_failures(UNIT_CALL_STATS, 1, 100, ENOMEM);
    OK(netdev_get_stats(b, &stats));
    assert_int_equal(unit_n_failed(), 0);
    netdev_close(b);
}

/* Reads "b", whose rare statistics are needed, in another turn, 'n' turns
 * later.  Returns how often the daemon asks the kernel for them. */
static unsigned int
n_asked_after(struct netdev *a, struct netdev *b, unsigned int n)
{
    struct netdev_stats stats;

    unit_plan_none();
    for (unsigned int i = 0; i < n; i++) {
        netdev_kdp_stats_run();
    }
    OK(netdev_get_stats(a, &stats));
    unit_plan_failures(UNIT_CALL_STATS, 1, 1, ENOMEM);
    if (netdev_get_stats(b, &stats)) {
        assert_int_equal(unit_n_failed(), 1);
        OK(netdev_get_stats(b, &stats));
    }
    return unit_n_failed();
}

/* The answer is kept for ten thousand turns without use, and not for twice as
 * many. */
static void
rare_statistics_are_forgotten_after_a_while(void **state)
{
    enum { TURNS = 10000 };
    struct netdev *b;

    OK(netdev_open("b", "system", &b));
    n_asked_after(*state, b, 1);
    more_rx_frame = 2;
    assert_int_equal(n_asked_after(*state, b, 1), 1);
    assert_int_equal(n_asked_after(*state, b, 1), 0);
    assert_int_equal(n_asked_after(*state, b, TURNS), 0);
    assert_int_equal(n_asked_after(*state, b, TURNS), 0);
    assert_int_equal(n_asked_after(*state, b, 2 * TURNS + 1), 1);
    assert_int_equal(n_asked_after(*state, b, 1), 0);

    /* Other sums. */
    more_rx_frame = 3;
    assert_int_equal(n_asked_after(*state, b, 1), 1);
    netdev_close(b);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(statistics_do_without_the_datapath),
        TEST(statistics_that_cannot_be_had_are_an_error),
        TEST(statistics_do_without_the_list_of_devices),
        TEST(rare_statistics_that_cannot_be_had_are_asked_for_again),
        TEST(rare_statistics_are_forgotten_after_a_while),
    };

    netdev_fault_listen(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
