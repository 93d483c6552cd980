/* SPDX-License-Identifier: Apache-2.0 */

/* Subscriptions to changes of a link table. */

#include <config.h>
#include "link/link-table-private.h"

#include <stdlib.h>

#include "util.h"

struct link_subscription {
    struct ovs_list node;       /* In 'subscriptions' of 'table'. */
    struct link_table *table;
    int32_t nsid;
    uint32_t what;
    link_change_func *cb;       /* NULL if it ended while subscribers were
                                 * being called; who calls them frees it. */
    void *aux;
};

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

    /* In front, so that a change that is being told is not told to it. */
    ovs_list_push_front(&table->subscriptions, &sub->node);
    return sub;
}

static void
link_subscription_free(struct link_subscription *sub)
{
    ovs_list_remove(&sub->node);
    free(sub);
}

void
link_table_unsubscribe(struct link_subscription *sub)
{
    if (!sub) {
        return;
    }
    if (sub->table->depth) {
        sub->cb = NULL;
    } else {
        link_subscription_free(sub);
    }
}

bool
link_table_is_telling(const struct link_table *table)
{
    return table->depth > 0;
}

void
link_notify(struct link_table *table, const struct link_info *link,
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
