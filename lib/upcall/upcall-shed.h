/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SHED_H
#define KDP_UPCALL_SHED_H 1

/* Limits and shedding
 * ===================
 *
 * Private to lib/upcall.  Does what upcall-delay.h says to a port whose queue
 * stands: limits its receive buffer, and takes the oldest upcalls of those
 * that wait already from the socket and throws them away.
 *
 * The limit
 * ---------
 *
 * The kernel drops an upcall when those that wait take more memory than the
 * socket's receive buffer.  So a buffer for all but one of as many as may wait
 * is the limit; one upcall always has room, however large.  The kernel's
 * smallest buffer (SOCK_MIN_RCVBUF, about 2 kB) is below what a port may have
 * waiting.  What waits already stays.  So the limit begins when what is too
 * much was shed.
 *
 * An overrun is no event while a port is limited (NETLINK_NO_ENOBUFS).
 * Otherwise the next read would fail once, and the kernel would queue nothing
 * before all that waits was read.  What it drops is in its count, as always,
 * and is counted as 'lost_limited', too.
 *
 * How many wait
 * -------------
 *
 * The kernel says how much memory the upcalls on a socket take (SO_MEMINFO),
 * not how many they are.  So the memory of one is measured: by how much a turn
 * that takes one read makes it less, over the upcalls that it took.  Upcalls
 * that come in the microseconds of the read make it look smaller, and more seem
 * to wait than do; a floor limits that.  A port of which nothing was measured
 * yet, or whose kernel (Linux before 4.12) does not say, sheds nothing.
 *
 * What it costs
 * -------------
 *
 * A look costs a system call, and a limit another one, some times a second.
 * What the kernel drops then costs nothing here.
 *
 * Shedding is for what waits when a limit begins.  One recvmmsg() call throws
 * away UPCALL_SHED_CALL upcalls, of which it copies not a byte.  That is about
 * a tenth of the work of handling one, and the turn is charged for it, up to
 * half of the turn.  A batch sheds at most UPCALL_SHED_MAX, so that it delays
 * other ports by a millisecond or so.
 *
 * Only channels of one sender are limited.  On one that belongs to several, what
 * stands is not the fault of the one whose upcall is the oldest (upcall-fq.h),
 * and the urgent channel has no flood to speak of and nothing to spare.
 *
 * It works on the socket, between reads, and so with every engine.
 *
 * Failure
 * -------
 *
 * A limit that cannot be set leaves the buffer as it was.  An overrun is told
 * to the caller, as in a read.  Any other error ends the
 * shedding; the read that follows meets it again and reports it.
 *
 * Thread safety: by the owner of the channel alone, as upcall-channel.h
 * says. */

#include <stdbool.h>
#include <stdint.h>

struct upcall_channel;

/* Upcalls thrown away for the price of one that is handed out.  An estimate:
 * what the benchmark served less with shedding, over what it shed. */
#define UPCALL_SHED_PRICE 10

/* The most that one batch sheds: at the price of one upcall for ten that are
 * thrown away, the work of 51, less than the batch itself.  So a batch takes
 * less than twice as long.  With fewer, old upcalls would be served for longer:
 * 200 ports with full buffers have 400,000, which take 800 batches. */
#define UPCALL_SHED_MAX 512

/* The same of a turn in a batch with upcalls of sparse channels, which wait
 * for all that the batch does. */
#define UPCALL_SHED_MAX_SPARSE UPCALL_SHED_CALL

/* The most that one system call sheds. */
#define UPCALL_SHED_CALL 64

/* What was done. */
struct upcall_shed {
    bool limited;               /* The port became limited, */
    unsigned int keep;          /* to so many upcalls. */
    unsigned int n;             /* Upcalls thrown away. */
    unsigned int n_calls;       /* Receive system calls. */
    unsigned int overruns;      /* Times that the socket said ENOBUFS. */
};

/* Begins a turn of 'channel' that follows another one of the same backlog, at
 * time 'now', in microseconds, when the channel has its quantum of 'quantum'
 * (upcall-turn.h).  With 'target' microseconds, 0 for none, limits the channel
 * if it has to be, throws away the upcalls that are to be, at most 'max', and
 * charges the turn. */
struct upcall_shed upcall_shed_begin(struct upcall_channel *channel,
                                     uint64_t now, unsigned int quantum,
                                     uint64_t target, unsigned int max);

/* Accounts for a read of 'channel' that took 'n' upcalls.  'empty' says that
 * nothing more waits, or that it cannot be told. */
void upcall_shed_account(struct upcall_channel *channel, unsigned int n,
                         bool empty);

/* Ends a turn of 'channel', after which more waits.  Notes how much it is if
 * 'sample', or if nothing is known of the channel yet. */
void upcall_shed_end(struct upcall_channel *channel, bool sample);

/* Says that 'channel' has no backlog any more and leaves the run queue, which
 * ends its limit. */
void upcall_shed_leave(struct upcall_channel *channel);

#endif /* lib/upcall/upcall-shed.h */
