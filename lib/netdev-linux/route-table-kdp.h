/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H
#define KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H 1

/* Routes for tunnels
 * ==================
 *
 * The kernel routes the packets of its datapath itself.  Open vSwitch looks
 * routes up only to show the device that a tunnel sends through, and to choose
 * the address of an sFlow agent.  Datapaths in user space need more: they
 * route packets with Open vSwitch's router (ovs-router.h).  The module behind
 * route-table.h fills it with all routes of the kernel, again after every
 * change of a route or a link.
 *
 * Here, a lookup asks the kernel instead (link/link-route.h), and the router
 * holds only the routes that users add (ovs/route/add), which take precedence.
 * Open vSwitch's own code fills the router in two cases:
 *
 *   - While there is a datapath in user space.  Then only the router answers,
 *     as in the stock daemon.  It is filled again when routes may have
 *     changed, as often as link-route.h permits, but not in more than a tenth
 *     of the time.
 *
 *   - For a command that shows it (ovs/route/show, ovs/route/rule/show), for
 *     as long as that takes.
 *
 * It is filled without routes of tables other than default, main and local,
 * unless the router has tables and rules of its own (since 3.7).
 *
 *      kernel <---- one request ----- ovs_router_lookup()
 *         |                                ^
 *         `-- changes --> watch --> change sequence number of the routes
 *
 * Tunnels look at their routes, and at the carrier of the device, when
 * route_table_get_change_seq() changes.  It changes when routes, or a link of
 * our namespace or its addresses, may have changed.
 *
 * This file replaces the functions through which Open vSwitch's module gets
 * its events (netlink-notifier.h), so that the module has no socket.  Whenever
 * it runs, it is told that everything has changed.
 *
 * Without links of our own, Open vSwitch's module does everything.
 *
 * Thread safety: the main thread, except that any thread may call
 * route_table_get_change_seq() and ovs_router_lookup().
 *
 * Failure: a lookup that the kernel does not answer finds no route. */

#include <stdint.h>

/* The router is filled during at most one ROUTE_TABLE_SHARE-th of the time. */
#define ROUTE_TABLE_SHARE 10

/* To be called once, after kdp_links_init(), before Open vSwitch's tunnels are
 * used. */
void route_table_kdp_register(void);

struct route_table_kdp_stats {
    uint64_t asked;             /* Requests to the kernel... */
    uint64_t asked_us;          /* ...and microseconds that they took. */
    uint64_t changes;           /* Changes reported to tunnels. */
    uint64_t filled;            /* Times that the router was filled... */
    uint64_t filled_us;         /* ...and microseconds that it took. */
};
void route_table_kdp_get_stats(struct route_table_kdp_stats *);

#endif /* lib/netdev-linux/route-table-kdp.h */
