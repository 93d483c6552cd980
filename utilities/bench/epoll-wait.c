/* SPDX-License-Identifier: Apache-2.0 */

/* Makes the handlers of the stock daemon sleep in epoll_wait().
 *
 * With dispatch by port each handler of Open vSwitch has its own epoll
 * instance, to which each port's socket is added with EPOLLEXCLUSIVE.  That
 * wakes only one of the threads that sleep in epoll_wait().  But handlers
 * sleep in poll(), on the epoll instance and other descriptors, and an upcall
 * wakes all of them.  This library, preloaded into the daemon together with
 * that of per-vport.c, has a poll() that adds the other descriptors to the
 * epoll instance and sleeps in epoll_wait() on it.  This is the scheme at its
 * best, to compare ovs-kdp with.
 *
 * Each thread polls with its own epoll instance, so the only shared state is
 * which descriptors are epoll instances. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* Descriptors that are handled; others are polled as usual. */
#define MAX_FDS 65536

/* Marks data of events that this library adds to an epoll instance, in the
 * upper half.  The daemon uses small numbers. */
#define MARK (UINT64_C(0x6b64702d) << 32)

/* Most events taken at once: more than the handful that is added here, so that
 * one of those does not wait forever behind ready sockets. */
#define N_EVENTS 64

static atomic_bool is_epoll[MAX_FDS];
static int (*next_create)(int size);
static int (*next_create1)(int flags);
static int (*next_poll)(struct pollfd *, nfds_t, int timeout);
static int (*next_wait)(int epfd, struct epoll_event *, int n, int timeout);

static void __attribute__((constructor))
start(void)
{
    next_create = dlsym(RTLD_NEXT, "epoll_create");
    next_create1 = dlsym(RTLD_NEXT, "epoll_create1");
    next_poll = dlsym(RTLD_NEXT, "poll");
    next_wait = dlsym(RTLD_NEXT, "epoll_wait");
    if (!next_create || !next_create1 || !next_poll || !next_wait) {
        fputs("epoll-wait: a function of the C library is missing\n", stderr);
        exit(1);
    }
}

static int
note(int fd)
{
    if (fd >= 0 && fd < MAX_FDS) {
        is_epoll[fd] = true;
    }
    return fd;
}

int
epoll_create(int size)
{
    return note(next_create(size));
}

int
epoll_create1(int flags)
{
    return note(next_create1(flags));
}

static bool
is_ours(const struct epoll_event *event)
{
    return (event->data.u64 & (UINT64_C(0xffffffff) << 32)) == MARK;
}

/* Like the real one, but skips events that this library added. */
int
epoll_wait(int epfd, struct epoll_event *events, int max_events, int timeout)
{
    int n = next_wait(epfd, events, max_events, timeout);
    int kept = 0;

    for (int i = 0; i < n; i++) {
        if (!is_ours(&events[i])) {
            events[kept++] = events[i];
        }
    }
    return n < 0 ? n : kept;
}

/* Returns the index of the epoll instance among 'fds', or -1 unless there is
 * exactly one, polled for input like all others. */
static int
find_epoll(const struct pollfd *fds, nfds_t n)
{
    int found = -1;

    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].events != POLLIN || fds[i].fd < 0
            || fds[i].fd >= MAX_FDS) {
            return -1;
        }
        if (is_epoll[fds[i].fd]) {
            if (found >= 0) {
                return -1;
            }
            found = i;
        }
    }
    return found;
}

/* Makes 'fds' except the one at 'own' wake threads that wait on that.  Returns
 * whether all do. */
static bool
add_others(struct pollfd *fds, nfds_t n, int own)
{
    for (nfds_t i = 0; i < n; i++) {
        struct epoll_event event = { .events = EPOLLIN };

        fds[i].revents = 0;
        event.data.u64 = MARK | (uint32_t) fds[i].fd;
        if ((int) i != own
            && epoll_ctl(fds[own].fd, EPOLL_CTL_ADD, fds[i].fd, &event)
            && errno != EEXIST) {
            return false;
        }
    }
    return true;
}

/* Marks the descriptor of 'event' as ready if it is among 'fds'; otherwise
 * removes it from 'epfd'. */
static void
take_event(struct pollfd *fds, nfds_t n, int own, int epfd,
           const struct epoll_event *event)
{
    int fd = event->data.u64 & UINT32_MAX;

    if (!is_ours(event)) {
        fds[own].revents = POLLIN;
        return;
    }
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd == fd) {
            fds[i].revents = POLLIN;
            return;
        }
    }
    epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL);
}

int
poll(struct pollfd *fds, nfds_t n_fds, int timeout)
{
    struct epoll_event events[N_EVENTS];
    int own = n_fds > 1 && timeout ? find_epoll(fds, n_fds) : -1;
    int ready = 0;
    int n;

    if (own < 0 || !add_others(fds, n_fds, own)) {
        return next_poll(fds, n_fds, timeout);
    }
    n = next_wait(fds[own].fd, events, N_EVENTS, timeout);
    if (n < 0) {
        return n;
    }
    for (int i = 0; i < n; i++) {
        take_event(fds, n_fds, own, fds[own].fd, &events[i]);
    }
    for (nfds_t i = 0; i < n_fds; i++) {
        ready += fds[i].revents != 0;
    }
    return ready;
}
