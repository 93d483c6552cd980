/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-table.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-poll.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-stats.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_table);

/* Milliseconds after which a thread looks again for a handler that could not
 * be created, or whether the table is still halted.  Waiting for an event
 * would take the descriptors that handlers lack: "struct seq" has two for each
 * thread that waits. */
#define LOOK_AGAIN_MSEC 250

/* The longest that upcall_table_halt() waits for batches, in seconds: a batch
 * takes milliseconds, and so do the few in which the upcalls that were read
 * ahead on a channel are handed out.  The process is about to end. */
#define HALT_SEC 1

/* State of the thread that receives for a handler number, whichever handlers
 * have had the number.  On a cache line of its own. */
union upcall_thread {
    struct {
        bool in_batch;          /* The thread got an upcall and no EAGAIN
                                 * since. */
        atomic_uint busy;       /* While a batch may not have been processed,
                                 * one more than the thread's number; or 0. */
    };
    uint8_t pad[CACHE_LINE_SIZE];
};
BUILD_ASSERT_DECL(sizeof(union upcall_thread) == CACHE_LINE_SIZE);

/* Handlers that work together.  Constant once other threads can see it.  When
 * the number of handlers, the size of their groups or their engine changes,
 * the set is replaced as a whole:
 *
 *   1. The new set gets groups of its own, and every channel is registered in
 *      them (upcall_ports_attach()), so that both sets have events for a time.
 *   2. The handler of the same number in the old set, if there is one, becomes
 *      the predecessor of each new handler.
 *   3. The new set is published: threads find their handlers in it from now
 *      on.
 *   4. The old set is retired: the channels in its run queues are armed with
 *      the new set, and its sleepers wake up.  Handlers without a successor
 *      are orphans, which release their channels after a grace period.
 *
 * A thread belongs to a number, not to a handler, and looks for its handler
 * with each call. */
struct upcall_set {
    uint32_t generation;
    struct upcall_table *table;
    struct upcall_groups *groups;
    uint32_t n;
    struct upcall_handler *handlers[];
};

void
upcall_table_destroy(struct upcall_table *table)
{
    if (table) {
        upcall_table_set_handlers(table, 0);
        upcall_table_del_all(table);
        upcall_ports_unref(table);
    }
}

/* Handlers. */

/* No thread receives for 'set' any more, but a thread may still sleep in one
 * of its handlers. */
static void
upcall_set_destroy(struct upcall_set *set)
{
    for (uint32_t i = 0; i < set->n; i++) {
        upcall_handler_unref(set->handlers[i]);
    }
    upcall_groups_unref(set->groups);
    free(set);
}

/* Creates a set of 'n' handlers, at least 1, of generation 'generation'.
 * Returns 0 or a positive errno value, after a message. */
static int
upcall_set_create(struct upcall_table *table, uint32_t n, uint32_t generation,
                  struct upcall_set **setp)
    OVS_REQUIRES(table->set_mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_set *set = xzalloc(sizeof *set + n * sizeof *set->handlers);
    int error;

    *setp = NULL;
    set->generation = generation;
    set->table = table;
    error = upcall_groups_create(generation, n, table->group_size,
                                 &set->groups);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: creating upcall handlers failed (%s)",
                     table->name, ovs_strerror(error));
        goto error;
    }
    for (; set->n < n; set->n++) {
        error = upcall_handler_create(table, set->n, generation, set->groups,
                                      table->engine, &set->handlers[set->n]);
        if (error) {
            VLOG_WARN_RL(&rl, "%s: creating upcall handler %"PRIu32" failed "
                         "(%s)", table->name, set->n, ovs_strerror(error));
            goto error;
        }
    }
    *setp = set;
    return 0;

error:
    upcall_set_destroy(set);
    return error;
}

/* Releases 'channel', which was in the run queue of 'set'. */
static void
release_queued(struct upcall_channel *channel, void *set_)
{
    struct upcall_set *set = set_;

    upcall_channel_release(channel, upcall_token_queue(set->generation));
    if (!upcall_channel_is_dead(channel)) {
        upcall_ports_rearm(set->table, channel, set->generation);
    }
    upcall_channel_unref(channel);
}

static struct upcall_set *
upcall_table_set_protected(const struct upcall_table *table)
    OVS_REQUIRES(table->set_mutex)
{
    return ovsrcu_get_protected(struct upcall_set *, &table->set);
}

/* Replaces the present set with 'set', which may be NULL. */
static void
upcall_table_publish(struct upcall_table *table, struct upcall_set *set)
    OVS_REQUIRES(table->set_mutex)
{
    struct upcall_set *old = upcall_table_set_protected(table);
    uint32_t n_successors = set && old ? MIN(set->n, old->n) : 0;

    for (uint32_t i = 0; i < n_successors; i++) {
        upcall_handler_ref(old->handlers[i]);
        upcall_handler_set_predecessor(set->handlers[i], old->handlers[i]);
    }
    ovsrcu_set(&table->set, set);
    if (old) {
        for (uint32_t i = n_successors; i < old->n; i++) {
            upcall_handler_postpone_abandon(old->handlers[i]);
        }

        /* A thread that sleeps in an old handler wakes up and looks for its
         * handler again. */
        upcall_groups_retire(old->groups, release_queued, old);
        ovsrcu_postpone(upcall_set_destroy, old);
    }
}

/* Replaces the handlers with 'n' new ones. */
static int
upcall_table_replace(struct upcall_table *table, uint32_t n)
    OVS_REQUIRES(table->set_mutex)
{
    struct upcall_set *set;
    uint32_t generation;
    int error;

    if (!n) {
        upcall_ports_detach(table);
        upcall_table_publish(table, NULL);
        return 0;
    }

    /* With 0, the run queue's token would mean that there is no owner. */
    generation = MAX((table->set_generation + 1) % UPCALL_MAX_GENERATION, 1);
    error = upcall_set_create(table, n, generation, &set);
    if (error) {
        return error;
    }
    error = upcall_ports_attach(table, set->groups, generation);
    if (error) {
        upcall_set_destroy(set);
        return error;
    }
    table->set_generation = generation;
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

    ovs_mutex_lock(&table->set_mutex);
    old = upcall_table_set_protected(table);
    if (n != (old ? old->n : 0)) {
        error = upcall_table_replace(table, n);
    }
    ovs_mutex_unlock(&table->set_mutex);
    return error;
}

int
upcall_table_set_engine(struct upcall_table *table,
                        const struct upcall_engine_class *engine)
{
    const struct upcall_engine_class *old_engine;
    const struct upcall_set *old;
    int error = 0;

    ovs_mutex_lock(&table->set_mutex);
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
    ovs_mutex_unlock(&table->set_mutex);
    return error;
}

int
upcall_table_set_group_size(struct upcall_table *table, uint32_t size)
{
    const struct upcall_set *old;
    uint32_t old_size;
    int error = 0;

    ovs_assert(size);
    ovs_mutex_lock(&table->set_mutex);
    old_size = table->group_size;
    old = upcall_table_set_protected(table);
    if (size != old_size) {
        table->group_size = size;
        if (old && (DIV_ROUND_UP(old->n, size)
                    != DIV_ROUND_UP(old->n, old_size))) {
            error = upcall_table_replace(table, old->n);
        }
        if (error) {
            table->group_size = old_size;
        }
    }
    ovs_mutex_unlock(&table->set_mutex);
    return error;
}

uint32_t
upcall_table_group_size(const struct upcall_table *table)
{
    uint32_t size;

    ovs_mutex_lock(&table->set_mutex);
    size = table->group_size;
    ovs_mutex_unlock(&table->set_mutex);
    return size;
}

const char *
upcall_table_engine_name(const struct upcall_table *table)
{
    const char *name;

    ovs_mutex_lock(&table->set_mutex);
    name = table->engine->name;
    ovs_mutex_unlock(&table->set_mutex);
    return name;
}

uint32_t
upcall_table_n_handlers(const struct upcall_table *table)
{
    const struct upcall_set *set = ovsrcu_get(struct upcall_set *,
                                              &table->set);

    return set ? set->n : 0;
}

static struct upcall_handler *
upcall_table_get_handler(const struct upcall_table *table, uint32_t handler_id)
{
    const struct upcall_set *set = ovsrcu_get(struct upcall_set *,
                                              &table->set);

    return set && handler_id < set->n ? set->handlers[handler_id] : NULL;
}

/* Halting. */

static pthread_mutex_t halt_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t halt_cond = PTHREAD_COND_INITIALIZER;

/* Says that 'thread' has nothing to process.  Either this sees that the table
 * is halted, or upcall_table_halt() sees that the thread is not busy: both are
 * sequentially consistent. */
static void
become_idle(struct upcall_table *table, union upcall_thread *thread)
{
    atomic_store(&thread->busy, 0);
    if (upcall_ports_is_halted(table)) {
        pthread_mutex_lock(&halt_mutex);
        pthread_cond_signal(&halt_cond);
        pthread_mutex_unlock(&halt_mutex);
    }
}

/* True if another thread is busy.  The calling thread counts as idle: any
 * thread that waits for events may have received the signal that ends the
 * process. */
static bool
another_is_busy(const struct upcall_table *table)
{
    for (uint32_t i = 0; i < upcall_table_n_handlers(table); i++) {
        unsigned int busy;

        atomic_read(&table->threads[i].busy, &busy);
        if (busy && busy != ovsthread_id_self() + 1) {
            return true;
        }
    }
    return false;
}

/* True if some upcall that was taken from a socket may not have been processed
 * yet, or without 'all', if a batch is under way.  Called after the table was
 * halted.
 *
 * A thread that is found idle reads no more sockets.  So once all threads were
 * idle, nothing more is read ahead, and once nothing is left of that, a thread
 * that is idle stays so. */
static bool
is_busy(struct upcall_table *table, bool all)
{
    return (another_is_busy(table)
            || (all && (upcall_ports_are_ahead(table)
                        || another_is_busy(table))));
}

void
upcall_table_halt(struct upcall_table *table, bool all)
{
    struct timespec until;

    atomic_store(&table->halted, true);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += HALT_SEC;
    pthread_mutex_lock(&halt_mutex);
    while (is_busy(table, all)
           && !pthread_cond_timedwait(&halt_cond, &halt_mutex, &until)) {
        continue;
    }
    pthread_mutex_unlock(&halt_mutex);
}

void
upcall_table_go_on(struct upcall_table *table)
{
    atomic_store(&table->halted, false);
}

int
upcall_table_recv(struct upcall_table *table, uint32_t handler_id,
                  struct upcall_view *view)
{
    struct upcall_handler *handler;
    union upcall_thread *thread;
    int error = EAGAIN;

    if (handler_id >= UPCALL_MAX_HANDLERS) {
        return EAGAIN;
    }
    thread = &table->threads[handler_id];
    if (!thread->in_batch) {
        /* The previous batch was processed.  Either the handler sees that the
         * table is halted before it reads a socket, or upcall_table_halt()
         * sees that the thread is busy: both are sequentially consistent. */
        atomic_store(&thread->busy, ovsthread_id_self() + 1);
    }
    handler = upcall_table_get_handler(table, handler_id);

    /* If the handler of the thread's batch was removed and another one was
     * created that is not its successor, the batch is over.  (Its channels
     * stay with the old handler until the thread is quiescent.) */
    if (handler
        && (!thread->in_batch || upcall_handler_is_in_batch(handler))) {
        error = upcall_handler_recv(handler, view);
    }
    if (thread->in_batch == (error != 0)) {
        thread->in_batch = !error;
    } else if (error) {
        become_idle(table, thread);     /* The thread got nothing. */
    }
    return error;
}

void
upcall_table_recv_wait(struct upcall_table *table, uint32_t handler_id)
{
    struct upcall_handler *handler = upcall_table_get_handler(table,
                                                              handler_id);
    bool halted = upcall_ports_is_halted(table);

    if (handler && upcall_handler_is_ready(handler, halted)) {
        poll_immediate_wake();
    } else if (!handler || halted) {
        poll_timer_wait(LOOK_AGAIN_MSEC);   /* The table may go on. */
    } else {
        poll_fd_wait(upcall_sched_epoll_fd(upcall_handler_sched(handler)),
                     POLLIN);
        poll_timer_wait_until(upcall_handler_retry_at(handler));
        upcall_poll_arm(handler);
    }
}

/* Statistics. */

/* Fills in the groups of 'info', after its handlers. */
static void
get_groups_info(const struct upcall_groups *groups,
                struct upcall_table_info *info)
{
    info->n_groups = upcall_groups_n(groups);
    info->groups = xcalloc(info->n_groups, sizeof *info->groups);
    for (size_t i = 0; i < info->n_groups; i++) {
        struct upcall_group_info *group = &info->groups[i];
        const struct upcall_sched *sched = upcall_groups_sched(groups, i);
        struct upcall_sched_locks locks;

        upcall_sched_get_locks(sched, &locks);
        group->n_handlers = upcall_groups_n_handlers(groups, i);
        group->n_queued = upcall_sched_n_queued(sched);
        group->quantum = upcall_sched_quantum(sched);
        group->locks = locks.taken;
        group->contended = locks.contended;
    }
    for (size_t i = 0; i < info->n_handlers; i++) {
        struct upcall_group_info *group
            = &info->groups[upcall_groups_of_handler(groups, i)];

        group->wakeups += info->handlers[i].wakeups;
        group->loans += info->handlers[i].loans;
    }
}

void
upcall_table_get_info(const struct upcall_table *table,
                      struct upcall_table_info *info)
{
    uint64_t totals[UPCALL_N_STATS];
    const struct upcall_set *set;

    memset(info, 0, sizeof *info);
    info->name = xstrdup(table->name);
    upcall_stats_get(table->stats, totals);
    info->foreign = totals[UPCALL_STAT_FOREIGN];
    info->abandoned = totals[UPCALL_STAT_ABANDONED];
    info->refused = totals[UPCALL_STAT_REFUSED];
    info->outdated = totals[UPCALL_STAT_OUTDATED];
    info->adopted = totals[UPCALL_STAT_ADOPTED];
    upcall_ports_get_info(table, info);

    ovs_mutex_lock(&table->set_mutex);
    info->engine = table->engine->name;
    set = upcall_table_set_protected(table);
    info->n_handlers = set ? set->n : 0;
    info->handlers = xcalloc(info->n_handlers, sizeof *info->handlers);
    for (size_t i = 0; i < info->n_handlers; i++) {
        upcall_handler_get_stats(set->handlers[i], &info->handlers[i]);
    }
    info->group_size = table->group_size;
    if (set) {
        get_groups_info(set->groups, info);
    }
    ovs_mutex_unlock(&table->set_mutex);
}

void
upcall_table_get_work(const struct upcall_table *table, uint64_t *busy_usec,
                      uint64_t *n_upcalls)
{
    uint64_t totals[UPCALL_N_STATS];

    upcall_stats_get(table->stats, totals);
    *busy_usec = totals[UPCALL_STAT_BUSY_USEC];
    *n_upcalls = totals[UPCALL_STAT_UPCALLS];
}

void
upcall_table_info_uninit(struct upcall_table_info *info)
{
    for (size_t i = 0; i < info->n_ports; i++) {
        free(CONST_CAST(char *, info->ports[i].name));
        free(info->ports[i].queues);
        free(info->ports[i].senders);
    }
    free(info->ports);
    free(info->handlers);
    free(info->groups);
    free(CONST_CAST(char *, info->name));
}

void
upcall_table_reset_stats(struct upcall_table *table)
{
    const struct upcall_set *set;

    upcall_ports_reset_stats(table);
    upcall_stats_reset(table->stats);

    ovs_mutex_lock(&table->set_mutex);
    set = upcall_table_set_protected(table);
    for (size_t i = 0; set && i < set->n; i++) {
        upcall_handler_reset_stats(set->handlers[i]);
    }
    ovs_mutex_unlock(&table->set_mutex);
}
