/* SPDX-License-Identifier: Apache-2.0 */

/* Set-up, configuration, ports, and operations on all flows. */

#include <config.h>
#include "offload/offload.h"

#include <stdlib.h>

#include "offload/offload-audit.h"
#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "offload/offload-reader.h"
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
    offload->counters = thread_counters_create(OFFLOAD_MAX_THREADS
                                               * OFFLOAD_N_COUNTERS);
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

/* Destroys 'offload', when no call on it is in progress.  Queued work is done
 * first, except that offers are dropped: flows that are in the kernel only
 * stay there.  Flows and rules stay where they are, unless the caller uses
 * offload_flush() or offload_set_enabled() before.  NULL does nothing. */
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
    thread_counters_destroy(offload->counters);
    offload_reasons_destroy(&offload->reasons);
    offload_ports_destroy(&offload->ports);
    offload_chains_destroy(&offload->chains);
    ovs_rwlock_destroy(&offload->change_rwlock);
    ovs_mutex_destroy(&offload->config_mutex);
    ovs_mutex_destroy(&offload->dumps_mutex);
    free_cacheline(offload);
}

/* Changes the configuration, except 'read_interval' and 'audit_interval',
 * which stay.  Values out of range are clamped. */
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

/* Waits until everything that was requested before has been done, including
 * offers.  For tests and measurements: other callers should not wait for
 * offers. */
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

/* If 'enabled' is false, moves all flows back to the kernel, and offers none
 * from then on.  Does not wait: no rule of ours is in tc once the threads are
 * done.  Otherwise flows are offered again, existing ones when they are
 * dumped. */
void
offload_set_enabled(struct offload *offload, bool enabled)
{
    /* The first thread, which always exists, handles all flows. */
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

/* Says whether the backend supports recirculation chains; before the first
 * call the engine assumes so.  Flows that already wait for a parent keep
 * waiting. */
void
offload_set_chains(struct offload *offload, bool chains)
{
    atomic_store_relaxed(&offload->chains.enabled, chains);
}

/* Says whether rules of recirculation chains that a previous run left, and
 * rules that lead to one, stay when they are found on a port.  By default they
 * do not.  When 'keep' becomes false, offload threads delete those that have
 * stayed until then. */
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

/* Returns true if a rule that a previous run left on 'port_no' forwards
 * packets, and while an offload thread has not listed the port's rules
 * yet. */
bool
offload_port_had_rules(struct offload *offload, uint32_t port_no)
{
    return offload_ports_had_rules(&offload->ports, port_no);
}

/* Says that datapath port 'port_no' exists, so that its flows may be offered.
 * An offload thread makes flows of rules that a previous run left on it, or
 * deletes them if the engine knows newer flows, and then offers flows that
 * came meanwhile.  If the port is already there, does what
 * offload_port_changed() does. */
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

/* Says that the abilities of the device of 'port_no' may have changed, so that
 * its rejections are forgotten. */
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

/* Says that 'port_no' is gone.  An offload thread deletes its rules; this does
 * not wait for that.  Its flows that are in tc only are not put into the
 * kernel: they are shown, without copies, until they are deleted or the port
 * is there again. */
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

/* Removes all flows of 'stripe' from the table.  Flows that are in tc, or on
 * their way, are left to their threads.  No thread is changing a kernel copy,
 * and the caller deletes all kernel copies. */
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
 * rules from tc, without waiting for these.  Flows that are added meanwhile
 * are kept.  Returns 0 or a positive errno value, from the kernel side. */
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
