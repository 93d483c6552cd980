/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <sys/socket.h>

#include "util.h"

/* The group of traffic control brings filters too, and with them every rule
 * that is offloaded.  A datagram has messages of one kind, so that
 * its first one's type decides. */
static const uint16_t link_filter_types[] = {
    RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR, RTM_NEWROUTE,
    RTM_DELROUTE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_NEWQDISC, RTM_DELQDISC,
    RTM_NEWTCLASS, RTM_DELTCLASS, RTM_NEWNSID, RTM_DELNSID,
};

#define N_TYPES ARRAY_SIZE(link_filter_types)

int
link_filter_attach(int fd)
{
    struct sock_filter code[N_TYPES + 3];
    struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

    code[0] = (struct sock_filter) BPF_STMT(
        BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type));
    for (size_t i = 0; i < N_TYPES; i++) {
        /* The filter reads in network byte order what is in the host's.  A
         * match jumps over the rest and the statement that drops. */
        code[i + 1] = (struct sock_filter) BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, htons(link_filter_types[i]),
            N_TYPES - i, 0);
    }
    code[N_TYPES + 1] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, 0);
    code[N_TYPES + 2] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K,
                                                      UINT32_MAX);
    return (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                       sizeof program) ? errno : 0);
}
