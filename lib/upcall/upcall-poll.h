/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_POLL_H
#define KDP_UPCALL_POLL_H 1

/* Sleeping inside epoll_wait()
 * ============================
 *
 * The kernel wakes one waiter for an event only where the waiters wait inside
 * epoll_wait().  A thread that calls poll() on the epoll instance's file
 * descriptor, as poll_block() does for any file descriptor, is not a waiter of
 * that kind: the kernel cannot tell which of those that poll will look, so it
 * wakes them all.  With n handlers, every upcall that finds them idle then
 * wakes n threads for the work of one.
 *
 * So the program's poll() is replaced (it links with --wrap=poll, which sends
 * the calls of all objects linked into it here and leaves those of shared
 * libraries alone).  A thread that said upcall_poll_arm() has its next poll()
 * carried out as epoll_wait() on the scheduler's epoll instance.  That
 * instance also has the descriptors that the handlers poll besides, here
 * called latches: the latch that ends the handlers, and the pipe by which a
 * signal ends the process.  Open vSwitch closes a latch after it has joined
 * the threads that wait for it, so a thread adds its latches once and relies
 * on that.  Everything that poll_block()
 * does around its poll() (RCU, time-outs, warnings of long intervals) stays
 * in force.  A thread that polls something else is served by the C library's
 * poll(), and so is one that did not arm.  A poll() that a signal interrupts
 * does not count: the next one is the handler's still.
 *
 * Thread safety: the state is the calling thread's own.  The handler is held
 * by a reference while its thread sleeps in it. */

#include <poll.h>

struct upcall_handler;

/* Makes the calling thread's next poll() wait for 'handler', whose epoll file
 * descriptor must be among those polled. */
void upcall_poll_arm(struct upcall_handler *handler);

/* What the linker replaces poll() by.  Same contract as poll(2). */
int __wrap_poll(struct pollfd *, nfds_t n, int timeout);

#endif /* lib/upcall/upcall-poll.h */
