/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-route.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "packets.h"
#include "util.h"

/* What tells routes of the kernel apart. */
struct route_key {
    struct in6_addr dst;
    struct in6_addr gateway;
    struct in6_addr source;
    uint32_t table;
    uint32_t priority;
    uint32_t nh_id;             /* Next hop object, or 0. */
    int ifindex;                /* 0 if the route is hidden. */
    uint8_t family;
    uint8_t type;
    uint8_t dst_len;            /* By the family. */
    uint8_t tos;
};

/* A route with a next hop object that stands for several next hops, or of
 * which the kernel does not say what it stands for, is hidden from readers.
 * It is kept because it may change when the object does, of which the kernel
 * says nothing. */
struct route {
    struct hmap_node node;      /* In 'routes', by 'key'. */
    struct route_key key;
    struct link_dest_route choice;      /* In 'dests', unless hidden. */
    uint32_t mark;
    bool repeated;              /* Was told more than once in this generation,
                                 * other than by an event and an answer:
                                 * the kernel may have several that differ in
                                 * what is not kept, like their metrics. */
    uint64_t generation;        /* At the last update... */
    uint64_t answered;          /* ...and when an answer told of it last. */
};

/* Something that routes depend on: a link, a next hop object, or an address
 * that they prefer as their source.  Only counts are kept, as very many routes
 * may depend on one link. */
struct route_base {
    struct hmap_node node;      /* In 'bases'. */
    int ifindex;                /* The link, or 0... */
    uint32_t nh_id;             /* ...if it is this object, or 0... */
    struct in6_addr source;     /* ...if it is this address. */
    size_t n;                   /* Routes. */
    size_t n_ipv4;              /* Those of IPv4. */
    size_t n_objects;           /* Those with a next hop object. */
};

/* Something with which the kernel may have removed routes. */
struct route_cause {
    struct ovs_list node;       /* In 'causes'. */
    int ifindex;                /* The link that went down, or lost its carrier
                                 * or its last IPv4 address, or 0. */
    bool carrier;               /* It lost its carrier. */
    bool addr;                  /* An IPv4 address went, namely: */
    struct in6_addr source;
    uint32_t nh_id;             /* The next hop object that went, or 0. */
};

struct link_routes {
    struct ovs_mutex mutex;
    struct hmap routes;         /* Of struct route. */
    size_t n_hidden;            /* Of these. */
    struct link_dests dests;    /* Of the others. */
    struct hmap bases;          /* Of struct route_base. */
    struct ovs_list causes;     /* Since the last link_routes_check_stale(). */
    bool stale;
    uint64_t generation;
    uint64_t seqno;
    struct link_routes_stats stats;     /* But for 'hidden'. */
};

struct link_routes *
link_routes_create(void)
{
    struct link_routes *routes = xzalloc(sizeof *routes);

    ovs_mutex_init(&routes->mutex);
    hmap_init(&routes->routes);
    hmap_init(&routes->bases);
    link_dests_init(&routes->dests);
    ovs_list_init(&routes->causes);
    return routes;
}

static uint32_t
route_base_hash(int ifindex, uint32_t nh_id, const struct in6_addr *source)
{
    return hash_bytes(source, sizeof *source, hash_2words(ifindex, nh_id));
}

/* Finds what is counted of link 'ifindex', of next hop object 'nh_id', or of
 * 'source': the other two are all zeros.  Returns NULL if no route depends on
 * it. */
static struct route_base *
route_base_find(const struct link_routes *routes, int ifindex, uint32_t nh_id,
                const struct in6_addr *source)
    OVS_REQUIRES(routes->mutex)
{
    struct route_base *base;

    HMAP_FOR_EACH_WITH_HASH (base, node,
                             route_base_hash(ifindex, nh_id, source),
                             &routes->bases) {
        if (base->ifindex == ifindex && base->nh_id == nh_id
            && ipv6_addr_equals(&base->source, source)) {
            return base;
        }
    }
    return NULL;
}

/* Counts the route of 'key', which came or, with 'gone', went. */
static void
route_base_count(struct link_routes *routes, int ifindex, uint32_t nh_id,
                 const struct in6_addr *source, const struct route_key *key,
                 bool gone)
    OVS_REQUIRES(routes->mutex)
{
    struct route_base *base = route_base_find(routes, ifindex, nh_id, source);

    if (!base) {
        base = xzalloc(sizeof *base);
        base->ifindex = ifindex;
        base->nh_id = nh_id;
        base->source = *source;
        hmap_insert(&routes->bases, &base->node,
                    route_base_hash(ifindex, nh_id, source));
    }
    int change = gone ? -1 : 1;
    base->n += change;
    base->n_ipv4 += key->family == AF_INET ? change : 0;
    base->n_objects += key->nh_id ? change : 0;
    if (!base->n) {
        hmap_remove(&routes->bases, &base->node);
        free(base);
    }
}

static bool
route_is_hidden(const struct route_key *key)
{
    return !key->ifindex;
}

static void
route_count(struct link_routes *routes, const struct route_key *key, bool gone)
    OVS_REQUIRES(routes->mutex)
{
    if (key->nh_id) {
        route_base_count(routes, 0, key->nh_id, &in6addr_any, key, gone);
    }
    if (route_is_hidden(key)) {
        routes->n_hidden += gone ? -1 : 1;
        return;
    }
    route_base_count(routes, key->ifindex, 0, &in6addr_any, key, gone);
    if (ipv6_addr_is_set(&key->source)) {
        route_base_count(routes, 0, 0, &key->source, key, gone);
    }
    routes->seqno++;
}

static struct link_route
route_to_public(const struct route *route)
{
    const struct route_key *key = &route->key;

    return (struct link_route) {
        .dst = key->dst,
        .dst_len = key->dst_len + (key->family == AF_INET ? 96 : 0),
        .gateway = key->gateway,
        .source = key->source,
        .ifindex = key->ifindex,
        .mark = route->mark,
        .table = key->table,
        .priority = key->priority,
        .local = key->type == RTN_LOCAL,
    };
}

struct link_dest_key
link_route_dest(const struct link_route *route)
{
    return (struct link_dest_key) {
        .dst = route->dst,
        .dst_len = route->dst_len,
        .local = route->local,
        .mark = route->mark,
    };
}

/* Puts 'route' among those to its destination. */
static void
route_choose(struct link_routes *routes, struct route *route)
    OVS_REQUIRES(routes->mutex)
{
    if (!route_is_hidden(&route->key)) {
        struct link_route public = route_to_public(route);
        struct link_dest_key dest = link_route_dest(&public);

        route->choice.ifindex = public.ifindex;
        route->choice.table = public.table;
        route->choice.priority = public.priority;
        link_dests_insert(&routes->dests, &dest, &route->choice);
    }
}

static void
route_unchoose(struct link_routes *routes, struct route *route)
    OVS_REQUIRES(routes->mutex)
{
    if (!route_is_hidden(&route->key)) {
        link_dests_remove(&routes->dests, &route->choice);
    }
}

static void
route_remove(struct link_routes *routes, struct route *route)
    OVS_REQUIRES(routes->mutex)
{
    hmap_remove(&routes->routes, &route->node);
    route_unchoose(routes, route);
    route_count(routes, &route->key, true);
    free(route);
}

static void
routes_clear_causes(struct link_routes *routes)
    OVS_REQUIRES(routes->mutex)
{
    struct route_cause *cause;

    LIST_FOR_EACH_POP (cause, node, &routes->causes) {
        free(cause);
    }
}

void
link_routes_destroy(struct link_routes *routes)
{
    struct route *route;

    if (routes) {
        ovs_mutex_lock(&routes->mutex);
        HMAP_FOR_EACH_SAFE (route, node, &routes->routes) {
            route_remove(routes, route);
        }
        routes_clear_causes(routes);
        link_dests_uninit(&routes->dests);
        ovs_mutex_unlock(&routes->mutex);
        hmap_destroy(&routes->routes);
        hmap_destroy(&routes->bases);
        ovs_mutex_destroy(&routes->mutex);
        free(routes);
    }
}

/* Stores in '*ip6' the address of 'family' at 'address', or zeros if that is
 * NULL. */
static void
route_take_address(struct in6_addr *ip6, uint8_t family, const void *address)
{
    memset(ip6, 0, sizeof *ip6);
    if (address && family == AF_INET) {
        ovs_be32 ip;

        memcpy(&ip, address, sizeof ip);
        in6_addr_set_mapped_ipv4(ip6, ip);
    } else if (address) {
        memcpy(ip6, address, sizeof *ip6);
    }
}

static void
route_key_from_view(struct route_key *key, const struct link_route_view *view)
{
    static const ovs_be32 any;

    memset(key, 0, sizeof *key);
    route_take_address(&key->dst, view->family,
                       (view->dst || view->family == AF_INET6 ? view->dst
                        : &any));
    route_take_address(&key->gateway, view->family, view->gateway);
    route_take_address(&key->source, view->family, view->source);
    key->table = view->table;
    key->priority = view->priority;
    key->nh_id = view->nh_id;
    key->ifindex = view->several ? 0 : view->oif;
    key->family = view->family;
    key->type = view->type;
    key->dst_len = view->dst_len;
    key->tos = view->tos;
}

static bool
route_key_equals(const struct route_key *a, const struct route_key *b)
{
    return (ipv6_addr_equals(&a->dst, &b->dst)
            && ipv6_addr_equals(&a->gateway, &b->gateway)
            && ipv6_addr_equals(&a->source, &b->source)
            && a->table == b->table && a->priority == b->priority
            && a->nh_id == b->nh_id && a->ifindex == b->ifindex
            && a->family == b->family && a->type == b->type
            && a->dst_len == b->dst_len && a->tos == b->tos);
}

static uint32_t
route_key_hash(const struct route_key *key)
{
    uint32_t hash = hash_bytes(&key->dst, sizeof key->dst, key->table);

    return hash_finish(hash_add(hash, key->ifindex), key->dst_len);
}

static struct route *
route_find(struct link_routes *routes, const struct route_key *key)
    OVS_REQUIRES(routes->mutex)
{
    struct route *route;

    HMAP_FOR_EACH_WITH_HASH (route, node, route_key_hash(key),
                             &routes->routes) {
        if (route_key_equals(&route->key, key)) {
            return route;
        }
    }
    return NULL;
}

/* True if there are routes that may have gone with 'cause'. */
static bool
route_cause_has_any(const struct link_routes *routes,
                    const struct route_cause *cause)
    OVS_REQUIRES(routes->mutex)
{
    const struct route_base *base;

    if (cause->nh_id) {
        return route_base_find(routes, 0, cause->nh_id, &in6addr_any);
    }
    base = route_base_find(routes, cause->ifindex, 0, &in6addr_any);
    if (base && (cause->carrier ? base->n_objects
                 : cause->addr ? base->n_ipv4 : base->n)) {
        return true;
    }
    return cause->addr && route_base_find(routes, 0, 0, &cause->source);
}

/* Enters a route, of which an 'answer' tells, or an event.  Whoever answers
 * tells of all routes, so a second time means another route.  An answer after
 * an event may be about the same, and an event after an answer may be about
 * the same or another. */
static void
route_enter(struct link_routes *routes, const struct link_route_view *view,
            const struct route_key *key, bool answer)
    OVS_REQUIRES(routes->mutex)
{
    struct route *route = route_find(routes, key);

    if (!route) {
        route = xzalloc(sizeof *route);
        route->key = *key;
        route->mark = view->mark;
        route->answered = UINT64_MAX;
        hmap_insert(&routes->routes, &route->node, route_key_hash(key));
        route_choose(routes, route);
        route_count(routes, key, false);
    } else {
        if (route->generation != routes->generation) {
            route->repeated = false;
        } else if (!answer || route->answered == routes->generation) {
            route->repeated = true;
        }
        if (route->mark != view->mark) {
            route_unchoose(routes, route);
            route->mark = view->mark;
            route_choose(routes, route);
            routes->seqno++;
        }
    }
    route->generation = routes->generation;
    if (answer) {
        route->answered = routes->generation;
    }
}

static bool
route_view_is_relevant(const struct link_route_view *view)
{
    return ((view->type == RTN_UNICAST || view->type == RTN_LOCAL)
            && view->scope != RT_SCOPE_NOWHERE);
}

static bool
route_view_is_kept(const struct link_route_view *view)
{
    return (!view->cloned && route_view_is_relevant(view)
            && (view->nh_id || (!view->several && view->oif)));
}

/* Counts what readers do not get to see. */
static void
route_count_ignored(struct link_routes *routes,
                    const struct link_route_view *view)
    OVS_REQUIRES(routes->mutex)
{
    *(view->cloned ? &routes->stats.cached
      : !route_view_is_relevant(view) ? &routes->stats.type
      : view->several ? &routes->stats.several
      : &routes->stats.no_device) += 1;
}

void
link_routes_update(struct link_routes *routes,
                   const struct link_route_view *view, bool gone)
{
    struct route_key key;

    if (view->family != AF_INET && view->family != AF_INET6) {
        return;
    }

    ovs_mutex_lock(&routes->mutex);
    if (!view->cloned
        && ((view->several && !view->nh_id) || view->replace)) {
        /* Of others than this one something is left or not. */
        routes->stale = true;
    }
    if (route_view_is_kept(view)) {
        route_key_from_view(&key, view);
        if (!gone) {
            route_enter(routes, view, &key, false);
        } else {
            struct route *route = route_find(routes, &key);

            if (!route_is_hidden(&key) && (!route || route->repeated)) {
                routes->stale = true;
            }
            if (route) {
                route_remove(routes, route);
            }
        }
    } else if (!gone) {
        route_count_ignored(routes, view);
    }
    ovs_mutex_unlock(&routes->mutex);
}

void
link_routes_enter(struct link_routes *routes,
                  const struct link_route_view *view)
{
    if (view->family != AF_INET && view->family != AF_INET6) {
        return;
    }
    ovs_mutex_lock(&routes->mutex);
    if (route_view_is_kept(view)) {
        struct route_key key;

        route_key_from_view(&key, view);
        route_enter(routes, view, &key, true);
    } else {
        route_count_ignored(routes, view);
    }
    ovs_mutex_unlock(&routes->mutex);
}

void
link_routes_correct(struct link_routes *routes,
                    const struct link_route_view *view, bool gone)
{
    struct route_key key;
    struct route *route;

    if ((view->family != AF_INET && view->family != AF_INET6)
        || !route_view_is_kept(view)) {
        return;
    }
    ovs_mutex_lock(&routes->mutex);
    route_key_from_view(&key, view);
    route = route_find(routes, &key);
    if (!gone) {
        bool repeated = route && route->repeated;

        route_enter(routes, view, &key, false);
        if (route) {
            route->repeated = repeated;
        }
    } else if (route) {
        route_remove(routes, route);
    }
    ovs_mutex_unlock(&routes->mutex);
}

/* Enters 'cause' if there are routes that may go with it. */
static void
link_routes_add_cause(struct link_routes *routes,
                      const struct route_cause *cause)
{
    ovs_mutex_lock(&routes->mutex);
    if (route_cause_has_any(routes, cause)) {
        struct route_cause *copy = xmemdup(cause, sizeof *cause);

        ovs_list_push_back(&routes->causes, &copy->node);
    }
    ovs_mutex_unlock(&routes->mutex);
}

void
link_routes_link_down(struct link_routes *routes, int ifindex)
{
    const struct route_cause cause = { .ifindex = ifindex };

    link_routes_add_cause(routes, &cause);
}

void
link_routes_carrier_lost(struct link_routes *routes, int ifindex)
{
    const struct route_cause cause = { .ifindex = ifindex, .carrier = true };

    link_routes_add_cause(routes, &cause);
}

void
link_routes_addr_gone(struct link_routes *routes,
                      const struct link_addr_view *addr, bool last)
{
    struct route_cause cause = {
        .ifindex = last ? addr->ifindex : 0,
        .addr = true,
    };

    if (addr->family == AF_INET && addr->address) {
        route_take_address(&cause.source, AF_INET, addr->address);
        link_routes_add_cause(routes, &cause);
    }
}

void
link_routes_nexthop_changed(struct link_routes *routes, uint32_t id, bool gone)
{
    const struct route_cause cause = { .nh_id = id };

    if (gone) {
        /* The kernel announces after this which IPv6 routes went with it. */
        link_routes_add_cause(routes, &cause);
        return;
    }
    ovs_mutex_lock(&routes->mutex);
    if (route_cause_has_any(routes, &cause)) {
        routes->stale = true;
    }
    ovs_mutex_unlock(&routes->mutex);
}

void
link_routes_check_stale(struct link_routes *routes)
{
    const struct route_cause *cause;

    ovs_mutex_lock(&routes->mutex);
    LIST_FOR_EACH (cause, node, &routes->causes) {
        if (route_cause_has_any(routes, cause)) {
            routes->stale = true;
        }
    }
    routes_clear_causes(routes);
    ovs_mutex_unlock(&routes->mutex);
}

void
link_routes_doubt(struct link_routes *routes)
{
    ovs_mutex_lock(&routes->mutex);
    routes->stale = true;
    ovs_mutex_unlock(&routes->mutex);
}

bool
link_routes_is_stale(const struct link_routes *routes_)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);

    ovs_mutex_lock(&routes->mutex);
    bool stale = routes->stale;
    ovs_mutex_unlock(&routes->mutex);
    return stale;
}

void
link_routes_mark(struct link_routes *routes)
{
    ovs_mutex_lock(&routes->mutex);
    routes->generation++;
    routes->stale = false;
    routes_clear_causes(routes);
    ovs_mutex_unlock(&routes->mutex);
}

void
link_routes_sweep(struct link_routes *routes)
{
    struct route *route;

    ovs_mutex_lock(&routes->mutex);
    HMAP_FOR_EACH_SAFE (route, node, &routes->routes) {
        if (route->generation != routes->generation) {
            route_remove(routes, route);
        }
    }
    ovs_mutex_unlock(&routes->mutex);
}

bool
link_routes_next_changed(struct link_routes *routes,
                         struct link_dest_key *dest, int *touched)
{
    ovs_mutex_lock(&routes->mutex);
    bool any = link_dests_next_changed(&routes->dests, dest, touched);
    ovs_mutex_unlock(&routes->mutex);
    return any;
}

bool
link_routes_has_changed(const struct link_routes *routes_)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);

    ovs_mutex_lock(&routes->mutex);
    bool any = link_dests_has_changed(&routes->dests);
    ovs_mutex_unlock(&routes->mutex);
    return any;
}

void
link_routes_touch_link(struct link_routes *routes, int ifindex)
{
    ovs_mutex_lock(&routes->mutex);
    link_dests_touch_link(&routes->dests, ifindex);
    ovs_mutex_unlock(&routes->mutex);
}

bool
link_routes_get_nth(const struct link_routes *routes_,
                    const struct link_dest_key *dest, size_t i,
                    struct link_route *route)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);
    const struct link_dest_route *choice;

    ovs_mutex_lock(&routes->mutex);
    choice = link_dests_get(&routes->dests, dest, i);
    if (choice) {
        *route = route_to_public(CONTAINER_OF(choice, struct route, choice));
    }
    ovs_mutex_unlock(&routes->mutex);
    return choice != NULL;
}

struct link_route *
link_routes_get(const struct link_routes *routes_, size_t *n)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);
    struct link_route *all;
    const struct route *route;

    *n = 0;
    ovs_mutex_lock(&routes->mutex);
    all = xmalloc((hmap_count(&routes->routes) + 1) * sizeof *all);
    HMAP_FOR_EACH (route, node, &routes->routes) {
        if (!route_is_hidden(&route->key)) {
            all[(*n)++] = route_to_public(route);
        }
    }
    ovs_mutex_unlock(&routes->mutex);
    return all;
}

size_t
link_routes_count(const struct link_routes *routes_)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);

    ovs_mutex_lock(&routes->mutex);
    size_t n = hmap_count(&routes->routes) - routes->n_hidden;
    ovs_mutex_unlock(&routes->mutex);
    return n;
}

void
link_routes_get_stats(const struct link_routes *routes_,
                      struct link_routes_stats *stats)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);

    ovs_mutex_lock(&routes->mutex);
    *stats = routes->stats;
    stats->hidden = routes->n_hidden;
    ovs_mutex_unlock(&routes->mutex);
}

uint64_t
link_routes_seqno(const struct link_routes *routes_)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);

    ovs_mutex_lock(&routes->mutex);
    uint64_t seqno = routes->seqno;
    ovs_mutex_unlock(&routes->mutex);
    return seqno;
}

bool
link_routes_has_link(const struct link_routes *routes_, int ifindex)
{
    struct link_routes *routes = CONST_CAST(struct link_routes *, routes_);

    ovs_mutex_lock(&routes->mutex);
    bool has = route_base_find(routes, ifindex, 0, &in6addr_any) != NULL;
    ovs_mutex_unlock(&routes->mutex);
    return has;
}
