/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_GROUPS_H
#define KDP_UPCALL_GROUPS_H 1

/* Groups of handlers
 * ==================
 *
 * Private to lib/upcall.  One epoll instance and one run queue are two locks
 * that all handlers pass for each batch.  So the handlers of a set come in
 * groups of some, as many as share a last-level cache (upcall-llc.h).  Each
 * group has a scheduler (upcall-sched.h) of its own:
 *
 *      channels 0, 2, 4 ...  --> epoll, run queue --> handlers 0 to 7
 *                                   ^   calls, loans   ^
 *      channels 1, 3, 5 ...  --> epoll, run queue --> handlers 8 to 15
 *
 * Each channel has a home group, in whose epoll instance it is registered and
 * in whose run queue it waits.  An upcall wakes a handler of the home group.
 *
 *
 * Calls
 * -----
 *
 * A group has too much if none of its handlers sleeps and it has channels in
 * its run queue, or more events than one of its handlers could take at once.
 * A handler that leaves something in a group that has too much calls others
 * when it begins its batch: it writes to an eventfd that stands in the epoll
 * instance of every group with EPOLLIN | EPOLLET | EPOLLEXCLUSIVE.  The kernel
 * passes over the groups in which nobody sleeps, and wakes one handler of the
 * first other one.  (A group passed over has the event, too, and whoever looks
 * for events there next finds it, which costs nothing.)  That handler helps
 * the group that has most, and calls again if it leaves something.
 *
 * EPOLLEXCLUSIVE cannot be had for a nested epoll instance, nor with
 * EPOLLONESHOT, so the channels themselves cannot wake several groups.
 *
 *
 * Loans
 * -----
 *
 * A handler may have channels of another home on loan: it takes them from that
 * group's run queue or epoll instance, becomes their owner, reads them, and
 * gives them back to the home's run queue or epoll instance at the end of the
 * batch, as it does with those of its own group.  So the home of a channel is
 * constant while the set of handlers lives, and a loan takes no lock that
 * taking the channel at home would not take.
 *
 * Order (U1) is kept by the owner word, which knows no groups.  Fairness (U3)
 * over all ports: the run queue of each group is a round robin, and a handler
 * whose group has fewer channels waiting for each handler than all groups
 * have on average gives that part of its turns to the group that has most.
 *
 *
 * Synchronisation
 * ---------------
 *
 *      what                written by            read by       order
 *      -----------------   ------------------    -----------   -------------
 *      length of a run     who holds its mutex   any handler   seq. cst. (*)
 *      queue
 *      sleepers of a       handlers of the       any handler   seq. cst. (*)
 *      group               group
 *      "crowded"           who asked its epoll   any handler   relaxed, a
 *                          instance last                       hint only
 *      owner word          upcall-channel.h      any handler   seq. cst.
 *      home of a channel   nobody                any thread    -
 *
 *      (*) A handler of group A writes the length of A's queue, then reads the
 *          sleepers of A and of all others before it decides not to call.  A
 *          handler of group B counts itself a sleeper, then reads the lengths
 *          of all others before it sleeps.  One of them sees the other.  If B
 *          goes to sleep because somebody of A seems to sleep, then that one,
 *          who counted itself before it looked at the queue of A, either finds
 *          it empty or does not sleep, begins a batch, and calls if it leaves
 *          something.
 *
 * Lock order: the mutex of a run queue is taken without any other of them, and
 * no lock is taken inside.  The control thread may hold the mutexes of the
 * table and of the ports before it.
 *
 * Life cycle: as the set's.  The number of handlers and their group size
 * change in the same way: the set is replaced as a whole, and every channel is
 * registered with its home among the new groups (upcall_ports_attach()).
 *
 * Thread safety: create, add, del, retire are the control thread's; the rest
 * may be called by any handler at any time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct upcall_channel;
struct upcall_events;
struct upcall_groups;
struct upcall_sched;

/* Creates groups of at most 'size' for 'n_handlers' handlers, both at least 1,
 * of generation 'generation'.  The groups differ by one in size at most.  On a
 * kernel without EPOLLEXCLUSIVE (before Linux 4.5) there is one group.
 * Returns 0 or a positive errno value. */
int upcall_groups_create(uint32_t generation, uint32_t n_handlers,
                         uint32_t size, struct upcall_groups **);
void upcall_groups_ref(struct upcall_groups *);
void upcall_groups_unref(struct upcall_groups *);

uint32_t upcall_groups_n(const struct upcall_groups *);
struct upcall_sched *upcall_groups_sched(const struct upcall_groups *,
                                         uint32_t group);

/* The group of handler 'index', and the number of handlers of 'group'. */
uint32_t upcall_groups_of_handler(const struct upcall_groups *,
                                  uint32_t index);
uint32_t upcall_groups_n_handlers(const struct upcall_groups *,
                                  uint32_t group);

/* The scheduler of the home of 'channel'. */
struct upcall_sched *upcall_groups_home(const struct upcall_groups *,
                                        const struct upcall_channel *);

/* As the functions of upcall-sched.h, at the channel's home, and for all
 * groups, respectively. */
int upcall_groups_add(struct upcall_groups *, const struct upcall_channel *);
void upcall_groups_del(struct upcall_groups *, const struct upcall_channel *);
void upcall_groups_arm(struct upcall_groups *, const struct upcall_channel *);
void upcall_groups_retire(struct upcall_groups *,
                          void (*release)(struct upcall_channel *, void *aux),
                          void *aux);

/* As upcall_sched_wait() for a handler of 'group'.  Does not sleep while
 * another group has too much; then and after a call that found one it sets
 * 'events->called'. */
int upcall_groups_wait(struct upcall_groups *, uint32_t group, int timeout,
                       struct upcall_events *events);

/* Another group than 'group' that has too much, the one with the longest run
 * queue for each of its handlers, or NULL. */
struct upcall_sched *upcall_groups_overloaded(const struct upcall_groups *,
                                              uint32_t group);

/* Number of channels that a handler of 'group' should take from the group's
 * run queue now, so that those that sleep get their share: of the group, or if
 * none of its handlers sleeps, of all groups. */
size_t upcall_groups_share(const struct upcall_groups *, uint32_t group);

/* What a handler takes from another group in its batch. */
struct upcall_loan {
    struct upcall_sched *lender;    /* Or NULL. */
    size_t n;                       /* Channels of its run queue. */
};

/* Says what a handler of 'group' should take from the run queue of another
 * one in the batch that begins.  '*credit', at first 0, is the handler's, and
 * carries fractions on to its next batch. */
struct upcall_loan upcall_groups_plan(const struct upcall_groups *,
                                      uint32_t group, uint32_t *credit);

/* Wakes a sleeping handler of some group, if there is one, to help. */
void upcall_groups_call(struct upcall_groups *);

#endif /* lib/upcall/upcall-groups.h */
