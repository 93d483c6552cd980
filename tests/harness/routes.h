/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_ROUTES_H
#define HARNESS_ROUTES_H 1

/* Addresses, routes and queueing disciplines, for unit tests
 * ==========================================================
 *
 * Operations on them in a network namespace (netns.h), which return 0 or the
 * kernel's positive errno value, and the comparison of tables with the
 * kernel's state.  The comparison parses the kernel's answers itself, not with
 * the parser under test. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_addrs;
struct link_qdiscs;
struct unit_ns;

/* Adds or deletes address "ADDRESS/LENGTH", or makes the kernel announce it
 * again. */
int unit_ip_add(struct unit_ns *, int ifindex, const char *address);
int unit_ip_renew(struct unit_ns *, int ifindex, const char *address);
int unit_ip_del(struct unit_ns *, int ifindex, const char *address);

/* A route.  Members that are 0 or NULL are left out of the request. */
struct unit_route {
    const char *dst;            /* "ADDRESS/LENGTH". */
    const char *gateway;
    const char *source;         /* Preferred one. */
    int ifindex;
    int ifindex2;               /* Of a second next hop, which makes the route
                                 * a multipath route... */
    const char *gateway2;       /* ...and its gateway. */
    uint32_t nh_id;             /* An object instead of the next hop. */
    uint32_t table;
    uint32_t priority;
    uint8_t protocol;           /* "static" if 0. */
    uint8_t type;               /* Unicast if 0. */
};

/* Adds, with 'flags' such as NLM_F_REPLACE, or deletes a route. */
int unit_route_add(struct unit_ns *, const struct unit_route *,
                   uint16_t flags);
int unit_route_del(struct unit_ns *, const struct unit_route *);

/* Creates or replaces next hop object 'id' of IPv4.  The last of these
 * functions deletes it. */
int unit_nexthop_set(struct unit_ns *, uint32_t id, int ifindex);

/* Makes next hop object 'id' a group of the objects 'members'. */
int unit_nexthop_set_group(struct unit_ns *, uint32_t id,
                           const uint32_t members[], size_t n);
int unit_nexthop_del(struct unit_ns *, uint32_t id);

/* Adds a rule that directs packets from 'source', unless it is NULL, and with
 * 'mark', unless it is 0, to 'table'. */
int unit_rule_add(struct unit_ns *, const char *source, uint32_t mark,
                  uint32_t table);

/* Adds or deletes a queueing discipline without options. */
int unit_qdisc_add(struct unit_ns *, int ifindex, uint32_t parent,
                   uint32_t handle, const char *kind);
int unit_qdisc_del(struct unit_ns *, int ifindex, uint32_t parent,
                   uint32_t handle);

/* Adds a class to the "htb" at the root. */
int unit_htb_class_add(struct unit_ns *, int ifindex, uint32_t handle);

/* Describes the difference between a table and the kernel's state of 'ns', or
 * returns NULL if there is none.  The caller frees the result. */
char *unit_addrs_diff(const struct link_addrs *, struct unit_ns *ns);
char *unit_qdiscs_diff(const struct link_qdiscs *, struct unit_ns *ns);

#endif /* tests/harness/routes.h */
