/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_AGE_H
#define KDP_UPCALL_AGE_H 1

/* Age of upcalls
 * ==============
 *
 * Private to lib/upcall.  Estimates when the kernel queued an upcall on its
 * socket, so that latencies include the time that the upcall waited there
 * (U11).  Netlink messages carry no time, and netlink sockets take no
 * timestamps.  But a socket is a queue, and at some moments its owner knows
 * how many upcalls the socket holds:
 *
 *      a read emptied it       0
 *      it became readable      1, when its event arrived
 *      a look                  the memory of its upcalls (SO_MEMINFO) over
 *                              the memory of one
 *
 * Each such moment is a mark: the kernel had queued the upcalls up to a
 * position in the stream by then, and queued the following ones later.  The
 * estimate spaces the upcalls between two marks evenly.
 *
 * Error
 * -----
 *
 * The owner looks at most once in UPCALL_AGE_LOOK, and a channel keeps
 * UPCALL_AGE_MARKS marks, so the error of an upcall is at most UPCALL_AGE_LOOK
 * or a quarter of the longest wait on the channel, whichever is greater.  The
 * mean of many upcalls is more exact, because upcalls seldom all arrive at one
 * end of an interval.  Positions are as exact as the mean memory of an upcall
 * is.
 *
 * A socket becomes readable at an unknown moment between two looks for events.
 * upcall_age_between() chooses a moment, spread evenly over many calls, so
 * that the distribution is right although the single value is not.  The
 * estimate excludes the time that the kernel takes to run a sleeping handler.
 *
 * Thread safety: an age belongs to the owner of its channel and is passed on
 * with it (upcall-channel.h).  It makes no system calls and has no clock: the
 * caller passes the time. */

#include <stdbool.h>
#include <stdint.h>

/* The time of latencies and turns: microseconds, monotonic.  (Open vSwitch's
 * time_usec() may return the time of the last poll, which is before the
 * batch.)  Any thread. */
uint64_t upcall_now_usec(void);

/* Microseconds between two looks.  Each look costs a system call, so this
 * allows at most a hundred calls a second for a channel with a backlog, and is
 * exact enough for the waits that matter. */
#define UPCALL_AGE_LOOK UINT64_C(10000)

/* Marks of a channel.  When there are more, every other one is removed. */
#define UPCALL_AGE_MARKS 8

struct upcall_mark {
    uint64_t n;                 /* This many upcalls were queued */
    uint64_t at;                /* by this time, in microseconds. */
};

struct upcall_age {
    uint64_t n_read;            /* Upcalls taken from the socket so far. */
    unsigned int n_marks;       /* At least 1. */
    struct upcall_mark marks[UPCALL_AGE_MARKS]; /* In the order of 'n' and
                                                 * 'at'. */
};

/* Initializes 'age' for a socket that was empty at 'now' and that nothing was
 * read from. */
void upcall_age_init(struct upcall_age *age, uint64_t now);

/* Says that 'n' upcalls wait at 'now'.  A mark that is earlier than the last
 * one counts as being at the last one's time. */
void upcall_age_mark(struct upcall_age *age, unsigned int n, uint64_t now);

/* True if a look at 'now' would improve the estimate. */
bool upcall_age_look_is_due(const struct upcall_age *age, uint64_t now);

/* Says that 'n' upcalls were taken from the socket by 'now'.  'empty' says
 * that no more upcalls wait.  Stores in 'queued_at', unless it is null, when
 * the kernel queued each upcall, at the latest 'now'. */
void upcall_age_read(struct upcall_age *age, unsigned int n, bool empty,
                     uint64_t now, uint64_t queued_at[]);

/* Returns a time from 'from' to 'to'.  The caller owns '*n', which starts at
 * 0. */
uint64_t upcall_age_between(uint64_t from, uint64_t to, uint32_t *n);

#endif /* lib/upcall/upcall-age.h */
