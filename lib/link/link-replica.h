/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_REPLICA_H
#define KDP_LINK_REPLICA_H 1

/* Link replica
 * ============
 *
 * The copy of the kernel's state that a listener keeps: the tables, the id
 * that our own namespace has for itself, and the statistics.  Events
 * (link-listener.h), dumps (link-resync.h) and answers to single requests
 * (link_request_*()) update it.
 *
 *
 * Events that are newer than the next part of a dump
 * --------------------------------------------------
 *
 * The kernel writes a part of a dump when the part before it is received.  So
 * a part that waits may be older than events that were received meanwhile:
 *
 *      part 1 is received, and part 2 written:   link 7 is up
 *      an event is received:                     link 7 has gone
 *      part 2 is received:                       link 7 is up
 *
 * "struct link_newer" records these events.  If one is about a link or a
 * namespace id, the next part's message about the same one is ignored.  Other
 * events are kept and applied again after that part.  Later parts are written
 * after the events.
 *
 *
 * Life cycle: link_replica_init(), link_replica_connect(),
 * link_replica_uninit().  The caller owns the tables.  When a link of our own
 * namespace goes, its addresses and queueing disciplines go with it.
 *
 * Thread safety: everything belongs to the thread that writes the tables. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-info.h"

struct link_addrs;
struct link_qdiscs;
struct link_subscription;
struct link_table;
struct nl_conn;
struct nlmsghdr;

/* Events that are newer than the next part of the dump in progress:
 * link_newer_begin(), link_newer_note() for each event, link_newer_clear()
 * after each part, link_newer_end().  One that is all zeros records nothing
 * and needs no link_newer_end(). */
struct link_newer {
    uint16_t type;              /* RTM_NEW* of the dump's messages, or 0 if no
                                 * dump is in progress... */
    int32_t nsid;               /* ...and the namespace that is dumped. */
    int32_t *ids;               /* Links or namespace ids of the events. */
    size_t n_ids, allocated_ids;
    char *msgs;                 /* The other events, each aligned. */
    size_t msgs_len, allocated_msgs;
};

/* Begins to record events about what a dump with messages of type 'type'
 * (RTM_NEW*) of namespace 'nsid' lists. */
void link_newer_begin(struct link_newer *, uint16_t type, int32_t nsid);
void link_newer_end(struct link_newer *);

/* Records the event 'nlh' of namespace 'nsid', which is about link or
 * namespace id 'id', if the dump lists such. */
void link_newer_note(struct link_newer *, const struct nlmsghdr *nlh,
                     int32_t nsid, int32_t id);

/* Forgets the recorded events. */
void link_newer_clear(struct link_newer *);

/* True if an event about link or namespace id 'id' was recorded. */
bool link_newer_has(const struct link_newer *, int32_t id);

/* Returns the event that follows 'nlh', or the first one if 'nlh' is NULL, or
 * NULL after the last.  Events about links and namespace ids are not among
 * them. */
const struct nlmsghdr *link_newer_next(const struct link_newer *,
                                       const struct nlmsghdr *nlh);

struct link_replica {
    struct link_table *table;
    struct link_addrs *addrs;   /* NULL if not kept; so is the next. */
    struct link_qdiscs *qdiscs;
    bool qdiscs_followed;       /* See link_listener_follow_qdiscs(). */
    struct link_subscription *subscription;     /* To 'table'. */

    struct nl_conn *conn;       /* For single requests. */
    struct link_newer newer;
    uint64_t n_removed;         /* Links of our namespace whose removal was
                                 * announced. */
    bool all_nsid;              /* Other namespaces are followed. */
    int32_t self_nsid;          /* Or LINK_NSID_NONE. */

    long long int changed_at;   /* When the last change of a link or address of
                                 * our namespace was announced, in ms. */
    struct link_listener_stats stats;
};

/* Makes a replica of only our own namespace. */
void link_replica_init(struct link_replica *, struct link_table *,
                       struct link_addrs *, struct link_qdiscs *);
void link_replica_uninit(struct link_replica *);

/* Opens the connection for single requests.  Returns 0 or a positive errno
 * value. */
int link_replica_connect(struct link_replica *);

/* Enters what the kernel says about a link of namespace 'nsid'.  If that is
 * not our own, changes a namespace id in '*view' to LINK_NSID_OTHER, since we
 * cannot translate the ids that other namespaces use. */
void link_replica_update_link(struct link_replica *, int32_t nsid,
                              struct link_view *view);

/* Notes in the table which of our own links have changed addresses.  If
 * addresses are not kept, that is 'ifindex', or all links if it is 0. */
void link_replica_tell_addrs(struct link_replica *, int ifindex);

/* Stores the id of our own namespace, or LINK_NSID_NONE.  If the table has a
 * namespace with that id, it was mistaken for another one: it is dropped, and
 * our own namespace becomes pending. */
void link_replica_set_self_nsid(struct link_replica *, int32_t nsid);

/* Single requests.  Each function waits for the kernel's answer and returns 0
 * or a positive errno value.  A request about a link takes the RTNL lock and
 * is counted by reason in the statistics; one about a namespace id does not
 * and is counted separately. */

/* Requests the id that our namespace has for itself and stores it.  Logs a
 * failure. */
int link_request_self_nsid(struct link_replica *);

/* Returns 0 if namespace id 'nsid' is in use, ENOENT if it is not, or another
 * positive errno value if that is unknown. */
int link_request_nsid_exists(struct link_replica *, int32_t nsid);

/* Requests link 'ifindex' of our namespace, and removes it from the table and
 * returns 0 if the kernel has none. */
int link_request_link(struct link_replica *, int ifindex, enum link_reason);

#endif /* lib/link/link-replica.h */
