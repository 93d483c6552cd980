/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_ROUTE_H
#define KDP_LINK_ROUTE_H 1

/* Routes of the kernel
 * ====================
 *
 * This module stores no routes.  A user requests the route to an address when
 * it needs it, and again when routes may have changed.  So neither the number
 * of routes nor the rate at which they change matters.
 *
 * link_route_ask() sends one RTM_GETROUTE request.  The kernel looks the
 * address up as it does for packets, including rules, next hop objects, routes
 * with several next hops and gateways of another address family.  The answer
 * has the source address that the kernel would choose.  The request does not
 * take the RTNL lock.
 *
 * A watch (struct link_route_watch) says when to request routes again.  It has
 * its own socket, so that a flood of routes loses no event of a link.  A
 * filter in the kernel drops changes of routing tables other than default,
 * main and local before they take room or wake the process.  Received messages
 * are not parsed, as one message means the same as a thousand.  So the receive
 * buffer is small, and an overrun is no loss.
 *
 * Bound: the watch reports the first change at once, and the changes after it
 * together when LINK_ROUTE_WATCH_MS have passed.  The process sleeps during
 * that time.
 *
 * Limit: the watch does not report changes in other tables that a rule leads
 * to.  The next request sees them.
 *
 * Thread safety: a watch belongs to one thread.  A request belongs to the
 * owner of its connection.
 *
 * Failure: functions that return an int return 0 or a positive errno value. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct link_route_watch;
struct nl_conn;
struct nlmsghdr;

/* Least time between two reports of a watch, in milliseconds.  After a report
 * the user requests the route of each tunnel, in some 10 microseconds: with
 * 1,000 tunnels and constant changes that is 1 % of a CPU. */
#define LINK_ROUTE_WATCH_MS 1000

/* The route to an address.  IPv4 addresses are mapped to IPv6. */
struct link_route {
    int ifindex;                /* Of the device, above 0. */
    bool local;                 /* The address is the host's own. */
    struct in6_addr gateway;    /* All zeros without one. */
    struct in6_addr source;     /* All zeros if the kernel names none. */
};

/* Requests on 'conn' the route of packets to 'dst' that have 'mark' and,
 * unless 'src' is NULL, that source address.  If 'dst' is the host's own
 * address, the device is the one that has it.  Returns 0 and fills '*route',
 * or a positive errno value, such as ENETUNREACH or EHOSTUNREACH if there is
 * no route. */
int link_route_ask(struct nl_conn *conn, uint32_t mark,
                   const struct in6_addr *dst, const struct in6_addr *src,
                   struct link_route *route);

/* Parses the complete answer 'nlh'.  Returns 0, or EINVAL if it is malformed
 * or not a route that packets can take. */
int link_route_parse(const struct nlmsghdr *nlh, struct link_route *route);

/* Opens a watch.  Returns 0 and stores it, owned by the caller, in '*watchp',
 * or returns a positive errno value and stores NULL. */
int link_route_watch_open(struct link_route_watch **watchp);

/* Closes 'watch', which may be NULL. */
void link_route_watch_close(struct link_route_watch *watch);

/* Returns true if routes may have changed since it last returned true, and
 * LINK_ROUTE_WATCH_MS have passed since then. */
bool link_route_watch_run(struct link_route_watch *);

/* Notes a change elsewhere that may affect routes, such as a link event. */
void link_route_watch_note(struct link_route_watch *);

/* Arranges for poll_block() to wake up when link_route_watch_run() may return
 * true. */
void link_route_watch_wait(const struct link_route_watch *);

#endif /* lib/link/link-route.h */
