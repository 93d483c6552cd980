/* SPDX-License-Identifier: Apache-2.0 */

/* Invariant L2: random operations on addresses, queueing disciplines and the
 * links that have them, while a listener follows, often with a receive
 * buffer so small that it loses events all the time.
 *
 * Whenever the test pauses, it waits until the kernel is at rest.  Then the
 * tables have to become what the kernel says within one resync. */

#include <config.h>
#include "link/link-listener.h"

#include <linux/pkt_sched.h>
#include <sched.h>
#include <stdlib.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "harness/netns.h"
#include "harness/observer.h"
#include "harness/prng.h"
#include "harness/processes.h"
#include "harness/routes.h"
#include "util.h"

#define N_RUNS 8
#define N_PAUSES 4              /* Of a run. */
#define N_OPERATIONS 200        /* Between pauses. */

/* Few, so that they meet. */
#define N_LINKS 4               /* Pairs of interface indexes. */
#define FIRST_INDEX 1000

struct world {
    unsigned int run;
    struct unit_observer *observer;
    struct unit_ns *own, *other;
    struct link_table *table;
    struct link_listener_options options;
    struct link_listener *listener;
};

static int
any_index(void)
{
    return FIRST_INDEX + unit_random(N_LINKS);
}

static const char *
any_address(void)
{
    static const char *const addresses[] = {
        "10.0.0.1/24", "10.0.0.2/24", "10.0.0.2/16", "10.1.0.1/32",
        "fd00::1/64", "fd00::2/64", "fd01::1/128",
    };

    return addresses[unit_random(ARRAY_SIZE(addresses))];
}

static void
operate_on_link(struct world *w)
{
    int i = any_index();

    switch (unit_random(16)) {
    case 0:
        unit_link_del(w->own, i);
        break;
    case 1:
        unit_link_move(w->own, i, w->other, i);
        break;
    case 2:
    case 3:
    case 4:
        unit_link_move(w->other, i, w->own, i);
        break;
    case 5:
    case 6:
        unit_link_add_veth(w->own, i, "a", w->own, any_index(), "b");
        break;
    case 7:
    case 8:
        unit_link_add_veth(w->own, i, "c", w->own, any_index(), "d");
        break;
    default:
        unit_link_set_up(w->own, i, unit_random(6));
        break;
    }
}

static void
operate_on_qdisc(struct world *w)
{
    bool ingress = unit_random(2);
    uint32_t parent = ingress ? TC_H_INGRESS : TC_H_ROOT;
    uint32_t handle = ingress ? 0xffff0000 : (1 + unit_random(2)) << 16;

    if (unit_random(2)) {
        unit_qdisc_add(w->own, any_index(), parent, handle,
                       ingress ? "ingress" : "htb");
    } else {
        unit_qdisc_del(w->own, any_index(), parent, handle);
    }
}

/* Does something, which the kernel may refuse. */
static void
operate(struct world *w)
{
    switch (unit_random(8)) {
    case 0:
        operate_on_link(w);
        break;
    case 1:
    case 2:
    case 3:
        unit_ip_add(w->own, any_index(), any_address());
        break;
    case 4:
        unit_ip_del(w->own, any_index(), any_address());
        break;
    default:
        operate_on_qdisc(w);
        break;
    }
}

/* Returns why the tables are not what the kernel says, or NULL. */
static char *
world_diff(struct world *w)
{
    char *diff = unit_links_diff(w->table, LINK_NSID_LOCAL, w->own, true);

    if (!diff) {
        diff = unit_addrs_diff(w->options.addrs, w->own);
    }
    if (!diff) {
        diff = unit_qdiscs_diff(w->options.qdiscs, w->own);
    }
    return diff;
}

/* Checks what the listener did since 'before', while the kernel said nothing.
 * Returns false if the kernel interrupted a dump, and so was not at rest: it
 * may announce a change of an address before it counts the change. */
static bool
check_one_resync(struct world *w, const struct link_listener_stats *before,
                 bool was_current)
{
    struct link_listener_stats after;

    link_listener_get_stats(w->listener, &after);
    if (after.interrupted != before->interrupted) {
        return false;
    }

    bool lost = after.overruns != before->overruns;
    uint64_t n_resyncs = after.resyncs - before->resyncs;
    if (n_resyncs > (lost || !was_current)) {
        unit_die("run %u: %"PRIu64" resyncs", w->run, n_resyncs);
    }
    if (was_current && !lost
        && after.rtnl[LINK_REASON_LOSS] != before->rtnl[LINK_REASON_LOSS]) {
        unit_die("run %u: requests without a loss", w->run);
    }
    if (after.failed != before->failed) {
        unit_die("run %u: dumps failed at rest", w->run);
    }
    return true;
}

/* Runs the listener until it says that the tables are current.  Returns true
 * if the tables are what the kernel says then, and the kernel has been at rest
 * meanwhile.  Otherwise, stores in '*diff' how the tables differ, or NULL. */
static bool
catch_up(struct world *w, char **diff)
{
    bool was_current = link_listener_is_current(w->listener);
    struct link_listener_stats before;

    link_listener_get_stats(w->listener, &before);
    unit_wait_until((link_listener_run(w->listener),
                     link_listener_is_current(w->listener)
                     && link_listener_is_idle(w->listener)));

    *diff = world_diff(w);
    return (!*diff && !unit_observer_has_heard(w->observer)
            && check_one_resync(w, &before, was_current));
}

/* The kernel may have been silent without being at rest.  Then it says more,
 * sooner or later. */
static void
pause_until_equal(struct world *w)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;
    char *diff;

    while (unit_observer_wait_rest(w->observer),
           !catch_up(w, &diff)) {
        if (unit_now() > deadline) {
            unit_die("run %u: %s", w->run,
                     diff ? diff : "the kernel comes to no rest");
        }
        free(diff);
    }
}

static void
run_one(unsigned int i)
{
    /* Room for all, for one event, and for some. */
    static const int rcvbufs[] = { 0, 1, 0, 8192 };
    struct link_listener_stats stats;
    struct world w = {
        .run = i,
        .options.rcvbuf = rcvbufs[i % ARRAY_SIZE(rcvbufs)],
    };
    bool lossy = w.options.rcvbuf != 0;

    unit_random_stream(i);
    unit_check(!unshare(CLONE_NEWNET));
    w.observer = unit_observer_open();
    w.own = unit_ns_own();
    w.other = unit_ns_create();
    w.table = link_table_create();
    w.options.addrs = link_addrs_create();
    w.options.qdiscs = link_qdiscs_create();
    unit_check(!link_listener_open(w.table, &w.options, &w.listener));
    unit_link_set_up(w.own, 1, true);

    for (int j = 0; j < N_PAUSES; j++) {
        for (int k = 0; k < N_OPERATIONS; k++) {
            operate(&w);
            if (!unit_random(lossy ? 30 : 5)) {
                link_listener_run(w.listener);
            }
        }
        pause_until_equal(&w);
    }

    link_listener_get_stats(w.listener, &stats);
    unit_check(!stats.malformed);
    unit_check(!stats.events_other);
    unit_check(!stats.failed);
    unit_check(lossy ? stats.overruns > 0 : !stats.overruns);
    printf("run %u: %"PRIu64" events of addresses, %"PRIu64" overruns\n", i,
           stats.events[LINK_MSG_NEWADDR] + stats.events[LINK_MSG_DELADDR],
           stats.overruns);

    link_listener_close(w.listener);
    link_table_destroy(w.table);
    link_addrs_destroy(w.options.addrs);
    link_qdiscs_destroy(w.options.qdiscs);
    unit_observer_close(w.observer);
    unit_ns_destroy(w.own);
    unit_ns_destroy(w.other);
}

static void
the_tables_are_what_the_kernel_says_within_one_resync(
    void **state OVS_UNUSED)
{
    unit_run_processes(N_RUNS, run_one);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_tables_are_what_the_kernel_says_within_one_resync),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
