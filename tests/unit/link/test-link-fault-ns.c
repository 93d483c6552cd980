/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L3: what the link listener does when ids of namespaces come late
 * or are used again, or when it cannot request them. */

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
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "harness/descriptors.h"
#include "harness/fault.h"
#include "harness/kernel-messages.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "util.h"

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

/* A namespace that nobody follows is noted with its first event, of whatever
 * kind, and its links are left out. */
static void
a_tag_of_a_namespace_that_is_not_followed_is_noted(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *third = unit_ns_create();
    struct link_listener_stats before;

    link_table_set_on_demand(f->table);
    open_listener(f);
    before = stats_of(f);
    mangle.swallow_nsid = true;
    assert_int_equal(unit_ns_set_nsid(f->own, third, NSID + 1), 0);
    assert_int_equal(unit_link_add(third, "ifb", INDEX, "x"), 0);
    assert_true(link_listener_catch_up(f->listener));
    finish(f);
    assert_true(link_table_has_ns(f->table, NSID + 1));
    assert_false(has(f, NSID + 1, INDEX));
    assert_true(link_table_skips(f->table, NSID + 1));
    assert_true(stats_of(f).ignored_foreign > before.ignored_foreign);
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_NAMESPACE],
                     before.rtnl[LINK_REASON_NAMESPACE]);

    /* Also where a link goes. */
    link_table_drop_ns(f->table, NSID + 1);
    assert_int_equal(unit_link_del(third, INDEX), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_true(link_table_has_ns(f->table, NSID + 1));
    unit_ns_destroy(third);
}

/* As from the start where our own namespace always has an id. */
static void
ids_are_heard_of_where_our_own_events_are_tagged(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *third = unit_ns_create();
    uint64_t n_ignored;

    assert_int_equal(unit_ns_set_nsid(f->own, f->own, SELF_NSID), 0);
    mangle.tag_own = true;
    open_listener(f);
    assert_int_equal(link_listener_self_nsid(f->listener), SELF_NSID);

    /* A link is heard of on the socket of our own namespace, too. */
    n_ignored = stats_of(f).ignored_own;
    assert_int_equal(unit_link_add(f->own, "ifb", INDEX, "x"), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_true(stats_of(f).ignored_own > n_ignored);

    /* An id is not. */
    assert_int_equal(unit_ns_set_nsid(f->own, third, NSID + 1), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_true(link_table_has_ns(f->table, NSID + 1));
    assert_false(link_table_has_ns(f->table, SELF_NSID));
    finish(f);
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

/* The listener does not know which ids there are, so it keeps all of them
 * until it requests them again. */
static void
a_malformed_answer_about_ids_drops_none(void **state)
{
    struct fixture *f = *state;

    open_listener(f);
    unit_clock_stop(time_msec());
    mangle.garble_nsids = true;
    link_listener_resync(f->listener);
    while (!stats_of(f).failed && !link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
    assert_int_equal(stats_of(f).failed, 1);
    assert_false(link_listener_is_current(f->listener));
    assert_true(link_table_has_ns(f->table, NSID));
    mangle.garble_nsids = false;
    unit_clock_advance(1000);
    finish(f);
    assert_int_equal(stats_of(f).failed, 1);
    assert_equal(f, NSID, f->other);
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

    /* The listener requests its own id again, at the latest before it
     * requests all ids. */
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
        TEST(a_tag_may_come_before_its_id),
        TEST(a_tag_of_a_namespace_that_is_not_followed_is_noted),
        TEST(ids_are_heard_of_where_our_own_events_are_tagged),
        TEST(our_id_may_have_been_anothers),
        TEST(an_id_may_be_in_use_again_when_it_goes),
        TEST(without_an_answer_an_id_is_asked_for_again),
        TEST(our_links_are_asked_for_at_once),
        TEST(a_namespace_that_is_gone_is_dropped_when_asked_for),
        TEST(a_malformed_answer_about_ids_drops_none),
        TEST(an_old_kernel_answers_for_ours),
        TEST(without_an_answer_our_id_is_asked_for_again),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
