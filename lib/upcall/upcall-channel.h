/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_CHANNEL_H
#define KDP_UPCALL_CHANNEL_H 1

/* Upcall channels
 * ===============
 *
 * A channel is a netlink socket on which upcalls of one port arrive.  A port
 * has one or more channels, which are its queues (upcall-ports.h).  All
 * handlers share a channel through their scheduler (upcall-sched.h).
 *
 *
 * Ownership
 * ---------
 *
 * Two handlers that read one socket would hand out its upcalls in any order.
 * So a channel has an owner word, which says who may read the channel:
 *
 *      word                     meaning
 *      ---------------------    ----------------------------------------
 *      0                        no owner; the next event assigns one
 *      UPCALL_TOKEN_HELD        no thread may read it before its release
 *                               (upcall_table_hold())
 *      generation | 0           it waits in the scheduler's run queue
 *      generation | handler     that handler reads it
 *
 * Threads change the word by compare-and-exchange and never wait for it:
 *
 *               event              turn used up
 *        0 ----------> handler ------------------> run queue
 *        ^                | ^                          |
 *        |   socket empty | |        its turn          |
 *        +----------------+ +--------------------------+
 *
 * A handler keeps a channel until the upcalls that the handler took were
 * processed (U1).
 *
 * A held channel is registered with epoll as any other.  A handler that gets
 * an event of a held channel finds the owner word taken and leaves the channel
 * alone, as with a channel of another handler.  An empty event mask would not
 * be enough: the kernel reports an overrun of a socket whatever the mask is,
 * and a busy handler takes the urgent channel without an event.
 *
 * Each set of handlers has a generation.  When a set is replaced, its handlers
 * release their channels once their batch is over (upcall-set.c); no other
 * thread takes these channels from them.
 *
 *
 * State
 * -----
 *
 * The state says where a channel is on its way from one event to the next:
 *
 *      state       owner       meaning
 *      --------    ---------   -------------------------------------------
 *      IDLE        none        armed; its next upcall is an event.  Or it is
 *                              held, and handlers ignore its events
 *      TAKEN       handler     the handler has just become its owner
 *      SPARSE      handler     readable, and goes before the run queue
 *      READING     handler     chosen for the current read
 *      PARTIAL     handler     has part of its turn left: the batch was full
 *      EMPTY       handler     its socket was empty; waits for the batch's end
 *      SPENT       handler     used its turn up; waits for the batch's end
 *      PAUSED      handler     cannot be read; tried again after a pause
 *      QUEUED      run queue   waits for its turn
 *
 * EMPTY and SPENT wait for the end of the batch because the handler keeps a
 * channel until the upcalls that it took were processed (U1).
 *
 * Only the owner writes the state, and the owner word carries the state to the
 * next owner: the state is IDLE whenever the word becomes 0, and QUEUED
 * whenever the word becomes the run queue's.
 *
 *      from        to          when
 *      --------    --------    -------------------------------------------
 *      IDLE        TAKEN       an event named it
 *      IDLE        QUEUED      something was read ahead of it, and the
 *                              handlers were replaced
 *      TAKEN       SPARSE      it has credit
 *      TAKEN       QUEUED      it has none
 *      TAKEN       READING     it came from the run queue, and can pay
 *      TAKEN       SPENT       it came from the run queue, and still owes
 *      TAKEN       IDLE        the handlers are retired
 *      SPARSE      READING     its turn
 *      SPARSE      IDLE        others sleep, or the handler is removed
 *      READING     EMPTY       the read emptied the socket, or failed once;
 *                              or the port is gone
 *      READING     PARTIAL     there is more, and credit
 *      READING     SPENT       there is more, and no credit; or it is empty
 *                              and stays in the run queue
 *      READING     PAUSED      the read failed again
 *      PARTIAL     READING     its turn
 *      PARTIAL     IDLE        the handler is removed
 *      EMPTY       IDLE        the batch is over
 *      SPENT       QUEUED      the batch is over
 *      SPENT       READING     no other channel has anything to read
 *      SPENT       IDLE        the batch is over and the handlers are retired
 *      PAUSED      IDLE        the pause is over
 *      QUEUED      TAKEN       its turn
 *      QUEUED      IDLE        the handlers are retired
 *
 * Any other transition is an error in the program and ends it.
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
 *          writer.  Draining takes messages away from the owner, but does not
 *          change the order of the others.
 *      (**) The thread that has taken the channel out of the run queue.
 *
 * All changes of the owner word are sequentially consistent.  They make one
 * owner's writes visible to the next owner.  When a handler releases a channel
 * while its set is replaced, either the handler sees the new set or the thread
 * that replaces the set sees the release (upcall_ports_rearm()).
 *
 *
 * Life cycle
 * ----------
 *
 * The table holds a reference, and so does each list of a handler or scheduler
 * that contains the channel.  Dropping the last reference closes the socket.
 * When a port is removed, its channel is marked dead first; the owner drops
 * the channel when it next looks at it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "stats/latency-hist.h"
#include "upcall/upcall-age.h"
#include "upcall/upcall-fq.h"
#include "upcall/upcall-turn.h"
#include "util.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(ADDRESS) ((void) (ADDRESS))
#define __tsan_release(ADDRESS) ((void) (ADDRESS))
#endif

struct mnl_socket;

/* Counters of a channel. */
struct upcall_channel_stats {
    uint64_t received;          /* Upcalls taken from the socket. */
    uint64_t malformed;         /* Those dropped as unparsable. */
    uint64_t overruns;          /* Times that the socket said ENOBUFS. */
    uint64_t errors;            /* Reads that failed with any other error. */
    uint64_t lost;              /* Upcalls that the kernel could not queue. */
    uint64_t lost_limited;      /* Part of 'lost': lost while the receive
                                 * buffer was limited because the port sent
                                 * more than its share (upcall-shed.h). */
    uint64_t shed;              /* Upcalls thrown away because they waited too
                                 * long (upcall-shed.h).  Counted neither as
                                 * received nor as lost. */
    uint32_t backlog;           /* Bytes that wait on the socket now. */
    uint32_t backlog_max;       /* Most bytes seen waiting. */

    /* Estimated microseconds from the moment at which the kernel queued an
     * upcall to its hand-out (upcall-age.h). */
    struct latency_summary latency;
};

enum upcall_state {
    UPCALL_STATE_IDLE,
    UPCALL_STATE_TAKEN,
    UPCALL_STATE_SPARSE,
    UPCALL_STATE_READING,
    UPCALL_STATE_PARTIAL,
    UPCALL_STATE_EMPTY,
    UPCALL_STATE_SPENT,
    UPCALL_STATE_PAUSED,
    UPCALL_STATE_QUEUED,
};
#define UPCALL_N_STATES (UPCALL_STATE_QUEUED + 1)

/* True if a handler owns a channel in 'state'. */
static inline bool
upcall_state_is_handlers(enum upcall_state state)
{
    return state != UPCALL_STATE_IDLE && state != UPCALL_STATE_QUEUED;
}

/* True if the table above has the transition. */
static inline bool
upcall_state_may_become(enum upcall_state from, enum upcall_state to)
{
#define TO(STATE) (1u << UPCALL_STATE_##STATE)
    static const unsigned int allowed[UPCALL_N_STATES] = {
        [UPCALL_STATE_IDLE] = TO(TAKEN) | TO(QUEUED),
        [UPCALL_STATE_TAKEN] = (TO(SPARSE) | TO(QUEUED) | TO(READING)
                                | TO(SPENT) | TO(IDLE)),
        [UPCALL_STATE_SPARSE] = TO(READING) | TO(IDLE),
        [UPCALL_STATE_READING] = (TO(EMPTY) | TO(PARTIAL) | TO(SPENT)
                                  | TO(PAUSED)),
        [UPCALL_STATE_PARTIAL] = TO(READING) | TO(IDLE),
        [UPCALL_STATE_EMPTY] = TO(IDLE),
        [UPCALL_STATE_SPENT] = TO(QUEUED) | TO(READING) | TO(IDLE),
        [UPCALL_STATE_PAUSED] = TO(IDLE),
        [UPCALL_STATE_QUEUED] = TO(TAKEN) | TO(IDLE),
    };
#undef TO

    return allowed[from] & (1u << to);
}

/* State of the policy that bounds the delay of a channel's upcalls
 * (upcall-shed.h).  All zeros are a port without a backlog. */
struct upcall_delay {
    uint64_t looked_at;         /* Last look, in microseconds, or 0. */
    unsigned int granted;       /* Upcalls granted since then. */
    unsigned int served;        /* Upcalls served since then. */
    unsigned int turn_quantum;  /* Granted in this turn. */
    unsigned int turn_served;   /* Served in it. */
    uint64_t n;                 /* Moving sums over looks: 1/256 upcalls */
    uint64_t usec;              /* granted, and microseconds. */
    uint64_t since;             /* The queue was too long at each look since
                                 * then; if limited, start of the interval; or
                                 * 0. */
    uint64_t share;             /* Granted in the interval, if limited, */
    uint64_t offered;           /* and served or dropped. */
    uint32_t drops;             /* The kernel's count at the last look. */
    unsigned int keep;          /* Number that may wait, if limited; or 0. */
    bool shedding;              /* More than 'keep' may still wait. */
};

/* Whose upcalls arrive on a channel.  Upcalls of several senders are read
 * ahead and sorted (upcall-fq.h).  The first upcall of a port shows whether it
 * is a tunnel. */
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
    char *name;                 /* The port's name, for people. */
    OVSRCU_TYPE(struct upcall_channel *) next;  /* Next channel of its port
                                                 * (upcall-ports.h). */
    bool adopted;               /* A previous run had 'sock', for which the */
    uint32_t drops_before;      /* kernel had dropped so many upcalls. */
    unsigned int queue, n_queues;   /* Index among the port's queues, and their
                                     * number. */
    atomic_uint32_t rcvbuf;     /* Size of the receive buffer unless it is
                                 * limited; see upcall-rcvbuf.h.  Owned by the
                                 * control thread. */
    unsigned int hold;          /* Calls of upcall_table_release() until its
                                 * upcalls are handed out.  Owned by the
                                 * control thread. */
    struct ovs_refcount refcount;
    atomic_uint32_t ahead;      /* Bytes read ahead.  Unless 0, the channel
                                 * must not wait for an event.  Written by the
                                 * owner. */
    atomic_bool purge;          /* Throw away what was read ahead. */
    atomic_bool dead;           /* The port is gone. */
    atomic_bool retired;        /* Other queues of the port have replaced
                                 * it. */
    uint64_t done_at;           /* If retired: see upcall_channel_is_done().
                                 * Owned by the control thread, as is the
                                 * next. */
    uint64_t grace;             /* Grace period that the held channel waits
                                 * for, or 0 (upcall-ports.h). */
    atomic_uint32_t weight;     /* Senders with a backlog on it, at least 1
                                 * (upcall-fq.h). */

    atomic_uint32_t owner;      /* See above. */

    /* Only the owner writes these. */
    enum upcall_state state;
    enum upcall_senders senders;
    struct upcall_turn turn;
    struct upcall_delay delay;
    struct upcall_age age;
    struct upcall_fq fq;        /* Upcalls read ahead; unused with
                                 * UPCALL_SENDERS_ONE. */
    bool waited;                /* Adopted, and the messages that are read now
                                 * were sent before
                                 * upcall_channel_end_adopted(). */
    uint64_t due;               /* Next turn in the run queue
                                 * (upcall-sched.c). */
    uint32_t n_turns;           /* Turns that it last got together. */
    uint64_t armed_at;          /* When it was released last; microseconds,
                                 * monotonic. */
    uint32_t msg_mem;           /* Mean memory of an upcall that waits, in
                                 * bytes, or 0; see upcall-shed.h. */
    uint32_t turn_mem;          /* Memory of all that waited when the turn
                                 * began, or 0. */
    atomic_bool limited;        /* The receive buffer is limited. */
    atomic_uint64_t limited_drops;  /* See upcall_channel_limited_drops(). */
    unsigned int n_failures;    /* Reads that failed since the last success. */
    long long int retry_at;     /* When to read it again after that, in ms. */
    atomic_uint32_t last_reader;    /* Handler that read it last, plus 1. */
    atomic_uint64_t received;
    atomic_uint64_t malformed;
    atomic_uint64_t overruns;
    atomic_uint64_t errors;
    atomic_uint64_t shed;
    atomic_uint32_t backlog_max;
    struct latency_hist latency;

    /* Written by the control thread: the counters at the last reset. */
    atomic_uint64_t received_base;
    atomic_uint64_t malformed_base;
    atomic_uint64_t overruns_base;
    atomic_uint64_t errors_base;
    atomic_uint64_t lost_base;
    atomic_uint64_t shed_base;
    atomic_uint64_t limited_base;
};

/* An owner word: the generation, then the handler's index plus one.  A
 * generation repeats after 2^20 changes of the set of handlers, long after its
 * handlers have released their last channel. */
#define UPCALL_TOKEN_HANDLER_BITS 12
#define UPCALL_MAX_HANDLERS ((1u << UPCALL_TOKEN_HANDLER_BITS) - 1)
#define UPCALL_MAX_GENERATION (1u << (32 - UPCALL_TOKEN_HANDLER_BITS))

/* Owner word of a channel that is held.  No set of handlers has generation
 * 0. */
#define UPCALL_TOKEN_HELD 1

/* The least memory that the kernel charges a socket for an upcall: a socket
 * buffer, and the smallest block of memory for its data and overhead. */
#define UPCALL_MEM_MIN 512

/* The most queues of a port.  More queues than handlers are of no use. */
#define UPCALL_MAX_QUEUES 64

/* Largest port number of the kernel datapath plus one (DP_MAX_PORTS). */
#define UPCALL_MAX_PORTS 65536

/* In place of a port number:
 *
 *   - UPCALL_PORT_NONE, the channel for upcalls of no port.  Open vSwitch
 *     requests its pid with ODPP_NONE, which is the same number, for CFM, BFD,
 *     LACP and STP.  Handlers serve it before all others.
 *
 *   - UPCALL_PORT_SHARED, the channel of all ports without a channel of their
 *     own.
 *
 *   - UPCALL_PORT_CPU(I), the channel of the CPUs that send their upcalls to
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

/* Opens a socket and makes it a channel.  upcall_table_add_queues() assigns it
 * to a port.  Returns 0 or a positive errno value; EMFILE if the process has
 * no file descriptor left. */
int upcall_channel_create(struct upcall_channel **);

/* The same with socket 'fd' of a previous run (upcall-store.h).  The channel
 * takes over 'fd'; on error, the function closes it.
 *
 * _end_adopted() says that flows of the previous run no longer send upcalls to
 * an adopted channel, besides samples.  It sends a message to the socket,
 * which marks the end of what these flows sent.  Upcalls of actions before the
 * mark are dropped: they concern only bridges of the previous run.  If the
 * message cannot be sent, an empty socket is the end.  Called by the control
 * thread. */
int upcall_channel_create_adopted(int fd, struct upcall_channel **);
void upcall_channel_end_adopted(struct upcall_channel *);

/* Drops a reference.  'channel' may be NULL. */
void upcall_channel_unref(struct upcall_channel *channel);

/* Sets the receive buffer to 'size' (upcall-rcvbuf.h).  Called by the control
 * thread. */
void upcall_channel_set_rcvbuf(struct upcall_channel *, uint32_t size);

/* Number of channels with an open socket, in all tables together. */
size_t upcall_channel_n_open(void);

int upcall_channel_fd(const struct upcall_channel *);

/* _hold() keeps handlers from taking 'channel', which is not registered yet.
 * _unhold() lets them take it again; the caller arms the channel
 * afterwards. */
void upcall_channel_hold(struct upcall_channel *);
void upcall_channel_unhold(struct upcall_channel *);

/* Makes the handler with 'token' the owner of 'channel' if it has no owner.
 * The channel becomes TAKEN.  Returns true if that succeeded. */
bool upcall_channel_take(struct upcall_channel *, uint32_t token);

/* _enqueue() makes run queue 'queue' the owner in place of handler 'token';
 * the channel becomes QUEUED.  _dequeue() does the opposite; the channel
 * becomes TAKEN. */
void upcall_channel_enqueue(struct upcall_channel *, uint32_t token,
                            uint32_t queue);
void upcall_channel_dequeue(struct upcall_channel *, uint32_t queue,
                            uint32_t token);

/* Ends the ownership of 'token'.  The channel becomes IDLE. */
void upcall_channel_release(struct upcall_channel *, uint32_t token);

/* Makes run queue 'queue' the owner if the channel has none.  The channel
 * becomes QUEUED.  Returns true if that succeeded. */
bool upcall_channel_adopt(struct upcall_channel *, uint32_t queue);

/* Changes the state.  A handler owns the channel in the old and in the new
 * state. */
void upcall_channel_set_state(struct upcall_channel *, enum upcall_state);

bool upcall_channel_is_dead(const struct upcall_channel *);

/* Says whether other queues have replaced 'channel'.  Called by the control
 * thread. */
void upcall_channel_set_retired(struct upcall_channel *, bool retired);
bool upcall_channel_is_retired(const struct upcall_channel *);

/* True if handlers have processed all upcalls that waited on 'channel', which
 * is retired, at the first call of this function: either nothing waits and no
 * handler owns the channel, or handlers have since read so many upcalls that
 * the first ones must be among those processed.  Called by the control
 * thread. */
bool upcall_channel_is_done(struct upcall_channel *);

/* True if nothing waits on the channel and no handler owns it. */
bool upcall_channel_is_idle(const struct upcall_channel *);

/* True if 'channel' is served before all others (upcall-turn.h). */
static inline bool
upcall_channel_is_urgent(const struct upcall_channel *channel)
{
    return channel->port_no == UPCALL_PORT_NONE;
}

/* Number of senders that 'channel' serves, at least 1. */
static inline uint32_t
upcall_channel_weight(const struct upcall_channel *channel)
{
    uint32_t weight;

    atomic_read_relaxed(CONST_CAST(atomic_uint32_t *, &channel->weight),
                        &weight);
    return weight;
}

/* Throws away the messages that wait on the socket. */
void upcall_channel_drain(struct upcall_channel *);

/* Notes and returns how many bytes wait on the socket, or 0 if the kernel does
 * not say.  Stores in '*drops' how many upcalls the kernel has dropped so far.
 * Makes a system call.  Called by the owner. */
uint32_t upcall_channel_look(struct upcall_channel *, uint32_t *drops);

/* The same for the bytes alone. */
uint32_t upcall_channel_sample_backlog(struct upcall_channel *);

/* _limit() limits the receive buffer to 'size' (upcall-rcvbuf.h), or changes
 * an existing limit; the kernel has dropped 'drops' upcalls so far.
 * _unlimit() ends the limit.  Called by the owner. */
void upcall_channel_limit(struct upcall_channel *, uint32_t size,
                          uint32_t drops);
void upcall_channel_unlimit(struct upcall_channel *);

/* Waits for an RCU grace period of the kernel, usually about 10 ms.
 *
 * The kernel forwards a packet, looks up the socket for its upcall and queues
 * the upcall in one RCU read-side critical section.  So after a grace period
 * the kernel has finished all packets that matched a flow deleted before it,
 * and all upcalls to a socket replaced before it.
 *
 * membarrier(MEMBARRIER_CMD_GLOBAL) waits for a grace period (Linux 4.3).  On
 * a machine with one CPU the call returns at once.  That is safe, because no
 * packet is half-way while a process runs there, except with PREEMPT_RT.  The
 * kernel refuses the call if CPUs have no tick, and a system call filter may
 * refuse it, too.  Then this function closes a packet socket, for which the
 * kernel waits in the same way, because packets may be on their way to the
 * socket.  That needs CAP_NET_RAW.
 *
 * Returns 0, or a positive errno value if neither is possible.
 *
 * Thread safety: any thread that may block. */
int upcall_grace_wait(void);

/* Upcalls that the kernel could not queue on the socket, since its
 * creation. */
uint32_t upcall_channel_dropped(const struct upcall_channel *);

/* _get_counts() stores everything except the latency, which takes longer. */
void upcall_channel_get_counts(const struct upcall_channel *,
                               struct upcall_channel_stats *);
void upcall_channel_get_stats(const struct upcall_channel *,
                              struct upcall_channel_stats *);

/* Starts counting from 0 again.  Called by the control thread.  The counters
 * are exact; a latency that is recorded at the same time may be missed. */
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

/* Drops a reference.  Returns true if it was the last one.
 *
 * Open vSwitch's reference counts order the destruction of an object behind
 * all earlier uses with a fence.  The thread sanitizer does not model fences,
 * and would report every destruction as a race; this function tells the
 * sanitizer what the fence means.  In other builds it is
 * ovs_refcount_unref(). */
static inline bool
upcall_refcount_unref(struct ovs_refcount *refcount)
{
    __tsan_release(refcount);
    if (ovs_refcount_unref(refcount) == 1) {
        __tsan_acquire(refcount);
        return true;
    }
    return false;
}

/* First-in first-out list of channels, for one thread: a ring that grows.  A
 * link inside the channel would not do: a retired handler, which still has the
 * channel on its list, and the handler that took the channel over would share
 * the link. */
struct upcall_fifo {
    struct upcall_channel **ring;
    size_t head;                /* Index of the first channel. */
    size_t n;                   /* Number of channels. */
    size_t allocated;           /* Slots of 'ring', 0 or a power of 2. */
};

static inline void
upcall_fifo_init(struct upcall_fifo *fifo)
{
    *fifo = (struct upcall_fifo) { .ring = NULL };
}

static inline void
upcall_fifo_uninit(struct upcall_fifo *fifo)
{
    free(fifo->ring);
}

/* Makes room for one more. */
static inline void
upcall_fifo_grow(struct upcall_fifo *fifo)
{
    if (fifo->n == fifo->allocated) {
        size_t allocated = MAX(16, fifo->allocated * 2);
        struct upcall_channel **ring = xmalloc(allocated * sizeof *ring);

        for (size_t i = 0; i < fifo->n; i++) {
            ring[i] = fifo->ring[(fifo->head + i) & (fifo->allocated - 1)];
        }
        free(fifo->ring);
        fifo->ring = ring;
        fifo->head = 0;
        fifo->allocated = allocated;
    }
}

static inline void
upcall_fifo_push(struct upcall_fifo *fifo, struct upcall_channel *channel)
{
    upcall_fifo_grow(fifo);
    fifo->ring[(fifo->head + fifo->n++) & (fifo->allocated - 1)] = channel;
}

/* Puts 'channel' in front. */
static inline void
upcall_fifo_push_front(struct upcall_fifo *fifo,
                       struct upcall_channel *channel)
{
    upcall_fifo_grow(fifo);
    fifo->head = (fifo->head - 1) & (fifo->allocated - 1);
    fifo->ring[fifo->head] = channel;
    fifo->n++;
}

/* Returns the first channel, or NULL, and leaves it there. */
static inline struct upcall_channel *
upcall_fifo_first(const struct upcall_fifo *fifo)
{
    return fifo->n ? fifo->ring[fifo->head] : NULL;
}

/* Takes the first channel out and returns it, or NULL. */
static inline struct upcall_channel *
upcall_fifo_pop(struct upcall_fifo *fifo)
{
    struct upcall_channel *channel;

    if (!fifo->n) {
        return NULL;
    }
    channel = fifo->ring[fifo->head];
    fifo->head = (fifo->head + 1) & (fifo->allocated - 1);
    fifo->n--;
    return channel;
}

#endif /* lib/upcall/upcall-channel.h */
