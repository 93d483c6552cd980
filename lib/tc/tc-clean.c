/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that a previous run left, for a daemon that starts without offload.
 *
 * They would go on to decide about packets, by flows that nobody has any more.
 * So they are deleted, once, in a thread: the main loop does not wait for the
 * RTNL lock.  Only devices that have a place for rules are looked at, of which
 * the link tables know, and only rules with a ufid and a handle of ours are
 * taken: those of a stock daemon stay, as they do if that is started again.
 * The thread stops early when offload is turned on, which takes over what is
 * left, or the datapath is closed, after which the next start goes on; not
 * when the datapath is deleted.
 *
 * Meanwhile the main thread may take a device's queueing discipline away, with
 * all rules, as Open vSwitch does when it sets up policing.  The kernel
 * refuses that (EBUSY) while a request about a rule of it is under way, so
 * they take turns. */

#include <config.h>
#include "tc/tc-clean.h"

#include <stdlib.h>

#include "dpif-netlink/datapath.h"
#include "netdev-linux/links.h"
#include "link/link-qdisc.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "tc/tc-adopt.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_offload_clean);

struct device {
    struct netdev *netdev;      /* With a reference until the thread is done
                                 * with it. */
    struct kdp_gate gate;       /* Entered for a request about a rule, and
                                 * while its discipline may go. */
};

struct kdp_offload_cleaner {
    pthread_t thread;
    struct device *devices;     /* Constant while the thread runs. */
    size_t n, allocated;
    atomic_bool stop;           /* The thread is to end soon. */
};

/* Gates. */

void
kdp_gate_init(struct kdp_gate *gate)
{
    ovs_mutex_init(&gate->queue);
    ovs_mutex_init(&gate->mutex);
}

void
kdp_gate_destroy(struct kdp_gate *gate)
{
    ovs_mutex_destroy(&gate->mutex);
    ovs_mutex_destroy(&gate->queue);
}

void
kdp_gate_enter(struct kdp_gate *gate)
{
    /* Who comes while somebody waits has to wait behind: a mutex by itself
     * would go to who unlocks it and locks it again at once. */
    ovs_mutex_lock(&gate->queue);
    ovs_mutex_lock(&gate->mutex);
    ovs_mutex_unlock(&gate->queue);
}

void
kdp_gate_leave(struct kdp_gate *gate)
{
    ovs_mutex_unlock(&gate->mutex);
}

/* Cleaning. */

static bool
add_netdev(struct netdev *netdev, odp_port_t port_no OVS_UNUSED,
           void *cleaner_)
{
    struct kdp_offload_cleaner *cleaner = cleaner_;
    int ifindex = netdev_get_ifindex(netdev);

    if (ifindex >= 0
        && link_qdiscs_has_ingress(kdp_links_qdiscs(), ifindex)) {
        if (cleaner->n == cleaner->allocated) {
            cleaner->devices = x2nrealloc(cleaner->devices,
                                          &cleaner->allocated,
                                          sizeof *cleaner->devices);
        }
        cleaner->devices[cleaner->n++].netdev = netdev_ref(netdev);
    }
    return false;
}

static void *
clean(void *cleaner_)
{
    struct kdp_offload_cleaner *cleaner = cleaner_;

    for (size_t i = 0; i < cleaner->n; i++) {
        struct device *device = &cleaner->devices[i];
        size_t n_deleted = kdp_tc_delete_left(device->netdev, &device->gate,
                                              &cleaner->stop);

        if (n_deleted) {
            VLOG_INFO("%s: deleted %"PRIuSIZE" rules that a previous run left "
                      "in tc", netdev_get_name(device->netdev), n_deleted);
        }
        netdev_close(device->netdev);
    }
    return NULL;
}

/* The gate of 'netdev', or NULL.  'netdev' may also be one that has taken the
 * place of one that is closed, whose gate nobody enters any more. */
static struct kdp_gate *
find_gate(const struct kdp_offload_cleaner *cleaner,
          const struct netdev *netdev)
{
    for (size_t i = 0; cleaner && i < cleaner->n; i++) {
        if (cleaner->devices[i].netdev == netdev) {
            return &cleaner->devices[i].gate;
        }
    }
    return NULL;
}

static void
pause_on(struct kdp_datapath *dp, void *netdev)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct kdp_gate *gate = find_gate(dp->offload_config.cleaner, netdev);

    if (gate) {
        kdp_gate_enter(gate);
    }
}

static void
resume_on(struct kdp_datapath *dp, void *netdev)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct kdp_gate *gate = find_gate(dp->offload_config.cleaner, netdev);

    if (gate) {
        kdp_gate_leave(gate);
    }
}

void
kdp_offload_clean_pause(struct netdev *netdev)
{
    kdp_datapath_for_each(pause_on, netdev);
}

void
kdp_offload_clean_resume(struct netdev *netdev)
{
    kdp_datapath_for_each(resume_on, netdev);
}

struct kdp_offload_cleaner *
kdp_offload_cleaner_start(const char *dpif_type)
{
    struct kdp_offload_cleaner *cleaner = xzalloc(sizeof *cleaner);

    if (kdp_links_qdiscs()) {
        netdev_ports_traverse(dpif_type, add_netdev, cleaner);
    }
    if (!cleaner->n) {
        free(cleaner->devices);
        free(cleaner);
        return NULL;
    }
    atomic_init(&cleaner->stop, false);
    for (size_t i = 0; i < cleaner->n; i++) {
        kdp_gate_init(&cleaner->devices[i].gate);
    }
    cleaner->thread = ovs_thread_create("offload_clean", clean, cleaner);
    return cleaner;
}

void
kdp_offload_cleaner_join(struct kdp_offload_cleaner *cleaner, bool finish)
{
    if (cleaner) {
        atomic_store_relaxed(&cleaner->stop, !finish);
        xpthread_join(cleaner->thread, NULL);
        for (size_t i = 0; i < cleaner->n; i++) {
            kdp_gate_destroy(&cleaner->devices[i].gate);
        }
        free(cleaner->devices);
        free(cleaner);
    }
}
