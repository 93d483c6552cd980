/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "coverage.h"
#include "link/link-event.h"
#include "link/link-request.h"
#include "link/link-resync.h"
#include "link/link-socket.h"
#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_listener);

COVERAGE_DEFINE(link_overrun);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

struct link_listener {
    struct link_replica replica;
    struct link_resync resync;
    struct link_socket *sock;   /* Of events. */
    long long int event_at;     /* When the last event was taken... */
    long long int current_at;   /* ...and when the tables were last current,
                                 * and all events taken; milliseconds. */
    bool lossy;                 /* The socket is to be drained. */
    bool idle;                  /* The socket was seen empty, at the end of the
                                 * last run. */
};

static int
link_listener_open_socket(struct link_listener *listener, bool all_nsid,
                          int rcvbuf)
{
    struct link_replica *replica = &listener->replica;
    unsigned int groups[8] = {
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NSID,
    };
    size_t n = 4;
    int error;

    if (replica->routes) {
        groups[n++] = RTNLGRP_IPV4_ROUTE;
        groups[n++] = RTNLGRP_IPV6_ROUTE;
        groups[n++] = RTNLGRP_NEXTHOP;
    }
    if (replica->qdiscs) {
        groups[n++] = RTNLGRP_TC;
    }
    error = link_socket_open(groups, n, rcvbuf ? rcvbuf : LINK_RCVBUF,
                             all_nsid, &replica->stats, &listener->sock);
    if (!error) {
        replica->all_nsid = link_socket_has_all_nsid(listener->sock);
    }
    return error;
}

int
link_listener_open(struct link_table *table,
                   const struct link_listener_options *options,
                   struct link_listener **listenerp)
{
    static const struct link_listener_options defaults;
    struct link_listener *listener = xzalloc(sizeof *listener);
    int error;

    *listenerp = NULL;
    options = options ? options : &defaults;
    link_replica_init(&listener->replica, table, options->addrs,
                      options->routes, options->qdiscs);
    if (options->on_demand) {
        link_table_set_on_demand(table);
    }
    link_resync_init(&listener->resync, &listener->replica);
    error = link_listener_open_socket(listener, !options->own_namespace_only,
                                      options->rcvbuf);
    if (!error) {
        error = link_replica_connect(&listener->replica);
    }
    if (error) {
        link_listener_close(listener);
        return error;
    }

    listener->event_at = listener->current_at = time_msec();
    link_request_self_nsid(&listener->replica);
    link_resync_start(&listener->resync, LINK_REASON_START);
    *listenerp = listener;
    return 0;
}

void
link_listener_close(struct link_listener *listener)
{
    if (listener) {
        link_socket_close(listener->sock);
        link_replica_uninit(&listener->replica);
        free(listener);
    }
}

struct link_table *
link_listener_table(const struct link_listener *listener)
{
    return listener->replica.table;
}

int32_t
link_listener_self_nsid(const struct link_listener *listener)
{
    return listener->replica.self_nsid;
}

/* Receiving. */

static void
link_listener_lose(struct link_listener *listener, int error)
{
    struct link_replica *replica = &listener->replica;

    if (error == ENOBUFS) {
        COVERAGE_INC(link_overrun);
        replica->stats.overruns++;
        link_table_count_overrun(replica->table);
    } else if (error == EMSGSIZE) {
        replica->stats.truncated++;
    }
    VLOG_WARN_RL(&rl, "events of links were lost (%s); all links are asked "
                 "for anew", ovs_strerror(error));

    /* After a message that was cut short come others that were not, none of
     * which is missing. */
    listener->lossy = error != EMSGSIZE;
    link_resync_start(&listener->resync, LINK_REASON_LOSS);
}

static void
link_listener_take(const struct nlmsghdr *nlh, int32_t tag, void *listener_)
{
    struct link_listener *listener = listener_;

    listener->event_at = time_msec();
    link_event_take(&listener->replica, nlh, tag);
}

/* Takes events, '*budget' datagrams at most, until there are none. */
static void
link_listener_receive_some(struct link_listener *listener,
                           unsigned int *budget)
{
    int error = 0;

    for (; *budget && !error; --*budget) {
        error = link_socket_receive(listener->sock, link_listener_take,
                                    listener);
    }
    listener->idle = error == EAGAIN;
    if (error && error != EAGAIN) {
        link_listener_lose(listener, error);
    }
}

/* Running. */

/* True if all events were taken, and none is known to be missing. */
static bool
link_listener_has_all(const struct link_listener *listener)
{
    return listener->idle && !listener->lossy;
}

void
link_listener_run(struct link_listener *listener)
{
    unsigned int budget = LINK_RUN_DATAGRAMS;

    /* Events first, so that what they tell does not replace what a dump told
     * that is newer. */
    if (!listener->lossy) {
        link_listener_receive_some(listener, &budget);
    }
    if (listener->lossy) {
        if (!link_socket_drain(listener->sock, &budget)) {
            return;
        }
        listener->lossy = false;
    }
    if (link_resync_run(&listener->resync)) {
        link_listener_receive_some(listener, &budget);
    }
    if (link_listener_has_all(listener)) {
        link_resync_run_routes(&listener->resync);
    }
    if (link_listener_is_current(listener)) {
        link_resync_finish(&listener->resync);
        if (listener->idle) {
            listener->current_at = time_msec();
        }
    }
}

void
link_listener_wait(struct link_listener *listener)
{
    long long int next = link_resync_next(&listener->resync);

    if (!link_listener_has_all(listener)) {
        poll_immediate_wake();
        return;
    }
    next = MIN(next, link_resync_routes_next(&listener->resync));
    if (!next) {
        poll_immediate_wake();
        return;
    }
    if (next != LLONG_MAX) {
        poll_timer_wait_until(next);
    }
    poll_fd_wait(link_socket_fd(listener->sock), POLLIN);
}

bool
link_listener_catch_up(struct link_listener *listener)
{
    /* That many runs take what a full socket holds. */
    int n_runs = (link_socket_capacity(listener->sock) / LINK_RUN_DATAGRAMS
                  + LINK_INTERRUPTED_MAX);
    bool current;

    do {
        link_listener_run(listener);
        current = (!listener->lossy
                   && !link_table_is_pending(listener->replica.table,
                                             LINK_NSID_LOCAL));
    } while (n_runs--
             && (!listener->idle
                 || (!current && !link_resync_own_waits(&listener->resync))));
    return current;
}

void
link_listener_resync(struct link_listener *listener)
{
    link_resync_start(&listener->resync, LINK_REASON_ASKED);
}

bool
link_listener_is_current(const struct link_listener *listener)
{
    return !listener->lossy && link_resync_is_done(&listener->resync);
}

bool
link_listener_is_idle(const struct link_listener *listener)
{
    return listener->idle;
}

void
link_listener_get_lag(const struct link_listener *listener,
                      struct link_listener_lag *lag)
{
    long long int now = time_msec();

    lag->event_age = now - listener->event_at;
    lag->current_age = now - listener->current_at;
    link_socket_get_backlog(listener->sock, &lag->backlog, &lag->rcvbuf);
}

void
link_listener_get_stats(const struct link_listener *listener,
                        struct link_listener_stats *stats)
{
    *stats = listener->replica.stats;
    stats->lost = link_socket_lost(listener->sock);
}
