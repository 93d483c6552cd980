/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_MII_H
#define KDP_NETDEV_LINUX_MII_H 1

/* Monitoring of links by their MII registers
 * ==========================================
 *
 * For drivers whose carrier cannot be relied on, a bond may ask that the
 * registers be read at an interval (other_config:bond-miimon-interval).  Each
 * read is a question to the driver (driver.h).  Until the first answer is
 * there, a link is up if it has a carrier.
 *
 * Life cycle: a device is monitored while its interval is above 0.
 *
 * Thread safety: any thread may set an interval.  The others belong to the
 * main thread.
 *
 * Failure: a link whose registers cannot be read is taken to be down. */

struct netdev;

/* The callback of the classes: sets the interval in milliseconds, or ends the
 * monitoring with 0.  Returns 0. */
int netdev_kdp_mii_set_interval(struct netdev *, long long int interval);

/* In each turn of the main loop. */
void netdev_kdp_mii_run(void);
void netdev_kdp_mii_wait(void);

#endif /* lib/netdev-linux/mii.h */
