/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_RECIRC_IDS_H
#define KDP_RECIRC_IDS_H 1

/* Recirculation ids of this run
 * =============================
 *
 * Open vSwitch begins with recirculation id 1 in each run.  Flows of the
 * previous run that stay in the kernel use the same ids with other meanings.
 * So this run begins with an id that is higher than all ids of these flows;
 * takeover.h determines it.
 *
 * Thread safety: the main thread. */

/* To be called before bridge_init(). */
void recirc_ids_init(void);

#endif /* vswitchd/recirc-ids.h */
