/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_STORE_H
#define KDP_LINK_STORE_H 1

/* Link store
 * ==========
 *
 * The content of a link table: namespaces and their links, and the indexes
 * that find links by namespace and interface index, and names and alternative
 * names by namespace and name.  The link table (link-table.h) adds a lock and
 * tells subscribers about changes.
 *
 * Life cycle: link_store_init(), link_store_uninit().  A link that leaves the
 * store moves to the caller's list 'removed'.  The caller notifies subscribers
 * and frees each link with link_free().
 *
 * Thread safety: none.  The owner holds its lock over each call.
 *
 * Failure: if there is no memory for a namespace's own index, it uses the
 * shared one, with a warning. */

#include <stddef.h>

#include "link/link-info.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"

/* A pair of hash tables, which does not own links.  It has either a fixed
 * number of buckets or grows with its content. */
struct link_index {
    struct hmap by_ifindex;     /* Of struct link, node 'index_node'. */
    struct hmap by_name;        /* Of struct link_name, node 'node'. */
    uint32_t basis;             /* Of the hashes. */
    bool fixed;                 /* Does not grow. */
};

/* A name refers to the link that was inserted with it last.  The link that had
 * the name before keeps a record of it, marked 'lost': the kernel has renamed
 * or removed that link, and the event is still to come. */
struct link_name {
    struct hmap_node node;      /* In 'by_name', unless 'lost'. */
    struct link *link;
    char *name;
    bool lost;                  /* Another link of the namespace got the name
                                 * later. */
};

struct link {
    struct hmap_node index_node;        /* In 'by_ifindex'. */
    struct ovs_list node;               /* In the namespace's 'links', or, once
                                         * removed, in a list to free. */
    struct link_ns *ns;
    uint64_t generation;                /* Namespace's at the last update. */
    struct link_info info;
    struct link_name name;
    struct link_name *alt_names;
    size_t n_alt_names;
};

struct link_ns {
    struct hmap_node node;      /* In 'namespaces' of the store. */
    int32_t nsid;
    uint64_t generation;        /* Of its links. */
    uint64_t store_generation;  /* Store's when last added. */
    bool followed;
    enum link_ns_state state;   /* LINK_NS_UNFOLLOWED if it is not. */
    int error;
    struct ovs_list pending_node;       /* If pending. */
    struct ovs_list links;
    size_t n_links;
    struct link_index *index;   /* Its own or the shared one. */
    uint64_t events, overruns, resyncs;
};

struct link_store {
    struct hmap namespaces;
    struct ovs_list pending;    /* Of struct link_ns. */
    bool on_demand;             /* Namespaces other than our own are followed
                                 * only when a caller wants it. */
    uint64_t generation;        /* Of the namespaces. */
    struct link_index shared;
    uint32_t n_buckets;         /* Of new namespaces, or 0. */
    uint32_t basis;             /* Random, so that processes in other
                                 * namespaces cannot choose names and interface
                                 * indexes that share a bucket. */
    uint64_t seqno;             /* Of the last change. */
};

void link_store_init(struct link_store *);
void link_store_uninit(struct link_store *, struct ovs_list *removed);

/* Namespaces. */

/* Returns NULL if there is no such namespace. */
struct link_ns *link_store_find_ns(const struct link_store *, int32_t nsid);

/* Adds a namespace that is not in the store.  It becomes pending if it is
 * followed. */
struct link_ns *link_store_add_ns(struct link_store *, int32_t nsid);

/* Begins to follow 'ns'.  If it was not followed, it becomes pending. */
void link_store_follow_ns(struct link_store *, struct link_ns *ns);
void link_store_drop_ns(struct link_store *, struct link_ns *,
                        struct ovs_list *removed);

/* Sets the state of a namespace.  Among the pending ones our own is the first,
 * and the others are in the order in which they became pending. */
void link_store_set_state(struct link_store *, struct link_ns *,
                          enum link_ns_state, int error);

/* See link_table_set_buckets().  'n' is a power of two or 0. */
void link_store_set_buckets(struct link_store *, uint32_t n);

/* Links. */

/* Each returns NULL if there is no such link. */
struct link *link_store_find(const struct link_store *, int32_t nsid,
                             int ifindex);
struct link *link_store_find_name(const struct link_store *, int32_t nsid,
                                  const char *name);

/* See link_table_update().  If the link has changed, stores its new state in
 * '*info'. */
uint32_t link_store_update(struct link_store *, int32_t nsid,
                           const struct link_view *view,
                           struct link_info *info);

/* Gives the next sequence number to 'link', which has changed. */
void link_store_count_change(struct link_store *, struct link *);

void link_store_remove(struct link_store *, struct link *,
                       struct ovs_list *removed);

/* Removes the links of 'ns' that were not updated in its generation. */
void link_store_sweep(struct link_store *, struct link_ns *,
                      struct ovs_list *removed);

/* Creates an index with 'n' buckets, a power of two.  Returns NULL if there is
 * not enough memory.  This and the next function are for a benchmark. */
struct link_index *link_index_create(uint32_t n, uint32_t basis);
void link_index_uninit(struct link_index *);

/* Frees a link that was removed. */
void link_free(struct link *);

#endif /* lib/link/link-store.h */
