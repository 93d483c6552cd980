/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_READ_H
#define OFFLOAD_READ_H 1

/* Reads the copies of a flow, one flow at a time.
 *
 * If a copy is missing, the flow returns to the kernel, is put into it, or is
 * forgotten (offload-placement.h).
 *
 * Thread safety: any thread, with the lock of the flow's stripe, which is
 * released while the kernel and tc are asked. */

#include <stdbool.h>

#include "offload/offload-flow.h"

struct offload;

bool offload_read_flow(struct offload *, struct offload_flow *flow,
                       struct offload_stats *, bool *in_tc,
                       enum offload_hw *)
    OVS_REQUIRES(flow->stripe->mutex);

#endif /* lib/offload/offload-read.h */
