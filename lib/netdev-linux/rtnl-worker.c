/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/rtnl-worker.h"

#include "openvswitch/thread.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "seq.h"
#include "util.h"

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static struct ovs_list jobs OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&jobs);
static struct ovs_list finished OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&finished);
static bool started OVS_GUARDED_BY(mutex);

/* Changes when a job is finished. */
static struct seq *seq;
static uint64_t seqno;          /* The main thread's. */

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

        /* Nobody waits for this thread while it waits, for jobs or for the
         * lock.  It uses nothing that RCU protects. */
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
        seq_change(seq);
    }
    return NULL;
}

void
rtnl_worker_add(struct rtnl_job *job)
{
    ovs_mutex_lock(&mutex);
    if (!started) {
        started = true;
        seq = seq_create();
        seqno = seq_read(seq);
        ovs_thread_create("rtnl", rtnl_worker_main, NULL);
    }
    ovs_list_push_back(&jobs, &job->node);
    xpthread_cond_signal(&added);
    ovs_mutex_unlock(&mutex);
}

void
rtnl_worker_run(void)
{
    struct rtnl_job *job;
    struct ovs_list list;

    ovs_list_init(&list);
    ovs_mutex_lock(&mutex);
    if (started) {
        seqno = seq_read(seq);
        ovs_list_push_back_all(&list, &finished);
    }
    ovs_mutex_unlock(&mutex);
    LIST_FOR_EACH_POP (job, node, &list) {
        job->done(job);
    }
}

void
rtnl_worker_wait(void)
{
    ovs_mutex_lock(&mutex);
    if (started) {
        seq_wait(seq, seqno);
    }
    ovs_mutex_unlock(&mutex);
}
