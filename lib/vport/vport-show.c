/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "vport/vport-show.h"

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl/fields.h"
#include "unixctl/findings.h"
#include "util.h"
#include "vport/vport-table.h"

#define STATS(MEMBER) FIELD(struct vport_table_stats, MEMBER, #MEMBER, #MEMBER)

static const struct field question_fields[] = {
    STATS(by_name),
    STATS(by_number),
    STATS(lists),
    { .type = FIELD_END }
};

static const struct field event_fields[] = {
    STATS(new),
    STATS(deleted),
    STATS(changed),
    STATS(foreign),
    STATS(links),
    STATS(renamed),
    { .type = FIELD_END }
};

static const struct field loss_fields[] = {
    STATS(vport_overruns),
    STATS(link_overruns),
    STATS(malformed),
    STATS(resyncs),
    { .type = FIELD_END }
};

static const char *const ask_names[VPORT_N_ASKS] = {
    [VPORT_ASK_START] = "start",
    [VPORT_ASK_LOSS] = "loss",
    [VPORT_ASK_ORDER] = "order",
    [VPORT_ASK_DEVICE] = "device",
    [VPORT_ASK_NAME] = "name",
    [VPORT_ASK_NAMESPACE] = "namespace",
    [VPORT_ASK_UNSYNCED] = "unsynced",
    [VPORT_ASK_UNUSUAL] = "unusual",
};

static const struct field ask_fields[] = {
    FIELD_OF_COUNTS(struct vport_table_stats, asked, ask_names, NULL),
    { .type = FIELD_END }
};

static const struct field table_fields[] = {
    FIELD(struct vport_table_info, name, "name"),
    FIELD(struct vport_table_info, open, "open"),
    FIELD(struct vport_table_info, in_sync, "in_sync"),
    FIELD(struct vport_table_info, all_namespaces, "all_namespaces"),
    FIELD_OF_TABLE(struct vport_table_info, stats, question_fields,
                   "questions"),
    FIELD_OF_TABLE(struct vport_table_info, stats, event_fields, "events"),
    FIELD_OF_TABLE(struct vport_table_info, stats, loss_fields, "losses"),
    FIELD_OF_TABLE(struct vport_table_info, stats, ask_fields, "asked"),
    { .type = FIELD_END }
};

static struct json *
get_nsid(const void *nsid_)
{
    const int32_t *nsid = nsid_;

    return (*nsid == OVS_VPORT_LOCAL ? json_null_create()
            : json_integer_create(*nsid));
}

static const struct field port_fields[] = {
    FIELD(struct ovs_vport, port_no, "port_no", "port", 5),
    FIELD(struct ovs_vport, name, "name", "name", -16),
    FIELD(struct ovs_vport, type, "type", "type", 4),
    FIELD(struct ovs_vport, ifindex, "ifindex", "ifindex", 10),
    FIELD_OF_FUNCTION(struct ovs_vport, nsid, get_nsid, "nsid", "namespace",
                      10),
    { .type = FIELD_END }
};

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

void
vport_show_text(const struct vport_table_info *info, struct ds *s)
{
    const struct vport_table_stats *stats = &info->stats;

    ds_put_format(s, "%s: vport table\n", info->name);
    ds_put_format(s, "  ports %"PRIuSIZE", %s, %s\n", info->n_vports,
                  state_name(info), (info->all_namespaces
                                     ? "follows all namespaces"
                                     : "follows its own namespace"));
    fields_put_lines(s, "  questions", question_fields, stats);
    fields_put_lines(s, "  events", event_fields, stats);
    fields_put_lines(s, "  losses", loss_fields, stats);
    ds_put_format(s, "  requests: %"PRIu64" (", count_requests(stats));
    fields_put_list(s, ask_fields, stats);
    ds_put_cstr(s, ")\n");
    fields_put_rows(s, NULL, port_fields, info->vports, info->n_vports,
                    sizeof *info->vports);
}

struct json *
vport_show_json(const struct vport_table_info *info)
{
    struct json *json = fields_to_json(table_fields, info);

    json_object_put(json, "requests",
                    json_integer_create(count_requests(&info->stats)));
    json_object_put(json, "ports",
                    fields_to_json_array(port_fields, info->vports,
                                         info->n_vports,
                                         sizeof *info->vports));
    return json;
}

/* Findings. */

/* Losses that are worth reporting: bursts of new ports cause a few. */
#define MANY_LOSSES 10

static const struct finding_kind table_not_current = {
    "port-table-not-current",
    "Each question about a port goes to the kernel, and may wait there.",
    "Look for failed lists of ports in the log; the table is listed again in "
    "each turn of the main loop.",
};

static const struct finding_kind namespaces_not_followed = {
    "namespaces-not-followed",
    "The kernel is asked about ports whose devices are in other namespaces.",
    "Needs Linux 4.2 and CAP_NET_BROADCAST in the daemon's user namespace.",
};

static const struct finding_kind events_lost = {
    "port-events-lost",
    "The ports are listed again each time, which takes longer the more there "
    "are.",
    "Look for what keeps the main loop (\"Unreasonably long\" in the log).",
};

void
vport_diagnose(const struct vport_table_info *info, struct findings *findings)
{
    const struct vport_table_stats *stats = &info->stats;
    uint64_t losses = (stats->vport_overruns + stats->link_overruns
                       + stats->malformed);

    if (!info->open) {
        return;
    }
    if (!info->in_sync) {
        findings_add(findings, &table_not_current, "%s: the table of ports is "
                     "not in sync with the kernel", info->name);
    }
    if (!info->all_namespaces) {
        findings_add(findings, &namespaces_not_followed, "%s: the kernel "
                     "does not announce devices in other network namespaces",
                     info->name);
    }
    if (losses >= MANY_LOSSES) {
        findings_add(findings, &events_lost, "%s: announcements of ports were "
                     "lost %"PRIu64" times", info->name, losses);
    }
}
