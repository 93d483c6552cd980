/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-handler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coverage.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "upcall/upcall-fifo.h"
#include "upcall/upcall-refcount.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_handler);

COVERAGE_DEFINE(upcall_empty_wakeup);
COVERAGE_DEFINE(upcall_overrun);

/* The most upcalls that a channel gives before the next one with a backlog
 * has its turn.  A quarter of a batch: four busy ports share a batch, and one
 * system call serves up to 16 upcalls. */
#define UPCALL_QUANTUM 16

/* The most events that one epoll_wait() takes.  What is left stays with epoll,
 * where other handlers find it: a handler that took an event for each of a
 * thousand ports would keep them all waiting for itself. */
#define UPCALL_EVENTS 16

/* The most overruns that one turn of a channel reports.  A flood can overrun
 * the socket again between two reads; the others have to have their turn. */
#define UPCALL_OVERRUNS 4

/* Space for one message: a frame of 64 kB, the flow key, user data and actions
 * (the kernel's limit for actions is 32 kB, but only the short ones of a
 * "userspace" action are ever sent up). */
#define UPCALL_MSG_SIZE (80 * 1024)

struct upcall_handler {
    struct upcall_table *table;
    struct upcall_wake *wake;
    struct ovs_refcount refcount;
    uint32_t generation;
    uint32_t token;             /* Owner word, see upcall-channel.h. */
    int epoll_fd;

    /* Edges that epoll gave and the handler has not looked at. */
    struct epoll_event events[UPCALL_EVENTS];
    int n_events;

    /* Channels that the handler owns.  Each entry is a reference. */
    struct upcall_fifo backlog; /* To be read. */
    struct upcall_fifo served;  /* Empty; kept until the batch is over. */

    /* The batch. */
    bool in_batch;
    bool woken;                 /* It follows a wake-up. */
    unsigned int n_handed;      /* Upcalls handed out. */
    unsigned int n_msgs;        /* Messages received. */
    unsigned int next_msg;      /* First one not looked at. */
    atomic_uint32_t n_pending;  /* 'n_msgs' - 'next_msg', for others. */
    char *buffer;               /* UPCALL_BATCH times UPCALL_MSG_SIZE. */
    struct mmsghdr msgs[UPCALL_BATCH];
    struct iovec iovs[UPCALL_BATCH];
    struct upcall_channel *channels[UPCALL_BATCH]; /* Of each message; a
                                                    * reference is in one of
                                                    * the lists. */

    /* Written by the handler's thread alone. */
    atomic_uint64_t wakeups;
    atomic_uint64_t empty_wakeups;
    atomic_uint64_t batches;
    atomic_uint64_t upcalls;
    atomic_uint64_t receives;
};

int
upcall_wake_create(struct upcall_wake **wakep)
{
    struct upcall_wake *wake;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    *wakep = NULL;
    if (fd < 0) {
        return errno;
    }
    *wakep = wake = xmalloc(sizeof *wake);
    wake->fd = fd;
    ovs_refcount_init(&wake->refcount);
    return 0;
}

void
upcall_wake_ring(struct upcall_wake *wake)
{
    static const uint64_t one = 1;

    ignore(write(wake->fd, &one, sizeof one));
}

void
upcall_wake_unref(struct upcall_wake *wake)
{
    if (wake && upcall_refcount_unref(&wake->refcount)) {
        close(wake->fd);
        free(wake);
    }
}

/* Maps the buffer of a batch.  Nearly all of it is never touched, because most
 * upcalls are small.  Under --mlockall the kernel would back all of it with
 * memory, 5 MB for each handler, so that lock is taken off again; a page that
 * was used once is then as good as any other. */
static char *
upcall_buffer_map(void)
{
    size_t size = UPCALL_BATCH * UPCALL_MSG_SIZE;
    void *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (buffer == MAP_FAILED) {
        return NULL;
    }
    if (memory_locked()) {
        munlock(buffer, size);
        madvise(buffer, size, MADV_DONTNEED);
    }
    return buffer;
}

int
upcall_handler_create(struct upcall_table *table, uint32_t index,
                      uint32_t generation, struct upcall_wake *wake,
                      struct upcall_handler **handlerp)
{
    struct upcall_handler *handler = xzalloc(sizeof *handler);
    struct epoll_event event = { .events = EPOLLIN,
                                 .data.u64 = UPCALL_EVENT_WAKE };
    int error;

    *handlerp = NULL;
    handler->buffer = upcall_buffer_map();
    if (!handler->buffer) {
        error = errno;
        goto error_free;
    }
    handler->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (handler->epoll_fd < 0) {
        error = errno;
        goto error_unmap;
    }
    if (epoll_ctl(handler->epoll_fd, EPOLL_CTL_ADD, wake->fd, &event)) {
        error = errno;
        goto error_close;
    }

    handler->table = table;
    ovs_refcount_ref(&wake->refcount);
    handler->wake = wake;
    ovs_refcount_init(&handler->refcount);
    handler->generation = generation;
    handler->token = generation << UPCALL_TOKEN_HANDLER_BITS | (index + 1);
    upcall_fifo_init(&handler->backlog);
    upcall_fifo_init(&handler->served);
    for (size_t i = 0; i < UPCALL_BATCH; i++) {
        handler->iovs[i].iov_base = handler->buffer + i * UPCALL_MSG_SIZE;
        handler->iovs[i].iov_len = UPCALL_MSG_SIZE;
        handler->msgs[i].msg_hdr.msg_iov = &handler->iovs[i];
        handler->msgs[i].msg_hdr.msg_iovlen = 1;
    }
    atomic_init(&handler->n_pending, 0);
    atomic_init(&handler->wakeups, 0);
    atomic_init(&handler->empty_wakeups, 0);
    atomic_init(&handler->batches, 0);
    atomic_init(&handler->upcalls, 0);
    atomic_init(&handler->receives, 0);
    *handlerp = handler;
    return 0;

error_close:
    close(handler->epoll_fd);
error_unmap:
    munmap(handler->buffer, UPCALL_BATCH * UPCALL_MSG_SIZE);
error_free:
    free(handler);
    return error;
}

void
upcall_handler_ref(struct upcall_handler *handler)
{
    ovs_refcount_ref(&handler->refcount);
}

static void
upcall_handler_destroy(struct upcall_handler *handler)
{
    struct upcall_channel *channel;

    while ((channel = upcall_fifo_pop(&handler->backlog))
           || (channel = upcall_fifo_pop(&handler->served))) {
        upcall_channel_unref(channel);
    }
    upcall_fifo_uninit(&handler->backlog);
    upcall_fifo_uninit(&handler->served);
    close(handler->epoll_fd);
    upcall_wake_unref(handler->wake);
    munmap(handler->buffer, UPCALL_BATCH * UPCALL_MSG_SIZE);
    free(handler);
}

void
upcall_handler_unref(struct upcall_handler *handler)
{
    if (handler && upcall_refcount_unref(&handler->refcount)) {
        upcall_handler_destroy(handler);
    }
}

unsigned int
upcall_handler_n_pending(const struct upcall_handler *handler)
{
    uint32_t n;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &handler->n_pending),
                        &n);
    return n;
}

int
upcall_handler_add(struct upcall_handler *handler,
                   const struct upcall_channel *channel)
{
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
        .data.u64 = (uint64_t) channel->serial << 32 | channel->port_no,
    };

    return (epoll_ctl(handler->epoll_fd, EPOLL_CTL_ADD,
                      upcall_channel_fd(channel), &event) ? errno : 0);
}

void
upcall_handler_del(struct upcall_handler *handler,
                   const struct upcall_channel *channel)
{
    epoll_ctl(handler->epoll_fd, EPOLL_CTL_DEL, upcall_channel_fd(channel),
              NULL);
}

int
upcall_handler_epoll_fd(const struct upcall_handler *handler)
{
    return handler->epoll_fd;
}

int
upcall_handler_epoll_wait(struct upcall_handler *handler, int timeout,
                          int others[], size_t max_others, size_t *n_others)
{
    int n_channels = 0;
    int n;

    *n_others = 0;
    n = epoll_wait(handler->epoll_fd, handler->events, UPCALL_EVENTS, timeout);
    if (n < 0) {
        handler->n_events = 0;
        return -errno;
    }

    for (int i = 0; i < n; i++) {
        const struct epoll_event *event = &handler->events[i];
        uint64_t mark = event->data.u64 & UPCALL_EVENT_MASK;

        if (mark == UPCALL_EVENT_OTHER) {
            if (*n_others < max_others) {
                others[(*n_others)++] = (int) event->data.u64;
            }
        } else if (mark != UPCALL_EVENT_WAKE) {
            handler->events[n_channels++] = *event;
        }
    }
    handler->n_events = n_channels;
    if (n_channels && timeout) {
        upcall_count(&handler->wakeups, 1);
        handler->woken = true;
    }
    return n;
}

/* Takes the channels that the kept events name. */
static void
upcall_handler_take_events(struct upcall_handler *handler)
{
    bool current = upcall_table_is_current__(handler->table,
                                             handler->generation);

    for (int i = 0; i < handler->n_events; i++) {
        uint64_t data = handler->events[i].data.u64;
        struct upcall_channel *channel;

        channel = upcall_table_lookup__(handler->table, (uint32_t) data,
                                        data >> 32);
        if (!channel || !ovs_refcount_try_ref_rcu(&channel->refcount)) {
            /* The event outlived its channel. */
            continue;
        }
        if (upcall_channel_take(channel, handler->token, current)) {
            upcall_fifo_push(&handler->backlog, channel);
        } else {
            upcall_channel_unref(channel);
        }
    }
    handler->n_events = 0;
}

static void
upcall_handler_poll_events(struct upcall_handler *handler)
{
    size_t n_others;

    if (!handler->n_events) {
        upcall_handler_epoll_wait(handler, 0, NULL, 0, &n_others);
    }
    upcall_handler_take_events(handler);
}

/* Lets go of the channels that the last batch served. */
static void
upcall_handler_release_served(struct upcall_handler *handler)
{
    struct upcall_channel *channel;

    while ((channel = upcall_fifo_pop(&handler->served))) {
        bool dead;

        atomic_read_relaxed(&channel->dead, &dead);
        if (dead || upcall_channel_release(channel, handler->token)) {
            upcall_channel_unref(channel);
        } else {
            upcall_fifo_push(&handler->backlog, channel);
        }
    }
}

static void
upcall_handler_report_overrun(struct upcall_channel *channel,
                              const char *dp_name)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct upcall_channel_stats stats;

    COVERAGE_INC(upcall_overrun);
    upcall_count(&channel->overruns, 1);
    if (!VLOG_DROP_WARN(&rl)) {
        upcall_channel_get_stats(channel, &stats);
        VLOG_WARN("%s: lost packet on port channel %"PRIu32" (%s): its "
                  "receive buffer overran, %"PRIu64" upcalls of this port "
                  "lost so far", dp_name, channel->port_no,
                  channel->name ? channel->name : "no port", stats.lost);
    }
}

/* Receives at most 'max' messages from 'channel' into the free part of the
 * batch.  Sets '*empty' if the socket is empty now. */
static unsigned int
upcall_handler_read(struct upcall_handler *handler,
                    struct upcall_channel *channel, unsigned int max,
                    const char *dp_name, bool *empty)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    unsigned int overruns = 0;
    int n;

    for (;;) {
        upcall_count(&handler->receives, 1);
        n = recvmmsg(upcall_channel_fd(channel),
                     &handler->msgs[handler->n_msgs], max, MSG_DONTWAIT,
                     NULL);
        if (n >= 0) {
            break;
        } else if (errno == EAGAIN) {
            *empty = true;
            return 0;
        } else if (errno == ENOBUFS) {
            upcall_handler_report_overrun(channel, dp_name);
            if (++overruns >= UPCALL_OVERRUNS) {
                *empty = false;
                return 0;
            }
        } else if (errno != EINTR) {
            VLOG_WARN_RL(&rl, "%s: receiving upcalls of port %s failed (%s); "
                         "trying again when more arrive", dp_name,
                         channel->name ? channel->name : "(none)",
                         ovs_strerror(errno));
            *empty = true;
            return 0;
        }
    }

    /* Fewer messages than asked for means that the next read would have failed
     * with EAGAIN or with an error that came up meanwhile.  Either way a new
     * edge follows what comes next. */
    *empty = n < max;
    for (int i = 0; i < n; i++) {
        handler->channels[handler->n_msgs + i] = channel;
    }
    handler->n_msgs += n;
    atomic_store_relaxed(&handler->n_pending,
                         handler->n_msgs - handler->next_msg);
    upcall_count(&channel->received, n);
    return n;
}

/* Serves one channel.  Returns false if there is none to serve or no room. */
static bool
upcall_handler_serve(struct upcall_handler *handler, const char *dp_name)
{
    unsigned int room = UPCALL_BATCH - handler->n_msgs;
    struct upcall_channel *channel;
    bool empty, dead;

    if (!room) {
        return false;
    }
    channel = upcall_fifo_pop(&handler->backlog);
    if (!channel) {
        upcall_handler_poll_events(handler);
        channel = upcall_fifo_pop(&handler->backlog);
        if (!channel) {
            return false;
        }
    }

    atomic_read_relaxed(&channel->dead, &dead);
    if (dead) {
        /* Dropped at the start of the next batch: messages of this one may
         * still refer to it. */
        upcall_fifo_push(&handler->served, channel);
        return true;
    }
    upcall_handler_read(handler, channel, MIN(room, UPCALL_QUANTUM), dp_name,
                        &empty);
    upcall_fifo_push(empty ? &handler->served : &handler->backlog, channel);
    return true;
}

static void
upcall_handler_begin_batch(struct upcall_handler *handler)
{
    handler->in_batch = true;
    handler->n_handed = 0;
    handler->n_msgs = handler->next_msg = 0;

    /* Channels that had a backlog before come after the ones that the events
     * name only in the order of the list: first come, first served. */
    upcall_handler_release_served(handler);
    upcall_handler_poll_events(handler);
}

static void
upcall_handler_end_batch(struct upcall_handler *handler)
{
    if (handler->n_handed) {
        upcall_count(&handler->batches, 1);
    } else if (handler->woken) {
        COVERAGE_INC(upcall_empty_wakeup);
        upcall_count(&handler->empty_wakeups, 1);
    }
    handler->woken = false;
    handler->in_batch = false;
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
    const struct mmsghdr *msg = &handler->msgs[i];

    atomic_store_relaxed(&handler->n_pending,
                         handler->n_msgs - handler->next_msg);
    if (msg->msg_hdr.msg_flags & MSG_TRUNC
        || upcall_msg_parse(handler->iovs[i].iov_base, msg->msg_len,
                            packet_family, view)) {
        upcall_count(&channel->malformed, 1);
        VLOG_WARN_RL(&rl, "%s: dropping malformed upcall of %u bytes%s on "
                     "the channel of port %s", dp_name, msg->msg_len,
                     msg->msg_hdr.msg_flags & MSG_TRUNC ? " (truncated)" : "",
                     channel->name ? channel->name : "(none)");
        return false;
    }
    if (view->dp_ifindex != dp_ifindex) {
        upcall_table_count_foreign__(handler->table);
        return false;
    }
    return true;
}

int
upcall_handler_recv(struct upcall_handler *handler, uint16_t packet_family,
                    int dp_ifindex, const char *dp_name,
                    struct upcall_view *view)
{
    if (!handler->in_batch) {
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
    /* Channels in the list of served ones may have got an edge that was marked
     * for this handler, which only their release finds out. */
    return (handler->in_batch || handler->n_events
            || !upcall_fifo_is_empty(&handler->backlog)
            || !upcall_fifo_is_empty(&handler->served));
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
}
