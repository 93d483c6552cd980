/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_WAIT_H
#define HARNESS_WAIT_H 1

/* Waiting
 * =======
 *
 * For events in another thread or the kernel.  A test that waits for nothing
 * in particular, such as one that shows that nothing happens, sleeps with
 * unit_sleep_us().
 *
 * Thread safety: any thread may use everything at any time. */

#include "harness/clock.h"

/* Milliseconds that a test waits: longer than anything takes that is going to
 * happen, even on a loaded machine. */
#define UNIT_PATIENCE unit_patience()
long long int unit_patience(void);

/* Waits until CONDITION holds, for at most UNIT_PATIENCE. */
#define unit_wait_until(CONDITION)                                      \
    do {                                                                \
        struct unit_wait wait__;                                        \
                                                                        \
        unit_wait_begin__(&wait__, #CONDITION, __FILE__, __LINE__);     \
        while (!(CONDITION)) {                                          \
            unit_wait_pause__(&wait__);                                 \
        }                                                               \
        unit_wait_end__(&wait__);                                       \
    } while (0)

/* Lets other threads run: sleeps for a millisecond, and quiesces for RCU. */
void unit_pause(void);

/* Sleeps.  Unlike unit_pause(), does not quiesce. */
void unit_sleep_us(unsigned int usec);

/* Waits until all postponed RCU callbacks have run. */
void unit_rcu_barrier(void);

/* Implementation of unit_wait_until(). */
struct unit_wait {
    const char *condition;
    const char *file;
    int line;
    long long int deadline;
};

void unit_wait_begin__(struct unit_wait *, const char *condition,
                       const char *file, int line);
void unit_wait_pause__(struct unit_wait *);
void unit_wait_end__(struct unit_wait *);

/* What the calling thread waits for, with a 'condition' of NULL if nothing. */
struct unit_wait unit_wait_current(void);

#endif /* tests/harness/wait.h */
