/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_STEP_H
#define OFFLOAD_STEP_H 1

/* Steps of an offload thread: takes flows one step after the other, in tc or
 * in the kernel, until copies and target agree (the table in offload.h).
 *
 * Thread safety: several threads at a time; for a flow only its own thread. */

#include <stddef.h>

struct offload;
struct offload_flow;

void offload_step_flows(struct offload *, struct offload_flow *flows[],
                        size_t n);

#endif /* lib/offload/offload-step.h */
