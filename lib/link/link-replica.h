/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_REPLICA_H
#define KDP_LINK_REPLICA_H 1

/* The copy of the kernel's state that a listener keeps
 * ====================================================
 *
 * The tables, the id that our own namespace has for itself, the connection on
 * which the kernel is asked about what is missing, and the statistics.  Events
 * (link-event.h) and answers to requests (link-request.h) both end here.
 *
 * Life cycle: link_replica_init(), link_replica_connect(),
 * link_replica_uninit().  The tables are the caller's.  When a link of ours
 * goes, so do its addresses and queueing disciplines.
 *
 * Thread safety: all belongs to the thread that writes the tables. */

#include <stdbool.h>

#include "link/link-newer.h"
#include "link/link-stats.h"

struct link_addrs;
struct link_qdiscs;
struct link_subscription;
struct link_table;
struct nl_conn;

struct link_replica {
    struct link_table *table;
    struct link_addrs *addrs;   /* NULL if not kept; so is the next. */
    struct link_qdiscs *qdiscs;
    bool qdiscs_followed;       /* See link_listener_follow_qdiscs(). */
    struct link_subscription *subscription;     /* To 'table'. */

    struct nl_conn *conn;       /* For questions. */
    struct link_newer newer;    /* Than what the dump under way says next. */
    bool all_nsid;              /* Other namespaces are followed. */
    int32_t self_nsid;          /* Or LINK_NSID_NONE. */

    long long int changed_at;   /* When a change of a link or an address of
                                 * ours was announced last; milliseconds. */
    struct link_listener_stats stats;
};

/* Makes a replica of our own namespace alone. */
void link_replica_init(struct link_replica *, struct link_table *,
                       struct link_addrs *, struct link_qdiscs *);
void link_replica_uninit(struct link_replica *);

/* Opens the connection for requests.  Returns 0 or a positive errno value. */
int link_replica_connect(struct link_replica *);

/* Enters what the kernel says of a link of namespace 'nsid'.  Changes '*view':
 * other namespaces have ids of their own for what their links are on, of which
 * we know none. */
void link_replica_update_link(struct link_replica *, int32_t nsid,
                              struct link_view *view);

/* Tells the table of our own links whose addresses have changed.  That is
 * 'ifindex', or all links if it is 0, where addresses are not kept. */
void link_replica_tell_addrs(struct link_replica *, int ifindex);

/* Notes that our own namespace has the id 'nsid', or LINK_NSID_NONE.  A
 * namespace of that id in the table was ours: its events were taken for those
 * of another, so our own becomes pending. */
void link_replica_set_self_nsid(struct link_replica *, int32_t nsid);

#endif /* lib/link/link-replica.h */
