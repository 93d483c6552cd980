/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L5: filter of messages by type, with the types of the link
 * listener and more. */

#include <config.h>
#include "nl/nl-mcast.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "util.h"

static const uint16_t types[] = {
    RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR, RTM_NEWROUTE,
    RTM_DELROUTE, RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_NEWQDISC, RTM_DELQDISC,
    RTM_NEWTCLASS, RTM_DELTCLASS, RTM_NEWNSID, RTM_DELNSID,
};

struct fixture {
    int sender;
    int receiver;               /* Has the filter. */
    uint32_t pid;               /* Of the receiver. */
};

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);
    struct sockaddr_nl addr;
    socklen_t len = sizeof addr;

    f->sender = unit_sender_open();
    f->receiver = unit_sender_open();
    unit_check(!getsockname(f->receiver, (struct sockaddr *) &addr, &len));
    f->pid = addr.nl_pid;
    assert_int_equal(nl_filter_attach(f->receiver, types, ARRAY_SIZE(types)),
                     0);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    close(f->sender);
    close(f->receiver);
    free(f);
    return 0;
}

/* Sends a message of 'type' and 'n' bytes; returns how many arrived, or -1 if
 * the filter dropped it. */
static ssize_t
pass(struct fixture *f, uint16_t type, size_t n)
{
    char buf[16384] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = (struct nlmsghdr *) buf;

    memset(buf, 0, sizeof buf);
    nlh->nlmsg_len = n;
    nlh->nlmsg_type = type;

    /* The kernel says so when a filter has dropped a message. */
    int error = unit_send(f->sender, f->pid, buf, n);
    assert_true(!error || error == ECONNREFUSED || error == EPERM);
    return recv(f->receiver, buf, sizeof buf, MSG_DONTWAIT | MSG_TRUNC);
}

static void
types_that_are_asked_for_pass(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        assert_int_equal(pass(*state, types[i], 64), 64);
    }
}

static void
all_other_types_are_dropped(void **state)
{
    for (int type = 0; type <= UINT8_MAX; type++) {
        bool wanted = (type == RTM_NEWLINK || type == RTM_DELLINK
                       || type == RTM_NEWADDR || type == RTM_DELADDR
                       || type == RTM_NEWROUTE || type == RTM_DELROUTE
                       || type == RTM_NEWNEXTHOP || type == RTM_DELNEXTHOP
                       || type == RTM_NEWQDISC || type == RTM_DELQDISC
                       || type == RTM_NEWTCLASS || type == RTM_DELTCLASS
                       || type == RTM_NEWNSID || type == RTM_DELNSID);

        assert_int_equal(pass(*state, type, 64), wanted ? 64 : -1);
    }

    /* In neither byte order. */
    assert_int_equal(pass(*state, RTM_NEWLINK << 8, 64), -1);
    assert_int_equal(pass(*state, RTM_NEWLINK | 0x100, 64), -1);
}

static void
what_passes_is_not_cut_short(void **state)
{
    assert_int_equal(pass(*state, RTM_NEWLINK, 16384), 16384);
    assert_int_equal(pass(*state, RTM_NEWTFILTER, 16384), -1);

    /* Too short to have a type. */
    assert_int_equal(pass(*state, RTM_NEWLINK, 5), -1);
}

static void
a_filter_needs_a_socket(void **state OVS_UNUSED)
{
    assert_int_equal(nl_filter_attach(-1, types, ARRAY_SIZE(types)), EBADF);
}

static void
as_many_types_pass_as_there_is_room_for(void **state)
{
    struct fixture *f = *state;
    uint16_t many[NL_FILTER_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
        many[i] = 100 + i;
    }
    assert_int_equal(nl_filter_attach(f->receiver, many, ARRAY_SIZE(many)), 0);
    assert_int_equal(pass(f, 99, 64), -1);
    assert_int_equal(pass(f, 100, 64), 64);
    assert_int_equal(pass(f, 100 + NL_FILTER_MAX - 1, 64), 64);
    assert_int_equal(pass(f, 100 + NL_FILTER_MAX, 64), -1);

    /* The first of the types alone. */
    assert_int_equal(nl_filter_attach(f->receiver, many, 1), 0);
    assert_int_equal(pass(f, 100, 64), 64);
    assert_int_equal(pass(f, 101, 64), -1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(types_that_are_asked_for_pass),
        TEST(all_other_types_are_dropped),
        TEST(what_passes_is_not_cut_short),
        TEST(as_many_types_pass_as_there_is_room_for),
        cmocka_unit_test(a_filter_needs_a_socket),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
