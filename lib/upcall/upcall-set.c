/* SPDX-License-Identifier: Apache-2.0 */

/* The handlers of an upcall table.
 *
 * They form a set, which is replaced as a whole when their number or their
 * engine changes:
 *
 *   1. The new set gets a scheduler of its own, in which every channel is
 *      registered, so that both sets have events for a time.
 *   2. It is published.  Each of its handlers has the one of the same number
 *      in the old set, if there is one, as its predecessor.
 *   3. The old set is retired: what waits in its run queue is armed with the
 *      new one, and its sleepers wake up.  Handlers without a successor are
 *      orphans, which let go of their channels after a grace period.
 *
 * A thread belongs to a number, not to a handler, and looks for its handler
 * with each call. */

#include <config.h>
#include "upcall/upcall-table-private.h"

#include <errno.h>
#include <stdlib.h>

#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-poll.h"
#include "upcall/upcall-sched.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_set);

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
    upcall_table_unref__(table);
    free(orphan);
}

/* Arms 'channel', which was in the run queue of handlers that are retired,
 * with those of now. */
static void
upcall_table_let_go(struct upcall_channel *channel, void *table_)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_table *table = table_;
    struct upcall_set *set = upcall_table_set_protected(table);
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
    const struct upcall_set *set = upcall_table_set_protected(table);

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
    struct upcall_set *old = upcall_table_set_protected(table);

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
    old = upcall_table_set_protected(table);
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
    old = upcall_table_set_protected(table);
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
    set = upcall_table_set_protected(table);
    if (set) {
        upcall_sched_arm(set->sched, channel);
    }
    ovs_mutex_unlock(&table->mutex);
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
    struct upcall_handler *handler;
    union upcall_seat *seat;
    int error = EAGAIN;

    if (handler_id >= UPCALL_MAX_HANDLERS) {
        return EAGAIN;
    }
    seat = &table->seats[handler_id];
    handler = upcall_table_get_handler(table, handler_id);

    /* If the handler of the thread's batch went and another one came that is
     * not its successor, the batch is over.  (Its channels stay with the old
     * handler until the thread is quiescent.) */
    if (handler
        && (!seat->in_batch || upcall_handler_is_in_batch(handler))) {
        error = upcall_handler_recv(handler, table->packet_family,
                                    table->dp_ifindex, table->name, view);
    }
    if (seat->in_batch == (error != 0)) {
        seat->in_batch = !error;
    }
    return error;
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
        poll_timer_wait_until(upcall_handler_retry_at(handler));
        upcall_poll_arm(handler);
    }
}
