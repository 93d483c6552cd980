/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_CLEAN_H
#define KDP_TC_TC_CLEAN_H 1

/* Rules left by a previous run
 * ============================
 *
 * What a previous run left in tc goes on to decide about packets.  Where the
 * datapath has recirculation chains in common with tc, the rules of chains must
 * have gone before upcalls are served (tc-chains.h).  kdp_tc_clean_chains()
 * deletes them, and waits for that.
 *
 * A daemon that starts without offload deletes the others, too, once: nobody
 * has their flows any more.  The cleaner does that in a thread, so that the
 * main loop does not wait for the RTNL lock.  Only devices that have a place
 * for rules are looked at, of which the link tables know, and only rules with a
 * ufid and a handle of ours are taken: those of a stock daemon stay, as they do
 * if that is started again.
 *
 * The thread stops early when offload is turned on, which takes over what is
 * left, or the datapath is closed, after which the next start goes on; not
 * when the datapath is deleted.  A rule that cannot be deleted stays.
 *
 * Thread safety: the main thread. */

#include <stdbool.h>
#include <stddef.h>

struct kdp_tc_cleaner;

/* Deletes the rules of recirculation chains, and those that lead to one, that
 * are on the ports of type 'dpif_type'.  Takes the RTNL lock for each such
 * port, and for some dozens of rules at a time.  Returns how many rules were
 * deleted. */
size_t kdp_tc_clean_chains(const char *dpif_type);

/* Starts to delete the rules that a previous run left on the ports of type
 * 'dpif_type'.  Returns NULL if there is nothing to look at. */
struct kdp_tc_cleaner *kdp_tc_cleaner_start(const char *dpif_type);

/* Waits until the cleaner, which may be NULL, has finished, or if not 'finish'
 * until it is done with the rule that it is at, and frees it. */
void kdp_tc_cleaner_join(struct kdp_tc_cleaner *, bool finish);

#endif /* lib/tc/tc-clean.h */
