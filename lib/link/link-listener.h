/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_LISTENER_H
#define KDP_LINK_LISTENER_H 1

/* Link listener
 * =============
 *
 * Keeps a link table (link-table.h) equal to the kernel.  One rtnetlink socket
 * receives changes of links and addresses in our own network namespace.  If
 * the kernel permits it, a second one receives changes of links in all
 * namespaces that have an id in ours, and of these ids.  The listener may also
 * keep the addresses (link-addr.h) and queueing disciplines (link-qdisc.h) of
 * our own namespace.
 *
 * With two sockets, changes of addresses and tc rules in other namespaces do
 * not wake the daemon, and a loss on the second socket does not affect our own
 * namespace.  The price is that links of our own are announced on both.
 *
 * On the second socket, an event carries the id of its namespace as a tag.  An
 * event of our own namespace has no tag there unless our namespace has an id
 * for itself, and is skipped.  Our own id is requested when the listener
 * opens, when an id appears, and when a tag is unknown.  A malformed event is
 * counted and skipped.
 *
 *      kernel --> sockets (nl-mcast.h) -- events ---------------> tables
 *                    | loss                                              ^
 *                    v                                                   |
 *                 resync (link-resync.h) -- requests (link-replica.h) ---'
 *
 *
 * Life cycle
 * ----------
 *
 * link_listener_open() makes our own namespace pending in the table.  Each
 * link_listener_run() takes a bounded part of a dump, of at most one pending
 * namespace, and a bounded number of events.  One run is enough for a host
 * with some dozens of devices; ten thousand links take 25.  After that the
 * listener sends no requests unless events are lost.
 *
 * link_listener_catch_up() processes everything that the kernel has sent.  A
 * change that this process made, on any socket, is in the table afterwards.
 * The first call fills the table, however long that takes.  Later calls take
 * no more parts of a dump than the last run has left.
 *
 *
 * Loss
 * ----
 *
 * When a socket's buffer was full (ENOBUFS), or a message was cut short, a
 * resync makes that part of the tables equal to the kernel again:
 *
 *      1. Drain: messages that wait on the socket are older than the loss and
 *         are thrown away until the socket is empty.  (Until then the kernel
 *         queues nothing and does not report what it drops.)
 *      2. Enumerate: request the ids, if other namespaces are affected.
 *      3. For each namespace: mark, dump on the other socket, sweep.
 *      4. Replay: events that arrived since the drain are processed as usual,
 *         also between the parts of a dump.  They may show older states than
 *         the dump did.  But none is missing, so the last event about each
 *         link shows its present state.  A part that is older than an event
 *         does not undo it (link-replica.h).
 *
 * If more is lost meanwhile, the socket reports it and the resync starts
 * again.  A dump that a change interrupted (NLM_F_DUMP_INTR) updates links but
 * removes none, and is repeated.  A namespace whose links we may not dump
 * keeps its links and is marked stale.
 *
 * With 'on_demand', a namespace other than our own is not dumped, and its
 * events are not parsed, until link_table_follow_ns() is called for it.
 *
 * The kernel announces some changes with no event: carrier, carrier counts and
 * alternative names of a link that is down, and a veth's peer.  They arrive
 * with the link's next event or with the next resync.
 *
 *
 * The RTNL lock
 * -------------
 *
 * Receiving takes no lock of the kernel.  Dumps take the RTNL lock (before
 * Linux 6.9, for the whole of each part) and are counted by reason.  They
 * carry RTEXT_FILTER_SKIP_STATS, so that the kernel does not add up the
 * per-CPU IPv6 statistics.  (It does add up the link statistics; no filter
 * prevents that.)  Requests about a namespace id do not take the lock.
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
#include "link/link-replica.h"

struct link_addrs;
struct link_listener;
struct link_qdiscs;
struct link_table;

struct link_listener_options {
    bool own_namespace_only;    /* Do not listen to other namespaces. */
    bool on_demand;             /* Follow only those other namespaces for which
                                 * link_table_follow_ns() is called. */
    int rcvbuf;                 /* Bytes of receive buffer, or 0 for
                                 * LINK_RCVBUF. */

    /* Further tables of our own namespace.  The caller keeps them until after
     * link_listener_close(); each may be NULL. */
    struct link_addrs *addrs;
    struct link_qdiscs *qdiscs;
};

/* Receive buffer, for a thousand events: one about a link takes 4 kB of it, or
 * more if the link has many alternative names. */
#define LINK_RCVBUF (4 * 1024 * 1024)

/* Most datagrams that a run takes from a socket, so that a flood of events
 * does not keep the main loop from its other work.  A datagram takes some
 * microseconds here, but then, with 100 ports, Open vSwitch executes 300,000
 * instructions for each port whose link has changed, in the same turn of the
 * main loop.  A turn has two runs. */
#define LINK_RUN_DATAGRAMS 24

/* Opens a listener that keeps 'table', which the caller keeps until after
 * link_listener_close().  'options' may be NULL.  Returns 0 and stores the
 * listener, which the caller owns, in '*listenerp', or returns a positive
 * errno value and stores NULL. */
int link_listener_open(struct link_table *table,
                       const struct link_listener_options *options,
                       struct link_listener **listenerp);

/* Closes 'listener', which may be NULL.  The table keeps its content. */
void link_listener_close(struct link_listener *listener);

struct link_table *link_listener_table(const struct link_listener *);

/* Does a bounded amount of work. */
void link_listener_run(struct link_listener *);

/* Arranges for poll_block() to wake up when link_listener_run() has something
 * to do. */
void link_listener_wait(struct link_listener *);

/* Processes everything that the kernel sent before the call, including the
 * dump of our own namespace if that is pending and small enough (see "Life
 * cycle").  Returns true if our own namespace is current afterwards; false if
 * the dump failed or too many messages keep arriving. */
bool link_listener_catch_up(struct link_listener *);

/* Makes the next runs dump everything again, as after a loss. */
void link_listener_resync(struct link_listener *);

/* Turns the following of queueing disciplines on or off; at first it is on if
 * they are kept.  They are announced to the same group as all tc rules, and
 * Linux 6.8 and later, and late 6.1, build an announcement only if the group
 * has members.  So a caller that adds many rules had better turn it off.  When
 * it is turned on, the next run dumps the queueing disciplines. */
void link_listener_follow_qdiscs(struct link_listener *, bool follow);

/* True if the table is equal to what the kernel has announced, for all
 * namespaces that can be dumped. */
bool link_listener_is_current(const struct link_listener *);

/* True if the last run processed all events that had arrived, of all
 * namespaces or of ours. */
bool link_listener_is_idle(const struct link_listener *);
bool link_listener_own_is_idle(const struct link_listener *);

/* Id that our namespace has for itself, or LINK_NSID_NONE. */
int32_t link_listener_self_nsid(const struct link_listener *);

/* How far the tables lag behind the kernel, as far as that is known. */
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
