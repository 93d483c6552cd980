/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_FEATURES_H
#define KDP_NETDEV_LINUX_FEATURES_H 1

/* Link settings that are read again
 * =================================
 *
 * What a driver says of the speed, the duplex mode and the like of a link is
 * its features.  The driver is asked when somebody wants to know them for the
 * first time, and again when they may have changed: after the link went up or
 * down, after its carrier changed, and after "ethtool -s".
 *
 * Cards can flap at any time, and the bridge asks for the features of each of
 * them then.  So the second question and all later ones are jobs of the thread
 * that waits for the RTNL lock (rtnl-worker.h).  Until it has the answer, the
 * device has the features that it had.  Then the change sequence number of the
 * device changes, and the bridge is told of another speed (speed.h).
 *
 * Thread safety: the main thread.
 *
 * Failure: an error of the driver is an answer. */

#include "netdev-linux/device.h"

/* Has the driver of 'dev' asked if its features may have changed.  The caller
 * holds no lock. */
void netdev_kdp_features_refresh(struct netdev_kdp *dev)
    OVS_EXCLUDED(dev->up.mutex);

#endif /* lib/netdev-linux/features.h */
