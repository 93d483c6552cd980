/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-dest.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "packets.h"
#include "util.h"

struct link_dest {
    struct hmap_node node;      /* In 'dests'. */
    struct link_dest_key key;
    struct link_dest_route **routes;    /* The preferred one last, as new ones
                                         * mostly are. */
    size_t n, allocated;
    bool known;                 /* Was told of when it had routes. */
    int touched;                /* Interface index of the link that has
                                 * changed, LINK_DEST_SEVERAL, or 0. */
    bool changed;
    struct ovs_list changed_node;       /* In 'changed', if 'changed'. */
};

/* A link that has routes. */
struct link_dest_link {
    struct hmap_node node;      /* In 'links', by 'ifindex'. */
    int ifindex;
    struct ovs_list routes;     /* Of struct link_dest_route. */
};

void
link_dests_init(struct link_dests *dests)
{
    hmap_init(&dests->dests);
    hmap_init(&dests->links);
    ovs_list_init(&dests->changed);
}

static uint32_t
link_dest_hash(const struct link_dest_key *key)
{
    return hash_bytes(&key->dst, sizeof key->dst,
                      hash_3words(key->dst_len, key->local, key->mark));
}

static struct link_dest *
link_dest_find(const struct link_dests *dests, const struct link_dest_key *key)
{
    struct link_dest *dest;

    HMAP_FOR_EACH_WITH_HASH (dest, node, link_dest_hash(key), &dests->dests) {
        if (ipv6_addr_equals(&dest->key.dst, &key->dst)
            && dest->key.dst_len == key->dst_len
            && dest->key.local == key->local
            && dest->key.mark == key->mark) {
            return dest;
        }
    }
    return NULL;
}

static void
link_dest_free(struct link_dests *dests, struct link_dest *dest)
{
    hmap_remove(&dests->dests, &dest->node);
    if (dest->changed) {
        ovs_list_remove(&dest->changed_node);
    }
    free(dest->routes);
    free(dest);
}

void
link_dests_uninit(struct link_dests *dests)
{
    struct link_dest *dest;

    HMAP_FOR_EACH_SAFE (dest, node, &dests->dests) {
        ovs_assert(!dest->n);
        link_dest_free(dests, dest);
    }
    ovs_assert(hmap_is_empty(&dests->links));
    hmap_destroy(&dests->dests);
    hmap_destroy(&dests->links);
}

static struct link_dest_link *
link_dest_find_link(const struct link_dests *dests, int ifindex)
{
    struct link_dest_link *link;

    HMAP_FOR_EACH_WITH_HASH (link, node, hash_int(ifindex, 0),
                             &dests->links) {
        if (link->ifindex == ifindex) {
            return link;
        }
    }
    return NULL;
}

/* Notes 'dest', whose link 'touched' has changed, or none if that is 0. */
static void
link_dest_note(struct link_dests *dests, struct link_dest *dest, int touched)
{
    if (touched && dest->touched && touched != dest->touched) {
        dest->touched = LINK_DEST_SEVERAL;
    } else if (touched) {
        dest->touched = touched;
    }
    if (!dest->changed) {
        dest->changed = true;
        ovs_list_push_back(&dests->changed, &dest->changed_node);
    }
}

static int
link_dest_table_rank(uint32_t table)
{
    return table == RT_TABLE_LOCAL ? 2 : table == RT_TABLE_MAIN ? 1 : 0;
}

/* Returns a positive number if 'a' is preferred to 'b', a negative one if it
 * is the other way round. */
static int
link_dest_compare(const struct link_dest_route *a,
                  const struct link_dest_route *b)
{
    int a_rank = link_dest_table_rank(a->table);
    int b_rank = link_dest_table_rank(b->table);

    if (a_rank != b_rank) {
        return a_rank < b_rank ? -1 : 1;
    } else if (a->table != b->table) {
        return a->table < b->table ? -1 : 1;
    } else if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    return a->ifindex < b->ifindex ? -1 : a->ifindex > b->ifindex;
}

/* Returns the place of the first route of 'dest' that is not less preferred
 * than 'route'. */
static size_t
link_dest_place(const struct link_dest *dest,
                const struct link_dest_route *route)
{
    size_t low = 0, high = dest->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (link_dest_compare(dest->routes[mid], route) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

void
link_dests_insert(struct link_dests *dests, const struct link_dest_key *key,
                  struct link_dest_route *route)
{
    struct link_dest_link *link = link_dest_find_link(dests, route->ifindex);
    struct link_dest *dest = link_dest_find(dests, key);
    size_t i;

    if (!dest) {
        dest = xzalloc(sizeof *dest);
        dest->key = *key;
        hmap_insert(&dests->dests, &dest->node, link_dest_hash(key));
    }
    if (dest->n >= dest->allocated) {
        dest->routes = x2nrealloc(dest->routes, &dest->allocated,
                                  sizeof *dest->routes);
    }
    i = link_dest_place(dest, route);
    memmove(&dest->routes[i + 1], &dest->routes[i],
            (dest->n - i) * sizeof *dest->routes);
    dest->routes[i] = route;
    dest->n++;
    route->dest = dest;
    link_dest_note(dests, dest, 0);

    if (!link) {
        link = xmalloc(sizeof *link);
        link->ifindex = route->ifindex;
        ovs_list_init(&link->routes);
        hmap_insert(&dests->links, &link->node, hash_int(link->ifindex, 0));
    }
    ovs_list_push_back(&link->routes, &route->link_node);
}

void
link_dests_remove(struct link_dests *dests, struct link_dest_route *route)
{
    struct link_dest_link *link = link_dest_find_link(dests, route->ifindex);
    struct link_dest *dest = route->dest;
    size_t i = link_dest_place(dest, route);

    /* Several may be equal: those that differ in their gateways only. */
    while (dest->routes[i] != route) {
        i++;
    }
    dest->n--;
    memmove(&dest->routes[i], &dest->routes[i + 1],
            (dest->n - i) * sizeof *dest->routes);
    route->dest = NULL;
    if (!dest->n && !dest->known) {
        link_dest_free(dests, dest);
    } else {
        link_dest_note(dests, dest, 0);
    }

    ovs_list_remove(&route->link_node);
    if (ovs_list_is_empty(&link->routes)) {
        hmap_remove(&dests->links, &link->node);
        free(link);
    }
}

void
link_dests_touch_link(struct link_dests *dests, int ifindex)
{
    struct link_dest_link *link = link_dest_find_link(dests, ifindex);
    struct link_dest_route *route;

    if (link) {
        LIST_FOR_EACH (route, link_node, &link->routes) {
            link_dest_note(dests, route->dest, ifindex);
        }
    }
}

bool
link_dests_next_changed(struct link_dests *dests, struct link_dest_key *key,
                        int *touched)
{
    struct link_dest *dest;

    if (ovs_list_is_empty(&dests->changed)) {
        return false;
    }
    dest = CONTAINER_OF(ovs_list_pop_front(&dests->changed), struct link_dest,
                        changed_node);
    *key = dest->key;
    *touched = dest->touched;
    dest->changed = false;
    dest->touched = 0;
    dest->known = dest->n > 0;
    if (!dest->n) {
        link_dest_free(dests, dest);
    }
    return true;
}

bool
link_dests_has_changed(const struct link_dests *dests)
{
    return !ovs_list_is_empty(&dests->changed);
}

const struct link_dest_route *
link_dests_get(const struct link_dests *dests, const struct link_dest_key *key,
               size_t i)
{
    const struct link_dest *dest = link_dest_find(dests, key);

    return dest && i < dest->n ? dest->routes[dest->n - 1 - i] : NULL;
}
