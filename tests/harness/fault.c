/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/fault.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <pthread.h>
#include <sys/socket.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    enum unit_call which;
    unsigned int nth, count;
    int error;
    unsigned int n_calls;       /* Seen of 'which'. */
    unsigned int n_failed;
} plan;                         /* Guarded by 'mutex'. */

void
unit_plan_failures(enum unit_call which, unsigned int nth, unsigned int count,
                   int error)
{
    pthread_mutex_lock(&mutex);
    plan.which = which;
    plan.nth = nth;
    plan.count = count;
    plan.error = error;
    plan.n_calls = 0;
    plan.n_failed = 0;
    pthread_mutex_unlock(&mutex);
}

void
unit_plan_none(void)
{
    pthread_mutex_lock(&mutex);
    plan.count = 0;
    pthread_mutex_unlock(&mutex);
}

unsigned int
unit_n_failed(void)
{
    unsigned int n_failed;

    pthread_mutex_lock(&mutex);
    n_failed = plan.n_failed;
    pthread_mutex_unlock(&mutex);
    return n_failed;
}

bool
unit_fails(enum unit_call which)
{
    int error = 0;

    pthread_mutex_lock(&mutex);
    if (plan.count && plan.which == which && ++plan.n_calls >= plan.nth) {
        plan.count--;
        plan.n_failed++;
        error = plan.error;
    }
    pthread_mutex_unlock(&mutex);
    if (error) {
        errno = error;
    }
    return error != 0;
}

UNIT_WRAP(struct mnl_socket *, mnl_socket_open2, (int bus, int flags),
          (bus, flags), UNIT_CALL_SOCKET, NULL)
UNIT_WRAP(int, mnl_socket_bind, (struct mnl_socket *nl, unsigned int groups,
                                 pid_t pid),
          (nl, groups, pid), UNIT_CALL_BIND, -1)
UNIT_WRAP(int, mnl_socket_setsockopt, (const struct mnl_socket *nl, int type,
                                       void *buf, socklen_t len),
          (nl, type, buf, len), UNIT_CALL_MNL_SETSOCKOPT, -1)
UNIT_WRAP(int, setsockopt, (int fd, int level, int name, const void *value,
                            socklen_t len),
          (fd, level, name, value, len), UNIT_CALL_SETSOCKOPT, -1)
