/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_ROUTE_H
#define KDP_LINK_ROUTE_H 1

/* Routes
 * ======
 *
 * The unicast and local routes of our own network namespace, of all tables of
 * the kernel, that have one next hop.  A writer, usually a listener
 * (link-listener.h), enters what the kernel says.  Readers get copies.
 *
 * Some routes go without an event:
 *
 *   - When a device goes down or away, or an address goes, the kernel removes
 *     IPv4 routes.  It removes IPv6 routes in silence, too, if
 *     net.ipv6.conf.all.skip_notify_on_dev_down is set.
 *
 *   - When one of several next hops goes, the kernel does not say what is
 *     left.
 *
 *   - When a next hop object (ip-nexthop(8)) goes, the kernel removes its IPv4
 *     routes.  When a group of them changes, it speaks of the group, and of
 *     none of the routes.
 *
 *   - When a device loses its carrier, the kernel removes the next hop objects
 *     that use the device, without an event, and their IPv4 routes.
 *
 * In such a case the table becomes stale: its writer has to enter all routes
 * anew.  So it does when the kernel speaks of a route that ought to be here
 * and is not, and when one goes of several that differ in nothing that is
 * kept.  A device or an object without routes makes nothing stale.
 *
 * Life cycle: as of addresses (link-addr.h).
 *
 * Thread safety: any thread may read; all else belongs to the thread that
 * writes.
 *
 * Loss: the table does not know what its writer missed. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-dest.h"
#include "link/link-msg.h"

struct link_routes;

struct link_route {
    struct in6_addr dst;        /* IPv4 addresses are mapped to IPv6... */
    uint8_t dst_len;            /* ...and their prefix lengths, too. */
    struct in6_addr gateway;    /* All zeros without one. */
    struct in6_addr source;     /* Preferred one; all zeros without. */
    int ifindex;                /* Above 0. */
    uint32_t mark;
    uint32_t table;             /* RT_TABLE_*. */
    uint32_t priority;          /* Metric: the lowest is preferred. */
    bool local;                 /* The destination is the host itself. */
};

/* The destination that 'route' leads to. */
struct link_dest_key link_route_dest(const struct link_route *route);

struct link_routes *link_routes_create(void);
void link_routes_destroy(struct link_routes *);

/* Enters, or removes if 'gone', the route that 'view' describes, as an event
 * says. */
void link_routes_update(struct link_routes *,
                        const struct link_route_view *view, bool gone);

/* Enters a route that there is, as an answer says that tells all of them. */
void link_routes_enter(struct link_routes *,
                       const struct link_route_view *view);

/* Enters what link_routes_update() was told already: an older message about
 * the same route may have been entered since. */
void link_routes_correct(struct link_routes *,
                         const struct link_route_view *view, bool gone);

/* Note that link 'ifindex' went down or away, that it lost its carrier, or
 * that an address went, which may have been the 'last' IPv4 address of its
 * link.  The kernel may be about to announce what went with it. */
void link_routes_link_down(struct link_routes *, int ifindex);
void link_routes_carrier_lost(struct link_routes *, int ifindex);
void link_routes_addr_gone(struct link_routes *, const struct link_addr_view *,
                           bool last);

/* Notes that next hop object 'id' came, became another, or is 'gone'. */
void link_routes_nexthop_changed(struct link_routes *, uint32_t id, bool gone);

/* To be called when all events up to now were entered.  The table becomes
 * stale if it still has routes of a link that went down, routes of next hop
 * objects through a link that lost its carrier, IPv4 routes of a link that lost
 * its last IPv4 address, routes that prefer as their source an address that
 * went, or routes of a next hop object that went. */
void link_routes_check_stale(struct link_routes *);

bool link_routes_is_stale(const struct link_routes *);

/* Makes the table stale. */
void link_routes_doubt(struct link_routes *);

/* Between the two, link_routes_enter() for each route that there is; then the
 * others are removed.  From the first on the table is not stale any more,
 * unless something makes it so. */
void link_routes_mark(struct link_routes *);
void link_routes_sweep(struct link_routes *);

/* Changes.  Who follows the routes, the writer's thread, takes notice of each
 * destination whose routes have changed, once (link-dest.h).  What it finds
 * under that stays the same until the next change.
 *
 * link_routes_touch_link() notes what leads through a link that has another
 * name or other addresses now. */
bool link_routes_next_changed(struct link_routes *,
                              struct link_dest_key *dest, int *touched);
bool link_routes_has_changed(const struct link_routes *);
void link_routes_touch_link(struct link_routes *, int ifindex);

/* Stores in '*route' the route to 'dest' that is preferred to all but 'i'
 * others.  Returns false if there are no more than 'i'. */
bool link_routes_get_nth(const struct link_routes *,
                         const struct link_dest_key *dest, size_t i,
                         struct link_route *route);

/* Returns all routes, in no particular order, and their number in '*n'.  The
 * caller frees the array. */
struct link_route *link_routes_get(const struct link_routes *, size_t *n);

size_t link_routes_count(const struct link_routes *);

/* Routes that readers do not get to see.  All but the first are numbers of
 * messages since the start. */
struct link_routes_stats {
    size_t hidden;              /* Kept, with a next hop object that stands for
                                 * several next hops or for none. */
    uint64_t several;           /* With several next hops. */
    uint64_t type;              /* Neither unicast nor local, or to be used by
                                 * nobody. */
    uint64_t no_device;         /* Without a device. */
    uint64_t cached;            /* Entries of a cache. */
};
void link_routes_get_stats(const struct link_routes *,
                           struct link_routes_stats *);

/* True if there is a route through link 'ifindex'. */
bool link_routes_has_link(const struct link_routes *, int ifindex);

/* Changes with every change. */
uint64_t link_routes_seqno(const struct link_routes *);

#endif /* lib/link/link-route.h */
