/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_DELAY_H
#define KDP_UPCALL_DELAY_H 1

/* Bounded delay
 * =============
 *
 * Private to lib/upcall.  The receive buffer of a port has room for thousands
 * of upcalls, so that a burst is not lost.  A port that sends more than its
 * share of the handlers' work fills its buffer, and from then on each upcall
 * waits for all earlier ones.  Such a standing queue is useless: as many
 * upcalls are lost with it as without it, and the others are seconds late,
 * after the sender has already sent the packet again.
 *
 * So a limit on the receive buffer keeps the standing queue of a port short:
 * the kernel drops, at no cost, what would wait too long.  As in CoDel (RFC
 * 8289), the policy looks at how long an upcall waits and not at how many
 * wait, and shortens only a queue that stays long.  As in PIE (RFC 8033), the
 * policy predicts the wait, because netlink messages carry no time: the wait
 * is the length of the queue divided by the rate at which the port is served.
 *
 *      granted     upcalls that the port's turns allowed: its share
 *      rate        granted over time; a moving average
 *      target      how long an upcall may wait behind others of its port
 *      keep        number that may wait: rate x target, but at least two
 *                  turns' worth
 *
 * The policy looks at the queue every UPCALL_DELAY_LOOK.  If the queue was
 * longer than 'keep' at each look for UPCALL_DELAY_INTERVAL, the policy limits
 * the port to 'keep'.  Waiting upcalls beyond 'keep' are shed once, the oldest
 * first (upcall_delay_shed()).
 *
 * A port within its share
 * -----------------------
 *
 * Every port with a backlog is granted the same rate, its fair share.  A port
 * whose queue stays above 'keep' for an interval sent more than its share in
 * that time.  A port that sends less is never limited, however it spreads its
 * upcalls, unless a single burst exceeds its share of an interval plus a turn.
 *
 * A port stays limited as long as it sends more than its share, which means
 * that the upcalls served and dropped in an interval exceed the upcalls
 * granted.  The limit ends at once when the port leaves the run queue, because
 * nothing waits then.
 *
 * A limit does not reduce what a port is served: the upcalls kept fill two
 * turns.
 *
 * Thread safety: the state belongs to the channel's owner, and is passed on
 * with the channel (upcall-channel.h).  It makes no system calls and has no
 * clock: the caller passes the time. */

#include <stdbool.h>
#include <stdint.h>

/* Microseconds for which a queue has to be too long before it is limited.  The
 * policy checks a limited port against its share over the same time.  This is
 * several rounds of a few hundred ports, so that a burst is spared, and short
 * enough for a sender that waits for an answer. */
#define UPCALL_DELAY_INTERVAL UINT64_C(500000)

/* Microseconds between two looks: five looks in an interval.  Each look costs
 * a system call. */
#define UPCALL_DELAY_LOOK (UPCALL_DELAY_INTERVAL / 5)

/* Default target and largest target, in ms.  A larger target would be no
 * bound, because a receive buffer is full by then.
 *
 * The default is the shortest target that was measured to cost less than 1% of
 * the upcalls served, with 200 ports: shorter turns take more reads for the
 * same number of upcalls. */
#define UPCALL_DELAY_DEFAULT 100
#define UPCALL_DELAY_MAX 10000

/* All zeros are a port without a backlog. */
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

/* Begins a turn at time 'now', in microseconds and not 0, that may take
 * 'quantum' upcalls.  Returns true if the caller must call upcall_delay_look()
 * before the turn. */
bool upcall_delay_turn(struct upcall_delay *delay, uint64_t now,
                       unsigned int quantum);

/* Takes a look at time 'now', when 'queued' upcalls wait, the kernel has
 * dropped 'drops' so far, and a turn takes 'quantum'.  Returns how many may
 * wait with a target of 'target' microseconds if the port is limited,
 * otherwise 0. */
unsigned int upcall_delay_look(struct upcall_delay *delay, uint64_t now,
                               unsigned int queued, uint32_t drops,
                               unsigned int quantum, uint64_t target);

/* Says that 'n' upcalls were handed out. */
static inline void
upcall_delay_served(struct upcall_delay *delay, unsigned int n)
{
    delay->served += n;
    delay->turn_served += n;
}

/* Says that the turn is used up.  With large upcalls, the turn had fewer
 * upcalls than its quantum. */
static inline void
upcall_delay_spent(struct upcall_delay *delay)
{
    delay->granted -= delay->turn_quantum;
    delay->granted += delay->turn_served;
    delay->turn_quantum = delay->turn_served;
}

/* Says that nothing waits at the moment. */
static inline void
upcall_delay_empty(struct upcall_delay *delay)
{
    if (!delay->keep) {
        delay->since = 0;
    }
    delay->shedding = false;
}

/* Returns how many of the oldest upcalls to shed at the start of a turn when
 * 'queued' wait. */
static inline unsigned int
upcall_delay_shed(struct upcall_delay *delay, unsigned int queued)
{
    delay->shedding = delay->shedding && queued > delay->keep;
    return delay->shedding ? queued - delay->keep : 0;
}

/* Initializes 'delay' for a port without a backlog. */
void upcall_delay_init(struct upcall_delay *delay);

#endif /* lib/upcall/upcall-delay.h */
