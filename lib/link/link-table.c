/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-table.h"

#include <stdlib.h>
#include <string.h>

#include "link/link-store.h"
#include "ovs-thread.h"
#include "sset.h"
#include "util.h"

struct link_table {
    struct ovs_mutex mutex;
    struct link_store store OVS_GUARDED;
    uint64_t n_skipped OVS_GUARDED;

    /* Belong to the thread that writes. */
    struct ovs_list subscriptions;      /* Of struct link_subscription. */
    unsigned int depth;         /* Of calls of subscribers. */
};

struct link_subscription {
    struct ovs_list node;       /* In 'subscriptions' of 'table'. */
    struct link_table *table;
    int32_t nsid;
    uint32_t what;
    link_change_func *cb;       /* NULL if the subscription ended while
                                 * subscribers were being called; their caller
                                 * frees it. */
    void *aux;
};

struct link_table *
link_table_create(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct link_table *table = xzalloc(sizeof *table);

    ovs_mutex_init(&table->mutex);
    link_store_init(&table->store);
    ovs_list_init(&table->subscriptions);
    return table;
}

static void
link_subscription_free(struct link_subscription *sub)
{
    ovs_list_remove(&sub->node);
    free(sub);
}

/* Calls the subscribers that are interested in some of 'what', which has
 * changed in 'link'. */
static void
link_table_notify(struct link_table *table, const struct link_info *link,
                  uint32_t what)
{
    struct link_change change = { .what = what, .link = link };
    struct link_subscription *sub;

    table->depth++;
    LIST_FOR_EACH (sub, node, &table->subscriptions) {
        if (sub->cb && sub->what & what
            && (sub->nsid == LINK_NSID_ALL || sub->nsid == link->nsid)) {
            sub->cb(&change, sub->aux);
        }
    }
    if (!--table->depth) {
        LIST_FOR_EACH_SAFE (sub, node, &table->subscriptions) {
            if (!sub->cb) {
                link_subscription_free(sub);
            }
        }
    }
}

/* Tells subscribers that the links in 'removed' are gone, and frees them.
 * Returns their number. */
static size_t
link_table_free_removed(struct link_table *table, struct ovs_list *removed)
{
    struct link *link;
    size_t n = 0;

    LIST_FOR_EACH_POP (link, node, removed) {
        link_table_notify(table, &link->info, LINK_CHANGE_GONE);
        link_free(link);
        n++;
    }
    return n;
}

void
link_table_destroy(struct link_table *table)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);

    if (table) {
        ovs_assert(ovs_list_is_empty(&table->subscriptions));
        link_store_uninit(&table->store, &removed);
        link_table_free_removed(table, &removed);
        ovs_mutex_destroy(&table->mutex);
        free(table);
    }
}

/* Namespaces. */

bool
link_table_add_ns(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    bool added = !ns;
    if (added) {
        link_store_add_ns(&table->store, nsid);
    } else {
        ns->store_generation = table->store.generation;
    }
    ovs_mutex_unlock(&table->mutex);
    return added;
}

void
link_table_set_on_demand(struct link_table *table)
{
    ovs_mutex_lock(&table->mutex);
    table->store.on_demand = true;
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_follow_ns(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (!ns) {
        ns = link_store_add_ns(&table->store, nsid);
    }
    link_store_follow_ns(&table->store, ns);
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_unfollow_ns(struct link_table *table, int32_t nsid)
{
    ovs_assert(nsid != LINK_NSID_LOCAL);
    link_table_drop_ns(table, nsid);
    link_table_add_ns(table, nsid);
}

bool
link_table_follows_others(const struct link_table *table_)
{
    struct link_table *table = CONST_CAST(struct link_table *, table_);
    const struct link_ns *ns;
    bool follows = false;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH (ns, node, &table->store.namespaces) {
        follows |= ns->followed && ns->nsid != LINK_NSID_LOCAL;
    }
    ovs_mutex_unlock(&table->mutex);
    return follows;
}

bool
link_table_skips(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    bool skips = ns && !ns->followed;
    if (skips) {
        ns->events++;
        table->n_skipped++;
    }
    ovs_mutex_unlock(&table->mutex);
    return skips;
}

uint64_t
link_table_get_skipped(const struct link_table *table)
{
    ovs_mutex_lock(&table->mutex);
    uint64_t n = table->n_skipped;
    ovs_mutex_unlock(&table->mutex);
    return n;
}

/* Sets the state of namespace 'nsid', if it is there. */
static void
link_table_set_state(struct link_table *table, int32_t nsid,
                     enum link_ns_state state, int error)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns && ns->followed) {
        ns->resyncs += state == LINK_NS_CURRENT;
        link_store_set_state(&table->store, ns, state, error);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_set_pending(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns && ns->followed) {
        /* Makes it the last one even if it is already pending. */
        link_store_set_state(&table->store, ns, LINK_NS_CURRENT, 0);
        link_store_set_state(&table->store, ns, LINK_NS_PENDING, 0);
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
link_table_set_others_pending(struct link_table *table)
{
    struct link_ns *ns;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH (ns, node, &table->store.namespaces) {
        if (ns->followed && ns->nsid != LINK_NSID_LOCAL) {
            link_store_set_state(&table->store, ns, LINK_NS_PENDING, 0);
        }
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_count_event(struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns) {
        ns->events++;
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_count_overrun(struct link_table *table, bool others)
{
    struct link_ns *ns;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH (ns, node, &table->store.namespaces) {
        ns->overruns += others == (ns->nsid != LINK_NSID_LOCAL);
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_set_buckets(struct link_table *table, uint32_t n)
{
    n = n < LINK_BUCKETS_MAX ? ROUND_UP_POW2(n) : LINK_BUCKETS_MAX;
    ovs_mutex_lock(&table->mutex);
    link_store_set_buckets(&table->store, n);
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_drop_ns(struct link_table *table, int32_t nsid)
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns) {
        link_store_drop_ns(&table->store, ns, &removed);
    }
    ovs_mutex_unlock(&table->mutex);
    link_table_free_removed(table, &removed);
}

void
link_table_mark_namespaces(struct link_table *table)
{
    ovs_mutex_lock(&table->mutex);
    table->store.generation++;
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_sweep_namespaces(struct link_table *table)
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);
    struct link_ns *ns;

    ovs_mutex_lock(&table->mutex);
    HMAP_FOR_EACH_SAFE (ns, node, &table->store.namespaces) {
        if (ns->nsid != LINK_NSID_LOCAL
            && ns->store_generation != table->store.generation) {
            link_store_drop_ns(&table->store, ns, &removed);
        }
    }
    ovs_mutex_unlock(&table->mutex);
    link_table_free_removed(table, &removed);
}

/* Links. */

uint32_t
link_table_update(struct link_table *table, int32_t nsid,
                  const struct link_view *view)
{
    struct link_info info;

    ovs_mutex_lock(&table->mutex);
    uint32_t what = link_store_update(&table->store, nsid, view, &info);
    ovs_mutex_unlock(&table->mutex);
    if (what) {
        link_table_notify(table, &info, what);
    }
    return what;
}

bool
link_table_remove(struct link_table *table, int32_t nsid, int ifindex)
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);

    ovs_mutex_lock(&table->mutex);
    struct link *link = link_store_find(&table->store, nsid, ifindex);
    if (link) {
        link_store_remove(&table->store, link, &removed);
    }
    ovs_mutex_unlock(&table->mutex);
    return link_table_free_removed(table, &removed);
}

static void
link_addrs_changed(struct link_table *table, struct link *link)
{
    struct link_info info;

    ovs_mutex_lock(&table->mutex);
    link_store_count_change(&table->store, link);
    link->info.addr_seqno = link->info.change_seqno;
    info = link->info;
    ovs_mutex_unlock(&table->mutex);
    link_table_notify(table, &info, LINK_CHANGE_ADDRS);
}

/* Only this thread adds and removes links and namespaces, so they stay in
 * place while the mutex is not held. */
void
link_table_addrs_changed(struct link_table *table, int32_t nsid, int ifindex)
{
    struct link *link;

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    link = ifindex ? link_store_find(&table->store, nsid, ifindex) : NULL;
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
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns) {
        ns->generation++;
    }
    ovs_mutex_unlock(&table->mutex);
}

void
link_table_keep(struct link_table *table, int32_t nsid, int ifindex)
{
    ovs_mutex_lock(&table->mutex);
    struct link *link = link_store_find(&table->store, nsid, ifindex);
    if (link) {
        link->generation = link->ns->generation;
    }
    ovs_mutex_unlock(&table->mutex);
}

size_t
link_table_sweep(struct link_table *table, int32_t nsid)
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns) {
        link_store_sweep(&table->store, ns, &removed);
    }
    ovs_mutex_unlock(&table->mutex);
    return link_table_free_removed(table, &removed);
}

size_t
link_table_get_unseen(const struct link_table *table, int32_t nsid,
                      int ifindexes[], size_t max)
{
    const struct link *link;
    size_t n = 0;

    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns) {
        LIST_FOR_EACH (link, node, &ns->links) {
            if (n < max && link->generation != ns->generation) {
                ifindexes[n++] = link->info.ifindex;
            }
        }
    }
    ovs_mutex_unlock(&table->mutex);
    return n;
}

/* Reading. */

bool
link_table_has_ns(const struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    bool found = link_store_find_ns(&table->store, nsid) != NULL;
    ovs_mutex_unlock(&table->mutex);
    return found;
}

bool
link_table_next_pending(const struct link_table *table, int32_t *nsid)
{
    ovs_mutex_lock(&table->mutex);
    bool found = !ovs_list_is_empty(&table->store.pending);
    if (found) {
        *nsid = CONTAINER_OF(ovs_list_front(&table->store.pending),
                             struct link_ns, pending_node)->nsid;
    }
    ovs_mutex_unlock(&table->mutex);
    return found;
}

bool
link_table_is_pending(const struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    bool pending = ns && ns->state == LINK_NS_PENDING;
    ovs_mutex_unlock(&table->mutex);
    return pending;
}

bool
link_table_find(const struct link_table *table, int32_t nsid, int ifindex,
                struct link_info *info)
{
    ovs_mutex_lock(&table->mutex);
    struct link *link = link_store_find(&table->store, nsid, ifindex);
    if (link) {
        *info = link->info;
    }
    ovs_mutex_unlock(&table->mutex);
    return link != NULL;
}

bool
link_table_find_name(const struct link_table *table, int32_t nsid,
                     const char *name, struct link_info *info)
{
    ovs_mutex_lock(&table->mutex);
    struct link *link = link_store_find_name(&table->store, nsid, name);
    if (link) {
        *info = link->info;
    }
    ovs_mutex_unlock(&table->mutex);
    return link != NULL;
}

void
link_table_get_alt_names(const struct link_table *table, int32_t nsid,
                         int ifindex, struct sset *names)
{
    ovs_mutex_lock(&table->mutex);
    struct link *link = link_store_find(&table->store, nsid, ifindex);
    for (size_t i = 0; link && i < link->n_alt_names; i++) {
        sset_add(names, link->alt_names[i].name);
    }
    ovs_mutex_unlock(&table->mutex);
}

static int
link_compare(const void *a_, const void *b_)
{
    const struct link_info *a = a_;
    const struct link_info *b = b_;

    return a->ifindex < b->ifindex ? -1 : a->ifindex > b->ifindex;
}

struct link_info *
link_table_get_links(const struct link_table *table, int32_t nsid, size_t *n)
{
    struct link_info *infos = NULL;
    struct link *link;

    *n = 0;
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_store_find_ns(&table->store, nsid);
    if (ns && ns->n_links) {
        infos = xmalloc(ns->n_links * sizeof *infos);
        LIST_FOR_EACH (link, node, &ns->links) {
            infos[(*n)++] = link->info;
        }
    }
    ovs_mutex_unlock(&table->mutex);

    if (*n) {
        qsort(infos, *n, sizeof *infos, link_compare);
    }
    return infos;
}

/* Our own namespace, which has the lowest number, comes first. */
static int
link_ns_compare(const void *a_, const void *b_)
{
    const struct link_ns_info *a = a_;
    const struct link_ns_info *b = b_;

    return a->nsid < b->nsid ? -1 : a->nsid > b->nsid;
}

struct link_ns_info *
link_table_get_namespaces(const struct link_table *table, size_t *n)
{
    struct link_ns_info *infos;
    struct link_ns *ns;

    *n = 0;
    ovs_mutex_lock(&table->mutex);
    infos = xmalloc((hmap_count(&table->store.namespaces) + 1)
                    * sizeof *infos);
    HMAP_FOR_EACH (ns, node, &table->store.namespaces) {
        int64_t buckets = ns->index->by_ifindex.mask + 1;

        infos[(*n)++] = (struct link_ns_info) {
            .nsid = ns->nsid,
            .state = ns->state,
            .error = ns->error,
            .n_links = ns->n_links,
            .buckets = ns->index == &table->store.shared ? -buckets : buckets,
            .events = ns->events,
            .overruns = ns->overruns,
            .resyncs = ns->resyncs,
        };
    }
    ovs_mutex_unlock(&table->mutex);
    qsort(infos, *n, sizeof *infos, link_ns_compare);
    return infos;
}

/* Subscriptions. */

struct link_subscription *
link_table_subscribe(struct link_table *table, int32_t nsid, uint32_t what,
                     link_change_func *cb, void *aux)
{
    struct link_subscription *sub = xzalloc(sizeof *sub);

    sub->table = table;
    sub->nsid = nsid;
    sub->what = what;
    sub->cb = cb;
    sub->aux = aux;

    /* At the front, so that it does not get a change that is being
     * announced. */
    ovs_list_push_front(&table->subscriptions, &sub->node);
    return sub;
}

void
link_table_unsubscribe(struct link_subscription *sub)
{
    if (sub && sub->table->depth) {
        sub->cb = NULL;
    } else if (sub) {
        link_subscription_free(sub);
    }
}

bool
link_table_is_notifying(const struct link_table *table)
{
    return table->depth > 0;
}
