/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_EVENT_H
#define KDP_LINK_EVENT_H 1

/* Events of links
 * ===============
 *
 * Updates the replica from the kernel's announcements.
 *
 * Events arrive on two sockets.  One receives the events of our own namespace.
 * The other one receives the links of all namespaces that have an id in ours,
 * and these ids.  There, an event carries the id of its namespace as a tag.
 * Events of our own namespace arrive there, too, without a tag unless our
 * namespace has an id for itself, and are skipped.  Our own id is requested
 * when the listener opens, when an id appears, and when a tag is unknown.
 *
 * Thread safety: the thread of the replica.
 *
 * Failure: a malformed message is counted and skipped. */

#include "link/link-replica.h"

struct nlmsghdr;

/* Handles the event 'nlh' of our own namespace. */
void link_event_take_own(struct link_replica *, const struct nlmsghdr *nlh);

/* Handles the event 'nlh' from the socket of other namespaces, with the id
 * 'tag', or LINK_NSID_NONE if it has no tag. */
void link_event_take_others(struct link_replica *,
                            const struct nlmsghdr *nlh, int32_t tag);

#endif /* lib/link/link-event.h */
