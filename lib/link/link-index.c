/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-index.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

void
link_index_init(struct link_index *index, uint32_t basis)
{
    hmap_init(&index->by_ifindex);
    hmap_init(&index->by_name);
    index->basis = basis;
    index->fixed = false;
}

/* Gives the empty 'hmap' 'n' buckets.  Open vSwitch's own function for that
 * aborts the process when memory is short. */
static bool
link_hmap_reserve(struct hmap *hmap, uint32_t n)
{
    hmap_init(hmap);
    if (n > 1) {
        struct hmap_node **buckets = calloc(n, sizeof *buckets);

        if (!buckets) {
            return false;
        }
        hmap->buckets = buckets;
        hmap->mask = n - 1;
    }
    return true;
}

struct link_index *
link_index_create(uint32_t n, uint32_t basis)
{
    struct link_index *index = xmalloc(sizeof *index);

    link_index_init(index, basis);
    index->fixed = true;
    if (!link_hmap_reserve(&index->by_ifindex, n)
        || !link_hmap_reserve(&index->by_name, n)) {
        link_index_uninit(index);
        free(index);
        return NULL;
    }
    return index;
}

void
link_index_uninit(struct link_index *index)
{
    hmap_destroy(&index->by_ifindex);
    hmap_destroy(&index->by_name);
}

static uint32_t
link_hash(const struct link_index *index, int32_t nsid, int ifindex)
{
    return hash_3words(index->basis, nsid, ifindex);
}

static uint32_t
link_name_hash(const struct link_index *index, int32_t nsid, const char *name)
{
    return hash_string(name, hash_2words(index->basis, nsid));
}

static void
link_hmap_insert(const struct link_index *index, struct hmap *hmap,
                 struct hmap_node *node, uint32_t hash)
{
    if (index->fixed) {
        hmap_insert_fast(hmap, node, hash);
    } else {
        hmap_insert(hmap, node, hash);
    }
}

static struct link_name *
link_index_find_name__(const struct link_index *index, int32_t nsid,
                       const char *name, uint32_t hash)
{
    struct link_name *node;

    HMAP_FOR_EACH_WITH_HASH (node, node, hash, &index->by_name) {
        if (node->link->info.nsid == nsid && !strcmp(node->name, name)) {
            return node;
        }
    }
    return NULL;
}

void
link_index_insert_name(struct link_index *index, struct link_name *name)
{
    int32_t nsid = name->link->info.nsid;
    uint32_t hash = link_name_hash(index, nsid, name->name);
    struct link_name *other = link_index_find_name__(index, nsid, name->name,
                                                     hash);

    if (other) {
        link_index_remove_name(index, other);
        other->lost = true;
    }
    name->lost = false;
    link_hmap_insert(index, &index->by_name, &name->node, hash);
}

void
link_index_remove_name(struct link_index *index, struct link_name *name)
{
    if (!name->lost) {
        hmap_remove(&index->by_name, &name->node);
    }
}

/* Inserts 'name' unless it is lost. */
static void
link_index_reinsert_name(struct link_index *index, struct link_name *name)
{
    if (!name->lost) {
        link_index_insert_name(index, name);
    }
}

void
link_index_insert(struct link_index *index, struct link *link)
{
    link_hmap_insert(index, &index->by_ifindex, &link->index_node,
                     link_hash(index, link->info.nsid, link->info.ifindex));
    link_index_reinsert_name(index, &link->name);
    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_reinsert_name(index, &link->alt_names[i]);
    }
}

void
link_index_remove(struct link_index *index, struct link *link)
{
    hmap_remove(&index->by_ifindex, &link->index_node);
    link_index_remove_name(index, &link->name);
    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_remove_name(index, &link->alt_names[i]);
    }
}

struct link *
link_index_find(const struct link_index *index, int32_t nsid, int ifindex)
{
    struct link *link;

    HMAP_FOR_EACH_WITH_HASH (link, index_node,
                             link_hash(index, nsid, ifindex),
                             &index->by_ifindex) {
        if (link->info.ifindex == ifindex && link->info.nsid == nsid) {
            return link;
        }
    }
    return NULL;
}

struct link *
link_index_find_name(const struct link_index *index, int32_t nsid,
                     const char *name)
{
    struct link_name *node;

    node = link_index_find_name__(index, nsid, name,
                                  link_name_hash(index, nsid, name));
    return node ? node->link : NULL;
}

uint32_t
link_index_buckets(const struct link_index *index)
{
    return index->by_ifindex.mask + 1;
}
