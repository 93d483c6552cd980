/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/router.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "classifier.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/match.h"
#include "openvswitch/shash.h"
#include "ovs-rcu.h"
#include "ovs-router.h"
#include "ovs/compat-netdev.h"
#include "packets.h"
#include "seq.h"
#include "tnl-ports.h"
#include "util.h"

/* A route that is in the router. */
struct router_entry {
    struct hmap_node node;      /* In 'entries'. */
    struct link_dest_key dest;
    struct in6_addr gateway;
    struct in6_addr source;
    int ifindex;
    char name[IFNAMSIZ];        /* Of the device. */
};

/* All of it is the main thread's. */
static struct hmap entries = HMAP_INITIALIZER(&entries);
static struct shash devices = SHASH_INITIALIZER(&devices);  /* Number of routes
                                                             * through each. */
static struct router_stats stats;

static uint32_t
router_hash(const struct link_dest_key *dest)
{
    return hash_bytes(&dest->dst, sizeof dest->dst,
                      hash_3words(dest->dst_len, dest->local, dest->mark));
}

static struct router_entry *
router_find(const struct link_dest_key *dest)
{
    struct router_entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, node, router_hash(dest), &entries) {
        if (ipv6_addr_equals(&entry->dest.dst, &dest->dst)
            && entry->dest.dst_len == dest->dst_len
            && entry->dest.local == dest->local
            && entry->dest.mark == dest->mark) {
            return entry;
        }
    }
    return NULL;
}

/* Returns the router's rule for 'dest', or NULL. */
static const struct cls_rule *
router_find_rule(const struct link_dest_key *dest)
{
    const struct cls_rule *found;
    struct cls_rule rule;
    struct match match;

    memset(&match, 0, sizeof match);
    match.wc.masks.ipv6_dst = ipv6_create_mask(dest->dst_len);
    match.flow.ipv6_dst = ipv6_addr_bitand(&dest->dst,
                                           &match.wc.masks.ipv6_dst);
    match.wc.masks.pkt_mark = UINT32_MAX;
    match.flow.pkt_mark = dest->mark;

    /* The router's own priorities: those of ovs_router_insert(). */
    cls_rule_init(&rule, &match, (dest->local ? dest->dst_len + 64
                                  : dest->dst_len));
    found = classifier_find_rule_exactly(ovs_compat_router_classifier(),
                                         &rule, OVS_VERSION_MAX);
    cls_rule_destroy(&rule);
    return found;
}

static void
router_free_rule(struct cls_rule *rule)
{
    cls_rule_destroy(rule);
    free(rule);
}

/* Counts a route through device 'name' that came. */
static void
router_hold_device(const char *name)
{
    size_t *n = shash_find_data(&devices, name);

    if (!n) {
        n = xzalloc(sizeof *n);
        shash_add(&devices, name, n);
    }
    ++*n;
}

/* Counts one that went.  With the last one tunnels cease to receive at the
 * addresses of the device. */
static void
router_release_device(const char *name)
{
    struct shash_node *node = shash_find(&devices, name);
    size_t *n = node->data;

    if (!--*n) {
        shash_delete(&devices, node);
        free(n);
        tnl_port_map_delete_ipdev(name);
    }
}

bool
router_set(const struct link_dest_key *dest, const struct link_route *route,
           const char *name, bool touched)
{
    struct router_entry *entry = router_find(dest);
    const struct cls_rule *before, *after;

    if (entry && !touched && entry->ifindex == route->ifindex
        && !strcmp(entry->name, name)
        && ipv6_addr_equals(&entry->gateway, &route->gateway)
        && ipv6_addr_equals(&entry->source, &route->source)) {
        return true;
    }

    /* The router does not say whether it took the route. */
    before = router_find_rule(dest);
    ovs_compat_router_insert(dest->mark, &dest->dst, dest->dst_len,
                             dest->local, name, &route->gateway,
                             &route->source);
    after = router_find_rule(dest);
    if (before == after) {
        stats.refused++;
        return false;
    }
    stats.inserted++;

    router_hold_device(name);
    if (entry) {
        router_release_device(entry->name);
    } else {
        entry = xzalloc(sizeof *entry);
        entry->dest = *dest;
        hmap_insert(&entries, &entry->node, router_hash(dest));
    }
    entry->gateway = route->gateway;
    entry->source = route->source;
    entry->ifindex = route->ifindex;
    ovs_strlcpy(entry->name, name, sizeof entry->name);
    return true;
}

bool
router_remove(const struct link_dest_key *dest)
{
    struct router_entry *entry = router_find(dest);
    const struct cls_rule *rule;

    if (!entry) {
        return false;
    }
    rule = router_find_rule(dest);
    if (rule) {
        classifier_remove_assert(ovs_compat_router_classifier(), rule);
        ovsrcu_postpone(router_free_rule, CONST_CAST(struct cls_rule *, rule));
    }
    stats.removed++;
    hmap_remove(&entries, &entry->node);
    router_release_device(entry->name);
    free(entry);
    seq_change(tnl_conf_seq);
    return true;
}

bool
router_has(const struct link_route *route)
{
    struct link_dest_key dest = link_route_dest(route);
    const struct router_entry *entry = router_find(&dest);

    return (entry && entry->ifindex == route->ifindex
            && ipv6_addr_equals(&entry->gateway, &route->gateway)
            && ipv6_addr_equals(&entry->source, &route->source));
}

size_t
router_count(void)
{
    return hmap_count(&entries);
}

void
router_get_stats(struct router_stats *stats_)
{
    *stats_ = stats;
}
