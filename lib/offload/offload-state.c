/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-state.h"

#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(offload_state);

static const char *const life_names[] = {
    [OFFLOAD_LIFE_NEW] = "new",
    [OFFLOAD_LIFE_PRESENT] = "present",
    [OFFLOAD_LIFE_DELETING] = "deleting",
    [OFFLOAD_LIFE_GONE] = "gone",
};

static const struct offload_transition life_transitions[] = {
    { OFFLOAD_LIFE_NEW, OFFLOAD_LIFE_PRESENT, "made, learned or adopted" },
    { OFFLOAD_LIFE_NEW, OFFLOAD_LIFE_GONE, "could not be made" },
    { OFFLOAD_LIFE_PRESENT, OFFLOAD_LIFE_DELETING, "deleted or flushed" },
    { OFFLOAD_LIFE_DELETING, OFFLOAD_LIFE_GONE, "not in tc any more" },
    { OFFLOAD_LIFE_DELETING, OFFLOAD_LIFE_PRESENT, "tc does not delete it" },
};

static const char *const kernel_names[] = {
    [OFFLOAD_KERNEL_NONE] = "none",
    [OFFLOAD_KERNEL_PRESENT] = "present",
    [OFFLOAD_KERNEL_REFUSED] = "refused",
};

static const struct offload_transition kernel_transitions[] = {
    { OFFLOAD_KERNEL_NONE, OFFLOAD_KERNEL_PRESENT, "put or found" },
    { OFFLOAD_KERNEL_NONE, OFFLOAD_KERNEL_REFUSED, "change refused" },
    { OFFLOAD_KERNEL_PRESENT, OFFLOAD_KERNEL_NONE, "deleted, by whomever" },
    { OFFLOAD_KERNEL_REFUSED, OFFLOAD_KERNEL_PRESENT, "not refused again" },
};

static const char *const tc_names[] = {
    [OFFLOAD_TC_NONE] = "none",
    [OFFLOAD_TC_INSERTING] = "inserting",
    [OFFLOAD_TC_PRESENT] = "present",
};

static const struct offload_transition tc_transitions[] = {
    { OFFLOAD_TC_NONE, OFFLOAD_TC_INSERTING, "request is sent" },
    { OFFLOAD_TC_NONE, OFFLOAD_TC_PRESENT, "adopted" },
    { OFFLOAD_TC_INSERTING, OFFLOAD_TC_PRESENT, "tc took it" },
    { OFFLOAD_TC_INSERTING, OFFLOAD_TC_NONE, "tc did not take it" },
    { OFFLOAD_TC_PRESENT, OFFLOAD_TC_NONE, "deleted, vanished or left" },
};

static const char *const target_names[] = {
    [OFFLOAD_TARGET_KERNEL] = "kernel",
    [OFFLOAD_TARGET_TC] = "tc",
    [OFFLOAD_TARGET_NOWHERE] = "nowhere",
};

static const struct offload_transition target_transitions[] = {
    { OFFLOAD_TARGET_KERNEL, OFFLOAD_TARGET_TC, "offered or adopted" },
    { OFFLOAD_TARGET_KERNEL, OFFLOAD_TARGET_NOWHERE, "deleted or lost" },
    { OFFLOAD_TARGET_TC, OFFLOAD_TARGET_KERNEL, "returned or rejected" },
    { OFFLOAD_TARGET_TC, OFFLOAD_TARGET_NOWHERE, "deleted or lost" },
    { OFFLOAD_TARGET_NOWHERE, OFFLOAD_TARGET_KERNEL,
      "changed, or its port is back" },
};

static const char *const work_names[] = {
    [OFFLOAD_WORK_IDLE] = "idle",
    [OFFLOAD_WORK_QUEUED] = "queued",
    [OFFLOAD_WORK_BUSY] = "busy",
    [OFFLOAD_WORK_WAITING] = "waiting",
    [OFFLOAD_WORK_PAUSED] = "paused",
};

static const struct offload_transition work_transitions[] = {
    { OFFLOAD_WORK_IDLE, OFFLOAD_WORK_QUEUED, "requested" },
    { OFFLOAD_WORK_IDLE, OFFLOAD_WORK_BUSY, "adopted" },
    { OFFLOAD_WORK_QUEUED, OFFLOAD_WORK_BUSY, "taken by the thread" },
    { OFFLOAD_WORK_QUEUED, OFFLOAD_WORK_IDLE, "offer dropped, handed over" },
    { OFFLOAD_WORK_BUSY, OFFLOAD_WORK_IDLE, "target reached" },
    { OFFLOAD_WORK_BUSY, OFFLOAD_WORK_WAITING, "parent not in tc" },
    { OFFLOAD_WORK_BUSY, OFFLOAD_WORK_PAUSED, "a rule is not deleted yet" },
    { OFFLOAD_WORK_PAUSED, OFFLOAD_WORK_QUEUED, "tried again" },
    { OFFLOAD_WORK_PAUSED, OFFLOAD_WORK_IDLE, "request taken back" },
    { OFFLOAD_WORK_WAITING, OFFLOAD_WORK_QUEUED, "parent came" },
    { OFFLOAD_WORK_WAITING, OFFLOAD_WORK_IDLE, "request taken back" },
};

#define MACHINE(NAME)                                                       \
    { #NAME, NAME##_names, ARRAY_SIZE(NAME##_names),                        \
      NAME##_transitions, ARRAY_SIZE(NAME##_transitions) }

const struct offload_machine offload_machines[OFFLOAD_N_MACHINES] = {
    [OFFLOAD_MACHINE_LIFE] = MACHINE(life),
    [OFFLOAD_MACHINE_KERNEL] = MACHINE(kernel),
    [OFFLOAD_MACHINE_TC] = MACHINE(tc),
    [OFFLOAD_MACHINE_TARGET] = MACHINE(target),
    [OFFLOAD_MACHINE_WORK] = MACHINE(work),
};

bool
offload_transition_is_allowed(enum offload_machine_id id, unsigned int from,
                              unsigned int to)
{
    const struct offload_machine *machine = &offload_machines[id];

    for (size_t i = 0; i < machine->n_transitions; i++) {
        if (machine->transitions[i].from == from
            && machine->transitions[i].to == to) {
            return true;
        }
    }
    return false;
}

/* Ends the process unless the transition is allowed. */
void
offload_transition_check(enum offload_machine_id id, unsigned int from,
                         unsigned int to)
{
    if (!offload_transition_is_allowed(id, from, to)) {
        const struct offload_machine *machine = &offload_machines[id];

        VLOG_ABORT("offload: a flow's state \"%s\" changes from \"%s\" to "
                   "\"%s\"", machine->name, machine->states[from],
                   machine->states[to]);
    }
}
