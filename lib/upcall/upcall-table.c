/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/poll-loop.h"
#include "openvswitch/thread.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-poll.h"
#include "upcall/upcall-refcount.h"
#include "upcall/upcall-sched.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_table);

/* Handlers that work together.  Never changed once it can be seen by others
 * than its maker. */
struct upcall_set {
    uint32_t generation;
    struct upcall_sched *sched;
    uint32_t n;
    struct upcall_handler *handlers[];
};

/* Slots: one for each possible port, one for the channel without a port, one
 * for the CPUs of each handler. */
#define UPCALL_N_SLOTS (UPCALL_MAX_PORTS + 1 + UPCALL_MAX_HANDLERS)

typedef OVSRCU_TYPE(struct upcall_channel *) upcall_slot;

/* A port that shares channels with others.  Several handlers may count. */
struct upcall_sharer {
    char *name;
    atomic_uint64_t received;
    atomic_uint64_t lost;       /* While it had a channel. */
};

typedef OVSRCU_TYPE(struct upcall_sharer *) upcall_sharer_slot;

struct upcall_table {
    struct ovs_refcount refcount;   /* The user, and orphaned handlers. */
    char *name;
    int dp_ifindex;
    uint16_t packet_family;

    /* Held by those who change the table. */
    struct ovs_mutex mutex;
    size_t n_channels OVS_GUARDED;
    size_t n_port_channels OVS_GUARDED; /* Of these, of ports. */
    uint32_t last_slot OVS_GUARDED; /* No higher port number was ever used. */

    const struct upcall_engine_class *engine OVS_GUARDED;
    OVSRCU_TYPE(struct upcall_set *) set;
    atomic_uint32_t generation; /* Of 'set', or of none if there is none. */
    upcall_slot *slots;         /* UPCALL_N_SLOTS, mostly untouched memory. */
    upcall_slot adding;         /* Channel on its way into its slot. */
    upcall_sharer_slot *sharers;    /* UPCALL_MAX_PORTS, likewise. */
    size_t n_shared OVS_GUARDED;

    uint64_t abandoned OVS_GUARDED;
    atomic_count foreign;
};

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

static struct upcall_channel *
slot_get_protected(const struct upcall_table *table, uint32_t slot)
{
    return ovsrcu_get_protected(struct upcall_channel *, &table->slots[slot]);
}

static struct upcall_set *
set_get_protected(const struct upcall_table *table)
{
    return ovsrcu_get_protected(struct upcall_set *, &table->set);
}

/* Iterates over the channels of TABLE, whose mutex is held. */
#define UPCALL_TABLE_FOR_EACH(CHANNEL, SLOT, TABLE)                       \
    for ((SLOT) = 0; (SLOT) < UPCALL_N_SLOTS;                             \
         (SLOT) = upcall_table_next_slot(TABLE, SLOT))                    \
        if (((CHANNEL) = slot_get_protected(TABLE, SLOT)) != NULL)

/* The slots above the highest port number in use need not be looked at. */
static uint32_t
upcall_table_next_slot(const struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    return slot == table->last_slot ? UPCALL_MAX_PORTS
           : slot + 1;
}

struct upcall_table *
upcall_table_create(const char *name, int dp_ifindex, uint16_t packet_family)
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
    atomic_count_init(&table->foreign, 0);
    return table;
}

/* Frees 'set', which no thread receives for any more; one may still sleep in
 * one of its handlers. */
static void
upcall_set_destroy(struct upcall_set *set)
{
    if (set) {
        for (uint32_t i = 0; i < set->n; i++) {
            upcall_handler_unref(set->handlers[i]);
        }
        upcall_sched_unref(set->sched);
        free(set);
    }
}

static void
upcall_table_unref(struct upcall_table *table)
{
    if (upcall_refcount_unref(&table->refcount)) {
        ovs_mutex_destroy(&table->mutex);
        free(table->slots);
        free(table->sharers);
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
        upcall_table_unref(table);
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

bool
upcall_table_is_current__(const struct upcall_table *table,
                          uint32_t generation)
{
    uint32_t current;

    /* Pairs with the store in upcall_table_publish(). */
    atomic_read(CONST_CAST(atomic_uint32_t *, &table->generation), &current);
    return current == generation;
}

void
upcall_table_arm__(struct upcall_table *table,
                   const struct upcall_channel *channel)
{
    struct upcall_set *set;

    ovs_mutex_lock(&table->mutex);
    set = set_get_protected(table);
    if (set) {
        upcall_sched_arm(set->sched, channel);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
upcall_table_count_foreign__(struct upcall_table *table)
{
    atomic_count_inc(&table->foreign);
}

/* Registers every channel of 'table' with 'sched'. */
static int
upcall_table_add_all(struct upcall_table *table, struct upcall_sched *sched)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_channel *channel;
    uint32_t slot;

    UPCALL_TABLE_FOR_EACH (channel, slot, table) {
        int error = upcall_sched_add(sched, channel);
        if (error) {
            VLOG_WARN("%s: adding the channel of port %s to the upcall "
                      "handlers failed (%s)", table->name, channel->name,
                      ovs_strerror(error));
            return error;
        }
    }
    return 0;
}

/* Makes a set of 'n' handlers that serve every channel of 'table'. */
static int
upcall_set_create(struct upcall_table *table, uint32_t n, uint32_t generation,
                  struct upcall_set **setp)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_set *set = xzalloc(sizeof *set + n * sizeof *set->handlers);
    int error;

    *setp = NULL;
    set->generation = generation;
    error = upcall_sched_create(generation, &set->sched);
    if (error) {
        VLOG_WARN("%s: creating upcall handlers failed (%s)", table->name,
                  ovs_strerror(error));
        goto error;
    }
    for (; set->n < n; set->n++) {
        error = upcall_handler_create(table, set->n, generation, set->sched,
                                      table->engine,
                                      &set->handlers[set->n]);
        if (error) {
            VLOG_WARN("%s: creating upcall handler %"PRIu32" failed (%s)",
                      table->name, set->n, ovs_strerror(error));
            goto error;
        }
    }
    error = upcall_table_add_all(table, set->sched);
    if (error) {
        goto error;
    }
    *setp = set;
    return 0;

error:
    upcall_set_destroy(set);
    return error;
}

/* A handler that no other one of the same index took the place of. */
struct upcall_orphan {
    struct upcall_table *table;
    struct upcall_handler *handler;
};

/* Runs when no thread receives for the handler any more. */
static void
upcall_orphan_destroy(struct upcall_orphan *orphan)
{
    struct upcall_table *table = orphan->table;
    unsigned int n_lost = upcall_handler_abandon(orphan->handler);

    if (n_lost) {
        ovs_mutex_lock(&table->mutex);
        table->abandoned += n_lost;
        ovs_mutex_unlock(&table->mutex);
        VLOG_WARN("%s: an upcall handler was removed within a batch, "
                  "%u upcalls lost", table->name, n_lost);
    }
    upcall_handler_unref(orphan->handler);
    upcall_table_unref(table);
    free(orphan);
}

/* Arms 'channel', which was in the run queue of handlers that are retired, with
 * those of now. */
static void
upcall_table_let_go(struct upcall_channel *channel, void *table_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_table *table = table_;
    struct upcall_set *set = set_get_protected(table);
    uint32_t owner;

    atomic_read(&channel->owner, &owner);
    upcall_channel_pass(channel, owner, 0);
    if (set && !upcall_channel_is_dead(channel)) {
        upcall_sched_arm(set->sched, channel);
    }
    upcall_channel_unref(channel);
}

/* Retires 'old', whose place another set may have taken. */
static void
upcall_set_retire(struct upcall_table *table, struct upcall_set *old)
    OVS_REQUIRES(table->mutex)
{
    const struct upcall_set *set = set_get_protected(table);

    for (uint32_t i = set ? MIN(set->n, old->n) : 0; i < old->n; i++) {
        struct upcall_orphan *orphan = xmalloc(sizeof *orphan);

        ovs_refcount_ref(&table->refcount);
        orphan->table = table;
        upcall_handler_ref(old->handlers[i]);
        orphan->handler = old->handlers[i];
        ovsrcu_postpone(upcall_orphan_destroy, orphan);
    }

    /* Whoever sleeps in one of them looks for its handler anew. */
    upcall_sched_retire(old->sched, upcall_table_let_go, table);
    ovsrcu_postpone(upcall_set_destroy, old);
}

static void
upcall_table_publish(struct upcall_table *table, struct upcall_set *set)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_set *old = set_get_protected(table);

    for (uint32_t i = 0; set && old && i < MIN(set->n, old->n); i++) {
        upcall_handler_ref(old->handlers[i]);
        upcall_handler_set_predecessor(set->handlers[i], old->handlers[i]);
    }

    /* Before any handler of the new set takes a channel: see
     * upcall_handler_let_go(). */
    if (set) {
        atomic_store(&table->generation, set->generation);
    }
    ovsrcu_set(&table->set, set);
    if (old) {
        upcall_set_retire(table, old);
    }
}

/* Replaces the handlers by 'n' new ones. */
static int
upcall_table_replace(struct upcall_table *table, uint32_t n)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_set *set = NULL;

    if (n) {
        uint32_t generation;
        int error;

        /* 0 would make the token of the run queue that of nobody. */
        atomic_read_relaxed(&table->generation, &generation);
        generation = (generation + 1) % UPCALL_MAX_GENERATION;
        error = upcall_set_create(table, n, MAX(generation, 1), &set);
        if (error) {
            return error;
        }
    }
    upcall_table_publish(table, set);
    return 0;
}

int
upcall_table_set_handlers(struct upcall_table *table, uint32_t n)
{
    const struct upcall_set *old;
    int error = 0;

    if (n > UPCALL_MAX_HANDLERS) {
        VLOG_WARN("%s: %"PRIu32" upcall handlers asked for, at most %u "
                  "are possible", table->name, n, UPCALL_MAX_HANDLERS);
        return EINVAL;
    }

    ovs_mutex_lock(&table->mutex);
    old = set_get_protected(table);
    if (n != (old ? old->n : 0)) {
        error = upcall_table_replace(table, n);
    }
    ovs_mutex_unlock(&table->mutex);
    return error;
}

int
upcall_table_set_engine(struct upcall_table *table,
                        const struct upcall_engine_class *engine)
{
    const struct upcall_engine_class *old_engine;
    const struct upcall_set *old;
    int error = 0;

    ovs_mutex_lock(&table->mutex);
    old_engine = table->engine;
    old = set_get_protected(table);
    if (engine != old_engine) {
        table->engine = engine;
        if (old) {
            error = upcall_table_replace(table, old->n);
        }
        if (error) {
            table->engine = old_engine;
        }
    }
    ovs_mutex_unlock(&table->mutex);
    return error;
}

const char *
upcall_table_engine_name(const struct upcall_table *table)
{
    const char *name;

    ovs_mutex_lock(&table->mutex);
    name = table->engine->name;
    ovs_mutex_unlock(&table->mutex);
    return name;
}

uint32_t
upcall_table_n_handlers(const struct upcall_table *table)
{
    const struct upcall_set *set = ovsrcu_get(struct upcall_set *,
                                              &table->set);

    return set ? set->n : 0;
}

static struct upcall_sharer *
sharer_get_protected(const struct upcall_table *table, uint32_t slot)
{
    return (slot < UPCALL_MAX_PORTS
            ? ovsrcu_get_protected(struct upcall_sharer *,
                                   &table->sharers[slot])
            : NULL);
}

static void
counter_add(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t orig;

    atomic_add_relaxed(counter, n, &orig);
}

/* Adds what 'channel', which goes, has counted. */
static void
sharer_count_on(struct upcall_sharer *sharer,
                const struct upcall_channel *channel)
{
    struct upcall_channel_stats stats;

    upcall_channel_get_stats(channel, &stats);
    counter_add(&sharer->received, stats.received);
    counter_add(&sharer->lost, stats.lost);
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
    if (!sharer_get_protected(table, port_no)) {
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

static void
upcall_table_unshare__(struct upcall_table *table, uint32_t port_no)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_sharer *sharer = sharer_get_protected(table, port_no);
    struct upcall_channel *channel;

    if (!sharer) {
        return;
    }
    channel = slot_get_protected(table, port_no);
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

static void
upcall_table_del__(struct upcall_table *table, uint32_t slot)
    OVS_REQUIRES(table->mutex)
{
    struct upcall_channel *channel = slot_get_protected(table, slot);
    struct upcall_set *set = set_get_protected(table);

    struct upcall_sharer *sharer = sharer_get_protected(table, slot);

    if (!channel) {
        return;
    }
    if (sharer) {
        sharer_count_on(sharer, channel);
    }
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
    set = set_get_protected(table);
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

static struct upcall_handler *
upcall_table_get_handler(const struct upcall_table *table, uint32_t handler_id)
{
    const struct upcall_set *set = ovsrcu_get(struct upcall_set *,
                                              &table->set);

    return set && handler_id < set->n ? set->handlers[handler_id] : NULL;
}

int
upcall_table_recv(struct upcall_table *table, uint32_t handler_id,
                  struct upcall_view *view)
{
    struct upcall_handler *handler = upcall_table_get_handler(table,
                                                              handler_id);

    return (handler
            ? upcall_handler_recv(handler, table->packet_family,
                                  table->dp_ifindex, table->name, view)
            : EAGAIN);
}

void
upcall_table_recv_wait(struct upcall_table *table, uint32_t handler_id)
{
    struct upcall_handler *handler = upcall_table_get_handler(table,
                                                              handler_id);

    if (!handler) {
        /* A thread whose handler is gone has nothing to wait for here. */
        return;
    } else if (upcall_handler_is_ready(handler)) {
        poll_immediate_wake();
    } else {
        poll_fd_wait(upcall_sched_epoll_fd(upcall_handler_sched(handler)),
                     POLLIN);
        upcall_poll_arm(handler);
    }
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
        struct upcall_sharer *sharer = sharer_get_protected(table, slot);

        if (sharer) {
            atomic_store_relaxed(&sharer->received, 0);
            atomic_store_relaxed(&sharer->lost, 0);
        }
    }
    set = set_get_protected(table);
    for (size_t i = 0; set && i < set->n; i++) {
        upcall_handler_reset_stats(set->handlers[i]);
    }
    table->abandoned = 0;
    atomic_count_set(&table->foreign, 0);
    ovs_mutex_unlock(&table->mutex);
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
        struct upcall_sharer *sharer = sharer_get_protected(table, slot);

        channel = slot_get_protected(table, slot);
        if (channel || sharer) {
            get_port_info(table, slot, channel, sharer,
                          &info->ports[info->n_ports++]);
        }
    }

    set = set_get_protected(table);
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
