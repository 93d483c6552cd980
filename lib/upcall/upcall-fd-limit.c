/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-fd-limit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sys/resource.h>

#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "upcall/upcall-channel.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_fd_limit);

/* Additional descriptors that everything else may open before the next count:
 * OVSDB, OpenFlow and control connections, logs, netlink sockets of other
 * parts, tap devices. */
#define FD_LIMIT_RESERVE 64

/* Milliseconds for which a count holds.  Counting takes time in proportion to
 * the descriptors, a millisecond for thousands, and only a few descriptors
 * other than channels are opened or closed in that time. */
#define FD_LIMIT_COUNT_INTERVAL 10000

/* Descriptors that one call checks. */
#define FD_LIMIT_PROBES 256

/* The soft limit grows in steps of this many, so that adding ports one by one
 * does not set it each time. */
#define FD_LIMIT_STEP 1024

/* Open sockets of a previous run that are not channels yet. */
static atomic_count n_found = ATOMIC_COUNT_INIT(0);

/* Returns the number of descriptors that the process has open, or 0 if their
 * directory cannot be opened, for example because no descriptor is left. */
static size_t
count_all(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    size_t n = 0;

    if (!dir) {
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        n += entry->d_name[0] != '.';
    }
    closedir(dir);
    return n - 1;               /* Without the descriptor of 'dir'. */
}

/* Returns the number of open descriptors below 'soft', the limit, without
 * opening one.  The result is exact, because the limit is a limit on
 * descriptor numbers.  Takes some 20 ns for each number. */
static size_t
probe_all(rlim_t soft)
{
    static const struct timespec no_time;
    struct pollfd pfds[FD_LIMIT_PROBES];
    nfds_t n_probes;
    size_t n = 0;

    for (rlim_t first = 0; first < soft; first += n_probes) {
        n_probes = MIN(soft - first, FD_LIMIT_PROBES);
        for (nfds_t i = 0; i < n_probes; i++) {
            pfds[i] = (struct pollfd) { .fd = first + i };
        }
        if (ppoll(pfds, n_probes, &no_time, NULL) < 0) {
            n += n_probes;      /* Count too many rather than too few. */
            continue;
        }
        for (nfds_t i = 0; i < n_probes; i++) {
            n += !(pfds[i].revents & POLLNVAL);
        }
    }
    return n;
}

/* Returns the number of descriptors to keep for everything except channels and
 * sockets of a previous run.  'soft' is the soft limit. */
static size_t
count_others(rlim_t soft)
{
    static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
    static long long int count_at OVS_GUARDED_BY(mutex) = LLONG_MIN;
    static size_t n_others OVS_GUARDED_BY(mutex);
    size_t n;

    ovs_mutex_lock(&mutex);
    if (time_msec() >= count_at) {
        size_t n_ours = upcall_channel_n_open() + atomic_count_get(&n_found);
        size_t n_all = count_all();

        if (!n_all) {
            n_all = probe_all(soft);
        }
        n_others = n_all - MIN(n_all, n_ours);
        count_at = time_msec() + FD_LIMIT_COUNT_INTERVAL;
    }
    n = n_others + FD_LIMIT_RESERVE;
    ovs_mutex_unlock(&mutex);
    return n;
}

void
upcall_fd_limit_set_found(size_t n)
{
    atomic_count_set(&n_found, n);
}

int
upcall_fd_limit_ensure(const char *name, size_t n_channels, size_t n_handlers)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 1);
    struct rlimit limit;
    rlim_t need, all, old;

    if (getrlimit(RLIMIT_NOFILE, &limit)
        || limit.rlim_cur == RLIM_INFINITY) {
        return 0;
    }
    old = limit.rlim_cur;
    need = n_channels + n_handlers + count_others(old);
    all = need + atomic_count_get(&n_found);    /* If none is adopted. */
    if (all <= old) {
        return 0;
    }

    limit.rlim_cur = MIN(ROUND_UP(all, FD_LIMIT_STEP), limit.rlim_max);
    if (limit.rlim_cur > old) {
        if (setrlimit(RLIMIT_NOFILE, &limit)) {
            VLOG_WARN_RL(&rl, "%s: raising the limit on open files from "
                         "%"PRIu64" to %"PRIu64" failed (%s)", name,
                         (uint64_t) old, (uint64_t) limit.rlim_cur,
                         ovs_strerror(errno));
            return EMFILE;
        }
        VLOG_INFO("%s: raised the limit on open files from %"PRIu64" to "
                  "%"PRIu64" for %"PRIuSIZE" upcall channels", name,
                  (uint64_t) old, (uint64_t) limit.rlim_cur, n_channels);
    }
    if (need > limit.rlim_max) {
        VLOG_WARN_RL(&rl, "%s: %"PRIuSIZE" upcall channels and %"PRIuSIZE" "
                     "handlers may need %"PRIu64" open files, but the hard "
                     "limit is %"PRIu64"; raise it (ulimit -Hn, LimitNOFILE= "
                     "of the service) or ports will share sockets", name,
                     n_channels, n_handlers, (uint64_t) need,
                     (uint64_t) limit.rlim_max);
        return EMFILE;
    }
    return 0;
}

size_t
upcall_fd_limit_max_channels(void)
{
    struct rlimit limit;
    size_t n_others;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    n_others = count_others(limit.rlim_cur);
    return limit.rlim_max > n_others ? limit.rlim_max - n_others : 0;
}
