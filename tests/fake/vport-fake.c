/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/vport-fake.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/kernel-messages.h"
#include "odp-netlink.h"
#include "ovs-thread.h"
#include "util.h"
#include "vport/vport-table.h"

struct unit_datapath unit_dp;

/* Guards the ports, which one thread changes while others ask. */
static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;

/* Answers that wait to be received.  There is one connection at a time. */
#define UNIT_ANSWER_SIZE 1024

struct answer {
    size_t len;
    char buf[UNIT_ANSWER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static struct answer answers[UNIT_VPORT_MAX + 2];
static size_t n_answers, next_answer;
static const struct mnl_socket *asker;

static struct answer *
add_answer(void)
{
    unit_check(n_answers < ARRAY_SIZE(answers));
    return &answers[n_answers++];
}

/* Messages. */

size_t
unit_vport_put(char *buf, size_t size, const struct ovs_vport *vport,
               uint32_t seq, uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof *genl);
    struct ovs_header *ovs = mnl_nlmsg_put_extra_header(nlh, sizeof *ovs);

    nlh->nlmsg_type = UNIT_VPORT_FAMILY;
    nlh->nlmsg_flags = flags;
    nlh->nlmsg_seq = seq;
    genl->cmd = vport->cmd;
    genl->version = OVS_VPORT_VERSION;
    ovs->dp_ifindex = vport->dp_ifindex;
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_PORT_NO, vport->port_no);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_TYPE, vport->type);
    mnl_attr_put_strz(nlh, OVS_VPORT_ATTR_NAME, vport->name);
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_IFINDEX, vport->ifindex);
    if (vport->nsid != OVS_VPORT_LOCAL) {
        mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_NETNSID, vport->nsid);
    }
    mnl_attr_put_u32(nlh, OVS_VPORT_ATTR_UPCALL_PID, vport->pid);
    unit_check(nlh->nlmsg_len <= size);
    return nlh->nlmsg_len;
}

static void
answer_error(uint32_t seq, int error)
{
    struct answer *answer = add_answer();
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(answer->buf);
    struct nlmsgerr *err = mnl_nlmsg_put_extra_header(nlh, sizeof *err);

    nlh->nlmsg_type = NLMSG_ERROR;
    nlh->nlmsg_flags = NLM_F_CAPPED;
    nlh->nlmsg_seq = seq;
    err->error = -error;
    err->msg.nlmsg_len = sizeof err->msg;
    answer->len = nlh->nlmsg_len;
}

static void
answer_vport(const struct ovs_vport *vport_, uint32_t seq, uint16_t flags)
{
    struct answer *answer = add_answer();
    struct ovs_vport vport = *vport_;

    vport.cmd = OVS_VPORT_CMD_GET;
    answer->len = unit_vport_put(answer->buf, sizeof answer->buf, &vport, seq,
                                 flags);
}

static void
answer_dump(uint32_t seq, int dp_ifindex)
    OVS_REQUIRES(mutex)
{
    uint16_t flags = NLM_F_MULTI;
    int error = unit_dp.dump_error;

    unit_dp.n_dumps++;
    if (!error && dp_ifindex != unit_dp.dp_ifindex) {
        error = ENODEV;
    }
    if (error) {
        answer_error(seq, error);
        return;
    }
    if (unit_dp.n_interrupted) {
        unit_dp.n_interrupted--;
        flags |= NLM_F_DUMP_INTR;
    }
    for (size_t i = 0; i < UNIT_VPORT_MAX; i++) {
        if (i == UNIT_VPORT_MAX / 2 && unit_dp.during_dump) {
            void (*cb)(void *) = unit_dp.during_dump;

            unit_dp.during_dump = NULL;
            ovs_mutex_unlock(&mutex);
            cb(unit_dp.aux);
            ovs_mutex_lock(&mutex);
        }
        if (unit_dp.ports[i].vport.dp_ifindex
            && (!i || i != unit_dp.hidden)) {
            answer_vport(&unit_dp.ports[i].vport, seq, flags);
        }
    }

    unit_dp.hidden = 0;

    struct answer *answer = add_answer();
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(answer->buf);
    nlh->nlmsg_type = NLMSG_DONE;
    nlh->nlmsg_flags = flags;
    nlh->nlmsg_seq = seq;
    *(int *) mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = 0;
    answer->len = nlh->nlmsg_len;
}

/* As lookup_vport() of the kernel: by name under the one that the port was
 * made with, if it has that name (still or again). */
static const struct ovs_vport *
lookup(const struct nlattr *attrs[], int dp_ifindex)
    OVS_REQUIRES(mutex)
{
    if (dp_ifindex != unit_dp.dp_ifindex) {
        return NULL;
    }
    if (attrs[OVS_VPORT_ATTR_NAME]) {
        const char *name = mnl_attr_get_str(attrs[OVS_VPORT_ATTR_NAME]);

        unit_dp.n_gets_by_name++;
        for (size_t i = 0; i < UNIT_VPORT_MAX; i++) {
            const struct unit_vport *port = &unit_dp.ports[i];

            if (port->vport.dp_ifindex && !strcmp(port->vport.name, name)
                && !strcmp(port->made_name, name)) {
                return &port->vport;
            }
        }
    } else {
        uint32_t port_no = mnl_attr_get_u32(attrs[OVS_VPORT_ATTR_PORT_NO]);

        unit_dp.n_gets_by_number++;
        if (port_no < UNIT_VPORT_MAX
            && unit_dp.ports[port_no].vport.dp_ifindex) {
            return &unit_dp.ports[port_no].vport;
        }
    }
    return NULL;
}

static void
answer_request(const struct nlmsghdr *nlh)
    OVS_REQUIRES(mutex)
{
    static const struct nl_attr_policy policy[] = {
        [OVS_VPORT_ATTR_PORT_NO] = { .type = MNL_TYPE_U32 },
        [OVS_VPORT_ATTR_NAME] = { .type = MNL_TYPE_NUL_STRING },
    };
    const size_t headers = (sizeof(struct genlmsghdr)
                            + sizeof(struct ovs_header));
    const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
    const struct ovs_header *ovs = (const struct ovs_header *) (genl + 1);
    const struct nlattr *attrs[ARRAY_SIZE(policy)];
    const struct ovs_vport *vport;

    n_answers = next_answer = 0;
    unit_check(genl->cmd == OVS_VPORT_CMD_GET);
    if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
        answer_dump(nlh->nlmsg_seq, ovs->dp_ifindex);
        return;
    }
    unit_check(!nl_attrs_parse(mnl_nlmsg_get_payload_offset(nlh, headers),
                               mnl_nlmsg_get_payload_len(nlh) - headers,
                               policy, attrs, ARRAY_SIZE(policy)));
    vport = lookup(attrs, ovs->dp_ifindex);
    if (vport && !unit_dp.get_error) {
        answer_vport(vport, nlh->nlmsg_seq, 0);
    }
    answer_error(nlh->nlmsg_seq, (unit_dp.get_error ? unit_dp.get_error
                                  : vport ? 0 : ENODEV));
}

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t __real_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *sock, const void *buf,
                         size_t len)
{
    const struct nlmsghdr *nlh = buf;

    if (nlh->nlmsg_type != UNIT_VPORT_FAMILY) {
        return __real_mnl_socket_sendto(sock, buf, len);
    }
    unit_check(nlh->nlmsg_len == len);
    asker = sock;
    ovs_mutex_lock(&mutex);
    answer_request(nlh);
    ovs_mutex_unlock(&mutex);
    return len;
}

ssize_t __wrap_nl_kernel_recv(const struct mnl_socket *, void *, size_t);
ssize_t __real_nl_kernel_recv(const struct mnl_socket *, void *, size_t);
ssize_t
__wrap_nl_kernel_recv(const struct mnl_socket *sock, void *buf, size_t size)
{
    const struct answer *answer;

    if (sock != asker) {
        return __real_nl_kernel_recv(sock, buf, size);
    }

    /* A caller that asks for more than there is would block for ever. */
    unit_check(next_answer < n_answers);
    answer = &answers[next_answer++];
    unit_check(answer->len <= size);
    memcpy(buf, answer->buf, answer->len);
    if (next_answer == n_answers) {
        asker = NULL;
    }
    return answer->len;
}

/* The kernel is the sender of announcements. */
ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    ssize_t n = __real_recvmsg(fd, msg, flags);
    struct sockaddr_nl *addr = msg->msg_name;

    if (n >= 0 && addr && addr->nl_family == AF_NETLINK) {
        addr->nl_pid = 0;
    }
    return n;
}

/* Names of devices are those of the ports. */
char *__wrap_if_indextoname(unsigned int, char *);
char *
__wrap_if_indextoname(unsigned int ifindex, char *name)
{
    char *found = NULL;

    ovs_mutex_lock(&mutex);
    for (size_t i = 0; i < UNIT_VPORT_MAX && !found; i++) {
        const struct ovs_vport *vport = &unit_dp.ports[i].vport;

        if (vport->dp_ifindex && vport->ifindex == (int) ifindex
            && vport->nsid == OVS_VPORT_LOCAL) {
            found = strcpy(name, vport->name);
        }
    }
    ovs_mutex_unlock(&mutex);
    return found;
}

/* The datapath. */

static int
open_rtnetlink(void)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    unit_check(fd >= 0);
    unit_check(!bind(fd, (struct sockaddr *) &addr, sizeof addr));
    return fd;
}

/* Makes the namespace of file descriptor 'ns' known as UNIT_NSID in ours. */
static void
set_nsid(int ns)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct rtgenmsg *rtgen = mnl_nlmsg_put_extra_header(nlh, sizeof *rtgen);
    struct nl_conn *conn;

    rtgen->rtgen_family = AF_UNSPEC;
    nlh->nlmsg_type = RTM_NEWNSID;
    nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    mnl_attr_put_u32(nlh, NETNSA_NSID, UNIT_NSID);
    mnl_attr_put_u32(nlh, NETNSA_FD, ns);
    unit_check(!nl_conn_open(NETLINK_ROUTE, &conn));
    int error = nl_conn_transact(conn, nlh, NULL, NULL);
    unit_check(!error || error == EEXIST);
    nl_conn_close(conn);
}

/* The other namespace is made once. */
static int
open_other_namespace(void)
{
    static int fd = -1;

    if (fd < 0) {
        int ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        int other;

        unit_check(ours >= 0);
        unit_check(!unshare(CLONE_NEWNET));
        other = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        fd = open_rtnetlink();
        unit_check(other >= 0 && !setns(ours, CLONE_NEWNET));
        set_nsid(other);
        close(ours);
        close(other);
    }
    return fd;
}

void
unit_datapath_init(void)
{
    memset(&unit_dp, 0, sizeof unit_dp);
    asker = NULL;
    unit_dp.dp_ifindex = UNIT_DP_IFINDEX;
    unit_dp.other_links = open_other_namespace();
    unit_dp.sender = unit_sender_open();
    unit_dp.links = open_rtnetlink();
    unit_port_add(0, OVS_VPORT_TYPE_INTERNAL, "dp", UNIT_DP_IFINDEX);
}

void
unit_datapath_uninit(void)
{
    close(unit_dp.sender);
    close(unit_dp.links);
}

struct vport_table *
unit_vport_table(void)
{
    static const struct genl_family family = {
        .id = UNIT_VPORT_FAMILY,
        .mcgroup = UNIT_VPORT_GROUP,
    };

    return vport_table_create("system@dp", UNIT_DP_IFINDEX, &family);
}

unsigned int
unit_n_requests(void)
{
    return (unit_dp.n_gets_by_number + unit_dp.n_gets_by_name
            + unit_dp.n_dumps);
}

struct ovs_vport
unit_port_add(uint32_t port_no, uint32_t type, const char *name, int ifindex)
{
    struct unit_vport *port = &unit_dp.ports[port_no];
    struct ovs_vport vport;

    ovs_mutex_lock(&mutex);
    unit_check(port_no < UNIT_VPORT_MAX && !port->vport.dp_ifindex);
    port->vport = (struct ovs_vport) {
        .cmd = OVS_VPORT_CMD_NEW,
        .dp_ifindex = UNIT_DP_IFINDEX,
        .port_no = port_no,
        .type = type,
        .ifindex = ifindex,
        .nsid = OVS_VPORT_LOCAL,
        .n_pids = 1,
    };
    ovs_strlcpy(port->vport.name, name, sizeof port->vport.name);
    ovs_strlcpy(port->made_name, name, sizeof port->made_name);
    vport = port->vport;
    ovs_mutex_unlock(&mutex);
    return vport;
}

struct ovs_vport
unit_port_del(uint32_t port_no)
{
    struct ovs_vport vport;

    ovs_mutex_lock(&mutex);
    vport = unit_dp.ports[port_no].vport;
    unit_check(vport.dp_ifindex);
    unit_dp.ports[port_no].vport.dp_ifindex = 0;
    ovs_mutex_unlock(&mutex);
    vport.cmd = OVS_VPORT_CMD_DEL;
    return vport;
}

struct ovs_vport
unit_port_set(uint32_t port_no, uint32_t pid)
{
    struct ovs_vport vport;

    ovs_mutex_lock(&mutex);
    unit_check(unit_dp.ports[port_no].vport.dp_ifindex);
    unit_dp.ports[port_no].vport.pid = pid;
    vport = unit_dp.ports[port_no].vport;
    ovs_mutex_unlock(&mutex);
    vport.cmd = OVS_VPORT_CMD_SET;
    return vport;
}

void
unit_port_rename(uint32_t port_no, const char *name)
{
    struct ovs_vport *vport = &unit_dp.ports[port_no].vport;

    ovs_mutex_lock(&mutex);
    ovs_strlcpy(vport->name, name, sizeof vport->name);
    ovs_mutex_unlock(&mutex);
}

int
unit_announce(const struct ovs_vport *vport)
{
    char buf[UNIT_ANSWER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    size_t len = unit_vport_put(buf, sizeof buf, vport, 0, 0);

    return unit_send_group(unit_dp.sender, UNIT_VPORT_GROUP, buf, len);
}

int
unit_announce_link(int sender, bool deleted, int ifindex, const char *name)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);

    nlh->nlmsg_type = deleted ? RTM_DELLINK : RTM_NEWLINK;
    ifi->ifi_family = AF_UNSPEC;
    ifi->ifi_index = ifindex;
    if (name) {
        mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    }
    return unit_send_group(sender, RTNLGRP_LINK, buf, nlh->nlmsg_len);
}

int
unit_announce_nsid_gone(int sender, int32_t nsid)
{
    char buf[64] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct rtgenmsg *rtgen = mnl_nlmsg_put_extra_header(nlh, sizeof *rtgen);

    nlh->nlmsg_type = RTM_DELNSID;
    rtgen->rtgen_family = AF_UNSPEC;
    if (nsid != NL_NSID_NONE) {
        mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
    }
    return unit_send_group(sender, RTNLGRP_NSID, buf, nlh->nlmsg_len);
}

void
unit_add(uint32_t port_no, const char *name)
{
    struct ovs_vport vport = unit_port_add(port_no, OVS_VPORT_TYPE_NETDEV,
                                           name, 100 + port_no);

    unit_check(!unit_announce(&vport));
}

void
unit_del(uint32_t port_no)
{
    struct ovs_vport vport = unit_port_del(port_no);

    unit_check(!unit_announce(&vport));
}

int
unit_by_name(struct vport_table *table, const char *name)
{
    struct ovs_vport vport;

    return vport_table_get_by_name(table, name, &vport);
}

int
unit_by_number(struct vport_table *table, uint32_t port_no)
{
    struct ovs_vport vport;

    return vport_table_get_by_number(table, port_no, &vport);
}

void
unit_overrun(bool links)
{
    struct ovs_vport vport = unit_dp.ports[0].vport;

    vport.cmd = OVS_VPORT_CMD_SET;
    for (int i = 0; i < (links ? 20000 : 6000); i++) {
        int error = (links
                     ? unit_announce_link(unit_dp.links, false, 9999, "x")
                     : unit_announce(&vport));

        /* The sender need not learn that a receiver's buffer is full. */
        unit_check(!error || error == ENOBUFS);
    }
}
