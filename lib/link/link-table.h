/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_TABLE_H
#define KDP_LINK_TABLE_H 1

/* Link table
 * ==========
 *
 * Stores the network devices ("links") of our own network namespace and of
 * those that have an id in it.  A writer, usually a listener
 * (link-listener.h), enters what the kernel says.  Readers get copies.
 *
 *      LINK_NSID_LOCAL ---> namespace ---+--> index by interface index
 *      namespace id 0  ---> namespace ---+--> index by name and by
 *      namespace id 7  ---> namespace ---+    alternative names
 *
 * Names and interface indexes repeat between namespaces, so a namespace is
 * part of every key.  Our own is LINK_NSID_LOCAL, whatever id it may have for
 * itself.  Within a namespace, a name refers to the link that got it last.
 *
 *
 * Buckets
 * -------
 *
 * By default all namespaces share one pair of indexes, which grows.  With
 * link_table_set_buckets() each namespace has its own indexes with a fixed
 * number of buckets, so that the links of one namespace do not slow down
 * lookups in another.  If there is not enough memory for that, the namespace
 * uses the shared ones.
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
 *   - Stale: its links cannot be obtained (link_table_set_stale()).
 *
 * In a pending or stale namespace, readers see the best information there is.
 *
 * To enter the links of a namespace again, call link_table_mark(), then
 * link_table_update() for each link, then link_table_sweep(), which removes
 * the links that were not updated.
 *
 *
 * Changes
 * -------
 *
 * Every change has a global, increasing sequence number.  struct link_info has
 * the number of the link's last change.  An update that changes nothing is not
 * a change.
 *
 * The writing thread calls the function of each subscriber after a change,
 * without locks.  The function may read the table, subscribe and unsubscribe;
 * a new subscription does not get the present change.  It must not write, nor
 * run the writer (link_table_is_notifying()).
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
 * A mutex guards the table.  It is held while one link is found and copied, or
 * for the whole of a function that handles all links or namespaces.  Only
 * link_table_addrs_changed() takes it for each link separately.
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

/* Destroys 'table', which may be NULL, without notifying subscribers. */
void link_table_destroy(struct link_table *);

/* Gives each namespace, present ones included, its own indexes with 'n'
 * buckets, rounded up to a power of two, at most LINK_BUCKETS_MAX.  With 0
 * they share one pair.  Logs a warning if there is no memory for one, which
 * then shares. */
void link_table_set_buckets(struct link_table *, uint32_t n);

/* Namespaces. */

/* Adds namespace 'nsid' unless it is there.  Returns true if it was added, as
 * pending. */
bool link_table_add_ns(struct link_table *, int32_t nsid);

/* Follows namespaces other than our own only on demand.  To be called before
 * there are any. */
void link_table_set_on_demand(struct link_table *);

/* Begins to follow namespace 'nsid', and adds it if necessary. */
void link_table_follow_ns(struct link_table *, int32_t nsid);

/* Ends following namespace 'nsid', which is not our own: removes its links and
 * resets its counters. */
void link_table_unfollow_ns(struct link_table *, int32_t nsid);

/* Is any other namespace than our own followed? */
bool link_table_follows_others(const struct link_table *);

/* Returns true and counts an event if namespace 'nsid' is there and is not
 * followed, so that its events can be skipped. */
bool link_table_skips(struct link_table *, int32_t nsid);

/* Number of events that were skipped. */
uint64_t link_table_get_skipped(const struct link_table *);

/* Removes namespace 'nsid', if it is there, with all of its links. */
void link_table_drop_ns(struct link_table *, int32_t nsid);

bool link_table_has_ns(const struct link_table *, int32_t nsid);

/* Makes namespace 'nsid', which must be there, or all but our own, pending if
 * they are followed.  Our own becomes the first pending one, others the
 * last. */
void link_table_set_pending(struct link_table *, int32_t nsid);
void link_table_set_others_pending(struct link_table *);

/* Returns true and stores the first pending namespace in '*nsid', if there is
 * one. */
bool link_table_next_pending(const struct link_table *, int32_t *nsid);
bool link_table_is_pending(const struct link_table *, int32_t nsid);

/* Ends the pending state of namespace 'nsid': all of its links were entered,
 * or they cannot be obtained because of 'error', a positive errno value. */
void link_table_set_current(struct link_table *, int32_t nsid);
void link_table_set_stale(struct link_table *, int32_t nsid, int error);

/* Counters of a namespace, for link_table_get_namespaces(). */
void link_table_count_event(struct link_table *, int32_t nsid);

/* For our own namespace, or for all 'others'. */
void link_table_count_overrun(struct link_table *, bool others);

/* Between the two, call link_table_add_ns() for each namespace.  The sweep
 * drops all others except our own. */
void link_table_mark_namespaces(struct link_table *);
void link_table_sweep_namespaces(struct link_table *);

/* Links. */

/* Updates a link of namespace 'nsid' from 'view', and adds the namespace if
 * necessary.  Ignores a partial view of an unknown link.  Returns what has
 * changed, a combination of LINK_CHANGE_*, or 0. */
uint32_t link_table_update(struct link_table *, int32_t nsid,
                           const struct link_view *view);

/* Removes a link.  Returns false if there was none. */
bool link_table_remove(struct link_table *, int32_t nsid, int ifindex);

/* Notes that the IP addresses of a link, or of all links of the namespace if
 * 'ifindex' is 0, may have changed. */
void link_table_addrs_changed(struct link_table *, int32_t nsid, int ifindex);

/* See "Life cycle".  link_table_keep() keeps a link that exists but could not
 * be updated. */
void link_table_keep(struct link_table *, int32_t nsid, int ifindex);
void link_table_mark(struct link_table *, int32_t nsid);
size_t link_table_sweep(struct link_table *, int32_t nsid);

/* Stores in 'ifindexes' at most 'max' links that were not updated since
 * link_table_mark(), and returns their number. */
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
    uint64_t overruns;          /* Losses that may have affected it. */
    uint64_t resyncs;           /* Times that all its links were dumped. */
};

/* Returns the namespaces, ours first, then by id, and their number in '*n'.
 * The caller frees the array. */
struct link_ns_info *link_table_get_namespaces(const struct link_table *,
                                               size_t *n);

/* Subscriptions. */

/* Calls 'cb' with 'aux' for changes of links of namespace 'nsid' (or
 * LINK_NSID_ALL) that include at least one of 'what'.  The caller owns the
 * result and must call link_table_unsubscribe() before it destroys the
 * table. */
struct link_subscription *
link_table_subscribe(struct link_table *, int32_t nsid, uint32_t what,
                     link_change_func *cb, void *aux);
void link_table_unsubscribe(struct link_subscription *);

/* True while subscribers are being called. */
bool link_table_is_notifying(const struct link_table *);

#endif /* lib/link/link-table.h */
