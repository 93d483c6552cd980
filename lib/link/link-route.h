/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_ROUTE_H
#define KDP_LINK_ROUTE_H 1

/* Routes of the kernel
 * ====================
 *
 * Nothing here keeps routes.  A user asks the kernel for the route to one
 * address when it needs it, and looks again when routes may have changed.  So
 * neither the number of routes nor the rate at which they change matters.
 *
 * A question (link_route_ask()) is one RTM_GETROUTE request.  The kernel looks
 * up its own tables for it: rules, next hop objects, routes with several next
 * hops and gateways of another address family are its business, and the answer
 * has the source address that it would choose.  It does not take the RTNL
 * lock.
 *
 * A watch (struct link_route_watch) says when to look again.  It has a socket
 * of its own, so that a flood of routes loses no event of a link.  A filter in
 * the kernel drops what happens in routing tables other than default, main and
 * local, before it takes room or wakes anybody.  What the socket receives is
 * not parsed: one message says as much as a thousand.  So its receive buffer
 * is small, and an overrun is no loss.
 *
 * Bound: routes are looked at again at once after a change, and then not
 * before LINK_ROUTE_WATCH_MS have passed, which holds for all changes that
 * come meanwhile.  The process sleeps during that time.
 *
 * What is not noticed: a change in another table that a rule leads to.  The
 * next question has its result; until something else changes, nobody asks.
 *
 * Thread safety: a watch belongs to one thread.  A question belongs to the
 * owner of the connection.
 *
 * Failure: functions that return an int return 0 or a positive errno value. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct link_route_watch;
struct nl_conn;
struct nlmsghdr;

/* Least time between two looks at the routes, in milliseconds.  A look asks
 * for the route of each tunnel, in some 10 microseconds: with 1,000 tunnels
 * and routes that change all the time that is 1 % of a CPU. */
#define LINK_ROUTE_WATCH_MS 1000

/* The way to an address.  IPv4 addresses are mapped to IPv6. */
struct link_route {
    int ifindex;                /* Of the device, above 0. */
    bool local;                 /* The address is the host's own. */
    struct in6_addr gateway;    /* All zeros without one. */
    struct in6_addr source;     /* All zeros if the kernel names none. */
};

/* Asks the kernel on 'conn' for the route of packets to 'dst' that have 'mark'
 * and, unless it is NULL, the source address 'src'.  The device of one of the
 * host's own addresses is the one that has the address.  Returns 0 and fills
 * '*route', or a positive errno value: ENETUNREACH, EHOSTUNREACH and the like
 * if there is no route. */
int link_route_ask(struct nl_conn *conn, uint32_t mark,
                   const struct in6_addr *dst, const struct in6_addr *src,
                   struct link_route *route);

/* Parses the answer 'nlh', of which all bytes must be there.  Returns 0, or
 * EINVAL if it is malformed or no route that packets can take. */
int link_route_parse(const struct nlmsghdr *nlh, struct link_route *route);

/* Opens a watch.  Returns 0 and stores it, owned by the caller, in '*watchp',
 * or returns a positive errno value and stores NULL. */
int link_route_watch_open(struct link_route_watch **watchp);

/* Closes 'watch', which may be NULL. */
void link_route_watch_close(struct link_route_watch *watch);

/* Returns true if routes may have changed since the last time that it did, and
 * it is time to look at them. */
bool link_route_watch_run(struct link_route_watch *);

/* Notes another change that may change routes, such as of a link. */
void link_route_watch_note(struct link_route_watch *);

/* Arranges for poll_block() to wake up when link_route_watch_run() may return
 * true. */
void link_route_watch_wait(const struct link_route_watch *);

#endif /* lib/link/link-route.h */
