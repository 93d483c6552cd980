/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that a previous run left, for a daemon that starts without offload.
 *
 * They would go on to decide about packets, by flows that nobody has any more.
 * So they are deleted, once, in a thread: the main loop does not wait for the
 * RTNL lock.  Only devices that have a place for rules are looked at, of which
 * the link tables know, and only rules with a ufid and a handle of ours are
 * taken: those of a stock daemon stay, as they do if that is started again. */

#include <config.h>
#include "kdp-offload-private.h"

#include <stdlib.h>

#include "dpif-netlink-kdp-private.h"
#include "kdp-links.h"
#include "link/link-qdisc.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_offload_clean);

struct kdp_offload_cleaner {
    pthread_t thread;
    struct netdev **netdevs;    /* With references. */
    size_t n, allocated;
};

static bool
add_netdev(struct netdev *netdev, odp_port_t port_no OVS_UNUSED,
           void *cleaner_)
{
    struct kdp_offload_cleaner *cleaner = cleaner_;
    int ifindex = netdev_get_ifindex(netdev);

    if (ifindex >= 0
        && link_qdiscs_has_ingress(kdp_links_qdiscs(), ifindex)) {
        if (cleaner->n == cleaner->allocated) {
            cleaner->netdevs = x2nrealloc(cleaner->netdevs,
                                          &cleaner->allocated,
                                          sizeof *cleaner->netdevs);
        }
        cleaner->netdevs[cleaner->n++] = netdev_ref(netdev);
    }
    return false;
}

static void *
clean(void *cleaner_)
{
    struct kdp_offload_cleaner *cleaner = cleaner_;

    for (size_t i = 0; i < cleaner->n; i++) {
        struct netdev *netdev = cleaner->netdevs[i];
        size_t n_deleted = kdp_tc_delete_left(netdev);

        if (n_deleted) {
            VLOG_INFO("%s: deleted %"PRIuSIZE" rules that a previous run left "
                      "in tc", netdev_get_name(netdev), n_deleted);
        }
        netdev_close(netdev);
    }
    return NULL;
}

/* Starts to delete the rules that a previous run left on the ports of type
 * 'dpif_type'.  Returns NULL if there is nothing to look at. */
struct kdp_offload_cleaner *
kdp_offload_cleaner_start(const char *dpif_type)
{
    struct kdp_offload_cleaner *cleaner = xzalloc(sizeof *cleaner);

    if (kdp_links_qdiscs()) {
        netdev_ports_traverse(dpif_type, add_netdev, cleaner);
    }
    if (!cleaner->n) {
        free(cleaner->netdevs);
        free(cleaner);
        return NULL;
    }
    cleaner->thread = ovs_thread_create("offload_clean", clean, cleaner);
    return cleaner;
}

/* Waits until 'cleaner', which may be NULL, has finished, and frees it. */
void
kdp_offload_cleaner_join(struct kdp_offload_cleaner *cleaner)
{
    if (cleaner) {
        xpthread_join(cleaner->thread, NULL);
        free(cleaner->netdevs);
        free(cleaner);
    }
}
