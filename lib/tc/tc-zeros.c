/* SPDX-License-Identifier: Apache-2.0 */

/* Are bytes zeros?
 *
 * When Open vSwitch translates a flow for tc, it looks whether the fields of
 * tunnels, and what is left of the mask, are zeros: some 1,400 bytes for each
 * rule.  Its function looks at one byte after the other.  That was a fifteenth
 * of the time of an offload thread.  The one here, which stands for it in the
 * whole daemon, looks at eight.  Where it does not, nothing is wrong but
 * slower, so that the daemon does not check it.
 *
 * Thread safety: any thread. */

#include <config.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "util.h"

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
