/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L1: monitoring the link of a device takes the RTNL lock once in
 * each interval, by the way that its driver has.  The driver is scripted. */

#include <config.h>
#include "netdev-linux/driver.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/mii.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>

#include "harness/netns.h"
#include "socket-util.h"
#include "timeval.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

#define PHY 7
#define INTERVAL 200

static struct driver {
    bool has_registers, has_ethtool, up;
    unsigned int n_phy, n_register, n_ethtool;
} driver;

int __wrap_af_inet_ioctl(unsigned long int command, void *arg);
int __real_af_inet_ioctl(unsigned long int command, void *arg);
int
__wrap_af_inet_ioctl(unsigned long int command, void *arg)
{
    struct ifreq *ifr = arg;
    struct mii_ioctl_data data;

    if (command == SIOCGMIIPHY || command == SIOCGMIIREG) {
        *(command == SIOCGMIIPHY ? &driver.n_phy : &driver.n_register) += 1;
        assert_string_equal(ifr->ifr_name, "a");
        if (!driver.has_registers) {
            return EOPNOTSUPP;
        }
        memcpy(&data, &ifr->ifr_data, sizeof data);
        if (command == SIOCGMIIREG) {
            assert_int_equal(data.phy_id, PHY);
            assert_int_equal(data.reg_num, MII_BMSR);
            data.val_out = driver.up ? BMSR_LSTATUS : 0;
        } else {
            data.phy_id = PHY;
        }
        memcpy(&ifr->ifr_data, &data, sizeof data);
        return 0;
    } else if (command == SIOCETHTOOL) {
        struct ethtool_value *value = (struct ethtool_value *) ifr->ifr_data;

        if (value->cmd == ETHTOOL_GLINK) {
            driver.n_ethtool++;
            value->data = driver.up;
            return driver.has_ethtool ? 0 : EOPNOTSUPP;
        }
    }
    return __real_af_inet_ioctl(command, arg);
}

/* How often all devices were listed. */
static unsigned int n_lists;

void __wrap_netdev_get_devices(const struct netdev_class *, struct shash *);
void __real_netdev_get_devices(const struct netdev_class *, struct shash *);
void
__wrap_netdev_get_devices(const struct netdev_class *class,
                          struct shash *devices)
{
    n_lists++;
    __real_netdev_get_devices(class, devices);
}

static int
setup_monitored(void **state)
{
    int retval = setup(state);

    memset(&driver, 0, sizeof driver);
    driver.up = true;
    unit_clock_stop(time_msec() + 1000);
    OK(netdev_set_miimon_interval(*state, INTERVAL));
    return retval;
}

static int
teardown_monitored(void **state)
{
    OK(netdev_set_miimon_interval(*state, 0));
    return teardown(state);
}

/* Lets 'n' intervals pass. */
static void
pass(int n)
{
    for (int i = 0; i < n; i++) {
        unit_clock_advance(INTERVAL);
        netdev_kdp_mii_run();
        netdev_kdp_mii_run();
    }
}

static void
a_register_is_read_once_in_each_interval(void **state)
{
    struct netdev *netdev = *state;

    driver.has_registers = driver.has_ethtool = true;
    pass(10);
    assert_true(carrier_is(netdev, true));
    assert_int_equal(driver.n_phy, 1);
    assert_int_equal(driver.n_register, 10);
    assert_int_equal(driver.n_ethtool, 0);
    driver.up = false;
    pass(1);
    assert_true(carrier_is(netdev, false));
    assert_int_equal(driver.n_register, 11);
}

static void
a_driver_without_registers_is_asked_once_in_each_interval(void **state)
{
    struct netdev *netdev = *state;

    driver.has_ethtool = true;
    pass(10);
    assert_true(carrier_is(netdev, true));
    assert_int_equal(driver.n_phy, 1);
    assert_int_equal(driver.n_register, 0);
    assert_int_equal(driver.n_ethtool, 10);
    driver.up = false;
    pass(1);
    assert_true(carrier_is(netdev, false));
    assert_int_equal(driver.n_phy + driver.n_register, 1);
}

/* Until then the flags of the device count, as without monitoring. */
static void
the_driver_has_not_answered_at_first(void **state)
{
    struct netdev *netdev = *state;

    bool carrier;

    driver.has_ethtool = true;
    for (int up = 0; up < 4; up++) {
        OK(netdev_set_miimon_interval(netdev, 0));
        OK(unit_link_set_up(own, A, up & 1));
        OK(unit_link_set_up(own, B, up & 1));
        assert_true(carrier_is(netdev, up & 1));
        driver.n_ethtool = 0;
        OK(netdev_set_miimon_interval(netdev, INTERVAL));
        OK(netdev->netdev_class->get_carrier(netdev, &carrier));
        assert_int_equal(carrier, up & 1);
        assert_int_equal(driver.n_ethtool, 0);
    }
}

static void
devices_are_listed_only_while_one_is_monitored(void **state)
{
    struct netdev *netdev = *state;

    n_lists = 0;
    netdev_kdp_mii_run();
    netdev_kdp_mii_wait();
    assert_int_equal(n_lists, 2);
    OK(netdev_set_miimon_interval(netdev, 0));
    netdev_kdp_mii_run();
    assert_int_equal(n_lists, 2);

    /* Nor when it has been closed. */
    OK(netdev_set_miimon_interval(netdev, INTERVAL));
    netdev_close(netdev);
    netdev_kdp_mii_run();
    assert_int_equal(n_lists, 2);
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
}

/* What works may cease to. */
static void
a_way_that_fails_is_not_taken_again(void **state)
{
    struct netdev *netdev = *state;

    driver.has_registers = true;
    pass(2);
    assert_true(carrier_is(netdev, true));
    driver.has_registers = false;
    pass(1);
    assert_true(carrier_is(netdev, false));
    driver.has_registers = true;
    pass(1);
    assert_true(carrier_is(netdev, true));
    driver.has_registers = false;
    driver.has_ethtool = true;
    pass(2);
    assert_true(carrier_is(netdev, true));
}

static void
another_device_is_asked_anew(void **state)
{
    driver.has_ethtool = true;
    pass(3);
    assert_int_equal(driver.n_phy, 1);
    OK(unit_link_del(own, A));
    OK(unit_link_add_veth(own, A + 5, "a", own, B, "b"));
    netdev_run();
    driver.has_registers = true;
    pass(3);
    assert_int_equal(driver.n_phy, 2);
    assert_true(driver.n_register >= 3);
    OK(unit_link_del(own, A + 5));
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
    assert_non_null(*state);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_monitored, teardown_monitored)
        TEST(a_register_is_read_once_in_each_interval),
        TEST(a_driver_without_registers_is_asked_once_in_each_interval),
        TEST(the_driver_has_not_answered_at_first),
        TEST(devices_are_listed_only_while_one_is_monitored),
        TEST(a_way_that_fails_is_not_taken_again),
        TEST(another_device_is_asked_anew),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
