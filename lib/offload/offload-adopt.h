/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_ADOPT_H
#define OFFLOAD_ADOPT_H 1

/* Rules on a port that no flow has
 *
 * On a new port these are rules of a previous run.  They become flows.  They
 * are deleted if the engine knows newer flows with the same ufid, if they
 * cannot be translated back, or if they involve recirculation chains.  When a
 * port has gone, or offload was turned off, they are deleted.
 *
 * Thread safety: the offload thread of the port. */

#include "offload/offload-queue.h"

struct offload;

void offload_adopt_port(struct offload *, unsigned int thread,
                        const struct offload_control *);
void offload_adopt_sweep(struct offload *, unsigned int thread,
                         const struct offload_control *);

#endif /* lib/offload/offload-adopt.h */
