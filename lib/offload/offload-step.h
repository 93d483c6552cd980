/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_STEP_H
#define OFFLOAD_STEP_H 1

/* What an offload thread does with flows: takes one step after the other, in
 * tc or in the kernel, until copies and target agree (the table in offload.h).
 *
 * Thread safety: several threads at a time, but for a flow only its own. */

#include <stddef.h>

struct offload;
struct offload_flow;

void offload_step_flows(struct offload *, struct offload_flow *flows[],
                        size_t n);

#endif /* lib/offload/offload-step.h */
