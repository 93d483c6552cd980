/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_REASONS_H
#define OFFLOAD_REASONS_H 1

/* Why flows are not in tc: for each reason, the number of flows and the latest
 * example.
 *
 * Thread safety: any thread, any time, except for _init and _destroy. */

#include "offload/offload-info.h"
#include "offload/offload.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

struct offload_reasons {
    struct ovs_mutex mutex;
    struct offload_reason_info info[OFFLOAD_N_REASONS] OVS_GUARDED;
};

void offload_reasons_init(struct offload_reasons *);
void offload_reasons_destroy(struct offload_reasons *);
void offload_reasons_note(struct offload_reasons *, enum offload_reason,
                          const struct offload_desc *, int error,
                          const char *why);
void offload_reasons_get(struct offload_reasons *,
                         struct offload_reason_info info[OFFLOAD_N_REASONS]);

#endif /* lib/offload/offload-reasons.h */
