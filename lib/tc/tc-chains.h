/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_CHAINS_H
#define KDP_TC_TC_CHAINS_H 1

/* Chains of a previous run
 * ========================
 *
 * A recirculation chain has the same number in tc and in the kernel datapath,
 * where the kernel lets them share numbers.  The numbers only have a meaning
 * in the process that chose them, and each process begins with 1.  So a packet
 * that a rule of a previous run sends to a chain would meet flows that this
 * run has put there for another purpose, and packets that this run sends to a
 * chain would meet old rules.  So the rules in chains, and those that lead to
 * them, are deleted before any upcall is served, and on a new port while it is
 * prepared.
 *
 * Thread safety: any thread. */

#include <stddef.h>

#include "tc.h"

struct netdev;

/* Deletes the rules in 'place' that may be ours and are in a chain other than
 * the first, or lead to one; those that lead to one first.  Stores the number
 * of deleted rules in '*n'.  Returns 0, or a positive errno value if some may
 * be left. */
int kdp_tc_delete_chains(const struct tcf_id *place, size_t *n);

/* Does the same on 'netdev', a device with index 'ifindex', and logs a
 * failure, and the number of deleted rules if it is not 0.  Returns that
 * number. */
size_t kdp_tc_delete_chains_of(struct netdev *netdev, int ifindex);

/* Does the same on all ports of type 'dpif_type'.  Takes the RTNL lock for
 * each port, and for some dozens of rules at a time. */
size_t kdp_tc_clean_chains(const char *dpif_type);

#endif /* lib/tc/tc-chains.h */
