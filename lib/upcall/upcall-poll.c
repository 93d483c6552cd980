/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-poll.h"

#include <errno.h>
#include <stdbool.h>

#include "ovs-thread.h"
#include "timeval.h"
#include "upcall/upcall-extra.h"
#include "upcall/upcall-handler.h"
#include "upcall/upcall-sched.h"
#include "util.h"

/* The handler that the next poll() of this thread waits for, a reference. */
static __thread struct upcall_handler *armed;

int __real_poll(struct pollfd *, nfds_t, int);

void
upcall_poll_arm(struct upcall_handler *handler)
{
    upcall_handler_ref(handler);
    upcall_handler_unref(armed);
    armed = handler;
}

/* Does poll() itself, on the epoll instance as on any descriptor: right for
 * any set of descriptors, but an event wakes all handlers that wait this
 * way. */
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

/* Makes all of 'fds' but 'self', the scheduler's epoll instance, extra
 * descriptors 'extra'.  Stores the bits of each in 'bits', and all of them
 * in '*all'.  Returns false if it cannot be done. */
static bool
upcall_poll_add_extra(struct upcall_extra *extra, const struct pollfd *fds,
                      nfds_t n, const struct pollfd *self, uint32_t bits[],
                      uint32_t *all)
{
    uint32_t extra_bits[UPCALL_EXTRA_FDS];
    int extra_fds[UPCALL_EXTRA_FDS];
    size_t n_extra = 0, i_extra = 0;
    bool ok = true;

    *all = 0;
    if (n > UPCALL_EXTRA_FDS + 1) {
        return false;
    }
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].events != POLLIN) {
            return false;
        } else if (&fds[i] != self) {
            extra_fds[n_extra++] = fds[i].fd;
        }
    }
    upcall_extra_begin(extra, extra_fds, n_extra, extra_bits);
    for (nfds_t i = 0; i < n; i++) {
        bits[i] = &fds[i] != self ? extra_bits[i_extra++] : 0;

        /* The same descriptor twice counts twice. */
        ok = ok && (&fds[i] == self || (bits[i] && !(*all & bits[i])));
        *all |= bits[i];
    }
    for (size_t i = 0; !ok && i < n_extra; i++) {
        upcall_extra_end(extra, extra_bits[i]);
    }
    if (!ok) {
        *all = 0;
    }
    return ok;
}

/* Carries poll() out as a wait for 'handler'.  'bits' are those of the extra
 * descriptors in 'fds', 'all' are all of them, 'self' is the scheduler's epoll
 * instance. */
static int
upcall_poll_handler(struct upcall_handler *handler, struct pollfd *fds,
                    nfds_t n, struct pollfd *self, const uint32_t bits[],
                    uint32_t all, int timeout)
{
    long long int deadline = timeout > 0 ? time_msec() + timeout : 0;

    for (;;) {
        uint32_t extra;
        int n_ready = 0;
        bool ready, again;
        int error;

        error = upcall_handler_wait(handler, timeout, &ready, &extra, &again);
        if (error) {
            errno = error;
            return -1;
        }
        for (nfds_t i = 0; i < n; i++) {
            bool is_ready = &fds[i] == self ? ready : extra & bits[i];

            fds[i].revents = is_ready ? POLLIN : 0;
            n_ready += is_ready;
        }
        if (extra & ~all) {
            struct upcall_sched *sched = upcall_handler_sched(handler);

            upcall_extra_remove(upcall_sched_extra(sched), extra & ~all);
        }
        if (n_ready || !timeout || !(extra & ~all || again)) {
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
    uint32_t bits[UPCALL_EXTRA_FDS + 1], all;
    struct pollfd *self = NULL;
    struct upcall_extra *extra;
    struct upcall_sched *sched;
    int retval, error;

    if (OVS_LIKELY(!handler)) {
        return __real_poll(fds, n, timeout);
    }
    armed = NULL;

    sched = upcall_handler_sched(handler);
    extra = upcall_sched_extra(sched);
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd == upcall_sched_epoll_fd(sched)) {
            self = &fds[i];
        }
    }
    all = 0;
    if (self && upcall_poll_add_extra(extra, fds, n, self, bits, &all)) {
        retval = upcall_poll_handler(handler, fds, n, self, bits, all,
                                     timeout);
    } else {
        retval = upcall_poll_plain(handler, fds, n, timeout);
    }

    error = errno;
    upcall_extra_end(extra, all);
    if (retval < 0 && error == EINTR) {
        /* The caller polls again. */
        armed = handler;
    } else {
        upcall_handler_unref(handler);
    }
    errno = error;
    return retval;
}
