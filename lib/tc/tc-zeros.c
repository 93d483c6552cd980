/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tc/tc-zeros.h"

#include <stdint.h>
#include <string.h>

#include "util.h"

bool kdp_stock_is_all_zeros(const void *, size_t);

/* In place of Open vSwitch's. */
bool
is_all_zeros(const void *p_, size_t n)
{
    const uint8_t *p = p_;
    uint64_t word;

    for (; n >= sizeof word; n -= sizeof word) {
        /* It may be at any address. */
        memcpy(&word, p, sizeof word);
        if (word) {
            return false;
        }
        p += sizeof word;
    }
    while (n) {
        if (*p++) {
            return false;
        }
        n--;
    }
    return true;
}

bool
kdp_tc_zeros_check(void)
{
    return is_all_zeros != kdp_stock_is_all_zeros;
}
