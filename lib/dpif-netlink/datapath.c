/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/datapath.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_datapath);

/* Milliseconds before a comparison of channels and vports that failed is tried
 * again.  What made it fail (no file descriptors, no memory) goes away by the
 * doing of people, not at once. */
#define KDP_REFRESH_RETRY_MS 1000

/* All datapaths that are open in this process. */
static struct ovs_mutex datapaths_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list datapaths OVS_GUARDED_BY(datapaths_mutex)
    = OVS_LIST_INITIALIZER(&datapaths);

static int kdp_datapath_recv_set__(struct kdp_datapath *dp, bool enable)
    OVS_REQUIRES(dp->mutex);

/* Opening and closing. */

/* Opens the inner dpif, which creates the datapath in the kernel if 'create'
 * is true, and sets up what goes with it. */
static int
kdp_datapath_create(const char *name, bool create, struct kdp_datapath **dpp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct kdp_datapath *dp = xzalloc(sizeof *dp);
    struct ovs_datapath kernel;
    int error;

    *dpp = NULL;
    error = dpif_netlink_class.open(&dpif_netlink_class, name, create,
                                    &dp->inner);
    if (error) {
        goto error_free;
    }
    error = ovs_genl_open(&dp->genl);
    if (error) {
        goto error_inner;
    }
    error = ovs_datapath_get(&dp->genl, name, &kernel);
    if (error) {
        goto error_genl;
    }

    dp->refcount = 1;
    dp->name = xasprintf("system@%s", name);
    dp->ifindex = kernel.ifindex;
    dp->upcalls = upcall_table_create(dp->name, dp->ifindex,
                                      dp->genl.packet.id);
    dp->vports = vport_table_create(dp->name, dp->ifindex, &dp->genl.vport);
    atomic_init(&dp->offload, NULL);
    dp->offload_config.engine
        = (struct offload_config) OFFLOAD_CONFIG_DEFAULT;
    ovs_mutex_init(&dp->mutex);

    /* The stock class asks for dispatch by CPU and gets it where the kernel
     * has it. */
    dp->per_cpu_known = (kernel.user_features
                         & OVS_DP_F_DISPATCH_UPCALL_PER_CPU);
    dp->user_features = kernel.user_features & ~KDP_DISPATCH_FEATURES;
    dp->dispatch = dp->wanted_dispatch = KDP_PER_PORT;
    *dpp = dp;
    return 0;

error_genl:
    ovs_genl_close(&dp->genl);
error_inner:
    dpif_uninit(dp->inner, true);
error_free:
    free(dp);
    return error;
}

static void
kdp_datapath_destroy(struct kdp_datapath *dp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    kdp_offload_destroy(dp);
    kdp_offload_config_uninit(&dp->offload_config);
    ovs_mutex_lock(&dp->mutex);
    kdp_datapath_recv_set__(dp, false);
    ovs_genl_close(&dp->genl);
    ovs_mutex_unlock(&dp->mutex);
    upcall_table_destroy(dp->upcalls);
    vport_table_destroy(dp->vports);
    ovs_mutex_destroy(&dp->mutex);
    dpif_uninit(dp->inner, true);
    free(dp->share_last);
    free(dp->config_max_sockets);
    free(dp->config_dispatch);
    free(dp->config_engine);
    free(dp->name);
    free(dp);
}

/* Finds an open datapath that the kernel still has under that name. */
static struct kdp_datapath *
kdp_datapath_find(const char *name)
    OVS_REQUIRES(datapaths_mutex)
{
    struct kdp_datapath *dp;

    LIST_FOR_EACH (dp, list_node, &datapaths) {
        struct ovs_datapath kernel;
        bool same;

        if (strcmp(dp->inner->base_name, name)) {
            continue;
        }
        ovs_mutex_lock(&dp->mutex);
        same = (!ovs_datapath_get(&dp->genl, name, &kernel)
                && kernel.ifindex == dp->ifindex);
        ovs_mutex_unlock(&dp->mutex);
        if (same) {
            return dp;
        }
    }
    return NULL;
}

int
kdp_datapath_open(const char *name, bool create, struct kdp_datapath **dpp)
{
    struct kdp_datapath *dp = NULL;
    int error = 0;

    ovs_mutex_lock(&datapaths_mutex);
    if (!create) {
        dp = kdp_datapath_find(name);
    }
    if (dp) {
        dp->refcount++;
    } else {
        error = kdp_datapath_create(name, create, &dp);
        if (!error) {
            ovs_list_push_back(&datapaths, &dp->list_node);
        }
    }
    ovs_mutex_unlock(&datapaths_mutex);
    if (dp) {
        /* Who opens it may know of a change that we do not. */
        vport_table_expire(dp->vports);
    }
    *dpp = dp;
    return error;
}

void
kdp_datapath_close(struct kdp_datapath *dp)
{
    bool last;

    ovs_mutex_lock(&datapaths_mutex);
    last = !--dp->refcount;
    if (last) {
        ovs_list_remove(&dp->list_node);
    }
    ovs_mutex_unlock(&datapaths_mutex);
    if (last) {
        kdp_datapath_destroy(dp);
    }
}

void
kdp_datapath_for_each(void (*cb)(struct kdp_datapath *, void *aux), void *aux)
{
    struct kdp_datapath *dp;

    ovs_mutex_lock(&datapaths_mutex);
    LIST_FOR_EACH (dp, list_node, &datapaths) {
        cb(dp, aux);
    }
    ovs_mutex_unlock(&datapaths_mutex);
}

/* User features. */

int
kdp_datapath_set_features(struct kdp_datapath *dp, uint32_t features)
{
    struct ovs_datapath kernel;
    int error;

    ovs_mutex_lock(&dp->mutex);
    error = ovs_datapath_set_features(&dp->genl, dp->ifindex,
                                      dp->user_features | features
                                      | kdp_dispatch_features(dp), NULL, 0,
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

/* Channels of vports. */

void
kdp_datapath_forget_port(struct kdp_datapath *dp, uint32_t port_no)
{
    upcall_table_unshare(dp->upcalls, port_no);
    upcall_table_del(dp->upcalls, port_no);
}

/* Gives port 'port_no', called 'name', a channel if it has none. */
static int
kdp_datapath_add_channel(struct kdp_datapath *dp, uint32_t port_no,
                         const char *name)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_channel *channel;
    int error;

    if (upcall_table_has_channel(dp->upcalls, port_no)) {
        return 0;
    }
    error = upcall_channel_create(&channel);
    if (!error) {
        error = upcall_table_add(dp->upcalls, port_no, name, channel);
        if (error) {
            upcall_channel_unref(channel);
        }
    }
    return error;
}

/* The outcome of telling the kernel where the upcalls of port 'port_no',
 * called 'name', go to. */
static int
kdp_datapath_tell_pid(struct kdp_datapath *dp, uint32_t port_no,
                      const char *name)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    int error = ovs_vport_set_pid(&dp->genl, dp->ifindex, port_no,
                                  upcall_table_get_pid(dp->upcalls, port_no));

    if (error && error != ENODEV) {
        VLOG_WARN_RL(&rl, "%s: the kernel does not take another socket for "
                     "the upcalls of port %s (%s); they go to the one that "
                     "it knows", dp->name, name, ovs_strerror(error));
    }
    return error;
}

int
kdp_datapath_share_port(struct kdp_datapath *dp, uint32_t port_no,
                        const char *name)
{
    int error;

    upcall_table_share(dp->upcalls, port_no, name);
    error = kdp_datapath_tell_pid(dp, port_no, name);
    if (!upcall_table_has_channel(dp->upcalls, port_no)) {
        return error;
    }
    if (error && error != ENODEV) {
        /* The kernel goes on sending to the channel. */
        upcall_table_unshare(dp->upcalls, port_no);
    } else {
        kdp_dispatch_linger(dp);
    }
    return error;
}

int
kdp_datapath_own_port(struct kdp_datapath *dp, uint32_t port_no,
                      const char *name)
{
    int error = kdp_datapath_add_channel(dp, port_no, name);

    if (error) {
        return error;
    }
    upcall_table_unshare(dp->upcalls, port_no);
    error = kdp_datapath_tell_pid(dp, port_no, name);
    if (error && error != ENODEV) {
        /* The kernel goes on sending to the channel that is shared. */
        upcall_table_share(dp->upcalls, port_no, name);
        kdp_dispatch_linger(dp);
    }
    return error;
}

/* Gives vport 'vport' a channel, or has it share one, and tells the kernel. */
static int
kdp_datapath_refresh_vport(struct kdp_datapath *dp,
                           const struct ovs_vport *vport)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t port_no = vport->port_no;
    bool shared = upcall_table_is_shared(dp->upcalls, port_no);
    bool own = (dp->dispatch == KDP_PER_PORT
                && ((!shared && upcall_table_has_channel(dp->upcalls, port_no))
                    || kdp_share_has_room(dp)));
    uint32_t pid;
    int error;

    if (own) {
        error = kdp_datapath_add_channel(dp, port_no, vport->name);
        if (error) {
            return error;
        }
        upcall_table_unshare(dp->upcalls, port_no);
    } else {
        upcall_table_share(dp->upcalls, port_no, vport->name);
        if (dp->dispatch == KDP_PER_PORT) {
            kdp_share_note(dp);
        }
    }
    pid = upcall_table_get_pid(dp->upcalls, port_no);
    if (vport->n_pids == 1 && vport->pid == pid) {
        return 0;
    }
    error = ovs_vport_set_pid(&dp->genl, dp->ifindex, port_no, pid);
    if (error) {
        kdp_datapath_forget_port(dp, port_no);
    }
    return error == ENODEV ? 0 : error; /* The port went meanwhile. */
}

static int
compare_vports(const void *a_, const void *b_)
{
    const struct ovs_vport *a = a_;
    const struct ovs_vport *b = b_;

    return a->port_no < b->port_no ? -1 : a->port_no > b->port_no;
}

/* Removes the channels of ports that are not among the 'n' in 'vports'. */
static void
kdp_datapath_sweep(struct kdp_datapath *dp, const struct ovs_vport *vports,
                   size_t n)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_table_info info;

    upcall_table_get_info(dp->upcalls, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        struct ovs_vport key = { .port_no = info.ports[i].port_no };

        if (upcall_port_is_real(key.port_no)
            && (!n || !bsearch(&key, vports, n, sizeof *vports,
                               compare_vports))) {
            kdp_datapath_forget_port(dp, key.port_no);
        }
    }
    upcall_table_info_uninit(&info);
}

/* Has channels and vports compared again after a while. */
static void
kdp_datapath_retry(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    dp->refresh = true;
    dp->refresh_at = time_msec() + KDP_REFRESH_RETRY_MS;
}

/* Does what kdp_datapath_refresh_vport() does, and logs failure. */
static int
kdp_datapath_try_vport(struct kdp_datapath *dp, const struct ovs_vport *vport)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    int error = kdp_datapath_refresh_vport(dp, vport);

    if (error) {
        VLOG_ERR_RL(&rl, "%s: port %s gets no upcalls: no channel for it "
                    "(%s); trying again in %d ms", dp->name, vport->name,
                    ovs_strerror(error), KDP_REFRESH_RETRY_MS);
        kdp_datapath_retry(dp);
    }
    return error;
}

int
kdp_datapath_refresh__(struct kdp_datapath *dp)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct ovs_vport *vports;
    size_t n;
    int error;

    dp->refresh = false;
    error = vport_table_list(dp->vports, &vports, &n);
    if (error && error != ENODEV && error != ENOENT) {
        VLOG_WARN_RL(&rl, "%s: listing the vports failed (%s); trying again "
                     "in %d ms", dp->name, ovs_strerror(error),
                     KDP_REFRESH_RETRY_MS);
        kdp_datapath_retry(dp);
        return error;
    }

    error = 0;
    upcall_fd_limit_ensure(dp->name, MIN(n, kdp_share_max_own(dp)) + 1,
                           upcall_table_n_handlers(dp->upcalls));
    kdp_datapath_sweep(dp, vports, n);
    for (size_t i = 0; i < n; i++) {
        int retval = kdp_datapath_try_vport(dp, &vports[i]);

        error = retval ? retval : error;
    }
    free(vports);
    return error;
}

/* Looks at the ports that went since the last time: their channels go, unless
 * their numbers belong to others by now.  (What that means for offload is
 * found out later, without the lock.) */
static void
kdp_datapath_ports_gone(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    uint32_t port_no;

    while (vport_table_next_gone(dp->vports, &port_no)) {
        struct ovs_vport vport;
        int error;

        kdp_offload_ports_changed(dp);
        if (port_no == VPORT_ALL) {
            dp->refresh = true;
            dp->refresh_at = LLONG_MIN;
            continue;
        }
        error = vport_table_get_by_number(dp->vports, port_no, &vport);
        if (!error) {
            kdp_datapath_try_vport(dp, &vport);
        } else if (error == ENODEV) {
            kdp_datapath_forget_port(dp, port_no);
        } else {
            kdp_datapath_retry(dp);
        }
    }
}

/* Turning upcalls on and off. */

static int
kdp_datapath_recv_enable(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    int error = kdp_dispatch_add_channel(dp, UPCALL_PORT_NONE);

    if (!error) {
        error = nl_mcast_open(NETLINK_GENERIC, dp->genl.datapath.mcgroup,
                              &dp->mcast);
    }
    if (!error && !upcall_table_n_handlers(dp->upcalls)) {
        error = upcall_table_set_handlers(dp->upcalls, 1);
    }
    if (error) {
        return error;
    }
    dp->recv = true;
    return kdp_dispatch_start(dp);
}

static void
kdp_datapath_recv_disable(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    struct ovs_vport *vports;
    size_t n;

    dp->recv = dp->refresh = dp->linger = false;
    vport_table_expire(dp->vports);
    vport_table_list(dp->vports, &vports, &n);
    for (size_t i = 0; i < n; i++) {
        if (vports[i].pid) {
            ovs_vport_set_pid(&dp->genl, dp->ifindex, vports[i].port_no, 0);
        }
    }
    free(vports);

    upcall_table_del_all(dp->upcalls);
    upcall_table_set_handlers(dp->upcalls, 0);
    nl_mcast_close(dp->mcast);
    dp->mcast = NULL;
}

static int
kdp_datapath_recv_set__(struct kdp_datapath *dp, bool enable)
{
    int error = 0;

    if (enable && !dp->recv) {
        error = kdp_datapath_recv_enable(dp);
        if (error) {
            VLOG_ERR("%s: turning upcalls on failed (%s)", dp->name,
                     ovs_strerror(error));
            kdp_datapath_recv_disable(dp);
        }
    } else if (!enable && dp->recv) {
        kdp_datapath_recv_disable(dp);
    }
    return error;
}

int
kdp_datapath_recv_set(struct kdp_datapath *dp, bool enable)
{
    int error;

    ovs_mutex_lock(&dp->mutex);
    error = kdp_datapath_recv_set__(dp, enable);
    ovs_mutex_unlock(&dp->mutex);
    return error;
}

int
kdp_datapath_handlers_set(struct kdp_datapath *dp, uint32_t n_handlers)
{
    int error = 0;

    ovs_mutex_lock(&dp->mutex);
    if (dp->recv) {
        upcall_fd_limit_ensure(dp->name, upcall_table_n_channels(dp->upcalls),
                               n_handlers);
        error = upcall_table_set_handlers(dp->upcalls, n_handlers);
        if (!error) {
            kdp_dispatch_handlers_changed(dp);
        }
    }
    ovs_mutex_unlock(&dp->mutex);
    return error;
}

/* The main loop. */

void
kdp_datapath_run(struct kdp_datapath *dp)
{
    vport_table_expire(dp->vports);
    ovs_mutex_lock(&dp->mutex);
    if (dp->recv) {
        kdp_dispatch_run(dp);
        kdp_datapath_ports_gone(dp);
        if (dp->refresh && time_msec() >= dp->refresh_at) {
            kdp_datapath_refresh__(dp);
        }
    }
    ovs_mutex_unlock(&dp->mutex);
}

void
kdp_datapath_wait(struct kdp_datapath *dp)
{
    ovs_mutex_lock(&dp->mutex);
    if (dp->recv) {
        kdp_dispatch_wait(dp);
        if (dp->refresh) {
            poll_timer_wait_until(dp->refresh_at);
        }
    }
    ovs_mutex_unlock(&dp->mutex);
}
