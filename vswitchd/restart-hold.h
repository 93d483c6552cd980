/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_RESTART_HOLD_H
#define KDP_RESTART_HOLD_H 1

/* Bridges that wait for the rules of their controllers
 * ====================================================
 *
 * After a restart a bridge in fail mode "secure" has no rules until its
 * controller has connected and sent them.  If revalidators compared flows of
 * the previous run with an empty rule set, they would delete the flows, and
 * established connections would break.  takeover.h keeps the flows until the
 * bridges no longer wait.
 *
 * A bridge waits if
 *
 *   - its fail mode is "secure",
 *
 *   - a flow of the previous run forwards packets of one of its ports, which
 *     means that the bridge had rules, and
 *
 *   - no controller has sent it all its rules.  The daemon cannot know whether
 *     more rules follow.  But a controller that has sent its rules commits a
 *     bundle or requests a barrier, so a bridge counts as having its rules
 *     once Open vSwitch has answered one of the two while there are rules.
 *     ovs-ofctl, which restores rules, does the same.
 *
 * A controller may be in the database, or connect to the management socket of
 * the bridge, as ovn-controller does.
 *
 * A bridge with in-band control does not wait.  The connection to its
 * controller goes through the bridge, and might need an upcall.  No bridge
 * waits while any bridge has a bond with LACP: without upcalls the partner
 * takes the link down after some seconds, and the flows that the hold keeps
 * become useless.
 *
 * Thread safety: the main thread. */

/* Lets bridges wait.  To be called before bridge_init(). */
void restart_hold_init(void);

#endif /* vswitchd/restart-hold.h */
