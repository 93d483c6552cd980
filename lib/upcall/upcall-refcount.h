/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_UPCALL_REFCOUNT_H
#define KDP_UPCALL_REFCOUNT_H 1

/* Dropping references where the thread sanitizer can follow.
 *
 * Open vSwitch's reference counts order the destruction of an object behind
 * all earlier uses with a fence.  The thread sanitizer does not model fences,
 * and would report every destruction as a race; this header tells the
 * sanitizer what the fence means.  In other builds this is
 * ovs_refcount_unref(). */

#include "ovs-atomic.h"

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(ADDRESS) ((void) (ADDRESS))
#define __tsan_release(ADDRESS) ((void) (ADDRESS))
#endif

/* Drops a reference.  Returns true if it was the last one. */
static inline bool
upcall_refcount_unref(struct ovs_refcount *refcount)
{
    __tsan_release(refcount);
    if (ovs_refcount_unref(refcount) == 1) {
        __tsan_acquire(refcount);
        return true;
    }
    return false;
}

#endif /* lib/upcall/upcall-refcount.h */
