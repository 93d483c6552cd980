/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/dispatch.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-queues.h"
#include "dpif-netlink/upcall-sync.h"
#include "odp-netlink.h"
#include "nl/nl-mcast.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-numa.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "upcall/upcall-store.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_dispatch);

/* Milliseconds before a failed request is repeated.  It takes time until file
 * descriptors or memory are free again. */
#define RETRY_INTERVAL 1000

/* The most notifications of the datapath group that one turn of the main loop
 * takes. */
#define MCAST_MAX 64

/* If restorations follow each other within the former time, in ms, for at
 * least the latter time, a program such as a monitor opens the datapath the
 * stock way again and again.  An operator, or a test, that uses stock tools
 * for a while does not cause a warning. */
#define RESTORED_GAP 60000
#define RESTORED_LONG (10 * RESTORED_GAP)

/* Under the mutex of the datapath. */
struct dispatch {
    bool on;                    /* Upcalls are on. */
    enum dispatch_mode wanted;  /* The mode in use is upcall_dest_mode(). */
    uint32_t n_handlers;        /* Number of handlers wanted, or 0 if not
                                 * set. */
    bool untold;                /* The kernel may not have the mode in use, or
                                 * the sockets of CPUs. */
    long long int retry_at;     /* When to repeat what failed, in ms, or
                                 * LLONG_MAX. */
    struct nl_mcast *mcast;     /* Group "ovs_datapath", while on. */
    uint64_t n_restored;        /* Times that the features had to be
                                 * restored. */
    long long int last;         /* Time of the last restoration, 0 if none,
                                 * and */
    long long int since;        /* of the first one in a series without a gap
                                 * of RESTORED_GAP. */
    bool warned;                /* A warning was logged for the series. */
    long long int rates_at;     /* When to look at the rates of ports, in
                                 * ms. */
};

static void recv_disable(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

void
dispatch_create(struct kdp_datapath *dp)
{
    dp->dispatch = xzalloc(sizeof *dp->dispatch);
    dp->dispatch->wanted = DISPATCH_PER_PORT;
    dp->dispatch->retry_at = LLONG_MAX;
}

void
dispatch_destroy(struct kdp_datapath *dp)
{
    dispatch_recv_set(dp, false);
    free(dp->dispatch);
}

/* Modes. */

static const char *const mode_names[] = {
    [DISPATCH_PER_PORT] = "per-port",
    [DISPATCH_PER_CPU] = "per-cpu",
};

const char *
dispatch_mode_name(enum dispatch_mode mode)
{
    return mode_names[mode];
}

bool
dispatch_mode_from_name(const char *name, enum dispatch_mode *mode)
{
    for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++) {
        if (!strcmp(name, mode_names[i])) {
            *mode = i;
            return true;
        }
    }
    return false;
}

/* Requests to the kernel. */

/* The user features that the datapath should have. */
static uint32_t
wanted_features(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    return dp->user_features | (upcall_dest_mode(dp) == DISPATCH_PER_CPU
                                ? OVS_DP_F_DISPATCH_UPCALL_PER_CPU
                                : OVS_DP_F_VPORT_PIDS);
}

/* Number of possible CPUs of the machine. */
static size_t
count_possible_cpus(void)
{
    size_t n_cpus = MAX(1, sysconf(_SC_NPROCESSORS_CONF));
    int largest = ovs_numa_get_largest_core_id();

    return largest == OVS_NUMA_UNSPEC ? n_cpus : MAX(n_cpus, largest + 1);
}

/* Passes the sockets of the CPUs to the kernel, which accepts them only
 * together with the feature: from then on it dispatches by CPU. */
static int
tell_cpu_pids(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    size_t n_cpus = count_possible_cpus();
    uint32_t *pids = xmalloc(n_cpus * sizeof *pids);
    int error;

    for (size_t i = 0; i < n_cpus; i++) {
        pids[i] = upcall_dest_cpu_pid(dp, i);
    }
    error = ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                      dp->user_features
                                      | OVS_DP_F_DISPATCH_UPCALL_PER_CPU,
                                      pids, n_cpus, NULL);
    free(pids);
    if (!error) {
        upcall_dest_cpus_told(dp);
    }
    return error;
}

static void
try_again_later(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    dp->dispatch->retry_at = time_msec() + RETRY_INTERVAL;
}

/* Makes the kernel dispatch by the mode in use.  A refused request is repeated
 * later. */
static int
tell_mode(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    int cpu_error = dp->per_cpu_known ? tell_cpu_pids(dp) : 0;
    int error = cpu_error;

    if (upcall_dest_mode(dp) == DISPATCH_PER_PORT) {
        if (cpu_error) {
            VLOG_WARN_RL(&rl, "%s: setting the sockets of CPUs failed (%s); "
                         "upcalls may come out of order while another process "
                         "has the datapath open", dp->name,
                         ovs_strerror(cpu_error));
        }
        error = ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                          wanted_features(dp), NULL, 0, NULL);
    }
    dp->dispatch->untold = error || cpu_error;
    if (dp->dispatch->untold) {
        try_again_later(dp);
    }
    return error;
}

/* Changing the mode. */

/* A failure is logged with 'level'. */
static int
change_to_port(struct kdp_datapath *dp, enum vlog_level level)
    OVS_REQUIRES(dp->mutex)
{
    enum dispatch_mode old = upcall_dest_mode(dp);
    int error;

    /* Ports that get no channel are reported and tried again. */
    upcall_dest_set_mode(dp, DISPATCH_PER_PORT);
    upcall_sync_all(dp);
    error = tell_mode(dp);
    if (!error) {
        VLOG_INFO("%s: upcalls are dispatched by port, one socket for each",
                  dp->name);
    } else if (old == DISPATCH_PER_CPU) {
        /* The kernel sends to the sockets of CPUs, or to the shared socket.
         * The ports keep their sockets for the next attempt. */
        upcall_dest_set_mode(dp, old);
        VLOG(level, "%s: the kernel does not dispatch upcalls by port (%s); "
             "going on by CPU, and trying again every %d ms", dp->name,
             ovs_strerror(error), RETRY_INTERVAL);
    }
    upcall_dest_drain(dp);
    return error;
}

static int
change_to_cpu(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    int error;

    error = dp->per_cpu_known ? 0 : EOPNOTSUPP;
    if (!error) {
        error = upcall_dest_add_cpus(dp);
    }
    if (!error) {
        enum dispatch_mode old = upcall_dest_mode(dp);

        upcall_dest_set_mode(dp, DISPATCH_PER_CPU);
        error = tell_mode(dp);
        if (error) {
            /* The kernel may have accepted the mode but not the sockets. */
            upcall_dest_set_mode(dp, old);
            tell_mode(dp);
        }
    }
    upcall_dest_drain(dp);
    if (error) {
        VLOG_WARN("%s: the kernel does not dispatch upcalls by CPU (%s); "
                  "going on by port", dp->name, ovs_strerror(error));
        return error;
    }
    VLOG_INFO("%s: upcalls are dispatched by CPU, one socket for each of %"
              PRIu32" handlers", dp->name,
              upcall_table_n_handlers(dp->upcalls));
    upcall_sync_all(dp);
    return 0;
}

void
dispatch_set_mode(struct kdp_datapath *dp, enum dispatch_mode mode)
{
    dp->dispatch->wanted = mode;
    if (dp->dispatch->on && upcall_dest_mode(dp) != mode) {
        if (mode == DISPATCH_PER_CPU) {
            change_to_cpu(dp);
        } else {
            change_to_port(dp, VLL_WARN);
        }
    }
}

bool
dispatch_is_per_port(struct kdp_datapath *dp)
{
    bool retval;

    ovs_mutex_lock(&dp->mutex);
    retval = (dp->dispatch->wanted == DISPATCH_PER_PORT
              && upcall_dest_mode(dp) == DISPATCH_PER_PORT);
    ovs_mutex_unlock(&dp->mutex);
    return retval;
}

/* Turning upcalls on and off. */

bool
dispatch_is_on(const struct kdp_datapath *dp)
{
    return dp->dispatch->on;
}

static int
recv_enable(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct dispatch *dispatch = dp->dispatch;
    int error;

    upcall_dest_hold_all(dp);
    error = upcall_dest_add_shared(dp);
    if (!error) {
        const struct nl_mcast_options options = {
            .groups = &dp->genl.datapath.mcgroup, .n_groups = 1,
        };

        error = nl_mcast_open(NETLINK_GENERIC, &options, &dispatch->mcast);
    }
    if (!error && !upcall_table_n_handlers(dp->upcalls)) {
        error = upcall_table_set_handlers(dp->upcalls, 1);
    }
    if (error) {
        return error;
    }
    dispatch->on = true;
    if (dispatch->wanted != DISPATCH_PER_CPU || change_to_cpu(dp)) {
        error = change_to_port(dp, VLL_WARN);
    }
    upcall_store_end();
    return error;
}

/* Removes the sockets of all ports from the kernel. */
static void
tell_nowhere(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    const uint32_t nowhere = 0;
    struct ovs_vport *vports;
    size_t n;

    vport_table_expire(dp->vports);
    vport_table_list(dp->vports, &vports, &n);
    for (size_t i = 0; i < n; i++) {
        if (vports[i].pid) {
            ovs_vport_set_pids(&dp->genl, dp->ifindex, vports[i].port_no,
                               &nowhere, 1);
        }
    }
    free(vports);
}

static void
recv_disable(struct kdp_datapath *dp)
{
    struct dispatch *dispatch = dp->dispatch;

    dispatch->on = false;
    dispatch->n_handlers = 0;
    dispatch->untold = false;
    dispatch->retry_at = LLONG_MAX;
    upcall_sync_cancel(dp);
    if (!upcall_store_is_left() && !kdp_datapath_is_shadow()) {
        tell_nowhere(dp);
    }
    upcall_dest_clear(dp);
    upcall_queues_clear(dp);
    upcall_table_set_handlers(dp->upcalls, 0);
    nl_mcast_close(dispatch->mcast);
    dispatch->mcast = NULL;
}

int
dispatch_recv_set(struct kdp_datapath *dp, bool enable)
{
    int error = 0;

    ovs_mutex_lock(&dp->mutex);
    if (enable && !dp->dispatch->on) {
        error = recv_enable(dp);
        if (error) {
            VLOG_ERR("%s: turning upcalls on failed (%s)", dp->name,
                     ovs_strerror(error));
            recv_disable(dp);
        }
    } else if (!enable && dp->dispatch->on) {
        recv_disable(dp);
    }
    ovs_mutex_unlock(&dp->mutex);
    return error;
}

/* Gives each handler a socket for its CPUs, if that is the mode.  A failure is
 * logged with 'level'. */
static void
handlers_changed(struct kdp_datapath *dp, enum vlog_level level)
    OVS_REQUIRES(dp->mutex)
{
    int error;

    if (upcall_dest_mode(dp) != DISPATCH_PER_CPU) {
        return;
    }
    error = upcall_dest_add_cpus(dp);
    if (error) {
        dp->dispatch->untold = true;
        try_again_later(dp);
    } else {
        error = tell_mode(dp);
    }
    if (error) {
        VLOG(level, "%s: giving each handler a socket failed (%s); CPUs keep "
             "the sockets that they have, and it is tried again every %d ms",
             dp->name, ovs_strerror(error), RETRY_INTERVAL);
    }
    upcall_dest_drain(dp);
}

/* Creates as many handlers as are wanted.  Logs a failure with 'level'. */
static void
set_handlers(struct kdp_datapath *dp, enum vlog_level level)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t n = dp->dispatch->n_handlers;
    uint32_t old = upcall_table_n_handlers(dp->upcalls);
    int error;

    upcall_fd_limit_ensure(dp->name, upcall_table_n_channels(dp->upcalls), n);
    error = upcall_table_set_handlers(dp->upcalls, n);
    if (!error) {
        if (level == VLL_DBG) {
            VLOG_INFO("%s: there are %"PRIu32" upcall handlers now", dp->name,
                      n);
        }
        handlers_changed(dp, level);
    } else if (n > UPCALL_MAX_HANDLERS) {
        dp->dispatch->n_handlers = old;     /* Not enough resources for as
                                             * many. */
    } else if (n > old && old) {
        VLOG(level, "%s: making %"PRIu32" upcall handlers (other_config:"
             "n-handler-threads) failed (%s); going on with %"PRIu32", and "
             "trying again every %d ms", dp->name, n, ovs_strerror(error),
             old, RETRY_INTERVAL);
        try_again_later(dp);
    } else {
        /* Some of the old handlers no longer have a thread, and whole groups
         * may have none.  Removing them frees their descriptors for the next
         * attempt. */
        upcall_table_set_handlers(dp->upcalls, 0);
        VLOG(level, "%s: making %"PRIu32" upcall handlers (other_config:"
             "n-handler-threads) failed (%s); upcalls wait until there are, "
             "and it is tried again every %d ms", dp->name, n,
             ovs_strerror(error), RETRY_INTERVAL);
        try_again_later(dp);
    }
}

void
dispatch_handlers_set(struct kdp_datapath *dp, uint32_t n_handlers)
{
    ovs_mutex_lock(&dp->mutex);
    if (dp->dispatch->on) {
        dp->dispatch->n_handlers = n_handlers;
        set_handlers(dp, VLL_WARN);
        upcall_queues_handlers_changed(dp);
    }
    ovs_mutex_unlock(&dp->mutex);
}

/* Repeats what failed. */
static void
retry(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct dispatch *dispatch = dp->dispatch;

    if (time_msec() < dispatch->retry_at) {
        return;
    }
    dispatch->retry_at = LLONG_MAX;
    if (dispatch->n_handlers
        && dispatch->n_handlers != upcall_table_n_handlers(dp->upcalls)) {
        set_handlers(dp, VLL_DBG);
        upcall_queues_handlers_changed(dp);
    }
    if (dispatch->untold) {
        if (upcall_dest_mode(dp) == DISPATCH_PER_CPU
            && dispatch->wanted == DISPATCH_PER_PORT) {
            change_to_port(dp, VLL_DBG);
        } else if (upcall_dest_mode(dp) == DISPATCH_PER_CPU) {
            handlers_changed(dp, VLL_DBG);
        } else {
            tell_mode(dp);
        }
    }
}

int
dispatch_set_features(struct kdp_datapath *dp, uint32_t features)
{
    struct ovs_datapath kernel;
    int error;

    ovs_mutex_lock(&dp->mutex);
    error = ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                      features | wanted_features(dp), NULL, 0,
                                      &kernel);
    if (!error) {
        dp->user_features = kernel.user_features & ~KDP_DISPATCH_FEATURES;
        if (!(kernel.user_features & features)) {
            error = EOPNOTSUPP;
        }
    }
    ovs_mutex_unlock(&dp->mutex);
    return error;
}

/* Changes by other processes. */

uint64_t
dispatch_n_restored(const struct kdp_datapath *dp)
{
    return dp->dispatch->n_restored;
}

struct features_check {
    int ifindex;
    uint32_t user_features;     /* Last features announced. */
    bool seen;
};

static void
features_check_cb(const struct nlmsghdr *nlh, int32_t nsid OVS_UNUSED,
                  void *check_)
{
    struct features_check *check = check_;
    struct ovs_datapath kernel;

    if (!ovs_datapath_parse(nlh, &kernel)
        && kernel.ifindex == check->ifindex) {
        check->user_features = kernel.user_features;
        check->seen = true;
    }
}

/* Counts a restoration, and warns if they do not end. */
static void
count_restored(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct dispatch *dispatch = dp->dispatch;
    long long int now = time_msec();

    dispatch->n_restored++;
    if (!dispatch->last || now - dispatch->last >= RESTORED_GAP) {
        dispatch->since = now;
        dispatch->warned = false;
    }
    dispatch->last = now;
    if (!dispatch->warned && now - dispatch->since >= RESTORED_LONG) {
        dispatch->warned = true;
        VLOG_WARN("%s: other processes have kept changing how the datapath "
                  "dispatches upcalls for %d minutes; each time upcalls of "
                  "all ports share a socket for a moment.  Stock tools that "
                  "open the datapath do that, \"ovs-dpctl\" for one; use "
                  "\"ovs-appctl dpctl/show\" and the like in their place",
                  dp->name, RESTORED_LONG / 60000);
    }
}

/* Restores the dispatch mode if another process changed it. */
static void
check_features(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct features_check check = { .ifindex = dp->ifindex };
    uint32_t wanted = wanted_features(dp);
    int error = 0;

    for (int i = 0; i < MCAST_MAX && error != EAGAIN; i++) {
        error = nl_mcast_recv(dp->dispatch->mcast, features_check_cb, &check);
        if (error && error != EAGAIN) {
            struct ovs_datapath kernel;

            /* Announcements were lost. */
            if (!ovs_datapath_get(&dp->genl, dp->inner->base_name, &kernel)
                && kernel.ifindex == dp->ifindex) {
                check.user_features = kernel.user_features;
                check.seen = true;
            }
        }
    }
    if (!check.seen || !((check.user_features ^ wanted)
                         & KDP_DISPATCH_FEATURES)) {
        return;
    }

    count_restored(dp);
    VLOG_INFO_RL(&rl, "%s: another process changed the user features of the "
                 "datapath to 0x%"PRIx32"; setting them back to 0x%"PRIx32,
                 dp->name, check.user_features, wanted);
    error = tell_mode(dp);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: that failed (%s); trying again every %d ms",
                     dp->name, ovs_strerror(error), RETRY_INTERVAL);
    }
}

void
dispatch_check(struct kdp_datapath *dp)
{
    ovs_mutex_lock(&dp->mutex);
    if (dp->dispatch->on) {
        vport_table_expire(dp->vports);
        upcall_sync_all(dp);
        tell_mode(dp);
    }
    ovs_mutex_unlock(&dp->mutex);
}

/* The main loop. */

bool
dispatch_run(struct kdp_datapath *dp)
{
    bool gone = false;

    vport_table_expire(dp->vports);
    ovs_mutex_lock(&dp->mutex);
    if (dp->dispatch->on) {
        check_features(dp);
        retry(dp);
        socket_budget_run(dp);
        upcall_dest_run(dp);
        upcall_queues_run(dp);
        gone = upcall_sync_run(dp);
        dp->dispatch->rates_at = upcall_table_update_rates(dp->upcalls,
                                                           time_msec(),
                                                           time_wall_msec());
    }
    ovs_mutex_unlock(&dp->mutex);
    return gone;
}

bool
dispatch_revalidate(struct kdp_datapath *dp)
{
    bool revalidate;

    ovs_mutex_lock(&dp->mutex);
    revalidate = dp->dispatch->on && upcall_dest_revalidate(dp);
    ovs_mutex_unlock(&dp->mutex);
    return revalidate;
}

void
dispatch_wait(struct kdp_datapath *dp)
{
    ovs_mutex_lock(&dp->mutex);
    if (dp->dispatch->on) {
        poll_fd_wait(nl_mcast_fd(dp->dispatch->mcast), POLLIN);
        socket_budget_wait(dp);
        upcall_dest_wait(dp);
        upcall_queues_wait(dp);
        upcall_sync_wait(dp);
        poll_timer_wait_until(dp->dispatch->rates_at);
        poll_timer_wait_until(dp->dispatch->retry_at);
    }
    ovs_mutex_unlock(&dp->mutex);
}
