/* SPDX-License-Identifier: Apache-2.0 */

/* What the listener asks of our own namespace. */

#include <config.h>
#include "link/link-listener-private.h"

#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "timeval.h"
#include "util.h"

/* A request is a header alone. */
#define LINK_LOCAL_REQUEST_SIZE 64

static int
link_dump_other_reply(const struct nlmsghdr *nlh, void *listener_)
{
    struct link_listener *listener = listener_;
    const struct link_listener_options *options = &listener->options;
    struct link_msg msg;

    if (link_msg_parse(nlh, nlh->nlmsg_len, &msg)) {
        listener->stats.malformed++;
    } else if (msg.type == LINK_MSG_NEWADDR) {
        link_addrs_update(options->addrs, &msg.addr, false);
    } else if (msg.type == LINK_MSG_NEWROUTE) {
        link_routes_update(options->routes, &msg.route, false);
    } else if (msg.type == LINK_MSG_NEWQDISC) {
        link_qdiscs_update(options->qdiscs, &msg.qdisc, false);
    }
    return 0;
}

/* Makes a request of 'type', in whose header the address family comes first.
 * What of the answer could not be understood is taken not to be there: it
 * would not be understood the next time, either. */
static int
link_dump_other(struct link_listener *listener, uint16_t type, size_t hdrlen,
                enum link_reason reason)
{
    char buf[LINK_LOCAL_REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    mnl_nlmsg_put_extra_header(nlh, hdrlen);

    listener->stats.rtnl[reason]++;
    return nl_conn_transact(listener->conn, nlh, link_dump_other_reply,
                            listener);
}

static int
link_dump_addrs(struct link_listener *listener, enum link_reason reason)
{
    struct link_addrs *addrs = listener->options.addrs;

    link_addrs_mark(addrs);
    int error = link_dump_other(listener, RTM_GETADDR,
                                sizeof(struct ifaddrmsg), reason);
    if (!error) {
        link_addrs_sweep(addrs);
    }
    return error;
}

static int
link_dump_routes(struct link_listener *listener, enum link_reason reason)
{
    struct link_routes *routes = listener->options.routes;
    long long int start = time_msec();

    link_routes_mark(routes);
    int error = link_dump_other(listener, RTM_GETROUTE, sizeof(struct rtmsg),
                                reason);
    if (!error) {
        link_routes_sweep(routes);
    }

    long long int end = time_msec();
    listener->routes_at = end + MAX(LINK_ROUTES_MS,
                                    (end - start) * LINK_ROUTES_REST);
    return error;
}

static int
link_dump_qdiscs(struct link_listener *listener, enum link_reason reason)
{
    struct link_qdiscs *qdiscs = listener->options.qdiscs;

    link_qdiscs_mark(qdiscs);
    int error = link_dump_other(listener, RTM_GETQDISC, sizeof(struct tcmsg),
                                reason);
    if (!error) {
        link_qdiscs_sweep(qdiscs);
    }
    return error;
}

int
link_dump_local(struct link_listener *listener, enum link_reason reason)
{
    const struct link_listener_options *options = &listener->options;
    int error = link_dump_links(listener, LINK_NSID_LOCAL, reason);

    if (!error && options->addrs) {
        error = link_dump_addrs(listener, reason);
    }
    if (!error && options->routes) {
        error = link_dump_routes(listener, reason);
    }
    if (!error && options->qdiscs) {
        error = link_dump_qdiscs(listener, reason);
    }
    return error;
}

long long int
link_dump_routes_next(const struct link_listener *listener)
{
    const struct link_routes *routes = listener->options.routes;

    /* As long as there are events, the routes are likely to be stale again
     * right after they were asked for. */
    if (!routes || listener->lossy || !listener->idle
        || link_table_is_pending(listener->table, LINK_NSID_LOCAL)
        || !link_routes_is_stale(routes)) {
        return LLONG_MAX;
    }
    return MAX(listener->own_retry_at, listener->routes_at);
}

void
link_dump_stale_routes(struct link_listener *listener)
{
    struct link_routes *routes = listener->options.routes;
    int error;

    if (routes && listener->idle) {
        link_routes_settle(routes);
    }
    if (time_msec() < link_dump_routes_next(listener)) {
        return;
    }
    listener->own_retry_at = 0;
    error = link_dump_routes(listener, LINK_REASON_ROUTES);
    if (error) {
        link_dump_retry(listener, error, LINK_NSID_LOCAL,
                        &listener->own_retry_at);
    } else {
        listener->n_interrupted = 0;
    }
}
