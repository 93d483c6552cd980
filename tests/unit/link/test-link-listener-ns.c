/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L3: the link listener, on the events of other
 * namespaces. */

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
other_namespaces_do_not_touch_ours(void **state)
{
    struct fixture *f = *state;
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

    OK(unit_link_add(f->own, "ifb", INDEX, "same"));
    link_listener_catch_up(f->listener);

    struct link_info before = get(f, LINK_NSID_LOCAL, INDEX);
    OK(unit_link_add(f->other, "bridge", INDEX, "same"));
    OK(unit_link_set_mtu(f->other, INDEX, 1234));
    OK(unit_link_set_hwaddr(f->other, INDEX, mac));
    OK(unit_addr_add(f->other, INDEX, 0x0101010a));
    OK(unit_link_set_name(f->other, INDEX, "renamed"));
    link_listener_catch_up(f->listener);
    struct link_info after = get(f, LINK_NSID_LOCAL, INDEX);
    assert_int_equal(after.change_seqno, before.change_seqno);
    assert_int_equal(get(f, NSID, INDEX).mtu, 1234);
    assert_string_equal(get(f, NSID, INDEX).name, "renamed");

    /* Of anything but links nobody hears. */
    assert_int_equal(stats_of(f).ignored_foreign, 0);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWADDR], 0);

    OK(unit_link_del(f->other, INDEX));
    link_listener_catch_up(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_false(has(f, NSID, INDEX));
    assert_equal(f);
}

static void
links_from_before_the_id_are_asked_for(void **state)
{
    struct fixture *f = *state;

    open_listener(f, NULL);
    f->other = unit_ns_create();
    OK(unit_link_add(f->other, "ifb", INDEX, "early"));
    link_listener_catch_up(f->listener);
    assert_false(link_table_has_ns(f->table, NSID));
    OK(unit_ns_set_nsid(f->own, f->other, NSID));
    link_listener_run(f->listener);
    assert_true(has(f, NSID, INDEX));
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_NAMESPACE], 1);
    assert_equal(f);
}

static void
ids_of_other_namespaces_are_not_ours(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *third = unit_ns_create();

    /* To 'other', 'third' is 77.  To us it is nothing. */
    OK(unit_ns_set_nsid(f->other, third, 77));
    OK(unit_link_add(third, "ifb", INDEX, "x"));
    link_listener_catch_up(f->listener);
    assert_false(link_table_has_ns(f->table, 77));
    assert_true(stats_of(f).ignored_foreign > 0);
    unit_ns_destroy(third);
}

static void
own_events_may_be_tagged(void **state)
{
    struct fixture *f = *state;

    /* While it listens... */
    OK(unit_link_add(f->own, "ifb", INDEX, "before"));
    OK(unit_ns_set_nsid(f->own, f->own, SELF_NSID));
    OK(unit_link_add(f->own, "ifb", INDEX + 1, "after"));
    link_listener_catch_up(f->listener);
    assert_int_equal(link_listener_self_nsid(f->listener), SELF_NSID);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 1));
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    OK(unit_link_del(f->own, INDEX));
    link_listener_catch_up(f->listener);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));
    assert_equal(f);

    /* ...and from the start. */
    link_listener_close(f->listener);
    open_listener(f, NULL);
    OK(unit_link_set_mtu(f->own, INDEX + 1, 1111));
    link_listener_catch_up(f->listener);
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 1).mtu, 1111);
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    assert_equal(f);

    /* One request, whatever happens. */
    uint64_t n = stats_of(f).nsid_requests;
    OK(unit_link_set_mtu(f->own, INDEX + 1, 1112));
    OK(unit_link_set_mtu(f->other, 1, 1112));
    link_listener_catch_up(f->listener);
    assert_int_equal(stats_of(f).nsid_requests, n);
}

static void
links_move_between_namespaces(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add_veth(f->own, INDEX, "a", f->own, INDEX + 1, "b"));
    OK(unit_link_move(f->own, INDEX + 1, f->other, 0));
    link_listener_catch_up(f->listener);
    assert_false(has(f, LINK_NSID_LOCAL, INDEX + 1));
    assert_int_equal(get(f, NSID, unit_link_index(f->other, "b")).lower,
                     INDEX);
    assert_int_equal(get(f, NSID, unit_link_index(f->other, "b")).lower_nsid,
                     LINK_NSID_OTHER);
    assert_equal(f);

    int ifindex = unit_link_index(f->other, "b");
    OK(unit_link_move(f->other, ifindex, f->own, INDEX + 7));
    link_listener_catch_up(f->listener);
    assert_false(has(f, NSID, ifindex));
    assert_string_equal(get(f, LINK_NSID_LOCAL, INDEX + 7).name, "b");
    assert_int_equal(get(f, LINK_NSID_LOCAL, INDEX + 7).lower_nsid,
                     LINK_NSID_SAME);
    assert_equal(f);
}

/* True once namespace NSID is out of the table. */
static bool
ns_is_gone(struct fixture *f)
{
    link_listener_run(f->listener);
    return !link_table_has_ns(f->table, NSID);
}

static void
a_namespace_that_goes_is_dropped(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        OK(unit_link_add(f->other, "ifb", INDEX, "ifb"));
        link_listener_catch_up(f->listener);
        assert_true(has(f, NSID, INDEX));
        unit_ns_destroy(f->other);
        f->other = NULL;
        unit_wait_until(ns_is_gone(f));
        assert_false(has(f, NSID, INDEX));

        /* Another one has its id. */
        f->other = unit_ns_create();
        OK(unit_ns_set_nsid(f->own, f->other, NSID));
        link_listener_catch_up(f->listener);
        assert_equal(f);
    }
    assert_true(stats_of(f).events[LINK_MSG_DELNSID] >= 3);
}

static void
losses_reach_other_namespaces_too(void **state)
{
    struct fixture *f = *state;
    struct link_listener_options options = { .rcvbuf = 1 };
    struct unit_ns *third = unit_ns_create();

    link_listener_close(f->listener);
    open_listener(f, &options);
    OK(unit_link_add(f->other, "ifb", INDEX, "victim"));
    link_listener_catch_up(f->listener);
    make_events(f->own, 1, 100);
    OK(unit_link_del(f->other, INDEX));
    OK(unit_link_add(f->other, "ifb", INDEX + 1, "victim"));
    OK(unit_ns_set_nsid(f->own, third, NSID + 1));
    OK(unit_link_add(third, "ifb", INDEX, "unseen"));
    assert_equal(f);
    unit_wait_until(equal(f, NSID + 1, third));
    assert_false(has(f, NSID, INDEX));
    unit_ns_destroy(third);
}

/* Takes or gives back the right to configure the network. */
static void
set_net_admin(bool on)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct data[2];

    unit_check(!syscall(SYS_capget, &header, data));
    if (on) {
        data[0].effective |= 1u << CAP_NET_ADMIN;
    } else {
        data[0].effective &= ~(1u << CAP_NET_ADMIN);
    }
    unit_check(!syscall(SYS_capset, &header, data));
}

static enum link_ns_state
ns_state(struct fixture *f, int32_t nsid, int *error)
{
    size_t n;
    struct link_ns_info *infos = link_table_get_namespaces(f->table, &n);
    enum link_ns_state state = LINK_NS_PENDING;

    for (size_t i = 0; i < n; i++) {
        if (infos[i].nsid == nsid) {
            state = infos[i].state;
            *error = infos[i].error;
        }
    }
    free(infos);
    return state;
}

static void
what_may_not_be_asked_for_is_stale(void **state)
{
    struct fixture *f = *state;
    int error = 0;

    OK(unit_link_add(f->other, "ifb", INDEX, "ifb"));
    link_listener_catch_up(f->listener);
    set_net_admin(false);
    link_listener_resync(f->listener);
    finish(f);
    set_net_admin(true);
    assert_int_equal(ns_state(f, NSID, &error), LINK_NS_STALE);
    assert_true(error == EPERM || error == EACCES);
    assert_int_equal(ns_state(f, LINK_NSID_LOCAL, &error), LINK_NS_CURRENT);
    assert_int_equal(stats_of(f).refused, 1);

    /* Events come still. */
    assert_true(has(f, NSID, INDEX));
    OK(unit_link_set_mtu(f->other, INDEX, 1234));
    link_listener_catch_up(f->listener);
    assert_int_equal(get(f, NSID, INDEX).mtu, 1234);

    /* The next resync tries again. */
    link_listener_resync(f->listener);
    finish(f);
    assert_int_equal(ns_state(f, NSID, &error), LINK_NS_CURRENT);
    assert_true(stats_of(f).rtnl[LINK_REASON_ASKED] >= 6);
    assert_equal(f);
}

/* L3: others do not delay what concerns us only. */
static void
a_flood_of_others_leaves_ours_idle(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add(f->other, "ifb", INDEX, "x"));
    link_listener_catch_up(f->listener);
    for (int i = 0; i < 3 * LINK_RUN_DATAGRAMS; i++) {
        OK(unit_link_set_mtu(f->other, INDEX, 1000 + i));
    }
    OK(unit_link_add(f->own, "ifb", INDEX, "y"));
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(link_listener_own_is_idle(f->listener));
    assert_false(link_listener_is_idle(f->listener));

    /* Ours do. */
    for (int i = 0; i < 3 * LINK_RUN_DATAGRAMS; i++) {
        OK(unit_link_set_mtu(f->own, INDEX, 1000 + i));
    }
    link_listener_run(f->listener);
    assert_false(link_listener_own_is_idle(f->listener));
    link_listener_catch_up(f->listener);
    assert_equal(f);
}

static void
own_namespace_only_means_that(void **state)
{
    struct fixture *f = *state;
    struct link_listener_options options = { .own_namespace_only = true };

    f->other = unit_ns_create();
    OK(unit_ns_set_nsid(f->own, f->other, NSID));
    OK(unit_ns_set_nsid(f->own, f->own, SELF_NSID));
    open_listener(f, &options);
    OK(unit_link_add(f->other, "ifb", INDEX, "x"));
    OK(unit_link_add(f->own, "ifb", INDEX, "y"));
    assert_seen(f);
    assert_false(link_table_has_ns(f->table, NSID));
    assert_int_equal(total_rtnl(f), 1);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
#define TEST_BOTH(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_both, teardown)
        TEST_BOTH(other_namespaces_do_not_touch_ours),
        TEST(links_from_before_the_id_are_asked_for),
        TEST_BOTH(ids_of_other_namespaces_are_not_ours),
        TEST_BOTH(own_events_may_be_tagged),
        TEST_BOTH(links_move_between_namespaces),
        TEST_BOTH(a_namespace_that_goes_is_dropped),
        TEST_BOTH(losses_reach_other_namespaces_too),
        TEST_BOTH(what_may_not_be_asked_for_is_stale),
        TEST_BOTH(a_flood_of_others_leaves_ours_idle),
        TEST(own_namespace_only_means_that),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
