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

/* Two threads, the first of which has inserted three times as much. */
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
        thread->counters[OFFLOAD_ENQUEUED] = 1000;
        thread->counters[OFFLOAD_INSERTED] = 900;
        thread->cumulative = (struct average_summary) {
            .n = i ? 100 : 300, .mean = i ? 1000 : 200, .variance = 0,
        };
        thread->exponential = (struct average_summary) {
            .n = i ? 100 : 300, .mean = i ? 100 : 20, .variance = 16,
        };
        thread->latency = (struct latency_summary) {
            .n = 5, .p50 = 10, .p99 = 20, .max = 30,
        };
        info.total.counters[OFFLOAD_ENQUEUED] += 1000;
        info.total.counters[OFFLOAD_INSERTED] += 900;
        info.total.n_queued += thread->n_queued;
        info.total.n_rules += thread->n_rules;
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
    assert_non_null(strstr(ds_cstr(&s), "offload: 2 threads\n"
                           "  flows: kernel 4, queued 0, parked 0, in tc 40, "
                           "moving back 0, rejected 0, deleting 0\n"
                           "  in tc: in hardware 30, partly in hardware 2, "
                           "only in software 7, not read yet 1\n"));
    assert_non_null(strstr(ds_cstr(&s), "\n    total       11"));
    assert_non_null(strstr(ds_cstr(&s), "  also: vanished 2, deletions tried "
                           "again 6 (5 for long)\n"));
    assert_non_null(strstr(ds_cstr(&s), "  not supported                     "
                           "            7      3  ufid:11223344-5566-7788-"
                           "99aa-bbccddeeff00 (Operation not supported): "
                           "card: no more than one VLAN tag\n"));
    assert_null(strstr(ds_cstr(&s), "ended"));
    info.threads[1].running = false;
    ds_clear(&s);
    offload_show_text(&info, &s);
    assert_non_null(strstr(ds_cstr(&s), "(ended)\n"));
    ds_destroy(&s);
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
    struct json *json = offload_show_json(&info);
    const struct json *total = member(json, "total");
    const struct json *thread, *reason;

    unit_shown("offload-show#datapath", json);
    assert_int_equal(json_integer(member(member(json, "flows"), "in tc")), 40);
    assert_int_equal(json_integer(member(member(json, "in_tc"),
                                         "only in software")), 7);
    assert_int_equal(json_integer(member(total, "queued")), 11);
    assert_int_equal(json_integer(member(total, "vanished")), 2);
    assert_int_equal(json_integer(member(json, "deletions_retried")), 6);
    assert_int_equal(json_integer(member(json, "deletions_stuck")), 5);
    assert_int_equal(ovs_compat_json_size(member(json, "threads")), 2);
    thread = ovs_compat_json_at(member(json, "threads"), 1);
    assert_int_equal(json_integer(member(thread, "thread")), 1);
    assert_int_equal(json_integer(member(member(thread, "latency_us"),
                                         "p99")), 20);
    assert_int_equal(ovs_compat_json_size(member(json, "reasons")), 1);
    reason = ovs_compat_json_at(member(json, "reasons"), 0);
    assert_string_equal(json_string(member(reason, "reason")),
                        "not supported");
    assert_int_equal(json_integer(member(reason, "n")), 7);
    assert_int_equal(json_integer(member(reason, "port")), 3);
    assert_int_equal(json_integer(member(reason, "errno")), EOPNOTSUPP);
    assert_string_equal(json_string(member(reason, "why")),
                        "card: no more than one VLAN tag");
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
        cmocka_unit_test(json_has_the_same),
        cmocka_unit_test(why_tells_the_reason),
        cmocka_unit_test(figures_of_all_threads_are_weighted),
    };

    return cmocka_run_group_tests_name("offload-show", tests, NULL, NULL);
}
