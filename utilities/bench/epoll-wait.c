/* SPDX-License-Identifier: Apache-2.0 */

/* Makes the handlers of the stock daemon sleep in epoll_wait().
 *
 * With dispatch by port each handler of Open vSwitch has an epoll instance of
 * its own, in which each port's socket is with EPOLLEXCLUSIVE.  That wakes one
 * of those who sleep in epoll_wait().  But handlers sleep in poll(), on the
 * epoll instance and what else may wake them, and an upcall wakes all of them.
 * This library, preloaded into the daemon beside that of per-vport.c, has a
 * poll() that adds the other descriptors to the epoll instance and sleeps in
 * epoll_wait() on it: the scheme at its best, for ovs-kdp to be compared
 * with.
 *
 * Each thread polls with an epoll instance of its own, so nothing here is
 * shared but the note of which descriptors are epoll instances. */

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

/* Descriptors that are looked at; others are polled as ever. */
#define MAX_FDS 65536

/* What is put into an epoll instance here, in the upper half of its data, to
 * tell it from the daemon's own, which uses small numbers. */
#define MARK (UINT64_C(0x6b64702d) << 32)

/* Events that are taken at once.  More of them than the handful that is put in
 * here, so one of those does not wait for ever behind ready sockets. */
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

/* As the real one, but without the events of what was put in here. */
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

/* Returns the index of the one epoll instance among 'fds', -1 if there is not
 * just one that is polled for input, as all others. */
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

/* Makes 'fds' but the one at 'own' wake who waits on that.  Returns whether
 * all do. */
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

/* Notes that the descriptor of 'event' is ready, if it is among 'fds';
 * otherwise has it no longer wake who waits on 'epfd'. */
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
