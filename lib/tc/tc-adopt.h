/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_ADOPT_H
#define KDP_TC_TC_ADOPT_H 1

/* Adopting rules
 * ==============
 *
 * Goes through the rules of a device, whether the engine knows them or not.
 * Rules that a previous run left become flows again.  When the device's port
 * goes, rules without a flow are deleted.
 *
 * Thread safety: any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "offload/offload-backend.h"

/* Functions of struct offload_backend, for its 'tc', a struct kdp_tc. */
bool kdp_tc_locate(void *tc, uint32_t port_no, struct offload_place *);
int kdp_tc_adopt(void *tc, uint32_t port_no, const struct offload_place *,
                 bool describe, offload_dump_cb *, void *cb_aux);

#endif /* lib/tc/tc-adopt.h */
