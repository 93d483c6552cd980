/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/vlog.h"
#include "random.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_table);

/* Indexes. */

static void
link_index_init(struct link_index *index, uint32_t basis)
{
    hmap_init(&index->by_ifindex);
    hmap_init(&index->by_name);
    index->basis = basis;
    index->fixed = false;
}

void
link_index_uninit(struct link_index *index)
{
    hmap_destroy(&index->by_ifindex);
    hmap_destroy(&index->by_name);
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

static void
link_index_remove_name(struct link_index *index, struct link_name *name)
{
    if (!name->lost) {
        hmap_remove(&index->by_name, &name->node);
    }
}

/* Makes 'name', which is not in the index, refer to its own link only. */
static void
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

/* Inserts 'name' unless it is lost. */
static void
link_index_reinsert_name(struct link_index *index, struct link_name *name)
{
    if (!name->lost) {
        link_index_insert_name(index, name);
    }
}

static void
link_index_insert(struct link_index *index, struct link *link)
{
    link_hmap_insert(index, &index->by_ifindex, &link->index_node,
                     link_hash(index, link->info.nsid, link->info.ifindex));
    link_index_reinsert_name(index, &link->name);
    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_reinsert_name(index, &link->alt_names[i]);
    }
}

static void
link_index_remove(struct link_index *index, struct link *link)
{
    hmap_remove(&index->by_ifindex, &link->index_node);
    link_index_remove_name(index, &link->name);
    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_remove_name(index, &link->alt_names[i]);
    }
}

static struct link *
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

static struct link *
link_index_find_name(const struct link_index *index, int32_t nsid,
                     const char *name)
{
    struct link_name *node;

    node = link_index_find_name__(index, nsid, name,
                                  link_name_hash(index, nsid, name));
    return node ? node->link : NULL;
}

/* The store. */

void
link_store_init(struct link_store *store)
{
    memset(store, 0, sizeof *store);
    hmap_init(&store->namespaces);
    ovs_list_init(&store->pending);
    store->basis = random_uint32();
    link_index_init(&store->shared, store->basis);
}

void
link_store_uninit(struct link_store *store, struct ovs_list *removed)
{
    struct link_ns *ns;

    HMAP_FOR_EACH_SAFE (ns, node, &store->namespaces) {
        link_store_drop_ns(store, ns, removed);
    }
    hmap_destroy(&store->namespaces);
    link_index_uninit(&store->shared);
}

/* Namespaces. */

struct link_ns *
link_store_find_ns(const struct link_store *store, int32_t nsid)
{
    struct link_ns *ns;

    HMAP_FOR_EACH_WITH_HASH (ns, node, hash_int(nsid, 0),
                             &store->namespaces) {
        if (ns->nsid == nsid) {
            return ns;
        }
    }
    return NULL;
}

/* Returns the index for the links of a namespace. */
static struct link_index *
link_ns_make_index(struct link_store *store, int32_t nsid)
{
    if (!store->n_buckets) {
        return &store->shared;
    }

    struct link_index *index = link_index_create(store->n_buckets,
                                                 store->basis);
    if (!index) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

        char *name = link_nsid_to_string(nsid);

        VLOG_WARN_RL(&rl, "network namespace %s: no memory for a link table "
                     "of %"PRIu32" buckets; its links go to the shared table",
                     name, store->n_buckets);
        free(name);
        return &store->shared;
    }
    return index;
}

static void
link_ns_free_index(struct link_store *store, struct link_index *index)
{
    if (index != &store->shared) {
        link_index_uninit(index);
        free(index);
    }
}

void
link_store_set_state(struct link_store *store, struct link_ns *ns,
                     enum link_ns_state state, int error)
{
    bool was_pending = ns->state == LINK_NS_PENDING;

    if (was_pending && state != LINK_NS_PENDING) {
        ovs_list_remove(&ns->pending_node);
    } else if (!was_pending && state == LINK_NS_PENDING) {
        if (ns->nsid == LINK_NSID_LOCAL) {
            ovs_list_push_front(&store->pending, &ns->pending_node);
        } else {
            ovs_list_push_back(&store->pending, &ns->pending_node);
        }
    }
    ns->state = state;
    ns->error = error;
}

/* Puts the links of 'ns' into another index. */
static void
link_ns_move(struct link_store *store, struct link_ns *ns)
{
    struct link_index *old = ns->index;
    struct link *link;

    ns->index = link_ns_make_index(store, ns->nsid);
    LIST_FOR_EACH (link, node, &ns->links) {
        link_index_remove(old, link);
        link_index_insert(ns->index, link);
    }
    link_ns_free_index(store, old);
}

void
link_store_follow_ns(struct link_store *store, struct link_ns *ns)
{
    if (!ns->followed) {
        ns->followed = true;
        link_ns_move(store, ns);
        link_store_set_state(store, ns, LINK_NS_PENDING, 0);
    }
}

struct link_ns *
link_store_add_ns(struct link_store *store, int32_t nsid)
{
    struct link_ns *ns = xzalloc(sizeof *ns);

    ns->nsid = nsid;
    ns->store_generation = store->generation;
    ns->index = &store->shared;
    ns->state = LINK_NS_UNFOLLOWED;
    ovs_list_init(&ns->links);
    hmap_insert(&store->namespaces, &ns->node, hash_int(nsid, 0));
    if (nsid == LINK_NSID_LOCAL || !store->on_demand) {
        link_store_follow_ns(store, ns);
    }
    return ns;
}

void
link_store_set_buckets(struct link_store *store, uint32_t n)
{
    struct link_ns *ns;

    if (n != store->n_buckets) {
        store->n_buckets = n;
        HMAP_FOR_EACH (ns, node, &store->namespaces) {
            if (ns->followed) {
                link_ns_move(store, ns);
            }
        }
    }
}

/* Links. */

struct link *
link_store_find(const struct link_store *store, int32_t nsid, int ifindex)
{
    struct link_ns *ns = link_store_find_ns(store, nsid);

    return ns ? link_index_find(ns->index, nsid, ifindex) : NULL;
}

struct link *
link_store_find_name(const struct link_store *store, int32_t nsid,
                     const char *name)
{
    struct link_ns *ns = link_store_find_ns(store, nsid);

    return ns ? link_index_find_name(ns->index, nsid, name) : NULL;
}

void
link_store_count_change(struct link_store *store, struct link *link)
{
    link->info.change_seqno = ++store->seqno;
}

static void
link_free_alt_names(struct link *link)
{
    for (size_t i = 0; i < link->n_alt_names; i++) {
        free(link->alt_names[i].name);
    }
    free(link->alt_names);
}

void
link_free(struct link *link)
{
    link_free_alt_names(link);
    free(link->name.name);
    free(link);
}

void
link_store_remove(struct link_store *store, struct link *link,
                  struct ovs_list *removed)
{
    struct link_ns *ns = link->ns;

    link_index_remove(ns->index, link);
    ovs_list_remove(&link->node);
    ns->n_links--;
    ovs_list_push_back(removed, &link->node);
    link_store_count_change(store, link);
}

void
link_store_sweep(struct link_store *store, struct link_ns *ns,
                 struct ovs_list *removed)
{
    struct link *link;

    LIST_FOR_EACH_SAFE (link, node, &ns->links) {
        if (link->generation != ns->generation) {
            link_store_remove(store, link, removed);
        }
    }
}

void
link_store_drop_ns(struct link_store *store, struct link_ns *ns,
                   struct ovs_list *removed)
{
    struct link *link;

    if (ns->index == &store->shared) {
        LIST_FOR_EACH_SAFE (link, node, &ns->links) {
            link_store_remove(store, link, removed);
        }
    } else {
        /* The whole index will be freed. */
        LIST_FOR_EACH (link, node, &ns->links) {
            link_store_count_change(store, link);
        }
        if (!ovs_list_is_empty(&ns->links)) {
            ovs_list_splice(removed, ovs_list_front(&ns->links), &ns->links);
        }
    }
    link_store_set_state(store, ns, LINK_NS_CURRENT, 0);
    hmap_remove(&store->namespaces, &ns->node);
    link_ns_free_index(store, ns->index);
    free(ns);
}

static bool
link_alt_names_equal(const struct link *link, const struct link_view *view)
{
    const char *name = NULL;

    for (size_t i = 0; i < link->n_alt_names; i++) {
        name = link_view_next_alt_name(view, name);
        if (!name || strcmp(name, link->alt_names[i].name)
            || link->alt_names[i].lost) {
            return false;
        }
    }
    return !link_view_next_alt_name(view, name);
}

static void
link_set_alt_names(struct link *link, const struct link_view *view)
{
    struct link_index *index = link->ns->index;
    size_t allocated = 0;

    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_remove_name(index, &link->alt_names[i]);
    }
    link_free_alt_names(link);
    link->alt_names = NULL;
    link->n_alt_names = 0;

    for (const char *name = link_view_next_alt_name(view, NULL); name;
         name = link_view_next_alt_name(view, name)) {
        if (link->n_alt_names == allocated) {
            link->alt_names = x2nrealloc(link->alt_names, &allocated,
                                         sizeof *link->alt_names);
        }

        struct link_name *alt_name = &link->alt_names[link->n_alt_names++];
        alt_name->link = link;
        alt_name->name = xstrdup(name);
    }

    /* The array does not move from here on. */
    for (size_t i = 0; i < link->n_alt_names; i++) {
        link_index_insert_name(index, &link->alt_names[i]);
    }
}

static void
link_set_name(struct link *link, const char *name)
{
    link_index_remove_name(link->ns->index, &link->name);
    free(link->name.name);
    link->name.name = xstrdup(name);
    ovs_strlcpy(link->info.name, name, sizeof link->info.name);
    link_index_insert_name(link->ns->index, &link->name);
}

/* Stores VALUE in FIELD.  Evaluates to BIT if FIELD has changed. */
#define LINK_SET(FIELD, VALUE, BIT) \
    ((FIELD) != (VALUE) ? ((FIELD) = (VALUE), (BIT)) : 0)

/* Takes over members that 'view' may lack. */
static uint32_t
link_take_optional(struct link_info *info, const struct link_view *view)
{
    uint32_t what = 0;

    if (view->has & LINK_HAS_OPERSTATE) {
        what |= LINK_SET(info->operstate, view->operstate,
                         LINK_CHANGE_OPERSTATE);
    }
    if (view->has & LINK_HAS_CARRIER) {
        what |= LINK_SET(info->carrier, view->carrier, LINK_CHANGE_CARRIER);
    }
    if (view->has & LINK_HAS_CARRIER_COUNT) {
        what |= LINK_SET(info->carrier_up, view->carrier_up,
                         LINK_CHANGE_CARRIER);
        what |= LINK_SET(info->carrier_down, view->carrier_down,
                         LINK_CHANGE_CARRIER);
    }
    if (view->has & LINK_HAS_MTU) {
        what |= LINK_SET(info->mtu, view->mtu, LINK_CHANGE_MTU);
    }
    return what;
}

/* Stores the 'n' bytes at 'src' in '*dst', which has room for 'size', followed
 * by zeros, and their number in '*lenp'.  Returns true if that is a change. */
static bool
link_set_bytes(uint8_t *dst, size_t size, uint8_t *lenp,
               const uint8_t *src, size_t n)
{
    if (*lenp == n && (!n || !memcmp(dst, src, n))) {
        return false;
    }
    memset(dst, 0, size);
    if (n) {
        memcpy(dst, src, n);
    }
    *lenp = n;
    return true;
}

/* Stores 'src', or an empty string if that is NULL, in 'dst', which has room
 * for it.  Returns true if it has changed. */
static bool
link_set_string(char *dst, size_t size, const char *src)
{
    src = src ? src : "";
    if (!strcmp(dst, src)) {
        return false;
    }
    ovs_strlcpy(dst, src, size);
    return true;
}

/* Takes over strings and addresses.  If 'view' lacks one, there is none. */
static uint32_t
link_take_bytes(struct link_info *info, const struct link_view *view)
{
    uint32_t what = 0;

    if (link_set_string(info->kind, sizeof info->kind, view->kind)) {
        what |= LINK_CHANGE_KIND;
    }
    if (link_set_bytes(info->hwaddr, sizeof info->hwaddr, &info->hwaddr_len,
                       view->hwaddr, view->hwaddr_len)) {
        what |= LINK_CHANGE_HWADDR;
    }
    if (link_set_string(info->port_name, sizeof info->port_name,
                        view->port_name)) {
        what |= LINK_CHANGE_SWITCH;
    }
    if (link_set_bytes(info->switch_id, sizeof info->switch_id,
                       &info->switch_id_len, view->switch_id,
                       view->switch_id_len)) {
        what |= LINK_CHANGE_SWITCH;
    }
    return what;
}

/* Takes over the content of 'view'.  Returns what has changed. */
static uint32_t
link_take(struct link *link, const struct link_view *view)
{
    struct link_info *info = &link->info;
    uint32_t what = 0;

    if (strcmp(link->name.name, view->name) || link->name.lost) {
        link_set_name(link, view->name);
        what |= LINK_CHANGE_NAME;
    }
    what |= LINK_SET(info->flags, view->flags, LINK_CHANGE_FLAGS);
    if (view->partial) {
        return what;
    }

    what |= LINK_SET(info->arp_type, view->arp_type, LINK_CHANGE_KIND);
    if (info->master != view->master) {
        info->last_master = info->master;
        info->master = view->master;
        what |= LINK_CHANGE_MASTER;
    }
    what |= LINK_SET(info->bond_state, view->bond_state, LINK_CHANGE_BOND);
    what |= LINK_SET(info->lower, view->lower, LINK_CHANGE_LOWER);
    what |= LINK_SET(info->lower_nsid, view->lower_nsid, LINK_CHANGE_LOWER);
    what |= link_take_optional(info, view);
    what |= link_take_bytes(info, view);
    if (!link_alt_names_equal(link, view)) {
        link_set_alt_names(link, view);
        what |= LINK_CHANGE_ALT_NAMES;
    }
    return what;
}

static struct link *
link_create(struct link_ns *ns, const struct link_view *view)
{
    struct link *link = xzalloc(sizeof *link);

    link->ns = ns;
    link->info.nsid = ns->nsid;
    link->info.ifindex = view->ifindex;
    link->info.lower_nsid = LINK_NSID_SAME;
    link->name.link = link;
    link->name.name = xstrdup(view->name);
    ovs_strlcpy(link->info.name, view->name, sizeof link->info.name);
    link_index_insert(ns->index, link);
    ovs_list_push_back(&ns->links, &link->node);
    ns->n_links++;
    return link;
}

uint32_t
link_store_update(struct link_store *store, int32_t nsid,
                  const struct link_view *view, struct link_info *info)
{
    struct link_ns *ns = link_store_find_ns(store, nsid);
    uint32_t what = 0;

    if (!ns) {
        ns = link_store_add_ns(store, nsid);
    }

    struct link *link = link_index_find(ns->index, nsid, view->ifindex);
    if (!link && view->partial) {
        return 0;
    }
    if (!link) {
        link = link_create(ns, view);
        what |= LINK_CHANGE_NEW;
    }
    what |= link_take(link, view);
    link->generation = ns->generation;
    if (what) {
        link_store_count_change(store, link);
        *info = link->info;
    }
    return what;
}
