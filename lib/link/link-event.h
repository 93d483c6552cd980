/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_EVENT_H
#define KDP_LINK_EVENT_H 1

/* Events of links
 * ===============
 *
 * Enters in the replica what the kernel announces.
 *
 * Events come on two sockets.  That of our own namespace hears nothing else.
 * That of others hears the links of all namespaces that have an id in ours,
 * and these ids.  An event of another one is tagged with its id.  One of ours
 * is not tagged, unless our namespace was given an id for itself, and is
 * skipped there.  That id is asked for when the listener opens, when an id
 * appears, and when a tag is unknown.  Link events of other namespaces go to
 * their own part of the table.
 *
 * Thread safety: the thread of the replica.
 *
 * Failure: a malformed message is counted and skipped. */

#include "link/link-replica.h"

struct nlmsghdr;

/* Takes the event 'nlh' of our own namespace. */
void link_event_take_own(struct link_replica *, const struct nlmsghdr *nlh);

/* Takes the event 'nlh' of the socket of other namespaces, which came with the
 * id 'tag' or with LINK_NSID_NONE. */
void link_event_take_others(struct link_replica *,
                            const struct nlmsghdr *nlh, int32_t tag);

#endif /* lib/link/link-event.h */
