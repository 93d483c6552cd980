/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/rtnl-count.h"

#include <pthread.h>

#include "stats/thread-counters.h"

static struct thread_counters *counters;

static void
rtnl_counters_create(void)
{
    counters = thread_counters_create(KDP_N_RTNL_CALLS);
}

/* Unlike an ovsthread_once, which is looked at without synchronization,
 * pthread_once() orders the creation before every use. */
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

void
kdp_rtnl_get_counts(uint64_t counts[KDP_N_RTNL_CALLS])
{
    thread_counters_fold(rtnl_counters(), counts);
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
