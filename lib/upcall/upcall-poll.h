/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_POLL_H
#define KDP_UPCALL_POLL_H 1

/* Sleeping inside epoll_wait()
 * ============================
 *
 * The kernel wakes one waiter for an event only where the waiters wait inside
 * epoll_wait().  A thread that calls poll() on the epoll instance's file
 * descriptor, as poll_block() does for any file descriptor, is not such a
 * waiter: the kernel cannot tell which of the polling threads will look, so it
 * wakes them all.  With n idle handlers, every upcall then wakes n threads for
 * the work of one.
 *
 * So this module replaces the program's poll(): the program links with
 * --wrap=poll, which redirects the calls in all objects linked into it, but
 * not the calls in shared libraries.  After upcall_poll_arm(), a thread's next
 * poll() runs as epoll_wait() on the scheduler's epoll instance.  That
 * instance also has the other descriptors that handlers poll, here called
 * latches: the latch that ends the handlers, and the pipe by which a signal
 * ends the process.  Open vSwitch closes a latch only after it has joined the
 * threads that wait for the latch, so a thread adds its latches once.
 * Everything that poll_block() does around its poll() (RCU, time-outs,
 * warnings of long intervals) stays in force.  The C library's poll() serves a
 * thread that polls something else or that did not arm.  A poll() that a
 * signal interrupts does not count: the next poll() still waits for the
 * handler.
 *
 * Open vSwitch also checks its latches without waiting, three times for each
 * wake-up, each time with a poll().  Most of these checks do not ask the
 * kernel: they report that the latch is not set.  A latch that is set wakes a
 * sleeping thread, whose next check asks the kernel.  (Without this, a lone
 * upcall takes six calls for receiving and not three: test-upcall-calls.)
 *
 * Thread safety: the state is the calling thread's own.  A reference keeps the
 * handler alive while its thread sleeps in it. */

#include <poll.h>

struct upcall_handler;

/* Makes the calling thread's next poll() wait for 'handler', whose epoll file
 * descriptor must be among those polled. */
void upcall_poll_arm(struct upcall_handler *handler);

/* The linker replaces poll() with this function.  Same contract as poll(2). */
int __wrap_poll(struct pollfd *, nfds_t n, int timeout);

#endif /* lib/upcall/upcall-poll.h */
