/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/nl-kernel.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "coverage.h"
#include "util.h"

COVERAGE_DEFINE(nl_not_kernel);

ssize_t
nl_kernel_recv(const struct mnl_socket *sock, void *buf, size_t size)
{
    for (;;) {
        struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
        struct iovec iov = { buf, size };
        struct msghdr msg = {
            .msg_name = &addr, .msg_namelen = sizeof addr,
            .msg_iov = &iov, .msg_iovlen = 1,
        };
        ssize_t n = recvmsg(mnl_socket_get_fd(sock), &msg, 0);

        if (n < 0) {
            return n;
        } else if (addr.nl_pid) {
            COVERAGE_INC(nl_not_kernel);
        } else if (msg.msg_flags & MSG_TRUNC) {
            errno = ENOSPC;
            return -1;
        } else {
            return n;
        }
    }
}
