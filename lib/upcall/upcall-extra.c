/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-extra.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "upcall/upcall-channel.h"
#include "upcall/upcall-closed.h"
#include "util.h"

BUILD_ASSERT_DECL(UPCALL_EXTRA_FDS * 16 <= 64);
BUILD_ASSERT_DECL(UPCALL_MAX_HANDLERS < 1 << 16);

void
upcall_extra_init(struct upcall_extra *extra, int epoll_fd, uint64_t data)
{
    extra->epoll_fd = epoll_fd;
    extra->data = data;
    ovs_mutex_init(&extra->mutex);
    atomic_init(&extra->n_waiting, 0);
    for (size_t i = 0; i < UPCALL_EXTRA_FDS; i++) {
        extra->entries[i].fd = -1;
    }
}

void
upcall_extra_uninit(struct upcall_extra *extra)
{
    ovs_mutex_destroy(&extra->mutex);
}

/* One handler that waits for the descriptor of 'bit', 0 for none, as
 * 'n_waiting' counts it. */
static uint64_t
waiting_one(uint32_t bit)
{
    return bit ? UINT64_C(1) << 16 * raw_ctz(bit) : 0;
}

static bool
upcall_extra_is_waited_for(const struct upcall_extra *extra, size_t i)
{
    uint64_t n;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, &extra->n_waiting), &n);
    return n >> 16 * i & UINT16_MAX;
}

static int
upcall_extra_add_fd(struct upcall_extra *extra, int fd, uint32_t events,
                    uint64_t data)
{
    struct epoll_event event = { .events = events, .data.u64 = data };

    return epoll_ctl(extra->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

/* Finds the entry of 'fd', or a free one.  Returns UPCALL_EXTRA_FDS if there
 * is none. */
static size_t
upcall_extra_find(const struct upcall_extra *extra, int fd)
    OVS_REQUIRES(extra->mutex)
{
    size_t unused = UPCALL_EXTRA_FDS;

    for (size_t i = 0; i < UPCALL_EXTRA_FDS; i++) {
        if (extra->entries[i].fd == fd) {
            return i;
        } else if (extra->entries[i].fd < 0) {
            unused = MIN(unused, i);
        }
    }
    return unused;
}

/* Sees to it that 'fd' is registered.  Returns its bit, or 0 if that cannot
 * be. */
static uint32_t
upcall_extra_add(struct upcall_extra *extra, int fd)
    OVS_REQUIRES(extra->mutex)
{
    size_t i = upcall_extra_find(extra, fd);
    uint64_t closed;
    int error = 0;

    if (i >= UPCALL_EXTRA_FDS) {
        return 0;
    }
    closed = upcall_closed_watch(fd);

    /* It usually is there from the last time, unless it was closed, which
     * removes it; its number may be used again. */
    if (extra->entries[i].fd != fd || extra->entries[i].closed != closed) {
        error = upcall_extra_add_fd(extra, fd, EPOLLIN, extra->data + i);
    }
    if (error && (error != EEXIST || extra->entries[i].fd != fd)) {
        return 0;
    }
    extra->entries[i].fd = fd;
    extra->entries[i].closed = closed;
    return UINT32_C(1) << i;
}

void
upcall_extra_begin(struct upcall_extra *extra, const int fds[], size_t n,
                   uint32_t bits[])
{
    uint64_t waiting = 0, orig;

    ovs_mutex_lock(&extra->mutex);
    for (size_t i = 0; i < n; i++) {
        bits[i] = upcall_extra_add(extra, fds[i]);
        waiting += waiting_one(bits[i]);
    }
    atomic_add_relaxed(&extra->n_waiting, waiting, &orig);
    ovs_mutex_unlock(&extra->mutex);
}

void
upcall_extra_end(struct upcall_extra *extra, uint32_t bits)
{
    uint64_t waiting = 0, orig;

    for (; bits; bits = zero_rightmost_1bit(bits)) {
        waiting += waiting_one(rightmost_1bit(bits));
    }
    if (waiting) {
        atomic_sub_relaxed(&extra->n_waiting, waiting, &orig);
    }
}

void
upcall_extra_remove(struct upcall_extra *extra, uint32_t bits)
{
    ovs_mutex_lock(&extra->mutex);
    for (size_t i = 0; i < UPCALL_EXTRA_FDS; i++) {
        if (bits & (UINT32_C(1) << i) && extra->entries[i].fd >= 0
            && !upcall_extra_is_waited_for(extra, i)) {
            epoll_ctl(extra->epoll_fd, EPOLL_CTL_DEL, extra->entries[i].fd,
                      NULL);
            extra->entries[i].fd = -1;
        }
    }
    ovs_mutex_unlock(&extra->mutex);
}

int
upcall_extra_add_other(struct upcall_extra *extra, int fd, uint32_t events,
                       uint64_t data)
{
    int error;

    ovs_mutex_lock(&extra->mutex);
    error = upcall_extra_add_fd(extra, fd, events, data);
    for (size_t i = 0; i < UPCALL_EXTRA_FDS; i++) {
        if (extra->entries[i].fd == fd) {
            /* It was closed, which removed it from the epoll instance, and
             * upcall_extra_remove() must not remove what has its number
             * now. */
            extra->entries[i].fd = -1;
        }
    }
    ovs_mutex_unlock(&extra->mutex);
    return error;
}
