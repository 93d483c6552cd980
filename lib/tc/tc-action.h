/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_ACTION_H
#define KDP_TC_TC_ACTION_H 1

/* Numbers of actions
 * ==================
 *
 * Each action of a rule has a number, by which the kernel keeps it in a tree
 * for its kind.  A request may name the number.  If it does not, the kernel
 * takes the lowest one that is free, and searches for it from 1.  As number 0
 * is never given out, the tree says that there is something free in its first
 * leaf.  So the kernel goes through all full leaves that follow
 * (idr_get_free()): with n actions, n / 64 of them for each new one.  That
 * makes a new rule the slower the more there are.
 *
 * So the numbers are named here.  If a number that a request names is taken,
 * the kernel makes the action that has it a part of the new rule, and says
 * nothing.  That must not happen:
 *
 *   - Numbers come from a range in which no action was when it was chosen.
 *     For that all actions of the kinds concerned are dumped, once.  So those
 *     that a previous run left, or that others have named, are avoided.
 *
 *   - A number is used once.  The kernel may still have the action of a rule
 *     that was deleted.  When all numbers of a range were used, another range
 *     is chosen in the same way.
 *
 *   - Ranges begin above the numbers that Open vSwitch gives to the policers
 *     of meters, and far above those that the kernel gives out.
 *
 * If no range can be chosen, the kernel goes on to choose numbers.  A process
 * that names a number of the range after it was chosen, and before we do, is
 * not noticed: the range is one of many, far from the numbers that people and
 * the kernel use.
 *
 * Policers are left alone: those of meters have numbers that mean something.
 *
 * An action that rules share
 * --------------------------
 *
 * Before each output to an internal port, such as the local port of a bridge,
 * Open vSwitch puts an action of kind skbedit that makes the packet one for
 * this host (tc-kind.h).  All of them are alike.  The kernel gives each one
 * counters for each CPU, whatever the request asks for, and to find memory for
 * these takes a third of the time of such a rule.  A rule that names an action
 * that is there only refers to it.
 *
 * So rules name the same number for it, one of the range.  The first of them
 * makes the action, and it goes with the last one.  That is:
 *
 *   - Only for rules with TCA_CLS_FLAGS_SKIP_HW.  A driver may keep figures by
 *     action, and refuse a second rule with one that it knows.  mlx5 does so
 *     since Linux 6.3, if the rule has conntrack or a branch, too.  And the
 *     kernel does not mix rules with the flag and without in an action.
 *
 *   - Only for one action of a rule.  While the action is being made, the
 *     kernel makes whoever names its number try again: another thread under
 *     the RTNL lock, a second action of the same rule for ever.
 *
 *   - Not for any other kind: what the action counts is of all rules, and not
 *     looked at.  The output that follows counts the packets of the rule.
 *
 * If somebody else has an action with that number, which he must have named
 * later, the kernel may refuse the rule (EINVAL).  kdp_tc_action_unshare()
 * gives it a number of its own then.
 *
 * Thread safety: kdp_tc_action_name() and kdp_tc_action_unshare() may wait for
 * a dump of actions, in a quiescent state.  So they are for threads that may
 * wait for tc and have no pointers that RCU guards; several at the same
 * time. */

#include <stdbool.h>
#include <stdint.h>

#include "tc/tc-kind.h"

struct ofpbuf;

/* Names the numbers of the actions of 'request', which adds a rule, as far as
 * it does not. */
void kdp_tc_action_name(struct ofpbuf *request);

/* 'request', whose numbers were named and which tc has refused, gets a number
 * of its own for the action that it shares with others, and those that follow
 * share another one.  Returns false if it shares none. */
bool kdp_tc_action_unshare(struct ofpbuf *request);

/* Marks in 'used', which has KDP_TC_ACTION_N_RANGES elements, the ranges that
 * the actions in 'msg' have numbers of.  'msg' is a part of a dump of actions,
 * and may have any contents and size. */
void kdp_tc_action_mark(const struct ofpbuf *msg, bool used[]);

/* Takes the range that is in use as exhausted, so that the next rule chooses
 * another one.  For tests. */
void kdp_tc_action_next_range(void);

#endif /* lib/tc/tc-action.h */
