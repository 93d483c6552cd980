/* SPDX-License-Identifier: Apache-2.0 */

/* Are bytes zeros?
 *
 * When Open vSwitch translates a flow for tc, it checks whether the fields of
 * tunnels, and the rest of the mask, are zero: some 1,400 bytes for each rule.
 * Its function, which compares one byte after the other, took a fifteenth of
 * the time of an offload thread.  This one replaces it in the whole daemon and
 * compares eight at a time.  If it does not take effect, the result is only
 * slower, so the daemon does not check it.
 *
 * Thread safety: any thread. */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util.h"

/* Replaces Open vSwitch's function. */
bool
is_all_zeros(const void *p_, size_t n)
{
    const uint8_t *p = p_;
    uint64_t word;

    for (; n >= sizeof word; n -= sizeof word) {
        /* 'p' may have any alignment. */
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
