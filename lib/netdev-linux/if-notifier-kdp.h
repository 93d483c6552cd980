/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_IF_NOTIFIER_KDP_H
#define KDP_NETDEV_LINUX_IF_NOTIFIER_KDP_H 1

/* Notices to the bridge about links
 * =================================
 *
 * Open vSwitch's if-notifier tells the bridge whenever any link has changed,
 * and the bridge then configures everything again.  This module replaces it,
 * and notifies the bridge only of changes that matter to its configuration:
 *
 *   - A link that the bridge has opened or tried to open was added or removed,
 *     left its master, or changed its name, MTU, hardware address or kind.
 *
 *   - The speed of a link that the bridge has used has changed (speed.h).
 *
 *   - A link with an address that the bridge has set, that is, its local port,
 *     went down: the bridge brings it up again.
 *
 *   - Another process has deleted a port from a datapath.  The link leaves the
 *     datapath before the kernel announces the deletion.  If only the link
 *     notified the bridge, it might look at its ports too early.
 *
 *   - A tunnel could not be added, because another device had its UDP port or
 *     key, and now a tunnel device that is not ours was removed or went down.
 *
 * The bridge reads other flags, carrier and addresses from the devices, and
 * need not configure anything when they flap.  Like Open vSwitch, the module
 * ignores changes in other namespaces.
 *
 * Coalescing: the bridge is notified when the listener has no more events, and
 * then not again for IF_NOTIFIER_INTERVAL.  So a burst causes one
 * configuration, or one in each interval.  A single change is not delayed.
 *
 * Without links of our own (kdp_links_enabled()), Open vSwitch's notifier
 * notifies the bridge of links, and this module of everything else.
 *
 * Life cycle: a name that the bridge has tried to open is remembered until the
 * next notice.  After that the open devices count, and the names that it tries
 * again.
 *
 * Thread safety: any thread may call if_notifier_kdp_wanted().  The rest
 * belongs to the main thread. */

#include <stdbool.h>

struct link_change;

/* Least time between two notices, in milliseconds.  A configuration of
 * thousands of ports takes about as long. */
#define IF_NOTIFIER_INTERVAL 50

/* Says that the bridge tries to open a device called 'name'. */
void if_notifier_kdp_wanted(const char *name);

/* Says that the link called 'name' has changed.  'open' is true if it is open
 * as a device. */
void if_notifier_kdp_changed(const char *name, const struct link_change *,
                             bool open);

/* Says that a tunnel could not be added to a datapath.  Main thread. */
void if_notifier_kdp_tunnel_refused(void);

/* Makes the bridge configure itself, because something that its configuration
 * was computed from has changed.  Main thread. */
void if_notifier_kdp_outdated(void);

/* Processes waiting events and, if the interval permits, notifies the bridge
 * at once.  Main thread.  To be called in the middle of a turn of the main
 * loop, before ofproto is told that ports are gone: otherwise the bridge would
 * ask in this turn for the state of ports that ofproto no longer has, and log
 * warnings. */
void if_notifier_kdp_catch_up(void);

/* Number of notices to the bridge, and of changes that caused none, because no
 * one had opened the link or it was in another namespace.  A change counts
 * once for each name of its link. */
void if_notifier_kdp_get_counts(unsigned long long int *n_notices,
                                unsigned long long int *n_foreign);

#endif /* lib/netdev-linux/if-notifier-kdp.h */
