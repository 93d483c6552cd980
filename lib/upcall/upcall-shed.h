/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SHED_H
#define KDP_UPCALL_SHED_H 1

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
 * The limit
 * ---------
 *
 * The kernel drops an upcall when the waiting upcalls take more memory than
 * the socket's receive buffer.  So if N upcalls may wait, the limit is a
 * buffer for N - 1; one more upcall always has room, however large it is.  The
 * kernel's smallest buffer (SOCK_MIN_RCVBUF, about 2 kB) is smaller than any
 * limit.  Upcalls that already wait stay on the socket, so the limit begins
 * when the excess was shed.
 *
 * While a port is limited, an overrun is no event (NETLINK_NO_ENOBUFS).
 * Otherwise the next read would fail once, and the kernel would queue nothing
 * until everything that waits was read.  The kernel counts what it drops, as
 * always, and this module also counts it as 'lost_limited'.
 *
 * How many wait
 * -------------
 *
 * The kernel says how much memory the upcalls on a socket take (SO_MEMINFO),
 * but not how many there are.  So this module measures the memory of one
 * upcall: in a turn of one read, the memory freed divided by the upcalls
 * taken.  Upcalls that arrive during the read make an upcall look smaller, and
 * more upcalls seem to wait than do; a floor limits that error.  A port sheds
 * nothing before its first measurement, or if the kernel does not say (Linux
 * before 4.12).
 *
 * What it costs
 * -------------
 *
 * A look costs a system call, and a limit another one, a few times a second.
 * Upcalls that the kernel drops then cost nothing here.
 *
 * Shedding is for upcalls that wait when a limit begins.  One recvmmsg() call
 * throws away UPCALL_SHED_CALL upcalls without copying a byte.  Shedding an
 * upcall is about a tenth of the work of handling it.  The turn is charged for
 * this, up to half of the turn.  A batch sheds at most UPCALL_SHED_MAX
 * upcalls, so that it delays other ports by about a millisecond.
 *
 * Only channels of one sender are limited.  On a channel of several senders,
 * the sender of the oldest upcall did not necessarily cause the queue
 * (upcall-fq.h).  The urgent channel hardly ever has a flood, and its upcalls
 * are too important to shed.
 *
 * Shedding works on the socket, between reads, and so with every engine.
 *
 * Failure
 * -------
 *
 * A limit that cannot be set leaves the buffer as it was.  An overrun is
 * reported to the caller, as in a read.  Any other error ends the shedding;
 * the read that follows gets the same error and reports it.
 *
 * Thread safety: only the owner of the channel calls these functions
 * (upcall-channel.h). */

#include <stdbool.h>
#include <stdint.h>

#include "upcall/upcall-channel.h"

/* Microseconds for which a queue has to be too long before it is limited.  The
 * policy checks a limited port against its share over the same time.  This is
 * several rounds of a few hundred ports, so that a burst is spared, and short
 * enough for a sender that waits for an answer. */
#define UPCALL_DELAY_INTERVAL UINT64_C(500000)

/* Microseconds between two looks: five looks in an interval.  Each look costs
 * a system call. */
#define UPCALL_DELAY_LOOK (UPCALL_DELAY_INTERVAL / 5)

/* Number of upcalls thrown away for the price of one upcall handed out.  An
 * estimate from the benchmark: the upcalls shed, over the decrease in upcalls
 * served. */
#define UPCALL_SHED_PRICE 10

/* The most that one batch sheds.  At the price of one upcall for ten that are
 * thrown away, this is the work of 51 upcalls, less than the batch itself, so
 * a batch takes less than twice as long.  With a smaller limit, handlers would
 * serve old upcalls for longer: 200 ports with full buffers have 400,000
 * upcalls, which take 800 batches to shed. */
#define UPCALL_SHED_MAX 512

/* The same for a turn in a batch with upcalls of sparse channels, which wait
 * for everything that the batch does. */
#define UPCALL_SHED_MAX_SPARSE UPCALL_SHED_CALL

/* The most that one system call sheds. */
#define UPCALL_SHED_CALL 64

/* The result of upcall_shed_begin(). */
struct upcall_shed {
    bool limited;               /* The port became limited, */
    unsigned int keep;          /* to so many upcalls. */
    unsigned int n;             /* Upcalls thrown away. */
    unsigned int n_calls;       /* Receive system calls. */
    unsigned int overruns;      /* Times that the socket said ENOBUFS. */
};

/* The policy, which makes no system calls and has no clock. */

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
void upcall_delay_served(struct upcall_delay *delay, unsigned int n);

/* Says that the turn is used up.  With large upcalls, the turn had fewer
 * upcalls than its quantum. */
void upcall_delay_spent(struct upcall_delay *delay);

/* Says that nothing waits at the moment. */
void upcall_delay_empty(struct upcall_delay *delay);

/* Returns how many of the oldest upcalls to shed at the start of a turn when
 * 'queued' wait. */
unsigned int upcall_delay_shed(struct upcall_delay *delay,
                               unsigned int queued);

/* Begins a turn of 'channel' that follows another turn of the same backlog, at
 * time 'now', in microseconds, when the channel has got its quantum of
 * 'quantum' upcalls (upcall-turn.h).  'target' is in microseconds, 0 for none.
 * Limits the channel if necessary, throws away the upcalls that the policy
 * says, at most 'max', and charges the turn. */
struct upcall_shed upcall_shed_begin(struct upcall_channel *channel,
                                     uint64_t now, unsigned int quantum,
                                     uint64_t target, unsigned int max);

/* Accounts for a read of 'channel' that took 'n' upcalls.  'empty' says that
 * nothing more waits, or that this is unknown. */
void upcall_shed_account(struct upcall_channel *channel, unsigned int n,
                         bool empty);

/* Ends a turn of 'channel', after which more waits.  Notes how much memory
 * waits if 'sample', or if nothing is known of the channel yet. */
void upcall_shed_end(struct upcall_channel *channel, bool sample);

/* Says that 'channel' no longer has a backlog and leaves the run queue, which
 * ends its limit. */
void upcall_shed_leave(struct upcall_channel *channel);

#endif /* lib/upcall/upcall-shed.h */
