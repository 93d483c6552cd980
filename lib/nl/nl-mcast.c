/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "nl/nl-mcast.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
        /* The filter loads the type, which is in host byte order, as if it
         * were in network byte order.  A match jumps over the remaining
         * comparisons and the statement that drops. */
        code[i + 1] = (struct sock_filter) BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, htons(types[i]), n - i, 0);
    }
    code[n + 1] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, 0);
    code[n + 2] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    return (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                       sizeof program) ? errno : 0);
}

/* Initial size of the datagram buffer, which holds any event of a link with
 * fewer than a hundred alternative names, and the maximum. */
#define NL_MCAST_BUF_SIZE (32 * 1024)
#define NL_MCAST_BUF_MAX (1024 * 1024)

/* A lower bound of the kernel memory for a message.  So the size of a receive
 * buffer bounds the number of messages in it. */
#define NL_MCAST_TRUESIZE_MIN 512

struct nl_mcast {
    struct mnl_socket *sock;
    int rcvbuf;                 /* Bytes, as the kernel counts them. */
    char *buf;
    size_t buf_size;
    struct nl_mcast_stats stats;
};

int
nl_mcast_fd(const struct nl_mcast *mcast)
{
    return mnl_socket_get_fd(mcast->sock);
}

/* Sizes the receive buffer to 'size' bytes, unless that is 0. */
static void
nl_mcast_set_rcvbuf(struct nl_mcast *mcast, int size)
{
    int fd = nl_mcast_fd(mcast);
    socklen_t len = sizeof mcast->rcvbuf;

    /* Without the privilege to exceed it, the system's limit applies. */
    if (size && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size,
                           sizeof size)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &mcast->rcvbuf, &len)) {
        mcast->rcvbuf = 2 * size;
    }
}

static int
nl_mcast_open__(struct nl_mcast *mcast, int protocol,
                const struct nl_mcast_options *options)
{
    int error = 0;

    mcast->sock = mnl_socket_open2(protocol, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!mcast->sock
        || mnl_socket_bind(mcast->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
        return errno;
    }
    nl_mcast_set_rcvbuf(mcast, options->rcvbuf);
    if (options->n_types) {
        error = nl_filter_attach(nl_mcast_fd(mcast), options->types,
                                 options->n_types);
    }
    for (size_t i = 0; i < options->n_groups && !error; i++) {
        error = nl_mcast_set_member(mcast, options->groups[i], true);
    }
    return error;
}

int
nl_mcast_open(int protocol, const struct nl_mcast_options *options,
              struct nl_mcast **mcastp)
{
    struct nl_mcast *mcast = xzalloc(sizeof *mcast);
    int error;

    mcast->buf_size = NL_MCAST_BUF_SIZE;
    mcast->buf = xmalloc(mcast->buf_size);
    error = nl_mcast_open__(mcast, protocol, options);
    if (error) {
        nl_mcast_close(mcast);
        mcast = NULL;
    }
    *mcastp = mcast;
    return error;
}

void
nl_mcast_close(struct nl_mcast *mcast)
{
    if (mcast) {
        if (mcast->sock) {
            mnl_socket_close(mcast->sock);
        }
        free(mcast->buf);
        free(mcast);
    }
}

int
nl_mcast_set_member(struct nl_mcast *mcast, unsigned int group, bool member)
{
    return (mnl_socket_setsockopt(mcast->sock,
                                  member ? NETLINK_ADD_MEMBERSHIP
                                  : NETLINK_DROP_MEMBERSHIP,
                                  &group, sizeof group) < 0 ? errno : 0);
}

int
nl_mcast_listen_all_nsid(struct nl_mcast *mcast)
{
    int on = 1;

    return (mnl_socket_setsockopt(mcast->sock, NETLINK_LISTEN_ALL_NSID, &on,
                                  sizeof on) < 0 ? errno : 0);
}

unsigned int
nl_mcast_capacity(const struct nl_mcast *mcast)
{
    return mcast->rcvbuf / NL_MCAST_TRUESIZE_MIN;
}

/* Fills 'meminfo' with the kernel's report about the socket's memory, or with
 * zeros. */
static void
nl_mcast_get_meminfo(const struct nl_mcast *mcast,
                     uint32_t meminfo[SK_MEMINFO_VARS])
{
    socklen_t len = SK_MEMINFO_VARS * sizeof *meminfo;

    memset(meminfo, 0, len);
    if (getsockopt(nl_mcast_fd(mcast), SOL_SOCKET, SO_MEMINFO, meminfo,
                   &len)) {
        memset(meminfo, 0, SK_MEMINFO_VARS * sizeof *meminfo);
    }
}

void
nl_mcast_get_backlog(const struct nl_mcast *mcast, uint32_t *backlog,
                     uint32_t *rcvbuf)
{
    uint32_t meminfo[SK_MEMINFO_VARS];

    nl_mcast_get_meminfo(mcast, meminfo);
    *backlog = meminfo[SK_MEMINFO_RMEM_ALLOC];
    *rcvbuf = meminfo[SK_MEMINFO_RCVBUF];
}

void
nl_mcast_get_stats(const struct nl_mcast *mcast, struct nl_mcast_stats *stats)
{
    uint32_t meminfo[SK_MEMINFO_VARS];

    nl_mcast_get_meminfo(mcast, meminfo);
    *stats = mcast->stats;
    stats->lost = meminfo[SK_MEMINFO_DROPS];
}

/* Returns the id of the namespace that came with 'msg'. */
static int32_t
nl_mcast_nsid(struct msghdr *msg)
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
    return NL_NSID_NONE;
}

/* Notes that a datagram of 'len' bytes was cut short. */
static void
nl_mcast_truncated(struct nl_mcast *mcast, size_t len)
{
    mcast->stats.truncated++;
    if (len > mcast->buf_size && len <= NL_MCAST_BUF_MAX) {
        free(mcast->buf);
        mcast->buf_size = ROUND_UP(len, NL_MCAST_BUF_SIZE);
        mcast->buf = xmalloc(mcast->buf_size);
    }
}

/* Passes the messages in the first 'len' bytes of the buffer to 'cb'. */
static void
nl_mcast_pass(struct nl_mcast *mcast, int len, int32_t nsid,
              nl_mcast_func *cb, void *aux)
{
    const struct nlmsghdr *nlh = (const struct nlmsghdr *) mcast->buf;

    for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
        if (nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
            cb(nlh, nsid, aux);
        }
    }
    mcast->stats.malformed += len > 0;
}

int
nl_mcast_recv(struct nl_mcast *mcast, nl_mcast_func *cb, void *aux)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int)) * 4];
    } control;
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    struct iovec iov = { mcast->buf, mcast->buf_size };
    struct msghdr msg = {
        .msg_name = &addr, .msg_namelen = sizeof addr,
        .msg_iov = &iov, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof control,
    };
    ssize_t n;

    do {
        n = recvmsg(nl_mcast_fd(mcast), &msg, MSG_DONTWAIT | MSG_TRUNC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        mcast->stats.overruns += errno == ENOBUFS;
        return errno;
    } else if (addr.nl_pid) {
        mcast->stats.ignored_sender++;
    } else if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        nl_mcast_truncated(mcast, n);
        return EMSGSIZE;
    } else {
        nl_mcast_pass(mcast, n, nl_mcast_nsid(&msg), cb, aux);
    }
    return 0;
}

int
nl_mcast_recv_all(struct nl_mcast *mcast, unsigned int *budget,
                  nl_mcast_func *cb, void *aux)
{
    int error = 0;

    for (; *budget && !error; --*budget) {
        error = nl_mcast_recv(mcast, cb, aux);
    }
    return error;
}

bool
nl_mcast_drain(struct nl_mcast *mcast, unsigned int *budget)
{
    for (; *budget; --*budget) {
        char byte;
        ssize_t n = recv(nl_mcast_fd(mcast), &byte, 1,
                         MSG_DONTWAIT | MSG_TRUNC);

        if (n >= 0) {
            mcast->stats.drained++;
        } else if (errno == EAGAIN) {
            return true;
        } else if (errno == ENOBUFS) {
            mcast->stats.overruns++;
        }
    }
    return false;
}
