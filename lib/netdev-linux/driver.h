/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_DRIVER_H
#define KDP_NETDEV_LINUX_DRIVER_H 1

/* Questions to drivers
 * ====================
 *
 * What only the driver of a device knows: its link settings (speed, duplex and
 * the like, which the library calls features), its name and version (status),
 * and whether it takes the link to be up (MII).  Each such question takes the
 * RTNL lock, so it is a job of the thread that waits for that lock
 * (rtnl-worker.h).
 *
 * Features and status are asked for when somebody wants to know them for the
 * first time.  The main thread waits for that answer, but only for as long as
 * rtnl_worker_await() does.  If another process holds the lock, the main
 * thread goes on without an answer, and the change sequence number of the
 * device changes when it comes: the bridge and ofproto look again then.
 * Features are asked for again when they may have changed: after the link went
 * up or down, after its carrier changed, and after "ethtool -s".  Until the
 * answer is there, the device has the features that it had.
 *
 * The driver of veth devices answers with the same constants, whatever the
 * device and its state, and has no way to set them.  Hosts of containers have
 * veth devices by the thousand, which come and go.  So the answer about the
 * first one is kept for all, as long as the process runs, if the name, by
 * which ethtool asks, meant the same veth before and after.  An error is never
 * kept.
 * From the version of Open vSwitch on that shows the peer of a veth, which is
 * no constant, the status of each device is asked for.
 *
 * Thread safety: the main thread.  Other threads may call
 * netdev_kdp_driver_need(), which does not wait there.
 *
 * Failure: an error of the driver is an answer. */

#include "netdev-linux/device.h"

/* To be called before the library answers 'question', which is no
 * NETDEV_ASK_MII, about 'netdev'.  Returns 0 if it may, from what is known of
 * the device (or, for a device that is not in the link table, from what it
 * asks); EAGAIN if the answer is yet to come; or another positive errno value
 * if there is none.  The caller holds no lock. */
int netdev_kdp_driver_need(const struct netdev *netdev, enum netdev_ask);

/* Has the driver of 'dev' asked, unless it is being asked. */
void netdev_kdp_driver_ask(struct netdev_kdp *dev, enum netdev_ask)
    OVS_EXCLUDED(dev->up.mutex);

/* Forgets what is known of veth devices, for tests. */
void netdev_kdp_driver_forget_veths(void);

#endif /* lib/netdev-linux/driver.h */
