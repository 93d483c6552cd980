/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L7: the bridge is told when a link has another speed than the one
 * that it computed with, and when its local port went down; and of nothing
 * else that happens to a carrier. */

#include <config.h>
#include "netdev-linux/speed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include "if-notifier.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/links.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-provider.h"
#include "nl/nl-mcast.h"
#include "ovs/compat-netdev.h"
#include "smap.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/netns.h"
#include "unit/netdev-linux/netdev-fixture.h"
#include "util.h"

/* What a driver says that does not know the speed.  Open vSwitch shifts half
 * of it as a signed number, which the undefined behaviour sanitizer
 * reports. */
#ifdef __SANITIZE_ADDRESS__
#define NO_SPEED 0
#else
#define NO_SPEED ((uint32_t) SPEED_UNKNOWN)
#endif

/* Device "c", whose driver knows no speeds. */
#define C (B + 1)

/* The speed of "c" by ethtool, in Mbit/s. */
static uint32_t speed;

int __wrap_af_inet_ioctl(unsigned long int command, const void *arg);
int __real_af_inet_ioctl(unsigned long int command, const void *arg);
int
__wrap_af_inet_ioctl(unsigned long int command, const void *arg)
{
    const struct ifreq *ifr = arg;
    struct ethtool_cmd *cmd;

    if (command != SIOCETHTOOL || strcmp(ifr->ifr_name, "c")) {
        return __real_af_inet_ioctl(command, arg);
    }
    cmd = (struct ethtool_cmd *) ifr->ifr_data;
    if (cmd->cmd != ETHTOOL_GSET) {
        return EOPNOTSUPP;
    }
    memset(cmd, 0, sizeof *cmd);
    cmd->duplex = DUPLEX_FULL;
    ethtool_cmd_speed_set(cmd, speed ? speed : NO_SPEED);
    return 0;
}

/* What the kernel announces next to those that listen to ethtool: a message,
 * or a loss. */
static const struct nlmsghdr *announcement;
static int announcement_error;

static bool
is_generic(const struct nl_mcast *mcast)
{
    socklen_t len = sizeof(int);
    int protocol;

    OK(getsockopt(nl_mcast_fd(mcast), SOL_SOCKET, SO_PROTOCOL, &protocol,
                  &len));
    return protocol == NETLINK_GENERIC;
}

int __wrap_nl_mcast_recv_all(struct nl_mcast *, unsigned int *budget,
                             nl_mcast_func *, void *aux);
int __real_nl_mcast_recv_all(struct nl_mcast *, unsigned int *budget,
                             nl_mcast_func *, void *aux);
int
__wrap_nl_mcast_recv_all(struct nl_mcast *mcast, unsigned int *budget,
                         nl_mcast_func *cb, void *aux)
{
    if (is_generic(mcast) && (announcement || announcement_error)) {
        const struct nlmsghdr *nlh = announcement;
        int error = announcement_error;

        announcement = NULL;
        announcement_error = 0;
        if (nlh) {
            cb(nlh, NL_NSID_NONE, aux);
        }
        return error ? error : EAGAIN;
    }
    return __real_nl_mcast_recv_all(mcast, budget, cb, aux);
}

/* What the bridge asks whenever a device has changed, in the same turn of the
 * main loop in which it configures itself, and in others. */
static void
refresh(const struct netdev *netdev)
{
    uint32_t current;

    OK(ovs_compat_netdev_get_speed(netdev, &current));
}

static void
configure(struct netdev *netdev)
{
    OK(netdev_set_qos(netdev, NULL, NULL));
    refresh(netdev);
    netdev_run();
}

static unsigned int n_notices;

static void
notice(void *aux OVS_UNUSED)
{
    n_notices++;
}

/* Runs the main loop.  Returns how often the bridge was told to configure
 * itself, which it does. */
static unsigned int
count_notices(struct netdev *netdev)
{
    unsigned int before = n_notices;

    for (int i = 0; i < 20; i++) {
        unsigned int told = n_notices;

        netdev_run();
        if_notifier_run();
        if (n_notices != told) {
            configure(netdev);
        }
        refresh(netdev);
        unit_sleep_us(IF_NOTIFIER_INTERVAL * 1000 / 10);
    }
    return n_notices - before;
}

static struct if_notifier *notifier;

static int
setup_speed(void **state)
{
    struct netdev *netdev;

    OK(unit_link_add(own, "ifb", C, "c"));
    OK(unit_link_set_up(own, C, true));
    netdev_run();
    speed = 100;
    OK(netdev_open("c", "system", &netdev));
    notifier = if_notifier_create(notice, NULL);
    count_notices(netdev);
    *state = netdev;
    return 0;
}

static int
teardown_speed(void **state)
{
    if_notifier_destroy(notifier);
    netdev_close(*state);
    OK(unit_link_del(own, C));
    netdev_run();
    return 0;
}

/* The carrier goes; then the speed is 'without'.  It comes back with
 * 'with'. */
static unsigned int
count_notices_of_flap(struct netdev *netdev, uint32_t without, uint32_t with)
{
    unsigned int n;

    speed = without;
    OK(unit_link_set_up(own, C, false));
    n = count_notices(netdev);
    speed = with;
    OK(unit_link_set_up(own, C, true));
    return n + count_notices(netdev);
}

static void
the_bridge_is_told_of_a_speed_that_it_has_used(void **state)
{
    struct netdev *netdev = *state;

    configure(netdev);
    assert_int_equal(count_notices(netdev), 0);
    assert_int_equal(count_notices_of_flap(netdev, 100, 10000), 1);
    assert_int_equal(count_notices_of_flap(netdev, 10000, 1000), 1);

    /* It comes back as it was, whatever the driver says meanwhile. */
    assert_int_equal(count_notices_of_flap(netdev, 1000, 1000), 0);
    assert_int_equal(count_notices_of_flap(netdev, 0, 1000), 0);
    assert_int_equal(count_notices_of_flap(netdev, 10, 1000), 0);

    /* It may be unknown when it comes. */
    assert_int_equal(count_notices_of_flap(netdev, 0, 0), 1);
    assert_int_equal(count_notices_of_flap(netdev, 0, 0), 0);
    assert_int_equal(count_notices_of_flap(netdev, 0, 1000), 1);
}

static void
a_speed_that_was_never_used_is_no_reason(void **state)
{
    struct netdev *netdev = *state;

    assert_int_equal(count_notices_of_flap(netdev, 100, 10000), 0);
}

/* The bridge configures itself for another reason, while the device is without
 * a carrier. */
static void
a_bridge_that_had_no_speed_is_told_of_it(void **state)
{
    struct netdev *netdev = *state;

    configure(netdev);
    for (int i = 0; i < 2; i++) {
        speed = 0;
        OK(unit_link_set_up(own, C, false));
        netdev_run();
        configure(netdev);
        configure(netdev);
        assert_int_equal(count_notices(netdev), 0);
        speed = 100;
        OK(unit_link_set_up(own, C, true));
        assert_int_equal(count_notices(netdev), 1);
    }

    /* So is one that started then. */
    netdev_close(netdev);
    netdev_run();
    speed = 0;
    OK(unit_link_set_up(own, C, false));
    netdev_run();
    OK(netdev_open("c", "system", &netdev));
    *state = netdev;
    configure(netdev);
    speed = 100;
    OK(unit_link_set_up(own, C, true));
    assert_int_equal(count_notices(netdev), 1);
}

/* The driver is asked in the middle of a configuration, with another answer
 * than before. */
static void
a_bridge_that_used_two_speeds_is_told(void **state)
{
    struct netdev *netdev = *state;

    configure(netdev);
    OK(unit_link_set_up(own, C, false));
    netdev_run();
    OK(netdev_set_qos(netdev, NULL, NULL));
    speed = 0;
    refresh(netdev);
    netdev_run();
    speed = 100;
    OK(unit_link_set_up(own, C, true));
    assert_int_equal(count_notices(netdev), 1);
}

/* Has the kernel announce 'cmd' with 'type' as the type of the attribute that
 * says that link 'ifindex' is meant, cut to 'len' bytes if that is not 0. */
static unsigned int
count_notices_of(struct netdev *netdev, uint8_t cmd, uint16_t type,
                 uint32_t ifindex, uint32_t len)
{
    uint64_t buf[32];
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *genl;
    struct nlattr *nest;

    nlh->nlmsg_type = GENL_MIN_ID + 1;
    genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = cmd;
    nest = mnl_attr_nest_start(nlh, ETHTOOL_A_LINKMODES_HEADER);
    mnl_attr_put_u32(nlh, type, ifindex);
    mnl_attr_nest_end(nlh, nest);
    if (len) {
        nlh->nlmsg_len = len;
    }
    announcement = nlh;
    return count_notices(netdev);
}

#define LINKMODES ETHTOOL_MSG_LINKMODES_NTF
#define DEV_INDEX ETHTOOL_A_HEADER_DEV_INDEX

static void
speeds_that_ethtool_sets_are_followed(void **state)
{
    struct netdev *netdev = *state;

    configure(netdev);
    speed = 10000;
    assert_int_equal(count_notices(netdev), 0);
    assert_int_equal(count_notices_of(netdev, ETHTOOL_MSG_FEATURES_NTF,
                                      DEV_INDEX, C, 0), 0);
    assert_int_equal(count_notices_of(netdev, LINKMODES, DEV_INDEX, A, 0), 0);
    for (uint32_t len = NLMSG_HDRLEN; len < NLMSG_HDRLEN + 16; len++) {
        assert_int_equal(count_notices_of(netdev, LINKMODES, DEV_INDEX, C,
                                          len), 0);
    }
    assert_int_equal(count_notices_of(netdev, LINKMODES, DEV_INDEX, C, 0), 1);
    assert_int_equal(count_notices_of(netdev, LINKMODES, DEV_INDEX, C, 0), 0);

    /* Without the index, which is required. */
    speed = 1000;
    assert_int_equal(count_notices_of(netdev, LINKMODES,
                                      ETHTOOL_A_HEADER_FLAGS, C, 0), 0);

    /* After a loss all are asked. */
    announcement_error = ENOBUFS;
    assert_int_equal(count_notices(netdev), 1);
}

/* The port with an address that the bridge sets. */
static void
a_local_port_that_went_down_is_brought_up(void **state)
{
    struct in_addr mask = { htonl(0xffffff00) };
    struct in_addr ip = { htonl(0x0a010001) };
    struct netdev *netdev = *state;

    assert_int_equal(count_notices_of_flap(netdev, 100, 100), 0);
    OK(netdev_set_in4(netdev, ip, mask));
    assert_int_equal(count_notices(netdev), 0);
    assert_int_equal(count_notices_of_flap(netdev, 100, 100), 1);

    /* This bridge has not set it again. */
    assert_int_equal(count_notices_of_flap(netdev, 100, 100), 0);

    /* Down and up may be announced together. */
    OK(netdev_set_in4(netdev, ip, mask));
    OK(unit_link_set_up(own, C, false));
    OK(unit_link_set_up(own, C, true));
    assert_int_equal(count_notices(netdev), 1);
}

/* The first test: when it ends, ethtool is listened to. */
static void
what_cannot_be_opened_leaves_nothing(void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        unsigned int nth;
    } tests[] = {
        { UNIT_CALL_SOCKET, 1 }, { UNIT_CALL_SOCKET, 2 },
        { UNIT_CALL_BIND, 1 }, { UNIT_CALL_BIND, 2 },
        { UNIT_CALL_SENDTO, 1 },
    };
    size_t n_fds = unit_count_fds();

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        unit_plan_failures(tests[i].which, tests[i].nth, 1, EMFILE);
        netdev_kdp_speed_init();
        assert_int_equal(unit_n_failed(), 1);
        unit_plan_none();
        assert_int_equal(unit_count_fds(), n_fds);
        netdev_kdp_speed_run();
        netdev_kdp_speed_wait();
    }
    netdev_linux_kdp_init(false);
    assert_int_equal(unit_count_fds(), n_fds + 1);
}

UNIT_WRAP(ssize_t, mnl_socket_sendto, (const struct mnl_socket *sock,
                                       const void *buf, size_t len),
          (sock, buf, len), UNIT_CALL_SENDTO, -1)

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_opened_leaves_nothing),
#define TEST(NAME) \
        cmocka_unit_test_setup_teardown(NAME, setup_speed, teardown_speed)
        TEST(the_bridge_is_told_of_a_speed_that_it_has_used),
        TEST(a_speed_that_was_never_used_is_no_reason),
        TEST(a_bridge_that_had_no_speed_is_told_of_it),
        TEST(a_bridge_that_used_two_speeds_is_told),
        TEST(speeds_that_ethtool_sets_are_followed),
        TEST(a_local_port_that_went_down_is_brought_up),
    };

    unit_init(argv[0]);
    own = unit_ns_own();
    unit_check(!kdp_links_init());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
