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
#include "upcall/upcall-clock.h"
#include "upcall/upcall-fifo.h"
#include "upcall/upcall-queue.h"
#include "upcall/upcall-refcount.h"
#include "util.h"

/* Event data of other things than channels: serial numbers are never this
 * large. */
#define EVENT_RETIRE (UINT64_C(0xffffffff) << 32)
#define EVENT_KICK (EVENT_RETIRE | 1)
#define EVENT_CALL (EVENT_RETIRE | 2)
#define EVENT_LATCH (EVENT_RETIRE | 3)
#define EVENT_MASK (UINT64_C(0xffffffff) << 32)

struct upcall_sched {
    struct ovs_refcount refcount;
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
        struct upcall_queue queue;  /* Under the mutex, except as its header
                                     * says. */
        bool retired OVS_GUARDED;
        atomic_uint64_t n_locks;    /* These are written with the mutex
                                     * held. */
        atomic_uint64_t n_contended;
        atomic_uint32_t n_queued;
    );
};

static atomic_uint64_t last_id = 0;

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
    ovs_refcount_init(&sched->refcount);
    atomic_init(&sched->n_sleepers, 0);
    atomic_init(&sched->epoch, 1);
    atomic_init(&sched->crowded, false);
    atomic_init(&sched->looked_at, 0);
    ovs_mutex_init(&sched->mutex);
    upcall_queue_init(&sched->queue);
    atomic_init(&sched->n_locks, 0);
    atomic_init(&sched->n_contended, 0);
    atomic_init(&sched->n_queued, 0);
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
upcall_sched_ref(struct upcall_sched *sched)
{
    ovs_refcount_ref(&sched->refcount);
}

void
upcall_sched_unref(struct upcall_sched *sched)
{
    struct upcall_channel *channel;

    if (!sched || !upcall_refcount_unref(&sched->refcount)) {
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
    upcall_queue_set_goal(&sched->queue, usec);
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
