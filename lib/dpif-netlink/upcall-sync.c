/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/upcall-sync.h"

#include <errno.h>
#include <stdlib.h>

#include "dpif-netlink/socket-budget.h"
#include "dpif-netlink/upcall-dest.h"
#include "dpif-netlink/upcall-queues.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "upcall/upcall-fd-limit.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_upcall_sync);

/* Milliseconds before a failed comparison is repeated.  The cause (no file
 * descriptors, no memory) usually takes a person to remove it. */
#define RETRY_INTERVAL 1000

/* Under the mutex of the datapath. */
struct upcall_sync {
    bool wanted;                /* Compare all ports. */
    long long int at;           /* Not before this time. */
};

void
upcall_sync_create(struct kdp_datapath *dp)
{
    dp->sync = xzalloc(sizeof *dp->sync);
}

void
upcall_sync_destroy(struct kdp_datapath *dp)
{
    free(dp->sync);
}

void
upcall_sync_request(struct kdp_datapath *dp)
{
    dp->sync->wanted = true;
    dp->sync->at = LLONG_MIN;
}

void
upcall_sync_cancel(struct kdp_datapath *dp)
{
    dp->sync->wanted = false;
}

/* Requests another comparison of all ports after a while. */
static void
retry(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    dp->sync->wanted = true;
    dp->sync->at = time_msec() + RETRY_INTERVAL;
}

static int
compare_vports(const void *a_, const void *b_)
{
    const struct ovs_vport *a = a_;
    const struct ovs_vport *b = b_;

    return a->port_no < b->port_no ? -1 : a->port_no > b->port_no;
}

/* Removes the destinations of ports that are not among the 'n' in 'vports'. */
static void
sweep(struct kdp_datapath *dp, const struct ovs_vport *vports, size_t n)
    OVS_REQUIRES(dp->mutex)
{
    struct upcall_table_info info;

    upcall_table_get_info(dp->upcalls, &info);
    for (size_t i = 0; i < info.n_ports; i++) {
        struct ovs_vport key = { .port_no = info.ports[i].port_no };

        if (upcall_port_is_real(key.port_no)
            && (!n || !bsearch(&key, vports, n, sizeof *vports,
                               compare_vports))) {
            upcall_queues_port_gone(dp, key.port_no);
        }
    }
    upcall_table_info_uninit(&info);
}

/* Gives 'vport' a destination. */
static int
sync_vport(struct kdp_datapath *dp, const struct ovs_vport *vport)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    unsigned int n = (upcall_dest_of(dp, vport->port_no) == UPCALL_DEST_OWN
                      ? upcall_dest_n_queues(dp, vport->port_no)
                      : upcall_queues_admit(dp, vport->name, vport->type));
    int error = upcall_dest_sync(dp, vport, n);

    if (upcall_dest_is_known(dp, vport->port_no)) {
        upcall_queues_port_added(dp, vport->port_no, vport->name,
                                 vport->type);
    }
    if (error) {
        VLOG_ERR_RL(&rl, "%s: port %s does not have the socket for its "
                    "upcalls that it is to have (%s); trying again in %d ms",
                    dp->name, vport->name, ovs_strerror(error),
                    RETRY_INTERVAL);
        retry(dp);
    }
    return error;
}

int
upcall_sync_all(struct kdp_datapath *dp)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct ovs_vport *vports;
    size_t n;
    int error;

    dp->sync->wanted = false;
    error = vport_table_list(dp->vports, &vports, &n);
    if (error && error != ENODEV && error != ENOENT) {
        VLOG_WARN_RL(&rl, "%s: listing the vports failed (%s); trying again "
                     "in %d ms", dp->name, ovs_strerror(error),
                     RETRY_INTERVAL);
        retry(dp);
        return error;
    }

    error = 0;
    upcall_fd_limit_ensure(dp->name, MIN(n, socket_budget_max_own(dp)) + 2,
                           upcall_table_n_handlers(dp->upcalls));
    sweep(dp, vports, n);
    for (size_t i = 0; i < n; i++) {
        int retval = sync_vport(dp, &vports[i]);

        error = retval ? retval : error;
    }
    free(vports);
    return error;
}

/* Removes the destinations of ports that have gone since the last call, unless
 * their numbers belong to other ports by now.  Returns true if there were
 * any. */
static bool
sync_gone(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex)
{
    bool gone = false;
    uint32_t port_no;

    while (vport_table_next_gone(dp->vports, &port_no)) {
        struct ovs_vport vport;
        int error;

        gone = true;
        if (port_no == VPORT_ALL) {
            upcall_sync_request(dp);
            continue;
        }
        error = vport_table_get_by_number(dp->vports, port_no, &vport);
        if (!error) {
            sync_vport(dp, &vport);
        } else if (error == ENODEV) {
            if (upcall_dest_is_known(dp, port_no)) {
                /* Ports that this process deletes are forgotten at once. */
                if_notifier_kdp_outdated();
            }
            upcall_queues_port_gone(dp, port_no);
        } else {
            retry(dp);
        }
    }
    return gone;
}

bool
upcall_sync_run(struct kdp_datapath *dp)
{
    bool gone = sync_gone(dp);

    if (dp->sync->wanted && time_msec() >= dp->sync->at) {
        upcall_sync_all(dp);
    }
    return gone;
}

void
upcall_sync_wait(struct kdp_datapath *dp)
{
    if (dp->sync->wanted) {
        poll_timer_wait_until(dp->sync->at);
    }
}
