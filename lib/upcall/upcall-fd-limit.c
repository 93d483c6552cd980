/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-fd-limit.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_fd_limit);

/* Descriptors for everything else: OVSDB, OpenFlow and control connections,
 * logs, netlink sockets of other parts, tap devices. */
#define FD_LIMIT_OTHERS 256

/* The soft limit grows in steps of this many, so that adding ports one by one
 * does not set it each time. */
#define FD_LIMIT_STEP 1024

int
upcall_fd_limit_ensure(const char *name, size_t n_channels, size_t n_handlers)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 1);
    rlim_t need = n_channels + n_handlers + FD_LIMIT_OTHERS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit)
        || limit.rlim_cur == RLIM_INFINITY
        || need <= limit.rlim_cur) {
        return 0;
    }

    rlim_t old = limit.rlim_cur;
    limit.rlim_cur = MIN(ROUND_UP(need, FD_LIMIT_STEP), limit.rlim_max);
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
                     "of the service) or ports will be refused", name,
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

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max == RLIM_INFINITY) {
        return SIZE_MAX;
    }
    return limit.rlim_max > FD_LIMIT_OTHERS
           ? limit.rlim_max - FD_LIMIT_OTHERS : 0;
}
