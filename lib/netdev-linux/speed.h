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
 * carrier changed, or after "ethtool -s".  rtnetlink announces the first two.
 * Since Linux 5.6 the kernel announces the third to a multicast group of
 * generic netlink family "ethtool", to which this module listens.  After each
 * of these the driver is asked again (driver.h), because the bridge and
 * ofproto read the state of a device that has changed.
 *
 * The bridge is notified only if the speed differs from the one that it has
 * used, so a carrier that returns with the same speed configures nothing.
 * Many drivers report no speed while there is no carrier.  As nothing is sent
 * then, the bridge is notified when the carrier returns.
 *
 * The bridge does not announce that it configures itself.  But it then sets
 * the quality of service of every port, even of ports that have none, and
 * after that reads the speeds in the same turn of the main loop.  Speeds that
 * it reads in that time count as used.
 *
 * Life cycle: netdev_kdp_speed_init(), once.
 *
 * Thread safety: all functions belong to the main thread, which is the only
 * one that reads speeds.
 *
 * Loss: after an overrun all drivers are asked again.
 *
 * Failure: without the announcements, the effect of "ethtool -s" is seen at
 * the next change of the link. */

#include "netdev-linux/device.h"

void netdev_kdp_speed_init(void);

/* To be called in each turn of the main loop. */
void netdev_kdp_speed_run(void);
void netdev_kdp_speed_wait(void);

/* Says that the bridge is configuring itself and has reached 'dev'. */
void netdev_kdp_speed_configure(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex);

/* Says that the speed of 'dev' was read, or that its driver is still to
 * answer. */
void netdev_kdp_speed_read(struct netdev_kdp *dev)
    OVS_REQUIRES(dev->up.mutex);

#endif /* lib/netdev-linux/speed.h */
