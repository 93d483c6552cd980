/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LAG_H
#define KDP_NETDEV_LINUX_LAG_H 1

/* Members of bonds
 * ================
 *
 * The rules of a bond that is a port are in a tc block, whose number is the
 * interface index of the bond.  Packets arrive at the members, so the ingress
 * of each member has to be bound to that block.  Otherwise its network card
 * does not get the rules.  A team counts as a bond here.
 *
 * A block is in use from netdev_kdp_lag_add() to netdev_kdp_lag_remove().  In
 * that time each member of the bond is bound to it.  A member is bound when
 *
 *   - its bond's block comes into use and it is already a member;
 *
 *   - an event of the link table says that it has joined, or has joined again
 *     as another device.
 *
 * It is unbound when it leaves, or when the block is no longer in use.
 *
 * A device that a previous run bound to the right block stays as it is, and
 * its rules keep working.  Any other discipline of kind "ingress" is replaced,
 * and its rules are lost.  If there is one of kind "clsact", binding fails.
 *
 * Life cycle: nothing is bound before the first netdev_kdp_lag_add().  Members
 * stay bound when the process ends, as the rules stay.  netdev_kdp_lag_clean()
 * and netdev_kdp_lag_clean_port() unbind devices that a previous run bound and
 * this one does not.
 *
 * Thread safety: the main thread.  Each bond takes one walk through the link
 * table, each member one to three requests that take the RTNL lock.
 *
 * Failure: if a member cannot be bound, that is logged and tried again at the
 * next event about it.  Until then its packets miss the rules in its card. */

#include <stdbool.h>
#include <stdint.h>

struct link_change;

/* Is a link of this kind a bond or a team? */
bool netdev_kdp_lag_is_kind(const char *kind);

/* Takes the block 'block_id' of bond 'ifindex' into use.  May be called again.
 * Does nothing if there are no links (netdev-linux/links.h), since then the
 * stock classes run. */
void netdev_kdp_lag_add(int ifindex, uint32_t block_id);

/* Ends the use of the block of bond 'ifindex', if it has one in use.  Unbinds
 * the members from it if 'unbind'. */
void netdev_kdp_lag_remove(int ifindex, bool unbind);

/* To be called for each change of a link of our namespace. */
void netdev_kdp_lag_update(const struct link_change *);

/* Unbinds devices that a previous run, but not this one, bound to the block of
 * a bond, if they are not members of the bond.  If 'all_added', no further
 * bond of a previous run will be added, and members are unbound, too.  As
 * another program may use the interface index of a bond for a block, 'is_ours'
 * says whether a block may be from a previous run. */
void netdev_kdp_lag_clean(bool all_added, bool (*is_ours)(uint32_t block_id));

/* Unbinds port 'name', a device with index 'ifindex', from the block of a bond
 * that a previous run bound it to.  The bond may be gone, so any block for
 * which 'is_ours' is true counts.  Returns true if the device has no
 * discipline at the ingress then. */
bool netdev_kdp_lag_clean_port(const char *name, int ifindex,
                               bool (*is_ours)(uint32_t block_id));

/* Is device 'ifindex' bound as a member?  It may have left its bond if that
 * event is not processed yet. */
bool netdev_kdp_lag_is_bound(int ifindex);

#endif /* lib/netdev-linux/lag.h */
