/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_CHANNEL_H
#define KDP_UPCALL_CHANNEL_H 1

/* Upcall channels
 * ===============
 *
 * A channel is a netlink socket on which upcalls of one port arrive.  A port
 * has one, or several, its queues (upcall-ports.h).  All handlers share a
 * channel through their scheduler (upcall-sched.h).
 *
 *
 * Ownership
 * ---------
 *
 * Two handlers that read one socket would hand its upcalls out in any order.
 * So a channel has an owner, a word that says who may read it:
 *
 *      word                     meaning
 *      ---------------------    ----------------------------------------
 *      0                        nobody; the next event gives it an owner
 *      UPCALL_TOKEN_HELD        nobody may read it before it is released
 *                               (upcall_table_hold())
 *      generation | 0           it waits in the scheduler's run queue
 *      generation | handler     that handler reads it
 *
 * The word changes by compare-and-exchange, which nobody waits for:
 *
 *               event              turn used up
 *        0 ----------> handler ------------------> run queue
 *        ^                | ^                          |
 *        |   socket empty | |        its turn          |
 *        +----------------+ +--------------------------+
 *
 * A handler keeps a channel until the upcalls that it took were processed
 * (U1).
 *
 * A channel that is held is registered with epoll as any other.  A handler
 * that gets an event of it finds the owner word taken and leaves it, as it
 * leaves a channel of another handler.  No event mask would do: the kernel
 * reports an overrun of a socket whatever the mask is, and a handler that is
 * busy takes the urgent channel without an event.
 *
 * The generation is that of the set of handlers.  When a set is replaced, its
 * handlers release what they have once their batch is over (upcall-set.h);
 * nobody takes it from them.
 *
 *
 * State
 * -----
 *
 * What the owner does with the channel is its state (upcall-state.h).  Only
 * the owner writes it, and the owner word carries it to the next one: the
 * state is IDLE whenever the word becomes 0, and QUEUED whenever it becomes
 * the run queue's.  Each change is checked against the table of transitions.
 *
 *
 * Thread safety
 * -------------
 *
 *                           owner   other handler   control thread
 *      take                   -          yes              no
 *      set_state, enqueue    yes         no               no
 *      dequeue                -         yes (**)          no
 *      release               yes         no              yes (**)
 *      hold, unhold           no         no              yes
 *      read, count, turn     yes         no               no
 *      stats, drain,          no         no              yes (*)
 *      is_done
 *      ref, unref            yes         yes             yes
 *
 *      (*) Reading the counters is safe at any time: they are atomics with one
 *          writer.  Draining takes messages away from the owner, whose order
 *          it does not disturb.
 *      (**) Whoever has taken the channel out of the run queue.
 *
 * All changes of the owner word are sequentially consistent.  They carry what
 * the owner wrote from one owner to the next.  And a handler that releases a
 * channel while its set is replaced either sees that or is seen
 * (upcall_ports_rearm()).
 *
 *
 * Life cycle
 * ----------
 *
 * The table holds a reference and so does each list of a handler or scheduler
 * that has the channel.  The last one closes the socket.  A port that goes is
 * marked dead first; whoever has the channel drops it when next looking. */

#include <stdbool.h>
#include <stdint.h>

#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "stats/latency-hist.h"
#include "upcall/upcall-age.h"
#include "upcall/upcall-delay.h"
#include "upcall/upcall-fq.h"
#include "upcall/upcall-state.h"
#include "upcall/upcall-turn.h"

struct mnl_socket;

/* Counters of a channel. */
struct upcall_channel_stats {
    uint64_t received;          /* Upcalls taken from the socket. */
    uint64_t malformed;         /* Of these, dropped as unparsable. */
    uint64_t overruns;          /* Times that the socket said ENOBUFS. */
    uint64_t errors;            /* Reads that failed with any other error. */
    uint64_t lost;              /* Upcalls that the kernel could not queue. */
    uint64_t lost_limited;      /* Of these, while the port sent more than its
                                 * share and its receive buffer was limited
                                 * for that (upcall-shed.h). */
    uint64_t shed;              /* Upcalls that waited too long and were thrown
                                 * away (upcall-shed.h).  Neither received nor
                                 * lost. */
    uint32_t backlog;           /* Bytes that wait on the socket now. */
    uint32_t backlog_max;       /* Most bytes seen waiting. */

    /* Microseconds from the moment at which the kernel queued an upcall to its
     * hand-out; estimated as upcall-age.h says. */
    struct latency_summary latency;
};

/* Whose upcalls come on a channel.  Those of several senders are read ahead
 * and sorted (upcall-fq.h).  The first upcall of a port shows whether it is a
 * tunnel. */
enum upcall_senders {
    UPCALL_SENDERS_UNKNOWN,
    UPCALL_SENDERS_ONE,
    UPCALL_SENDERS_TUNNEL,      /* Remote machines. */
    UPCALL_SENDERS_PORTS,
};

struct upcall_channel {
    struct mnl_socket *sock;
    uint32_t pid;               /* Netlink port id of 'sock'. */
    uint32_t port_no;           /* Datapath port, or UPCALL_PORT_*. */
    uint32_t serial;            /* Tells this channel from an earlier one of
                                 * the same port. */
    char *name;                 /* Of the port, for people. */
    OVSRCU_TYPE(struct upcall_channel *) next;  /* Next one of its port
                                                 * (upcall-ports.h). */
    bool adopted;               /* A previous run had 'sock', for which the */
    uint32_t drops_before;      /* kernel had dropped so many upcalls. */
    unsigned int queue, n_queues;   /* Its place among those of its port, and
                                     * their number. */
    atomic_uint32_t rcvbuf;     /* Size of the receive buffer unless it is
                                 * limited; see upcall-rcvbuf.h.  The control
                                 * thread's. */
    unsigned int hold;          /* Calls of upcall_table_release() until its
                                 * upcalls are handed out.  The control
                                 * thread's. */
    struct ovs_refcount refcount;
    atomic_uint32_t ahead;      /* Bytes read ahead, so that the channel must
                                 * not wait for an event.  The owner's. */
    atomic_bool purge;          /* What was read ahead is to go. */
    atomic_bool dead;           /* The port is gone. */
    atomic_bool retired;        /* The port has others in its place. */
    uint64_t done_at;           /* If it is: see upcall_channel_is_done().
                                 * The control thread's, as is the next. */
    uint64_t grace;             /* Grace period whose end it waits for, held,
                                 * or 0 (upcall-ports.h). */
    atomic_uint32_t weight;     /* Senders with a backlog on it, at least 1
                                 * (upcall-fq.h). */

    atomic_uint32_t owner;      /* See above. */

    /* Written by the owner alone. */
    enum upcall_state state;
    enum upcall_senders senders;
    struct upcall_turn turn;
    struct upcall_delay delay;
    struct upcall_age age;
    struct upcall_fq fq;        /* Not UPCALL_SENDERS_ONE: what was read
                                 * ahead. */
    bool waited;                /* Adopted: what is read was sent before
                                 * upcall_channel_end_adopted(). */
    uint64_t due;               /* In the run queue (upcall-queue.h). */
    uint32_t n_turns;           /* That it was given together last. */
    uint64_t armed_at;          /* When it was released last; microseconds,
                                 * monotonic. */
    uint32_t msg_mem;           /* Mean memory of an upcall that waits, in
                                 * bytes, or 0; see upcall-shed.h. */
    uint32_t turn_mem;          /* Memory of all when the turn began, or 0. */
    atomic_bool limited;        /* The receive buffer is limited. */
    atomic_uint64_t limited_drops;  /* See upcall_channel_limited_drops(). */
    unsigned int n_failures;    /* Reads that failed since one did not. */
    long long int retry_at;     /* When to read it again after that, in ms. */
    atomic_uint32_t last_reader;    /* Handler that read it last, plus 1. */
    atomic_uint64_t received;
    atomic_uint64_t malformed;
    atomic_uint64_t overruns;
    atomic_uint64_t errors;
    atomic_uint64_t shed;
    atomic_uint32_t backlog_max;
    struct latency_hist latency;

    /* Written by the control thread: what the counters had at the last
     * reset. */
    atomic_uint64_t received_base;
    atomic_uint64_t malformed_base;
    atomic_uint64_t overruns_base;
    atomic_uint64_t errors_base;
    atomic_uint64_t lost_base;
    atomic_uint64_t shed_base;
    atomic_uint64_t limited_base;
};

/* An owner word: the generation, then the handler's index plus one.  A
 * generation comes back after 2^20 changes of the set of handlers, long after
 * its handlers have released their last channel. */
#define UPCALL_TOKEN_HANDLER_BITS 12
#define UPCALL_MAX_HANDLERS ((1u << UPCALL_TOKEN_HANDLER_BITS) - 1)
#define UPCALL_MAX_GENERATION (1u << (32 - UPCALL_TOKEN_HANDLER_BITS))

/* Owner word of a channel that is held.  No set of handlers has generation
 * 0. */
#define UPCALL_TOKEN_HELD 1

/* The most queues of a port.  More than one for each handler is of no use. */
#define UPCALL_MAX_QUEUES 64

/* Largest port number of the kernel datapath plus one (DP_MAX_PORTS). */
#define UPCALL_MAX_PORTS 65536

/* In place of a port number:
 *
 *   - UPCALL_PORT_NONE, the channel for upcalls of no port.  Open vSwitch asks
 *     for its pid with ODPP_NONE, which is the same number, for CFM, BFD, LACP
 *     and STP.  It is served before all others.
 *
 *   - UPCALL_PORT_SHARED, the channel of all ports that have none.
 *
 *   - UPCALL_PORT_CPU(I), the channel of those CPUs that send their upcalls to
 *     handler I, which is below UPCALL_MAX_HANDLERS. */
#define UPCALL_PORT_NONE UINT32_MAX
#define UPCALL_PORT_SHARED (UPCALL_PORT_NONE - 1)
#define UPCALL_PORT_CPU(I) (UPCALL_PORT_CPU_BASE + (I))
#define UPCALL_PORT_CPU_BASE (UPCALL_PORT_SHARED - UPCALL_MAX_HANDLERS)

/* True if 'port_no' is the number of a port. */
static inline bool
upcall_port_is_real(uint32_t port_no)
{
    return port_no < UPCALL_MAX_PORTS;
}

static inline bool
upcall_port_is_cpu(uint32_t port_no)
{
    return port_no >= UPCALL_PORT_CPU_BASE && port_no < UPCALL_PORT_SHARED;
}

/* Owner word of handler 'index' and of the run queue, in generation
 * 'generation'. */
static inline uint32_t
upcall_token(uint32_t generation, uint32_t index)
{
    return generation << UPCALL_TOKEN_HANDLER_BITS | (index + 1);
}

static inline uint32_t
upcall_token_queue(uint32_t generation)
{
    return generation << UPCALL_TOKEN_HANDLER_BITS;
}

/* Opens a socket and makes it a channel, for any port until
 * upcall_table_add() says which.  Returns 0 or a positive errno value; EMFILE
 * if the process has no file descriptor left. */
int upcall_channel_create(struct upcall_channel **);

/* The same of socket 'fd' of a previous run (upcall-store.h), which belongs to
 * the channel from now on, or is closed.
 *
 * _end_adopted() says that flows of the previous run send it nothing any more,
 * besides samples.  It sends a message to the socket of an adopted channel, which
 * marks the end of what they sent.  Upcalls of actions before that end are
 * dropped: they concern bridges of the previous run only.  Without the message an
 * empty socket is the end.  By the control thread. */
int upcall_channel_create_adopted(int fd, struct upcall_channel **);
void upcall_channel_end_adopted(struct upcall_channel *);

/* Drops a reference.  'channel' may be NULL. */
void upcall_channel_unref(struct upcall_channel *channel);

/* Gives it a receive buffer of 'size' (upcall-rcvbuf.h).  By the control
 * thread. */
void upcall_channel_set_rcvbuf(struct upcall_channel *, uint32_t size);

/* Number of channels whose sockets are open, of all tables. */
size_t upcall_channel_n_open(void);

int upcall_channel_fd(const struct upcall_channel *);

/* Keeps handlers from taking 'channel', which is not registered yet, and lets
 * them again.  After that the caller has it armed. */
void upcall_channel_hold(struct upcall_channel *);
void upcall_channel_unhold(struct upcall_channel *);

/* Makes 'token', of a handler, the owner of 'channel' if nobody is: it becomes
 * TAKEN.  Returns true if it was done. */
bool upcall_channel_take(struct upcall_channel *, uint32_t token);

/* Makes the run queue 'queue' the owner in place of handler 'token', and the
 * channel QUEUED; the other way round, and TAKEN. */
void upcall_channel_enqueue(struct upcall_channel *, uint32_t token,
                            uint32_t queue);
void upcall_channel_dequeue(struct upcall_channel *, uint32_t queue,
                            uint32_t token);

/* Makes nobody the owner in place of 'token', and the channel IDLE. */
void upcall_channel_release(struct upcall_channel *, uint32_t token);

/* Makes run queue 'queue' the owner if nobody is, and the channel QUEUED.
 * Returns true if it was done. */
bool upcall_channel_adopt(struct upcall_channel *, uint32_t queue);

/* Changes the state from one that a handler owns the channel in to another. */
void upcall_channel_set_state(struct upcall_channel *, enum upcall_state);

bool upcall_channel_is_dead(const struct upcall_channel *);

/* Says that 'channel' is one of the queues that others have replaced, or that
 * it is not.  By the control thread. */
void upcall_channel_set_retired(struct upcall_channel *, bool retired);
bool upcall_channel_is_retired(const struct upcall_channel *);

/* True if handlers are done with all upcalls that waited on 'channel', which
 * is retired, when this was called for the first time: nothing waits and no
 * handler has it, or so many have been read since that those must be among
 * the ones that were processed.  By the control thread. */
bool upcall_channel_is_done(struct upcall_channel *);

/* True if nothing waits on it and no handler has it. */
bool upcall_channel_is_idle(const struct upcall_channel *);

/* True if 'channel' is served before all others (upcall-turn.h). */
static inline bool
upcall_channel_is_urgent(const struct upcall_channel *channel)
{
    return channel->port_no == UPCALL_PORT_NONE;
}

/* Senders that 'channel' works for, at least 1. */
static inline uint32_t
upcall_channel_weight(const struct upcall_channel *channel)
{
    uint32_t weight;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &channel->weight),
                        &weight);
    return weight;
}

/* Takes and throws away what waits on the socket. */
void upcall_channel_drain(struct upcall_channel *);

/* Notes how many bytes wait on the socket, and returns it; 0 if the kernel
 * does not say.  Stores how many upcalls it has dropped so far in '*drops'.  A
 * system call.  By the owner. */
uint32_t upcall_channel_look(struct upcall_channel *, uint32_t *drops);

/* The same, of the bytes alone. */
uint32_t upcall_channel_sample_backlog(struct upcall_channel *);

/* Limits the receive buffer to 'size' (upcall-rcvbuf.h), and ends the limit,
 * when the kernel has dropped 'drops' upcalls so far.  A limit on one that is
 * limited changes it.  By the owner. */
void upcall_channel_limit(struct upcall_channel *, uint32_t size,
                          uint32_t drops);
void upcall_channel_unlimit(struct upcall_channel *);

/* Upcalls that the kernel could not queue on the socket, ever. */
uint32_t upcall_channel_dropped(const struct upcall_channel *);

/* All but the latency, which takes longer. */
void upcall_channel_get_counts(const struct upcall_channel *,
                               struct upcall_channel_stats *);
void upcall_channel_get_stats(const struct upcall_channel *,
                              struct upcall_channel_stats *);

/* Starts counting from 0 again.  By the control thread.  The counters are
 * exact; a latency that is recorded at the same time may be missed. */
void upcall_channel_reset_stats(struct upcall_channel *);

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
