/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_SHOW_H
#define KDP_NETDEV_LINUX_LINKS_SHOW_H 1

/* Commands about links: link-table/show tells what the listener and its tables
 * know, what the bridge was told, and which calls took the RTNL lock.
 * link-table/resync has all links asked for again, as after a loss.
 *
 * Thread safety: the main thread. */

struct ds;
struct json;

/* Registers the commands, once. */
void kdp_links_show_register(void);

/* Parts of link-table/show, for tests: how many devices are open, and which
 * are not as the link table of our own namespace has them.
 *
 *   - elsewhere: in another namespace;
 *   - absent: there is no such device;
 *   - behind: the table knows more than the device, or its event is yet to
 *     come.
 *
 * The first appends a line to 's', the second returns what the caller owns. */
void links_show_devices_text(struct ds *s);
struct json *links_show_devices_json(void);

#endif /* lib/netdev-linux/links-show.h */
