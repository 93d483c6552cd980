/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_SPEED_H
#define KDP_NETDEV_LINUX_SPEED_H 1

/* Speeds of links
 * ===============
 *
 * When the bridge configures itself, it computes path costs of spanning trees
 * and rates of queueing disciplines from the speeds of links.  This module
 * tells the bridge to do so again when such a speed has changed.
 *
 * A driver may report another speed after the link went up or down, after the
 * carrier changed, or after somebody ran "ethtool -s".  rtnetlink announces
 * the first two.  The kernel announces the third since Linux 5.6, to a
 * multicast group of generic netlink family "ethtool", to which this module
 * listens.  After each of these the driver is asked again (driver.h), because
 * the bridge and ofproto ask for the state of a device that has changed.
 *
 * The bridge is told only if the answer differs from the speed that it has
 * used, so a carrier that comes back with the same speed configures nothing.
 * Many drivers report no speed while there is no carrier.  Nothing is sent
 * then, so the bridge is not told before the carrier is back.
 *
 * The bridge does not say that it configures itself.  It sets the quality of
 * service of every port then, also where there is none, and asks for the
 * speeds between that and the end of the same turn of the main loop.  What it
 * is given in between counts as used.
 *
 * Life cycle: netdev_kdp_speed_init(), once.
 *
 * Thread safety: all functions belong to the main thread, which is the only
 * one that asks for speeds.
 *
 * Loss: after an overrun all drivers are asked again.
 *
 * Failure: without the announcements, what "ethtool -s" does is seen at the
 * next change of the link. */

#include "netdev-linux/device.h"

void netdev_kdp_speed_init(void);

/* To be called in each turn of the main loop. */
void netdev_kdp_speed_run(void);
void netdev_kdp_speed_wait(void);

/* Says that the bridge configures itself, and that it has got as far as
 * 'dev'. */
void netdev_kdp_speed_configure(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex);

/* Says that the driver of 'dev' was asked for the speed, or has yet to
 * answer. */
void netdev_kdp_speed_read(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex);

#endif /* lib/netdev-linux/speed.h */
