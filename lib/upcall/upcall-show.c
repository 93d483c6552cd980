/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-show.h"

#include <inttypes.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

/* Number of channels that belong to a port. */
static size_t
count_ports(const struct upcall_table_info *info)
{
    size_t n = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        n += info->ports[i].port_no != UPCALL_PORT_NONE;
    }
    return n;
}

static void
show_ports_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "  %5s %-16s %10s %12s %10s %8s %9s %9s\n", "port",
                  "name", "pid", "received", "lost", "overruns", "malformed",
                  "backlog");
    for (size_t i = 0; i < info->n_ports; i++) {
        const struct upcall_port_info *port = &info->ports[i];
        const struct upcall_channel_stats *stats = &port->stats;

        if (port->port_no == UPCALL_PORT_NONE) {
            ds_put_format(s, "  %5s", "-");
        } else {
            ds_put_format(s, "  %5"PRIu32, port->port_no);
        }
        ds_put_format(s, " %-16s %10"PRIu32" %12"PRIu64" %10"PRIu64
                      " %8"PRIu64" %9"PRIu64" %9"PRIu32"\n", port->name,
                      port->pid, stats->received, stats->lost,
                      stats->overruns, stats->malformed, stats->backlog);
    }
}

static void
show_handlers_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "  %7s %12s %12s %12s %12s %12s\n", "handler", "wakeups",
                  "empty", "batches", "upcalls", "receives");
    for (size_t i = 0; i < info->n_handlers; i++) {
        const struct upcall_handler_stats *stats = &info->handlers[i];

        ds_put_format(s, "  %7"PRIuSIZE" %12"PRIu64" %12"PRIu64" %12"PRIu64
                      " %12"PRIu64" %12"PRIu64"\n", i, stats->wakeups,
                      stats->empty_wakeups, stats->batches, stats->upcalls,
                      stats->receives);
    }
}

void
upcall_show_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "%s: upcall channels\n", info->name);
    ds_put_format(s, "  ports %"PRIuSIZE", sockets %"PRIuSIZE", "
                  "handlers %"PRIuSIZE"\n", count_ports(info), info->n_ports,
                  info->n_handlers);
    if (info->foreign || info->abandoned) {
        ds_put_format(s, "  dropped: %"PRIu64" of another datapath, %"PRIu64
                      " when handlers were changed\n", info->foreign,
                      info->abandoned);
    }
    show_ports_text(info, s);
    show_handlers_text(info, s);
}

static void
put_integer(struct json *object, const char *name, uint64_t value)
{
    json_object_put(object, name, json_integer_create(value));
}

static struct json *
port_to_json(const struct upcall_port_info *port)
{
    struct json *json = json_object_create();

    if (port->port_no == UPCALL_PORT_NONE) {
        json_object_put(json, "port_no", json_null_create());
    } else {
        put_integer(json, "port_no", port->port_no);
    }
    json_object_put_string(json, "name", port->name);
    put_integer(json, "pid", port->pid);
    put_integer(json, "received", port->stats.received);
    put_integer(json, "lost", port->stats.lost);
    put_integer(json, "overruns", port->stats.overruns);
    put_integer(json, "malformed", port->stats.malformed);
    put_integer(json, "backlog", port->stats.backlog);
    return json;
}

static struct json *
handler_to_json(const struct upcall_handler_stats *stats)
{
    struct json *json = json_object_create();

    put_integer(json, "wakeups", stats->wakeups);
    put_integer(json, "empty_wakeups", stats->empty_wakeups);
    put_integer(json, "batches", stats->batches);
    put_integer(json, "upcalls", stats->upcalls);
    put_integer(json, "receives", stats->receives);
    return json;
}

struct json *
upcall_show_json(const struct upcall_table_info *info)
{
    struct json *json = json_object_create();
    struct json *ports = json_array_create_empty();
    struct json *handlers = json_array_create_empty();

    for (size_t i = 0; i < info->n_ports; i++) {
        json_array_add(ports, port_to_json(&info->ports[i]));
    }
    for (size_t i = 0; i < info->n_handlers; i++) {
        json_array_add(handlers, handler_to_json(&info->handlers[i]));
    }
    json_object_put_string(json, "name", info->name);
    put_integer(json, "n_ports", count_ports(info));
    put_integer(json, "n_sockets", info->n_ports);
    put_integer(json, "n_handlers", info->n_handlers);
    put_integer(json, "foreign", info->foreign);
    put_integer(json, "abandoned", info->abandoned);
    json_object_put(json, "ports", ports);
    json_object_put(json, "handlers", handlers);
    return json;
}
