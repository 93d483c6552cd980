/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_ACTION_H
#define KDP_TC_TC_ACTION_H 1

/* Numbers of actions
 * ==================
 *
 * Each action of a rule has a number, by which the kernel stores it in a tree
 * for its kind.  A request may name the number.  Otherwise the kernel searches
 * for the lowest free one, from 1.  As number 0 is never assigned, the tree
 * indicates free space in its first leaf, so the kernel visits all full leaves
 * after it (idr_get_free()): with n actions, n / 64 leaves for each new one.
 * The more actions there are, the slower a new rule becomes.
 *
 * So this module names the numbers.  If a request names the number of an
 * existing action, the kernel silently makes that action a part of the new
 * rule.  That must not happen:
 *
 *   - Numbers come from a range that had no action when it was chosen.  To
 *     find one, all actions of the kinds concerned are dumped, once.  This
 *     avoids actions that a previous run left or that other programs have
 *     numbered.
 *
 *   - A number is used once, since the kernel may still have the action of a
 *     deleted rule.  When a range is used up, another one is chosen in the
 *     same way.
 *
 *   - Ranges begin above the numbers that Open vSwitch gives to the policers
 *     of meters, and far above those that the kernel assigns.
 *
 * If no range can be chosen, the kernel keeps choosing numbers.  If another
 * program names a number of the range after it was chosen but before we use
 * it, that goes unnoticed.  The range is one of many, far from the numbers
 * that people and the kernel use.
 *
 * Policers are left alone, because the number of a meter's policer has a
 * meaning.
 *
 * An action that rules share
 * --------------------------
 *
 * Before each output to an internal port, such as the local port of a bridge,
 * Open vSwitch puts an action of kind skbedit that addresses the packet to
 * this host (tc-kind.h).  All of these actions are the same.  The kernel
 * allocates per-CPU counters for each, whatever the request says, which takes
 * a third of the time of such a rule (test "burst" of bench-offload, mode
 * "software").  A rule that names an existing action only refers to it.
 *
 * So rules name the same number for it, one of the range.  The first rule
 * creates the action, and it goes with the last one.  Limits:
 *
 *   - Only rules with TCA_CLS_FLAGS_SKIP_HW share it.  A driver may account by
 *     action, and refuse a second rule with an action that it knows.  mlx5
 *     does so since Linux 6.3 if the rule also has conntrack or a branch.
 *     Besides, the kernel does not let rules with and without the flag share
 *     an action.
 *
 *   - Only one action of a rule is shared.  While an action is being created,
 *     the kernel makes other users of its number try again: another thread
 *     under the RTNL lock, but a second action of the same rule forever.
 *
 *   - No other kind is shared, since its counters would cover all rules.
 *     Those of skbedit are not read.  The output that follows counts the
 *     rule's packets.
 *
 * If another program has created an action with that number since then, the
 * kernel may refuse the rule (EINVAL).  Then kdp_tc_action_unshare() gives it
 * a number of its own.
 *
 * Thread safety: kdp_tc_action_name() and kdp_tc_action_unshare() may wait, in
 * a quiescent state, for a dump of actions.  So they are for threads that may
 * wait for tc and hold no pointers that RCU guards.  Several may call them at
 * the same time. */

#include <stdbool.h>
#include <stdint.h>

#include "tc/tc-kind.h"

struct ofpbuf;

/* Names the numbers of the actions of 'request', which adds a rule, where it
 * does not yet name them. */
void kdp_tc_action_name(struct ofpbuf *request);

/* Gives the shared action of 'request', which has numbers and which tc has
 * refused, a number of its own, and makes rules from now on share another one.
 * Returns false if 'request' shares no action. */
bool kdp_tc_action_unshare(struct ofpbuf *request);

/* Marks in 'used', which has KDP_TC_ACTION_N_RANGES elements, the ranges that
 * contain numbers of the actions in 'msg'.  'msg' is a part of a dump of
 * actions, and may have any contents and size. */
void kdp_tc_action_mark(const struct ofpbuf *msg, bool used[]);

/* Ends the use of the present range, so that the next rule chooses another
 * one.  For tests. */
void kdp_tc_action_next_range(void);

#endif /* lib/tc/tc-action.h */
