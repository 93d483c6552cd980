/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_GROUPS_H
#define KDP_UPCALL_GROUPS_H 1

/* Groups of handlers
 * ==================
 *
 * Private to lib/upcall, except for the size of groups.  One epoll instance
 * and one run queue would be two locks that all handlers take for each batch.
 * So the handlers of a set form groups.  A group has about as many handlers as
 * there are CPUs that share a last-level cache (upcall_llc_n_cpus()).  Each
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
 * A handler that leaves something in such a group calls other groups when it
 * begins its batch: it writes to an eventfd that is registered in the epoll
 * instance of every group with EPOLLIN | EPOLLET | EPOLLEXCLUSIVE.  The kernel
 * skips the groups in which no handler sleeps, and wakes one handler of the
 * first other group.  (A skipped group has the event, too; the next handler
 * that looks for events there finds it, which costs nothing.)  The handler
 * that woke up helps the group that has most, and calls again if it leaves
 * something.
 *
 * EPOLLEXCLUSIVE works neither for a nested epoll instance nor with
 * EPOLLONESHOT, so the channels themselves cannot wake several groups.
 *
 *
 * Loans
 * -----
 *
 * A handler may have channels of another group on loan: it takes them from
 * that group's run queue or epoll instance, becomes their owner, reads them,
 * and gives them back to the same run queue or epoll instance at the end of
 * the batch, as it does with channels of its own group.  So the home of a
 * channel is constant while the set of handlers lives, and a loan takes no
 * additional lock.
 *
 * The owner word, which does not depend on groups, keeps the order (U1).
 * Fairness (U3) over all ports: the run queue of each group is a round robin.
 * If a group has fewer waiting channels per handler than the average of all
 * groups, its handlers give the difference of their turns to the group that
 * has most.
 *
 *
 * Synchronisation
 * ---------------
 *
 *      what                written by            read by       order
 *      -----------------   ------------------    -----------   -------------
 *      length of a run     holder of its mutex   any handler   seq. cst. (*)
 *      queue
 *      sleepers of a       handlers of the       any handler   seq. cst. (*)
 *      group               group
 *      "crowded"           last handler to get   any handler   relaxed, a
 *                          events from epoll                   hint only
 *      owner word          upcall-channel.h      any handler   seq. cst.
 *      home of a channel   no thread             any thread    -
 *
 *      (*) A handler of group A writes the length of A's queue, then reads the
 *          sleepers of A and of all others before it decides not to call.  A
 *          handler of group B counts itself a sleeper, then reads the lengths
 *          of all other queues before it sleeps.  One of the two sees the
 *          other.  If B goes to sleep because a handler H of A seems to sleep,
 *          then H counted itself before it looked at the queue of A.  Either H
 *          finds that queue empty, or H does not sleep, begins a batch, and
 *          calls if it leaves something.
 *
 * Lock order: a thread that holds the mutex of a run queue takes no other
 * lock.  The control thread may hold the mutexes of the table and of the ports
 * when it takes the mutex of a run queue.
 *
 * Life cycle: the groups live as long as their set.  When the number of
 * handlers or the group size changes, a new set replaces the whole set, and
 * every channel is registered with its home among the new groups
 * (upcall_ports_attach()).
 *
 * Thread safety: only the control thread calls create, add, del and retire;
 * any handler may call the rest at any time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct upcall_channel;
struct upcall_events;
struct upcall_groups;
struct upcall_sched;

/* Creates groups of at most 'size' for 'n_handlers' handlers, both at least 1,
 * of generation 'generation'.  The groups differ by one in size at most.  On a
 * kernel without EPOLLEXCLUSIVE (before Linux 4.5) there is a single group.
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

/* The scheduler of the home of 'channel', with which the channel is registered
 * and armed. */
struct upcall_sched *upcall_groups_home(const struct upcall_groups *,
                                        const struct upcall_channel *);

/* Like upcall_sched_retire(), for all groups. */
void upcall_groups_retire(struct upcall_groups *,
                          void (*release)(struct upcall_channel *, void *aux),
                          void *aux);

/* Like upcall_sched_wait(), for a handler of 'group'.  Does not sleep while
 * another group has too much.  In that case, and after a call while a group
 * has too much, sets 'events->called'. */
int upcall_groups_wait(struct upcall_groups *, uint32_t group, int timeout,
                       struct upcall_events *events);

/* Returns the group other than 'group' that has too much and the longest run
 * queue per handler, or NULL if there is none. */
struct upcall_sched *upcall_groups_overloaded(const struct upcall_groups *,
                                              uint32_t group);

/* Number of channels that a handler of 'group' should take from the group's
 * run queue now, so that sleeping handlers get their share.  These are the
 * sleepers of the group or, if there are none, of all groups. */
size_t upcall_groups_share(const struct upcall_groups *, uint32_t group);

/* Channels that a handler takes from another group in its batch. */
struct upcall_loan {
    struct upcall_sched *lender;    /* Or NULL. */
    size_t n;                       /* Channels of its run queue. */
};

/* Returns what a handler of 'group' should take from the run queue of another
 * group in the batch that begins.  '*credit', at first 0, belongs to the
 * handler and carries fractions on to its next batch. */
struct upcall_loan upcall_groups_plan(const struct upcall_groups *,
                                      uint32_t group, uint32_t *credit);

/* Wakes a sleeping handler of any group, if there is one, to help. */
void upcall_groups_call(struct upcall_groups *);

/* CPUs that share a last-level cache: how many handlers a group should have.
 * All handlers of a group write its run queue and its counters.  That is cheap
 * among CPUs that share a cache, but not between others.
 *
 * Handlers are not bound to CPUs.  The kernel's scheduler keeps a thread on
 * CPUs that share a cache if it can.  Only the size of groups depends on the
 * machine. */

#define UPCALL_LLC_SYSFS "/sys/devices/system/cpu"

/* Returns the number of CPUs that share the last-level cache of the first CPU,
 * or 0 if 'sysfs', normally UPCALL_LLC_SYSFS, does not say.  Caches of the
 * other CPUs are usually shared by as many. */
unsigned int upcall_llc_n_cpus(const char *sysfs);

/* Returns the size of groups for 'n_cpus' CPUs that share a cache, from 4 to
 * UPCALL_LLC_GROUP_MAX. */
#define UPCALL_LLC_GROUP_MAX 8
unsigned int upcall_llc_group_size(unsigned int n_cpus);

#endif /* lib/upcall/upcall-groups.h */
