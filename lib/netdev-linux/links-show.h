/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_SHOW_H
#define KDP_NETDEV_LINUX_LINKS_SHOW_H 1

/* Commands about links: link-table/show shows the state of the listener and
 * its tables, notices to the bridge, and calls that took the RTNL lock.
 * link-table/resync lists all links again, as after a loss.
 *
 * Thread safety: the main thread. */

struct ds;
struct json;

/* Registers the commands, once. */
void kdp_links_show_register(void);

/* Parts of link-table/show, for tests: the number of open devices, and those
 * whose state is not that in the link table of our own namespace.
 *
 *   - elsewhere: in another namespace;
 *   - absent: there is no such device;
 *   - behind: the table is newer than the device, or the device's event is
 *     still to come.
 *
 * The first appends a line to 's'; the caller owns the result of the
 * second. */
void links_show_devices_text(struct ds *s);
struct json *links_show_devices_json(void);

#endif /* lib/netdev-linux/links-show.h */
