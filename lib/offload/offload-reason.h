/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_REASON_H
#define OFFLOAD_REASON_H 1

/* How often flows were not in tc for each reason, with the latest example.
 *
 * Thread safety: any thread, any time, but for _init and _destroy. */

#include "offload/offload-info.h"
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
enum offload_reason offload_reason_from_error(int error);

#endif /* lib/offload/offload-reason.h */
