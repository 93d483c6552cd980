/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-resync.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-request.h"
#include "link/link-table.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_resync);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Milliseconds until a dump that failed is repeated, and until one is that
 * was interrupted more than a few times in a row.  Changes come so fast then
 * that the next would be interrupted too, and it would take the RTNL lock, so
 * that time doubles with each, so many times. */
#define LINK_RETRY_MS 1000
#define LINK_INTERRUPTED_MS 100
#define LINK_INTERRUPTED_DOUBLINGS 6

/* Stages of asking for our own namespace. */
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

/* Ends the dump that is under way if it is about 'what', or if it stands in
 * the way of that: our own namespace comes first. */
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

/* How requests end. */

/* Takes note of the failure of a request about 'nsid', which is to be repeated
 * at '*retry_at'. */
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

/* Takes note of how the dump of another namespace's links ended. */
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
                     "asked for (%s); they are known by events alone",
                     nsid, ovs_strerror(error));
        replica->stats.refused++;
        link_table_set_stale(replica->table, nsid, error);
        break;

    case EINVAL:
    case ENOENT:
        /* There is no such namespace any more, or the kernel is too old. */
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
        /* Others first. */
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

/* When to try to confirm what is provisional, or LLONG_MAX. */
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

/* When to ask for other namespaces again, which nothing is announced of, or
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

/* Asks one by one for the links that no interrupted dump told of.  Returns
 * true if all were asked for, false if that goes on later. */
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
            /* It stays until a dump confirms what there is. */
            return true;
        }
    }
    return n < ARRAY_SIZE(ifindexes);
}

/* Sets when to try next to confirm what is provisional. */
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

/* How dumps end.  Each of the following functions returns true if there is
 * more of the same to be asked for. */

/* A stage of our own namespace is done but for links to be asked for.  Goes on
 * with the next stage if there are none. */
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

/* The dump of what is provisional of our own namespace did. */
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

/* Chooses what to ask for.  Returns false if there is nothing, or it is not
 * time. */
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

/* Begins the dump that the task calls for, as link_dump_begin() does. */
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

/* Takes parts of the dump that is under way, or begins the one that the task
 * calls for, and goes on until the task is done or no parts are left.  Where a
 * stage took several turns, there is much to remove and to tell at its end,
 * and the next stage waits for the next turn. */
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
link_resync_run(struct link_resync *resync)
{
    int32_t nsid = LINK_NSID_NONE;

    link_resync_poll(resync);
    if (!resync->parts
        || (!resync->dump.active && !link_resync_choose(resync, &nsid))) {
        return false;
    }
    if (resync->task != LINK_TASK_OWN || !resync->asking
        || link_resync_advance_own(resync)) {
        link_resync_work(resync, nsid);
    }
    return true;
}
