/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/offload/transitions.h"

#include "harness/unit.h"
#include "ovs-atomic.h"

#define MAX_STATES 4

static atomic_count reached[OFFLOAD_N_MACHINES][MAX_STATES][MAX_STATES];

/* The linker sends the calls of the engine here. */
void __real_offload_transition_check(enum offload_machine_id,
                                     unsigned int from, unsigned int to);
void __wrap_offload_transition_check(enum offload_machine_id,
                                     unsigned int from, unsigned int to);

void
__wrap_offload_transition_check(enum offload_machine_id id, unsigned int from,
                                unsigned int to)
{
    unit_check(from < MAX_STATES && to < MAX_STATES);
    atomic_count_inc(&reached[id][from][to]);
    __real_offload_transition_check(id, from, to);
}

unsigned int
unit_transitions(enum offload_machine_id id, unsigned int from,
                 unsigned int to)
{
    return atomic_count_get(&reached[id][from][to]);
}
