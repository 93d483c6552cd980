/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-replica.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_replica);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

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

/* A linear search: there are few events between two parts, and a part has few
 * messages. */
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

/* Removes the addresses and queueing disciplines of a link of ours. */
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

/* Single requests. */

/* A request has a header and at most two attributes. */
#define LINK_REQUEST_SIZE 128

/* Makes the request 'nlh', which takes the RTNL lock. */
static int
link_request_transact(struct link_replica *replica, struct nlmsghdr *nlh,
                      nl_reply_func *cb, void *aux, enum link_reason reason)
{
    long long int start = time_usec();
    int error = nl_conn_transact(replica->conn, nlh, cb, aux);

    replica->stats.rtnl[reason]++;
    replica->stats.rtnl_us[reason] += time_usec() - start;
    return error;
}

/* RTM_GETNSID. */

static struct nlmsghdr *
link_nsid_request(void *buf, uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = RTM_GETNSID;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
    return nlh;
}

static int
link_nsid_reply(const struct nlmsghdr *nlh, void *nsid)
{
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWNSID) {
        return EBADMSG;
    }
    *(int32_t *) nsid = msg.nsid;
    return 0;
}

/* Requests the id of the calling thread's namespace, or, if 'nsid' is not
 * LINK_NSID_NONE, checks whether that id exists. */
static int
link_request_nsid(struct link_replica *replica, int32_t nsid, int32_t *answer)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = link_nsid_request(buf, NLM_F_ACK);

    if (nsid == LINK_NSID_NONE) {
        mnl_attr_put_u32(nlh, NETNSA_PID, syscall(SYS_gettid));
    } else {
        mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
    }
    *answer = LINK_NSID_NONE;
    replica->stats.nsid_requests++;
    return nl_conn_transact(replica->conn, nlh, link_nsid_reply, answer);
}

int
link_request_self_nsid(struct link_replica *replica)
{
    int32_t nsid;
    int error = link_request_nsid(replica, LINK_NSID_NONE, &nsid);

    if (error) {
        VLOG_WARN_RL(&rl, "asking for the id of our own network namespace "
                     "failed (%s); assuming that it has none until the next "
                     "try", ovs_strerror(error));
        return error;
    }
    link_replica_set_self_nsid(replica, nsid);
    return 0;
}

int
link_request_nsid_exists(struct link_replica *replica, int32_t nsid)
{
    int32_t answer;
    int error = link_request_nsid(replica, nsid, &answer);

    /* Kernels before 5.0 do not support the request.  There an event is enough
     * to consider an id gone. */
    return error == EINVAL || error == EOPNOTSUPP ? ENOENT : error;
}

/* RTM_GETLINK. */

/* Ignores a malformed answer, so that the link stays as it is. */
static int
link_link_reply(const struct nlmsghdr *nlh, void *replica_)
{
    struct link_replica *replica = replica_;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWLINK) {
        replica->stats.malformed++;
    } else {
        link_replica_update_link(replica, LINK_NSID_LOCAL, &msg.link);
    }
    return 0;
}

int
link_request_link(struct link_replica *replica, int ifindex,
                  enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *ifi;

    nlh->nlmsg_type = RTM_GETLINK;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = ifindex;
    mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);

    int error = link_request_transact(replica, nlh, link_link_reply, replica,
                                      reason);
    if (error == ENODEV) {
        link_table_remove(replica->table, LINK_NSID_LOCAL, ifindex);
        error = 0;
    } else if (!error) {
        link_table_keep(replica->table, LINK_NSID_LOCAL, ifindex);
    }
    return error;
}
