/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_STATS_H
#define KDP_NETDEV_LINUX_STATS_H 1

/* Statistics of devices
 * =====================
 *
 * Open vSwitch adds what the datapath counts for a port to what the device
 * counts.  It asks for both for each port, for the latter under RTNL.  Here a
 * caller that asks for the statistics of one device in a turn of the main loop
 * gets those of that one.  Once a second device is asked for in the same turn,
 * all are read at once, with one request to each datapath and one read of
 * /proc/net/dev.  The rest of the turn is answered from that snapshot.
 *
 * /proc/net/dev adds some rare counters up.  Where such a sum is 0, so are
 * they.  Where it is not, that device's are read one by one, when the sum has
 * changed.
 *
 * Life cycle: a snapshot is valid during one turn.  netdev_kdp_stats_run()
 * begins the next.
 *
 * Thread safety: netdev_kdp_stats_run() belongs to the main thread, the rest
 * to any.
 *
 * Failure: a device whose counters sysfs lacks is asked for by netlink, under
 * RTNL, and counted. */

struct netdev;
struct netdev_stats;

/* The callbacks of the classes for "system", "tap" and "internal". */
int netdev_kdp_stats_get(const struct netdev *, struct netdev_stats *);
int netdev_kdp_stats_get_tap(const struct netdev *, struct netdev_stats *);
int netdev_kdp_stats_get_internal(const struct netdev *,
                                  struct netdev_stats *);

/* In each turn of the main loop. */
void netdev_kdp_stats_run(void);

#endif /* lib/netdev-linux/stats.h */
