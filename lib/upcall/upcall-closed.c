/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-closed.h"

#include "ovs-atomic.h"
#include "util.h"

#define N_COUNTS 64

/* Bit for each count that somebody watches. */
static atomic_uint64_t watched = 0;
static atomic_uint64_t counts[N_COUNTS];

int __real_close(int fd);
int __real_dup2(int old, int new);
int __real_dup3(int old, int new, int flags);

uint64_t
upcall_closed_watch(int fd)
{
    unsigned int i = (unsigned int) fd % N_COUNTS;
    uint64_t mask, count;

    atomic_read_relaxed(&watched, &mask);
    if (OVS_UNLIKELY(!(mask & UINT64_C(1) << i))) {
        atomic_or_relaxed(&watched, UINT64_C(1) << i, &mask);
    }
    atomic_read_relaxed(&counts[i], &count);
    return count;
}

static void
count(int fd)
{
    unsigned int i = (unsigned int) fd % N_COUNTS;
    uint64_t mask, orig;

    atomic_read_relaxed(&watched, &mask);
    if (OVS_UNLIKELY(mask & UINT64_C(1) << i)) {
        atomic_add_relaxed(&counts[i], 1, &orig);
    }
}

int
__wrap_close(int fd)
{
    count(fd);
    return __real_close(fd);
}

int
__wrap_dup2(int old, int new)
{
    count(new);
    return __real_dup2(old, new);
}

int
__wrap_dup3(int old, int new, int flags)
{
    count(new);
    return __real_dup3(old, new, flags);
}
