/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_COUNTERS_H
#define OFFLOAD_COUNTERS_H 1

/* Counters of offload threads
 * ===========================
 *
 * What is counted belongs to an offload thread, but it is counted by whoever
 * makes the request or meets its end: handlers, revalidators, the main thread
 * and offload threads.  Each of them counts in a block of its own, which has
 * the counters of all offload threads (stats/thread-counters.h), so that none
 * waits for another one's cache lines.  Who wants to know adds up the blocks,
 * in one pass.
 *
 * Thread safety: any thread, any time, but for _init and _destroy. */

#include <stdint.h>

#include "offload/offload-info.h"
#include "offload/offload.h"

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

#endif /* lib/offload/offload-counters.h */
