/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_RTNL_WORKER_H
#define KDP_NETDEV_LINUX_RTNL_WORKER_H 1

/* A thread that waits for the RTNL lock
 * =====================================
 *
 * A request to a driver takes the kernel's RTNL lock, which another process
 * may hold for seconds.  The main thread does not wait for that: it goes on
 * with the last answer, and leaves the request to this thread as a job.
 *
 * Life cycle: a job belongs to this module from rtnl_worker_add() on.  The
 * thread calls 'work', then the main thread calls 'done', which frees the job.
 * Jobs are done one after the other, in the order in which they were added.
 * The thread starts with the first job and runs until the process ends.
 *
 * Thread safety: rtnl_worker_add() is for any thread, the other functions are
 * for the main thread.
 *
 * Failure: none. */

#include <stdbool.h>

#include "openvswitch/list.h"

struct rtnl_job {
    struct ovs_list node;
    void (*work)(struct rtnl_job *);    /* Holds no lock. */
    void (*done)(struct rtnl_job *);    /* The same. */
};

void rtnl_worker_add(struct rtnl_job *);

/* True in the worker thread. */
bool rtnl_worker_is_self(void);

/* Finishes jobs whose 'work' is done.  To be called in each turn of the main
 * loop. */
void rtnl_worker_run(void);
void rtnl_worker_wait(void);

/* Longest time in milliseconds that the main thread waits in one turn of the
 * main loop: half of the 20 ms that a turn may take while another process
 * holds the lock.  A driver usually answers within microseconds. */
#define RTNL_WORKER_PATIENCE 10

/* Waits until the work of all jobs is done, and finishes them.  Gives up after
 * RTNL_WORKER_PATIENCE in this turn of the main loop.  If a job takes that
 * long, no further call waits until the thread has done all its jobs.  The
 * caller holds no lock. */
void rtnl_worker_await(void);

#endif /* lib/netdev-linux/rtnl-worker.h */
