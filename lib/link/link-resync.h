/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_RESYNC_H
#define KDP_LINK_RESYNC_H 1

/* What a listener has to ask the kernel next, and when
 * ====================================================
 *
 * A resync asks for everything: our own namespace first, then the ids of the
 * others, then the links of each.  It is over when the table has no pending
 * namespace.  Between resyncs, a namespace that was given an id is asked for,
 * and the routes when some may have gone without an event.
 *
 *      start --> our own --> ids --> one pending namespace after the other
 *
 * One call makes one step, so that the main loop does other work in between.
 *
 * Life cycle: link_resync_init() and the first link_resync_start().  There is
 * nothing to free.
 *
 * Thread safety: all functions belong to the thread of the replica.
 *
 * Failure: a dump that a change interrupted is repeated at once, at most
 * LINK_INTERRUPTED_MAX times in a row.  Any other failure is logged, and the
 * dump repeated later.  A namespace whose links we may not ask for becomes
 * stale. */

#include "link/link-replica.h"

/* Dumps that may be interrupted in a row before the next one waits. */
#define LINK_INTERRUPTED_MAX 4

/* Least time between two dumps of routes, in milliseconds, and between them at
 * least LINK_ROUTES_REST times what the last one took.  Where routes have
 * several next hops, or are replaced, every change calls for a dump; a
 * routing daemon makes thousands in a row, and the dump of a large table takes
 * seconds.  So dumps take a fifth of the time at most, and a single change
 * waits for nothing.  Tunnels live with an old route for that long. */
#define LINK_ROUTES_MS 200
#define LINK_ROUTES_REST 4

struct link_resync {
    struct link_replica *replica;
    bool enumerate;             /* The ids are to be asked for. */
    unsigned int n_interrupted; /* Dumps in a row. */
    long long int own_retry_at; /* When to ask for our own links again... */
    long long int retry_at;     /* ...and for the rest; milliseconds. */
    long long int routes_at;    /* Not to ask for routes again before. */

    bool active;                /* From a loss until nothing is pending. */
    enum link_reason reason;    /* Why. */
    long long int start;        /* Microseconds. */
};

void link_resync_init(struct link_resync *, struct link_replica *);

/* Starts to ask for everything.  If that is being done already, what was done
 * is not counted on. */
void link_resync_start(struct link_resync *, enum link_reason);

/* Makes the next request, if there is one to be made and it is time.  Returns
 * true if so. */
bool link_resync_run(struct link_resync *);

/* Asks for the routes if some may have gone without an event and it is time.
 * To be called only when all events were taken: as long as there are events,
 * the routes are likely to be stale again right after they were asked for. */
void link_resync_run_routes(struct link_resync *);

/* Ends the resync, if one is under way.  To be called when nothing is left to
 * ask for and nothing was lost. */
void link_resync_finish(struct link_resync *);

/* Return when link_resync_run() and link_resync_run_routes() have something to
 * do, in milliseconds: 0 for at once, LLONG_MAX for never. */
long long int link_resync_next(const struct link_resync *);
long long int link_resync_routes_next(const struct link_resync *);

/* True if there is nothing to ask for. */
bool link_resync_is_done(const struct link_resync *);

/* True if our own namespace was asked for and has to be asked for again, not
 * before some time. */
bool link_resync_own_waits(const struct link_resync *);

#endif /* lib/link/link-resync.h */
