/* SPDX-License-Identifier: Apache-2.0 */

/* Indexes of links. */

#include <config.h>
#include "link/link-table-private.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"

void
link_index_init(struct link_index *index)
{
    hmap_init(&index->by_ifindex);
    hmap_init(&index->by_name);
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
link_index_create(uint32_t n)
{
    struct link_index *index = xmalloc(sizeof *index);

    link_index_init(index);
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
link_hash(int32_t nsid, int ifindex)
{
    return hash_2words(nsid, ifindex);
}

static uint32_t
link_name_hash(int32_t nsid, const char *name)
{
    return hash_string(name, nsid);
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

void
link_index_insert_name(struct link_index *index, struct link_name *name)
{
    /* In front of others of the same name, which the kernel has renamed or
     * removed and we have yet to hear of. */
    link_hmap_insert(index, &index->by_name, &name->node,
                     link_name_hash(name->link->ns->nsid, name->name));
}

void
link_index_remove_name(struct link_index *index, struct link_name *name)
{
    hmap_remove(&index->by_name, &name->node);
}

void
link_index_insert(struct link_index *index, struct link *link)
{
    link_hmap_insert(index, &index->by_ifindex, &link->index_node,
                     link_hash(link->ns->nsid, link->info.ifindex));
    link_index_insert_name(index, &link->name);
    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_insert_name(index, &link->alt_names[i]);
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

    HMAP_FOR_EACH_WITH_HASH (link, index_node, link_hash(nsid, ifindex),
                             &index->by_ifindex) {
        if (link->info.ifindex == ifindex && link->ns->nsid == nsid) {
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

    HMAP_FOR_EACH_WITH_HASH (node, node, link_name_hash(nsid, name),
                             &index->by_name) {
        if (node->link->ns->nsid == nsid && !strcmp(node->name, name)) {
            return node->link;
        }
    }
    return NULL;
}

uint32_t
link_index_buckets(const struct link_index *index)
{
    return index->by_ifindex.mask + 1;
}
