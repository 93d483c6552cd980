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
 * So the standing queue of a port is kept short, by a limit on its receive
 * buffer: the kernel drops at no cost what would wait too long.  As in CoDel
 * (RFC 8289) what counts is how long an upcall waits and not how many there
 * are, and only a queue that stays is shortened.  As in PIE (RFC 8033) the
 * wait is foretold, because netlink messages carry no time: it is the queue
 * divided by the rate at which the port is served.
 *
 *      granted     upcalls that the port may have had in its turns: its share
 *      rate        granted over time; a moving average
 *      target      how long an upcall may wait behind others of its port
 *      keep        rate x target: as many may wait; but never fewer than two
 *                  turns take
 *
 * The policy takes a look at the queue every UPCALL_DELAY_LOOK.  If it was
 * longer than 'keep' at each look for UPCALL_DELAY_INTERVAL, the port becomes
 * limited to 'keep'.  What waits already and is more is shed, once, the oldest
 * first, as upcall_delay_shed() says.
 *
 * A port within its share
 * -----------------------
 *
 * Every port with a backlog is granted the same rate, its fair share.  A port
 * whose queue does not go down to 'keep' for an interval was sent more than
 * its share in that time.  One that is sent less is never limited, whatever
 * bursts it comes in, unless one burst alone is more than its share of an
 * interval and a turn.
 *
 * A limited port stays so as long as it is sent more than its share: what was
 * served and what the kernel dropped, over an interval, against what was
 * granted.  The limit ends at once when the port leaves the run queue, because
 * nothing waits.
 *
 * No port gets less for it: what is kept fills two turns.
 *
 * Thread safety: the state belongs to the channel's owner, and is passed on
 * with the channel (upcall-channel.h).  No system calls, no clock: the caller
 * says what time it is. */

#include <stdbool.h>
#include <stdint.h>

/* Microseconds for which a queue has to be too long before it is limited, and
 * after which a limited one is looked at whether it still has to be.  The
 * share of a port is looked at over this time.  Several rounds of some hundred
 * ports, so that a burst is spared; and not long for a sender that waits for
 * an answer. */
#define UPCALL_DELAY_INTERVAL UINT64_C(500000)

/* Microseconds between two looks, which cost a system call: some in an
 * interval. */
#define UPCALL_DELAY_LOOK (UPCALL_DELAY_INTERVAL / 5)

/* Target unless another one is set, in ms, and the largest one: more is no
 * bound, since a receive buffer is full by then.
 *
 * The default is the shortest one that was measured to cost less than a
 * hundredth of what is served, with 200 ports: shorter turns take more reads
 * for as many upcalls. */
#define UPCALL_DELAY_DEFAULT 100
#define UPCALL_DELAY_MAX 10000

/* All zeros are a port without a backlog. */
struct upcall_delay {
    uint64_t looked_at;         /* Last look, in microseconds, or 0. */
    unsigned int granted;       /* Upcalls, since then. */
    unsigned int served;        /* Likewise. */
    unsigned int turn_quantum;  /* Granted in this turn. */
    unsigned int turn_served;   /* Served in it. */
    uint64_t n;                 /* Moving sums over looks: 1/256 upcalls */
    uint64_t usec;              /* granted, and microseconds. */
    uint64_t since;             /* Too long at each look since then, or if
                                 * limited, begin of the interval; or 0. */
    uint64_t share;             /* Granted in the interval, if limited, */
    uint64_t offered;           /* and served or dropped. */
    uint32_t drops;             /* The kernel's count at the last look. */
    unsigned int keep;          /* As many may wait, if limited; or 0. */
    bool shedding;              /* More may wait yet than that. */
};

/* Begins a turn at time 'now', in microseconds and not 0, that may take
 * 'quantum' upcalls.  Returns true if upcall_delay_look() is to be called
 * before it. */
bool upcall_delay_turn(struct upcall_delay *delay, uint64_t now,
                       unsigned int quantum);

/* Takes a look at time 'now', when 'queued' upcalls wait, the kernel has
 * dropped 'drops' so far, and a turn takes 'quantum'.  Returns how many may
 * wait with 'target' microseconds, if the port is limited; otherwise 0. */
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

/* Says that the turn is used up.  It was shorter than its quantum in upcalls
 * if they are large. */
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

/* Says how many of the oldest upcalls are to be shed at the begin of a turn
 * when 'queued' wait. */
static inline unsigned int
upcall_delay_shed(struct upcall_delay *delay, unsigned int queued)
{
    delay->shedding = delay->shedding && queued > delay->keep;
    return delay->shedding ? queued - delay->keep : 0;
}

/* Makes 'delay' that of a port without a backlog. */
void upcall_delay_init(struct upcall_delay *delay);

#endif /* lib/upcall/upcall-delay.h */
