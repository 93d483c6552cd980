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
#define COMMAND (NLMSG_HDRLEN + offsetof(struct genlmsghdr, cmd))
#define HEADERS_LEN (NLMSG_HDRLEN + GENL_HDRLEN + sizeof(struct ovs_header))
#define KEY_TYPE (HEADERS_LEN + offsetof(struct nlattr, nla_type))
#define ID_TYPE (KEY_TYPE + NLA_HDRLEN)
#define ID (HEADERS_LEN + 2 * NLA_HDRLEN)
#define MIN_LEN (ID + sizeof(uint32_t))

/* No command: genlmsghdr has 8 bits for it. */
#define NO_COMMAND UINT32_MAX

int
upcall_outdated_mark(int fd, bool adopted)
{
    /* The filter reads in network byte order what is in the host's. */
    const uint16_t mask = htons((uint16_t) NLA_TYPE_MASK);
    const uint16_t key = htons(OVS_PACKET_ATTR_KEY);
    const uint16_t id = htons(OVS_KEY_ATTR_RECIRC_ID);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, MIN_LEN, 0, 11),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, COMMAND),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, adopted ? OVS_PACKET_CMD_ACTION
                 : NO_COMMAND, 8, 0),
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

void
upcall_outdated_end(int fd, uint32_t pid)
{
    const struct nlmsghdr nlh = { .nlmsg_len = sizeof nlh,
                                  .nlmsg_type = NLMSG_NOOP };
    const struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
                                      .nl_pid = pid };

    /* If the kernel had to drop an upcall, this fails. */
    sendto(fd, &nlh, sizeof nlh, MSG_DONTWAIT,
           (const struct sockaddr *) &addr, sizeof addr);
}

void
upcall_outdated_cut(const void *msg_, size_t *len)
{
    const uint8_t *msg = msg_;
    const struct genlmsghdr *genl = (const void *) (msg + NLMSG_HDRLEN);
    const struct nlattr *key = (const void *) (msg + HEADERS_LEN);
    const struct nlattr *id = key + 1;

    if (*len >= MIN_LEN
        && (genl->cmd == OVS_PACKET_CMD_ACTION
            || (mnl_attr_get_type(key) == OVS_PACKET_ATTR_KEY
                && mnl_attr_get_type(id) == OVS_KEY_ATTR_RECIRC_ID
                && mnl_attr_get_u32(id)))) {
        *len = HEADERS_LEN;
    }
}

bool
upcall_outdated_is(const void *msg, size_t len)
{
    const struct nlmsghdr *nlh = msg;

    return len == HEADERS_LEN && nlh->nlmsg_len >= MIN_LEN;
}
