/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_POLL_H
#define KDP_UPCALL_POLL_H 1

/* Sleeping inside epoll_wait()
 * ============================
 *
 * EPOLLEXCLUSIVE spares the other waiters only where they wait inside
 * epoll_wait().  A thread that calls poll() on the epoll instance's file
 * descriptor, as poll_block() does for any file descriptor, is not a waiter of
 * that kind: the kernel cannot tell which of the instances that are polled
 * this way will look, so it wakes them all.  With n handlers, every upcall
 * that finds them idle then wakes n threads for the work of one.
 *
 * So the program's poll() is replaced (it links with --wrap=poll, which sends
 * the calls of all objects linked into it here and leaves those of shared
 * libraries alone).  A thread that said upcall_poll_arm() has its next poll()
 * carried out as epoll_wait() on the handler's epoll instance; the other
 * descriptors that it polls for POLLIN, such as the latch that ends the
 * thread, are added to that instance.  Everything that poll_block() does
 * around its poll() (RCU, time-outs, the watch over long intervals) stays in
 * force.  A thread that did not arm gets the C library's poll().
 *
 * Thread safety: the state is the calling thread's own.  The handler is held
 * by a reference while its thread sleeps in it. */

#include <poll.h>

struct upcall_handler;

/* Makes the calling thread's next poll() wait for 'handler', whose epoll file
 * descriptor must be among those polled. */
void upcall_poll_arm(struct upcall_handler *handler);

/* What poll() is replaced by.  Same contract as poll(2). */
int upcall_poll(struct pollfd *, nfds_t n, int timeout);

#endif /* lib/upcall/upcall-poll.h */
