/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-channel.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/membarrier.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "upcall/upcall-rcvbuf.h"
#include "util.h"

/* The most messages that one drain takes, so that a continuous flood of a port
 * cannot delay the caller for long.  The receive buffer holds fewer. */
#define UPCALL_DRAIN_MAX 8192

static atomic_uint32_t next_serial = 1;
static atomic_count n_open = ATOMIC_COUNT_INIT(0);

static void upcall_channel_set_no_enobufs(struct upcall_channel *, int on);
static void upcall_channel_get_meminfo(const struct upcall_channel *,
                                       uint32_t *drops, uint32_t *backlog);

/* Creates a channel with socket 'sock'.  Members that are not mentioned begin
 * as zeros. */
static struct upcall_channel *
create_channel(struct mnl_socket *sock)
{
    upcall_rcvbuf_set(mnl_socket_get_fd(sock), UPCALL_RCVBUF_MAX);

    struct upcall_channel *channel = xzalloc(sizeof *channel);
    channel->sock = sock;
    channel->pid = mnl_socket_get_portid(sock);
    atomic_init(&channel->rcvbuf, UPCALL_RCVBUF_MAX);
    channel->port_no = UPCALL_MAX_PORTS;    /* Until the channel is added. */
    atomic_add_relaxed(&next_serial, 1, &channel->serial);
    ovs_refcount_init(&channel->refcount);
    upcall_fq_init(&channel->fq);
    atomic_init(&channel->weight, 1);
    channel->state = UPCALL_STATE_IDLE;
    upcall_turn_init(&channel->turn);
    upcall_age_init(&channel->age, upcall_now_usec());
    latency_hist_init(&channel->latency);
    atomic_count_inc(&n_open);
    return channel;
}

int
upcall_channel_create(struct upcall_channel **channelp)
{
    struct mnl_socket *sock;
    int error;

    *channelp = NULL;
    sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!sock) {
        return errno;
    }
    if (mnl_socket_bind(sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        error = errno;
        mnl_socket_close(sock);
        return error;
    }
    *channelp = create_channel(sock);
    return 0;
}

int
upcall_channel_create_adopted(int fd, struct upcall_channel **channelp)
{
    struct mnl_socket *sock = mnl_socket_fdopen(fd);
    struct upcall_channel *channel;
    uint32_t backlog;

    *channelp = NULL;
    if (!sock) {
        int error = errno;

        close(fd);
        return error;
    }
    *channelp = channel = create_channel(sock);
    channel->adopted = channel->waited = true;
    upcall_channel_get_meminfo(channel, &channel->drops_before, &backlog);

    /* The previous run may have limited the socket. */
    upcall_channel_set_no_enobufs(channel, 0);
    return 0;
}

void
upcall_channel_end_adopted(struct upcall_channel *channel)
{
    const struct nlmsghdr nlh = { .nlmsg_len = sizeof nlh,
                                  .nlmsg_type = NLMSG_NOOP };
    const struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
                                      .nl_pid = channel->pid };

    if (channel->adopted) {
        /* If the kernel had to drop an upcall, this fails. */
        sendto(upcall_channel_fd(channel), &nlh, sizeof nlh, MSG_DONTWAIT,
               (const struct sockaddr *) &addr, sizeof addr);
    }
}

size_t
upcall_channel_n_open(void)
{
    return atomic_count_get(&n_open);
}

void
upcall_channel_unref(struct upcall_channel *channel)
{
    if (channel && upcall_refcount_unref(&channel->refcount)) {
        mnl_socket_close(channel->sock);
        atomic_count_dec(&n_open);
        upcall_fq_uninit(&channel->fq);
        latency_hist_uninit(&channel->latency);
        free(channel->name);
        free(channel);
    }
}

void
upcall_channel_set_rcvbuf(struct upcall_channel *channel, uint32_t size)
{
    uint32_t old;
    bool limited;

    atomic_read_relaxed(&channel->rcvbuf, &old);
    if (old != size) {
        /* Pairs with upcall_channel_unlimit(). */
        atomic_store(&channel->rcvbuf, size);
        atomic_read(&channel->limited, &limited);
        if (!limited) {
            upcall_rcvbuf_set(upcall_channel_fd(channel), size);
        }
    }
}

int
upcall_channel_fd(const struct upcall_channel *channel)
{
    return mnl_socket_get_fd(channel->sock);
}

static void
upcall_channel_change_state(struct upcall_channel *channel,
                            enum upcall_state state)
{
    ovs_assert(upcall_state_may_become(channel->state, state));
    channel->state = state;
}

/* Makes 'token' the owner of 'channel' if it has no owner, and 'state' its
 * state. */
static bool
upcall_channel_take__(struct upcall_channel *channel, uint32_t token,
                      enum upcall_state state)
{
    uint32_t owner = 0;

    if (!atomic_compare_exchange_strong(&channel->owner, &owner, token)) {
        return false;
    }
    upcall_channel_change_state(channel, state);
    return true;
}

bool
upcall_channel_take(struct upcall_channel *channel, uint32_t token)
{
    return upcall_channel_take__(channel, token, UPCALL_STATE_TAKEN);
}

bool
upcall_channel_adopt(struct upcall_channel *channel, uint32_t queue)
{
    return upcall_channel_take__(channel, queue, UPCALL_STATE_QUEUED);
}

static void
upcall_channel_pass(struct upcall_channel *channel, uint32_t from,
                    uint32_t to)
{
    uint32_t owner = from;
    bool passed;

    passed = atomic_compare_exchange_strong(&channel->owner, &owner, to);
    ovs_assert(passed);
}

void
upcall_channel_hold(struct upcall_channel *channel)
{
    upcall_channel_pass(channel, 0, UPCALL_TOKEN_HELD);
}

void
upcall_channel_unhold(struct upcall_channel *channel)
{
    upcall_channel_pass(channel, UPCALL_TOKEN_HELD, 0);
}

/* The owner writes the state: the old owner before it passes the channel on,
 * the new owner after it got the channel. */

void
upcall_channel_enqueue(struct upcall_channel *channel, uint32_t token,
                       uint32_t queue)
{
    upcall_channel_change_state(channel, UPCALL_STATE_QUEUED);
    upcall_channel_pass(channel, token, queue);
}

void
upcall_channel_dequeue(struct upcall_channel *channel, uint32_t queue,
                       uint32_t token)
{
    upcall_channel_pass(channel, queue, token);
    upcall_channel_change_state(channel, UPCALL_STATE_TAKEN);
}

void
upcall_channel_release(struct upcall_channel *channel, uint32_t token)
{
    upcall_channel_change_state(channel, UPCALL_STATE_IDLE);
    upcall_channel_pass(channel, token, 0);
}

void
upcall_channel_set_state(struct upcall_channel *channel,
                         enum upcall_state state)
{
    ovs_assert(upcall_state_is_handlers(channel->state)
               && upcall_state_is_handlers(state));
    upcall_channel_change_state(channel, state);
}

bool
upcall_channel_is_dead(const struct upcall_channel *channel)
{
    bool dead;

    atomic_read_relaxed(CONST_CAST(atomic_bool *, &channel->dead), &dead);
    return dead;
}

void
upcall_channel_drain(struct upcall_channel *channel)
{
    int fd = upcall_channel_fd(channel);

    atomic_store_relaxed(&channel->purge, true);
    for (int i = 0; i < UPCALL_DRAIN_MAX; i++) {
        char c;

        if (recv(fd, &c, sizeof c, MSG_DONTWAIT) < 0 && errno != ENOBUFS) {
            break;
        }
    }
    /* The drained messages may have included the mark of the end. */
    upcall_channel_end_adopted(channel);
}

/* Reads the memory statistics of the socket. */
static void
upcall_channel_get_meminfo(const struct upcall_channel *channel,
                           uint32_t *drops, uint32_t *backlog)
{
    uint32_t meminfo[SK_MEMINFO_VARS] = { 0 };
    socklen_t len = sizeof meminfo;

    /* The kernel counts each upcall that it dropped because the receive buffer
     * was full.  (ENOBUFS only says that it dropped some.)  Linux before 4.12
     * lacks the option, and both numbers stay 0 there. */
    if (getsockopt(upcall_channel_fd(channel), SOL_SOCKET, SO_MEMINFO,
                   meminfo, &len)) {
        memset(meminfo, 0, sizeof meminfo);
    }
    *drops = meminfo[SK_MEMINFO_DROPS] - channel->drops_before;
    *backlog = meminfo[SK_MEMINFO_RMEM_ALLOC];
}

uint32_t
upcall_channel_look(struct upcall_channel *channel, uint32_t *drops)
{
    uint32_t backlog, max;

    upcall_channel_get_meminfo(channel, drops, &backlog);
    atomic_read_relaxed(&channel->backlog_max, &max);
    if (backlog > max) {
        atomic_store_relaxed(&channel->backlog_max, backlog);
    }
    return backlog;
}

uint32_t
upcall_channel_sample_backlog(struct upcall_channel *channel)
{
    uint32_t drops;

    return upcall_channel_look(channel, &drops);
}

/* 'limited_drops' is one word, so that a thread that reads it while the limit
 * begins or ends gets a number that was true at some time:
 *
 *      no limit    what was dropped in limits so far
 *      limit       this bit, and what the kernel had counted when the limit
 *                  began, less what was dropped in limits before */
#define LIMITED_BIT (UINT64_C(1) << 32)

/* Upcalls dropped while limited, when the kernel has counted 'drops'. */
static uint32_t
upcall_channel_limited_drops(const struct upcall_channel *channel,
                             uint32_t drops)
{
    uint64_t word = upcall_counter_read(&channel->limited_drops);

    return word & LIMITED_BIT ? drops - (uint32_t) word : word;
}

/* Turns reports of overruns of 'channel' off or on.  With reports, an overrun
 * costs the next read a call, and the kernel queues nothing more before
 * everything that waits was read. */
static void
upcall_channel_set_no_enobufs(struct upcall_channel *channel, int on)
{
    setsockopt(upcall_channel_fd(channel), SOL_NETLINK, NETLINK_NO_ENOBUFS,
               &on, sizeof on);
}

void
upcall_channel_limit(struct upcall_channel *channel, uint32_t size,
                     uint32_t drops)
{
    uint32_t max;
    bool limited;

    atomic_read_relaxed(&channel->limited, &limited);
    if (!limited) {
        uint32_t before = upcall_channel_limited_drops(channel, drops);

        atomic_store_relaxed(&channel->limited_drops,
                             LIMITED_BIT | (uint32_t) (drops - before));
        atomic_store(&channel->limited, true);
        upcall_channel_set_no_enobufs(channel, 1);
    }
    atomic_read_relaxed(&channel->rcvbuf, &max);
    upcall_rcvbuf_change(upcall_channel_fd(channel), MIN(size, max));
}

void
upcall_channel_unlimit(struct upcall_channel *channel)
{
    uint32_t drops, backlog, size, now;
    bool limited;

    atomic_read_relaxed(&channel->limited, &limited);
    if (!limited) {
        return;
    }
    upcall_channel_get_meminfo(channel, &drops, &backlog);
    atomic_store_relaxed(&channel->limited_drops,
                         upcall_channel_limited_drops(channel, drops));
    upcall_channel_set_no_enobufs(channel, 0);

    /* Either a thread that changes the size now sees the end of the limit, or
     * this load sees the new size.  Both are sequentially consistent; pairs
     * with upcall_channel_set_rcvbuf(). */
    atomic_store(&channel->limited, false);
    atomic_read(&channel->rcvbuf, &now);
    do {
        size = now;
        upcall_rcvbuf_change(upcall_channel_fd(channel), size);
        atomic_read(&channel->rcvbuf, &now);
    } while (size != now);
}

void
upcall_channel_set_retired(struct upcall_channel *channel, bool retired)
{
    /* Sequentially consistent, like the owner word: either a handler that
     * releases the channel sees this, or the caller sees that the handler
     * released it. */
    atomic_store(&channel->retired, retired);
    channel->done_at = 0;
}

bool
upcall_channel_is_retired(const struct upcall_channel *channel)
{
    bool retired;

    atomic_read(CONST_CAST(atomic_bool *, &channel->retired), &retired);
    return retired;
}

bool
upcall_channel_is_idle(const struct upcall_channel *channel)
{
    uint32_t drops, backlog, owner, ahead;

    /* The order matters: a handler that has emptied the socket stays the owner
     * until the upcalls that it took were processed, or puts the channel into
     * the run queue then. */
    upcall_channel_get_meminfo(channel, &drops, &backlog);
    atomic_read(CONST_CAST(atomic_uint32_t *, &channel->owner), &owner);
    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &channel->ahead),
                        &ahead);
    return !backlog && !(owner & UPCALL_MAX_HANDLERS) && !ahead;
}

/* Upcalls that may have been taken from a socket but not been counted or
 * processed yet.  Open vSwitch takes at most 64 before it processes them: the
 * upcalls of one read may not be counted yet, and the upcalls of one batch not
 * be processed. */
#define UPCALL_IN_HAND (2 * 64)

bool
upcall_channel_is_done(struct upcall_channel *channel)
{
    uint32_t drops, backlog, ahead;
    uint64_t n_read;

    if (upcall_channel_is_idle(channel)) {
        return true;
    }

    /* Flows may send to the socket all the time, so that it is never empty.
     * The counters are read after the memory: upcalls taken in between count
     * as taken before, which makes the channel done later, not earlier. */
    upcall_channel_get_meminfo(channel, &drops, &backlog);
    n_read = (upcall_counter_read(&channel->received)
              + upcall_counter_read(&channel->shed));
    if (!channel->done_at) {
        atomic_read_relaxed(&channel->ahead, &ahead);
        channel->done_at = (n_read + backlog / UPCALL_MEM_MIN + UPCALL_IN_HAND
                            + (ahead ? UPCALL_FQ_MAX : 0));
    }
    return n_read >= channel->done_at;
}

uint32_t
upcall_channel_dropped(const struct upcall_channel *channel)
{
    uint32_t drops, backlog;

    upcall_channel_get_meminfo(channel, &drops, &backlog);
    return drops;
}

/* Increase of 'counter' since it was 'base'. */
static uint64_t
counted_since(const atomic_uint64_t *counter, const atomic_uint64_t *base)
{
    return upcall_counter_read(counter) - upcall_counter_read(base);
}

/* Sets 'base' to the present 'counter'.  The counter itself belongs to the
 * owner, which may be about to write it. */
static void
reset_base(atomic_uint64_t *base, const atomic_uint64_t *counter)
{
    atomic_store_relaxed(base, upcall_counter_read(counter));
}

void
upcall_channel_get_counts(const struct upcall_channel *channel_,
                          struct upcall_channel_stats *stats)
{
    struct upcall_channel *channel = CONST_CAST(struct upcall_channel *,
                                                channel_);
    uint32_t drops, ahead;

    stats->received = counted_since(&channel->received,
                                    &channel->received_base);
    stats->malformed = counted_since(&channel->malformed,
                                     &channel->malformed_base);
    stats->overruns = counted_since(&channel->overruns,
                                    &channel->overruns_base);
    stats->errors = counted_since(&channel->errors, &channel->errors_base);
    stats->shed = counted_since(&channel->shed, &channel->shed_base);
    upcall_channel_get_meminfo(channel, &drops, &stats->backlog);
    atomic_read_relaxed(&channel->ahead, &ahead);
    stats->backlog += ahead;
    stats->lost = (uint32_t) (drops
                              - upcall_counter_read(&channel->lost_base));
    stats->lost_limited = (uint32_t) (upcall_channel_limited_drops(channel,
                                                                   drops)
                                      - upcall_counter_read(
                                          &channel->limited_base));
    atomic_read_relaxed(&channel->backlog_max, &stats->backlog_max);
    stats->backlog_max = MAX(stats->backlog_max, stats->backlog);
}

void
upcall_channel_get_stats(const struct upcall_channel *channel,
                         struct upcall_channel_stats *stats)
{
    upcall_channel_get_counts(channel, stats);
    latency_hist_summarize(&channel->latency, &stats->latency);
}

void
upcall_channel_reset_stats(struct upcall_channel *channel)
{
    uint32_t drops, backlog;

    upcall_channel_get_meminfo(channel, &drops, &backlog);
    atomic_store_relaxed(&channel->lost_base, drops);
    atomic_store_relaxed(&channel->limited_base,
                         upcall_channel_limited_drops(channel, drops));
    reset_base(&channel->received_base, &channel->received);
    reset_base(&channel->malformed_base, &channel->malformed);
    reset_base(&channel->overruns_base, &channel->overruns);
    reset_base(&channel->errors_base, &channel->errors);
    reset_base(&channel->shed_base, &channel->shed);
    atomic_store_relaxed(&channel->backlog_max, 0);
    latency_hist_reset(&channel->latency);
    upcall_fq_reset_senders(&channel->fq, upcall_now_usec());
}

int
upcall_grace_wait(void)
{
    int fd;

    if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
        return 0;
    }
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}
