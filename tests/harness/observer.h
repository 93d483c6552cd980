/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_OBSERVER_H
#define HARNESS_OBSERVER_H 1

/* Whether the kernel is at rest
 * =============================
 *
 * An observer hears everything that the kernel announces about links,
 * addresses, routes, queueing disciplines and namespace ids, in the namespace
 * in which it was opened and in those that have an id there.  With it, a test
 * waits until the kernel has nothing more to say: some carriers are announced
 * up to a second after they came, and namespaces go in the kernel's own time.
 *
 * Thread safety: an observer belongs to one thread. */

#include <stdbool.h>

struct unit_observer;

struct unit_observer *unit_observer_open(void);

/* Closes an observer, which may be NULL. */
void unit_observer_close(struct unit_observer *);

/* Waits until the kernel was silent for long enough to be at rest. */
void unit_observer_wait_rest(struct unit_observer *);

/* True if the kernel has announced something since unit_observer_wait_rest(),
 * or does so within as long as that takes. */
bool unit_observer_hears(struct unit_observer *);

#endif /* tests/harness/observer.h */
