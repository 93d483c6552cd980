/* SPDX-License-Identifier: Apache-2.0 */

/* Makes deletions of filters from tc fail for the program that this library is
 * preloaded into, as long as the file $KDP_NO_TC_DELETION exists: the message
 * is not sent, as the kernel has no memory for it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Is 'iov' a request to delete a filter from tc? */
static bool
is_deletion(int fd, const struct iovec *iov)
{
    int protocol = -1, domain = -1;
    socklen_t len = sizeof(int);
    struct nlmsghdr nlh;

    if (iov->iov_len < sizeof nlh
        || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len)
        || domain != AF_NETLINK
        || getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len)
        || protocol != NETLINK_ROUTE) {
        return false;
    }
    memcpy(&nlh, iov->iov_base, sizeof nlh);
    return nlh.nlmsg_type == RTM_DELTFILTER;
}

ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
    static ssize_t (*real)(int, const struct msghdr *, int);
    const char *file = getenv("KDP_NO_TC_DELETION");

    if (!real) {
        real = (ssize_t (*)(int, const struct msghdr *, int)) dlsym(
            RTLD_NEXT, "sendmsg");
    }
    for (size_t i = 0; i < msg->msg_iovlen; i++) {
        if (is_deletion(fd, &msg->msg_iov[i])) {
            if (file && !access(file, F_OK)) {
                errno = ENOMEM;
                return -1;
            }
            break;
        }
    }
    return real(fd, msg, flags);
}
