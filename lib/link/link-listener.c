/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-listener-private.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "coverage.h"
#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_listener);

COVERAGE_DEFINE(link_event);
COVERAGE_DEFINE(link_event_malformed);
COVERAGE_DEFINE(link_overrun);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Receive buffer at first, which holds any event of a link with fewer than a
 * hundred alternative names, and at most. */
#define LINK_BUF_SIZE (32 * 1024)
#define LINK_BUF_MAX (1024 * 1024)

/* Kernel memory that the smallest of messages takes, or less: with that a
 * receive buffer's size bounds the number of messages in it. */
#define LINK_TRUESIZE_MIN 512

const char *
link_reason_name(enum link_reason reason)
{
    switch (reason) {
    case LINK_REASON_START: return "start";
    case LINK_REASON_LOSS: return "loss";
    case LINK_REASON_NAMESPACE: return "namespace";
    case LINK_REASON_ASKED: return "asked";
    case LINK_REASON_ROUTES: return "routes";
    case LINK_N_REASONS: break;
    }
    OVS_NOT_REACHED();
}

/* Starts to take all anew.  If that is being done already, what was done is
 * not counted on. */
static void
link_listener_start(struct link_listener *listener, enum link_reason reason)
{
    if (!listener->resyncing) {
        listener->resyncing = true;
        listener->resync_start = time_usec();
        listener->reason = reason;
    } else if (reason == LINK_REASON_LOSS) {
        listener->reason = reason;
    }
    listener->enumerate = listener->all_nsid;
    listener->own_retry_at = listener->retry_at = 0;
    link_table_add_ns(listener->table, LINK_NSID_LOCAL);
    link_table_set_all_pending(listener->table);
}

/* Sizes the receive buffer of 'listener' to 'size' bytes. */
static void
link_listener_set_rcvbuf(struct link_listener *listener, int size)
{
    int fd = mnl_socket_get_fd(listener->sock);
    socklen_t len = sizeof listener->rcvbuf;

    /* Without the privilege to exceed the system's limit, the limit. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &listener->rcvbuf, &len)) {
        listener->rcvbuf = 2 * size;
    }
}

static int
link_listener_open_socket(struct link_listener *listener)
{
    const struct link_listener_options *options = &listener->options;
    const unsigned int groups[] = {
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NSID,
        options->routes ? RTNLGRP_IPV4_ROUTE : RTNLGRP_NONE,
        options->routes ? RTNLGRP_IPV6_ROUTE : RTNLGRP_NONE,
        options->qdiscs ? RTNLGRP_TC : RTNLGRP_NONE,
    };
    int on = 1;
    int error;

    listener->sock = mnl_socket_open2(NETLINK_ROUTE,
                                      SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!listener->sock
        || mnl_socket_bind(listener->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        return errno;
    }
    link_listener_set_rcvbuf(listener, (options->rcvbuf ? options->rcvbuf
                                        : LINK_RCVBUF));
    if (!options->own_namespace_only) {
        listener->all_nsid = !mnl_socket_setsockopt(
            listener->sock, NETLINK_LISTEN_ALL_NSID, &on, sizeof on);
        if (!listener->all_nsid) {
            VLOG_WARN("listening to other network namespaces is not permitted "
                      "(%s); only the links of our own are known",
                      ovs_strerror(errno));
        }
    }
    error = link_filter_attach(mnl_socket_get_fd(listener->sock));
    for (size_t i = 0; i < ARRAY_SIZE(groups) && !error; i++) {
        unsigned int group = groups[i];

        if (group != RTNLGRP_NONE
            && mnl_socket_setsockopt(listener->sock, NETLINK_ADD_MEMBERSHIP,
                                     &group, sizeof group) < 0) {
            error = errno;
        }
    }
    return error;
}

/* What goes with a link of ours. */
static void
link_listener_changed(const struct link_change *change, void *listener_)
{
    struct link_listener *listener = listener_;
    const struct link_listener_options *options = &listener->options;
    bool gone = (change->what & LINK_CHANGE_GONE) != 0;
    int ifindex = change->link->ifindex;

    if (gone && options->addrs) {
        link_addrs_remove_link(options->addrs, ifindex);
    }
    if (gone && options->qdiscs) {
        link_qdiscs_remove_link(options->qdiscs, ifindex);
    }
    if (options->routes && (gone || !(change->link->flags & IFF_UP))) {
        link_routes_link_down(options->routes, ifindex);
    }
}

int
link_listener_open(struct link_table *table,
                   const struct link_listener_options *options,
                   struct link_listener **listenerp)
{
    struct link_listener *listener = xzalloc(sizeof *listener);
    int error;

    *listenerp = NULL;
    listener->table = table;
    if (options) {
        listener->options = *options;
    }
    listener->subscription = link_table_subscribe(
        table, LINK_NSID_LOCAL, LINK_CHANGE_GONE | LINK_CHANGE_FLAGS,
        link_listener_changed, listener);
    listener->self_nsid = LINK_NSID_NONE;
    listener->buf_size = LINK_BUF_SIZE;
    listener->buf = xmalloc(listener->buf_size);
    error = link_listener_open_socket(listener);
    if (!error) {
        error = nl_conn_open(NETLINK_ROUTE, &listener->conn);
    }
    if (error) {
        link_listener_close(listener);
        return error;
    }

    link_ask_self_nsid(listener);
    link_listener_start(listener, LINK_REASON_START);
    *listenerp = listener;
    return 0;
}

void
link_listener_close(struct link_listener *listener)
{
    if (listener) {
        if (listener->sock) {
            mnl_socket_close(listener->sock);
        }
        nl_conn_close(listener->conn);
        link_table_unsubscribe(listener->subscription);
        free(listener->buf);
        free(listener);
    }
}

struct link_table *
link_listener_table(const struct link_listener *listener)
{
    return listener->table;
}

int32_t
link_listener_self_nsid(const struct link_listener *listener)
{
    return listener->self_nsid;
}

/* Namespaces. */

/* Asks for our own id, if it is not known: one has turned up. */
static void
link_listener_check_self(struct link_listener *listener)
{
    if (listener->self_nsid == LINK_NSID_NONE) {
        link_ask_self_nsid(listener);
    }
}

/* Returns the key of the namespace whose events are tagged with 'tag'. */
static int32_t
link_listener_namespace(struct link_listener *listener, int32_t tag)
{
    if (tag == LINK_NSID_NONE || tag == listener->self_nsid) {
        return LINK_NSID_LOCAL;
    }
    if (!link_table_has_ns(listener->table, tag)) {
        link_listener_check_self(listener);
        if (tag == listener->self_nsid) {
            return LINK_NSID_LOCAL;
        }
        link_table_add_ns(listener->table, tag);
    }
    return tag;
}

static void
link_listener_take_nsid(struct link_listener *listener,
                        enum link_msg_type type, int32_t nsid)
{
    if (nsid == LINK_NSID_NONE || !listener->all_nsid) {
        /* Our own events are not tagged unless we listen to others too. */
        return;
    }
    if (type == LINK_MSG_NEWNSID) {
        link_listener_check_self(listener);
        if (nsid != listener->self_nsid) {
            /* If it is there, a tag was faster, or the end of the namespace
             * that had the id before is yet to come. */
            link_table_add_ns(listener->table, nsid);
        }
    } else if (nsid != listener->self_nsid) {
        link_table_drop_ns(listener->table, nsid);

        /* The kernel frees an id before it says so: another namespace may have
         * got it, and this may be the later of the two messages.  Without an
         * answer that will turn out when its links are asked for. */
        if (link_ask_nsid_exists(listener, nsid) != ENOENT) {
            link_listener_check_self(listener);
            if (nsid != listener->self_nsid) {
                link_table_add_ns(listener->table, nsid);
            }
        }
    }
}

/* Events. */

static void
link_listener_take_link(struct link_listener *listener, int32_t nsid,
                        struct link_msg *msg)
{
    struct link_view *view = &msg->link;

    if (view->family != AF_UNSPEC) {
        listener->stats.ignored_port++;
        return;
    }
    link_table_count_event(listener->table, nsid);
    if (msg->type == LINK_MSG_DELLINK) {
        link_table_remove(listener->table, nsid, view->ifindex);
        return;
    }
    if (nsid != LINK_NSID_LOCAL && view->lower_nsid != LINK_NSID_SAME) {
        /* By the ids of that namespace, which are not ours. */
        view->lower_nsid = LINK_NSID_OTHER;
    }
    link_table_update(listener->table, nsid, view);
}

/* Takes an event of our own namespace that is not about a link itself. */
static void
link_listener_take_other(struct link_listener *listener,
                         const struct link_msg *msg)
{
    const struct link_listener_options *options = &listener->options;

    switch (msg->type) {
    case LINK_MSG_NEWADDR:
    case LINK_MSG_DELADDR:
        if (options->addrs) {
            link_addrs_update(options->addrs, &msg->addr,
                              msg->type == LINK_MSG_DELADDR);
        }
        if (options->routes && msg->type == LINK_MSG_DELADDR) {
            link_routes_addr_gone(options->routes, &msg->addr,
                                  !options->addrs
                                  || !link_addrs_has_ipv4(options->addrs,
                                                          msg->addr.ifindex));
        }
        link_table_addrs_changed(listener->table, LINK_NSID_LOCAL,
                                 msg->addr.ifindex);
        break;
    case LINK_MSG_NEWROUTE:
    case LINK_MSG_DELROUTE:
        if (options->routes) {
            link_routes_update(options->routes, &msg->route,
                               msg->type == LINK_MSG_DELROUTE);
        }
        break;
    case LINK_MSG_NEWQDISC:
    case LINK_MSG_DELQDISC:
        if (options->qdiscs) {
            link_qdiscs_update(options->qdiscs, &msg->qdisc,
                               msg->type == LINK_MSG_DELQDISC);
        }
        break;
    case LINK_MSG_NEWNSID:
    case LINK_MSG_DELNSID:
        link_listener_take_nsid(listener, msg->type, msg->nsid);
        break;
    case LINK_MSG_NEWLINK:
    case LINK_MSG_DELLINK:
    case LINK_N_MSGS:
        OVS_NOT_REACHED();
    }
}

/* Takes one event, tagged with namespace id 'tag'. */
static void
link_listener_take(struct link_listener *listener, const struct nlmsghdr *nlh,
                   int32_t tag)
{
    struct link_msg msg;
    int error = link_msg_parse(nlh, nlh->nlmsg_len, &msg);

    if (error == ENOMSG) {
        listener->stats.events_other++;
        return;
    } else if (error) {
        COVERAGE_INC(link_event_malformed);
        listener->stats.malformed++;
        VLOG_WARN_RL(&rl, "malformed rtnetlink message of type %"PRIu16
                     " (%"PRIu32" bytes) is skipped",
                     nlh->nlmsg_type, nlh->nlmsg_len);
        return;
    }

    COVERAGE_INC(link_event);
    listener->stats.events[msg.type]++;
    int32_t nsid = link_listener_namespace(listener, tag);
    if (msg.type == LINK_MSG_NEWLINK || msg.type == LINK_MSG_DELLINK) {
        link_listener_take_link(listener, nsid, &msg);
    } else if (nsid == LINK_NSID_LOCAL) {
        link_listener_take_other(listener, &msg);
    } else {
        listener->stats.ignored_foreign++;
    }
}

/* Returns the tag of the datagram that came with 'msg'. */
static int32_t
link_listener_tag(struct msghdr *msg)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg;
         cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level == SOL_NETLINK
            && cmsg->cmsg_type == NETLINK_LISTEN_ALL_NSID
            && cmsg->cmsg_len == CMSG_LEN(sizeof(int))) {
            int nsid;

            memcpy(&nsid, CMSG_DATA(cmsg), sizeof nsid);
            return nsid;
        }
    }
    return LINK_NSID_NONE;
}

/* Receives a datagram.  Returns 0, EAGAIN if there is none, ENOBUFS or
 * EMSGSIZE if something was lost, or another positive errno value. */
static int
link_listener_receive(struct link_listener *listener)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int)) * 4];
    } control;
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    struct iovec iov = { listener->buf, listener->buf_size };
    struct msghdr msg = {
        .msg_name = &addr, .msg_namelen = sizeof addr,
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof control,
    };
    ssize_t n;

    do {
        n = recvmsg(mnl_socket_get_fd(listener->sock), &msg,
                    MSG_DONTWAIT | MSG_TRUNC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno;
    }
    if (addr.nl_pid) {
        listener->stats.ignored_sender++;
        return 0;
    }
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        if ((size_t) n > listener->buf_size && n <= LINK_BUF_MAX) {
            free(listener->buf);
            listener->buf_size = ROUND_UP(n, LINK_BUF_SIZE);
            listener->buf = xmalloc(listener->buf_size);
        }
        return EMSGSIZE;
    }

    int32_t tag = link_listener_tag(&msg);
    const struct nlmsghdr *nlh = (const struct nlmsghdr *) listener->buf;
    int left = n;
    for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
        if (nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
            link_listener_take(listener, nlh, tag);
        }
    }
    if (left > 0) {
        listener->stats.malformed++;
    }
    return 0;
}

/* Loss. */

static void
link_listener_lose(struct link_listener *listener, int error)
{
    if (error == ENOBUFS) {
        COVERAGE_INC(link_overrun);
        listener->stats.overruns++;
        link_table_count_overrun(listener->table);
    } else if (error == EMSGSIZE) {
        listener->stats.truncated++;
    }
    VLOG_WARN_RL(&rl, "events of links were lost (%s); all links are asked "
                 "for anew", ovs_strerror(error));

    /* After a message that was cut short come others that were not, none of
     * which is missing. */
    listener->lossy = error != EMSGSIZE;
    link_listener_start(listener, LINK_REASON_LOSS);
}

/* Throws away what waits on the socket, '*budget' datagrams at most.  Returns
 * true once the socket was seen empty.
 *
 * After an overrun the kernel queues nothing before the socket is empty, so
 * there is an end to what is older than the loss. */
static bool
link_listener_drain(struct link_listener *listener, unsigned int *budget)
{
    for (; *budget; --*budget) {
        char byte;
        ssize_t n = recv(mnl_socket_get_fd(listener->sock), &byte, 1,
                         MSG_DONTWAIT | MSG_TRUNC);

        if (n >= 0) {
            listener->stats.drained++;
        } else if (errno == EAGAIN) {
            listener->lossy = false;
            return true;
        } else if (errno == ENOBUFS) {
            listener->stats.overruns++;
        }
    }
    return false;
}

static void
link_listener_finish(struct link_listener *listener)
{
    uint64_t duration = time_usec() - listener->resync_start;
    struct link_listener_stats *stats = &listener->stats;

    listener->resyncing = false;
    stats->resyncs++;
    stats->resync_last = duration;
    stats->resync_total += duration;
    stats->resync_max = MAX(stats->resync_max, duration);
}

/* Running. */

/* Takes events, '*budget' datagrams at most, until there are none. */
static void
link_listener_receive_some(struct link_listener *listener,
                           unsigned int *budget)
{
    int error = 0;

    for (; *budget && !error; --*budget) {
        error = link_listener_receive(listener);
    }
    listener->idle = error == EAGAIN;
    if (error && error != EAGAIN) {
        link_listener_lose(listener, error);
    }
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
    if (listener->lossy && !link_listener_drain(listener, &budget)) {
        return;
    }
    if (link_dump(listener)) {
        link_listener_receive_some(listener, &budget);
    }
    link_dump_stale_routes(listener);
    if (listener->resyncing && link_listener_is_current(listener)) {
        link_listener_finish(listener);
    }
}

void
link_listener_wait(struct link_listener *listener)
{
    int32_t nsid;
    long long int next = MIN(link_dump_next(listener, &nsid),
                             link_dump_routes_next(listener));

    if (!listener->idle || listener->lossy || !next) {
        poll_immediate_wake();
        return;
    }
    if (next != LLONG_MAX) {
        poll_timer_wait_until(next);
    }
    poll_fd_wait(mnl_socket_get_fd(listener->sock), POLLIN);
}

bool
link_listener_catch_up(struct link_listener *listener)
{
    /* That many runs take what a full socket holds. */
    int n_runs = (listener->rcvbuf / LINK_TRUESIZE_MIN / LINK_RUN_DATAGRAMS
                  + LINK_INTERRUPTED_MAX);
    bool current;

    do {
        link_listener_run(listener);
        current = (!listener->lossy
                   && !link_table_is_pending(listener->table,
                                             LINK_NSID_LOCAL));
    } while (n_runs-- && (!listener->idle
                          || (!current && !listener->own_retry_at)));
    return current;
}

void
link_listener_resync(struct link_listener *listener)
{
    link_listener_start(listener, LINK_REASON_ASKED);
}

bool
link_listener_is_current(const struct link_listener *listener)
{
    const struct link_routes *routes = listener->options.routes;
    int32_t nsid;

    return (!listener->lossy && !listener->enumerate
            && !link_table_next_pending(listener->table, &nsid)
            && (!routes || !link_routes_is_stale(routes)));
}

bool
link_listener_is_idle(const struct link_listener *listener)
{
    return listener->idle;
}

void
link_listener_get_stats(const struct link_listener *listener,
                        struct link_listener_stats *stats)
{
    uint32_t meminfo[SK_MEMINFO_VARS];
    socklen_t len = sizeof meminfo;

    *stats = listener->stats;
    if (!getsockopt(mnl_socket_get_fd(listener->sock), SOL_SOCKET, SO_MEMINFO,
                    meminfo, &len)
        && len > SK_MEMINFO_DROPS * sizeof *meminfo) {
        stats->lost = meminfo[SK_MEMINFO_DROPS];
    }
}
