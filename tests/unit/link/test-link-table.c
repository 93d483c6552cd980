/* SPDX-License-Identifier: Apache-2.0 */

/* The link table, written to by hand. */

#include <config.h>
#include "link/link-table.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "sset.h"
#include "harness/unit.h"
#include "util.h"

/* Memory for so many buckets and more cannot be had, if above 0.  Other threads
 * allocate, too. */
static atomic_uint calloc_limit;
static unsigned int n_calloc_failures;

void *__wrap_calloc(size_t, size_t);
void *__real_calloc(size_t, size_t);
void *
__wrap_calloc(size_t n, size_t size)
{
    unsigned int limit;

    atomic_read_relaxed(&calloc_limit, &limit);
    if (limit && n >= limit) {
        n_calloc_failures++;
        return NULL;
    }
    return __real_calloc(n, size);
}

struct fixture {
    struct link_table *table;
    struct link_subscription *sub;

    /* What the subscription was told. */
    unsigned int n_changes;
    uint64_t seqno;             /* Of the last change that was told. */
    uint32_t what;
    struct link_info link;
};

static void
note_change(const struct link_change *change, void *f_)
{
    struct fixture *f = f_;
    struct link_info info;

    f->n_changes++;
    f->what = change->what;
    f->link = *change->link;

    /* The table is as it is told to be. */
    assert_int_equal(link_table_find(f->table, change->link->nsid,
                                     change->link->ifindex, &info),
                     !(change->what & LINK_CHANGE_GONE));

    /* Every change has a number, and is told once, in their order. */
    assert_int_equal(change->link->change_seqno, ++f->seqno);
}

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    f->table = link_table_create();
    f->sub = link_table_subscribe(f->table, LINK_NSID_ALL, LINK_CHANGE_ALL,
                                  note_change, f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    atomic_store_relaxed(&calloc_limit, 0);
    link_table_unsubscribe(f->sub);
    link_table_destroy(f->table);
    free(f);
    return 0;
}

static struct link_view
view_of(int ifindex, const char *name)
{
    return (struct link_view) {
        .ifindex = ifindex,
        .name = name,
        .lower_nsid = LINK_NSID_SAME,
        .target_nsid = LINK_NSID_NONE,
        .new_nsid = LINK_NSID_NONE,
    };
}

static void
add(struct fixture *f, int32_t nsid, int ifindex, const char *name)
{
    struct link_view view = view_of(ifindex, name);

    link_table_update(f->table, nsid, &view);
}

/* Interface index of the link called 'name', or 0. */
static int
index_of(struct fixture *f, int32_t nsid, const char *name)
{
    struct link_info info;

    return link_table_find_name(f->table, nsid, name, &info) ? info.ifindex
           : 0;
}

static struct link_info
get(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    assert_true(link_table_find(f->table, nsid, ifindex, &info));
    return info;
}

static bool
has(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    return link_table_find(f->table, nsid, ifindex, &info);
}

static struct link_ns_info
get_ns(struct fixture *f, int32_t nsid)
{
    size_t n;
    struct link_ns_info *infos = link_table_get_namespaces(f->table, &n);

    for (size_t i = 0; i < n; i++) {
        if (infos[i].nsid == nsid) {
            struct link_ns_info info = infos[i];

            free(infos);
            return info;
        }
    }
    fail_msg("no namespace %d", nsid);
    OVS_NOT_REACHED();
}

/* Puts alternative names, up to a NULL, into 'view'. */
static char alt_buf[512] __attribute__((aligned(NLMSG_ALIGNTO)));

static void
set_alt_names(struct link_view *view, const char *first, ...)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(alt_buf);
    struct nlattr *nest = mnl_attr_nest_start(nlh, IFLA_PROP_LIST);
    va_list args;

    va_start(args, first);
    for (const char *name = first; name; name = va_arg(args, const char *)) {
        mnl_attr_put_strz(nlh, IFLA_ALT_IFNAME, name);
    }
    va_end(args);
    mnl_attr_nest_end(nlh, nest);
    view->alt_names = nest;
}

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

    /* What is absent keeps its value, but for the hardware address and what a
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
    link_table_set_all_pending(f->table);
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
    link_table_count_overrun(f->table);
    infos = link_table_get_namespaces(f->table, &n);
    assert_int_equal(n, 3);
    assert_int_equal(infos[0].nsid, LINK_NSID_LOCAL);
    assert_int_equal(infos[1].nsid, 3);
    assert_int_equal(infos[2].nsid, 12);
    assert_int_equal(infos[1].events, 2);
    assert_int_equal(infos[2].events, 0);
    assert_int_equal(infos[2].overruns, 1);
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

struct counter {
    struct fixture *f;
    struct link_subscription *sub;
    struct link_subscription *victim;   /* To unsubscribe when called. */
    bool breeds;                        /* Subscribes when called. */
    unsigned int n;
};

static void
count_change(const struct link_change *change OVS_UNUSED, void *counter_)
{
    struct counter *c = counter_;

    c->n++;
    if (c->victim) {
        link_table_unsubscribe(c->victim);
        c->victim = NULL;
    }
    if (c->breeds) {
        c->breeds = false;
        c->sub = link_table_subscribe(c->f->table, LINK_NSID_ALL,
                                      LINK_CHANGE_ALL, count_change, c);
    }
}

static void
subscribers_get_what_they_asked_for(void **state)
{
    struct fixture *f = *state;
    struct counter mtu = { .f = f }, ns2 = { .f = f };
    struct link_view view = view_of(1, "x");

    mtu.sub = link_table_subscribe(f->table, LINK_NSID_ALL, LINK_CHANGE_MTU,
                                   count_change, &mtu);
    ns2.sub = link_table_subscribe(f->table, 2, LINK_CHANGE_ALL, count_change,
                                   &ns2);
    link_table_update(f->table, 1, &view);
    link_table_update(f->table, 2, &view);
    assert_int_equal(mtu.n, 0);
    assert_int_equal(ns2.n, 1);
    view.has = LINK_HAS_MTU;
    view.mtu = 9;
    view.flags = 1;
    link_table_update(f->table, 1, &view);
    assert_int_equal(mtu.n, 1);
    assert_int_equal(ns2.n, 1);
    link_table_unsubscribe(mtu.sub);
    link_table_unsubscribe(ns2.sub);
    link_table_update(f->table, 2, &view);
    assert_int_equal(mtu.n, 1);
    assert_int_equal(ns2.n, 1);
    link_table_unsubscribe(NULL);
}

static void
subscribers_may_come_and_go_when_called(void **state)
{
    struct fixture *f = *state;
    struct counter killer = { .f = f }, victim = { .f = f };
    struct counter suicide = { .f = f }, parent = { .f = f, .breeds = true };
    struct link_subscription *first;

    victim.sub = link_table_subscribe(f->table, LINK_NSID_ALL,
                                      LINK_CHANGE_ALL, count_change, &victim);
    killer.sub = link_table_subscribe(f->table, LINK_NSID_ALL,
                                      LINK_CHANGE_ALL, count_change, &killer);
    suicide.sub = link_table_subscribe(f->table, LINK_NSID_ALL,
                                       LINK_CHANGE_ALL, count_change,
                                       &suicide);
    first = link_table_subscribe(f->table, LINK_NSID_ALL, LINK_CHANGE_ALL,
                                 count_change, &parent);
    killer.victim = victim.sub;
    suicide.victim = suicide.sub;

    add(f, 1, 1, "x");
    assert_int_equal(killer.n, 1);
    assert_int_equal(victim.n, 0);      /* It would have come after. */
    assert_int_equal(suicide.n, 1);
    assert_int_equal(parent.n, 1);      /* The new one comes with the next. */
    add(f, 1, 1, "y");
    assert_int_equal(killer.n, 2);
    assert_int_equal(victim.n, 0);
    assert_int_equal(suicide.n, 1);
    assert_int_equal(parent.n, 3);
    link_table_unsubscribe(killer.sub);
    link_table_unsubscribe(parent.sub);
    link_table_unsubscribe(first);
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
        TEST(a_namespace_goes_in_one_step),
        TEST(namespaces_that_are_not_found_again_go),
        TEST(pending_namespaces_take_turns),
        TEST(namespaces_are_listed_ours_first),
        TEST(buckets_are_a_power_of_two),
        TEST(links_survive_a_change_of_buckets),
        TEST(a_namespace_without_memory_shares),
        TEST(addresses_change_without_the_link),
        TEST(subscribers_get_what_they_asked_for),
        TEST(subscribers_may_come_and_go_when_called),
        TEST(readers_see_whole_links),
    };

    unit_init(argv[0]);
    unit_start_threads();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
