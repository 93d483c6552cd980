/* SPDX-License-Identifier: Apache-2.0 */

/* What the engine tells about itself. */

#include <config.h>
#include "offload/offload-info.h"

#include <errno.h>

#include "offload/offload-private.h"
#include "timeval.h"
#include "util.h"

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
    case OFFLOAD_N_REASONS:
    default: OVS_NOT_REACHED();
    }
}

/* Is 'reason' one for which a flow was tried and not left in tc? */
bool
offload_reason_is_rejection(enum offload_reason reason)
{
    return reason >= OFFLOAD_REASON_UNSUPPORTED;
}

static void
get_thread_info(struct offload_thread *thread,
                struct offload_thread_info *info)
{
    info->id = thread->id;
    atomic_read_relaxed(&thread->running, &info->running);
    for (size_t i = 0; i < OFFLOAD_N_COUNTERS; i++) {
        atomic_read_relaxed(&thread->counters[i], &info->counters[i]);
    }
    atomic_read_relaxed(&thread->n_queued, &info->n_queued);
    atomic_read_relaxed(&thread->most_queued, &info->most_queued);
    moving_average_read(&thread->cumulative, &info->cumulative);
    moving_average_read(&thread->exponential, &info->exponential);
    latency_hist_summarize(&thread->latency, &info->latency);
}

static void
add_to_total(struct offload_thread_info *total,
             const struct offload_thread_info *info)
{
    for (size_t i = 0; i < OFFLOAD_N_COUNTERS; i++) {
        total->counters[i] += info->counters[i];
    }
    total->n_queued += info->n_queued;
    total->n_rules += info->n_rules;
    total->most_queued = MAX(total->most_queued, info->most_queued);
    average_summary_merge(&total->cumulative, &info->cumulative);
    average_summary_merge(&total->exponential, &info->exponential);
    total->latency.n += info->latency.n;
    total->latency.max = MAX(total->latency.max, info->latency.max);
}

/* Stores what there is to tell in '*info'. */
void
offload_get_info(struct offload *offload, struct offload_engine_info *info)
{
    *info = (struct offload_engine_info) { .n_threads = 0 };

    for (size_t i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        bool ever_ran;

        atomic_read_relaxed(&offload->threads[i].ever_ran, &ever_ran);
        if (ever_ran) {
            info->n_threads = i + 1;
            get_thread_info(&offload->threads[i], &info->threads[i]);
            info->n_running += info->threads[i].running;
        }
    }

    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->life == OFFLOAD_LIFE_PRESENT) {
                info->n_flows[offload_flow_state(flow)]++;
            }
            if (offload_flow_in_tc(flow)) {
                info->threads[offload_choose_thread(
                    offload, flow->desc->in_port)].n_rules++;
            }
        }
        info->n_flows[OFFLOAD_STATE_DELETING] += hmap_count(&stripe->deleting);
        ovs_mutex_unlock(&stripe->mutex);
    }

    for (size_t i = 0; i < info->n_threads; i++) {
        add_to_total(&info->total, &info->threads[i]);
    }

    ovs_mutex_lock(&offload->reasons_mutex);
    for (size_t i = 0; i < OFFLOAD_N_REASONS; i++) {
        info->reasons[i] = offload->reasons[i];
    }
    ovs_mutex_unlock(&offload->reasons_mutex);
    info->n_backoffs = offload_ports_backing_off(offload);
}

static void
get_flow_info(const struct offload_flow *flow, struct offload_flow_info *info)
{
    *info = (struct offload_flow_info) {
        .state = offload_flow_state(flow),
        .reason = flow->reason,
        .error = flow->error,
        .port = flow->desc->in_port,
        .recirc_id = flow->desc->recirc_id,
        .retry = flow->retry ? MAX(flow->retry - time_msec(), 0) : 0,
    };
}

/* Stores what there is to tell about the flow of 'ufid' in '*info' and returns
 * 0, or ENOENT if the engine does not know it. */
int
offload_get_flow_info(struct offload *offload, const ovs_u128 *ufid,
                      struct offload_flow_info *info)
{
    struct offload_stripe *stripe = offload_stripe(offload, ufid);
    const struct offload_flow *flow;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, ufid);
    if (flow && flow->life != OFFLOAD_LIFE_PRESENT) {
        flow = NULL;
    }
    if (flow) {
        get_flow_info(flow, info);
    }
    ovs_mutex_unlock(&stripe->mutex);
    return flow ? 0 : ENOENT;
}

void
offload_for_each_flow(struct offload *offload, offload_flow_cb *cb, void *aux)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->life == OFFLOAD_LIFE_PRESENT) {
                struct offload_flow_info info;

                get_flow_info(flow, &info);
                cb(aux, flow->desc, &info);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}
