/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_QDISC_LOCK_H
#define KDP_NETDEV_LINUX_QDISC_LOCK_H 1

/* Lock on the queueing disciplines of a device
 * ============================================
 *
 * The kernel refuses to delete a queueing discipline (EBUSY) while a request
 * about a filter of it is under way.  So who deletes one holds the lock of its
 * device meanwhile, and so does who makes requests about filters at a time at
 * which others may delete it, for one request after the other.
 *
 * The lock is fair: who waits for it gets it before who had it last.  A thread
 * that makes requests one after the other thus delays nobody by more than the
 * one that is under way.
 *
 * Locks exist from the start.  Devices may share one, so a thread must not
 * hold two of them.
 *
 * Thread safety: any thread. */

#include "ovs-thread.h"

struct qdisc_lock {
    struct ovs_mutex queue;     /* Held by who is next. */
    struct ovs_mutex mutex;     /* After "queue". */
};

/* The lock of the device whose index is 'ifindex', which may be any number.
 * Of a device that is gone, that of some device. */
struct qdisc_lock *qdisc_lock_get(int ifindex);

void qdisc_lock_acquire(struct qdisc_lock *lock) OVS_ACQUIRES(lock->mutex);
void qdisc_lock_release(struct qdisc_lock *lock) OVS_RELEASES(lock->mutex);

#endif /* lib/netdev-linux/qdisc-lock.h */
