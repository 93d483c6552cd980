/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-notify.h"

#include <stdlib.h>

#include "util.h"

struct link_subscription {
    struct ovs_list node;       /* In 'subscriptions' of 'notifier'. */
    struct link_notifier *notifier;
    int32_t nsid;
    uint32_t what;
    link_change_func *cb;       /* NULL if it ended while subscribers were
                                 * being called; who calls them frees it. */
    void *aux;
};

void
link_notifier_init(struct link_notifier *notifier)
{
    ovs_list_init(&notifier->subscriptions);
    notifier->depth = 0;
}

bool
link_notifier_is_empty(const struct link_notifier *notifier)
{
    return ovs_list_is_empty(&notifier->subscriptions);
}

bool
link_notifier_is_busy(const struct link_notifier *notifier)
{
    return notifier->depth > 0;
}

struct link_subscription *
link_notifier_subscribe(struct link_notifier *notifier, int32_t nsid,
                        uint32_t what, link_change_func *cb, void *aux)
{
    struct link_subscription *sub = xzalloc(sizeof *sub);

    sub->notifier = notifier;
    sub->nsid = nsid;
    sub->what = what;
    sub->cb = cb;
    sub->aux = aux;

    /* In front, so that a change that is being told is not told to it. */
    ovs_list_push_front(&notifier->subscriptions, &sub->node);
    return sub;
}

static void
link_subscription_free(struct link_subscription *sub)
{
    ovs_list_remove(&sub->node);
    free(sub);
}

void
link_notifier_unsubscribe(struct link_subscription *sub)
{
    if (!sub) {
        return;
    }
    if (sub->notifier->depth) {
        sub->cb = NULL;
    } else {
        link_subscription_free(sub);
    }
}

void
link_notifier_call(struct link_notifier *notifier,
                   const struct link_info *link, uint32_t what)
{
    struct link_change change = { .what = what, .link = link };
    struct link_subscription *sub;

    notifier->depth++;
    LIST_FOR_EACH (sub, node, &notifier->subscriptions) {
        if (sub->cb && sub->what & what
            && (sub->nsid == LINK_NSID_ALL || sub->nsid == link->nsid)) {
            sub->cb(&change, sub->aux);
        }
    }
    if (!--notifier->depth) {
        LIST_FOR_EACH_SAFE (sub, node, &notifier->subscriptions) {
            if (!sub->cb) {
                link_subscription_free(sub);
            }
        }
    }
}
