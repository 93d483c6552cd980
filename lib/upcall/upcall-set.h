/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_SET_H
#define KDP_UPCALL_SET_H 1

/* Sets of handlers
 * ================
 *
 * Private to lib/upcall.  Handlers that work together form a set, which is
 * never changed once other threads can see it.  When their number, the size of
 * their groups or their engine changes, the set is replaced as a whole:
 *
 *   1. The new set gets groups of its own, and every channel is registered in
 *      them (upcall_ports_attach()), so that both sets have events for a time.
 *   2. The handler of the same number in the old set, if there is one, becomes
 *      the predecessor of each new handler (upcall_set_inherit()).
 *   3. The new set is published: threads find their handlers in it from now
 *      on.
 *   4. The old set is retired (upcall_set_retire()): the channels in its run
 *      queues are armed with the new set, and its sleepers wake up.  Handlers
 *      without a successor are orphans, which release their channels after a
 *      grace period.
 *
 * A thread belongs to a number, not to a handler, and looks for its handler
 * with each call.
 *
 * Thread safety: the control thread calls the functions, under the table's
 * mutex.  Any thread that got the published set under RCU may read the
 * members. */

#include <stdint.h>

struct upcall_engine_class;
struct upcall_groups;
struct upcall_handler;
struct upcall_ports;
struct upcall_stats;

struct upcall_set {
    uint32_t generation;
    struct upcall_ports *ports;
    struct upcall_groups *groups;
    uint32_t n;
    struct upcall_handler *handlers[];
};

/* Makes a set of 'n' handlers, at least 1, in groups of at most 'group_size',
 * of generation 'generation', which receive from the channels of 'ports' with
 * engines of class 'engine' and count in 'stats'.  Returns 0 or a positive
 * errno value, after a message. */
int upcall_set_create(struct upcall_ports *ports, struct upcall_stats *stats,
                      uint32_t n, uint32_t group_size, uint32_t generation,
                      const struct upcall_engine_class *engine,
                      struct upcall_set **);

/* Frees a set that was never published.  NULL does nothing. */
void upcall_set_destroy(struct upcall_set *);

/* Makes the handlers of 'set', which is not published yet, successors of the
 * handlers of 'old'. */
void upcall_set_inherit(struct upcall_set *set, const struct upcall_set *old);

/* Retires 'old', which threads no longer find, and frees it after a grace
 * period.  'n_successors' of its handlers have a successor. */
void upcall_set_retire(struct upcall_set *old, uint32_t n_successors);

#endif /* lib/upcall/upcall-set.h */
