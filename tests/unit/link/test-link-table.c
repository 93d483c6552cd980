/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L3: the link table, written to by hand: what updates
 * change, and what names mean. */

#include <config.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "unit/link/link-table-fixture.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "sset.h"
#include "harness/unit.h"
#include "util.h"

static void
assert_told(struct fixture *f, struct link_view *view, uint32_t what)
{
    unsigned int n = f->n_changes;
    uint64_t seqno = f->seqno;

    assert_int_equal(link_table_update(f->table, 3, view), what);
    assert_int_equal(f->n_changes, n + (what != 0));
    if (what) {
        assert_int_equal(f->what, what);
        assert_int_equal(f->link.ifindex, view->ifindex);
        assert_int_equal(f->link.nsid, 3);
        assert_int_equal(f->link.change_seqno, seqno + 1);
    }
    assert_int_equal(f->seqno, seqno + (what != 0));

    /* The same again is no change. */
    assert_int_equal(link_table_update(f->table, 3, view), 0);
    assert_int_equal(f->n_changes, n + (what != 0));
}

static void
every_change_is_told(void **state)
{
    struct fixture *f = *state;
    struct link_view view = view_of(7, "eth0");

    assert_told(f, &view, LINK_CHANGE_NEW);
    view.name = "eth1";
    assert_told(f, &view, LINK_CHANGE_NAME);
    assert_string_equal(get(f, 3, 7).name, "eth1");
    view.flags = 0x10001;
    assert_told(f, &view, LINK_CHANGE_FLAGS);
    view.has = LINK_HAS_OPERSTATE;
    view.operstate = 6;
    assert_told(f, &view, LINK_CHANGE_OPERSTATE);
    view.has = LINK_HAS_CARRIER;
    view.carrier = true;
    assert_told(f, &view, LINK_CHANGE_CARRIER);
    view.has = LINK_HAS_CARRIER_COUNT;
    view.carrier_up = 4;
    assert_told(f, &view, LINK_CHANGE_CARRIER);
    view.carrier_down = 5;
    assert_told(f, &view, LINK_CHANGE_CARRIER);
    view.has = LINK_HAS_MTU;
    view.mtu = 1400;
    assert_told(f, &view, LINK_CHANGE_MTU);
    view.hwaddr = (const uint8_t *) "\2\0\0\0\0\1";
    view.hwaddr_len = 6;
    assert_told(f, &view, LINK_CHANGE_HWADDR);
    view.hwaddr_len = 4;
    assert_told(f, &view, LINK_CHANGE_HWADDR);
    view.master = 9;
    assert_told(f, &view, LINK_CHANGE_MASTER);
    view.bond_state = 0x8001;
    assert_told(f, &view, LINK_CHANGE_BOND);
    view.lower = 10;
    assert_told(f, &view, LINK_CHANGE_LOWER);
    view.lower_nsid = 4;
    assert_told(f, &view, LINK_CHANGE_LOWER);
    view.kind = "veth";
    assert_told(f, &view, LINK_CHANGE_KIND);
    view.arp_type = 1;
    assert_told(f, &view, LINK_CHANGE_KIND);
    view.port_name = "pf0vf0";
    assert_told(f, &view, LINK_CHANGE_SWITCH);
    view.port_name = "pf0vf1";
    assert_told(f, &view, LINK_CHANGE_SWITCH);
    view.switch_id = (const uint8_t *) "\1\2\3\4";
    view.switch_id_len = 4;
    assert_told(f, &view, LINK_CHANGE_SWITCH);
    view.switch_id = (const uint8_t *) "\1\2\3\5";
    assert_told(f, &view, LINK_CHANGE_SWITCH);
    set_alt_names(&view, "a", "b", NULL);
    assert_told(f, &view, LINK_CHANGE_ALT_NAMES);
    set_alt_names(&view, "a", NULL);
    assert_told(f, &view, LINK_CHANGE_ALT_NAMES);
    set_alt_names(&view, "c", NULL);
    assert_told(f, &view, LINK_CHANGE_ALT_NAMES);
    view.mtu = 1500;
    view.has = LINK_HAS_MTU;
    view.flags = 0;
    assert_told(f, &view, LINK_CHANGE_MTU | LINK_CHANGE_FLAGS);

    /* What is absent keeps its value, except the hardware address and what a
     * port of a switch has. */
    struct link_info info = get(f, 3, 7);
    assert_int_equal(info.operstate, 6);
    assert_true(info.carrier);
    assert_int_equal(info.carrier_up, 4);
    assert_int_equal(info.carrier_down, 5);
    assert_int_equal(info.hwaddr_len, 4);
    assert_string_equal(info.kind, "veth");
    assert_int_equal(info.change_seqno, f->seqno);
    view.hwaddr_len = 0;
    view.hwaddr = NULL;
    assert_told(f, &view, LINK_CHANGE_HWADDR);
    assert_int_equal(get(f, 3, 7).hwaddr_len, 0);
    info = get(f, 3, 7);
    assert_string_equal(info.port_name, "pf0vf1");
    assert_int_equal(info.switch_id_len, 4);
    assert_memory_equal(info.switch_id, "\1\2\3\5", 5);
    assert_int_equal(info.bond_state, 0x8001);
    view.bond_state = 0;
    assert_told(f, &view, LINK_CHANGE_BOND);
    view.port_name = NULL;
    view.switch_id_len = 0;
    assert_told(f, &view, LINK_CHANGE_SWITCH);
    info = get(f, 3, 7);
    assert_string_equal(info.port_name, "");
    assert_int_equal(info.switch_id_len, 0);

    assert_true(link_table_remove(f->table, 3, 7));
    assert_int_equal(f->what, LINK_CHANGE_GONE);
    assert_string_equal(f->link.name, "eth1");
    assert_false(link_table_remove(f->table, 3, 7));
    assert_false(link_table_remove(f->table, 4, 7));
}

static void
a_partial_view_changes_little(void **state)
{
    struct fixture *f = *state;
    struct link_view view = view_of(7, "wlan0");

    view.partial = true;
    assert_told(f, &view, 0);
    assert_false(has(f, 3, 7));

    view.partial = false;
    view.master = 5;
    view.port_name = "p0";
    assert_told(f, &view, (LINK_CHANGE_NEW | LINK_CHANGE_MASTER
                           | LINK_CHANGE_SWITCH));
    view.partial = true;
    view.master = 0;
    view.port_name = NULL;
    view.flags = 1;
    assert_told(f, &view, LINK_CHANGE_FLAGS);
    assert_int_equal(get(f, 3, 7).master, 5);
    assert_string_equal(get(f, 3, 7).port_name, "p0");
}

static void
namespaces_may_have_the_same_names_and_indexes(void **state)
{
    struct fixture *f = *state;
    static const int32_t nsids[] = { LINK_NSID_LOCAL, 0, 7 };

    for (int fixed = 0; fixed < 2; fixed++) {
        link_table_set_buckets(f->table, fixed ? 4 : 0);
        for (size_t i = 0; i < ARRAY_SIZE(nsids); i++) {
            struct link_view view = view_of(2, "eth0");

            view.has = LINK_HAS_MTU;
            view.mtu = 1000 + i;
            set_alt_names(&view, "alt", NULL);
            link_table_update(f->table, nsids[i], &view);
        }
        for (size_t i = 0; i < ARRAY_SIZE(nsids); i++) {
            struct link_info info;

            assert_int_equal(get(f, nsids[i], 2).mtu, 1000 + i);
            assert_true(link_table_find_name(f->table, nsids[i], "eth0",
                                             &info));
            assert_int_equal(info.mtu, 1000 + i);
            assert_true(link_table_find_name(f->table, nsids[i], "alt",
                                             &info));
            assert_int_equal(info.mtu, 1000 + i);
        }
        assert_true(link_table_remove(f->table, 0, 2));
        assert_true(has(f, LINK_NSID_LOCAL, 2));
        assert_int_equal(index_of(f, 0, "eth0"), 0);
        assert_int_equal(index_of(f, 0, "alt"), 0);
        assert_int_equal(index_of(f, 7, "alt"), 2);
    }
}

static void
a_name_means_the_link_that_had_it_last(void **state)
{
    struct fixture *f = *state;

    /* Renamed before we heard that the other was. */
    add(f, 1, 2, "eth0");
    add(f, 1, 3, "eth1");
    add(f, 1, 3, "eth0");
    assert_int_equal(index_of(f, 1, "eth0"), 3);
    assert_int_equal(index_of(f, 1, "eth1"), 0);

    /* Whatever becomes of the index meanwhile. */
    for (int i = 0; i < 1000; i++) {
        char name[LINK_NAME_SIZE];

        snprintf(name, sizeof name, "x%d", i);
        add(f, 1, 1000 + i, name);
        assert_int_equal(index_of(f, 1, "eth0"), 3);
    }
    for (uint32_t n = 1; n <= 64; n *= 2) {
        link_table_set_buckets(f->table, n);
        assert_int_equal(index_of(f, 1, "eth0"), 3);
    }
    link_table_set_buckets(f->table, 0);
    assert_int_equal(index_of(f, 1, "eth0"), 3);

    /* When the one that has it goes, nobody has it, unless told so. */
    assert_true(link_table_remove(f->table, 1, 3));
    assert_int_equal(index_of(f, 1, "eth0"), 0);
    add(f, 1, 2, "eth0");
    assert_int_equal(index_of(f, 1, "eth0"), 2);
    add(f, 1, 3, "eth0");
    assert_int_equal(index_of(f, 1, "eth0"), 3);
    add(f, 1, 2, "eth1");
    assert_int_equal(index_of(f, 1, "eth0"), 3);
    assert_int_equal(index_of(f, 1, "eth1"), 2);

    struct link_view view = view_of(2, "eth1");
    set_alt_names(&view, "a", "b", NULL);
    link_table_update(f->table, 1, &view);
    assert_int_equal(index_of(f, 1, "b"), 2);
    set_alt_names(&view, "b", "c", NULL);
    link_table_update(f->table, 1, &view);
    assert_int_equal(index_of(f, 1, "a"), 0);
    assert_int_equal(index_of(f, 1, "b"), 2);
    assert_int_equal(index_of(f, 1, "c"), 2);

    struct sset names = SSET_INITIALIZER(&names);
    link_table_get_alt_names(f->table, 1, 2, &names);
    assert_int_equal(sset_count(&names), 2);
    assert_true(sset_contains(&names, "b") && sset_contains(&names, "c"));
    link_table_get_alt_names(f->table, 1, 99, &names);
    assert_int_equal(sset_count(&names), 2);
    sset_destroy(&names);
}

static void
sweep_removes_what_was_not_marked(void **state)
{
    struct fixture *f = *state;
    size_t n;

    for (int i = 1; i <= 100; i++) {
        char name[LINK_NAME_SIZE];

        snprintf(name, sizeof name, "l%d", i);
        add(f, 1, i, name);
        add(f, 2, i, name);
    }
    link_table_mark(f->table, 1);
    for (int i = 10; i <= 100; i += 10) {
        char name[LINK_NAME_SIZE];

        snprintf(name, sizeof name, "l%d", i);
        add(f, 1, i, name);
    }

    unsigned int n_changes = f->n_changes;
    assert_int_equal(link_table_sweep(f->table, 1), 90);
    assert_int_equal(f->n_changes, n_changes + 90);
    assert_int_equal(link_table_sweep(f->table, 1), 0);

    struct link_info *links = link_table_get_links(f->table, 1, &n);
    assert_int_equal(n, 10);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(links[i].ifindex, 10 * (i + 1));
    }
    free(links);
    assert_int_equal(get_ns(f, 2).n_links, 100);

    /* A mark that no sweep follows does no harm. */
    link_table_mark(f->table, 2);
    link_table_mark(f->table, 2);
    add(f, 2, 1, "l1");
    assert_int_equal(link_table_sweep(f->table, 2), 99);
    assert_int_equal(link_table_sweep(f->table, 99), 0);
}

static void
addresses_change_without_the_link(void **state)
{
    struct fixture *f = *state;

    add(f, 1, 1, "lo");
    add(f, 1, 2, "eth0");
    add(f, 2, 2, "eth0");

    unsigned int n = f->n_changes;
    uint64_t before = get(f, 1, 2).addr_seqno;
    link_table_addrs_changed(f->table, 1, 2);
    assert_int_equal(f->n_changes, n + 1);
    assert_int_equal(f->what, LINK_CHANGE_ADDRS);
    assert_true(get(f, 1, 2).addr_seqno > before);
    assert_int_equal(get(f, 1, 1).addr_seqno, 0);
    link_table_addrs_changed(f->table, 1, 0);
    assert_int_equal(f->n_changes, n + 3);
    assert_true(get(f, 1, 1).addr_seqno > 0);
    assert_int_equal(get(f, 2, 2).addr_seqno, 0);
    link_table_addrs_changed(f->table, 1, 99);
    link_table_addrs_changed(f->table, 9, 1);
    assert_int_equal(f->n_changes, n + 3);
}

/* Readers in threads of their own see whole links. */

#define N_LINKS 8
#define N_ROUNDS 20000

struct reader {
    struct link_table *table;
    atomic_bool stop;
    atomic_uint32_t n_found;
};

static void *
reader_main(void *reader_)
{
    struct reader *r = reader_;
    bool stop = false;

    while (!stop) {
        for (int i = 1; i <= N_LINKS; i++) {
            struct link_info info;
            uint32_t n;

            if (link_table_find(r->table, 1, i, &info)) {
                unit_check(info.mtu == info.carrier_up);
                unit_check(info.ifindex == i);
                atomic_add(&r->n_found, 1, &n);
            }
            if (link_table_find_name(r->table, 1, "odd", &info)) {
                unit_check(info.mtu % 2);
            }
        }
        size_t n;
        free(link_table_get_links(r->table, 1, &n));
        free(link_table_get_namespaces(r->table, &n));
        atomic_read(&r->stop, &stop);
    }
    return NULL;
}

static void
readers_see_whole_links(void **state)
{
    struct fixture *f = *state;
    struct reader r = { .table = f->table };
    pthread_t threads[2];
    uint32_t n_found = 0;

    atomic_init(&r.stop, false);
    atomic_init(&r.n_found, 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = ovs_thread_create("reader", reader_main, &r);
    }
    for (uint32_t round = 0; round < N_ROUNDS || !n_found; round++) {
        int ifindex = 1 + round % N_LINKS;

        if (round % 5 == 4) {
            link_table_remove(f->table, 1, ifindex);
        } else if (round % 1000 == 998) {
            link_table_set_buckets(f->table, round % 2000 < 1000 ? 4 : 0);
        } else if (round % 1000 == 997) {
            link_table_drop_ns(f->table, 1);
        } else {
            struct link_view view = view_of(ifindex,
                                            round % 2 ? "odd" : "even");

            view.has = LINK_HAS_MTU | LINK_HAS_CARRIER_COUNT;
            view.mtu = view.carrier_up = round;
            link_table_update(f->table, 1, &view);
        }
        atomic_read(&r.n_found, &n_found);
    }
    atomic_store(&r.stop, true);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        xpthread_join(threads[i], NULL);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(every_change_is_told),
        TEST(a_partial_view_changes_little),
        TEST(namespaces_may_have_the_same_names_and_indexes),
        TEST(a_name_means_the_link_that_had_it_last),
        TEST(sweep_removes_what_was_not_marked),
        TEST(addresses_change_without_the_link),
        TEST(readers_see_whole_links),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
