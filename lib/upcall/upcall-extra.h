/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_EXTRA_H
#define KDP_UPCALL_EXTRA_H 1

/* Extra descriptors
 * =================
 *
 * Private to lib/upcall.  What handlers wait for besides their channels, such
 * as the latch that ends them.  A handler that sleeps in epoll_wait()
 * (upcall-poll.h) has them in the epoll instance of its group.
 *
 *      begin()         before each wait: registers what is not registered yet,
 *                      and counts the caller as one that waits for it
 *      epoll_wait()
 *      end()           after it: counts the caller out
 *      remove()        unregisters, if nobody waits for it
 *
 * The kernel may give the event of an extra descriptor to a handler that does
 * not wait for it.  That handler calls remove(), and waits again.  If somebody
 * does wait for the descriptor, it stays, and epoll, which still has the
 * event, wakes others in turn until it comes to one that waits for it.
 *
 * A descriptor stays registered between two waits, so that a wait costs no
 * system call for it.  Closing it unregisters it, and its number may become
 * that of another one, even that of a channel.  upcall-closed.h tells that,
 * and channels are registered through upcall_extra_add_other().
 *
 * Failure: a descriptor that epoll does not take, or for which there is no
 * room, has no bit, and the caller waits for it in another way.
 *
 * Thread safety
 * -------------
 *
 *      begin, remove, add_other        any threads: they take the mutex
 *      end                             any thread, without the mutex
 *
 * How many handlers wait for each descriptor is in one word, 16 bits for each,
 * so that it takes one locked instruction for all of a handler.  It grows with
 * the mutex held only.  Whoever sees an old number in remove() leaves the
 * descriptor where it is, and the next one that gets its event removes it. */

#include <stddef.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "ovs-thread.h"

/* Descriptors that there may be at once.  Handlers have one, their latch.  The
 * others are room, at 16 bits of a word each. */
#define UPCALL_EXTRA_FDS 4

struct upcall_extra {
    int epoll_fd;
    uint64_t data;              /* What the event of the first one carries. */
    struct ovs_mutex mutex;
    atomic_uint64_t n_waiting;
    struct {
        int fd;                 /* Or -1 if the entry is free. */
        uint64_t closed;        /* Count of upcall_closed_watch() when it was
                                 * registered. */
    } entries[UPCALL_EXTRA_FDS];
};

/* Makes 'extra' one of epoll instance 'epoll_fd', where the event of
 * descriptor i carries 'data' + i. */
void upcall_extra_init(struct upcall_extra *extra, int epoll_fd,
                       uint64_t data);
void upcall_extra_uninit(struct upcall_extra *extra);

/* Begins to wait for the 'n' descriptors 'fds'.  Stores the bit of each in
 * 'bits', that of entry i being 1 << i, or 0 if it cannot be waited for. */
void upcall_extra_begin(struct upcall_extra *extra, const int fds[], size_t n,
                        uint32_t bits[]);

/* Ends the wait for those of 'bits'. */
void upcall_extra_end(struct upcall_extra *extra, uint32_t bits);

/* Unregisters those of 'bits' that nobody waits for. */
void upcall_extra_remove(struct upcall_extra *extra, uint32_t bits);

/* Registers 'fd', which is none of these, for 'events' that carry 'data'.
 * Returns 0 or a positive errno value. */
int upcall_extra_add_other(struct upcall_extra *extra, int fd, uint32_t events,
                           uint64_t data);

#endif /* lib/upcall/upcall-extra.h */
