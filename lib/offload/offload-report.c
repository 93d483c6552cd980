/* SPDX-License-Identifier: Apache-2.0 */

/* Information about the engine.  Only reads. */

#include <config.h>
#include "offload/offload-info.h"

#include <errno.h>

#include "offload/offload-audit.h"
#include "offload/offload-engine.h"
#include "timeval.h"
#include "util.h"

static void
get_thread_info(struct offload_queue *queue, unsigned int id,
                const uint64_t counts[OFFLOAD_N_COUNTERS],
                struct offload_thread_info *info)
{
    info->id = id;
    atomic_read_relaxed(&queue->running, &info->running);
    memcpy(info->counters, counts, sizeof info->counters);
    atomic_read_relaxed(&queue->n_flows, &info->n_queued);
    atomic_read_relaxed(&queue->most_flows, &info->most_queued);
    moving_average_read(&queue->cumulative, &info->cumulative);
    moving_average_read(&queue->exponential, &info->exponential);
    latency_hist_summarize(&queue->latency, &info->latency);
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

/* Counts the rule of 'flow' if tc has failed to delete it. */
static void
count_retried(const struct offload_flow *flow,
              struct offload_engine_info *info)
{
    info->n_retried += flow->n_tc_failures > 0;
    info->n_stuck += offload_flow_is_stuck(flow);
}

/* Stores information about the engine in '*info'. */
void
offload_get_info(struct offload *offload, struct offload_engine_info *info)
{
    uint64_t counts[OFFLOAD_MAX_THREADS][OFFLOAD_N_COUNTERS];

    *info = (struct offload_engine_info) { .n_threads = 0 };
    thread_counters_fold(offload->counters, counts[0]);
    for (size_t i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        struct offload_queue *queue = &offload->queues.queues[i];
        bool ever_ran;

        atomic_read_relaxed(&queue->ever_ran, &ever_ran);
        if (ever_ran) {
            info->n_threads = i + 1;
            get_thread_info(queue, i, counts[i], &info->threads[i]);
            info->n_running += info->threads[i].running;
        }
    }

    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->life == OFFLOAD_LIFE_PRESENT) {
                info->n_flows[offload_flow_state(flow)]++;
            }
            count_retried(flow, info);
            if (offload_flow_in_tc(flow)) {
                info->n_hw[flow->hw]++;
                info->threads[offload_queues_choose_for(
                    &offload->queues, flow->desc)].n_rules++;
            }
        }
        HMAP_FOR_EACH (flow, hmap_node, &stripe->deleting) {
            info->n_flows[OFFLOAD_STATE_DELETING]++;
            count_retried(flow, info);
        }
        ovs_mutex_unlock(&stripe->mutex);
    }

    for (size_t i = 0; i < info->n_threads; i++) {
        add_to_total(&info->total, &info->threads[i]);
    }

    offload_reasons_get(&offload->reasons, info->reasons);
    info->n_backoffs = offload_ports_backing_off(&offload->ports);
    info->n_audits = offload_audit_count(offload->audit);
}

uint64_t
offload_n_tc_only(struct offload *offload)
{
    uint64_t n = 0;

    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        uint32_t n_stripe;

        atomic_read_relaxed(&offload->table.stripes[i].n_tc_only, &n_stripe);
        n += n_stripe;
    }
    return n;
}

/* Returns the reason why 'flow' is where it is, or NULL. */
static const char *
get_why(const struct offload_flow *flow)
{
    bool skipped = (offload_flow_in_tc(flow) && !flow->error
                    && (flow->hw == OFFLOAD_HW_NONE
                        || flow->hw == OFFLOAD_HW_PARTLY));

    return flow->error || skipped ? flow->why : NULL;
}

static void
get_flow_info(const struct offload_flow *flow, struct offload_flow_info *info)
{
    *info = (struct offload_flow_info) {
        .state = offload_flow_state(flow),
        .hw = offload_flow_in_tc(flow) ? flow->hw : OFFLOAD_HW_UNKNOWN,
        .reason = flow->reason,
        .error = flow->error,
        .why = get_why(flow),
        .port = flow->desc->in_port,
        .recirc_id = flow->desc->recirc_id,
        .retry = flow->retry ? MAX(flow->retry - time_msec(), 0) : 0,
    };
}

/* Stores information about the flow of 'ufid' in '*info' and returns 0, or
 * ENOENT if the engine does not know it. */
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
        struct offload_stripe *stripe = &offload->table.stripes[i];
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
