/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "timeval.h"
#include "unixctl/fields.h"
#include "upcall/upcall-info.h"
#include "util.h"

/* Number of a port, or null. */
static struct json *
get_port_no(const void *port_no_)
{
    const uint32_t *port_no = port_no_;

    return (upcall_port_is_real(*port_no) ? json_integer_create(*port_no)
            : json_null_create());
}

/* Number of a handler, "queue", or null. */
static struct json *
get_owner(const void *owner_)
{
    const int *owner = owner_;

    return (*owner >= 0 ? json_integer_create(*owner)
            : *owner == UPCALL_OWNER_QUEUE ? json_string_create("queue")
            : json_null_create());
}

/* Upcalls received, lost or shed. */
static struct json *
get_upcalls(const void *stats_)
{
    const struct upcall_channel_stats *stats = stats_;

    return json_integer_create(stats->received + stats->lost + stats->shed);
}

/* The same per second. */
static struct json *
get_rate(const void *rate_)
{
    const struct upcall_rate *rate = rate_;

    return json_integer_create(rate->received + rate->lost + rate->shed);
}

static struct json *
get_last_loss(const void *lost_at_)
{
    const long long int *lost_at = lost_at_;

    return *lost_at ? json_integer_create(*lost_at) : json_null_create();
}

#define LATENCY(...) FIELD(struct latency_summary, __VA_ARGS__)
static const struct field latency_fields[] = {
    FIELD_OF_ARRAY(struct latency_summary, below, "below"),
    LATENCY(sum, "sum"),
    LATENCY(n, "n"),
    LATENCY(p50, "p50", "p50", 9),
    LATENCY(p99, "p99", "p99", 9),
    LATENCY(max, "max", "max", 9),
    { .type = FIELD_END }
};

#define STATS(...) FIELD(struct upcall_channel_stats, __VA_ARGS__)
static const struct field stats_fields[] = {
    STATS(received, "received", "received", 12),
    STATS(lost, "lost", "lost", 10),
    STATS(lost_limited, "lost_limited"),
    STATS(shed, "shed", "shed", 10),
    STATS(overruns, "overruns", "overruns", 8),
    STATS(malformed, "malformed", "malformed", 9),
    STATS(errors, "errors", "errors", 9),
    STATS(backlog, "backlog", "backlog", 9),
    STATS(backlog_max, "backlog_max", "most", 9),
    FIELD_OF_TABLE(struct upcall_channel_stats, latency, latency_fields,
                   "latency_us"),
    { .type = FIELD_END }
};

#define RATE(MEMBER) FIELD(struct upcall_rate, MEMBER, #MEMBER)
static const struct field rate_fields[] = {
    RATE(received),
    RATE(lost),
    RATE(shed),
    { .type = FIELD_END }
};

#define PORT(...) FIELD(struct upcall_port_info, __VA_ARGS__)
static const struct field port_fields[] = {
    FIELD_OF_FUNCTION(struct upcall_port_info, port_no, get_port_no,
                      "port_no", "port", 5),
    PORT(name, "name", "name", -16),
    PORT(pid, "pid", "pid", 10),
    PORT(shared, "shared"),
    FIELD_OF_FUNCTION(struct upcall_port_info, owner, get_owner, "owner"),
    PORT(n_queues, "n_queues"),
    FIELD_OF_TABLE(struct upcall_port_info, rate, rate_fields, "rates"),
    FIELD_OF_FUNCTION(struct upcall_port_info, rate.lost_at, get_last_loss,
                      "last_loss_ms"),
    { .type = FIELD_END }
};

/* Ports can be sorted by these. */
static const struct field port_sort_fields[] = {
    FIELD_OF_FUNCTION(struct upcall_port_info, stats, get_upcalls, NULL,
                      "upcalls"),
    FIELD_OF_FUNCTION(struct upcall_port_info, rate, get_rate, NULL, "rate",
                      8),
    FIELD_OF_TABLE(struct upcall_port_info, stats, stats_fields, NULL),
    { .type = FIELD_END }
};

#define QUEUE(...) FIELD(struct upcall_queue_info, __VA_ARGS__)
static const struct field queue_fields[] = {
    QUEUE(number, "number"),
    QUEUE(pid, "pid"),
    QUEUE(retired, "retired"),
    QUEUE(held, "held"),
    FIELD_OF_FUNCTION(struct upcall_queue_info, owner, get_owner, "owner"),
    QUEUE(stats.received, "received"),
    QUEUE(stats.lost, "lost"),
    QUEUE(stats.shed, "shed"),
    QUEUE(stats.backlog, "backlog"),
    QUEUE(stats.backlog_max, "backlog_max"),
    QUEUE(stats.latency.p50, "p50_us"),
    QUEUE(stats.latency.p99, "p99_us"),
    QUEUE(stats.latency.max, "max_us"),
    { .type = FIELD_END }
};

/* Senders can be sorted by these. */
#define SENDER(...) FIELD(struct upcall_sender_info, __VA_ARGS__)
static const struct field sender_fields[] = {
    SENDER(rate, "rate", "rate", 9),
    SENDER(shed_rate, "shed_rate", "shed/s", 9),
    SENDER(received, "received", "received", 12),
    SENDER(shed, "shed", "shed", 10),
    SENDER(waiting, "waiting", "waiting", 8),
    SENDER(age, "age_ms", "seconds", 8, 1000),
    { .type = FIELD_END }
};

#define HANDLER(...) FIELD(struct upcall_handler_stats, __VA_ARGS__)
static const struct field handler_fields[] = {
    HANDLER(wakeups, "wakeups", "wakeups", 12),
    HANDLER(empty_wakeups, "empty_wakeups", "empty", 12),
    HANDLER(batches, "batches", "batches", 12),
    HANDLER(upcalls, "upcalls", "upcalls", 12),
    HANDLER(receives, "receives", "receives", 12),
    HANDLER(steals, "steals", "steals", 12),
    HANDLER(loans, "loans"),
    HANDLER(busy_usec, "busy_us", "busy", 12, 1000),
    FIELD_OF_ARRAY(struct upcall_handler_stats, batch_sizes, "batch_sizes"),
    { .type = FIELD_END }
};

#define GROUP(...) FIELD(struct upcall_group_info, __VA_ARGS__)
static const struct field group_fields[] = {
    GROUP(n_handlers, "n_handlers", "handlers", 12),
    GROUP(n_queued, "n_queued", "queued", 12),
    GROUP(quantum, "quantum"),
    GROUP(wakeups, "wakeups", "wakeups", 12),
    GROUP(loans, "loans", "loans", 12),
    GROUP(locks, "locks", "locks", 12),
    GROUP(contended, "contended", "contended", 12),
    { .type = FIELD_END }
};

#define TABLE(...) FIELD(struct upcall_table_info, __VA_ARGS__)
static const struct field table_fields[] = {
    TABLE(name, "name"),
    TABLE(engine, "engine"),
    TABLE(n_sockets, "n_sockets"),
    TABLE(buffer_size, "buffer_size"),
    TABLE(buffer_max, "buffer_max"),
    TABLE(target_delay, "target_delay_us"),
    TABLE(n_handlers, "n_handlers"),
    TABLE(foreign, "foreign"),
    TABLE(refused, "refused"),
    TABLE(outdated, "outdated"),
    TABLE(adopted, "adopted"),
    TABLE(n_adopted, "adopted_sockets"),
    TABLE(abandoned, "abandoned"),
    TABLE(group_size, "group_size"),
    { .type = FIELD_END }
};

/* An element of an array and the value to sort it by. */
struct ranked {
    long long int value;
    const char *element;
};

/* Elements with equal values stay in order. */
static int
compare_ranked(const void *a_, const void *b_)
{
    const struct ranked *a = a_;
    const struct ranked *b = b_;

    return (a->value != b->value ? (a->value > b->value ? -1 : 1)
            : a->element < b->element ? -1 : a->element > b->element);
}

/* Sorts 'array', of 'n' elements of 'size' bytes, by the field with label
 * 'key', the largest first.  Returns false if there is no such field. */
static bool
sort_array(const struct field *fields, const char *key, void *array, size_t n,
           size_t size)
{
    struct ranked *ranked = xcalloc(n, sizeof *ranked);
    char *copy = xmalloc(n * size);
    long long int value;
    bool found = fields_get(fields, key, NULL, &value);

    for (size_t i = 0; found && i < n; i++) {
        ranked[i].element = memcpy(copy + i * size, (char *) array + i * size,
                                   size);
        fields_get(fields, key, ranked[i].element, &ranked[i].value);
    }
    if (found) {
        qsort(ranked, n, sizeof *ranked, compare_ranked);
    }
    for (size_t i = 0; found && i < n; i++) {
        memcpy((char *) array + i * size, ranked[i].element, size);
    }
    free(copy);
    free(ranked);
    return found;
}

bool
upcall_show_sort(struct upcall_table_info *info, const char *key, size_t top)
{
    bool found = sort_array(port_sort_fields, key, info->ports, info->n_ports,
                            sizeof *info->ports);

    info->top = found ? top : info->top;
    return found;
}

const char *
upcall_show_keys(void)
{
    return "upcalls, rate, received, lost, shed, overruns, malformed, "
           "errors, backlog, most, p50, p99 or max";
}

static int
compare_sender_keys(const void *a_, const void *b_)
{
    const struct upcall_sender_info *a = a_;
    const struct upcall_sender_info *b = b_;

    return memcmp(&a->key, &b->key, sizeof a->key);
}

bool
upcall_show_sort_senders(struct upcall_table_info *info, const char *key,
                         size_t top)
{
    if (!sort_array(sender_fields, key, NULL, 0, 0)) {
        return false;
    }
    for (size_t i = 0; i < info->n_ports; i++) {
        struct upcall_port_info *port = &info->ports[i];

        if (port->n_senders) {
            qsort(port->senders, port->n_senders, sizeof *port->senders,
                  compare_sender_keys);
            sort_array(sender_fields, "received", port->senders,
                       port->n_senders, sizeof *port->senders);
            sort_array(sender_fields, key, port->senders, port->n_senders,
                       sizeof *port->senders);
        }
    }
    info->top_senders = top;
    return true;
}

const char *
upcall_show_sender_keys(void)
{
    return "rate, shed/s, received, shed, waiting or seconds";
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
show_ports_text(const struct upcall_table_info *info, struct ds *s)
{
    ds_put_char(s, ' ');
    fields_put_row(s, port_fields, NULL);
    ds_put_char(s, ' ');
    fields_put_row(s, port_sort_fields, NULL);
    ds_put_char(s, '\n');
    for (size_t i = 0; i < count_shown(info); i++) {
        const struct upcall_port_info *port = &info->ports[i];

        ds_put_char(s, ' ');
        fields_put_row(s, port_fields, port);
        ds_put_char(s, port->shared ? '*' : ' ');
        fields_put_row(s, port_sort_fields, port);
        ds_put_char(s, '\n');
        for (size_t j = 0; info->with_queues && j < port->n_channels; j++) {
            const struct upcall_queue_info *queue = &port->queues[j];

            ds_put_format(s, "  %5s   queue %-8u %10"PRIu32"%c%9s", "",
                          queue->number, queue->pid,
                          queue->retired ? '-' : queue->held ? '+' : ' ', "");
            fields_put_row(s, stats_fields, &queue->stats);
            ds_put_char(s, '\n');
        }
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
    fields_put_rows(s, "handler", handler_fields, info->handlers,
                    info->n_handlers, sizeof *info->handlers);
    show_batches_text(info, s);
    fields_put_rows(s, "group", group_fields, info->groups, info->n_groups,
                    sizeof *info->groups);
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
    fields_put_row(s, sender_fields, sender);
    ds_put_char(s, '\n');
}

static void
show_port_senders(const struct upcall_table_info *info,
                  const struct upcall_port_info *port, struct ds *s)
{
    ds_put_cstr(s, "  ");
    if (upcall_port_is_real(port->port_no)) {
        ds_put_format(s, "port %"PRIu32" ", port->port_no);
    }
    ds_put_format(s, "%s: %"PRIuSIZE" sender%s\n    %-28s %10s", port->name,
                  port->n_senders, port->n_senders == 1 ? "" : "s",
                  port->senders_are_ports ? "port" : "remote",
                  port->senders_are_ports ? "number" : "vni");
    fields_put_row(s, sender_fields, NULL);
    ds_put_char(s, '\n');
    for (size_t i = 0; i < count_senders(info, port); i++) {
        show_sender(info, port, &port->senders[i], s);
    }
    ds_put_format(s, "    %-28s %10s", "(others)", "");
    fields_put_row(s, sender_fields, &port->other_senders);
    ds_put_char(s, '\n');
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

static struct json *
sender_to_json(const struct upcall_table_info *info,
               const struct upcall_port_info *port,
               const struct upcall_sender_info *sender)
{
    const struct upcall_sender_key *key = &sender->key;
    struct json *json = fields_to_json(sender_fields, sender);

    if (port->senders_are_ports) {
        json_object_put(json, "port_no", json_integer_create(key->port_no));
        json_object_put_string(json, "name", port_name(info, key->port_no));
    } else {
        char remote[UPCALL_SENDER_REMOTE_LEN];

        upcall_sender_format_remote(key, remote);
        json_object_put(json, "remote", (upcall_sender_has_remote(key)
                                         ? json_string_create(remote)
                                         : json_null_create()));
        json_object_put(json, "vni", json_integer_create(
            MIN(upcall_sender_id(key), INT64_MAX)));
    }
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
        json_object_put(json, "other_senders",
                        fields_to_json(sender_fields, &port->other_senders));
    }
}

struct json *
upcall_show_port_json(const struct upcall_table_info *info,
                      const struct upcall_port_info *port)
{
    struct json *json = fields_to_json(port_fields, port);

    fields_put_json(json, port_sort_fields, port);
    json_object_put(json, "queues",
                    fields_to_json_array(queue_fields, port->queues,
                                         port->n_channels,
                                         sizeof *port->queues));
    put_senders(json, info, port);
    return json;
}

struct json *
upcall_show_json(const struct upcall_table_info *info)
{
    struct json *json = fields_to_json(table_fields, info);
    struct json *bounds = json_array_create_empty();
    struct json *ports = json_array_create_empty();

    for (size_t i = 0; i < LATENCY_N_BOUNDS; i++) {
        json_array_add(bounds, json_integer_create(LATENCY_BOUND(i)));
    }
    for (size_t i = 0; i < count_shown(info); i++) {
        json_array_add(ports, upcall_show_port_json(info,
                                                     &info->ports[i]));
    }
    json_object_put(json, "latency_bounds_us", bounds);
    json_object_put(json, "n_ports", json_integer_create(count_ports(info)));
    json_object_put(json, "ports", ports);
    json_object_put(json, "handlers",
                    fields_to_json_array(handler_fields, info->handlers,
                                         info->n_handlers,
                                         sizeof *info->handlers));
    json_object_put(json, "groups",
                    fields_to_json_array(group_fields, info->groups,
                                         info->n_groups,
                                         sizeof *info->groups));
    return json;
}
