/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_CHAINS_H
#define KDP_TC_TC_CHAINS_H 1

/* Chains of a previous run
 * ========================
 *
 * A recirculation chain has the same number in tc and in the kernel datapath,
 * where the kernel lets them share numbers.  The numbers mean something to the
 * process that chose them only, and each begins with 1: a packet that a rule
 * of a previous run sends to a chain would follow the flows that this one has
 * put there for something else, and packets that this one sends to a chain
 * would follow what is left there.  So the rules of chains, and those that
 * lead to them, are deleted before any upcall is served, and on a port that
 * comes later while it is prepared.
 *
 * Thread safety: any thread. */

#include <stddef.h>

#include "tc.h"

struct netdev;

/* Deletes the rules in 'place' that may be ours and are in a chain other than
 * the first, or lead to one; those that lead to one first.  Stores how many
 * were deleted in '*n'.  Returns 0, or a positive errno value if some of them
 * may be left. */
int kdp_tc_delete_chains(const struct tcf_id *place, size_t *n);

/* Does that on 'netdev', a device whose index is 'ifindex', and logs a
 * failure, and how many rules were deleted, if any were.  Returns that
 * number. */
size_t kdp_tc_delete_chains_of(struct netdev *netdev, int ifindex);

/* Does that on all ports of type 'dpif_type'.  Takes the RTNL lock for each
 * such port, and for some dozens of rules at a time. */
size_t kdp_tc_clean_chains(const char *dpif_type);

#endif /* lib/tc/tc-chains.h */
