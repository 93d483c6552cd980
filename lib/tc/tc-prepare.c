/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-prepare.h"

#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "link/link-qdisc.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/lag.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "ovs/compat-offload.h"
#include "tc/tc-chains.h"
#include "tc/tc-orphans.h"
#include "tc/tc-transact.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_tc_prepare);

/* The arguments of kdp_tc_prepare_register(). */
static const char *datapaths_type;
static const struct kdp_tc_datapaths *datapaths;

/* Makes the stock flow API probe the kernel on local port 'name'.  Returns
 * true if that succeeds. */
static bool
probe_on(const char *name)
{
    struct netdev *netdev;
    bool done;

    if (netdev_open(name, "internal", &netdev)) {
        return false;
    }
    netdev_set_dpif_type(netdev, datapaths_type);
    done = !ovs_compat_offload_stock_init(netdev);
    netdev_close(netdev);
    return done;
}

/* Makes the stock flow API probe the kernel, once.  Returns true if that has
 * prepared 'netdev' as a side effect. */
static bool
probe_once(struct netdev *netdev)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    bool prepared = false;

    if (!ovsthread_once_start(&once)) {
        return false;
    }
    /* A device that left its bond while no daemon ran may be a port by now,
     * and have its own rules. */
    netdev_kdp_lag_clean(false, kdp_tc_orphans_may_unbind);
    if (!datapaths->for_each_local_port(probe_on)) {
        VLOG_INFO("no local port of a datapath to find out on what tc can do; "
                  "taking %s, whose rules in tc go",
                  netdev_get_name(netdev));
        prepared = !ovs_compat_offload_stock_init(netdev);
    }
    ovsthread_once_done(&once);
    return prepared;
}

/* Does the queueing discipline at the ingress of device 'ifindex' also have a
 * place for rules on outgoing packets? */
static bool
has_clsact(int ifindex)
{
    struct ingress_qdisc qdisc;

    return ingress_qdisc_get(ifindex, &qdisc) && qdisc.is_clsact;
}

/* Are the rules at the ingress of device 'ifindex' in 'block', which the
 * members of a bond share? */
static bool
shares_block(int ifindex, uint32_t block)
{
    struct ingress_qdisc qdisc;

    return ingress_qdisc_get(ifindex, &qdisc) && qdisc.block_id == block;
}

/* Has the queueing discipline at the ingress of device 'ifindex' any filter?
 * Returns 0 if not, EBUSY if so, or another positive errno value. */
static int
check_no_filters(int ifindex)
{
    struct tcf_id place = tc_make_tcf_id(ifindex, 0, 0, TC_INGRESS);
    struct ofpbuf msg, buffer;
    struct nl_dump dump;
    bool found;
    int error;

    kdp_rtnl_count(KDP_RTNL_TC_DUMP);
    tc_dump_flower_start(&place, &dump, true);
    ofpbuf_init(&buffer, NL_DUMP_BUFSIZE);
    found = nl_dump_next(&dump, &msg, &buffer);
    ofpbuf_uninit(&buffer);
    error = nl_dump_done(&dump);
    return found ? EBUSY : error;
}

/* Replaces the ingress discipline of device 'ifindex' by one that also has a
 * place for rules on outgoing packets, unless another program has filters
 * there.  The kernel also returns EBUSY while a request about a filter is in
 * progress. */
static int
replace_qdisc(int ifindex)
{
    int error = check_no_filters(ifindex);

    if (!error) {
        error = tc_add_del_qdisc(ifindex, false, 0, TC_INGRESS);
    }
    return error ? error : tc_add_del_qdisc(ifindex, true, 0, TC_EGRESS);
}

/* Adds the place for rules of 'netdev', a device with index 'ifindex'.
 * Returns 0, EEXIST if it exists, EBUSY if another program has filters where
 * it would be, or another positive errno value. */
static int
add_qdisc(struct netdev *netdev, int ifindex)
{
    struct tcf_id id = kdp_tc_place(netdev, ifindex);
    int error;

    kdp_rtnl_count(KDP_RTNL_TC_QDISC);
    error = tc_add_del_qdisc(ifindex, true, id.block_id, id.hook);
    if (error == EEXIST && id.hook == TC_EGRESS && !has_clsact(ifindex)) {
        error = replace_qdisc(ifindex);
    }
    return error;
}

/* How long, in ms, the place for rules is not checked again after it was found
 * to exist. */
#define RESTORE_MSEC 1000

/* Should the kernel be asked whether the place for rules of device 'ifindex'
 * is gone?  That takes the RTNL lock.  If the link tables have it, the rule
 * failed for another reason.  While there is offload the tables are unknown:
 * see kdp_links_follow_qdiscs(). */
static bool
may_lack_qdisc(int ifindex, long long int in_vain)
{
    const struct link_qdiscs *qdiscs = kdp_links_qdiscs();

    return (qdiscs && link_qdiscs_are_known(qdiscs)
            ? !link_qdiscs_has_ingress(qdiscs, ifindex)
            : time_msec() >= in_vain + RESTORE_MSEC);
}

bool
kdp_tc_prepare_restore(struct netdev *netdev)
{
    /* When a place was last found to exist. */
    static atomic_llong in_vain = ATOMIC_VAR_INIT(LLONG_MIN / 2);
    int ifindex = netdev_get_ifindex(netdev);
    long long int last;

    atomic_read_relaxed(&in_vain, &last);
    if (ifindex < 0 || netdev_get_block_id(netdev)
        || !may_lack_qdisc(ifindex, last)) {
        return false;
    }
    if (add_qdisc(netdev, ifindex)) {
        atomic_store_relaxed(&in_vain, time_msec());
        return false;
    }
    VLOG_INFO("%s: its queueing discipline for rules of tc was gone and has "
              "been added again", netdev_get_name(netdev));
    return true;
}

/* Deletes the rules of recirculation chains that a previous run left on
 * 'netdev', a device with index 'ifindex'. */
static void
delete_old_chains(struct netdev *netdev, int ifindex)
{
    if (datapaths->shares_chains() && !datapaths->keeps_chains()
        && !datapaths->count_rules(ifindex)) {
        kdp_tc_delete_chains_of(netdev, ifindex);
    }
}

/* As in Open vSwitch, returns 0 if 'netdev' can use the flow API. */
static int
kdp_api_init(struct netdev *netdev)
{
    int ifindex, error;

    if (netdev_vport_is_vport_class(netdev->netdev_class)
        && strcmp(netdev_get_dpif_type(netdev), "system")) {
        return EOPNOTSUPP;
    }
    ifindex = netdev_get_ifindex(netdev);
    if (ifindex < 0) {
        VLOG_INFO("%s: not prepared for offload, it has no index (%s)",
                  netdev_get_name(netdev), ovs_strerror(-ifindex));
        return -ifindex;
    }
    kdp_tc_orphans_spare(ifindex);
    if (probe_once(netdev)) {
        return 0;
    }
    if (netdev_get_block_id(netdev)) {
        /* Members of a bond share their rules, for which they need a special
         * queueing discipline.  That of a previous run has its rules. */
        if (!shares_block(ifindex, netdev_get_block_id(netdev))) {
            return ovs_compat_offload_stock_init(netdev);
        }
        delete_old_chains(netdev, ifindex);
        return 0;
    }
    if (netdev_kdp_lag_is_bound(ifindex)) {
        /* A member of a bond is never a port, so the device has left its bond.
         * That has to be known before it gets another discipline. */
        kdp_links_catch_up();
    }
    error = add_qdisc(netdev, ifindex);
    if (error == EEXIST
        && netdev_kdp_lag_clean_port(netdev_get_name(netdev), ifindex,
                                     kdp_tc_orphans_may_unbind)) {
        error = add_qdisc(netdev, ifindex);
    }
    if (error == EEXIST) {
        delete_old_chains(netdev, ifindex);
        error = 0;
    } else if (error) {
        VLOG_INFO("%s: not prepared for offload, its queueing discipline "
                  "cannot be added (%s)", netdev_get_name(netdev),
                  ovs_strerror(error));
    }
    return error;
}

static uint64_t
kdp_api_count(struct netdev *netdev)
{
    return datapaths->count_rules(netdev_get_ifindex(netdev));
}

static int
kdp_api_stats(const char *name, struct netdev_custom_stats *stats)
{
    return datapaths->get_stats(name, stats);
}

void
kdp_tc_prepare_register(const char *dpif_type,
                        const struct kdp_tc_datapaths *datapaths_)
{
    static const struct ovs_compat_offload_class class = {
        .init = kdp_api_init,
        .count = kdp_api_count,
        .stats = kdp_api_stats,
    };
    int error;

    datapaths_type = dpif_type;
    datapaths = datapaths_;
    error = ovs_compat_offload_register(&class);
    if (error) {
        VLOG_WARN("registering the flow API of tc failed (%s); rules in tc of "
                  "others may go when a port is added", ovs_strerror(error));
    }
}
