/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1 and L2: what the links of the daemon and the providers of
 * network devices do when the system refuses. */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink.h"
#include "if-notifier.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "link/link-listener.h"
#include "link/link-table.h"
#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "netdev.h"
#include "netnsid.h"
#include "packets.h"
#include "socket-util.h"
#include "stats/proc-net-dev.h"
#include "tc.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/netns.h"
#include "util.h"

/* A veth, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001

#define OK(CALL) assert_int_equal(CALL, 0)

static unsigned int n_ethtool;  /* Requests. */

int __wrap_af_inet_ioctl(unsigned long int command, const void *arg);
int __real_af_inet_ioctl(unsigned long int command, const void *arg);
int
__wrap_af_inet_ioctl(unsigned long int command, const void *arg)
{
    n_ethtool += command == SIOCETHTOOL;
    return ((command == SIOCGIFINDEX || command == SIOCETHTOOL)
            && unit_fails(UNIT_CALL_IOCTL)
            ? errno : __real_af_inet_ioctl(command, arg));
}
UNIT_WRAP(int, get_stats_via_netlink, (const struct netdev *netdev,
                                       struct netdev_stats *stats),
          (netdev, stats), UNIT_CALL_STATS, errno)

UNIT_WRAP(ssize_t, mnl_socket_sendto, (const struct mnl_socket *sock,
                                       const void *buf, size_t len),
          (sock, buf, len), UNIT_CALL_SENDTO, -1)

int __wrap_open(const char *, int, ...);
int __real_open(const char *, int, ...);
int
__wrap_open(const char *path, int flags, ...)
{
    mode_t mode;
    va_list args;

    if (!strncmp(path, "/dev/net/", 9) && unit_fails(UNIT_CALL_OPEN)) {
        return -1;
    }
    va_start(args, flags);
    mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return __real_open(path, flags, mode);
}

/* What /proc/net/dev says on top of what the kernel does. */
static uint64_t more_rx_frame;

struct reader {
    proc_net_dev_func *cb;
    void *aux;
};

static void
take_dev(const struct proc_net_dev *dev_, void *reader_)
{
    const struct reader *reader = reader_;
    struct proc_net_dev dev = *dev_;

    dev.rx_frame += more_rx_frame;
    reader->cb(&dev, reader->aux);
}

int __wrap_proc_net_dev_read(const char *, proc_net_dev_func *, void *);
int __real_proc_net_dev_read(const char *, proc_net_dev_func *, void *);
int
__wrap_proc_net_dev_read(const char *path, proc_net_dev_func *cb, void *aux)
{
    struct reader reader = { cb, aux };

    return (unit_fails(UNIT_CALL_FOPEN) ? errno
            : __real_proc_net_dev_read(path, take_dev, &reader));
}

/* Bonds are made up: what is bound to which block is not told to the
 * kernel. */
static unsigned int n_bound, n_unbound;
static uint32_t bound_block;

int __wrap_tc_add_del_qdisc(int, bool, uint32_t, enum tc_qdisc_hook);
int
__wrap_tc_add_del_qdisc(int ifindex, bool add, uint32_t block_id,
                        enum tc_qdisc_hook hook)
{
    assert_int_equal(ifindex, B);
    assert_int_equal(hook, TC_INGRESS);
    *(add ? &n_bound : &n_unbound) += 1;
    if (add && unit_fails(UNIT_CALL_QDISC)) {
        return errno;
    }
    bound_block = add ? block_id : 0;
    return 0;
}

/* Namespace in which the datapath says that port "int0" is, or
 * LINK_NSID_NONE if it has no such port. */
static int32_t int0_nsid = LINK_NSID_NONE;

int __wrap_dpif_netlink_vport_get(const char *, struct dpif_netlink_vport *,
                                  struct ofpbuf **);
int __real_dpif_netlink_vport_get(const char *, struct dpif_netlink_vport *,
                                  struct ofpbuf **);
int
__wrap_dpif_netlink_vport_get(const char *name,
                              struct dpif_netlink_vport *vport,
                              struct ofpbuf **buf)
{
    if (strcmp(name, "int0")) {
        return __real_dpif_netlink_vport_get(name, vport, buf);
    } else if (int0_nsid == LINK_NSID_NONE) {
        return ENODEV;
    }
    dpif_netlink_vport_init(vport);
    if (int0_nsid == LINK_NSID_LOCAL) {
        netnsid_set_local(&vport->netnsid);
    } else {
        netnsid_set(&vport->netnsid, int0_nsid);
    }
    *buf = NULL;
    return 0;
}

/* Times that the list of addresses of all devices was thrown away. */
static unsigned int n_flushes;

void __wrap_netdev_get_addrs_list_flush(void);
void __real_netdev_get_addrs_list_flush(void);
void
__wrap_netdev_get_addrs_list_flush(void)
{
    n_flushes++;
    __real_netdev_get_addrs_list_flush();
}

static struct unit_ns *own;

static int
setup(void **state)
{
    struct netdev *netdev;

    unit_plan_none();

    /* The first request about ports opens devices, so it must not be made
     * while one is locked.  The daemon makes it to find its datapaths. */
    dpif_netlink_vport_get("lo", NULL, NULL);
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    OK(unit_link_set_up(own, A, true));
    OK(unit_link_set_up(own, B, true));
    netdev_run();
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;
    return 0;
}

static int
teardown(void **state)
{
    unit_plan_none();
    more_rx_frame = 0;
    int0_nsid = LINK_NSID_NONE;
    netdev_close(*state);
    unit_link_del(own, A);
    netdev_run();
    assert_null(netdev_from_name("a"));
    return 0;
}

static void
never_told(void *aux OVS_UNUSED)
{
    fail();
}

/* The first test: when it ends, links are listened to. */
static void
a_listener_that_cannot_be_opened_leaves_nothing(void **state OVS_UNUSED)
{
    static const struct {
        enum unit_call which;
        unsigned int nth;
    } tests[] = {
        { UNIT_CALL_SOCKET, 1 }, { UNIT_CALL_SOCKET, 2 },
        { UNIT_CALL_SOCKET, 3 },
        { UNIT_CALL_BIND, 1 }, { UNIT_CALL_BIND, 2 }, { UNIT_CALL_BIND, 3 },

        /* Two in a row fail, the eighth of which is to listen to other
         * namespaces: that is not vital. */
        { UNIT_CALL_MNL_SETSOCKOPT, 1 }, { UNIT_CALL_MNL_SETSOCKOPT, 2 },
        { UNIT_CALL_MNL_SETSOCKOPT, 3 },
        { UNIT_CALL_MNL_SETSOCKOPT, 4 }, { UNIT_CALL_MNL_SETSOCKOPT, 5 },
        { UNIT_CALL_MNL_SETSOCKOPT, 6 }, { UNIT_CALL_MNL_SETSOCKOPT, 7 },
        { UNIT_CALL_MNL_SETSOCKOPT, 8 }, { UNIT_CALL_MNL_SETSOCKOPT, 9 },

        /* The size of the buffer, and the filter. */
        { UNIT_CALL_SETSOCKOPT, 2 },
    };
    size_t n_fds = unit_count_fds();

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        /* Without the privilege to exceed the system's limit on the size of
         * the buffer, that is asked for twice. */
        unit_plan_failures(tests[i].which, tests[i].nth, 2, EMFILE);
        assert_int_equal(kdp_links_init(), EMFILE);
        assert_true(unit_n_failed() > 0);
        unit_plan_none();
        assert_int_equal(unit_count_fds(), n_fds);
        assert_false(kdp_links_enabled());
        assert_false(kdp_links_is_main());
        assert_false(kdp_links_catch_up());
        assert_true(kdp_links_are_idle());
        assert_null(kdp_links_table());
        assert_null(kdp_links_addrs());
        assert_null(kdp_links_routes());
        assert_null(kdp_links_qdiscs());
        kdp_links_run();
        kdp_links_wait();
    }

    /* The bridge has Open vSwitch's own notifier then. */
    struct if_notifier *notifier = if_notifier_create(never_told, NULL);
    assert_non_null(notifier);
    assert_int_equal(unit_count_fds(), n_fds + 1);
    if_notifier_run();
    if_notifier_destroy(notifier);
    assert_int_equal(unit_count_fds(), n_fds);

    OK(kdp_links_init());
    assert_true(kdp_links_enabled());
    assert_int_equal(unit_count_fds(), n_fds + 3);
    netdev_linux_kdp_init(false);
}

static void
a_device_whose_index_cannot_be_asked_for_is_opened(void **state)
{
    struct netdev *netdev;

    netdev_close(*state);
    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1, ENOMEM);
    OK(netdev_open("a", "system", &netdev));
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(netdev_get_ifindex(netdev), A);
    *state = netdev;
}

static void
a_tap_device_that_cannot_be_made_leaves_nothing(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();
    struct netdev *netdev;

    unit_plan_failures(UNIT_CALL_OPEN, 1, 1, EMFILE);
    assert_int_equal(netdev_open("tap0", "tap", &netdev), EMFILE);
    assert_int_equal(unit_n_failed(), 1);
    assert_null(netdev);
    assert_null(netdev_from_name("tap0"));
    assert_int_equal(unit_count_fds(), n_fds);
}

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

/* What the list has in sums only is asked for, and again if that failed. */
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

static bool
carrier_is(struct netdev *netdev, bool expected)
{
    netdev_run();
    return netdev_get_carrier(netdev) == expected;
}

static void
a_link_whose_registers_cannot_be_read_is_down(void **state)
{
    struct netdev *netdev = *state;

    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1000000, EIO);
    OK(netdev_set_miimon_interval(netdev, 1));
    assert_true(carrier_is(netdev, false));
    assert_true(unit_n_failed() > 0);
    unit_plan_none();
    unit_wait_until(carrier_is(netdev, true));
    unit_plan_failures(UNIT_CALL_IOCTL, 1, 1000000, EIO);
    unit_wait_until(carrier_is(netdev, false));
    unit_plan_none();
    OK(netdev_set_miimon_interval(netdev, 0));
    assert_true(carrier_is(netdev, true));
}

static void
driver_information_that_cannot_be_had_is_asked_for_again(void **state)
{
    struct smap smap = SMAP_INITIALIZER(&smap);
    struct netdev *netdev = *state;

    unit_plan_failures(UNIT_CALL_IOCTL, 2, 1, EBUSY);
    assert_int_equal(netdev_get_status(netdev, &smap), EBUSY);
    assert_int_equal(unit_n_failed(), 1);
    OK(netdev_get_status(netdev, &smap));
    assert_string_equal(smap_get(&smap, "driver_name"), "veth");

    /* The answer is kept, even if it is that there is none. */
    n_ethtool = 0;
    smap_clear(&smap);
    OK(netdev_get_status(netdev, &smap));
    assert_int_equal(n_ethtool, 0);
    OK(unit_link_del(own, A));
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
    unit_plan_failures(UNIT_CALL_IOCTL, 2, 1, EOPNOTSUPP);
    smap_clear(&smap);
    assert_int_equal(netdev_get_status(netdev, &smap), EOPNOTSUPP);
    assert_int_equal(netdev_get_status(netdev, &smap), EOPNOTSUPP);
    assert_int_equal(n_ethtool, 1);
    smap_destroy(&smap);
}

/* Of which the events wait, and nobody took them. */
static void
a_device_that_has_gone_is_not_asked_about(void **state)
{
    enum netdev_features f[4];
    struct netdev *netdev = *state;
    struct smap smap = SMAP_INITIALIZER(&smap);

    n_ethtool = 0;
    OK(unit_link_del(own, A));
    assert_int_equal(netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]),
                     ENODEV);
    assert_int_equal(netdev_get_status(netdev, &smap), ENODEV);
    assert_int_equal(n_ethtool, 0);

    /* It was, or is another one, but its name is not known. */
    OK(unit_link_add_veth(own, A, "a", own, B, "b"));
    netdev_run();
    OK(unit_link_set_name(own, A, "c"));
    assert_int_equal(netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]),
                     ENODEV);
    assert_int_equal(n_ethtool, 0);
    smap_destroy(&smap);
}

/* Tells the link table what the kernel of the test does not know. */
static void
tell_ns(int32_t nsid, int ifindex, const char *name, const char *kind,
        int master, uint32_t flags)
{
    const struct link_view view = {
        .ifindex = ifindex,
        .name = name,
        .kind = kind,
        .master = master,
        .flags = flags,
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };

    link_table_update(kdp_links_table(), nsid, &view);
}

static void
tell(int ifindex, const char *name, const char *kind, int master,
     uint32_t flags)
{
    tell_ns(LINK_NSID_LOCAL, ifindex, name, kind, master, flags);
}

/* Index of the device in whatever namespace it is, or 0 if there is none.  The
 * library tells only those of ours. */
static int
present_index(const struct netdev *netdev)
{
    const struct netdev_kdp *dev = netdev_kdp_cast(netdev);

    return dev->present ? dev->link.ifindex : 0;
}

/* The datapath knows where a port is, maybe only some time after its device
 * has left. */
static void
a_device_is_found_in_whatever_namespace_it_moves_to(void **state OVS_UNUSED)
{
    static const int32_t nsids[] = { LINK_NSID_LOCAL, 4001, 4002, 4001, 4003,
                                     LINK_NSID_LOCAL, 4002 };
    struct link_table *table = kdp_links_table();
    struct netdev *netdev;

    tell(B + 1, "int0", "openvswitch", 0, IFF_UP);
    OK(netdev_open("int0", "internal", &netdev));
    for (int late = 0; late < 2; late++) {
        for (size_t i = 1; i < ARRAY_SIZE(nsids); i++) {
            if (!late) {
                int0_nsid = nsids[i];
            }
            link_table_remove(table, nsids[i - 1], B + i);
            int0_nsid = nsids[i];
            tell_ns(nsids[i], B + 1 + i, "int0", "openvswitch", 0, IFF_UP);
            assert_int_equal(present_index(netdev), B + 1 + i);
        }
        size_t n = ARRAY_SIZE(nsids);
        link_table_remove(table, nsids[n - 1], B + n);
        int0_nsid = LINK_NSID_LOCAL;
        tell(B + 1, "int0", "openvswitch", 0, IFF_UP);
        assert_int_equal(present_index(netdev), B + 1);
    }

    /* One elsewhere that happens to have its name is not it. */
    int0_nsid = LINK_NSID_NONE;
    link_table_remove(table, LINK_NSID_LOCAL, B + 1);
    tell_ns(4001, A, "int0", "ifb", 0, IFF_UP);
    assert_int_equal(present_index(netdev), 0);
    for (int32_t nsid = 4001; nsid <= 4003; nsid++) {
        link_table_drop_ns(table, nsid);
    }
    netdev_close(netdev);
}

static int
mtu_of(struct netdev *netdev)
{
    int mtu;

    OK(netdev_get_mtu(netdev, &mtu));
    return mtu;
}

static uint64_t
n_asked_for_namespaces(void)
{
    struct link_listener_stats stats;

    link_listener_get_stats(kdp_links_listener(), &stats);
    return stats.rtnl[LINK_REASON_NAMESPACE];
}

static bool
is_followed(int32_t nsid)
{
    netdev_run();
    return (link_table_has_ns(kdp_links_table(), nsid)
            && !link_table_skips(kdp_links_table(), nsid));
}

static bool
is_present_as(const struct netdev *netdev, int ifindex)
{
    netdev_run();
    return present_index(netdev) == ifindex;
}

/* Invariant L5: a namespace is asked for its links when the device of a port
 * moves there, and not before.  The datapath learns of the move some time
 * after the device has left. */
static void
a_namespace_is_asked_for_when_a_port_moves_there(void **state OVS_UNUSED)
{
    enum { N = 3 };
    uint64_t asked = n_asked_for_namespaces();
    struct unit_ns *others[N];
    struct netdev *netdev;

    for (int i = 0; i < N; i++) {
        others[i] = unit_ns_create();
        OK(unit_ns_set_nsid(own, others[i], 6000 + i));
        OK(unit_link_add(others[i], "ifb", A, "int0"));
    }
    OK(unit_link_add(own, "ifb", B + 1, "int0"));
    netdev_run();
    OK(netdev_open("int0", "internal", &netdev));
    assert_int_equal(present_index(netdev), B + 1);
    assert_int_equal(n_asked_for_namespaces(), asked);

    int0_nsid = LINK_NSID_LOCAL;
    OK(unit_link_del(others[1], A));
    OK(unit_link_move(own, B + 1, others[1], B + 2));
    unit_wait_until(is_present_as(netdev, 0));
    assert_int_equal(n_asked_for_namespaces(), asked);
    int0_nsid = 6001;
    OK(unit_link_set_mtu(others[1], B + 2, 1400));
    unit_wait_until(is_present_as(netdev, B + 2));
    assert_int_equal(n_asked_for_namespaces(), asked + 1);
    assert_int_equal(mtu_of(netdev), 1400);

    /* It is known by events from then on, also when it goes to another one. */
    OK(unit_link_set_mtu(others[1], B + 2, 1300));
    unit_wait_until((netdev_run(), mtu_of(netdev) == 1300));
    OK(unit_link_del(others[2], A));
    OK(unit_ns_set_nsid(others[1], others[2], 1));
    OK(unit_link_move(others[1], B + 2, others[2], B + 3));
    unit_wait_until(!is_present_as(netdev, B + 2));
    int0_nsid = 6002;
    OK(unit_link_set_mtu(others[2], B + 3, 1200));
    unit_wait_until(is_present_as(netdev, B + 3));
    assert_int_equal(n_asked_for_namespaces(), asked + 2);
    assert_false(is_followed(6000));

    netdev_close(netdev);
    for (int i = 0; i < N; i++) {
        unit_ns_destroy(others[i]);
    }
}

static void
a_member_that_cannot_be_bound_is_bound_later(void **state OVS_UNUSED)
{
    tell(A, "a", "bond", 0, IFF_UP);
    n_bound = n_unbound = 0;
    unit_plan_failures(UNIT_CALL_QDISC, 1, 1, ENOMEM);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(n_bound, 1);
    assert_int_equal(bound_block, 0);

    tell(B, "b", NULL, A, 0);
    assert_int_equal(n_bound, 2);
    assert_int_equal(bound_block, A);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 2);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_int_equal(bound_block, 0);
    assert_int_equal(n_bound, 2);
    assert_int_equal(n_unbound, 3);
}

/* The kernel tells that a device has a carrier some time after it was set
 * up. */
static bool
a_has_carrier(void)
{
    struct link_info link;

    netdev_run();
    return (link_table_find_name(kdp_links_table(), LINK_NSID_LOCAL, "a",
                                 &link)
            && link.carrier_up > 0);
}

/* True if the features of 'netdev' are asked for when they are wanted. */
static bool
features_are_asked_for(struct netdev *netdev)
{
    enum netdev_features f[4];

    n_ethtool = 0;
    netdev_get_features(netdev, &f[0], &f[1], &f[2], &f[3]);
    return n_ethtool > 0;
}

/* It is the sum of its members' speeds. */
static void
the_speed_of_a_bond_changes_with_its_members(void **state)
{
    struct netdev *netdev = *state;

    unit_wait_until(a_has_carrier());
    tell(A, "a", "bond", 0, IFF_UP | IFF_RUNNING);
    features_are_asked_for(netdev);
    assert_false(features_are_asked_for(netdev));

    /* A member comes, fails, and leaves. */
    tell(B, "b", NULL, A, IFF_UP | IFF_RUNNING);
    assert_true(features_are_asked_for(netdev));
    assert_false(features_are_asked_for(netdev));
    tell(B, "b", NULL, A, IFF_UP);
    assert_true(features_are_asked_for(netdev));
    uint64_t seq = netdev_get_change_seq(netdev);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_true(netdev_get_change_seq(netdev) != seq);
    assert_true(features_are_asked_for(netdev));

    /* What is none is of no interest, and nor is who has another master. */
    tell(B, "b", NULL, 0, IFF_UP | IFF_RUNNING);
    tell(B, "b", NULL, A + 50, IFF_UP);
    assert_false(features_are_asked_for(netdev));
    tell(B, "b", NULL, A, IFF_UP);
    assert_true(features_are_asked_for(netdev));
    tell(B, "b", NULL, 0, IFF_UP);
}

/* A name may change, and another device may take it. */
static void
a_member_is_known_by_its_index(void **state OVS_UNUSED)
{
    struct netdev *bond;

    tell(A, "a", "bond", 0, IFF_UP);
    n_bound = n_unbound = 0;
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 1);
    assert_int_equal(bound_block, A);
    tell(B, "renamed", NULL, A, IFF_UP);
    assert_int_equal(n_bound, 1);
    assert_int_equal(n_unbound, 1);
    tell(B, "renamed", NULL, 0, IFF_UP);
    assert_int_equal(n_unbound, 2);
    assert_int_equal(bound_block, 0);

    /* From one bond to another at once. */
    OK(unit_link_add(own, "ifb", B + 1, "c"));
    netdev_run();
    OK(netdev_open("c", "system", &bond));
    tell(A, "a", "bond", 0, IFF_UP);
    tell(B + 1, "c", "bond", 0, IFF_UP);
    tell(B, "b", NULL, A, IFF_UP);
    assert_int_equal(bound_block, A);
    tell(B, "b", NULL, B + 1, IFF_UP);
    assert_int_equal(bound_block, B + 1);
    tell(B, "b", NULL, 0, IFF_UP);
    assert_int_equal(bound_block, 0);
    netdev_close(bond);
    OK(unit_link_del(own, B + 1));
}

static bool
links_are_current(void)
{
    netdev_run();
    return kdp_links_catch_up();
}

/* What happened to the device was lost, and the links cannot be asked for. */
static void
a_device_is_not_taken_for_one_of_its_name_that_died(void **state)
{
    struct eth_addr mac, table_mac;
    struct link_info link;
    int mtu;

    unit_wait_until(a_has_carrier());
    netdev_close(*state);
    *state = NULL;
    tell(A + 100, "a", NULL, 0, IFF_UP);
    link_table_set_pending(kdp_links_table(), LINK_NSID_LOCAL);
    link_table_set_others_pending(kdp_links_table());
    unit_plan_failures(UNIT_CALL_SENDTO, 1, 1000, ENOMEM);
    assert_false(kdp_links_catch_up());
    assert_true(link_table_find_name(kdp_links_table(), LINK_NSID_LOCAL, "a",
                                     &link));
    assert_int_equal(link.ifindex, A + 100);

    struct netdev *netdev;
    OK(netdev_open("a", "system", &netdev));
    *state = netdev;

    /* The list of addresses is taken anew each time. */
    for (int i = 0; i < 3; i++) {
        struct in6_addr *addrs, *masks;
        int n;

        n_flushes = 0;
        if (!netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
            free(addrs);
            free(masks);
        }
        assert_int_equal(n_flushes, 1);
    }

    assert_int_equal(netdev_get_ifindex(netdev), A);
    OK(netdev_get_mtu(netdev, &mtu));
    assert_int_equal(mtu, 1500);
    OK(netdev_get_etheraddr(netdev, &mac));
    assert_false(eth_addr_is_zero(mac));
    assert_true(unit_n_failed() > 0);

    /* When they can, the device is what it was. */
    unit_plan_none();
    unit_wait_until(links_are_current());
    assert_int_equal(netdev_get_ifindex(netdev), A);
    OK(netdev_get_etheraddr(netdev, &table_mac));
    assert_true(eth_addr_equals(mac, table_mac));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        cmocka_unit_test(a_listener_that_cannot_be_opened_leaves_nothing),
        TEST(a_device_whose_index_cannot_be_asked_for_is_opened),
        TEST(a_device_is_not_taken_for_one_of_its_name_that_died),
        TEST(a_tap_device_that_cannot_be_made_leaves_nothing),
        TEST(statistics_do_without_the_datapath),
        TEST(statistics_that_cannot_be_had_are_an_error),
        TEST(statistics_do_without_the_list_of_devices),
        TEST(rare_statistics_that_cannot_be_had_are_asked_for_again),
        TEST(a_link_whose_registers_cannot_be_read_is_down),
        TEST(driver_information_that_cannot_be_had_is_asked_for_again),
        TEST(a_device_that_has_gone_is_not_asked_about),
        TEST(a_device_is_found_in_whatever_namespace_it_moves_to),
        TEST(a_namespace_is_asked_for_when_a_port_moves_there),
        TEST(a_member_that_cannot_be_bound_is_bound_later),
        TEST(the_speed_of_a_bond_changes_with_its_members),
        TEST(a_member_is_known_by_its_index),
    };

    unit_init(argv[0]);
    own = unit_ns_own();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
