/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-resync.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "link/link-request.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_resync);

COVERAGE_DEFINE(link_dump);

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
    LINK_OWN_ROUTES,
    LINK_OWN_QDISCS,
    LINK_OWN_N_STAGES
};

void
link_resync_init(struct link_resync *resync, struct link_replica *replica)
{
    memset(resync, 0, sizeof *resync);
    resync->replica = replica;
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
    if (what & LINK_RESYNC_OTHERS && resync->replica->all_nsid) {
        resync->enumerate = true;
        resync->retry_at = 0;
        link_table_set_others_pending(table);
    }
    if (what & LINK_RESYNC_OWN) {
        resync->own_retry_at = 0;
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
    const struct link_routes *routes = resync->replica->routes;
    int32_t nsid;

    return (!resync->enumerate && !resync->unconfirmed
            && !link_table_next_pending(resync->replica->table, &nsid)
            && (!routes || !link_routes_is_stale(routes)));
}

void
link_resync_ask_qdiscs(struct link_resync *resync)
{
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

long long int
link_resync_next(const struct link_resync *resync)
{
    int32_t nsid;

    return MIN(link_resync_next__(resync, &nsid),
               link_resync_confirm_next(resync));
}

static int
link_resync_request_routes(struct link_resync *resync, enum link_reason reason)
{
    long long int start = time_msec();
    int error = link_request_routes(resync->replica, reason);
    long long int end = time_msec();

    resync->routes_at = end + MAX(LINK_ROUTES_MS,
                                  (end - start) * LINK_ROUTES_REST);
    return error;
}

/* Makes the dump of 'stage'.  With 'again', what the last one told of links
 * counts, too. */
static int
link_resync_dump(struct link_resync *resync, enum link_own_stage stage,
                 bool again, enum link_reason reason)
{
    struct link_replica *replica = resync->replica;
    int error = 0;

    switch (stage) {
    case LINK_OWN_LINKS:
        error = link_request_links(replica, LINK_NSID_LOCAL, again, reason);
        break;
    case LINK_OWN_ADDRS:
        error = link_request_addrs(replica, reason);
        break;
    case LINK_OWN_ROUTES:
        error = link_resync_request_routes(resync, reason);
        break;
    case LINK_OWN_QDISCS:
        error = link_request_qdiscs(replica, reason);
        break;
    case LINK_OWN_N_STAGES:
        OVS_NOT_REACHED();
    }
    replica->stats.interrupted += error == EINTR;
    return error;
}

/* Asks one by one for the links that no interrupted dump told of. */
static void
link_resync_ask_unseen(struct link_resync *resync, enum link_reason reason)
{
    struct link_replica *replica = resync->replica;
    int ifindexes[LINK_ASK_MAX];
    size_t n = link_table_get_unseen(replica->table, LINK_NSID_LOCAL,
                                     ifindexes, LINK_ASK_MAX);

    for (size_t i = 0; i < n; i++) {
        if (link_request_link(replica, ifindexes[i], reason)) {
            return;
        }
    }
}

/* Sets when to try next to confirm what is provisional. */
static void
link_resync_plan_confirmation(struct link_resync *resync)
{
    resync->tried_at = time_msec();
    resync->confirm_at = resync->tried_at + resync->confirm_wait;
    resync->confirm_wait = MIN(2 * resync->confirm_wait, LINK_CONFIRM_MAX_MS);
}

/* Asks for all that is kept of our own namespace. */
static int
link_resync_own(struct link_resync *resync, enum link_reason reason)
{
    struct link_replica *replica = resync->replica;

    resync->own_retry_at = 0;
    while (resync->own_stage < LINK_OWN_N_STAGES) {
        enum link_own_stage stage = resync->own_stage;
        int error = link_resync_dump(resync, stage, resync->own_dumps > 0,
                                     reason);

        if (error == EINTR && ++resync->own_dumps < LINK_UNION_DUMPS) {
            return error;
        } else if (error == EINTR) {
            resync->unconfirmed |= 1u << stage;
            if (stage == LINK_OWN_LINKS) {
                link_resync_ask_unseen(resync, reason);
            }
        } else if (error) {
            link_resync_retry(resync, error, LINK_NSID_LOCAL,
                              &resync->own_retry_at);
            return error;
        }
        if (!error) {
            resync->unconfirmed &= ~(1u << stage);
        }
        resync->own_stage++;
        resync->own_dumps = 0;
    }

    resync->own_stage = 0;
    resync->confirm_wait = LINK_CONFIRM_MS;
    link_resync_plan_confirmation(resync);
    link_table_set_current(replica->table, LINK_NSID_LOCAL);
    link_replica_tell_addrs(replica, 0);
    return 0;
}

/* Tries to confirm what is provisional of our own namespace. */
static void
link_resync_confirm(struct link_resync *resync, enum link_reason reason)
{
    for (int stage = 0; stage < LINK_OWN_N_STAGES; stage++) {
        unsigned int bit = 1u << stage;

        if (resync->unconfirmed & bit
            && !link_resync_dump(resync, stage, false, reason)) {
            resync->unconfirmed &= ~bit;
            if (stage == LINK_OWN_ADDRS) {
                link_replica_tell_addrs(resync->replica, 0);
            }
        }
    }
    link_resync_plan_confirmation(resync);
}

static int
link_resync_ids(struct link_resync *resync, enum link_reason reason)
{
    int error;

    resync->retry_at = 0;
    error = link_request_nsids(resync->replica, reason);
    if (!error) {
        resync->enumerate = false;
    } else {
        link_resync_retry(resync, error, LINK_NSID_LOCAL, &resync->retry_at);
    }
    return error;
}

static int
link_resync_foreign(struct link_resync *resync, int32_t nsid,
                    enum link_reason reason)
{
    int error;

    resync->retry_at = 0;
    error = link_request_links(resync->replica, nsid, false, reason);
    link_resync_end_foreign(resync, nsid, error);
    return error;
}

bool
link_resync_run(struct link_resync *resync)
{
    enum link_reason reason = (resync->active ? resync->reason
                               : LINK_REASON_NAMESPACE);
    int32_t nsid;
    int error;

    if (time_msec() < link_resync_next__(resync, &nsid)) {
        if (time_msec() < link_resync_confirm_next(resync)) {
            return false;
        }
        COVERAGE_INC(link_dump);
        link_resync_confirm(resync, reason);
        return true;
    }

    COVERAGE_INC(link_dump);
    error = (nsid == LINK_NSID_LOCAL ? link_resync_own(resync, reason)
             : resync->enumerate ? link_resync_ids(resync, reason)
             : link_resync_foreign(resync, nsid, reason));
    if (error != EINTR) {
        resync->n_interrupted = 0;
    }
    return true;
}

long long int
link_resync_routes_next(const struct link_resync *resync)
{
    const struct link_routes *routes = resync->replica->routes;

    if (!routes
        || link_table_is_pending(resync->replica->table, LINK_NSID_LOCAL)
        || !link_routes_is_stale(routes)) {
        return LLONG_MAX;
    }
    return MAX(resync->own_retry_at, resync->routes_at);
}

void
link_resync_run_routes(struct link_resync *resync)
{
    struct link_routes *routes = resync->replica->routes;
    int error;

    if (routes) {
        link_routes_check_stale(routes);
    }
    if (time_msec() < link_resync_routes_next(resync)) {
        return;
    }
    resync->own_retry_at = 0;
    error = link_resync_request_routes(resync, LINK_REASON_ROUTES);
    if (error) {
        link_resync_retry(resync, error, LINK_NSID_LOCAL,
                          &resync->own_retry_at);
    } else {
        resync->n_interrupted = 0;
    }
}
