/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_STATS_H
#define KDP_NETDEV_LINUX_STATS_H 1

/* Statistics of devices
 * =====================
 *
 * Open vSwitch adds the datapath's counters of a port to the device's.  The
 * stock code requests both for each port, the latter under the RTNL lock.
 * Here the first device whose statistics are read in a turn of the main loop
 * is requested by itself.  When a second device is read in the same turn, all
 * counters are read at once, with one request to each datapath and one read of
 * /proc/net/dev.  That snapshot serves the rest of the turn.
 *
 *
 *      in this turn      next device            source of its statistics
 *      ----------------  ---------------------  -----------------------------
 *      no device read    the one that was read  a snapshot, as others are
 *                        first when the last    likely to follow
 *                        snapshot was taken
 *      no device read    any other one          a request for it
 *      one device read   the same one           a request for it
 *      one device read   another one            a snapshot
 *      snapshot taken    any                    the snapshot
 *
 * A device that the snapshot lacks is requested by itself: a newer port, or a
 * device that is open under an alternative name.
 *
 * /proc/net/dev has only sums of some rare counters:
 *
 *      the sums are                               the counters are
 *      -----------------------------------------  ---------------------
 *      0                                          0
 *      0, except that packets were dropped on     that number, and 0
 *      receipt, as many as the datapath dropped
 *      the same as when the counters were last    what they were then
 *      read
 *      anything else                              read one by one (/sys)
 *
 * Life cycle: a snapshot is valid during one turn.  netdev_kdp_stats_run()
 * begins the next.
 *
 * Thread safety: netdev_kdp_stats_run() belongs to the main thread.  Any
 * thread may call the rest.
 *
 * Failure: if sysfs lacks the counters of a device, they are requested by
 * netlink, under the RTNL lock, and the request is counted. */

struct netdev;
struct netdev_stats;

/* The callbacks of the classes for "system", "tap" and "internal". */
int netdev_kdp_stats_get(const struct netdev *, struct netdev_stats *);
int netdev_kdp_stats_get_tap(const struct netdev *, struct netdev_stats *);
int netdev_kdp_stats_get_internal(const struct netdev *,
                                  struct netdev_stats *);

/* To be called in each turn of the main loop. */
void netdev_kdp_stats_run(void);

#endif /* lib/netdev-linux/stats.h */
