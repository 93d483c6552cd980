/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_IF_NOTIFIER_KDP_H
#define KDP_NETDEV_LINUX_IF_NOTIFIER_KDP_H 1

/* Notices to the bridge about links
 * =================================
 *
 * Open vSwitch's if-notifier tells the bridge that some link has changed.
 * Then the bridge configures everything again.  This replaces it, and tells
 * the bridge only what its configuration depends on:
 *
 *   - Which links: those that the bridge has asked for, whether it got them or
 *     not.
 *
 *   - Which changes: a link came or went, or left its master, or its name,
 *     MTU, hardware address or kind changed.
 *
 *   - The speed of a link that the bridge has used (speed.h).
 *
 *   - That a link with an address that the bridge has set, which is its local
 *     port, went down: the bridge brings it up again.
 *
 *   - Ports that others delete from a datapath.  Their links leave the
 *     datapath first, and the deletion is announced after that: a bridge that
 *     is told of the link alone may look at its ports before it is known.
 *
 *   - If a tunnel could not be added, because another device had its UDP port
 *     or key: that a tunnel device of somebody else's went, or went down.
 *
 * Other flags, carrier and addresses reach the bridge through the devices, and
 * their flaps are no reason to configure anything.  Changes
 * in other namespaces are not told, as Open vSwitch does not tell them.
 *
 * Coalescing: the bridge is told when the listener has no more events, and
 * then not again for IF_NOTIFIER_INTERVAL.  So a burst causes one
 * configuration, or one in each interval.  A single change waits for nothing.
 *
 * Without links of our own (kdp_links_enabled()) this is Open vSwitch's
 * notifier.
 *
 * Life cycle: a name that the bridge asked for is remembered until the bridge
 * is told of a change.  From then on the open devices count, and the names
 * that it asks for again.
 *
 * Thread safety: any thread may call if_notifier_kdp_wanted().  The rest
 * belongs to the main thread. */

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

/* Main thread.  Says that a tunnel could not be added to a datapath. */
void if_notifier_kdp_tunnel_refused(void);

/* Main thread.  Says that the bridge has to configure itself: something that
 * its configuration was computed from has changed. */
void if_notifier_kdp_outdated(void);

/* Main thread.  Takes the events that there are, and tells the bridge of them
 * at once, if it may be told now.  For whoever is about to tell ofproto, in
 * the middle of a turn of the main loop, that ports went: if the bridge were
 * told in the next turn only, it would ask in this one for the state of ports
 * that ofproto has no more, and warn of that. */
void if_notifier_kdp_catch_up(void);

/* Number of notices to the bridge, and of changes that it was not told of:
 * those of links that nobody asked for, and of other namespaces.  A change
 * counts once for each name of its link. */
void if_notifier_kdp_get_counts(unsigned long long int *n_notices,
                                unsigned long long int *n_foreign);

#endif /* lib/netdev-linux/if-notifier-kdp.h */
