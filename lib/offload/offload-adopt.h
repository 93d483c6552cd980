/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_ADOPT_H
#define OFFLOAD_ADOPT_H 1

/* Rules that are in tc when a port comes: those of a previous run.  They
 * become flows, or are deleted if they are about flows that the engine knows
 * better, or if nobody can tell what they are.
 *
 * Thread safety: the offload thread that the port belongs to. */

#include <stdint.h>

struct offload;

void offload_adopt_port(struct offload *, unsigned int thread, uint32_t port);

#endif /* lib/offload/offload-adopt.h */
