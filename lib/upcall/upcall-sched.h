/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SCHED_H
#define KDP_UPCALL_SCHED_H 1

/* Upcall scheduler
 * ================
 *
 * Private to lib/upcall.  A scheduler gives the channels that have something
 * to read to the handlers of a group:
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
 * A set has one or more schedulers, each for a group of its handlers
 * (upcall-groups.h).  All handlers of the group wait in the same epoll
 * instance.  For an event, the kernel wakes the handler that went to sleep
 * last, whose caches are warm.  Channels are registered with EPOLLONESHOT: a
 * channel that a handler owns is disarmed, so that its further upcalls wake no
 * handler.  The owner arms the channel again when it releases it; if there is
 * something to read by then, that is an event at once.  So no event is missed,
 * and no handler wakes up for nothing.
 *
 * The alternative, an epoll instance for each handler with EPOLLEXCLUSIVE
 * registrations, has three drawbacks.  Each further upcall on a channel of a
 * busy handler wakes another handler in vain, because EPOLLEXCLUSIVE cannot be
 * combined with EPOLLONESHOT or be disarmed without unregistering.  Each
 * upcall walks the wait-queue entries of all handlers.  And each port costs as
 * many registrations as there are handlers.
 *
 * Channels with a standing backlog do not go back to epoll, which would serve
 * them before others, but to the run queue.  All handlers of the group share
 * the run queue, so that there is one round robin for the group.
 *
 * While all handlers are at work and the run queue is not empty, a channel
 * that has become empty stays in the run queue if it used its turn up or is
 * limited (upcall-shed.h).  It goes back to epoll if it is still empty at its
 * next turn.  Usually more upcalls have arrived by then, and one read takes
 * them all, instead of an event, an arming and a read for every upcall or two.
 * A port that used less of its turn sends less than its share, and its channel
 * goes back to epoll at once: in the run queue each of its upcalls would wait
 * for a round, as long as at least one arrives in each round.
 *
 * Fan-out: with k sleeping handlers and k readable channels, each handler gets
 * one channel.  A handler takes a single event while others sleep; epoll then
 * wakes the next handler for the rest.  (A handler that went to sleep while no
 * other slept may get more, and gives back what exceeds its share, see
 * upcall-handler.h.)
 *
 * Sleep and kick: a handler that leaves channels in the run queue kicks a
 * sleeping handler, through an eventfd in the epoll instance, after it has
 * begun its batch and when it ends the batch.  The kicking handler reads the
 * number of sleepers after it wrote the length of the queue; a handler that
 * goes to sleep reads the length after it counted itself a sleeper.  Both are
 * sequentially consistent, so one of the two sees the other.
 *
 * Kicks in quick succession are one event.  So each handler that gets a kick,
 * asleep or at work, has to answer it: the handler begins a batch, and kicks
 * again for what it leaves.  A handler of another group does not look at this
 * run queue, and kicks again at once.
 *
 * Thread safety
 * -------------
 *
 *      add, del, retire                the control thread
 *      wait, poll, arm, push, pop      the handlers, all at once
 *
 * A mutex guards the run queue.  It is held for a few instructions, and a
 * channel needs it once for each quantum of upcalls. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct upcall_channel;
struct upcall_sched;

/* Creates a scheduler for handlers of generation 'generation'.  Returns 0 or a
 * positive errno value. */
int upcall_sched_create(uint32_t generation, struct upcall_sched **);
void upcall_sched_destroy(struct upcall_sched *);    /* May be NULL. */

int upcall_sched_epoll_fd(const struct upcall_sched *);

/* Adds eventfd 'fd', by which groups call each other, to the events.  Returns
 * 0 or a positive errno value; EINVAL if the kernel has no EPOLLEXCLUSIVE. */
int upcall_sched_add_call_fd(struct upcall_sched *, int fd);

/* Registers 'channel', armed.  Returns 0 or a positive errno value. */
int upcall_sched_add(struct upcall_sched *, const struct upcall_channel *);
void upcall_sched_del(struct upcall_sched *, const struct upcall_channel *);

/* Wakes all sleeping handlers, and from now on each handler that is about to
 * sleep.  Refuses further channels for the run queue.  Passes the channels in
 * the run queue, which still owns them, to 'release' with their references. */
void upcall_sched_retire(struct upcall_sched *,
                         void (*release)(struct upcall_channel *, void *aux),
                         void *aux);

/* Arms 'channel', which its owner has released, unless the channel was
 * unregistered. */
void upcall_sched_arm(struct upcall_sched *, const struct upcall_channel *);

/* The most events that one call takes while no other handler sleeps.  The rest
 * stays with epoll, which wakes another handler for it.  If one handler took
 * an event for each of a thousand ports, all of these ports would wait for
 * it. */
#define UPCALL_EVENTS 8

/* A channel that became readable.  It may be gone by now. */
struct upcall_event {
    uint32_t port_no;
    uint32_t serial;
};

struct upcall_events {
    uint64_t since;             /* The events came after this time, in
                                 * microseconds. */
    size_t n_channels;          /* Channels that are readable. */
    struct upcall_event channels[UPCALL_EVENTS];
    bool latched;               /* A latch is readable. */
    bool more;                  /* There may be further events. */
    bool kicked;                /* There may be something in the run queue, or
                                 * the handlers are retired. */
    bool called;                /* Another group may have too much. */
    bool in_vain;               /* A call came for a group that no longer has
                                 * too much. */
};

/* Takes events.  Waits at most 'timeout' milliseconds for one, -1 for ever.
 * Returns 0, or a positive errno value (then '*events' has none). */
int upcall_sched_wait(struct upcall_sched *, int timeout,
                      struct upcall_events *events);

/* The same for a caller that has counted itself with
 * upcall_sched_sleep_begin(), which returned true. */
int upcall_sched_wait_counted(struct upcall_sched *, int timeout,
                              struct upcall_events *events);

/* Takes the events that are pending.  Does not wait. */
void upcall_sched_poll(struct upcall_sched *, struct upcall_events *events);

/* The same for a handler of another group.  If 'one', takes only one event.  A
 * kick stays in the group, because that handler would not answer it. */
void upcall_sched_poll_for_others(struct upcall_sched *, bool one,
                                  struct upcall_events *events);

/* Adds descriptor 'fd', for which handlers wait besides their channels, to the
 * events, unless it is there already.  Closing it removes it.  Returns 0 or a
 * positive errno value.  Any thread. */
int upcall_sched_add_latch(struct upcall_sched *, int fd);

/* A number that is unique among all schedulers of the process, past ones
 * included; never 0. */
uint64_t upcall_sched_id(const struct upcall_sched *);

/* Count the callers that wait for an event without upcall_sched_wait().
 * _begin() returns false if there is no need to wait. */
bool upcall_sched_sleep_begin(struct upcall_sched *);
void upcall_sched_sleep_end(struct upcall_sched *);

/* Makes the run queue the owner of 'channel' in place of 'token' and puts it
 * at the end, or at the head if it is urgent.  Takes over the caller's
 * reference.  Returns false and does nothing if the handlers are retired. */
bool upcall_sched_push(struct upcall_sched *, struct upcall_channel *,
                       uint32_t token);

/* Makes the run queue the owner of 'channel', unless the channel has an owner
 * by now or the handlers are retired.  Takes a reference.  Called by the
 * control thread. */
void upcall_sched_adopt(struct upcall_sched *, struct upcall_channel *);

/* Takes the first channel from the run queue, with its reference.  Makes
 * 'token' its owner.  Stores how many upcalls its turn may take in '*quantum',
 * unless that is null.  Returns NULL if the queue is empty. */
struct upcall_channel *upcall_sched_pop(struct upcall_sched *, uint32_t token,
                                        unsigned int *quantum);

/* Sets how many microseconds a round should take at most, 0 for no bound
 * (upcall-turn.h). */
void upcall_sched_set_round_goal(struct upcall_sched *, uint64_t usec);

/* Number of upcalls in a turn of a channel of one port now. */
unsigned int upcall_sched_quantum(const struct upcall_sched *);

/* If the run queue has more than the 'share' channels that the caller is about
 * to take, wakes a sleeping handler, if there is one. */
void upcall_sched_kick(struct upcall_sched *, size_t share);

/* Number of handlers that sleep. */
uint32_t upcall_sched_n_sleepers(const struct upcall_sched *);

/* Number of channels in the run queue, and the number that one handler should
 * take from it now, so that sleeping handlers get their share. */
size_t upcall_sched_n_queued(const struct upcall_sched *);
size_t upcall_sched_share(const struct upcall_sched *);

/* True if no handler sleeps and there is something in the run queue. */
bool upcall_sched_is_saturated(const struct upcall_sched *);

/* True if a handler got as many events as it could take at once, so that there
 * may be more.  A hint. */
bool upcall_sched_is_crowded(const struct upcall_sched *);

/* True if no handler sleeps and the group is saturated or crowded. */
bool upcall_sched_has_too_much(const struct upcall_sched *);

/* How often the mutex of the run queue was taken, and how often another thread
 * held it at that moment. */
struct upcall_sched_locks {
    uint64_t taken;
    uint64_t contended;
};
void upcall_sched_get_locks(const struct upcall_sched *,
                            struct upcall_sched_locks *);

/* Channels put into and taken out of the run queue so far, except the urgent
 * one; see upcall-turn.h. */
uint64_t upcall_sched_pushed(const struct upcall_sched *);
uint64_t upcall_sched_popped(const struct upcall_sched *);

/* The present epoch, see upcall-turn.h.  The first is 1.  It ends when a
 * handler finds that it got all events, or that another handler sleeps, which
 * takes the rest. */
uint32_t upcall_sched_epoch(const struct upcall_sched *);

#endif /* lib/upcall/upcall-sched.h */
