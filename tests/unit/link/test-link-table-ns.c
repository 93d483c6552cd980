/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L3 and L5: namespaces of a link table, and their buckets. */

#include <config.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/link/link-table-fixture.h"
#include "ovs-atomic.h"
#include "harness/unit.h"
#include "util.h"

static void
a_namespace_goes_in_one_step(void **state)
{
    struct fixture *f = *state;

    for (int fixed = 0; fixed < 2; fixed++) {
        link_table_set_buckets(f->table, fixed ? 16 : 0);
        for (int i = 1; i <= 50; i++) {
            char name[LINK_NAME_SIZE];

            snprintf(name, sizeof name, "l%d", i);
            add(f, 1, i, name);
            add(f, 2, i, name);
        }

        unsigned int n_changes = f->n_changes;
        uint64_t seqno = f->seqno;
        link_table_drop_ns(f->table, 1);
        assert_int_equal(f->n_changes, n_changes + 50);
        assert_int_equal(f->what, LINK_CHANGE_GONE);
        assert_int_equal(f->seqno, seqno + 50);
        assert_false(link_table_has_ns(f->table, 1));
        assert_int_equal(index_of(f, 1, "l1"), 0);
        assert_int_equal(index_of(f, 2, "l1"), 1);
        link_table_drop_ns(f->table, 1);
        assert_int_equal(get_ns(f, 2).n_links, 50);
    }
}

static void
namespaces_that_are_not_found_again_go(void **state)
{
    struct fixture *f = *state;

    add(f, LINK_NSID_LOCAL, 1, "lo");
    add(f, 1, 1, "lo");
    add(f, 2, 1, "lo");
    link_table_mark_namespaces(f->table);
    assert_false(link_table_add_ns(f->table, 2));
    assert_true(link_table_add_ns(f->table, 3));
    link_table_sweep_namespaces(f->table);
    assert_true(link_table_has_ns(f->table, LINK_NSID_LOCAL));
    assert_false(link_table_has_ns(f->table, 1));
    assert_true(link_table_has_ns(f->table, 2));
    assert_true(link_table_has_ns(f->table, 3));
    assert_true(has(f, 2, 1));
}

static void
pending_namespaces_take_turns(void **state)
{
    struct fixture *f = *state;
    int32_t nsid;

    assert_false(link_table_next_pending(f->table, &nsid));
    link_table_add_ns(f->table, 1);
    link_table_add_ns(f->table, 2);
    link_table_add_ns(f->table, LINK_NSID_LOCAL);
    assert_true(link_table_next_pending(f->table, &nsid));
    assert_int_equal(nsid, LINK_NSID_LOCAL);
    assert_int_equal(get_ns(f, 1).state, LINK_NS_PENDING);

    link_table_set_current(f->table, LINK_NSID_LOCAL);
    assert_false(link_table_is_pending(f->table, LINK_NSID_LOCAL));
    link_table_next_pending(f->table, &nsid);
    assert_int_equal(nsid, 1);
    link_table_set_pending(f->table, 1);
    link_table_next_pending(f->table, &nsid);
    assert_int_equal(nsid, 2);
    link_table_set_stale(f->table, 2, EPERM);
    assert_int_equal(get_ns(f, 2).state, LINK_NS_STALE);
    assert_int_equal(get_ns(f, 2).error, EPERM);
    assert_int_equal(get_ns(f, 2).resyncs, 0);
    assert_int_equal(get_ns(f, LINK_NSID_LOCAL).resyncs, 1);

    /* Ours overtakes, the others keep their turns. */
    link_table_set_pending(f->table, LINK_NSID_LOCAL);
    link_table_set_others_pending(f->table);
    link_table_next_pending(f->table, &nsid);
    assert_int_equal(nsid, LINK_NSID_LOCAL);
    link_table_set_current(f->table, LINK_NSID_LOCAL);
    link_table_next_pending(f->table, &nsid);
    assert_int_equal(nsid, 1);
    link_table_drop_ns(f->table, 1);
    link_table_next_pending(f->table, &nsid);
    assert_int_equal(nsid, 2);
    assert_int_equal(get_ns(f, 2).error, 0);
    link_table_drop_ns(f->table, 2);
    assert_false(link_table_next_pending(f->table, &nsid));
}

static void
namespaces_are_listed_ours_first(void **state)
{
    struct fixture *f = *state;
    struct link_ns_info *infos;
    size_t n;

    infos = link_table_get_namespaces(f->table, &n);
    assert_int_equal(n, 0);
    free(infos);

    add(f, 12, 1, "lo");
    add(f, 3, 1, "lo");
    add(f, LINK_NSID_LOCAL, 1, "lo");
    link_table_count_event(f->table, 3);
    link_table_count_event(f->table, 3);
    link_table_count_event(f->table, 99);
    link_table_count_overrun(f->table, true);
    infos = link_table_get_namespaces(f->table, &n);
    assert_int_equal(n, 3);
    assert_int_equal(infos[0].nsid, LINK_NSID_LOCAL);
    assert_int_equal(infos[1].nsid, 3);
    assert_int_equal(infos[2].nsid, 12);
    assert_int_equal(infos[1].events, 2);
    assert_int_equal(infos[2].events, 0);
    assert_int_equal(infos[2].overruns, 1);
    assert_int_equal(infos[0].overruns, 0);
    free(infos);
}

static void
buckets_are_a_power_of_two(void **state)
{
    struct fixture *f = *state;
    static const struct { uint32_t n; int64_t buckets; } tests[] = {
        { 1, 1 }, { 2, 2 }, { 3, 4 }, { 1000, 1024 }, { 1024, 1024 },
        { LINK_BUCKETS_MAX - 1, LINK_BUCKETS_MAX },
        { UINT32_MAX, LINK_BUCKETS_MAX },
    };

    add(f, 1, 1, "lo");
    assert_int_equal(get_ns(f, 1).buckets, -1);
    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        link_table_set_buckets(f->table, tests[i].n);
        assert_int_equal(get_ns(f, 1).buckets, tests[i].buckets);
        assert_true(has(f, 1, 1));
        assert_int_equal(index_of(f, 1, "lo"), 1);
    }
    link_table_set_buckets(f->table, 0);
    assert_int_equal(get_ns(f, 1).buckets, -1);
    assert_true(has(f, 1, 1));
}

static void
links_survive_a_change_of_buckets(void **state)
{
    struct fixture *f = *state;
    static const uint32_t buckets[] = { 8, 0, 64, 1, 64, 0 };

    for (int i = 1; i <= 200; i++) {
        char name[LINK_NAME_SIZE], alt[LINK_NAME_SIZE];

        snprintf(name, sizeof name, "l%d", i);
        snprintf(alt, sizeof alt, "a%d", i);
        struct link_view view = view_of(i, name);
        set_alt_names(&view, alt, NULL);
        link_table_update(f->table, i % 3, &view);
    }

    unsigned int n_changes = f->n_changes;
    for (size_t b = 0; b < ARRAY_SIZE(buckets); b++) {
        link_table_set_buckets(f->table, buckets[b]);
        for (int i = 1; i <= 200; i++) {
            char name[LINK_NAME_SIZE], alt[LINK_NAME_SIZE];

            snprintf(name, sizeof name, "l%d", i);
            snprintf(alt, sizeof alt, "a%d", i);
            for (int32_t nsid = 0; nsid < 3; nsid++) {
                bool here = i % 3 == nsid;

                assert_int_equal(has(f, nsid, i), here);
                assert_int_equal(index_of(f, nsid, name), here ? i : 0);
                assert_int_equal(index_of(f, nsid, alt), here ? i : 0);
            }
        }
        if (buckets[b]) {
            assert_int_equal(get_ns(f, 1).buckets, buckets[b]);
        } else {
            assert_true(get_ns(f, 1).buckets < 0);
        }
    }
    assert_int_equal(f->n_changes, n_changes);
}

static void
a_namespace_without_memory_shares(void **state)
{
    struct fixture *f = *state;

    add(f, 1, 1, "lo");
    atomic_store_relaxed(&calloc_limit, 1024);
    link_table_set_buckets(f->table, 1024);
    assert_int_equal(n_calloc_failures, 1);
    assert_true(get_ns(f, 1).buckets < 0);
    assert_true(has(f, 1, 1));

    /* Each tries for itself. */
    add(f, 2, 1, "lo");
    assert_int_equal(n_calloc_failures, 2);
    assert_true(get_ns(f, 2).buckets < 0);
    atomic_store_relaxed(&calloc_limit, 0);
    add(f, 3, 1, "lo");
    assert_int_equal(get_ns(f, 3).buckets, 1024);
    assert_true(has(f, 2, 1));
    assert_true(has(f, 3, 1));

    /* Those that share go without harm to the others. */
    link_table_drop_ns(f->table, 2);
    assert_true(has(f, 1, 1));
    assert_true(has(f, 3, 1));
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(a_namespace_goes_in_one_step),
        TEST(namespaces_that_are_not_found_again_go),
        TEST(pending_namespaces_take_turns),
        TEST(namespaces_are_listed_ours_first),
        TEST(buckets_are_a_power_of_two),
        TEST(links_survive_a_change_of_buckets),
        TEST(a_namespace_without_memory_shares),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
