/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/state.h"

#include <errno.h>
#include <linux/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "dpif-netlink.h"
#include "hash.h"
#include "link/link-table.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/lag.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux-valid.h"
#include "netnsid.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-netdev.h"
#include "packets.h"
#include "socket-util.h"
#include "simap.h"
#include "sset.h"
#include "util.h"

/* The devices that are in the link table, by namespace and interface index.
 * Lock order: a device's mutex, then this. */
static struct ovs_mutex present_mutex = OVS_MUTEX_INITIALIZER;
static struct hmap present OVS_GUARDED_BY(present_mutex)
    = HMAP_INITIALIZER(&present);

/* True if a device has left another namespace: it may have been the last one
 * there. */
static atomic_bool has_left = false;

/* The parts of the stock structure that come from the link table. */
#define VALID_FROM_LINK (VALID_IFINDEX | VALID_ETHERADDR | VALID_MTU)

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
        if (dev->link.nsid != LINK_NSID_LOCAL
            && (!link || link->nsid != dev->link.nsid)) {
            atomic_store_relaxed(&has_left, true);
        }
    }
    dev->present = link != NULL;
    if (link) {
        dev->link = *link;
        hmap_insert(&present, &dev->present_node,
                    link_hash(link->nsid, link->ifindex));
    }
    ovs_mutex_unlock(&present_mutex);
}

/* Adds to 'names' the names under which the link is open as a device. */
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

/* Counts carrier changes.  The stock class counts those that it sees in
 * events; the kernel's own count may be higher. */
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

/* Updates 'known', which says whether the callbacks may answer, and what is
 * read without the mutex. */
static void
netdev_kdp_update_known(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    bool known = !dev->unresolved && dev->up.cache_valid & VALID_IFINDEX;
    bool has_mtu = (known && dev->up.cache_valid & VALID_MTU
                    && !dev->up.netdev_mtu_error);

    atomic_store_relaxed(&dev->known, known);
    atomic_store_relaxed(&dev->mtu, has_mtu ? dev->up.mtu : -1);
}

void
netdev_kdp_state_mtu_set(struct netdev_kdp *dev)
{
    ovs_mutex_lock(&dev->up.mutex);
    netdev_kdp_update_known(dev);
    ovs_mutex_unlock(&dev->up.mutex);
}

/* True if a callback returns something else after the device, which is
 * present, has changed to 'link'.  For example, callers would read the device
 * in vain if only its master or an alternative name has changed. */
static bool
netdev_kdp_shows(const struct netdev_kdp *dev, const struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    const struct link_info *old = &dev->link;

    return (link->flags != old->flags
            || link->operstate != old->operstate
            || link->carrier != old->carrier
            || link->carrier_up != old->carrier_up
            || link->carrier_down != old->carrier_down
            || link->mtu != old->mtu
            || link->arp_type != old->arp_type
            || link->hwaddr_len != old->hwaddr_len
            || memcmp(link->hwaddr, old->hwaddr, sizeof link->hwaddr)
            || strcmp(link->kind, old->kind)
            || link->addr_seqno != old->addr_seqno);
}

/* Notes that the features of 'dev' may have changed, unless it is a veth
 * device, whose features are constant. */
static void
netdev_kdp_features_changed(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    if (dev->up.cache_valid & VALID_FEATURES
        || dev->asked[NETDEV_ASK_FEATURES]) {
        dev->features_stale = strcmp(dev->link.kind, "veth") != 0;
    }
}

/* Copies the state in the table to the device. */
static void
netdev_kdp_take(struct netdev_kdp *dev, const struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    struct netdev_linux *up = &dev->up;
    bool replaced = (!dev->present || link->ifindex != dev->link.ifindex
                  || link->nsid != dev->link.nsid);

    if (!replaced && link->change_seqno == dev->link.change_seqno
        && link->addr_seqno == dev->link.addr_seqno) {
        return;
    }
    bool shows = replaced || netdev_kdp_shows(dev, link);
    if (replaced) {
        /* It is another device now. */
        up->cache_valid = 0;
        dev->speed_used = NETDEV_SPEED_UNUSED;
        dev->features_stale = false;
        memset(dev->asked, 0, sizeof dev->asked);
        dev->qdisc_checked = false;
        dev->status_known = false;
        dev->mii_way = NETDEV_MII_UNKNOWN;
        dev->carrier_base = ((uint64_t) link->carrier_up + link->carrier_down
                             - up->carrier_resets);
    } else if ((link->flags ^ dev->link.flags) & (IFF_UP | IFF_RUNNING)
               || link->operstate != dev->link.operstate
               || link->carrier_up != dev->link.carrier_up
               || link->carrier_down != dev->link.carrier_down) {
        /* Speed and duplex are negotiated when the carrier comes up. */
        netdev_kdp_features_changed(dev);
    }
    if (dev->in4_set && dev->link.flags & IFF_UP && !(link->flags & IFF_UP)) {
        /* When the bridge is configured, it brings the device up and sets its
         * address and routes. */
        dev->in4_set = false;
        if_notifier_kdp_outdated();
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
    ovs_compat_netdev_set_lag(up, netdev_kdp_lag_is_kind(link->kind));
    up->present = true;
    up->cache_valid |= VALID_FROM_LINK;

    netdev_kdp_set_present(dev, link);
    dev->unresolved = false;
    dev->nsid = link->nsid;
    netdev_kdp_update_known(dev);
    if (shows) {
        netdev_change_seq_changed(&up->up);
    }
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
    netdev_kdp_update_known(dev);
    netdev_change_seq_changed(&up->up);
}

/* Finds the device in the table, in our namespace.  While an internal port is
 * in another namespace, any other device of ours may have its name.  Internal
 * devices have a kind of their own in the kernel, by which they are told
 * apart. */
static bool
netdev_kdp_find_local(const struct netdev *netdev, struct link_info *link)
{
    return (link_table_find_name(kdp_links_table(), LINK_NSID_LOCAL,
                                 netdev_get_name(netdev), link)
            && (netdev->netdev_class != &kdp_internal_class
                || !strcmp(link->kind, "openvswitch")));
}

/* Finds the device in the table, in its last namespace or else in ours. */
static bool
netdev_kdp_find(const struct netdev_kdp *dev, struct link_info *link)
    OVS_REQUIRES(dev->up.mutex)
{
    return ((dev->nsid != LINK_NSID_LOCAL
             && link_table_find_name(kdp_links_table(), dev->nsid,
                                     netdev_get_name(&dev->up.up), link))
            || netdev_kdp_find_local(&dev->up.up, link));
}

/* Ports whose devices have left their namespace and were not found in another
 * one, since the datapath may notice the move later.  An event of a namespace
 * that is not followed may mean that the device has arrived.  The data is the
 * number of searches, at most SEEK_MAX: some turns of the main loop.  These
 * belong to the main thread. */
static struct simap sought = SIMAP_INITIALIZER(&sought);
static uint64_t sought_at;      /* Number of such events at the last search. */
#define SEEK_MAX 100

/* Asks the datapath whether the device is in another namespace, without the
 * RTNL lock.  If it is, that namespace is followed from then on.  The caller
 * holds no lock, as the first request to a datapath opens network devices. */
static void
netdev_kdp_locate(struct netdev_kdp *dev)
    OVS_EXCLUDED(dev->up.mutex)
{
    struct dpif_netlink_vport vport;
    struct link_info link;
    struct ofpbuf *buf;

    if (dpif_netlink_vport_get(netdev_get_name(&dev->up.up), &vport, &buf)) {
        simap_find_and_delete(&sought, netdev_get_name(&dev->up.up));
        return;
    }
    ovs_mutex_lock(&dev->up.mutex);
    if (!dev->present && netnsid_is_remote(vport.netnsid)) {
        link_table_follow_ns(kdp_links_table(), vport.netnsid);
        dev->nsid = vport.netnsid;
        if (netdev_kdp_find(dev, &link)) {
            netdev_kdp_take(dev, &link);
        } else {
            /* It is absent until the links of the namespace were listed.  The
             * stock class would ask for the local device of that name if its
             * request about the namespace failed. */
            netnsid_set(&dev->up.netnsid, vport.netnsid);
        }
    }
    if (dev->present) {
        simap_find_and_delete(&sought, netdev_get_name(&dev->up.up));
    } else {
        simap_increase(&sought, netdev_get_name(&dev->up.up), 1);
        sought_at = link_table_get_skipped(kdp_links_table());
    }
    ovs_mutex_unlock(&dev->up.mutex);
    ofpbuf_delete(buf);
}

/* Searches again for the device that is open as 'name', if it is still absent.
 * Returns true if it was. */
static bool
netdev_kdp_seek(const char *name)
{
    struct netdev *netdev = netdev_from_name(name);
    bool absent = false;

    if (netdev && netdev_is_kdp(netdev)) {
        struct netdev_kdp *dev = netdev_kdp_cast(netdev);

        ovs_mutex_lock(&dev->up.mutex);
        absent = !dev->present;
        ovs_mutex_unlock(&dev->up.mutex);
        if (absent) {
            netdev_kdp_locate(dev);
        }
    }
    netdev_close(netdev);
    return absent;
}

/* Is there an open device in namespace 'nsid'? */
static bool
netdev_kdp_any_in(int32_t nsid)
{
    const struct netdev_kdp *dev;
    bool any = false;

    ovs_mutex_lock(&present_mutex);
    HMAP_FOR_EACH (dev, present_node, &present) {
        any |= dev->link.nsid == nsid;
    }
    ovs_mutex_unlock(&present_mutex);
    return any;
}

/* Stops following namespaces that contain no open device any more.  Waits
 * until all searches are done, since a device may be in a namespace whose
 * links are still to be listed. */
static void
netdev_kdp_unfollow(void)
{
    struct link_ns_info *ns;
    bool left;
    size_t n;

    atomic_read_relaxed(&has_left, &left);
    if (!left || !simap_is_empty(&sought)) {
        return;
    }
    atomic_store_relaxed(&has_left, false);
    ns = link_table_get_namespaces(kdp_links_table(), &n);
    for (size_t i = 0; i < n; i++) {
        if (ns[i].nsid != LINK_NSID_LOCAL && ns[i].state != LINK_NS_UNFOLLOWED
            && !netdev_kdp_any_in(ns[i].nsid)) {
            link_table_unfollow_ns(kdp_links_table(), ns[i].nsid);
        }
    }
    free(ns);
}

void
netdev_kdp_state_run(void)
{
    struct sset names = SSET_INITIALIZER(&names);
    const struct simap_node *node;
    const char *name;

    netdev_kdp_unfollow();
    if (simap_is_empty(&sought)
        || link_table_get_skipped(kdp_links_table()) == sought_at) {
        return;
    }
    SIMAP_FOR_EACH (node, &sought) {
        sset_add(&names, node->name);
    }
    SSET_FOR_EACH (name, &names) {
        if (!netdev_kdp_seek(name) || simap_get(&sought, name) > SEEK_MAX) {
            simap_find_and_delete(&sought, name);
        }
    }
    sset_destroy(&names);
}

/* True if the device is in another namespace and has another name there.  Then
 * it keeps its last state: Open vSwitch and the datapath look ports up by name
 * and would not find it. */
static bool
netdev_kdp_is_renamed_elsewhere(const struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct link_info link;

    return (dev->present && dev->link.nsid != LINK_NSID_LOCAL
            && link_table_find(kdp_links_table(), dev->link.nsid,
                               dev->link.ifindex, &link)
            && strcmp(link.name, dev->link.name));
}

/* Copies the state in the table to the device.  Returns true if the device has
 * left its namespace and has to be located. */
static bool
netdev_kdp_refresh(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex)
{
    struct link_info link;
    bool lost = false;

    if (netdev_kdp_is_renamed_elsewhere(dev)) {
        return false;
    }
    if (netdev_kdp_find(dev, &link)) {
        netdev_kdp_take(dev, &link);
    } else if (dev->present) {
        lost = true;
        netdev_kdp_lose(dev);
    }
    return lost;
}

bool
netdev_kdp_state_is_called(int ifindex, const char *name)
{
    struct ifreq ifr;

    if (strlen(name) >= sizeof ifr.ifr_name) {
        /* An alternative name, which does not fit in the request. */
        return true;
    }
    memset(&ifr, 0, sizeof ifr);
    ovs_strzcpy(ifr.ifr_name, name, sizeof ifr.ifr_name);
    return (!af_inet_ioctl(SIOCGIFINDEX, &ifr)
            && ifr.ifr_ifindex == ifindex);
}

/* True if a device that was not in the table when it was opened may get the
 * table's state.  Unless the table is 'current', the entry with that name may
 * be outdated, as it may have been when the device was opened.  For a device
 * that was located in another namespace, only that namespace counts. */
static bool
netdev_kdp_may_refresh(const struct netdev_kdp *dev, bool current)
    OVS_REQUIRES(dev->up.mutex)
{
    struct link_info link;

    return (current
            || (netdev_kdp_find(dev, &link)
                && (link.nsid != LINK_NSID_LOCAL
                    || netdev_kdp_state_is_called(
                        link.ifindex, netdev_get_name(&dev->up.up)))));
}

/* Looks up a device that was not in the table when it was opened. */
static void
netdev_kdp_look_again(struct netdev_kdp *dev)
    OVS_EXCLUDED(dev->up.mutex)
{
    bool current = kdp_links_catch_up();
    bool lost = false;

    ovs_mutex_lock(&dev->up.mutex);
    if (netdev_kdp_may_refresh(dev, current)) {
        lost = netdev_kdp_refresh(dev);
    }
    if (dev->unresolved && current) {
        /* There is none, but an internal device may be in another namespace
         * for long. */
        dev->unresolved = false;
        netdev_kdp_lose(dev);
        lost = dev->up.up.netdev_class == &kdp_internal_class;
    }
    ovs_mutex_unlock(&dev->up.mutex);
    if (lost) {
        netdev_kdp_locate(dev);
        /* Lists the links of the namespace, if it is followed from now on. */
        kdp_links_catch_up();
    }
}

void
netdev_kdp_state_resolve__(struct netdev_kdp *dev)
{
    bool unresolved, unknown;

    ovs_mutex_lock(&dev->up.mutex);
    unresolved = dev->unresolved;
    ovs_mutex_unlock(&dev->up.mutex);
    if (unresolved && kdp_links_is_main()) {
        netdev_kdp_look_again(dev);
    }

    ovs_mutex_lock(&dev->up.mutex);
    unknown = !(dev->up.cache_valid & VALID_IFINDEX);
    ovs_mutex_unlock(&dev->up.mutex);
    if (unknown) {
        kdp_rtnl_count(KDP_RTNL_UNKNOWN);
    }
}

/* Updates the device that is open as 'name' after a change of 'link'.  Returns
 * true if the bridge may have opened the device, rather than the router of
 * tunnels, which opens any device, without a type. */
static bool
netdev_kdp_changed(const char *name, const struct link_info *link)
{
    struct netdev *netdev = netdev_from_name(name);
    bool open = netdev && !netdev->auto_classified;

    if (netdev && netdev_is_kdp(netdev)) {
        struct netdev_kdp *dev = netdev_kdp_cast(netdev);

        ovs_mutex_lock(&dev->up.mutex);
        bool lost = netdev_kdp_refresh(dev);
        bool absent = !dev->present;
        ovs_mutex_unlock(&dev->up.mutex);
        if (!absent) {
            simap_find_and_delete(&sought, name);
        }
        if (lost || (absent && link->nsid != LINK_NSID_LOCAL)) {
            /* When it left, the datapath did not know where it went. */
            netdev_kdp_locate(dev);
        }
    }
    netdev_close(netdev);
    return open;
}

/* Notes that the speeds of the devices that are open as 'names' may have
 * changed; with 'lag', only of bonds and teams. */
static void
netdev_kdp_touch_settings(const struct sset *names, bool lag)
{
    const char *name;

    SSET_FOR_EACH (name, names) {
        struct netdev *netdev = netdev_from_name(name);

        if (netdev && netdev_is_kdp(netdev)) {
            struct netdev_kdp *dev = netdev_kdp_cast(netdev);

            ovs_mutex_lock(&dev->up.mutex);
            if (dev->present
                && (!lag || netdev_kdp_lag_is_kind(dev->link.kind))) {
                netdev_kdp_features_changed(dev);
                netdev_change_seq_changed(netdev);
            }
            ovs_mutex_unlock(&dev->up.mutex);
        }
        netdev_close(netdev);
    }
}

/* Notes that the speed of the bond or team 'ifindex' may have changed, because
 * the speed of a member has. */
static void
netdev_kdp_touch_lag(int32_t nsid, int ifindex)
{
    struct sset names = SSET_INITIALIZER(&names);

    netdev_kdp_get_names(nsid, ifindex, &names);
    netdev_kdp_touch_settings(&names, true);
    sset_destroy(&names);
}

void
netdev_kdp_state_settings_changed(int ifindex)
{
    struct sset names = SSET_INITIALIZER(&names);
    const struct netdev_kdp *dev;

    ovs_mutex_lock(&present_mutex);
    HMAP_FOR_EACH (dev, present_node, &present) {
        /* A VLAN device has the settings of the link that it is on. */
        if (dev->link.nsid == LINK_NSID_LOCAL
            && (!ifindex || dev->link.ifindex == ifindex
                || dev->link.lower == ifindex)) {
            sset_add(&names, netdev_get_name(&dev->up.up));
        }
    }
    ovs_mutex_unlock(&present_mutex);
    netdev_kdp_touch_settings(&names, false);
    sset_destroy(&names);
}

/* Updates the bond or team, if the changed link is a member of one. */
static void
netdev_kdp_member_changed(const struct link_change *change)
{
    const struct link_info *link = change->link;

    if (change->what & (LINK_CHANGE_NEW | LINK_CHANGE_GONE | LINK_CHANGE_FLAGS
                        | LINK_CHANGE_OPERSTATE | LINK_CHANGE_CARRIER
                        | LINK_CHANGE_MASTER | LINK_CHANGE_BOND)) {
        if (link->master) {
            netdev_kdp_touch_lag(link->nsid, link->master);
        }
        if (change->what & LINK_CHANGE_MASTER && link->last_master) {
            netdev_kdp_touch_lag(link->nsid, link->last_master);
        }
    }
}

/* Subscriber to the link table. */
static void
netdev_kdp_link_changed(const struct link_change *change, void *aux OVS_UNUSED)
{
    const struct link_info *link = change->link;
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;

    /* The names that it had at the last change, and its present ones. */
    netdev_kdp_get_names(link->nsid, link->ifindex, &names);
    sset_add(&names, link->name);
    if (change->what & (LINK_CHANGE_NEW | LINK_CHANGE_ALT_NAMES)) {
        link_table_get_alt_names(kdp_links_table(), link->nsid, link->ifindex,
                                 &names);
    }
    SSET_FOR_EACH (name, &names) {
        if_notifier_kdp_changed(name, change, netdev_kdp_changed(name, link));
    }
    sset_destroy(&names);
    netdev_kdp_member_changed(change);
    if (link->nsid == LINK_NSID_LOCAL) {
        netdev_kdp_lag_update(change);
    }
}

/* Life cycle. */

/* By now the name may mean another link, or none, if events wait to be
 * processed.  An open device is updated by these; a caller that opens a device
 * sees the present state.  The router opens a device without a type for each
 * route, and relies on the events that were processed. */
bool
netdev_kdp_state_find(const struct netdev *netdev, struct link_info *link)
{
    return (netdev_kdp_find_local(netdev, link)
            && (netdev->auto_classified
                || netdev_kdp_state_is_called(link->ifindex,
                                              netdev_get_name(netdev))));
}

void
netdev_kdp_state_attach(struct netdev_kdp *dev, const struct link_info *link)
{
    ovs_mutex_lock(&dev->up.mutex);
    dev->nsid = LINK_NSID_LOCAL;
    if (link) {
        dev->up.ifi_flags = link->flags;
        netdev_kdp_take(dev, link);
    } else {
        /* With the library's lock held, events cannot be processed here. */
        dev->unresolved = true;
        netdev_kdp_update_known(dev);
    }
    ovs_mutex_unlock(&dev->up.mutex);
}

void
netdev_kdp_state_detach(struct netdev_kdp *dev)
{
    ovs_mutex_lock(&dev->up.mutex);
    netdev_kdp_set_present(dev, NULL);
    ovs_mutex_unlock(&dev->up.mutex);
}

void
netdev_kdp_state_init(void)
{
    link_table_subscribe(kdp_links_table(), LINK_NSID_ALL, LINK_CHANGE_ALL,
                         netdev_kdp_link_changed, NULL);
}
