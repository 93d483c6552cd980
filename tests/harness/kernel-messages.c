/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/kernel-messages.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/unit.h"
#include "odp-netlink.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-msg.h"
#include "util.h"

void
unit_msg_init(struct unit_msg *msg, uint16_t family, uint8_t cmd,
              int dp_ifindex)
{
    msg->size = 512;
    msg->buf = xzalloc(msg->size);

    struct nlmsghdr *nlh = mnl_nlmsg_put_header(msg->buf);
    nlh->nlmsg_type = family;
    struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    genl->cmd = cmd;
    genl->version = OVS_PACKET_VERSION;
    struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);
    ovs->dp_ifindex = dp_ifindex;
    msg->len = nlh->nlmsg_len;
}

void
unit_msg_put(struct unit_msg *msg, uint16_t type, const void *data, size_t n)
{
    size_t need = msg->len + MNL_ATTR_HDRLEN + MNL_ALIGN(n);

    if (need > msg->size) {
        msg->size = need * 2;
        msg->buf = xrealloc(msg->buf, msg->size);
    }

    struct nlmsghdr *nlh = (struct nlmsghdr *) msg->buf;
    mnl_attr_put(nlh, type, n, data);
    msg->len = nlh->nlmsg_len;
}

void
unit_msg_uninit(struct unit_msg *msg)
{
    free(msg->buf);
}

/* Where the sequence number is in the packet. */
#define UNIT_SEQ_OFFSET 16

void
unit_msg_upcall(struct unit_msg *msg, uint64_t seq, size_t packet_len)
{
    static const char key[16] = { 0 };
    char *packet = xzalloc(packet_len);

    unit_check(packet_len >= UNIT_PACKET_MIN);
    unit_msg_init(msg, UNIT_FAMILY, OVS_PACKET_CMD_MISS, UNIT_DP_IFINDEX);
    unit_msg_put(msg, OVS_PACKET_ATTR_KEY, key, sizeof key);
    msg->packet_ofs = msg->len + MNL_ATTR_HDRLEN;
    unit_msg_put(msg, OVS_PACKET_ATTR_PACKET, packet, packet_len);
    free(packet);
    unit_msg_set_seq(msg, seq);
}

void
unit_msg_set_seq(struct unit_msg *msg, uint64_t seq)
{
    memcpy(msg->buf + msg->packet_ofs + UNIT_SEQ_OFFSET, &seq, sizeof seq);
}

uint64_t
unit_view_seq(const struct upcall_view *view)
{
    uint64_t seq;

    unit_check(view->packet_len >= UNIT_PACKET_MIN);
    memcpy(&seq, (const char *) view->packet + UNIT_SEQ_OFFSET, sizeof seq);
    return seq;
}

int
unit_sender_open(void)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    int size = 4 * 1024 * 1024;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

    unit_check(fd >= 0);
    unit_check(!bind(fd, (struct sockaddr *) &addr, sizeof addr));

    /* For messages larger than the usual send buffer. */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
    return fd;
}

/* Netlink port id of the stranger. */
static uint32_t stranger;

int
unit_stranger_open(void)
{
    struct sockaddr_nl addr;
    socklen_t len = sizeof addr;
    int fd = unit_sender_open();

    unit_check(!getsockname(fd, (struct sockaddr *) &addr, &len));
    stranger = addr.nl_pid;
    return fd;
}

/* Replaces the library's function. */
bool
upcall_msg_is_from_kernel(uint32_t pid)
{
    return !stranger || pid != stranger;
}

static int
unit_send__(int sender, uint32_t pid, uint32_t groups, const void *msg,
            size_t len)
{
    struct sockaddr_nl addr = {
        .nl_family = AF_NETLINK,
        .nl_pid = pid,
        .nl_groups = groups,
    };
    ssize_t n = sendto(sender, msg, len, MSG_DONTWAIT,
                       (struct sockaddr *) &addr, sizeof addr);

    return n == (ssize_t) len ? 0 : n < 0 ? errno : EMSGSIZE;
}

int
unit_send(int sender, uint32_t pid, const void *msg, size_t len)
{
    return unit_send__(sender, pid, 0, msg, len);
}

int
unit_send_group(int sender, unsigned int group, const void *msg, size_t len)
{
    /* The kernel's own generic netlink socket also gets it, and skips it, as
     * it is not a request. */
    return unit_send__(sender, 0, UINT32_C(1) << (group - 1), msg, len);
}

void
unit_send_upcall(int sender, uint32_t pid, uint64_t seq)
{
    struct unit_msg msg;

    unit_msg_upcall(&msg, seq, UNIT_PACKET_MIN);
    unit_check(!unit_send(sender, pid, msg.buf, msg.len));
    unit_msg_uninit(&msg);
}

void
unit_channel_join(const struct upcall_channel *channel, unsigned int group)
{
    unit_check(!setsockopt(upcall_channel_fd(channel), SOL_NETLINK,
                           NETLINK_ADD_MEMBERSHIP, &group, sizeof group));
}
