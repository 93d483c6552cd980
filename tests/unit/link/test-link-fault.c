/* SPDX-License-Identifier: Apache-2.0 */

/* What the link listener does when the system refuses, answers late, answers
 * badly, or sends nonsense.  The linker sends the calls that the code under
 * test makes here (--wrap).  A socket of the test stands in for the kernel
 * where the kernel does not do what is wanted. */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/netns.h"
#include "util.h"

#define INDEX 1000
#define NSID 4000
#define SELF_NSID 5000

UNIT_WRAP(int, getsockopt, (int fd, int level, int name, void *value,
                            socklen_t *len),
          (fd, level, name, value, len), UNIT_CALL_GETSOCKOPT, -1)

/* What becomes of the messages that pass. */
static struct {
    bool old_kernel;            /* Which knows no IFLA_TARGET_NETNSID. */
    unsigned int interrupt;     /* So many answers are interrupted dumps. */
    int32_t interrupt_nsid;     /* Dumps of it all are. */
    int garble_index;           /* Answers about that link make no sense. */
    bool swallow_nsid;          /* Events about ids do not arrive. */
    bool from_kernel;           /* Whoever sent it. */
    unsigned int truncate;      /* So many events are cut short. */
    bool strip_control;         /* Ancillary data is cut short. */
    bool tag_own;               /* Events of our own namespace are tagged with
                                 * SELF_NSID,
                                 * which not every kernel does. */
} mangle;

/* Tags what has no tag, with room for one. */
static void
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

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *, void *, size_t);
ssize_t __real_mnl_socket_recvfrom(const struct mnl_socket *, void *, size_t);
ssize_t
__wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *buf, size_t size)
{
    ssize_t n = __real_mnl_socket_recvfrom(nl, buf, size);
    struct nlmsghdr *nlh = buf;
    int left = n;

    for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
        if (mangle.interrupt && nlh->nlmsg_type == NLMSG_DONE) {
            mangle.interrupt--;
            nlh->nlmsg_flags |= NLM_F_DUMP_INTR;
        }

        struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
        if (mangle.garble_index && nlh->nlmsg_type == RTM_NEWLINK
            && ifi->ifi_index == mangle.garble_index) {
            struct nlattr *attr = mnl_nlmsg_get_payload_offset(nlh,
                                                               sizeof *ifi);

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

struct fixture {
    size_t n_fds;
    struct unit_ns *own, *other;
    struct link_table *table;
    struct link_listener *listener;
};

static int
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

static int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_plan_none();
    link_listener_close(f->listener);
    link_table_destroy(f->table);
    unit_ns_destroy(f->own);
    unit_ns_destroy(f->other);
    assert_int_equal(unit_count_fds(), f->n_fds);
    free(f);
    return 0;
}

static void
finish(struct fixture *f)
{
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
}

static void
open_listener(struct fixture *f)
{
    assert_int_equal(link_listener_open(f->table, NULL, &f->listener), 0);
    finish(f);
}

static struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

static bool
has(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    return link_table_find(f->table, nsid, ifindex, &info);
}

static void
assert_equal(struct fixture *f, int32_t nsid, struct unit_ns *ns)
{
    char *diff = unit_links_diff(f->table, nsid, ns, true);

    if (diff) {
        fail_msg("namespace %d: %s", nsid, diff);
    }
}

static enum link_ns_state
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

/* A message of ours to those who listen to links or ids. */

static int
sender_open(void)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    unit_check(fd >= 0);
    unit_check(!bind(fd, (struct sockaddr *) &addr, sizeof addr));
    return fd;
}

static void
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

static void
send_nsid(int fd, uint16_t type, int32_t nsid)
{
    char buf[256] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct rtgenmsg));
    mnl_attr_put_u32(nlh, NETNSA_NSID, nsid);
    unit_check(!unit_send_group(fd, RTNLGRP_NSID, buf, nlh->nlmsg_len));
}

static void
failed_opens_leave_nothing(void **state)
{
    struct fixture *f = *state;
    static const struct {
        enum unit_call which;
        unsigned int nth;
    } tests[] = {
        { UNIT_CALL_SOCKET, 1 }, { UNIT_CALL_SOCKET, 2 },
        { UNIT_CALL_BIND, 1 }, { UNIT_CALL_BIND, 2 },
        { UNIT_CALL_MNL_SETSOCKOPT, 2 }, { UNIT_CALL_MNL_SETSOCKOPT, 3 },
        { UNIT_CALL_MNL_SETSOCKOPT, 4 }, { UNIT_CALL_MNL_SETSOCKOPT, 5 },
    };
    size_t n_fds = unit_count_fds();

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        f->listener = (struct link_listener *) f;
        unit_plan_failures(tests[i].which, tests[i].nth, 1, EMFILE);
        assert_int_equal(link_listener_open(f->table, NULL, &f->listener),
                         EMFILE);
        assert_int_equal(unit_n_failed(), 1);
        assert_null(f->listener);
        assert_int_equal(unit_count_fds(), n_fds);
        assert_false(link_table_has_ns(f->table, LINK_NSID_LOCAL));
    }
}

static void
without_the_right_to_listen_ours_is_known(void **state)
{
    struct fixture *f = *state;

    unit_plan_failures(UNIT_CALL_MNL_SETSOCKOPT, 1, 1, EPERM);
    open_listener(f);
    assert_int_equal(unit_n_failed(), 1);
    assert_false(link_table_has_ns(f->table, NSID));
    assert_equal(f, LINK_NSID_LOCAL, f->own);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
}

static void
a_small_receive_buffer_will_do(void **state)
{
    struct fixture *f = *state;

    unit_plan_failures(UNIT_CALL_SETSOCKOPT, 1, 2, EPERM);
    open_listener(f);
    assert_int_equal(unit_n_failed(), 2);
    link_listener_close(f->listener);
    unit_plan_failures(UNIT_CALL_GETSOCKOPT, 1, 100, EPERM);
    open_listener(f);
    assert_true(unit_n_failed() > 0);
    assert_int_equal(stats_of(f).lost, 0);
    assert_equal(f, LINK_NSID_LOCAL, f->own);
}

static void
a_failed_dump_is_repeated_later(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(link_listener_open(f->table, NULL, &f->listener), 0);
    for (int i = 0; i < 3; i++) {
        /* First our links, then the ids, then the other's links. */
        unit_plan_failures(UNIT_CALL_SENDTO, 1 + (i > 0), 1, ENOBUFS);
        while (stats_of(f).failed == i) {
            link_listener_run(f->listener);
        }
        assert_false(link_listener_is_current(f->listener));
        if (i == 0) {
            assert_false(link_listener_catch_up(f->listener));
        }

        /* No run asks before the time, and nobody spins. */
        uint64_t rtnl = stats_of(f).rtnl[LINK_REASON_START];
        long long int start = time_msec();
        link_listener_run(f->listener);
        assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], rtnl);
        link_listener_wait(f->listener);
        poll_timer_wait(UNIT_PATIENCE);
        poll_block();
        assert_true(time_msec() - start > 500);
    }
    finish(f);
    assert_int_equal(stats_of(f).failed, 3);
    assert_true(link_listener_catch_up(f->listener));
    assert_equal(f, LINK_NSID_LOCAL, f->own);
    assert_equal(f, NSID, f->other);
}

static void
an_interrupted_dump_removes_nothing(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    int sender = sender_open();
    mangle.from_kernel = true;
    send_link(sender, INDEX, "ghost");
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));

    mangle.interrupt = 2;
    link_listener_resync(f->listener);
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, 1));
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_int_equal(stats_of(f).interrupted, 2);
    link_listener_run(f->listener);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, 1));

    /* The ids and the other namespace likewise. */
    finish(f);
    link_table_add_ns(f->table, NSID + 1);
    link_table_set_current(f->table, NSID + 1);
    link_listener_resync(f->listener);
    link_listener_run(f->listener);
    mangle.interrupt = 1;
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).interrupted, 3);
    assert_true(link_table_has_ns(f->table, NSID + 1));
    link_listener_run(f->listener);
    assert_false(link_table_has_ns(f->table, NSID + 1));
    mangle.interrupt = 1;
    finish(f);
    assert_int_equal(stats_of(f).interrupted, 4);
    assert_equal(f, NSID, f->other);
    close(sender);
}

/* What cannot be understood of one link stays; the others are as told. */
static void
a_malformed_answer_is_skipped(void **state)
{
    struct fixture *f = *state;
    int sender = sender_open();

    open_listener(f);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "odd"), 0);
    mangle.from_kernel = true;
    send_link(sender, INDEX + 1, "ghost");
    assert_true(link_listener_catch_up(f->listener));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 1));

    mangle.garble_index = INDEX;
    link_listener_resync(f->listener);
    finish(f);
    mangle.garble_index = 0;
    assert_int_equal(stats_of(f).malformed, 1);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_false(has(f, LINK_NSID_LOCAL, INDEX + 1));
    assert_equal(f, LINK_NSID_LOCAL, f->own);
    close(sender);
}

static void
dumps_do_not_follow_each_other_for_ever(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    link_listener_run(f->listener);
    mangle.interrupt = 1000;
    link_listener_resync(f->listener);
    for (int i = 0; i < 50; i++) {
        link_listener_run(f->listener);
    }
    assert_true(stats_of(f).interrupted < 10);

    /* It waits until it is time. */
    mangle.interrupt = 0;
    long long int start = unit_now();
    for (;;) {
        link_listener_run(f->listener);
        if (link_listener_is_current(f->listener)) {
            break;
        }
        link_listener_wait(f->listener);
        poll_timer_wait(UNIT_PATIENCE);
        poll_block();
    }
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    assert_equal(f, LINK_NSID_LOCAL, f->own);
}

/* Namespaces in which links come and go all the time do not keep others from
 * their turn. */
static void
interrupted_dumps_let_others_pass(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *third = unit_ns_create();
    int error;

    assert_int_equal(unit_ns_set_nsid(f->own, third, NSID + 1), 0);
    open_listener(f);
    link_listener_run(f->listener);
    mangle.interrupt_nsid = NSID;
    link_table_set_pending(f->table, NSID);
    link_table_set_pending(f->table, NSID + 1);
    for (int i = 0; i < 3; i++) {
        link_listener_run(f->listener);
    }
    assert_int_equal(state_of(f, NSID, &error), LINK_NS_PENDING);
    assert_int_equal(state_of(f, NSID + 1, &error), LINK_NS_CURRENT);
    mangle.interrupt_nsid = 0;
    finish(f);
    assert_int_equal(state_of(f, NSID, &error), LINK_NS_CURRENT);
    unit_ns_destroy(third);
}

static void
count_change(const struct link_change *change OVS_UNUSED, void *n)
{
    ++*(unsigned int *) n;
}

static void
a_malformed_event_is_skipped(void **state)
{
    struct fixture *f = *state;
    unsigned int n_changes = 0;

    open_listener(f);
    struct link_subscription *sub = link_table_subscribe(
        f->table, LINK_NSID_ALL, LINK_CHANGE_ALL, count_change, &n_changes);
    int sender = sender_open();
    mangle.from_kernel = true;
    send_link(sender, 1, NULL);
    send_link(sender, 1, "much-too-long-a-name");
    send_link(sender, 0, "nothing");
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).malformed, 3);

    /* One that ends too early. */
    char buf[64] __attribute__((aligned(NLMSG_ALIGNTO))) = "";
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = RTM_NEWROUTE;
    assert_int_equal(unit_send_group(sender, RTNLGRP_LINK, buf, 16), 0);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).malformed, 4);
    assert_int_equal(stats_of(f).events_other, 0);
    assert_int_equal(n_changes, 0);
    link_table_unsubscribe(sub);

    /* One of a type that nobody asked for does not even arrive, unless it comes
     * behind one that was asked for. */
    nlh->nlmsg_type = RTM_NEWTFILTER;
    assert_int_equal(unit_send_group(sender, RTNLGRP_LINK, buf, 16), 0);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).events_other, 0);
    char two[32] __attribute__((aligned(NLMSG_ALIGNTO)));
    nlh->nlmsg_type = RTM_NEWROUTE;
    memcpy(two, buf, 16);
    nlh->nlmsg_type = RTM_NEWTFILTER;
    memcpy(two + 16, buf, 16);
    assert_int_equal(unit_send_group(sender, RTNLGRP_LINK, two, 32), 0);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).malformed, 5);
    assert_int_equal(stats_of(f).events_other, 1);
    close(sender);
}

static void
only_the_kernel_is_believed(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    int sender = sender_open();
    send_link(sender, INDEX, "liar");
    send_nsid(sender, RTM_DELNSID, NSID);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).ignored_sender, 2);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(link_table_has_ns(f->table, NSID));
    close(sender);
}

static void
a_message_cut_short_is_a_loss(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    mangle.truncate = 1;
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    assert_int_equal(unit_link_set_mtu(f->own, INDEX, 1234), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_int_equal(stats_of(f).truncated, 1);
    assert_int_equal(stats_of(f).overruns, 0);
    assert_int_equal(stats_of(f).drained, 0);
    assert_true(stats_of(f).rtnl[LINK_REASON_LOSS] > 0);
    assert_equal(f, LINK_NSID_LOCAL, f->own);

    /* So is one of which it cannot be said where it came from. */
    finish(f);
    uint64_t resyncs = stats_of(f).resyncs;
    mangle.strip_control = true;
    assert_int_equal(unit_link_del(f->own, INDEX), 0);
    assert_true(link_listener_catch_up(f->listener));
    finish(f);
    assert_int_equal(stats_of(f).truncated, 2);
    assert_int_equal(stats_of(f).resyncs, resyncs + 1);
    assert_equal(f, LINK_NSID_LOCAL, f->own);
}

static void
errors_of_the_socket_are_losses(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    unit_plan_failures(UNIT_CALL_RECVMSG, 1, 1, EINTR);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_LOSS], 0);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));

    unit_plan_failures(UNIT_CALL_RECVMSG, 1, 1, ENOMEM);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX + 1, "y"), 0);
    link_listener_run(f->listener);
    finish(f);
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_LOSS], 3);
    assert_equal(f, LINK_NSID_LOCAL, f->own);
}

static void
a_tag_may_come_before_its_id(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *third = unit_ns_create();

    open_listener(f);
    mangle.swallow_nsid = true;
    mangle.tag_own = true;
    assert_int_equal(unit_ns_set_nsid(f->own, f->own, SELF_NSID), 0);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_int_equal(link_listener_self_nsid(f->listener), SELF_NSID);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_false(link_table_has_ns(f->table, SELF_NSID));

    /* And of a namespace that is not ours. */
    assert_int_equal(unit_link_add(third, "ifb", INDEX, "early"), 0);
    assert_int_equal(unit_ns_set_nsid(f->own, third, NSID + 1), 0);
    assert_int_equal(unit_link_add(third, "ifb", INDEX + 1, "late"), 0);
    assert_true(link_listener_catch_up(f->listener));
    finish(f);
    assert_true(has(f, NSID + 1, INDEX));
    assert_equal(f, NSID + 1, third);
    unit_ns_destroy(third);
}

static void
our_id_may_have_been_anothers(void **state)
{
    struct fixture *f = *state;
    int sender = sender_open();

    /* The end of the namespace that had our id before comes after our events
     * that are tagged with it. */
    open_listener(f);
    link_table_add_ns(f->table, SELF_NSID);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "before"), 0);
    assert_true(link_listener_catch_up(f->listener));
    mangle.swallow_nsid = true;
    mangle.tag_own = true;
    assert_int_equal(unit_ns_set_nsid(f->own, f->own, SELF_NSID), 0);
    assert_int_equal(unit_link_del(f->own, INDEX), 0);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX + 1, "after"), 0);
    link_listener_run(f->listener);
    mangle.swallow_nsid = false;
    mangle.from_kernel = true;
    send_nsid(sender, RTM_NEWNSID, SELF_NSID);
    send_nsid(sender, RTM_DELNSID, SELF_NSID);
    assert_true(link_listener_catch_up(f->listener));
    assert_int_equal(link_listener_self_nsid(f->listener), SELF_NSID);
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    assert_equal(f, LINK_NSID_LOCAL, f->own);
    close(sender);
}

static void
an_id_may_be_in_use_again_when_it_goes(void **state)
{
    struct fixture *f = *state;
    int sender = sender_open();

    open_listener(f);
    mangle.from_kernel = true;
    assert_int_equal(unit_link_add(f->other, "ifb", INDEX, "x"), 0);
    send_nsid(sender, RTM_DELNSID, NSID);
    assert_true(link_listener_catch_up(f->listener));
    finish(f);
    assert_true(has(f, NSID, INDEX));
    assert_equal(f, NSID, f->other);

    /* An id that is not in use goes. */
    link_table_add_ns(f->table, NSID + 1);
    send_nsid(sender, RTM_DELNSID, NSID + 1);
    link_listener_run(f->listener);
    assert_false(link_table_has_ns(f->table, NSID + 1));

    /* One that says that there is none means nothing. */
    send_nsid(sender, RTM_NEWNSID, -1);
    send_nsid(sender, RTM_DELNSID, -1);
    link_listener_run(f->listener);
    assert_equal(f, NSID, f->other);
    close(sender);
}

static void
without_an_answer_an_id_is_asked_for_again(void **state)
{
    struct fixture *f = *state;
    int sender = sender_open();

    open_listener(f);
    mangle.from_kernel = true;

    /* Its old namespace went, and we cannot find out whether another has it
     * already. */
    send_nsid(sender, RTM_DELNSID, NSID);
    unit_plan_failures(UNIT_CALL_SENDTO, 1, 1, ENOBUFS);
    link_listener_run(f->listener);
    assert_int_equal(unit_n_failed(), 1);
    finish(f);
    assert_true(link_table_has_ns(f->table, NSID));
    assert_equal(f, NSID, f->other);

    /* It went before it was asked for its links, and the like. */
    link_table_add_ns(f->table, NSID + 1);
    unit_plan_failures(UNIT_CALL_SENDTO, 2, 1, ENOBUFS);
    finish(f);
    assert_int_equal(unit_n_failed(), 1);
    assert_false(link_table_has_ns(f->table, NSID + 1));
    assert_int_equal(stats_of(f).refused, 0);
    close(sender);
}

/* What another namespace waits for is not what ours waits for. */
static void
our_links_are_asked_for_at_once(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    link_listener_run(f->listener);
    link_table_set_pending(f->table, NSID);
    unit_plan_failures(UNIT_CALL_SENDTO, 1, 1, ENOMEM);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).failed, 1);
    link_table_set_pending(f->table, LINK_NSID_LOCAL);
    assert_true(link_listener_catch_up(f->listener));
    finish(f);
}

static void
a_namespace_that_is_gone_is_dropped_when_asked_for(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    link_table_add_ns(f->table, NSID + 1);
    finish(f);
    assert_false(link_table_has_ns(f->table, NSID + 1));
    assert_true(link_table_has_ns(f->table, NSID));
    assert_int_equal(stats_of(f).refused, 0);
}

static void
an_old_kernel_answers_for_ours(void **state)
{
    struct fixture *f = *state;
    int error;

    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "ours"), 0);
    mangle.old_kernel = true;
    open_listener(f);
    assert_int_equal(state_of(f, NSID, &error), LINK_NS_STALE);
    assert_int_equal(error, EOPNOTSUPP);
    assert_int_equal(stats_of(f).refused, 1);
    assert_false(has(f, NSID, INDEX));
    assert_false(has(f, NSID, 1));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
}

static void
without_an_answer_our_id_is_asked_for_again(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(unit_ns_set_nsid(f->own, f->own, SELF_NSID), 0);
    unit_plan_failures(UNIT_CALL_SENDTO, 1, 1, ENOBUFS);
    assert_int_equal(link_listener_open(f->table, NULL, &f->listener), 0);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(link_listener_self_nsid(f->listener), LINK_NSID_NONE);

    /* Until it is asked for again, at the latest before all ids are. */
    mangle.tag_own = true;
    finish(f);
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    assert_true(link_listener_catch_up(f->listener));
    finish(f);
    assert_int_equal(link_listener_self_nsid(f->listener), SELF_NSID);
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    assert_equal(f, LINK_NSID_LOCAL, f->own);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(failed_opens_leave_nothing),
        TEST(without_the_right_to_listen_ours_is_known),
        TEST(a_small_receive_buffer_will_do),
        TEST(a_failed_dump_is_repeated_later),
        TEST(an_interrupted_dump_removes_nothing),
        TEST(a_malformed_answer_is_skipped),
        TEST(dumps_do_not_follow_each_other_for_ever),
        TEST(interrupted_dumps_let_others_pass),
        TEST(a_malformed_event_is_skipped),
        TEST(only_the_kernel_is_believed),
        TEST(a_message_cut_short_is_a_loss),
        TEST(errors_of_the_socket_are_losses),
        TEST(a_tag_may_come_before_its_id),
        TEST(our_id_may_have_been_anothers),
        TEST(an_id_may_be_in_use_again_when_it_goes),
        TEST(without_an_answer_an_id_is_asked_for_again),
        TEST(our_links_are_asked_for_at_once),
        TEST(a_namespace_that_is_gone_is_dropped_when_asked_for),
        TEST(an_old_kernel_answers_for_ours),
        TEST(without_an_answer_our_id_is_asked_for_again),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
