/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <stdlib.h>

#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-refcount.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-table-private.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_table);

/* Returns UPCALL_N_SLOTS for a number that no port can have. */
static uint32_t
port_to_slot(uint32_t port_no)
{
    return (upcall_port_is_real(port_no) ? port_no
            : port_no == UPCALL_PORT_NONE ? UPCALL_MAX_PORTS
            : upcall_port_is_cpu(port_no)
            ? UPCALL_MAX_PORTS + 1 + (port_no - UPCALL_PORT_CPU_BASE)
            : UPCALL_N_SLOTS);
}

struct upcall_table *
upcall_table_create(const char *name, int dp_ifindex, uint16_t packet_family)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_table *table = xzalloc(sizeof *table);

    ovs_refcount_init(&table->refcount);
    table->name = xstrdup(name);
    table->dp_ifindex = dp_ifindex;
    table->packet_family = packet_family;
    ovs_mutex_init(&table->mutex);
    table->engine = &upcall_engine_epoll;
    ovsrcu_init(&table->set, NULL);
    atomic_init(&table->generation, 0);
    ovsrcu_init(&table->adding, NULL);
    table->slots = xcalloc(UPCALL_N_SLOTS, sizeof *table->slots);
    table->sharers = xcalloc(UPCALL_MAX_PORTS, sizeof *table->sharers);
    table->seats = xcalloc(UPCALL_MAX_HANDLERS, sizeof *table->seats);
    atomic_count_init(&table->foreign, 0);
    return table;
}

void
upcall_table_unref__(struct upcall_table *table)
{
    if (upcall_refcount_unref(&table->refcount)) {
        ovs_mutex_destroy(&table->mutex);
        free(table->slots);
        free(table->sharers);
        free(table->seats);
        free(table->name);
        free(table);
    }
}

void
upcall_table_destroy(struct upcall_table *table)
{
    if (table) {
        upcall_table_set_handlers(table, 0);
        upcall_table_del_all(table);
        upcall_table_unref__(table);
    }
}

/* Finds the channel in the slot of 'port_no'. */
static struct upcall_channel *
upcall_table_get(const struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    return (slot < UPCALL_N_SLOTS
            ? ovsrcu_get(struct upcall_channel *, &table->slots[slot])
            : NULL);
}

struct upcall_channel *
upcall_table_lookup__(const struct upcall_table *table, uint32_t port_no,
                      uint32_t serial)
{
    struct upcall_channel *channel;

    /* In this order, because a channel is put into its slot before it stops
     * being the one that is added. */
    channel = ovsrcu_get(struct upcall_channel *, &table->adding);
    if (!channel || channel->serial != serial) {
        channel = upcall_table_get(table, port_no);
    }
    return channel && channel->serial == serial ? channel : NULL;
}

void
upcall_table_count_foreign__(struct upcall_table *table)
{
    atomic_count_inc(&table->foreign);
}

static void
upcall_table_del__(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_channel *channel = upcall_table_slot_channel(table, slot);
    struct upcall_set *set = upcall_table_set_protected(table);

    if (!channel) {
        return;
    }
    upcall_table_carry__(table, slot, channel);
    ovsrcu_set(&table->slots[slot], NULL);
    atomic_store_relaxed(&channel->dead, true);
    if (set) {
        upcall_sched_del(set->sched, channel);
    }
    table->n_channels--;
    table->n_port_channels -= slot < UPCALL_MAX_PORTS;

    /* A handler may have found it in the slot and not taken its reference
     * yet. */
    ovsrcu_postpone(upcall_channel_unref, channel);
}

int
upcall_table_add(struct upcall_table *table, uint32_t port_no,
                 const char *name, struct upcall_channel *channel)
{
    uint32_t slot = port_to_slot(port_no);
    struct upcall_set *set;
    int error = 0;

    if (slot >= UPCALL_N_SLOTS) {
        VLOG_WARN("%s: port %s has number %"PRIu32", beyond the %u that the "
                  "kernel datapath has", table->name, name, port_no,
                  UPCALL_MAX_PORTS);
        return EINVAL;
    }

    ovs_mutex_lock(&table->mutex);
    channel->port_no = port_no;
    if (channel->name) {
        /* Refused before; a handler may be about to mention it. */
        ovsrcu_postpone(free, channel->name);
    }
    channel->name = xstrdup(name);

    /* From the first event on handlers must find the channel; and a channel
     * that the port has already must stay if this fails. */
    ovsrcu_set(&table->adding, channel);
    set = upcall_table_set_protected(table);
    error = set ? upcall_sched_add(set->sched, channel) : 0;
    if (error) {
        VLOG_WARN("%s: adding the channel of port %s to the upcall handlers "
                  "failed (%s)", table->name, name, ovs_strerror(error));
    }
    if (!error) {
        upcall_table_del__(table, slot);
        ovsrcu_set(&table->slots[slot], channel);
        table->n_channels++;
        table->n_port_channels += slot < UPCALL_MAX_PORTS;
        if (slot < UPCALL_MAX_PORTS && slot > table->last_slot) {
            table->last_slot = slot;
        }
    }
    ovsrcu_set(&table->adding, NULL);
    ovs_mutex_unlock(&table->mutex);
    return error;
}

void
upcall_table_del(struct upcall_table *table, uint32_t port_no)
{
    uint32_t slot = port_to_slot(port_no);

    if (slot < UPCALL_N_SLOTS) {
        ovs_mutex_lock(&table->mutex);
        upcall_table_del__(table, slot);
        ovs_mutex_unlock(&table->mutex);
    }
}

void
upcall_table_del_all(struct upcall_table *table)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    UPCALL_TABLE_FOR_EACH (channel, slot, table) {
        upcall_table_del__(table, slot);
    }
    for (slot = 0; slot <= table->last_slot; slot++) {
        upcall_table_unshare__(table, slot);
    }
    ovs_mutex_unlock(&table->mutex);
}

uint32_t
upcall_table_get_pid(const struct upcall_table *table, uint32_t port_no)
{
    const struct upcall_channel *channel;

    if (upcall_table_is_shared(table, port_no)) {
        port_no = UPCALL_PORT_NONE;
    }
    channel = upcall_table_get(table, port_no);
    return channel ? channel->pid : 0;
}

bool
upcall_table_has_channel(const struct upcall_table *table, uint32_t port_no)
{
    return upcall_table_get(table, port_no) != NULL;
}

size_t
upcall_table_n_port_channels(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_port_channels;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

size_t
upcall_table_n_channels(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_channels;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

void
upcall_table_purge(struct upcall_table *table)
{
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    UPCALL_TABLE_FOR_EACH (channel, slot, table) {
        upcall_channel_drain(channel);
    }
    ovs_mutex_unlock(&table->mutex);
}
