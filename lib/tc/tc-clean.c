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

/* Devices, each with a reference, so that nothing is asked of tc under the lock
 * that ports are gone through with. */
struct netdevs {
    struct netdev **array;
    size_t n, allocated;
};

struct kdp_tc_cleaner {
    pthread_t thread;
    struct netdevs netdevs;     /* The thread closes each. */
    atomic_bool stop;           /* The thread is to end soon. */
};

static void
netdevs_add(struct netdevs *netdevs, const struct netdev *netdev)
{
    if (netdevs->n == netdevs->allocated) {
        netdevs->array = x2nrealloc(netdevs->array, &netdevs->allocated,
                                    sizeof *netdevs->array);
    }
    netdevs->array[netdevs->n++] = netdev_ref(netdev);
}

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
add_any(struct netdev *netdev, odp_port_t port_no OVS_UNUSED, void *netdevs)
{
    netdevs_add(netdevs, netdev);
    return false;
}

size_t
kdp_tc_clean_chains(const char *dpif_type)
{
    struct netdevs netdevs = { .n = 0 };
    size_t n = 0;

    ovs_compat_ports_traverse(dpif_type, add_any, &netdevs);
    for (size_t i = 0; i < netdevs.n; i++) {
        struct netdev *netdev = netdevs.array[i];
        int ifindex = netdev_get_ifindex(netdev);

        if (ifindex >= 0 && may_have_rules(ifindex)) {
            n += kdp_tc_delete_chains_of(netdev, ifindex);
        }
        netdev_close(netdev);
    }
    free(netdevs.array);
    return n;
}

static bool
add_with_rules(struct netdev *netdev, odp_port_t port_no OVS_UNUSED,
               void *netdevs)
{
    int ifindex = netdev_get_ifindex(netdev);

    if (ifindex >= 0
        && link_qdiscs_has_ingress(kdp_links_qdiscs(), ifindex)) {
        netdevs_add(netdevs, netdev);
    }
    return false;
}

static void *
clean(void *cleaner_)
{
    struct kdp_tc_cleaner *cleaner = cleaner_;

    for (size_t i = 0; i < cleaner->netdevs.n; i++) {
        struct netdev *netdev = cleaner->netdevs.array[i];
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
        ovs_compat_ports_traverse(dpif_type, add_with_rules,
                                  &cleaner->netdevs);
    }
    if (!cleaner->netdevs.n) {
        free(cleaner->netdevs.array);
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
        free(cleaner->netdevs.array);
        free(cleaner);
    }
}
