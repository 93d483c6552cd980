/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/show.h"

#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/dispatch.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "unixctl/args.h"
#include "unixctl/override.h"
#include "unixctl.h"
#include "upcall/upcall-show.h"
#include "util.h"
#include "vport/vport-show.h"

/* The most arguments of upcall/show. */
#define SHOW_MAX_ARGS 8

/* Arguments and result of upcall/show. */
struct show {
    const char *port;           /* Name or number, or NULL for all. */
    const char *sort;           /* Key to sort ports or senders by, or
                                 * NULL. */
    const char *top_text;       /* Number of them, as typed, or NULL. */
    unsigned int top;           /* Ports, or senders of a port, to show, or 0
                                 * for all. */
    bool queues;                /* Show a line for each queue. */
    bool senders;               /* Show the senders of ports. */
    bool found;                 /* A datapath has that port. */
    struct ds *text;            /* Either this or 'json' is not NULL. */
    struct json *json;          /* Array of datapaths, or of ports. */
};

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
    port = upcall_show_find(&info, show->port);
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

static void
upcall_show(struct unixctl_conn *conn, int argc, const char *argv[],
            void *aux OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct show show = { .port = NULL };
    const char *rest[1 + SHOW_MAX_ARGS];
    bool json;
    char *error;
    int n_rest = 0;

    error = parse_order(argc, argv, &show, rest, &n_rest);
    if (!error) {
        error = show_args_parse(n_rest, rest, "PORT", &json, &show.port);
    }
    if (!error && show.port && show.sort && !show.senders) {
        error = xasprintf("%s: expected no port with --top or --sort, unless "
                          "--senders is there, too", show.port);
    }
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        return;
    }

    if (json) {
        show.json = json_array_create_empty();
    } else {
        show.text = &s;
        if (!show.port && !show.senders) {
            unixctl_override_call_stock("upcall/show", conn, &s);
        }
    }
    kdp_datapaths_for_each(show.port ? show_port : show_datapath, &show);
    if (show.json) {
        show_args_put_json(&s, show.json);
    }
    if (show.port && !show.found) {
        ds_clear(&s);
        ds_put_format(&s, "%s: no datapath has an upcall channel of that name "
                      "or port number", show.port);
        unixctl_command_reply_error(conn, ds_cstr(&s));
    } else {
        unixctl_command_reply(conn, ds_cstr(&s));
    }
    ds_destroy(&s);
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

/* Arguments and result of vport-table/show. */
struct show_vports {
    const char *datapath;       /* Name, or NULL for all. */
    bool found;
    struct ds *text;            /* Either this or 'json' is not NULL. */
    struct json *json;          /* Array of datapaths. */
};

static void
show_vports(struct kdp_datapath *dp, void *show_)
{
    struct show_vports *show = show_;
    struct vport_table_info info;

    if (show->datapath && strcmp(show->datapath, dp->name)
        && strcmp(show->datapath, dp->inner->base_name)) {
        return;
    }
    show->found = true;
    vport_table_get_info(dp->vports, &info);
    if (show->text) {
        vport_show_text(&info, show->text);
    } else {
        json_array_add(show->json, vport_show_json(&info));
    }
    vport_table_info_uninit(&info);
}

static void
vport_table_show(struct unixctl_conn *conn, int argc, const char *argv[],
                 void *aux OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct show_vports show = { .datapath = NULL };
    bool json;
    char *error;

    error = show_args_parse(argc, argv, "DP", &json, &show.datapath);
    if (error) {
        unixctl_command_reply_error(conn, error);
        free(error);
        return;
    }

    if (json) {
        show.json = json_array_create_empty();
    } else {
        show.text = &s;
    }
    kdp_datapaths_for_each(show_vports, &show);
    if (json) {
        show_args_put_json(&s, show.json);
    }
    if (show.datapath && !show.found) {
        ds_clear(&s);
        ds_put_format(&s, "%s: no such datapath is open", show.datapath);
        unixctl_command_reply_error(conn, ds_cstr(&s));
    } else {
        unixctl_command_reply(conn, ds_cstr(&s));
    }
    ds_destroy(&s);
}

void
show_register(void)
{
    unixctl_override("upcall/show", "[--format text|json] [--top N] "
                     "[--sort KEY] [--queues | --senders] [PORT]", 0,
                     SHOW_MAX_ARGS, upcall_show, NULL);
    unixctl_command_register("upcall/reset", "", 0, 0, upcall_reset, NULL);
    unixctl_command_register("vport-table/show", "[--format text|json] [DP]",
                             0, 3, vport_table_show, NULL);
}
