/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-show.h"

#include <ctype.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-listener.h"
#include "link/link-table.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "sset.h"
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

static const char *
link_reason_name(enum link_reason reason)
{
    switch (reason) {
    case LINK_REASON_START: return "start";
    case LINK_REASON_LOSS: return "loss";
    case LINK_REASON_NAMESPACE: return "namespace";
    case LINK_REASON_ASKED: return "asked";
    case LINK_N_REASONS: break;
    }
    OVS_NOT_REACHED();
}

/* "newlink" for LINK_MSG_NEWLINK and so on.  The caller frees it. */
static char *
link_event_name(enum link_msg_type type)
{
    char *name = xstrdup(link_msg_type_name(type) + strlen("RTM_"));

    for (char *p = name; *p; p++) {
        *p = tolower((unsigned char) *p);
    }
    return name;
}

/* Text. */

static void
link_show_stats_text(const struct link_listener_stats *stats, struct ds *s)
{
    ds_put_cstr(s, "  events:");
    for (int i = 0; i < LINK_N_MSGS; i++) {
        char *name = link_event_name(i);

        ds_put_format(s, " %s %"PRIu64",", name, stats->events[i]);
        free(name);
    }
    ds_put_format(s, " other %"PRIu64"\n", stats->events_other);
    ds_put_format(s, "  skipped: malformed %"PRIu64", foreign %"PRIu64
                  ", bridge ports %"PRIu64", sender %"PRIu64", own %"PRIu64
                  "\n", stats->malformed, stats->ignored_foreign,
                  stats->ignored_port, stats->ignored_sender,
                  stats->ignored_own);
    ds_put_format(s, "  losses: overruns %"PRIu64" (lost %"PRIu64
                  "), truncated %"PRIu64", drained %"PRIu64"\n",
                  stats->overruns, stats->lost, stats->truncated,
                  stats->drained);
    ds_put_format(s, "  resyncs: %"PRIu64" (us: last %"PRIu64", longest %"
                  PRIu64", total %"PRIu64"), dumps interrupted %"PRIu64
                  ", failed %"PRIu64", refused %"PRIu64"\n", stats->resyncs,
                  stats->resync_last, stats->resync_max, stats->resync_total,
                  stats->interrupted, stats->failed, stats->refused);
    ds_put_cstr(s, "  requests under RTNL:");
    for (int i = 0; i < LINK_N_REASONS; i++) {
        ds_put_format(s, " %s %"PRIu64",", link_reason_name(i),
                      stats->rtnl[i]);
    }
    ds_put_format(s, " without: %"PRIu64"\n", stats->nsid_requests);
    ds_put_cstr(s, "  time of requests under RTNL (us):");
    for (int i = 0; i < LINK_N_REASONS; i++) {
        ds_put_format(s, "%s %s %"PRIu64, i ? "," : "", link_reason_name(i),
                      stats->rtnl_us[i]);
    }
    ds_put_char(s, '\n');
}

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
        link_show_stats_text(&stats, s);
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
link_show_stats_json(const struct link_listener_stats *stats)
{
    struct json *json = json_object_create();
    struct json *events = json_object_create();
    struct json *rtnl = json_object_create();
    struct json *rtnl_us = json_object_create();

    for (int i = 0; i < LINK_N_MSGS; i++) {
        char *name = link_event_name(i);

        put_integer(events, name, stats->events[i]);
        free(name);
    }
    for (int i = 0; i < LINK_N_REASONS; i++) {
        put_integer(rtnl, link_reason_name(i), stats->rtnl[i]);
        put_integer(rtnl_us, link_reason_name(i), stats->rtnl_us[i]);
    }
    json_object_put(json, "events", events);
    json_object_put(json, "rtnl", rtnl);
    json_object_put(json, "rtnl_us", rtnl_us);

    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        { "events_other", stats->events_other },
        { "malformed", stats->malformed },
        { "ignored_foreign", stats->ignored_foreign },
        { "ignored_own", stats->ignored_own },
        { "ignored_port", stats->ignored_port },
        { "ignored_sender", stats->ignored_sender },
        { "overruns", stats->overruns },
        { "lost", stats->lost },
        { "truncated", stats->truncated },
        { "drained", stats->drained },
        { "resyncs", stats->resyncs },
        { "interrupted", stats->interrupted },
        { "failed", stats->failed },
        { "refused", stats->refused },
        { "resync_last", stats->resync_last },
        { "resync_max", stats->resync_max },
        { "resync_total", stats->resync_total },
        { "nsid_requests", stats->nsid_requests },
    };
    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        put_integer(json, counters[i].name, counters[i].value);
    }
    return json;
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
    struct json *json = link_show_stats_json(&stats);
    link_show_lag_json(listener, json);
    json_object_put(json, "namespaces", namespaces);
    return json;
}
