/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_NEWER_H
#define KDP_LINK_NEWER_H 1

/* Events that are newer than what a dump says next
 * =================================================
 *
 * The kernel writes a part of a dump when the part before it is received.  So
 * a part that waits may be older than events that were taken meanwhile:
 *
 *      part 1 is received, and part 2 written:   link 7 is up
 *      an event is taken:                        link 7 has gone
 *      part 2 is received:                       link 7 is up
 *
 * These events are noted.  What the next part says of a link or of a namespace
 * id that is noted does not count.  Other events are kept, to be entered once
 * more after that part.  Parts that are received after it were written later
 * than the events.
 *
 * Life cycle: link_newer_begin(), link_newer_note() for each event, and
 * link_newer_clear() after each part, link_newer_end().  One that is all zeros
 * notes nothing, and needs no link_newer_end().
 *
 * Thread safety: the thread of the replica. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nlmsghdr;

struct link_newer {
    uint16_t type;              /* RTM_NEW* of the messages of the dump, or 0
                                 * if there is none... */
    int32_t nsid;               /* ...and the namespace that it is of. */
    int32_t *ids;               /* What events told of. */
    size_t n_ids, allocated_ids;
    char *msgs;                 /* Events themselves, each aligned. */
    size_t msgs_len, allocated_msgs;
};

/* Begins to note events of the kind of messages of type 'type' (RTM_NEW*) of
 * namespace 'nsid'. */
void link_newer_begin(struct link_newer *, uint16_t type, int32_t nsid);
void link_newer_end(struct link_newer *);

/* Notes the event 'nlh' of namespace 'nsid', which is about link or namespace
 * id 'id', if it is of that kind. */
void link_newer_note(struct link_newer *, const struct nlmsghdr *nlh,
                     int32_t nsid, int32_t id);

/* Forgets what was noted. */
void link_newer_clear(struct link_newer *);

/* True if an event about 'id' was noted. */
bool link_newer_has(const struct link_newer *, int32_t id);

/* Returns the event that follows 'nlh', or the first one if it is NULL, or
 * NULL after the last.  There are none of links and namespace ids. */
const struct nlmsghdr *link_newer_next(const struct link_newer *,
                                       const struct nlmsghdr *nlh);

#endif /* lib/link/link-newer.h */
