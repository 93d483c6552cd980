/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/routes-show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-route.h"
#include "link/link-table.h"
#include "netdev-linux/links.h"
#include "netdev-linux/router.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs/compat-netdev.h"
#include "packets.h"
#include "util.h"

/* What became of a route that the router has. */
static const char STATE_USED[] = "used";

static int
compare_dests(const void *a_, const void *b_)
{
    const struct link_route *a = a_;
    const struct link_route *b = b_;
    int cmp = memcmp(&a->dst, &b->dst, sizeof a->dst);

    return (cmp ? cmp
            : a->dst_len != b->dst_len ? (a->dst_len < b->dst_len ? -1 : 1)
            : a->local != b->local ? (a->local ? -1 : 1)
            : a->mark != b->mark ? (a->mark < b->mark ? -1 : 1) : 0);
}

/* Called for each route, with the name of its device, or "?", and what became
 * of it. */
typedef void show_route_func(const struct link_route *, const char *device,
                             const char *state, void *aux);

/* Returns what became of 'route'.  'known' says whether its device is, and
 * 'found' whether the router has a route to the same destination that is
 * preferred. */
static const char *
route_state(const struct link_route *route, bool known, bool found)
{
    if (!found && router_has(route)) {
        return STATE_USED;
    } else if (link_routes_has_changed(kdp_links_routes())) {
        return "waiting";
    } else if (found) {
        return "not preferred";
    } else if (!known) {
        return "no device";
    }
    return ovs_compat_router_classifier() ? "no source" : "unknown";
}

/* Calls 'cb' for the routes to the destination of 'route', the preferred one
 * first. */
static void
show_dest(const struct link_route *route, show_route_func *cb, void *aux)
{
    struct link_dest_key dest = link_route_dest(route);
    struct link_route other;
    bool found = false;

    for (size_t i = 0; link_routes_get_nth(kdp_links_routes(), &dest, i,
                                           &other); i++) {
        struct link_info link;
        bool known = link_table_find(kdp_links_table(), LINK_NSID_LOCAL,
                                     other.ifindex, &link);
        const char *state = route_state(&other, known, found);

        cb(&other, known ? link.name : "?", state, aux);
        found |= state == STATE_USED;
    }
}

static void
show_routes(show_route_func *cb, void *aux)
{
    size_t n;
    struct link_route *routes = link_routes_get(kdp_links_routes(), &n);

    qsort(routes, n, sizeof *routes, compare_dests);
    for (size_t i = 0; i < n; i++) {
        if (!i || compare_dests(&routes[i - 1], &routes[i])) {
            show_dest(&routes[i], cb, aux);
        }
    }
    free(routes);
}

/* Appends ADDRESS/LENGTH. */
static void
put_dst(struct ds *s, const struct link_route *route)
{
    bool ipv4 = IN6_IS_ADDR_V4MAPPED(&route->dst);

    ipv6_format_mapped(&route->dst, s);
    ds_put_format(s, "/%d", route->dst_len - (ipv4 ? 96 : 0));
}

static void
show_route_text(const struct link_route *route, const char *device,
                const char *state, void *s_)
{
    struct ds *s = s_;

    ds_put_cstr(s, "  ");
    put_dst(s, route);
    ds_put_format(s, " dev %s table %"PRIu32" metric %"PRIu32, device,
                  route->table, route->priority);
    if (ipv6_addr_is_set(&route->gateway)) {
        ds_put_cstr(s, " via ");
        ipv6_format_mapped(&route->gateway, s);
    }
    if (route->mark) {
        ds_put_format(s, " mark %"PRIu32, route->mark);
    }
    ds_put_format(s, "%s: %s\n", route->local ? " local" : "", state);
}

static void
show_route_json(const struct link_route *route, const char *device,
                const char *state, void *array)
{
    struct json *json = json_object_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    put_dst(&s, route);
    json_object_put_string(json, "dst", ds_cstr(&s));
    ds_clear(&s);
    if (ipv6_addr_is_set(&route->gateway)) {
        ipv6_format_mapped(&route->gateway, &s);
        json_object_put_string(json, "gateway", ds_cstr(&s));
    }
    ds_destroy(&s);
    json_object_put_string(json, "device", device);
    json_object_put_string(json, "state", state);
    json_object_put(json, "ifindex", json_integer_create(route->ifindex));
    json_object_put(json, "table", json_integer_create(route->table));
    json_object_put(json, "metric", json_integer_create(route->priority));
    json_object_put(json, "mark", json_integer_create(route->mark));
    json_object_put(json, "local", json_boolean_create(route->local));
    json_array_add(array, json);
}

/* Routes that are not kept, by the reason. */
static void
show_ignored(struct ds *s, struct json *json)
{
    struct link_routes_stats stats;

    link_routes_get_stats(kdp_links_routes(), &stats);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        { "hidden", stats.hidden },
        { "several", stats.several },
        { "type", stats.type },
        { "no_device", stats.no_device },
        { "cached", stats.cached },
    };
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        if (json) {
            json_object_put(json, counts[i].name,
                            json_integer_create(counts[i].value));
        } else {
            ds_put_format(s, "%s %s %"PRIu64, i ? "," : "  ignored:",
                          counts[i].name, counts[i].value);
        }
    }
    if (!json) {
        ds_put_char(s, '\n');
    }
}

void
routes_show_text(struct ds *s)
{
    ds_put_cstr(s, "routes\n");
    show_routes(show_route_text, s);
    show_ignored(s, NULL);
}

struct json *
routes_show_json(void)
{
    struct json *array = json_array_create_empty();
    struct json *ignored = json_object_create();
    struct json *json = json_object_create();

    show_routes(show_route_json, array);
    show_ignored(NULL, ignored);
    json_object_put(json, "routes", array);
    json_object_put(json, "ignored", ignored);
    return json;
}
