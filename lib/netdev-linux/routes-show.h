/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_ROUTES_SHOW_H
#define KDP_NETDEV_LINUX_ROUTES_SHOW_H 1

/* Routes for tunnels, and why others are not
 * ==========================================
 *
 * What command link-table/routes shows.  Of several routes to a destination
 * Open vSwitch's router has one at most (route-table-kdp.h).  Each route that
 * is kept is shown with what became of it:
 *
 *   - used: the router has it;
 *   - not preferred: it has another one to that destination;
 *   - no device: the link table has no such device;
 *   - no source: the device has no address for packets to come from;
 *   - waiting: it has changed, and the router is yet to be told;
 *   - unknown: Open vSwitch's own code fills the router (since 3.7), and it
 *     cannot be asked.  Command ovs/route/show has all that it has.
 *
 * Thread safety: the main thread. */

struct ds;
struct json;

/* Appends the routes to 's', a line for each, the preferred ones first. */
void routes_show_text(struct ds *s);

/* Returns the same, which the caller owns. */
struct json *routes_show_json(void);

#endif /* lib/netdev-linux/routes-show.h */
