/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-counters.h"

#include "stats/thread-counters.h"
#include "util.h"

void
offload_counters_init(struct offload_counters *counters)
{
    counters->set = thread_counters_create(OFFLOAD_MAX_THREADS
                                           * OFFLOAD_N_COUNTERS);
}

void
offload_counters_destroy(struct offload_counters *counters)
{
    thread_counters_destroy(counters->set);
}

/* Counts one more of 'counter' for offload thread 'thread'. */
void
offload_counters_add(struct offload_counters *counters, unsigned int thread,
                     enum offload_counter counter)
{
    thread_counters_add(thread_counters_self(counters->set),
                        thread * OFFLOAD_N_COUNTERS + counter, 1);
}

/* Stores what was counted so far in '*counts'. */
void
offload_counters_fold(struct offload_counters *counters,
                      struct offload_counts *counts)
{
    BUILD_ASSERT_DECL(sizeof counts->n == (OFFLOAD_MAX_THREADS
                                           * OFFLOAD_N_COUNTERS
                                           * sizeof(uint64_t)));
    thread_counters_fold(counters->set, counts->n[0]);
}
