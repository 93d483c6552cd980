/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-show.h"

#include <inttypes.h>
#include <stdio.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

const char *
vport_ask_name(enum vport_ask ask)
{
    switch (ask) {
    case VPORT_ASK_START: return "start";
    case VPORT_ASK_LOSS: return "loss";
    case VPORT_ASK_ORDER: return "order";
    case VPORT_ASK_DEVICE: return "device";
    case VPORT_ASK_NAME: return "name";
    case VPORT_ASK_NAMESPACE: return "namespace";
    case VPORT_ASK_UNSYNCED: return "unsynced";
    case VPORT_ASK_UNUSUAL: return "unusual";
    case VPORT_N_ASKS:
    default: OVS_NOT_REACHED();
    }
}

/* Counters that are not requests, with their names in both forms. */
static const struct counter {
    const char *name;
    size_t offset;
} questions[] = {
    { "by_name", offsetof(struct vport_table_stats, by_name) },
    { "by_number", offsetof(struct vport_table_stats, by_number) },
    { "lists", offsetof(struct vport_table_stats, lists) },
}, events[] = {
    { "new", offsetof(struct vport_table_stats, new) },
    { "deleted", offsetof(struct vport_table_stats, deleted) },
    { "changed", offsetof(struct vport_table_stats, changed) },
    { "foreign", offsetof(struct vport_table_stats, foreign) },
    { "links", offsetof(struct vport_table_stats, links) },
    { "renamed", offsetof(struct vport_table_stats, renamed) },
}, losses[] = {
    { "vport_overruns", offsetof(struct vport_table_stats, vport_overruns) },
    { "link_overruns", offsetof(struct vport_table_stats, link_overruns) },
    { "malformed", offsetof(struct vport_table_stats, malformed) },
    { "resyncs", offsetof(struct vport_table_stats, resyncs) },
};

static const struct {
    const char *name;
    const struct counter *counters;
    size_t n;
} groups[] = {
    { "questions", questions, ARRAY_SIZE(questions) },
    { "events", events, ARRAY_SIZE(events) },
    { "losses", losses, ARRAY_SIZE(losses) },
};

static uint64_t
counter_value(const struct vport_table_stats *stats,
              const struct counter *counter)
{
    return *(const uint64_t *) ((const char *) stats + counter->offset);
}

static uint64_t
count_requests(const struct vport_table_stats *stats)
{
    uint64_t n = 0;

    for (int i = 0; i < VPORT_N_ASKS; i++) {
        n += stats->asked[i];
    }
    return n;
}

static const char *
state_name(const struct vport_table_info *info)
{
    return (!info->open ? "not used yet"
            : info->in_sync ? "in sync" : "not in sync");
}

static void
show_ports_text(const struct vport_table_info *info, struct ds *s)
{
    ds_put_format(s, "  %5s %-16s %4s %10s %10s\n", "port", "name", "type",
                  "ifindex", "namespace");
    for (size_t i = 0; i < info->n_vports; i++) {
        const struct ovs_vport *vport = &info->vports[i];

        ds_put_format(s, "  %5"PRIu32" %-16s %4"PRIu32" %10d ",
                      vport->port_no, vport->name, vport->type,
                      vport->ifindex);
        if (vport->nsid == OVS_VPORT_LOCAL) {
            ds_put_format(s, "%10s\n", "-");
        } else {
            ds_put_format(s, "%10"PRId32"\n", vport->nsid);
        }
    }
}

void
vport_show_text(const struct vport_table_info *info, struct ds *s)
{
    const struct vport_table_stats *stats = &info->stats;

    ds_put_format(s, "%s: vport table\n", info->name);
    ds_put_format(s, "  ports %"PRIuSIZE", %s, %s\n", info->n_vports,
                  state_name(info), (info->all_namespaces
                                     ? "hears of all namespaces"
                                     : "hears of its own namespace"));
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        ds_put_format(s, "  %s:", groups[i].name);
        for (size_t j = 0; j < groups[i].n; j++) {
            const struct counter *counter = &groups[i].counters[j];

            ds_put_format(s, "%s %s %"PRIu64, j ? "," : "", counter->name,
                          counter_value(stats, counter));
        }
        ds_put_char(s, '\n');
    }
    ds_put_format(s, "  requests: %"PRIu64" (", count_requests(stats));
    for (int i = 0; i < VPORT_N_ASKS; i++) {
        ds_put_format(s, "%s%s %"PRIu64, i ? ", " : "", vport_ask_name(i),
                      stats->asked[i]);
    }
    ds_put_cstr(s, ")\n");
    show_ports_text(info, s);
}

static struct json *
ports_to_json(const struct vport_table_info *info)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < info->n_vports; i++) {
        const struct ovs_vport *vport = &info->vports[i];
        struct json *json = json_object_create();

        json_object_put(json, "port_no", json_integer_create(vport->port_no));
        json_object_put_string(json, "name", vport->name);
        json_object_put(json, "type", json_integer_create(vport->type));
        json_object_put(json, "ifindex", json_integer_create(vport->ifindex));
        json_object_put(json, "nsid", (vport->nsid == OVS_VPORT_LOCAL
                                       ? json_null_create()
                                       : json_integer_create(vport->nsid)));
        json_array_add(array, json);
    }
    return array;
}

struct json *
vport_show_json(const struct vport_table_info *info)
{
    const struct vport_table_stats *stats = &info->stats;
    struct json *json = json_object_create();
    struct json *asked = json_object_create();

    json_object_put_string(json, "name", info->name);
    json_object_put(json, "open", json_boolean_create(info->open));
    json_object_put(json, "in_sync", json_boolean_create(info->in_sync));
    json_object_put(json, "all_namespaces",
                    json_boolean_create(info->all_namespaces));
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        struct json *group = json_object_create();

        for (size_t j = 0; j < groups[i].n; j++) {
            const struct counter *counter = &groups[i].counters[j];

            json_object_put(group, counter->name,
                            json_integer_create(counter_value(stats,
                                                              counter)));
        }
        json_object_put(json, groups[i].name, group);
    }
    for (int i = 0; i < VPORT_N_ASKS; i++) {
        json_object_put(asked, vport_ask_name(i),
                        json_integer_create(stats->asked[i]));
    }
    json_object_put(json, "asked", asked);
    json_object_put(json, "requests",
                    json_integer_create(count_requests(stats)));
    json_object_put(json, "ports", ports_to_json(info));
    return json;
}
