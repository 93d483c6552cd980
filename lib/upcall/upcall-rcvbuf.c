/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-rcvbuf.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/socket.h>

#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(upcall_rcvbuf);

/* Number of sockets so far whose buffer is smaller than requested. */
static atomic_count n_clamped = ATOMIC_COUNT_INIT(0);

unsigned int
upcall_rcvbuf_n_clamped(void)
{
    return atomic_count_get(&n_clamped);
}

uint64_t
upcall_rcvbuf_total(size_t n_ports, size_t n_others, uint32_t size)
{
    return ((uint64_t) n_ports * size
            + (uint64_t) n_others * UPCALL_RCVBUF_MAX) * 2;
}

uint32_t
upcall_rcvbuf_choose(uint64_t max, size_t n_ports, size_t n_others,
                     uint32_t old)
{
    uint32_t size = UPCALL_RCVBUF_MAX;

    while (size > UPCALL_RCVBUF_MIN
           && upcall_rcvbuf_total(n_ports, n_others, size) > max) {
        size /= 2;
    }

    /* The size does not grow before there is room for a third more ports. */
    while (old && size > old
           && upcall_rcvbuf_total(n_ports + n_ports / 3, n_others,
                                  size) > max) {
        size /= 2;
    }
    return size;
}

void
upcall_rcvbuf_change(int fd, uint32_t size_)
{
    int size = MIN(size_, INT_MAX / 2);

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
}

void
upcall_rcvbuf_set(int fd, uint32_t size_)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 1);
    int size = size_, actual = 0;
    socklen_t len = sizeof actual;

    if (!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size)) {
        return;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size)) {
        VLOG_WARN_RL(&rl, "setting a receive buffer of %d bytes failed (%s); "
                     "going on with the system's default", size,
                     ovs_strerror(errno));
    } else if (!getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &actual, &len)
               && actual / 2 < size) {
        atomic_count_inc(&n_clamped);
        VLOG_WARN_RL(&rl, "asked for a receive buffer of %d bytes for upcalls "
                     "and got %d: net.core.rmem_max limits it, because the "
                     "process lacks CAP_NET_ADMIN; more upcalls will be lost "
                     "in bursts", size, actual / 2);
    }
}
