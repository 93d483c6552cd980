/* SPDX-License-Identifier: Apache-2.0 */

/* What ethtool says of veth devices: the answer is the same for all of them,
 * so the daemon asks once (L1). */

#include <config.h>

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "netdev-linux/driver.h"
#include "netdev-provider.h"
#include "ovs-features.h"
#include "smap.h"
#include "unit/netdev-linux/netdev-fault-fixture.h"

/* Requests for the driver of a device, when that of another is known: where
 * the peer is shown, one for the driver and three for the peer, which is a
 * figure among the statistics of the driver. */
#define N_DRIVER (OVS_HAVE_PEER_IFINDEX ? 4 : 0)

struct answers {
    enum netdev_features features[4];
    char driver[64], version[64];
};

static int
get_features(const struct netdev *netdev, enum netdev_features f[4])
{
    return netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]);
}

/* Has all answers about 'netdev'.  Returns the number of requests. */
static unsigned int
ask(const struct netdev *netdev, struct answers *answers)
{
    struct smap smap = SMAP_INITIALIZER(&smap);

    memset(answers, 0, sizeof *answers);
    n_ethtool = 0;
    OK(get_features(netdev, answers->features));
    OK(netdev_get_status(netdev, &smap));
    ovs_strzcpy(answers->driver, smap_get_def(&smap, "driver_name", ""),
                sizeof answers->driver);
    ovs_strzcpy(answers->version, smap_get_def(&smap, "driver_version", ""),
                sizeof answers->version);
    smap_destroy(&smap);
    return n_ethtool;
}

static void
renew_without_carrier(void)
{
    netdev_kdp_driver_forget_veths();
    unit_link_del(own, A);
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
}

static void
renew(void)
{
    unit_link_del(own, A);
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    OK(unit_link_set_up(own, A, true));
    netdev_run();
}

static void
the_second_veth_has_the_answers_of_the_first(void **state)
{
    struct answers first, second, again;
    struct netdev *other;

    netdev_kdp_driver_forget_veths();
    ask(*state, &first);
    assert_string_equal(first.driver, "veth");
    assert_true(n_ethtool >= 2);
    assert_int_equal(ask(*state, &again), 0);

    OK(netdev_open("b", "system", &other));
    assert_int_equal(ask(other, &second), N_DRIVER);
    assert_memory_equal(&first, &second, sizeof first);

    /* It is what the kernel says. */
    netdev_close(other);
    netdev_kdp_driver_forget_veths();
    OK(netdev_open("b", "system", &other));
    assert_true(ask(other, &again) >= 2);
    assert_memory_equal(&again, &second, sizeof again);
    netdev_close(other);
}

static void
a_veth_that_is_made_anew_or_set_down_asks_for_nothing(void **state)
{
    struct answers first, again;

    netdev_kdp_driver_forget_veths();
    ask(*state, &first);
    renew();
    assert_int_equal(ask(*state, &again), N_DRIVER);
    assert_memory_equal(&first, &again, sizeof first);
    OK(unit_link_set_up(own, A, false));
    netdev_run();
    assert_int_equal(ask(*state, &again), 0);
    assert_memory_equal(&first, &again, sizeof first);

    /* The kernel says so, too. */
    renew_without_carrier();
    assert_true(ask(*state, &again) >= 2);
    assert_memory_equal(&first, &again, sizeof first);
}

static void
an_error_is_not_what_all_have(void **state)
{
    enum netdev_features f[4];
    struct answers answers;

    netdev_kdp_driver_forget_veths();
    unit_plan_failures(UNIT_CALL_IOCTL, 2, 1, EBUSY);
    assert_int_equal(get_features(*state, f), EBUSY);
    assert_int_equal(unit_n_failed(), 1);
    unit_plan_none();
    renew();
    assert_true(ask(*state, &answers) >= 2);
}

/* The kernel was asked by a name that means none, or another device, by
 * now. */
static void
lose_a(void)
{
    after_ethtool = NULL;
    OK(unit_link_del(own, A));
}

static void
the_answer_about_a_device_that_goes_is_not_what_all_have(void **state)
{
    enum netdev_features f[4];

    netdev_kdp_driver_forget_veths();
    after_ethtool = lose_a;
    get_features(*state, f);
    assert_null(after_ethtool);
    renew();
    n_ethtool = 0;
    OK(get_features(*state, f));
    assert_int_equal(n_ethtool, 1);
}

static void
other_kinds_are_asked_about(void **state)
{
    enum netdev_features f[4];
    struct answers answers;

    unit_wait_until(a_has_carrier());
    netdev_kdp_driver_forget_veths();
    ask(*state, &answers);
    tell(A, "a", "bond", 0, IFF_UP | IFF_RUNNING);
    tell(A, "a", "bond", 0, 0);
    n_ethtool = 0;
    get_features(*state, f);
    assert_int_equal(n_ethtool, 1);

    /* Nor is what they say that of veth devices. */
    netdev_kdp_driver_forget_veths();
    tell(A, "a", "bond", 0, IFF_UP | IFF_RUNNING);
    get_features(*state, f);
    renew();
    n_ethtool = 0;
    OK(get_features(*state, f));
    assert_int_equal(n_ethtool, 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(the_second_veth_has_the_answers_of_the_first),
        TEST(a_veth_that_is_made_anew_or_set_down_asks_for_nothing),
        TEST(an_error_is_not_what_all_have),
        TEST(the_answer_about_a_device_that_goes_is_not_what_all_have),
        TEST(other_kinds_are_asked_about),
    };

    netdev_fault_listen(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
