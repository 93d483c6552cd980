/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux-kdp.h"

#include <errno.h>
#include <net/if.h>
#include <linux/if_arp.h>         /* After <net/if.h>. */
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink.h"
#include "hash.h"
#include "if-notifier-kdp.h"
#include "kdp-links.h"
#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "netdev-linux-kdp-private.h"
#include "netdev-linux-valid.h"
#include "netdev-offload.h"
#include "netnsid.h"
#include "openvswitch/compiler.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "smap.h"
#include "sset.h"
#include "userspace-tso.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_linux_kdp);

BUILD_ASSERT_DECL(offsetof(struct netdev_kdp, up) == 0);
BUILD_ASSERT_DECL(offsetof(struct netdev_linux, up) == 0);

/* These are written before the library reads them, and constant from then on,
 * which is what it declares them to be. */
struct netdev_class kdp_linux_class;
struct netdev_class kdp_internal_class;
struct netdev_class kdp_tap_class;

/* The devices that are in the link table, by namespace and interface index.
 * Lock order: a device's mutex, then this. */
static struct ovs_mutex present_mutex = OVS_MUTEX_INITIALIZER;
static struct hmap present OVS_GUARDED_BY(present_mutex)
    = HMAP_INITIALIZER(&present);

/* What a device has of the link table, of all that the stock structure
 * keeps. */
#define VALID_FROM_LINK (VALID_IFINDEX | VALID_ETHERADDR | VALID_MTU)

static struct netdev *
netdev_kdp_alloc(void)
{
    struct netdev_kdp *dev = xzalloc(sizeof *dev);

    return &dev->up.up;
}

static void
netdev_kdp_dealloc(struct netdev *netdev)
{
    free(CONTAINER_OF(netdev, struct netdev_kdp, up.up));
}

static bool
netdev_is_kdp(const struct netdev *netdev)
{
    return netdev->netdev_class->alloc == netdev_kdp_alloc;
}

/* State of a device. */

static bool
netdev_kdp_kind_is_lag(const char *kind)
{
    return !strcmp(kind, "bond") || !strcmp(kind, "team");
}

static uint32_t
link_hash(int32_t nsid, int ifindex)
{
    return hash_2words(nsid, ifindex);
}

/* Makes 'dev' present as 'link', or absent if that is NULL. */
static void
netdev_kdp_set_present(struct netdev_kdp *dev, const struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    ovs_mutex_lock(&present_mutex);
    if (dev->present) {
        hmap_remove(&present, &dev->present_node);
    }
    dev->present = link != NULL;
    if (link) {
        dev->link = *link;
        hmap_insert(&present, &dev->present_node,
                    link_hash(link->nsid, link->ifindex));
    }
    ovs_mutex_unlock(&present_mutex);
}

/* Adds to 'names' those under which devices are open that are the link. */
static void
netdev_kdp_get_names(int32_t nsid, int ifindex, struct sset *names)
{
    const struct netdev_kdp *dev;

    ovs_mutex_lock(&present_mutex);
    HMAP_FOR_EACH_WITH_HASH (dev, present_node, link_hash(nsid, ifindex),
                             &present) {
        if (dev->link.nsid == nsid && dev->link.ifindex == ifindex) {
            sset_add(names, netdev_get_name(&dev->up.up));
        }
    }
    ovs_mutex_unlock(&present_mutex);
}

/* Counts losses and returns of the carrier.  The stock class counts what it
 * sees in events.  The kernel may see more, which it has counted. */
static void
netdev_kdp_count_carrier(struct netdev_kdp *dev, const struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    uint64_t changes = ((uint64_t) link->carrier_up + link->carrier_down
                        - dev->carrier_base);
    uint64_t resets = dev->up.carrier_resets;

    if ((dev->up.ifi_flags ^ link->flags) & IFF_RUNNING) {
        resets = MAX(resets + 1, changes);
    } else if (changes >= resets + 2) {
        resets = changes;
    }
    dev->up.carrier_resets = resets;
}

static void
netdev_kdp_take_hwaddr(struct netdev_kdp *dev, const struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    bool ether = ((link->arp_type == ARPHRD_ETHER
                   || link->arp_type == ARPHRD_NONE)
                  && link->hwaddr_len <= sizeof dev->up.etheraddr);

    memset(&dev->up.etheraddr, 0, sizeof dev->up.etheraddr);
    if (ether) {
        memcpy(&dev->up.etheraddr, link->hwaddr, link->hwaddr_len);
    }
    dev->up.ether_addr_error = ether ? 0 : EINVAL;
}

/* Takes over what the table says of the device. */
static void
netdev_kdp_take(struct netdev_kdp *dev, const struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    struct netdev_linux *up = &dev->up;
    bool fresh = (!dev->present || link->ifindex != dev->link.ifindex
                  || link->nsid != dev->link.nsid);

    if (!fresh && link->change_seqno == dev->link.change_seqno
        && link->addr_seqno == dev->link.addr_seqno) {
        return;
    }
    if (fresh) {
        /* Not the device that it was. */
        up->cache_valid = 0;
        dev->qdisc_settled = false;
        dev->status_error = 0;
        dev->carrier_base = ((uint64_t) link->carrier_up + link->carrier_down
                             - up->carrier_resets);
    } else if ((link->flags ^ dev->link.flags) & (IFF_UP | IFF_RUNNING)
               || link->operstate != dev->link.operstate
               || link->carrier_up != dev->link.carrier_up
               || link->carrier_down != dev->link.carrier_down) {
        /* Speed and duplex are agreed on when the carrier comes. */
        up->cache_valid &= ~VALID_FEATURES;
    }
    netdev_kdp_count_carrier(dev, link);

    if (link->nsid == LINK_NSID_LOCAL) {
        netnsid_set_local(&up->netnsid);
    } else {
        netnsid_set(&up->netnsid, link->nsid);
    }
    up->ifi_flags = link->flags;
    up->ifindex = link->ifindex;
    up->get_ifindex_error = 0;
    up->mtu = link->mtu;
    up->netdev_mtu_error = 0;
    netdev_kdp_take_hwaddr(dev, link);
    up->is_lag_master = netdev_kdp_kind_is_lag(link->kind);
    up->present = true;
    up->cache_valid |= VALID_FROM_LINK;

    netdev_kdp_set_present(dev, link);
    dev->behind = false;
    dev->nsid = link->nsid;
    netdev_change_seq_changed(&up->up);
}

/* There is no such device. */
static void
netdev_kdp_lose(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct netdev_linux *up = &dev->up;

    if (up->ifi_flags & IFF_RUNNING) {
        up->carrier_resets++;
    }
    up->ifi_flags = 0;
    netnsid_set_local(&up->netnsid);
    up->ifindex = 0;
    up->get_ifindex_error = ENODEV;
    up->netdev_mtu_error = ENODEV;
    up->ether_addr_error = ENODEV;
    up->present = false;
    up->cache_valid = VALID_FROM_LINK;

    netdev_kdp_set_present(dev, NULL);
    dev->nsid = LINK_NSID_LOCAL;
    netdev_change_seq_changed(&up->up);
}

/* Finds the device in the table: where it was, or else in our namespace. */
static bool
netdev_kdp_find(struct netdev_kdp *dev, struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    const char *name = netdev_get_name(&dev->up.up);
    const struct link_table *table = kdp_links_table();

    return ((dev->nsid != LINK_NSID_LOCAL
             && link_table_find_name(table, dev->nsid, name, link))
            || link_table_find_name(table, LINK_NSID_LOCAL, name, link));
}

/* Asks the datapath whether the device lives on in another namespace.  That
 * takes no RTNL.  The caller holds no lock: the first request to a datapath
 * opens network devices. */
static void
netdev_kdp_locate(struct netdev_kdp *dev)
    OVS_EXCLUDED(dev->up.mutex)
{
    struct dpif_netlink_vport vport;
    struct link_info link;
    struct ofpbuf *buf;

    if (dpif_netlink_vport_get(netdev_get_name(&dev->up.up), &vport, &buf)) {
        return;
    }
    ovs_mutex_lock(&dev->up.mutex);
    if (!dev->present && netnsid_is_remote(vport.netnsid)) {
        dev->nsid = vport.netnsid;
        if (netdev_kdp_find(dev, &link)) {
            netdev_kdp_take(dev, &link);
        } else {
            /* Not in the table: the stock class is to ask. */
            netnsid_set(&dev->up.netnsid, vport.netnsid);
            dev->up.cache_valid = 0;
        }
    }
    ovs_mutex_unlock(&dev->up.mutex);
    ofpbuf_delete(buf);
}

/* Takes over what the table says.  Returns true if the device has gone from our
 * namespace, in which case it is to be located. */
static bool
netdev_kdp_refresh(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct link_info link;
    bool lost = false;

    if (netdev_kdp_find(dev, &link)) {
        netdev_kdp_take(dev, &link);
    } else if (dev->present) {
        lost = dev->link.nsid == LINK_NSID_LOCAL;
        netdev_kdp_lose(dev);
    }
    return lost;
}

/* Finds out about a device that was not in the table when it was opened. */
static void
netdev_kdp_look_again(struct netdev_kdp *dev)
    OVS_EXCLUDED(dev->up.mutex)
{
    bool current = kdp_links_catch_up();
    bool lost;

    ovs_mutex_lock(&dev->up.mutex);
    lost = netdev_kdp_refresh(dev);
    if (dev->behind && current) {
        /* There is none.  An internal one may be elsewhere, for long. */
        dev->behind = false;
        netdev_kdp_lose(dev);
        lost = dev->up.up.netdev_class == &kdp_internal_class;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (lost) {
        netdev_kdp_locate(dev);
    }
}

void
netdev_kdp_settle(const struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    bool behind, unknown;

    ovs_mutex_lock(&dev->up.mutex);
    behind = dev->behind;
    ovs_mutex_unlock(&dev->up.mutex);
    if (behind && kdp_links_is_main()) {
        netdev_kdp_look_again(dev);
    }

    ovs_mutex_lock(&dev->up.mutex);
    unknown = !(dev->up.cache_valid & VALID_IFINDEX);
    ovs_mutex_unlock(&dev->up.mutex);
    if (unknown) {
        kdp_rtnl_count(KDP_RTNL_UNKNOWN);
    }
}

/* Brings the device that is open as 'name' up to date after a change of 'link',
 * which it 'was' before or not.  Returns true if it is a device of the bridge
 * that the change is about: one of a foreign namespace may have the name by
 * chance, and the router of tunnels opens any device, without a type. */
static bool
netdev_kdp_changed(const char *name, const struct link_info *link, bool was)
{
    struct netdev *netdev = netdev_from_name(name);
    bool concerned = was || link->nsid == LINK_NSID_LOCAL;

    if (netdev && netdev_is_kdp(netdev)) {
        struct netdev_kdp *dev = netdev_kdp_cast(netdev);

        ovs_mutex_lock(&dev->up.mutex);
        bool lost = netdev_kdp_refresh(dev);
        ovs_mutex_unlock(&dev->up.mutex);
        if (lost) {
            netdev_kdp_locate(dev);
        }
        ovs_mutex_lock(&dev->up.mutex);
        concerned |= (dev->present && dev->link.nsid == link->nsid
                      && dev->link.ifindex == link->ifindex);
        ovs_mutex_unlock(&dev->up.mutex);
    }
    concerned = netdev && concerned && !netdev->auto_classified;
    netdev_close(netdev);
    return concerned;
}

/* Subscriber of the link table. */
static void
netdev_kdp_link_changed(const struct link_change *change, void *aux OVS_UNUSED)
{
    const struct link_info *link = change->link;
    struct sset before = SSET_INITIALIZER(&before);
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;

    /* The names that it had when it was last looked at, and those that it has
     * now. */
    netdev_kdp_get_names(link->nsid, link->ifindex, &before);
    sset_clone(&names, &before);
    sset_add(&names, link->name);
    if (change->what & (LINK_CHANGE_NEW | LINK_CHANGE_ALT_NAMES)) {
        link_table_get_alt_names(kdp_links_table(), link->nsid, link->ifindex,
                                 &names);
    }
    SSET_FOR_EACH (name, &names) {
        bool was = sset_contains(&before, name);

        if_notifier_kdp_changed(name, change,
                                netdev_kdp_changed(name, link, was));
    }
    sset_destroy(&before);
    sset_destroy(&names);
    if (link->nsid == LINK_NSID_LOCAL) {
        netdev_kdp_lag_update(change);
    }
}

/* Construction. */

/* Does what the stock constructor does, except that it asks for nothing. */
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
    bool tap = netdev->netdev_class == &kdp_tap_class;
    struct link_info link;
    int error;

    if (!netdev->auto_classified) {
        if_notifier_kdp_wanted(netdev_get_name(netdev));
    }
    if (tap) {
        kdp_rtnl_count(KDP_RTNL_TAP);
        error = kdp_stock_netdev_tap_class.construct(netdev);
    } else if (link_table_find_name(kdp_links_table(), LINK_NSID_LOCAL,
                                    netdev_get_name(netdev), &link)) {
        error = netdev_kdp_construct_known(netdev);
    } else {
        /* It asks, not under RTNL, whether there is such a device. */
        error = netdev_linux_construct(netdev);
    }
    if (error) {
        return error;
    }

    ovs_mutex_lock(&dev->up.mutex);
    dev->nsid = LINK_NSID_LOCAL;
    if (netdev_kdp_find(dev, &link)) {
        dev->up.ifi_flags = link.flags;
        netdev_kdp_take(dev, &link);
    } else {
        /* The library's lock is held, so that events cannot be taken here. */
        dev->behind = true;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    return 0;
}

static void
netdev_kdp_destruct(struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);

    ovs_mutex_lock(&dev->up.mutex);
    netdev_kdp_set_present(dev, NULL);
    ovs_mutex_unlock(&dev->up.mutex);
    netdev_kdp_set_miimon_interval(netdev, 0);
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
    netdev_kdp_settle(netdev);
    return kdp_stock_netdev_linux_class.get_etheraddr(netdev, mac);
}

static int
netdev_kdp_get_mtu(const struct netdev *netdev, int *mtup)
{
    netdev_kdp_settle(netdev);
    return kdp_stock_netdev_linux_class.get_mtu(netdev, mtup);
}

static int
netdev_kdp_get_ifindex(const struct netdev *netdev)
{
    netdev_kdp_settle(netdev);
    return kdp_stock_netdev_linux_class.get_ifindex(netdev);
}

static int
netdev_kdp_get_carrier(const struct netdev *netdev, bool *carrier)
{
    netdev_kdp_settle(netdev);
    return kdp_stock_netdev_linux_class.get_carrier(netdev, carrier);
}

static uint32_t
netdev_kdp_get_block_id(struct netdev *netdev)
{
    netdev_kdp_settle(netdev);
    return kdp_stock_netdev_linux_class.get_block_id(netdev);
}

/* Ethtool.  What was read is kept until an event says that it changed. */

static int
netdev_kdp_get_features(const struct netdev *netdev,
                        enum netdev_features *current,
                        enum netdev_features *advertised,
                        enum netdev_features *supported,
                        enum netdev_features *peer)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);

    netdev_kdp_settle(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    if (!(dev->up.cache_valid & VALID_FEATURES)
        && !netnsid_is_remote(dev->up.netnsid)) {
        if (dev->present || !(dev->up.cache_valid & VALID_IFINDEX)) {
            kdp_rtnl_count(KDP_RTNL_FEATURES);
        } else {
            /* The kernel would say the same. */
            dev->up.get_features_error = ENODEV;
            dev->up.cache_valid |= VALID_FEATURES;
        }
    }
    ovs_mutex_unlock(&dev->up.mutex);
    return kdp_stock_netdev_linux_class.get_features(netdev, current,
                                                     advertised, supported,
                                                     peer);
}

static int
netdev_kdp_get_status(const struct netdev *netdev, struct smap *smap)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    int error;

    netdev_kdp_settle(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    error = dev->status_error;
    if (!error && !(dev->up.cache_valid & VALID_DRVINFO)) {
        if (dev->present || !(dev->up.cache_valid & VALID_IFINDEX)) {
            kdp_rtnl_count(KDP_RTNL_DRIVER);
        } else {
            error = ENODEV;
        }
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (error) {
        return error;
    }

    error = kdp_stock_netdev_linux_class.get_status(netdev, smap);
    ovs_mutex_lock(&dev->up.mutex);
    dev->status_error = error == ENODEV ? 0 : error;
    ovs_mutex_unlock(&dev->up.mutex);
    return error;
}

static int
netdev_kdp_set_advertisements(struct netdev *netdev,
                              enum netdev_features advertise)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    int error;

    kdp_rtnl_count(KDP_RTNL_ADVERTISE);
    error = kdp_stock_netdev_linux_class.set_advertisements(netdev,
                                                            advertise);
    ovs_mutex_lock(&dev->up.mutex);
    dev->up.cache_valid &= ~VALID_FEATURES;
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

    netdev_kdp_settle(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    bool known = (dev->up.cache_valid & VALID_IFINDEX) != 0;
    bool remote = netnsid_is_remote(dev->up.netnsid);
    ifindex = dev->present ? dev->link.ifindex : 0;
    ovs_mutex_unlock(&dev->up.mutex);
    if (!known) {
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
    int error;

    kdp_rtnl_count(KDP_RTNL_SET_ADDR);
    error = kdp_stock_netdev_linux_class.set_in4(netdev, address, netmask);
    kdp_links_catch_up();
    return error;
}

/* Writing.  The events of a change are taken before it returns, so that it can
 * be read back. */

static int
netdev_kdp_set_etheraddr(struct netdev *netdev, const struct eth_addr mac)
{
    struct eth_addr old;
    int error;

    error = netdev_kdp_get_etheraddr(netdev, &old);
    if (error || eth_addr_equals(old, mac)) {
        return error;
    }
    kdp_rtnl_count(KDP_RTNL_SET_HWADDR);
    error = kdp_stock_netdev_linux_class.set_etheraddr(netdev, mac);
    kdp_links_catch_up();
    return error;
}

static int
netdev_kdp_set_mtu(struct netdev *netdev, int mtu)
{
    int error, old;

    error = netdev_kdp_get_mtu(netdev, &old);
    if (error || old == mtu) {
        return error;
    }
    kdp_rtnl_count(KDP_RTNL_SET_MTU);
    error = kdp_stock_netdev_linux_class.set_mtu(netdev, mtu);
    kdp_links_catch_up();
    return error;
}

static int
netdev_kdp_update_flags(struct netdev *netdev, enum netdev_flags off,
                        enum netdev_flags on, enum netdev_flags *old_flags)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    enum netdev_flags flags;
    bool known;
    int error;

    netdev_kdp_settle(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    known = (dev->up.cache_valid & VALID_IFINDEX) != 0;
    flags = flags_from_iff(dev->up.ifi_flags);
    ovs_mutex_unlock(&dev->up.mutex);

    if (known && !on && !off) {
        *old_flags = flags;
        return 0;
    }
    if ((on || off) && (!known || ((flags & ~off) | on) != flags)) {
        kdp_rtnl_count(KDP_RTNL_SET_FLAGS);
    }
    error = kdp_stock_netdev_linux_class.update_flags(netdev, off, on,
                                                      old_flags);
    kdp_links_catch_up();
    return error;
}

/* Traffic control. */

/* True if it is known that the device has no queueing discipline that 'has'
 * tells of. */
static bool
netdev_kdp_lacks_qdisc(const struct netdev_kdp *dev,
                       bool (*has)(const struct link_qdiscs *, int ifindex))
    OVS_REQUIRES(dev->up.mutex)
{
    return (dev->present && dev->link.nsid == LINK_NSID_LOCAL
            && !has(kdp_links_qdiscs(), dev->link.ifindex));
}

static int
netdev_kdp_set_policing(struct netdev *netdev, uint32_t kbits_rate,
                        uint32_t kbits_burst, uint32_t kpkts_rate,
                        uint32_t kpkts_burst)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    struct netdev_linux *up = &dev->up;
    bool nothing = false;
    int error;

    netdev_kdp_settle(netdev);
    if (!netdev_is_flow_api_enabled()) {
        ovs_mutex_lock(&up->mutex);
        if (netdev_kdp_lacks_qdisc(dev, link_qdiscs_has_ingress)
            && (!(up->cache_valid & VALID_POLICING)
                || up->kbits_rate || up->kpkts_rate)) {
            /* There is none, as if it had been removed, or as it was: what
             * others have removed is to be set again. */
            up->kbits_rate = up->kbits_burst = 0;
            up->kpkts_rate = up->kpkts_burst = 0;
            up->netdev_policing_error = 0;
            up->cache_valid |= VALID_POLICING;
        }
        nothing = ((up->cache_valid & VALID_POLICING)
                   && !up->netdev_policing_error
                   && !up->kbits_rate && !up->kpkts_rate
                   && !kbits_rate && !kpkts_rate);
        ovs_mutex_unlock(&up->mutex);
    }
    if (nothing) {
        return 0;
    }

    kdp_rtnl_count(KDP_RTNL_POLICING);
    error = kdp_stock_netdev_linux_class.set_policing(
        netdev, kbits_rate, kbits_burst, kpkts_rate, kpkts_burst);
    kdp_links_catch_up();
    return error;
}

static int
netdev_kdp_set_qos(struct netdev *netdev, const char *type,
                   const struct smap *details)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    bool nothing;
    int error;

    netdev_kdp_settle(netdev);
    ovs_mutex_lock(&dev->up.mutex);
    nothing = (!*type && !dev->up.tc
               && (dev->qdisc_settled
                   || netdev_kdp_lacks_qdisc(dev, link_qdiscs_has_root)));
    if (nothing) {
        dev->qdisc_settled = true;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (nothing) {
        return 0;
    }

    if (*type || !dev->qdisc_settled) {
        kdp_rtnl_count(KDP_RTNL_QOS);
    }
    error = kdp_stock_netdev_linux_class.set_qos(netdev, type, details);
    kdp_links_catch_up();
    return error;
}

/* Running. */

/* The function whose address makes a class one of Linux devices. */
void
netdev_linux_run(const struct netdev_class *class)
{
    if (!kdp_links_enabled()) {
        kdp_stock_netdev_linux_run(class);
    } else if (class == &kdp_linux_class) {
        /* Once for all of the classes. */
        kdp_links_run();
        netdev_kdp_mii_run();
        netdev_kdp_stats_run();
    }
}

static void
netdev_kdp_wait(const struct netdev_class *class)
{
    if (class == &kdp_linux_class) {
        kdp_links_wait();
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
    class->set_miimon_interval = netdev_kdp_set_miimon_interval;
    class->set_advertisements = netdev_kdp_set_advertisements;
    class->set_policing = netdev_kdp_set_policing;
    class->set_qos = netdev_kdp_set_qos;
    class->set_in4 = netdev_kdp_set_in4;
    class->get_addr_list = netdev_kdp_get_addr_list;
    class->update_flags = netdev_kdp_update_flags;
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
        kdp_linux_class.get_stats = netdev_kdp_get_stats;
        kdp_internal_class.get_stats = netdev_kdp_internal_get_stats;
        kdp_tap_class.get_stats = netdev_kdp_tap_get_stats;
        link_table_subscribe(kdp_links_table(), LINK_NSID_ALL,
                             LINK_CHANGE_ALL, netdev_kdp_link_changed, NULL);
    }
}
