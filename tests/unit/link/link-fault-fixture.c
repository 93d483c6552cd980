/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/link/link-fault-fixture.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "util.h"

/* A message of ours to those who listen to links or ids. */

UNIT_WRAP(int, getsockopt, (int fd, int level, int name, void *value,
                            socklen_t *len),
          (fd, level, name, value, len), UNIT_CALL_GETSOCKOPT, -1)

struct mangle mangle;

void
tag_own(struct msghdr *msg, size_t room)
{
    if (!msg->msg_controllen) {
        int nsid = SELF_NSID;

        unit_check(room >= CMSG_SPACE(sizeof nsid));
        msg->msg_controllen = CMSG_SPACE(sizeof nsid);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
        cmsg->cmsg_level = SOL_NETLINK;
        cmsg->cmsg_type = NETLINK_LISTEN_ALL_NSID;
        cmsg->cmsg_len = CMSG_LEN(sizeof nsid);
        memcpy(CMSG_DATA(cmsg), &nsid, sizeof nsid);
    }
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t __real_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *nl, const void *request,
                         size_t len)
{
    if (unit_fails(UNIT_CALL_SENDTO)) {
        return -1;
    }

    /* The namespace is the second attribute. */
    struct nlmsghdr *nlh = CONST_CAST(struct nlmsghdr *,
                                      (const struct nlmsghdr *) request);
    size_t without = MNL_NLMSG_HDRLEN + sizeof(struct ifinfomsg) + 8;
    if (mangle.interrupt_nsid && nlh->nlmsg_type == RTM_GETLINK
        && len == without + 8) {
        int32_t nsid;

        memcpy(&nsid, (const char *) request + len - sizeof nsid, sizeof nsid);
        mangle.interrupt += nsid == mangle.interrupt_nsid;
    }
    if (mangle.old_kernel && nlh->nlmsg_type == RTM_GETLINK
        && len == without + 8) {
        nlh->nlmsg_len = without;
        return __real_mnl_socket_sendto(nl, request, without);
    }
    return __real_mnl_socket_sendto(nl, request, len);
}

ssize_t __wrap_nl_kernel_recv(const struct mnl_socket *, void *, size_t);
ssize_t __real_nl_kernel_recv(const struct mnl_socket *, void *, size_t);
ssize_t
__wrap_nl_kernel_recv(const struct mnl_socket *nl, void *buf, size_t size)
{
    ssize_t n = __real_nl_kernel_recv(nl, buf, size);
    struct nlmsghdr *nlh = buf;
    int left = n;

    for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
        struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

        if (mangle.interrupt && nlh->nlmsg_flags & NLM_F_MULTI) {
            nlh->nlmsg_flags |= (mangle.interrupt_early
                                 || nlh->nlmsg_type == NLMSG_DONE
                                 ? NLM_F_DUMP_INTR : 0);
            if (nlh->nlmsg_type == RTM_NEWLINK
                && mangle.n_dumps < ARRAY_SIZE(mangle.skip)
                && mangle.skip[mangle.n_dumps] == ifi->ifi_index) {
                nlh->nlmsg_type = NLMSG_NOOP;
            } else if (nlh->nlmsg_type == NLMSG_DONE) {
                mangle.interrupt--;
                mangle.n_dumps++;
            }
        }
        if (mangle.garble_index && nlh->nlmsg_type == RTM_NEWLINK
            && ifi->ifi_index == mangle.garble_index) {
            struct nlattr *attr = mnl_nlmsg_get_payload_offset(nlh,
                                                               sizeof *ifi);

            attr->nla_len = 1;
        }
        if (mangle.garble_nsids && nlh->nlmsg_type == RTM_NEWNSID
            && nlh->nlmsg_flags & NLM_F_MULTI) {
            struct nlattr *attr = mnl_nlmsg_get_payload_offset(
                nlh, sizeof(struct rtgenmsg));

            attr->nla_len = 1;
        }
    }
    return n;
}

ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    if (unit_fails(UNIT_CALL_RECVMSG)) {
        return -1;
    }

    size_t room = msg->msg_controllen;
    ssize_t n = __real_recvmsg(fd, msg, flags);
    if (n < 0) {
        return n;
    }
    if (mangle.tag_own) {
        tag_own(msg, room);
    }

    struct sockaddr_nl *addr = msg->msg_name;
    struct nlmsghdr *nlh = msg->msg_iov->iov_base;
    if (mangle.from_kernel) {
        addr->nl_pid = 0;
    }
    if (mangle.swallow_nsid && nlh->nlmsg_type == RTM_NEWNSID) {
        nlh->nlmsg_type = NLMSG_NOOP;
    }
    if (mangle.truncate) {
        mangle.truncate--;
        msg->msg_flags |= MSG_TRUNC;
        n = 40000;
    }
    if (mangle.strip_control) {
        mangle.strip_control = false;
        msg->msg_flags |= MSG_CTRUNC;
    }
    return n;
}

int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_plan_none();
    memset(&mangle, 0, sizeof mangle);
    unit_check(!unshare(CLONE_NEWNET));
    f->n_fds = unit_count_fds();
    f->own = unit_ns_own();
    f->other = unit_ns_create();
    unit_check(!unit_ns_set_nsid(f->own, f->other, NSID));
    f->table = link_table_create();
    *state = f;
    return 0;
}

int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_clock_run();
    unit_plan_none();
    link_listener_close(f->listener);
    link_table_destroy(f->table);
    unit_ns_destroy(f->own);
    unit_ns_destroy(f->other);
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

void
finish(struct fixture *f)
{
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
}

void
open_listener(struct fixture *f)
{
    assert_int_equal(link_listener_open(f->table, NULL, &f->listener), 0);
    finish(f);
}

struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

bool
has(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    return link_table_find(f->table, nsid, ifindex, &info);
}

void
assert_equal(struct fixture *f, int32_t nsid, struct unit_ns *ns)
{
    char *diff = unit_links_diff(f->table, nsid, ns, true);

    if (diff) {
        fail_msg("namespace %d: %s", nsid, diff);
    }
}

enum link_ns_state
state_of(struct fixture *f, int32_t nsid, int *error)
{
    size_t n;
    struct link_ns_info *infos = link_table_get_namespaces(f->table, &n);
    enum link_ns_state state = LINK_NS_PENDING;

    *error = 0;
    for (size_t i = 0; i < n; i++) {
        if (infos[i].nsid == nsid) {
            state = infos[i].state;
            *error = infos[i].error;
        }
    }
    free(infos);
    return state;
}

int
sender_open(void)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    unit_check(fd >= 0);
    unit_check(!bind(fd, (struct sockaddr *) &addr, sizeof addr));
    return fd;
}

void
send_link(int fd, int ifindex, const char *name)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = RTM_NEWLINK;
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_index = ifindex;
    if (name) {
        mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    }
    unit_check(!unit_send_group(fd, RTNLGRP_LINK, buf, nlh->nlmsg_len));
}

void
send_nsid(int fd, uint16_t type, int32_t nsid)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
    mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
    unit_check(!unit_send_group(fd, RTNLGRP_NSID, buf, nlh->nlmsg_len));
}
