/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_STATE_H
#define KDP_NETDEV_LINUX_STATE_H 1

/* State of devices
 * ================
 *
 * Copies the state of links from the link table to open devices when it
 * changes.
 *
 * Life cycle: netdev_kdp_state_init() subscribes to the link table.  A device
 * is attached when it was constructed, and detached when it is destructed.  In
 * between it is one of these:
 *
 *   - Present: it is in the table and has the table's state.
 *
 *   - Unresolved: it was not in the table when it was opened.  The first
 *     netdev_kdp_state_resolve() looks again, after it has processed all
 *     events.
 *
 *   - Absent: there is no such device.  If a device has left our namespace,
 *     the datapath says which other one it is in.  A namespace that contains
 *     such a device is followed from then on.
 *
 * Thread safety: netdev_kdp_state_init() belongs to the main thread.  Any
 * thread may call the rest.  Devices change in the main thread only.
 *
 * Loss: see link/link-listener.h. */

#include "netdev-linux/device.h"

/* Follows the link table from then on. */
void netdev_kdp_state_init(void);

/* To be called in each turn of the main loop, after the listener ran. */
void netdev_kdp_state_run(void);

/* Finds the link of our namespace for 'netdev', which is being constructed.
 * Checks with the kernel that the link still has that name, unless 'netdev'
 * was opened without a type.  Returns false if there is none. */
bool netdev_kdp_state_find(const struct netdev *netdev,
                           struct link_info *link);

/* True if the kernel knows link 'ifindex' of our namespace by 'name'.  Does
 * not take the RTNL lock. */
bool netdev_kdp_state_is_called(int ifindex, const char *name);

/* Says that the ethtool settings, such as the speed, of link 'ifindex' of our
 * namespace may have changed, or of all links if it is 0.  Main thread. */
void netdev_kdp_state_settings_changed(int ifindex);

/* To be called when 'dev' was constructed, with the link that was found, or
 * NULL, and when it is destructed. */
void netdev_kdp_state_attach(struct netdev_kdp *dev,
                             const struct link_info *link);
void netdev_kdp_state_detach(struct netdev_kdp *dev);

/* To be called after the stock class has set the MTU of 'dev'. */
void netdev_kdp_state_mtu_set(struct netdev_kdp *dev);

/* Looks 'netdev' up in the table again if it is unresolved.  The caller holds
 * no lock.
 *
 * Open vSwitch calls callbacks that call this some twenty times for each port
 * whenever it configures a bridge, nearly always for a known device. */
void netdev_kdp_state_resolve__(struct netdev_kdp *);

static inline void
netdev_kdp_state_resolve(const struct netdev *netdev)
{
    struct netdev_kdp *dev = netdev_kdp_cast(netdev);
    bool known;

    atomic_read_relaxed(&dev->known, &known);
    if (OVS_UNLIKELY(!known)) {
        netdev_kdp_state_resolve__(dev);
    }
}

#endif /* lib/netdev-linux/state.h */
