/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_HANDLE_H
#define KDP_TC_TC_HANDLE_H 1

/* Handles of rules
 * ================
 *
 * A handle is the number of a rule in its place, priority and protocol.  We
 * choose it, so that a rule has a name before tc has answered.
 *
 * Thread safety: any thread.  Each has a store of handles of its own. */

#include <stdbool.h>
#include <stdint.h>

/* Handles that we choose are in one of several ranges, away from the small
 * numbers that the kernel and people choose.  Each range is larger than the
 * number of flows in a datapath.
 *
 * The range is chosen once, at the first call of kdp_tc_is_own_handle() or
 * kdp_tc_handle_new().  A rule of a previous run whose handle is in it cannot
 * be adopted, as the handle may be assigned again.  So the chosen range has no
 * handle of a rule that was found before.  A run uses one range, so the rules
 * of one port usually show the range of all rules.  Otherwise chance makes a
 * conflict unlikely. */
#define KDP_TC_HANDLE_FIRST 0x10000000
#define KDP_TC_HANDLE_N (1u << 24)
#define KDP_TC_HANDLE_RANGES 224

/* May a run of ovs-kdp have assigned 'handle'? */
static inline bool
kdp_tc_handle_is_kdp(uint32_t handle)
{
    return (handle - KDP_TC_HANDLE_FIRST
            < KDP_TC_HANDLE_RANGES * KDP_TC_HANDLE_N);
}

/* Says that a rule with 'handle' exists that this run did not make. */
void kdp_tc_handle_found(uint32_t handle);

/* May the pool assign 'handle'? */
bool kdp_tc_is_own_handle(uint32_t handle);

/* Stores in '*handle' a handle that no rule of ours has.  Returns false if
 * there is none left. */
bool kdp_tc_handle_new(uint32_t *handle);

/* Returns 'handle', which is from kdp_tc_handle_new() and which no rule has
 * any more, to the pool. */
void kdp_tc_handle_free(uint32_t handle);

#endif /* lib/tc/tc-handle.h */
