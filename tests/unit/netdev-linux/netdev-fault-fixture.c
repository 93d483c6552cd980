/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/netdev-linux/netdev-fault-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <string.h>

#include "dpif-netlink.h"
#include "link/link-table.h"
#include "netdev-linux-private.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/links.h"
#include "netdev-linux/netdev-linux-kdp.h"
#include "netdev-provider.h"
#include "netnsid.h"
#include "socket-util.h"
#include "stats/proc-net-dev.h"
#include "tc.h"
#include "util.h"

unsigned int n_ethtool;  /* Requests. */
void (*after_ethtool)(void);

int __wrap_af_inet_ioctl(unsigned long int command, const void *arg);
int __real_af_inet_ioctl(unsigned long int command, const void *arg);
int
__wrap_af_inet_ioctl(unsigned long int command, const void *arg)
{
    int error;

    n_ethtool += command == SIOCETHTOOL;
    error = ((command == SIOCGIFINDEX || command == SIOCETHTOOL)
             && unit_fails(UNIT_CALL_IOCTL)
             ? errno : __real_af_inet_ioctl(command, arg));
    if (command == SIOCETHTOOL && after_ethtool) {
        after_ethtool();
    }
    return error;
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
uint64_t more_rx_frame;

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
struct unit_ingress unit_ingress[N_INGRESS];
unsigned int n_bound, n_unbound;

static struct unit_ingress *
ingress_of(int ifindex)
{
    assert_in_range(ifindex, A, A + N_INGRESS - 1);
    return &unit_ingress[ifindex - A];
}

int __wrap_tc_add_del_qdisc(int, bool, uint32_t, enum tc_qdisc_hook);
int
__wrap_tc_add_del_qdisc(int ifindex, bool add, uint32_t block_id,
                        enum tc_qdisc_hook hook)
{
    struct unit_ingress *ingress = ingress_of(ifindex);

    assert_int_equal(hook, TC_INGRESS);
    *(add ? &n_bound : &n_unbound) += 1;
    if (add && unit_fails(UNIT_CALL_QDISC)) {
        return errno;
    } else if (add && ingress->exists) {
        return EEXIST;
    }
    *ingress = (struct unit_ingress) {
        .exists = add, .block_id = add ? block_id : 0,
    };
    return 0;
}

bool __wrap_ingress_qdisc_get(int, struct ingress_qdisc *);
bool
__wrap_ingress_qdisc_get(int ifindex, struct ingress_qdisc *qdisc)
{
    const struct unit_ingress *ingress = ingress_of(ifindex);

    *qdisc = (struct ingress_qdisc) {
        .ifindex = ifindex, .block_id = ingress->block_id,
    };
    return ingress->exists;
}

int __wrap_ingress_qdisc_for_each(void (*)(const struct ingress_qdisc *,
                                           void *), void *);
int
__wrap_ingress_qdisc_for_each(void (*cb)(const struct ingress_qdisc *,
                                         void *), void *aux)
{
    for (int i = 0; i < N_INGRESS; i++) {
        struct ingress_qdisc qdisc;

        if (__wrap_ingress_qdisc_get(A + i, &qdisc)) {
            cb(&qdisc, aux);
        }
    }
    return 0;
}

/* Namespace in which the datapath says that port "int0" is, or
 * LINK_NSID_NONE if it has no such port. */
int32_t int0_nsid = LINK_NSID_NONE;
unsigned int n_int0;

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
    }
    n_int0++;
    if (int0_nsid == LINK_NSID_NONE) {
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
unsigned int n_flushes;

void __wrap_netdev_get_addrs_list_flush(void);
void __real_netdev_get_addrs_list_flush(void);
void
__wrap_netdev_get_addrs_list_flush(void)
{
    n_flushes++;
    __real_netdev_get_addrs_list_flush();
}

struct unit_ns *own;

int
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

int
teardown(void **state)
{
    unit_plan_none();
    after_ethtool = NULL;
    more_rx_frame = 0;
    int0_nsid = LINK_NSID_NONE;
    netdev_close(*state);
    unit_link_del(own, A);
    netdev_run();
    assert_null(netdev_from_name("a"));
    return 0;
}

void
netdev_fault_init(const char *program)
{
    unit_init(program);
    own = unit_ns_own();
}

void
netdev_fault_listen(const char *program)
{
    netdev_fault_init(program);
    unit_check(!kdp_links_init());
    netdev_linux_kdp_init(false);
}

/* Tells the link table what the kernel of the test does not know. */
void
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

void
tell(int ifindex, const char *name, const char *kind, int master,
     uint32_t flags)
{
    tell_ns(LINK_NSID_LOCAL, ifindex, name, kind, master, flags);
}

/* The kernel tells that a device has a carrier some time after it was set
 * up. */
bool
a_has_carrier(void)
{
    struct link_info link;

    netdev_run();
    return (link_table_find_name(kdp_links_table(), LINK_NSID_LOCAL, "a",
                                 &link)
            && link.carrier_up > 0);
}
