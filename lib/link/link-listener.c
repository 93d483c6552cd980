/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <limits.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "coverage.h"
#include "link/link-event.h"
#include "link/link-qdisc.h"
#include "link/link-replica.h"
#include "link/link-resync.h"
#include "link/link-table.h"
#include "nl/nl-mcast.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_listener);

COVERAGE_DEFINE(link_overrun);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* A socket of events. */
struct link_source {
    struct link_listener *listener;
    struct nl_mcast *sock;      /* NULL if there is none. */
    bool others;                /* Events of other namespaces, not of ours. */
    bool lossy;                 /* The socket is to be drained. */
    bool idle;                  /* The socket was seen empty at the end of the
                                 * last run. */
};

enum { LINK_SOURCE_OWN, LINK_SOURCE_OTHERS, LINK_N_SOURCES };

struct link_listener {
    struct link_replica replica;
    struct link_resync resync;
    struct link_source sources[LINK_N_SOURCES];
    long long int event_at;     /* When the last event was received... */
    long long int current_at;   /* ...and when the tables were last current and
                                 * all events processed; milliseconds. */
};

#define LINK_FOR_EACH_SOURCE(SOURCE, LISTENER)                          \
    for (SOURCE = (LISTENER)->sources;                                  \
         SOURCE < &(LISTENER)->sources[LINK_N_SOURCES]; SOURCE++)       \
        if ((SOURCE)->sock)

/* Types of messages that matter in our own namespace.  The group of traffic
 * control also announces filters, including every offloaded rule. */
static const uint16_t own_types[] = {
    RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR, RTM_NEWQDISC,
    RTM_DELQDISC, RTM_NEWTCLASS, RTM_DELTCLASS,
};

/* Types of messages that matter in other namespaces. */
static const uint16_t other_types[] = {
    RTM_NEWLINK, RTM_DELLINK, RTM_NEWNSID, RTM_DELNSID,
};

/* Opens the socket for events of our own namespace. */
static int
link_listener_open_own(struct link_listener *listener, int rcvbuf)
{
    struct link_source *source = &listener->sources[LINK_SOURCE_OWN];
    struct link_replica *replica = &listener->replica;
    unsigned int groups[4] = {
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
    };
    size_t n = 3;

    if (replica->qdiscs) {
        groups[n++] = RTNLGRP_TC;
    }
    return nl_mcast_open(NETLINK_ROUTE, &(struct nl_mcast_options) {
        .groups = groups, .n_groups = n,
        .types = own_types, .n_types = ARRAY_SIZE(own_types),
        .rcvbuf = rcvbuf,
    }, &source->sock);
}

/* Opens the socket for events of other namespaces.  A process without the
 * privilege for that has none. */
static int
link_listener_open_others(struct link_listener *listener, int rcvbuf)
{
    static const unsigned int groups[] = { RTNLGRP_LINK, RTNLGRP_NSID };
    struct link_source *source = &listener->sources[LINK_SOURCE_OTHERS];
    int error;

    error = nl_mcast_open(NETLINK_ROUTE, &(struct nl_mcast_options) {
        .groups = groups, .n_groups = ARRAY_SIZE(groups),
        .types = other_types, .n_types = ARRAY_SIZE(other_types),
        .rcvbuf = rcvbuf,
    }, &source->sock);
    if (error) {
        return error;
    }
    error = nl_mcast_listen_all_nsid(source->sock);
    if (error) {
        VLOG_WARN("listening to other network namespaces is not permitted "
                  "(%s); those that contain devices of ports are listed every "
                  "%d ms", ovs_strerror(error), LINK_POLL_MS);
        nl_mcast_close(source->sock);
        source->sock = NULL;
    }
    listener->replica.all_nsid = source->sock != NULL;
    return 0;
}

int
link_listener_open(struct link_table *table,
                   const struct link_listener_options *options,
                   struct link_listener **listenerp)
{
    static const struct link_listener_options defaults;
    struct link_listener *listener = xzalloc(sizeof *listener);
    int rcvbuf, error;

    *listenerp = NULL;
    options = options ? options : &defaults;
    rcvbuf = options->rcvbuf ? options->rcvbuf : LINK_RCVBUF;
    for (int i = 0; i < LINK_N_SOURCES; i++) {
        listener->sources[i].listener = listener;
        listener->sources[i].others = i == LINK_SOURCE_OTHERS;
    }
    link_replica_init(&listener->replica, table, options->addrs,
                      options->qdiscs);
    if (options->on_demand) {
        link_table_set_on_demand(table);
    }
    link_resync_init(&listener->resync, &listener->replica);
    error = link_listener_open_own(listener, rcvbuf);
    if (!error && !options->own_namespace_only) {
        error = link_listener_open_others(listener, rcvbuf);
    }
    if (!error) {
        error = link_replica_connect(&listener->replica);
    }
    if (error) {
        link_listener_close(listener);
        return error;
    }

    link_resync_allow(&listener->resync, LINK_TURN_PARTS);
    listener->event_at = listener->current_at = time_msec();
    link_request_self_nsid(&listener->replica);
    link_resync_start(&listener->resync, LINK_REASON_START, LINK_RESYNC_ALL);
    *listenerp = listener;
    return 0;
}

void
link_listener_close(struct link_listener *listener)
{
    if (listener) {
        for (int i = 0; i < LINK_N_SOURCES; i++) {
            nl_mcast_close(listener->sources[i].sock);
        }
        link_resync_uninit(&listener->resync);
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
link_source_lose(struct link_source *source, int error)
{
    struct link_listener *listener = source->listener;

    if (error == ENOBUFS) {
        COVERAGE_INC(link_overrun);
        link_table_count_overrun(listener->replica.table, source->others);
    }
    VLOG_WARN_RL(&rl, "events of links were lost (%s); listing all links in "
                 "%s again", ovs_strerror(error),
                 source->others ? "other namespaces" : "our namespace");

    /* After a message that was cut short, the next ones are complete and none
     * is missing. */
    source->lossy = error != EMSGSIZE;
    link_resync_start(&listener->resync, LINK_REASON_LOSS,
                      source->others ? LINK_RESYNC_OTHERS : LINK_RESYNC_OWN);
}

static void
link_source_take(const struct nlmsghdr *nlh, int32_t tag, void *source_)
{
    struct link_source *source = source_;
    struct link_listener *listener = source->listener;

    listener->event_at = time_msec();
    if (source->others) {
        link_event_take_others(&listener->replica, nlh, tag);
    } else {
        link_event_take_own(&listener->replica, nlh);
    }
}

/* Processes events, at most '*budget' datagrams, until there are none. */
static void
link_source_receive(struct link_source *source, unsigned int *budget)
{
    int error = nl_mcast_recv_all(source->sock, budget, link_source_take,
                                  source);

    source->idle = error == EAGAIN;
    if (error && error != EAGAIN) {
        link_source_lose(source, error);
    }
}

/* Processes events of the sources that are not lossy. */
static void
link_listener_receive(struct link_listener *listener)
{
    struct link_source *source;

    LINK_FOR_EACH_SOURCE (source, listener) {
        unsigned int budget = LINK_RUN_DATAGRAMS;

        if (!source->lossy) {
            link_source_receive(source, &budget);
        }
    }
}

/* Drains lossy sockets.  Returns true if all of them are empty. */
static bool
link_listener_drain(struct link_listener *listener)
{
    struct link_source *source;
    bool drained = true;

    LINK_FOR_EACH_SOURCE (source, listener) {
        unsigned int budget = LINK_RUN_DATAGRAMS;

        source->lossy = (source->lossy
                         && !nl_mcast_drain(source->sock, &budget));
        drained &= !source->lossy;
    }
    return drained;
}

/* Running. */

static bool
link_listener_is_lossy(const struct link_listener *listener)
{
    return (listener->sources[LINK_SOURCE_OWN].lossy
            || listener->sources[LINK_SOURCE_OTHERS].lossy);
}

bool
link_listener_is_idle(const struct link_listener *listener)
{
    const struct link_source *source;

    LINK_FOR_EACH_SOURCE (source, listener) {
        if (!source->idle) {
            return false;
        }
    }
    return true;
}

/* True if all events were processed, and none is known to be missing. */
static bool
link_listener_has_all(const struct link_listener *listener)
{
    return (link_listener_is_idle(listener)
            && !link_listener_is_lossy(listener));
}

static void
link_listener_run__(struct link_listener *listener)
{
    /* Events come first, so that an older event does not replace newer
     * information from a dump. */
    link_listener_receive(listener);
    if (!link_listener_drain(listener)) {
        return;
    }
    if (link_resync_run(&listener->resync)) {
        link_listener_receive(listener);
    }
    if (link_listener_is_current(listener)) {
        link_resync_finish(&listener->resync);
        if (link_listener_is_idle(listener)) {
            listener->current_at = time_msec();
        }
    }
}

void
link_listener_run(struct link_listener *listener)
{
    link_resync_allow(&listener->resync, LINK_TURN_PARTS);
    link_listener_run__(listener);
}

void
link_listener_wait(struct link_listener *listener)
{
    struct link_source *source;
    long long int next = link_resync_next(&listener->resync);

    if (!link_listener_has_all(listener)) {
        poll_immediate_wake();
        return;
    }
    if (!next) {
        poll_immediate_wake();
        return;
    }
    if (next != LLONG_MAX) {
        poll_timer_wait_until(next);
    }
    LINK_FOR_EACH_SOURCE (source, listener) {
        poll_fd_wait(nl_mcast_fd(source->sock), POLLIN);
    }
}

bool
link_listener_catch_up(struct link_listener *listener)
{
    /* So many runs process the content of a full socket. */
    const struct link_source *own = &listener->sources[LINK_SOURCE_OWN];
    int n_runs = (nl_mcast_capacity(own->sock) / LINK_RUN_DATAGRAMS
                  + LINK_INTERRUPTED_MAX);
    struct link_resync *resync = &listener->resync;
    bool current;

    if (!resync->filled) {
        link_resync_allow(resync, UINT_MAX);
    }
    do {
        link_listener_run__(listener);
        current = (!own->lossy
                   && !link_table_is_pending(listener->replica.table,
                                             LINK_NSID_LOCAL));
    } while (n_runs--
             && (!link_listener_is_idle(listener)
                 || (!current && resync->parts
                     && !link_resync_own_waits(resync))));
    resync->parts = MIN(resync->parts, LINK_TURN_PARTS);
    return current;
}

void
link_listener_resync(struct link_listener *listener)
{
    link_resync_start(&listener->resync, LINK_REASON_ASKED, LINK_RESYNC_ALL);
}

void
link_listener_follow_qdiscs(struct link_listener *listener, bool follow)
{
    struct link_source *own = &listener->sources[LINK_SOURCE_OWN];
    struct link_replica *replica = &listener->replica;
    int error;

    if (!replica->qdiscs || follow == replica->qdiscs_followed) {
        return;
    }
    error = nl_mcast_set_member(own->sock, RTNLGRP_TC, follow);
    if (error) {
        VLOG_WARN_RL(&rl, "%s the group of traffic control failed (%s); "
                     "queueing disciplines are %s as before",
                     follow ? "joining" : "leaving", ovs_strerror(error),
                     follow ? "unknown" : "followed");
        return;
    }
    replica->qdiscs_followed = follow;
    link_qdiscs_follow(replica->qdiscs, follow);
    if (follow) {
        link_resync_ask_qdiscs(&listener->resync);
    }
}

bool
link_listener_is_current(const struct link_listener *listener)
{
    return (!link_listener_is_lossy(listener)
            && link_resync_is_done(&listener->resync));
}

void
link_listener_get_lag(const struct link_listener *listener,
                      struct link_listener_lag *lag)
{
    const struct link_source *source;
    long long int now = time_msec();

    lag->event_age = now - listener->event_at;
    lag->current_age = now - listener->current_at;
    lag->backlog = lag->rcvbuf = 0;
    LINK_FOR_EACH_SOURCE (source, listener) {
        uint32_t backlog, rcvbuf;

        nl_mcast_get_backlog(source->sock, &backlog, &rcvbuf);
        lag->backlog += backlog;
        lag->rcvbuf += rcvbuf;
    }
}

void
link_listener_get_stats(const struct link_listener *listener,
                        struct link_listener_stats *stats)
{
    const struct link_source *source;

    *stats = listener->replica.stats;
    LINK_FOR_EACH_SOURCE (source, listener) {
        struct nl_mcast_stats received;

        nl_mcast_get_stats(source->sock, &received);
        stats->overruns += received.overruns;
        stats->lost += received.lost;
        stats->truncated += received.truncated;
        stats->drained += received.drained;
        stats->ignored_sender += received.ignored_sender;
        stats->malformed += received.malformed;
    }
}
