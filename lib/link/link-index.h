/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_INDEX_H
#define KDP_LINK_INDEX_H 1

/* Indexes of links
 * ================
 *
 * A pair of hash tables: links by namespace and interface index, and their
 * names and alternative names by namespace and name.  An index has either a
 * fixed number of buckets or grows with what is in it.
 *
 * Names: a name means the link that was inserted with it last.  The link that
 * had the name before keeps a record of it, marked 'lost': the kernel has
 * renamed or removed that link, and the event is still to come.
 *
 * Life cycle: link_index_init() or link_index_create(), link_index_uninit().
 * An index owns no links.
 *
 * Thread safety: none.  The owner holds its lock over each call.
 *
 * Failure: link_index_create() returns NULL when memory is short.  The others
 * cannot fail. */

#include "link/link-info.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"

struct link_index {
    struct hmap by_ifindex;     /* Of struct link, node 'index_node'. */
    struct hmap by_name;        /* Of struct link_name, node 'node'. */
    uint32_t basis;             /* Of the hashes. */
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

/* Makes 'index' grow with what is in it. */
void link_index_init(struct link_index *, uint32_t basis);

/* Makes an index with 'n' buckets, a power of two.  Returns NULL if there is
 * not enough memory. */
struct link_index *link_index_create(uint32_t n, uint32_t basis);
void link_index_uninit(struct link_index *);

/* Inserts or removes 'link' with its names. */
void link_index_insert(struct link_index *, struct link *);
void link_index_remove(struct link_index *, struct link *);

/* Makes 'name', which is not in the index, mean its link and no other. */
void link_index_insert_name(struct link_index *, struct link_name *);
void link_index_remove_name(struct link_index *, struct link_name *);

/* Return the link, or NULL if there is none. */
struct link *link_index_find(const struct link_index *, int32_t nsid,
                             int ifindex);
struct link *link_index_find_name(const struct link_index *, int32_t nsid,
                                  const char *name);

/* Number of buckets of the index by interface index. */
uint32_t link_index_buckets(const struct link_index *);

#endif /* lib/link/link-index.h */
