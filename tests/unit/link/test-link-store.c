/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L5: the buckets of a store. */

#include <config.h>
#include "link/link-store.h"

#include <stdio.h>

#include "harness/unit.h"
#include "util.h"

static void
store_init(struct link_store *store, uint32_t n_buckets)
{
    link_store_init(store);
    link_store_set_buckets(store, n_buckets);
}

static void
store_uninit(struct link_store *store)
{
    struct ovs_list removed = OVS_LIST_INITIALIZER(&removed);
    struct link *link;

    link_store_uninit(store, &removed);
    LIST_FOR_EACH_POP (link, node, &removed) {
        link_free(link);
    }
}

/* Adds a link of namespace 1. */
static void
add(struct link_store *store, int ifindex, const char *name)
{
    struct link_view view = {
        .ifindex = ifindex, .name = name, .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE, .new_nsid = LINK_NSID_NONE,
    };
    struct link_info info;

    assert_int_equal(link_store_update(store, 1, &view, &info)
                     & LINK_CHANGE_NEW, LINK_CHANGE_NEW);
}

/* Length of the longest chain of 'hmap', and the bucket that has it. */
static size_t
longest_chain(const struct hmap *hmap, size_t *bucket)
{
    size_t longest = 0;

    *bucket = 0;
    for (size_t i = 0; i <= hmap->mask; i++) {
        size_t n = 0;

        for (const struct hmap_node *node = hmap->buckets[i]; node;
             node = node->next) {
            n++;
        }
        if (n > longest) {
            longest = n;
            *bucket = i;
        }
    }
    return longest;
}

/* A user who chooses the names and interface indexes of links does not choose
 * the chains that they make. */
static void
chains_of_one_table_are_none_in_another(void **state OVS_UNUSED)
{
    const size_t n_buckets = 64, n_links = 64 * 200;
    struct link_store store, names, indexes;
    size_t bucket, ignored;

    store_init(&store, n_buckets);
    store_init(&names, n_buckets);
    store_init(&indexes, n_buckets);
    for (size_t i = 1; i <= n_links; i++) {
        char name[LINK_NAME_SIZE];

        snprintf(name, sizeof name, "eth%"PRIuSIZE, i);
        add(&store, i, name);
    }

    const struct link_index *index = link_store_find_ns(&store, 1)->index;
    const struct link_index *by_name, *by_ifindex;

    /* Those of the longest chains, about 200 each. */
    assert_true(longest_chain(&index->by_name, &bucket) > 150);
    for (struct hmap_node *node = index->by_name.buckets[bucket]; node;
         node = node->next) {
        const struct link_name *name = CONTAINER_OF(node, struct link_name,
                                                    node);

        add(&names, name->link->info.ifindex, name->name);
    }
    assert_true(longest_chain(&index->by_ifindex, &bucket) > 150);
    for (struct hmap_node *node = index->by_ifindex.buckets[bucket]; node;
         node = node->next) {
        const struct link *link = CONTAINER_OF(node, struct link, index_node);

        add(&indexes, link->info.ifindex, link->info.name);
    }
    by_name = link_store_find_ns(&names, 1)->index;
    by_ifindex = link_store_find_ns(&indexes, 1)->index;
    assert_true(longest_chain(&by_name->by_name, &ignored) < 30);
    assert_true(longest_chain(&by_ifindex->by_ifindex, &ignored) < 30);

    store_uninit(&store);
    store_uninit(&names);
    store_uninit(&indexes);
}

/* A bond is told when a member leaves it, also for another one. */
static void
a_link_knows_its_last_master(void **state OVS_UNUSED)
{
    static const struct {
        int master, last_master;
    } steps[] = {
        { 7, 0 }, { 8, 7 }, { 8, 7 }, { 0, 8 }, { 0, 8 }, { 9, 0 },
    };
    struct link_store store;
    struct link_info info;

    store_init(&store, 0);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        const struct link_view view = {
            .ifindex = 1, .name = "a", .flags = i, .master = steps[i].master,
            .lower_nsid = LINK_NSID_SAME, .target_nsid = LINK_NSID_NONE,
            .new_nsid = LINK_NSID_NONE,
        };
        bool changed = !i || steps[i].master != steps[i - 1].master;
        uint32_t what = link_store_update(&store, 1, &view, &info);

        assert_int_equal(what & LINK_CHANGE_MASTER,
                         changed ? LINK_CHANGE_MASTER : 0);
        assert_int_equal(what & LINK_CHANGE_FLAGS,
                         i ? LINK_CHANGE_FLAGS : 0);
        assert_int_equal(info.master, steps[i].master);
        assert_int_equal(info.last_master, steps[i].last_master);
    }
    store_uninit(&store);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_one_table_are_none_in_another),
        cmocka_unit_test(a_link_knows_its_last_master),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
