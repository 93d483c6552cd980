/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-clean.h"

#include <stdlib.h>

#include "link/link-qdisc.h"
#include "netdev-linux/links.h"
#include "netdev-provider.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "ovs/compat-offload.h"
#include "tc/tc-adopt.h"
#include "tc/tc-chains.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_clean);

struct kdp_tc_cleaner {
    pthread_t thread;
    struct netdev **netdevs;    /* Each with a reference until the thread is
                                 * done with it. */
    size_t n, allocated;
    atomic_bool stop;           /* The thread is to end soon. */
};

/* May device 'ifindex' have a place for rules?  The link tables do not know
 * while there is offload: see kdp_links_follow_qdiscs(). */
static bool
may_have_rules(int ifindex)
{
    const struct link_qdiscs *qdiscs = kdp_links_qdiscs();

    return (!qdiscs || !link_qdiscs_are_known(qdiscs)
            || link_qdiscs_has_ingress(qdiscs, ifindex));
}

static bool
clean_chains(struct netdev *netdev, odp_port_t port_no OVS_UNUSED, void *n_)
{
    int ifindex = netdev_get_ifindex(netdev);
    size_t *n = n_;

    if (ifindex >= 0 && may_have_rules(ifindex)) {
        *n += kdp_tc_delete_chains_of(netdev, ifindex);
    }
    return false;
}

size_t
kdp_tc_clean_chains(const char *dpif_type)
{
    size_t n = 0;

    ovs_compat_ports_traverse(dpif_type, clean_chains, &n);
    return n;
}

static bool
add_netdev(struct netdev *netdev, odp_port_t port_no OVS_UNUSED,
           void *cleaner_)
{
    struct kdp_tc_cleaner *cleaner = cleaner_;
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
    struct kdp_tc_cleaner *cleaner = cleaner_;

    for (size_t i = 0; i < cleaner->n; i++) {
        struct netdev *netdev = cleaner->netdevs[i];
        size_t n_deleted = kdp_tc_delete_left(netdev, &cleaner->stop);

        if (n_deleted) {
            VLOG_INFO("%s: deleted %"PRIuSIZE" rules that a previous run left "
                      "in tc", netdev_get_name(netdev), n_deleted);
        }
        netdev_close(netdev);
    }
    return NULL;
}

struct kdp_tc_cleaner *
kdp_tc_cleaner_start(const char *dpif_type)
{
    struct kdp_tc_cleaner *cleaner = xzalloc(sizeof *cleaner);

    if (kdp_links_qdiscs()) {
        ovs_compat_ports_traverse(dpif_type, add_netdev, cleaner);
    }
    if (!cleaner->n) {
        free(cleaner->netdevs);
        free(cleaner);
        return NULL;
    }
    atomic_init(&cleaner->stop, false);
    cleaner->thread = ovs_thread_create("rule_clean", clean, cleaner);
    return cleaner;
}

void
kdp_tc_cleaner_join(struct kdp_tc_cleaner *cleaner, bool finish)
{
    if (cleaner) {
        atomic_store_relaxed(&cleaner->stop, !finish);
        xpthread_join(cleaner->thread, NULL);
        free(cleaner->netdevs);
        free(cleaner);
    }
}
