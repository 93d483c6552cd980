/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-table-private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/vlog.h"
#include "random.h"
#include "seq.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_table);

char *
link_nsid_to_string(int32_t nsid)
{
    return (nsid == LINK_NSID_LOCAL ? xstrdup("local")
            : xasprintf("%"PRId32, nsid));
}

struct link_table *
link_table_create(void)
{
    struct link_table *table = xzalloc(sizeof *table);

    ovs_mutex_init(&table->mutex);
    hmap_init(&table->namespaces);
    ovs_list_init(&table->pending);
    ovs_list_init(&table->subscriptions);
    table->basis = random_uint32();
    link_index_init(&table->shared, table->basis);
    table->seq = seq_create();
    return table;
}

/* Namespaces. */

struct link_ns *
link_ns_find(const struct link_table *table, int32_t nsid)
{
    struct link_ns *ns;

    HMAP_FOR_EACH_WITH_HASH (ns, node, hash_int(nsid, 0),
                             &table->namespaces) {
        if (ns->nsid == nsid) {
            return ns;
        }
    }
    return NULL;
}

/* Returns the index for the links of a namespace. */
static struct link_index *
link_ns_make_index(struct link_table *table, int32_t nsid)
{
    if (!table->n_buckets) {
        return &table->shared;
    }

    struct link_index *index = link_index_create(table->n_buckets,
                                                 table->basis);
    if (!index) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

        char *name = link_nsid_to_string(nsid);

        VLOG_WARN_RL(&rl, "network namespace %s: no memory for a link table "
                     "of %"PRIu32" buckets; its links go to the shared table",
                     name, table->n_buckets);
        free(name);
        return &table->shared;
    }
    return index;
}

static void
link_ns_free_index(struct link_table *table, struct link_index *index)
{
    if (index != &table->shared) {
        link_index_uninit(index);
        free(index);
    }
}

static void
link_ns_set_state(struct link_table *table, struct link_ns *ns,
                  enum link_ns_state state, int error)
{
    bool was_pending = ns->state == LINK_NS_PENDING;

    if (was_pending && state != LINK_NS_PENDING) {
        ovs_list_remove(&ns->pending_node);
    } else if (!was_pending && state == LINK_NS_PENDING) {
        if (ns->nsid == LINK_NSID_LOCAL) {
            ovs_list_push_front(&table->pending, &ns->pending_node);
        } else {
            ovs_list_push_back(&table->pending, &ns->pending_node);
        }
    }
    ns->state = state;
    ns->error = error;
}

static struct link_ns *
link_ns_add(struct link_table *table, int32_t nsid)
{
    struct link_ns *ns = xzalloc(sizeof *ns);

    ns->nsid = nsid;
    ns->table_generation = table->generation;
    ns->index = link_ns_make_index(table, nsid);
    ns->state = LINK_NS_CURRENT;
    ovs_list_init(&ns->links);
    hmap_insert(&table->namespaces, &ns->node, hash_int(nsid, 0));
    link_ns_set_state(table, ns, LINK_NS_PENDING, 0);
    return ns;
}

bool
link_table_add_ns(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    bool added = !ns;
    if (added) {
        link_ns_add(table, nsid);
    } else {
        ns->table_generation = table->generation;
    }
    ovs_mutex_unlock(&table->mutex);
    return added;
}

/* Sets the state of namespace 'nsid', if it is there. */
static void
link_table_set_state(struct link_table *table, int32_t nsid,
                     enum link_ns_state state, int error)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (ns) {
        ns->resyncs += state == LINK_NS_CURRENT;
        link_ns_set_state(table, ns, state, error);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_set_pending(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (ns) {
        /* So that it becomes the last even if it is pending. */
        link_ns_set_state(table, ns, LINK_NS_CURRENT, 0);
        link_ns_set_state(table, ns, LINK_NS_PENDING, 0);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_set_current(struct link_table *table, int32_t nsid)
{
    link_table_set_state(table, nsid, LINK_NS_CURRENT, 0);
}

void
link_table_set_stale(struct link_table *table, int32_t nsid, int error)
{
    link_table_set_state(table, nsid, LINK_NS_STALE, error);
}

void
link_table_set_all_pending(struct link_table *table)
{
    struct link_ns *ns;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH (ns, node, &table->namespaces) {
        link_ns_set_state(table, ns, LINK_NS_PENDING, 0);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_count_event(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (ns) {
        ns->events++;
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_count_overrun(struct link_table *table)
{
    struct link_ns *ns;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH (ns, node, &table->namespaces) {
        ns->overruns++;
    }
    ovs_mutex_unlock(&table->mutex);
}

/* Puts the links of 'ns' into another index. */
static void
link_ns_move(struct link_table *table, struct link_ns *ns)
{
    struct link_index *old = ns->index;
    struct link *link;

    ns->index = link_ns_make_index(table, ns->nsid);
    LIST_FOR_EACH (link, node, &ns->links) {
        link_index_remove(old, link);
        link_index_insert(ns->index, link);
    }
    link_ns_free_index(table, old);
}

void
link_table_set_buckets(struct link_table *table, uint32_t n)
{
    struct link_ns *ns;

    n = n < LINK_BUCKETS_MAX ? ROUND_UP_POW2(n) : LINK_BUCKETS_MAX;
    ovs_mutex_lock(&table->mutex);
    if (n != table->n_buckets) {
        table->n_buckets = n;
        HMAP_FOR_EACH (ns, node, &table->namespaces) {
            link_ns_move(table, ns);
        }
    }
    ovs_mutex_unlock(&table->mutex);
}

/* Links. */

static void
link_change(struct link_table *table, struct link_info *info)
{
    info->change_seqno = ++table->seqno;
    seq_change(table->seq);
}

static void
link_free_alt_names(struct link *link)
{
    for (size_t i = 0; i < link->n_alt_names; i++) {
        free(link->alt_names[i].name);
    }
    free(link->alt_names);
}

static void
link_free(struct link *link)
{
    link_free_alt_names(link);
    free(link->name.name);
    free(link);
}

/* Removes 'link' from the table and adds it to 'gone'. */
static void
link_detach(struct link_table *table, struct link *link,
            struct ovs_list *gone)
{
    struct link_ns *ns = link->ns;

    link_index_remove(ns->index, link);
    ovs_list_remove(&link->node);
    ns->n_links--;
    ovs_list_push_back(gone, &link->node);
    link_change(table, &link->info);
}

/* Tells that the links in 'gone' are, and frees them. */
static size_t
link_table_bury(struct link_table *table, struct ovs_list *gone)
{
    struct link *link;
    size_t n = 0;

    LIST_FOR_EACH_POP (link, node, gone) {
        link_notify(table, &link->info, LINK_CHANGE_GONE);
        link_free(link);
        n++;
    }
    return n;
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

    /* They stay where they are from here on. */
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

/* Stores VALUE in FIELD.  Gives BIT if that is a change. */
#define LINK_SET(FIELD, VALUE, BIT) \
    ((FIELD) != (VALUE) ? ((FIELD) = (VALUE), (BIT)) : 0)

/* Takes what 'view' may lack. */
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
 * for it.  Returns true if that is a change. */
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

/* Takes strings and addresses, whose absence says that there are none. */
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

/* Takes what 'view' says.  Returns what has changed. */
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
    what |= LINK_SET(info->master, view->master, LINK_CHANGE_MASTER);
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
link_table_update(struct link_table *table, int32_t nsid,
                  const struct link_view *view)
{
    struct link_info info;
    uint32_t what = 0;

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (!ns) {
        ns = link_ns_add(table, nsid);
    }

    struct link *link = link_index_find(ns->index, nsid, view->ifindex);
    if (!link && view->partial) {
        goto out;
    }
    if (!link) {
        link = link_create(ns, view);
        what |= LINK_CHANGE_NEW;
    }
    what |= link_take(link, view);
    link->generation = ns->generation;
    if (what) {
        link_change(table, &link->info);
        info = link->info;
    }
out:
    ovs_mutex_unlock(&table->mutex);
    if (what) {
        link_notify(table, &info, what);
    }
    return what;
}

bool
link_table_remove(struct link_table *table, int32_t nsid, int ifindex)
{
    struct ovs_list gone = OVS_LIST_INITIALIZER(&gone);

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    struct link *link = ns ? link_index_find(ns->index, nsid, ifindex) : NULL;
    if (link) {
        link_detach(table, link, &gone);
    }
    ovs_mutex_unlock(&table->mutex);
    return link_table_bury(table, &gone);
}

static void
link_addrs_changed(struct link_table *table, struct link *link)
{
    struct link_info info;

    ovs_mutex_lock(&table->mutex);
    link_change(table, &link->info);
    link->info.addr_seqno = link->info.change_seqno;
    info = link->info;
    ovs_mutex_unlock(&table->mutex);
    link_notify(table, &info, LINK_CHANGE_ADDRS);
}

/* This thread alone adds and removes links and namespaces, so that they stay
 * where they are while no mutex is held. */
void
link_table_addrs_changed(struct link_table *table, int32_t nsid, int ifindex)
{
    struct link *link;

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    link = ns && ifindex ? link_index_find(ns->index, nsid, ifindex) : NULL;
    ovs_mutex_unlock(&table->mutex);

    if (link) {
        link_addrs_changed(table, link);
    } else if (ns && !ifindex) {
        LIST_FOR_EACH (link, node, &ns->links) {
            link_addrs_changed(table, link);
        }
    }
}

void
link_table_mark(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (ns) {
        ns->generation++;
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_keep(struct link_table *table, int32_t nsid, int ifindex)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    struct link *link = ns ? link_index_find(ns->index, nsid, ifindex) : NULL;
    if (link) {
        link->generation = ns->generation;
    }
    ovs_mutex_unlock(&table->mutex);
}

size_t
link_table_sweep(struct link_table *table, int32_t nsid)
{
    struct ovs_list gone = OVS_LIST_INITIALIZER(&gone);
    struct link *link;

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (ns) {
        LIST_FOR_EACH_SAFE (link, node, &ns->links) {
            if (link->generation != ns->generation) {
                link_detach(table, link, &gone);
            }
        }
    }
    ovs_mutex_unlock(&table->mutex);
    return link_table_bury(table, &gone);
}

/* Removes 'ns' and adds its links to 'gone'. */
static void
link_ns_drop(struct link_table *table, struct link_ns *ns,
             struct ovs_list *gone)
{
    struct link *link;

    if (ns->index == &table->shared) {
        LIST_FOR_EACH_SAFE (link, node, &ns->links) {
            link_detach(table, link, gone);
        }
    } else {
        /* The index goes as a whole. */
        LIST_FOR_EACH (link, node, &ns->links) {
            link_change(table, &link->info);
        }
        if (!ovs_list_is_empty(&ns->links)) {
            ovs_list_splice(gone, ovs_list_front(&ns->links), &ns->links);
        }
    }
    link_ns_set_state(table, ns, LINK_NS_CURRENT, 0);
    hmap_remove(&table->namespaces, &ns->node);
    link_ns_free_index(table, ns->index);
    free(ns);
}

void
link_table_drop_ns(struct link_table *table, int32_t nsid)
{
    struct ovs_list gone = OVS_LIST_INITIALIZER(&gone);

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    if (ns) {
        link_ns_drop(table, ns, &gone);
    }
    ovs_mutex_unlock(&table->mutex);
    link_table_bury(table, &gone);
}

void
link_table_mark_namespaces(struct link_table *table)
{
    ovs_mutex_lock(&table->mutex);
    table->generation++;
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_sweep_namespaces(struct link_table *table)
{
    struct ovs_list gone = OVS_LIST_INITIALIZER(&gone);
    struct link_ns *ns;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH_SAFE (ns, node, &table->namespaces) {
        if (ns->nsid != LINK_NSID_LOCAL
            && ns->table_generation != table->generation) {
            link_ns_drop(table, ns, &gone);
        }
    }
    ovs_mutex_unlock(&table->mutex);
    link_table_bury(table, &gone);
}

void
link_table_destroy(struct link_table *table)
{
    struct ovs_list gone = OVS_LIST_INITIALIZER(&gone);
    struct link_ns *ns;

    if (!table) {
        return;
    }
    ovs_assert(ovs_list_is_empty(&table->subscriptions));
    HMAP_FOR_EACH_SAFE (ns, node, &table->namespaces) {
        link_ns_drop(table, ns, &gone);
    }
    link_table_bury(table, &gone);
    hmap_destroy(&table->namespaces);
    link_index_uninit(&table->shared);
    seq_destroy(table->seq);
    ovs_mutex_destroy(&table->mutex);
    free(table);
}
