/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_WITHDRAW_H
#define OFFLOAD_WITHDRAW_H 1

/* Flows that leave tc together
 * ============================
 *
 * When a port goes, its flows leave tc without being put into the kernel,
 * since the port gets no more packets, or none that belong to the datapath if
 * another program uses its device.  They have no copies then, until the user
 * deletes them or the port is there again.  Two threads may process, in any
 * order, the messages that a port is gone and that another one has its number,
 * while the number of threads changes.  So both drop the flows, and the latter
 * thread records that before it lets flows be offered.
 *
 * When offload is turned off, all flows return to the kernel.
 *
 * In either case an offload thread goes through the flows and makes requests
 * to their threads, so that the main thread does not wait.  After that it
 * lists the port's rules and deletes those that belong to no flow, whose
 * deletion failed before.
 *
 * Thread safety: offload threads, without any lock. */

#include "offload/offload-queue.h"

struct offload;

void offload_withdraw_old(struct offload *, uint32_t port, uint64_t id);
void offload_withdraw_port(struct offload *, const struct offload_control *);
void offload_withdraw_all(struct offload *);

#endif /* lib/offload/offload-withdraw.h */
