/* SPDX-License-Identifier: Apache-2.0 */

/* States of flows that test-offload-model.c does not reach (O1, O2: what
 * changes with a state is changed with it). */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>

#include "harness/unit.h"
#include "util.h"

#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

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

    offload_fake_remove(unit.fake, false, &other->ufid);
    assert_int_equal(unit_put(&unit, unit_desc(1, 1), MODIFY), 0);
    offload_barrier(unit.offload);
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
    assert_int_equal(unit_where(&unit, 1), OFFLOAD_FAKE_KERNEL);
    unit_offload_uninit(&unit);
}

/* A packet of 'n_bytes' meets flow 1 in tc. */
static void
packet_in_tc(struct unit_offload *unit, unsigned int n_bytes)
{
    const ovs_u128 ufid = unit_ufid(1);

    assert_int_equal(offload_fake_packet(unit->fake, &ufid, n_bytes),
                     OFFLOAD_FAKE_TC);
}

/* Its statistics begin with 0, because packets of the previous run do not
 * belong to the rules of this one. */
static void
rule_of_a_previous_run_is_adopted(void **state OVS_UNUSED)
{
    struct offload_desc *desc = unit_desc(1, 1);
    struct offload_op op = { .type = OFFLOAD_DEL, .ufid = desc->ufid };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 0);
    offload_fake_add(unit.fake, true, desc);
    packet_in_tc(&unit, 60);
    packet_in_tc(&unit, 1500);
    offload_port_add(unit.offload, 1);
    offload_barrier(unit.offload);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    packet_in_tc(&unit, 100);
    offload_operate(unit.offload, (struct offload_op *[]) { &op }, 1);
    assert_int_equal(op.error, 0);
    assert_int_equal(op.stats.n_packets, 1);
    assert_int_equal(op.stats.n_bytes, 100);
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
    };

    unit_init("test-offload-state");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-state", tests, NULL, NULL);
}
