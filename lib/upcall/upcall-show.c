/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "timeval.h"
#include "upcall/upcall-info.h"
#include "util.h"

/* Sort keys of ports. */
enum sort_key {
    SORT_UPCALLS,
    SORT_RATE,
    SORT_RECEIVED,
    SORT_LOST,
    SORT_SHED,
    SORT_OVERRUNS,
    SORT_MALFORMED,
    SORT_ERRORS,
    SORT_BACKLOG,
    SORT_MOST,
    SORT_P50,
    SORT_P99,
    SORT_MAX,
    N_SORT_KEYS,
};

static const char *const sort_names[N_SORT_KEYS] = {
    "upcalls", "rate", "received", "lost", "shed", "overruns", "malformed",
    "errors", "backlog", "most", "p50", "p99", "max",
};

/* Upcalls per second: received, lost or shed. */
static uint64_t
total_rate(const struct upcall_rate *rate)
{
    return rate->received + rate->lost + rate->shed;
}

static uint64_t
sort_value(const struct upcall_port_info *port, enum sort_key key)
{
    const struct upcall_channel_stats *stats = &port->stats;
    const uint64_t values[N_SORT_KEYS] = {
        [SORT_UPCALLS] = stats->received + stats->lost + stats->shed,
        [SORT_RATE] = total_rate(&port->rate),
        [SORT_RECEIVED] = stats->received,
        [SORT_LOST] = stats->lost,
        [SORT_SHED] = stats->shed,
        [SORT_OVERRUNS] = stats->overruns,
        [SORT_MALFORMED] = stats->malformed,
        [SORT_ERRORS] = stats->errors,
        [SORT_BACKLOG] = stats->backlog,
        [SORT_MOST] = stats->backlog_max,
        [SORT_P50] = stats->latency.p50,
        [SORT_P99] = stats->latency.p99,
        [SORT_MAX] = stats->latency.max,
    };

    return values[key];
}

/* A port and the value to sort it by.  Ports with equal values stay in the
 * order of their numbers. */
struct ranked {
    uint64_t value;
    size_t index;
    struct upcall_port_info port;
};

static int
compare_ranked(const void *a_, const void *b_)
{
    const struct ranked *a = a_;
    const struct ranked *b = b_;

    return (a->value != b->value
            ? (a->value > b->value ? -1 : 1)
            : (a->index < b->index ? -1 : a->index > b->index));
}

bool
upcall_show_sort(struct upcall_table_info *info, const char *name, size_t top)
{
    enum sort_key key = 0;
    struct ranked *ranked;

    while (key < N_SORT_KEYS && strcmp(name, sort_names[key])) {
        key++;
    }
    if (key == N_SORT_KEYS) {
        return false;
    }
    ranked = xcalloc(info->n_ports, sizeof *ranked);
    for (size_t i = 0; i < info->n_ports; i++) {
        ranked[i] = (struct ranked) {
            .value = sort_value(&info->ports[i], key),
            .index = i,
            .port = info->ports[i],
        };
    }
    qsort(ranked, info->n_ports, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < info->n_ports; i++) {
        info->ports[i] = ranked[i].port;
    }
    free(ranked);
    info->top = top;
    return true;
}

const char *
upcall_show_keys(void)
{
    return "upcalls, rate, received, lost, shed, overruns, malformed, "
           "errors, backlog, most, p50, p99 or max";
}

/* Sort keys of senders. */
enum sender_key {
    SENDER_RATE,
    SENDER_SHED_RATE,
    SENDER_RECEIVED,
    SENDER_SHED,
    SENDER_WAITING,
    N_SENDER_KEYS,
};

static const char *const sender_names[N_SENDER_KEYS] = {
    "rate", "shed/s", "received", "shed", "waiting",
};

static uint64_t
sender_value(const struct upcall_sender_info *sender, enum sender_key key)
{
    const uint64_t values[N_SENDER_KEYS] = {
        [SENDER_RATE] = sender->rate,
        [SENDER_SHED_RATE] = sender->shed_rate,
        [SENDER_RECEIVED] = sender->received,
        [SENDER_SHED] = sender->shed,
        [SENDER_WAITING] = sender->waiting,
    };

    return values[key];
}

/* A sender and the value to sort it by. */
struct ranked_sender {
    uint64_t value;
    struct upcall_sender_info sender;
};

static int
compare_senders(const void *a_, const void *b_)
{
    const struct ranked_sender *a = a_;
    const struct ranked_sender *b = b_;

    return (a->value != b->value ? (a->value > b->value ? -1 : 1)
            : a->sender.received != b->sender.received
            ? (a->sender.received > b->sender.received ? -1 : 1)
            : memcmp(&a->sender.key, &b->sender.key, sizeof a->sender.key));
}

static void
sort_senders(struct upcall_port_info *port, enum sender_key key)
{
    struct ranked_sender *ranked = xcalloc(port->n_senders, sizeof *ranked);

    for (size_t i = 0; i < port->n_senders; i++) {
        ranked[i] = (struct ranked_sender) {
            .value = sender_value(&port->senders[i], key),
            .sender = port->senders[i],
        };
    }
    qsort(ranked, port->n_senders, sizeof *ranked, compare_senders);
    for (size_t i = 0; i < port->n_senders; i++) {
        port->senders[i] = ranked[i].sender;
    }
    free(ranked);
}

bool
upcall_show_sort_senders(struct upcall_table_info *info, const char *name,
                         size_t top)
{
    enum sender_key key = 0;

    while (key < N_SENDER_KEYS && strcmp(name, sender_names[key])) {
        key++;
    }
    if (key == N_SENDER_KEYS) {
        return false;
    }
    for (size_t i = 0; i < info->n_ports; i++) {
        if (info->ports[i].n_senders) {
            sort_senders(&info->ports[i], key);
        }
    }
    info->top_senders = top;
    return true;
}

const char *
upcall_show_sender_keys(void)
{
    return "rate, shed/s, received, shed or waiting";
}

/* Number of senders of 'port' to show. */
static size_t
count_senders(const struct upcall_table_info *info,
              const struct upcall_port_info *port)
{
    return (info->top_senders ? MIN(info->top_senders, port->n_senders)
            : port->n_senders);
}

/* Number of ports to show. */
static size_t
count_shown(const struct upcall_table_info *info)
{
    return info->top ? MIN(info->top, info->n_ports) : info->n_ports;
}

/* Number of channels that belong to a port. */
static size_t
count_ports(const struct upcall_table_info *info)
{
    size_t n = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        n += upcall_port_is_real(info->ports[i].port_no);
    }
    return n;
}

static size_t
count_shared(const struct upcall_table_info *info)
{
    size_t n = 0;

    for (size_t i = 0; i < info->n_ports; i++) {
        n += info->ports[i].shared;
    }
    return n;
}

static void
show_port_no(const struct upcall_port_info *port, struct ds *s)
{
    if (upcall_port_is_real(port->port_no)) {
        ds_put_format(s, "%5"PRIu32, port->port_no);
    } else {
        ds_put_format(s, "%5s", "-");
    }
}

/* The columns from "received" on. */
static void
show_stats_text(const struct upcall_channel_stats *stats, struct ds *s)
{
    ds_put_format(s, " %12"PRIu64" %10"PRIu64" %10"PRIu64" %8"PRIu64" %9"PRIu64
                  " %9"PRIu64" %9"PRIu32" %9"PRIu32" %9"PRIu32" %9"PRIu32
                  " %9"PRIu32"\n", stats->received, stats->lost, stats->shed,
                  stats->overruns, stats->malformed, stats->errors,
                  stats->backlog, stats->backlog_max, stats->latency.p50,
                  stats->latency.p99, stats->latency.max);
}

static void
show_ports_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "  %5s %-16s %10s %9s %12s %10s %10s %8s %9s %9s %9s "
                  "%9s %9s %9s %9s\n", "port", "name", "pid", "rate",
                  "received", "lost", "shed", "overruns", "malformed",
                  "errors", "backlog", "most", "p50", "p99", "max");
    for (size_t i = 0; i < count_shown(info); i++) {
        const struct upcall_port_info *port = &info->ports[i];

        ds_put_cstr(s, "  ");
        show_port_no(port, s);
        ds_put_format(s, " %-16s %10"PRIu32"%c%9"PRIu64, port->name, port->pid,
                      port->shared ? '*' : ' ', total_rate(&port->rate));
        show_stats_text(&port->stats, s);
        for (size_t j = 0; info->with_queues && j < port->n_channels; j++) {
            const struct upcall_queue_info *queue = &port->queues[j];
            char *name = xasprintf("  queue %u", queue->number);

            ds_put_format(s, "  %5s %-16s %10"PRIu32"%c%9s", "", name,
                          queue->pid, (queue->retired ? '-'
                                       : queue->held ? '+' : ' '), "");
            show_stats_text(&queue->stats, s);
            free(name);
        }
    }
}

static void
show_handlers_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "  %7s %12s %12s %12s %12s %12s %12s %12s\n", "handler",
                  "wakeups", "empty", "batches", "upcalls", "receives",
                  "steals", "busy");
    for (size_t i = 0; i < info->n_handlers; i++) {
        const struct upcall_handler_stats *stats = &info->handlers[i];

        ds_put_format(s, "  %7"PRIuSIZE" %12"PRIu64" %12"PRIu64" %12"PRIu64
                      " %12"PRIu64" %12"PRIu64" %12"PRIu64" %12"PRIu64"\n", i,
                      stats->wakeups, stats->empty_wakeups, stats->batches,
                      stats->upcalls, stats->receives, stats->steals,
                      stats->busy_usec / 1000);
    }
}

/* Number of batches of each size, for all handlers together. */
static void
show_batches_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_cstr(s, "  batches by upcalls:");
    for (unsigned int i = 0; i < UPCALL_N_BATCH_SIZES; i++) {
        unsigned int first = 1u << i;
        unsigned int last = 2 * first - 1;
        uint64_t n = 0;

        for (size_t j = 0; j < info->n_handlers; j++) {
            n += info->handlers[j].batch_sizes[i];
        }
        ds_put_format(s, "%s %u", i ? "," : "", first);
        if (last > first) {
            ds_put_format(s, "-%u", last);
        }
        ds_put_format(s, ": %"PRIu64, n);
    }
    ds_put_char(s, '\n');
}

static void
show_groups_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "  %7s %12s %12s %12s %12s %12s %12s\n", "group",
                  "handlers", "queued", "wakeups", "loans", "locks",
                  "contended");
    for (size_t i = 0; i < info->n_groups; i++) {
        const struct upcall_group_info *group = &info->groups[i];

        ds_put_format(s, "  %7"PRIuSIZE" %12"PRIu32" %12"PRIu32" %12"PRIu64
                      " %12"PRIu64" %12"PRIu64" %12"PRIu64"\n", i,
                      group->n_handlers, group->n_queued, group->wakeups,
                      group->loans, group->locks, group->contended);
    }
}

void
upcall_show_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_format(s, "%s: upcall channels\n", info->name);
    ds_put_format(s, "  ports %"PRIuSIZE", sockets %"PRIuSIZE", "
                  "handlers %"PRIuSIZE", engine %s\n", count_ports(info),
                  info->n_sockets, info->n_handlers, info->engine);
    ds_put_format(s, "  receive buffers: %"PRIu32" kB for each port, at most "
                  "%"PRIu64" MB in all\n", info->buffer_size >> 10,
                  info->buffer_max >> 20);
    if (info->target_delay) {
        ds_put_format(s, "  target delay: %"PRIu32" ms for upcalls of a port "
                      "that sends more than its share\n",
                      info->target_delay / 1000);
    }
    if (info->foreign || info->abandoned) {
        ds_put_format(s, "  dropped: %"PRIu64" of another datapath, %"PRIu64
                      " when handlers were changed\n", info->foreign,
                      info->abandoned);
    }
    if (info->refused) {
        ds_put_format(s, "  refused: %"PRIu64" messages of other processes\n",
                      info->refused);
    }
    if (info->outdated) {
        ds_put_format(s, "  outdated: %"PRIu64" upcalls that flows of a "
                      "previous run had recirculated\n", info->outdated);
    }
    if (info->n_adopted) {
        ds_put_format(s, "  adopted: %"PRIu64" upcalls had waited on %"PRIuSIZE
                      " sockets of a previous run\n", info->adopted,
                      info->n_adopted);
    }
    show_ports_text(info, s);
    if (count_shared(info)) {
        ds_put_cstr(s, "  *: on a socket shared with other ports\n");
    }
    if (info->with_queues) {
        ds_put_cstr(s, "  -: a queue that was replaced, +: one that waits for "
                    "those that it replaces\n");
    }
    show_handlers_text(info, s);
    show_batches_text(info, s);
    show_groups_text(info, s);
}

const struct upcall_port_info *
upcall_show_find(const struct upcall_table_info *info, const char *port)
{
    unsigned int port_no;
    bool is_number = str_to_uint(port, 10, &port_no);

    for (size_t i = 0; i < info->n_ports; i++) {
        const struct upcall_port_info *p = &info->ports[i];

        if (!strcmp(p->name, port) || (is_number && p->port_no == port_no)) {
            return p;
        }
    }
    return NULL;
}

static void
show_owner(int owner, struct ds *s)
{
    if (owner >= 0) {
        ds_put_format(s, "with handler %d\n", owner);
    } else {
        ds_put_format(s, "%s\n", owner == UPCALL_OWNER_QUEUE
                                 ? "in the run queue" : "without upcalls");
    }
}

static void
show_channels(const struct upcall_port_info *port, struct ds *s)
{
    if (!port->has_channel) {
        ds_put_cstr(s, "  channel            of other ports, too\n");
    } else if (!port->n_channels) {
        ds_put_cstr(s, "  channel            ");
        show_owner(port->owner, s);
    }
    for (size_t i = 0; i < port->n_channels; i++) {
        const struct upcall_queue_info *queue = &port->queues[i];

        ds_put_format(s, "  queue %-2u           netlink port id %"PRIu32", %"
                      PRIu64" received, %"PRIu64" lost, %"PRIu64" shed, %"
                      PRIu32" bytes wait, p99 %"PRIu32" us, %s", queue->number,
                      queue->pid, queue->stats.received, queue->stats.lost,
                      queue->stats.shed, queue->stats.backlog,
                      queue->stats.latency.p99,
                      queue->retired ? "replaced, " : "");
        if (queue->held) {
            ds_put_cstr(s, "waits for those that it replaces\n");
        } else {
            show_owner(queue->owner, s);
        }
    }
}

void
upcall_show_port_text(const struct upcall_table_info *info,
                      const struct upcall_port_info *port, struct ds *s)
{
    const struct upcall_channel_stats *stats = &port->stats;

    ds_put_format(s, "%s: port ", info->name);
    if (upcall_port_is_real(port->port_no)) {
        ds_put_format(s, "%"PRIu32" ", port->port_no);
    }
    ds_put_format(s, "%s, netlink port id %"PRIu32"%s\n", port->name,
                  port->pid,
                  port->shared ? ", shared with other ports" : "");
    ds_put_format(s, "  upcalls received   %"PRIu64"\n", stats->received);
    ds_put_format(s, "  upcalls lost       %"PRIu64" in %"PRIu64
                  " overruns of the receive buffer\n", stats->lost,
                  stats->overruns);
    ds_put_format(s, "  of these limited   %"PRIu64" while the port sent more "
                  "than its share\n", stats->lost_limited);
    ds_put_format(s, "  upcalls shed       %"PRIu64"\n", stats->shed);
    ds_put_format(s, "  rates              %"PRIu64" received, %"PRIu64
                  " lost, %"PRIu64" shed a second\n", port->rate.received,
                  port->rate.lost, port->rate.shed);
    if (port->rate.lost_at) {
        char *when = xastrftime_msec("%Y-%m-%d %H:%M:%S", port->rate.lost_at,
                                     true);

        ds_put_format(s, "  last loss          %s UTC\n", when);
        free(when);
    }
    ds_put_format(s, "  upcalls malformed  %"PRIu64"\n", stats->malformed);
    ds_put_format(s, "  receive errors     %"PRIu64"\n", stats->errors);
    ds_put_format(s, "  backlog            %"PRIu32" bytes of kernel memory, "
                  "at most %"PRIu32"\n", stats->backlog, stats->backlog_max);
    show_channels(port, s);
    ds_put_format(s, "  latency            p50 %"PRIu32" us, p99 %"PRIu32
                  " us, max %"PRIu32" us, of %"PRIu64" upcalls\n",
                  stats->latency.p50, stats->latency.p99, stats->latency.max,
                  stats->latency.n);
}

/* The name of the port with number 'port_no', or "". */
static const char *
port_name(const struct upcall_table_info *info, uint32_t port_no)
{
    for (size_t i = 0; i < info->n_ports; i++) {
        if (info->ports[i].port_no == port_no) {
            return info->ports[i].name;
        }
    }
    return "";
}

/* The columns of a sender from "rate" on. */
static void
show_sender_counts(const struct upcall_sender_info *sender, struct ds *s)
{
    ds_put_format(s, " %9"PRIu64" %9"PRIu64" %12"PRIu64" %10"PRIu64" %8"PRIu64
                  " %8"PRIu64"\n", sender->rate, sender->shed_rate,
                  sender->received, sender->shed, sender->waiting,
                  sender->age / 1000);
}

static void
show_sender(const struct upcall_table_info *info,
            const struct upcall_port_info *port,
            const struct upcall_sender_info *sender, struct ds *s)
{
    const struct upcall_sender_key *key = &sender->key;
    char remote[UPCALL_SENDER_REMOTE_LEN];

    if (port->senders_are_ports) {
        ds_put_format(s, "    %-28s %10"PRIu32, port_name(info, key->port_no),
                      key->port_no);
    } else {
        upcall_sender_format_remote(key, remote);
        ds_put_format(s, "    %-28s %10"PRIu64, remote,
                      upcall_sender_id(key));
    }
    show_sender_counts(sender, s);
}

static void
show_port_senders(const struct upcall_table_info *info,
                  const struct upcall_port_info *port, struct ds *s)
{
    ds_put_cstr(s, "  ");
    if (upcall_port_is_real(port->port_no)) {
        ds_put_format(s, "port %"PRIu32" ", port->port_no);
    }
    ds_put_format(s, "%s: %"PRIuSIZE" senders\n    %-28s %10s %9s %9s %12s "
                  "%10s %8s %8s\n", port->name, port->n_senders,
                  port->senders_are_ports ? "port" : "remote",
                  port->senders_are_ports ? "number" : "vni", "rate",
                  "shed/s", "received", "shed", "waiting", "seconds");
    for (size_t i = 0; i < count_senders(info, port); i++) {
        show_sender(info, port, &port->senders[i], s);
    }
    ds_put_format(s, "    %-28s %10s", "(others)", "");
    show_sender_counts(&port->other_senders, s);
}

void
upcall_show_senders_text(const struct upcall_table_info *info,
                         const struct upcall_port_info *port, struct ds *s)
{
    bool any = false;

    ds_put_format(s, "%s: senders of upcalls\n", info->name);
    for (size_t i = 0; i < info->n_ports; i++) {
        const struct upcall_port_info *p = &info->ports[i];

        if (p->n_senders && (!port || p == port)) {
            show_port_senders(info, p, s);
            any = true;
        }
    }
    if (!any) {
        ds_put_format(s, "  %s had no upcalls of several senders\n",
                      port ? port->name : "tunnels and shared sockets");
    }
}

static void
put_integer(struct json *object, const char *name, uint64_t value)
{
    json_object_put(object, name, json_integer_create(value));
}

static struct json *
rates_to_json(const struct upcall_rate *rate)
{
    struct json *json = json_object_create();

    put_integer(json, "received", rate->received);
    put_integer(json, "lost", rate->lost);
    put_integer(json, "shed", rate->shed);
    return json;
}

static struct json *
latency_to_json(const struct latency_summary *latency)
{
    struct json *below[LATENCY_N_BOUNDS];
    struct json *json = json_object_create();

    for (size_t i = 0; i < LATENCY_N_BOUNDS; i++) {
        below[i] = json_integer_create(latency->below[i]);
    }
    json_object_put(json, "below", json_array_create(
        xmemdup(below, sizeof below), LATENCY_N_BOUNDS));
    put_integer(json, "sum", latency->sum);
    put_integer(json, "n", latency->n);
    put_integer(json, "p50", latency->p50);
    put_integer(json, "p99", latency->p99);
    put_integer(json, "max", latency->max);
    return json;
}

/* Number of a handler, "queue", or null. */
static struct json *
owner_to_json(int owner)
{
    return (owner >= 0 ? json_integer_create(owner)
            : owner == UPCALL_OWNER_QUEUE ? json_string_create("queue")
            : json_null_create());
}

static struct json *
queue_to_json(const struct upcall_queue_info *queue)
{
    struct json *json = json_object_create();

    put_integer(json, "number", queue->number);
    put_integer(json, "pid", queue->pid);
    json_object_put(json, "retired", json_boolean_create(queue->retired));
    json_object_put(json, "held", json_boolean_create(queue->held));
    json_object_put(json, "owner", owner_to_json(queue->owner));
    put_integer(json, "received", queue->stats.received);
    put_integer(json, "lost", queue->stats.lost);
    put_integer(json, "shed", queue->stats.shed);
    put_integer(json, "backlog", queue->stats.backlog);
    put_integer(json, "backlog_max", queue->stats.backlog_max);
    put_integer(json, "p50_us", queue->stats.latency.p50);
    put_integer(json, "p99_us", queue->stats.latency.p99);
    put_integer(json, "max_us", queue->stats.latency.max);
    return json;
}

static struct json *
queues_to_json(const struct upcall_port_info *port)
{
    struct json *json = json_array_create_empty();

    for (size_t i = 0; i < port->n_channels; i++) {
        json_array_add(json, queue_to_json(&port->queues[i]));
    }
    return json;
}

static void
put_sender_counts(struct json *json, const struct upcall_sender_info *sender)
{
    put_integer(json, "rate", sender->rate);
    put_integer(json, "shed_rate", sender->shed_rate);
    put_integer(json, "received", sender->received);
    put_integer(json, "shed", sender->shed);
    put_integer(json, "waiting", sender->waiting);
    put_integer(json, "age_ms", sender->age);
}

static struct json *
sender_to_json(const struct upcall_table_info *info,
               const struct upcall_port_info *port,
               const struct upcall_sender_info *sender)
{
    const struct upcall_sender_key *key = &sender->key;
    struct json *json = json_object_create();

    if (port->senders_are_ports) {
        put_integer(json, "port_no", key->port_no);
        json_object_put_string(json, "name", port_name(info, key->port_no));
    } else {
        char remote[UPCALL_SENDER_REMOTE_LEN];

        upcall_sender_format_remote(key, remote);
        json_object_put(json, "remote", (upcall_sender_has_remote(key)
                                         ? json_string_create(remote)
                                         : json_null_create()));
        put_integer(json, "vni", MIN(upcall_sender_id(key),
                                     INT64_MAX));
    }
    put_sender_counts(json, sender);
    return json;
}

/* Puts the senders of 'port', if it has any, into its object 'json'. */
static void
put_senders(struct json *json, const struct upcall_table_info *info,
            const struct upcall_port_info *port)
{
    struct json *senders = json_array_create_empty();

    for (size_t i = 0; i < count_senders(info, port); i++) {
        json_array_add(senders, sender_to_json(info, port,
                                               &port->senders[i]));
    }
    json_object_put(json, "senders", senders);
    if (port->n_senders) {
        struct json *others = json_object_create();

        put_sender_counts(others, &port->other_senders);
        json_object_put(json, "other_senders", others);
    }
}

struct json *
upcall_show_port_json(const struct upcall_table_info *info,
                      const struct upcall_port_info *port)
{
    struct json *json = json_object_create();

    if (upcall_port_is_real(port->port_no)) {
        put_integer(json, "port_no", port->port_no);
    } else {
        json_object_put(json, "port_no", json_null_create());
    }
    json_object_put_string(json, "name", port->name);
    put_integer(json, "pid", port->pid);
    json_object_put(json, "shared", json_boolean_create(port->shared));
    put_integer(json, "received", port->stats.received);
    put_integer(json, "lost", port->stats.lost);
    put_integer(json, "lost_limited", port->stats.lost_limited);
    put_integer(json, "shed", port->stats.shed);
    put_integer(json, "overruns", port->stats.overruns);
    put_integer(json, "malformed", port->stats.malformed);
    put_integer(json, "errors", port->stats.errors);
    put_integer(json, "backlog", port->stats.backlog);
    put_integer(json, "backlog_max", port->stats.backlog_max);
    json_object_put(json, "owner", owner_to_json(port->owner));
    put_integer(json, "n_queues", port->n_queues);
    json_object_put(json, "queues", queues_to_json(port));
    json_object_put(json, "rates", rates_to_json(&port->rate));
    json_object_put(json, "last_loss_ms",
                    port->rate.lost_at
                    ? json_integer_create(port->rate.lost_at)
                    : json_null_create());
    json_object_put(json, "latency_us", latency_to_json(&port->stats.latency));
    put_senders(json, info, port);
    return json;
}

static struct json *
handler_to_json(const struct upcall_handler_stats *stats)
{
    struct json *json = json_object_create();
    struct json *sizes = json_array_create_empty();

    for (size_t i = 0; i < UPCALL_N_BATCH_SIZES; i++) {
        json_array_add(sizes, json_integer_create(stats->batch_sizes[i]));
    }
    json_object_put(json, "batch_sizes", sizes);
    put_integer(json, "wakeups", stats->wakeups);
    put_integer(json, "empty_wakeups", stats->empty_wakeups);
    put_integer(json, "batches", stats->batches);
    put_integer(json, "upcalls", stats->upcalls);
    put_integer(json, "receives", stats->receives);
    put_integer(json, "steals", stats->steals);
    put_integer(json, "loans", stats->loans);
    put_integer(json, "busy_us", stats->busy_usec);
    return json;
}

/* The bounds of the counts in "below" of latencies. */
static struct json *
bounds_to_json(void)
{
    struct json *json = json_array_create_empty();

    for (size_t i = 0; i < LATENCY_N_BOUNDS; i++) {
        json_array_add(json, json_integer_create(LATENCY_BOUND(i)));
    }
    return json;
}

static struct json *
group_to_json(const struct upcall_group_info *group)
{
    struct json *json = json_object_create();

    put_integer(json, "n_handlers", group->n_handlers);
    put_integer(json, "n_queued", group->n_queued);
    put_integer(json, "quantum", group->quantum);
    put_integer(json, "wakeups", group->wakeups);
    put_integer(json, "loans", group->loans);
    put_integer(json, "locks", group->locks);
    put_integer(json, "contended", group->contended);
    return json;
}

struct json *
upcall_show_json(const struct upcall_table_info *info)
{
    struct json *json = json_object_create();
    struct json *ports = json_array_create_empty();
    struct json *handlers = json_array_create_empty();
    struct json *groups = json_array_create_empty();

    for (size_t i = 0; i < count_shown(info); i++) {
        json_array_add(ports, upcall_show_port_json(info,
                                                     &info->ports[i]));
    }
    for (size_t i = 0; i < info->n_handlers; i++) {
        json_array_add(handlers, handler_to_json(&info->handlers[i]));
    }
    for (size_t i = 0; i < info->n_groups; i++) {
        json_array_add(groups, group_to_json(&info->groups[i]));
    }
    json_object_put_string(json, "name", info->name);
    json_object_put_string(json, "engine", info->engine);
    json_object_put(json, "latency_bounds_us", bounds_to_json());
    put_integer(json, "n_ports", count_ports(info));
    put_integer(json, "n_sockets", info->n_sockets);
    put_integer(json, "buffer_size", info->buffer_size);
    put_integer(json, "buffer_max", info->buffer_max);
    put_integer(json, "target_delay_us", info->target_delay);
    put_integer(json, "n_handlers", info->n_handlers);
    put_integer(json, "foreign", info->foreign);
    put_integer(json, "refused", info->refused);
    put_integer(json, "outdated", info->outdated);
    put_integer(json, "adopted", info->adopted);
    put_integer(json, "adopted_sockets", info->n_adopted);
    put_integer(json, "abandoned", info->abandoned);
    json_object_put(json, "ports", ports);
    json_object_put(json, "handlers", handlers);
    put_integer(json, "group_size", info->group_size);
    json_object_put(json, "groups", groups);
    return json;
}
