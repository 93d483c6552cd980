/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SCHED_H
#define KDP_UPCALL_SCHED_H 1

/* Upcall scheduler
 * ================
 *
 * Private to lib/upcall.  Gives the channels that have something to read to
 * the handlers of a group:
 *
 *      channel empty              readable                  handler
 *      -------------              --------                  -------
 *      armed in epoll  --event--> ready list of epoll  --->  reads
 *           ^                                                | |
 *           +----------------- socket empty -----------------+ |
 *                                                              |
 *                   +--- run queue <---- turn used up ---------+
 *                   +----------------------------------------> reads
 *
 * A set has one scheduler, or several, each for a group of its handlers
 * (upcall-groups.h).  All handlers of the group wait in the same epoll
 * instance.  The kernel wakes
 * one of them for an event, the one that went to sleep last, whose caches are
 * warm.  Channels are registered with EPOLLONESHOT: a channel that a handler
 * has is disarmed, so that its further upcalls wake nobody, and the handler
 * arms it again when it releases it; if there is something to read by then,
 * that is an event at once.  So no edge can be missed and no wake-up is for
 * nothing.
 *
 * This takes the place of an epoll instance for each handler with
 * EPOLLEXCLUSIVE registrations.  There, a channel that a busy handler has
 * wakes another one for each further upcall, in vain, because EPOLLEXCLUSIVE
 * cannot be combined with EPOLLONESHOT or be disarmed without unregistering;
 * each upcall walks the wait-queue entries of all handlers; and a port costs
 * as many registrations as there are handlers.
 *
 * Channels with a standing backlog do not go back to epoll, which would serve
 * them in front of others, but to the run queue, which all handlers of the
 * group share: the round robin is not one for each handler (upcall-queue.h).
 *
 * While all handlers are at work and there is a run queue, a channel of it
 * that has become empty stays in it if it used its turn up or is limited
 * (upcall-shed.h), and goes back to epoll if it still is empty at its next
 * turn.  More will have come by then, as a rule, and is taken at once, in
 * place of an event, an arming and a read for each upcall or two.  A port that
 * used less of its turn sends less than its share.  Its channel goes back to
 * epoll at once: in the run queue each upcall would wait for a round, for as
 * long as at least one comes in each.
 *
 * Fan-out: with k handlers asleep and k channels readable, each gets one.  A
 * handler takes a single event while others sleep; epoll then wakes the next
 * one for what is left.  (One that went to sleep while no other slept may get
 * more, and gives back what is not its share, see upcall-handler.h.)
 *
 * Sleep and kick: a handler that leaves channels in the run queue kicks a
 * sleeping one, through an eventfd in the epoll instance, when it has begun
 * its batch and when it ends it.  It looks at the number of sleepers after it
 * wrote the length of the queue; a handler looks at the length after it
 * counted itself a sleeper.  Both are sequentially consistent, so one of them
 * sees the other.
 *
 * Kicks that follow each other quickly are one event.  So whoever gets a kick
 * answers for it, a handler at work that looks for events as much as one that
 * slept: it begins a batch, and kicks again for what it leaves then.  A
 * handler of another group does not look at this run queue, and kicks again at
 * once.
 *
 * Thread safety
 * -------------
 *
 *      add, del, retire                the control thread
 *      wait, poll, arm, push, pop      the handlers, all at once
 *
 * The run queue is guarded by a mutex that is held for a few instructions; a
 * channel passes it once in a quantum of upcalls. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct upcall_channel;
struct upcall_sched;

/* Creates a scheduler for handlers of generation 'generation'.  Returns 0 or a
 * positive errno value. */
int upcall_sched_create(uint32_t generation, struct upcall_sched **);
void upcall_sched_ref(struct upcall_sched *);
void upcall_sched_unref(struct upcall_sched *);

int upcall_sched_epoll_fd(const struct upcall_sched *);

/* Has eventfd 'fd', by which groups call each other, among the events.
 * Returns 0 or a positive errno value; EINVAL if the kernel has no
 * EPOLLEXCLUSIVE. */
int upcall_sched_add_call_fd(struct upcall_sched *, int fd);

/* Registers 'channel', armed.  Returns 0 or a positive errno value. */
int upcall_sched_add(struct upcall_sched *, const struct upcall_channel *);
void upcall_sched_del(struct upcall_sched *, const struct upcall_channel *);

/* Wakes the handlers that sleep, and from now on each that is about to; takes
 * no more channels into the run queue, and gives those in it to 'release',
 * whose owner is still the run queue, with their references. */
void upcall_sched_retire(struct upcall_sched *,
                         void (*release)(struct upcall_channel *, void *aux),
                         void *aux);

/* Arms 'channel', which its owner has released, unless it was unregistered. */
void upcall_sched_arm(struct upcall_sched *, const struct upcall_channel *);

/* The most events that one call takes, while no other handler sleeps.  What is
 * left stays with epoll, which wakes another handler for it: a handler that
 * took an event for each of a thousand ports would keep them all waiting for
 * itself. */
#define UPCALL_EVENTS 8

/* A channel that became readable.  It may be gone by now. */
struct upcall_event {
    uint32_t port_no;
    uint32_t serial;
};

struct upcall_events {
    uint64_t since;             /* These came later than this, in
                                 * microseconds. */
    size_t n_channels;          /* Channels that are readable. */
    struct upcall_event channels[UPCALL_EVENTS];
    bool latched;               /* A latch is readable. */
    bool more;                  /* There may be further events. */
    bool kicked;                /* There may be something in the run queue, or
                                 * the handlers are retired. */
    bool called;                /* Another group may have too much. */
    bool in_vain;               /* A call came for a group that does not have
                                 * too much any more. */
};

/* Takes events.  Waits at most 'timeout' milliseconds for one, -1 for ever.
 * Returns 0, or a positive errno value (then '*events' has none). */
int upcall_sched_wait(struct upcall_sched *, int timeout,
                      struct upcall_events *events);

/* The same for a caller that has counted itself by upcall_sched_sleep_begin(),
 * which returned true. */
int upcall_sched_wait_counted(struct upcall_sched *, int timeout,
                              struct upcall_events *events);

/* Takes the events that are there. */
void upcall_sched_poll(struct upcall_sched *, struct upcall_events *events);

/* The same for a handler of another group, but takes one event only if 'one'.
 * A kick stays in the group: the handler would not answer for it. */
void upcall_sched_poll_for_others(struct upcall_sched *, bool one,
                                  struct upcall_events *events);

/* Adds descriptor 'fd', for which handlers wait besides their channels, to the
 * events, unless it is there already.  Closing it removes it.  Returns 0 or a
 * positive errno value.  Any thread. */
int upcall_sched_add_latch(struct upcall_sched *, int fd);

/* A number that no other scheduler of the process has or had; never 0. */
uint64_t upcall_sched_id(const struct upcall_sched *);

/* Counts those who wait for an event in another way than by
 * upcall_sched_wait().  begin returns false if there is no need to wait. */
bool upcall_sched_sleep_begin(struct upcall_sched *);
void upcall_sched_sleep_end(struct upcall_sched *);

/* Makes the run queue the owner of 'channel' in place of 'token' and puts it
 * at the end, or at the head if it is urgent.  Takes over the caller's
 * reference.  Returns false, with nothing done, if the handlers are retired.
 */
bool upcall_sched_push(struct upcall_sched *, struct upcall_channel *,
                       uint32_t token);

/* Makes the run queue the owner of 'channel', which nobody owns, unless somebody
 * does by now or the handlers are retired.  Takes a reference.  By the control
 * thread. */
void upcall_sched_adopt(struct upcall_sched *, struct upcall_channel *);

/* Takes the first channel from the run queue, with its reference.  Makes
 * 'token' its owner.  Stores how many upcalls its turn may take in '*quantum',
 * unless that is null.  Returns NULL if the queue is empty. */
struct upcall_channel *upcall_sched_pop(struct upcall_sched *, uint32_t token,
                                        unsigned int *quantum);

/* Microseconds that a round should take at most, 0 for no matter
 * (upcall-turn.h). */
void upcall_sched_set_round_goal(struct upcall_sched *, uint64_t usec);

/* Upcalls that a turn takes now, of a channel of one port. */
unsigned int upcall_sched_quantum(const struct upcall_sched *);

/* Wakes a sleeping handler if there is one and the run queue has more than the
 * 'share' of channels that the caller is about to take. */
void upcall_sched_kick(struct upcall_sched *, size_t share);

/* Number of handlers that sleep. */
uint32_t upcall_sched_n_sleepers(const struct upcall_sched *);

/* Number of channels in the run queue, and of those that one handler should
 * take from it now, so that those that sleep get their share. */
size_t upcall_sched_n_queued(const struct upcall_sched *);
size_t upcall_sched_share(const struct upcall_sched *);

/* True if no handler sleeps and there is something in the run queue. */
bool upcall_sched_is_saturated(const struct upcall_sched *);

/* True if a handler got as many events as it could take at once, and there may
 * be more.  A hint. */
bool upcall_sched_is_crowded(const struct upcall_sched *);

/* True if no handler sleeps and either of that holds. */
bool upcall_sched_has_too_much(const struct upcall_sched *);

/* How often the mutex of the run queue was taken, and how often somebody else
 * had it then. */
struct upcall_sched_locks {
    uint64_t taken;
    uint64_t contended;
};
void upcall_sched_get_locks(const struct upcall_sched *,
                            struct upcall_sched_locks *);

/* Channels ever put into and taken out of the run queue, but for the urgent
 * one, see upcall-turn.h. */
uint64_t upcall_sched_pushed(const struct upcall_sched *);
uint64_t upcall_sched_popped(const struct upcall_sched *);

/* The present epoch, see upcall-turn.h.  The first is 1.  It ends when a
 * handler finds that it got all events there were, or that another one sleeps,
 * which takes the rest. */
uint32_t upcall_sched_epoch(const struct upcall_sched *);

#endif /* lib/upcall/upcall-sched.h */
