/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1 and L4: network devices as Open vSwitch sees them, on the
 * links of a namespace of the test. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_sched.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp-packet.h"
#include "dpif.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "if-notifier.h"
#include "netdev-linux/links.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs-thread.h"
#include "ovs/compat-netdev.h"
#include "packets.h"
#include "netdev-linux/route-table-kdp.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/driver.h"
#include "route-table.h"
#include "sset.h"
#include "timeval.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

static const struct eth_addr mac = ETH_ADDR_C(02,00,00,00,12,34);

static void
changes_of_others_arrive(void **state)
{
    struct netdev *netdev = *state;
    uint64_t seq;

    assert_int_equal(netdev_get_ifindex(netdev), A);
    assert_int_equal(mtu_of(netdev), 1500);
    assert_true(flags_of(netdev) & NETDEV_UP);
    unit_wait_until(carrier_is(netdev, true));

    seq = netdev_get_change_seq(netdev);
    OK(unit_link_set_mtu(own, A, 1300));
    OK(unit_link_set_hwaddr(own, A, mac.ea));
    netdev_run();
    assert_true(netdev_get_change_seq(netdev) != seq);
    assert_int_equal(mtu_of(netdev), 1300);
    assert_true(has_mac(netdev, mac));

    OK(unit_link_set_up(own, B, false));
    unit_wait_until(carrier_is(netdev, false));
    assert_true(flags_of(netdev) & NETDEV_UP);
    OK(unit_link_set_up(own, A, false));
    netdev_run();
    assert_false(flags_of(netdev) & NETDEV_UP);
}

static bool
carrier_resets_are(struct netdev *netdev, long long int expected)
{
    netdev_run();
    return netdev_get_carrier_resets(netdev) == expected;
}

/* Losses and returns of the carrier count.  The kernel tells of several at
 * once if they come fast, and how many there were. */
static void
carrier_resets_are_counted(void **state)
{
    struct netdev *netdev = *state;
    long long int resets;

    assert_true(netdev_get_carrier(netdev));
    resets = netdev_get_carrier_resets(netdev);
    OK(unit_link_set_up(own, B, false));
    unit_wait_until(carrier_resets_are(netdev, resets + 1));
    assert_false(netdev_get_carrier(netdev));
    OK(unit_link_set_up(own, B, true));
    unit_wait_until(carrier_resets_are(netdev, resets + 2));
    assert_true(netdev_get_carrier(netdev));
    for (int i = 0; i < 3; i++) {
        OK(unit_link_set_up(own, B, false));
        OK(unit_link_set_up(own, B, true));
    }
    unit_wait_until(carrier_resets_are(netdev, resets + 8));

    /* Nothing else counts. */
    OK(unit_link_set_mtu(own, A, 1300));
    netdev_run();
    assert_true(carrier_resets_are(netdev, resets + 8));

    /* A device that goes loses its carrier.  The next one of that name goes on
     * from there. */
    OK(unit_link_del(own, A));
    netdev_run();
    assert_int_equal(netdev_get_ifindex(netdev), -ENODEV);
    assert_true(carrier_resets_are(netdev, resets + 9));
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    OK(unit_link_set_up(own, A, true));
    OK(unit_link_set_up(own, B, true));
    unit_wait_until(carrier_is(netdev, true));
    assert_true(netdev_get_carrier_resets(netdev) > resets + 9);
}

/* Tells the link table that link "a" had 'n_down' more losses and 'n_up' more
 * returns of its carrier, and has one as before. */
static void
tell_carrier_changes(unsigned int n_down, unsigned int n_up)
{
    struct link_info link;

    assert_true(link_table_find(kdp_links_table(), LINK_NSID_LOCAL, A, &link));

    const struct link_view view = {
        .ifindex = A,
        .name = "a",
        .flags = link.flags,
        .has = LINK_HAS_CARRIER_COUNT,
        .carrier_up = link.carrier_up + n_up,
        .carrier_down = link.carrier_down + n_down,
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };
    link_table_update(kdp_links_table(), LINK_NSID_LOCAL, &view);
}

/* The carrier went and came before the kernel told of either. */
static void
carrier_resets_between_events_are_counted(void **state)
{
    struct netdev *netdev = *state;
    long long int resets = netdev_get_carrier_resets(netdev);

    tell_carrier_changes(1, 1);
    assert_int_equal(netdev_get_carrier_resets(netdev), resets + 2);
    tell_carrier_changes(2, 2);
    assert_int_equal(netdev_get_carrier_resets(netdev), resets + 6);
    tell_carrier_changes(0, 0);
    assert_int_equal(netdev_get_carrier_resets(netdev), resets + 6);

    /* The bridge is told of each kind. */
    for (unsigned int i = 0; i < 2; i++) {
        uint64_t seq = netdev_get_change_seq(netdev);

        tell_carrier_changes(!i, i);
        netdev_run();
        assert_true(netdev_get_change_seq(netdev) != seq);
    }
}

static void
own_writes_are_read_back(void **state)
{
    struct netdev *netdev = *state;

    OK(netdev_set_mtu(netdev, 1400));
    assert_int_equal(mtu_of(netdev), 1400);
    OK(netdev_set_etheraddr(netdev, mac));
    assert_true(has_mac(netdev, mac));
    OK(netdev_turn_flags_off(netdev, NETDEV_UP, NULL));
    assert_false(flags_of(netdev) & NETDEV_UP);
    OK(netdev_turn_flags_on(netdev, NETDEV_UP | NETDEV_PROMISC, NULL));
    assert_true(flags_of(netdev) & NETDEV_UP);
    assert_true(flags_of(netdev) & NETDEV_PROMISC);

    /* What others changed before, and nobody has seen yet, is no excuse. */
    OK(unit_link_set_mtu(own, A, 1300));
    OK(netdev_set_mtu(netdev, 1350));
    assert_int_equal(mtu_of(netdev), 1350);
}

/* Tells the link table that "a" is of type 'arp_type', with a hardware address
 * of 'len' bytes. */
static void
tell_hwaddr(uint16_t arp_type, const uint8_t *hwaddr, size_t len)
{
    const struct link_view view = {
        .ifindex = A,
        .name = "a",
        .arp_type = arp_type,
        .hwaddr = hwaddr,
        .hwaddr_len = len,
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };

    link_table_update(kdp_links_table(), LINK_NSID_LOCAL, &view);
}

/* As Open vSwitch does, for Ethernet and for links without a type. */
static void
hardware_addresses_of_other_types_are_none(void **state)
{
    static const uint8_t hwaddr[20] = {
        2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    };
    static const struct {
        uint16_t arp_type;
        size_t len;
        int error;
        struct eth_addr mac;
    } tests[] = {
        { ARPHRD_ETHER, 6, 0, ETH_ADDR_C(02,03,04,05,06,07) },
        { ARPHRD_LOOPBACK, 6, EINVAL, ETH_ADDR_C(00,00,00,00,00,00) },
        { ARPHRD_NONE, 6, 0, ETH_ADDR_C(02,03,04,05,06,07) },
        { ARPHRD_SIT, 4, EINVAL, ETH_ADDR_C(00,00,00,00,00,00) },
        { ARPHRD_NONE, 0, 0, ETH_ADDR_C(00,00,00,00,00,00) },
        { ARPHRD_INFINIBAND, 20, EINVAL, ETH_ADDR_C(00,00,00,00,00,00) },
        { ARPHRD_ETHER, 4, 0, ETH_ADDR_C(02,03,04,05,00,00) },
        { ARPHRD_ETHER, 7, EINVAL, ETH_ADDR_C(00,00,00,00,00,00) },
        { ARPHRD_NONE, 20, EINVAL, ETH_ADDR_C(00,00,00,00,00,00) },
    };
    struct netdev *netdev = *state;

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        struct eth_addr got;

        tell_hwaddr(tests[i].arp_type, hwaddr, tests[i].len);
        assert_int_equal(netdev_get_etheraddr(netdev, &got), tests[i].error);
        if (!tests[i].error) {
            assert_true(eth_addr_equals(got, tests[i].mac));
        }
    }
}

static void
a_link_that_is_made_anew_is_another_one(void **state)
{
    struct netdev *netdev = *state;
    struct eth_addr got;
    int mtu;

    OK(unit_link_del(own, A));
    netdev_run();
    assert_int_equal(netdev_get_ifindex(netdev), -ENODEV);
    assert_int_equal(netdev_get_mtu(netdev, &mtu), ENODEV);
    assert_int_equal(netdev_get_etheraddr(netdev, &got), ENODEV);
    assert_false(netdev_get_carrier(netdev));

    OK(unit_link_add_veth(own, A + 10, "a", own, B, "b"));
    OK(unit_link_set_mtu(own, A + 10, 1280));
    netdev_run();
    assert_int_equal(netdev_get_ifindex(netdev), A + 10);
    assert_int_equal(mtu_of(netdev), 1280);
    OK(unit_link_del(own, A + 10));
}

/* As when the event that tells that it is down was lost. */
static void
a_link_that_goes_while_it_has_a_carrier_loses_it(void **state)
{
    struct netdev *netdev = *state;
    long long int resets = netdev_get_carrier_resets(netdev);

    assert_true(flags_of(netdev) & NETDEV_UP);
    assert_true(netdev_get_carrier(netdev));
    assert_true(link_table_remove(kdp_links_table(), LINK_NSID_LOCAL, A));
    assert_int_equal(flags_of(netdev), 0);
    assert_false(netdev_get_carrier(netdev));
    assert_int_equal(netdev_get_carrier_resets(netdev), resets + 1);
}

static void
a_name_may_come_to_mean_another_link(void **state)
{
    struct netdev *netdev = *state, *b;

    OK(netdev_open("b", "system", &b));
    OK(unit_link_set_up(own, A, false));
    OK(unit_link_set_up(own, B, false));
    OK(unit_link_set_name(own, A, "c"));
    OK(unit_link_set_name(own, B, "a"));
    OK(unit_link_set_name(own, A, "b"));
    netdev_run();
    assert_int_equal(netdev_get_ifindex(netdev), B);
    assert_int_equal(netdev_get_ifindex(b), A);
    netdev_close(b);
}

static void
a_device_has_its_alternative_names(void **state OVS_UNUSED)
{
    struct netdev *netdev;

    OK(unit_link_add_alt_name(own, A, "another"));
    netdev_run();
    OK(netdev_open("another", "system", &netdev));
    assert_int_equal(netdev_get_ifindex(netdev), A);
    OK(unit_link_set_mtu(own, A, 1300));
    netdev_run();
    assert_int_equal(mtu_of(netdev), 1300);
    OK(unit_link_del_alt_name(own, A, "another"));
    netdev_run();
    assert_int_equal(netdev_get_ifindex(netdev), -ENODEV);
    netdev_close(netdev);
}

/* Most requests have room for 15 characters. */
static void
a_device_is_not_opened_by_a_name_that_is_cut_short(void **state OVS_UNUSED)
{
    static const char name[] = "fifteen-letters-and-more";
    struct netdev *netdev;

    OK(unit_link_add(own, "ifb", B + 1, "fifteen-letters"));
    OK(unit_link_add_alt_name(own, A, name));
    netdev_run();
    assert_int_equal(netdev_open(name, "system", &netdev), ENAMETOOLONG);
    assert_null(netdev);
    OK(netdev_open("fifteen-letters", "system", &netdev));
    assert_int_equal(netdev_get_ifindex(netdev), B + 1);
    netdev_close(netdev);
    OK(unit_link_del(own, B + 1));
}

/* One that was made a moment ago, whose event nobody has taken. */
static void
a_new_link_can_be_opened_at_once(void **state OVS_UNUSED)
{
    struct netdev *netdev;

    OK(unit_link_add(own, "ifb", B + 1, "new"));
    OK(netdev_open("new", "system", &netdev));
    assert_int_equal(netdev_get_ifindex(netdev), B + 1);
    netdev_close(netdev);
    OK(unit_link_del(own, B + 1));
    netdev_run();
    assert_int_equal(netdev_open("new", "system", &netdev), ENODEV);
}

/* What a thread finds that opens device "a". */
struct finding {
    int error, ifindex, mtu;
};

static void *
find_a(void *finding_)
{
    struct finding *finding = finding_;
    struct netdev *netdev;

    finding->error = netdev_open("a", "system", &netdev);
    if (!finding->error) {
        finding->ifindex = netdev_get_ifindex(netdev);
        unit_check(!netdev_get_mtu(netdev, &finding->mtu));
        netdev_close(netdev);
    }
    return NULL;
}

static struct finding
find_a_elsewhere(void)
{
    struct finding finding;

    xpthread_join(ovs_thread_create("finder", find_a, &finding), NULL);
    return finding;
}

/* The events that tell so wait, and nobody takes them meanwhile. */
static void
a_device_is_not_opened_as_what_had_its_name(void **state)
{
    struct finding finding;
    struct netdev *netdev;

    netdev_close(*state);
    *state = NULL;
    OK(unit_link_del(own, A));
    assert_int_equal(netdev_open("a", "system", &netdev), ENODEV);
    assert_int_equal(find_a_elsewhere().error, ENODEV);

    OK(unit_link_add_veth(own, A + 10, "a", own, B, "b"));
    OK(unit_link_set_mtu(own, A + 10, 1280));
    finding = find_a_elsewhere();
    OK(finding.error);
    assert_int_equal(finding.ifindex, A + 10);
    assert_int_equal(finding.mtu, 1280);
    OK(netdev_open("a", "system", &netdev));
    assert_int_equal(netdev_get_ifindex(netdev), A + 10);
    assert_int_equal(mtu_of(netdev), 1280);
    netdev_close(netdev);

    /* Renamed. */
    OK(unit_link_set_name(own, A + 10, "c"));
    assert_int_equal(netdev_open("a", "system", &netdev), ENODEV);
    OK(unit_link_set_name(own, B, "a"));
    OK(netdev_open("a", "system", &netdev));
    assert_int_equal(netdev_get_ifindex(netdev), B);
    netdev_close(netdev);
    OK(unit_link_del(own, B));
}

/* A port of a bridge is opened before the datapath has made it. */
static void
an_internal_device_may_come_later(void **state OVS_UNUSED)
{
    uint64_t before[KDP_N_RTNL_CALLS], after[KDP_N_RTNL_CALLS];
    struct netdev *netdev;

    /* While it is absent, the daemon requests nothing. */
    OK(netdev_open("later", "internal", &netdev));
    kdp_rtnl_get_counts(before);
    assert_true(netdev_get_ifindex(netdev) < 0);
    assert_int_equal(flags_of(netdev), 0);
    kdp_rtnl_get_counts(after);
    assert_int_equal(after[KDP_RTNL_UNKNOWN], before[KDP_RTNL_UNKNOWN]);

    OK(unit_link_add(own, "ifb", B + 1, "later"));
    OK(unit_link_set_mtu(own, B + 1, 1300));
    netdev_run();
    assert_int_equal(netdev_get_ifindex(netdev), B + 1);
    assert_int_equal(mtu_of(netdev), 1300);
    OK(netdev_turn_flags_on(netdev, NETDEV_UP, NULL));
    assert_true(flags_of(netdev) & NETDEV_UP);
    OK(unit_link_del(own, B + 1));
    netdev_run();
    assert_true(netdev_get_ifindex(netdev) < 0);
    netdev_close(netdev);
}

static void
a_tap_device_is_there_as_long_as_it_is_open(void **state OVS_UNUSED)
{
    struct netdev_stats stats;
    struct netdev *netdev;
    int fd = open("/dev/net/tun", O_RDWR);

    /* The file may be there without the driver. */
    if (fd < 0) {
        print_message("no tap devices here\n");
        skip();
    }
    close(fd);
    OK(netdev_open("tap0", "tap", &netdev));
    assert_true(netdev_get_ifindex(netdev) > 0);
    assert_int_equal(netdev_get_ifindex(netdev),
                     unit_link_index(own, "tap0"));
    OK(netdev_set_mtu(netdev, 1400));
    assert_int_equal(mtu_of(netdev), 1400);
    OK(netdev_set_etheraddr(netdev, mac));
    assert_true(has_mac(netdev, mac));
    OK(netdev_turn_flags_on(netdev, NETDEV_UP, NULL));
    assert_true(flags_of(netdev) & NETDEV_UP);
    OK(netdev_get_stats(netdev, &stats));
    assert_int_equal(stats.tx_packets, 0);

    /* Another one of the same name, made before anybody has heard that the
     * first has gone. */
    int ifindex = netdev_get_ifindex(netdev);
    netdev_close(netdev);
    assert_int_equal(unit_link_index(own, "tap0"), 0);
    OK(netdev_open("tap0", "tap", &netdev));
    assert_true(netdev_get_ifindex(netdev) > ifindex);
    assert_int_equal(mtu_of(netdev), 1500);
    netdev_close(netdev);
    netdev_run();
    assert_int_equal(unit_link_index(own, "tap0"), 0);
}

/* Sends a packet of zeros. */
static void
send_packet(struct netdev *netdev)
{
    struct dp_packet *packet = dp_packet_new(ETH_TOTAL_MIN);
    struct dp_packet_batch batch;

    dp_packet_put_zeros(packet, ETH_TOTAL_MIN);
    dp_packet_batch_init_packet(&batch, packet);
    OK(netdev_send(netdev, 0, &batch, false));
}

/* Whether it is up there is not known, so packets are sent. */
static void
a_tap_device_that_moved_away_is_sent_to(void **state OVS_UNUSED)
{
    struct netdev_stats stats;
    struct netdev *netdev;
    int fd = open("/dev/net/tun", O_RDWR);
    int ifindex;

    if (fd < 0) {
        print_message("no tap devices here\n");
        skip();
    }
    close(fd);
    OK(netdev_open("tap0", "tap", &netdev));
    ifindex = netdev_get_ifindex(netdev);
    send_packet(netdev);
    OK(netdev_get_stats(netdev, &stats));
    assert_int_equal(stats.tx_packets, 0);
    assert_int_equal(stats.tx_dropped, 1);

    OK(unit_link_set_up(own, ifindex, true));
    assert_true(link_table_remove(kdp_links_table(), LINK_NSID_LOCAL,
                                  ifindex));
    assert_int_equal(netdev_get_ifindex(netdev), -ENODEV);
    send_packet(netdev);
    netdev_run();
    OK(netdev_get_stats(netdev, &stats));
    assert_int_equal(stats.tx_packets, 1);
    assert_int_equal(stats.tx_dropped, 1);
    netdev_close(netdev);
    netdev_run();
}

static void
addresses_are_those_of_the_link(void **state)
{
    struct in6_addr *addrs = NULL, *masks = NULL;
    struct netdev *netdev = *state;
    int n;

    OK(unit_ip_add(own, A, "10.0.0.1/24"));
    netdev_run();
    OK(netdev_get_addr_list(netdev, &addrs, &masks, &n));
    assert_true(n >= 1);
    assert_true(in6_addr_get_mapped_ipv4(&addrs[0]) == htonl(0x0a000001));
    free(addrs);
    free(masks);
    OK(unit_ip_del(own, A, "10.0.0.1/24"));
    OK(unit_link_set_up(own, A, false));
    netdev_run();
    assert_int_equal(netdev_get_addr_list(netdev, &addrs, &masks, &n),
                     EADDRNOTAVAIL);
}

static bool
has_ingress(void)
{
    netdev_run();
    return link_qdiscs_has_ingress(kdp_links_qdiscs(), A);
}

static void
a_foreign_ingress_discipline_is_removed(void **state)
{
    struct netdev *netdev = *state;

    OK(netdev_set_policing(netdev, 0, 0, 0, 0));
    OK(unit_qdisc_add(own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_true(has_ingress());
    netdev_close(netdev);
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
    OK(netdev_set_policing(netdev, 0, 0, 0, 0));
    assert_false(has_ingress());
}

/* Another program may add one to a device that has no policing. */
static void
a_foreign_ingress_discipline_stays_while_nothing_changes(void **state)
{
    struct netdev *netdev = *state;

    OK(netdev_set_policing(netdev, 0, 0, 0, 0));
    OK(unit_qdisc_add(own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_true(has_ingress());
    OK(netdev_set_policing(netdev, 0, 0, 0, 0));
    assert_true(has_ingress());
}

/* Threads that read, open and close devices. */
static atomic_bool stop;

static void *
reader(void *name)
{
    bool stopping;

    do {
        struct in6_addr *addrs, *masks;
        struct netdev_stats stats;
        enum netdev_flags flags;
        struct netdev *netdev;
        struct eth_addr ea;
        int mtu, n;

        if (!netdev_open(name, "system", &netdev)) {
            netdev_get_ifindex(netdev);
            netdev_get_mtu(netdev, &mtu);
            netdev_get_etheraddr(netdev, &ea);
            netdev_get_flags(netdev, &flags);
            netdev_get_carrier(netdev);
            netdev_get_carrier_resets(netdev);
            netdev_get_change_seq(netdev);
            netdev_get_stats(netdev, &stats);
            if (!netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
                free(addrs);
                free(masks);
            }
            netdev_close(netdev);
        }
        atomic_read(&stop, &stopping);
    } while (!stopping);
    return NULL;
}

static void
other_threads_may_read_while_links_change(void **state)
{
    static char *const names[] = { "a", "b", "c", "a" };
    pthread_t threads[ARRAY_SIZE(names)];
    struct netdev *netdev = *state;

    atomic_store(&stop, false);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        threads[i] = ovs_thread_create("reader", reader, names[i]);
    }
    for (int i = 0; i < 40; i++) {
        unit_link_del(own, A);
        unit_link_add_veth(own, A, "a", own, B, i % 2 ? "b" : "c");
        unit_link_set_mtu(own, A, 1300 + i);
        netdev_run();
        unit_link_set_up(own, A, true);
        unit_link_set_up(own, B, true);
        unit_ip_add(own, A, "10.0.0.1/24");
        netdev_run();
        assert_int_equal(mtu_of(netdev), 1300 + i);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        xpthread_join(threads[i], NULL);
    }
}

/* A subscriber that does what makes the table lose links. */
static void
meddle(const struct link_change *change, void *n_)
{
    unsigned int *n = n_;
    struct link_info link;

    if (!(*n)++) {
        unit_link_del(own, A);
    }
    assert_false(kdp_links_catch_up());
    assert_true(link_table_find(kdp_links_table(), change->link->nsid,
                                change->link->ifindex, &link));
}

static void
links_stay_while_subscribers_are_told(void **state OVS_UNUSED)
{
    struct link_table *table = kdp_links_table();
    struct link_subscription *sub;
    struct link_info link;
    unsigned int n = 0;

    assert_true(kdp_links_catch_up());
    sub = link_table_subscribe(table, LINK_NSID_LOCAL, LINK_CHANGE_ADDRS,
                               meddle, &n);

    /* The listener requests the addresses of all links. */
    link_table_set_pending(table, LINK_NSID_LOCAL);
    assert_true(kdp_links_catch_up());
    assert_true(n > 1);
    link_table_unsubscribe(sub);
    assert_true(kdp_links_catch_up());
    assert_false(link_table_find(table, LINK_NSID_LOCAL, A, &link));
}

static uint64_t
n_requests_for_features(void)
{
    uint64_t counts[KDP_N_RTNL_CALLS];

    kdp_rtnl_get_counts(counts);
    return counts[KDP_RTNL_FEATURES];
}

/* The bridge asks for the speed of each interface again and again.  Only the
 * first time it is a request, and that is counted. */
static void
speed_is_asked_for_once_until_it_changes(void **state)
{
    struct netdev *netdev = *state;
    enum netdev_features features;
    uint64_t before;
    uint32_t speed;
    bool duplex;

    /* What is known of veth devices would do. */
    netdev_kdp_driver_forget_veths();
    unit_wait_until(carrier_is(netdev, true));
    before = n_requests_for_features();
    for (int i = 0; i < 3; i++) {
        OK(ovs_compat_netdev_get_speed(netdev, &speed));
        assert_int_equal(speed, 10000);
        OK(ovs_compat_netdev_get_duplex(netdev, &duplex));
        assert_true(duplex);
        OK(netdev_get_features(netdev, &features, NULL, NULL, NULL));
    }
    assert_int_equal(n_requests_for_features() - before, 1);

    /* The driver of a veth says the same whatever its carrier does. */
    OK(unit_link_set_up(own, B, false));
    unit_wait_until(carrier_is(netdev, false));
    netdev_kdp_driver_forget_veths();
    before = n_requests_for_features();
    OK(ovs_compat_netdev_get_duplex(netdev, &duplex));
    OK(ovs_compat_netdev_get_speed(netdev, &speed));
    assert_int_equal(n_requests_for_features() - before, 0);
}

/* Of what is not there, nobody asks the kernel. */
static void
a_device_that_is_gone_has_no_speed(void **state)
{
    struct netdev *netdev = *state;
    uint64_t before;
    uint32_t speed;
    bool duplex;

    OK(unit_link_del(own, A));
    netdev_run();
    before = n_requests_for_features();
    assert_int_equal(ovs_compat_netdev_get_speed(netdev, &speed), ENODEV);
    assert_int_equal(speed, 0);
    assert_int_equal(ovs_compat_netdev_get_duplex(netdev, &duplex), ENODEV);
    assert_int_equal(n_requests_for_features() - before, 0);
}

/* Stock callbacks ask the kernel, some of them under RTNL. */
static void
what_links_tell_is_not_asked_for(void **state OVS_UNUSED)
{
    const struct netdev_class *const classes[][2] = {
        { &netdev_linux_class, &kdp_stock_netdev_linux_class },
        { &netdev_internal_class, &kdp_stock_netdev_internal_class },
        { &netdev_tap_class, &kdp_stock_netdev_tap_class },
    };

    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        const struct netdev_class *class = classes[i][0];
        const struct netdev_class *stock = classes[i][1];

#define OURS(CALLBACK) assert_true(class->CALLBACK != stock->CALLBACK)
#define OURS_IF_ANY(CALLBACK) \
        assert_true(!stock->CALLBACK || class->CALLBACK != stock->CALLBACK)
        OURS(wait);
        OURS(construct);
        OURS(destruct);
        OURS(get_etheraddr);
        OURS(set_etheraddr);
        OURS(get_mtu);
        OURS(set_mtu);
        OURS(get_ifindex);
        OURS(get_carrier);
        OURS(get_stats);
        OURS(set_miimon_interval);
        OURS(set_advertisements);
        OURS(set_policing);
        OURS(set_qos);
        OURS(set_queue);
        OURS(delete_queue);
        OURS(set_in4);
        OURS(get_addr_list);
        OURS(update_flags);
        OURS_IF_ANY(get_features);
        OURS_IF_ANY(get_block_id);
    }
    assert_true(netdev_linux_class.get_status
                != kdp_stock_netdev_linux_class.get_status);
}

/* Parts of a turn of the main loop, which are carried out and counted. */
#define COUNT_CALLS(NAME) \
    static unsigned int n_##NAME; \
    void __real_##NAME(void); \
    void __wrap_##NAME(void); \
    void \
    __wrap_##NAME(void) \
    { \
        n_##NAME++; \
        __real_##NAME(); \
    }

COUNT_CALLS(kdp_links_run)
COUNT_CALLS(netdev_kdp_state_run)
COUNT_CALLS(rtnl_worker_run)
COUNT_CALLS(netdev_kdp_speed_run)
COUNT_CALLS(netdev_kdp_mii_run)
COUNT_CALLS(netdev_kdp_stats_run)
COUNT_CALLS(kdp_links_wait)
COUNT_CALLS(rtnl_worker_wait)
COUNT_CALLS(netdev_kdp_speed_wait)
COUNT_CALLS(netdev_kdp_mii_wait)

/* Not once for each class. */
static void
a_turn_runs_and_waits_for_each_part_once(void **state OVS_UNUSED)
{
    static const struct {
        unsigned int *n;
        bool runs;
    } parts[] = {
        { &n_kdp_links_run, true },
        { &n_netdev_kdp_state_run, true },
        { &n_rtnl_worker_run, true },
        { &n_netdev_kdp_speed_run, true },
        { &n_netdev_kdp_mii_run, true },
        { &n_netdev_kdp_stats_run, true },
        { &n_kdp_links_wait, false },
        { &n_rtnl_worker_wait, false },
        { &n_netdev_kdp_speed_wait, false },
        { &n_netdev_kdp_mii_wait, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        *parts[i].n = 0;
    }
    netdev_run();
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        assert_int_equal(*parts[i].n, parts[i].runs);
        *parts[i].n = 0;
    }
    netdev_wait();
    poll_immediate_wake();
    poll_block();
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        assert_int_equal(*parts[i].n, !parts[i].runs);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(changes_of_others_arrive),
        cmocka_unit_test_setup_teardown(carrier_resets_are_counted,
                                        setup_quiet, teardown),
        cmocka_unit_test_setup_teardown(
            carrier_resets_between_events_are_counted, setup_quiet, teardown),
        TEST(own_writes_are_read_back),
        cmocka_unit_test_setup_teardown(
            hardware_addresses_of_other_types_are_none, setup_quiet, teardown),
        TEST(a_link_that_is_made_anew_is_another_one),
        cmocka_unit_test_setup_teardown(
            a_link_that_goes_while_it_has_a_carrier_loses_it, setup_quiet,
            teardown),
        TEST(a_name_may_come_to_mean_another_link),
        TEST(a_device_has_its_alternative_names),
        TEST(a_device_is_not_opened_by_a_name_that_is_cut_short),
        TEST(a_new_link_can_be_opened_at_once),
        TEST(a_device_is_not_opened_as_what_had_its_name),
        TEST(an_internal_device_may_come_later),
        TEST(a_tap_device_is_there_as_long_as_it_is_open),
        TEST(a_tap_device_that_moved_away_is_sent_to),
        TEST(addresses_are_those_of_the_link),
        TEST(a_foreign_ingress_discipline_is_removed),
        TEST(a_foreign_ingress_discipline_stays_while_nothing_changes),
        TEST(what_links_tell_is_not_asked_for),
        TEST(speed_is_asked_for_once_until_it_changes),
        TEST(a_device_that_is_gone_has_no_speed),
        TEST(a_turn_runs_and_waits_for_each_part_once),
        TEST(links_stay_while_subscribers_are_told),
        TEST(other_threads_may_read_while_links_change),
    };

    netdev_fixture_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
