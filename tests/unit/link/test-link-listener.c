/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L1, L2 and L4: the link listener, on the events of our own
 * namespace. */

#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit/link/link-listener-fixture.h"
#include "openvswitch/poll-loop.h"
#include "sset.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "util.h"

static void
the_first_run_fills_the_table(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add(f->own, "bridge", INDEX, "br"));
    OK(unit_link_add_veth(f->own, INDEX + 1, "a", f->own, INDEX + 2, "b"));
    OK(unit_link_set_master(f->own, INDEX + 1, INDEX));
    OK(link_listener_open(f->table, NULL, &f->listener));
    assert_false(link_listener_is_current(f->listener));
    link_listener_run(f->listener);
    assert_string_equal(get(f, LINK_NSID_LOCAL, 1).name, "lo");
    assert_string_equal(get(f, LINK_NSID_LOCAL, INDEX).kind, "bridge");
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 1).master, INDEX);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 1).lower, INDEX + 2);
    assert_equal(f);
    assert_true(link_listener_is_current(f->listener));
    assert_int_equal(stats_of(f).resyncs, 1);

    /* One for the links, one for the ids. */
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], 2);
    assert_int_equal(total_rtnl(f), 2);
}

static void
own_changes_are_seen_at_once(void **state)
{
    struct fixture *f = *state;
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

    open_listener(f, NULL);
    OK(unit_link_add(f->own, "bridge", INDEX, "br0"));
    assert_seen(f);
    OK(unit_link_set_name(f->own, INDEX, "renamed"));
    assert_seen(f);
    assert_string_equal(get(f, LINK_NSID_LOCAL, INDEX).name, "renamed");
    OK(unit_link_set_mtu(f->own, INDEX, 1300));
    assert_seen(f);
    OK(unit_link_set_hwaddr(f->own, INDEX, mac));
    assert_seen(f);
    assert_memory_equal(get(f, LINK_NSID_LOCAL, INDEX).hwaddr, mac, 6);
    OK(unit_link_add(f->own, "bridge", INDEX + 1, "br"));
    assert_seen(f);
    OK(unit_link_del(f->own, INDEX));
    assert_seen(f);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));

    /* A bridge says that a port is deleted, which the device is not. */
    OK(unit_link_add_veth(f->own, INDEX, "a", f->own, INDEX + 2, "b"));
    OK(unit_link_set_master(f->own, INDEX, INDEX + 1));
    assert_seen(f);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).master, INDEX + 1);
    OK(unit_link_set_master(f->own, INDEX, 0));
    assert_seen(f);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).master, 0);
    assert_true(stats_of(f).ignored_port > 0);

    /* Flags and carrier, which has come when the table is as the kernel says,
     * if not at once. */
    OK(unit_link_set_up(f->own, INDEX, true));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(get(f, LINK_NSID_LOCAL, INDEX).flags & 1);
    OK(unit_link_add_alt_name(f->own, INDEX, "a-much-longer-name-than-a"));
    assert_true(link_listener_catch_up(f->listener));
    struct link_info info;
    assert_true(link_table_find_name(f->table, LINK_NSID_LOCAL,
                                     "a-much-longer-name-than-a", &info));
    assert_int_equal(info.ifindex, INDEX);
    OK(unit_link_set_up(f->own, INDEX + 2, true));
    assert_equal(f);
    assert_true(get(f, LINK_NSID_LOCAL, INDEX).carrier);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).carrier_up, 1);
    OK(unit_link_del_alt_name(f->own, INDEX, "a-much-longer-name-than-a"));
    OK(unit_link_set_up(f->own, INDEX + 2, false));
    assert_equal(f);
    assert_false(get(f, LINK_NSID_LOCAL, INDEX).carrier);
    assert_int_equal(total_rtnl(f), 2);
    assert_int_equal(stats_of(f).malformed, 0);
    assert_int_equal(stats_of(f).events_other, 0);
}

/* A tap device that becomes one of another type has no hardware address any
 * more, and the message about it has no such attribute. */
static void
a_hardware_address_may_go(void **state)
{
    struct fixture *f = *state;
    struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI };
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        print_message("skipped: /dev/net/tun: %s\n", ovs_strerror(errno));
        skip();
    }
    open_listener(f, NULL);
    ovs_strlcpy(ifr.ifr_name, "tap", sizeof ifr.ifr_name);
    OK(ioctl(fd, TUNSETIFF, &ifr));
    assert_seen(f);

    int ifindex = unit_link_index(f->own, "tap");
    assert_int_equal(get(f, LINK_NSID_LOCAL, ifindex).hwaddr_len, 6);
    OK(ioctl(fd, TUNSETLINK, ARPHRD_NONE));
    assert_seen(f);
    assert_int_equal(get(f, LINK_NSID_LOCAL, ifindex).hwaddr_len, 0);
    close(fd);
}

/* A message about a link may be longer than the usual part of a dump.  Only a
 * dump with IFLA_EXT_MASK has such a link at all. */
static void
a_link_may_have_very_many_names(void **state)
{
    struct fixture *f = *state;
    char name[LINK_ALT_NAME_SIZE];

    OK(unit_link_add(f->own, "bridge", INDEX, "br"));
    OK(unit_link_set_up(f->own, INDEX, true));
    for (int i = 0; i < 450; i++) {
        snprintf(name, sizeof name, "%0*d", LINK_ALT_NAME_SIZE - 1, i);
        OK(unit_link_add_alt_name(f->own, INDEX, name));
    }
    open_listener(f, NULL);

    struct sset names = SSET_INITIALIZER(&names);
    link_table_get_alt_names(f->table, LINK_NSID_LOCAL, INDEX, &names);
    assert_int_equal(sset_count(&names), 450);
    sset_destroy(&names);

    /* Neither does its event fit, at first. */
    for (int mtu = 1300; mtu < 1303; mtu++) {
        OK(unit_link_set_mtu(f->own, INDEX, mtu));
        assert_true(link_listener_catch_up(f->listener));
        assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX).mtu, mtu);
    }
    /* Once on each socket. */
    assert_int_equal(stats_of(f).truncated, 2);
    assert_int_equal(stats_of(f).failed, 0);
}

static void
addresses_are_noticed(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    OK(unit_link_add(f->own, "ifb", INDEX, "ifb"));
    link_listener_catch_up(f->listener);

    uint64_t before = get(f, LINK_NSID_LOCAL, INDEX).addr_seqno;
    OK(unit_addr_add(f->own, INDEX, 0x0101010a));
    link_listener_catch_up(f->listener);
    assert_true(get(f, LINK_NSID_LOCAL, INDEX).addr_seqno > before);
    assert_true(stats_of(f).events[LINK_MSG_NEWADDR] >= 1);

    before = get(f, LINK_NSID_LOCAL, INDEX).addr_seqno;
    OK(unit_link_del(f->own, INDEX));
    link_listener_catch_up(f->listener);
    assert_true(stats_of(f).events[LINK_MSG_DELADDR] >= 1);
}

static void
nothing_is_asked_in_steady_state(void **state)
{
    struct fixture *f = *state;
    uint64_t before = total_rtnl(f);
    uint64_t nsid_before = stats_of(f).nsid_requests;

    for (int i = 0; i < 50; i++) {
        OK(unit_link_add_veth(f->own, INDEX, "a", f->other, INDEX, "a"));
        OK(unit_link_set_up(f->own, INDEX, true));
        OK(unit_link_set_up(f->other, INDEX, true));
        link_listener_run(f->listener);
        OK(unit_link_del(f->own, INDEX));
        link_listener_run(f->listener);
    }
    assert_equal(f);
    assert_int_equal(total_rtnl(f), before);

    /* The veth gave us an id in the other namespace, which is none of ours. */
    assert_int_equal(stats_of(f).nsid_requests, nsid_before);
}

static void
losses_lead_to_a_resync(void **state)
{
    struct fixture *f = *state;
    struct link_listener_options options = { .rcvbuf = 1 };

    open_listener(f, &options);
    OK(unit_link_add(f->own, "ifb", INDEX, "victim"));
    OK(unit_link_add(f->own, "ifb", INDEX + 1, "other"));
    assert_seen(f);
    finish(f);

    uint64_t overruns = stats_of(f).overruns, resyncs = stats_of(f).resyncs;
    uint64_t addr_seqno = get(f, LINK_NSID_LOCAL, INDEX + 1).addr_seqno;
    make_events(f->own, INDEX, 100);
    OK(unit_link_del(f->own, INDEX));
    OK(unit_link_set_name(f->own, INDEX + 1, "victim"));
    OK(unit_link_add(f->own, "ifb", INDEX + 2, "other"));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_seen(f);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));

    struct link_listener_stats stats = stats_of(f);
    /* Of both sockets. */
    assert_int_equal(stats.overruns, overruns + 2);
    assert_true(stats.lost > 50);
    assert_true(stats.drained > 0);
    assert_true(stats.rtnl[LINK_REASON_LOSS] > 0);

    /* Addresses may have changed too. */
    assert_true(get(f, LINK_NSID_LOCAL, INDEX + 1).addr_seqno > addr_seqno);
    finish(f);
    assert_int_equal(stats_of(f).resyncs, resyncs + 1);
    assert_true(stats_of(f).resync_max >= stats_of(f).resync_last);
    assert_equal(f);
}

/* Fewer than a run takes. */
#define REST (LINK_RUN_DATAGRAMS / 2)

static void
a_run_does_a_bounded_amount_of_work(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    OK(unit_link_add(f->own, "ifb", INDEX, "x"));
    link_listener_catch_up(f->listener);

    uint64_t before = stats_of(f).events[LINK_MSG_NEWLINK];
    make_events(f->own, INDEX, LINK_RUN_DATAGRAMS + REST);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWLINK] - before,
                     LINK_RUN_DATAGRAMS);

    /* It does not sleep over the rest. */
    long long int start = unit_now();
    link_listener_wait(f->listener);
    poll_timer_wait(UNIT_PATIENCE);
    poll_block();
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    link_listener_run(f->listener);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWLINK] - before,
                     LINK_RUN_DATAGRAMS + REST);
    assert_int_equal(stats_of(f).overruns, 0);

    /* And takes all of it if asked to. */
    make_events(f->own, INDEX, 3 * LINK_RUN_DATAGRAMS);
    assert_seen(f);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWLINK] - before,
                     4 * LINK_RUN_DATAGRAMS + REST);
}

static void
an_event_ends_the_wait(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    finish(f);
    link_listener_run(f->listener);

    /* Nothing to do: it sleeps. */
    long long int start = time_msec();
    link_listener_wait(f->listener);
    poll_timer_wait(20);
    poll_block();
    assert_true(time_msec() - start >= 19);

    link_listener_wait(f->listener);
    OK(unit_link_add(f->own, "ifb", INDEX, "x"));
    poll_timer_wait(UNIT_PATIENCE);
    start = unit_now();
    poll_block();
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
}

static void
closing_leaks_nothing(void **state)
{
    struct fixture *f = *state;
    size_t n_fds = unit_count_fds();

    for (int i = 0; i < 3; i++) {
        open_listener(f, NULL);
        link_listener_close(f->listener);
        f->listener = NULL;
        assert_int_equal(unit_count_fds(), n_fds);
    }
    link_listener_close(NULL);
    assert_true(has(f, LINK_NSID_LOCAL, 1));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
#define TEST_BOTH(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_both, teardown)
        TEST(the_first_run_fills_the_table),
        TEST(own_changes_are_seen_at_once),
        TEST(a_hardware_address_may_go),
        TEST(a_link_may_have_very_many_names),
        TEST(addresses_are_noticed),
        TEST_BOTH(nothing_is_asked_in_steady_state),
        TEST(losses_lead_to_a_resync),
        TEST(a_run_does_a_bounded_amount_of_work),
        TEST(an_event_ends_the_wait),
        TEST(closing_leaks_nothing),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
