/* SPDX-License-Identifier: Apache-2.0 */

/* Ports that share channels: see upcall-table.h. */

#include <config.h>
#include "upcall/upcall-table-private.h"

#include <stdlib.h>

#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-handler.h"
#include "util.h"

static void
counter_add(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t orig;

    atomic_add_relaxed(counter, n, &orig);
}

void
upcall_table_carry__(struct upcall_table *table, uint32_t slot,
                     const struct upcall_channel *channel)
{
    struct upcall_sharer *sharer = upcall_table_slot_sharer(table, slot);
    struct upcall_channel_stats stats;

    if (sharer) {
        upcall_channel_get_stats(channel, &stats);
        counter_add(&sharer->received, stats.received);
        counter_add(&sharer->lost, stats.lost);
    }
}

static void
sharer_destroy(struct upcall_sharer *sharer)
{
    free(sharer->name);
    free(sharer);
}

void
upcall_table_share(struct upcall_table *table, uint32_t port_no,
                   const char *name)
{
    if (!upcall_port_is_real(port_no)) {
        return;
    }
    ovs_mutex_lock(&table->mutex);
    if (!upcall_table_slot_sharer(table, port_no)) {
        struct upcall_sharer *sharer = xzalloc(sizeof *sharer);

        sharer->name = xstrdup(name);
        atomic_init(&sharer->received, 0);
        atomic_init(&sharer->lost, 0);
        ovsrcu_set(&table->sharers[port_no], sharer);
        table->n_shared++;
        table->last_slot = MAX(table->last_slot, port_no);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_table_unshare__(struct upcall_table *table, uint32_t port_no)
{
    struct upcall_sharer *sharer = upcall_table_slot_sharer(table, port_no);
    struct upcall_channel *channel;

    if (!sharer) {
        return;
    }
    channel = upcall_table_slot_channel(table, port_no);
    if (channel) {
        counter_add(&channel->carried_received,
                    upcall_counter_read(&sharer->received));
        counter_add(&channel->carried_lost,
                    upcall_counter_read(&sharer->lost));
    }
    ovsrcu_set(&table->sharers[port_no], NULL);
    table->n_shared--;
    ovsrcu_postpone(sharer_destroy, sharer);
}

void
upcall_table_unshare(struct upcall_table *table, uint32_t port_no)
{
    if (upcall_port_is_real(port_no)) {
        ovs_mutex_lock(&table->mutex);
        upcall_table_unshare__(table, port_no);
        ovs_mutex_unlock(&table->mutex);
    }
}

bool
upcall_table_is_shared(const struct upcall_table *table, uint32_t port_no)
{
    return (upcall_port_is_real(port_no)
            && ovsrcu_get(struct upcall_sharer *, &table->sharers[port_no]));
}

size_t
upcall_table_n_shared(const struct upcall_table *table)
{
    size_t n;

    ovs_mutex_lock(&table->mutex);
    n = table->n_shared;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

void
upcall_table_count_shared__(struct upcall_table *table,
                            const struct upcall_view *view)
{
    struct upcall_sharer *sharer;
    uint32_t port_no;

    if (upcall_view_in_port(view, &port_no) && upcall_port_is_real(port_no)) {
        sharer = ovsrcu_get(struct upcall_sharer *, &table->sharers[port_no]);
        if (sharer) {
            counter_add(&sharer->received, 1);
        }
    }
}
