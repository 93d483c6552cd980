/* SPDX-License-Identifier: Apache-2.0 */

/* Seeds for Open vSwitch's random numbers, for each thread that uses them.
 *
 * Stock Open vSwitch opens a file for a seed, and ends the daemon if it
 * cannot.  A thread may need its first random number at any time, when a table
 * grows, and then the process may have no descriptor left.  The kernel's
 * system call does not need a descriptor.
 *
 * This file has all functions of Open vSwitch's lib/entropy.c, which is
 * therefore not linked.
 *
 * Thread safety: any thread. */

#include <config.h>
#include "entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(entropy);

/* Linux 5.6 and later: does not wait in the first moments after boot. */
#ifndef GRND_INSECURE
#define GRND_INSECURE 0x0004
#endif

/* Stores 'n' random bytes in 'buffer'.  Returns 0 or a positive errno
 * value. */
int
get_entropy(void *buffer, size_t n)
{
    unsigned int flags = GRND_INSECURE;
    char *p = buffer;

    while (n) {
        ssize_t retval = getrandom(p, n, flags);

        if (retval >= 0) {
            p += retval;
            n -= retval;
        } else if (errno == EINVAL && flags) {
            flags = 0;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* The same, but ends the program on failure, which does not happen on any
 * supported kernel. */
void
get_entropy_or_die(void *buffer, size_t n)
{
    int error = get_entropy(buffer, n);

    if (error) {
        VLOG_FATAL("no random numbers (%s)", ovs_strerror(error));
    }
}
