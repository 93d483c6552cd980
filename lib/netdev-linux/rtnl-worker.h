/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_RTNL_WORKER_H
#define KDP_NETDEV_LINUX_RTNL_WORKER_H 1

/* A thread that waits for the RTNL lock
 * =====================================
 *
 * A question to a driver takes the kernel's RTNL lock, which another process
 * may hold for seconds.  The main thread does not wait for that: it goes on
 * with the last answer, and leaves the question to this thread as a job.
 *
 * Life cycle: a job belongs to this module from rtnl_worker_add() on.  The
 * thread calls 'work'.  After that the main thread calls 'done', which frees
 * the job.  Jobs are carried out one after the other, in the order in which
 * they were added.  The thread begins with the first job, and goes on until
 * the process ends.
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

/* True in the thread. */
bool rtnl_worker_is_self(void);

/* Finishes the jobs that were carried out.  To be called in each turn of the
 * main loop. */
void rtnl_worker_run(void);
void rtnl_worker_wait(void);

/* Longest time in milliseconds for which the main thread waits in one turn of
 * the main loop.  A driver answers within microseconds, as a rule.  Half of
 * the 20 ms that a turn may take while another process holds the lock. */
#define RTNL_WORKER_PATIENCE 10

/* Waits until all jobs were carried out, and finishes them.  Gives up when
 * RTNL_WORKER_PATIENCE was spent in this turn of the main loop.  If a job
 * takes that long, no further call waits before the thread has done all its
 * jobs.
 * The caller holds no lock. */
void rtnl_worker_await(void);

#endif /* lib/netdev-linux/rtnl-worker.h */
