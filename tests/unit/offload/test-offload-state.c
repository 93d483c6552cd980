/* SPDX-License-Identifier: Apache-2.0 */

/* The table of the states of flows, what guards it, and the transitions that
 * test-offload-model.c does not reach (O1, O2: what changes with a state is
 * changed with it). */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/unit.h"
#include "unit/offload/transitions.h"
#include "util.h"

#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

/* Is each state named, entered by some transition unless it is the first, and
 * left by one unless a flow ends there? */
static void
tables_are_complete(void **state OVS_UNUSED)
{
    for (enum offload_machine_id i = 0; i < OFFLOAD_N_MACHINES; i++) {
        const struct offload_machine *machine = &offload_machines[i];
        unsigned int entered = 1, left = 0;

        for (size_t j = 0; j < machine->n_transitions; j++) {
            const struct offload_transition *t = &machine->transitions[j];

            assert_true(t->from < machine->n_states);
            assert_true(t->to < machine->n_states);
            assert_int_not_equal(t->from, t->to);
            assert_true(offload_transition_is_allowed(i, t->from, t->to));
            offload_transition_check(i, t->from, t->to);
            entered |= 1u << t->to;
            left |= 1u << t->from;
            for (size_t k = 0; k < j; k++) {
                assert_false(machine->transitions[k].from == t->from
                             && machine->transitions[k].to == t->to);
            }
        }
        for (size_t j = 0; j < machine->n_states; j++) {
            assert_non_null(machine->states[j]);
        }
        assert_int_equal(entered, (1u << machine->n_states) - 1);
        assert_int_equal(left, entered
                         & ~(i == OFFLOAD_MACHINE_LIFE
                             ? 1u << OFFLOAD_LIFE_GONE : 0));
    }
}

/* Does the process end when it makes the transition? */
static bool
ends_the_process(enum offload_machine_id id, unsigned int from,
                 unsigned int to)
{
    int status;
    pid_t pid;

    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setrlimit(RLIMIT_CORE, &(struct rlimit) { 0, 0 });
        signal(SIGABRT, SIG_DFL);
        offload_transition_check(id, from, to);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
forbidden_transitions_end_the_process(void **state OVS_UNUSED)
{
    unsigned int n = 0;

    for (enum offload_machine_id i = 0; i < OFFLOAD_N_MACHINES; i++) {
        const struct offload_machine *machine = &offload_machines[i];

        for (size_t from = 0; from < machine->n_states; from++) {
            for (size_t to = 0; to < machine->n_states; to++) {
                bool allowed = offload_transition_is_allowed(i, from, to);

                assert_int_equal(ends_the_process(i, from, to), !allowed);
                n += !allowed;
            }
        }
    }

    /* 68 pairs of states, 30 transitions. */
    assert_int_equal(n, 38);
}

static void
assert_reached(enum offload_machine_id id, unsigned int from, unsigned int to)
{
    assert_true(unit_transitions(id, from, to) > 0);
}

/* The kernel has another flow in the place of one that is in tc only. */
static void
refused_change_is_a_state_of_the_kernel_copy(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1);
    struct offload_desc *other = unit_desc_like(2, desc);
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, desc, CREATE);
    offload_barrier(unit.offload);
    offload_fake_add(unit.fake, false, other);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    offload_barrier(unit.offload);
    assert_reached(OFFLOAD_MACHINE_KERNEL, OFFLOAD_KERNEL_NONE,
                   OFFLOAD_KERNEL_REFUSED);

    offload_fake_remove(unit.fake, false, &other->ufid);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    offload_barrier(unit.offload);
    assert_reached(OFFLOAD_MACHINE_KERNEL, OFFLOAD_KERNEL_REFUSED,
                   OFFLOAD_KERNEL_PRESENT);
    assert_int_equal(unit_where(&unit, 1), OFFLOAD_FAKE_TC);
    offload_desc_unref(other);
    unit_offload_uninit(&unit);
}

static void
lost_flow_can_be_changed(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .type = OFFLOAD_COPY_PUT, .error = ENOMEM, .n = 1,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    offload_fake_fail_next(unit.fake, &failure);
    offload_set_enabled(unit.offload, false);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    assert_reached(OFFLOAD_MACHINE_TARGET, OFFLOAD_TARGET_NOWHERE,
                   OFFLOAD_TARGET_KERNEL);
    assert_int_equal(unit_where(&unit, 1), OFFLOAD_FAKE_KERNEL);
    unit_offload_uninit(&unit);
}

static void
rule_of_a_previous_run_is_adopted(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1);
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 0);
    offload_fake_add(unit.fake, true, desc);
    offload_port_add(unit.offload, 1);
    offload_barrier(unit.offload);
    assert_reached(OFFLOAD_MACHINE_TC, OFFLOAD_TC_NONE, OFFLOAD_TC_PRESENT);
    assert_reached(OFFLOAD_MACHINE_WORK, OFFLOAD_WORK_IDLE,
                   OFFLOAD_WORK_BUSY);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_change_is_a_state_of_the_kernel_copy),
        cmocka_unit_test(lost_flow_can_be_changed),
        cmocka_unit_test(rule_of_a_previous_run_is_adopted),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(forbidden_transitions_end_the_process),
    };

    unit_init("test-offload-state");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-state", tests, NULL, NULL);
}
