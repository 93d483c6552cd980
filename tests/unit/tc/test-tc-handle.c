/* SPDX-License-Identifier: Apache-2.0 */

/* Handles of rules, and those that a previous run has left.  The range is
 * chosen once in a process. */

#include <config.h>
#include "tc/tc-handle.h"

#include "harness/processes.h"
#include "harness/unit.h"
#include "random.h"
#include "util.h"

/* Marks the handles of all ranges but 'left' as found. */
static void
find_all_but(uint32_t left)
{
    for (uint32_t i = 0; i < KDP_TC_HANDLE_RANGES; i++) {
        uint32_t handle_0 = KDP_TC_HANDLE_FIRST + i * KDP_TC_HANDLE_N;

        if (i != left) {
            kdp_tc_handle_found(handle_0 + random_range(KDP_TC_HANDLE_N));
        }
    }
}

/* Ranges that are free in a process, and the case that none is. */
static const uint32_t free_ranges[] = {
    0, 1, 32, 100, KDP_TC_HANDLE_RANGES - 2, KDP_TC_HANDLE_RANGES - 1,
    KDP_TC_HANDLE_RANGES,
};

static void
choose_free_range(unsigned int i)
{
    const uint32_t left = free_ranges[i];
    uint32_t handle, range;

    find_all_but(left);
    unit_check(kdp_tc_handle_new(&handle));
    unit_check(kdp_tc_is_own_handle(handle));
    range = (handle - KDP_TC_HANDLE_FIRST) / KDP_TC_HANDLE_N;
    unit_check(handle >= KDP_TC_HANDLE_FIRST && range < KDP_TC_HANDLE_RANGES);
    unit_check(left == KDP_TC_HANDLE_RANGES || range == left);
    kdp_tc_handle_free(handle);
}

static void
only_free_range_is_chosen_wherever_it_is(void **state OVS_UNUSED)
{
    unit_run_processes(ARRAY_SIZE(free_ranges), choose_free_range);
}

/* All handles are said to be found but those of one range: then chance does
 * not decide. */
static void
handles_of_a_previous_run_are_avoided(void **state OVS_UNUSED)
{
    uint32_t left = random_range(KDP_TC_HANDLE_RANGES);
    uint32_t first = KDP_TC_HANDLE_FIRST + left * KDP_TC_HANDLE_N;
    uint32_t handle;

    kdp_tc_handle_found(KDP_TC_HANDLE_FIRST - 1);
    kdp_tc_handle_found(KDP_TC_HANDLE_FIRST
                        + KDP_TC_HANDLE_RANGES * KDP_TC_HANDLE_N);
    kdp_tc_handle_found(0);
    kdp_tc_handle_found(UINT32_MAX);
    find_all_but(left);
    assert_false(kdp_tc_is_own_handle(first - 1));
    assert_true(kdp_tc_is_own_handle(first));
    assert_true(kdp_tc_is_own_handle(first + KDP_TC_HANDLE_N - 1));
    assert_false(kdp_tc_is_own_handle(first + KDP_TC_HANDLE_N));
    assert_true(kdp_tc_handle_new(&handle));
    assert_true(kdp_tc_is_own_handle(handle));
    kdp_tc_handle_free(handle);
}

/* Too late: the range stays. */
static void
handles_found_later_change_nothing(void **state OVS_UNUSED)
{
    uint32_t first, second;

    assert_true(kdp_tc_handle_new(&first));
    kdp_tc_handle_found(first);
    assert_true(kdp_tc_is_own_handle(first));
    assert_true(kdp_tc_handle_new(&second));
    assert_int_not_equal(first, second);
    assert_true(kdp_tc_is_own_handle(second));
    kdp_tc_handle_free(first);
    kdp_tc_handle_free(second);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_free_range_is_chosen_wherever_it_is),
        cmocka_unit_test(handles_of_a_previous_run_are_avoided),
        cmocka_unit_test(handles_found_later_change_nothing),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-handle", tests, NULL, NULL);
}
