/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_PREPARE_H
#define KDP_TC_TC_PREPARE_H 1

/* Preparing devices for tc
 * ========================
 *
 * Registers a flow API for devices in place of Open vSwitch's "linux_tc", that
 * leaves rules which are there to those who know whose they are.
 *
 * Thread safety: the main thread, except kdp_offload_api_restore(), which is
 * for any. */

#include <stdbool.h>

struct netdev;

void kdp_offload_api_register(void);

/* Adds the place for rules of 'netdev' again if somebody has taken it away.
 * Returns true if so.  One that members of a bond share is not added. */
bool kdp_offload_api_restore(struct netdev *netdev);

#endif /* lib/tc/tc-prepare.h */
