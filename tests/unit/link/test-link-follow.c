/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L5: other namespaces than our own cost nothing but the receipt of
 * their events, until somebody wants one followed.  Asserted by the number of
 * requests and of messages that are parsed. */

#include <config.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "harness/netns.h"
#include "harness/unit.h"
#include "unit/link/link-listener-fixture.h"
#include "link/link-listener.h"
#include "link/link-msg.h"
#include "util.h"

#define N_NAMESPACES 8

static unsigned int n_parsed;

int __wrap_link_msg_parse(const void *, size_t, struct link_msg *);
int __real_link_msg_parse(const void *, size_t, struct link_msg *);
int
__wrap_link_msg_parse(const void *msg, size_t len, struct link_msg *out)
{
    n_parsed++;
    return __real_link_msg_parse(msg, len, out);
}

static struct unit_ns *others[N_NAMESPACES];

/* Several namespaces, each with a link, and a listener that follows none. */
static int
setup_several(void **state)
{
    static const struct link_listener_options options = { .on_demand = true };
    struct fixture *f = fixture_create();

    for (int i = 0; i < N_NAMESPACES; i++) {
        others[i] = unit_ns_create();
        OK(unit_ns_set_nsid(f->own, others[i], NSID + i));
        OK(unit_link_add(others[i], "ifb", INDEX, "there"));
    }
    open_listener(f, &options);
    finish(f);
    *state = f;
    return 0;
}

static int
teardown_several(void **state)
{
    for (int i = 0; i < N_NAMESPACES; i++) {
        unit_ns_destroy(others[i]);
    }
    return teardown(state);
}

static struct link_ns_info
ns_of(struct fixture *f, int32_t nsid)
{
    struct link_ns_info found = { .nsid = LINK_NSID_NONE };
    size_t n;
    struct link_ns_info *all = link_table_get_namespaces(f->table, &n);

    for (size_t i = 0; i < n; i++) {
        if (all[i].nsid == nsid) {
            found = all[i];
        }
    }
    free(all);
    return found;
}

/* The listener requests all ids at once, not each by itself. */
static void
the_start_asks_for_no_links_of_others(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], 2);
    assert_int_equal(total_rtnl(f), 2);
    for (int i = 0; i < N_NAMESPACES; i++) {
        assert_true(link_table_has_ns(f->table, NSID + i));
        assert_int_equal(ns_of(f, NSID + i).state, LINK_NS_UNFOLLOWED);
        assert_false(has(f, NSID + i, INDEX));
    }
    assert_true(link_listener_is_current(f->listener));
}

static void
events_of_others_are_not_looked_at(void **state)
{
    struct fixture *f = *state;
    uint64_t skipped = link_table_get_skipped(f->table);

    n_parsed = 0;
    for (int i = 0; i < 10; i++) {
        OK(unit_link_set_mtu(others[1], INDEX, 1200 + i % 2));
    }
    OK(unit_link_add(others[1], "ifb", INDEX + 1, "new"));
    link_listener_catch_up(f->listener);
    assert_int_equal(n_parsed, 0);
    assert_false(has(f, NSID + 1, INDEX + 1));
    assert_true(link_table_get_skipped(f->table) >= skipped + 11);
    assert_true(ns_of(f, NSID + 1).events >= 11);
    assert_int_equal(total_rtnl(f), 2);
}

static void
a_namespace_that_is_wanted_is_asked_for_once(void **state)
{
    struct fixture *f = *state;

    link_table_follow_ns(f->table, NSID + 2);
    link_table_follow_ns(f->table, NSID + 2);
    finish(f);
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_NAMESPACE], 1);
    assert_int_equal(total_rtnl(f), 3);
    assert_int_equal(ns_of(f, NSID + 2).state, LINK_NS_CURRENT);
    assert_true(has(f, NSID + 2, INDEX));

    OK(unit_link_set_mtu(others[2], INDEX, 1234));
    link_listener_catch_up(f->listener);
    assert_int_equal(get(f, NSID + 2, INDEX).mtu, 1234);
    assert_false(has(f, NSID + 1, INDEX));
    assert_int_equal(total_rtnl(f), 3);
}

static void
a_resync_asks_for_what_is_followed(void **state)
{
    struct fixture *f = *state;

    link_table_follow_ns(f->table, NSID + 2);
    finish(f);
    link_listener_resync(f->listener);
    finish(f);

    /* Our own, the ids, and that one. */
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_ASKED], 3);
    assert_true(has(f, NSID + 2, INDEX));
    assert_int_equal(ns_of(f, NSID + 1).state, LINK_NS_UNFOLLOWED);
}

/* Nor does one that comes later cost a request. */
static void
thousands_of_namespaces_come_and_go_without_a_request(void **state)
{
    enum { N = 5000 };
    struct fixture *f = *state;
    size_t n;

    for (int i = 0; i < N; i++) {
        link_table_add_ns(f->table, 10000 + i);
    }
    for (int i = 0; i < 20; i++) {
        link_listener_run(f->listener);
    }
    assert_int_equal(total_rtnl(f), 2);
    assert_true(link_listener_is_current(f->listener));

    /* The kernel knows nothing of these. */
    link_listener_resync(f->listener);
    finish(f);
    assert_int_equal(total_rtnl(f), 4);
    free(link_table_get_namespaces(f->table, &n));
    assert_int_equal(n, N_NAMESPACES + 1);
}

static void
one_that_goes_and_comes_back_is_not_followed(void **state)
{
    struct fixture *f = *state;

    link_table_follow_ns(f->table, NSID + 2);
    finish(f);
    link_table_drop_ns(f->table, NSID + 2);
    assert_true(link_table_add_ns(f->table, NSID + 2));
    assert_int_equal(ns_of(f, NSID + 2).state, LINK_NS_UNFOLLOWED);

    /* It may be wanted before its id is announced. */
    link_table_follow_ns(f->table, NSID + 100);
    assert_int_equal(ns_of(f, NSID + 100).state, LINK_NS_PENDING);
}

/* An index of its own is made when it is needed. */
static void
buckets_are_for_what_is_followed(void **state)
{
    struct fixture *f = *state;

    link_table_set_buckets(f->table, 64);
    assert_int_equal(ns_of(f, LINK_NSID_LOCAL).buckets, 64);
    assert_true(ns_of(f, NSID).buckets < 0);
    link_table_follow_ns(f->table, NSID);
    assert_int_equal(ns_of(f, NSID).buckets, 64);
    finish(f);
    assert_true(has(f, NSID, INDEX));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, setup_several, teardown_several)
        TEST(the_start_asks_for_no_links_of_others),
        TEST(events_of_others_are_not_looked_at),
        TEST(a_namespace_that_is_wanted_is_asked_for_once),
        TEST(a_resync_asks_for_what_is_followed),
        TEST(thousands_of_namespaces_come_and_go_without_a_request),
        TEST(one_that_goes_and_comes_back_is_not_followed),
        TEST(buckets_are_for_what_is_followed),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
