/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L4: addresses and queueing disciplines as the link
 * listener keeps them, on the events of the kernel. */

#include <config.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>

#include "link/link-addr.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-replica.h"
#include "link/link-table.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "harness/unit.h"
#include "util.h"

/* Two ends of a veth, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001

/* IF_OPER_UP of <linux/if.h>, which is at odds with <net/if.h>. */
#define OPER_UP 6

/* Requests for links, and how many of them leave the statistics out. */
static unsigned int n_requests, n_without_stats;

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t __real_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *sock, const void *request,
                         size_t len)
{
    const struct nlmsghdr *nlh = request;
    const struct nlattr *attr;

    if (nlh->nlmsg_type == RTM_GETLINK) {
        n_requests++;
        mnl_attr_for_each (attr, nlh, sizeof(struct ifinfomsg)) {
            n_without_stats += (mnl_attr_get_type(attr) == IFLA_EXT_MASK
                                && mnl_attr_get_u32(attr)
                                   & RTEXT_FILTER_SKIP_STATS);
        }
    }
    return __real_mnl_socket_sendto(sock, request, len);
}

struct fixture {
    struct unit_ns *own;        /* Private to the test. */
    struct link_table *table;
    struct link_listener_options options;
    struct link_listener *listener;
};

#define OK(CALL) assert_int_equal(CALL, 0)

static char *
diff(struct fixture *f)
{
    char *d;

    link_listener_run(f->listener);
    d = unit_links_diff(f->table, LINK_NSID_LOCAL, f->own, true);
    if (!d) {
        d = unit_addrs_diff(f->options.addrs, f->own);
    }
    if (!d) {
        d = unit_qdiscs_diff(f->options.qdiscs, f->own);
    }
    return d;
}

static void
assert_equal(struct fixture *f)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;
    char *d;

    while ((d = diff(f)) != NULL) {
        if (unit_now() > deadline) {
            fail_msg("%s", d);
        }
        free(d);
        unit_pause();
    }
}

static struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

/* Number of requests to the kernel under RTNL. */
static uint64_t
n_asked(struct fixture *f)
{
    struct link_listener_stats stats = stats_of(f);
    uint64_t n = 0;

    for (int i = 0; i < LINK_N_REASONS; i++) {
        n += stats.rtnl[i];
    }
    return n;
}

static void
open_listener(struct fixture *f)
{
    f->table = link_table_create();
    f->options.addrs = link_addrs_create();
    f->options.qdiscs = link_qdiscs_create();
    n_requests = n_without_stats = 0;
    OK(link_listener_open(f->table, &f->options, &f->listener));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(n_requests > 0);
    assert_int_equal(n_without_stats, n_requests);
}

static void
close_listener(struct fixture *f)
{
    link_listener_close(f->listener);
    link_table_destroy(f->table);
    link_addrs_destroy(f->options.addrs);
    link_qdiscs_destroy(f->options.qdiscs);
}

/* True if the kernel has announced that link 'ifindex' has a carrier, and all
 * that comes with it.  A new link is said to be running before. */
static bool
is_running(struct fixture *f, int ifindex)
{
    struct link_info link;

    link_listener_run(f->listener);
    return (link_table_find(f->table, LINK_NSID_LOCAL, ifindex, &link)
            && link.carrier && link.operstate == OPER_UP);
}

/* Waits until the kernel has said all about the links and addresses that were
 * made.  What it says later comes between what a test does. */
static void
wait_until_settled(struct fixture *f)
{
    open_listener(f);
    unit_wait_until(is_running(f, A) && is_running(f, B));
    assert_equal(f);
    close_listener(f);
}

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_check(!unshare(CLONE_NEWNET));
    f->own = unit_ns_own();
    OK(unit_link_add_veth(f->own, A, "a", f->own, B, "b"));
    OK(unit_link_set_no_addresses(f->own, A));
    OK(unit_link_set_no_addresses(f->own, B));
    OK(unit_link_set_up(f->own, 1, true));
    OK(unit_link_set_up(f->own, A, true));
    OK(unit_link_set_up(f->own, B, true));
    OK(unit_ip_add(f->own, A, "10.0.0.1/24"));
    OK(unit_ip_add(f->own, A, "fd00::1/64"));
    wait_until_settled(f);
    open_listener(f);
    assert_equal(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    close_listener(f);
    unit_ns_destroy(f->own);
    free(f);
    return 0;
}

/* Asserts that the tables are right and that nothing was asked for. */
#define WITHOUT_ASKING(STATEMENT)                               \
    do {                                                        \
        uint64_t before__ = n_asked(f);                         \
        STATEMENT;                                              \
        assert_equal(f);                                        \
        assert_int_equal(n_asked(f), before__);                 \
    } while (0)

static void
what_was_there_before_is_asked_for_once(void **state)
{
    struct fixture *f = *state;

    /* Links, addresses, queueing disciplines, and namespace ids. */
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], 4);
    assert_int_equal(n_asked(f), 4);
    assert_int_equal(stats_of(f).malformed, 0);
}

/* Without events. */
static void
a_link_that_is_asked_for_is_entered(void **state)
{
    struct fixture *f = *state;
    struct link_table *table = link_table_create();
    struct link_replica replica;
    struct link_info link;

    link_replica_init(&replica, table, NULL, NULL);
    OK(link_replica_connect(&replica));
    for (int mtu = 1300; mtu < 1302; mtu++) {
        OK(unit_link_set_mtu(f->own, A, mtu));
        n_requests = n_without_stats = 0;
        OK(link_request_link(&replica, A, LINK_REASON_START));
        assert_int_equal(n_requests, 1);
        assert_int_equal(n_without_stats, 1);
        assert_true(link_table_find(table, LINK_NSID_LOCAL, A, &link));
        assert_string_equal(link.name, "a");
        assert_int_equal(link.mtu, mtu);
    }
    assert_false(link_table_find(table, LINK_NSID_LOCAL, B, &link));
    OK(unit_link_del(f->own, A));
    OK(link_request_link(&replica, A, LINK_REASON_START));
    assert_false(link_table_find(table, LINK_NSID_LOCAL, A, &link));
    assert_int_equal(replica.stats.malformed, 0);
    link_replica_uninit(&replica);
    link_table_destroy(table);
}

/* The listener has to request the links of our own namespace again if another
 * id turns out to be ours. */
static void
an_id_that_turns_out_to_be_our_own_is_dropped(void **state OVS_UNUSED)
{
    enum { SELF = 5 };
    const struct link_view view = {
        .ifindex = A,
        .name = "a",
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };
    struct link_table *table = link_table_create();
    struct link_replica replica;

    link_replica_init(&replica, table, NULL, NULL);
    link_table_add_ns(table, LINK_NSID_LOCAL);
    link_table_set_current(table, LINK_NSID_LOCAL);
    link_replica_set_self_nsid(&replica, SELF);
    assert_int_equal(replica.self_nsid, SELF);
    assert_false(link_table_is_pending(table, LINK_NSID_LOCAL));

    link_table_update(table, SELF, &view);
    link_replica_set_self_nsid(&replica, LINK_NSID_NONE);
    assert_true(link_table_has_ns(table, SELF));
    assert_false(link_table_is_pending(table, LINK_NSID_LOCAL));
    link_replica_set_self_nsid(&replica, SELF);
    assert_false(link_table_has_ns(table, SELF));
    assert_true(link_table_is_pending(table, LINK_NSID_LOCAL));
    link_replica_uninit(&replica);
    link_table_destroy(table);
}

static void
addresses_come_and_go(void **state)
{
    struct fixture *f = *state;

    WITHOUT_ASKING(OK(unit_ip_add(f->own, A, "10.0.0.2/24")));
    WITHOUT_ASKING(OK(unit_ip_add(f->own, A, "10.0.0.2/16")));
    WITHOUT_ASKING(OK(unit_ip_add(f->own, B, "fd01::1/64")));
    WITHOUT_ASKING(OK(unit_ip_add(f->own, B, "192.168.0.1/32")));
    WITHOUT_ASKING(OK(unit_ip_del(f->own, A, "10.0.0.2/16")));
    WITHOUT_ASKING(OK(unit_ip_del(f->own, B, "fd01::1/64")));
    WITHOUT_ASKING(OK(unit_ip_del(f->own, B, "192.168.0.1/32")));

    /* The others of a network go with its first, unless they are promoted. */
    WITHOUT_ASKING(OK(unit_ip_del(f->own, A, "10.0.0.1/24")));
    assert_int_equal(stats_of(f).overruns, 0);
}

static void
an_own_change_is_there_at_once(void **state)
{
    struct fixture *f = *state;
    struct in6_addr *addrs, *masks;

    OK(unit_ip_add(f->own, B, "192.168.0.1/24"));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(link_addrs_get(f->options.addrs, B, &addrs, &masks) >= 1);
    free(addrs);
    free(masks);

    assert_false(link_qdiscs_has_ingress(f->options.qdiscs, A));
    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(link_qdiscs_has_ingress(f->options.qdiscs, A));
}

static void
all_goes_with_a_link(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *other = unit_ns_create();

    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    OK(unit_qdisc_add(f->own, B, TC_H_ROOT, 0x10000, "htb"));
    assert_equal(f);

    /* To another namespace and back, where it has the same index and may have
     * what it has not here. */
    OK(unit_link_move(f->own, A, other, A));
    assert_equal(f);
    OK(unit_ip_add(other, A, "10.7.0.1/24"));
    assert_equal(f);
    OK(unit_link_move(other, A, f->own, A));
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);

    OK(unit_link_del(f->own, A));
    assert_equal(f);
    assert_int_equal(link_qdiscs_count(f->options.qdiscs), 0);
    unit_ns_destroy(other);
}

static bool
becomes_current(struct fixture *f)
{
    link_listener_run(f->listener);
    return link_listener_is_current(f->listener);
}

static void
queueing_disciplines_are_followed_or_not(void **state)
{
    struct fixture *f = *state;
    struct link_listener_stats before, after;

    /* What was announced before that ended is not taken for news. */
    OK(unit_qdisc_add(f->own, B, TC_H_INGRESS, 0xffff0000, "ingress"));
    link_listener_follow_qdiscs(f->listener, false);
    link_listener_follow_qdiscs(f->listener, false);
    assert_true(link_listener_catch_up(f->listener));
    assert_false(link_qdiscs_are_known(f->options.qdiscs));

    /* Nothing is announced, nor asked for after a loss. */
    link_listener_get_stats(f->listener, &before);
    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_true(link_listener_catch_up(f->listener));
    link_listener_get_stats(f->listener, &after);
    assert_int_equal(after.events[LINK_MSG_NEWQDISC],
                     before.events[LINK_MSG_NEWQDISC]);
    link_listener_resync(f->listener);
    unit_wait_until(becomes_current(f));
    assert_false(link_qdiscs_are_known(f->options.qdiscs));
    assert_int_equal(link_qdiscs_count(f->options.qdiscs), 0);

    /* The listener requests all of them when it follows them again. */
    link_listener_follow_qdiscs(f->listener, true);
    assert_false(link_listener_is_current(f->listener));
    unit_wait_until(becomes_current(f));
    assert_equal(f);
    assert_true(link_qdiscs_are_known(f->options.qdiscs));
    assert_true(link_qdiscs_has_ingress(f->options.qdiscs, A));
    assert_true(link_qdiscs_has_ingress(f->options.qdiscs, B));
    assert_false(link_qdiscs_has_root(f->options.qdiscs, A));
    OK(unit_qdisc_del(f->own, A, TC_H_INGRESS, 0xffff0000));
    assert_equal(f);
    assert_false(link_qdiscs_has_ingress(f->options.qdiscs, A));
}

static void
queueing_disciplines_come_and_go(void **state)
{
    struct fixture *f = *state;

    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_equal(f);
    assert_true(link_qdiscs_has_ingress(f->options.qdiscs, A));
    OK(unit_qdisc_del(f->own, A, TC_H_INGRESS, 0xffff0000));
    assert_equal(f);
    assert_false(link_qdiscs_has_ingress(f->options.qdiscs, A));

    /* One in place of another, with a discipline of a class. */
    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x10000, "htb"));
    assert_equal(f);
    assert_true(link_qdiscs_has_root(f->options.qdiscs, A));
    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x20000, "htb"));
    assert_equal(f);
    OK(unit_qdisc_del(f->own, A, TC_H_ROOT, 0x20000));
    assert_equal(f);
    assert_false(link_qdiscs_has_root(f->options.qdiscs, A));

    /* They outlast that the link goes down. */
    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x10000, "htb"));
    OK(unit_link_set_up(f->own, A, false));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);
}

/* Of other namespaces, even where they share interface indexes. */
static void
other_namespaces_do_not_touch_ours(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *other = unit_ns_create();

    /* IPv6 gives links that are up addresses some time later. */
    OK(unit_link_set_up(f->own, A, false));
    OK(unit_link_set_up(f->own, B, false));
    OK(unit_link_set_up(f->own, 1, false));
    OK(unit_ns_set_nsid(f->own, other, 4000));
    OK(unit_link_add_veth(other, A, "a", other, B, "b"));
    assert_equal(f);
    OK(unit_link_set_up(other, A, true));
    OK(unit_ip_add(other, A, "10.7.0.1/24"));
    OK(unit_qdisc_add(other, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    WITHOUT_ASKING(OK(unit_link_set_up(other, A, false)));
    WITHOUT_ASKING(OK(unit_link_del(other, A)));
    assert_int_equal(stats_of(f).ignored_foreign, 0);
    unit_ns_destroy(other);
}

/* Classes are not in the table, but that they changed is. */
static void
changes_of_classes_are_noticed(void **state)
{
    struct fixture *f = *state;
    uint64_t seqno;

    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x10000, "htb"));
    assert_equal(f);
    assert_int_equal(link_qdiscs_root_seqno(f->options.qdiscs, B), 0);
    for (int i = 0; i < 10; i++) {
        seqno = link_qdiscs_root_seqno(f->options.qdiscs, A);
        OK(unit_htb_class_add(f->own, A, 0x10001 + i % 2));
        assert_true(link_listener_catch_up(f->listener));
        assert_int_equal(link_qdiscs_root_seqno(f->options.qdiscs, A),
                         seqno + 1);
    }
    assert_equal(f);

    /* After a loss they may have. */
    seqno = link_qdiscs_root_seqno(f->options.qdiscs, A);
    link_listener_resync(f->listener);
    assert_equal(f);
    assert_true(link_qdiscs_root_seqno(f->options.qdiscs, A) != seqno);
}

static void
a_resync_takes_all_anew(void **state)
{
    struct fixture *f = *state;

    for (int i = 1; i <= 2; i++) {
        OK(unit_ip_add(f->own, B, "192.168.0.1/24"));
        link_listener_resync(f->listener);
        OK(unit_ip_del(f->own, B, "192.168.0.1/24"));
        while (!link_listener_is_current(f->listener)) {
            link_listener_run(f->listener);
        }
        assert_equal(f);
        assert_int_equal(stats_of(f).resyncs, 1 + i);
    }
    assert_int_equal(stats_of(f).malformed, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(what_was_there_before_is_asked_for_once),
        TEST(a_link_that_is_asked_for_is_entered),
        TEST(an_id_that_turns_out_to_be_our_own_is_dropped),
        TEST(addresses_come_and_go),
        TEST(an_own_change_is_there_at_once),
        TEST(all_goes_with_a_link),
        TEST(queueing_disciplines_come_and_go),
        TEST(queueing_disciplines_are_followed_or_not),
        TEST(other_namespaces_do_not_touch_ours),
        TEST(changes_of_classes_are_noticed),
        TEST(a_resync_takes_all_anew),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
