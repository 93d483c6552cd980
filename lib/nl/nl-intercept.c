/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/nl-intercept.h"

#include <linux/netlink.h>

#include "netlink-socket.h"
#include "ovs-thread.h"
#include "util.h"

struct nl_intercept {
    nl_intercept_func *cb;      /* Or NULL. */
    void *aux;
    nl_intercept_keep_func *keep;       /* NULL to keep all. */
};

DEFINE_STATIC_PER_THREAD_DATA(struct nl_intercept, nl_intercept,
                              { .cb = NULL });

/* The originals. */
int kdp_stock_nl_transact(int protocol, const struct ofpbuf *request,
                          struct ofpbuf **replyp);
bool kdp_stock_nl_dump_next(struct nl_dump *, struct ofpbuf *reply,
                            struct ofpbuf *buffer);

/* Replaces Open vSwitch's function. */
int
nl_transact(int protocol, const struct ofpbuf *request,
            struct ofpbuf **replyp)
{
    const struct nl_intercept *intercept = nl_intercept_get();
    int error;

    if (protocol != NETLINK_ROUTE || !intercept->cb
        || !intercept->cb(request, &error, intercept->aux)) {
        return kdp_stock_nl_transact(protocol, request, replyp);
    }
    if (replyp) {
        *replyp = NULL;
    }
    return error;
}

/* Replaces Open vSwitch's function. */
bool
nl_dump_next(struct nl_dump *dump, struct ofpbuf *reply,
             struct ofpbuf *buffer)
{
    const struct nl_intercept *intercept = nl_intercept_get();

    while (kdp_stock_nl_dump_next(dump, reply, buffer)) {
        if (!intercept->keep || intercept->keep(reply)) {
            return true;
        }
    }
    return false;
}

void
nl_intercept_begin(nl_intercept_func *cb, void *aux)
{
    struct nl_intercept *intercept = nl_intercept_get();

    ovs_assert(!intercept->cb);
    intercept->cb = cb;
    intercept->aux = aux;
}

void
nl_intercept_end(void)
{
    nl_intercept_get()->cb = NULL;
}

void
nl_intercept_replies(nl_intercept_keep_func *keep)
{
    nl_intercept_get()->keep = keep;
}
