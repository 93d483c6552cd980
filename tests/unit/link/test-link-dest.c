/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L5: destinations have their routes in the order of preference, and
 * are noted when these change, whatever else there is. */

#include <config.h>
#include "link/link-dest.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "harness/prng.h"
#include "harness/unit.h"
#include "packets.h"
#include "util.h"

static int
setup(void **state)
{
    struct link_dests *dests = xmalloc(sizeof *dests);

    link_dests_init(dests);
    *state = dests;
    return 0;
}

static int
teardown(void **state)
{
    link_dests_uninit(*state);
    free(*state);
    return 0;
}

static struct link_dest_key
key_of(uint32_t i)
{
    struct link_dest_key key = { .dst_len = 128 };

    in6_addr_set_mapped_ipv4(&key.dst, htonl(i));
    return key;
}

static void
insert(struct link_dests *dests, uint32_t i, struct link_dest_route *route,
       int ifindex, uint32_t table, uint32_t priority)
{
    struct link_dest_key key = key_of(i);

    *route = (struct link_dest_route) {
        .ifindex = ifindex, .table = table, .priority = priority,
    };
    link_dests_insert(dests, &key, route);
}

/* Takes all notes, of which there are to be 'n'; the first is of 'i'. */
static void
assert_notes(struct link_dests *dests, size_t n, uint32_t i, int touched)
{
    struct link_dest_key key, expected = key_of(i);
    int got;

    for (size_t j = 0; j < n; j++) {
        assert_true(link_dests_has_changed(dests));
        assert_true(link_dests_next_changed(dests, &key, &got));
        assert_int_equal(got, touched);
        if (!j) {
            assert_memory_equal(&key.dst, &expected.dst, sizeof key.dst);
        }
    }
    assert_false(link_dests_has_changed(dests));
    assert_false(link_dests_next_changed(dests, &key, &got));
}

static void
tables_metrics_and_links_are_preferred_in_this_order(void **state)
{
    struct link_dest_key key = key_of(1);
    struct link_dest_route routes[7];
    static const int order[] = { 3, 4, 1, 0, 2, 6, 5 };

    insert(*state, 1, &routes[0], 5, RT_TABLE_MAIN, 100);
    insert(*state, 1, &routes[1], 6, RT_TABLE_MAIN, 100);
    insert(*state, 1, &routes[2], 7, RT_TABLE_MAIN, 200);
    insert(*state, 1, &routes[3], 1, RT_TABLE_LOCAL, 900);
    insert(*state, 1, &routes[4], 1, RT_TABLE_MAIN, 0);
    insert(*state, 1, &routes[5], 9, 10, 0);
    insert(*state, 1, &routes[6], 9, RT_TABLE_MAIN + 256, 0);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        assert_ptr_equal(link_dests_get(*state, &key, i), &routes[order[i]]);
    }
    assert_null(link_dests_get(*state, &key, ARRAY_SIZE(order)));
    assert_notes(*state, 1, 1, 0);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        link_dests_remove(*state, &routes[order[i]]);
    }
    assert_null(link_dests_get(*state, &key, 0));
    assert_notes(*state, 1, 1, 0);
}

static void
a_mark_and_the_host_itself_make_another_destination(void **state)
{
    struct link_dest_key marked = key_of(1), local = key_of(1);
    struct link_dest_route routes[3];

    marked.mark = 7;
    local.local = true;
    insert(*state, 1, &routes[0], 5, RT_TABLE_MAIN, 0);
    routes[1] = routes[2] = routes[0];
    link_dests_insert(*state, &marked, &routes[1]);
    link_dests_insert(*state, &local, &routes[2]);
    assert_notes(*state, 3, 1, 0);
    assert_ptr_equal(link_dests_get(*state, &marked, 0), &routes[1]);
    assert_ptr_equal(link_dests_get(*state, &local, 0), &routes[2]);
    for (int i = 0; i < 3; i++) {
        link_dests_remove(*state, &routes[i]);
    }
    assert_notes(*state, 3, 1, 0);
}

/* As often as it may change before somebody looks. */
static void
a_destination_is_noted_once(void **state)
{
    struct link_dest_route route, other;

    insert(*state, 1, &route, 5, RT_TABLE_MAIN, 0);
    assert_notes(*state, 1, 1, 0);
    link_dests_remove(*state, &route);
    insert(*state, 1, &other, 6, RT_TABLE_MAIN, 0);
    link_dests_remove(*state, &other);
    insert(*state, 1, &route, 5, RT_TABLE_MAIN, 0);
    assert_notes(*state, 1, 1, 0);
    link_dests_remove(*state, &route);
    assert_notes(*state, 1, 1, 0);
}

/* So that nothing is left where nobody looks. */
static void
nobody_is_told_of_the_end_of_what_nobody_was_told_of(void **state)
{
    struct link_dest_route route;
    struct link_dests *dests = *state;

    insert(*state, 1, &route, 5, RT_TABLE_MAIN, 0);
    link_dests_remove(*state, &route);
    assert_notes(*state, 0, 0, 0);
    assert_true(hmap_is_empty(&dests->dests));
    assert_true(hmap_is_empty(&dests->links));
}

static void
several_links_may_touch_a_destination(void **state)
{
    struct link_dest_route routes[3];

    for (int i = 0; i < 3; i++) {
        insert(*state, 1, &routes[i], 5 + i, RT_TABLE_MAIN, 0);
    }
    assert_notes(*state, 1, 1, 0);
    link_dests_touch_link(*state, 6);
    link_dests_touch_link(*state, 6);
    assert_notes(*state, 1, 1, 6);
    link_dests_touch_link(*state, 6);
    link_dests_touch_link(*state, 5);
    link_dests_touch_link(*state, 5);
    assert_notes(*state, 1, 1, LINK_DEST_SEVERAL);
    for (int i = 0; i < 3; i++) {
        link_dests_remove(*state, &routes[i]);
    }
    assert_notes(*state, 1, 1, 0);
}

static void
a_link_touches_its_own_destinations_alone(void **state)
{
    struct link_dest_route routes[4];

    for (int i = 0; i < 4; i++) {
        insert(*state, i + 1, &routes[i], 5 + i % 2, RT_TABLE_MAIN, 0);
    }
    assert_notes(*state, 4, 1, 0);
    link_dests_touch_link(*state, 6);
    assert_notes(*state, 2, 2, 6);
    link_dests_touch_link(*state, 7);
    assert_notes(*state, 0, 0, 0);
    for (int i = 0; i < 4; i++) {
        link_dests_remove(*state, &routes[i]);
    }
    assert_notes(*state, 4, 1, 0);
}

/* Next to a model that looks at all routes. */
static void
any_changes_leave_the_preferred_route_first(void **state)
{
    enum { N = 64, STEPS = 20000 };
    struct link_dest_route routes[N];
    bool there[N] = { false };
    uint32_t dest[N];

    for (int step = 0; step < STEPS; step++) {
        int i = unit_random(N);

        if (there[i]) {
            link_dests_remove(*state, &routes[i]);
        } else {
            dest[i] = unit_random(4);
            insert(*state, dest[i], &routes[i], 1 + unit_random(8),
                   RT_TABLE_MAIN, unit_random(3));
        }
        there[i] = !there[i];

        struct link_dest_key key = key_of(dest[i]);
        const struct link_dest_route *best = link_dests_get(*state, &key, 0);
        size_t n = 0;
        for (int j = 0; j < N; j++) {
            if (there[j] && dest[j] == dest[i]) {
                n++;
                assert_true(best->priority < routes[j].priority
                            || (best->priority == routes[j].priority
                                && best->ifindex >= routes[j].ifindex));
            }
        }
        assert_true(!link_dests_get(*state, &key, n));
        assert_true(!n || link_dests_get(*state, &key, n - 1));
    }
    for (int i = 0; i < N; i++) {
        if (there[i]) {
            link_dests_remove(*state, &routes[i]);
        }
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(tables_metrics_and_links_are_preferred_in_this_order),
        TEST(a_mark_and_the_host_itself_make_another_destination),
        TEST(a_destination_is_noted_once),
        TEST(nobody_is_told_of_the_end_of_what_nobody_was_told_of),
        TEST(several_links_may_touch_a_destination),
        TEST(a_link_touches_its_own_destinations_alone),
        TEST(any_changes_leave_the_preferred_route_first),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
