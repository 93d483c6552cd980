/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_OUTDATED_H
#define KDP_UPCALL_OUTDATED_H 1

/* Upcalls of a previous run
 * =========================
 *
 * Private to lib/upcall.  While the flows of a previous run of the daemon still
 * forward, a packet that one of them has recirculated may match no further
 * flow.  Its upcall has a recirculation id that only that run knew.  The ids of
 * this run begin anew, so that the id may stand for something else by the time
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
 * Thread safety: no state. */

#include <stdbool.h>
#include <stddef.h>

/* Begins to mark what is sent to socket 'fd'.  Returns 0 or a positive errno
 * value, and no mark. */
int upcall_outdated_mark(int fd);

/* Marks nothing more.  What is marked stays so. */
void upcall_outdated_unmark(int fd);

/* True if the 'len' bytes at 'msg', as they were received, are what the mark
 * left of an upcall. */
bool upcall_outdated_is(const void *msg, size_t len);

#endif /* lib/upcall/upcall-outdated.h */
