/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_MPSC_QUEUE_H
#define KDP_MPSC_QUEUE_H 1

/* Queue from many producers to one consumer that may sleep
 * =========================================================
 *
 * Carries requests from the threads that make them to the thread that serves
 * them.  It is
 *
 *   - unbounded and intrusive: a node is part of the caller's object, so that
 *     nothing is allocated and a push cannot fail;
 *
 *   - first in, first out over all producers: nodes come out in the order in
 *     which the pushes exchanged the tail, so also in the order of each
 *     producer;
 *
 *   - gentle on producers: the consumer writes what producers write only when
 *     it has reached the end of the chain;
 *
 *   - slept on: the consumer can wait, and a producer pays a system call
 *     only if it is the one whose node ends the consumer's sleep.
 *
 * How it works
 * ------------
 *
 * A chain of nodes hangs from a dummy, 'front'.  'tail' points to the last
 * node, or to the dummy if there is none:
 *
 *     front -> A -> B -> C <- tail
 *
 * A push has two steps: (1) exchange 'tail' for the new node; (2) write the
 * new node into the 'next' of the one that was last.  Between them the push is
 * half-finished: the node has its place, but cannot be reached yet.
 *
 * The consumer follows the chain, and reads only nodes as long as they are
 * linked.  To take the last one, it replaces it as tail by a dummy whose
 * 'next' is NULL, with a compare-and-exchange that fails if there has been
 * another push; then the link to that node will appear.
 *
 * Only the consumer touches a node before its current position.  So a node may
 * be freed or pushed again as soon as it was taken out.
 *
 * There are two dummies.  To sleep, the consumer replaces the dummy 'awake' by
 * the dummy 'asleep' as tail, with a compare-and-exchange that fails if
 * anything was pushed.  The producer whose exchange returns 'asleep' has to
 * wake the consumer; all other producers get another node there and need not
 * care about sleep.  Falling asleep and each push change the same variable, so
 * one of them comes first and no wake-up is lost between them.  A push needs
 * no further barrier and no further variable.
 *
 * The exchange of the tail goes back to D. Vyukov's intrusive MPSC queue and
 * to liburcu's wfcqueue.
 *
 * Life cycle
 * ----------
 *
 * kdp_mpsc_queue_init(); pushes; kdp_mpsc_queue_destroy() when no call on the
 * queue is in progress or will follow.  When a node was taken out, its push
 * may not have returned yet: it may still have to wake the consumer.  The
 * caller owns nodes that are left in the queue.
 *
 * Synchronization table
 * ---------------------
 *
 * "-" means that the two may run at the same time, "X" that the caller has to
 * prevent it, usually by calling the consumer's operations from one thread
 * only, otherwise with a lock.
 *
 *                          push  kick  poll  pop  wait  init, destroy
 *     push                  -     -     -     -    -         X
 *     kick                  -     -     -     -    -         X
 *     poll                  -     -     X     X    X         X
 *     pop                   -     -     X     X    X         X
 *     wait                  -     -     X     X    X         X
 *
 * Linearization points
 * --------------------
 *
 *     push                      exchange of 'tail'
 *     poll, pop: a node         the consumer's step to the next node, or
 *                               compare-and-exchange of 'tail' that succeeds
 *     poll, pop: empty          reading from 'tail' that it is the dummy
 *     poll: busy                none: it says that a push is half-finished,
 *                               or was just now
 *     falling asleep            compare-and-exchange of 'tail' that succeeds
 *
 * Progress
 * --------
 *
 *     push, kick       wait-free (where the CPU has an atomic exchange)
 *     poll             wait-free
 *     pop              blocks while the next node is half-finished: two
 *                      instructions, or as long as a producer is preempted
 *                      between them.  It then yields the CPU.
 *     wait             blocks; that is its purpose
 *
 * A producer that is preempted half-way hides the nodes behind its own until
 * it runs again.  A thread must not be cancelled inside a push.
 *
 * Barrier pairs
 * -------------
 *
 *     [A] release in step 2 of a push    - acquire of 'next' by the consumer:
 *         what the producer wrote into its object is seen by the consumer.
 *     [B] release in exchanges of 'tail' - acquire in step 1 of a push: the
 *         NULL in a node's 'next' precedes the link that replaces it.
 *     [C] release of 'wakeups'           - acquire of 'wakeups' in wait: what
 *         was done before a kick is seen by the thread that it woke. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/compiler.h"
#include "ovs-atomic.h"
#include "util.h"

struct kdp_mpsc_node {
    ATOMIC(struct kdp_mpsc_node *) next;
};

/* The result of looking for a node. */
enum kdp_mpsc_result {
    KDP_MPSC_EMPTY,             /* No push has begun. */
    KDP_MPSC_NODE,              /* A node. */
    KDP_MPSC_BUSY,              /* The next push is half-finished. */
};

struct kdp_mpsc_queue {
    /* Written by producers.  The dummies are here because the 'next' of the
     * one in use is what a push to an empty queue writes after the tail, and
     * what the consumer of an empty queue looks at before it. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) ATOMIC(struct kdp_mpsc_node *) tail;
    struct kdp_mpsc_node awake;
    struct kdp_mpsc_node asleep;
    atomic_uint32_t wakeups;    /* Futex: number of wake-ups so far. */

    /* These belong to the consumer. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct kdp_mpsc_node *first;
                                /* First node of the chain, or NULL. */
    struct kdp_mpsc_node *front;    /* Dummy that the chain hangs from if
                                     * 'first' is NULL. */
    uint32_t seen;              /* Last value of 'wakeups' that ended a
                                 * wait. */
};

void kdp_mpsc_queue_init(struct kdp_mpsc_queue *);

/* The caller owns nodes that are left.  NULL does nothing. */
void kdp_mpsc_queue_destroy(struct kdp_mpsc_queue *);

/* Any thread. */
static inline void kdp_mpsc_queue_push(struct kdp_mpsc_queue *,
                                       struct kdp_mpsc_node *);
void kdp_mpsc_queue_kick(struct kdp_mpsc_queue *);

/* The consumer. */
static inline enum kdp_mpsc_result kdp_mpsc_queue_poll(
    struct kdp_mpsc_queue *, struct kdp_mpsc_node **);
static inline struct kdp_mpsc_node *kdp_mpsc_queue_pop(
    struct kdp_mpsc_queue *);
bool kdp_mpsc_queue_wait(struct kdp_mpsc_queue *, long long int deadline);

void kdp_mpsc_queue_wake__(struct kdp_mpsc_queue *);
void kdp_mpsc_backoff__(unsigned int attempt);

/* The two steps of a push, which tests run separately. */

static inline struct kdp_mpsc_node *
kdp_mpsc_queue_push_begin__(struct kdp_mpsc_queue *queue,
                            struct kdp_mpsc_node *node)
{
    atomic_store_relaxed(&node->next, NULL);

    /* Release: the NULL, for a thread that gets 'node' from 'tail' [B].
     * Acquire: the NULL in the returned node [B]. */
    return atomic_exchange_explicit(&queue->tail, node, memory_order_acq_rel);
}

static inline void
kdp_mpsc_queue_push_end__(struct kdp_mpsc_queue *queue,
                          struct kdp_mpsc_node *prev,
                          struct kdp_mpsc_node *node)
{
    /* Release: the caller's object [A].  From here on 'node' and, unless it is
     * a dummy, 'prev' may be gone. */
    atomic_store_explicit(&prev->next, node, memory_order_release);
    if (OVS_UNLIKELY(prev == &queue->asleep)) {
        kdp_mpsc_queue_wake__(queue);
    }
}

/* Appends 'node' to 'queue', which owns it until the consumer takes it out. */
static inline void
kdp_mpsc_queue_push(struct kdp_mpsc_queue *queue, struct kdp_mpsc_node *node)
{
    kdp_mpsc_queue_push_end__(queue, kdp_mpsc_queue_push_begin__(queue, node),
                              node);
}

/* If the consumer has no node yet, gives it the first one, from which the
 * chain then hangs.  Returns KDP_MPSC_NODE if it has one, otherwise
 * KDP_MPSC_EMPTY, or KDP_MPSC_BUSY if the first push is half-finished. */
static inline enum kdp_mpsc_result
kdp_mpsc_queue_start__(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *first, *tail;

    if (queue->first) {
        return KDP_MPSC_NODE;
    }

    /* Acquire: the object that 'first' is part of [A]. */
    atomic_read_explicit(&queue->front->next, &first, memory_order_acquire);
    if (!first) {
        /* Nothing is read through 'tail', so there is nothing to order. */
        atomic_read_relaxed(&queue->tail, &tail);
        return tail == queue->front ? KDP_MPSC_EMPTY : KDP_MPSC_BUSY;
    }
    queue->first = first;
    return KDP_MPSC_NODE;
}

/* Ends the chain after the consumer's first node, so that it can be taken.
 * Returns false, having done nothing, if there has been another push. */
static inline bool
kdp_mpsc_queue_end__(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *tail = queue->first;

    /* The link of 'front', even if that is the same dummy, was the last write
     * to it: no thread can be about to write it. */
    atomic_store_relaxed(&queue->awake.next, NULL);

    /* Release: the NULL [B]. */
    if (!atomic_compare_exchange_strong_explicit(
            &queue->tail, &tail, &queue->awake, memory_order_release,
            memory_order_relaxed)) {
        return false;
    }
    queue->front = &queue->awake;
    return true;
}

/* Takes the next node out of 'queue', stores it in '*node' and returns
 * KDP_MPSC_NODE.  Returns KDP_MPSC_EMPTY if there is none, or KDP_MPSC_BUSY if
 * its push, or the next one, is half-finished or was so just now. */
static inline enum kdp_mpsc_result
kdp_mpsc_queue_poll(struct kdp_mpsc_queue *queue, struct kdp_mpsc_node **node)
{
    enum kdp_mpsc_result result = kdp_mpsc_queue_start__(queue);
    struct kdp_mpsc_node *first, *next;

    if (result != KDP_MPSC_NODE) {
        return result;
    }
    first = queue->first;

    /* Acquire: the object that 'next' is part of [A]. */
    atomic_read_explicit(&first->next, &next, memory_order_acquire);
    if (!next && !kdp_mpsc_queue_end__(queue)) {
        return KDP_MPSC_BUSY;
    }
    queue->first = next;
    *node = first;
    return KDP_MPSC_NODE;
}

/* Does the same, but waits for half-finished pushes.  Returns NULL if 'queue'
 * is empty. */
static inline struct kdp_mpsc_node *
kdp_mpsc_queue_pop(struct kdp_mpsc_queue *queue)
{
    struct kdp_mpsc_node *node = NULL;

    for (unsigned int i = 0;
         kdp_mpsc_queue_poll(queue, &node) == KDP_MPSC_BUSY; i++) {
        kdp_mpsc_backoff__(i);
    }
    return node;
}

#endif /* lib/offload/kdp-mpsc-queue.h */
