/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-replica.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "util.h"

void
link_newer_begin(struct link_newer *newer, uint16_t type, int32_t nsid)
{
    link_newer_clear(newer);
    newer->type = type;
    newer->nsid = nsid;
}

void
link_newer_end(struct link_newer *newer)
{
    free(newer->ids);
    free(newer->msgs);
    memset(newer, 0, sizeof *newer);
}

static void
link_newer_copy(struct link_newer *newer, const struct nlmsghdr *nlh)
{
    size_t size = NLMSG_ALIGN(nlh->nlmsg_len);

    while (newer->allocated_msgs - newer->msgs_len < size) {
        newer->msgs = x2nrealloc(newer->msgs, &newer->allocated_msgs, 1);
    }
    memcpy(newer->msgs + newer->msgs_len, nlh, nlh->nlmsg_len);
    newer->msgs_len += size;
}

void
link_newer_note(struct link_newer *newer, const struct nlmsghdr *nlh,
                int32_t nsid, int32_t id)
{
    /* RTM_DEL* follows RTM_NEW*. */
    if (!newer->type || nsid != newer->nsid
        || (nlh->nlmsg_type != newer->type
            && nlh->nlmsg_type != newer->type + 1)) {
        return;
    }
    if (newer->type != RTM_NEWLINK && newer->type != RTM_NEWNSID) {
        link_newer_copy(newer, nlh);
        return;
    }
    if (newer->n_ids == newer->allocated_ids) {
        newer->ids = x2nrealloc(newer->ids, &newer->allocated_ids,
                                sizeof *newer->ids);
    }
    newer->ids[newer->n_ids++] = id;
}

void
link_newer_clear(struct link_newer *newer)
{
    newer->n_ids = 0;
    newer->msgs_len = 0;
}

/* There are as many ids as events that were taken between two parts, and as
 * many questions as a part has messages. */
bool
link_newer_has(const struct link_newer *newer, int32_t id)
{
    for (size_t i = 0; i < newer->n_ids; i++) {
        if (newer->ids[i] == id) {
            return true;
        }
    }
    return false;
}

const struct nlmsghdr *
link_newer_next(const struct link_newer *newer, const struct nlmsghdr *nlh)
{
    const char *next = (!nlh ? newer->msgs
                        : (const char *) nlh + NLMSG_ALIGN(nlh->nlmsg_len));

    return (newer->msgs_len && next < newer->msgs + newer->msgs_len
            ? ALIGNED_CAST(const struct nlmsghdr *, next) : NULL);
}

/* What goes with a link of ours. */
static void
link_replica_link_gone(const struct link_change *change, void *replica_)
{
    struct link_replica *replica = replica_;
    int ifindex = change->link->ifindex;

    if (replica->addrs) {
        link_addrs_remove_link(replica->addrs, ifindex);
    }
    if (replica->qdiscs) {
        link_qdiscs_remove_link(replica->qdiscs, ifindex);
    }
}

void
link_replica_init(struct link_replica *replica, struct link_table *table,
                  struct link_addrs *addrs, struct link_qdiscs *qdiscs)
{
    memset(replica, 0, sizeof *replica);
    replica->table = table;
    replica->addrs = addrs;
    replica->qdiscs = qdiscs;
    replica->qdiscs_followed = qdiscs != NULL;
    replica->self_nsid = LINK_NSID_NONE;
    replica->subscription = link_table_subscribe(
        table, LINK_NSID_LOCAL, LINK_CHANGE_GONE, link_replica_link_gone,
        replica);
}

void
link_replica_uninit(struct link_replica *replica)
{
    nl_conn_close(replica->conn);
    link_newer_end(&replica->newer);
    link_table_unsubscribe(replica->subscription);
}

int
link_replica_connect(struct link_replica *replica)
{
    return nl_conn_open(NETLINK_ROUTE, &replica->conn);
}

void
link_replica_update_link(struct link_replica *replica, int32_t nsid,
                         struct link_view *view)
{
    if (nsid != LINK_NSID_LOCAL && view->lower_nsid != LINK_NSID_SAME) {
        view->lower_nsid = LINK_NSID_OTHER;
    }
    link_table_update(replica->table, nsid, view);
}

void
link_replica_tell_addrs(struct link_replica *replica, int ifindex)
{
    if (!replica->addrs) {
        link_table_addrs_changed(replica->table, LINK_NSID_LOCAL, ifindex);
        return;
    }
    while (link_addrs_next_changed(replica->addrs, &ifindex)) {
        link_table_addrs_changed(replica->table, LINK_NSID_LOCAL, ifindex);
    }
}

void
link_replica_set_self_nsid(struct link_replica *replica, int32_t nsid)
{
    replica->self_nsid = nsid;
    if (nsid != LINK_NSID_NONE && link_table_has_ns(replica->table, nsid)) {
        link_table_drop_ns(replica->table, nsid);
        link_table_set_pending(replica->table, LINK_NSID_LOCAL);
    }
}
