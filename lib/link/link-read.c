/* SPDX-License-Identifier: Apache-2.0 */

/* What readers of a link table get. */

#include <config.h>
#include "link/link-table-private.h"

#include <stdlib.h>

#include "seq.h"
#include "sset.h"
#include "util.h"

bool
link_table_has_ns(const struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    bool found = link_ns_find(table, nsid) != NULL;
    ovs_mutex_unlock(&table->mutex);
    return found;
}

bool
link_table_next_pending(const struct link_table *table, int32_t *nsid)
{
    ovs_mutex_lock(&table->mutex);
    bool found = !ovs_list_is_empty(&table->pending);
    if (found) {
        *nsid = CONTAINER_OF(ovs_list_front(&table->pending), struct link_ns,
                             pending_node)->nsid;
    }
    ovs_mutex_unlock(&table->mutex);
    return found;
}

bool
link_table_is_pending(const struct link_table *table, int32_t nsid)
{
    ovs_mutex_lock(&table->mutex);
    struct link_ns *ns = link_ns_find(table, nsid);
    bool pending = ns && ns->state == LINK_NS_PENDING;
    ovs_mutex_unlock(&table->mutex);
    return pending;
}

/* Finds a link.  The caller holds the mutex. */
static struct link *
link_table_find__(const struct link_table *table, int32_t nsid, int ifindex)
{
    struct link_ns *ns = link_ns_find(table, nsid);

    return ns ? link_index_find(ns->index, nsid, ifindex) : NULL;
}

bool
link_table_find(const struct link_table *table, int32_t nsid, int ifindex,
                struct link_info *info)
{
    ovs_mutex_lock(&table->mutex);
    struct link *link = link_table_find__(table, nsid, ifindex);
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
    struct link_ns *ns = link_ns_find(table, nsid);
    struct link *link = (ns ? link_index_find_name(ns->index, nsid, name)
                         : NULL);
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
    struct link *link = link_table_find__(table, nsid, ifindex);
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
    struct link_ns *ns = link_ns_find(table, nsid);
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

/* Ours, whose id is the least of all, comes first. */
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
    infos = xmalloc((hmap_count(&table->namespaces) + 1) * sizeof *infos);
    HMAP_FOR_EACH (ns, node, &table->namespaces) {
        int64_t buckets = link_index_buckets(ns->index);

        infos[(*n)++] = (struct link_ns_info) {
            .nsid = ns->nsid,
            .state = ns->state,
            .error = ns->error,
            .n_links = ns->n_links,
            .buckets = ns->index == &table->shared ? -buckets : buckets,
            .events = ns->events,
            .overruns = ns->overruns,
            .resyncs = ns->resyncs,
        };
    }
    ovs_mutex_unlock(&table->mutex);
    qsort(infos, *n, sizeof *infos, link_ns_compare);
    return infos;
}

uint64_t
link_table_seqno(const struct link_table *table)
{
    ovs_mutex_lock(&table->mutex);
    uint64_t seqno = table->seqno;
    ovs_mutex_unlock(&table->mutex);
    return seqno;
}

struct seq *
link_table_seq(const struct link_table *table)
{
    return table->seq;
}
