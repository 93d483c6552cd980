/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_NOTIFY_H
#define KDP_LINK_NOTIFY_H 1

/* Subscriptions to changes of links
 * =================================
 *
 * The list of functions that a link table calls for each change.  A function
 * may subscribe and unsubscribe while it is called.  A subscription that is
 * made during a call is not told of the change that is being told.
 *
 * Life cycle: link_notifier_init(), then subscriptions come and go.  There is
 * nothing to free once all have ended.
 *
 * Thread safety: all functions belong to one thread, the one that writes the
 * table.
 *
 * Failure: none. */

#include <stdbool.h>

#include "link/link-info.h"
#include "openvswitch/list.h"

struct link_subscription;

struct link_notifier {
    struct ovs_list subscriptions;      /* Of struct link_subscription. */
    unsigned int depth;                 /* Of calls of subscribers. */
};

void link_notifier_init(struct link_notifier *);

/* True if nobody has subscribed. */
bool link_notifier_is_empty(const struct link_notifier *);

/* True while subscribers are being called. */
bool link_notifier_is_busy(const struct link_notifier *);

/* See link_table_subscribe(). */
struct link_subscription *
link_notifier_subscribe(struct link_notifier *, int32_t nsid, uint32_t what,
                        link_change_func *cb, void *aux);

/* Ends 'sub', which may be NULL. */
void link_notifier_unsubscribe(struct link_subscription *sub);

/* Calls those who have subscribed to 'what', of which has changed of
 * 'link'. */
void link_notifier_call(struct link_notifier *, const struct link_info *link,
                        uint32_t what);

#endif /* lib/link/link-notify.h */
