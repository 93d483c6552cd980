/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LAG_H
#define KDP_NETDEV_LINUX_LAG_H 1

/* Members of bonds
 * ================
 *
 * The rules of a bond that is a port are in a tc block, whose number is the
 * interface index of the bond.  Packets come in at the members, so the ingress
 * of each member has to be bound to that block: otherwise its network card
 * does not get the rules.  A team counts as a bond here.
 *
 * A block is in use from netdev_kdp_lag_add() to netdev_kdp_lag_remove().  All
 * that time each member of the bond is bound to it.  A member is bound when
 *
 *   - its bond's block comes into use and it is a member already;
 *
 *   - an event of the link table says that it has joined, or joined again as
 *     another device.
 *
 * It is unbound when it leaves, or when the block is no longer in use.
 *
 * A device that a previous run bound to the right block stays as it is, and tc
 * goes on working for it.  Any other discipline of kind "ingress" is replaced,
 * and the rules in it are lost.  With one of kind "clsact", binding fails.
 *
 * Life cycle: nothing is bound before the first netdev_kdp_lag_add().  Members
 * stay bound when the process ends, as the rules stay.  netdev_kdp_lag_clean()
 * unbinds devices that a previous run bound and this one does not.
 *
 * Thread safety: the main thread.  Each bond takes one walk through the link
 * table; each member one or three requests that take the RTNL lock.
 *
 * Failure: a member that cannot be bound is logged, and is tried again at the
 * next event about it.  Its packets do not meet the rules in its card until
 * then. */

#include <stdbool.h>
#include <stdint.h>

struct link_change;

/* Is a link of this kind a bond or a team? */
bool netdev_kdp_lag_is_kind(const char *kind);

/* Takes the block 'block_id' of bond 'ifindex' into use.  May be called again.
 * Does nothing if there are no links (netdev-linux/links.h): then the stock
 * classes run, which do what they can by themselves. */
void netdev_kdp_lag_add(int ifindex, uint32_t block_id);

/* Says that the block of bond 'ifindex', if it has one in use, is not in use
 * any more.  Unbinds the members from it if 'unbind'. */
void netdev_kdp_lag_remove(int ifindex, bool unbind);

/* To be called for each change of a link of our namespace. */
void netdev_kdp_lag_update(const struct link_change *);

/* Unbinds devices that a previous run bound to the block of a bond, and this
 * run has not: those that are not members of the bond.  If 'all_added', no
 * bond of a previous run is added any more, and members are unbound, too.
 * Somebody else may have chosen the number of a bond for a block, so 'is_ours'
 * is asked whether a block may be one of a previous run. */
void netdev_kdp_lag_clean(bool all_added, bool (*is_ours)(uint32_t block_id));

/* Is device 'ifindex' bound, as a member?  It may have left its bond, of which
 * the event is yet to be taken. */
bool netdev_kdp_lag_is_bound(int ifindex);

#endif /* lib/netdev-linux/lag.h */
