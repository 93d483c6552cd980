/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_CHANNEL_H
#define KDP_UPCALL_CHANNEL_H 1

/* Upcall channels
 * ===============
 *
 * A channel is the netlink socket on which the upcalls of one port arrive.
 * All handlers share it: each has it in its epoll instance, registered with
 * EPOLLEXCLUSIVE and edge-triggered.
 *
 *
 * Ownership
 * ---------
 *
 * Two handlers that read one socket would hand its upcalls out in any order.
 * So a channel has an owner, a word that says which handler may read it:
 *
 *      word                    meaning
 *      --------------------    -----------------------------------------
 *      0                       nobody; whoever sees an edge may take it
 *      token                   the handler with that token reads it
 *      token | AGAIN           same, and another handler saw an edge
 *
 * An edge is an obligation: the handler that epoll gave it to either takes the
 * channel or leaves the AGAIN mark for the owner, who must then read once more
 * before it lets go.  Letting go is a compare-and-exchange that fails when the
 * mark is there, so that no edge falls between the two.
 *
 * A token holds the generation of the set of handlers.  A handler takes over
 * what a handler of an earlier generation left behind (its thread is gone or
 * about to see that its handler is retired), so that replacing the handlers
 * needs no walk over the channels and no waiting.
 *
 *
 * Thread safety
 * -------------
 *
 *                           owner   other handler   control thread
 *      take, mark             -          yes              no
 *      read, count           yes         no               no
 *      release               yes         no               no
 *      lost, drain            no         no              yes (*)
 *      ref, unref            yes         yes             yes
 *
 *      (*) Reading the counters is safe at any time: they are atomics with one
 *          writer.  Draining takes messages away from the owner, whose order
 *          it does not disturb.
 *
 * The take and the release are acquire and release operations on the word, and
 * carry the owner's counters from one owner to the next.
 *
 *
 * Life cycle
 * ----------
 *
 * The table holds a reference and so does each handler that has the channel on
 * one of its lists.  The last one closes the socket.  A port that goes is
 * marked dead first; its owner drops it when it next looks at it. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/list.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"

struct mnl_socket;

/* Counters of a channel.  Written by the owner alone. */
struct upcall_channel_stats {
    uint64_t received;          /* Upcalls taken from the socket. */
    uint64_t malformed;         /* Of these, dropped as unparsable. */
    uint64_t overruns;          /* Times that the socket said ENOBUFS. */
    uint64_t lost;              /* Upcalls that the kernel could not queue. */
    uint32_t backlog;           /* Bytes that wait on the socket now. */
};

struct upcall_channel {
    struct mnl_socket *sock;
    uint32_t pid;               /* Netlink port id of 'sock'. */
    uint32_t port_no;           /* Datapath port, or UPCALL_PORT_NONE. */
    uint32_t serial;            /* Tells this channel from an earlier one of
                                 * the same port. */
    char *name;                 /* Of the port, for people. */
    struct ovs_refcount refcount;
    atomic_bool dead;           /* The port is gone. */

    atomic_uint32_t owner;      /* See above. */

    /* Owned by the owner. */
    struct ovs_list list_node;  /* In one of the handler's lists. */
    atomic_uint64_t received;
    atomic_uint64_t malformed;
    atomic_uint64_t overruns;
};

/* The channel that belongs to no port. */
#define UPCALL_PORT_NONE UINT32_MAX

/* Largest port number of the kernel datapath plus one (DP_MAX_PORTS). */
#define UPCALL_MAX_PORTS 65536

/* An owner word: the mark, the generation, the handler's index plus one.  A
 * generation comes back after 2^19 changes of the set of handlers, long after
 * the last channel that its handlers may have left was taken over. */
#define UPCALL_OWNER_AGAIN UINT32_C(0x80000000)
#define UPCALL_TOKEN_HANDLER_BITS 12
#define UPCALL_MAX_HANDLERS ((1u << UPCALL_TOKEN_HANDLER_BITS) - 1)
#define UPCALL_MAX_GENERATION (UPCALL_OWNER_AGAIN >> UPCALL_TOKEN_HANDLER_BITS)

/* Opens a socket and makes it a channel, for any port until
 * upcall_table_add() says which.  Returns 0 or a positive errno value; EMFILE
 * if the process has no file descriptor left. */
int upcall_channel_create(struct upcall_channel **);

void upcall_channel_ref(struct upcall_channel *);

/* Drops a reference.  'channel' may be NULL. */
void upcall_channel_unref(struct upcall_channel *channel);

int upcall_channel_fd(const struct upcall_channel *);

/* Tries to make the handler with token 'token' the owner of 'channel' because
 * of an edge.  'current' says that the handler's generation is the current
 * one.  Returns true if the handler did not own the channel before and does
 * now. */
bool upcall_channel_take(struct upcall_channel *, uint32_t token,
                         bool current);

/* Ends the ownership of the handler with token 'token'.  Returns true if the
 * channel is free or somebody else's now, false if an edge came meanwhile: the
 * caller is still the owner and has to read the socket again. */
bool upcall_channel_release(struct upcall_channel *, uint32_t token);

/* Takes and throws away what waits on the socket. */
void upcall_channel_drain(struct upcall_channel *);

void upcall_channel_get_stats(const struct upcall_channel *,
                              struct upcall_channel_stats *);

/* Adds 'n' to counter 'counter', whose only writer is the caller. */
static inline void
upcall_count(atomic_uint64_t *counter, uint64_t n)
{
    uint64_t value;

    atomic_read_relaxed(counter, &value);
    atomic_store_relaxed(counter, value + n);
}

static inline uint64_t
upcall_counter_read(const atomic_uint64_t *counter)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, counter), &value);
    return value;
}

#endif /* lib/upcall/upcall-channel.h */
