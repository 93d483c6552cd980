/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_EVENT_H
#define KDP_LINK_EVENT_H 1

/* Events of links
 * ===============
 *
 * Enters in the replica what the kernel announces.
 *
 * An event of another namespace is tagged with its id.  One of ours is not
 * tagged, unless our namespace was given an id for itself.  That id is asked
 * for when the listener opens, when an id appears, and when a tag is unknown.
 * Link events of other namespaces go to their own part of the table.  Nothing
 * else that happens there is kept.
 *
 * Thread safety: the thread of the replica.
 *
 * Failure: a malformed message is counted and skipped. */

#include "link/link-replica.h"

struct nlmsghdr;

/* Takes the event 'nlh', which came with namespace id 'tag' or with
 * LINK_NSID_NONE. */
void link_event_take(struct link_replica *, const struct nlmsghdr *nlh,
                     int32_t tag);

#endif /* lib/link/link-event.h */
