/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "link/link-socket.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "link/link-filter.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(link_socket);

/* Receive buffer at first, which holds any event of a link with fewer than a
 * hundred alternative names, and at most. */
#define LINK_BUF_SIZE (32 * 1024)
#define LINK_BUF_MAX (1024 * 1024)

/* Kernel memory that the smallest of messages takes, or less: with that a
 * receive buffer's size bounds the number of messages in it. */
#define LINK_TRUESIZE_MIN 512

struct link_socket {
    struct mnl_socket *sock;
    bool all_nsid;              /* Events of other namespaces come. */
    int rcvbuf;                 /* Bytes, as the kernel counts them. */
    char *buf;
    size_t buf_size;
    struct link_listener_stats *stats;
};

int
link_socket_fd(const struct link_socket *sock)
{
    return mnl_socket_get_fd(sock->sock);
}

/* Sizes the receive buffer of 'sock' to 'size' bytes. */
static void
link_socket_set_rcvbuf(struct link_socket *sock, int size)
{
    int fd = link_socket_fd(sock);
    socklen_t len = sizeof sock->rcvbuf;

    /* Without the privilege to exceed the system's limit, the limit. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &sock->rcvbuf, &len)) {
        sock->rcvbuf = 2 * size;
    }
}

static int
link_socket_open__(struct link_socket *sock, const unsigned int groups[],
                   size_t n, int rcvbuf, bool all_nsid)
{
    int on = 1;
    int error;

    sock->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!sock->sock
        || mnl_socket_bind(sock->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        return errno;
    }
    link_socket_set_rcvbuf(sock, rcvbuf);
    if (all_nsid) {
        sock->all_nsid = !mnl_socket_setsockopt(
            sock->sock, NETLINK_LISTEN_ALL_NSID, &on, sizeof on);
        if (!sock->all_nsid) {
            VLOG_WARN("listening to other network namespaces is not permitted "
                      "(%s); only the links of our own are known",
                      ovs_strerror(errno));
        }
    }
    error = link_filter_attach(link_socket_fd(sock));
    for (size_t i = 0; i < n && !error; i++) {
        unsigned int group = groups[i];

        if (mnl_socket_setsockopt(sock->sock, NETLINK_ADD_MEMBERSHIP,
                                  &group, sizeof group) < 0
            && !(errno == EINVAL && group == RTNLGRP_NEXTHOP)) {
            /* Kernels before 5.3 have neither the objects nor the group. */
            error = errno;
        }
    }
    return error;
}

int
link_socket_open(const unsigned int groups[], size_t n, int rcvbuf,
                 bool all_nsid, struct link_listener_stats *stats,
                 struct link_socket **sockp)
{
    struct link_socket *sock = xzalloc(sizeof *sock);
    int error;

    sock->stats = stats;
    sock->buf_size = LINK_BUF_SIZE;
    sock->buf = xmalloc(sock->buf_size);
    error = link_socket_open__(sock, groups, n, rcvbuf, all_nsid);
    if (error) {
        link_socket_close(sock);
        sock = NULL;
    }
    *sockp = sock;
    return error;
}

int
link_socket_set_member(struct link_socket *sock, unsigned int group,
                       bool member)
{
    return (mnl_socket_setsockopt(sock->sock, (member ? NETLINK_ADD_MEMBERSHIP
                                               : NETLINK_DROP_MEMBERSHIP),
                                  &group, sizeof group) < 0 ? errno : 0);
}

void
link_socket_close(struct link_socket *sock)
{
    if (sock) {
        if (sock->sock) {
            mnl_socket_close(sock->sock);
        }
        free(sock->buf);
        free(sock);
    }
}

bool
link_socket_has_all_nsid(const struct link_socket *sock)
{
    return sock->all_nsid;
}

int
link_socket_capacity(const struct link_socket *sock)
{
    return sock->rcvbuf / LINK_TRUESIZE_MIN;
}

/* Fills 'meminfo' with what the kernel says of the socket's memory, or with
 * zeros. */
static void
link_socket_get_meminfo(const struct link_socket *sock,
                        uint32_t meminfo[SK_MEMINFO_VARS])
{
    socklen_t len = SK_MEMINFO_VARS * sizeof *meminfo;

    memset(meminfo, 0, len);
    if (getsockopt(link_socket_fd(sock), SOL_SOCKET, SO_MEMINFO, meminfo,
                   &len)) {
        memset(meminfo, 0, SK_MEMINFO_VARS * sizeof *meminfo);
    }
}

uint64_t
link_socket_lost(const struct link_socket *sock)
{
    uint32_t meminfo[SK_MEMINFO_VARS];

    link_socket_get_meminfo(sock, meminfo);
    return meminfo[SK_MEMINFO_DROPS];
}

void
link_socket_get_backlog(const struct link_socket *sock, uint32_t *backlog,
                        uint32_t *rcvbuf)
{
    uint32_t meminfo[SK_MEMINFO_VARS];

    link_socket_get_meminfo(sock, meminfo);
    *backlog = meminfo[SK_MEMINFO_RMEM_ALLOC];
    *rcvbuf = meminfo[SK_MEMINFO_RCVBUF];
}

/* Returns the tag of the datagram that came with 'msg'. */
static int32_t
link_socket_tag(struct msghdr *msg)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg;
         cmsg = CMSG_NXTHDR(msg, cmsg)) {
        if (cmsg->cmsg_level == SOL_NETLINK
            && cmsg->cmsg_type == NETLINK_LISTEN_ALL_NSID
            && cmsg->cmsg_len == CMSG_LEN(sizeof(int))) {
            int nsid;

            memcpy(&nsid, CMSG_DATA(cmsg), sizeof nsid);
            return nsid;
        }
    }
    return LINK_NSID_NONE;
}

int
link_socket_receive(struct link_socket *sock, link_socket_func *cb, void *aux)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int)) * 4];
    } control;
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    struct iovec iov = { sock->buf, sock->buf_size };
    struct msghdr msg = {
        .msg_name = &addr, .msg_namelen = sizeof addr,
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof control,
    };
    ssize_t n;

    do {
        n = recvmsg(link_socket_fd(sock), &msg, MSG_DONTWAIT | MSG_TRUNC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno;
    }
    if (addr.nl_pid) {
        sock->stats->ignored_sender++;
        return 0;
    }
    if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        if ((size_t) n > sock->buf_size && n <= LINK_BUF_MAX) {
            free(sock->buf);
            sock->buf_size = ROUND_UP(n, LINK_BUF_SIZE);
            sock->buf = xmalloc(sock->buf_size);
        }
        return EMSGSIZE;
    }

    int32_t tag = link_socket_tag(&msg);
    const struct nlmsghdr *nlh = (const struct nlmsghdr *) sock->buf;
    int left = n;
    for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
        if (nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
            cb(nlh, tag, aux);
        }
    }
    if (left > 0) {
        sock->stats->malformed++;
    }
    return 0;
}

bool
link_socket_drain(struct link_socket *sock, unsigned int *budget)
{
    for (; *budget; --*budget) {
        char byte;
        ssize_t n = recv(link_socket_fd(sock), &byte, 1,
                         MSG_DONTWAIT | MSG_TRUNC);

        if (n >= 0) {
            sock->stats->drained++;
        } else if (errno == EAGAIN) {
            return true;
        } else if (errno == ENOBUFS) {
            sock->stats->overruns++;
        }
    }
    return false;
}
