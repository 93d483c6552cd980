/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_QDISC_LOCK_H
#define KDP_NETDEV_LINUX_QDISC_LOCK_H 1

/* Lock on the queueing disciplines of a device
 * ============================================
 *
 * The kernel refuses to delete a queueing discipline (EBUSY) while a request
 * about one of its filters is in progress.  So a thread that deletes one holds
 * the lock of the device.  A thread that sends requests about filters while
 * another one may delete the discipline holds it, too, during each request.
 *
 * The lock is fair: a waiting thread gets it before the thread that has just
 * released it.  So a thread that sends one request after another delays
 * others by one request at most.
 *
 * Locks exist from the start.  Devices may share one, so a thread must not
 * hold two of them.
 *
 * Thread safety: any thread. */

#include "ovs-thread.h"

struct qdisc_lock {
    struct ovs_mutex queue;     /* Held by the next owner. */
    struct ovs_mutex mutex;     /* Taken after 'queue'. */
};

/* Returns the lock of the device with index 'ifindex', which may be any
 * number, even that of a device that is gone. */
struct qdisc_lock *qdisc_lock_get(int ifindex);

void qdisc_lock_acquire(struct qdisc_lock *lock) OVS_ACQUIRES(lock->mutex);
void qdisc_lock_release(struct qdisc_lock *lock) OVS_RELEASES(lock->mutex);

#endif /* lib/netdev-linux/qdisc-lock.h */
