/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-waiter.h"

#include "ovs-rcu.h"
#include "util.h"

void
offload_waiter_init(struct offload_waiter *waiter)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    *waiter = (struct offload_waiter) { .n = 0 };
    ovs_mutex_init(&waiter->mutex);
    xpthread_cond_init(&waiter->cond, NULL);
}

void
offload_waiter_add(struct offload_waiter *waiter)
{
    ovs_mutex_lock(&waiter->mutex);
    waiter->n++;
    ovs_mutex_unlock(&waiter->mutex);
}

void
offload_waiter_done(struct offload_waiter *waiter)
{
    /* Signal with the lock: the owner destroys the waiter right after. */
    ovs_mutex_lock(&waiter->mutex);
    if (!--waiter->n) {
        xpthread_cond_signal(&waiter->cond);
    }
    ovs_mutex_unlock(&waiter->mutex);
}

/* Waits, and destroys 'waiter'.  The thread is quiescent meanwhile if
 * 'quiesce'. */
void
offload_waiter_wait(struct offload_waiter *waiter, bool quiesce)
{
    if (quiesce) {
        ovsrcu_quiesce_start();
    }
    ovs_mutex_lock(&waiter->mutex);
    while (waiter->n) {
        ovs_mutex_cond_wait(&waiter->cond, &waiter->mutex);
    }
    ovs_mutex_unlock(&waiter->mutex);
    if (quiesce) {
        ovsrcu_quiesce_end();
    }
    xpthread_cond_destroy(&waiter->cond);
    ovs_mutex_destroy(&waiter->mutex);
}
