/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_IF_NOTIFIER_KDP_H
#define KDP_NETDEV_LINUX_IF_NOTIFIER_KDP_H 1

/* Notices to the bridge about links
 * =================================
 *
 * Open vSwitch's if-notifier tells the bridge that some link has changed, upon
 * which the bridge configures everything anew.  Here, in its place, it is told
 * of links that the bridge has asked for, whether it got them or not, and of
 * changes that its configuration depends on: that a link came or went, its
 * name, MTU, hardware address and kind, or that its master let go of it.
 * Flags, carrier and addresses reach the bridge through the devices.  Of what
 * happens to its devices in other namespaces it is not told, as it is not by
 * Open vSwitch.
 *
 * Coalescing: the bridge is told when the listener has no more events, and
 * then not again for IF_NOTIFIER_INTERVAL.  So a burst causes one
 * configuration, or one in each interval, and a single change waits for
 * nothing.
 *
 * Without links of our own (kdp_links_enabled()) this is Open vSwitch's
 * notifier.
 *
 * Life cycle: that a device was asked for is remembered until the bridge is
 * told.  From then on those count that are open, and those that it asks for
 * anew.
 *
 * Thread safety: if_notifier_kdp_wanted() any thread, all else the main
 * thread. */

#include <stdbool.h>

struct link_change;

/* Least time between two notices, in milliseconds.  A configuration of
 * thousands of ports takes about as long. */
#define IF_NOTIFIER_INTERVAL 50

/* Says that the bridge wants a device called 'name'. */
void if_notifier_kdp_wanted(const char *name);

/* Says that a link called 'name' has changed, which is open as a device or
 * not. */
void if_notifier_kdp_changed(const char *name, const struct link_change *,
                             bool open);

/* Number of notices to the bridge, and of changes that called for none since
 * they were of links that nobody asked for, or of other namespaces.  A change
 * counts once for each name of its link. */
void if_notifier_kdp_get_counts(unsigned long long int *n_notices,
                                unsigned long long int *n_foreign);

#endif /* lib/netdev-linux/if-notifier-kdp.h */
