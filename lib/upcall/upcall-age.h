/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_AGE_H
#define KDP_UPCALL_AGE_H 1

/* Age of upcalls
 * ==============
 *
 * Private to lib/upcall.  Estimates when the kernel queued an upcall on its
 * socket, so that latencies include the time that the upcall waited there
 * (U11).  Netlink messages carry no time, and netlink sockets take no
 * timestamps.  But a socket is a queue, and the handler that owns it knows at
 * some moments how many upcalls it holds:
 *
 *      a read emptied it       0
 *      it became readable      1, when its event came
 *      a look                  the memory that its upcalls take (SO_MEMINFO)
 *                              over that of one
 *
 * Each such moment is a mark: the upcalls up to a position in the stream were
 * queued by then, and the following ones were queued later.  The upcalls
 * between two marks are taken to have come at equal distances.
 *
 * Error
 * -----
 *
 * A look is made at most every UPCALL_AGE_LOOK, and a channel keeps
 * UPCALL_AGE_MARKS marks, so the error of an upcall is at most UPCALL_AGE_LOOK
 * or a quarter of the longest wait on the channel, whichever is greater.  The
 * mean of many is nearer, as upcalls seldom come all at one end of an interval.
 * Positions are as exact as the mean memory of an upcall is.
 *
 * The event of a socket that became readable came at an unknown moment between
 * two looks for events.  upcall_age_between() chooses one, spread evenly over
 * many calls, so that the distribution is right although the single value is
 * not.  How long the kernel takes to run a handler that sleeps is not
 * included.
 *
 * Thread safety: an age belongs to the owner of its channel and is passed on
 * with it (upcall-channel.h).  No system calls, no clock: the caller says what
 * time it is. */

#include <stdbool.h>
#include <stdint.h>

/* Microseconds between two looks, each of which costs a system call: at most a
 * hundred calls a second for a channel with a backlog, and exact enough for the
 * waits that matter to anybody. */
#define UPCALL_AGE_LOOK UINT64_C(10000)

/* Marks of a channel.  When there are more, every other one goes. */
#define UPCALL_AGE_MARKS 8

struct upcall_mark {
    uint64_t n;                 /* The first so many upcalls were queued */
    uint64_t at;                /* by this time, in microseconds. */
};

struct upcall_age {
    uint64_t n_read;            /* Upcalls ever taken from the socket. */
    unsigned int n_marks;       /* At least 1. */
    struct upcall_mark marks[UPCALL_AGE_MARKS]; /* In the order of 'n' and
                                                 * 'at'. */
};

/* Makes 'age' that of a socket that nothing was read from and that was empty
 * at 'now'. */
void upcall_age_init(struct upcall_age *age, uint64_t now);

/* Says that 'n' upcalls wait at 'now'.  Marks that are earlier than the last
 * one are taken for as late as that. */
void upcall_age_mark(struct upcall_age *age, unsigned int n, uint64_t now);

/* True if a look at 'now' would make the estimate better. */
bool upcall_age_look_is_due(const struct upcall_age *age, uint64_t now);

/* Says that 'n' upcalls were taken from the socket by 'now'.  'empty' says that
 * no more waits.  Stores in 'queued_at', unless it is null, when each was
 * queued, none of them later than 'now'. */
void upcall_age_read(struct upcall_age *age, unsigned int n, bool empty,
                     uint64_t now, uint64_t queued_at[]);

/* Returns a time from 'from' to 'to'.  '*n', at first 0, is the caller's. */
uint64_t upcall_age_between(uint64_t from, uint64_t to, uint32_t *n);

#endif /* lib/upcall/upcall-age.h */
