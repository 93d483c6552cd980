/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/rtnl-count.h"

#include <pthread.h>
#include <string.h>

#include "stats/thread-counters.h"
#include "timeval.h"

static struct thread_counters *counters;

static void
rtnl_counters_create(void)
{
    /* Numbers of calls, then microseconds. */
    counters = thread_counters_create(2 * KDP_N_RTNL_CALLS);
}

/* pthread_once() orders the creation before every use, unlike ovsthread_once,
 * which is checked without synchronization. */
static struct thread_counters *
rtnl_counters(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, rtnl_counters_create);
    return counters;
}

void
kdp_rtnl_count(enum kdp_rtnl_call call)
{
    thread_counters_add(thread_counters_self(rtnl_counters()), call, 1);
}

long long int
kdp_rtnl_begin(void)
{
    return time_usec();
}

void
kdp_rtnl_end(enum kdp_rtnl_call call, long long int start)
{
    long long int duration = time_usec() - start;

    kdp_rtnl_count(call);
    if (duration > 0) {
        thread_counters_add(thread_counters_self(rtnl_counters()),
                            KDP_N_RTNL_CALLS + call, duration);
    }
}

/* Stores the items from 'first' on in 'items'. */
static void
rtnl_counters_get(size_t first, uint64_t items[KDP_N_RTNL_CALLS])
{
    uint64_t all[2 * KDP_N_RTNL_CALLS];

    thread_counters_fold(rtnl_counters(), all);
    memcpy(items, all + first, KDP_N_RTNL_CALLS * sizeof *items);
}

void
kdp_rtnl_get_counts(uint64_t counts[KDP_N_RTNL_CALLS])
{
    rtnl_counters_get(0, counts);
}

void
kdp_rtnl_get_usecs(uint64_t usecs[KDP_N_RTNL_CALLS])
{
    rtnl_counters_get(KDP_N_RTNL_CALLS, usecs);
}

const char *
kdp_rtnl_call_name(enum kdp_rtnl_call call)
{
    static const char *const names[] = {
#define KDP_RTNL_CALL(ENUM, NAME) [KDP_RTNL_##ENUM] = NAME,
        KDP_RTNL_CALLS
#undef KDP_RTNL_CALL
    };

    return names[call];
}
