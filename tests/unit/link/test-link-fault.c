/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L6: what the link listener does when the system refuses,
 * when dumps are interrupted or fail, when messages make no sense, and when
 * some are lost. */

#include <config.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/link/link-fault-fixture.h"
#include "link/link-resync.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "util.h"

static void
failed_opens_leave_nothing(void **state)
{
    struct fixture *f = *state;
    static const struct {
        enum unit_call which;
        unsigned int nth;
    } tests[] = {
        { UNIT_CALL_SOCKET, 1 }, { UNIT_CALL_SOCKET, 2 },
        { UNIT_CALL_SOCKET, 3 },
        { UNIT_CALL_BIND, 1 }, { UNIT_CALL_BIND, 2 }, { UNIT_CALL_BIND, 3 },

        /* The groups of our own namespace, and of others: the sixth option,
         * which is to listen to those, is not vital. */
        { UNIT_CALL_MNL_SETSOCKOPT, 1 }, { UNIT_CALL_MNL_SETSOCKOPT, 2 },
        { UNIT_CALL_MNL_SETSOCKOPT, 3 }, { UNIT_CALL_MNL_SETSOCKOPT, 4 },
        { UNIT_CALL_MNL_SETSOCKOPT, 5 },
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

    unit_plan_failures(UNIT_CALL_MNL_SETSOCKOPT, 6, 1, EPERM);
    open_listener(f);
    assert_int_equal(unit_n_failed(), 1);
    assert_false(link_table_has_ns(f->table, NSID));
    assert_equal(f, LINK_NSID_LOCAL, f->own);
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
}

/* True if the link has that name in the table, NULL for none. */
static bool
is_called(struct fixture *f, int32_t nsid, int ifindex, const char *name)
{
    struct link_info link;

    link_listener_run(f->listener);
    return (link_table_find(f->table, nsid, ifindex, &link)
            ? name && !strcmp(link.name, name) : !name);
}

/* Every few seconds, the listener then requests the links of each namespace
 * that somebody needs. */
static void
without_the_right_to_listen_others_are_asked_for(void **state)
{
    static const struct link_listener_options options = { .on_demand = true };
    struct fixture *f = *state;
    uint64_t n_asked;

    unit_plan_failures(UNIT_CALL_MNL_SETSOCKOPT, 6, 1, EPERM);
    assert_int_equal(link_listener_open(f->table, &options, &f->listener), 0);
    assert_true(link_listener_catch_up(f->listener));
    link_listener_run(f->listener);
    unit_clock_stop(time_msec());

    /* Nobody needs any yet. */
    n_asked = stats_of(f).rtnl[LINK_REASON_NAMESPACE];
    unit_clock_advance(2 * LINK_POLL_MS);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_NAMESPACE], n_asked);

    assert_int_equal(unit_link_add(f->other, "ifb", INDEX, "x"), 0);
    link_table_follow_ns(f->table, NSID);
    unit_wait_until(is_called(f, NSID, INDEX, "x"));
    assert_int_equal(unit_link_set_name(f->other, INDEX, "y"), 0);
    unit_clock_advance(LINK_POLL_MS);
    unit_wait_until(is_called(f, NSID, INDEX, "y"));

    /* Not before it is time. */
    n_asked = stats_of(f).rtnl[LINK_REASON_NAMESPACE];
    assert_int_equal(unit_link_del(f->other, INDEX), 0);
    unit_clock_advance(LINK_POLL_MS - 1);
    for (int i = 0; i < 3; i++) {
        link_listener_run(f->listener);
    }
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_NAMESPACE], n_asked);
    unit_clock_advance(1);
    unit_wait_until(is_called(f, NSID, INDEX, NULL));
    assert_true(has(f, LINK_NSID_LOCAL, 1));
    unit_clock_run();
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
        /* First our links, then the ids, then the other's links.  It is time
         * for them, and no time passes. */
        long long int start = time_msec();
        unit_clock_stop(start);
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
        link_listener_run(f->listener);
        unit_clock_advance(500);
        link_listener_run(f->listener);
        assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], rtnl);
        unit_clock_run();
        link_listener_wait(f->listener);
        poll_timer_wait(UNIT_PATIENCE);
        poll_block();
        assert_true(time_msec() - start > 500);

        /* An event may have ended the sleep early. */
        unit_wait_until(time_msec() - start >= 1000);
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

    mangle.interrupt = 1;
    link_listener_resync(f->listener);
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, 1));
    assert_int_equal(stats_of(f).interrupted, 1);
    link_listener_run(f->listener);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, 1));

    /* The ids and the other namespace, too. */
    finish(f);
    link_table_add_ns(f->table, NSID + 1);
    link_table_set_current(f->table, NSID + 1);
    link_listener_resync(f->listener);
    link_listener_run(f->listener);
    mangle.interrupt = 1;
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).interrupted, 2);
    assert_true(link_table_has_ns(f->table, NSID + 1));
    link_listener_run(f->listener);
    assert_false(link_table_has_ns(f->table, NSID + 1));
    mangle.interrupt = 1;
    finish(f);
    assert_int_equal(stats_of(f).interrupted, 3);
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
    unit_clock_stop(time_msec());
    for (int i = 0; i < 50; i++) {
        link_listener_run(f->listener);
    }
    assert_true(stats_of(f).interrupted < 10);

    /* It waits until it is time. */
    unit_clock_run();
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
    nlh->nlmsg_type = RTM_NEWADDR;
    assert_int_equal(unit_send_group(sender, RTNLGRP_LINK, buf, 16), 0);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).malformed, 4);
    assert_int_equal(stats_of(f).events_other, 0);
    assert_int_equal(n_changes, 0);
    link_table_unsubscribe(sub);

    /* One of a type that nobody asked for does not even arrive, unless it
     * comes after one that was asked for. */
    nlh->nlmsg_type = RTM_NEWTFILTER;
    assert_int_equal(unit_send_group(sender, RTNLGRP_LINK, buf, 16), 0);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).events_other, 0);
    char two[32] __attribute__((aligned(NLMSG_ALIGNTO)));
    nlh->nlmsg_type = RTM_NEWADDR;
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

    /* The link was sent to both sockets. */
    assert_int_equal(stats_of(f).ignored_sender, 3);
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

    /* So is a message if the listener cannot tell which namespace it came
     * from. */
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

    /* What was lost of ours has ours asked for, and nothing else. */
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_LOSS], 1);
    assert_equal(f, LINK_NSID_LOCAL, f->own);

    /* What was lost of others has the ids and theirs asked for.  Our socket is
     * empty, so that the second call is for theirs. */
    assert_int_equal(unit_link_add(f->other, "ifb", INDEX, "z"), 0);
    link_listener_run(f->listener);
    unit_plan_failures(UNIT_CALL_RECVMSG, 2, 1, ENOMEM);
    assert_int_equal(unit_link_set_mtu(f->other, INDEX, 1234), 0);
    link_listener_run(f->listener);
    finish(f);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_LOSS], 3);
    assert_equal(f, NSID, f->other);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(failed_opens_leave_nothing),
        TEST(without_the_right_to_listen_ours_is_known),
        TEST(without_the_right_to_listen_others_are_asked_for),
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
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
