/* SPDX-License-Identifier: Apache-2.0 */

/* What the listener asks the kernel. */

#include <config.h>
#include "link/link-listener-private.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_dump);

/* A request has a header and at most two attributes. */
#define LINK_REQUEST_SIZE 128

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
link_ask_nsid(struct link_listener *listener, int32_t nsid, int32_t *answer)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = link_nsid_request(buf, NLM_F_ACK);

    if (nsid == LINK_NSID_NONE) {
        mnl_attr_put_u32(nlh, NETNSA_PID, syscall(SYS_gettid));
    } else {
        mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
    }
    *answer = LINK_NSID_NONE;
    listener->stats.nsid_requests++;
    return nl_conn_transact(listener->conn, nlh, link_nsid_reply, answer);
}

int
link_ask_self_nsid(struct link_listener *listener)
{
    int32_t nsid;
    int error = link_ask_nsid(listener, LINK_NSID_NONE, &nsid);

    if (error) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

        VLOG_WARN_RL(&rl, "asking for the id of our own network namespace "
                     "failed (%s); it is taken to have none until it is "
                     "asked for again", ovs_strerror(error));
        return error;
    }
    listener->self_nsid = nsid;
    if (nsid != LINK_NSID_NONE && link_table_has_ns(listener->table, nsid)) {
        /* Events of ours may have been taken for those of another. */
        link_table_drop_ns(listener->table, nsid);
        link_table_set_pending(listener->table, LINK_NSID_LOCAL);
    }
    return 0;
}

int
link_ask_nsid_exists(struct link_listener *listener, int32_t nsid)
{
    int32_t answer;
    int error = link_ask_nsid(listener, nsid, &answer);

    /* Kernels before 5.0 do not know the question; then an id is taken to be
     * gone when an event said so. */
    return error == EINVAL || error == EOPNOTSUPP ? ENOENT : error;
}

static int
link_nsids_reply(const struct nlmsghdr *nlh, void *listener_)
{
    struct link_listener *listener = listener_;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWNSID) {
        return EBADMSG;
    }
    if (msg.nsid != LINK_NSID_NONE && msg.nsid != listener->self_nsid) {
        link_table_add_ns(listener->table, msg.nsid);
    }
    return 0;
}

int
link_dump_nsids(struct link_listener *listener, enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = link_nsid_request(buf, NLM_F_DUMP);

    /* Our own is among them. */
    if (listener->self_nsid == LINK_NSID_NONE) {
        int error = link_ask_self_nsid(listener);

        if (error) {
            return error;
        }
    }

    listener->stats.rtnl[reason]++;
    link_table_mark_namespaces(listener->table);
    int error = nl_conn_transact(listener->conn, nlh, link_nsids_reply,
                                 listener);
    if (!error) {
        link_table_sweep_namespaces(listener->table);
    }
    return error;
}

/* RTM_GETLINK. */

struct link_dump {
    struct link_listener *listener;
    int32_t nsid;
    bool incomplete;            /* Something in it could not be parsed. */
};

static int
link_dump_reply(const struct nlmsghdr *nlh, void *dump_)
{
    struct link_dump *dump = dump_;
    struct link_msg msg;
    bool foreign = dump->nsid != LINK_NSID_LOCAL;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWLINK) {
        dump->listener->stats.malformed++;
        dump->incomplete = true;
        return 0;
    }
    if (foreign && msg.link.target_nsid != dump->nsid) {
        return EOPNOTSUPP;
    }
    if (foreign && msg.link.lower_nsid != LINK_NSID_SAME) {
        /* Events use the other namespace's ids, of which we know none. */
        msg.link.lower_nsid = LINK_NSID_OTHER;
    }
    link_table_update(dump->listener->table, dump->nsid, &msg.link);
    return 0;
}

int
link_dump_links(struct link_listener *listener, int32_t nsid,
                enum link_reason reason)
{
    char buf[LINK_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct link_dump dump = { .listener = listener, .nsid = nsid };
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = RTM_GETLINK;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    mnl_attr_put_u32(nlh, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    if (nsid != LINK_NSID_LOCAL) {
        mnl_attr_put_u32(nlh, IFLA_TARGET_NETNSID, nsid);
    }

    listener->stats.rtnl[reason]++;
    link_table_mark(listener->table, nsid);
    int error = nl_conn_transact(listener->conn, nlh, link_dump_reply, &dump);
    if (!error && !dump.incomplete) {
        link_table_sweep(listener->table, nsid);
    }
    return error;
}
