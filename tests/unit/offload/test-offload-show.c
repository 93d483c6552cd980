/* SPDX-License-Identifier: Apache-2.0 */

/* Output of the commands about offload. */

#include <config.h>
#include "offload/offload-info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "harness/shown.h"
#include "ovs/compat-util.h"
#include "harness/unit.h"
#include "util.h"

static const ovs_u128 ufid = { .u32 = { 0x11223344, 0x55667788, 0x99aabbcc,
                                        0xddeeff00 } };

/* Two threads.  The first has inserted three times as much as the second. */
static struct offload_engine_info
make_info(void)
{
    struct offload_engine_info info = {
        .n_threads = 2,
        .n_running = 2,
        .n_flows = { [OFFLOAD_STATE_KERNEL] = 4, [OFFLOAD_STATE_IN_TC] = 40 },
        .reasons = {
            [OFFLOAD_REASON_UNSUPPORTED] = {
                .n = 7, .ufid = ufid, .port = 3, .error = EOPNOTSUPP,
                .why = "card: no more than one VLAN tag",
            },
        },
    };

    for (unsigned int i = 0; i < 2; i++) {
        struct offload_thread_info *thread = &info.threads[i];

        thread->id = i;
        thread->running = true;
        thread->n_queued = 5 + i;
        thread->most_queued = 100 + i;
        thread->n_rules = 20;
        for (size_t j = 0; j <= OFFLOAD_PARKED; j++) {
            thread->counters[j] = 1000 * i + 10 * j + 1;
            info.total.counters[j] += thread->counters[j];
        }
        thread->cumulative = (struct average_summary) {
            .n = i ? 100 : 300, .mean = i ? 1000 : 200, .variance = 0,
        };
        thread->exponential = (struct average_summary) {
            .n = i ? 100 : 300, .mean = i ? 100 : 20, .variance = 16,
        };
        thread->latency = (struct latency_summary) {
            .n = 5, .p50 = 10, .p99 = 20, .max = 30 + i,
        };
        info.total.n_queued += thread->n_queued;
        info.total.most_queued = thread->most_queued;
        info.total.n_rules += thread->n_rules;
        info.total.latency.max = thread->latency.max;
        average_summary_merge(&info.total.cumulative, &thread->cumulative);
        average_summary_merge(&info.total.exponential, &thread->exponential);
    }
    info.total.counters[OFFLOAD_VANISHED] = 2;
    info.n_retried = 6;
    info.n_stuck = 5;
    info.n_hw[OFFLOAD_HW_ALL] = 30;
    info.n_hw[OFFLOAD_HW_PARTLY] = 2;
    info.n_hw[OFFLOAD_HW_NONE] = 7;
    info.n_hw[OFFLOAD_HW_UNKNOWN] = 1;
    return info;
}

static void
text_has_threads_states_and_reasons(void **state OVS_UNUSED)
{
    struct offload_engine_info info = make_info();
    struct ds s = DS_EMPTY_INITIALIZER;

    offload_show_text(&info, &s);
    assert_string_equal(ds_cstr(&s),
        "offload: 2 threads\n"
        "  flows: kernel 4, queued 0, parked 0, in tc 40, moving back 0, "
        "rejected 0, deleting 0\n"
        "  in tc: in hardware 30, partly in hardware 2, only in software 7, "
        "not read yet 1\n"
        "   thread   queued     most    in tc   enqueued   inserted   "
        "modified    deleted   returned   rejected superseded\n"
        "        0        5      100       20          1         11         "
        "21         31         41         51         61\n"
        "        1        6      101       20       1001       1011       "
        "1021       1031       1041       1051       1061\n"
        "    total       11      101       40       1002       1022       "
        "1042       1062       1082       1102       1122\n"
        "  from request to insertion, in microseconds\n"
        "   thread       mean  deviation     lately  deviation        p50"
        "        p99        max\n"
        "        0        200          0         20          4         10"
        "         20         30\n"
        "        1       1000          0        100          4         10"
        "         20         31\n"
        "    total        400        346         40         35          -"
        "          -         31\n"
        "  also: parked 1142, vanished 2, deletions tried again 6 "
        "(5 for long)\n"
        "  why not in tc                             times   port  "
        "latest example\n"
        "  not supported                                 7      3  "
        "ufid:11223344-5566-7788-99aa-bbccddeeff00 "
        "(Operation not supported): card: no more than one VLAN tag\n");

    info.threads[1].running = false;
    info.n_running = 1;
    info.reasons[OFFLOAD_REASON_UNSUPPORTED].n = 0;
    info.reasons[OFFLOAD_REASON_FULL] = (struct offload_reason_info) {
        .n = 1, .ufid = ufid, .port = 4,
    };
    ds_clear(&s);
    offload_show_text(&info, &s);
    assert_non_null(strstr(ds_cstr(&s), "offload: 1 threads\n"));
    assert_non_null(strstr(ds_cstr(&s), "         61\n        1        6"));
    assert_non_null(strstr(ds_cstr(&s), "       1061 (ended)\n    total"));
    assert_non_null(strstr(ds_cstr(&s), "       1122\n  from request"));
    assert_non_null(strstr(ds_cstr(&s), "  latest example\n"
                           "  queue full                                    "
                           "1      4  ufid:11223344-5566-7788-99aa-"
                           "bbccddeeff00\n"));
    ds_destroy(&s);
}

/* What follows the table of threads: rare events, if there are any, each named
 * only if it has happened. */
static void
rare_events_are_shown_if_there_are_any(void **state OVS_UNUSED)
{
    static const struct {
        struct offload_engine_info info;
        const char *text;
    } cases[] = {
        { { .n_threads = 0 }, "" },
        { { .n_backoffs = 3 }, "  also: ports backing off 3\n" },
        { { .n_retried = 2, .n_stuck = 1 },
          "  also: deletions tried again 2 (1 for long)\n" },
        { { .n_audits = 9 }, "  also: audits of all rules 9\n" },
        { { .total.counters = { [OFFLOAD_SUPERSEDED] = 1,
                                [OFFLOAD_PARKED] = 2,
                                [OFFLOAD_ADOPTED] = 3,
                                [OFFLOAD_STALE] = 4,
                                [OFFLOAD_VANISHED] = 5,
                                [OFFLOAD_LEAKED] = 6,
                                [OFFLOAD_OVERLAPPED] = 7,
                                [OFFLOAD_LOST] = 8,
                                [OFFLOAD_ORPHANS] = 9,
                                [OFFLOAD_REMADE] = 10 },
            .n_backoffs = 11, .n_retried = 12, .n_audits = 13 },
          "  also: parked 2, adopted 3, stale 4, vanished 5, leaked 6, "
          "overlapped 7, lost 8, orphans 9, remade 10, ports backing off 11, "
          "deletions tried again 12 (0 for long), audits of all rules 13\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ds s = DS_EMPTY_INITIALIZER;
        const char *table_end;

        offload_show_text(&cases[i].info, &s);
        table_end = strchr(strrchr(ds_cstr(&s), '-'), '\n');
        assert_string_equal(table_end + 1, cases[i].text);
        ds_destroy(&s);
    }
}

/* 'json', whose members are in alphabetical order, as a string. */
static void
assert_json(const struct json *json, const char *expected)
{
    char *s = json_to_string(json, JSSF_SORT);

    assert_string_equal(s, expected);
    free(s);
}

/* Follows names and indexes, which end with NULL, from 'json'. */
static const struct json *
member(const struct json *json, const char *name)
{
    const struct json *found = shash_find_data(json_object(json), name);

    assert_non_null(found);
    return found;
}

static void
json_has_the_same(void **state OVS_UNUSED)
{
    struct offload_engine_info info = make_info();
    const struct json *total, *latency;
    struct json *json;

    info.n_backoffs = 1;
    info.n_audits = 3;
    json = offload_show_json(&info);
    total = member(json, "total");
    unit_shown("offload-show#datapath", json);
    assert_json(member(json, "flows"),
                "{\"deleting\":0,\"in tc\":40,\"kernel\":4,"
                "\"moving back\":0,\"parked\":0,\"queued\":0,"
                "\"rejected\":0}");
    assert_json(member(json, "in_tc"),
                "{\"in hardware\":30,\"not read yet\":1,"
                "\"only in software\":7,\"partly in hardware\":2}");
    assert_int_equal(json_integer(member(json, "ports_backing_off")), 1);
    assert_int_equal(json_integer(member(json, "deletions_retried")), 6);
    assert_int_equal(json_integer(member(json, "deletions_stuck")), 5);
    assert_int_equal(json_integer(member(json, "audits")), 3);
    assert_int_equal(ovs_compat_json_size(member(json, "threads")), 2);
    assert_json(ovs_compat_json_at(member(json, "threads"), 1),
                "{\"adopted\":0,\"deleted\":1031,\"enqueued\":1001,"
                "\"in_tc\":20,\"inserted\":1011,\"latency_us\":{"
                "\"cumulative\":{\"deviation\":0,\"mean\":1000,\"n\":100},"
                "\"exponential\":{\"deviation\":4,\"mean\":100,\"n\":100},"
                "\"max\":31,\"p50\":10,\"p99\":20},\"leaked\":0,"
                "\"lost\":0,\"modified\":1021,\"most_queued\":101,"
                "\"orphans\":0,\"overlapped\":0,\"parked\":1071,"
                "\"queued\":6,\"rejected\":1051,\"remade\":0,"
                "\"returned\":1041,\"running\":true,\"stale\":0,"
                "\"superseded\":1061,\"thread\":1,\"vanished\":0}");
    assert_int_equal(json_integer(member(total, "queued")), 11);
    assert_int_equal(json_integer(member(total, "most_queued")), 101);
    assert_int_equal(json_integer(member(total, "in_tc")), 40);
    assert_int_equal(json_integer(member(total, "inserted")), 1022);
    assert_int_equal(json_integer(member(total, "vanished")), 2);
    assert_null(shash_find(json_object(total), "thread"));
    assert_null(shash_find(json_object(total), "running"));
    latency = member(total, "latency_us");
    assert_int_equal(json_integer(member(latency, "max")), 31);
    assert_null(shash_find(json_object(latency), "p50"));
    assert_null(shash_find(json_object(latency), "p99"));
    assert_json(member(json, "reasons"),
                "[{\"errno\":95,\"n\":7,\"port\":3,"
                "\"reason\":\"not supported\","
                "\"ufid\":\"11223344-5566-7788-99aa-bbccddeeff00\","
                "\"why\":\"card: no more than one VLAN tag\"}]");
    json_destroy(json);
}

static void
why_tells_the_reason(void **state OVS_UNUSED)
{
#define UFID "ufid:11223344-5566-7788-99aa-bbccddeeff00: "
    static const struct {
        struct offload_flow_info info;
        const char *text;
    } cases[] = {
        { { .state = OFFLOAD_STATE_IN_TC, .port = 1 },
          UFID "in tc, not read yet, port 1\n" },
        { { .state = OFFLOAD_STATE_IN_TC, .port = 1, .hw = OFFLOAD_HW_NONE },
          UFID "in tc, only in software, port 1\n" },
        { { .state = OFFLOAD_STATE_IN_TC, .port = 1, .hw = OFFLOAD_HW_NONE,
            .why = "card: no room" },
          UFID "in tc, only in software: card: no room, port 1\n" },
        { { .state = OFFLOAD_STATE_IN_TC, .port = 1,
            .hw = OFFLOAD_HW_PARTLY },
          UFID "in tc, partly in hardware, port 1\n" },
        { { .state = OFFLOAD_STATE_IN_TC, .port = 1, .hw = OFFLOAD_HW_ALL },
          UFID "in tc, in hardware, port 1\n" },
        { { .state = OFFLOAD_STATE_PARKED, .port = 2, .recirc_id = 0x1f },
          UFID "parked: no flow in tc recirculates to 0x1f, port 2\n" },
        { { .state = OFFLOAD_STATE_KERNEL, .port = 2,
            .reason = OFFLOAD_REASON_FULL },
          UFID "kernel: queue full, port 2\n" },
        { { .state = OFFLOAD_STATE_REJECTED, .port = 3,
            .reason = OFFLOAD_REASON_NO_SPACE, .error = ENOSPC,
            .retry = 1500 },
          UFID "rejected: no space in the device (No space left on device), "
          "port 3, may be offered again in 1500 ms\n" },
        { { .state = OFFLOAD_STATE_REJECTED, .port = 3,
            .reason = OFFLOAD_REASON_UNSUPPORTED, .error = EOPNOTSUPP,
            .why = "card: no more than one VLAN tag" },
          UFID "rejected: not supported (Operation not supported): card: no "
          "more than one VLAN tag, port 3\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ds s = DS_EMPTY_INITIALIZER;
        struct json *json;

        offload_why_text(&ufid, &cases[i].info, &s);
        assert_string_equal(ds_cstr(&s), cases[i].text);
        ds_destroy(&s);
        json = offload_why_json(&ufid, &cases[i].info);
        unit_shown("offload-why#flow", json);
        assert_string_equal(json_string(member(json, "state")),
                            offload_state_to_string(cases[i].info.state));
        assert_int_equal(json_integer(member(json, "retry_ms")),
                         cases[i].info.retry);
        assert_int_equal(json_integer(member(json, "errno")),
                         cases[i].info.error);
        assert_int_equal(json_integer(member(json, "port")),
                         cases[i].info.port);
        assert_int_equal(json_integer(member(json, "recirc_id")),
                         cases[i].info.recirc_id);
        assert_string_equal(json_string(member(json, "reason")),
                            offload_reason_to_string(cases[i].info.reason));
        if (cases[i].info.state == OFFLOAD_STATE_IN_TC) {
            assert_string_equal(json_string(member(json, "in_tc")),
                                offload_hw_to_string(cases[i].info.hw));
        }
        if (cases[i].info.why) {
            assert_string_equal(json_string(member(json, "why")),
                                cases[i].info.why);
        }
        json_destroy(json);
    }
}

static void
figures_of_all_threads_are_weighted(void **state OVS_UNUSED)
{
    struct offload_engine_info info = make_info();
    struct offload_figure *figures;
    size_t n = offload_figures(&info, &figures);

    assert_int_equal(n, 3 * OFFLOAD_FIGURES);
    assert_string_equal(figures[0].name,
                        "  Total                 Enqueued offloads");
    assert_int_equal(figures[0].value, 11);
    assert_string_equal(figures[1].name,
                        "  Total                 Inserted offloads");
    assert_int_equal(figures[1].value, 40);
    assert_string_equal(figures[2].name,
                        "  Total   Cumulative Average latency (us)");
    assert_int_equal(figures[2].value, 400);
    assert_int_equal(figures[3].value, 346);
    assert_int_equal(figures[4].value, 40);
    assert_string_equal(figures[OFFLOAD_FIGURES].name,
                        "  [  0]                 Enqueued offloads");
    assert_string_equal(figures[2 * OFFLOAD_FIGURES + 5].name,
                        "  [  1]   Exponential Latency stddev (us)");
    assert_int_equal(figures[2 * OFFLOAD_FIGURES + 5].value, 4);
    free(figures);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_threads_states_and_reasons),
        cmocka_unit_test(rare_events_are_shown_if_there_are_any),
        cmocka_unit_test(json_has_the_same),
        cmocka_unit_test(why_tells_the_reason),
        cmocka_unit_test(figures_of_all_threads_are_weighted),
    };

    return cmocka_run_group_tests_name("offload-show", tests, NULL, NULL);
}
