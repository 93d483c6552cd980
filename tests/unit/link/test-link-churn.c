/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L6: while links come and go all the time, a change interrupts each
 * dump.  The kernel of these tests is scripted to say so, and to leave links
 * out of its answers. */

#include <config.h>
#include "link/link-resync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "timeval.h"
#include "harness/fault.h"
#include "harness/netns.h"
#include "harness/unit.h"
#include "unit/link/link-fault-fixture.h"
#include "util.h"

#define N_LINKS 6

/* A listener that hears nothing of links that are there already, or were
 * removed while it did not hear. */
static void
open_late(struct fixture *f)
{
    static const struct link_listener_options options = {
        .own_namespace_only = true,
    };

    for (int i = 0; i < N_LINKS; i++) {
        char *name = xasprintf("link%d", i);

        assert_int_equal(unit_link_add(f->own, "ifb", INDEX + i, name), 0);
        free(name);
    }
    unit_clock_stop(time_msec() + 1000000);
    assert_int_equal(link_listener_open(f->table, &options, &f->listener), 0);
}

static int
setup_churn(void **state)
{
    setup(state);
    open_late(*state);
    mangle.interrupt = UINT32_MAX;
    mangle.interrupt_early = true;
    return 0;
}

static int
teardown_churn(void **state)
{
    unit_clock_run();
    return teardown(state);
}

static uint64_t
n_requests(struct fixture *f)
{
    struct link_listener_stats stats = stats_of(f);
    uint64_t n = 0;

    for (int i = 0; i < LINK_N_REASONS; i++) {
        n += stats.rtnl[i];
    }
    return n;
}

static bool
is_pending(struct fixture *f)
{
    return link_table_is_pending(f->table, LINK_NSID_LOCAL);
}

/* Asserts that the table is what the kernel says, which is asked without being
 * interrupted. */
static void
assert_true_table(struct fixture *f)
{
    struct mangle saved = mangle;

    memset(&mangle, 0, sizeof mangle);
    assert_equal(f, LINK_NSID_LOCAL, f->own);
    mangle = saved;
}

static void
two_interrupted_dumps_make_the_table_current(void **state)
{
    struct fixture *f = *state;

    /* Neither is complete. */
    mangle.skip[0] = INDEX + 1;
    mangle.skip[1] = INDEX + 3;
    link_listener_run(f->listener);
    assert_true(is_pending(f));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX));
    assert_false(has(f, LINK_NSID_LOCAL, INDEX + 1));
    link_listener_run(f->listener);
    assert_false(is_pending(f));
    assert_true_table(f);
    assert_int_equal(stats_of(f).interrupted, 2);
    assert_int_equal(n_requests(f), 2);
    assert_true(link_listener_catch_up(f->listener));

    /* That is not certain yet. */
    assert_false(link_listener_is_current(f->listener));
}

/* Makes the table know a link that is not there. */
static void
add_ghost(struct fixture *f, int ifindex)
{
    struct link_view ghost = {
        .ifindex = ifindex, .name = "ghost", .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE, .new_nsid = LINK_NSID_NONE,
    };

    link_table_update(f->table, LINK_NSID_LOCAL, &ghost);
}

/* Whether it is still there, or has gone in what was lost. */
static void
a_known_link_that_both_leave_out_is_asked_for(void **state)
{
    struct fixture *f = *state;

    mangle.interrupt = 0;
    link_listener_run(f->listener);
    assert_true(link_listener_is_current(f->listener));
    assert_true_table(f);
    add_ghost(f, INDEX + 50);
    mangle.interrupt = UINT32_MAX;
    mangle.skip[0] = mangle.skip[1] = INDEX + 2;
    mangle.n_dumps = 0;
    link_listener_resync(f->listener);
    uint64_t before = n_requests(f);
    link_listener_run(f->listener);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 50));
    link_listener_run(f->listener);
    assert_int_equal(n_requests(f), before + 4);
    assert_false(is_pending(f));
    assert_false(has(f, LINK_NSID_LOCAL, INDEX + 50));
    assert_true_table(f);
}

/* When a question fails, no other is asked: all known links stay until a dump
 * that is not interrupted says which there are. */
static void
links_stay_if_they_cannot_be_asked_for(void **state)
{
    struct fixture *f = *state;

    mangle.interrupt = 0;
    link_listener_run(f->listener);
    add_ghost(f, INDEX + 50);
    add_ghost(f, INDEX + 51);
    mangle.interrupt = UINT32_MAX;
    link_listener_resync(f->listener);
    uint64_t before = n_requests(f);
    link_listener_run(f->listener);

    /* The first request is the second dump. */
    unit_plan_failures(UNIT_CALL_SENDTO, 2, 1, ENOBUFS);
    link_listener_run(f->listener);
    assert_int_equal(unit_n_failed(), 1);
    assert_int_equal(n_requests(f), before + 3);
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 50));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 51));
    mangle.interrupt = 0;
    unit_clock_advance(LINK_CONFIRM_MAX_MS);
    link_listener_run(f->listener);
    assert_true(link_listener_is_current(f->listener));
    assert_true_table(f);
}

/* Of one that nobody has heard of, a dump that is not interrupted tells. */
static void
quiet_confirms_what_is_known(void **state)
{
    struct fixture *f = *state;

    mangle.skip[0] = mangle.skip[1] = INDEX + 4;
    link_listener_run(f->listener);
    link_listener_run(f->listener);
    assert_false(is_pending(f));
    assert_false(has(f, LINK_NSID_LOCAL, INDEX + 4));
    assert_true(has(f, LINK_NSID_LOCAL, INDEX + 5));

    /* As soon as nothing changes, and not later than a second after that. */
    unit_link_set_mtu(f->own, INDEX, 1400);
    link_listener_run(f->listener);
    mangle.interrupt = 0;
    for (int i = 0; i < 10 && !link_listener_is_current(f->listener); i++) {
        unit_clock_advance(100);
        link_listener_run(f->listener);
    }
    assert_true(link_listener_is_current(f->listener));
    assert_true_table(f);
    assert_int_equal(n_requests(f), 3);
}

/* Dumps of each kind are repeated, after twice the time of the last try. */
static void
dumps_that_are_interrupted_are_repeated(void **state)
{
    struct fixture *f = *state;
    const struct link_listener_options options = {
        .own_namespace_only = true,
        .addrs = link_addrs_create(), .qdiscs = link_qdiscs_create(),
    };
    int wait = LINK_CONFIRM_MS;

    link_listener_close(f->listener);
    assert_int_equal(link_listener_open(f->table, &options, &f->listener), 0);
    for (int i = 0; i < 6; i++) {
        link_listener_run(f->listener);
    }
    assert_false(is_pending(f));
    assert_int_equal(n_requests(f), 6);
    for (int i = 0; i < 10; i++) {
        uint64_t before = n_requests(f);

        unit_clock_advance(wait - 1);
        link_listener_run(f->listener);
        assert_int_equal(n_requests(f), before);
        unit_clock_advance(1);
        for (int j = 0; j < 3; j++) {
            link_listener_run(f->listener);
        }
        assert_int_equal(n_requests(f), before + 3);
        wait = MIN(2 * wait, LINK_CONFIRM_MAX_MS);
    }

    /* One that is not interrupted is not repeated. */
    mangle.interrupt = 0;
    unit_clock_advance(LINK_CONFIRM_MAX_MS);
    for (int i = 0; i < 2; i++) {
        /* The second run ends the dump of queueing disciplines. */
        link_listener_run(f->listener);
    }
    assert_true(link_listener_is_current(f->listener));
    assert_true_table(f);
    link_listener_close(f->listener);
    f->listener = NULL;
    link_addrs_destroy(options.addrs);
    link_qdiscs_destroy(options.qdiscs);
}

/* For an hour. */
static void
dumps_that_are_interrupted_become_rare(void **state)
{
    struct fixture *f = *state;
    uint64_t n_minute = 0, n_hour;

    for (int i = 0; i < 36000; i++) {
        if (i % 100 == 0) {
            unit_link_set_mtu(f->own, INDEX, 1300 + i % 7);
        }
        unit_clock_advance(100);
        link_listener_run(f->listener);
        if (i == 600) {
            n_minute = n_requests(f);
        }
    }
    n_hour = n_requests(f) - n_minute;
    assert_true(n_minute <= 20);
    assert_true(n_hour <= 3600 * 1000 / LINK_CONFIRM_MAX_MS + 360);
    assert_false(is_pending(f));
    assert_true_table(f);

    /* A change meanwhile is there at once, as ever. */
    assert_int_equal(unit_link_del(f->own, INDEX), 0);
    assert_true(link_listener_catch_up(f->listener));
    assert_false(has(f, LINK_NSID_LOCAL, INDEX));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_churn, teardown_churn)
        TEST(two_interrupted_dumps_make_the_table_current),
        TEST(a_known_link_that_both_leave_out_is_asked_for),
        TEST(links_stay_if_they_cannot_be_asked_for),
        TEST(quiet_confirms_what_is_known),
        TEST(dumps_that_are_interrupted_are_repeated),
        TEST(dumps_that_are_interrupted_become_rare),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
