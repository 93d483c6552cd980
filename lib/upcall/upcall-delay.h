/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_DELAY_H
#define KDP_UPCALL_DELAY_H 1

/* Bounded delay
 * =============
 *
 * Private to lib/upcall.  The receive buffer of a port has room for thousands
 * of upcalls, so that a burst is not lost.  A port that sends more than its
 * share of the handlers' work fills it, and from then on each upcall waits for
 * all those before it.  Such a standing queue is of no use: as many upcalls
 * are lost with it as without it, and those that are not come seconds late,
 * when the sender has sent again.
 *
 * So the standing queue of a port is kept short: the oldest upcalls are shed.
 * As in CoDel (RFC 8289) what counts is how long an upcall waits and not how
 * many there are, and only a queue that stays is shortened.  As in PIE (RFC
 * 8033) the wait is foretold, because netlink messages carry no time: it is
 * the queue divided by the rate at which the port is served.
 *
 *      rate        upcalls handed out in a turn, over the time from one turn
 *                  to the next; a moving average
 *      target      how long an upcall may wait behind others of its port
 *      keep        rate x target: as many may wait; but never fewer than a
 *                  turn takes
 *      interval    UPCALL_DELAY_INTERVAL
 *
 * At the begin of a turn the policy is told how many upcalls wait.  If they
 * were more than 'keep' at each turn for a whole interval, all but the newest
 * 'keep' are shed, now and at further turns, until they were no more than that
 * for a whole interval.
 *
 * A port within its share
 * -----------------------
 *
 * Every port with a backlog is served at the same rate, its fair share.  A
 * port whose queue does not go down to 'keep' for an interval was sent more
 * than its share in that time.  One that is sent less is spared, whatever
 * bursts it comes in, unless one burst alone is more than its share of an
 * interval and a turn.
 *
 * No port gets less for it: what is kept fills the turn.  So what is shed is
 * a part of what the kernel would drop otherwise.
 *
 * Thread safety: the state belongs to the channel's owner, and is passed on
 * with the channel (upcall-channel.h).  No system calls, no clock: the caller
 * says what time it is. */

#include <stdbool.h>
#include <stdint.h>

/* Microseconds for which a queue has to be too long before anything is shed.
 * The share of a port is looked at over this time.  Several rounds of some
 * hundred ports, so that a burst is spared; and not long for a sender that
 * waits for an answer. */
#define UPCALL_DELAY_INTERVAL UINT64_C(500000)

/* Target unless another one is set, in ms: none, because what is shed costs
 * work that the kernel saves when it drops an upcall instead.  And the largest
 * one: more is no bound, since a receive buffer is full by then. */
#define UPCALL_DELAY_DEFAULT 0
#define UPCALL_DELAY_MAX 10000

struct upcall_delay {
    uint64_t turn_at;           /* Begin of the last turn of this backlog, in
                                 * microseconds, or 0. */
    unsigned int turn_n;        /* Upcalls handed out since then. */
    uint64_t n;                 /* Moving sums over turns: 1/256 upcalls, */
    uint64_t usec;              /* and microseconds. */
    uint64_t long_since;        /* Too long at each turn since then, or 0. */
    uint64_t long_at;           /* Too long at this time, the last one. */
    bool shedding;
};

/* Makes 'delay' that of a port without a backlog.  All zeros are the same. */
void upcall_delay_init(struct upcall_delay *delay);

/* Begins a turn of a port at time 'now', in microseconds and not 0, when
 * 'queued' upcalls wait.  The turn takes at most 'quantum'.  Returns how many
 * of the oldest are to be shed before that, with 'target' microseconds, 0 for
 * none ever. */
unsigned int upcall_delay_turn(struct upcall_delay *delay, uint64_t now,
                               unsigned int queued, unsigned int quantum,
                               uint64_t target);

/* Says that 'n' upcalls were handed out. */
static inline void
upcall_delay_served(struct upcall_delay *delay, unsigned int n)
{
    delay->turn_n += n;
}

/* Says that the port has no backlog now. */
void upcall_delay_empty(struct upcall_delay *delay);

/* Upcalls that may wait with 'target', as far as the rate is known; otherwise
 * UINT_MAX. */
unsigned int upcall_delay_keep(const struct upcall_delay *delay,
                               unsigned int quantum, uint64_t target);

#endif /* lib/upcall/upcall-delay.h */
