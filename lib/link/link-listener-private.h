/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_LISTENER_PRIVATE_H
#define KDP_LINK_LISTENER_PRIVATE_H 1

/* What the files of the listener share: link-listener.c receives events and
 * says when all is taken anew, link-dump.c asks the kernel. */

#include "link/link-listener.h"

struct nl_conn;
struct mnl_socket;

/* Dumps that may be interrupted in a row before the next one waits. */
#define LINK_INTERRUPTED_MAX 4

struct link_listener {
    struct link_table *table;
    struct link_listener_options options;
    struct link_subscription *subscription;     /* To 'table'. */
    struct mnl_socket *sock;    /* Of events. */
    struct nl_conn *conn;       /* For requests. */
    bool all_nsid;              /* Events of other namespaces come. */
    int rcvbuf;                 /* Bytes, as the kernel counts them. */
    char *buf;
    size_t buf_size;

    int32_t self_nsid;          /* Or LINK_NSID_NONE. */
    bool lossy;                 /* The socket is to be drained. */
    bool idle;                  /* The socket was seen empty, at the end of the
                                 * last run. */
    bool enumerate;             /* The ids are to be asked for. */
    unsigned int n_interrupted; /* Dumps in a row. */
    long long int own_retry_at; /* When to ask for our own links again... */
    long long int retry_at;     /* ...and for the rest; milliseconds. */
    long long int routes_at;    /* Not to ask for routes again before. */

    bool resyncing;             /* From a loss until nothing is pending. */
    enum link_reason reason;    /* Why. */
    long long int resync_start; /* Microseconds. */

    struct link_listener_stats stats;
};

/* Asks for the id that our namespace has for itself and notes it.  A namespace
 * of that id in the table was ours.  Returns 0 or a positive errno value. */
int link_ask_self_nsid(struct link_listener *);

/* Returns 0 if namespace id 'nsid' is in use, ENOENT if it is not, or another
 * positive errno value if that is not known. */
int link_ask_nsid_exists(struct link_listener *, int32_t nsid);

/* Returns when the next request is to be made, in milliseconds, 0 if at once
 * and LLONG_MAX if there is none.  Stores the first pending namespace in
 * '*nsid', or LINK_NSID_NONE. */
long long int link_dump_next(const struct link_listener *, int32_t *nsid);

/* Makes one request, if there is one to be made.  Returns true if so. */
bool link_dump(struct link_listener *);

/* Asks for the links of 'nsid' and makes the table's those.  Returns 0, EINTR
 * if a change interrupted it, EOPNOTSUPP if the kernel cannot, or another
 * positive errno value. */
int link_dump_links(struct link_listener *, int32_t nsid, enum link_reason);

/* Takes note of the failure of a request about 'nsid', which is to be repeated
 * at '*retry_at'. */
void link_dump_retry(struct link_listener *, int error, int32_t nsid,
                     long long int *retry_at);

/* link-dump-local.c. */

/* Asks for all that is kept of our own namespace, links included.  Returns as
 * link_dump_links() does. */
int link_dump_local(struct link_listener *, enum link_reason);

/* Asks for the routes if some may have gone without an event, all events were
 * taken, and it is time. */
void link_dump_stale_routes(struct link_listener *);

/* Returns when that is due, as link_dump_next() does. */
long long int link_dump_routes_next(const struct link_listener *);

/* link-filter.c: makes the kernel drop messages of types that are not asked
 * for before they take room in the socket's buffer.  Returns 0 or a positive
 * errno value. */
int link_filter_attach(int fd);

#endif /* lib/link/link-listener-private.h */
