/* SPDX-License-Identifier: Apache-2.0 */

#ifndef HARNESS_OBSERVER_H
#define HARNESS_OBSERVER_H 1

/* Whether the kernel is at rest
 * =============================
 *
 * An observer receives everything that the kernel announces about links,
 * addresses, routes, queueing disciplines and namespace ids, in the namespace
 * in which it was opened and in those that have an id there.  With it, a test
 * waits until the kernel has announced nothing for a while.
 *
 * The kernel may have been silent without being at rest.  It announces some
 * carriers up to a second late, an IPv6 address after it has found no
 * duplicate, and the end of a namespace when one of its threads gets to it,
 * all of that later on a loaded machine.  So a test that finds an unexpected
 * state waits for the next rest and looks again, for as long as
 * unit_wait_until() does.  Its counts are valid only if nothing was announced
 * meanwhile.
 *
 * Thread safety: an observer belongs to one thread. */

#include <stdbool.h>

struct unit_observer;

struct unit_observer *unit_observer_open(void);

/* Closes an observer, which may be NULL. */
void unit_observer_close(struct unit_observer *);

/* Waits until the kernel was silent for a while. */
void unit_observer_wait_rest(struct unit_observer *);

/* True if the kernel has announced something since unit_observer_wait_rest(),
 * and since the last call.  Does not wait. */
bool unit_observer_has_heard(struct unit_observer *);

#endif /* tests/harness/observer.h */
