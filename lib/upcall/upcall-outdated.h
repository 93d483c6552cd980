/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_OUTDATED_H
#define KDP_UPCALL_OUTDATED_H 1

/* Upcalls of a previous run
 * =========================
 *
 * Private to lib/upcall.  While the flows of a previous run of the daemon still
 * forward, a packet that one of them has recirculated may match no further
 * flow.  Its upcall has a recirculation id that only that run knew.  The ids of
 * this run begin again, so the id may stand for something else by the time
 * at which the upcall is handed out.
 *
 * A socket that marks such upcalls has a filter in the kernel.  The filter sees
 * a message when it is sent.  It cuts off all but the headers of an upcall whose
 * packet was recirculated, and leaves all others as they are.  So when the
 * mark is taken away, what was sent before is told from what is sent after,
 * however long it waits on the socket.  A message that is not marked costs
 * nothing to tell: only what is no whole upcall is looked at.
 *
 * The filter knows where the id is: the kernel puts the flow key first, and the
 * id first in that.  A message that looks otherwise is not cut.
 *
 * Adopted sockets
 * ---------------
 *
 * A socket that outlived the previous run (upcall-store.h) has upcalls of
 * that run, which no filter saw.  Their end is a message that this run sends
 * to the socket, from itself, after it has set the filter.  The handler that
 * reads the socket cuts the messages before the end as the filter does.  If
 * the kernel has dropped an upcall because the socket was full, it queues
 * nothing more, not the end either, before the socket is empty.  So an empty
 * socket is the end, too.
 *
 * Actions of old flows send upcalls to an adopted socket, too.  These upcalls
 * concern only the bridges of the previous run, so they are marked as well.
 * The filter cannot tell them from upcalls that this run's own packets cause
 * in that time, by actions of a controller.
 *
 * Thread safety: no state. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins to mark what is sent to socket 'fd', which may be 'adopted'.  Returns
 * 0 or a positive errno value, and no mark. */
int upcall_outdated_mark(int fd, bool adopted);

/* Marks nothing more.  What is marked stays so. */
void upcall_outdated_unmark(int fd);

/* Sends the end of what a previous run left to adopted socket 'fd', whose port
 * id is 'pid'. */
void upcall_outdated_end(int fd, uint32_t pid);

/* Cuts '*len' bytes at 'msg', which were received before that, if they are an
 * upcall that the filter would have cut. */
void upcall_outdated_cut(const void *msg, size_t *len);

/* True if the 'len' bytes at 'msg', as they were received, are what the mark
 * left of an upcall. */
bool upcall_outdated_is(const void *msg, size_t len);

#endif /* lib/upcall/upcall-outdated.h */
