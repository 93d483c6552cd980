/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_THREAD_H
#define OFFLOAD_THREAD_H 1

/* Offload threads
 * ===============
 *
 * Each thread serves the queue with its number (offload-queue.h), and sleeps
 * when that is empty.
 *
 * A thread sorts the items of its queue into two lists, and first handles what
 * is urgent: flows in tc that are to be deleted or changed, flows without
 * copies whose rules vanished, and ports.  The rest are offers of flows that
 * are in the kernel.  The threads that put items into the queue mark the
 * urgent ones, so that sorting takes no lock.  A waiting offer does not become
 * urgent: the flow stays in the kernel, and out of tc, until its thread takes
 * the first step.
 *
 * Sorting keeps the order of requests on one flow.  A flow is in at most one
 * list.  A flow in the backlog is not in tc, so that its deletion does not
 * need the thread.  A flow that comes while another one with the same ufid is
 * being deleted from tc is in the kernel, thus not urgent, or is deleted
 * itself, with nothing left to do.
 *
 * Life cycle: offload_threads_create() prepares; offload_threads_set() starts
 * and ends threads.  A thread that ends hands over the content of its queue in
 * order, so that requests on one flow stay in order.  Finally,
 * offload_threads_destroy() ends them all.
 *
 * Thread safety: offload_threads_set() with config_mutex; the others when no
 * call on the engine is in progress. */

struct offload;

void offload_threads_create(struct offload *);
void offload_threads_set(struct offload *, unsigned int n);
void offload_threads_destroy(struct offload *);

#endif /* lib/offload/offload-thread.h */
