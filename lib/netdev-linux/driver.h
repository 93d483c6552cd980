/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_DRIVER_H
#define KDP_NETDEV_LINUX_DRIVER_H 1

/* Requests to drivers
 * ===================
 *
 * Some properties only the driver of a device knows: its link settings (speed,
 * duplex and so on, which the library calls features), its name and version
 * (status), and whether the link is up according to its MII registers.  Each
 * such request takes the RTNL lock, so the thread that waits for that lock
 * makes it (rtnl-worker.h).
 *
 * Features and status are requested when a caller needs them for the first
 * time.  The main thread waits for the answer, but only for as long as
 * rtnl_worker_await() does.  If another process holds the lock, the main
 * thread goes on without an answer.  The device's change sequence number
 * changes when the answer arrives, which makes the bridge and ofproto read it.
 * Features are requested again when they may have changed: after the link went
 * up or down, after its carrier changed, and after "ethtool -s".  Until the
 * answer arrives, the device keeps its old features.
 *
 * The driver of veth devices returns the same constants whatever the state of
 * the device, and cannot set them.  Container hosts have thousands of veth
 * devices, which come and go.  So the answer for the first veth device is used
 * for all of them while the process runs, provided that the name in the
 * request meant the same veth device before and after.  Errors are not kept.
 * Newer versions of Open vSwitch show the peer of a veth device in its status.
 * With these the status is requested for each device.
 *
 *
 * MII monitoring
 * --------------
 *
 * For drivers whose carrier state is unreliable, a bond may poll the MII
 * registers at an interval (other_config:bond-miimon-interval).  Until the
 * first answer arrives, a link with a carrier is up.  A link whose registers
 * cannot be read is down.
 *
 *
 * Thread safety: the main thread.  Other threads may call
 * netdev_kdp_driver_need(), which does not wait there, and
 * netdev_kdp_mii_set_interval().
 *
 * Failure: an error of the driver is an answer. */

#include "netdev-linux/device.h"

/* Makes sure that the library can answer a request for features or status of
 * 'netdev'.  Returns 0 if it can, from what is known of the device, or, for a
 * device that is not in the link table, by asking the kernel itself; EAGAIN if
 * the driver has not answered yet; or the driver's error as a positive errno
 * value.  The caller holds no lock. */
int netdev_kdp_driver_need(const struct netdev *netdev, enum netdev_ask);

/* Forgets the answer that veth devices share, for tests. */
void netdev_kdp_driver_forget_veths(void);

/* Callback of the device classes: sets the interval of MII monitoring in
 * milliseconds, at least 100, or ends it with 0.  Returns 0.  Any thread. */
int netdev_kdp_mii_set_interval(struct netdev *, long long int interval);

/* To be called in each turn of the main loop. */
void netdev_kdp_mii_run(void);
void netdev_kdp_mii_wait(void);

#endif /* lib/netdev-linux/driver.h */
