/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_WAITER_H
#define OFFLOAD_WAITER_H 1

/* Waits until a number of things have happened.
 *
 * Life cycle: offload_waiter_init(), offload_waiter_add() for each thing,
 * offload_waiter_done() when it has happened, and one offload_waiter_wait(),
 * which destroys the waiter.
 *
 * Thread safety: any thread may call _add and _done.  The owner calls _init
 * and, after its last _add, _wait. */

#include <pthread.h>
#include <stdbool.h>

#include "openvswitch/thread.h"
#include "ovs-thread.h"

struct offload_waiter {
    struct ovs_mutex mutex;
    pthread_cond_t cond;
    unsigned int n OVS_GUARDED; /* Still to happen. */
};

void offload_waiter_init(struct offload_waiter *);
void offload_waiter_add(struct offload_waiter *);
void offload_waiter_done(struct offload_waiter *);
void offload_waiter_wait(struct offload_waiter *, bool quiesce);

#endif /* lib/offload/offload-waiter.h */
