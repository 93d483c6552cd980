/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_RESTART_HOLD_H
#define KDP_RESTART_HOLD_H 1

/* Bridges that wait for the rules of their controllers
 * ====================================================
 *
 * After a restart a bridge in fail mode "secure" has no rules until its
 * controller has connected and sent them.  If flows of the previous run were
 * compared with that, they would go, and established connections would break.
 * takeover.h keeps them until the bridges no longer wait.
 *
 * A bridge waits if
 *
 *   - its fail mode is "secure",
 *
 *   - a flow of the previous run forwards packets of one of its ports: so it had
 *     rules, and
 *
 *   - no controller has sent it all its rules.  Nobody can know that they are
 *     all.  A controller that has sent what it wants to send commits a bundle
 *     or asks for a barrier, so a bridge has its rules once Open vSwitch has
 *     answered one of the two while there are rules.  ovs-ofctl, which restores
 *     rules, does the same.
 *
 * A controller may be one in the database, or one that connects to the
 * management socket of the bridge, as ovn-controller does.
 *
 * A bridge with in-band control does not wait.  The connection to its controller
 * goes through the bridge, and might need an upcall.  No bridge waits while one of
 * them has a bond with LACP: without upcalls the partner takes the link down after
 * some seconds, and with it the flows that were to be kept.
 *
 * Thread safety: the main thread. */

/* Lets bridges wait.  Before bridge_init(). */
void restart_hold_init(void);

#endif /* vswitchd/restart-hold.h */
