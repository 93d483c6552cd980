/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_HANDLE_H
#define KDP_TC_TC_HANDLE_H 1

/* Handles of rules
 * ================
 *
 * A rule has a number among those of its place, priority and protocol.  We
 * choose it, so that a rule can be named before tc has answered.
 *
 * Thread safety: any thread.  Each has a store of its own. */

#include <stdbool.h>
#include <stdint.h>

/* Handles that we choose: one of several ranges, away from the small numbers
 * that the kernel and people choose, each with more than a datapath has
 * flows.
 *
 * The range is chosen once, when the first handle is asked for or about.  A
 * rule that a previous run left, with a handle that is in it, cannot be taken
 * over, as the handle may be given out again.  So no range is chosen that has
 * the handle of a rule that was found before.  A run has one range, so the
 * rules of one port usually tell those of all; what they do not tell is
 * avoided by chance. */
#define KDP_TC_HANDLE_FIRST 0x10000000
#define KDP_TC_HANDLE_N (1u << 24)
#define KDP_TC_HANDLE_RANGES 224

/* May a run of ovs-kdp have given out 'handle'? */
static inline bool
kdp_tc_handle_is_kdp(uint32_t handle)
{
    return (handle - KDP_TC_HANDLE_FIRST
            < KDP_TC_HANDLE_RANGES * KDP_TC_HANDLE_N);
}

/* Says that a rule with 'handle' is there, which we did not make. */
void kdp_tc_handle_found(uint32_t handle);

/* May the pool give out 'handle'? */
bool kdp_tc_is_own_handle(uint32_t handle);

/* Stores a handle that no rule of ours has in '*handle'.  Returns false if
 * there is none left. */
bool kdp_tc_handle_new(uint32_t *handle);

/* Gives back 'handle', which kdp_tc_handle_new() gave out and no rule has any
 * more. */
void kdp_tc_handle_free(uint32_t handle);

#endif /* lib/tc/tc-handle.h */
