/* SPDX-License-Identifier: Apache-2.0 */

#ifndef OFFLOAD_TRANSITIONS_H
#define OFFLOAD_TRANSITIONS_H 1

/* Records which transitions of the states of flows (offload/offload-state.h)
 * a test reaches.  It links with -Wl,--wrap=offload_transition_check.
 *
 * Thread safety: any thread, any time. */

#include <stdbool.h>
#include <stddef.h>

#include "offload/offload-state.h"

/* Number of times that the transition was made. */
unsigned int unit_transitions(enum offload_machine_id, unsigned int from,
                              unsigned int to);

/* One that is not made, and why. */
struct unit_transition {
    enum offload_machine_id id;
    unsigned int from, to;
    const char *why;
};

bool unit_has_transitions(const struct unit_transition elsewhere[], size_t n);
void unit_check_transitions(const struct unit_transition elsewhere[],
                            size_t n);

#endif /* tests/unit/offload/transitions.h */
