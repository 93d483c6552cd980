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
        socklen_t len = sizeof addr;
        ssize_t n = recvfrom(mnl_socket_get_fd(sock), buf, size, MSG_TRUNC,
                             (struct sockaddr *) &addr, &len);

        if (n < 0) {
            return n;
        } else if (addr.nl_pid) {
            COVERAGE_INC(nl_not_kernel);
        } else if ((size_t) n > size) {
            errno = ENOSPC;
            return -1;
        } else {
            return n;
        }
    }
}
