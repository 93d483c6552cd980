/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine when copies of flows cannot be deleted.
 *
 *   O2  statistics_of_a_leaked_rule_are_not_those_of_the_next,
 *       kernel_copy_that_stays_does_no_harm
 *   O5  the others */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/unit.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE

static void
kernel_copy_that_stays_does_no_harm(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .type = OFFLOAD_COPY_DEL, .error = ENOMEM, .n = 3,
    };
    struct unit_offload unit;
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    unit_packets(&unit, 1, 4);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL | TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    unit_packets(&unit, 1, 4);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 8);
    assert_int_equal(unit_dump(&unit, NULL, 0), 1);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 8);
    unit_offload_uninit(&unit);
}

static void
rule_that_cannot_be_deleted_goes_with_its_port(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 3,
    };
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_del(&unit, 1, NULL), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 1);
    assert_int_equal(unit_where(&unit, 1), TC);
    offload_port_del(unit.offload, 1);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    unit_offload_uninit(&unit);
}

static int
fail_deletion_of_flow_4(void *aux OVS_UNUSED, bool tc,
                        const struct offload_copy_op *op)
{
    return (tc && op->type == OFFLOAD_COPY_DEL && op->ufid.u64.lo == 4
            ? EBUSY : 0);
}

static void
rule_that_cannot_be_deleted_goes_with_a_flush(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY,
    };
    struct unit_offload unit;

    config.n_threads = 3;
    unit_offload_init(&unit, &config, 5);
    for (uint32_t i = 1; i <= 5; i++) {
        unit_put(&unit, unit_desc(i, i), CREATE);
        offload_barrier(unit.offload);
        failure.n = 3;
        offload_fake_fail_next(unit.fake, &failure);
        assert_int_equal(unit_del(&unit, i, NULL), 0);
        assert_int_equal(unit_where(&unit, i), TC);
    }
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 5);

    /* One is back, whose old rule goes first. */
    unit_put(&unit, unit_desc(3, 3), CREATE);
    offload_barrier(unit.offload);
    assert_int_equal(unit_state(&unit, 3), OFFLOAD_STATE_IN_TC);
    assert_int_equal(offload_fake_count(unit.fake, true), 5);

    /* One cannot be deleted this time either. */
    offload_fake_set_fail(unit.fake, fail_deletion_of_flow_4, NULL);
    assert_int_equal(offload_flush(unit.offload), 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
    assert_int_equal(unit_where(&unit, 4), TC);
    offload_fake_set_fail(unit.fake, NULL, NULL);
    assert_int_equal(offload_flush(unit.offload), 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 5);
    unit_offload_uninit(&unit);
}

static void
statistics_of_a_leaked_rule_are_not_those_of_the_next(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 3,
    };
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(1);
    uint64_t n;

    unit_offload_init(&unit, NULL, 1);
    offload_fake_fail_next(unit.fake, &failure);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 5);
    unit_del(&unit, 1, NULL);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 1);

    offload_fake_hold(unit.fake);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    unit_get(&unit, 1, &n, NULL);
    assert_int_equal(n, 0);
    offload_fake_remove(unit.fake, true, &ufid);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_packets(&unit, 1, 2), TC);
    unit_del(&unit, 1, &n);
    assert_int_equal(n, 2);
    unit_offload_uninit(&unit);
}

static void
stale_rule_that_cannot_be_deleted_is_not_forgotten(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 4,
    };
    struct offload_desc *desc = unit_desc(1, 1);
    struct unit_offload unit;

    unit_offload_init(&unit, NULL, 0);
    offload_fake_add(unit.fake, true, desc);
    unit_put(&unit, offload_desc_ref(desc), CREATE);
    offload_fake_fail_next(unit.fake, &failure);
    offload_port_add(unit.offload, 1);
    offload_barrier(unit.offload);
    offload_barrier(unit.offload);
    /* Three times when it is found, once more before the flow is put. */
    assert_int_equal(unit_counter(&unit, OFFLOAD_STALE), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_LEAKED), 1);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_REJECTED);
    assert_int_equal(offload_flush(unit.offload), 0);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_copy_that_stays_does_no_harm),
        cmocka_unit_test(rule_that_cannot_be_deleted_goes_with_its_port),
        cmocka_unit_test(rule_that_cannot_be_deleted_goes_with_a_flush),
        cmocka_unit_test(
            statistics_of_a_leaked_rule_are_not_those_of_the_next),
        cmocka_unit_test(stale_rule_that_cannot_be_deleted_is_not_forgotten),
    };

    unit_init("test-offload-leak");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-leak", tests, NULL, NULL);
}
