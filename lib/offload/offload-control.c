/* SPDX-License-Identifier: Apache-2.0 */

/* Set-up, configuration, ports, and what concerns all flows. */

#include <config.h>
#include "offload/offload.h"

#include <stdlib.h>

#include "offload/offload-audit.h"
#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "offload/offload-reader.h"
#include "offload/offload-thread.h"
#include "offload/offload-waiter.h"
#include "util.h"

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
    offload_table_init(&offload->table);
    offload_queues_init(&offload->queues);
    offload_counters_init(&offload->counters);
    offload_reasons_init(&offload->reasons);
    offload_ports_init(&offload->ports);
    offload_chains_init(&offload->chains);
    offload_threads_create(offload);
    ovs_rwlock_init(&offload->change_rwlock);
    ovs_mutex_init(&offload->config_mutex);
    atomic_init(&offload->max_queued, config->max_queued);
    atomic_init(&offload->delay, config->delay);
    atomic_init(&offload->backoff, config->backoff);
    atomic_init(&offload->rebalance_interval, config->rebalance_interval);
    atomic_init(&offload->max_idle, config->max_idle);
    atomic_init(&offload->enabled, true);
    atomic_init(&offload->n_flushes, 0);
    ovs_mutex_init(&offload->dumps_mutex);
    atomic_init(&offload->last_round, 0);
    offload->audit = offload_audit_create(config->audit_interval);
    offload_configure(offload, config);
    offload_reader_start(offload, config->read_interval);
    return offload;
}

/* Ends all requests, and takes flows and rules out of their chains. */
static void
cancel_all(struct offload *offload)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            offload_placement_cancel(offload, flow);
            if (offload_flow_in_tc(flow)) {
                offload_chains_remove(&offload->chains, flow->tc_desc);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
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
    offload_reader_stop(offload);
    offload_audit_destroy(offload->audit);
    offload_threads_destroy(offload);
    cancel_all(offload);
    offload_table_destroy(&offload->table);
    offload_queues_destroy(&offload->queues);
    offload_counters_destroy(&offload->counters);
    offload_reasons_destroy(&offload->reasons);
    offload_ports_destroy(&offload->ports);
    offload_chains_destroy(&offload->chains);
    ovs_rwlock_destroy(&offload->change_rwlock);
    ovs_mutex_destroy(&offload->config_mutex);
    ovs_mutex_destroy(&offload->dumps_mutex);
    free_cacheline(offload);
}

/* Changes the configuration, except 'read_interval' and 'audit_interval',
 * which stay.  Values out of range are brought into it. */
void
offload_configure(struct offload *offload, const struct offload_config *config)
{
    unsigned int n = MAX(1, MIN(config->n_threads, OFFLOAD_MAX_THREADS));

    ovs_mutex_lock(&offload->config_mutex);
    atomic_store_relaxed(&offload->max_queued, MAX(1, config->max_queued));
    atomic_store_relaxed(&offload->delay, config->delay);
    atomic_store_relaxed(&offload->backoff,
                         MAX(1, MIN(config->backoff, 3600000)));
    atomic_store_relaxed(&offload->rebalance_interval,
                         config->rebalance_interval);
    atomic_store_relaxed(&offload->max_idle, config->max_idle);
    offload_threads_set(offload, n);
    ovs_mutex_unlock(&offload->config_mutex);
}

/* Sends 'message' to all threads. */
static void
send_to_all(struct offload *offload, const struct offload_control *message)
{
    unsigned int n;

    ovs_rwlock_rdlock(&offload->change_rwlock);
    atomic_read_relaxed(&offload->queues.n, &n);
    for (unsigned int i = 0; i < n; i++) {
        offload_queues_send(&offload->queues, i, message);
    }
    ovs_rwlock_unlock(&offload->change_rwlock);
}

/* Waits until all that was asked for before has been done, offers included.
 * For tests and measurements: nobody else should wait for offers. */
void
offload_barrier(struct offload *offload)
{
    struct offload_waiter waiter;
    const struct offload_control message = {
        .item.type = OFFLOAD_ITEM_BARRIER,
        .waiter = &waiter,
    };

    /* The threads stay the same meanwhile. */
    offload_waiter_init(&waiter);
    ovs_mutex_lock(&offload->config_mutex);
    send_to_all(offload, &message);
    offload_waiter_wait(&waiter, true);
    ovs_mutex_unlock(&offload->config_mutex);
}

/* If 'enabled' is false, has all flows moved back to the kernel, and offers
 * none from then on.  Waits for nothing: no rule of ours is in tc once the
 * threads have got there.  Otherwise flows are offered again, those that exist
 * when they are dumped. */
void
offload_set_enabled(struct offload *offload, bool enabled)
{
    /* The first thread, which there always is, sees to all flows. */
    const struct offload_control message = {
        .item.type = OFFLOAD_ITEM_DISABLED,
    };

    atomic_store_relaxed(&offload->enabled, enabled);
    if (!enabled) {
        ovs_rwlock_rdlock(&offload->change_rwlock);
        offload_queues_send(&offload->queues, 0, &message);
        ovs_rwlock_unlock(&offload->change_rwlock);
    }
}

/* Says whether the backend can do recirculation chains, as is assumed until it
 * is called.  Flows that wait for a parent already go on waiting. */
void
offload_set_chains(struct offload *offload, bool chains)
{
    atomic_store_relaxed(&offload->chains.enabled, chains);
}

/* Says whether rules of recirculation chains that a previous run left, and
 * those that lead to one, stay when they are found on a port, as is not
 * assumed until it is called.  When they do no longer, what has stayed until
 * then is deleted by offload threads. */
void
offload_keep_chains(struct offload *offload, bool keep)
{
    struct offload_located_port *ports;
    size_t n;

    offload_ports_keep_chains(&offload->ports, keep);
    if (keep) {
        return;
    }
    n = offload_ports_list(&offload->ports, &ports);
    for (size_t i = 0; i < n; i++) {
        if (ports[i].kept_chains) {
            struct offload_control message = {
                .item.type = OFFLOAD_ITEM_ADOPT,
                .port = ports[i].port,
                .port_id = ports[i].id,
                .located = ports[i].located,
                .place = ports[i].place,
            };

            atomic_read_relaxed(&offload->n_flushes, &message.n_flushes);
            offload_send_to_port(offload, &message);
        }
    }
    free(ports);
}

/* Says that datapath port 'port_no' is there, so that its flows may be
 * offered.  Rules that a previous run left on it become flows, or are deleted
 * if they are about flows that the engine knows better; an offload thread does
 * that, and then offers what came meanwhile.  If the port is there already,
 * does what offload_port_changed() does. */
void
offload_port_add(struct offload *offload, uint32_t port_no)
{
    struct offload_control message = {
        .item.type = OFFLOAD_ITEM_ADOPT,
        .port = port_no,
    };

    message.located = offload->backend.locate(offload->backend.aux, port_no,
                                              &message.place);
    message.port_id = offload_ports_add(&offload->ports, port_no,
                                        (message.located ? &message.place
                                         : NULL));
    atomic_read_relaxed(&offload->n_flushes, &message.n_flushes);
    if (message.port_id) {
        offload_send_to_port(offload, &message);
    }
}

/* Says that what the device of 'port_no' can do may have changed, so that its
 * rejections are forgotten. */
void
offload_port_changed(struct offload *offload, uint32_t port_no)
{
    offload_ports_reset(&offload->ports, port_no);
}

void
offload_meters_changed(struct offload *offload)
{
    offload_ports_meters_changed(&offload->ports);
}

/* Says that 'port_no' goes.  Its rules are deleted by an offload thread, which
 * is not waited for.  Its flows that are in tc only are not put into the
 * kernel: they are shown, without copies, until they are deleted, or until the
 * port is there again. */
void
offload_port_del(struct offload *offload, uint32_t port_no)
{
    struct offload_control message = {
        .item.type = OFFLOAD_ITEM_PORT_GONE,
        .port = port_no,
    };

    message.located = offload_ports_remove(&offload->ports, port_no,
                                           &message.place);
    offload_send_to_port(offload, &message);
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
        offload_placement_delete(offload, flow);
    }
    ovs_mutex_unlock(&stripe->mutex);
}

/* Deletes all flows from the kernel, and asks offload threads to delete their
 * rules from tc.  Does not wait for these threads.
 * Flows that are added meanwhile are kept.  Returns 0 or a positive errno
 * value, from the kernel side. */
int
offload_flush(struct offload *offload)
{
    uint64_t orig;
    int error;

    ovs_rwlock_wrlock(&offload->change_rwlock);
    atomic_add_relaxed(&offload->n_flushes, 1, &orig);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        flush_stripe(offload, &offload->table.stripes[i]);
    }
    error = offload->kernel.flush(offload->kernel.aux);
    ovs_rwlock_unlock(&offload->change_rwlock);
    return error;
}
