/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/dispatch.h"
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
#include "simap.h"
#include "tc/tc-orphans.h"
#include "unixctl/args.h"
#include "unixctl/override.h"
#include "unixctl.h"
#include "upcall/upcall-show.h"
#include "util.h"
#include "uuid.h"
#include "vport/vport-show.h"

/* The most arguments of upcall/show. */
#define SHOW_MAX_ARGS 8

/* Arguments and result of a command. */
struct show {
    const char *what;           /* Name of a datapath, or name or number of a
                                 * port, or NULL for all. */
    bool found;                 /* It exists. */
    struct ds *text;            /* Either this or 'json' is not NULL. */
    struct json *json;          /* Array of datapaths, or of ports. */

    /* upcall/show. */
    struct unixctl_conn *conn;
    const char *sort;           /* Key to sort ports or senders by, or
                                 * NULL. */
    const char *top_text;       /* Number of them, as typed, or NULL. */
    unsigned int top;           /* Ports, or senders of a port, to show, or 0
                                 * for all. */
    bool queues;                /* Show a line for each queue. */
    bool senders;               /* Show the senders of ports. */
};

/* Calls 'cb' for each datapath. */
static void
show_all(struct show *show, const char *what, struct ds *text,
         struct json **json, void (*cb)(struct kdp_datapath *, void *show))
{
    show->what = what;
    show->text = text;
    if (json) {
        show->json = *json = json_array_create_empty();
    }
    kdp_datapaths_for_each(cb, show);
}

/* upcall/show. */

/* Takes a snapshot of 'dp' into '*info', sorted as 'show' says. */
static void
get_info(const struct kdp_datapath *dp, const struct show *show,
         struct upcall_table_info *info)
{
    upcall_table_get_info(dp->upcalls, info);
    if (show->senders) {
        upcall_show_sort_senders(info, show->sort, show->top);
    } else {
        upcall_show_sort_senders(info, "rate", 0);
        if (show->sort) {
            upcall_show_sort(info, show->sort, show->top);
        }
    }
    info->with_queues = show->queues;
}

static void
show_datapath(struct kdp_datapath *dp, void *show_)
{
    struct show *show = show_;
    struct upcall_table_info info;
    uint64_t n_restored, n_lost, n_nowhere;
    const char *mode;

    /* In the other order, losses between the two reads would seem to belong to
     * no socket. */
    n_lost = kdp_datapath_n_lost(dp);
    get_info(dp, show, &info);
    n_nowhere = n_lost - MIN(n_lost, info.dropped);
    ovs_mutex_lock(&dp->mutex);
    mode = dispatch_mode_name(upcall_dest_mode(dp));
    n_restored = dispatch_n_restored(dp);
    ovs_mutex_unlock(&dp->mutex);
    if (show->text && show->senders) {
        upcall_show_senders_text(&info, NULL, show->text);
    } else if (show->text) {
        upcall_show_text(&info, show->text);
        if (n_nowhere) {
            ds_put_format(show->text, "  lost on no socket: %"PRIu64" (sent "
                          "to a socket that is gone or was not there yet)\n",
                          n_nowhere);
        }
        ds_put_format(show->text, "  dispatch %s, restored after other "
                      "processes: %"PRIu64"\n", mode, n_restored);
    } else {
        struct json *json = upcall_show_json(&info);

        json_object_put(json, "lost_nowhere", json_integer_create(n_nowhere));
        json_object_put_string(json, "dispatch", mode);
        json_object_put(json, "dispatch_restored",
                        json_integer_create(n_restored));
        json_array_add(show->json, json);
    }
    upcall_table_info_uninit(&info);
}

static void
show_port(struct kdp_datapath *dp, void *show_)
{
    struct show *show = show_;
    const struct upcall_port_info *port;
    struct upcall_table_info info;

    get_info(dp, show, &info);
    port = upcall_show_find(&info, show->what);
    if (port) {
        show->found = true;
        if (show->text && show->senders) {
            upcall_show_senders_text(&info, port, show->text);
        } else if (show->text) {
            upcall_show_port_text(&info, port, show->text);
        } else {
            struct json *json = upcall_show_port_json(&info, port);

            json_object_put_string(json, "datapath", info.name);
            json_array_add(show->json, json);
        }
    }
    upcall_table_info_uninit(&info);
}

/* Checks the arguments.  Returns NULL, or an error message that the caller
 * must free. */
static char *
check_order(struct show *show)
{
    struct upcall_table_info none = { .n_ports = 0 };

    if (show->top_text && (!str_to_uint(show->top_text, 10, &show->top)
                           || !show->top)) {
        return xasprintf("--top %s: expected a number of %s, at least 1",
                         show->top_text, show->senders ? "senders" : "ports");
    } else if (show->senders && show->queues) {
        return xstrdup("--queues: expected no --senders");
    } else if (show->senders) {
        show->sort = show->sort ? show->sort : "rate";
        return (upcall_show_sort_senders(&none, show->sort, 0) ? NULL
                : xasprintf("--sort %s: expected %s", show->sort,
                            upcall_show_sender_keys()));
    }
    show->sort = show->sort || !show->top ? show->sort : "upcalls";
    return (!show->sort || upcall_show_sort(&none, show->sort, 0) ? NULL
            : xasprintf("--sort %s: expected %s", show->sort,
                        upcall_show_keys()));
}

/* Moves "--top N", "--sort KEY", "--queues" and "--senders" from the 'argc'
 * arguments 'argv' to 'show', and stores the others in 'rest' and their number
 * in '*n_rest'.  (Open vSwitch frees the strings in 'argv'.)  Returns NULL, or
 * an error message that the caller must free. */
static char *
parse_order(int argc, const char *argv[], struct show *show,
            const char *rest[], int *n_rest)
{
    int n = 0;

    rest[n++] = argv[0];
    for (int i = 1; i < argc; i++) {
        bool top = !strcmp(argv[i], "--top");

        if (!strcmp(argv[i], "--queues")) {
            show->queues = true;
            continue;
        } else if (!strcmp(argv[i], "--senders")) {
            show->senders = true;
            continue;
        } else if (!top && strcmp(argv[i], "--sort")) {
            rest[n++] = argv[i];
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : "";
        if (top) {
            show->top_text = value;
        } else {
            show->sort = value;
        }
    }
    *n_rest = n;
    return check_order(show);
}

static char *
show_upcalls(const char *port, struct ds *text, struct json **json,
             void *show_)
{
    struct show *show = show_;

    if (port && show->sort && !show->senders) {
        return xasprintf("%s: expected no port with --top or --sort, unless "
                         "--senders is there, too", port);
    }
    if (text && !port && !show->senders) {
        unixctl_override_call_stock("upcall/show", show->conn, text);
    }
    show_all(show, port, text, json, port ? show_port : show_datapath);
    return (!port || show->found ? NULL
            : xasprintf("%s: no datapath has an upcall channel of that name "
                        "or port number", port));
}

static void
upcall_show(struct unixctl_conn *conn, int argc, const char *argv[],
            void *aux OVS_UNUSED)
{
    struct show show = { .conn = conn };
    const char *rest[1 + SHOW_MAX_ARGS];
    int n_rest = 0;
    char *error = parse_order(argc, argv, &show, rest, &n_rest);

    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
    } else {
        show_args_run(conn, n_rest, rest, "PORT", show_upcalls, &show);
    }
}

static void
reset_datapath(struct kdp_datapath *dp, void *aux OVS_UNUSED)
{
    upcall_table_reset_stats(dp->upcalls);
}

static void
upcall_reset(struct unixctl_conn *conn, int argc OVS_UNUSED,
             const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    kdp_datapaths_for_each(reset_datapath, NULL);
    unixctl_command_reply(conn, NULL);
}

/* vport-table/show and offload/show. */

static bool
is_called(const struct kdp_datapath *dp, struct show *show)
{
    bool called = (!show->what || !strcmp(show->what, dp->name)
                   || !strcmp(show->what, dp->inner->base_name));

    show->found |= called;
    return called;
}

static char *
show_datapaths(const char *name, struct ds *text, struct json **json,
               void (*cb)(struct kdp_datapath *, void *show))
{
    struct show show = { .found = !name };

    show_all(&show, name, text, json, cb);
    return (show.found ? NULL
            : xasprintf("%s: no such datapath is open", name));
}

static void
show_vports(struct kdp_datapath *dp, void *show_)
{
    struct show *show = show_;
    struct vport_table_info info;

    if (!is_called(dp, show)) {
        return;
    }
    vport_table_get_info(dp->vports, &info);
    if (show->text) {
        vport_show_text(&info, show->text);
    } else {
        json_array_add(show->json, vport_show_json(&info));
    }
    vport_table_info_uninit(&info);
}

static char *
vport_table_show(const char *name, struct ds *text, struct json **json,
                 void *aux OVS_UNUSED)
{
    return show_datapaths(name, text, json, show_vports);
}

static void
show_offload(struct kdp_datapath *dp, void *show_)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct offload_engine_info *info = NULL;
    struct show *show = show_;
    bool enabled = false;

    if (!is_called(dp, show)) {
        return;
    }
    if (engine) {
        info = xmalloc(sizeof *info);
        atomic_read_relaxed(&engine->enabled, &enabled);
        offload_get_info(engine->offload, info);
    }
    if (show->text) {
        ds_put_format(show->text, "%s: %s\n", dp->name,
                      enabled ? "on" : info ? "off" : "off, never used");
        if (info) {
            offload_show_text(info, show->text);
        }
    } else {
        struct json *json = (info ? offload_show_json(info)
                             : json_object_create());

        json_object_put_string(json, "datapath", dp->name);
        json_object_put(json, "enabled", json_boolean_create(enabled));
        json_object_put(json, "orphans", kdp_tc_orphans_show_json());
        json_array_add(show->json, json);
    }
    free(info);
}

static char *
offload_show(const char *name, struct ds *text, struct json **json,
             void *aux OVS_UNUSED)
{
    char *error = show_datapaths(name, text, json, show_offload);

    if (text) {
        kdp_tc_orphans_show_text(text);
    }
    return error;
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
    struct ds *text;            /* Either this or 'json' is not NULL. */
    struct json *json;          /* Array. */
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
        offload_why_text(ufid, info, why->text);
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

static char *
offload_why(const char *flow, struct ds *text, struct json **json,
            void *aux OVS_UNUSED)
{
    struct why why = { .flow = flow, .text = text };
    struct uuid uuid;

    if (!flow) {
        return xstrdup("expected a ufid, or a flow as \"dpctl/dump-flows\" "
                       "shows it");
    }

    /* If the text begins with a ufid, the ufid selects the flow. */
    const char *ufid = flow + (!strncmp(flow, "ufid:", 5) ? 5 : 0);
    why.by_ufid = (uuid_from_string_prefix(&uuid, ufid)
                   && (!ufid[UUID_LEN] || ufid[UUID_LEN] == ','));
    if (why.by_ufid) {
        memcpy(&why.ufid, &uuid, sizeof why.ufid);
    }
    if (json) {
        why.json = *json = json_array_create_empty();
    }
    kdp_datapaths_for_each(why_datapath, &why);
    if (!why.n && !why.error) {
        why.error = xasprintf("%s: no such flow is known to offload: it is "
                              "not in the datapath, or was there before "
                              "offload was turned on", flow);
    }
    if (text && why.n > MAX_SHOWN) {
        ds_put_format(text, "and %"PRIuSIZE" more\n", why.n - MAX_SHOWN);
    }
    return why.error;
}

/* dpctl/offload-stats-show. */

int
show_offload_stats(struct kdp_flow_engine *engine,
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
show_register(void)
{
    unixctl_override("upcall/show", "[--format text|json] [--top N] "
                     "[--sort KEY] [--queues | --senders] [PORT]", 0,
                     SHOW_MAX_ARGS, upcall_show, NULL);
    unixctl_command_register("upcall/reset", "", 0, 0, upcall_reset, NULL);
    show_args_register("vport-table/show", "[--format text|json] [DP]", "DP",
                       vport_table_show, NULL);
    show_args_register("offload/show", "[--format text|json] [DP]", "DP",
                       offload_show, NULL);
    show_args_register("offload/why", "[--format text|json] FLOW", "FLOW",
                       offload_why, NULL);
}
