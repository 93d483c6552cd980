/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-handler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coverage.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "upcall/upcall-engine.h"
#include "upcall/upcall-fifo.h"
#include "upcall/upcall-probes.h"
#include "upcall/upcall-refcount.h"
#include "upcall/upcall-sched.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_handler);

COVERAGE_DEFINE(upcall_empty_wakeup);
COVERAGE_DEFINE(upcall_overrun);

/* The most channels that the engine is asked to read at once: what a full batch
 * needs when each uses its turn up, and one more for the rest of an earlier
 * turn. */
#define UPCALL_READS (DIV_ROUND_UP(UPCALL_BATCH, UPCALL_QUANTUM) + 1)

/* How often a handler asks for events at the begin of a batch as long as all
 * that it gets are of channels for the run queue.  A bound, so that a crowd of
 * them keeps none from its work for long. */
#define UPCALL_LOOKS 8

/* A channel with a standing backlog has its backlog measured in one of this
 * many turns, so that it costs few system calls. */
#define UPCALL_SAMPLE_TURNS 16

struct upcall_handler {
    struct upcall_table *table;
    struct upcall_sched *sched;
    struct upcall_engine *engine;
    struct upcall_handler *predecessor; /* To be brought to its end, or NULL. */
    struct ovs_refcount refcount;
    uint32_t index;
    uint32_t generation;
    uint32_t token;             /* Owner word, see upcall-channel.h. */

    /* What a sleep ended with and the handler has not looked at. */
    struct upcall_events events;

    /* Channels that the handler owns.  Each entry is a reference. */
    struct upcall_fifo sparse;  /* Readable, with credit. */
    struct upcall_fifo rest;    /* Likewise, but they have had a part of their
                                 * turn: the batch was full. */
    struct upcall_fifo served;  /* Empty; kept until the batch is over. */
    struct upcall_fifo spent;   /* For the run queue; likewise. */

    /* The batch. */
    bool in_batch;
    bool woken;                 /* It follows a wake-up. */
    size_t share;               /* Channels to take from the run queue yet. */
    unsigned int n_handed;      /* Upcalls handed out. */
    unsigned int n_msgs;        /* Messages received. */
    unsigned int n_sparse;      /* Of these, from sparse channels that had no
                                 * more. */
    unsigned int next_msg;      /* First one not looked at. */
    unsigned int n_turns;       /* Turns used up, for sampling. */
    struct upcall_rx rx[UPCALL_BATCH];
    struct upcall_channel *channels[UPCALL_BATCH]; /* Of each message; a
                                                    * reference is in one of
                                                    * the lists. */

    /* Written by the handler's thread alone. */
    atomic_uint64_t wakeups;
    atomic_uint64_t empty_wakeups;
    atomic_uint64_t batches;
    atomic_uint64_t upcalls;
    atomic_uint64_t receives;
    atomic_uint64_t steals;
};

static uint64_t
now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000) + ts.tv_nsec / 1000;
}

int
upcall_handler_create(struct upcall_table *table, uint32_t index,
                      uint32_t generation, struct upcall_sched *sched,
                      const struct upcall_engine_class *class,
                      struct upcall_handler **handlerp)
{
    struct upcall_handler *handler;
    struct upcall_engine *engine;
    int error;

    *handlerp = NULL;
    error = class->create(UPCALL_BATCH, &engine);
    if (error) {
        return error;
    }

    handler = xzalloc(sizeof *handler);
    handler->table = table;
    upcall_sched_ref(sched);
    handler->sched = sched;
    handler->engine = engine;
    ovs_refcount_init(&handler->refcount);
    handler->index = index;
    handler->generation = generation;
    handler->token = upcall_token(generation, index);
    upcall_fifo_init(&handler->sparse);
    upcall_fifo_init(&handler->rest);
    upcall_fifo_init(&handler->served);
    upcall_fifo_init(&handler->spent);
    atomic_init(&handler->wakeups, 0);
    atomic_init(&handler->empty_wakeups, 0);
    atomic_init(&handler->batches, 0);
    atomic_init(&handler->upcalls, 0);
    atomic_init(&handler->receives, 0);
    atomic_init(&handler->steals, 0);
    *handlerp = handler;
    return 0;
}

void
upcall_handler_ref(struct upcall_handler *handler)
{
    ovs_refcount_ref(&handler->refcount);
}

static void
fifo_destroy(struct upcall_fifo *fifo)
{
    struct upcall_channel *channel;

    while ((channel = upcall_fifo_pop(fifo)) != NULL) {
        upcall_channel_unref(channel);
    }
    upcall_fifo_uninit(fifo);
}

void
upcall_handler_unref(struct upcall_handler *handler)
{
    if (handler && upcall_refcount_unref(&handler->refcount)) {
        fifo_destroy(&handler->sparse);
        fifo_destroy(&handler->rest);
        fifo_destroy(&handler->served);
        fifo_destroy(&handler->spent);
        upcall_handler_unref(handler->predecessor);
        handler->engine->class->destroy(handler->engine);
        upcall_sched_unref(handler->sched);
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
                    uint32_t *watches)
{
    struct upcall_events *events = &handler->events;
    int error = upcall_sched_wait(handler->sched, timeout, events);

    *ready = events->n_channels || events->kicked;
    *watches = events->watches;
    if (*ready && timeout) {
        upcall_count(&handler->wakeups, 1);
        handler->woken = true;
    }
    return error;
}

/* Lets go of 'channel', whose next upcall is an event again. */
static void
upcall_handler_let_go(struct upcall_handler *handler,
                      struct upcall_channel *channel)
{
    if (!upcall_channel_is_dead(channel)) {
        upcall_channel_pass(channel, handler->token, 0);
        upcall_sched_arm(handler->sched, channel);

        /* A new set of handlers has the channel armed from its beginning on,
         * but one of them may have seen the event before the channel was let
         * go, and left it.  Reading the generation after the owner word was
         * written pairs with writing the generation before handlers of the new
         * set read the word: one of the two sees the other. */
        if (!upcall_table_is_current__(handler->table, handler->generation)) {
            upcall_table_arm__(handler->table, channel);
        }
    }
    upcall_channel_unref(channel);
}

/* Puts 'channel' at the end of the run queue. */
static void
upcall_handler_enqueue(struct upcall_handler *handler,
                       struct upcall_channel *channel)
{
    if (upcall_channel_is_dead(channel)
        || !upcall_sched_push(handler->sched, channel, handler->token)) {
        upcall_handler_let_go(handler, channel);
    }
}

/* Lets go of the channels that the last batch has served. */
static void
upcall_handler_release(struct upcall_handler *handler)
{
    struct upcall_channel *channel;

    while ((channel = upcall_fifo_pop(&handler->served)) != NULL) {
        upcall_handler_let_go(handler, channel);
    }

    uint64_t now = upcall_fifo_is_empty(&handler->spent) ? 0 : now_usec();
    while ((channel = upcall_fifo_pop(&handler->spent)) != NULL) {
        atomic_store_relaxed(&channel->ready_at, now);
        upcall_handler_enqueue(handler, channel);
    }
}

void
upcall_handler_set_predecessor(struct upcall_handler *handler,
                               struct upcall_handler *predecessor)
{
    handler->predecessor = predecessor;
}

unsigned int
upcall_handler_abandon(struct upcall_handler *handler)
{
    unsigned int n_lost = handler->n_msgs - handler->next_msg;
    struct upcall_channel *channel;

    if (handler->predecessor) {
        n_lost += upcall_handler_abandon(handler->predecessor);
        upcall_handler_unref(handler->predecessor);
        handler->predecessor = NULL;
    }
    while ((channel = upcall_fifo_pop(&handler->sparse))
           || (channel = upcall_fifo_pop(&handler->rest))
           || (channel = upcall_fifo_pop(&handler->served))
           || (channel = upcall_fifo_pop(&handler->spent))) {
        upcall_handler_let_go(handler, channel);
    }
    handler->n_msgs = handler->next_msg = 0;
    handler->in_batch = false;
    return n_lost;
}

/* Finds the handler whose batch is to be brought to its end: 'handler' or one
 * that it replaced, the earliest first.  Returns NULL if none is in a batch;
 * then those that 'handler' replaced are done. */
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

/* Puts 'channel', which became readable and now belongs to the handler, where
 * its credit says. */
static void
upcall_handler_activate(struct upcall_handler *handler,
                        struct upcall_channel *channel)
{
    struct upcall_sched *sched = handler->sched;

    if (upcall_turn_activate(&channel->turn, upcall_sched_pushed(sched),
                             upcall_sched_popped(sched),
                             upcall_sched_lulls(sched))) {
        upcall_fifo_push(&handler->sparse, channel);
    } else {
        upcall_handler_enqueue(handler, channel);
    }
}

/* Takes the channels that 'events' name. */
static void
upcall_handler_take(struct upcall_handler *handler,
                    struct upcall_events *events)
{
    uint64_t now = events->n_channels ? now_usec() : 0;

    for (size_t i = 0; i < events->n_channels; i++) {
        uint64_t data = events->channels[i];
        struct upcall_channel *channel;

        channel = upcall_table_lookup__(handler->table,
                                        upcall_event_port_no(data),
                                        upcall_event_serial(data));
        if (!channel || !ovs_refcount_try_ref_rcu(&channel->refcount)) {
            /* The event outlived its channel. */
            continue;
        }
        if (upcall_channel_take(channel, handler->token)) {
            atomic_store_relaxed(&channel->ready_at, now);
            upcall_handler_activate(handler, channel);
        } else {
            upcall_channel_unref(channel);
        }
    }
    memset(events, 0, sizeof *events);
}

bool
upcall_handler_is_in_batch(struct upcall_handler *handler)
{
    return upcall_handler_in_batch(handler) != NULL;
}

static void
upcall_handler_begin_batch(struct upcall_handler *handler)
{
    handler->in_batch = true;
    handler->n_handed = 0;
    handler->n_msgs = handler->next_msg = handler->n_sparse = 0;
    handler->engine->class->begin(handler->engine);

    upcall_handler_release(handler);
    for (int i = 0; i < UPCALL_LOOKS; i++) {
        bool more;

        if (!handler->events.n_channels) {
            upcall_sched_poll(handler->sched, &handler->events);
        }
        more = handler->events.n_channels == UPCALL_EVENTS;
        upcall_handler_take(handler, &handler->events);
        if (!more || !upcall_fifo_is_empty(&handler->sparse)) {
            break;
        }
    }
    handler->share = upcall_sched_share(handler->sched);
}

static void
upcall_handler_end_batch(struct upcall_handler *handler)
{
    upcall_sched_kick(handler->sched);
    if (handler->n_handed) {
        upcall_count(&handler->batches, 1);
    } else if (handler->woken) {
        COVERAGE_INC(upcall_empty_wakeup);
        upcall_count(&handler->empty_wakeups, 1);
    }
    handler->woken = false;
    handler->in_batch = false;
}

/* Takes the first channel of the run queue that can pay, and begins its turn.
 * Channels that still owe for large packets go to the end of the queue. */
static struct upcall_channel *
upcall_handler_pop(struct upcall_handler *handler)
{
    struct upcall_sched *sched = handler->sched;

    while (handler->share) {
        struct upcall_channel *channel;

        handler->share--;
        channel = upcall_sched_pop(sched, handler->token);
        if (!channel
            || upcall_channel_is_dead(channel)
            || upcall_turn_begin(&channel->turn, upcall_sched_pushed(sched))) {
            return channel;
        }
        upcall_fifo_push(&handler->spent, channel);
    }
    return NULL;
}

/* A read to be made. */
struct choice {
    struct upcall_channel *channel;
    bool sparse;                /* It is one of the sparse ones. */
    unsigned int max;           /* Upcalls to ask for. */
};

/* Room for upcalls of channels that are not sparse, when 'n_asked' are asked
 * for already.  What sparse ones sent does not wait for a full batch of others:
 * all of a batch are processed together. */
static unsigned int
upcall_handler_room(const struct upcall_handler *handler, bool crowded,
                    unsigned int n_asked)
{
    unsigned int limit = UPCALL_BATCH;

    if (crowded && handler->n_sparse) {
        limit = MIN(limit, handler->n_sparse + UPCALL_QUANTUM);
    }
    return limit - MIN(limit, handler->n_msgs + n_asked);
}

/* Chooses the channel to read next, when 'n_asked' upcalls are asked for
 * already, by '*last' and others before it (a null pointer if there are none).
 * Returns false if there is nothing to read, or if that depends on how much
 * the reads chosen before take. */
static bool
upcall_handler_next(struct upcall_handler *handler, unsigned int n_asked,
                    const struct choice *last, struct choice *choice)
{
    bool crowded = upcall_sched_n_queued(handler->sched) > 0;
    bool others = ((crowded && handler->share)
                   || !upcall_fifo_is_empty(&handler->rest));
    unsigned int free = UPCALL_BATCH - handler->n_msgs;
    unsigned int room = upcall_handler_room(handler, crowded, n_asked);
    struct upcall_channel *channel = NULL;

    choice->sparse = false;
    if (!upcall_fifo_is_empty(&handler->sparse)) {
        /* What sparse channels leave to others. */
        unsigned int left = others ? UPCALL_QUANTUM : 0;

        if (free > n_asked + left) {
            room = free - n_asked - left;
            choice->sparse = true;
            channel = upcall_fifo_pop(&handler->sparse);
        } else if (last && free > left) {
            return false;
        }
    }
    if (!channel && last && last->sparse && crowded) {
        return false;
    }
    if (!channel && room) {
        channel = upcall_fifo_pop(&handler->rest);
        if (!channel) {
            channel = upcall_handler_pop(handler);
        }
        if (!channel) {
            choice->sparse = true;
            channel = upcall_fifo_pop(&handler->sparse);
        }
        if (!channel && !last && !crowded) {
            choice->sparse = false;
            channel = upcall_fifo_pop(&handler->spent);
            if (channel) {
                upcall_turn_begin(&channel->turn,
                                  upcall_sched_pushed(handler->sched));
            }
        }
    }
    choice->channel = channel;
    if (channel) {
        choice->max = MIN(room, upcall_turn_allowance(&channel->turn));
    }
    return channel != NULL;
}

/* Says in 's' which channel it is, what it lost and what can be done.  The rate
 * limit works in front of the datapath, a meter only on packets that match a
 * flow; only another dispatch mode keeps the ports of a CPU apart. */
static void
upcall_handler_format_loss(const struct upcall_channel *channel,
                           uint64_t n_lost, struct ds *s)
{
    bool is_port = upcall_port_is_real(channel->port_no);

    ds_put_cstr(s, "lost packet on port channel ");
    if (is_port) {
        ds_put_format(s, "%"PRIu32" ", channel->port_no);
    }
    ds_put_format(s, "(%s): it dropped %"PRIu64" upcalls so far, which came "
                  "faster than handlers take them; limit what %s "
                  "(Interface column ingress_policing_kpkts_rate; meters, if "
                  "flows send to the controller) or raise "
                  "other_config:n-handler-threads",
                  channel->name ? channel->name : "no port", n_lost,
                  is_port ? "the port sends" : "ports send");
    if (upcall_port_is_cpu(channel->port_no)) {
        ds_put_cstr(s, ", or keep ports apart by "
                    "other_config:upcall-dispatch=per-port");
    }
}

static void
upcall_handler_report_overrun(struct upcall_channel *channel,
                              const char *dp_name, unsigned int n)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct upcall_channel_stats stats;

    COVERAGE_ADD(upcall_overrun, n);
    upcall_count(&channel->overruns, n);
    UPCALL_PROBE_LOSS(channel->port_no, n);
    if (!VLOG_DROP_WARN(&rl)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        upcall_channel_get_stats(channel, &stats);
        upcall_handler_format_loss(channel, stats.lost, &s);
        VLOG_WARN("%s: %s", dp_name, ds_cstr(&s));
        ds_destroy(&s);
    }
}

/* Accounts for what 'read' took as chosen, messages that begin at 'n_msgs', and
 * puts the channel on the list where it belongs now. */
static void
upcall_handler_account(struct upcall_handler *handler,
                       const struct choice *choice,
                       const struct upcall_read *read, const char *dp_name)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct upcall_channel *channel = choice->channel;
    uint32_t home = handler->index + 1;
    size_t n_bytes = 0;
    uint32_t last;

    for (unsigned int i = 0; i < read->n; i++) {
        n_bytes += handler->rx[handler->n_msgs].len;
        handler->channels[handler->n_msgs++] = channel;
    }
    handler->n_sparse += choice->sparse && read->empty ? read->n : 0;
    upcall_count(&channel->received, read->n);
    upcall_turn_spend(&channel->turn, read->n, n_bytes);
    UPCALL_PROBE_RECEIVE(channel->port_no, read->n, n_bytes, read->empty);

    atomic_read_relaxed(&channel->home, &last);
    if (last != home) {
        atomic_store_relaxed(&channel->home, home);
        if (last) {
            upcall_count(&handler->steals, 1);
        }
    }
    if (read->overruns) {
        upcall_handler_report_overrun(channel, dp_name, read->overruns);
    }
    if (read->error) {
        VLOG_WARN_RL(&rl, "%s: receiving upcalls of port %s failed (%s); "
                     "trying again when more arrive", dp_name,
                     channel->name ? channel->name : "(none)",
                     ovs_strerror(read->error));
    }

    if (read->empty && read->n && !choice->sparse
        && upcall_sched_is_saturated(handler->sched)) {
        upcall_fifo_push(&handler->spent, channel);
    } else if (read->empty || read->error) {
        upcall_fifo_push(&handler->served, channel);
    } else if (upcall_turn_has_credit(&channel->turn)) {
        upcall_fifo_push(&handler->rest, channel);
    } else {
        if (handler->n_turns++ % UPCALL_SAMPLE_TURNS == 0) {
            upcall_channel_sample_backlog(channel);
        }
        upcall_fifo_push(&handler->spent, channel);
    }
}

/* Reads from the channels whose turn it is.  Returns false if there is none, or
 * no room. */
static bool
upcall_handler_serve(struct upcall_handler *handler, const char *dp_name)
{
    struct choice choices[UPCALL_READS];
    struct upcall_read reads[UPCALL_READS];
    unsigned int n_asked = 0;
    bool seen_dead = false;
    size_t n = 0;

    while (n < UPCALL_READS && handler->n_msgs + n_asked < UPCALL_BATCH) {
        struct choice *choice = &choices[n];

        if (!upcall_handler_next(handler, n_asked, n ? &choices[n - 1] : NULL,
                                 choice)) {
            break;
        } else if (upcall_channel_is_dead(choice->channel)) {
            /* Dropped at the start of the next batch: messages of this one may
             * still refer to it. */
            upcall_fifo_push(&handler->served, choice->channel);
            seen_dead = true;
            continue;
        }
        reads[n++] = (struct upcall_read) {
            .fd = upcall_channel_fd(choice->channel), .max = choice->max,
        };
        n_asked += choice->max;
    }
    if (!n) {
        return seen_dead;
    }

    upcall_count(&handler->receives,
                 handler->engine->class->read(handler->engine, reads, n,
                                              &handler->rx[handler->n_msgs]));
    for (size_t i = 0; i < n; i++) {
        upcall_handler_account(handler, &choices[i], &reads[i], dp_name);
    }
    return true;
}

/* Parses the next message.  Returns false if it is not an upcall of the
 * datapath. */
static bool
upcall_handler_parse(struct upcall_handler *handler, uint16_t packet_family,
                     int dp_ifindex, const char *dp_name,
                     struct upcall_view *view)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    unsigned int i = handler->next_msg++;
    struct upcall_channel *channel = handler->channels[i];
    const struct upcall_rx *rx = &handler->rx[i];
    uint64_t ready_at, waited;

    if (rx->truncated
        || upcall_msg_parse(rx->data, rx->len, packet_family, view)) {
        upcall_count(&channel->malformed, 1);
        VLOG_WARN_RL(&rl, "%s: dropping malformed upcall of %"PRIuSIZE" "
                     "bytes%s on the channel of port %s", dp_name, rx->len,
                     rx->truncated ? " (truncated)" : "",
                     channel->name ? channel->name : "(none)");
        return false;
    }
    if (view->dp_ifindex != dp_ifindex) {
        upcall_table_count_foreign__(handler->table);
        return false;
    }
    if (!upcall_port_is_real(channel->port_no)) {
        upcall_table_count_shared__(handler->table, view);
    }
    atomic_read_relaxed(&channel->ready_at, &ready_at);
    waited = now_usec() - ready_at;
    latency_hist_record(&channel->latency, waited);
    UPCALL_PROBE_HANDOUT(channel->port_no, handler->index, waited);
    return true;
}

int
upcall_handler_recv(struct upcall_handler *handler, uint16_t packet_family,
                    int dp_ifindex, const char *dp_name,
                    struct upcall_view *view)
{
    struct upcall_handler *in_batch = upcall_handler_in_batch(handler);

    if (in_batch) {
        handler = in_batch;
    } else {
        upcall_handler_begin_batch(handler);
    }
    for (;;) {
        while (handler->next_msg < handler->n_msgs) {
            if (upcall_handler_parse(handler, packet_family, dp_ifindex,
                                     dp_name, view)) {
                handler->n_handed++;
                upcall_count(&handler->upcalls, 1);
                return 0;
            }
        }
        if (!upcall_handler_serve(handler, dp_name)) {
            upcall_handler_end_batch(handler);
            return EAGAIN;
        }
    }
}

bool
upcall_handler_is_ready(const struct upcall_handler *handler)
{
    /* What was served has to be let go of before the handler sleeps. */
    return (handler->in_batch || handler->predecessor
            || handler->events.n_channels
            || !upcall_fifo_is_empty(&handler->sparse)
            || !upcall_fifo_is_empty(&handler->rest)
            || !upcall_fifo_is_empty(&handler->served)
            || !upcall_fifo_is_empty(&handler->spent)
            || upcall_sched_n_queued(handler->sched));
}

void
upcall_handler_get_stats(const struct upcall_handler *handler,
                         struct upcall_handler_stats *stats)
{
    stats->wakeups = upcall_counter_read(&handler->wakeups);
    stats->empty_wakeups = upcall_counter_read(&handler->empty_wakeups);
    stats->batches = upcall_counter_read(&handler->batches);
    stats->upcalls = upcall_counter_read(&handler->upcalls);
    stats->receives = upcall_counter_read(&handler->receives);
    stats->steals = upcall_counter_read(&handler->steals);
}

void
upcall_handler_reset_stats(struct upcall_handler *handler)
{
    atomic_store_relaxed(&handler->wakeups, 0);
    atomic_store_relaxed(&handler->empty_wakeups, 0);
    atomic_store_relaxed(&handler->batches, 0);
    atomic_store_relaxed(&handler->upcalls, 0);
    atomic_store_relaxed(&handler->receives, 0);
    atomic_store_relaxed(&handler->steals, 0);
}
