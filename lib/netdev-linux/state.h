/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_STATE_H
#define KDP_NETDEV_LINUX_STATE_H 1

/* State of devices
 * ================
 *
 * What the link table says is copied to the devices that are open, when it
 * changes.
 *
 * Life cycle: netdev_kdp_state_init() subscribes to the link table.  A device
 * is attached when it was constructed, and detached when it is destructed.  In
 * between it is one of these:
 *
 *   - Present: it is in the table, and has what the table says.
 *
 *   - Unresolved: it was not in the table when it was opened.  The first
 *     netdev_kdp_state_resolve() looks again, after all events were taken.
 *
 *   - Absent: there is no such device.  One that left our namespace is looked
 *     for in the others, by what the datapath says.  A namespace that has one
 *     is followed from then on.
 *
 * Thread safety: netdev_kdp_state_init() belongs to the main thread.  The rest
 * may be called by any.  Devices change in the main thread only.
 *
 * Loss: see link/link-listener.h. */

#include "netdev-linux/device.h"

/* Follows the link table from then on. */
void netdev_kdp_state_init(void);

/* To be called in each turn of the main loop, after the listener ran. */
void netdev_kdp_state_run(void);

/* Finds the link that is to be opened as 'name' in our namespace.  Returns
 * false if it is not in the table, or, if the kernel is to 'confirm' that, not
 * any more. */
bool netdev_kdp_state_find(const char *name, bool confirm,
                           struct link_info *link);

/* True if the kernel knows link 'ifindex' of our namespace by 'name'.  Takes no
 * RTNL. */
bool netdev_kdp_state_is_called(int ifindex, const char *name);

/* Main thread.  Says that what ethtool tells about link 'ifindex' of our
 * namespace, such as its speed, may have changed; with 0, about all links. */
void netdev_kdp_state_settings_changed(int ifindex);

/* To be called when 'dev' was constructed, with what was found then, or NULL,
 * and when it is destructed. */
void netdev_kdp_state_attach(struct netdev_kdp *dev,
                             const struct link_info *link);
void netdev_kdp_state_detach(struct netdev_kdp *dev);

/* Looks again for 'netdev' in the table if it is unresolved.  The caller holds
 * no lock.
 *
 * Open vSwitch calls those that call this some twenty times for each port
 * whenever it configures a bridge, nearly always of a device that is known. */
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
