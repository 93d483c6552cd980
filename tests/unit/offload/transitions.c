/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/offload/transitions.h"

#include "harness/unit.h"
#include "ovs-atomic.h"

#define MAX_STATES 5

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

/* Is 't' of machine 'id' one of the 'n' of 'elsewhere'? */
static bool
is_elsewhere(enum offload_machine_id id, const struct offload_transition *t,
             const struct unit_transition elsewhere[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (elsewhere[i].id == id && elsewhere[i].from == t->from
            && elsewhere[i].to == t->to) {
            return true;
        }
    }
    return false;
}

/* Was each transition of the tables made, but for the 'n' of 'elsewhere'? */
bool
unit_has_transitions(const struct unit_transition elsewhere[], size_t n)
{
    for (enum offload_machine_id i = 0; i < OFFLOAD_N_MACHINES; i++) {
        const struct offload_machine *machine = &offload_machines[i];

        for (size_t j = 0; j < machine->n_transitions; j++) {
            const struct offload_transition *t = &machine->transitions[j];

            if (!unit_transitions(i, t->from, t->to)
                && !is_elsewhere(i, t, elsewhere, n)) {
                return false;
            }
        }
    }
    return true;
}

/* Fails unless each transition of the tables was made, but for the 'n' of
 * 'elsewhere', which were not. */
void
unit_check_transitions(const struct unit_transition elsewhere[], size_t n)
{
    for (enum offload_machine_id i = 0; i < OFFLOAD_N_MACHINES; i++) {
        const struct offload_machine *machine = &offload_machines[i];

        for (size_t j = 0; j < machine->n_transitions; j++) {
            const struct offload_transition *t = &machine->transitions[j];
            unsigned int n_made = unit_transitions(i, t->from, t->to);

            if (!n_made != is_elsewhere(i, t, elsewhere, n)) {
                unit_die("%s: \"%s\" to \"%s\" (%s) was made %u times",
                         machine->name, machine->states[t->from],
                         machine->states[t->to], t->why, n_made);
            }
        }
    }
}
