/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SHED_H
#define KDP_UPCALL_SHED_H 1

/* Limits and shedding
 * ===================
 *
 * Private to lib/upcall.  Applies the policy of upcall-delay.h to a port with
 * a standing queue: limits the receive buffer, and throws away the oldest of
 * the upcalls that already wait on the socket.
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

struct upcall_channel;

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
