/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_TURN_H
#define KDP_UPCALL_TURN_H 1

/* Turns: deficit round robin with priority for quiet channels
 * ============================================================
 *
 * Private to lib/upcall.  Channels that have more to read than their turn
 * allows wait in a run queue and are served in its order, a quantum at a time
 * (deficit round robin: M. Shreedhar and G. Varghese, 1995).  A channel that
 * becomes readable after it was empty is served before the run queue, as new
 * queues are in FQ-CoDel (RFC 8290), so that a quiet port does not wait behind
 * noisy ones.
 *
 * RFC 8290 keeps queues from becoming "new" again and again by sending them
 * through the list of old ones.  Here the limit is the credit itself: a
 * channel gets one quantum for each round of the run queue, and what it does
 * not use stays usable, with priority, until the round is over.  A round is
 * over when every channel that was in the run queue at the start of the round
 * has had its turn.  So a port that sends less than its fair share never waits
 * for noisy ports, however it spreads its packets, and a port that sends more
 * gets no more than a quantum per round by going empty in between.
 *
 * When so many channels become readable that the handlers do not get round to
 * all of them, each has a few upcalls and is quiet in this sense, and the
 * really quiet channels wait behind the rest.  So a channel is served before
 * the run queue only once in an epoch.  An epoch ends when a handler finds no
 * further channel to look at.  Until then the channel goes to the run queue,
 * as RFC 8290 keeps a queue among the old ones.  (Without epochs, the quiet
 * port of test-upcall-quiet waits behind a crowd in all of 100 batches, not in
 * at most ten.)
 *
 * The run queue counts the channels put in ("pushed") and taken out ("popped")
 * so far.  A round that begins now ends when "popped" reaches the present
 * "pushed" plus the channels that the handler has to put in at the end of its
 * batch.  The channels of other handlers are unknown, so a round may be too
 * short by their number.
 *
 * The channel for upcalls of no port is urgent: late upcalls there make links
 * of bonds and tunnels look dead.  Handlers serve it first in each batch
 * whatever it had before.  When it has a backlog, it waits at the head of the
 * run queue between two batches, and rounds do not count it.  A batch has one
 * turn of the urgent channel, so that a flood on it leaves two thirds of a
 * handler to the others.  A handler that did not get all events looks at the
 * urgent channel without an event, so that the channel does not wait behind
 * many readable channels either.
 *
 * Credit is counted in upcalls, because a handler's work grows with their
 * number, and in bytes, so that a port with large packets does not get a
 * multiple of the copying.  The last upcalls of a turn may overdraw the bytes;
 * the next turns then pay for it.
 *
 * Length of a round
 * -----------------
 *
 * With many channels a round of full quanta takes long: 150 ms with 200 ports
 * and 28,000 upcalls a second.  Every upcall of a noisy port waits for a
 * round.  So with a target delay (upcall-shed.h), the quantum of all channels
 * shrinks until a round takes no longer than it should, or the quantum is
 * UPCALL_QUANTUM_MIN.
 *
 * Thread safety: a turn belongs to the channel's owner.  Its members are
 * atomic for the reason that upcall-channel.h gives. */

#include <stdbool.h>
#include <stdint.h>

#include "ovs-atomic.h"
#include "util.h"

/* Quantum in upcalls: a third of a batch.  One system call reads a quantum, so
 * with a backlog everywhere a batch takes three receive calls and three looks
 * for events.  Three noisy ports share a batch.  A quiet port that becomes
 * readable waits for one of the three turns; only in the last turn does it
 * wait for the next batch. */
#define UPCALL_QUANTUM 21

/* Number of quanta, and so of channels from a run queue, that a batch has room
 * for. */
#define UPCALL_TURNS 3

/* The smallest quantum: each turn has to read and pass on a channel, which
 * costs only a small part of handling this many upcalls. */
#define UPCALL_QUANTUM_MIN 4

/* Returns the next quantum after a round with 'quantum' that took 'usec'
 * microseconds and should have taken 'goal'.  It at most halves or doubles. */
static inline unsigned int
upcall_turn_quantum(unsigned int quantum, uint64_t usec, uint64_t goal)
{
    uint64_t next = quantum * goal / MAX(usec, 1);

    next = MIN(MAX(next, quantum / 2), quantum * 2);
    return MIN(MAX(next, UPCALL_QUANTUM_MIN), UPCALL_QUANTUM);
}

/* Quantum in bytes: UPCALL_QUANTUM upcalls with packets of usual size (1,500
 * bytes and a few hundred of flow key), so that it limits only jumbo
 * frames. */
#define UPCALL_QUANTUM_BYTES (UPCALL_QUANTUM * 2048)

/* The most bytes that a turn can owe.  A channel without competition gets turn
 * after turn, whatever it owes.  Its debt must not make it wait for long when
 * other channels become readable. */
#define UPCALL_DEBT_BYTES (8 * UPCALL_QUANTUM_BYTES)

struct upcall_turn {
    atomic_int32_t upcalls;     /* Credit; never above the quantum. */
    atomic_int32_t bytes;       /* Credit in bytes; below 0 if overdrawn. */
    atomic_uint32_t mean_bytes; /* Size of an upcall in the last read. */
    atomic_uint64_t round_end;  /* Value of "popped" that ends the round. */
    atomic_uint32_t epoch;      /* Epoch in which it last became readable. */
};

static inline void
upcall_turn_init(struct upcall_turn *turn)
{
    atomic_init(&turn->upcalls, 0);
    atomic_init(&turn->bytes, 0);
    atomic_init(&turn->mean_bytes, 0);
    atomic_init(&turn->round_end, 0);
    atomic_init(&turn->epoch, 0);
}

static inline bool
upcall_turn_has_credit(const struct upcall_turn *turn_)
{
    struct upcall_turn *turn = CONST_CAST(struct upcall_turn *, turn_);
    int32_t upcalls, bytes;

    atomic_read_relaxed(&turn->upcalls, &upcalls);
    atomic_read_relaxed(&turn->bytes, &bytes);
    return upcalls > 0 && bytes > 0;
}

/* Begins a round at 'pushed': adds a quantum of 'quantum' upcalls, and bytes
 * in proportion, to the debt of an overdrawn turn, or to nothing.  Returns
 * true if there is credit now. */
static inline bool
upcall_turn_begin(struct upcall_turn *turn, uint64_t pushed,
                  unsigned int quantum)
{
    int32_t n_bytes = quantum * (UPCALL_QUANTUM_BYTES / UPCALL_QUANTUM);
    int32_t bytes;

    atomic_read_relaxed(&turn->bytes, &bytes);
    atomic_store_relaxed(&turn->upcalls, quantum);
    atomic_store_relaxed(&turn->bytes, MIN(bytes, 0) + n_bytes);
    atomic_store_relaxed(&turn->round_end, pushed);
    return upcall_turn_has_credit(turn);
}

/* To be called when an empty channel becomes readable, in epoch 'epoch', which
 * is not 0, and when a turn takes 'quantum' upcalls.  Returns true if handlers
 * may serve it before the run queue. */
static inline bool
upcall_turn_activate(struct upcall_turn *turn, uint64_t pushed,
                     uint64_t popped, uint32_t epoch, unsigned int quantum)
{
    uint64_t round_end;
    uint32_t last;
    bool credit;

    atomic_read_relaxed(&turn->round_end, &round_end);
    atomic_read_relaxed(&turn->epoch, &last);
    atomic_store_relaxed(&turn->epoch, epoch);

    /* A difference, because another set of handlers counts from 0 again. */
    credit = (popped - round_end < UINT64_MAX / 2 || round_end > pushed
              ? upcall_turn_begin(turn, pushed, quantum)
              : upcall_turn_has_credit(turn));
    return credit && last != epoch;
}

/* To be called when a channel that just became readable is given back, to
 * become readable again for another handler. */
static inline void
upcall_turn_deactivate(struct upcall_turn *turn)
{
    atomic_store_relaxed(&turn->epoch, 0);
}

/* The most upcalls to read now; at least 1. */
static inline unsigned int
upcall_turn_allowance(const struct upcall_turn *turn_)
{
    struct upcall_turn *turn = CONST_CAST(struct upcall_turn *, turn_);
    int32_t upcalls, bytes;
    uint32_t mean_bytes;

    atomic_read_relaxed(&turn->upcalls, &upcalls);
    atomic_read_relaxed(&turn->bytes, &bytes);
    atomic_read_relaxed(&turn->mean_bytes, &mean_bytes);
    if (mean_bytes) {
        upcalls = MIN(upcalls, bytes / (int32_t) mean_bytes);
    }
    return MAX(upcalls, 1);
}

/* Pays for 'n' upcalls of 'n_bytes' bytes in all. */
static inline void
upcall_turn_spend(struct upcall_turn *turn, unsigned int n, size_t n_bytes)
{
    int32_t upcalls, bytes;

    if (n) {
        atomic_read_relaxed(&turn->upcalls, &upcalls);
        atomic_read_relaxed(&turn->bytes, &bytes);
        atomic_store_relaxed(&turn->upcalls, upcalls - (int32_t) n);
        atomic_store_relaxed(&turn->bytes, MAX(bytes - (int32_t) n_bytes,
                                               -UPCALL_DEBT_BYTES));
        atomic_store_relaxed(&turn->mean_bytes, n_bytes / n);
    }
}

/* Charges for work that gave no upcall but took as long as 'n' upcalls would
 * have, at most half of the rest of the turn. */
static inline void
upcall_turn_charge(struct upcall_turn *turn, unsigned int n)
{
    int32_t upcalls;

    atomic_read_relaxed(&turn->upcalls, &upcalls);
    atomic_store_relaxed(&turn->upcalls,
                         upcalls - (int32_t) MIN(n, MAX(upcalls, 0) / 2));
}

#endif /* lib/upcall/upcall-turn.h */
