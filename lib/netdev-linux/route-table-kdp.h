/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H
#define KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H 1

/* Routes for tunnels
 * ==================
 *
 * Takes the place of Open vSwitch's module behind route-table.h.  That one
 * asks for all routes and addresses, under RTNL, whenever any link or route
 * has changed.  This one has them from the tables that events keep up to date
 * (links.h).  It inserts in Open vSwitch's router, and removes from it, what
 * has changed (router.h), without a request to the kernel.
 *
 * Of several routes to a destination the router gets the preferred one
 * (link/link-dest.h) that it takes: Open vSwitch knows neither tables nor
 * metrics.
 *
 * Work: a turn of the main loop takes over the changes of at most
 * ROUTE_TABLE_TURN destinations.
 *
 * Tunnels show the carrier of the device that they leave through.  They look
 * at it when route_table_get_change_seq() changes, so that is changed, too,
 * when a link that has routes gets or loses its carrier.
 *
 * Without links of our own this is Open vSwitch's module.
 *
 * Thread safety: the main thread, except that route_table_get_change_seq() may
 * be called from any. */

/* Most destinations in a turn.  One takes some 10 microseconds. */
#define ROUTE_TABLE_TURN 256

/* To be called once, after kdp_links_init(), before Open vSwitch's tunnels are
 * used. */
void route_table_kdp_register(void);

#endif /* lib/netdev-linux/route-table-kdp.h */
