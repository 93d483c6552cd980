/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-poll.h"

#include <errno.h>
#include <stdbool.h>

#include "ovs-thread.h"
#include "timeval.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-sched.h"
#include "util.h"

/* The handler that the next poll() of this thread waits for, a reference. */
static __thread struct upcall_handler *armed;

/* The most latches of a thread: the one that ends it, the pipe by which
 * signals end the process, and room for another one. */
#define MAX_LATCHES 3

/* One check of a latch in so many asks the kernel.  So a thread that has
 * upcalls all the time ends up to as many batches later. */
#define LATCH_CHECKS 16

/* The latches of this thread in a scheduler, which is given by its id. */
static __thread struct {
    uint64_t sched;
    size_t n;
    struct latch_fd {
        int fd;
        unsigned int n_checks;  /* Since the kernel was asked. */
    } fds[MAX_LATCHES];
} latches;

int __real_poll(struct pollfd *, nfds_t, int);

void
upcall_poll_arm(struct upcall_handler *handler)
{
    upcall_handler_ref(handler);
    upcall_handler_unref(armed);
    armed = handler;
}

/* Calls poll() itself, which treats the epoll instance like any other
 * descriptor.  This is right for any set of descriptors, but an event wakes
 * all handlers that wait this way. */
static int
upcall_poll_plain(struct upcall_handler *handler, struct pollfd *fds,
                  nfds_t n, int timeout)
{
    struct upcall_sched *sched = upcall_handler_sched(handler);
    int retval, error;

    if (!upcall_sched_sleep_begin(sched)) {
        timeout = 0;
    }
    retval = __real_poll(fds, n, timeout);
    error = errno;
    upcall_sched_sleep_end(sched);
    errno = error;
    return retval;
}

/* Returns the latch of this thread that 'fd' is, or NULL. */
static struct latch_fd *
upcall_poll_find_latch(int fd)
{
    for (size_t i = 0; i < latches.n; i++) {
        if (latches.fds[i].fd == fd) {
            return &latches.fds[i];
        }
    }
    return NULL;
}

/* Adds 'fd' to the epoll instance of 'sched'.  A thread calls the kernel only
 * once: 'fd' stays there until it is closed.  Returns false on failure. */
static bool
upcall_poll_add_latch(struct upcall_sched *sched, int fd)
{
    if (latches.sched != upcall_sched_id(sched)) {
        latches.sched = upcall_sched_id(sched);
        latches.n = 0;
    }
    if (upcall_poll_find_latch(fd)) {
        return true;
    }
    if (latches.n >= MAX_LATCHES || upcall_sched_add_latch(sched, fd)) {
        return false;
    }
    latches.fds[latches.n++] = (struct latch_fd) { .fd = fd };
    return true;
}

/* Finds the scheduler's epoll instance in 'fds' and adds the others to it.
 * Returns NULL on failure. */
static struct pollfd *
upcall_poll_find_self(struct upcall_sched *sched, struct pollfd *fds, nfds_t n)
{
    struct pollfd *self = NULL;

    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].events != POLLIN) {
            return NULL;
        } else if (fds[i].fd == upcall_sched_epoll_fd(sched)) {
            self = &fds[i];
        } else if (!upcall_poll_add_latch(sched, fds[i].fd)) {
            return NULL;
        }
    }
    return self;
}

/* Checks which of 'fds', except 'self', are ready.  Returns their number. */
static int
upcall_poll_latches(struct pollfd *fds, nfds_t n, struct pollfd *self)
{
    int epoll_fd = self->fd;
    int n_ready;

    self->fd = -1;
    n_ready = __real_poll(fds, n, 0);
    self->fd = epoll_fd;
    for (size_t i = 0; n_ready > 0 && i < latches.n; i++) {
        latches.fds[i].n_checks = LATCH_CHECKS;
    }
    return MAX(n_ready, 0);
}

/* True if this poll() is a check of a latch that need not ask the kernel. */
static bool
upcall_poll_skips(const struct pollfd *fds, nfds_t n, int timeout)
{
    struct latch_fd *latch = (n == 1 && !timeout
                              ? upcall_poll_find_latch(fds->fd) : NULL);

    if (latch && ++latch->n_checks >= LATCH_CHECKS) {
        latch->n_checks = 0;
        latch = NULL;
    }
    return latch != NULL;
}

/* Carries out poll() as a wait for 'handler'.  'self' is the scheduler's epoll
 * instance in 'fds', and the others are in it. */
static int
upcall_poll_handler(struct upcall_handler *handler, struct pollfd *fds,
                    nfds_t n, struct pollfd *self, int timeout)
{
    long long int deadline = timeout > 0 ? time_msec() + timeout : 0;

    for (nfds_t i = 0; i < n; i++) {
        fds[i].revents = 0;
    }
    for (;;) {
        bool ready, latched, again;
        int error, n_ready = 0;

        error = upcall_handler_wait(handler, timeout, &ready, &latched,
                                    &again);
        if (error) {
            errno = error;
            return -1;
        }
        if (latched) {
            n_ready = upcall_poll_latches(fds, n, self);
            if (!n_ready && !ready) {
                /* It belongs to another thread, or was reset. */
                return upcall_poll_plain(handler, fds, n, timeout);
            }
        }
        if (ready) {
            self->revents = POLLIN;
            n_ready++;
        }
        if (n_ready || !timeout || !again) {
            return n_ready;
        }
        if (timeout > 0) {
            timeout = MAX(0, deadline - time_msec());
        }
    }
}

int
__wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    struct upcall_handler *handler = armed;
    struct pollfd *self;
    int retval, error;

    if (OVS_LIKELY(!handler)) {
        if (upcall_poll_skips(fds, n, timeout)) {
            fds->revents = 0;
            return 0;
        }
        return __real_poll(fds, n, timeout);
    }
    armed = NULL;

    self = upcall_poll_find_self(upcall_handler_sched(handler), fds, n);
    retval = (self
              ? upcall_poll_handler(handler, fds, n, self, timeout)
              : upcall_poll_plain(handler, fds, n, timeout));

    error = errno;
    if (retval < 0 && error == EINTR) {
        /* The caller polls again. */
        armed = handler;
    } else {
        upcall_handler_unref(handler);
    }
    errno = error;
    return retval;
}
