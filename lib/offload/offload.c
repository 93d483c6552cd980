/* SPDX-License-Identifier: Apache-2.0 */

/* Set-up, configuration, and what concerns all flows. */

#include <config.h>
#include "offload/offload-private.h"

#include <stdlib.h>

#include "util.h"

static void
init_thread(struct offload *offload, unsigned int i)
{
    struct offload_thread *thread = &offload->threads[i];

    kdp_mpsc_queue_init(&thread->queue);
    ovs_list_init(&thread->urgent);
    ovs_list_init(&thread->backlog);
    atomic_init(&thread->running, false);
    atomic_init(&thread->ever_ran, false);
    thread->offload = offload;
    thread->id = i;
    atomic_init(&thread->stop, OFFLOAD_THREAD_RUN);
    atomic_init(&thread->n_queued, 0);
    atomic_init(&thread->most_queued, 0);
    for (size_t j = 0; j < OFFLOAD_N_COUNTERS; j++) {
        atomic_init(&thread->counters[j], 0);
    }
    moving_average_init_cumulative(&thread->cumulative);
    moving_average_init_exponential(&thread->exponential,
                                    2.0 / (OFFLOAD_EMA_SAMPLES + 1));
    latency_hist_init(&thread->latency);
}

/* Creates an engine on top of '*kernel' and '*backend', which are copied, with
 * 'config'.  It is enabled and has no ports. */
struct offload *
offload_create(const struct offload_kernel *kernel,
               const struct offload_backend *backend,
               const struct offload_config *config)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload *offload = xmalloc_cacheline(sizeof *offload);

    memset(offload, 0, sizeof *offload);
    offload->kernel = *kernel;
    offload->backend = *backend;
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];

        ovs_mutex_init(&stripe->mutex);
        xpthread_cond_init(&stripe->cond, NULL);
        hmap_init(&stripe->flows);
        hmap_init(&stripe->deleting);
        stripe->move_clock = &offload->move_clock;
    }
    for (unsigned int i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        init_thread(offload, i);
    }
    ovs_rwlock_init(&offload->gate);
    ovs_mutex_init(&offload->config_mutex);
    atomic_init(&offload->n_threads, 0);
    atomic_init(&offload->max_queued, config->max_queued);
    atomic_init(&offload->delay, config->delay);
    atomic_init(&offload->backoff, config->backoff);
    atomic_init(&offload->enabled, true);
    atomic_init(&offload->chains_work, true);
    atomic_init(&offload->move_clock, 0);
    offload_ports_init(offload);
    offload_leaks_init(offload);
    ovs_mutex_init(&offload->reasons_mutex);
    ovs_mutex_init(&offload->dumps_mutex);
    offload_configure(offload, config);
    return offload;
}

/* Destroys 'offload', when no call on it is under way.  What is queued is done
 * first, but for offers, which are dropped: flows that are in the kernel only
 * stay there.  Flows and rules stay where they are: offload_flush() or
 * offload_set_enabled() come before this if they shall not.  NULL does
 * nothing. */
void
offload_destroy(struct offload *offload)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (!offload) {
        return;
    }
    offload_threads_stop(offload);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];
        struct offload_flow *flow;

        HMAP_FOR_EACH_SAFE (flow, hmap_node, &stripe->flows) {
            offload_flow_drop_request(offload, flow);
            if (offload_flow_in_tc(flow)) {
                offload_chains_remove(offload, flow->tc_desc);
            }
            hmap_remove(&stripe->flows, &flow->hmap_node);
            offload_flow_unref(flow);
        }
        ovs_assert(hmap_is_empty(&stripe->deleting));
        hmap_destroy(&stripe->flows);
        hmap_destroy(&stripe->deleting);
        xpthread_cond_destroy(&stripe->cond);
        ovs_mutex_destroy(&stripe->mutex);
    }
    for (unsigned int i = 0; i < OFFLOAD_MAX_THREADS; i++) {
        kdp_mpsc_queue_destroy(&offload->threads[i].queue);
    }
    offload_ports_destroy(offload);
    offload_leaks_destroy(offload);
    ovs_rwlock_destroy(&offload->gate);
    ovs_mutex_destroy(&offload->config_mutex);
    ovs_mutex_destroy(&offload->reasons_mutex);
    ovs_mutex_destroy(&offload->dumps_mutex);
    free_cacheline(offload);
}

/* Changes the configuration.  Values out of range are brought into it. */
void
offload_configure(struct offload *offload, const struct offload_config *config)
{
    unsigned int n = MAX(1, MIN(config->n_threads, OFFLOAD_MAX_THREADS));

    ovs_mutex_lock(&offload->config_mutex);
    atomic_store_relaxed(&offload->max_queued, MAX(1, config->max_queued));
    atomic_store_relaxed(&offload->delay, config->delay);
    atomic_store_relaxed(&offload->backoff,
                         MAX(1, MIN(config->backoff, 3600000)));
    offload_threads_set(offload, n);
    ovs_mutex_unlock(&offload->config_mutex);
}

/* If 'enabled' is false, moves all flows back to the kernel and offers none
 * from then on: when this returns, no rule of ours is in tc.  Otherwise flows
 * are offered again, those that exist when they are dumped. */
void
offload_set_enabled(struct offload *offload, bool enabled)
{
    uint32_t *ports;
    size_t n_ports;

    atomic_store_relaxed(&offload->enabled, enabled);
    if (enabled) {
        return;
    }

    /* What is found on new ports is known after this. */
    offload_urgent_barrier(offload);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (offload_flow_in_tc(flow) || offload_flow_is_busy(flow)
                || flow->request) {
                offload_flow_return(offload, flow, OFFLOAD_REASON_DISABLED);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
    offload_urgent_barrier(offload);

    n_ports = offload_port_list(offload, &ports);
    offload_flush_ports(offload, ports, n_ports);
    free(ports);
}

/* Says whether the backend can do recirculation chains, as is assumed until it
 * is called.  Flows that are parked already stay so. */
void
offload_set_chains(struct offload *offload, bool chains)
{
    atomic_store_relaxed(&offload->chains_work, chains);
}

/* Takes all flows of 'stripe' out of the table.  Those that are in tc, or on
 * their way, are left to their threads.  Whoever was changing a kernel copy
 * has finished, and the caller deletes all kernel copies. */
static void
flush_stripe(struct offload *offload, struct offload_stripe *stripe)
{
    struct offload_flow *flow;

    ovs_mutex_lock(&stripe->mutex);
    while (!hmap_is_empty(&stripe->flows)) {
        flow = CONTAINER_OF(hmap_first(&stripe->flows), struct offload_flow,
                            hmap_node);
        if (flow->kernel_claimed) {
            ovs_mutex_cond_wait(&stripe->cond, &stripe->mutex);
            continue;
        }
        if (offload_flow_in_kernel(flow)) {
            offload_flow_set_kernel(flow, OFFLOAD_KERNEL_NONE);
        }
        offload_flow_remove(flow);
        if (offload_flow_in_tc(flow) || offload_flow_is_busy(flow)) {
            offload_flow_request(offload, flow, OFFLOAD_DELETE);
        } else {
            offload_flow_drop_request(offload, flow);
            offload_flow_gone(flow);
        }
    }
    ovs_mutex_unlock(&stripe->mutex);
}

/* Deletes all flows from the kernel and tc, with rules that could not be
 * deleted before, and waits until that is done.  Flows that are added
 * meanwhile are kept.  Returns 0 or a positive errno
 * value, from the kernel side. */
int
offload_flush(struct offload *offload)
{
    int error;

    /* What is found on new ports is known after this. */
    offload_urgent_barrier(offload);

    ovs_rwlock_wrlock(&offload->gate);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        flush_stripe(offload, &offload->stripes[i]);
    }
    error = offload->kernel.flush(offload->kernel.aux);
    ovs_rwlock_unlock(&offload->gate);
    offload_retry_leaks(offload);
    return error;
}
