/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/nl-filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "util.h"

int
nl_filter_attach(int fd, const uint16_t types[], size_t n)
{
    struct sock_filter code[NL_FILTER_MAX + 3];
    struct sock_fprog program = { .len = n + 3, .filter = code };

    ovs_assert(n <= NL_FILTER_MAX);
    code[0] = (struct sock_filter) BPF_STMT(
        BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type));
    for (size_t i = 0; i < n; i++) {
        /* The filter reads in network byte order what is in the host's.  A
         * match jumps over the rest and the statement that drops. */
        code[i + 1] = (struct sock_filter) BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, htons(types[i]), n - i, 0);
    }
    code[n + 1] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, 0);
    code[n + 2] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    return (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                       sizeof program) ? errno : 0);
}
