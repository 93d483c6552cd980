/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H
#define KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H 1

/* Routes for tunnels
 * ==================
 *
 * The kernel routes the packets of its datapath itself.  Open vSwitch looks
 * routes up only to show through which device a tunnel leaves, and to choose
 * the address of an sFlow agent.  Datapaths in user space need more: they
 * route packets by Open vSwitch's router (ovs-router.h), which its module
 * behind route-table.h fills with all routes of the kernel, again after every
 * change of a route or a link.
 *
 * So here each lookup asks the kernel (link/link-route.h), and the router is
 * left empty but for the routes that users add (ovs/route/add), which come
 * first.  Open vSwitch's own code fills the router in two cases:
 *
 *   - While there is a datapath in user space.  Then the router alone answers,
 *     as it does in the stock daemon.  It is filled again when routes may have
 *     changed, as often as link-route.h says, and so that filling takes no more
 *     than a tenth of the time.
 *
 *   - For a command that shows it (ovs/route/show, ovs/route/rule/show), for
 *     as long as that takes.
 *
 * Where it is filled, routes of tables other than default, main and local are
 * left out, unless the router has tables and rules of its own (since 3.7).
 *
 *      kernel <---- one question ---- ovs_router_lookup()
 *         |                                ^
 *         `-- changes --> watch --> change sequence number of the routes
 *
 * Tunnels look at their routes, and at the carrier of the device, when
 * route_table_get_change_seq() changes.  That is when routes, or a link of our
 * namespace or its addresses, may have.
 *
 * Open vSwitch's module is driven through the functions that it takes its
 * events from (netlink-notifier.h), which are here, too: it has no socket, and
 * is told that everything has changed whenever it runs.
 *
 * Without links of our own, all of this is Open vSwitch's module.
 *
 * Thread safety: the main thread, except that route_table_get_change_seq() and
 * ovs_router_lookup() may be called from any.
 *
 * Failure: a lookup that the kernel does not answer finds no route. */

#include <stdint.h>

/* Filling the router may take this part of the time at most: one in so
 * many. */
#define ROUTE_TABLE_SHARE 10

/* To be called once, after kdp_links_init(), before Open vSwitch's tunnels are
 * used. */
void route_table_kdp_register(void);

struct route_table_kdp_stats {
    uint64_t asked;             /* Questions to the kernel... */
    uint64_t asked_us;          /* ...and microseconds that they took. */
    uint64_t changes;           /* Times that tunnels were to look again. */
    uint64_t filled;            /* Times that the router was filled... */
    uint64_t filled_us;         /* ...and microseconds that it took. */
};
void route_table_kdp_get_stats(struct route_table_kdp_stats *);

#endif /* lib/netdev-linux/route-table-kdp.h */
