/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-buffers.h"

#include <sys/mman.h>

#include "ovs/compat-daemon.h"

/* Nearly all of the buffers' pages are never touched, because most upcalls are
 * small.  With huge pages, memory would back them nevertheless, 4 MB for each
 * handler, because the first page of each buffer is used.
 *
 * Under --mlockall the kernel backs a mapping with memory at once, 5 MB for
 * each handler, unless the mapping cannot be accessed.  So the buffers are
 * mapped without access, and get access after they are unlocked. */
void *
upcall_buffers_map(unsigned int n_msgs, size_t msg_size)
{
    size_t size = n_msgs * msg_size;
    void *buffers = mmap(NULL, size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (buffers == MAP_FAILED) {
        return NULL;
    }

    /* Fails where the kernel has no huge pages. */
    madvise(buffers, size, MADV_NOHUGEPAGE);
    if (ovs_compat_memory_locked()) {
        munlock(buffers, size);
    }
    if (mprotect(buffers, size, PROT_READ | PROT_WRITE)) {
        upcall_buffers_unmap(buffers, n_msgs, msg_size);
        return NULL;
    }
    return buffers;
}

void
upcall_buffers_unmap(void *buffers, unsigned int n_msgs, size_t msg_size)
{
    munmap(buffers, n_msgs * msg_size);
}
