/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-resync.h"

#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-replica.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_resync);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

COVERAGE_DEFINE(link_dump);

/* A request has a header and at most two attributes. */
#define LINK_DUMP_REQUEST_SIZE 128

/* For each kind, the type of the request and the size of its header, which
 * begins with the address family. */
static const struct {
    uint16_t type;
    size_t hdrlen;
} requests[] = {
    [LINK_DUMP_LINKS] = { RTM_GETLINK, sizeof(struct ifinfomsg) },
    [LINK_DUMP_ADDRS] = { RTM_GETADDR, sizeof(struct ifaddrmsg) },
    [LINK_DUMP_QDISCS] = { RTM_GETQDISC, sizeof(struct tcmsg) },
    [LINK_DUMP_NSIDS] = { RTM_GETNSID, sizeof(struct rtgenmsg) },
};

static void
link_dump_init(struct link_dump *dump, struct link_replica *replica)
{
    memset(dump, 0, sizeof *dump);
    dump->replica = replica;
}

/* Marking and sweeping. */

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

/* Counts a malformed message.  Returns 0 if it names a link, which then stays
 * as it is, otherwise EBADMSG. */
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
                 "keeping its last state", name, ifi->ifi_index);
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

/* Skips a malformed message: the next dump would have it, too. */
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

/* Applies the recorded events again, which are newer than the last part. */
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

/* Ends the dump, and removes what it did not list if there was no 'error'. */
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

/* Ends the dump in progress, if any.  Entries that it updated stay. */
static void
link_dump_cancel(struct link_dump *dump)
{
    if (dump->active) {
        link_dump_end(dump, ECANCELED);
    }
}

/* Starts a dump of 'kind', for LINK_DUMP_LINKS of namespace 'nsid'.  With
 * 'again', combines it with the last dump of links, which was interrupted.
 * Returns 0 if 'kind' is not kept, EINPROGRESS if the dump is in progress, or
 * another positive errno value. */
static int
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
    dump->complete = false;
    dump->n_removed = replica->n_removed;

    /* The ids in the answer include our own. */
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

/* Processes a part of the answer. */
static int
link_dump_receive(struct link_dump *dump)
{
    struct link_replica *replica = dump->replica;
    long long int start = time_usec();
    int error = nl_conn_continue_dump(dump->conn, link_dump_reply, dump);

    link_dump_correct(dump);
    link_newer_clear(&replica->newer);
    replica->stats.rtnl_us[dump->reason] += time_usec() - start;
    if (!error && dump->kind == LINK_DUMP_QDISCS) {
        dump->complete = true;
        return EINPROGRESS;
    }
    return error;
}

/* Processes a part of the answer or, when the answer is complete and all
 * events that were announced before have been processed, ends the dump.
 * Returns EINPROGRESS if there is more to do, 0 at the end, EINTR if a change
 * interrupted the dump, EOPNOTSUPP if the kernel cannot list the links of
 * another namespace, or another positive errno value. */
static int
link_dump_continue(struct link_dump *dump)
{
    int error = (!dump->complete ? link_dump_receive(dump)
                 : dump->n_removed != dump->replica->n_removed ? EINTR
                 : 0);

    if (error != EINPROGRESS) {
        link_dump_end(dump, error);
    }
    return error;
}

/* Milliseconds until a failed dump is repeated, and until a dump is repeated
 * that was interrupted more than LINK_INTERRUPTED_MAX times in a row.  Changes
 * come so fast then that the next one would be interrupted, too.  As each
 * takes the RTNL lock, the latter time doubles with each, so many times. */
#define LINK_RETRY_MS 1000
#define LINK_INTERRUPTED_MS 100
#define LINK_INTERRUPTED_DOUBLINGS 6

/* Stages of dumping our own namespace. */
enum link_own_stage {
    LINK_OWN_LINKS,
    LINK_OWN_ADDRS,
    LINK_OWN_QDISCS,
    LINK_OWN_N_STAGES
};
static const enum link_dump_kind own_stages[] = {
    [LINK_OWN_LINKS] = LINK_DUMP_LINKS,
    [LINK_OWN_ADDRS] = LINK_DUMP_ADDRS,
    [LINK_OWN_QDISCS] = LINK_DUMP_QDISCS,
};

void
link_resync_init(struct link_resync *resync, struct link_replica *replica)
{
    memset(resync, 0, sizeof *resync);
    resync->replica = replica;
    link_dump_init(&resync->dump, replica);
}

void
link_resync_uninit(struct link_resync *resync)
{
    link_dump_cancel(&resync->dump);
}

/* Ends the dump in progress if it is about 'what', or if it is about others
 * and 'what' includes our own namespace, which comes first. */
static void
link_resync_cancel(struct link_resync *resync, enum link_resync_what what)
{
    bool others = (resync->task == LINK_TASK_IDS
                   || resync->task == LINK_TASK_FOREIGN);

    if (resync->dump.active && (what & LINK_RESYNC_OWN || others)) {
        link_dump_cancel(&resync->dump);
    }
}

void
link_resync_start(struct link_resync *resync, enum link_reason reason,
                  enum link_resync_what what)
{
    struct link_table *table = resync->replica->table;

    if (!resync->active) {
        resync->active = true;
        resync->start = time_usec();
        resync->reason = reason;
    } else if (reason == LINK_REASON_LOSS) {
        resync->reason = reason;
    }
    link_resync_cancel(resync, what);
    if (what & LINK_RESYNC_OTHERS && resync->replica->all_nsid) {
        resync->enumerate = true;
        resync->retry_at = 0;
        link_table_set_others_pending(table);
    }
    if (what & LINK_RESYNC_OWN) {
        resync->own_retry_at = 0;
        resync->asking = false;
        resync->own_stage = resync->own_dumps = resync->unconfirmed = 0;
        link_table_add_ns(table, LINK_NSID_LOCAL);
        link_table_set_pending(table, LINK_NSID_LOCAL);
    }
}

void
link_resync_finish(struct link_resync *resync)
{
    if (resync->active) {
        struct link_listener_stats *stats = &resync->replica->stats;
        uint64_t duration = time_usec() - resync->start;

        resync->active = false;
        stats->resyncs++;
        stats->resync_last = duration;
        stats->resync_total += duration;
        stats->resync_max = MAX(stats->resync_max, duration);
    }
}

bool
link_resync_is_done(const struct link_resync *resync)
{
    int32_t nsid;

    return (!resync->enumerate && !resync->unconfirmed
            && !resync->dump.active
            && !link_table_next_pending(resync->replica->table, &nsid));
}

void
link_resync_ask_qdiscs(struct link_resync *resync)
{
    if (resync->dump.active && resync->dump.kind == LINK_DUMP_QDISCS) {
        /* It began before they were followed. */
        link_dump_cancel(&resync->dump);
    }
    resync->unconfirmed |= 1u << LINK_OWN_QDISCS;
    resync->confirm_at = 0;
}

bool
link_resync_own_waits(const struct link_resync *resync)
{
    return resync->own_retry_at != 0;
}

/* Failures. */

/* Counts and logs the failure of a request about 'nsid', and sets '*retry_at'
 * to the time of the next try. */
static void
link_resync_retry(struct link_resync *resync, int error, int32_t nsid,
                  long long int *retry_at)
{
    struct link_replica *replica = resync->replica;

    if (error == EINTR) {
        replica->stats.interrupted++;
        if (++resync->n_interrupted > LINK_INTERRUPTED_MAX) {
            unsigned int n = resync->n_interrupted - LINK_INTERRUPTED_MAX - 1;

            *retry_at = (time_msec() + (LINK_INTERRUPTED_MS
                                        << MIN(n,
                                               LINK_INTERRUPTED_DOUBLINGS)));
        }
    } else {
        char *name = link_nsid_to_string(nsid);

        VLOG_WARN_RL(&rl, "network namespace %s: asking for its links failed "
                     "(%s); asking again in %d ms", name,
                     ovs_strerror(error), LINK_RETRY_MS);
        free(name);
        replica->stats.failed++;
        *retry_at = time_msec() + LINK_RETRY_MS;
    }
}

/* Handles the end of the dump of another namespace's links. */
static void
link_resync_end_foreign(struct link_resync *resync, int32_t nsid, int error)
{
    struct link_replica *replica = resync->replica;

    switch (error) {
    case 0:
        link_table_set_current(replica->table, nsid);
        break;

    case EPERM:
    case EACCES:
    case EOPNOTSUPP:
        VLOG_WARN_RL(&rl, "network namespace %"PRId32": its links cannot be "
                     "listed (%s); they are known from events alone",
                     nsid, ovs_strerror(error));
        replica->stats.refused++;
        link_table_set_stale(replica->table, nsid, error);
        break;

    case EINVAL:
    case ENOENT:
        /* The namespace is gone, or the kernel is too old. */
        switch (link_request_nsid_exists(replica, nsid)) {
        case 0:
            replica->stats.refused++;
            link_table_set_stale(replica->table, nsid, error);
            break;
        case ENOENT:
            link_table_drop_ns(replica->table, nsid);
            break;
        default:
            link_resync_retry(resync, error, nsid, &resync->retry_at);
            break;
        }
        break;

    default:
        /* Let other pending namespaces go first. */
        link_table_set_pending(replica->table, nsid);
        link_resync_retry(resync, error, nsid, &resync->retry_at);
        break;
    }
}

/* Steps. */

/* Returns as link_resync_next() does, and stores the first pending namespace
 * in '*nsid', or LINK_NSID_NONE. */
static long long int
link_resync_next__(const struct link_resync *resync, int32_t *nsid)
{
    *nsid = LINK_NSID_NONE;
    if (!link_table_next_pending(resync->replica->table, nsid)
        && !resync->enumerate) {
        return LLONG_MAX;
    }
    return (*nsid == LINK_NSID_LOCAL ? resync->own_retry_at
            : resync->retry_at);
}

/* Returns when to try to confirm provisional stages, or LLONG_MAX. */
static long long int
link_resync_confirm_next(const struct link_resync *resync)
{
    long long int changed_at = resync->replica->changed_at;

    if (!resync->unconfirmed) {
        return LLONG_MAX;
    } else if (changed_at < resync->tried_at) {
        return resync->confirm_at;
    }
    return MIN(resync->confirm_at, changed_at + LINK_QUIET_MS);
}

/* Returns when to dump other namespaces again, if we cannot listen to them, or
 * LLONG_MAX. */
static long long int
link_resync_poll_next(const struct link_resync *resync)
{
    return (resync->replica->all_nsid
            || !link_table_follows_others(resync->replica->table)
            ? LLONG_MAX : resync->poll_at);
}

static void
link_resync_poll(struct link_resync *resync)
{
    long long int now = time_msec();

    if (now >= link_resync_poll_next(resync)) {
        link_table_set_others_pending(resync->replica->table);
        resync->poll_at = now + LINK_POLL_MS;
    }
}

long long int
link_resync_next(const struct link_resync *resync)
{
    int32_t nsid;

    return (resync->dump.active ? 0
            : MIN(MIN(link_resync_next__(resync, &nsid),
                      link_resync_poll_next(resync)),
                  link_resync_confirm_next(resync)));
}

/* Requests, one by one, the links that none of the interrupted dumps had.
 * Returns true if that is done, false if a later turn continues it. */
static bool
link_resync_ask_unseen(struct link_resync *resync)
{
    struct link_replica *replica = resync->replica;
    int ifindexes[LINK_TURN_PARTS];
    size_t n = link_table_get_unseen(replica->table, LINK_NSID_LOCAL,
                                     ifindexes, ARRAY_SIZE(ifindexes));

    for (size_t i = 0; i < n; i++) {
        if (!resync->parts) {
            return false;
        }
        resync->parts--;
        if (link_request_link(replica, ifindexes[i], resync->dump.reason)) {
            /* The link stays until a dump confirms the table. */
            return true;
        }
    }
    return n < ARRAY_SIZE(ifindexes);
}

/* Sets the time of the next try to confirm provisional stages. */
static void
link_resync_plan_confirmation(struct link_resync *resync)
{
    resync->confirm_at = time_msec() + resync->confirm_wait;
    resync->confirm_wait = MIN(2 * resync->confirm_wait, LINK_CONFIRM_MAX_MS);
}

/* Returns the next provisional stage from 'stage' on, or LINK_OWN_N_STAGES. */
static unsigned int
link_resync_next_unconfirmed(const struct link_resync *resync,
                             unsigned int stage)
{
    while (stage < LINK_OWN_N_STAGES
           && !(resync->unconfirmed & (1u << stage))) {
        stage++;
    }
    return stage;
}

/* How dumps end.  Each of the following functions returns true if the same
 * task has another dump to start. */

/* The dumps of a stage of our own namespace are done.  Requests the links that
 * none of them had, then moves on to the next stage. */
static bool
link_resync_advance_own(struct link_resync *resync)
{
    if (resync->asking && !link_resync_ask_unseen(resync)) {
        return false;
    }
    resync->asking = false;
    resync->own_dumps = 0;
    if (++resync->own_stage < LINK_OWN_N_STAGES) {
        return true;
    }

    resync->own_stage = 0;
    resync->filled = true;
    resync->confirm_wait = LINK_CONFIRM_MS;
    link_resync_plan_confirmation(resync);
    link_table_set_current(resync->replica->table, LINK_NSID_LOCAL);
    link_replica_tell_addrs(resync->replica, 0);
    return false;
}

/* The dump of a stage of our own namespace ended with 'error'. */
static bool
link_resync_end_own(struct link_resync *resync, int error)
{
    unsigned int bit = 1u << resync->own_stage;

    resync->own_retry_at = 0;
    if (error == EINTR) {
        resync->replica->stats.interrupted++;
        if (++resync->own_dumps < LINK_UNION_DUMPS) {
            return false;
        }
        resync->unconfirmed |= bit;
        resync->asking = own_stages[resync->own_stage] == LINK_DUMP_LINKS;
    } else if (error) {
        link_resync_retry(resync, error, LINK_NSID_LOCAL,
                          &resync->own_retry_at);
        return false;
    } else {
        resync->unconfirmed &= ~bit;
    }
    return link_resync_advance_own(resync);
}

/* The dump that was to confirm a provisional stage ended with 'error'. */
static bool
link_resync_end_confirm(struct link_resync *resync, int error)
{
    unsigned int stage = resync->confirm_stage;

    resync->replica->stats.interrupted += error == EINTR;
    if (!error) {
        resync->unconfirmed &= ~(1u << stage);
        if (own_stages[stage] == LINK_DUMP_ADDRS) {
            link_replica_tell_addrs(resync->replica, 0);
        }
    }
    resync->confirm_stage = link_resync_next_unconfirmed(resync, stage + 1);
    if (resync->confirm_stage < LINK_OWN_N_STAGES) {
        return true;
    }
    link_resync_plan_confirmation(resync);
    return false;
}

static bool
link_resync_end_ids(struct link_resync *resync, int error)
{
    resync->retry_at = 0;
    if (!error) {
        resync->enumerate = false;
    } else {
        link_resync_retry(resync, error, LINK_NSID_LOCAL, &resync->retry_at);
    }
    return false;
}

static bool
link_resync_end(struct link_resync *resync, int error)
{
    if (error != EINTR) {
        resync->n_interrupted = 0;
    }
    switch (resync->task) {
    case LINK_TASK_OWN:
        return link_resync_end_own(resync, error);
    case LINK_TASK_CONFIRM:
        return link_resync_end_confirm(resync, error);
    case LINK_TASK_IDS:
        return link_resync_end_ids(resync, error);
    case LINK_TASK_FOREIGN:
        resync->retry_at = 0;
        link_resync_end_foreign(resync, resync->dump.nsid, error);
        return false;
    }
    OVS_NOT_REACHED();
}

/* Running. */

/* Chooses the next task.  Returns false if there is none, or it is too
 * early. */
static bool
link_resync_choose(struct link_resync *resync, int32_t *nsid)
{
    long long int now = time_msec();

    if (now >= link_resync_next__(resync, nsid)) {
        if (*nsid == LINK_NSID_LOCAL && !resync->own_stage) {
            resync->tried_at = now;
        }
        resync->task = (*nsid == LINK_NSID_LOCAL ? LINK_TASK_OWN
                        : resync->enumerate ? LINK_TASK_IDS
                        : LINK_TASK_FOREIGN);
        return true;
    } else if (now >= link_resync_confirm_next(resync)) {
        resync->task = LINK_TASK_CONFIRM;
        resync->tried_at = now;
        resync->confirm_stage = link_resync_next_unconfirmed(resync, 0);
        return true;
    }
    return false;
}

/* Starts the dump that the task needs, as link_dump_begin() does. */
static int
link_resync_begin(struct link_resync *resync, int32_t nsid)
{
    enum link_reason reason = (resync->active ? resync->reason
                               : LINK_REASON_NAMESPACE);
    struct link_dump *dump = &resync->dump;

    switch (resync->task) {
    case LINK_TASK_OWN:
        return link_dump_begin(dump, own_stages[resync->own_stage],
                               LINK_NSID_LOCAL, resync->own_dumps > 0,
                               reason);
    case LINK_TASK_CONFIRM:
        return link_dump_begin(dump, own_stages[resync->confirm_stage],
                               LINK_NSID_LOCAL, false, reason);
    case LINK_TASK_IDS:
        return link_dump_begin(dump, LINK_DUMP_NSIDS, LINK_NSID_LOCAL, false,
                               reason);
    case LINK_TASK_FOREIGN:
        return link_dump_begin(dump, LINK_DUMP_LINKS, nsid, false, reason);
    }
    OVS_NOT_REACHED();
}

/* Processes parts of the dump in progress, or starts the one that the task
 * needs, until the task is done or no parts are left for this turn.  The end
 * of a stage that took several turns has many links to remove and to announce,
 * so the next stage waits for the next turn. */
static void
link_resync_work(struct link_resync *resync, int32_t nsid)
{
    bool is_long = resync->dump.active && resync->task == LINK_TASK_OWN;
    int error = EINPROGRESS;

    do {
        if (!resync->dump.active) {
            error = link_resync_begin(resync, nsid);
        }
        while (error == EINPROGRESS && resync->parts) {
            resync->parts--;
            error = link_dump_continue(&resync->dump);
            if (error == EINPROGRESS && resync->dump.complete) {
                return;
            }
        }
    } while (error != EINPROGRESS && link_resync_end(resync, error)
             && !is_long);
}

void
link_resync_allow(struct link_resync *resync, unsigned int parts)
{
    resync->parts = parts;
}

bool
link_resync_run(struct link_resync *resync, bool idle)
{
    int32_t nsid = LINK_NSID_NONE;

    link_resync_poll(resync);
    if (!resync->parts
        || (resync->dump.active && resync->dump.complete && !idle)
        || (!resync->dump.active && !link_resync_choose(resync, &nsid))) {
        return false;
    }
    if (resync->task != LINK_TASK_OWN || !resync->asking
        || link_resync_advance_own(resync)) {
        link_resync_work(resync, nsid);
    }
    return true;
}
