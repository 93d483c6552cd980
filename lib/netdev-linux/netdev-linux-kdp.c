/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/netdev-linux-kdp.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "netdev-linux/device.h"
#include "netdev-linux/driver.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/links.h"
#include "netdev-linux/qos.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux/rtnl-worker.h"
#include "netdev-linux/speed.h"
#include "netdev-linux/state.h"
#include "netdev-linux/stats.h"
#include "netdev-linux/upcall-counters.h"
#include "link/link-addr.h"
#include "link/link-table.h"
#include "netdev-linux-valid.h"
#include "netnsid.h"
#include "openvswitch/compiler.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-netdev.h"
#include "packets.h"
#include "smap.h"
#include "userspace-tso.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_linux_kdp);

/* Construction. */

/* Does what the stock constructor does, but sends no requests. */
static int
netdev_kdp_construct_known(struct netdev *netdev)
{
    struct netdev_linux *up = netdev_linux_cast(netdev);

    netnsid_unset(&up->netnsid);
    ovs_mutex_init(&up->mutex);
    if (userspace_tso_enabled()) {
        netdev->ol_flags |= (NETDEV_TX_OFFLOAD_TCP_TSO
                             | NETDEV_TX_OFFLOAD_TCP_CKSUM
                             | NETDEV_TX_OFFLOAD_UDP_CKSUM
                             | NETDEV_TX_OFFLOAD_SCTP_CKSUM
                             | NETDEV_TX_OFFLOAD_IPV4_CKSUM);
    }
    return 0;
}

static int
netdev_kdp_construct(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    const char *name = netdev_get_name(netdev);
    bool tap = netdev->netdev_class == &kdp_tap_class;
    struct link_info link;
    bool found;
    int error;

    if (strlen(name) >= IFNAMSIZ) {
        /* This may be an alternative name.  An ioctl would be about another
         * device, whose name is a prefix of it.  The error tells the user what
         * is wrong, as in Open vSwitch since 4.0. */
        return ENAMETOOLONG;
    }
    if (!netdev->auto_classified) {
        if_notifier_kdp_wanted(name);
    }

    found = !tap && netdev_kdp_state_find(netdev, &link);
    if (tap) {
        /* The constructor needs a file of the device, which it creates, or
         * finds after a crash; then the table has the device, too. */
        long long int start = kdp_rtnl_begin();

        error = kdp_stock_netdev_tap_class.construct(netdev);
        kdp_rtnl_end(KDP_RTNL_TAP, start);
    } else if (found) {
        error = netdev_kdp_construct_known(netdev);
    } else {
        /* It asks the kernel, without the RTNL lock, for such a device. */
        error = netdev_linux_construct(netdev);
    }
    if (error) {
        return error;
    }

    netdev_kdp_state_attach(dev, found ? &link : NULL);
    return 0;
}

static void
netdev_kdp_destruct(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);

    netdev_kdp_state_detach(dev);
    netdev_kdp_mii_set_interval(netdev, 0);
    netdev_kdp_qos_forget(dev);
    kdp_stock_netdev_linux_class.destruct(netdev);
}

/* Reading. */

static enum netdev_flags
flags_from_iff(unsigned int iff)
{
    return ((iff & IFF_UP ? NETDEV_UP : 0)
            | (iff & IFF_PROMISC ? NETDEV_PROMISC : 0)
            | (iff & IFF_LOOPBACK ? NETDEV_LOOPBACK : 0));
}

static int
netdev_kdp_get_etheraddr(const struct netdev *netdev, struct eth_addr *mac)
{
    netdev_kdp_state_resolve(netdev);
    return kdp_stock_netdev_linux_class.get_etheraddr(netdev, mac);
}

static int
netdev_kdp_get_mtu(const struct netdev *netdev, int *mtup)
{
    int mtu;

    /* Whenever Open vSwitch adds a port, it reads the MTU of all ports of the
     * bridge. */
    atomic_read_relaxed(&netdev_kdp_cast(netdev)->mtu, &mtu);
    if (mtu >= 0) {
        *mtup = mtu;
        return 0;
    }
    netdev_kdp_state_resolve(netdev);
    return kdp_stock_netdev_linux_class.get_mtu(netdev, mtup);
}

static int
netdev_kdp_get_ifindex(const struct netdev *netdev)
{
    netdev_kdp_state_resolve(netdev);
    return kdp_stock_netdev_linux_class.get_ifindex(netdev);
}

static int
netdev_kdp_get_carrier(const struct netdev *netdev, bool *carrier)
{
    netdev_kdp_state_resolve(netdev);
    return kdp_stock_netdev_linux_class.get_carrier(netdev, carrier);
}

static uint32_t
netdev_kdp_get_block_id(struct netdev *netdev)
{
    netdev_kdp_state_resolve(netdev);
    return kdp_stock_netdev_linux_class.get_block_id(netdev);
}

/* Ethtool.  What was read is kept until an event says that it has changed. */

static int
netdev_kdp_get_features(const struct netdev *netdev,
                        enum netdev_features *current,
                        enum netdev_features *advertised,
                        enum netdev_features *supported,
                        enum netdev_features *peer)
{
    int error = netdev_kdp_driver_need(netdev, NETDEV_ASK_FEATURES);

    return (error ? error
            : kdp_stock_netdev_linux_class.get_features(
                netdev, current, advertised, supported, peer));
}

static int
netdev_kdp_get_speed(const struct netdev *netdev, uint32_t *current,
                     uint32_t *max)
{
    int error = netdev_kdp_driver_need(netdev, NETDEV_ASK_FEATURES);

    return (error ? error
            : ovs_compat_netdev_class_get_speed(&kdp_stock_netdev_linux_class,
                                                netdev, current, max));
}

static int
netdev_kdp_get_duplex(const struct netdev *netdev, bool *full_duplex)
{
    int error = netdev_kdp_driver_need(netdev, NETDEV_ASK_FEATURES);

    return (error ? error
            : ovs_compat_netdev_class_get_duplex(&kdp_stock_netdev_linux_class,
                                                 netdev, full_duplex));
}

static int
netdev_kdp_get_status(const struct netdev *netdev, struct smap *smap)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    int error = netdev_kdp_driver_need(netdev, NETDEV_ASK_STATUS);
    const struct smap_node *node;
    bool known;

    if (error) {
        return error;
    }
    ovs_mutex_lock(&dev->up.mutex);
    known = dev->status_known;
    if (known) {
        error = dev->status_error;
        SMAP_FOR_EACH (node, &dev->status) {
            smap_add(smap, node->key, node->value);
        }
        /* A driver without a status will not get one. */
        dev->status_known = !error || error == EOPNOTSUPP;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    return (known ? error
            : kdp_stock_netdev_linux_class.get_status(netdev, smap));
}

static int
netdev_kdp_set_advertisements(struct netdev *netdev,
                              enum netdev_features advertise)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    long long int start;
    int error;

    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.set_advertisements(netdev,
                                                            advertise);
    kdp_rtnl_end(KDP_RTNL_ADVERTISE, start);
    ovs_mutex_lock(&dev->up.mutex);
    dev->up.cache_valid &= ~VALID_FEATURES;
    dev->asked[NETDEV_ASK_FEATURES] = NULL;     /* It may be older. */
    ovs_mutex_unlock(&dev->up.mutex);
    return error;
}

/* Addresses. */

static int
netdev_kdp_get_addr_list(const struct netdev *netdev, struct in6_addr **addrs,
                         struct in6_addr **masks, int *n_addrs)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct in6_addr *a, *m;
    int ifindex;
    size_t n;

    netdev_kdp_state_resolve(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    bool known = (dev->up.cache_valid & VALID_IFINDEX) != 0;
    bool remote = netnsid_is_remote(dev->up.netnsid);
    ifindex = dev->present ? dev->link.ifindex : 0;
    ovs_mutex_unlock(&dev->up.mutex);
    if (!known) {
        /* Open vSwitch keeps the list of all devices until its own route
         * table, which is not in use, flushes it. */
        netdev_get_addrs_list_flush();
        return kdp_stock_netdev_linux_class.get_addr_list(netdev, addrs,
                                                          masks, n_addrs);
    } else if (remote) {
        return EOPNOTSUPP;
    }

    n = link_addrs_get(kdp_links_addrs(), ifindex, &a, &m);
    if (!n) {
        return EADDRNOTAVAIL;
    }
    if (addrs) {
        *addrs = a;
        *masks = m;
        *n_addrs = n;
    } else {
        free(a);
        free(m);
    }
    return 0;
}

static int
netdev_kdp_set_in4(struct netdev *netdev, struct in_addr address,
                   struct in_addr netmask)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    long long int start;
    int error;

    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.set_in4(netdev, address, netmask);
    kdp_rtnl_end(KDP_RTNL_SET_ADDR, start);
    ovs_mutex_lock(&dev->up.mutex);
    dev->in4_set = true;
    ovs_mutex_unlock(&dev->up.mutex);
    kdp_links_catch_up();
    return error;
}

/* Writing.  Each function processes the events of its change before it
 * returns, so that the change can be read back. */

static int
netdev_kdp_set_etheraddr(struct netdev *netdev, const struct eth_addr mac)
{
    long long int start;
    struct eth_addr old;
    int error;

    error = netdev_kdp_get_etheraddr(netdev, &old);
    if (error || eth_addr_equals(old, mac)) {
        return error;
    }
    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.set_etheraddr(netdev, mac);
    kdp_rtnl_end(KDP_RTNL_SET_HWADDR, start);
    kdp_links_catch_up();
    return error;
}

static int
netdev_kdp_set_mtu(struct netdev *netdev, int mtu)
{
    long long int start;
    int error, old;

    error = netdev_kdp_get_mtu(netdev, &old);
    if (error || old == mtu) {
        return error;
    }
    start = kdp_rtnl_begin();
    error = kdp_stock_netdev_linux_class.set_mtu(netdev, mtu);
    kdp_rtnl_end(KDP_RTNL_SET_MTU, start);
    netdev_kdp_state_mtu_set(netdev_kdp_cast(netdev));
    kdp_links_catch_up();
    return error;
}

static int
netdev_kdp_update_flags(struct netdev *netdev, enum netdev_flags off,
                        enum netdev_flags on, enum netdev_flags *old_flags)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    enum netdev_flags flags;
    bool known, remote;
    int error;

    netdev_kdp_state_resolve(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    known = (dev->up.cache_valid & VALID_IFINDEX) != 0;
    remote = netnsid_is_remote(dev->up.netnsid);
    flags = flags_from_iff(dev->up.ifi_flags);
    ovs_mutex_unlock(&dev->up.mutex);

    if (known && ((!on && !off)
                  || (!remote && ((flags & ~off) | on) == flags))) {
        /* Nothing to read or set. */
        *old_flags = flags;
        return 0;
    }
    if (on || off) {
        kdp_rtnl_count(KDP_RTNL_SET_FLAGS);
    }
    error = kdp_stock_netdev_linux_class.update_flags(netdev, off, on,
                                                      old_flags);
    kdp_links_catch_up();
    return error;
}

/* Running. */

/* Runs once for all classes. */
static void
netdev_kdp_run(void)
{
    kdp_links_run();
    netdev_kdp_state_run();
    rtnl_worker_run();
    netdev_kdp_speed_run();
    netdev_kdp_mii_run();
    netdev_kdp_stats_run();
}

static void
netdev_kdp_wait(const struct netdev_class *class)
{
    if (class == &kdp_linux_class) {
        kdp_links_wait();
        rtnl_worker_wait();
        netdev_kdp_speed_wait();
        netdev_kdp_mii_wait();
    }
}

static void
netdev_kdp_class_init(struct netdev_class *class,
                      const struct netdev_class *stock)
{
    *class = *stock;
    class->alloc = netdev_kdp_alloc;
    class->dealloc = netdev_kdp_dealloc;
    if (!stock->get_custom_stats) {
        class->get_custom_stats = netdev_kdp_upcalls_get;
    }
    if (!kdp_links_enabled()) {
        return;
    }
    class->wait = netdev_kdp_wait;
    class->construct = netdev_kdp_construct;
    class->destruct = netdev_kdp_destruct;
    class->get_etheraddr = netdev_kdp_get_etheraddr;
    class->set_etheraddr = netdev_kdp_set_etheraddr;
    class->get_mtu = netdev_kdp_get_mtu;
    class->set_mtu = netdev_kdp_set_mtu;
    class->get_ifindex = netdev_kdp_get_ifindex;
    class->get_carrier = netdev_kdp_get_carrier;
    class->set_miimon_interval = netdev_kdp_mii_set_interval;
    class->set_advertisements = netdev_kdp_set_advertisements;
    class->set_policing = netdev_kdp_qos_set_policing;
    class->set_qos = netdev_kdp_qos_set;
    class->set_queue = netdev_kdp_qos_set_queue;
    class->delete_queue = netdev_kdp_qos_delete_queue;
    class->set_in4 = netdev_kdp_set_in4;
    class->get_addr_list = netdev_kdp_get_addr_list;
    class->update_flags = netdev_kdp_update_flags;
    ovs_compat_netdev_class_set_speed(class, stock, netdev_kdp_get_speed,
                                      netdev_kdp_get_duplex);
    if (stock->get_features) {
        class->get_features = netdev_kdp_get_features;
    }
    if (stock->get_status == kdp_stock_netdev_linux_class.get_status) {
        class->get_status = netdev_kdp_get_status;
    }
    if (stock->get_block_id) {
        class->get_block_id = netdev_kdp_get_block_id;
    }
}

void
netdev_linux_kdp_init(bool stock)
{
    if (stock) {
        kdp_linux_class = kdp_stock_netdev_linux_class;
        kdp_internal_class = kdp_stock_netdev_internal_class;
        kdp_tap_class = kdp_stock_netdev_tap_class;
        return;
    }
    netdev_kdp_class_init(&kdp_linux_class, &kdp_stock_netdev_linux_class);
    netdev_kdp_class_init(&kdp_internal_class,
                          &kdp_stock_netdev_internal_class);
    netdev_kdp_class_init(&kdp_tap_class, &kdp_stock_netdev_tap_class);
    if (kdp_links_enabled()) {
        kdp_linux_class.get_stats = netdev_kdp_stats_get;
        kdp_internal_class.get_stats = netdev_kdp_stats_get_internal;
        kdp_tap_class.get_stats = netdev_kdp_stats_get_tap;
        netdev_kdp_state_init();
        netdev_kdp_speed_init();
        netdev_kdp_set_run(netdev_kdp_run);
    }
}
