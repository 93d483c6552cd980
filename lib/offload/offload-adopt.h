/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_ADOPT_H
#define OFFLOAD_ADOPT_H 1

/* Rules that are on a port and that no flow has.
 *
 * When a port comes, they are those of a previous run.  They become flows, or
 * are deleted if they are about flows that the engine knows better, if nobody
 * can tell what they are, or if they have to do with recirculation chains.
 * When a port has gone, or offload was turned off, they are deleted.
 *
 * Thread safety: the offload thread that the port belongs to. */

#include "offload/offload-queue.h"

struct offload;

void offload_adopt_port(struct offload *, unsigned int thread,
                        const struct offload_control *);
void offload_adopt_sweep(struct offload *, unsigned int thread,
                         const struct offload_control *);

#endif /* lib/offload/offload-adopt.h */
