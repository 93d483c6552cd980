/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_RESYNC_H
#define KDP_LINK_RESYNC_H 1

/* Link resync
 * ===========
 *
 * Decides what a listener asks the kernel next, and when, and makes the tables
 * equal to the answers.
 *
 * A resync requests everything: the links, addresses and queueing disciplines
 * of our own namespace first, then the ids of the others, then the links of
 * each.  It is over when the table has no pending namespace.  Between resyncs,
 * a namespace is dumped when it begins to be followed.  Where the kernel does
 * not let us listen to other namespaces, those that are followed are dumped
 * every LINK_POLL_MS.
 *
 *      start --> our own --> ids --> one pending namespace after the other
 *
 * Our own namespace is dumped in stages: links, addresses, queueing
 * disciplines.  A stage that is done is not repeated when a later one fails.
 *
 *
 * Dumps
 * -----
 *
 * A dump marks the known entries, updates those in the answer, and removes the
 * rest if the answer was complete.  A dump that a change interrupted
 * (NLM_F_DUMP_INTR) updates entries and removes none.
 *
 * The kernel does not say whether a dump of queueing disciplines was
 * interrupted.  It goes through the list of devices by position, so if a
 * device is removed between two parts, the second part skips another device.
 * The removal was announced by the time the second part was written.  So when
 * such an answer is complete, the dump waits until all events that were
 * received before have been processed, and counts as interrupted if one of
 * them, since the dump began, removed a link.
 *
 * An answer arrives in parts of some 32 kB, and each takes the RTNL lock.  The
 * main loop takes at most LINK_TURN_PARTS of them per turn and processes
 * events in between.  Events that are newer than the next part win
 * (link-replica.h).
 *
 *
 * Churn
 * -----
 *
 * Where links come and go all the time, a change interrupts nearly every dump:
 * everything in the answer is true, but entries may be missing.  Changes that
 * happen meanwhile are announced.  So each message counts:
 *
 *   - Two interrupted dumps are combined.  Before Linux 6.7, a dump skips a
 *     link if another link of the same hash bucket is removed between two
 *     parts; two dumps hardly ever skip the same link.
 *
 *   - A known link that neither dump contained is requested by its index,
 *     which removes it if it is gone.  Such a request counts as a part.
 *
 *   - Then the namespace is current but provisional: it may lack links whose
 *     announcement was lost, and may still have addresses whose removal was
 *     lost.  A dump that is not interrupted confirms it.  That dump starts
 *     when links and addresses have not changed for LINK_QUIET_MS.  If they
 *     keep changing, it is tried at intervals that double, as it takes the
 *     RTNL lock.
 *
 *
 * Life cycle: link_resync_init() and the first link_resync_start(), then
 * link_resync_allow() in each turn; link_resync_uninit().
 *
 * Thread safety: all functions belong to the thread of the replica, and wait
 * for the kernel's answer.
 *
 * Failure: a dump of ids or of another namespace that a change interrupted is
 * repeated at once, at most LINK_INTERRUPTED_MAX times in a row, and then at
 * intervals that double.  Any other failure is logged and the dump repeated
 * later.  A namespace that we may not dump becomes stale. */

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

enum link_dump_kind {
    LINK_DUMP_LINKS,
    LINK_DUMP_ADDRS,
    LINK_DUMP_QDISCS,
    LINK_DUMP_NSIDS
};

/* The dump in progress. */
struct link_dump {
    struct link_replica *replica;
    bool active;
    struct nl_conn *conn;       /* Used by no other request, so that closing it
                                 * ends the dump. */
    enum link_dump_kind kind;
    int32_t nsid;
    enum link_reason reason;
    bool complete;              /* The answer is; only events are missing. */
    uint64_t n_removed;         /* The replica's, when the dump began. */
};

/* What a dump is for. */
enum link_task {
    LINK_TASK_OWN,              /* A stage of our own namespace... */
    LINK_TASK_CONFIRM,          /* ...or one that is provisional. */
    LINK_TASK_IDS,              /* The ids of others. */
    LINK_TASK_FOREIGN           /* The links of one of them. */
};

struct link_resync {
    struct link_replica *replica;
    struct link_dump dump;      /* The dump in progress... */
    enum link_task task;        /* ...and its purpose. */
    unsigned int confirm_stage; /* The stage of LINK_TASK_CONFIRM. */
    unsigned int parts;         /* Parts left in this turn. */
    bool filled;                /* Our own namespace was current once. */
    bool enumerate;             /* The ids are to be dumped. */
    unsigned int n_interrupted; /* Dumps in a row. */
    unsigned int own_stage;     /* Next stage of our own namespace... */
    unsigned int own_dumps;     /* ...and its interrupted dumps. */
    bool asking;                /* Requesting links that none of these had. */
    unsigned int unconfirmed;   /* Bits of stages that are provisional... */
    long long int confirm_wait; /* ...the interval until the next try... */
    long long int tried_at;     /* ...when the last one began... */
    long long int confirm_at;   /* ...and when the next begins, unless changes
                                 * pause earlier; milliseconds. */
    long long int own_retry_at; /* When to dump our own namespace again... */
    long long int retry_at;     /* ...and the rest; milliseconds. */
    long long int poll_at;      /* When to dump other namespaces, if we cannot
                                 * listen to them; milliseconds. */

    bool active;                /* From a loss until nothing is pending. */
    enum link_reason reason;
    long long int start;        /* Microseconds. */
};

void link_resync_init(struct link_resync *, struct link_replica *);
void link_resync_uninit(struct link_resync *);

/* The tables to dump again. */
enum link_resync_what {
    LINK_RESYNC_OWN = 1 << 0,           /* Our own namespace. */
    LINK_RESYNC_OTHERS = 1 << 1,        /* The ids and links of others. */
    LINK_RESYNC_ALL = LINK_RESYNC_OWN | LINK_RESYNC_OTHERS,
};

/* Starts a resync of 'what'.  If it is already in progress, it starts from the
 * beginning. */
void link_resync_start(struct link_resync *, enum link_reason,
                       enum link_resync_what);

/* Allows link_resync_run() to process 'parts' parts of dumps, until this is
 * called again. */
void link_resync_allow(struct link_resync *, unsigned int parts);

/* Sends the next request, or continues the dump in progress, if it is time and
 * parts are left.  'idle' says whether all events of our own namespace that
 * were announced before have been processed.  Returns true if it did
 * something. */
bool link_resync_run(struct link_resync *, bool idle);

/* Ends the resync, if one is in progress.  To be called when no request is
 * left and nothing was lost. */
void link_resync_finish(struct link_resync *);

/* Returns when link_resync_run() has something to do, in milliseconds: 0 for
 * at once, LLONG_MAX for never. */
long long int link_resync_next(const struct link_resync *);

/* True if there is nothing to request. */
bool link_resync_is_done(const struct link_resync *);

/* Makes the next run dump queueing disciplines. */
void link_resync_ask_qdiscs(struct link_resync *);

/* True if a dump of our own namespace has failed and waits for its next
 * try. */
bool link_resync_own_waits(const struct link_resync *);

#endif /* lib/link/link-resync.h */
