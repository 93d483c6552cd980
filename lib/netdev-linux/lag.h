/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LAG_H
#define KDP_NETDEV_LINUX_LAG_H 1

/* Members of bonds
 * ================
 *
 * Flows of a bond that is a port are offloaded to a tc block.  The ingress of
 * each member has to be bound to that block, as the packets come in there.
 *
 * Life cycle: a member is bound when it joins the bond, and unbound when it
 * leaves it or goes.  It may change its name, and the bond, at any time.
 *
 * Thread safety: the main thread.
 *
 * Failure: a member that cannot be bound is logged.  Its flows are not
 * offloaded. */

struct link_change;

/* To be called for each change of a link of our namespace. */
void netdev_kdp_lag_update(const struct link_change *);

#endif /* lib/netdev-linux/lag.h */
