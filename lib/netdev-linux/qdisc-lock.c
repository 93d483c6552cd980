/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/qdisc-lock.h"

#include "hash.h"
#include "util.h"

/* Number of locks: larger than the number of devices whose policing changes
 * while rules are deleted on others, so that these hardly ever share one. */
#define N_LOCKS 64

static struct qdisc_lock locks[N_LOCKS];

static void
init_locks(void)
{
    for (size_t i = 0; i < N_LOCKS; i++) {
        ovs_mutex_init(&locks[i].queue);
        ovs_mutex_init(&locks[i].mutex);
    }
}

struct qdisc_lock *
qdisc_lock_get(int ifindex)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init_locks);
    return &locks[hash_int(ifindex, 0) % N_LOCKS];
}

void
qdisc_lock_acquire(struct qdisc_lock *lock)
{
    /* A plain mutex would go to a thread that unlocks it and locks it again at
     * once.  The queue makes such a thread wait behind the others. */
    ovs_mutex_lock(&lock->queue);
    ovs_mutex_lock(&lock->mutex);
    ovs_mutex_unlock(&lock->queue);
}

void
qdisc_lock_release(struct qdisc_lock *lock)
{
    ovs_mutex_unlock(&lock->mutex);
}
