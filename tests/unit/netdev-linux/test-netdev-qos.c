/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L1: quality of service that has not changed is not sent to the
 * kernel again. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <linux/pkt_sched.h>

#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux-valid.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "smap.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

#define N_QUEUES 3

/* IF_OPER_UP of <linux/if.h>, which is at odds with <net/if.h>. */
#define OPER_UP 6

/* Of a queue, in bits per second. */
#define RATE "1000000"
#define OTHER_RATE "2000000"

/* True if the kernel has announced that "a" has a carrier or, if not 'up',
 * that it has none any more.  A new link is said to be running before. */
static bool
carrier_is_announced(bool up)
{
    struct link_info link;

    netdev_run();
    return (link_table_find(kdp_links_table(), LINK_NSID_LOCAL, A, &link)
            && link.carrier == up && (link.operstate == OPER_UP) == up);
}

static int
setup_qos(void **state)
{
    setup(state);
    unit_wait_until(carrier_is_announced(true));
    return 0;
}

/* Sets what the bridge does whenever it is configured. */
static void
configure(struct netdev *netdev, const char *type, const char *max_rate,
          const char *min_rate)
{
    struct smap details = SMAP_INITIALIZER(&details);
    struct smap queue = SMAP_INITIALIZER(&queue);

    if (max_rate) {
        smap_add(&details, "max-rate", max_rate);
    }
    OK(netdev_set_qos(netdev, type, &details));
    smap_add(&queue, "min-rate", min_rate);
    for (unsigned int id = 0; id < N_QUEUES; id++) {
        int error = netdev_set_queue(netdev, id, &queue);

        /* Some disciplines have no queues. */
        assert_true(!error || error == EINVAL);
    }
    smap_destroy(&details);
    smap_destroy(&queue);
}

/* Number of changes that the kernel has announced, of whatever thread. */
static uint64_t
n_announced(void)
{
    struct link_listener_stats stats;

    kdp_links_catch_up();
    link_listener_get_stats(kdp_links_listener(), &stats);
    return (stats.events[LINK_MSG_NEWQDISC] + stats.events[LINK_MSG_DELQDISC]
            + stats.events[LINK_MSG_NEWTCLASS]
            + stats.events[LINK_MSG_DELTCLASS]);
}

static uint64_t
n_calls(void)
{
    uint64_t counts[KDP_N_RTNL_CALLS];

    kdp_rtnl_get_counts(counts);
    return counts[KDP_RTNL_QOS];
}

/* Asserts that STATEMENT has the kernel change N things. */
#define CHANGES(N, STATEMENT)                                           \
    do {                                                                \
        uint64_t announced__ = n_announced(), calls__ = n_calls();      \
        STATEMENT;                                                      \
        assert_int_equal(n_announced() - announced__, N);               \
        assert_int_equal(n_calls() - calls__, N);                       \
    } while (0)

/* All that is sent: the root class, and each queue. */
#define ALL (1 + N_QUEUES)

/* The first time, with a class more and the discipline itself. */
static void
configure_first(struct netdev *netdev, const char *max_rate)
{
    configure(netdev, "linux-htb", max_rate, RATE);
    assert_true(link_qdiscs_has_root(kdp_links_qdiscs(), A));
}

static void
what_is_the_same_is_not_sent(void **state)
{
    struct netdev *netdev = *state;

    configure_first(netdev, "100000000");
    for (int i = 0; i < 3; i++) {
        CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
    }
    CHANGES(N_QUEUES, configure(netdev, "linux-htb", "100000000",
                                OTHER_RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", OTHER_RATE));

    /* What queues may have at most is that of all, unless they say so. */
    CHANGES(ALL, configure(netdev, "linux-htb", "200000000", OTHER_RATE));
    CHANGES(0, configure(netdev, "linux-htb", "200000000", OTHER_RATE));
}

/* Requests that Open vSwitch has sent by nl_transact(). */
static unsigned int n_sent;

/* Those that fail, without being sent. */
static int n_to_fail;

int __wrap_kdp_stock_nl_transact(int protocol, const struct ofpbuf *request,
                                 struct ofpbuf **replyp);
int __real_kdp_stock_nl_transact(int protocol, const struct ofpbuf *request,
                                 struct ofpbuf **replyp);
int
__wrap_kdp_stock_nl_transact(int protocol, const struct ofpbuf *request,
                             struct ofpbuf **replyp)
{
    if (kdp_links_is_main()) {
        n_sent++;
        if (n_to_fail) {
            n_to_fail--;
            return ENOMEM;
        }
    }
    return __real_kdp_stock_nl_transact(protocol, request, replyp);
}

/* It is not known what the kernel has then. */
static void
what_failed_is_set_again(void **state)
{
    struct smap details = SMAP_INITIALIZER(&details);
    struct netdev *netdev = *state;

    configure_first(netdev, "100000000");
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
    smap_add(&details, "max-rate", "200000000");
    n_to_fail = 1;
    assert_int_equal(netdev_set_qos(netdev, "linux-htb", &details), ENOMEM);
    assert_int_equal(n_to_fail, 0);
    CHANGES(ALL, configure(netdev, "linux-htb", "100000000", RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));

    /* A queue. */
    smap_clear(&details);
    smap_add(&details, "min-rate", OTHER_RATE);
    n_to_fail = 1;
    assert_int_equal(netdev_set_queue(netdev, 1, &details), ENOMEM);
    assert_int_equal(n_to_fail, 0);
    CHANGES(ALL, configure(netdev, "linux-htb", "100000000", RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
    smap_destroy(&details);
}

/* A device without a discipline is not asked for one, nor rid of it. */
static void
the_first_discipline_is_set_at_once(void **state)
{
    unsigned int before = n_sent;

    configure_first(*state, "100000000");
    assert_int_equal(n_sent - before, 1 + ALL);

    /* One that somebody else set up is found and deleted. */
    OK(netdev_set_qos(*state, "", NULL));
    OK(unit_qdisc_add(own, A, TC_H_ROOT, 0x10000, "htb"));
    configure_first(*state, "100000000");
    CHANGES(0, configure(*state, "linux-htb", "100000000", RATE));
}

static void
a_queue_that_went_is_set_again(void **state)
{
    struct netdev *netdev = *state;

    configure_first(netdev, "100000000");
    CHANGES(1, OK(netdev_delete_queue(netdev, 1)));
    CHANGES(1, configure(netdev, "linux-htb", "100000000", RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
}

static void
what_others_changed_is_set_again(void **state)
{
    struct netdev *netdev = *state;

    configure_first(netdev, "100000000");

    /* A class, seen or not. */
    OK(unit_htb_class_add(own, A, 0x10002));
    CHANGES(ALL, configure(netdev, "linux-htb", "100000000", RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));

    /* What the kernel has said may have been lost. */
    link_listener_resync(kdp_links_listener());
    CHANGES(ALL, configure(netdev, "linux-htb", "100000000", RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));

    /* Of another device. */
    OK(unit_qdisc_add(own, B, TC_H_ROOT, 0x10000, "htb"));
    OK(unit_htb_class_add(own, B, 0x10002));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
}

/* Rates are computed from the MTU, and without a maximum from the speed, which
 * a carrier that goes and comes back leaves as it was. */
static void
what_rates_depend_on_makes_them_sent_again(void **state)
{
    struct netdev *netdev = *state;

    configure_first(netdev, NULL);
    CHANGES(0, configure(netdev, "linux-htb", NULL, RATE));
    OK(netdev_set_mtu(netdev, 1400));
    CHANGES(ALL, configure(netdev, "linux-htb", NULL, RATE));
    CHANGES(0, configure(netdev, "linux-htb", NULL, RATE));
    OK(unit_link_set_up(own, B, false));
    unit_wait_until(carrier_is_announced(false));
    CHANGES(0, configure(netdev, "linux-htb", NULL, RATE));
    OK(unit_link_set_up(own, B, true));
    unit_wait_until(carrier_is_announced(true));
    CHANGES(0, configure(netdev, "linux-htb", NULL, RATE));
}

/* The bridge sets none of each port whenever it is configured.  Only a
 * discipline that is there costs a call. */
static void
none_is_set_once(void **state)
{
    struct netdev *netdev = *state;

    for (int i = 0; i < 2; i++) {
        uint64_t calls = n_calls();

        OK(netdev_set_qos(netdev, "", NULL));
        assert_int_equal(n_calls(), calls);
        configure_first(netdev, "100000000");
        calls = n_calls();
        OK(netdev_set_qos(netdev, "", NULL));
        assert_int_equal(n_calls(), calls + 1);
    }
}

static void
a_device_that_was_made_anew_has_none(void **state)
{
    struct netdev *netdev;

    configure_first(*state, "100000000");
    netdev_close(*state);
    OK(unit_link_del(own, A));
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
    configure_first(netdev, "100000000");
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));

    /* Without, and with it again. */
    OK(netdev_set_qos(netdev, "", NULL));
    kdp_links_catch_up();
    assert_false(link_qdiscs_has_root(kdp_links_qdiscs(), A));
    configure_first(netdev, "100000000");
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
}

/* Makes 'netdev' one whose policing was set: this kernel may lack what it
 * takes to do so. */
static void
pretend_policing(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);

    ovs_mutex_lock(&dev->up.mutex);
    dev->up.kbits_rate = dev->up.kbits_burst = 1000;
    dev->up.netdev_policing_error = 0;
    dev->up.cache_valid |= VALID_POLICING;
    ovs_mutex_unlock(&dev->up.mutex);
}

static void
policing_goes_with_its_discipline(void **state)
{
    struct netdev *netdev = *state;

    OK(unit_qdisc_add(own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    kdp_links_catch_up();
    netdev_set_policing(netdev, 1000, 1000, 0, 0);
    OK(unit_qdisc_add(own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    kdp_links_catch_up();
    netdev_kdp_cast(netdev)->policing_seqno
        = link_qdiscs_ingress_seqno(kdp_links_qdiscs(), A);
    pretend_policing(netdev);
    uint64_t before = n_announced();
    OK(netdev_set_policing(netdev, 1000, 1000, 0, 0));
    assert_int_equal(n_announced(), before);

    /* Another one has no policing. */
    OK(unit_qdisc_del(own, A, TC_H_INGRESS, 0xffff0000));
    OK(unit_qdisc_add(own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    before = n_announced();
    netdev_set_policing(netdev, 1000, 1000, 0, 0);
    assert_true(n_announced() > before);
}

/* The bridge sets no policing of each port whenever it is configured. */
static void
policing_that_nobody_wants_is_not_sent(void **state)
{
    struct netdev *netdev = *state;
    uint64_t before[KDP_N_RTNL_CALLS], after[KDP_N_RTNL_CALLS];

    kdp_links_catch_up();
    kdp_rtnl_get_counts(before);
    for (int i = 0; i < 2; i++) {
        OK(netdev_set_policing(netdev, 0, 0, 0, 0));
    }
    kdp_rtnl_get_counts(after);
    assert_int_equal(after[KDP_RTNL_POLICING], before[KDP_RTNL_POLICING]);
}

/* The discipline has gone, so nothing is left of what could not be set. */
static void
policing_without_a_discipline_is_forgotten(void **state)
{
    struct netdev *netdev = *state;
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    uint64_t before[KDP_N_RTNL_CALLS], after[KDP_N_RTNL_CALLS];

    kdp_links_catch_up();
    kdp_rtnl_get_counts(before);
    for (int i = 0; i < 2; i++) {
        ovs_mutex_lock(&dev->up.mutex);
        dev->up.kbits_rate = i ? 0 : 1000;
        dev->up.kbits_burst = 1000;
        dev->up.kpkts_rate = i ? 1000 : 0;
        dev->up.kpkts_burst = 1000;
        dev->up.netdev_policing_error = EOPNOTSUPP;
        dev->up.cache_valid |= VALID_POLICING;
        ovs_mutex_unlock(&dev->up.mutex);

        OK(netdev_set_policing(netdev, 0, 0, 0, 0));
        ovs_mutex_lock(&dev->up.mutex);
        assert_int_equal(dev->up.kbits_rate, 0);
        assert_int_equal(dev->up.kbits_burst, 0);
        assert_int_equal(dev->up.kpkts_rate, 0);
        assert_int_equal(dev->up.kpkts_burst, 0);
        assert_int_equal(dev->up.netdev_policing_error, 0);
        assert_true(dev->up.cache_valid & VALID_POLICING);
        ovs_mutex_unlock(&dev->up.mutex);
    }
    kdp_rtnl_get_counts(after);
    assert_int_equal(after[KDP_RTNL_POLICING], before[KDP_RTNL_POLICING]);
}

/* While disciplines are not followed, nothing is taken to be as it was. */
static void
what_is_not_known_is_sent_again(void **state)
{
    struct netdev *netdev = *state;
    uint64_t calls;

    configure_first(netdev, "100000000");
    kdp_links_follow_qdiscs(false);
    for (int i = 0; i < 2; i++) {
        calls = n_calls();
        configure(netdev, "linux-htb", "100000000", RATE);
        assert_int_equal(n_calls() - calls, ALL);
    }
    kdp_links_follow_qdiscs(true);
    kdp_links_catch_up();
    CHANGES(ALL, configure(netdev, "linux-htb", "100000000", RATE));
    CHANGES(0, configure(netdev, "linux-htb", "100000000", RATE));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup_qos, teardown)
        TEST(what_is_the_same_is_not_sent),
        TEST(what_is_not_known_is_sent_again),
        TEST(what_failed_is_set_again),
        TEST(the_first_discipline_is_set_at_once),
        TEST(a_queue_that_went_is_set_again),
        TEST(what_others_changed_is_set_again),
        TEST(what_rates_depend_on_makes_them_sent_again),
        TEST(none_is_set_once),
        TEST(a_device_that_was_made_anew_has_none),
        TEST(policing_goes_with_its_discipline),
        TEST(policing_that_nobody_wants_is_not_sent),
        TEST(policing_without_a_discipline_is_forgotten),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
