/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_LIST_H
#define KDP_TC_TC_LIST_H 1

/* Lists of rules
 * ==============
 *
 * The kernel needs no lock to read rules by name, many in a message.  If a
 * rule is in a card it asks the driver, though, and most drivers need the RTNL
 * lock, for each rule.  A dump takes the lock once for each part, of some
 * eighty rules.  So a device with rules in a card is dumped.  (The dump takes
 * the lock even for a driver that does not need it.)
 *
 * To find rules without a flow, all places are dumped, without the times at
 * which rules were used.  That takes the RTNL lock once for each place, and
 * for each eighty rules.
 *
 * All functions are members of struct offload_backend.  Any thread. */

#include <stdbool.h>

#include "offload/offload-backend.h"

void kdp_tc_list(void *tc, bool exact, offload_list_cb *, void *cb_aux);
void kdp_tc_list_all(void *tc, offload_is_known_cb *, offload_list_cb *,
                     void *cb_aux);
bool kdp_tc_take(void *tc, struct offload_rule *, const void *told,
                 struct offload_stats *, enum offload_hw *);
struct offload_rule *kdp_tc_name(void *tc, const void *told);

#endif /* lib/tc/tc-list.h */
