/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/flow-engine.h"
#include "flow.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "offload/offload-info.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/match.h"
#include "openvswitch/netdev.h"
#include "openvswitch/ofpbuf.h"
#include "tc/tc-orphans.h"
#include "unixctl/args.h"
#include "simap.h"
#include "unixctl.h"
#include "util.h"
#include "uuid.h"

/* offload/show. */

struct show {
    const char *datapath;       /* Name, or NULL for all. */
    bool found;
    struct ds *text;            /* Either this or 'json' is not NULL. */
    struct json *json;          /* Array of datapaths. */
};

static bool
is_called(const struct kdp_datapath *dp, const char *name)
{
    return (!name || !strcmp(name, dp->name)
            || !strcmp(name, dp->inner->base_name));
}

static void
show_engine(const struct kdp_datapath *dp, struct kdp_flow_engine *engine,
            struct show *show)
{
    struct offload_engine_info *info = xmalloc(sizeof *info);
    bool enabled;

    atomic_read_relaxed(&engine->enabled, &enabled);
    offload_get_info(engine->offload, info);
    if (show->text) {
        ds_put_format(show->text, "%s: %s\n", dp->name,
                      enabled ? "on" : "off");
        offload_show_text(info, show->text);
    } else {
        struct json *json = offload_show_json(info);

        json_object_put_string(json, "datapath", dp->name);
        json_object_put(json, "enabled",
                        json_boolean_create(enabled));
        json_object_put(json, "orphans", kdp_tc_orphans_show_json());
        json_array_add(show->json, json);
    }
    free(info);
}

static void
show_datapath(struct kdp_datapath *dp, void *show_)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct show *show = show_;

    if (!is_called(dp, show->datapath)) {
        return;
    }
    show->found = true;
    if (engine) {
        show_engine(dp, engine, show);
    } else if (show->text) {
        ds_put_format(show->text, "%s: off, never used\n", dp->name);
    } else {
        struct json *json = json_object_create();

        json_object_put_string(json, "datapath", dp->name);
        json_object_put(json, "enabled", json_boolean_create(false));
        json_object_put(json, "orphans", kdp_tc_orphans_show_json());
        json_array_add(show->json, json);
    }
}

static void
offload_show(struct unixctl_conn *conn, int argc, const char *argv[],
             void *aux OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct show show = { .datapath = NULL };
    bool json;
    char *error;

    error = show_args_parse(argc, argv, "DP", &json, &show.datapath);
    if (!error) {
        show.json = json ? json_array_create_empty() : NULL;
        show.text = json ? NULL : &s;
        kdp_datapaths_for_each(show_datapath, &show);
        if (json) {
            show_args_put_json(&s, show.json);
        } else {
            kdp_tc_orphans_show_text(&s);
        }
        if (show.datapath && !show.found) {
            error = xasprintf("%s: no such datapath is open", show.datapath);
        }
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
    } else {
        unixctl_command_reply(conn, ds_cstr(&s));
    }
    ds_destroy(&s);
}

/* offload/why. */

/* The most flows shown for a match, which may match all flows. */
#define MAX_SHOWN 20

struct why {
    const char *flow;           /* The flow in question. */
    bool by_ufid;
    ovs_u128 ufid;
    struct match match;

    size_t n;                   /* Flows found. */
    struct ds text;
    struct json *json;          /* Array, or NULL for text. */
    char *error;                /* In 'flow', or NULL. */
};

/* Converts 'key' and 'mask' into '*match'.  They may lack fields that others
 * require, and have fields that Open vSwitch does not know.  Returns false if
 * they are invalid. */
static bool
match_from_parts(const void *key, size_t key_len,
                 const void *mask, size_t mask_len, struct match *match)
{
    enum odp_key_fitness fitness;
    char *error = NULL;         /* Without it, the error would be logged. */

    memset(match, 0, sizeof *match);
    fitness = odp_flow_key_to_flow(key, key_len, &match->flow, &error);
    free(error);
    error = NULL;
    if (!key_len || fitness == ODP_FIT_ERROR) {
        return false;
    }

    /* In a mask without an Ethernet type, the parser stops there with an
     * error. */
    odp_flow_key_to_mask(mask, mask_len, &match->wc, &match->flow, &error);
    free(error);
    return true;
}

/* True if some packets match both 'why->match' and 'desc'. */
static bool
overlaps(const struct why *why, const struct offload_desc *desc)
{
    const uint64_t *flow = (const uint64_t *) &why->match.flow;
    const uint64_t *mask = (const uint64_t *) &why->match.wc.masks;
    const uint64_t *desc_flow, *desc_mask;
    struct match match;

    if (!match_from_parts(desc->key, desc->key_len, desc->mask,
                          desc->mask_len, &match)) {
        return false;
    }
    desc_flow = (const uint64_t *) &match.flow;
    desc_mask = (const uint64_t *) &match.wc.masks;
    for (size_t i = 0; i < FLOW_U64S; i++) {
        if ((flow[i] ^ desc_flow[i]) & mask[i] & desc_mask[i]) {
            return false;
        }
    }
    return true;
}

static void
why_one(struct why *why, const ovs_u128 *ufid,
        const struct offload_flow_info *info)
{
    if (why->n++ >= MAX_SHOWN) {
        return;
    }
    if (why->json) {
        json_array_add(why->json, offload_why_json(ufid, info));
    } else {
        offload_why_text(ufid, info, &why->text);
    }
}

static void
why_if_overlaps(void *why_, const struct offload_desc *desc,
                const struct offload_flow_info *info)
{
    struct why *why = why_;

    if (overlaps(why, desc)) {
        why_one(why, &desc->ufid, info);
    }
}

/* Parses 'why->flow', in the format of dpctl/dump-flows with the port numbers
 * or names of 'dp'.  Ignores everything after the match. */
static char *
parse_flow(struct kdp_datapath *dp, struct why *why)
{
    const char *end = strstr(why->flow, ", packets:");
    char *flow = (end ? xmemdup0(why->flow, end - why->flow)
                  : xstrdup(why->flow));
    struct simap names = SIMAP_INITIALIZER(&names);
    struct ofpbuf key, mask;
    struct ovs_vport *vports;
    char *error = NULL, *reason = NULL;
    size_t n;

    if (!vport_table_list(dp->vports, &vports, &n)) {
        for (size_t i = 0; i < n; i++) {
            simap_put(&names, vports[i].name, vports[i].port_no);
        }
        free(vports);
    }
    ofpbuf_init(&key, 0);
    ofpbuf_init(&mask, 0);
    if (odp_flow_from_string(flow, &names, &key, &mask, &reason)
        || !match_from_parts(key.data, key.size, mask.data, mask.size,
                             &why->match)) {
        error = xasprintf("%s: expected a ufid, or a flow as "
                          "\"dpctl/dump-flows\" shows it%s%s", why->flow,
                          reason ? ": " : "", reason ? reason : "");
    }
    free(reason);
    ofpbuf_uninit(&key);
    ofpbuf_uninit(&mask);
    simap_destroy(&names);
    free(flow);
    return error;
}

static void
why_datapath(struct kdp_datapath *dp, void *why_)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct why *why = why_;

    if (!engine || why->error) {
        return;
    }
    if (why->by_ufid) {
        struct offload_flow_info info;

        if (!offload_get_flow_info(engine->offload, &why->ufid, &info)) {
            why_one(why, &why->ufid, &info);
        }
        return;
    }
    why->error = parse_flow(dp, why);
    if (!why->error) {
        offload_for_each_flow(engine->offload, why_if_overlaps, why);
    }
}

static void
offload_why(struct unixctl_conn *conn, int argc, const char *argv[],
            void *aux OVS_UNUSED)
{
    struct why why = { .n = 0 };
    struct uuid uuid;
    bool json;

    ds_init(&why.text);
    why.error = show_args_parse(argc, argv, "FLOW", &json, &why.flow);
    if (!why.error && !why.flow) {
        why.error = xstrdup("expected a ufid, or a flow as "
                            "\"dpctl/dump-flows\" shows it");
    }
    if (!why.error) {
        const char *ufid = why.flow;

        /* If the text begins with a ufid, the ufid selects the flow. */
        ufid += !strncmp(ufid, "ufid:", 5) ? 5 : 0;
        why.by_ufid = (uuid_from_string_prefix(&uuid, ufid)
                       && (!ufid[UUID_LEN] || ufid[UUID_LEN] == ','));
        if (why.by_ufid) {
            memcpy(&why.ufid, &uuid, sizeof why.ufid);
        }
        why.json = json ? json_array_create_empty() : NULL;
        kdp_datapaths_for_each(why_datapath, &why);
        if (!why.n && !why.error) {
            why.error = xasprintf("%s: no such flow is known to offload: it "
                                  "is not in the datapath, or was there "
                                  "before offload was turned on", why.flow);
        }
    }
    if (why.json) {
        show_args_put_json(&why.text, why.json);
    } else if (why.n > MAX_SHOWN) {
        ds_put_format(&why.text, "and %"PRIuSIZE" more\n", why.n - MAX_SHOWN);
    }
    if (why.error) {
        unixctl_command_reply_error(conn, why.error);
        free(why.error);
    } else {
        unixctl_command_reply(conn, ds_cstr(&why.text));
    }
    ds_destroy(&why.text);
}

/* dpctl/offload-stats-show. */

int
kdp_flow_show_stats(struct kdp_flow_engine *engine,
                    struct netdev_custom_stats *stats)
{
    struct offload_engine_info *info = xmalloc(sizeof *info);
    struct offload_figure *figures;
    size_t n;

    offload_get_info(engine->offload, info);
    n = offload_figures(info, &figures);
    stats->size = n;
    stats->counters = xcalloc(n, sizeof *stats->counters);
    for (size_t i = 0; i < n; i++) {
        ovs_strlcpy(stats->counters[i].name, figures[i].name,
                    sizeof stats->counters[i].name);
        stats->counters[i].value = figures[i].value;
    }
    free(figures);
    free(info);
    return 0;
}

void
kdp_flow_show_register(void)
{
    unixctl_command_register("offload/show", "[--format text|json] [DP]", 0, 3,
                             offload_show, NULL);
    unixctl_command_register("offload/why", "[--format text|json] FLOW", 1, 3,
                             offload_why, NULL);
}
