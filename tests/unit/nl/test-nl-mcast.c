/* SPDX-License-Identifier: Apache-2.0 */

/* Netlink multicasts of the running kernel, in a network namespace with
 * nothing but a loopback device in it. */

#include <config.h>
#include "nl/nl-mcast.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/descriptors.h"
#include "harness/kernel-messages.h"
#include "harness/netns.h"
#include "harness/see-links.h"
#include "harness/unit.h"
#include "util.h"

/* Interface index of the loopback device. */
#define LO 1

/* Takes messages of the test for the kernel's.  Only its own thread
 * receives. */
static bool from_kernel;

/* The room that the last receive had, and what the next one says: a longer
 * datagram, or that there was no room for the id of the namespace. */
static size_t room;
static ssize_t claimed_len;
static int claimed_flags;

ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    ssize_t n = __real_recvmsg(fd, msg, flags);

    if (n >= 0 && from_kernel) {
        ((struct sockaddr_nl *) msg->msg_name)->nl_pid = 0;
    }
    room = msg->msg_iov->iov_len;
    if (n >= 0 && claimed_flags) {
        msg->msg_flags |= claimed_flags;
        claimed_flags = 0;
        return MAX(n, claimed_len);
    }
    return n;
}

/* What binding a socket fails with, or 0. */
static int bind_error;

int __wrap_mnl_socket_bind(struct mnl_socket *, unsigned int groups,
                           pid_t pid);
int __real_mnl_socket_bind(struct mnl_socket *, unsigned int groups,
                           pid_t pid);
int
__wrap_mnl_socket_bind(struct mnl_socket *sock, unsigned int groups, pid_t pid)
{
    if (bind_error) {
        errno = bind_error;
        return -1;
    }
    return __real_mnl_socket_bind(sock, groups, pid);
}

static int
setup(void **state)
{
    from_kernel = false;
    claimed_len = 0;
    claimed_flags = 0;
    bind_error = 0;
    *state = unit_ns_own();
    return 0;
}

static int
teardown(void **state)
{
    unit_ns_destroy(*state);
    return 0;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

static const unsigned int link_group[] = { RTNLGRP_LINK };

static struct nl_mcast *
open_with(const struct nl_mcast_options *options)
{
    struct nl_mcast *mcast;

    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, options, &mcast), 0);
    return mcast;
}

/* Opens a socket for events of links. */
static struct nl_mcast *
open_links(void)
{
    return open_with(&(struct nl_mcast_options) {
        .groups = link_group, .n_groups = 1,
    });
}

static struct nl_mcast_stats
get_stats(const struct nl_mcast *mcast)
{
    struct nl_mcast_stats stats;

    nl_mcast_get_stats(mcast, &stats);
    return stats;
}

static void
wait_readable(const struct nl_mcast *mcast)
{
    struct pollfd pfd = { .fd = nl_mcast_fd(mcast), .events = POLLIN };

    assert_int_equal(poll(&pfd, 1, UNIT_PATIENCE), 1);
    assert_true(pfd.revents & POLLIN);
}

/* Receives all that waits. */
static void
take_all(struct nl_mcast *mcast, struct unit_seen *seen)
{
    unsigned int budget = 1000;

    assert_int_equal(nl_mcast_recv_all(mcast, &budget, unit_see_event, seen),
                     EAGAIN);
}

static void
events_of_the_group_are_received(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_links();

    assert_int_equal(nl_mcast_recv(mcast, unit_see_event, &seen), EAGAIN);
    assert_int_equal(seen.n, 0);

    assert_int_equal(unit_link_set_mtu(ns, LO, 5000), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_event, &seen), 0);
    assert_int_equal(seen.n_lo, 1);
    assert_int_equal(seen.mtu, 5000);
    assert_int_equal(seen.type, RTM_NEWLINK);
    assert_int_equal(seen.nsid, NL_NSID_NONE);
    take_all(mcast, &seen);

    assert_int_equal(unit_link_add_veth(ns, 0, "va", ns, 0, "vb"), 0);
    assert_int_equal(unit_link_del(ns, if_nametoindex("va")), 0);
    wait_readable(mcast);
    take_all(mcast, &seen);
    assert_int_equal(seen.type, RTM_DELLINK);
    nl_mcast_close(mcast);
}

static void
events_of_other_groups_are_not_received(void **state)
{
    static const unsigned int groups[] = { RTNLGRP_TC };
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_with(&(struct nl_mcast_options) {
        .groups = groups, .n_groups = 1,
    });

    assert_int_equal(unit_link_set_mtu(ns, LO, 5001), 0);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_event, &seen), EAGAIN);
    assert_int_equal(seen.n, 0);

    /* Until it is a member. */
    assert_int_equal(nl_mcast_set_member(mcast, RTNLGRP_LINK, true), 0);
    assert_int_equal(unit_link_set_mtu(ns, LO, 5002), 0);
    wait_readable(mcast);
    take_all(mcast, &seen);
    assert_int_equal(seen.mtu, 5002);
    assert_int_equal(nl_mcast_set_member(mcast, RTNLGRP_LINK, false), 0);
    assert_int_equal(unit_link_set_mtu(ns, LO, 5003), 0);
    take_all(mcast, &seen);
    assert_int_equal(seen.mtu, 5002);
    nl_mcast_close(mcast);
}

static void
types_that_nobody_asked_for_do_not_arrive(void **state)
{
    static const uint16_t types[] = { RTM_DELLINK };
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_with(&(struct nl_mcast_options) {
        .groups = link_group, .n_groups = 1,
        .types = types, .n_types = ARRAY_SIZE(types),
    });

    assert_int_equal(unit_link_add_veth(ns, 0, "va", ns, 0, "vb"), 0);
    take_all(mcast, &seen);
    assert_int_equal(seen.n, 0);
    assert_int_equal(unit_link_del(ns, if_nametoindex("va")), 0);
    wait_readable(mcast);
    take_all(mcast, &seen);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.type, RTM_DELLINK);
    nl_mcast_close(mcast);
}

static void
messages_tell_the_namespace_that_they_come_from(void **state)
{
    enum { NSID = 7 };
    struct unit_ns *ns = *state;
    struct unit_ns *other = unit_ns_create();
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_links();

    assert_int_equal(unit_ns_set_nsid(ns, other, NSID), 0);
    assert_int_equal(unit_link_set_mtu(other, LO, 5000), 0);
    take_all(mcast, &seen);
    assert_int_equal(seen.n, 0);

    assert_int_equal(nl_mcast_listen_all_nsid(mcast), 0);
    assert_int_equal(unit_link_set_mtu(other, LO, 5001), 0);
    wait_readable(mcast);
    take_all(mcast, &seen);
    assert_int_equal(seen.n, 1);
    assert_int_equal(seen.mtu, 5001);
    assert_int_equal(seen.nsid, NSID);

    assert_int_equal(unit_link_set_mtu(ns, LO, 5002), 0);
    wait_readable(mcast);
    take_all(mcast, &seen);
    assert_int_equal(seen.n, 2);
    assert_int_equal(seen.nsid, NL_NSID_NONE);
    nl_mcast_close(mcast);
    unit_ns_destroy(other);
}

static void
overrun_is_reported_once_and_events_go_on(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_links();
    unsigned int budget = 10000;
    uint32_t mtu = 2000;

    for (int i = 0; i < 2000; i++) {
        assert_int_equal(unit_link_set_mtu(ns, LO, ++mtu), 0);
    }
    assert_int_equal(nl_mcast_recv_all(mcast, &budget, unit_see_event, &seen),
                     ENOBUFS);
    take_all(mcast, &seen);
    assert_in_range(seen.n, 1, 1999);
    assert_int_equal(get_stats(mcast).overruns, 1);
    assert_int_equal(get_stats(mcast).lost, 2000 - seen.n);

    assert_int_equal(unit_link_set_mtu(ns, LO, ++mtu), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_event, &seen), 0);
    assert_int_equal(seen.mtu, mtu);
    assert_int_equal(get_stats(mcast).overruns, 1);
    nl_mcast_close(mcast);
}

static void
what_an_overrun_left_can_be_thrown_away(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_links();
    unsigned int budget = 10;
    uint32_t backlog, rcvbuf;
    uint32_t mtu = 2000;

    for (int i = 0; i < 2000; i++) {
        assert_int_equal(unit_link_set_mtu(ns, LO, ++mtu), 0);
    }
    nl_mcast_get_backlog(mcast, &backlog, &rcvbuf);
    assert_in_range(backlog, 1, 2 * rcvbuf);

    assert_false(nl_mcast_drain(mcast, &budget));
    assert_int_equal(budget, 0);
    budget = 10000;
    assert_true(nl_mcast_drain(mcast, &budget));
    assert_in_range(budget, 1, 9999);
    assert_int_equal(get_stats(mcast).overruns, 1);
    assert_int_equal(get_stats(mcast).drained
                     + get_stats(mcast).lost, 2000);
    nl_mcast_get_backlog(mcast, &backlog, &rcvbuf);
    assert_int_equal(backlog, 0);

    /* No more than there can be. */
    assert_in_range(get_stats(mcast).drained, 1, nl_mcast_capacity(mcast));

    assert_int_equal(unit_link_set_mtu(ns, LO, ++mtu), 0);
    wait_readable(mcast);
    assert_int_equal(nl_mcast_recv(mcast, unit_see_event, &seen), 0);
    assert_int_equal(seen.mtu, mtu);
    nl_mcast_close(mcast);
}

static void
no_more_is_received_than_the_budget(void **state)
{
    struct unit_ns *ns = *state;
    struct unit_seen seen = { .n = 0 };
    struct nl_mcast *mcast = open_links();
    unsigned int budget = 2;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(unit_link_set_mtu(ns, LO, 5000 + i), 0);
    }
    assert_int_equal(nl_mcast_recv_all(mcast, &budget, unit_see_event, &seen),
                     0);
    assert_int_equal(budget, 0);
    assert_int_equal(seen.n, 2);
    budget = 2;
    assert_int_equal(nl_mcast_recv_all(mcast, &budget, unit_see_event, &seen),
                     EAGAIN);
    assert_int_equal(budget, 0);
    assert_int_equal(seen.n, 3);
    nl_mcast_close(mcast);
}

static void
the_receive_buffer_has_the_size_asked_for(void **state OVS_UNUSED)
{
    enum { SIZE = 16384 };
    struct nl_mcast *mcast = open_with(&(struct nl_mcast_options) {
        .groups = link_group, .n_groups = 1, .rcvbuf = SIZE,
    });
    uint32_t backlog, rcvbuf;

    nl_mcast_get_backlog(mcast, &backlog, &rcvbuf);
    assert_int_equal(backlog, 0);

    /* The kernel doubles it, to have room for its own. */
    assert_int_equal(rcvbuf, 2 * SIZE);
    nl_mcast_close(mcast);
}

static int
open_sender(void)
{
    struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &addr, sizeof addr), 0);
    return fd;
}

/* Sends 'n' bytes that begin with a message about the loopback device, which
 * has 'len' of them. */
static void
send_event(int sender, size_t len, size_t n)
{
    char *buf = xzalloc(n);
    struct nlmsghdr *nlh = (struct nlmsghdr *) buf;

    nlh->nlmsg_len = len;
    nlh->nlmsg_type = RTM_NEWLINK;
    assert_int_equal(unit_send_group(sender, RTNLGRP_LINK, buf, n), 0);
    free(buf);
}

static void
count_event(const struct nlmsghdr *nlh, int32_t nsid OVS_UNUSED, void *len)
{
    *(size_t *) len += nlh->nlmsg_len;
}

static void
messages_that_are_not_of_the_kernel_are_ignored(void **state OVS_UNUSED)
{
    struct nl_mcast *mcast = open_links();
    int sender = open_sender();
    size_t len = 0;

    send_event(sender, 64, 64);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), 0);
    assert_int_equal(len, 0);
    assert_int_equal(get_stats(mcast).ignored_sender, 1);
    close(sender);
    nl_mcast_close(mcast);
}

static void
a_datagram_that_was_cut_short_makes_room_for_the_next(void **state OVS_UNUSED)
{
    enum { LARGE = 100000 };
    struct nl_mcast *mcast = open_links();
    int sender = open_sender();
    size_t len = 0;

    from_kernel = true;
    send_event(sender, LARGE, LARGE);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), EMSGSIZE);
    assert_int_equal(len, 0);
    send_event(sender, LARGE, LARGE);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), 0);
    assert_int_equal(len, LARGE);
    assert_int_equal(get_stats(mcast).truncated, 1);
    close(sender);
    nl_mcast_close(mcast);
}

/* Receives a datagram that is cut short.  Returns the room for the next one,
 * which is received. */
static size_t
room_after(struct nl_mcast *mcast, int sender, ssize_t len, int flags)
{
    uint64_t n = get_stats(mcast).truncated;
    size_t sum = 0;

    send_event(sender, 64, 64);
    claimed_len = len;
    claimed_flags = flags;
    assert_int_equal(nl_mcast_recv(mcast, count_event, &sum), EMSGSIZE);
    assert_int_equal(get_stats(mcast).truncated, n + 1);
    assert_int_equal(sum, 0);
    send_event(sender, 64, 64);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &sum), 0);
    assert_int_equal(sum, 64);
    return room;
}

static void
the_buffer_grows_only_for_a_datagram_that_it_may_hold(void **state OVS_UNUSED)
{
    enum { MIB = 1024 * 1024 };
    struct nl_mcast *mcast = open_links();
    int sender = open_sender();
    size_t size;

    from_kernel = true;
    size = room_after(mcast, sender, 100000, MSG_TRUNC);
    assert_in_range(size, 100000, 200000);

    /* A datagram that fits lacked room for something else. */
    assert_int_equal(room_after(mcast, sender, 64, MSG_CTRUNC), size);
    assert_int_equal(room_after(mcast, sender, size, MSG_CTRUNC), size);

    /* A datagram of any size must not take the daemon's memory. */
    assert_int_equal(room_after(mcast, sender, MIB + 1, MSG_TRUNC), size);
    assert_int_equal(room_after(mcast, sender, MIB, MSG_TRUNC), MIB);
    close(sender);
    nl_mcast_close(mcast);
}

static void
what_is_no_message_is_counted(void **state OVS_UNUSED)
{
    struct nl_mcast *mcast = open_links();
    int sender = open_sender();
    size_t len = 0;

    from_kernel = true;
    send_event(sender, 64, 68);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), 0);
    assert_int_equal(len, 64);
    assert_int_equal(get_stats(mcast).malformed, 1);

    send_event(sender, 68, 64);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), 0);
    assert_int_equal(len, 64);
    assert_int_equal(get_stats(mcast).malformed, 2);

    /* However little it is; and nothing is not. */
    send_event(sender, 64, 65);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), 0);
    assert_int_equal(get_stats(mcast).malformed, 3);
    send_event(sender, 64, 64);
    assert_int_equal(nl_mcast_recv(mcast, count_event, &len), 0);
    assert_int_equal(get_stats(mcast).malformed, 3);
    close(sender);
    nl_mcast_close(mcast);
}

static void
closing_leaves_nothing_open(void **state OVS_UNUSED)
{
    size_t n_fds = unit_count_fds();

    nl_mcast_close(NULL);
    struct nl_mcast *mcast = open_links();
    assert_int_equal(unit_count_fds(), n_fds + 1);
    nl_mcast_close(mcast);
    assert_int_equal(unit_count_fds(), n_fds);
}

static void
what_the_kernel_does_not_have_cannot_be_opened(void **state OVS_UNUSED)
{
    static const unsigned int groups[] = { 100000 };
    const struct nl_mcast_options options = {
        .groups = groups, .n_groups = 1,
    };
    size_t n_fds = unit_count_fds();
    struct nl_mcast *mcast = (struct nl_mcast *) &mcast;

    assert_int_equal(nl_mcast_open(NETLINK_GENERIC + 1000, &options, &mcast),
                     EPROTONOSUPPORT);
    assert_null(mcast);
    mcast = (struct nl_mcast *) &mcast;
    assert_int_equal(nl_mcast_open(NETLINK_ROUTE, &options, &mcast), EINVAL);
    assert_null(mcast);

    /* Nor can a socket without an address. */
    mcast = (struct nl_mcast *) &mcast;
    bind_error = ENOMEM;
    assert_int_equal(nl_mcast_open(NETLINK_ROUTE,
                                   &(struct nl_mcast_options) { .rcvbuf = 0 },
                                   &mcast), ENOMEM);
    assert_null(mcast);
    assert_int_equal(unit_count_fds(), n_fds);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(events_of_the_group_are_received),
        TEST(events_of_other_groups_are_not_received),
        TEST(types_that_nobody_asked_for_do_not_arrive),
        TEST(messages_tell_the_namespace_that_they_come_from),
        TEST(overrun_is_reported_once_and_events_go_on),
        TEST(what_an_overrun_left_can_be_thrown_away),
        TEST(no_more_is_received_than_the_budget),
        TEST(the_receive_buffer_has_the_size_asked_for),
        TEST(messages_that_are_not_of_the_kernel_are_ignored),
        TEST(a_datagram_that_was_cut_short_makes_room_for_the_next),
        TEST(the_buffer_grows_only_for_a_datagram_that_it_may_hold),
        TEST(what_is_no_message_is_counted),
        TEST(closing_leaves_nothing_open),
        TEST(what_the_kernel_does_not_have_cannot_be_opened),
    };

    unit_init("test-nl-mcast");
    return cmocka_run_group_tests_name("nl-mcast", tests, NULL, NULL);
}
