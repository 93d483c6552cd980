/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_COUNTERS_H
#define OFFLOAD_COUNTERS_H 1

/* Counters of offload threads, and why flows are not in tc
 * ========================================================
 *
 * A counter belongs to an offload thread, but other threads increment it too:
 * handlers, revalidators and the main thread.  Each of these threads has a
 * block with the counters of all offload threads (stats/thread-counters.h), so
 * that none waits for another one's cache lines.  A reader adds up the blocks
 * in one pass.
 *
 * For each reason, struct offload_reasons has the number of flows and the
 * latest example.
 *
 * Thread safety: any thread, any time, except for _init and _destroy. */

#include <stdint.h>

#include "offload/offload-info.h"
#include "offload/offload.h"
#include "openvswitch/thread.h"
#include "ovs-thread.h"

struct thread_counters;

struct offload_counters {
    struct thread_counters *set;
};

/* Counters of all offload threads. */
struct offload_counts {
    uint64_t n[OFFLOAD_MAX_THREADS][OFFLOAD_N_COUNTERS];
};

void offload_counters_init(struct offload_counters *);
void offload_counters_destroy(struct offload_counters *);
void offload_counters_add(struct offload_counters *, unsigned int thread,
                          enum offload_counter);
void offload_counters_fold(struct offload_counters *, struct offload_counts *);

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

#endif /* lib/offload/offload-counters.h */
