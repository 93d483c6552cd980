/* SPDX-License-Identifier: Apache-2.0 */

/* Names of states and reasons, output of the commands about offload, and
 * findings of kdp/doctor. */

#include <config.h>
#include "offload/offload-info.h"

#include <inttypes.h>
#include <stdio.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/uuid.h"
#include "unixctl/findings.h"
#include "util.h"
#include "uuid.h"

const char *
offload_state_to_string(enum offload_state state)
{
    switch (state) {
    case OFFLOAD_STATE_KERNEL: return "kernel";
    case OFFLOAD_STATE_QUEUED: return "queued";
    case OFFLOAD_STATE_PARKED: return "parked";
    case OFFLOAD_STATE_IN_TC: return "in tc";
    case OFFLOAD_STATE_MOVING_BACK: return "moving back";
    case OFFLOAD_STATE_REJECTED: return "rejected";
    case OFFLOAD_STATE_DELETING: return "deleting";
    case OFFLOAD_N_STATES:
    default: OVS_NOT_REACHED();
    }
}

const char *
offload_hw_to_string(enum offload_hw hw)
{
    switch (hw) {
    case OFFLOAD_HW_UNKNOWN: return "not read yet";
    case OFFLOAD_HW_NONE: return "only in software";
    case OFFLOAD_HW_PARTLY: return "partly in hardware";
    case OFFLOAD_HW_ALL: return "in hardware";
    case OFFLOAD_N_HW:
    default: OVS_NOT_REACHED();
    }
}

const char *
offload_reason_to_string(enum offload_reason reason)
{
    switch (reason) {
    case OFFLOAD_REASON_NONE: return "none";
    case OFFLOAD_REASON_DISABLED: return "offload is disabled";
    case OFFLOAD_REASON_NO_PORT: return "no such port";
    case OFFLOAD_REASON_RECONCILING: return "old rules are looked at first";
    case OFFLOAD_REASON_YOUNG: return "younger than the delay";
    case OFFLOAD_REASON_FULL: return "queue full";
    case OFFLOAD_REASON_BACKOFF: return "device backs off";
    case OFFLOAD_REASON_KIND: return "device rejects flows of this kind";
    case OFFLOAD_REASON_UNSUPPORTED: return "not supported";
    case OFFLOAD_REASON_NO_SPACE: return "no space in the device";
    case OFFLOAD_REASON_NO_DEVICE: return "device is gone";
    case OFFLOAD_REASON_EXISTS: return "another rule is in the way";
    case OFFLOAD_REASON_ERROR: return "error";
    case OFFLOAD_REASON_VANISHED: return "rule vanished from tc";
    case OFFLOAD_REASON_SOFTWARE: return "no room in the card";
    case OFFLOAD_REASON_OUTRANKED: return "flows with more packets go first";
    case OFFLOAD_N_REASONS:
    default: OVS_NOT_REACHED();
    }
}

/* Does 'reason' mean that a flow was tried and did not stay in tc? */
bool
offload_reason_is_rejection(enum offload_reason reason)
{
    return reason >= OFFLOAD_REASON_UNSUPPORTED;
}

static const char *const counter_names[OFFLOAD_N_COUNTERS] = {
    [OFFLOAD_ENQUEUED] = "enqueued",
    [OFFLOAD_INSERTED] = "inserted",
    [OFFLOAD_MODIFIED] = "modified",
    [OFFLOAD_DELETED] = "deleted",
    [OFFLOAD_RETURNED] = "returned",
    [OFFLOAD_REJECTED] = "rejected",
    [OFFLOAD_SUPERSEDED] = "superseded",
    [OFFLOAD_PARKED] = "parked",
    [OFFLOAD_ADOPTED] = "adopted",
    [OFFLOAD_STALE] = "stale",
    [OFFLOAD_VANISHED] = "vanished",
    [OFFLOAD_LEAKED] = "leaked",
    [OFFLOAD_OVERLAPPED] = "overlapped",
    [OFFLOAD_LOST] = "lost",
    [OFFLOAD_ORPHANS] = "orphans",
    [OFFLOAD_REMADE] = "remade",
};

/* Counters with a column for each thread; the others are rare. */
#define N_COLUMNS (OFFLOAD_SUPERSEDED + 1)

static void
put_name(const struct offload_thread_info *thread, bool total, struct ds *s)
{
    if (total) {
        ds_put_format(s, "  %7s", "total");
    } else {
        ds_put_format(s, "  %7u", thread->id);
    }
}

static void
show_counters(const struct offload_thread_info *thread, bool total,
              struct ds *s)
{
    put_name(thread, total, s);
    ds_put_format(s, " %8"PRIu32" %8"PRIu32" %8"PRIu64, thread->n_queued,
                  thread->most_queued, thread->n_rules);
    for (size_t i = 0; i < N_COLUMNS; i++) {
        ds_put_format(s, " %10"PRIu64, thread->counters[i]);
    }
    ds_put_cstr(s, total || thread->running ? "\n" : " (ended)\n");
}

static void
show_latency(const struct offload_thread_info *thread, bool total,
             struct ds *s)
{
    put_name(thread, total, s);
    ds_put_format(s, " %10.0f %10.0f %10.0f %10.0f",
                  thread->cumulative.mean,
                  average_summary_deviation(&thread->cumulative),
                  thread->exponential.mean,
                  average_summary_deviation(&thread->exponential));
    if (total) {
        ds_put_format(s, " %10s %10s", "-", "-");
    } else {
        ds_put_format(s, " %10"PRIu32" %10"PRIu32, thread->latency.p50,
                      thread->latency.p99);
    }
    ds_put_format(s, " %10"PRIu32"\n", thread->latency.max);
}

static void
show_threads(const struct offload_engine_info *info, struct ds *s)
{
    ds_put_format(s, "  %7s %8s %8s %8s", "thread", "queued", "most",
                  "in tc");
    for (size_t i = 0; i < N_COLUMNS; i++) {
        ds_put_format(s, " %10s", counter_names[i]);
    }
    ds_put_char(s, '\n');
    for (size_t i = 0; i < info->n_threads; i++) {
        show_counters(&info->threads[i], false, s);
    }
    show_counters(&info->total, true, s);

    ds_put_cstr(s, "  from request to insertion, in microseconds\n");
    ds_put_format(s, "  %7s %10s %10s %10s %10s %10s %10s %10s\n", "thread",
                  "mean", "deviation", "lately", "deviation", "p50", "p99",
                  "max");
    for (size_t i = 0; i < info->n_threads; i++) {
        show_latency(&info->threads[i], false, s);
    }
    show_latency(&info->total, true, s);
}

static void
show_rare(const struct offload_engine_info *info, struct ds *s)
{
    const char *separator = "  also:";

    for (size_t i = N_COLUMNS; i < OFFLOAD_N_COUNTERS; i++) {
        if (info->total.counters[i]) {
            ds_put_format(s, "%s %s %"PRIu64, separator, counter_names[i],
                          info->total.counters[i]);
            separator = ",";
        }
    }
    if (info->n_backoffs) {
        ds_put_format(s, "%s ports backing off %"PRIu32, separator,
                      info->n_backoffs);
        separator = ",";
    }
    if (info->n_retried) {
        ds_put_format(s, "%s deletions tried again %"PRIu64" (%"PRIu64
                      " for long)", separator, info->n_retried,
                      info->n_stuck);
        separator = ",";
    }
    if (info->n_audits) {
        ds_put_format(s, "%s audits of all rules %"PRIu64, separator,
                      info->n_audits);
        separator = ",";
    }
    if (*separator == ',') {
        ds_put_char(s, '\n');
    }
}

static void
show_reasons(const struct offload_engine_info *info, struct ds *s)
{
    bool any = false;

    for (size_t i = 0; i < OFFLOAD_N_REASONS; i++) {
        const struct offload_reason_info *reason = &info->reasons[i];

        if (!reason->n) {
            continue;
        }
        if (!any) {
            ds_put_format(s, "  %-36s %10s %6s  latest example\n",
                          "why not in tc", "times", "port");
            any = true;
        }
        ds_put_format(s, "  %-36s %10"PRIu64" %6"PRIu32"  ufid:"UUID_FMT,
                      offload_reason_to_string(i), reason->n, reason->port,
                      UUID_ARGS((const struct uuid *) &reason->ufid));
        if (reason->error) {
            ds_put_format(s, " (%s)", ovs_strerror(reason->error));
        }
        if (reason->why) {
            ds_put_format(s, ": %s", reason->why);
        }
        ds_put_char(s, '\n');
    }
}

/* Shows where the rules in tc are executed, in the order of interest. */
static void
show_hw(const struct offload_engine_info *info, struct ds *s)
{
    ds_put_cstr(s, "  in tc:");
    for (int i = OFFLOAD_N_HW - 1; i >= 0; i--) {
        ds_put_format(s, " %s %"PRIu64"%s", offload_hw_to_string(i),
                      info->n_hw[i], i ? "," : "\n");
    }
}

void
offload_show_text(const struct offload_engine_info *info, struct ds *s)
{
    ds_put_format(s, "offload: %"PRIuSIZE" threads\n", info->n_running);
    ds_put_cstr(s, "  flows:");
    for (size_t i = 0; i < OFFLOAD_N_STATES; i++) {
        ds_put_format(s, "%s %s %"PRIu64, i ? "," : "",
                      offload_state_to_string(i), info->n_flows[i]);
    }
    ds_put_char(s, '\n');
    show_hw(info, s);
    show_threads(info, s);
    show_rare(info, s);
    show_reasons(info, s);
}

static void
put_integer(struct json *object, const char *name, uint64_t value)
{
    json_object_put(object, name, json_integer_create(value));
}

static struct json *
average_to_json(const struct average_summary *average)
{
    struct json *json = json_object_create();

    put_integer(json, "n", average->n);
    json_object_put(json, "mean", json_real_create(average->mean));
    json_object_put(json, "deviation", json_real_create(
        average_summary_deviation(average)));
    return json;
}

static struct json *
thread_to_json(const struct offload_thread_info *thread, bool total)
{
    struct json *json = json_object_create();
    struct json *latency = json_object_create();

    if (!total) {
        put_integer(json, "thread", thread->id);
        json_object_put(json, "running", json_boolean_create(thread->running));
        put_integer(latency, "p50", thread->latency.p50);
        put_integer(latency, "p99", thread->latency.p99);
    }
    put_integer(json, "queued", thread->n_queued);
    put_integer(json, "most_queued", thread->most_queued);
    put_integer(json, "in_tc", thread->n_rules);
    for (size_t i = 0; i < OFFLOAD_N_COUNTERS; i++) {
        put_integer(json, counter_names[i], thread->counters[i]);
    }
    put_integer(latency, "max", thread->latency.max);
    json_object_put(latency, "cumulative",
                    average_to_json(&thread->cumulative));
    json_object_put(latency, "exponential",
                    average_to_json(&thread->exponential));
    json_object_put(json, "latency_us", latency);
    return json;
}

static void
put_ufid(struct json *object, const ovs_u128 *ufid)
{
    json_object_put(object, "ufid", json_string_create_nocopy(
        xasprintf(UUID_FMT, UUID_ARGS((const struct uuid *) ufid))));
}

static struct json *
reason_to_json(enum offload_reason reason,
               const struct offload_reason_info *info)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "reason", offload_reason_to_string(reason));
    put_integer(json, "n", info->n);
    put_integer(json, "port", info->port);
    put_ufid(json, &info->ufid);
    put_integer(json, "errno", info->error);
    if (info->why) {
        json_object_put_string(json, "why", info->why);
    }
    return json;
}

struct json *
offload_show_json(const struct offload_engine_info *info)
{
    struct json *json = json_object_create();
    struct json *threads = json_array_create_empty();
    struct json *reasons = json_array_create_empty();
    struct json *flows = json_object_create();
    struct json *hw = json_object_create();

    for (size_t i = 0; i < OFFLOAD_N_HW; i++) {
        put_integer(hw, offload_hw_to_string(i), info->n_hw[i]);
    }
    for (size_t i = 0; i < OFFLOAD_N_STATES; i++) {
        put_integer(flows, offload_state_to_string(i), info->n_flows[i]);
    }
    for (size_t i = 0; i < info->n_threads; i++) {
        json_array_add(threads, thread_to_json(&info->threads[i], false));
    }
    for (size_t i = 0; i < OFFLOAD_N_REASONS; i++) {
        if (info->reasons[i].n) {
            json_array_add(reasons, reason_to_json(i, &info->reasons[i]));
        }
    }
    json_object_put(json, "flows", flows);
    json_object_put(json, "in_tc", hw);
    json_object_put(json, "threads", threads);
    json_object_put(json, "total", thread_to_json(&info->total, true));
    json_object_put(json, "reasons", reasons);
    put_integer(json, "ports_backing_off", info->n_backoffs);
    put_integer(json, "deletions_retried", info->n_retried);
    put_integer(json, "deletions_stuck", info->n_stuck);
    put_integer(json, "audits", info->n_audits);
    return json;
}

void
offload_why_text(const ovs_u128 *ufid, const struct offload_flow_info *info,
                 struct ds *s)
{
    ds_put_format(s, "ufid:"UUID_FMT": %s",
                  UUID_ARGS((const struct uuid *) ufid),
                  offload_state_to_string(info->state));
    if (info->state == OFFLOAD_STATE_IN_TC) {
        ds_put_format(s, ", %s", offload_hw_to_string(info->hw));
    }
    if (info->state == OFFLOAD_STATE_PARKED) {
        ds_put_format(s, ": no flow in tc recirculates to %#"PRIx32,
                      info->recirc_id);
    } else if (info->reason) {
        ds_put_format(s, ": %s", offload_reason_to_string(info->reason));
    }
    if (info->error) {
        ds_put_format(s, " (%s)", ovs_strerror(info->error));
    }
    if (info->why) {
        ds_put_format(s, ": %s", info->why);
    }
    ds_put_format(s, ", port %"PRIu32, info->port);
    if (info->retry) {
        ds_put_format(s, ", may be offered again in %lld ms", info->retry);
    }
    ds_put_char(s, '\n');
}

struct json *
offload_why_json(const ovs_u128 *ufid, const struct offload_flow_info *info)
{
    struct json *json = json_object_create();

    put_ufid(json, ufid);
    json_object_put_string(json, "state",
                           offload_state_to_string(info->state));
    if (info->state == OFFLOAD_STATE_IN_TC) {
        json_object_put_string(json, "in_tc", offload_hw_to_string(info->hw));
    }
    json_object_put_string(json, "reason",
                           offload_reason_to_string(info->reason));
    put_integer(json, "errno", info->error);
    if (info->why) {
        json_object_put_string(json, "why", info->why);
    }
    put_integer(json, "port", info->port);
    put_integer(json, "recirc_id", info->recirc_id);
    put_integer(json, "retry_ms", info->retry);
    return json;
}

static void
thread_figures(const struct offload_thread_info *thread, const char *prefix,
               struct offload_figure *figure)
{
    const struct {
        const char *name;
        double value;
    } figures[] = {
        { "                Enqueued offloads", thread->n_queued },
        { "                Inserted offloads", thread->n_rules },
        { "  Cumulative Average latency (us)", thread->cumulative.mean },
        { "   Cumulative Latency stddev (us)",
          average_summary_deviation(&thread->cumulative) },
        { " Exponential Average latency (us)", thread->exponential.mean },
        { "  Exponential Latency stddev (us)",
          average_summary_deviation(&thread->exponential) },
    };

    BUILD_ASSERT_DECL(ARRAY_SIZE(figures) == OFFLOAD_FIGURES);
    for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
        snprintf(figure[i].name, sizeof figure[i].name, "%s%s", prefix,
                 figures[i].name);
        figure[i].value = figures[i].value;
    }
}

/* Stores the figures in '*figures', which the caller must free, and returns
 * their number.  They have the same names as in the command for the userspace
 * datapath. */
size_t
offload_figures(const struct offload_engine_info *info,
                struct offload_figure **figures)
{
    size_t n = (1 + info->n_running) * OFFLOAD_FIGURES;

    *figures = xcalloc(n, sizeof **figures);
    thread_figures(&info->total, "  Total ", *figures);
    for (size_t i = 0; i < info->n_running; i++) {
        char prefix[32];

        snprintf(prefix, sizeof prefix, "  [%3"PRIuSIZE"] ", i);
        thread_figures(&info->threads[i], prefix,
                       *figures + (1 + i) * OFFLOAD_FIGURES);
    }
    return n;
}

/* Findings. */

static const struct finding_kind rules_removed = {
    "offload-rules-removed",
    "Flows fall back to the kernel datapath, and packets between are not "
    "counted.",
    "Find the process that changes tc on these devices; \"tc monitor\" shows "
    "when it does.",
};

static const struct finding_kind rules_left = {
    "offload-rules-left",
    "Packets still match the rules of flows that were deleted or changed, or "
    "that never were.",
    "The deletion is tried again every few seconds; the log has the port and "
    "the error.",
};

static const struct finding_kind rules_orphaned = {
    "offload-orphans",
    "Packets matched rules that no flow had, for up to ten seconds.",
    "Find the process that adds such rules (\"tc monitor\" shows when it does), "
    "or report a bug: the log has the devices.",
};

static const struct finding_kind flows_lost = {
    "offload-flows-lost",
    "Packets of these flows are upcalls until the revalidators see to them.",
    "The log has the kernel's error.",
};

static const struct finding_kind device_full = {
    "offload-device-full",
    "Flows stay in the kernel datapath, where packets cost processor time.",
    "Offload fewer flows (offload-delay), or widen what the card has room "
    "for.",
};

static const struct finding_kind not_offloaded = {
    "offload-unsupported",
    "Packets of these flows cost processor time.",
    "ovs-appctl offload/why says more of a flow; the driver or the kernel "
    "lacks what it needs.",
};

void
offload_diagnose(const char *name, const struct offload_engine_info *info,
                 struct findings *findings)
{
    const struct offload_reason_info *unsupported
        = &info->reasons[OFFLOAD_REASON_UNSUPPORTED];
    const struct {
        const struct finding_kind *kind;
        enum offload_counter counter;
        const char *what;
    } counters[] = {
        { &rules_removed, OFFLOAD_VANISHED,
          "rules in tc were removed by another process" },
        { &rules_orphaned, OFFLOAD_ORPHANS,
          "rules in tc belonged to no flow and are deleted" },
        { &flows_lost, OFFLOAD_LOST,
          "flows were not taken back by the kernel datapath" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        uint64_t n = info->total.counters[counters[i].counter];

        if (n) {
            findings_add(findings, counters[i].kind, "%s: %"PRIu64" %s", name,
                         n, counters[i].what);
        }
    }
    if (info->n_stuck) {
        findings_add(findings, &rules_left, "%s: %"PRIu64" rules in tc cannot "
                     "be deleted", name, info->n_stuck);
    }
    if (info->n_backoffs) {
        findings_add(findings, &device_full, "%s: %"PRIu32" ports whose "
                     "device is full", name, info->n_backoffs);
    }
    if (unsupported->n) {
        findings_add(findings, &not_offloaded, "%s: tc does not support "
                     "%"PRIu64" flows, the latest of port %"PRIu32, name,
                     unsupported->n, unsupported->port);
    }
}
