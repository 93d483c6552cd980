/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-dump.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-request.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_dump);

COVERAGE_DEFINE(link_dump);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* A request has a header and at most two attributes. */
#define LINK_DUMP_REQUEST_SIZE 128

/* Of each kind: the type of the request, and the size of its header, in which
 * the address family comes first. */
static const struct {
    uint16_t type;
    size_t hdrlen;
} requests[] = {
    [LINK_DUMP_LINKS] = { RTM_GETLINK, sizeof(struct ifinfomsg) },
    [LINK_DUMP_ADDRS] = { RTM_GETADDR, sizeof(struct ifaddrmsg) },
    [LINK_DUMP_QDISCS] = { RTM_GETQDISC, sizeof(struct tcmsg) },
    [LINK_DUMP_NSIDS] = { RTM_GETNSID, sizeof(struct rtgenmsg) },
};

void
link_dump_init(struct link_dump *dump, struct link_replica *replica)
{
    memset(dump, 0, sizeof *dump);
    dump->replica = replica;
}

/* What is kept. */

static bool
link_dump_is_kept(const struct link_dump *dump, enum link_dump_kind kind)
{
    const struct link_replica *replica = dump->replica;

    return (kind == LINK_DUMP_ADDRS ? replica->addrs != NULL
            : kind == LINK_DUMP_QDISCS ? (replica->qdiscs
                                          && replica->qdiscs_followed)
            : true);
}

static void
link_dump_mark(struct link_dump *dump, bool again)
{
    struct link_replica *replica = dump->replica;

    switch (dump->kind) {
    case LINK_DUMP_LINKS:
        if (!again) {
            link_table_mark(replica->table, dump->nsid);
        }
        break;
    case LINK_DUMP_ADDRS:
        link_addrs_mark(replica->addrs);
        break;
    case LINK_DUMP_QDISCS:
        link_qdiscs_mark(replica->qdiscs);
        break;
    case LINK_DUMP_NSIDS:
        link_table_mark_namespaces(replica->table);
        break;
    }
}

static void
link_dump_sweep(struct link_dump *dump)
{
    struct link_replica *replica = dump->replica;

    switch (dump->kind) {
    case LINK_DUMP_LINKS:
        link_table_sweep(replica->table, dump->nsid);
        break;
    case LINK_DUMP_ADDRS:
        link_addrs_sweep(replica->addrs);
        break;
    case LINK_DUMP_QDISCS:
        link_qdiscs_sweep(replica->qdiscs);
        break;
    case LINK_DUMP_NSIDS:
        link_table_sweep_namespaces(replica->table);
        break;
    }
}

/* Answers. */

/* Takes note of a message that could not be understood.  If it is about a
 * link, what is known of that stays.  Returns 0, or EBADMSG if that is not
 * known. */
static int
link_dump_malformed(struct link_dump *dump, const struct nlmsghdr *nlh)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    dump->replica->stats.malformed++;
    if (nlh->nlmsg_type != RTM_NEWLINK
        || mnl_nlmsg_get_payload_len(nlh) < sizeof *ifi) {
        return EBADMSG;
    }

    char *name = link_nsid_to_string(dump->nsid);
    VLOG_WARN_RL(&rl, "network namespace %s: malformed answer about link %d; "
                 "what is known of it stays", name, ifi->ifi_index);
    free(name);
    link_table_keep(dump->replica->table, dump->nsid, ifi->ifi_index);
    return 0;
}

static int
link_dump_take_link(struct link_dump *dump, const struct nlmsghdr *nlh)
{
    struct link_replica *replica = dump->replica;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWLINK) {
        return link_dump_malformed(dump, nlh);
    }
    if (dump->nsid != LINK_NSID_LOCAL
        && msg.link.target_nsid != dump->nsid) {
        return EOPNOTSUPP;
    }
    if (!link_newer_has(&replica->newer, msg.link.ifindex)) {
        link_replica_update_link(replica, dump->nsid, &msg.link);
    }
    return 0;
}

static int
link_dump_take_nsid(struct link_dump *dump, const struct nlmsghdr *nlh)
{
    struct link_replica *replica = dump->replica;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWNSID) {
        return EBADMSG;
    }
    if (msg.nsid != LINK_NSID_NONE && msg.nsid != replica->self_nsid
        && !link_newer_has(&replica->newer, msg.nsid)) {
        link_table_add_ns(replica->table, msg.nsid);
    }
    return 0;
}

/* What of the answer could not be understood is taken not to be there: it
 * would not be understood the next time, either. */
static void
link_dump_take_other(struct link_dump *dump, const struct nlmsghdr *nlh)
{
    struct link_replica *replica = dump->replica;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)) {
        replica->stats.malformed++;
    } else if (msg.type == LINK_MSG_NEWADDR) {
        link_addrs_update(replica->addrs, &msg.addr, false);
    } else if (msg.type == LINK_MSG_NEWQDISC) {
        link_qdiscs_update(replica->qdiscs, &msg.qdisc, false);
    }
}

static int
link_dump_reply(const struct nlmsghdr *nlh, void *dump_)
{
    struct link_dump *dump = dump_;

    switch (dump->kind) {
    case LINK_DUMP_LINKS:
        return link_dump_take_link(dump, nlh);
    case LINK_DUMP_NSIDS:
        return link_dump_take_nsid(dump, nlh);
    case LINK_DUMP_ADDRS:
    case LINK_DUMP_QDISCS:
        link_dump_take_other(dump, nlh);
        return 0;
    }
    OVS_NOT_REACHED();
}

/* Enters once more what was announced since the last part was written. */
static void
link_dump_correct(struct link_dump *dump)
{
    struct link_replica *replica = dump->replica;
    const struct nlmsghdr *nlh = NULL;

    while ((nlh = link_newer_next(&replica->newer, nlh))) {
        struct link_msg msg;

        if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)) {
            continue;
        }
        switch (dump->kind) {
        case LINK_DUMP_ADDRS:
            link_addrs_update(replica->addrs, &msg.addr,
                              msg.type == LINK_MSG_DELADDR);
            break;
        case LINK_DUMP_QDISCS:
            link_qdiscs_update(replica->qdiscs, &msg.qdisc,
                               msg.type == LINK_MSG_DELQDISC);
            break;
        case LINK_DUMP_LINKS:
        case LINK_DUMP_NSIDS:
            OVS_NOT_REACHED();
        }
    }
}

/* A dump. */

static int
link_dump_send(struct link_dump *dump)
{
    char buf[LINK_DUMP_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    int error;

    nlh->nlmsg_type = requests[dump->kind].type;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(nlh, requests[dump->kind].hdrlen);
    if (dump->kind == LINK_DUMP_LINKS) {
        mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
        if (dump->nsid != LINK_NSID_LOCAL) {
            mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, dump->nsid);
        }
    }
    error = nl_conn_open(NETLINK_ROUTE, &dump->conn);
    return error ? error : nl_conn_start_dump(dump->conn, nlh);
}

/* Ends the dump, which was not completed if there is an 'error'. */
static void
link_dump_end(struct link_dump *dump, int error)
{
    struct link_replica *replica = dump->replica;

    dump->active = false;
    nl_conn_close(dump->conn);
    dump->conn = NULL;
    link_newer_end(&replica->newer);
    if (!error) {
        link_dump_sweep(dump);
    }
}

void
link_dump_cancel(struct link_dump *dump)
{
    if (dump->active) {
        link_dump_end(dump, ECANCELED);
    }
}

int
link_dump_begin(struct link_dump *dump, enum link_dump_kind kind,
                int32_t nsid, bool again, enum link_reason reason)
{
    struct link_replica *replica = dump->replica;
    long long int start = time_usec();
    int error;

    ovs_assert(!dump->active);
    if (!link_dump_is_kept(dump, kind)) {
        return 0;
    }
    COVERAGE_INC(link_dump);
    dump->kind = kind;
    dump->nsid = nsid;
    dump->reason = reason;

    /* Our own id is among them. */
    if (kind == LINK_DUMP_NSIDS && replica->self_nsid == LINK_NSID_NONE) {
        error = link_request_self_nsid(replica);
        if (error) {
            return error;
        }
    }
    link_dump_mark(dump, again);
    dump->active = true;
    error = link_dump_send(dump);
    if (error) {
        link_dump_end(dump, error);
        return error;
    }

    /* The kernel has written the first part. */
    link_newer_begin(&replica->newer, requests[kind].type - 2, nsid);
    replica->stats.rtnl[reason]++;
    replica->stats.rtnl_us[reason] += time_usec() - start;
    return EINPROGRESS;
}

int
link_dump_continue(struct link_dump *dump)
{
    struct link_replica *replica = dump->replica;
    long long int start = time_usec();
    int error = nl_conn_continue_dump(dump->conn, link_dump_reply, dump);

    link_dump_correct(dump);
    link_newer_clear(&replica->newer);
    replica->stats.rtnl_us[dump->reason] += time_usec() - start;
    if (error != EINPROGRESS) {
        link_dump_end(dump, error);
    }
    return error;
}
