/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ovs-thread.h"
#include "ovs/compat-util.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-turn.h"
#include "util.h"

/* Event data of other things than channels: serial numbers are never this
 * large. */
#define EVENT_RETIRE (UINT64_C(0xffffffff) << 32)
#define EVENT_KICK (EVENT_RETIRE | 1)
#define EVENT_CALL (EVENT_RETIRE | 2)
#define EVENT_LATCH (EVENT_RETIRE | 3)
#define EVENT_MASK (UINT64_C(0xffffffff) << 32)

/* 'due' counts in these fractions of a turn. */
#define DUE_ONE UINT64_C(1024)

/* The run queue has the channels that wait for their turn.  It serves them in
 * rounds.
 *
 * A channel of several senders (upcall-fq.h) has a weight, which is the number
 * of its senders with a backlog.  The queue gives the channel as many turns in
 * a round as its weight, spread evenly.  Turns that are due together become
 * one larger turn.  Because a channel has one owner at a time, its share is
 * limited to the work of one handler.
 *
 * The queue measures how long a round takes, and adapts the quantum of turns
 * to a goal (upcall-turn.h).
 *
 *      what                          written by            read by
 *      ---------------------------   -------------------   ------------------
 *      goal                          any handler           any thread
 *      quantum, pushed, popped       holder of the mutex   any thread
 *      everything else               holder of the mutex   holder of the mutex
 *
 * Reads without the mutex are relaxed and may return a slightly old number. */
struct upcall_queue {
    struct upcall_fifo light;   /* In order of turns; an urgent channel is
                                 * first. */
    struct upcall_fifo heavy;   /* Channels with a weight; only a few. */
    uint64_t round_end;         /* 'popped' at the end of the round. */
    uint64_t round_at;          /* Its start in microseconds, or 0. */
    atomic_uint64_t goal;       /* Microseconds of a round, or 0. */
    atomic_uint32_t quantum;    /* Upcalls in a turn of a channel without a
                                 * weight. */
    atomic_uint64_t pushed;     /* Light channels put in and taken out so
                                 * far, */
    atomic_uint64_t popped;     /* without the urgent one. */
};

struct upcall_sched {
    uint64_t id;
    uint32_t generation;
    int epoll_fd;
    int retire_fd;              /* eventfd, readable from retirement on. */
    int kick_fd;                /* eventfd, edge-triggered, never read. */

    /* On cache lines of their own, because all handlers write them. */
    PADDED_MEMBERS(CACHE_LINE_SIZE,
        atomic_uint32_t n_sleepers;
        atomic_uint32_t epoch;
        atomic_bool crowded;
        atomic_uint64_t looked_at;  /* Time in microseconds; no event from
                                     * before it waits. */
    );
    PADDED_MEMBERS(CACHE_LINE_SIZE,
        struct ovs_mutex mutex;
        struct upcall_queue queue;  /* Under the mutex, except as said
                                     * above. */
        bool retired OVS_GUARDED;
        atomic_uint64_t n_locks;    /* These are written with the mutex
                                     * held. */
        atomic_uint64_t n_contended;
        atomic_uint32_t n_queued;
    );
};

static atomic_uint64_t last_id = 0;

/* Number of channels. */
static size_t
upcall_queue_n(const struct upcall_queue *queue)
{
    return queue->light.n + queue->heavy.n;
}

static unsigned int
upcall_queue_quantum(const struct upcall_queue *queue)
{
    uint32_t quantum;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &queue->quantum),
                        &quantum);
    return quantum;
}

/* Initializes 'queue', which is all zeros. */
static void
upcall_queue_init(struct upcall_queue *queue)
{
    upcall_fifo_init(&queue->light);
    upcall_fifo_init(&queue->heavy);
    atomic_init(&queue->quantum, UPCALL_QUANTUM);
}

/* Frees the memory of the queue.  The caller takes all channels out first. */
static void
upcall_queue_uninit(struct upcall_queue *queue)
{
    upcall_fifo_uninit(&queue->light);
    upcall_fifo_uninit(&queue->heavy);
}

/* Decides when 'channel', which has a weight, has its next turn: between two
 * of its turns, as many other channels have turns as there are other channels
 * per sender.  Turns that have been due for longer than a round are
 * forgotten. */
static void
upcall_queue_set_due(const struct upcall_queue *queue,
                     struct upcall_channel *channel)
{
    uint64_t now = upcall_counter_read(&queue->popped) * DUE_ONE;
    uint64_t round = queue->light.n * DUE_ONE;
    uint64_t due = MIN(channel->due, now);

    due = MAX(due, now - MIN(now, round));
    channel->due = due + (round * MAX(channel->n_turns, 1)
                          / upcall_channel_weight(channel));
}

/* Puts 'channel' at the end, or at the head if it is urgent. */
static void
upcall_queue_push(struct upcall_queue *queue, struct upcall_channel *channel)
{
    if (upcall_channel_is_urgent(channel)) {
        upcall_fifo_push_front(&queue->light, channel);
    } else if (upcall_channel_weight(channel) > 1) {
        upcall_queue_set_due(queue, channel);
        upcall_fifo_push(&queue->heavy, channel);
    } else {
        upcall_fifo_push(&queue->light, channel);
        upcall_count(&queue->pushed, 1);
    }
}

/* Ends a round, if it is over, and adapts the quantum to the length of the
 * round. */
static void
upcall_queue_end_round(struct upcall_queue *queue)
{
    uint64_t pushed = upcall_counter_read(&queue->pushed);
    uint64_t popped = upcall_counter_read(&queue->popped);
    unsigned int old = upcall_queue_quantum(queue);
    unsigned int quantum = UPCALL_QUANTUM;
    uint64_t goal;

    atomic_read_relaxed(&queue->goal, &goal);
    if (goal && !queue->light.n) {
        /* Nothing waits, so the quantum does not determine the length of the
         * next round. */
        quantum = upcall_turn_quantum(old, 0, goal);
        queue->round_at = 0;
    } else if (popped - queue->round_end >= UINT64_MAX / 2) {
        return;
    } else if (goal) {
        uint64_t now = upcall_now_usec();

        quantum = (queue->round_at
                   ? upcall_turn_quantum(old, now - queue->round_at, goal)
                   : old);
        queue->round_at = now;
    }
    queue->round_end = pushed;
    if (quantum != old) {
        atomic_store_relaxed(&queue->quantum, quantum);
    }
}

/* The number of turns, of 'quantum', that fill a batch. */
static unsigned int
turns_of_batch(unsigned int quantum)
{
    return UPCALL_TURNS * UPCALL_QUANTUM / quantum;
}

/* Takes the channel with a weight whose turn is due first. */
static struct upcall_channel *
upcall_queue_pop_first_due(struct upcall_queue *queue)
{
    struct upcall_channel *first = upcall_fifo_pop(&queue->heavy);

    for (size_t n = queue->heavy.n; n > 0; n--) {
        struct upcall_channel *channel = upcall_fifo_pop(&queue->heavy);

        if (channel->due < first->due) {
            struct upcall_channel *later = first;

            first = channel;
            channel = later;
        }
        upcall_fifo_push(&queue->heavy, channel);
    }
    return first;
}

/* Takes a channel that has a weight, if it is its turn, and multiplies
 * '*quantum' by the number of turns that are due.  Otherwise returns NULL. */
static struct upcall_channel *
upcall_queue_pop_heavy(struct upcall_queue *queue, unsigned int *quantum)
{
    const struct upcall_channel *light = upcall_fifo_first(&queue->light);
    uint32_t max = turns_of_batch(*quantum);
    struct upcall_channel *channel;

    if (!queue->heavy.n || (light && upcall_channel_is_urgent(light))) {
        return NULL;
    }
    channel = upcall_queue_pop_first_due(queue);
    channel->n_turns = max;
    if (light) {
        uint64_t now = upcall_counter_read(&queue->popped) * DUE_ONE;

        if (channel->due > now) {
            upcall_fifo_push(&queue->heavy, channel);
            return NULL;
        }
        /* Several turns may have become due while a handler owned the
         * channel. */
        channel->n_turns = MIN(max, 1 + ((now - channel->due)
                                         * upcall_channel_weight(channel)
                                         / (queue->light.n * DUE_ONE)));
    }
    *quantum *= channel->n_turns;
    return channel;
}

/* Takes the first of the other channels. */
static struct upcall_channel *
upcall_queue_pop_light(struct upcall_queue *queue)
{
    struct upcall_channel *channel = upcall_fifo_pop(&queue->light);

    if (channel && !upcall_channel_is_urgent(channel)) {
        upcall_count(&queue->popped, 1);
        upcall_queue_end_round(queue);
    }
    return channel;
}

/* Takes the channel whose turn it is, or returns NULL.  Stores how many
 * upcalls the turn may take. */
static struct upcall_channel *
upcall_queue_pop(struct upcall_queue *queue, unsigned int *quantum)
{
    struct upcall_channel *channel;

    *quantum = upcall_queue_quantum(queue);
    channel = upcall_queue_pop_heavy(queue, quantum);
    return channel ? channel : upcall_queue_pop_light(queue);
}

/* Takes any channel, or returns NULL. */
static struct upcall_channel *
upcall_queue_drain(struct upcall_queue *queue)
{
    struct upcall_channel *channel = upcall_fifo_pop(&queue->light);

    return channel ? channel : upcall_fifo_pop(&queue->heavy);
}

static int
upcall_sched_add_fd(struct upcall_sched *sched, int fd, uint32_t events,
                    uint64_t data)
{
    struct epoll_event event = { .events = events, .data.u64 = data };

    return epoll_ctl(sched->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

int
upcall_sched_create(uint32_t generation, struct upcall_sched **schedp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct upcall_sched *sched;
    int error;

    *schedp = NULL;
    sched = xzalloc_cacheline(sizeof *sched);
    sched->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    sched->retire_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sched->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sched->epoll_fd < 0 || sched->retire_fd < 0 || sched->kick_fd < 0) {
        error = errno;
        goto error;
    }
    error = upcall_sched_add_fd(sched, sched->retire_fd, EPOLLIN,
                                EVENT_RETIRE);
    if (!error) {
        error = upcall_sched_add_fd(sched, sched->kick_fd, EPOLLIN | EPOLLET,
                                    EVENT_KICK);
    }
    if (error) {
        goto error;
    }

    atomic_add_relaxed(&last_id, 1, &sched->id);
    sched->id++;
    sched->generation = generation;
    atomic_init(&sched->epoch, 1);
    ovs_mutex_init(&sched->mutex);
    upcall_queue_init(&sched->queue);
    *schedp = sched;
    return 0;

error:
    if (sched->kick_fd >= 0) {
        close(sched->kick_fd);
    }
    if (sched->retire_fd >= 0) {
        close(sched->retire_fd);
    }
    if (sched->epoll_fd >= 0) {
        close(sched->epoll_fd);
    }
    free_cacheline(sched);
    return error;
}

void
upcall_sched_destroy(struct upcall_sched *sched)
{
    struct upcall_channel *channel;

    if (!sched) {
        return;
    }
    while ((channel = upcall_queue_drain(&sched->queue)) != NULL) {
        upcall_channel_unref(channel);
    }
    upcall_queue_uninit(&sched->queue);
    ovs_mutex_destroy(&sched->mutex);
    close(sched->kick_fd);
    close(sched->retire_fd);
    close(sched->epoll_fd);
    free_cacheline(sched);
}

int
upcall_sched_epoll_fd(const struct upcall_sched *sched)
{
    return sched->epoll_fd;
}

int
upcall_sched_add_call_fd(struct upcall_sched *sched, int fd)
{
    return upcall_sched_add_fd(sched, fd, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
                               EVENT_CALL);
}

/* Encode 'channel' as event data, and decode event data. */
static uint64_t
event_data(const struct upcall_channel *channel)
{
    return (uint64_t) channel->serial << 32 | channel->port_no;
}

static struct upcall_event
event_from_data(uint64_t data)
{
    return (struct upcall_event) { .port_no = data, .serial = data >> 32 };
}

int
upcall_sched_add(struct upcall_sched *sched,
                 const struct upcall_channel *channel)
{
    return upcall_sched_add_fd(sched, upcall_channel_fd(channel),
                               EPOLLIN | EPOLLONESHOT, event_data(channel));
}

void
upcall_sched_del(struct upcall_sched *sched,
                 const struct upcall_channel *channel)
{
    epoll_ctl(sched->epoll_fd, EPOLL_CTL_DEL, upcall_channel_fd(channel),
              NULL);
}

void
upcall_sched_arm(struct upcall_sched *sched,
                 const struct upcall_channel *channel)
{
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLONESHOT,
        .data.u64 = event_data(channel),
    };

    /* Fails if the port has gone meanwhile, which does no harm. */
    epoll_ctl(sched->epoll_fd, EPOLL_CTL_MOD, upcall_channel_fd(channel),
              &event);
}

static void
ring(int fd)
{
    static const uint64_t one = 1;

    ovs_compat_ignore(write(fd, &one, sizeof one));
}

void
upcall_sched_retire(struct upcall_sched *sched,
                    void (*release)(struct upcall_channel *, void *aux),
                    void *aux)
{
    struct upcall_channel *channel;
    struct upcall_fifo queue;

    upcall_fifo_init(&queue);
    ovs_mutex_lock(&sched->mutex);
    sched->retired = true;
    while ((channel = upcall_queue_drain(&sched->queue)) != NULL) {
        upcall_fifo_push(&queue, channel);
    }
    atomic_store(&sched->n_queued, 0);
    ovs_mutex_unlock(&sched->mutex);

    while ((channel = upcall_fifo_pop(&queue)) != NULL) {
        release(channel, aux);
    }
    upcall_fifo_uninit(&queue);
    ring(sched->retire_fd);
}

int
upcall_sched_add_latch(struct upcall_sched *sched, int fd)
{
    int error = upcall_sched_add_fd(sched, fd, EPOLLIN, EVENT_LATCH);

    return error == EEXIST ? 0 : error;
}

uint64_t
upcall_sched_id(const struct upcall_sched *sched)
{
    return sched->id;
}

bool
upcall_sched_sleep_begin(struct upcall_sched *sched)
{
    uint32_t orig, n_queued;

    /* Both sequentially consistent: pairs with upcall_sched_kick(). */
    atomic_add(&sched->n_sleepers, 1, &orig);
    atomic_read(&sched->n_queued, &n_queued);
    return !n_queued;
}

void
upcall_sched_sleep_end(struct upcall_sched *sched)
{
    uint32_t orig;

    atomic_sub(&sched->n_sleepers, 1, &orig);
}

uint32_t
upcall_sched_n_sleepers(const struct upcall_sched *sched)
{
    uint32_t n;

    atomic_read(CONST_CAST(atomic_uint32_t *, &sched->n_sleepers), &n);
    return n;
}

static void
upcall_sched_get_events(const struct epoll_event *epoll_events, size_t n,
                        struct upcall_events *events)
{
    memset(events, 0, sizeof *events);
    for (size_t i = 0; i < n; i++) {
        uint64_t data = epoll_events[i].data.u64;

        if (data == EVENT_LATCH) {
            events->latched = true;
        } else if (data == EVENT_CALL) {
            events->called = true;
        } else if ((data & EVENT_MASK) == EVENT_MASK) {
            events->kicked = true;
        } else {
            events->channels[events->n_channels++] = event_from_data(data);
        }
    }
}

/* Requests at most 'max' events and stores them in 'events'.  'n_self' is 1 if
 * the caller counts as a sleeper, otherwise 0.  Returns 0 or a positive errno
 * value. */
static int
upcall_sched_ask(struct upcall_sched *sched, uint32_t n_self, int max,
                 int timeout, struct upcall_events *events)
{
    struct epoll_event epoll_events[UPCALL_EVENTS];
    uint64_t now = upcall_now_usec();
    int n = epoll_wait(sched->epoll_fd, epoll_events, max, timeout);
    int error = n < 0 ? errno : 0;
    bool crowded = n == UPCALL_EVENTS;

    upcall_sched_get_events(epoll_events, MAX(n, 0), events);
    events->more = n == max;
    if (timeout) {
        /* The handler went to sleep because nothing had arrived. */
        events->since = upcall_now_usec();
    } else {
        atomic_read_relaxed(&sched->looked_at, &events->since);
    }
    if (!error && (n < max || timeout)) {
        atomic_store_relaxed(&sched->looked_at, now);
    }
    if (!error && (n < max || upcall_sched_n_sleepers(sched) > n_self)) {
        uint32_t orig;

        atomic_add_relaxed(&sched->epoch, 1, &orig);
    }
    if (crowded != upcall_sched_is_crowded(sched)) {
        atomic_store_relaxed(&sched->crowded, crowded);
    }
    return error;
}

/* How many events a handler should take.  'n_self' is 1 if the handler counts
 * as a sleeper, otherwise 0. */
static int
upcall_sched_max_events(const struct upcall_sched *sched, uint32_t n_self)
{
    return upcall_sched_n_sleepers(sched) > n_self ? 1 : UPCALL_EVENTS;
}

int
upcall_sched_wait_counted(struct upcall_sched *sched, int timeout,
                          struct upcall_events *events)
{
    return upcall_sched_ask(sched, 1, upcall_sched_max_events(sched, 1),
                            timeout, events);
}

int
upcall_sched_wait(struct upcall_sched *sched, int timeout,
                  struct upcall_events *events)
{
    int error = 0;

    memset(events, 0, sizeof *events);
    if (upcall_sched_sleep_begin(sched)) {
        error = upcall_sched_wait_counted(sched, timeout, events);
    }
    upcall_sched_sleep_end(sched);
    if (upcall_sched_n_queued(sched)) {
        events->kicked = true;
    }
    return error;
}

void
upcall_sched_poll(struct upcall_sched *sched, struct upcall_events *events)
{
    upcall_sched_ask(sched, 0, upcall_sched_max_events(sched, 0), 0, events);
}

void
upcall_sched_poll_for_others(struct upcall_sched *sched, bool one,
                             struct upcall_events *events)
{
    upcall_sched_ask(sched, 0, one ? 1 : UPCALL_EVENTS, 0, events);
    if (events->kicked) {
        upcall_sched_kick(sched, 0);
        events->kicked = false;
    }
}

static void
upcall_sched_lock(struct upcall_sched *sched)
    OVS_ACQUIRES(sched->mutex)
{
    if (ovs_mutex_trylock(&sched->mutex)) {
        ovs_mutex_lock(&sched->mutex);
        upcall_count(&sched->n_contended, 1);
    }
    upcall_count(&sched->n_locks, 1);
}

bool
upcall_sched_push(struct upcall_sched *sched, struct upcall_channel *channel,
                  uint32_t token)
{
    bool retired;

    upcall_sched_lock(sched);
    retired = sched->retired;
    if (!retired) {
        upcall_channel_enqueue(channel, token,
                               upcall_token_queue(sched->generation));
        upcall_queue_push(&sched->queue, channel);
        atomic_store(&sched->n_queued, upcall_queue_n(&sched->queue));
    }
    ovs_mutex_unlock(&sched->mutex);
    return !retired;
}

void
upcall_sched_adopt(struct upcall_sched *sched, struct upcall_channel *channel)
{
    upcall_sched_lock(sched);
    if (!sched->retired
        && upcall_channel_adopt(channel,
                                upcall_token_queue(sched->generation))) {
        ovs_refcount_ref(&channel->refcount);
        upcall_queue_push(&sched->queue, channel);
        atomic_store(&sched->n_queued, upcall_queue_n(&sched->queue));
    }
    ovs_mutex_unlock(&sched->mutex);
    upcall_sched_kick(sched, 0);
}

struct upcall_channel *
upcall_sched_pop(struct upcall_sched *sched, uint32_t token,
                 unsigned int *quantum)
{
    unsigned int n;
    struct upcall_channel *channel;

    if (!upcall_sched_n_queued(sched)) {
        return NULL;
    }
    upcall_sched_lock(sched);
    channel = upcall_queue_pop(&sched->queue, &n);
    if (quantum) {
        *quantum = n;
    }
    atomic_store(&sched->n_queued, upcall_queue_n(&sched->queue));
    ovs_mutex_unlock(&sched->mutex);

    if (channel) {
        upcall_channel_dequeue(channel, upcall_token_queue(sched->generation),
                               token);
    }
    return channel;
}

void
upcall_sched_set_round_goal(struct upcall_sched *sched, uint64_t usec)
{
    uint64_t old;

    atomic_read_relaxed(&sched->queue.goal, &old);
    if (old != usec) {
        atomic_store_relaxed(&sched->queue.goal, usec);
    }
}

unsigned int
upcall_sched_quantum(const struct upcall_sched *sched)
{
    return upcall_queue_quantum(&sched->queue);
}

void
upcall_sched_kick(struct upcall_sched *sched, size_t share)
{
    uint32_t n_queued;

    /* Both sequentially consistent: pairs with upcall_sched_sleep_begin(). */
    atomic_read(&sched->n_queued, &n_queued);
    if (n_queued > share && upcall_sched_n_sleepers(sched)) {
        ring(sched->kick_fd);
    }
}

size_t
upcall_sched_n_queued(const struct upcall_sched *sched)
{
    uint32_t n;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &sched->n_queued), &n);
    return n;
}

size_t
upcall_sched_share(const struct upcall_sched *sched)
{
    return DIV_ROUND_UP(upcall_sched_n_queued(sched),
                        upcall_sched_n_sleepers(sched) + 1);
}

bool
upcall_sched_is_saturated(const struct upcall_sched *sched)
{
    return upcall_sched_n_queued(sched) && !upcall_sched_n_sleepers(sched);
}

bool
upcall_sched_is_crowded(const struct upcall_sched *sched)
{
    bool crowded;

    atomic_read_relaxed(CONST_CAST(atomic_bool *, &sched->crowded), &crowded);
    return crowded;
}

bool
upcall_sched_has_too_much(const struct upcall_sched *sched)
{
    uint32_t n_queued;

    /* Both sequentially consistent: see upcall-groups.h. */
    atomic_read(CONST_CAST(atomic_uint32_t *, &sched->n_queued), &n_queued);
    return ((n_queued || upcall_sched_is_crowded(sched))
            && !upcall_sched_n_sleepers(sched));
}

void
upcall_sched_get_locks(const struct upcall_sched *sched,
                       struct upcall_sched_locks *locks)
{
    locks->taken = upcall_counter_read(&sched->n_locks);
    locks->contended = upcall_counter_read(&sched->n_contended);
}

uint32_t
upcall_sched_epoch(const struct upcall_sched *sched)
{
    uint32_t epoch;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &sched->epoch), &epoch);
    return epoch;
}

uint64_t
upcall_sched_pushed(const struct upcall_sched *sched)
{
    return upcall_counter_read(&sched->queue.pushed);
}

uint64_t
upcall_sched_popped(const struct upcall_sched *sched)
{
    return upcall_counter_read(&sched->queue.popped);
}
