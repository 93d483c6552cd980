/* SPDX-License-Identifier: Apache-2.0 */

/* Carries out jobs of the thread that waits for the RTNL lock in the thread
 * that adds them, for tests of what they are for. */

#include <config.h>
#include "netdev-linux/rtnl-worker.h"

void __wrap_rtnl_worker_add(struct rtnl_job *);

void
__wrap_rtnl_worker_add(struct rtnl_job *job)
{
    job->work(job);
    job->done(job);
}
