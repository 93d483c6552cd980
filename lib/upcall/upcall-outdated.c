/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "upcall/upcall-outdated.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <stdint.h>
#include <sys/socket.h>

#include "odp-netlink.h"
#include "util.h"

/* Where a message has what. */
#define HEADERS_LEN (NLMSG_HDRLEN + GENL_HDRLEN + sizeof(struct ovs_header))
#define KEY_TYPE (HEADERS_LEN + offsetof(struct nlattr, nla_type))
#define ID_TYPE (KEY_TYPE + NLA_HDRLEN)
#define ID (HEADERS_LEN + 2 * NLA_HDRLEN)
#define MIN_LEN (ID + sizeof(uint32_t))

int
upcall_outdated_mark(int fd)
{
    /* The filter reads in network byte order what is in the host's. */
    const uint16_t mask = htons((uint16_t) NLA_TYPE_MASK);
    const uint16_t key = htons(OVS_PACKET_ATTR_KEY);
    const uint16_t id = htons(OVS_KEY_ATTR_RECIRC_ID);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, MIN_LEN, 0, 9),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, KEY_TYPE),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, key, 0, 6),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ID_TYPE),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, id, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ID),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, HEADERS_LEN),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };

    return (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                       sizeof program) ? errno : 0);
}

void
upcall_outdated_unmark(int fd)
{
    /* Fails if there is no filter. */
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &fd, sizeof fd);
}

bool
upcall_outdated_is(const void *msg, size_t len)
{
    const struct nlmsghdr *nlh = msg;

    return len == HEADERS_LEN && nlh->nlmsg_len >= MIN_LEN;
}
