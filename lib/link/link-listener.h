/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_LISTENER_H
#define KDP_LINK_LISTENER_H 1

/* Link listener
 * =============
 *
 * Keeps a link table (link-table.h) equal to the kernel.  One rtnetlink socket
 * receives what happens to links and addresses in our own network namespace.
 * Another one, as far as the kernel permits, receives what happens to links in
 * those that have an id in it, and to these ids.  The listener may also keep
 * the addresses (link-addr.h) and queueing disciplines (link-qdisc.h) of our
 * own namespace.
 *
 * There are two, so that addresses and rules of tc that change in
 * other namespaces do not even wake the daemon, and so that a loss in these
 * leaves our own alone.  The price is that the links of ours are announced on
 * both.
 *
 *      kernel --> sockets (nl-mcast.h) -- events (link-event.h) --> tables
 *                    | loss                                              ^
 *                    v                                                   |
 *                 resync (link-resync.h) -- requests (link-replica.h) ---'
 *
 *
 * Life cycle
 * ----------
 *
 * link_listener_open() makes our own namespace pending in the table.  Each
 * link_listener_run() takes a bounded part of what the kernel says of at most
 * one pending namespace, and a bounded number of events.  What a host with
 * some dozens of devices has takes one run, ten thousand links take 25.  After
 * that nothing is asked while nothing is lost.
 *
 * link_listener_catch_up() takes all that the kernel has sent.  A change that
 * we made ourselves, on any socket, is in the table after it.  The first call
 * fills the table, whatever that takes.  A later one takes of a dump no more
 * than the last run has left.
 *
 *
 * Loss
 * ----
 *
 * When a socket's buffer was full (ENOBUFS), or a message was cut short, a
 * resync makes that part of the tables equal to the kernel again:
 *
 *      1. Drain: what waits on the socket is older than what was lost, and is
 *         thrown away, until the socket was seen empty.  (Until then the
 *         kernel queues nothing, and does not report what it drops.)
 *      2. Enumerate: ask for the namespace ids, if it is about others.
 *      3. For each namespace: mark, dump on the other socket, sweep.
 *      4. Replay: the events that arrived since the drain are taken as ever,
 *         between the parts of a dump, too.  They may tell older states than
 *         the dump did.  But none is missing, so the last event about each
 *         link tells what it is now.  A part that is older than an event does
 *         not undo it (link-replica.h).
 *
 * If more is lost meanwhile, the socket says so, and the resync starts again.
 * A dump that a change interrupted (NLM_F_DUMP_INTR) updates links but removes
 * none, and is repeated.  A namespace whose links we may not ask for stays as
 * it is and is marked stale.
 *
 * With 'on_demand' other namespaces are not asked for, and their events are
 * not parsed, until link_table_follow_ns() is called for them.
 *
 * Some changes are announced by no event: carrier, its counts and alternative
 * names of a link that is down, and a veth's peer.  They come with the link's
 * next event, or with the next resync.
 *
 *
 * The RTNL lock
 * -------------
 *
 * Receiving takes no lock of the kernel.  Dumps take the RTNL lock (before
 * Linux 6.9 for the whole of each part of a dump), and are counted by reason.
 * They carry RTEXT_FILTER_SKIP_STATS, so that the kernel does not sum up
 * IPv6's statistics of each CPU.  (It does sum up those of the link: no filter
 * leaves them out.)  Asking for single namespace ids does not take the lock.
 *
 *
 * Thread safety
 * -------------
 *
 * All functions belong to one thread, the one that writes the table.  It stays
 * in the namespace in which it opened the listener. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-info.h"

struct link_addrs;
struct link_listener;
struct link_qdiscs;
struct link_table;

struct link_listener_options {
    bool own_namespace_only;    /* Do not listen to other namespaces. */
    bool on_demand;             /* Follow those that link_table_follow_ns() is
                                 * called for, and no others. */
    int rcvbuf;                 /* Bytes of receive buffer, or 0 for
                                 * LINK_RCVBUF. */

    /* What else to keep of our own namespace.  The caller keeps them until
     * after link_listener_close(); each may be NULL. */
    struct link_addrs *addrs;
    struct link_qdiscs *qdiscs;
};

/* Receive buffer.  An event of a link takes 4 kB of it, one of a link with
 * many alternative names more: room for a thousand. */
#define LINK_RCVBUF (4 * 1024 * 1024)

/* Most datagrams that a run takes from a socket, so that a flood of events
 * does not keep the main loop from its other work.  One takes some
 * microseconds, but Open vSwitch has 300,000 instructions of work for each
 * port whose link has changed, with 100 ports, in the same turn of the main
 * loop, which has two runs. */
#define LINK_RUN_DATAGRAMS 24

/* Opens a listener that keeps 'table', which the caller keeps until after
 * link_listener_close().  'options' may be NULL.  Returns 0 and stores the
 * listener, which the caller owns, in '*listenerp', or returns a positive
 * errno value and stores NULL. */
int link_listener_open(struct link_table *table,
                       const struct link_listener_options *options,
                       struct link_listener **listenerp);

/* Closes 'listener', which may be NULL.  The table keeps what is in it. */
void link_listener_close(struct link_listener *listener);

struct link_table *link_listener_table(const struct link_listener *);

/* Does a bounded amount of work. */
void link_listener_run(struct link_listener *);

/* Arranges for poll_block() to wake up when link_listener_run() has something
 * to do. */
void link_listener_wait(struct link_listener *);

/* Takes what the kernel sent before the call, our own namespace's links
 * included if those are pending and not too many (see "Life cycle").  Returns
 * true if our own namespace is current after it; false if it could not be
 * taken or too much keeps arriving. */
bool link_listener_catch_up(struct link_listener *);

/* Makes the next runs take all again, as after a loss. */
void link_listener_resync(struct link_listener *);

/* Whether queueing disciplines are followed, which they are at first if they
 * are kept.  They are announced to the same group as all rules of tc are, and
 * Linux 6.8 and later, and late 6.1, make an announcement only if there is
 * somebody in the group: so who adds many rules had better not be.  When they
 * are followed again, the next run asks for them. */
void link_listener_follow_qdiscs(struct link_listener *, bool follow);

/* True if the table holds, of all namespaces for which that is possible, what
 * the kernel has told. */
bool link_listener_is_current(const struct link_listener *);

/* True if the last run took all events that there were. */
bool link_listener_is_idle(const struct link_listener *);

/* Id that our namespace has for itself, or LINK_NSID_NONE. */
int32_t link_listener_self_nsid(const struct link_listener *);

/* How far the tables are behind the kernel, as far as that is known. */
struct link_listener_lag {
    long long int event_age;    /* Milliseconds since the last event, or since
                                 * the listener opened. */
    long long int current_age;  /* Milliseconds since the tables were last
                                 * known to be current, or since it opened. */
    uint32_t backlog;           /* Bytes that wait on the socket... */
    uint32_t rcvbuf;            /* ...and for how many there is room. */
};
void link_listener_get_lag(const struct link_listener *,
                           struct link_listener_lag *);

void link_listener_get_stats(const struct link_listener *,
                             struct link_listener_stats *);

#endif /* lib/link/link-listener.h */
