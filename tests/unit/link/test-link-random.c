/* SPDX-License-Identifier: Apache-2.0 */

/* Invariants L2 and L3: random operations on links of several namespaces,
 * which share names and interface indexes, while a listener follows, often
 * with a receive buffer so small that it loses events all the time.
 *
 * Whenever the test pauses, it waits until the kernel is at rest.  Then the
 * table has to become what the kernel says within one resync: the listener may
 * ask for each namespace at most once, and only if it was known not to be
 * current. */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "link/link-table.h"
#include "harness/netns.h"
#include "harness/observer.h"
#include "harness/prng.h"
#include "harness/processes.h"
#include "util.h"

#define N_RUNS 8
#define N_PAUSES 4              /* Of a run. */
#define N_OPERATIONS 300        /* Between pauses. */

/* Few, so that they meet. */
#define N_NAMESPACES 4          /* The first is ours. */
#define N_LINKS 6               /* Interface indexes, and names. */
#define FIRST_INDEX 1000
#define FIRST_NSID 4000
#define SELF_NSID 5000

/* Our own events are tagged, as some kernels do once our namespace has an id
 * for itself. */
static bool tag_own;

ssize_t __wrap_recvmsg(int, struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
    size_t room = msg->msg_controllen;
    ssize_t n = __real_recvmsg(fd, msg, flags);

    if (n >= 0 && tag_own && !msg->msg_controllen) {
        int nsid = SELF_NSID;

        unit_check(room >= CMSG_SPACE(sizeof nsid));
        msg->msg_controllen = CMSG_SPACE(sizeof nsid);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
        cmsg->cmsg_level = SOL_NETLINK;
        cmsg->cmsg_type = NETLINK_LISTEN_ALL_NSID;
        cmsg->cmsg_len = CMSG_LEN(sizeof nsid);
        memcpy(CMSG_DATA(cmsg), &nsid, sizeof nsid);
    }
    return n;
}

struct world {
    unsigned int run;
    struct unit_observer *observer;
    struct unit_ns *namespaces[N_NAMESPACES];
    struct link_table *table;
    struct link_listener *listener;
    struct link_subscription *sub;
    unsigned int n_mirrored;    /* Links, by what the subscriber was told. */
    bool lossy;
};

/* The subscriber's count has to be that of the table. */
static void
mirror(const struct link_change *change, void *world_)
{
    struct world *w = world_;

    unit_check(!(change->what & LINK_CHANGE_NEW
                 && change->what & LINK_CHANGE_GONE));
    w->n_mirrored += (change->what & LINK_CHANGE_NEW) != 0;
    w->n_mirrored -= (change->what & LINK_CHANGE_GONE) != 0;
}

static struct unit_ns *
any_ns(struct world *w)
{
    return w->namespaces[unit_random(N_NAMESPACES)];
}

static int
any_index(void)
{
    return FIRST_INDEX + unit_random(N_LINKS);
}

/* Names that a link may have in any namespace. */
static const char *
any_name(void)
{
    static const char *const names[N_LINKS] = {
        "eth0", "eth1", "br-int", "veth0", "same", "fifteen-letters",
    };

    return names[unit_random(N_LINKS)];
}

/* A namespace goes with all that is in it, and another one comes. */
static void
replace_ns(struct world *w)
{
    size_t i = 1 + unit_random(N_NAMESPACES - 1);

    unit_ns_destroy(w->namespaces[i]);
    w->namespaces[i] = unit_ns_create();
    if (unit_random(2)) {
        unit_link_add(w->namespaces[i], "bridge", any_index(), any_name());
    }
    if (unit_random(4)) {
        /* That of one that is going may not be free yet. */
        int32_t nsid = FIRST_NSID + unit_random(N_NAMESPACES * 2);

        unit_ns_set_nsid(w->namespaces[0], w->namespaces[i], nsid);
    }
}

/* Does something, which the kernel may refuse. */
static void
operate(struct world *w)
{
    struct unit_ns *ns = any_ns(w);
    uint8_t mac[6] = { 2, 0, 0, 0, 0, unit_random(256) };

    switch (unit_random(16)) {
    case 0:
        unit_link_add(ns, unit_random(2) ? "bridge" : "ifb", any_index(),
                      any_name());
        break;
    case 1:
    case 2:
    case 3:
        unit_link_add_veth(ns, any_index(), any_name(), any_ns(w),
                           any_index(), any_name());
        break;
    case 4:
        unit_link_del(ns, any_index());
        break;
    case 5:
    case 6:
        unit_link_set_name(ns, any_index(), any_name());
        break;
    case 7:
        unit_link_move(ns, any_index(), any_ns(w), any_index());
        break;
    case 8:
    case 9:
    case 10:
        unit_link_set_up(ns, any_index(), unit_random(3) > 0);
        break;
    case 11:
        unit_link_set_mtu(ns, any_index(), 1280 + unit_random(200));
        break;
    case 12:
        unit_link_set_hwaddr(ns, any_index(), mac);
        break;
    case 13:
        unit_link_set_master(ns, any_index(),
                             unit_random(3) ? any_index() : 0);
        break;
    case 14:
        if (unit_random(2)) {
            unit_link_add_alt_name(ns, any_index(), "another-name");
        } else {
            unit_link_del_alt_name(ns, any_index(), "another-name");
        }
        break;
    case 15:
        if (!unit_random(4)) {
            replace_ns(w);
        } else if (!unit_random(4)) {
            unit_ns_set_nsid(w->namespaces[0], w->namespaces[0], SELF_NSID);
        } else if (!unit_random(4)) {
            link_table_set_buckets(w->table, unit_random(10));
        } else {
            unit_addr_add(ns, any_index(), 0x0101010a + unit_random(9));
        }
        break;
    }
}

/* Returns why the table is not what the kernel says, or NULL. */
static char *
world_diff(struct world *w, bool announced)
{
    struct link_ns_info *infos;
    size_t n_expected = 1, n_links = 0;
    char *diff;
    size_t n;

    diff = unit_links_diff(w->table, LINK_NSID_LOCAL, w->namespaces[0],
                           announced);
    for (size_t i = 1; i < N_NAMESPACES && !diff; i++) {
        int32_t nsid = unit_ns_get_nsid(w->namespaces[0], w->namespaces[i]);

        if (nsid != LINK_NSID_NONE) {
            char *d = unit_links_diff(w->table, nsid, w->namespaces[i],
                                      announced);

            if (d) {
                diff = xasprintf("namespace %d: %s", nsid, d);
                free(d);
            }
            n_expected++;
        }
    }

    infos = link_table_get_namespaces(w->table, &n);
    for (size_t i = 0; i < n; i++) {
        n_links += infos[i].n_links;
        if (!diff && infos[i].state != LINK_NS_CURRENT) {
            diff = xasprintf("namespace %d is not current", infos[i].nsid);
        }
    }
    free(infos);
    if (!diff && n != n_expected) {
        diff = xasprintf("%"PRIuSIZE" namespaces instead of %"PRIuSIZE, n,
                         n_expected);
    }
    if (!diff && n_links != w->n_mirrored) {
        diff = xasprintf("%"PRIuSIZE" links, but %u were told of", n_links,
                         w->n_mirrored);
    }
    return diff;
}

static void
run(struct world *w)
{
    /* What the kernel sends from its own threads may come between. */
    tag_own = (unit_ns_get_nsid(w->namespaces[0], w->namespaces[0])
               == SELF_NSID);
    link_listener_run(w->listener);
}

/* How often the links of each namespace were asked for. */
struct resyncs {
    struct link_ns_info *infos;
    size_t n;
};

static uint64_t
resyncs_of(const struct resyncs *resyncs, int32_t nsid)
{
    for (size_t i = 0; i < resyncs->n; i++) {
        if (resyncs->infos[i].nsid == nsid) {
            return resyncs->infos[i].resyncs;
        }
    }
    return 0;
}

static uint64_t
count_requests(const struct link_listener_stats *stats)
{
    uint64_t n = 0;

    for (int i = 0; i < LINK_N_REASONS; i++) {
        n += stats->rtnl[i];
    }
    return n;
}

/* Checks what the listener did since 'before', while the kernel was at
 * rest. */
static void
check_one_resync(struct world *w, const struct link_listener_stats *before,
                 const struct resyncs *resyncs_before, bool was_current)
{
    struct link_listener_stats after;
    struct resyncs resyncs;

    link_listener_get_stats(w->listener, &after);
    resyncs.infos = link_table_get_namespaces(w->table, &resyncs.n);

    bool lost = (after.overruns != before->overruns
                 || after.truncated != before->truncated);
    uint64_t n_resyncs = after.resyncs - before->resyncs;
    if (n_resyncs > (lost || !was_current)) {
        unit_die("run %u: %"PRIu64" resyncs", w->run, n_resyncs);
    }
    for (size_t i = 0; i < resyncs.n; i++) {
        int32_t nsid = resyncs.infos[i].nsid;
        uint64_t n = resyncs.infos[i].resyncs;
        uint64_t n_before = resyncs_of(resyncs_before, nsid);

        /* One that has gone, and come again, counts from 0. */
        if (n > n_before + 1) {
            unit_die("run %u: namespace %d was asked for %"PRIu64" times",
                     w->run, nsid, n - n_before);
        }
    }
    if (was_current && !lost
        && after.rtnl[LINK_REASON_LOSS] != before->rtnl[LINK_REASON_LOSS]) {
        unit_die("run %u: requests without a loss", w->run);
    }
    if (after.interrupted != before->interrupted
        || after.failed != before->failed) {
        unit_die("run %u: dumps were interrupted or failed at rest", w->run);
    }
    free(resyncs.infos);
}

/* Runs the listener until it says that the table is current.  Returns true if
 * the table is what the kernel says then, and the kernel has said nothing
 * meanwhile.  Otherwise, stores in '*diff' how the table differs, or NULL. */
static bool
catch_up(struct world *w, bool announced, char **diff)
{
    bool was_current = link_listener_is_current(w->listener);
    struct link_listener_stats before;
    struct resyncs resyncs;

    link_listener_get_stats(w->listener, &before);
    resyncs.infos = link_table_get_namespaces(w->table, &resyncs.n);
    unit_wait_until((run(w), link_listener_is_current(w->listener)
                     && link_listener_is_idle(w->listener)));

    *diff = world_diff(w, announced);
    bool equal = !*diff && !unit_observer_has_heard(w->observer);
    if (equal) {
        check_one_resync(w, &before, &resyncs, was_current);
    }
    free(resyncs.infos);
    return equal;
}

/* The kernel may have been silent without being at rest.  Then it says more,
 * sooner or later. */
static void
pause_until_equal(struct world *w, bool announced)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;
    char *diff;

    while (unit_observer_wait_rest(w->observer),
           !catch_up(w, announced, &diff)) {
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
    static const int rcvbufs[] = { 0, 1, 8192, 16384 };
    struct link_listener_options options = {
        .rcvbuf = rcvbufs[i % ARRAY_SIZE(rcvbufs)],
    };
    struct link_listener_stats stats;
    struct world w = { .run = i, .lossy = options.rcvbuf != 0 };

    unit_random_stream(i);
    unit_check(!unshare(CLONE_NEWNET));
    tag_own = false;
    w.observer = unit_observer_open();
    w.namespaces[0] = unit_ns_own();
    for (size_t j = 1; j < N_NAMESPACES; j++) {
        w.namespaces[j] = unit_ns_create();
        if (j > 1) {
            unit_ns_set_nsid(w.namespaces[0], w.namespaces[j],
                             FIRST_NSID + j);
        }
    }
    w.table = link_table_create();
    w.sub = link_table_subscribe(w.table, LINK_NSID_ALL, LINK_CHANGE_ALL,
                                 mirror, &w);
    unit_check(!link_listener_open(w.table, &options, &w.listener));

    for (int j = 0; j < N_PAUSES; j++) {
        for (int k = 0; k < N_OPERATIONS; k++) {
            operate(&w);
            if (!unit_random(w.lossy ? 30 : 5)) {
                run(&w);
            }
        }
        pause_until_equal(&w, true);
    }

    /* With what is not announced. */
    link_listener_resync(w.listener);
    pause_until_equal(&w, false);

    link_listener_get_stats(w.listener, &stats);
    unit_check(!stats.malformed);
    unit_check(!stats.events_other);
    unit_check(!stats.ignored_sender);
    if (w.lossy) {
        unit_check(stats.overruns > 0);
    } else {
        unit_check(!stats.overruns);
        unit_check(!stats.rtnl[LINK_REASON_LOSS]);
    }

    link_listener_close(w.listener);
    link_table_unsubscribe(w.sub);
    link_table_destroy(w.table);
    unit_observer_close(w.observer);
    for (size_t j = 0; j < N_NAMESPACES; j++) {
        unit_ns_destroy(w.namespaces[j]);
    }
    printf("run %u: %"PRIu64" events, %"PRIu64" overruns, %"PRIu64" lost, "
           "%"PRIu64" resyncs, %"PRIu64" interrupted, %"PRIu64" requests\n",
           i, stats.events[LINK_MSG_NEWLINK] + stats.events[LINK_MSG_DELLINK],
           stats.overruns, stats.lost, stats.resyncs, stats.interrupted,
           count_requests(&stats));
}

static void
the_table_is_what_the_kernel_says_within_one_resync(void **state OVS_UNUSED)
{
    unit_run_processes(N_RUNS, run_one);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_what_the_kernel_says_within_one_resync),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
