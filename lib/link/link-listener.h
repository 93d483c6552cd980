/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_LINK_LISTENER_H
#define KDP_LINK_LISTENER_H 1

/* Link listener
 * =============
 *
 * Keeps a link table (link-table.h) equal to the kernel.  One rtnetlink socket
 * receives what happens to links, addresses and namespace ids, in our own
 * network namespace and, as far as the kernel permits, in those that have an
 * id in it.  It may also keep the addresses (link-addr.h), routes
 * (link-route.h) and queueing disciplines (link-qdisc.h) of our own namespace.
 * A filter in the kernel drops messages of types that are not asked for.
 *
 *      kernel --> socket ---- events ----> link table --> subscribers
 *      kernel <-> connection - dumps ----^
 *
 *
 * Life cycle
 * ----------
 *
 * link_listener_open() makes our own namespace pending in the table.  Each
 * link_listener_run() asks the kernel for the links of at most one pending
 * namespace and takes a bounded number of events.  So the first run fills the
 * table; after that nothing is asked while nothing is lost.
 * link_listener_catch_up() takes all that the kernel has sent: a change that
 * we made ourselves, on any socket, is in the table after it.  Routes are an
 * exception: some go without an event (link-route.h), and are asked for in a
 * later run, when no more events come and the last dump of routes was long
 * enough ago.
 *
 *
 * Loss
 * ----
 *
 * When the socket's buffer was full (ENOBUFS), or a message was cut short, the
 * table is taken anew:
 *
 *      1. Drain: what waits on the socket is older than what was lost, and is
 *         thrown away, until the socket was seen empty.  (Until then the
 *         kernel queues nothing, and does not report what it drops.)
 *      2. Enumerate: ask for the namespace ids.
 *      3. For each namespace: mark, dump on the other socket, sweep.
 *      4. Replay: the events that arrived since the drain are taken as ever.
 *         They may tell older states than the dump did, but the last event
 *         about each link tells what it is now, as none is missing.
 *
 * If more is lost meanwhile, the socket says so, and it starts again.  A dump
 * that a change interrupted (NLM_F_DUMP_INTR) updates links but removes none,
 * and is repeated.  A namespace whose links we may not ask for stays as it is
 * and is marked stale.
 *
 * Some changes are announced by no event: carrier and its counts and
 * alternative names of a link that is down, and a veth's peer.  They come with
 * the link's next event.
 *
 *
 * Namespaces
 * ----------
 *
 * An event of another namespace is tagged with its id; one of ours is not,
 * unless our namespace was given an id for itself.  That id is asked for when
 * the listener opens, when an id appears, and when a tag is unknown.  Link
 * events of other namespaces go to their own part of the table; of all else
 * that happens there nothing is kept.
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

#include "link/link-msg.h"

struct link_addrs;
struct link_listener;
struct link_qdiscs;
struct link_routes;
struct link_table;

struct link_listener_options {
    bool own_namespace_only;    /* Do not listen to other namespaces. */
    int rcvbuf;                 /* Bytes of receive buffer, or 0 for
                                 * LINK_RCVBUF. */

    /* What else to keep of our own namespace.  The caller keeps them until
     * after link_listener_close(); each may be NULL. */
    struct link_addrs *addrs;
    struct link_routes *routes;
    struct link_qdiscs *qdiscs;
};

/* Receive buffer.  An event of a link takes 4 kB of it, one of a link with
 * many alternative names more: room for a thousand. */
#define LINK_RCVBUF (4 * 1024 * 1024)

/* Most datagrams that a run takes, so that a flood of events does not keep the
 * main loop from its other work.  One takes some microseconds. */
#define LINK_RUN_DATAGRAMS 256

/* Least time between two dumps of routes, in milliseconds, and between them at
 * least LINK_ROUTES_REST times what the last one took.  Where routes have
 * several next hops, or are replaced, every change calls for a dump; a
 * routing daemon makes thousands in a row, and the dump of a large table takes
 * seconds.  So dumps take a fifth of the time at most, and a single change
 * waits for nothing.  Tunnels live with an old route for that long. */
#define LINK_ROUTES_MS 200
#define LINK_ROUTES_REST 4

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
 * included if those are pending.  Returns true if our own namespace is current
 * after it, except that routes may be stale; false if it could not be taken or
 * too much keeps arriving. */
bool link_listener_catch_up(struct link_listener *);

/* Makes the next runs take all anew, as after a loss. */
void link_listener_resync(struct link_listener *);

/* True if the table holds, of all namespaces for which that is possible, what
 * the kernel has told. */
bool link_listener_is_current(const struct link_listener *);

/* True if the last run took all events that there were. */
bool link_listener_is_idle(const struct link_listener *);

/* Id that our namespace has for itself, or LINK_NSID_NONE. */
int32_t link_listener_self_nsid(const struct link_listener *);

/* Why the kernel was asked. */
enum link_reason {
    LINK_REASON_START,          /* The listener opened. */
    LINK_REASON_LOSS,           /* Events were lost. */
    LINK_REASON_NAMESPACE,      /* A namespace was given an id. */
    LINK_REASON_ASKED,          /* link_listener_resync(). */
    LINK_REASON_ROUTES,         /* Routes went without an event. */
    LINK_N_REASONS
};
const char *link_reason_name(enum link_reason);

struct link_listener_stats {
    uint64_t events[LINK_N_MSGS];       /* By enum link_msg_type. */
    uint64_t events_other;      /* Of a type that nobody asked for. */
    uint64_t malformed;         /* Dropped as unparsable. */
    uint64_t ignored_foreign;   /* Of other namespaces, and not of links. */
    uint64_t ignored_port;      /* About ports of bridges, not devices. */
    uint64_t ignored_sender;    /* Not sent by the kernel. */

    uint64_t overruns;          /* Times that the socket said ENOBUFS. */
    uint64_t lost;              /* Messages that the kernel did not queue. */
    uint64_t truncated;         /* Messages that were cut short. */
    uint64_t drained;           /* Messages thrown away after a loss. */

    uint64_t resyncs;           /* Times that all was taken anew. */
    uint64_t interrupted;       /* Dumps that a change interrupted. */
    uint64_t failed;            /* Dumps that failed, not for good. */
    uint64_t refused;           /* Dumps of namespaces that are not ours to
                                 * ask for. */
    uint64_t resync_last;       /* Duration in microseconds, from the notice
                                 * of a loss to the last dump. */
    uint64_t resync_max;
    uint64_t resync_total;

    uint64_t rtnl[LINK_N_REASONS];      /* Requests that take the RTNL lock. */
    uint64_t nsid_requests;     /* Requests that do not. */
};

void link_listener_get_stats(const struct link_listener *,
                             struct link_listener_stats *);

#endif /* lib/link/link-listener.h */
