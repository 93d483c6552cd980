/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/rtnl-worker.h"

#include <poll.h>

#include "latch.h"
#include "openvswitch/thread.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static struct ovs_list jobs OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&jobs);
static struct ovs_list finished OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&finished);
static bool started OVS_GUARDED_BY(mutex);

static size_t n_unfinished OVS_GUARDED_BY(mutex);

/* Set when the work of a job is done. */
static struct latch carried_out;

/* The microseconds that the main thread may still wait in this turn, and
 * whether waiting was in vain.  These belong to the main thread. */
static long long int patience = RTNL_WORKER_PATIENCE * 1000;
static bool stuck;

static __thread bool is_self;

bool
rtnl_worker_is_self(void)
{
    return is_self;
}

static void *
rtnl_worker_main(void *aux OVS_UNUSED)
{
    is_self = true;
    for (;;) {
        struct rtnl_job *job;

        /* Other threads do not wait for this one while it waits for jobs or
         * for the lock.  It uses nothing that RCU protects. */
        ovsrcu_quiesce_start();

        ovs_mutex_lock(&mutex);
        while (ovs_list_is_empty(&jobs)) {
            ovs_mutex_cond_wait(&added, &mutex);
        }
        job = CONTAINER_OF(ovs_list_pop_front(&jobs), struct rtnl_job, node);
        ovs_mutex_unlock(&mutex);

        job->work(job);

        ovs_mutex_lock(&mutex);
        ovs_list_push_back(&finished, &job->node);
        ovs_mutex_unlock(&mutex);
        latch_set(&carried_out);
    }
    return NULL;
}

void
rtnl_worker_add(struct rtnl_job *job)
{
    ovs_mutex_lock(&mutex);
    if (!started) {
        started = true;
        latch_init(&carried_out);
        ovs_thread_create("rtnl", rtnl_worker_main, NULL);
    }
    ovs_list_push_back(&jobs, &job->node);
    n_unfinished++;
    xpthread_cond_signal(&added);
    ovs_mutex_unlock(&mutex);
}

/* Finishes jobs whose work is done.  Returns true if there are others. */
static bool
rtnl_worker_finish(void)
{
    struct rtnl_job *job;
    struct ovs_list list;
    bool more;

    ovs_list_init(&list);
    ovs_mutex_lock(&mutex);
    if (started) {
        latch_poll(&carried_out);
        n_unfinished -= ovs_list_size(&finished);
        ovs_list_push_back_all(&list, &finished);
    }
    more = n_unfinished > 0;
    ovs_mutex_unlock(&mutex);
    LIST_FOR_EACH_POP (job, node, &list) {
        job->done(job);
    }
    stuck = stuck && more;
    return more;
}

void
rtnl_worker_run(void)
{
    patience = RTNL_WORKER_PATIENCE * 1000;
    rtnl_worker_finish();
}

void
rtnl_worker_await(void)
{
    while (rtnl_worker_finish() && !stuck && patience > 0) {
        struct pollfd pfd = { .fd = carried_out.fds[0], .events = POLLIN };
        long long int start = time_usec();

        stuck = !poll(&pfd, 1, DIV_ROUND_UP(patience, 1000));
        patience -= time_usec() - start;
    }
}

void
rtnl_worker_wait(void)
{
    ovs_mutex_lock(&mutex);
    if (started) {
        latch_wait(&carried_out);
    }
    ovs_mutex_unlock(&mutex);
}
