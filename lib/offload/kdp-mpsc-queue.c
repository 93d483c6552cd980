/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/kdp-mpsc-queue.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ovs-rcu.h"

/* Attempts to see the rest of a half-finished push before the CPU is yielded.
 * A running producer needs a few nanoseconds, and a cache line from another
 * CPU less than a microsecond.  A longer delay means that the producer was
 * preempted, possibly by this thread. */
#define KDP_MPSC_SPINS 64

void
kdp_mpsc_queue_init(struct kdp_mpsc_queue *queue)
{
    atomic_init(&queue->awake.next, NULL);
    atomic_init(&queue->asleep.next, NULL);
    atomic_init(&queue->tail, &queue->awake);
    atomic_init(&queue->wakeups, 0);
    queue->first = NULL;
    queue->front = &queue->awake;
    queue->seen = 0;
}

void
kdp_mpsc_queue_destroy(struct kdp_mpsc_queue *queue OVS_UNUSED)
{
    /* Nothing was allocated. */
}

void
kdp_mpsc_backoff__(unsigned int attempt)
{
    if (attempt >= KDP_MPSC_SPINS) {
        sched_yield();
    } else {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
}

void
kdp_mpsc_queue_wake__(struct kdp_mpsc_queue *queue)
{
    uint32_t orig;

    /* Release: what the caller did before, for the woken thread [C]. */
    atomic_add_explicit(&queue->wakeups, 1, &orig, memory_order_release);
    syscall(SYS_futex, &queue->wakeups, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Makes the consumer's present kdp_mpsc_queue_wait(), or its next one, return
 * without a node, for example to end its thread after setting a flag. */
void
kdp_mpsc_queue_kick(struct kdp_mpsc_queue *queue)
{
    kdp_mpsc_queue_wake__(queue);
}

/* Sleeps until 'queue->wakeups' differs from 'queue->seen'.  Returns false if
 * the time came to 'deadline' first. */
static bool
wait_for_wakeup(struct kdp_mpsc_queue *queue, long long int deadline)
{
    struct timespec ts = {      /* 0 has passed, and < 0 is no time. */
        .tv_sec = MAX(deadline, 0) / 1000,
        .tv_nsec = MAX(deadline, 0) % 1000 * 1000000,
    };
    struct timespec *timeout = deadline == LLONG_MAX ? NULL : &ts;

    for (;;) {
        uint32_t wakeups;

        /* Acquire: what was done before a kick [C]. */
        atomic_read_explicit(&queue->wakeups, &wakeups, memory_order_acquire);
        if (wakeups != queue->seen) {
            return true;
        }

        /* This operation takes the absolute time of the monotonic clock.  It
         * does not sleep if the number has changed meanwhile. */
        if (syscall(SYS_futex, &queue->wakeups, FUTEX_WAIT_BITSET_PRIVATE,
                    wakeups, timeout, NULL, FUTEX_BITSET_MATCH_ANY)
            && errno == ETIMEDOUT) {
            return false;
        }
    }
}

/* Waits until there is something in 'queue', a thread calls
 * kdp_mpsc_queue_kick(), or it is 'deadline', in milliseconds like
 * time_msec(); LLONG_MAX is never.  Returns false if the deadline has passed,
 * otherwise true.  In either case there may be a node or none, because a
 * wake-up may come late.  While asleep the thread is quiescent, so that
 * pointers protected by RCU do not outlive the call. */
bool
kdp_mpsc_queue_wait(struct kdp_mpsc_queue *queue, long long int deadline)
{
    struct kdp_mpsc_node *tail = &queue->awake;
    bool in_time = true;
    uint32_t wakeups;

    if (queue->first) {
        return true;
    }

    /* Acquire: what was done before a kick [C]. */
    atomic_read_explicit(&queue->wakeups, &wakeups, memory_order_acquire);
    if (wakeups != queue->seen) {
        queue->seen = wakeups;
        return true;
    }

    /* If the dummy is 'asleep', there has been a push since the last sleep:
     * the first node that is taken replaces it.
     *
     * Release: the NULL [B].  No thread can be about to write that link: the
     * node that was last pushed on this dummy has long been taken out. */
    if (queue->front != &queue->awake) {
        return true;
    }
    atomic_store_relaxed(&queue->asleep.next, NULL);
    if (!atomic_compare_exchange_strong_explicit(
            &queue->tail, &tail, &queue->asleep, memory_order_release,
            memory_order_relaxed)) {
        return true;
    }
    queue->front = &queue->asleep;

    ovsrcu_quiesce_start();
    in_time = wait_for_wakeup(queue, deadline);
    ovsrcu_quiesce_end();

    /* Awake again.  If this fails there is a node, whose producer has woken us
     * or is about to; a late wake-up ends the next wait.
     *
     * Release: the NULL [B]. */
    tail = &queue->asleep;
    atomic_store_relaxed(&queue->awake.next, NULL);
    if (atomic_compare_exchange_strong_explicit(
            &queue->tail, &tail, &queue->awake, memory_order_release,
            memory_order_relaxed)) {
        queue->front = &queue->awake;
    }
    atomic_read_explicit(&queue->wakeups, &queue->seen, memory_order_acquire);
    return in_time;
}
