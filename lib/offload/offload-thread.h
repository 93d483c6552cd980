/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_THREAD_H
#define OFFLOAD_THREAD_H 1

/* Offload threads
 * ===============
 *
 * Each serves the queue of its number (offload-queue.h), and sleeps when that
 * is empty.
 *
 * A thread sorts what comes out of its queue into two lists and does what is
 * urgent first: flows that are in tc, to be deleted or changed, flows that are
 * nowhere because their rules vanished, and ports.  What is left are offers of
 * flows that are in the kernel.  The threads that put items into the queue say
 * which are urgent, so that this takes no lock.  An offer that waits does not
 * become urgent: the flow stays in the kernel, and out of tc, until its thread
 * takes the first step.  This does not change the order of requests on
 * one flow.  Each flow is in at most one list; one in the backlog is not in
 * tc, so that a delete does not need the thread; and one that comes while
 * another one of the same ufid is being deleted from tc is in the kernel, thus
 * not urgent, or deleted itself, with nothing left to do.
 *
 * Life cycle: offload_threads_create() prepares; offload_threads_set() starts
 * and ends threads.  One that is to go hands over what is in its queue, in
 * order, so that requests on one flow stay in order.  At last
 * offload_threads_destroy() ends them all.
 *
 * Thread safety: offload_threads_set() with config_mutex; the others when no
 * call on the engine is under way. */

struct offload;

void offload_threads_create(struct offload *);
void offload_threads_set(struct offload *, unsigned int n);
void offload_threads_destroy(struct offload *);

#endif /* lib/offload/offload-thread.h */
