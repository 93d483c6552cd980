/* SPDX-License-Identifier: Apache-2.0 */

/* U5: what is counted is visible.  A made-up snapshot as text and as JSON. */

#include <config.h>
#include "upcall/upcall-show.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "harness/shown.h"
#include "ovs/compat-util.h"
#include "harness/unit.h"
#include "upcall/upcall-info.h"
#include "util.h"

/* Numbers that are told apart wherever they turn up. */
static struct upcall_queue_info queues[] = {
    { .number = 0, .pid = 4200000001u, .owner = 7, .held = true,
      .stats = { .received = 1001, .lost = 1002, .shed = 1003,
                 .backlog = 1004, .backlog_max = 1005,
                 .latency = { .p50 = 1006, .p99 = 1007, .max = 1008 } } },
    { .number = 9, .pid = 4200000009u, .owner = UPCALL_OWNER_QUEUE,
      .retired = true,
      .stats = { .received = 1101, .lost = 1102, .shed = 1103,
                 .backlog = 1104, .backlog_max = 1105,
                 .latency = { .p50 = 1106, .p99 = 1107, .max = 1108 } } },
};

static struct upcall_port_info ports[] = {
    { .port_no = 0, .name = "br0", .pid = 4200000001u,
      .has_channel = true, .owner = 7,
      .stats = { .received = 10000000001, .malformed = 102, .overruns = 103,
                 .errors = 111, .lost = 104, .lost_limited = 113,
                 .shed = 112,
                 .backlog = 105,
                 .backlog_max = 106,
                 .latency = { .n = 107, .p50 = 108, .p99 = 109,
                              .max = 110, .sum = 112,
                              .below = { 113, 114, 115, 116, 117, 118, 119,
                                         120 } } },
      .rate = { .received = 121, .lost = 122, .shed = 123,
                .lost_at = INT64_C(1700000000123) } },
    { .port_no = 17, .shared = true, .name = "odd \"name\"\n\\", .pid = 4242,
      .owner = UPCALL_OWNER_NONE,
      .stats = { .received = 201, .malformed = 202, .overruns = 203,
                 .errors = 211, .lost = 204, .lost_limited = 213,
                 .shed = 212,
                 .backlog = 205,
                 .backlog_max = 206,
                 .latency = { .n = 207, .p50 = 208, .p99 = 209,
                              .max = 210 } } },
    { .port_no = UPCALL_PORT_NONE, .name = "none", .pid = 4343,
      .has_channel = true, .owner = UPCALL_OWNER_QUEUE,
      .stats = { .received = 301, .malformed = 302, .overruns = 303,
                 .errors = 311, .lost = 304, .lost_limited = 313,
                 .shed = 312,
                 .backlog = 305,
                 .backlog_max = 306,
                 .latency = { .n = 307, .p50 = 308, .p99 = 309,
                              .max = 310 } } },
};

static struct upcall_handler_stats handlers[] = {
    { .wakeups = 401, .empty_wakeups = 402, .batches = 403, .upcalls = 404,
      .receives = 405, .steals = 406, .loans = 407,
      .busy_usec = 408000,
      .batch_sizes = { 411, 412, 413, 414, 415, 416 } },
    { .wakeups = 501, .empty_wakeups = 502, .batches = 503, .upcalls = 504,
      .receives = 505, .steals = 506, .loans = 507,
      .busy_usec = 508000,
      .batch_sizes = { 511, 512, 513, 514, 515, 516 } },
};

static struct upcall_group_info groups[] = {
    { .n_handlers = 701, .n_queued = 702, .wakeups = 703, .loans = 704,
      .locks = 705, .contended = 706, .quantum = 707 },
    { .n_handlers = 801, .n_queued = 802, .wakeups = 803, .loans = 804,
      .locks = 805, .contended = 806, .quantum = 807 },
    { .n_handlers = 901, .n_queued = 902, .wakeups = 903, .loans = 904,
      .locks = 905, .contended = 906, .quantum = 907 },
};

static const struct upcall_table_info info = {
    .name = "system@dp", .engine = "e", .n_sockets = 3,
    .buffer_size = 524288, .buffer_max = UINT64_C(5) << 30,
    .target_delay = 70000,
    .foreign = 601, .refused = 603, .outdated = 606, .abandoned = 602,
    .adopted = 607, .n_adopted = 2,
    .n_ports = ARRAY_SIZE(ports), .ports = ports,
    .n_handlers = ARRAY_SIZE(handlers), .handlers = handlers,
    .group_size = 604, .n_groups = ARRAY_SIZE(groups), .groups = groups,
};

static const struct upcall_table_info empty = {
    .name = "system@dp", .engine = "e",
};

static long long int
integer(const struct json *object, const char *name)
{
    const struct json *json = shash_find_data(json_object(object), name);

    if (!json) {
        fail_msg("no member \"%s\"", name);
    }
    assert_int_equal(json->type, JSON_INTEGER);
    return json_integer(json);
}

static const struct json *
array(const struct json *object, const char *name)
{
    const struct json *json = shash_find_data(json_object(object), name);

    if (!json) {
        fail_msg("no member \"%s\"", name);
    }
    assert_int_equal(json->type, JSON_ARRAY);
    return json;
}

static const char *
string(const struct json *object, const char *name)
{
    const struct json *json = shash_find_data(json_object(object), name);

    if (!json) {
        fail_msg("no member \"%s\"", name);
    }
    assert_int_equal(json->type, JSON_STRING);
    return json_string(json);
}

/* 'snapshot' after a trip through text, as programs see it. */
static struct json *
through_text(const struct upcall_table_info *snapshot)
{
    struct json *json = upcall_show_json(snapshot);
    char *text = json_to_string(json, JSSF_PRETTY | JSSF_SORT);
    struct json *parsed = json_from_string(text);

    assert_int_equal(parsed->type, JSON_OBJECT);
    assert_true(json_equal(json, parsed));
    unit_shown("upcall-show#table", json);
    json_destroy(json);
    free(text);
    return parsed;
}

static void
json_tells_of_the_table(void **state OVS_UNUSED)
{
    struct json *json = through_text(&info);
    const struct json *bounds;

    assert_string_equal(string(json, "name"), "system@dp");
    assert_int_equal(integer(json, "n_ports"), 2);
    assert_int_equal(integer(json, "n_sockets"), 3);
    assert_int_equal(integer(json, "buffer_size"), 524288);
    assert_int_equal(integer(json, "buffer_max"), INT64_C(5) << 30);
    assert_int_equal(integer(json, "n_handlers"), 2);
    assert_int_equal(integer(json, "foreign"), 601);
    assert_int_equal(integer(json, "abandoned"), 602);
    assert_int_equal(integer(json, "refused"), 603);
    assert_int_equal(integer(json, "outdated"), 606);
    assert_int_equal(integer(json, "adopted"), 607);
    assert_int_equal(integer(json, "adopted_sockets"), 2);
    assert_int_equal(integer(json, "target_delay_us"), 70000);
    assert_string_equal(string(json, "engine"), "e");
    bounds = array(json, "latency_bounds_us");
    assert_int_equal(ovs_compat_json_size(bounds), LATENCY_N_BOUNDS);
    assert_int_equal(json_integer(ovs_compat_json_at(bounds, 0)), 64);
    assert_int_equal(integer(json, "group_size"), 604);
    assert_int_equal(shash_count(json_object(json)), 19);
    json_destroy(json);
}

static void
check_owner(const struct json *json, int owner)
{
    if (owner == UPCALL_OWNER_NONE) {
        assert_int_equal(json->type, JSON_NULL);
    } else if (owner == UPCALL_OWNER_QUEUE) {
        assert_string_equal(json_string(json), "queue");
    } else {
        assert_int_equal(json_integer(json), owner);
    }
}

/* A port with queues. */
static const struct upcall_port_info *
port_with_queues(void)
{
    static struct upcall_port_info port;

    port = ports[0];
    port.n_queues = 1;
    port.n_channels = ARRAY_SIZE(queues);
    port.queues = queues;
    return &port;
}

static void
json_tells_of_every_queue(void **state OVS_UNUSED)
{
    struct upcall_port_info with_queues = *port_with_queues();
    struct upcall_table_info with = info;
    const struct json *port, *elems;
    struct json *table;

    with.ports = &with_queues;
    with.n_ports = 1;
    table = through_text(&with);
    port = ovs_compat_json_at(array(table, "ports"), 0);
    elems = array(port, "queues");

    assert_int_equal(integer(port, "n_queues"), 1);
    assert_int_equal(ovs_compat_json_size(elems), ARRAY_SIZE(queues));
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        const struct upcall_queue_info *q = &queues[i];
        const struct json *json = ovs_compat_json_at(elems, i);

        assert_int_equal(integer(json, "number"), q->number);
        assert_int_equal(integer(json, "pid"), q->pid);
        assert_int_equal(json_boolean(shash_find_data(json_object(json),
                                                      "retired")),
                         q->retired);
        assert_int_equal(json_boolean(shash_find_data(json_object(json),
                                                      "held")), q->held);
        check_owner(shash_find_data(json_object(json), "owner"), q->owner);
        assert_int_equal(integer(json, "received"), q->stats.received);
        assert_int_equal(integer(json, "lost"), q->stats.lost);
        assert_int_equal(integer(json, "shed"), q->stats.shed);
        assert_int_equal(integer(json, "backlog"), q->stats.backlog);
        assert_int_equal(integer(json, "backlog_max"), q->stats.backlog_max);
        assert_int_equal(integer(json, "p50_us"), q->stats.latency.p50);
        assert_int_equal(integer(json, "p99_us"), q->stats.latency.p99);
        assert_int_equal(integer(json, "max_us"), q->stats.latency.max);
        assert_int_equal(shash_count(json_object(json)), 13);
    }
    json_destroy(table);
}

static void
text_tells_of_queues_on_request(void **state OVS_UNUSED)
{
    struct upcall_port_info port = *port_with_queues();
    struct upcall_table_info with = info;
    struct ds s = DS_EMPTY_INITIALIZER;

    with.ports = &port;
    with.n_ports = 1;
    upcall_show_text(&with, &s);
    assert_null(strstr(ds_cstr(&s), "queue 9"));
    ds_clear(&s);
    with.with_queues = true;
    upcall_show_text(&with, &s);
    assert_non_null(strstr(ds_cstr(&s), "queue 0        4200000001+"));
    assert_non_null(strstr(ds_cstr(&s), "queue 9        4200000009-"));
    ds_clear(&s);
    upcall_show_port_text(&with, &port, &s);
    assert_non_null(strstr(ds_cstr(&s), "4200000001, 1001 received, "
                           "1002 lost, 1003 shed, 1004 bytes wait, "
                           "p99 1007 us, "
                           "waits for those that it replaces\n"));
    assert_non_null(strstr(ds_cstr(&s), "p99 1107 us, replaced, in the run "
                           "queue\n"));
    ds_destroy(&s);
}

static void
json_tells_of_every_port(void **state OVS_UNUSED)
{
    struct json *json = through_text(&info);
    const struct json *elems = array(json, "ports");

    assert_int_equal(ovs_compat_json_size(elems), ARRAY_SIZE(ports));
    for (size_t i = 0; i < ovs_compat_json_size(elems); i++) {
        const struct json *port = ovs_compat_json_at(elems, i);
        const struct upcall_channel_stats *stats = &ports[i].stats;

        assert_string_equal(string(port, "name"), ports[i].name);
        assert_int_equal(integer(port, "pid"), ports[i].pid);
        assert_int_equal(integer(port, "received"), stats->received);
        assert_int_equal(integer(port, "malformed"), stats->malformed);
        assert_int_equal(integer(port, "overruns"), stats->overruns);
        assert_int_equal(integer(port, "errors"), stats->errors);
        assert_int_equal(integer(port, "lost"), stats->lost);
        assert_int_equal(integer(port, "lost_limited"), stats->lost_limited);
        assert_int_equal(integer(port, "shed"), stats->shed);
        check_owner(shash_find_data(json_object(port), "owner"),
                    ports[i].owner);
        assert_int_equal(integer(port, "backlog"), stats->backlog);
        assert_int_equal(integer(port, "backlog_max"), stats->backlog_max);
        assert_int_equal(integer(port, "n_queues"), ports[i].n_queues);
        assert_int_equal(ovs_compat_json_size(array(port, "queues")), 0);
        assert_int_equal(shash_count(json_object(port)), 20);

        const struct json *rates = shash_find_data(json_object(port),
                                                   "rates");
        const struct json *last_loss = shash_find_data(json_object(port),
                                                       "last_loss_ms");

        assert_int_equal(integer(rates, "received"), ports[i].rate.received);
        assert_int_equal(integer(rates, "lost"), ports[i].rate.lost);
        assert_int_equal(integer(rates, "shed"), ports[i].rate.shed);
        if (ports[i].rate.lost_at) {
            assert_int_equal(integer(port, "last_loss_ms"),
                             ports[i].rate.lost_at);
        } else {
            assert_int_equal(last_loss->type, JSON_NULL);
        }

        const struct json *shared = shash_find_data(json_object(port),
                                                    "shared");
        const struct json *latency = shash_find_data(json_object(port),
                                                     "latency_us");

        assert_int_equal(shared->type, ports[i].shared ? JSON_TRUE
                                                       : JSON_FALSE);
        const struct json *below = array(latency, "below");

        assert_int_equal(ovs_compat_json_size(below), LATENCY_N_BOUNDS);
        for (size_t j = 0; j < ovs_compat_json_size(below); j++) {
            assert_int_equal(json_integer(ovs_compat_json_at(below, j)),
                             stats->latency.below[j]);
        }
        assert_int_equal(integer(latency, "sum"), stats->latency.sum);
        assert_int_equal(integer(latency, "n"), stats->latency.n);
        assert_int_equal(integer(latency, "p50"), stats->latency.p50);
        assert_int_equal(integer(latency, "p99"), stats->latency.p99);
        assert_int_equal(integer(latency, "max"), stats->latency.max);
    }
    json_destroy(json);
}

static void
json_has_null_for_the_number_of_no_port(void **state OVS_UNUSED)
{
    struct json *json = through_text(&info);
    const struct json *elems = array(json, "ports");
    const struct json *none;

    assert_int_equal(integer(ovs_compat_json_at(elems, 0), "port_no"), 0);
    assert_int_equal(integer(ovs_compat_json_at(elems, 1), "port_no"), 17);
    none = shash_find_data(json_object(ovs_compat_json_at(elems, 2)),
                           "port_no");
    assert_non_null(none);
    assert_int_equal(none->type, JSON_NULL);
    json_destroy(json);
}

static void
json_tells_of_every_handler(void **state OVS_UNUSED)
{
    struct json *json = through_text(&info);
    const struct json *elems = array(json, "handlers");

    assert_int_equal(ovs_compat_json_size(elems), ARRAY_SIZE(handlers));
    for (size_t i = 0; i < ovs_compat_json_size(elems); i++) {
        const struct json *handler = ovs_compat_json_at(elems, i);
        const struct upcall_handler_stats *stats = &handlers[i];

        assert_int_equal(integer(handler, "wakeups"), stats->wakeups);
        assert_int_equal(integer(handler, "empty_wakeups"),
                         stats->empty_wakeups);
        assert_int_equal(integer(handler, "batches"), stats->batches);
        assert_int_equal(integer(handler, "upcalls"), stats->upcalls);
        assert_int_equal(integer(handler, "receives"), stats->receives);
        assert_int_equal(integer(handler, "steals"), stats->steals);
        assert_int_equal(integer(handler, "loans"), stats->loans);
        assert_int_equal(integer(handler, "busy_us"), stats->busy_usec);
        for (size_t j = 0; j < UPCALL_N_BATCH_SIZES; j++) {
            const struct json *sizes = array(handler, "batch_sizes");

            assert_int_equal(ovs_compat_json_size(sizes),
                             UPCALL_N_BATCH_SIZES);
            assert_int_equal(json_integer(ovs_compat_json_at(sizes, j)),
                             stats->batch_sizes[j]);
        }
        assert_int_equal(shash_count(json_object(handler)), 9);
    }
    json_destroy(json);
}

static void
json_tells_of_every_group(void **state OVS_UNUSED)
{
    struct json *json = through_text(&info);
    const struct json *elems = array(json, "groups");

    assert_int_equal(ovs_compat_json_size(elems), ARRAY_SIZE(groups));
    for (size_t i = 0; i < ovs_compat_json_size(elems); i++) {
        const struct json *group = ovs_compat_json_at(elems, i);

        assert_int_equal(integer(group, "n_handlers"), groups[i].n_handlers);
        assert_int_equal(integer(group, "n_queued"), groups[i].n_queued);
        assert_int_equal(integer(group, "wakeups"), groups[i].wakeups);
        assert_int_equal(integer(group, "loans"), groups[i].loans);
        assert_int_equal(integer(group, "locks"), groups[i].locks);
        assert_int_equal(integer(group, "contended"), groups[i].contended);
        assert_int_equal(integer(group, "quantum"), groups[i].quantum);
        assert_int_equal(shash_count(json_object(group)), 7);
    }
    json_destroy(json);
}

/* A tunnel port whose senders are in no order, and the channel that port "br0"
 * shares. */
static struct upcall_table_info
with_senders(void)
{
#define V4(A, B, C, D) { [10] = 0xff, 0xff, A, B, C, D }
    static struct upcall_sender_info remotes[3];
    static struct upcall_sender_info shared[1];
    static struct upcall_port_info some[3];
    struct upcall_table_info with = info;
    const struct upcall_sender_info rows[] = {
        { .key = { .source = V4(172, 31, 1, 2), .id = htobe64(5) },
          .received = 1001, .shed = 1002, .waiting = 1003, .rate = 1004,
          .shed_rate = 1005, .age = 1006789 },
        { .key = { .source = { 0x20, 1, [15] = 1 }, .id = htobe64(16777215) },
          .received = 1101, .shed = 1102, .waiting = 1103, .rate = 1104,
          .shed_rate = 1105, .age = 1106789 },
        { .received = 1201, .shed = 1202, .waiting = 1, .rate = 1004,
          .shed_rate = 1205, .age = 1206789 },
    };

    memcpy(remotes, rows, sizeof remotes);
    shared[0] = (struct upcall_sender_info) {
        .key = { .port_no = 0 }, .received = 1301, .rate = 7,
    };
    memcpy(some, ports, sizeof some);
    some[1].senders = remotes;
    some[1].n_senders = ARRAY_SIZE(remotes);
    some[1].other_senders = (struct upcall_sender_info) {
        .received = 1401, .shed = 1402, .waiting = 1403, .rate = 1404,
        .shed_rate = 1405, .age = 1406789,
    };
    some[2].senders = shared;
    some[2].n_senders = ARRAY_SIZE(shared);
    some[2].senders_are_ports = true;
    with.ports = some;
    return with;
}

static void
check_sender(const struct json *json, const struct upcall_sender_info *sender)
{
    assert_int_equal(integer(json, "received"), sender->received);
    assert_int_equal(integer(json, "shed"), sender->shed);
    assert_int_equal(integer(json, "waiting"), sender->waiting);
    assert_int_equal(integer(json, "rate"), sender->rate);
    assert_int_equal(integer(json, "shed_rate"), sender->shed_rate);
    assert_int_equal(integer(json, "age_ms"), sender->age);
}

static void
json_tells_of_every_sender(void **state OVS_UNUSED)
{
    struct upcall_table_info with = with_senders();
    const struct json *elems, *port, *senders, *sender;
    struct json *json;

    assert_true(upcall_show_sort_senders(&with, "rate", 0));
    json = through_text(&with);
    elems = array(json, "ports");
    assert_int_equal(ovs_compat_json_size(
                         array(ovs_compat_json_at(elems, 0), "senders")), 0);
    assert_null(shash_find_data(json_object(ovs_compat_json_at(elems, 0)),
                                "other_senders"));

    port = ovs_compat_json_at(elems, 1);
    senders = array(port, "senders");
    assert_int_equal(ovs_compat_json_size(senders), 3);
    for (size_t i = 0; i < 3; i++) {
        sender = ovs_compat_json_at(senders, i);
        check_sender(sender, &with.ports[1].senders[i]);
        assert_int_equal(shash_count(json_object(sender)), 8);
    }
    assert_string_equal(string(ovs_compat_json_at(senders, 0), "remote"),
                        "2001::1");
    assert_int_equal(integer(ovs_compat_json_at(senders, 0), "vni"),
                     16777215);
    sender = shash_find_data(json_object(ovs_compat_json_at(senders, 1)),
                             "remote");
    assert_int_equal(sender->type, JSON_NULL);
    assert_string_equal(string(ovs_compat_json_at(senders, 2), "remote"),
                        "172.31.1.2");
    assert_int_equal(integer(ovs_compat_json_at(senders, 2), "vni"), 5);
    check_sender(shash_find_data(json_object(port), "other_senders"),
                 &with.ports[1].other_senders);

    senders = array(ovs_compat_json_at(elems, 2), "senders");
    assert_int_equal(ovs_compat_json_size(senders), 1);
    sender = ovs_compat_json_at(senders, 0);
    check_sender(sender, &with.ports[2].senders[0]);
    assert_int_equal(integer(sender, "port_no"), 0);
    assert_string_equal(string(sender, "name"), "br0");
    json_destroy(json);

    assert_true(upcall_show_sort_senders(&with, "rate", 2));
    json = through_text(&with);
    port = ovs_compat_json_at(array(json, "ports"), 1);
    assert_int_equal(ovs_compat_json_size(array(port, "senders")), 2);
    json_destroy(json);
}

static void
json_of_an_empty_table_has_empty_arrays(void **state OVS_UNUSED)
{
    struct json *json = through_text(&empty);

    assert_int_equal(ovs_compat_json_size(array(json, "ports")), 0);
    assert_int_equal(ovs_compat_json_size(array(json, "handlers")), 0);
    assert_int_equal(ovs_compat_json_size(array(json, "groups")), 0);
    assert_int_equal(integer(json, "n_ports"), 0);
    json_destroy(json);
}

/* Returns the line of 'text' whose first word is 'word', with runs of spaces
 * made one, for the caller to free. */
static char *
line_of(const char *text, const char *word)
{
    char *copy = xstrdup(text);
    char *found = NULL;
    char *save = NULL;

    for (char *line = strtok_r(copy, "\n", &save); line && !found;
         line = strtok_r(NULL, "\n", &save)) {
        struct ds squeezed = DS_EMPTY_INITIALIZER;
        char *save_word = NULL;

        for (char *w = strtok_r(line, " ", &save_word); w;
             w = strtok_r(NULL, " ", &save_word)) {
            ds_put_format(&squeezed, "%s%s", squeezed.length ? " " : "", w);
        }
        found = ds_steal_cstr(&squeezed);
        if (strncmp(found, word, strlen(word))
            || found[strlen(word)] != ' ') {
            free(found);
            found = NULL;
        }
    }
    free(copy);
    if (!found) {
        fail_msg("no line starts with \"%s\" in:\n%s", word, text);
    }
    return found;
}

static void
check_line(const struct ds *s, const char *word, const char *expected)
{
    char *line = line_of(ds_cstr_ro(s), word);

    assert_string_equal(line, expected);
    free(line);
}

static void
text_tells_the_same(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    upcall_show_text(&info, &s);
    check_line(&s, "system@dp:", "system@dp: upcall channels");
    check_line(&s, "ports", "ports 2, sockets 3, handlers 2, engine e");
    check_line(&s, "receive",
               "receive buffers: 512 kB for each port, at most 5120 MB in "
               "all");
    check_line(&s, "target", "target delay: 70 ms for upcalls of a port that "
               "sends more than its share");
    check_line(&s, "dropped:", "dropped: 601 of another datapath, "
               "602 when handlers were changed");
    check_line(&s, "refused:", "refused: 603 messages of other processes");
    check_line(&s, "outdated:", "outdated: 606 upcalls that flows of a "
               "previous run had recirculated");
    check_line(&s, "adopted:", "adopted: 607 upcalls had waited on 2 sockets "
               "of a previous run");
    check_line(&s, "port",
               "port name pid rate received lost shed overruns malformed "
               "errors backlog most p50 p99 max");
    check_line(&s, "0", "0 br0 4200000001 366 10000000001 104 112 103 102 "
               "111 105 106 108 109 110");
    check_line(&s, "-", "- none 4343 0 301 304 312 303 302 311 305 306 308 "
               "309 310");
    check_line(&s, "handler",
               "handler wakeups empty batches upcalls receives steals "
               "busy");
    check_line(&s, "1", "1 501 502 503 504 505 506 508");
    check_line(&s, "batches", "batches by upcalls: 1: 922, 2-3: 924, "
               "4-7: 926, 8-15: 928, 16-31: 930, 32-63: 932");
    check_line(&s, "group",
               "group handlers queued wakeups loans locks contended");
    check_line(&s, "2", "2 901 902 903 904 905 906");
    check_line(&s, "*:", "*: on a socket shared with other ports");
    assert_non_null(strstr(ds_cstr(&s), " 4242*"));
    ds_destroy(&s);
}

/* Lines about what does not happen to most datapaths. */
static void
text_tells_only_of_what_happened(void **state OVS_UNUSED)
{
    static const char *const lines[] = {
        "target", "dropped:", "refused:", "outdated:", "adopted:",
    };
    struct upcall_table_info one = empty;
    struct ds s = DS_EMPTY_INITIALIZER;

    upcall_show_text(&one, &s);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        assert_null(strstr(ds_cstr(&s), lines[i]));
    }
    check_line(&s, "ports", "ports 0, sockets 0, handlers 0, engine e");
    check_line(&s, "receive",
               "receive buffers: 0 kB for each port, at most 0 MB in all");

    ds_clear(&s);
    one.foreign = 1;
    upcall_show_text(&one, &s);
    check_line(&s, "dropped:", "dropped: 1 of another datapath, 0 when "
               "handlers were changed");

    ds_clear(&s);
    one.foreign = 0;
    one.abandoned = 1;
    upcall_show_text(&one, &s);
    check_line(&s, "dropped:", "dropped: 0 of another datapath, 1 when "
               "handlers were changed");

    ds_clear(&s);
    one.n_adopted = 1;
    upcall_show_text(&one, &s);
    check_line(&s, "adopted:", "adopted: 0 upcalls had waited on 1 sockets of "
               "a previous run");
    ds_destroy(&s);
}

static void
text_tells_of_senders(void **state OVS_UNUSED)
{
    struct upcall_table_info with = with_senders();
    struct ds s = DS_EMPTY_INITIALIZER;
    const char *first, *second;

    assert_true(upcall_show_sort_senders(&with, "waiting", 0));
    upcall_show_senders_text(&with, NULL, &s);
    check_line(&s, "system@dp:", "system@dp: senders of upcalls");
    check_line(&s, "remote",
               "remote vni rate shed/s received shed waiting seconds");
    check_line(&s, "172.31.1.2", "172.31.1.2 5 1004 1005 1001 1002 1003 1006");
    check_line(&s, "2001::1",
               "2001::1 16777215 1104 1105 1101 1102 1103 1106");
    check_line(&s, "(unknown)", "(unknown) 0 1004 1205 1201 1202 1 1206");
    check_line(&s, "(others)", "(others) 1404 1405 1401 1402 1403 1406");
    check_line(&s, "none:", "none: 1 sender");
    check_line(&s, "br0", "br0 0 7 0 1301 0 0 0");
    first = strstr(ds_cstr(&s), "2001::1");
    second = strstr(ds_cstr(&s), "172.31.1.2");
    assert_true(first < second);

    ds_clear(&s);
    assert_true(upcall_show_sort_senders(&with, "shed", 1));
    upcall_show_senders_text(&with, &with.ports[1], &s);
    check_line(&s, "(unknown)", "(unknown) 0 1004 1205 1201 1202 1 1206");
    check_line(&s, "(others)", "(others) 1404 1405 1401 1402 1403 1406");
    assert_null(strstr(ds_cstr(&s), "172.31.1.2"));
    assert_null(strstr(ds_cstr(&s), "none"));

    ds_clear(&s);
    upcall_show_senders_text(&with, &with.ports[0], &s);
    check_line(&s, "br0", "br0 had no upcalls of several senders");
    ds_clear(&s);
    upcall_show_senders_text(&empty, NULL, &s);
    check_line(&s, "tunnels", "tunnels and shared sockets had no upcalls of "
               "several senders");
    ds_destroy(&s);
}

static void
senders_are_sorted_by_what_they_have(void **state OVS_UNUSED)
{
    struct upcall_table_info with = with_senders();
    const struct upcall_sender_info *senders = with.ports[1].senders;

    /* Of two that are equal the one with more upcalls goes first. */
    assert_true(upcall_show_sort_senders(&with, "rate", 7));
    assert_int_equal(senders[0].received, 1101);
    assert_int_equal(senders[1].received, 1201);
    assert_int_equal(senders[2].received, 1001);
    assert_int_equal(with.top_senders, 7);
    assert_true(upcall_show_sort_senders(&with, "received", 0));
    assert_int_equal(senders[0].received, 1201);
    assert_true(upcall_show_sort_senders(&with, "waiting", 0));
    assert_int_equal(senders[0].received, 1101);
    assert_true(upcall_show_sort_senders(&with, "shed/s", 0));
    assert_int_equal(senders[0].received, 1201);
    assert_true(upcall_show_sort_senders(&with, "seconds", 0));
    assert_int_equal(senders[0].received, 1201);
    assert_false(upcall_show_sort_senders(&with, "upcalls", 0));
}

static void
one_port_is_found_by_name_or_number(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    assert_ptr_equal(upcall_show_find(&info, "br0"), &ports[0]);
    assert_ptr_equal(upcall_show_find(&info, "0"), &ports[0]);
    assert_ptr_equal(upcall_show_find(&info, "17"), &ports[1]);
    assert_ptr_equal(upcall_show_find(&info, "none"), &ports[2]);
    assert_null(upcall_show_find(&info, "1"));
    assert_null(upcall_show_find(&info, ""));
    assert_null(upcall_show_find(&info, "br"));
    assert_null(upcall_show_find(&empty, "br0"));

    upcall_show_port_text(&info, &ports[0], &s);
    assert_non_null(strstr(ds_cstr(&s), "port 0 br0, netlink port id "
                                        "4200000001\n"));
    check_line(&s, "upcalls", "upcalls received 10000000001");
    check_line(&s, "of", "of these limited 113 while the port sent more than "
               "its share");
    check_line(&s, "channel", "channel with handler 7");
    check_line(&s, "rates", "rates 121 received, 122 lost, 123 shed a second");
    check_line(&s, "last", "last loss 2023-11-14 22:13:20 UTC");
    check_line(&s, "latency", "latency p50 108 us, p99 109 us, max 110 us, "
               "of 107 upcalls");
    ds_destroy(&s);
}

/* Returns the numbers of the ports that 'snapshot' shows, as a string that the
 * caller frees. */
static char *
shown(const struct upcall_table_info *snapshot)
{
    struct json *json = upcall_show_json(snapshot);
    const struct json *elems = array(json, "ports");
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < ovs_compat_json_size(elems); i++) {
        ds_put_format(&s, "%s ", string(ovs_compat_json_at(elems, i),
                                        "name"));
    }
    json_destroy(json);
    return ds_steal_cstr(&s);
}

static void
check_order(const char *key, size_t top, const char *expected)
{
    struct upcall_port_info some[] = {
        { .name = "a", .port_no = 1, .stats = { .received = 5, .lost = 1 } },
        { .name = "b", .port_no = 2, .stats = { .received = 1, .lost = 3,
                                                .shed = 4,
                                                .latency = { .p99 = 2 } } },
        { .name = "c", .port_no = 3, .stats = { .received = 7, .lost = 1,
                                                .latency = { .p99 = 9 } } },
    };
    struct upcall_table_info snapshot = {
        .name = "dp", .engine = "e", .n_ports = 3, .ports = some,
    };
    char *names;

    assert_true(upcall_show_sort(&snapshot, key, top));
    names = shown(&snapshot);
    assert_string_equal(names, expected);
    free(names);

    /* All are counted, whatever is shown. */
    struct ds s = DS_EMPTY_INITIALIZER;
    upcall_show_text(&snapshot, &s);
    check_line(&s, "ports", "ports 3, sockets 0, handlers 0, engine e");
    ds_destroy(&s);
}

static void
ports_are_sorted_and_the_first_shown(void **state OVS_UNUSED)
{
    struct upcall_table_info none = { .n_ports = 0 };

    check_order("upcalls", 0, "b c a ");
    check_order("received", 0, "c a b ");
    check_order("lost", 0, "b a c ");
    check_order("shed", 2, "b a ");
    check_order("p99", 1, "c ");
    check_order("errors", 100, "a b c ");
    assert_false(upcall_show_sort(&none, "", 0));
    assert_false(upcall_show_sort(&none, "name", 0));
    assert_true(upcall_show_sort(&none, "max", 0));
}

static void
text_of_an_untroubled_table_mentions_no_drops(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    upcall_show_text(&empty, &s);
    check_line(&s, "ports", "ports 0, sockets 0, handlers 0, engine e");
    assert_null(strstr(ds_cstr(&s), "dropped"));
    ds_destroy(&s);
}

static void
text_is_appended(void **state OVS_UNUSED)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, "before\n");
    upcall_show_text(&empty, &s);
    assert_int_equal(strncmp(ds_cstr(&s), "before\nsystem@dp:", 17), 0);
    ds_destroy(&s);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_tells_of_the_table),
        cmocka_unit_test(json_tells_of_every_queue),
        cmocka_unit_test(text_tells_of_queues_on_request),
        cmocka_unit_test(json_tells_of_every_port),
        cmocka_unit_test(json_has_null_for_the_number_of_no_port),
        cmocka_unit_test(json_tells_of_every_handler),
        cmocka_unit_test(json_tells_of_every_group),
        cmocka_unit_test(json_tells_of_every_sender),
        cmocka_unit_test(text_tells_only_of_what_happened),
        cmocka_unit_test(text_tells_of_senders),
        cmocka_unit_test(senders_are_sorted_by_what_they_have),
        cmocka_unit_test(json_of_an_empty_table_has_empty_arrays),
        cmocka_unit_test(text_tells_the_same),
        cmocka_unit_test(one_port_is_found_by_name_or_number),
        cmocka_unit_test(ports_are_sorted_and_the_first_shown),
        cmocka_unit_test(text_of_an_untroubled_table_mentions_no_drops),
        cmocka_unit_test(text_is_appended),
    };

    return cmocka_run_group_tests_name("upcall-show", tests, NULL, NULL);
}
