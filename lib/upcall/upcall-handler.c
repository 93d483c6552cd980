/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-handler.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-groups.h"
#include "upcall/upcall-info.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-ports.h"
#include "upcall/upcall-probes.h"
#include "upcall/upcall-reader.h"
#include "upcall/upcall-sched.h"
#include "upcall/upcall-stats.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_handler);

BUILD_ASSERT_DECL(UPCALL_BATCH < 1 << UPCALL_N_BATCH_SIZES);

COVERAGE_DEFINE(upcall_empty_wakeup);

/* How often a handler looks for events at the start of a batch while all
 * events are of channels for the run queue.  The bound keeps many such
 * channels from delaying the handler's work for long. */
#define UPCALL_POLLS 8

/* Rounds of the run queue in a target delay (upcall-shed.h): an upcall that
 * is not read in the first round is read in the second. */
#define UPCALL_ROUNDS 2

struct upcall_handler {
    struct upcall_table *table;
    struct upcall_groups *groups;
    uint32_t group;             /* Of 'groups'. */
    struct upcall_sched *sched; /* Of 'group'. */
    uint32_t loan_credit;       /* For upcall_groups_plan(). */
    uint32_t n_marked;          /* For upcall_age_between(). */
    struct upcall_sched *lender;    /* In this batch, or NULL. */
    bool offered;               /* Others know what this batch leaves. */
    struct upcall_handler *predecessor; /* Its batch has to end first; or
                                         * NULL. */
    struct ovs_refcount refcount;
    uint32_t index;
    uint32_t generation;
    uint32_t token;             /* Owner word, see upcall-channel.h. */

    /* Events that ended a sleep and that the handler has not looked at yet. */
    struct upcall_events events;

    struct upcall_reader reader;

    /* The batch. */
    bool in_batch;
    bool woken;                 /* It follows a wake-up. */
    bool lonely;                /* The last batch followed a wake-up and had
                                 * the only readable channel. */
    unsigned int n_handed;      /* Upcalls handed out. */
    uint64_t handed_at;         /* When the first one was, in microseconds. */
    unsigned int next_msg;      /* The reader's first message that was not
                                 * looked at yet. */

    struct upcall_stats_block stats;
};

int
upcall_handler_create(struct upcall_table *table, uint32_t index,
                      uint32_t generation, struct upcall_groups *groups,
                      const struct upcall_engine_class *class,
                      struct upcall_handler **handlerp)
{
    struct upcall_handler *handler = xzalloc(sizeof *handler);
    int error;

    *handlerp = NULL;
    handler->token = upcall_token(generation, index);
    error = upcall_reader_init(&handler->reader, table->name, index,
                               handler->token, groups, class,
                               &handler->stats);
    if (error) {
        free(handler);
        return error;
    }
    upcall_ports_ref(table);
    handler->table = table;
    upcall_groups_ref(groups);
    handler->groups = groups;
    handler->group = upcall_groups_of_handler(groups, index);
    handler->sched = upcall_groups_sched(groups, handler->group);
    ovs_refcount_init(&handler->refcount);
    handler->index = index;
    handler->generation = generation;
    upcall_stats_block_init(&handler->stats, table->stats);
    *handlerp = handler;
    return 0;
}

void
upcall_handler_ref(struct upcall_handler *handler)
{
    ovs_refcount_ref(&handler->refcount);
}

void
upcall_handler_unref(struct upcall_handler *handler)
{
    if (handler && upcall_refcount_unref(&handler->refcount)) {
        upcall_reader_uninit(&handler->reader);
        upcall_stats_block_uninit(&handler->stats);
        upcall_handler_unref(handler->predecessor);
        upcall_groups_unref(handler->groups);
        upcall_ports_unref(handler->table);
        free(handler);
    }
}

struct upcall_sched *
upcall_handler_sched(const struct upcall_handler *handler)
{
    return handler->sched;
}

int
upcall_handler_wait(struct upcall_handler *handler, int timeout, bool *ready,
                    bool *latched, bool *again)
{
    struct upcall_events *events = &handler->events;
    int error = upcall_groups_wait(handler->groups, handler->group, timeout,
                                   events);

    *ready = events->n_channels || events->kicked || events->called;
    *latched = events->latched;
    *again = events->in_vain && !*ready;
    if (*again) {
        COVERAGE_INC(upcall_empty_wakeup);
        upcall_stats_add(&handler->stats, UPCALL_STAT_WAKEUPS, 1);
        upcall_stats_add(&handler->stats, UPCALL_STAT_EMPTY_WAKEUPS, 1);
    }
    if (*ready && timeout) {
        upcall_stats_add(&handler->stats, UPCALL_STAT_WAKEUPS, 1);
        handler->woken = true;
    }
    return error;
}

/* Releases 'channel', whose next upcall is an event again. */
static void
upcall_handler_release(struct upcall_handler *handler,
                       struct upcall_channel *channel)
{
    if (!upcall_channel_is_dead(channel)) {
        channel->armed_at = upcall_now_usec();
        upcall_channel_release(channel, handler->token);
        upcall_sched_arm(upcall_groups_home(handler->groups, channel),
                         channel);
        upcall_ports_rearm(handler->table, channel, handler->generation);
        if (upcall_channel_is_retired(channel)) {
            /* The queues that replace the channel may have waited for this. */
            upcall_table_settle(handler->table, channel->port_no);
        }
    }
    upcall_channel_unref(channel);
}

/* Puts 'channel' at the end of the run queue of its home. */
static void
upcall_handler_enqueue(struct upcall_handler *handler,
                       struct upcall_channel *channel)
{
    struct upcall_sched *home = upcall_groups_home(handler->groups, channel);

    if (upcall_channel_is_dead(channel)
        || !upcall_sched_push(home, channel, handler->token)) {
        upcall_handler_release(handler, channel);
    } else if (home != handler->sched) {
        upcall_sched_kick(home, 0);
    }
}

/* Releases the channels whose pause is over. */
static void
upcall_handler_resume(struct upcall_handler *handler)
{
    struct upcall_reader *reader = &handler->reader;
    struct upcall_fifo *paused = &reader->lists[UPCALL_STATE_PAUSED];
    size_t n = paused->n;
    long long int now;

    if (!n) {
        return;
    }
    now = time_msec();
    if (now < reader->retry_at) {
        return;
    }
    reader->retry_at = LLONG_MAX;
    for (size_t i = 0; i < n; i++) {
        struct upcall_channel *channel = upcall_fifo_pop(paused);

        if (channel->retry_at <= now || upcall_channel_is_dead(channel)) {
            upcall_handler_release(handler, channel);
        } else {
            reader->retry_at = MIN(reader->retry_at, channel->retry_at);
            upcall_fifo_push(paused, channel);
        }
    }
}

/* Gives back the channels that the last batch has read. */
static void
upcall_handler_finish_batch(struct upcall_handler *handler)
{
    struct upcall_reader *reader = &handler->reader;
    struct upcall_channel *channel;

    while ((channel = upcall_reader_pop(reader, UPCALL_STATE_EMPTY))) {
        upcall_handler_release(handler, channel);
    }
    while ((channel = upcall_reader_pop(reader, UPCALL_STATE_SPENT))) {
        upcall_handler_enqueue(handler, channel);
    }
    upcall_handler_resume(handler);
}

void
upcall_handler_set_predecessor(struct upcall_handler *handler,
                               struct upcall_handler *predecessor)
{
    handler->predecessor = predecessor;
}

/* Releases all channels.  Called by the handler's thread between batches, or
 * by any thread once no thread uses the handler any more.  Upcalls that the
 * handler took but did not hand out are lost, and counted. */
static void
upcall_handler_abandon(struct upcall_handler *handler)
{
    struct upcall_reader *reader = &handler->reader;
    unsigned int n_lost = reader->n_msgs - handler->next_msg;
    struct upcall_channel *channel;

    if (handler->predecessor) {
        upcall_handler_abandon(handler->predecessor);
        upcall_handler_unref(handler->predecessor);
        handler->predecessor = NULL;
    }
    for (size_t i = 0; i < UPCALL_N_STATES; i++) {
        while ((channel = upcall_reader_pop(reader, i))) {
            upcall_handler_release(handler, channel);
        }
    }
    reader->retry_at = LLONG_MAX;
    reader->n_msgs = handler->next_msg = 0;
    handler->in_batch = false;

    if (n_lost) {
        upcall_stats_add(&handler->stats, UPCALL_STAT_ABANDONED, n_lost);
        VLOG_WARN("%s: an upcall handler was removed within a batch, "
                  "%u upcalls lost", handler->table->name, n_lost);
    }
}

static void
upcall_handler_abandon_and_unref(struct upcall_handler *handler)
{
    upcall_handler_abandon(handler);
    upcall_handler_unref(handler);
}

void
upcall_handler_postpone_abandon(struct upcall_handler *handler)
{
    upcall_handler_ref(handler);
    ovsrcu_postpone(upcall_handler_abandon_and_unref, handler);
}

/* Finds the handler whose batch has to be finished: 'handler' or one of its
 * predecessors, the earliest first.  Returns NULL if none is in a batch; then
 * all predecessors of 'handler' are done. */
static struct upcall_handler *
upcall_handler_in_batch(struct upcall_handler *handler)
{
    if (handler->predecessor) {
        struct upcall_handler *earlier;

        earlier = upcall_handler_in_batch(handler->predecessor);
        if (earlier) {
            return earlier;
        }
        upcall_handler_abandon(handler->predecessor);
        upcall_handler_unref(handler->predecessor);
        handler->predecessor = NULL;
    }
    return handler->in_batch ? handler : NULL;
}

/* Number of upcalls for a channel that has just become readable at 'sched'.
 * With a target delay the number is small while many channels become readable
 * at once: the last channel, which may be the quiet one, waits for the turns
 * of all others, and no round has adapted the quantum yet.  (Without this, the
 * first batch of test-upcall-quiet reads 3 ports of a crowd, not 8 or
 * more.) */
static unsigned int
upcall_handler_quantum(const struct upcall_handler *handler,
                       const struct upcall_sched *sched)
{
    return (handler->reader.target_delay && upcall_sched_is_crowded(sched)
            ? UPCALL_QUANTUM_MIN : upcall_sched_quantum(sched));
}

/* Puts 'channel', which became readable and now belongs to the handler, where
 * its credit says. */
static void
upcall_handler_activate(struct upcall_handler *handler,
                        struct upcall_channel *channel)
{
    struct upcall_sched *sched = upcall_groups_home(handler->groups, channel);

    if (upcall_channel_is_urgent(channel)) {
        upcall_turn_begin(&channel->turn,
                          upcall_reader_round_end(&handler->reader, sched),
                          UPCALL_QUANTUM);
        upcall_reader_keep(&handler->reader, channel, UPCALL_STATE_SPARSE);
    } else if (upcall_turn_activate(&channel->turn,
                                    upcall_reader_round_end(&handler->reader,
                                                            sched),
                                    upcall_sched_popped(sched),
                                    upcall_sched_epoch(sched),
                                    upcall_handler_quantum(handler,
                                                           sched))) {
        upcall_reader_keep(&handler->reader, channel, UPCALL_STATE_SPARSE);
    } else {
        upcall_handler_enqueue(handler, channel);
    }
}

/* Marks that the first upcall that waits on 'channel' arrived by 'now'.  It
 * caused the event of the channel, which did not exist at 'since'. */
static void
upcall_handler_mark_event(struct upcall_handler *handler,
                          struct upcall_channel *channel, uint64_t since,
                          uint64_t now)
{
    /* A look before the channel was armed does not prove that it was empty. */
    uint64_t from = since >= channel->armed_at ? since : 0;

    upcall_age_mark(&channel->age, 1,
                    upcall_age_between(MAX(from, channel->age.marks[0].at),
                                       now, &handler->n_marked));
}

/* Takes 'channel', which may be NULL, at time 'now', unless it is dead or
 * another handler owns it.  The channel did not have an event at 'since'. */
static void
upcall_handler_take_channel(struct upcall_handler *handler,
                            struct upcall_channel *channel, uint64_t since,
                            uint64_t now)
{
    if (!channel || !ovs_refcount_try_ref_rcu(&channel->refcount)) {
        return;
    }
    if (upcall_channel_take(channel, handler->token)) {
        upcall_handler_mark_event(handler, channel, since, now);
        upcall_handler_activate(handler, channel);
    } else {
        upcall_channel_unref(channel);
    }
}

/* Takes the channels that 'events' name.  If there may be more events, and no
 * other handler to take them, also takes the urgent channel, whose event may
 * be among them. */
static void
upcall_handler_take(struct upcall_handler *handler,
                    struct upcall_events *events)
{
    uint64_t now = events->n_channels ? upcall_now_usec() : 0;

    for (size_t i = 0; i < events->n_channels; i++) {
        const struct upcall_event *event = &events->channels[i];

        upcall_handler_take_channel(handler,
                                    upcall_ports_lookup(handler->table,
                                                        event->port_no,
                                                        event->serial),
                                    events->since, now);
    }
    if (events->more && !upcall_sched_n_sleepers(handler->sched)) {
        upcall_handler_take_channel(handler,
                                    upcall_ports_urgent(handler->table), now,
                                    now);
    }
    memset(events, 0, sizeof *events);
}

bool
upcall_handler_is_in_batch(struct upcall_handler *handler)
{
    return upcall_handler_in_batch(handler) != NULL;
}

/* Takes the channels that became readable, or a share of them if other
 * handlers sleep.  Returns their number. */
static size_t
upcall_handler_take_ready(struct upcall_handler *handler)
{
    size_t n = 0;

    for (int i = 0; i < UPCALL_POLLS; i++) {
        bool more;

        if (!handler->events.n_channels) {
            upcall_sched_poll(handler->sched, &handler->events);
        }
        n += handler->events.n_channels;
        more = handler->events.more;
        upcall_handler_take(handler, &handler->events);
        if (!more || upcall_sched_n_sleepers(handler->sched)
            || (n >= UPCALL_EVENTS
                && upcall_reader_n(&handler->reader, UPCALL_STATE_SPARSE))) {
            break;
        }
    }
    return n;
}

/* Takes channels that became readable since the batch began, before it takes
 * more turns of the run queue, unless a sleeping handler takes them.  A kick
 * found now may have been meant for a handler that has just gone to sleep, so
 * the handler then offers what the batch leaves once more.  (Without this, the
 * quiet port of test-upcall-sparse waits for the next batch.) */
static void
upcall_handler_look_again(struct upcall_handler *handler)
{
    if (!handler->reader.halted
        && upcall_reader_is_between_turns(&handler->reader)
        && !upcall_sched_n_sleepers(handler->sched)) {
        upcall_sched_poll(handler->sched, &handler->events);
        if (handler->events.kicked) {
            handler->offered = false;
        }
        upcall_handler_take(handler, &handler->events);
    }
}

/* Takes channels that became readable in another group that has more of them
 * than it can take. */
static void
upcall_handler_take_others(struct upcall_handler *handler)
{
    struct upcall_sched *lender
        = upcall_groups_overloaded(handler->groups, handler->group);

    if (lender && upcall_sched_is_crowded(lender)) {
        upcall_sched_poll_for_others(
            lender, upcall_sched_n_sleepers(handler->sched) > 0,
            &handler->events);
        upcall_stats_add(&handler->stats, UPCALL_STAT_LOANS,
                         handler->events.n_channels);
        upcall_handler_take(handler, &handler->events);
    }
}

/* If other handlers sleep, gives the channels that wait for their first read
 * back to epoll, except for the handler's share.  That wakes the other
 * handlers.  (Without this, one handler keeps the ports of test-upcall-fanout
 * while others sleep.) */
static void
upcall_handler_give_back(struct upcall_handler *handler)
{
    struct upcall_fifo *sparse = &handler->reader.lists[UPCALL_STATE_SPARSE];
    size_t keep;

    if (sparse->n < 2) {
        return;
    }
    keep = DIV_ROUND_UP(sparse->n,
                        upcall_sched_n_sleepers(handler->sched) + 1);
    if (keep < sparse->n) {
        /* The first ones stay. */
        for (size_t i = 0; i < keep; i++) {
            upcall_fifo_push(sparse, upcall_fifo_pop(sparse));
        }
        while (sparse->n > keep) {
            struct upcall_channel *channel = upcall_fifo_pop(sparse);

            upcall_turn_deactivate(&channel->turn);
            upcall_handler_release(handler, channel);
        }
    }
}

/* Decides what the batch takes from run queues. */
static void
upcall_handler_plan(struct upcall_handler *handler)
{
    handler->reader.share = upcall_groups_share(handler->groups,
                                                handler->group);
    handler->reader.loan = upcall_groups_plan(handler->groups, handler->group,
                                              &handler->loan_credit);
    handler->lender = handler->reader.loan.lender;
    handler->offered = false;
}

/* Wakes other handlers for what the batch leaves.  To be called after the
 * handler has taken the first part of its own share; otherwise the handlers
 * that wake up would take it. */
static void
upcall_handler_offer(struct upcall_handler *handler)
{
    const struct upcall_reader *reader = &handler->reader;
    const struct upcall_sched *sched = handler->sched;
    const struct upcall_sched *lender = handler->lender;
    bool call;

    handler->offered = true;
    upcall_sched_kick(handler->sched, reader->share);
    if (upcall_groups_n(handler->groups) == 1) {
        return;
    }

    call = (upcall_sched_has_too_much(sched)
            && (upcall_sched_n_queued(sched) > reader->share
                || upcall_sched_is_crowded(sched)));
    if (!call && lender && upcall_sched_has_too_much(lender)) {
        call = (upcall_sched_n_queued(lender) > reader->loan.n
                || upcall_sched_is_crowded(lender));
    }
    if (call) {
        upcall_groups_call(handler->groups);
    }
}

static void
upcall_handler_begin_batch(struct upcall_handler *handler)
{
    uint32_t target = upcall_ports_target_delay(handler->table);
    bool lonely = handler->lonely;

    if (handler->n_handed) {
        upcall_stats_add(&handler->stats, UPCALL_STAT_BUSY_USEC,
                         upcall_now_usec() - handler->handed_at);
    }
    handler->in_batch = true;
    handler->n_handed = handler->next_msg = 0;
    upcall_reader_begin(&handler->reader, target);
    upcall_sched_set_round_goal(handler->sched, target / UPCALL_ROUNDS);

    upcall_handler_finish_batch(handler);

    /* Without this rule, an upcall that comes alone takes four calls for
     * receiving and not three (test-upcall-calls). */
    handler->lonely = false;
    handler->reader.halted = upcall_ports_is_halted(handler->table);
    if (!handler->reader.halted
        && (!lonely || handler->events.n_channels
            || upcall_sched_n_queued(handler->sched))) {
        size_t n = upcall_handler_take_ready(handler);

        handler->lonely = handler->woken && n == 1;
        if (!n && !upcall_sched_n_queued(handler->sched)) {
            upcall_handler_take_others(handler);
        }
    }
    upcall_handler_give_back(handler);
    upcall_handler_plan(handler);
}

static void
upcall_handler_end_batch(struct upcall_handler *handler)
{
    if (!handler->offered) {
        upcall_handler_offer(handler);
    }
    upcall_sched_kick(handler->sched, 0);
    if (handler->n_handed) {
        upcall_stats_add(&handler->stats, (UPCALL_STAT_BATCHES
                                           + log_2_floor(handler->n_handed)),
                         1);
    } else if (handler->woken) {
        COVERAGE_INC(upcall_empty_wakeup);
        upcall_stats_add(&handler->stats, UPCALL_STAT_EMPTY_WAKEUPS, 1);
    }
    handler->woken = false;
    handler->in_batch = false;
}

/* Refuses message 'rx', received on 'channel', if it is not from the
 * kernel. */
static bool
upcall_handler_refuse(struct upcall_handler *handler,
                      const struct upcall_channel *channel,
                      const struct upcall_rx *rx)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

    if (OVS_UNLIKELY(rx->source == channel->pid)) {
        return true;            /* upcall_channel_end_adopted(). */
    } else if (OVS_LIKELY(upcall_msg_is_from_kernel(rx->source))) {
        return false;
    }
    upcall_stats_add(&handler->stats, UPCALL_STAT_REFUSED, 1);
    VLOG_WARN_RL(&rl, "%s: refusing a message on the channel of port %s that "
                 "comes from netlink port id %"PRIu32", not from the kernel",
                 handler->table->name,
                 channel->name ? channel->name : "(none)", rx->source);
    return true;
}

/* True if a flow of a previous run recirculated the packet of 'view'
 * (upcall_table_set_first_recirc_id()). */
static bool
upcall_handler_is_outdated(const struct upcall_handler *handler,
                           const struct upcall_view *view)
{
    uint32_t first, id;

    atomic_read_relaxed(&handler->table->first_recirc_id, &first);
    if (OVS_LIKELY(!first)) {
        return false;
    }
    id = upcall_view_recirc_id(view);
    return id > UPCALL_RECIRC_STATIC && id - first >= UPCALL_RECIRC_RANGE;
}

/* Parses the next message.  Returns false if it is not an upcall of the
 * datapath. */
static bool
upcall_handler_parse(struct upcall_handler *handler, struct upcall_view *view)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_table *table = handler->table;
    unsigned int i = handler->next_msg++;
    struct upcall_channel *channel = handler->reader.channels[i];
    const struct upcall_rx *rx = &handler->reader.rx[i];
    uint64_t waited, now;

    if (upcall_handler_refuse(handler, channel, rx)) {
        return false;
    }
    if (rx->truncated
        || upcall_msg_parse(rx->data, rx->len, table->packet_family, view)) {
        upcall_count(&channel->malformed, 1);
        VLOG_WARN_RL(&rl, "%s: dropping malformed upcall of %"PRIuSIZE" "
                     "bytes%s on the channel of port %s", table->name, rx->len,
                     rx->truncated ? " (truncated)" : "",
                     channel->name ? channel->name : "(none)");
        return false;
    }
    if (view->dp_ifindex != table->dp_ifindex) {
        upcall_stats_add(&handler->stats, UPCALL_STAT_FOREIGN, 1);
        return false;
    }
    if (upcall_handler_is_outdated(handler, view)) {
        upcall_stats_add(&handler->stats, UPCALL_STAT_OUTDATED, 1);
        return false;
    }
    now = upcall_now_usec();
    if (!upcall_port_is_real(channel->port_no)
        && !upcall_channel_is_urgent(channel)) {
        upcall_ports_count_shared(table, view);
    }
    if (channel->senders == UPCALL_SENDERS_UNKNOWN) {
        channel->senders = (upcall_view_has_tunnel(view)
                            ? UPCALL_SENDERS_TUNNEL : UPCALL_SENDERS_ONE);
    }
    view->pid = channel->pid;
    waited = now - handler->reader.queued_at[i];
    if (!handler->n_handed) {
        handler->handed_at = now;
    }
    latency_hist_record(&channel->latency, waited);
    UPCALL_PROBE_HANDOUT(channel->port_no, handler->index, waited);
    return true;
}

int
upcall_handler_recv(struct upcall_handler *handler, struct upcall_view *view)
{
    struct upcall_handler *in_batch = upcall_handler_in_batch(handler);

    if (in_batch) {
        handler = in_batch;
    } else {
        upcall_handler_begin_batch(handler);
    }
    for (;;) {
        while (handler->next_msg < handler->reader.n_msgs) {
            if (upcall_handler_parse(handler, view)) {
                handler->n_handed++;
                upcall_stats_add(&handler->stats, UPCALL_STAT_UPCALLS, 1);
                return 0;
            }
        }
        /* A batch that has not taken its events must not look for others,
         * which would replace them, even if the table goes on now. */
        handler->reader.halted = (handler->reader.halted
                                  || upcall_ports_is_halted(handler->table));
        upcall_handler_look_again(handler);
        if (!upcall_reader_read(&handler->reader)) {
            upcall_handler_end_batch(handler);
            return EAGAIN;
        } else if (!handler->offered) {
            upcall_handler_offer(handler);
        }
    }
}

bool
upcall_handler_is_ready(const struct upcall_handler *handler, bool halted)
{
    const struct upcall_reader *reader = &handler->reader;
    const struct upcall_sched *lender
        = upcall_groups_overloaded(handler->groups, handler->group);

    /* The handler has to release the channels that it has read before it
     * sleeps. */
    return (handler->in_batch || handler->predecessor
            || (handler->events.n_channels && !halted)
            || upcall_reader_n(reader, UPCALL_STATE_SPARSE)
            || upcall_reader_n(reader, UPCALL_STATE_PARTIAL)
            || upcall_reader_n(reader, UPCALL_STATE_EMPTY)
            || upcall_reader_n(reader, UPCALL_STATE_SPENT)
            || upcall_sched_n_queued(handler->sched)
            || (lender && (!halted || upcall_sched_n_queued(lender))));
}

long long int
upcall_handler_retry_at(const struct upcall_handler *handler)
{
    return handler->reader.retry_at;
}

void
upcall_handler_get_stats(const struct upcall_handler *handler,
                         struct upcall_handler_stats *stats)
{
    upcall_stats_block_get(&handler->stats, stats);
}

void
upcall_handler_reset_stats(struct upcall_handler *handler)
{
    upcall_stats_block_reset(&handler->stats);
}
