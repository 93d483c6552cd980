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
 *
 *      in this turn    and then                    the answer comes from
 *      ------------    ------------------------    ---------------------
 *      nobody asked    somebody asks about the     a snapshot, as others will
 *                      device that was the first   be asked about again
 *                      when the last snapshot
 *                      was taken
 *      nobody asked    somebody asks about         the device alone
 *                      another one
 *      one was         that one again              the device alone
 *      asked about
 *      one was         another one                 a snapshot
 *      asked about
 *      there is a      any                         the snapshot
 *      snapshot
 *
 * What a snapshot lacks is asked for one by one: a port that came since, or a
 * device that is open under an alternative name.
 *
 * /proc/net/dev adds some rare counters up:
 *
 *      the sums are                                the counters are
 *      ----------------------------------------    ---------------------
 *      0                                           0
 *      0, but for what was dropped on receipt,     that, and 0
 *      which is what the datapath has dropped
 *      what they were when the counters were       what they were then
 *      last read
 *      anything else                               read one by one (/sys)
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
