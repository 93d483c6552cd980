/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/lag.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "link/link-table.h"
#include "netdev-linux/device.h"
#include "netdev-linux/links.h"
#include "netdev-linux/qdisc-lock.h"
#include "netdev-linux/rtnl-count.h"
#include "openvswitch/hmap.h"
#include "openvswitch/vlog.h"
#include "tc.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_lag);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* A member that was bound. */
struct lag_member {
    struct hmap_node node;      /* In 'members', by 'ifindex'. */
    int ifindex;
    int master;                 /* The bond's interface index. */
    uint32_t block_id;
};

static struct hmap members = HMAP_INITIALIZER(&members);

static struct lag_member *
lag_member_find(int ifindex)
{
    struct lag_member *member;

    HMAP_FOR_EACH_WITH_HASH (member, node, hash_int(ifindex, 0), &members) {
        if (member->ifindex == ifindex) {
            return member;
        }
    }
    return NULL;
}

/* Returns the id of the block of the bond that 'link' is a member of, or 0 if
 * it is none or the bond is not a port. */
static uint32_t
lag_get_block(const struct link_info *link)
{
    struct link_info master;
    uint32_t block_id = 0;
    struct netdev *netdev;

    if (!link->master
        || !link_table_find(kdp_links_table(), LINK_NSID_LOCAL, link->master,
                            &master)
        || (strcmp(master.kind, "bond") && strcmp(master.kind, "team"))) {
        return 0;
    }
    netdev = netdev_from_name(master.name);
    if (netdev && !netdev->auto_classified
        && is_netdev_linux_class(netdev->netdev_class)) {
        block_id = netdev_get_block_id(netdev);
    }
    netdev_close(netdev);
    return block_id;
}

static void
lag_bind(const struct link_info *link, uint32_t block_id)
{
    struct qdisc_lock *lock = qdisc_lock_get(link->ifindex);
    struct lag_member *member;
    int error;

    kdp_rtnl_count(KDP_RTNL_LAG);
    qdisc_lock_acquire(lock);
    tc_add_del_qdisc(link->ifindex, false, 0, TC_INGRESS);
    qdisc_lock_release(lock);
    kdp_rtnl_count(KDP_RTNL_LAG);
    error = tc_add_del_qdisc(link->ifindex, true, block_id, TC_INGRESS);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: binding it to block %"PRIu32" of its bond "
                     "failed (%s); its flows are not offloaded", link->name,
                     block_id, ovs_strerror(error));
        return;
    }
    member = xmalloc(sizeof *member);
    member->ifindex = link->ifindex;
    member->master = link->master;
    member->block_id = block_id;
    hmap_insert(&members, &member->node, hash_int(member->ifindex, 0));
}

/* Unbinds 'member', whose device may be 'gone'. */
static void
lag_unbind(struct lag_member *member, bool gone)
{
    if (!gone) {
        kdp_rtnl_count(KDP_RTNL_LAG);
        tc_add_del_qdisc(member->ifindex, false, member->block_id, TC_INGRESS);
    }
    hmap_remove(&members, &member->node);
    free(member);
}

void
netdev_kdp_lag_update(const struct link_change *change)
{
    const struct link_info *link = change->link;
    bool gone = (change->what & LINK_CHANGE_GONE) != 0;
    struct lag_member *member;

    if (!link->master && hmap_is_empty(&members)) {
        return;
    }
    member = lag_member_find(link->ifindex);
    if (member && (gone || link->master != member->master)) {
        lag_unbind(member, gone);
        member = NULL;
    }
    if (!member && !gone) {
        uint32_t block_id = lag_get_block(link);

        if (block_id) {
            lag_bind(link, block_id);
        }
    }
}
