/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_DEST_H
#define KDP_LINK_DEST_H 1

/* Destinations of routes
 * ======================
 *
 * Several routes may lead to one destination: those of different tables of the
 * kernel, metrics and links.  A destination has its routes in the order of
 * preference, and is noted when one of them comes, goes, or may mean something
 * else because its link has changed.  Who follows the routes takes these notes
 * one by one.  So what a change costs depends neither on the number of routes
 * nor on that of links.
 *
 * Preference: the local table of the kernel comes first, the main one after
 * it, then all others, such as those of VRFs.  Within a table the lowest
 * metric does; of routes that are equal, that of the link with the highest
 * index.
 *
 * Life cycle: link_dests_init(), link_dests_uninit() when it has no routes.  A
 * destination is there while it has routes, and after that until nobody is
 * left who was told of it and not of its end.
 *
 * Thread safety: none.  The owner (link-route.h) holds its lock over each
 * call.
 *
 * Failure: none. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"

struct link_dest;

struct link_dest_key {
    struct in6_addr dst;        /* IPv4 addresses are mapped to IPv6... */
    uint8_t dst_len;            /* ...and their prefix lengths, too. */
    bool local;                 /* The host itself. */
    uint32_t mark;
};

/* What a route is known by here.  A member of the route.  The caller fills in
 * the first three. */
struct link_dest_route {
    int ifindex;                /* Above 0. */
    uint32_t table;             /* RT_TABLE_*. */
    uint32_t priority;          /* Metric. */
    struct link_dest *dest;
    struct ovs_list link_node;  /* Among the routes of its link. */
};

struct link_dests {
    struct hmap dests;          /* Of struct link_dest. */
    struct hmap links;          /* Of struct link_dest_link. */
    struct ovs_list changed;    /* Of struct link_dest. */
};

void link_dests_init(struct link_dests *);
void link_dests_uninit(struct link_dests *);

/* Adds 'route' to the routes to 'key', or removes it from where it is. */
void link_dests_insert(struct link_dests *, const struct link_dest_key *key,
                       struct link_dest_route *route);
void link_dests_remove(struct link_dests *, struct link_dest_route *route);

/* Notes all destinations that have routes through link 'ifindex'. */
void link_dests_touch_link(struct link_dests *, int ifindex);

/* Stores in '*key' a destination that was noted, and in '*touched' the link of
 * it that has changed, LINK_DEST_SEVERAL if there are several, or 0, and
 * returns true; or returns false if there is none.  The note is gone after
 * that. */
bool link_dests_next_changed(struct link_dests *, struct link_dest_key *key,
                             int *touched);
#define LINK_DEST_SEVERAL (-1)
bool link_dests_has_changed(const struct link_dests *);

/* Returns the route to 'key' that is preferred to all but 'i' others, or NULL
 * if there is none. */
const struct link_dest_route *link_dests_get(const struct link_dests *,
                                             const struct link_dest_key *key,
                                             size_t i);

#endif /* lib/link/link-dest.h */
