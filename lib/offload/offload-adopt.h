/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_ADOPT_H
#define OFFLOAD_ADOPT_H 1

/* Rules and flows of a port that comes or goes
 * ============================================
 *
 * A new port may have rules of a previous run.  They become flows
 * (offload_adopt_port()).  They are deleted if the engine knows newer flows
 * with the same ufid, if they cannot be translated back, or if they involve
 * recirculation chains.
 *
 * When a port goes, its flows leave tc without being put into the kernel,
 * since the port gets no more packets, or none that belong to the datapath if
 * another program uses its device (offload_withdraw_ports()).  They have no
 * copies then, until the user deletes them or the port is there again.  Flows
 * of other ports that send packets to the port return to the kernel.  To find
 * them, a thread visits all flows, once for all removals that wait for it.
 *
 * Two threads may process, in any order, the messages that a port is gone and
 * that another one has its number, while the number of threads changes.  So
 * both drop the flows, and the latter thread records that before it lets flows
 * be offered.
 *
 * When offload is turned off, all flows return to the kernel
 * (offload_withdraw_all()).
 *
 * In the last two cases an offload thread goes through the flows and makes
 * requests to their threads, so that the main thread does not wait.  After
 * that it lists the port's rules and deletes those that belong to no flow,
 * whose deletion failed before (offload_adopt_sweep()).
 *
 * Thread safety: offload threads, without any lock.  Adopting and sweeping
 * belong to the thread of the port. */

#include "offload/offload-queue.h"

struct offload;

void offload_adopt_port(struct offload *, unsigned int thread, bool ending,
                        const struct offload_control *);
void offload_adopt_sweep(struct offload *, unsigned int thread,
                         const struct offload_control *);
void offload_withdraw_ports(struct offload *,
                            struct offload_control *const messages[],
                            size_t n);
void offload_withdraw_all(struct offload *);

#endif /* lib/offload/offload-adopt.h */
