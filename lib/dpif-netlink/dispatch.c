/* SPDX-License-Identifier: Apache-2.0 */

/* Which sockets the kernel sends upcalls to, and how that is changed without
 * losing any.
 *
 *      mode        channels                         isolation
 *      --------    -----------------------------    ------------------------
 *      per-port    one for each port                a port fills its own
 *      per-cpu     one for each handler, to which   ports of a CPU share
 *                  CPUs are mapped by turns
 *
 * Every CPU that the machine can have is mapped, so neither hot-plug nor a
 * change of the CPUs that the process may use needs anything done.
 *
 * A change first makes the channels of the new mode, then tells the kernel,
 * and leaves the channels of the old mode until they are empty ("linger").
 * The kernel tells nobody when the last packet that was on its way under the
 * old mode has been queued; it is a matter of an RCU grace period, so channels
 * are not looked at before KDP_LINGER_MS.
 *
 * One more channel belongs to no port.  Ports without a channel of their own
 * share it.  Besides, the kernel is told that it is the socket of every CPU
 * while upcalls are dispatched by port, and that of every port while they are
 * dispatched by CPU, for the moments in which another process has changed the
 * mode. */

#include <config.h>
#include "dpif-netlink/datapath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "odp-netlink.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-numa.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_dispatch);

/* The most notifications of the datapath group that one turn of the main loop
 * takes. */
#define KDP_MCAST_MAX 64

/* Milliseconds before channels that are no longer used are looked at, and
 * between two looks.  Some hundred times the kernel's usual grace period. */
#define KDP_LINGER_MS 1000
#define KDP_LINGER_AGAIN_MS 100

static const char *const dispatch_names[] = {
    [KDP_PER_PORT] = "per-port",
    [KDP_PER_CPU] = "per-cpu",
};

const char *
kdp_dispatch_name(enum kdp_dispatch dispatch)
{
    return dispatch_names[dispatch];
}

bool
kdp_dispatch_from_name(const char *name, enum kdp_dispatch *dispatch)
{
    for (size_t i = 0; i < ARRAY_SIZE(dispatch_names); i++) {
        if (!strcmp(name, dispatch_names[i])) {
            *dispatch = i;
            return true;
        }
    }
    return false;
}

uint32_t
kdp_dispatch_features(const struct kdp_datapath *dp)
{
    return (dp->dispatch == KDP_PER_CPU ? OVS_DP_F_DISPATCH_UPCALL_PER_CPU
            : OVS_DP_F_VPORT_PIDS);
}

/* Adds the channel 'port_no', which is no port's, unless it is there. */
int
kdp_dispatch_add_channel(struct kdp_datapath *dp, uint32_t port_no)
{
    struct upcall_channel *channel;
    char *name;
    int error;

    if (upcall_table_get_pid(dp->upcalls, port_no)) {
        return 0;
    }
    error = upcall_channel_create(&channel);
    if (error) {
        return error;
    }
    name = (port_no == UPCALL_PORT_NONE
            ? xstrdup("(shared)")
            : xasprintf("(handler %"PRIu32")",
                        port_no - UPCALL_PORT_CPU_BASE));
    error = upcall_table_add(dp->upcalls, port_no, name, channel);
    if (error) {
        upcall_channel_unref(channel);
    }
    free(name);
    return error;
}

/* Number of CPUs that the machine can have. */
static size_t
count_possible_cpus(void)
{
    size_t n_cpus = MAX(1, sysconf(_SC_NPROCESSORS_CONF));
    int largest = ovs_numa_get_largest_core_id();

    return largest == OVS_NUMA_UNSPEC ? n_cpus : MAX(n_cpus, largest + 1);
}

/* Tells the kernel the sockets of the CPUs, which it takes only together with
 * the feature: from then on it dispatches by CPU. */
static int
kdp_dispatch_set_cpu_pids(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t n_handlers = upcall_table_n_handlers(dp->upcalls);
    size_t n_cpus = count_possible_cpus();
    uint32_t *pids = xmalloc(n_cpus * sizeof *pids);
    int error;

    for (size_t i = 0; i < n_cpus; i++) {
        uint32_t port_no = (dp->dispatch == KDP_PER_CPU
                            ? UPCALL_PORT_CPU(i % MAX(n_handlers, 1))
                            : UPCALL_PORT_NONE);

        pids[i] = upcall_table_get_pid(dp->upcalls, port_no);
    }
    error = ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                      dp->user_features
                                      | OVS_DP_F_DISPATCH_UPCALL_PER_CPU,
                                      pids, n_cpus, NULL);
    free(pids);
    return error;
}

/* Makes the kernel dispatch by 'dp->dispatch'. */
static int
kdp_dispatch_set(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    int error;

    if (dp->dispatch == KDP_PER_CPU) {
        return kdp_dispatch_set_cpu_pids(dp);
    }
    if (dp->per_cpu_known) {
        error = kdp_dispatch_set_cpu_pids(dp);
        if (error) {
            VLOG_WARN("%s: setting the sockets of CPUs failed (%s); upcalls "
                      "may be lost while another process has the datapath "
                      "open", dp->name, ovs_strerror(error));
        }
    }
    error = ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                      dp->user_features
                                      | OVS_DP_F_VPORT_PIDS, NULL, 0, NULL);
    if (error) {
        VLOG_ERR("%s: setting the datapath to dispatch upcalls by port failed "
                 "(%s)", dp->name, ovs_strerror(error));
    }
    return error;
}

/* Adds the channel of each handler's CPUs. */
static int
kdp_dispatch_add_cpu_channels(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t n = MAX(1, upcall_table_n_handlers(dp->upcalls));

    upcall_fd_limit_ensure(dp->name, upcall_table_n_channels(dp->upcalls) + n,
                           n);
    for (uint32_t i = 0; i < n; i++) {
        int error = kdp_dispatch_add_channel(dp, UPCALL_PORT_CPU(i));
        if (error) {
            return error;
        }
    }
    return 0;
}

void
kdp_dispatch_linger(struct kdp_datapath *dp)
{
    dp->linger = true;
    dp->linger_at = time_msec() + KDP_LINGER_MS;
}

static int
kdp_dispatch_to_port(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    int error;

    /* Ports that get no channel are reported, and tried again. */
    dp->dispatch = KDP_PER_PORT;
    kdp_datapath_refresh__(dp);
    error = kdp_dispatch_set(dp);
    if (!error) {
        VLOG_INFO("%s: upcalls are dispatched by port, one socket for each",
                  dp->name);
    }
    kdp_dispatch_linger(dp);
    return error;
}

static int
kdp_dispatch_to_cpu(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    enum kdp_dispatch old = dp->dispatch;
    int error;

    error = dp->per_cpu_known ? 0 : EOPNOTSUPP;
    if (!error) {
        error = kdp_dispatch_add_cpu_channels(dp);
    }
    if (!error) {
        dp->dispatch = KDP_PER_CPU;
        error = kdp_dispatch_set(dp);
    }
    kdp_dispatch_linger(dp);
    if (error) {
        dp->dispatch = old;
        VLOG_WARN("%s: the kernel does not dispatch upcalls by CPU (%s); "
                  "going on by port", dp->name, ovs_strerror(error));
        return error;
    }
    VLOG_INFO("%s: upcalls are dispatched by CPU, one socket for each of %"
              PRIu32" handlers", dp->name,
              upcall_table_n_handlers(dp->upcalls));
    kdp_datapath_refresh__(dp);
    return 0;
}

int
kdp_dispatch_start(struct kdp_datapath *dp)
{
    if (dp->wanted_dispatch == KDP_PER_CPU && !kdp_dispatch_to_cpu(dp)) {
        return 0;
    }
    return kdp_dispatch_to_port(dp);
}

void
kdp_dispatch_change(struct kdp_datapath *dp)
{
    if (dp->recv && dp->dispatch != dp->wanted_dispatch) {
        if (dp->wanted_dispatch == KDP_PER_CPU) {
            kdp_dispatch_to_cpu(dp);
        } else {
            kdp_dispatch_to_port(dp);
        }
    }
}

void
kdp_dispatch_handlers_changed(struct kdp_datapath *dp)
{
    int error;

    if (!dp->recv || dp->dispatch != KDP_PER_CPU) {
        return;
    }
    error = kdp_dispatch_add_cpu_channels(dp);
    if (!error) {
        error = kdp_dispatch_set(dp);
    }
    if (error) {
        VLOG_ERR("%s: giving each handler a socket failed (%s); CPUs keep the "
                 "sockets that they have", dp->name, ovs_strerror(error));
    } else {
        kdp_dispatch_linger(dp);
    }
}

/* True if the kernel may still be told of channel 'port_no'. */
static bool
kdp_dispatch_uses(const struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex)
{
    if (port_no == UPCALL_PORT_NONE) {
        return true;
    } else if (dp->dispatch == KDP_PER_PORT) {
        return (upcall_port_is_real(port_no)
                && !upcall_table_is_shared(dp->upcalls, port_no));
    } else {
        return (upcall_port_is_cpu(port_no)
                && port_no - UPCALL_PORT_CPU_BASE
                   < MAX(1, upcall_table_n_handlers(dp->upcalls)));
    }
}

/* Removes the channels that are no longer used and empty. */
static void
kdp_dispatch_linger_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_table_info info;
    bool linger = false;

    upcall_table_get_info(dp->upcalls, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        const struct upcall_port_info *port = &info.ports[i];

        if (!port->has_channel || kdp_dispatch_uses(dp, port->port_no)) {
            continue;
        } else if (port->stats.backlog) {
            linger = true;
            continue;
        }
        upcall_table_del(dp->upcalls, port->port_no);
    }
    upcall_table_info_uninit(&info);
    dp->linger = linger;
    dp->linger_at = time_msec() + KDP_LINGER_AGAIN_MS;
}

/* What other processes do. */

struct features_check {
    int ifindex;
    uint32_t user_features;     /* Last ones announced. */
    bool seen;
};

static int
features_check_cb(const struct nlmsghdr *nlh, void *check_)
{
    struct features_check *check = check_;
    struct ovs_datapath kernel;

    if (!ovs_datapath_parse(nlh, &kernel)
        && kernel.ifindex == check->ifindex) {
        check->user_features = kernel.user_features;
        check->seen = true;
    }
    return 0;
}

/* Restores the dispatch mode if another process changed it. */
static void
kdp_dispatch_check_features(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct features_check check = { .ifindex = dp->ifindex };
    uint32_t wanted = dp->user_features | kdp_dispatch_features(dp);
    int error = 0;

    for (int i = 0; i < KDP_MCAST_MAX && error != EAGAIN; i++) {
        error = nl_mcast_recv(dp->mcast, features_check_cb, &check);
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

    dp->n_restored++;
    VLOG_INFO_RL(&rl, "%s: another process changed the user features of the "
                 "datapath to 0x%"PRIx32"; setting them back to 0x%"PRIx32,
                 dp->name, check.user_features, wanted);
    kdp_dispatch_set(dp);
}

void
kdp_dispatch_run(struct kdp_datapath *dp)
{
    kdp_dispatch_check_features(dp);
    kdp_share_run(dp);
    if (dp->linger && time_msec() >= dp->linger_at) {
        kdp_dispatch_linger_run(dp);
    }
}

void
kdp_dispatch_wait(struct kdp_datapath *dp)
{
    poll_fd_wait(nl_mcast_fd(dp->mcast), POLLIN);
    kdp_share_wait(dp);
    if (dp->linger) {
        poll_timer_wait_until(dp->linger_at);
    }
}
