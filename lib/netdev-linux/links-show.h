/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_SHOW_H
#define KDP_NETDEV_LINUX_LINKS_SHOW_H 1

/* Commands about links: link-table/show tells what the listener and its tables
 * know, what the bridge was told, and which calls took the RTNL lock.
 * link-table/resync has all links asked for anew, as after a loss.
 *
 * Thread safety: the main thread. */

/* Registers the commands, once. */
void kdp_links_show_register(void);

#endif /* lib/netdev-linux/links-show.h */
