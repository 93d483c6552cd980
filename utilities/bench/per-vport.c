/* SPDX-License-Identifier: Apache-2.0 */

/* Makes the stock daemon dispatch upcalls by port.
 *
 * If the kernel can dispatch by CPU, the stock daemon of Open vSwitch 3.1
 * requests that, and has no option against it.  This library, preloaded into
 * the daemon, replaces that feature in requests to the datapath by one that no
 * kernel knows.  So the kernel refuses them, and the daemon falls back to
 * dispatch by port, as on older kernels.  The system tests also preload it
 * into ovs-kdp. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/openvswitch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* OVS_DP_F_DISPATCH_UPCALL_PER_CPU, which older headers lack, and a bit that
 * means nothing. */
#define PER_CPU (UINT32_C(1) << 3)
#define UNKNOWN (UINT32_C(1) << 31)

static uint16_t family;
static ssize_t (*next_sendmsg)(int fd, const struct msghdr *, int flags);

/* Returns the attribute 'type' of the generic netlink message 'nlh', which is
 * followed by 'skip' bytes of a fixed header, or a null pointer. */
static struct nlattr *
find_attribute(struct nlmsghdr *nlh, size_t skip, uint16_t type)
{
    char *p = (char *) nlh + NLMSG_HDRLEN + GENL_HDRLEN + skip;
    char *end = (char *) nlh + nlh->nlmsg_len;

    while (p + NLA_HDRLEN <= end) {
        struct nlattr *a = (struct nlattr *) p;

        if (a->nla_len < NLA_HDRLEN || p + a->nla_len > end) {
            break;
        }
        if ((a->nla_type & NLA_TYPE_MASK) == type) {
            return a;
        }
        p += NLA_ALIGN(a->nla_len);
    }
    return NULL;
}

/* Requests the number of the datapath's family from the kernel. */
static uint16_t
get_family(void)
{
    struct {
        struct nlmsghdr nlh;
        struct genlmsghdr genl;
        struct nlattr attribute;
        char name[NLA_ALIGN(sizeof OVS_DATAPATH_FAMILY)];
    } request = {
        .nlh = {
            .nlmsg_len = sizeof request,
            .nlmsg_type = GENL_ID_CTRL,
            .nlmsg_flags = NLM_F_REQUEST,
        },
        .genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
        .attribute = {
            .nla_len = NLA_HDRLEN + sizeof OVS_DATAPATH_FAMILY,
            .nla_type = CTRL_ATTR_FAMILY_NAME,
        },
        .name = OVS_DATAPATH_FAMILY,
    };
    union {
        struct nlmsghdr nlh;
        char bytes[8192];
    } reply;
    struct nlattr *id = NULL;
    uint16_t value = 0;
    ssize_t n = -1;
    int fd;

    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (fd >= 0 && send(fd, &request, sizeof request, 0) > 0) {
        n = recv(fd, &reply, sizeof reply, 0);
    }
    if (n >= (ssize_t) sizeof reply.nlh
        && reply.nlh.nlmsg_len <= (size_t) n) {
        id = find_attribute(&reply.nlh, 0, CTRL_ATTR_FAMILY_ID);
    }
    if (id) {
        memcpy(&value, (char *) id + NLA_HDRLEN, sizeof value);
    }
    if (fd >= 0) {
        close(fd);
    }
    return value;
}

static void __attribute__((constructor))
start(void)
{
    next_sendmsg = dlsym(RTLD_NEXT, "sendmsg");
    family = get_family();
    if (!next_sendmsg || !family) {
        fputs("per-vport: the datapath is not known\n", stderr);
        exit(1);
    }
}

ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
    for (size_t i = 0; i < msg->msg_iovlen; i++) {
        struct nlmsghdr *nlh = msg->msg_iov[i].iov_base;
        struct nlattr *features;
        uint32_t value;

        if (msg->msg_iov[i].iov_len < NLMSG_HDRLEN + GENL_HDRLEN
            || nlh->nlmsg_len > msg->msg_iov[i].iov_len
            || nlh->nlmsg_type != family) {
            continue;
        }
        features = find_attribute(nlh, sizeof(struct ovs_header),
                                  OVS_DP_ATTR_USER_FEATURES);
        if (features && features->nla_len == NLA_HDRLEN + sizeof value) {
            memcpy(&value, (char *) features + NLA_HDRLEN, sizeof value);
            if (value & PER_CPU) {
                value = (value & ~PER_CPU) | UNKNOWN;
                memcpy((char *) features + NLA_HDRLEN, &value, sizeof value);
            }
        }
    }
    return next_sendmsg(fd, msg, flags);
}
