/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_INGRESS_QDISC_H
#define KDP_NETDEV_LINUX_INGRESS_QDISC_H 1

/* Ingress queueing disciplines of devices
 * =======================================
 *
 * Asks the kernel for the discipline at the ingress of a device, which holds
 * tc rules.  It has rules of its own, or is bound to a block, which is a set
 * of rules that several devices share.
 *
 * The link tables know which devices have such a discipline, but only while
 * there is no offload, and not the block that it is bound to
 * (link/link-qdisc.h).
 *
 *
 * Locks
 * -----
 *
 * The kernel refuses to delete a queueing discipline (EBUSY) while a request
 * about one of its filters is in progress.  So a thread that deletes one holds
 * the lock of the device.  A thread that sends requests about filters while
 * another one may delete the discipline holds it, too, during each request.
 *
 * The lock is fair: a waiting thread gets it before the thread that has just
 * released it.  So a thread that sends one request after another delays others
 * by one request at most.
 *
 * Locks exist from the start.  Devices may share one, so a thread must not
 * hold two of them.
 *
 *
 * Thread safety: any thread.  Requests take the RTNL lock. */

#include <stdbool.h>
#include <stdint.h>

#include "ovs-thread.h"

struct ingress_qdisc {
    int ifindex;                /* Of the device. */
    bool is_clsact;             /* Has a place for outgoing packets, too. */
    uint32_t block_id;          /* 0 if it is bound to no block. */
};

/* Stores the ingress discipline of device 'ifindex' in '*qdisc'.  Returns
 * false if it has none. */
bool ingress_qdisc_get(int ifindex, struct ingress_qdisc *qdisc);

/* Calls 'cb' for each device of our namespace that has one.  'cb' may send
 * requests about it.  Returns 0 or a positive errno value; then devices are
 * missing. */
int ingress_qdisc_for_each(void (*cb)(const struct ingress_qdisc *,
                                      void *aux),
                           void *aux);

struct qdisc_lock {
    struct ovs_mutex queue;     /* Held by the next owner. */
    struct ovs_mutex mutex;     /* Taken after 'queue'. */
};

/* Returns the lock of the device with index 'ifindex', which may be any
 * number, even if its device is gone. */
struct qdisc_lock *qdisc_lock_get(int ifindex);

void qdisc_lock_acquire(struct qdisc_lock *lock) OVS_ACQUIRES(lock->mutex);
void qdisc_lock_release(struct qdisc_lock *lock) OVS_RELEASES(lock->mutex);

#endif /* lib/netdev-linux/ingress-qdisc.h */
