/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PRIO_H
#define KDP_TC_TC_PRIO_H 1

/* Priorities of rules
 * ===================
 *
 * In each chain of a place, tc gives a priority to one protocol (Ethertype)
 * and one kind of classifier.  It refuses a rule (EINVAL) if the priority of
 * the rule belongs to another protocol or kind.
 *
 * Open vSwitch numbers protocols in the order in which a process first uses
 * them.  Two runs number them differently, and rules of the first run are
 * still there when the second one begins.  So we choose the priority
 * ourselves: it is a function of the protocol.
 *
 *     protocol                          priority
 *     -------------------------------   ---------------------------------
 *     IPv4, IPv6, 802.1Q                2, 3, 4: as in Open vSwitch, the
 *                                       third one in later versions
 *     ARP, 802.1ad, MPLS, MPLS          5 to 10
 *       multicast, NSH, RARP
 *     any, if its own one is taken      11 to 16
 *     others                            the Ethertype
 *
 * Common protocols have small numbers because some cards take no others: mlx5
 * without the capability "ignore_flow_level" refuses priorities above 16.
 * Priority 1 is for policing in Open vSwitch.  The order of priorities does
 * not matter among rules of flows, as no packet has two protocols.
 *
 * All rules of a protocol share a priority, whatever they match on.  That
 * needs several masks for each priority, which flower has had since Linux
 * 4.19.
 *
 * A priority may belong to an older version of ovs-kdp or the stock daemon,
 * whose rules were taken over, or to another program.  When tc refuses a rule,
 * kdp_tc_prio_avoid() asks tc about the priority, without the RTNL lock, and
 * chooses the next free one.  tc gives the same answer if the place or the
 * chain is missing, so kdp_tc_prio_avoid() also asks about a priority that no
 * program uses.  The choice holds for the protocol in this place as long as
 * the process runs.
 *
 * Thread safety: any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/types.h"

struct kdp_tc_id;
struct kdp_tc_request;

/* Returns the default priority for rules of 'protocol'.  Never 0 or the
 * priority of policing. */
uint16_t kdp_tc_prio_own(ovs_be16 protocol);

/* Gives 'id', whose place and protocol are set, its priority. */
void kdp_tc_prio_set(struct kdp_tc_id *id);

/* Handles a 'request' to add a rule that tc has refused with EINVAL.  Returns
 * true if the priority belongs to another protocol or kind; rules that are
 * translated from now on have another one.  Returns false if the reason is
 * another one, or if no priority is free.  The caller, an offload thread,
 * first restores the place if it is missing. */
bool kdp_tc_prio_avoid(const struct kdp_tc_request *request);

#endif /* lib/tc/tc-prio.h */
