/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_WITHDRAW_H
#define OFFLOAD_WITHDRAW_H 1

/* Flows that leave tc together
 * ============================
 *
 * When a port goes, its flows leave tc without being put into the kernel: no
 * packet comes from the port any more, or if its device is in use by others,
 * none that is the datapath's.  They are without copies then, until the user
 * deletes them, or until the port is there again.  Two threads may be told, in
 * any order, that a port is gone and that another one has its number, while
 * the number of threads changes.  So both drop the flows, and the latter says
 * so before it lets flows be offered.
 *
 * When offload is turned off, all flows move back to the kernel.
 *
 * In either case an offload thread goes through the flows and asks their
 * threads to see to them, so that the main thread waits for nothing.  After
 * that it has the port's rules listed, and deletes those that belong to no
 * flow: what could not be deleted before.
 *
 * Thread safety: offload threads, without any lock. */

#include "offload/offload-queue.h"

struct offload;

void offload_withdraw_old(struct offload *, uint32_t port, uint64_t id);
void offload_withdraw_port(struct offload *, const struct offload_control *);
void offload_withdraw_all(struct offload *);

#endif /* lib/offload/offload-withdraw.h */
