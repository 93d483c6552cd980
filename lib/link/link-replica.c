/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-replica.h"

#include <linux/netlink.h>
#include <net/if.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "util.h"

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
