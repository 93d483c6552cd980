/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_LIST_H
#define KDP_TC_TC_LIST_H 1

/* Lists of rules that devices do themselves
 * =========================================
 *
 * Rules are read by name, many in a message, for which the kernel needs no
 * lock.  But of one that a card has taken it asks the driver, and most drivers
 * need the RTNL lock for that, once for each rule.  A list takes it once for
 * each part, of some eighty rules.  So where there are rules in a card the
 * device is listed.  (A driver that needs no lock has it taken all the same,
 * for a list of its rules.)
 *
 * Both functions are those of struct offload_backend.  Any thread. */

#include <stdbool.h>

#include "offload/offload-backend.h"

void kdp_tc_list(void *tc, bool exact, offload_list_cb *, void *cb_aux);
bool kdp_tc_take(void *tc, struct offload_rule *, const void *told,
                 struct offload_stats *, enum offload_hw *);

#endif /* lib/tc/tc-list.h */
