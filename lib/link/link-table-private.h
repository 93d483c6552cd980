/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_TABLE_PRIVATE_H
#define KDP_LINK_TABLE_PRIVATE_H 1

/* What the files of the link table share: link-index.c has the indexes,
 * link-table.c what writers do, link-read.c what readers get, link-notify.c
 * the subscriptions. */

#include "link/link-table.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"

/* A pair of indexes.  Its owner holds the mutex of the table. */
struct link_index {
    struct hmap by_ifindex;     /* Of struct link, node 'index_node'. */
    struct hmap by_name;        /* Of struct link_name, node 'node'. */
    uint32_t basis;             /* Of the hashes: that of the table. */
    bool fixed;                 /* Does not grow. */
};

struct link_name {
    struct hmap_node node;      /* In 'by_name', unless 'lost'. */
    struct link *link;
    char *name;
    bool lost;                  /* Another link of the namespace was told to
                                 * have it later. */
};

struct link {
    struct hmap_node index_node;        /* In 'by_ifindex'. */
    struct ovs_list node;               /* In the namespace's 'links', or, once
                                         * removed, among what is to free. */
    struct link_ns *ns;
    uint64_t generation;                /* Namespace's at the last update. */
    struct link_info info;
    struct link_name name;
    struct link_name *alt_names;
    size_t n_alt_names;
};

struct link_ns {
    struct hmap_node node;      /* In 'namespaces' of the table. */
    int32_t nsid;
    uint64_t generation;        /* Of its links. */
    uint64_t table_generation;  /* Table's when last added. */
    enum link_ns_state state;
    int error;
    struct ovs_list pending_node;       /* If pending. */
    struct ovs_list links;
    size_t n_links;
    struct link_index *index;   /* Its own or the shared one. */
    uint64_t events, overruns, resyncs;
};

struct link_table {
    struct ovs_mutex mutex;     /* Guards all but 'subscriptions'. */
    struct hmap namespaces;
    struct ovs_list pending;    /* Of struct link_ns. */
    uint64_t generation;        /* Of the namespaces. */
    struct link_index shared;
    uint32_t n_buckets;         /* Of new namespaces, or 0. */
    uint32_t basis;             /* Random, so that those who choose names and
                                 * interface indexes in their namespaces cannot
                                 * choose such that share a bucket. */
    uint64_t seqno;
    struct seq *seq;

    /* The writer's alone. */
    struct ovs_list subscriptions;
    unsigned int depth;         /* Of calls of subscribers. */
};

/* Finds a namespace.  Returns NULL if it is not there. */
struct link_ns *link_ns_find(const struct link_table *, int32_t nsid);

/* Makes 'index' grow with what is in it.  Cannot fail. */
void link_index_init(struct link_index *, uint32_t basis);

/* Makes an index with 'n' buckets, a power of two.  Returns NULL if there is
 * not enough memory. */
struct link_index *link_index_create(uint32_t n, uint32_t basis);
void link_index_uninit(struct link_index *);
void link_index_insert(struct link_index *, struct link *);
void link_index_remove(struct link_index *, struct link *);

/* Makes 'name', which is not in the index, mean its link, and no other any
 * more: the kernel has renamed or removed that, and we have yet to hear. */
void link_index_insert_name(struct link_index *, struct link_name *);
void link_index_remove_name(struct link_index *, struct link_name *);
struct link *link_index_find(const struct link_index *, int32_t nsid,
                             int ifindex);
struct link *link_index_find_name(const struct link_index *, int32_t nsid,
                                  const char *name);

/* Number of buckets of the index by interface index. */
uint32_t link_index_buckets(const struct link_index *);

/* Tells the subscribers. */
void link_notify(struct link_table *, const struct link_info *,
                 uint32_t what);

#endif /* lib/link/link-table-private.h */
