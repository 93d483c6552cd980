/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_TABLE_H
#define KDP_LINK_TABLE_H 1

/* Link table
 * ==========
 *
 * What is known about the network devices ("links") of our own network
 * namespace and of those that have an id in it.  A writer, usually a listener
 * (link-listener.h), enters what the kernel says.  Readers get copies.
 *
 *      LINK_NSID_LOCAL ---> namespace ---+--> index by interface index
 *      namespace id 0  ---> namespace ---+--> index by name and by
 *      namespace id 7  ---> namespace ---+    alternative names
 *
 * Names and interface indexes repeat between namespaces, so a namespace is
 * part of every key.  Our own is LINK_NSID_LOCAL, whatever id it may have for
 * itself.  Within a namespace a name means the link that got it last.
 *
 *
 * Buckets
 * -------
 *
 * By default all namespaces share one pair of indexes, which grows.  With
 * link_table_set_buckets() each has indexes of its own with a fixed number of
 * buckets, so that one namespace's links lengthen no lookup of another's.
 * A namespace for which there is not enough memory uses the shared ones.
 *
 *
 * Life cycle
 * ----------
 *
 * A namespace comes with link_table_add_ns(), or with its first link.  It goes
 * with link_table_drop_ns(), and its links go with it.  It is in one of these
 * states (enum link_ns_state):
 *
 *   - Pending: its links were not entered yet.
 *
 *   - Current: all of its links were entered (link_table_set_current()).
 *
 *   - Stale: its links cannot be had (link_table_set_stale()).
 *
 * What readers get of a pending or stale namespace is the best that is known.
 *
 * To enter the links of a namespace again: link_table_mark(), an update for
 * each link that there is, link_table_sweep().  The sweep removes the links
 * that were not updated.
 *
 *
 * Changes
 * -------
 *
 * Every change has a sequence number, global and increasing.  That of a link's
 * last change is in its struct link_info.  An update that changes nothing is
 * no change.
 *
 * A subscriber's function is called for each change, with what has changed.
 * The thread that writes calls it, after the change, without locks.  It may
 * read the table, subscribe and unsubscribe; a subscription that is made then
 * is not told of that change.  It must not write, nor run the
 * writer (link_table_is_notifying()).
 *
 *
 * Thread safety
 * -------------
 *
 *      function                              thread
 *      ----------------------------------    -------------------------------
 *      find, find_name, get_*, has_ns        any
 *      all others                            the one that writes
 *
 * A mutex guards the table.  It is held while one link is found and copied.
 * A function that is about all links or namespaces holds it for all of them,
 * except for link_table_addrs_changed(), which takes one after the other.
 *
 *
 * Loss
 * ----
 *
 * The table does not know what its writer missed.  It is as good as the
 * writer's last mark and sweep and the updates since. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-info.h"

struct sset;

struct link_table;

/* Most buckets of a namespace's own index: 128 MiB for each index. */
#define LINK_BUCKETS_MAX (1u << 24)

struct link_table *link_table_create(void);

/* Destroys 'table', which may be NULL.  Tells no subscriber. */
void link_table_destroy(struct link_table *);

/* Gives each namespace, those that there are included, indexes of its own with
 * 'n' buckets, rounded up to a power of two, at most LINK_BUCKETS_MAX.  With 0
 * all share.  Warns if the memory cannot be had for one; that one shares. */
void link_table_set_buckets(struct link_table *, uint32_t n);

/* Namespaces. */

/* Makes sure that namespace 'nsid' is there.  Returns true if it was not, in
 * which case it is pending. */
bool link_table_add_ns(struct link_table *, int32_t nsid);

/* Has other namespaces than our own followed only on demand.  To be called
 * before there are any. */
void link_table_set_on_demand(struct link_table *);

/* Follows namespace 'nsid' from now on, which is added if need be. */
void link_table_follow_ns(struct link_table *, int32_t nsid);

/* Ends that namespace 'nsid', another than ours, is followed: its links are
 * removed, and what happens there is counted from zero. */
void link_table_unfollow_ns(struct link_table *, int32_t nsid);

/* Is any other namespace than our own followed? */
bool link_table_follows_others(const struct link_table *);

/* Returns true, and counts an event, if namespace 'nsid' is there and is not
 * followed: what happens there is of no interest. */
bool link_table_skips(struct link_table *, int32_t nsid);

/* Number of events that were skipped. */
uint64_t link_table_get_skipped(const struct link_table *);

/* Removes namespace 'nsid', if it is there, with all of its links. */
void link_table_drop_ns(struct link_table *, int32_t nsid);

bool link_table_has_ns(const struct link_table *, int32_t nsid);

/* Makes namespace 'nsid', which has to be there, or all but our own, pending,
 * if they are followed.  Our own becomes the first of those that are, another
 * the last. */
void link_table_set_pending(struct link_table *, int32_t nsid);
void link_table_set_others_pending(struct link_table *);

/* Returns true and stores the first pending namespace in '*nsid', if there is
 * one. */
bool link_table_next_pending(const struct link_table *, int32_t *nsid);
bool link_table_is_pending(const struct link_table *, int32_t nsid);

/* Ends that namespace 'nsid' is pending: all of its links were told, or they
 * cannot be, for the reason 'error', a positive errno value. */
void link_table_set_current(struct link_table *, int32_t nsid);
void link_table_set_stale(struct link_table *, int32_t nsid, int error);

/* Counters of a namespace, for link_table_get_namespaces(). */
void link_table_count_event(struct link_table *, int32_t nsid);

/* Of our own namespace, or of all 'others'. */
void link_table_count_overrun(struct link_table *, bool others);

/* Between the two, link_table_add_ns() for each namespace that there is; then
 * the others are dropped, except for our own. */
void link_table_mark_namespaces(struct link_table *);
void link_table_sweep_namespaces(struct link_table *);

/* Links. */

/* Enters what 'view' says of a link of namespace 'nsid'; the namespace is
 * added if need be.  A partial view of an unknown link is ignored.  Returns
 * what has changed, a combination of LINK_CHANGE_*, or 0. */
uint32_t link_table_update(struct link_table *, int32_t nsid,
                           const struct link_view *view);

/* Removes a link.  Returns false if there was none. */
bool link_table_remove(struct link_table *, int32_t nsid, int ifindex);

/* Notes that the IP addresses of a link, or of all of the namespace if
 * 'ifindex' is 0, may have changed. */
void link_table_addrs_changed(struct link_table *, int32_t nsid, int ifindex);

/* See "Life cycle".  link_table_keep() is for a link that there is, of which
 * nothing is told. */
void link_table_keep(struct link_table *, int32_t nsid, int ifindex);
void link_table_mark(struct link_table *, int32_t nsid);
size_t link_table_sweep(struct link_table *, int32_t nsid);

/* Stores in 'ifindexes' those of at most 'max' links of which nothing was told
 * since link_table_mark(), and returns their number. */
size_t link_table_get_unseen(const struct link_table *, int32_t nsid,
                             int ifindexes[], size_t max);

/* Reading. */

/* Finds a link.  Returns true and fills '*info' if there is one. */
bool link_table_find(const struct link_table *, int32_t nsid, int ifindex,
                     struct link_info *info);

/* Finds a link by name or alternative name. */
bool link_table_find_name(const struct link_table *, int32_t nsid,
                          const char *name, struct link_info *info);

/* Adds the alternative names of a link to 'names'. */
void link_table_get_alt_names(const struct link_table *, int32_t nsid,
                              int ifindex, struct sset *names);

/* Returns the links of namespace 'nsid' by interface index, and their number
 * in '*n'.  The caller frees the array. */
struct link_info *link_table_get_links(const struct link_table *,
                                       int32_t nsid, size_t *n);

struct link_ns_info {
    int32_t nsid;
    enum link_ns_state state;
    int error;                  /* Why stale: positive errno value. */
    size_t n_links;
    int64_t buckets;            /* Of one index, negative if shared. */
    uint64_t events;            /* Link events of this namespace. */
    uint64_t overruns;          /* Losses that it may have been hit by. */
    uint64_t resyncs;           /* Times that all its links were told again. */
};

/* Returns the namespaces, ours first, then by id, and their number in '*n'.
 * The caller frees the array. */
struct link_ns_info *link_table_get_namespaces(const struct link_table *,
                                               size_t *n);

/* Subscriptions. */

/* Calls 'cb' with 'aux' for changes, of which at least one is in 'what', of
 * links of namespace 'nsid' (or LINK_NSID_ALL).  The caller owns the result
 * and ends it with link_table_unsubscribe(), before the table is destroyed. */
struct link_subscription *
link_table_subscribe(struct link_table *, int32_t nsid, uint32_t what,
                     link_change_func *cb, void *aux);
void link_table_unsubscribe(struct link_subscription *);

/* True while subscribers are being called. */
bool link_table_is_notifying(const struct link_table *);

#endif /* lib/link/link-table.h */
