/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_CLEAN_H
#define KDP_TC_TC_CLEAN_H 1

/* Rules left by a previous run, without offload
 * =============================================
 *
 * A daemon that starts without offload finds rules that a previous run left.
 * They would go on to decide about packets, by flows that nobody has any more.
 * So they are deleted, once, in a thread: the main loop does not wait for the
 * RTNL lock.  Only devices that have a place for rules are looked at, of which
 * the link tables know, and only rules with a ufid and a handle of ours are
 * taken: those of a stock daemon stay, as they do if that is started again.
 *
 * The thread stops early when offload is turned on, which takes over what is
 * left, or the datapath is closed, after which the next start goes on; not
 * when the datapath is deleted.  A rule that cannot be deleted stays.
 *
 * Thread safety: the main thread. */

#include <stdbool.h>

struct kdp_tc_cleaner;

/* Starts to delete the rules that a previous run left on the ports of type
 * 'dpif_type'.  Returns NULL if there is nothing to look at. */
struct kdp_tc_cleaner *kdp_tc_cleaner_start(const char *dpif_type);

/* Waits until the cleaner, which may be NULL, has finished, or if not 'finish'
 * until it is done with the rule that it is at, and frees it. */
void kdp_tc_cleaner_join(struct kdp_tc_cleaner *, bool finish);

#endif /* lib/tc/tc-clean.h */
