/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_DUMP_H
#define KDP_LINK_DUMP_H 1

/* Dumps
 * =====
 *
 * Asks the kernel for all links, addresses or the like, and makes the table
 * equal to the answer.  That marks what is known, updates what the answer has,
 * and removes the rest if the answer was complete.  A dump that a change
 * interrupted (NLM_F_DUMP_INTR) updates, and removes nothing.
 *
 * An answer is taken part by part, so that the main loop does other work in
 * between: ten thousand links are some 400 parts.  Events are taken meanwhile.
 * What they tell stays (link-newer.h), and what came with one is not removed.
 * When to ask, and how many parts to take at a time, is decided elsewhere
 * (link-resync.h).
 *
 * Life cycle: link_dump_init(), and link_dump_cancel() at the end.  A dump
 * begins with link_dump_begin() and is under way as long as that and
 * link_dump_continue() return EINPROGRESS.
 *
 * The RTNL lock: each part takes it.  Dumps are counted by reason in the
 * statistics.
 *
 * Thread safety: all functions belong to the thread of the replica, and wait
 * for the kernel's answer.
 *
 * Failure: functions return 0 or a positive errno value, EINTR if a change
 * interrupted a dump. */

#include "link/link-replica.h"

enum link_dump_kind {
    LINK_DUMP_LINKS,
    LINK_DUMP_ADDRS,
    LINK_DUMP_QDISCS,
    LINK_DUMP_NSIDS
};

struct link_dump {
    struct link_replica *replica;

    /* The one that is under way. */
    bool active;
    struct nl_conn *conn;       /* Its own: closing it ends the dump. */
    enum link_dump_kind kind;
    int32_t nsid;
    enum link_reason reason;
};

void link_dump_init(struct link_dump *, struct link_replica *);

/* Ends the dump that is under way, if there is one.  What it told stays. */
void link_dump_cancel(struct link_dump *);

/* Begins to ask for all of 'kind' of namespace 'nsid', which matters for links
 * only.  With 'again', what the last dump of links told, which was
 * interrupted, counts, too.  Returns 0 if that kind is not kept, EINPROGRESS
 * if the answer is to be taken, or a positive errno value. */
int link_dump_begin(struct link_dump *, enum link_dump_kind, int32_t nsid,
                    bool again, enum link_reason);

/* Takes a part of the answer.  Returns EINPROGRESS if there is more to come, 0
 * at the end, or a positive errno value: EOPNOTSUPP if the kernel cannot tell
 * the links of another namespace. */
int link_dump_continue(struct link_dump *);

#endif /* lib/link/link-dump.h */
