/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H
#define KDP_NETDEV_LINUX_ROUTE_TABLE_KDP_H 1

/* Routes for tunnels
 * ==================
 *
 * Takes the place of Open vSwitch's own module behind route-table.h, which
 * asks for all routes and addresses, under RTNL, whenever any link or route
 * has changed.  Here routes and addresses come from the tables that events
 * keep up to date (links.h), and its router is filled anew, without asking
 * the kernel for anything, when one of them has changed.
 *
 * Without links of our own it is Open vSwitch's module.
 *
 * Thread safety: the main thread, except that route_table_get_change_seq() may
 * be called from any. */

/* To be called once, after kdp_links_init(), before Open vSwitch's tunnels are
 * used. */
void route_table_kdp_register(void);

#endif /* lib/netdev-linux/route-table-kdp.h */
