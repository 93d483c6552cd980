/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/link/link-listener-fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "harness/unit.h"
#include "util.h"

struct fixture *
fixture_create(void)
{
    struct fixture *f = xzalloc(sizeof *f);

    /* Namespaces that the test before has left are on their way out. */
    unit_check(!unshare(CLONE_NEWNET));
    f->own = unit_ns_own();
    f->table = link_table_create();
    return f;
}

void
open_listener(struct fixture *f, const struct link_listener_options *options)
{
    assert_int_equal(link_listener_open(f->table, options, &f->listener), 0);
    assert_true(link_listener_catch_up(f->listener));
}

int
setup(void **state)
{
    *state = fixture_create();
    return 0;
}

int
teardown(void **state)
{
    struct fixture *f = *state;

    link_listener_close(f->listener);
    link_table_destroy(f->table);
    unit_ns_destroy(f->other);
    unit_ns_destroy(f->own);
    free(f);
    return 0;
}

int
setup_both(void **state)
{
    struct fixture *f = fixture_create();

    f->other = unit_ns_create();
    assert_int_equal(unit_ns_set_nsid(f->own, f->other, NSID), 0);
    open_listener(f, NULL);
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
    *state = f;
    return 0;
}

struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

uint64_t
total_rtnl(struct fixture *f)
{
    struct link_listener_stats stats = stats_of(f);
    uint64_t n = 0;

    for (int i = 0; i < LINK_N_REASONS; i++) {
        n += stats.rtnl[i];
    }
    return n;
}

struct link_info
get(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    if (!link_table_find(f->table, nsid, ifindex, &info)) {
        fail_msg("namespace %d has no link %d", nsid, ifindex);
    }
    return info;
}

bool
has(struct fixture *f, int32_t nsid, int ifindex)
{
    struct link_info info;

    return link_table_find(f->table, nsid, ifindex, &info);
}

void
finish(struct fixture *f)
{
    while (!link_listener_is_current(f->listener)) {
        link_listener_run(f->listener);
    }
}

bool
equal(struct fixture *f, int32_t nsid, struct unit_ns *ns)
{
    char *diff;

    link_listener_run(f->listener);
    diff = unit_links_diff(f->table, nsid, ns, true);
    free(diff);
    return !diff;
}

void
assert_equal(struct fixture *f)
{
    unit_wait_until(equal(f, LINK_NSID_LOCAL, f->own));
    if (f->other) {
        unit_wait_until(equal(f, NSID, f->other));
    }
}

void
assert_seen(struct fixture *f)
{
    char *diff;

    assert_true(link_listener_catch_up(f->listener));
    diff = unit_links_diff(f->table, LINK_NSID_LOCAL, f->own, true);
    if (diff) {
        fail_msg("%s", diff);
    }
}

void
make_events(struct unit_ns *ns, int ifindex, int n)
{
    for (int i = 0; i < n; i++) {
        OK(unit_link_set_mtu(ns, ifindex, 1200 + i % 2));
    }
}
