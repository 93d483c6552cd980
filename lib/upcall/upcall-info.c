/* SPDX-License-Identifier: Apache-2.0 */

/* What an upcall table has counted. */

#include <config.h>
#include "upcall/upcall-table-private.h"

#include <stdlib.h>
#include <string.h>

#include "ovs-thread.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-handler.h"
#include "util.h"

static void
get_port_info(const struct upcall_table *table, uint32_t slot,
              const struct upcall_channel *channel,
              const struct upcall_sharer *sharer,
              struct upcall_port_info *port)
{
    if (channel) {
        port->port_no = channel->port_no;
        port->has_channel = true;
        upcall_channel_get_stats(channel, &port->stats);
    } else {
        port->port_no = slot;
    }
    port->name = xstrdup(channel ? channel->name : sharer->name);
    port->pid = upcall_table_get_pid(table, port->port_no);
    if (sharer) {
        port->shared = true;
        port->stats.received += upcall_counter_read(&sharer->received);
        port->stats.lost += upcall_counter_read(&sharer->lost);
    }
}

void
upcall_table_get_info(const struct upcall_table *table,
                      struct upcall_table_info *info)
{
    const struct upcall_set *set;
    struct upcall_channel *channel;
    uint32_t slot;

    memset(info, 0, sizeof *info);
    ovs_mutex_lock(&table->mutex);
    info->name = xstrdup(table->name);
    info->engine = table->engine->name;
    info->foreign = atomic_count_get(CONST_CAST(atomic_count *,
                                                &table->foreign));
    info->abandoned = table->abandoned;

    info->n_sockets = table->n_channels;
    info->ports = xcalloc(table->n_channels + table->n_shared,
                          sizeof *info->ports);
    for (slot = 0; slot < UPCALL_N_SLOTS;
         slot = upcall_table_next_slot(table, slot)) {
        struct upcall_sharer *sharer = upcall_table_slot_sharer(table, slot);

        channel = upcall_table_slot_channel(table, slot);
        if (channel || sharer) {
            get_port_info(table, slot, channel, sharer,
                          &info->ports[info->n_ports++]);
        }
    }

    set = upcall_table_set_protected(table);
    info->n_handlers = set ? set->n : 0;
    info->handlers = xcalloc(info->n_handlers, sizeof *info->handlers);
    for (size_t i = 0; i < info->n_handlers; i++) {
        upcall_handler_get_stats(set->handlers[i], &info->handlers[i]);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_table_info_uninit(struct upcall_table_info *info)
{
    for (size_t i = 0; i < info->n_ports; i++) {
        free(CONST_CAST(char *, info->ports[i].name));
    }
    free(info->ports);
    free(info->handlers);
    free(CONST_CAST(char *, info->name));
}

void
upcall_table_reset_stats(struct upcall_table *table)
{
    const struct upcall_set *set;
    struct upcall_channel *channel;
    uint32_t slot;

    ovs_mutex_lock(&table->mutex);
    UPCALL_TABLE_FOR_EACH (channel, slot, table) {
        upcall_channel_reset_stats(channel);
    }
    for (slot = 0; slot <= table->last_slot; slot++) {
        struct upcall_sharer *sharer = upcall_table_slot_sharer(table, slot);

        if (sharer) {
            atomic_store_relaxed(&sharer->received, 0);
            atomic_store_relaxed(&sharer->lost, 0);
        }
    }
    set = upcall_table_set_protected(table);
    for (size_t i = 0; set && i < set->n; i++) {
        upcall_handler_reset_stats(set->handlers[i]);
    }
    table->abandoned = 0;
    atomic_count_set(&table->foreign, 0);
    ovs_mutex_unlock(&table->mutex);
}
