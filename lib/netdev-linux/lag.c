/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/lag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "link/link-table.h"
#include "netdev-linux/ingress-qdisc.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "openvswitch/hmap.h"
#include "openvswitch/vlog.h"
#include "tc.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(netdev_kdp_lag);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* A bond whose block is in use. */
struct lag_bond {
    struct hmap_node node;      /* In 'bonds', by 'ifindex'. */
    int ifindex;
    uint32_t block_id;
};

/* A member that was bound. */
struct lag_member {
    struct hmap_node node;      /* In 'members', by 'ifindex'. */
    int ifindex;
    int master;                 /* The bond's interface index. */
    uint32_t block_id;
};

static struct hmap bonds = HMAP_INITIALIZER(&bonds);
static struct hmap members = HMAP_INITIALIZER(&members);

bool
netdev_kdp_lag_is_kind(const char *kind)
{
    return !strcmp(kind, "bond") || !strcmp(kind, "team");
}

static struct lag_bond *
lag_bond_find(int ifindex)
{
    struct lag_bond *bond;

    HMAP_FOR_EACH_WITH_HASH (bond, node, hash_int(ifindex, 0), &bonds) {
        if (bond->ifindex == ifindex) {
            return bond;
        }
    }
    return NULL;
}

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

static int
lag_set_qdisc(int ifindex, bool add, uint32_t block_id)
{
    kdp_rtnl_count(KDP_RTNL_LAG);
    return tc_add_del_qdisc(ifindex, add, block_id, TC_INGRESS);
}

/* Binds the ingress of device 'ifindex' to block 'block_id', unless it already
 * is.  Returns 0 or a positive errno value. */
static int
lag_set_block(int ifindex, uint32_t block_id)
{
    /* A former port may have rules that are being deleted. */
    struct qdisc_lock *lock = qdisc_lock_get(ifindex);
    struct ingress_qdisc qdisc;
    int error;

    qdisc_lock_acquire(lock);
    error = lag_set_qdisc(ifindex, true, block_id);
    if (error == EEXIST) {
        if (ingress_qdisc_get(ifindex, &qdisc) && qdisc.block_id == block_id) {
            error = 0;
        } else {
            lag_set_qdisc(ifindex, false, 0);
            error = lag_set_qdisc(ifindex, true, block_id);
        }
    }
    qdisc_lock_release(lock);
    return error;
}

/* Unbinds the ingress of device 'ifindex' from block 'block_id'.  Returns 0 or
 * a positive errno value. */
static int
lag_unset_block(int ifindex, uint32_t block_id)
{
    struct qdisc_lock *lock = qdisc_lock_get(ifindex);
    int error;

    qdisc_lock_acquire(lock);
    error = lag_set_qdisc(ifindex, false, block_id);
    qdisc_lock_release(lock);
    return error;
}

static void
lag_bind(const struct link_info *link, const struct lag_bond *bond)
{
    int error = lag_set_block(link->ifindex, bond->block_id);
    struct lag_member *member;

    if (error) {
        VLOG_WARN_RL(&rl, "%s: binding it to block %"PRIu32" of its bond "
                     "failed (%s); packets from it miss the rules of the "
                     "bond", link->name,
                     bond->block_id, ovs_strerror(error));
        return;
    }
    member = xmalloc(sizeof *member);
    member->ifindex = link->ifindex;
    member->master = link->master;
    member->block_id = bond->block_id;
    hmap_insert(&members, &member->node, hash_int(member->ifindex, 0));
}

/* Forgets 'member', after unbinding its device if 'unbind'. */
static void
lag_forget(struct lag_member *member, bool unbind)
{
    if (unbind) {
        lag_unset_block(member->ifindex, member->block_id);
    }
    hmap_remove(&members, &member->node);
    free(member);
}

void
netdev_kdp_lag_add(int ifindex, uint32_t block_id)
{
    struct lag_bond *bond = lag_bond_find(ifindex);
    struct link_info *links;
    size_t n;

    if (bond || !kdp_links_enabled()) {
        return;
    }
    bond = xmalloc(sizeof *bond);
    bond->ifindex = ifindex;
    bond->block_id = block_id;
    hmap_insert(&bonds, &bond->node, hash_int(ifindex, 0));

    /* Members that join later, or whose events are still to be processed, are
     * bound then. */
    links = link_table_get_links(kdp_links_table(), LINK_NSID_LOCAL, &n);
    for (size_t i = 0; i < n; i++) {
        if (links[i].master == ifindex && !lag_member_find(links[i].ifindex)) {
            lag_bind(&links[i], bond);
        }
    }
    free(links);
}

void
netdev_kdp_lag_remove(int ifindex, bool unbind)
{
    struct lag_bond *bond = lag_bond_find(ifindex);
    struct lag_member *member;

    if (!bond) {
        return;
    }
    HMAP_FOR_EACH_SAFE (member, node, &members) {
        if (member->master == ifindex) {
            lag_forget(member, unbind);
        }
    }
    hmap_remove(&bonds, &bond->node);
    free(bond);
}

void
netdev_kdp_lag_update(const struct link_change *change)
{
    const struct link_info *link = change->link;
    bool gone = (change->what & LINK_CHANGE_GONE) != 0;
    struct lag_member *member;

    if (hmap_is_empty(&bonds)) {
        return;
    }
    member = lag_member_find(link->ifindex);
    if (member && (gone || link->master != member->master)) {
        lag_forget(member, !gone);
        member = NULL;
    }
    if (!member && !gone && link->master) {
        const struct lag_bond *bond = lag_bond_find(link->master);

        if (bond) {
            lag_bind(link, bond);
        }
    }
}

bool
netdev_kdp_lag_is_bound(int ifindex)
{
    return lag_member_find(ifindex) != NULL;
}

/* Leftovers of a previous run. */

static bool
lag_has_bonds(void)
{
    struct link_info *links;
    bool found = false;
    size_t n;

    links = link_table_get_links(kdp_links_table(), LINK_NSID_LOCAL, &n);
    for (size_t i = 0; i < n && !found; i++) {
        found = netdev_kdp_lag_is_kind(links[i].kind);
    }
    free(links);
    return found;
}

struct lag_cleaning {
    bool all_added;
    bool (*is_ours)(uint32_t block_id);
};

/* May a previous run have bound a device to the block of 'qdisc', and this one
 * has not? */
static bool
lag_may_be_old(const struct ingress_qdisc *qdisc)
{
    return (qdisc->block_id && !qdisc->is_clsact
            && qdisc->block_id != qdisc->ifindex
            && !lag_member_find(qdisc->ifindex));
}

static void
lag_clean_device(const struct ingress_qdisc *qdisc, void *cleaning_)
{
    const struct lag_cleaning *cleaning = cleaning_;
    const struct link_table *table = kdp_links_table();
    struct link_info link, bond;

    if (lag_may_be_old(qdisc)
        && link_table_find(table, LINK_NSID_LOCAL, qdisc->block_id, &bond)
        && netdev_kdp_lag_is_kind(bond.kind)
        && link_table_find(table, LINK_NSID_LOCAL, qdisc->ifindex, &link)
        && (cleaning->all_added || link.master != bond.ifindex)
        && cleaning->is_ours(qdisc->block_id)) {
        int error = lag_unset_block(link.ifindex, qdisc->block_id);

        if (error) {
            VLOG_WARN_RL(&rl, "%s: unbinding it from the block of %s, which a "
                         "previous run bound it to, failed (%s)", link.name,
                         bond.name, ovs_strerror(error));
        } else {
            VLOG_INFO_RL(&rl, "%s: unbound from the block of %s, which a "
                         "previous run bound it to", link.name, bond.name);
        }
    }
}

void
netdev_kdp_lag_clean(bool all_added, bool (*is_ours)(uint32_t block_id))
{
    struct lag_cleaning cleaning = {
        .all_added = all_added, .is_ours = is_ours,
    };

    /* Without a bond, the list of all disciplines is not worth the RTNL
     * lock. */
    if (kdp_links_enabled() && lag_has_bonds()) {
        ingress_qdisc_for_each(lag_clean_device, &cleaning);
    }
}

bool
netdev_kdp_lag_clean_port(const char *name, int ifindex,
                          bool (*is_ours)(uint32_t block_id))
{
    struct ingress_qdisc qdisc;
    int error;

    if (!ingress_qdisc_get(ifindex, &qdisc) || !lag_may_be_old(&qdisc)
        || !is_ours(qdisc.block_id)) {
        return false;
    }
    error = lag_unset_block(ifindex, qdisc.block_id);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: unbinding it from block %"PRIu32", which a "
                     "previous run bound it to, failed (%s); flows from this "
                     "port are not offloaded", name, qdisc.block_id,
                     ovs_strerror(error));
    } else {
        VLOG_INFO_RL(&rl, "%s: unbound from block %"PRIu32", which a previous "
                     "run bound it to", name, qdisc.block_id);
    }
    return !error;
}
