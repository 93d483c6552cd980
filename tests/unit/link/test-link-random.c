/* SPDX-License-Identifier: Apache-2.0 */

/* Random operations on links of several namespaces, which share names and
 * interface indexes, while a listener follows, often with a receive buffer so
 * small that it loses events all the time.  Whenever the test pauses, the table
 * has to become what the kernel says.
 *
 * Environment variable LINK_SEED runs a single seed, LINK_SEEDS as many. */

#include <config.h>
#include "link/link-listener.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "link/link-table.h"
#include "random.h"
#include "harness/netns.h"
#include "util.h"

#define N_SEEDS 8
#define N_PAUSES 4              /* Of a seed. */
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
    return w->namespaces[random_range(N_NAMESPACES)];
}

static int
any_index(void)
{
    return FIRST_INDEX + random_range(N_LINKS);
}

/* Names that a link may have in any namespace. */
static const char *
any_name(void)
{
    static const char *const names[N_LINKS] = {
        "eth0", "eth1", "br-int", "veth0", "same", "fifteen-letters",
    };

    return names[random_range(N_LINKS)];
}

/* A namespace goes with all that is in it, and another one comes. */
static void
replace_ns(struct world *w)
{
    size_t i = 1 + random_range(N_NAMESPACES - 1);

    unit_ns_destroy(w->namespaces[i]);
    w->namespaces[i] = unit_ns_create();
    if (random_range(2)) {
        unit_link_add(w->namespaces[i], "bridge", any_index(), any_name());
    }
    if (random_range(4)) {
        /* That of one that is going may not be free yet. */
        int32_t nsid = FIRST_NSID + random_range(N_NAMESPACES * 2);

        unit_ns_set_nsid(w->namespaces[0], w->namespaces[i], nsid);
    }
}

/* Does something, which the kernel may refuse. */
static void
operate(struct world *w)
{
    struct unit_ns *ns = any_ns(w);
    uint8_t mac[6] = { 2, 0, 0, 0, 0, random_range(256) };

    switch (random_range(16)) {
    case 0:
        unit_link_add(ns, random_range(2) ? "bridge" : "ifb", any_index(),
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
        unit_link_set_up(ns, any_index(), random_range(3) > 0);
        break;
    case 11:
        unit_link_set_mtu(ns, any_index(), 1280 + random_range(200));
        break;
    case 12:
        unit_link_set_hwaddr(ns, any_index(), mac);
        break;
    case 13:
        unit_link_set_master(ns, any_index(),
                             random_range(3) ? any_index() : 0);
        break;
    case 14:
        if (random_range(2)) {
            unit_link_add_alt_name(ns, any_index(), "another-name");
        } else {
            unit_link_del_alt_name(ns, any_index(), "another-name");
        }
        break;
    case 15:
        if (!random_range(4)) {
            replace_ns(w);
        } else if (!random_range(4)) {
            unit_ns_set_nsid(w->namespaces[0], w->namespaces[0], SELF_NSID);
        } else if (!random_range(4)) {
            link_table_set_buckets(w->table, random_range(10));
        } else {
            unit_addr_add(ns, any_index(), 0x0101010a + random_range(9));
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

/* Waits until the table is what the kernel says: namespaces go and carriers
 * come in the kernel's own time. */
static void
pause_until_equal(struct world *w, bool announced, uint32_t seed)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;

    for (;;) {
        char *diff;

        run(w);
        diff = world_diff(w, announced);
        if (!diff) {
            return;
        }
        if (unit_now() > deadline) {
            unit_die("seed %"PRIu32": %s", seed, diff);
        }
        free(diff);
        unit_pause();
    }
}

static void
run_seed(uint32_t seed)
{
    /* Room for one event, for some, and for all. */
    static const int rcvbufs[] = { 0, 1, 8192, 16384 };
    struct link_listener_options options = {
        .rcvbuf = rcvbufs[seed % ARRAY_SIZE(rcvbufs)],
    };
    struct link_listener_stats stats;
    struct world w = { .lossy = options.rcvbuf != 0 };

    random_set_seed(seed);
    unit_check(!unshare(CLONE_NEWNET));
    tag_own = false;
    w.namespaces[0] = unit_ns_own();
    for (size_t i = 1; i < N_NAMESPACES; i++) {
        w.namespaces[i] = unit_ns_create();
        if (i > 1) {
            unit_ns_set_nsid(w.namespaces[0], w.namespaces[i],
                             FIRST_NSID + i);
        }
    }
    w.table = link_table_create();
    w.sub = link_table_subscribe(w.table, LINK_NSID_ALL, LINK_CHANGE_ALL,
                                 mirror, &w);
    assert_int_equal(link_listener_open(w.table, &options, &w.listener), 0);

    for (int i = 0; i < N_PAUSES; i++) {
        for (int j = 0; j < N_OPERATIONS; j++) {
            operate(&w);
            if (!random_range(w.lossy ? 30 : 5)) {
                run(&w);
            }
        }
        pause_until_equal(&w, true, seed);
    }

    /* With what is not announced. */
    link_listener_resync(w.listener);
    pause_until_equal(&w, false, seed);

    link_listener_get_stats(w.listener, &stats);
    assert_int_equal(stats.malformed, 0);
    assert_int_equal(stats.events_other, 0);
    assert_int_equal(stats.ignored_sender, 0);
    if (w.lossy) {
        assert_true(stats.overruns > 0);
    } else {
        assert_int_equal(stats.overruns, 0);
        assert_int_equal(stats.rtnl[LINK_REASON_LOSS], 0);
    }

    link_listener_close(w.listener);
    link_table_unsubscribe(w.sub);
    link_table_destroy(w.table);
    for (size_t i = 0; i < N_NAMESPACES; i++) {
        unit_ns_destroy(w.namespaces[i]);
    }
    print_message("seed %"PRIu32": %"PRIu64" events, %"PRIu64" overruns, "
                  "%"PRIu64" lost, %"PRIu64" resyncs, %"PRIu64
                  " interrupted\n", seed, stats.events[LINK_MSG_NEWLINK]
                  + stats.events[LINK_MSG_DELLINK], stats.overruns,
                  stats.lost, stats.resyncs, stats.interrupted);
}

static void
the_table_becomes_what_the_kernel_says(void **state OVS_UNUSED)
{
    const char *one = getenv("LINK_SEED");
    const char *many = getenv("LINK_SEEDS");
    uint32_t n = many ? atoi(many) : N_SEEDS;

    if (one) {
        run_seed(atoi(one));
        return;
    }
    for (uint32_t seed = 1; seed <= n; seed++) {
        run_seed(seed);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_becomes_what_the_kernel_says),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
