/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "coverage.h"
#include "link/link-addr.h"
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

COVERAGE_DEFINE(link_event);
COVERAGE_DEFINE(link_event_malformed);
COVERAGE_DEFINE(link_overrun);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Events. */

/* Requests our own id, if it is unknown: one may have been assigned. */
static void
link_event_check_self(struct link_replica *replica)
{
    if (replica->self_nsid == LINK_NSID_NONE) {
        link_request_self_nsid(replica);
    }
}

/* True if events that are tagged with 'tag' are of our own namespace. */
static bool
link_event_is_own(struct link_replica *replica, int32_t tag)
{
    if (tag != LINK_NSID_NONE && tag != replica->self_nsid
        && !link_table_has_ns(replica->table, tag)) {
        link_event_check_self(replica);
        if (tag != replica->self_nsid) {
            link_table_add_ns(replica->table, tag);
        }
    }
    return tag == LINK_NSID_NONE || tag == replica->self_nsid;
}

static void
link_event_take_nsid(struct link_replica *replica,
                     enum link_msg_type type, int32_t nsid)
{
    if (nsid == LINK_NSID_NONE || !replica->all_nsid) {
        /* Our own events are not tagged unless we listen to others, too. */
        return;
    }
    if (type == LINK_MSG_NEWNSID) {
        link_event_check_self(replica);
        if (nsid != replica->self_nsid) {
            /* If it is there, an event with its tag came first, or the event
             * that ends the id's previous namespace is still to come. */
            link_table_add_ns(replica->table, nsid);
        }
    } else if (nsid != replica->self_nsid) {
        link_table_drop_ns(replica->table, nsid);

        /* The kernel frees an id before it announces that.  Another namespace
         * may already have it, and this may be the later of two messages.  If
         * the request fails, the next dump of its links finds out. */
        if (link_request_nsid_exists(replica, nsid) != ENOENT) {
            link_event_check_self(replica);
            if (nsid != replica->self_nsid) {
                link_table_add_ns(replica->table, nsid);
            }
        }
    }
}

static void
link_event_take_link(struct link_replica *replica, int32_t nsid,
                     const struct nlmsghdr *nlh, struct link_msg *msg)
{
    struct link_view *view = &msg->link;

    if (view->family != AF_UNSPEC) {
        replica->stats.ignored_port++;
        return;
    }
    link_table_count_event(replica->table, nsid);
    if (!view->partial) {
        link_newer_note(&replica->newer, nlh, nsid, view->ifindex);
    }
    if (msg->type == LINK_MSG_DELLINK) {
        replica->n_removed += nsid == LINK_NSID_LOCAL;
        link_table_remove(replica->table, nsid, view->ifindex);
        return;
    }
    link_replica_update_link(replica, nsid, view);
}

/* Handles an event of our own namespace that is not about a link itself. */
static void
link_event_take_other(struct link_replica *replica,
                      const struct link_msg *msg)
{
    switch (msg->type) {
    case LINK_MSG_NEWADDR:
    case LINK_MSG_DELADDR:
        if (replica->addrs) {
            link_addrs_update(replica->addrs, &msg->addr,
                              msg->type == LINK_MSG_DELADDR);
        }
        link_replica_tell_addrs(replica, msg->addr.ifindex);
        break;
    case LINK_MSG_NEWQDISC:
    case LINK_MSG_DELQDISC:
        if (replica->qdiscs) {
            link_qdiscs_update(replica->qdiscs, &msg->qdisc,
                               msg->type == LINK_MSG_DELQDISC);
        }
        break;
    case LINK_MSG_NEWTCLASS:
    case LINK_MSG_DELTCLASS:
        if (replica->qdiscs) {
            link_qdiscs_class_changed(replica->qdiscs, msg->qdisc.ifindex);
        }
        break;
    case LINK_MSG_NEWNSID:
    case LINK_MSG_DELNSID:
        link_event_take_nsid(replica, msg->type, msg->nsid);
        break;
    case LINK_MSG_NEWLINK:
    case LINK_MSG_DELLINK:
    case LINK_N_MSGS:
        OVS_NOT_REACHED();
    }
}

/* Parses and counts 'nlh'.  Returns false if it is to be ignored. */
static bool
link_event_parse(struct link_replica *replica, const struct nlmsghdr *nlh,
                 struct link_msg *msg)
{
    int error = link_msg_parse(nlh, nlh->nlmsg_len, msg);

    if (error == ENOMSG) {
        replica->stats.events_other++;
        return false;
    } else if (error) {
        COVERAGE_INC(link_event_malformed);
        replica->stats.malformed++;
        VLOG_WARN_RL(&rl, "malformed rtnetlink message of type %"PRIu16
                     " (%"PRIu32" bytes) is skipped",
                     nlh->nlmsg_type, nlh->nlmsg_len);
        return false;
    }
    COVERAGE_INC(link_event);
    replica->stats.events[msg->type]++;
    return true;
}

/* Handles the event 'nlh' of our own namespace. */
static void
link_event_take_own(struct link_replica *replica, const struct nlmsghdr *nlh)
{
    struct link_msg msg;

    if (!link_event_parse(replica, nlh, &msg)) {
        return;
    }
    if (msg.type <= LINK_MSG_DELADDR) {
        replica->changed_at = time_msec();
    }
    if (msg.type == LINK_MSG_NEWLINK || msg.type == LINK_MSG_DELLINK) {
        link_event_take_link(replica, LINK_NSID_LOCAL, nlh, &msg);
    } else {
        link_newer_note(&replica->newer, nlh, LINK_NSID_LOCAL, 0);
        link_event_take_other(replica, &msg);
    }
}

/* Handles the event 'nlh' from the socket of other namespaces, with the id
 * 'tag', or LINK_NSID_NONE if it has no tag. */
static void
link_event_take_others(struct link_replica *replica,
                       const struct nlmsghdr *nlh, int32_t tag)
{
    bool is_link = (nlh->nlmsg_type == RTM_NEWLINK
                    || nlh->nlmsg_type == RTM_DELLINK);
    bool is_nsid = (nlh->nlmsg_type == RTM_NEWNSID
                    || nlh->nlmsg_type == RTM_DELNSID);
    struct link_msg msg;

    if (link_event_is_own(replica, tag)) {
        if (!is_nsid) {
            replica->stats.ignored_own++;
        } else if (link_event_parse(replica, nlh, &msg)) {
            link_newer_note(&replica->newer, nlh, LINK_NSID_LOCAL, msg.nsid);
            link_event_take_nsid(replica, msg.type, msg.nsid);
        }
    } else if (!is_link || link_table_skips(replica->table, tag)) {
        /* Skipped without parsing. */
        replica->stats.ignored_foreign++;
    } else if (link_event_parse(replica, nlh, &msg)) {
        link_event_take_link(replica, tag, nlh, &msg);
    }
}

/* Sockets. */

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

bool
link_listener_own_is_idle(const struct link_listener *listener)
{
    return listener->sources[LINK_SOURCE_OWN].idle;
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
    if (link_resync_run(&listener->resync,
                        link_listener_own_is_idle(listener))) {
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
