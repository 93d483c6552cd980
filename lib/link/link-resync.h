/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_RESYNC_H
#define KDP_LINK_RESYNC_H 1

/* What a listener has to ask the kernel next, and when
 * ====================================================
 *
 * A resync asks for everything: our own namespace first, then the ids of the
 * others, then the links of each.  It is over when the table has no pending
 * namespace.  Between resyncs, a namespace that begins to be followed is asked
 * for.  Where others may not be listened to, those that are followed are asked
 * for every LINK_POLL_MS.
 *
 *      start --> our own --> ids --> one pending namespace after the other
 *
 * Our own namespace is asked for in stages: links, addresses, queueing
 * disciplines.  A stage that is done is not repeated because a later one
 * fails.
 *
 *
 * Churn
 * -----
 *
 * Where links come and go all the time, a change interrupts nearly every dump
 * (NLM_F_DUMP_INTR): what the kernel told is true, and something may be
 * missing.  What has changed meanwhile is announced.  So each message counts:
 *
 *   - Two interrupted dumps are taken together.  Before Linux 6.7, one that is
 *     continued after another link of the same hash bucket has gone skips a
 *     link; hardly ever do two skip the same.
 *
 *   - A link that we know and neither told of is asked for by its index.  That
 *     removes what is gone.  A question counts as a part of a dump (below).
 *
 *   - Then the namespace is current, and provisional: links that we have never
 *     heard of may be missing yet, and addresses and the like that went with
 *     the loss may be left.  A dump that is not interrupted confirms it.  One
 *     is made as soon as links and addresses did not change for
 *     LINK_QUIET_MS.  If they go on changing, it is tried in intervals that
 *     double, as it takes the RTNL lock.
 *
 *
 * The main loop
 * -------------
 *
 * A turn of the main loop takes LINK_TURN_PARTS parts of dumps at most, of
 * some 32 kB each.  A dump that has more goes on in the next turn, and events
 * are taken in between (link-dump.h).
 *
 * Life cycle: link_resync_init() and the first link_resync_start(), then
 * link_resync_allow() in each turn; link_resync_uninit().
 *
 * Thread safety: all functions belong to the thread of the replica.
 *
 * Failure: a dump of ids or of another namespace that a change interrupted is
 * repeated at once, at most LINK_INTERRUPTED_MAX times in a row, and then in
 * intervals that double.  Any other failure is logged, and the
 * dump repeated later.  A namespace whose links we may not ask for becomes
 * stale. */

#include "link/link-dump.h"
#include "link/link-replica.h"

/* Dumps that may be interrupted in a row before the next one waits. */
#define LINK_INTERRUPTED_MAX 4

/* Interrupted dumps that are taken together. */
#define LINK_UNION_DUMPS 2

/* Milliseconds without a change after which a dump is likely to go through,
 * and the first and the longest interval between two tries. */
#define LINK_QUIET_MS 200
#define LINK_CONFIRM_MS 100
#define LINK_CONFIRM_MAX_MS 12800

/* Milliseconds between two questions about the links of other namespaces, if
 * we may not listen to them: that is how often the bridge looks at interfaces
 * by itself, and a question takes the RTNL lock. */
#define LINK_POLL_MS 5000

/* Parts of dumps that are taken in a turn of the main loop.  One has some 25
 * links, and takes the RTNL lock once.  So 10,000 links take 25
 * turns of some 5 ms, and what a host with some dozens of devices has takes
 * one. */
#define LINK_TURN_PARTS 16

/* What a dump is for. */
enum link_task {
    LINK_TASK_OWN,              /* A stage of our own namespace... */
    LINK_TASK_CONFIRM,          /* ...or one that is provisional. */
    LINK_TASK_IDS,              /* The ids of others. */
    LINK_TASK_FOREIGN           /* The links of one of them. */
};

struct link_resync {
    struct link_replica *replica;
    struct link_dump dump;      /* The one that is under way... */
    enum link_task task;        /* ...and what it is for. */
    unsigned int confirm_stage; /* That stage, with LINK_TASK_CONFIRM. */
    unsigned int parts;         /* That may be taken in this turn. */
    bool filled;                /* Our own namespace was current once. */
    bool enumerate;             /* The ids are to be asked for. */
    unsigned int n_interrupted; /* Dumps in a row. */
    unsigned int own_stage;     /* What of our own to ask for next... */
    unsigned int own_dumps;     /* ...and how many were interrupted. */
    bool asking;                /* For the links that none of those told. */
    unsigned int unconfirmed;   /* Bits of stages that are provisional... */
    long long int confirm_wait; /* ...the interval until the next try... */
    long long int tried_at;     /* ...when the last one began... */
    long long int confirm_at;   /* ...and the next is, unless it is quiet
                                 * before; milliseconds. */
    long long int own_retry_at; /* When to ask for our own links again... */
    long long int retry_at;     /* ...and for the rest; milliseconds. */
    long long int poll_at;      /* When to ask for others, if we may not listen
                                 * to them; milliseconds. */

    bool active;                /* From a loss until nothing is pending. */
    enum link_reason reason;    /* Why. */
    long long int start;        /* Microseconds. */
};

void link_resync_init(struct link_resync *, struct link_replica *);
void link_resync_uninit(struct link_resync *);

/* What to ask for again. */
enum link_resync_what {
    LINK_RESYNC_OWN = 1 << 0,           /* Our own namespace. */
    LINK_RESYNC_OTHERS = 1 << 1,        /* The ids and links of others. */
    LINK_RESYNC_ALL = LINK_RESYNC_OWN | LINK_RESYNC_OTHERS,
};

/* Starts to ask for that.  If it is being asked for already, what was done is
 * not counted on. */
void link_resync_start(struct link_resync *, enum link_reason,
                       enum link_resync_what);

/* Lets 'parts' parts of dumps be taken until it is called again. */
void link_resync_allow(struct link_resync *, unsigned int parts);

/* Makes the next request, or goes on with the one under way, if there is one
 * to be made, and it is time, and as far as parts are left.  Returns true if
 * so. */
bool link_resync_run(struct link_resync *);

/* Ends the resync, if one is under way.  To be called when nothing is left to
 * ask for and nothing was lost. */
void link_resync_finish(struct link_resync *);

/* Returns when link_resync_run() has something to do, in milliseconds: 0 for
 * at once, LLONG_MAX for never. */
long long int link_resync_next(const struct link_resync *);

/* True if there is nothing to ask for. */
bool link_resync_is_done(const struct link_resync *);

/* Asks for queueing disciplines in the next run. */
void link_resync_ask_qdiscs(struct link_resync *);

/* True if our own namespace was asked for and has to be asked for again, not
 * before some time. */
bool link_resync_own_waits(const struct link_resync *);

#endif /* lib/link/link-resync.h */
