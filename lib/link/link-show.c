/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-show.h"

#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sset.h"
#include "unixctl/fields.h"
#include "util.h"

bool
link_show_parse_nsid(const struct link_listener *listener, const char *string,
                     int32_t *nsid)
{
    int number;

    if (!strcmp(string, "local")) {
        *nsid = LINK_NSID_LOCAL;
    } else if (str_to_int(string, 10, &number) && number >= 0) {
        *nsid = (number == link_listener_self_nsid(listener) ? LINK_NSID_LOCAL
                 : number);
    } else {
        return false;
    }
    return link_table_has_ns(link_listener_table(listener), *nsid);
}

static const char *
link_ns_state_name(enum link_ns_state state)
{
    switch (state) {
    case LINK_NS_CURRENT: return "current";
    case LINK_NS_PENDING: return "pending";
    case LINK_NS_STALE: return "stale";
    case LINK_NS_UNFOLLOWED: return "not followed";
    }
    OVS_NOT_REACHED();
}

/* The 'n' bytes in the form "02:00:00:00:00:01", with ":" for 'separator'.
 * The caller frees it. */
static char *
link_bytes_to_string(const uint8_t *bytes, size_t n, const char *separator)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < n; i++) {
        ds_put_format(&s, "%s%02"PRIx8, i ? separator : "", bytes[i]);
    }
    return ds_steal_cstr(&s);
}

static char *
link_hwaddr_to_string(const struct link_info *link)
{
    return link_bytes_to_string(link->hwaddr, link->hwaddr_len, ":");
}

/* Uses the format of ip(8) and devlink(8). */
static char *
link_switch_id_to_string(const struct link_info *link)
{
    return link_bytes_to_string(link->switch_id, link->switch_id_len, "");
}

/* Statistics. */

static const char *const event_names[LINK_N_MSGS] = {
    [LINK_MSG_NEWLINK] = "newlink",
    [LINK_MSG_DELLINK] = "dellink",
    [LINK_MSG_NEWADDR] = "newaddr",
    [LINK_MSG_DELADDR] = "deladdr",
    [LINK_MSG_NEWNSID] = "newnsid",
    [LINK_MSG_DELNSID] = "delnsid",
    [LINK_MSG_NEWQDISC] = "newqdisc",
    [LINK_MSG_DELQDISC] = "delqdisc",
    [LINK_MSG_NEWTCLASS] = "newtclass",
    [LINK_MSG_DELTCLASS] = "deltclass",
};

static const char *const reason_names[LINK_N_REASONS] = {
    [LINK_REASON_START] = "start",
    [LINK_REASON_LOSS] = "loss",
    [LINK_REASON_NAMESPACE] = "namespace",
    [LINK_REASON_ASKED] = "asked",
};

#define COUNT(...) FIELD(struct link_listener_stats, __VA_ARGS__)
#define COUNTS(...) FIELD_OF_COUNTS(struct link_listener_stats, __VA_ARGS__)
static const struct field stats_fields[] = {
    COUNTS(events, event_names, "events"),
    COUNT(events_other, "events_other", "other"),
    FIELD_OF_LINE("  skipped"),
    COUNT(malformed, "malformed", "malformed"),
    COUNT(ignored_foreign, "ignored_foreign", "foreign"),
    COUNT(ignored_port, "ignored_port", "bridge ports"),
    COUNT(ignored_sender, "ignored_sender", "sender"),
    COUNT(ignored_own, "ignored_own", "own"),
    FIELD_OF_LINE("  losses"),
    COUNT(overruns, "overruns", "overruns"),
    COUNT(lost, "lost", "lost"),
    COUNT(truncated, "truncated", "truncated"),
    COUNT(drained, "drained", "drained"),
    FIELD_OF_LINE("  resyncs"),
    COUNT(resyncs, "resyncs", ""),
    COUNT(interrupted, "interrupted", "dumps interrupted"),
    COUNT(failed, "failed", "failed"),
    COUNT(refused, "refused", "refused"),
    FIELD_OF_LINE("  time of resyncs (us)"),
    COUNT(resync_last, "resync_last", "last"),
    COUNT(resync_max, "resync_max", "longest"),
    COUNT(resync_total, "resync_total", "total"),
    FIELD_OF_LINE("  requests under RTNL"),
    COUNTS(rtnl, reason_names, "rtnl"),
    COUNT(nsid_requests, "nsid_requests", "without:"),
    FIELD_OF_LINE("  time of requests under RTNL (us)"),
    COUNTS(rtnl_us, reason_names, "rtnl_us"),
    { .type = FIELD_END }
};

/* Text. */

static void
link_show_lag_text(const struct link_listener *listener, struct ds *s)
{
    struct link_listener_lag lag;

    link_listener_get_lag(listener, &lag);
    ds_put_format(s, "  now: %s (ms: last event %lld, current %lld ago), "
                  "backlog %"PRIu32" of %"PRIu32" bytes\n",
                  link_listener_is_current(listener) ? "current" : "behind",
                  lag.event_age, lag.current_age, lag.backlog, lag.rcvbuf);
}

static void
link_show_ns_text(const struct link_listener *listener,
                  const struct link_ns_info *ns, struct ds *s)
{
    char *name = link_nsid_to_string(ns->nsid);

    ds_put_format(s, "  %-11s %8"PRIuSIZE" %10"PRId64" %12"PRIu64" %9"PRIu64
                  " %8"PRIu64" %s", name, ns->n_links, ns->buckets,
                  ns->events, ns->overruns, ns->resyncs,
                  link_ns_state_name(ns->state));
    if (ns->state == LINK_NS_STALE) {
        ds_put_format(s, " (%s)", ovs_strerror(ns->error));
    }
    if (ns->nsid == LINK_NSID_LOCAL
        && link_listener_self_nsid(listener) != LINK_NSID_NONE) {
        ds_put_format(s, " (id %"PRId32")", link_listener_self_nsid(listener));
    }
    ds_put_char(s, '\n');
    free(name);
}

/* Shows what only a port of a hardware switch has, in the terms of ip(8). */
static void
link_show_switch_port_text(const struct link_info *link, struct ds *s)
{
    if (link->port_name[0]) {
        ds_put_format(s, " portname %s", link->port_name);
    }
    if (link->switch_id_len) {
        char *id = link_switch_id_to_string(link);

        ds_put_format(s, " switchid %s", id);
        free(id);
    }
}

static void
link_show_links_text(const struct link_table *table, int32_t nsid,
                     struct ds *s)
{
    size_t n;
    struct link_info *links = link_table_get_links(table, nsid, &n);

    ds_put_format(s, "  %9s %-15s %-10s %6s %-5s %-7s %6s %9s %9s %s\n",
                  "index", "name", "kind", "mtu", "admin", "carrier", "master",
                  "ups", "downs", "address");
    for (size_t i = 0; i < n; i++) {
        const struct link_info *link = &links[i];
        char *hwaddr = link_hwaddr_to_string(link);

        ds_put_format(s, "  %9d %-15s %-10s %6"PRIu32" %-5s %-7s %6d %9"PRIu32
                      " %9"PRIu32" %s", link->ifindex, link->name,
                      link->kind[0] ? link->kind : "-", link->mtu,
                      link->flags & IFF_UP ? "up" : "down",
                      link->carrier ? "yes" : "no", link->master,
                      link->carrier_up, link->carrier_down, hwaddr);
        link_show_switch_port_text(link, s);
        ds_put_char(s, '\n');
        free(hwaddr);
    }
    free(links);
}

void
link_show_text(const struct link_listener *listener, int32_t nsid,
               struct ds *s)
{
    struct link_table *table = link_listener_table(listener);
    struct link_listener_stats stats;
    size_t n;
    struct link_ns_info *ns = link_table_get_namespaces(table, &n);

    ds_put_cstr(s, "link tables\n");
    if (nsid == LINK_NSID_ALL) {
        link_listener_get_stats(listener, &stats);
        link_show_lag_text(listener, s);
        fields_put_lines(s, "  events", stats_fields, &stats);
    }
    ds_put_format(s, "  %-11s %8s %10s %12s %9s %8s %s\n", "namespace",
                  "entries", "buckets", "events", "overruns", "resyncs",
                  "state");
    for (size_t i = 0; i < n; i++) {
        if (nsid == LINK_NSID_ALL || nsid == ns[i].nsid) {
            link_show_ns_text(listener, &ns[i], s);
        }
    }
    if (nsid != LINK_NSID_ALL) {
        link_show_links_text(table, nsid, s);
    }
    free(ns);
}

/* JSON. */

static void
put_integer(struct json *json, const char *name, long long int value)
{
    json_object_put(json, name, json_integer_create(value));
}

static struct json *
link_show_alt_names_json(const struct link_table *table,
                         const struct link_info *link)
{
    struct json *json = json_array_create_empty();
    struct sset names = SSET_INITIALIZER(&names);
    const char *name;

    link_table_get_alt_names(table, link->nsid, link->ifindex, &names);
    SSET_FOR_EACH (name, &names) {
        json_array_add(json, json_string_create(name));
    }
    sset_destroy(&names);
    return json;
}

static void
link_show_switch_port_json(const struct link_info *link, struct json *json)
{
    if (link->port_name[0]) {
        json_object_put_string(json, "phys_port_name", link->port_name);
    }
    if (link->switch_id_len) {
        char *id = link_switch_id_to_string(link);

        json_object_put_string(json, "phys_switch_id", id);
        free(id);
    }
}

static struct json *
link_show_link_json(const struct link_table *table,
                    const struct link_info *link)
{
    struct json *json = json_object_create();
    char *hwaddr = link_hwaddr_to_string(link);

    put_integer(json, "ifindex", link->ifindex);
    json_object_put_string(json, "name", link->name);
    json_object_put(json, "alt_names", link_show_alt_names_json(table, link));
    json_object_put_string(json, "kind", link->kind);
    put_integer(json, "arp_type", link->arp_type);
    put_integer(json, "flags", link->flags);
    put_integer(json, "operstate", link->operstate);
    json_object_put(json, "carrier", json_boolean_create(link->carrier));
    put_integer(json, "carrier_up", link->carrier_up);
    put_integer(json, "carrier_down", link->carrier_down);
    put_integer(json, "mtu", link->mtu);
    json_object_put_string(json, "hwaddr", hwaddr);
    put_integer(json, "master", link->master);
    put_integer(json, "lower", link->lower);
    if (link->lower_nsid == LINK_NSID_SAME) {
        json_object_put_string(json, "lower_nsid", "same");
    } else if (link->lower_nsid == LINK_NSID_OTHER) {
        json_object_put_string(json, "lower_nsid", "other");
    } else {
        put_integer(json, "lower_nsid", link->lower_nsid);
    }
    link_show_switch_port_json(link, json);
    put_integer(json, "change_seqno", link->change_seqno);
    put_integer(json, "addr_seqno", link->addr_seqno);
    free(hwaddr);
    return json;
}

static struct json *
link_show_ns_json(const struct link_listener *listener,
                  const struct link_ns_info *ns, bool with_links)
{
    const struct link_table *table = link_listener_table(listener);
    struct json *json = json_object_create();
    char *name = link_nsid_to_string(ns->nsid);

    json_object_put_string(json, "namespace", name);
    free(name);
    if (ns->nsid == LINK_NSID_LOCAL
        && link_listener_self_nsid(listener) != LINK_NSID_NONE) {
        put_integer(json, "self_nsid", link_listener_self_nsid(listener));
    }
    json_object_put_string(json, "state", link_ns_state_name(ns->state));
    if (ns->state == LINK_NS_STALE) {
        json_object_put_string(json, "error", ovs_strerror(ns->error));
    }
    put_integer(json, "n_links", ns->n_links);
    put_integer(json, "buckets", ns->buckets);
    put_integer(json, "events", ns->events);
    put_integer(json, "overruns", ns->overruns);
    put_integer(json, "resyncs", ns->resyncs);
    if (with_links) {
        struct json *array = json_array_create_empty();
        size_t n;
        struct link_info *links = link_table_get_links(table, ns->nsid, &n);

        for (size_t i = 0; i < n; i++) {
            json_array_add(array, link_show_link_json(table, &links[i]));
        }
        free(links);
        json_object_put(json, "links", array);
    }
    return json;
}

static void
link_show_lag_json(const struct link_listener *listener, struct json *json)
{
    struct link_listener_lag lag;

    link_listener_get_lag(listener, &lag);
    json_object_put(json, "current",
                    json_boolean_create(link_listener_is_current(listener)));
    put_integer(json, "event_age", lag.event_age);
    put_integer(json, "current_age", lag.current_age);
    put_integer(json, "backlog", lag.backlog);
    put_integer(json, "rcvbuf", lag.rcvbuf);
}

struct json *
link_show_json(const struct link_listener *listener, int32_t nsid)
{
    const struct link_table *table = link_listener_table(listener);
    struct json *namespaces = json_array_create_empty();
    struct link_listener_stats stats;
    size_t n;
    struct link_ns_info *ns = link_table_get_namespaces(table, &n);

    for (size_t i = 0; i < n; i++) {
        if (nsid == LINK_NSID_ALL || nsid == ns[i].nsid) {
            json_array_add(namespaces,
                           link_show_ns_json(listener, &ns[i],
                                             nsid != LINK_NSID_ALL));
        }
    }
    free(ns);

    link_listener_get_stats(listener, &stats);
    struct json *json = fields_to_json(stats_fields, &stats);
    link_show_lag_json(listener, json);
    json_object_put(json, "namespaces", namespaces);
    return json;
}
