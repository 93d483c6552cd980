/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-request.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* RTM_GETLINK. */

/* If the answer cannot be understood, what is known of the link stays. */
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
