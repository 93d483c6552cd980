/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-poll.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>

#include "ovs-thread.h"
#include "timeval.h"
#include "upcall/upcall-handler.h"
#include "util.h"

/* The most descriptors beside the epoll instance that a handler's poll() is
 * carried out for this way.  Open vSwitch polls one, its exit latch. */
#define UPCALL_POLL_MAX_OTHERS 8

/* The handler that the next poll() of this thread waits for, a reference. */
static __thread struct upcall_handler *armed;

int __wrap_poll(struct pollfd *, nfds_t, int);
int __real_poll(struct pollfd *, nfds_t, int);

void
upcall_poll_arm(struct upcall_handler *handler)
{
    upcall_handler_ref(handler);
    upcall_handler_unref(armed);
    armed = handler;
}

/* Adds to the epoll instance what 'fds' has besides it.  It usually is there
 * from the last time, but asking is the only way to know: a descriptor may
 * have been closed, which removes it, and its number be used again.
 *
 * Returns false if one of them cannot be waited for inside epoll. */
static bool
upcall_poll_add_others(int epoll_fd, const struct pollfd *fds, nfds_t n)
{
    if (n > UPCALL_POLL_MAX_OTHERS + 1) {
        return false;
    }
    for (nfds_t i = 0; i < n; i++) {
        struct epoll_event event = {
            .events = EPOLLIN,
            .data.u64 = UPCALL_EVENT_OTHER | (uint32_t) fds[i].fd,
        };

        if (fds[i].fd == epoll_fd) {
            continue;
        }
        if (fds[i].events != POLLIN
            || (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i].fd, &event)
                && errno != EEXIST)) {
            return false;
        }
    }
    return true;
}

/* Stores what epoll said of descriptors other than channels in 'fds'.  Returns
 * the number of descriptors that are ready. */
static int
upcall_poll_set_others(int epoll_fd, struct pollfd *fds, nfds_t n,
                       const int others[], size_t n_others)
{
    int n_ready = 0;

    for (size_t i = 0; i < n_others; i++) {
        bool wanted = false;

        for (nfds_t j = 0; j < n; j++) {
            if (fds[j].fd == others[i] && !fds[j].revents) {
                fds[j].revents = POLLIN;
                wanted = true;
                n_ready++;
            }
        }
        if (!wanted) {
            /* Left behind by an earlier poll(). */
            epoll_ctl(epoll_fd, EPOLL_CTL_DEL, others[i], NULL);
        }
    }
    return n_ready;
}

/* Carries poll() out on 'handler'.  'self' is the element of 'fds' that is the
 * handler's epoll instance. */
static int
upcall_poll_handler(struct upcall_handler *handler, struct pollfd *fds,
                    nfds_t n, struct pollfd *self, int timeout)
{
    long long int deadline = timeout > 0 ? time_msec() + timeout : 0;
    int left = timeout;

    for (nfds_t i = 0; i < n; i++) {
        fds[i].revents = 0;
    }
    for (;;) {
        int others[UPCALL_POLL_MAX_OTHERS];
        size_t n_others;
        int n_events;
        int n_ready;

        n_events = upcall_handler_epoll_wait(handler, left, others,
                                             ARRAY_SIZE(others), &n_others);
        if (n_events < 0) {
            errno = -n_events;
            return -1;
        }
        n_ready = upcall_poll_set_others(self->fd, fds, n, others, n_others);
        if (n_events > n_others) {
            self->revents = POLLIN;
            n_ready++;
        }
        if (n_ready || !n_events || !left) {
            return n_ready;
        }

        /* Only descriptors that are polled no more. */
        if (timeout > 0) {
            left = MAX(0, deadline - time_msec());
        }
    }
}

int
upcall_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    struct upcall_handler *handler = armed;
    struct pollfd *self = NULL;
    int retval;

    if (OVS_LIKELY(!handler)) {
        return __real_poll(fds, n, timeout);
    }
    armed = NULL;

    int epoll_fd = upcall_handler_epoll_fd(handler);
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd == epoll_fd && fds[i].events == POLLIN) {
            self = &fds[i];
        }
    }
    if (self && upcall_poll_add_others(epoll_fd, fds, n)) {
        retval = upcall_poll_handler(handler, fds, n, self, timeout);
    } else {
        retval = __real_poll(fds, n, timeout);
    }

    int error = errno;
    upcall_handler_unref(handler);
    errno = error;
    return retval;
}

int
__wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
    return upcall_poll(fds, n, timeout);
}
