/* SPDX-License-Identifier: Apache-2.0 */

/* What the listener asks the kernel. */

#include <config.h>
#include "link/link-listener-private.h"

#include <errno.h>
#include <limits.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coverage.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_dump);

COVERAGE_DEFINE(link_dump);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Milliseconds until a dump that failed is repeated, and until one is that
 * was interrupted more than a few times in a row.  Changes come so fast then
 * that the next would be interrupted too, and it would take the RTNL lock. */
#define LINK_RETRY_MS 1000
#define LINK_INTERRUPTED_MS 100

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

/* Asks for all ids and makes the table's namespaces those.  Returns 0 or a
 * positive errno value. */
static int
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
};

/* Takes note of a message that could not be understood.  If it is about a
 * link, what is known of that stays.  Returns 0, or EBADMSG if that is not
 * known. */
static int
link_dump_malformed(struct link_dump *dump, const struct nlmsghdr *nlh)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    dump->listener->stats.malformed++;
    if (nlh->nlmsg_type != RTM_NEWLINK
        || mnl_nlmsg_get_payload_len(nlh) < sizeof *ifi) {
        return EBADMSG;
    }

    char *name = link_nsid_to_string(dump->nsid);
    VLOG_WARN_RL(&rl, "network namespace %s: malformed answer about link %d; "
                 "what is known of it stays", name, ifi->ifi_index);
    free(name);
    link_table_keep(dump->listener->table, dump->nsid, ifi->ifi_index);
    return 0;
}

static int
link_dump_reply(const struct nlmsghdr *nlh, void *dump_)
{
    struct link_dump *dump = dump_;
    struct link_msg msg;
    bool foreign = dump->nsid != LINK_NSID_LOCAL;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)
        || msg.type != LINK_MSG_NEWLINK) {
        return link_dump_malformed(dump, nlh);
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

/* Asks for the links of 'nsid' and makes the table's those.  Returns 0, EINTR
 * if a change interrupted it, EOPNOTSUPP if the kernel cannot, or another
 * positive errno value. */
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
    if (!error) {
        link_table_sweep(listener->table, nsid);
    }
    return error;
}

/* What is to be asked next. */

void
link_dump_retry(struct link_listener *listener, int error, int32_t nsid,
                long long int *retry_at)
{
    if (error == EINTR) {
        listener->stats.interrupted++;
        if (++listener->n_interrupted > LINK_INTERRUPTED_MAX) {
            *retry_at = time_msec() + LINK_INTERRUPTED_MS;
        }
    } else {
        char *name = link_nsid_to_string(nsid);

        VLOG_WARN_RL(&rl, "network namespace %s: asking for its links failed "
                     "(%s); asking again in %d ms", name,
                     ovs_strerror(error), LINK_RETRY_MS);
        free(name);
        listener->stats.failed++;
        *retry_at = time_msec() + LINK_RETRY_MS;
    }
}

/* Takes note of how the dump of another namespace's links ended. */
static void
link_dumped_foreign(struct link_listener *listener, int32_t nsid, int error)
{
    switch (error) {
    case 0:
        link_table_set_current(listener->table, nsid);
        break;

    case EPERM:
    case EACCES:
    case EOPNOTSUPP:
        VLOG_WARN_RL(&rl, "network namespace %"PRId32": its links cannot be "
                     "asked for (%s); they are known by events alone",
                     nsid, ovs_strerror(error));
        listener->stats.refused++;
        link_table_set_stale(listener->table, nsid, error);
        break;

    case EINVAL:
    case ENOENT:
        /* There is no such namespace any more, or the kernel is too old. */
        switch (link_ask_nsid_exists(listener, nsid)) {
        case 0:
            listener->stats.refused++;
            link_table_set_stale(listener->table, nsid, error);
            break;
        case ENOENT:
            link_table_drop_ns(listener->table, nsid);
            break;
        default:
            link_dump_retry(listener, error, nsid, &listener->retry_at);
            break;
        }
        break;

    default:
        /* Others first. */
        link_table_set_pending(listener->table, nsid);
        link_dump_retry(listener, error, nsid, &listener->retry_at);
        break;
    }
}

long long int
link_dump_next(const struct link_listener *listener, int32_t *nsid)
{
    *nsid = LINK_NSID_NONE;
    if (!link_table_next_pending(listener->table, nsid)
        && !listener->enumerate) {
        return LLONG_MAX;
    }
    return (*nsid == LINK_NSID_LOCAL ? listener->own_retry_at
            : listener->retry_at);
}

bool
link_dump(struct link_listener *listener)
{
    enum link_reason reason = (listener->resyncing ? listener->reason
                               : LINK_REASON_NAMESPACE);
    int32_t nsid;
    int error;

    if (time_msec() < link_dump_next(listener, &nsid)) {
        return false;
    }

    COVERAGE_INC(link_dump);
    if (nsid == LINK_NSID_LOCAL) {
        listener->own_retry_at = 0;
        error = link_dump_local(listener, reason);
        if (!error) {
            link_table_set_current(listener->table, nsid);
            link_table_addrs_changed(listener->table, nsid, 0);
        } else {
            link_dump_retry(listener, error, nsid, &listener->own_retry_at);
        }
    } else if (listener->enumerate) {
        listener->retry_at = 0;
        error = link_dump_nsids(listener, reason);
        if (!error) {
            listener->enumerate = false;
        } else {
            link_dump_retry(listener, error, LINK_NSID_LOCAL,
                            &listener->retry_at);
        }
    } else {
        listener->retry_at = 0;
        error = link_dump_links(listener, nsid, reason);
        link_dumped_foreign(listener, nsid, error);
    }
    if (error != EINTR) {
        listener->n_interrupted = 0;
    }
    return true;
}
