/* SPDX-License-Identifier: Apache-2.0 */

/* Whether bytes are zeros, as Open vSwitch's own function tells it. */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "util.h"

#define MAX_SIZE 40

bool kdp_stock_is_all_zeros(const void *, size_t);

static void
ours_is_called(void **state OVS_UNUSED)
{
    assert_true(is_all_zeros != kdp_stock_is_all_zeros);
}

/* Of each size, at each address, and with one byte that is not zero anywhere,
 * also just before and just behind.  The block ends where the bytes end, so
 * that a sanitizer sees what is read behind them. */
static void
any_byte_counts_and_no_other(void **state OVS_UNUSED)
{
    for (size_t size = 0; size <= MAX_SIZE; size++) {
        for (size_t start = 0; start < 8; start++) {
            uint8_t *bytes = xzalloc(start + size + 1);
            uint8_t *exact = xmalloc(start + size);

            for (size_t set = 0; set <= start + size; set++) {
                bool zeros = set < start || set == start + size;

                bytes[set] = 0x80;
                memcpy(exact, bytes, start + size);
                assert_int_equal(is_all_zeros(exact + start, size), zeros);
                assert_int_equal(kdp_stock_is_all_zeros(exact + start, size),
                                 zeros);
                bytes[set] = 0;
            }
            free(bytes);
            free(exact);
        }
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_is_called),
        cmocka_unit_test(any_byte_counts_and_no_other),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-zeros", tests, NULL, NULL);
}
