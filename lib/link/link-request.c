/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-request.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_request);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

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

/* Asks for the id of the namespace of the calling thread, or with 'nsid' other
 * than LINK_NSID_NONE for that id itself. */
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
                     "failed (%s); it is taken to have none until it is "
                     "asked for again", ovs_strerror(error));
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

    /* Kernels before 5.0 do not know the question; then an id is taken to be
     * gone when an event said so. */
    return error == EINVAL || error == EOPNOTSUPP ? ENOENT : error;
}

static int
link_nsids_reply(const struct nlmsghdr *nlh, void *replica_)
{
    struct link_replica *replica = replica_;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWNSID) {
        return EBADMSG;
    }
    if (msg.nsid != LINK_NSID_NONE && msg.nsid != replica->self_nsid) {
        link_table_add_ns(replica->table, msg.nsid);
    }
    return 0;
}

int
link_request_nsids(struct link_replica *replica, enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = link_nsid_request(buf, NLM_F_DUMP);

    /* Our own is among them. */
    if (replica->self_nsid == LINK_NSID_NONE) {
        int error = link_request_self_nsid(replica);

        if (error) {
            return error;
        }
    }

    link_table_mark_namespaces(replica->table);
    int error = link_request_transact(replica, nlh, link_nsids_reply, replica,
                                      reason);
    if (!error) {
        link_table_sweep_namespaces(replica->table);
    }
    return error;
}

/* RTM_GETLINK. */

struct link_dump {
    struct link_replica *replica;
    int32_t nsid;
};

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
link_dump_reply(const struct nlmsghdr *nlh, void *dump_)
{
    struct link_dump *dump = dump_;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWLINK) {
        return link_dump_malformed(dump, nlh);
    }
    if (dump->nsid != LINK_NSID_LOCAL
        && msg.link.target_nsid != dump->nsid) {
        return EOPNOTSUPP;
    }
    link_replica_update_link(dump->replica, dump->nsid, &msg.link);
    return 0;
}

int
link_request_links(struct link_replica *replica, int32_t nsid, bool again,
                   enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct link_dump dump = { .replica = replica, .nsid = nsid };
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = RTM_GETLINK;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (nsid != LINK_NSID_LOCAL) {
        mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, nsid);
    }

    if (!again) {
        link_table_mark(replica->table, nsid);
    }
    int error = link_request_transact(replica, nlh, link_dump_reply, &dump,
                                      reason);
    if (!error) {
        link_table_sweep(replica->table, nsid);
    }
    return error;
}

int
link_request_link(struct link_replica *replica, int ifindex,
                  enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct link_dump dump = { .replica = replica, .nsid = LINK_NSID_LOCAL };
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *ifi;

    nlh->nlmsg_type = RTM_GETLINK;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = ifindex;
    mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);

    int error = link_request_transact(replica, nlh, link_dump_reply, &dump,
                                      reason);
    if (error == ENODEV) {
        link_table_remove(replica->table, LINK_NSID_LOCAL, ifindex);
        error = 0;
    }
    return error;
}

/* Our own namespace. */

static int
link_request_dump_reply(const struct nlmsghdr *nlh, void *replica_)
{
    struct link_replica *replica = replica_;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)) {
        replica->stats.malformed++;
    } else if (msg.type == LINK_MSG_NEWADDR) {
        link_addrs_update(replica->addrs, &msg.addr, false);
    } else if (msg.type == LINK_MSG_NEWROUTE) {
        link_routes_update(replica->routes, &msg.route, false);
    } else if (msg.type == LINK_MSG_NEWQDISC) {
        link_qdiscs_update(replica->qdiscs, &msg.qdisc, false);
    }
    return 0;
}

/* Makes a request of 'type', in whose header the address family comes first.
 * What of the answer could not be understood is taken not to be there: it
 * would not be understood the next time, either. */
static int
link_request_dump(struct link_replica *replica, uint16_t type, size_t hdrlen,
                  enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(nlh, hdrlen);

    return link_request_transact(replica, nlh, link_request_dump_reply,
                                 replica, reason);
}

int
link_request_addrs(struct link_replica *replica, enum link_reason reason)
{
    struct link_addrs *addrs = replica->addrs;

    if (!addrs) {
        return 0;
    }
    link_addrs_mark(addrs);
    int error = link_request_dump(replica, RTM_GETADDR,
                                  sizeof(struct ifaddrmsg), reason);
    if (!error) {
        link_addrs_sweep(addrs);
    }
    return error;
}

int
link_request_routes(struct link_replica *replica, enum link_reason reason)
{
    struct link_routes *routes = replica->routes;

    if (!routes) {
        return 0;
    }
    link_routes_mark(routes);
    int error = link_request_dump(replica, RTM_GETROUTE, sizeof(struct rtmsg),
                                  reason);
    if (!error) {
        link_routes_sweep(routes);
    }
    return error;
}

int
link_request_qdiscs(struct link_replica *replica, enum link_reason reason)
{
    struct link_qdiscs *qdiscs = replica->qdiscs;

    if (!qdiscs || !replica->qdiscs_followed) {
        return 0;
    }
    link_qdiscs_mark(qdiscs);
    int error = link_request_dump(replica, RTM_GETQDISC, sizeof(struct tcmsg),
                                  reason);
    if (!error) {
        link_qdiscs_sweep(qdiscs);
    }
    return error;
}
