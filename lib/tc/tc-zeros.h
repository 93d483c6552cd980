/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_ZEROS_H
#define KDP_TC_TC_ZEROS_H 1

/* Are bytes zeros?
 * ================
 *
 * When Open vSwitch translates a flow for tc, it looks whether the fields of
 * tunnels, and what is left of the mask, are zeros: some 1,400 bytes for each
 * rule.  Its function looks at one byte after the other.  That was a fifteenth
 * of the time of an offload thread.  is_all_zeros() of this module, which
 * stands for it in the whole daemon, looks at eight.
 *
 * Thread safety: any thread. */

#include <stdbool.h>

/* Is the function of this module the one that Open vSwitch calls? */
bool kdp_tc_zeros_check(void);

#endif /* lib/tc/tc-zeros.h */
