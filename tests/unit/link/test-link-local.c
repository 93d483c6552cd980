/* SPDX-License-Identifier: Apache-2.0 */

/* Addresses, routes and queueing disciplines as the link listener keeps them,
 * on the kernel's own events. */

#include <config.h>
#include "link/link-listener.h"
#include "link/link-resync.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/link-addr.h"
#include "link/link-qdisc.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "harness/netns.h"
#include "harness/routes.h"
#include "util.h"

/* Two ends of a veth, not to be mistaken for what the kernel chooses. */
#define A 1000
#define B 1001

/* How long a dump of routes takes, if time stands still. */
static long long int dump_duration;

ssize_t __wrap_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t __real_mnl_socket_sendto(const struct mnl_socket *, const void *,
                                 size_t);
ssize_t
__wrap_mnl_socket_sendto(const struct mnl_socket *nl, const void *request,
                         size_t len)
{
    const struct nlmsghdr *nlh = request;

    if (unit_clock_is_stopped() && nlh->nlmsg_type == RTM_GETROUTE) {
        unit_clock_advance(dump_duration);
    }
    return __real_mnl_socket_sendto(nl, request, len);
}

struct fixture {
    struct unit_ns *own;        /* Private to the test. */
    struct link_table *table;
    struct link_listener_options options;
    struct link_listener *listener;
};

#define OK(CALL) assert_int_equal(CALL, 0)

/* Writes to a file below /proc/sys/net of our namespace. */
static void
set_sysctl(const char *name, const char *value)
{
    char *path = xasprintf("/proc/sys/net/%s", name);
    int fd = open(path, O_WRONLY);

    if (fd >= 0) {
        unit_check(write(fd, value, strlen(value)) == (ssize_t) strlen(value));
        close(fd);
    }
    free(path);
}

/* Asserts that the tables are what the kernel says, once its own threads have
 * told all. */
static char *
diff(struct fixture *f)
{
    char *d;

    link_listener_run(f->listener);
    d = unit_links_diff(f->table, LINK_NSID_LOCAL, f->own, true);
    if (!d) {
        d = unit_addrs_diff(f->options.addrs, f->own);
    }
    if (!d) {
        d = unit_routes_diff(f->options.routes, f->own);
    }
    if (!d) {
        d = unit_qdiscs_diff(f->options.qdiscs, f->own);
    }
    return d;
}

static void
assert_equal(struct fixture *f)
{
    long long int deadline = unit_now() + UNIT_PATIENCE;
    char *d;

    while ((d = diff(f)) != NULL) {
        if (unit_now() > deadline) {
            fail_msg("%s", d);
        }
        free(d);
        unit_pause();
    }
}

static struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

/* Number of times that the routes were asked for because they were stale. */
static uint64_t
n_stale(struct fixture *f)
{
    return stats_of(f).rtnl[LINK_REASON_ROUTES];
}

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_check(!unshare(CLONE_NEWNET));
    f->own = unit_ns_own();
    f->table = link_table_create();
    f->options.addrs = link_addrs_create();
    f->options.routes = link_routes_create();
    f->options.qdiscs = link_qdiscs_create();
    OK(unit_link_add_veth(f->own, A, "a", f->own, B, "b"));
    OK(unit_link_set_up(f->own, 1, true));
    OK(unit_link_set_up(f->own, A, true));
    OK(unit_link_set_up(f->own, B, true));
    OK(unit_ip_add(f->own, A, "10.0.0.1/24"));
    OK(unit_ip_add(f->own, A, "fd00::1/64"));
    OK(link_listener_open(f->table, &f->options, &f->listener));
    assert_true(link_listener_catch_up(f->listener));
    assert_equal(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_clock_run();
    dump_duration = 0;
    link_listener_close(f->listener);
    link_table_destroy(f->table);
    link_addrs_destroy(f->options.addrs);
    link_routes_destroy(f->options.routes);
    link_qdiscs_destroy(f->options.qdiscs);
    unit_ns_destroy(f->own);
    free(f);
    return 0;
}

/* Asserts that the tables are right and that no more was asked for. */
#define WITHOUT_ASKING(STATEMENT)                               \
    do {                                                        \
        uint64_t before__ = n_stale(f);                         \
        STATEMENT;                                              \
        assert_equal(f);                                        \
        assert_int_equal(n_stale(f), before__);                 \
    } while (0)

static void
what_was_there_before_is_asked_for_once(void **state)
{
    struct fixture *f = *state;

    /* Links, addresses, routes, queueing disciplines, and namespace ids. */
    assert_int_equal(stats_of(f).rtnl[LINK_REASON_START], 5);
    assert_int_equal(n_stale(f), 0);
    assert_int_equal(stats_of(f).malformed, 0);
}

static void
addresses_come_and_go(void **state)
{
    struct fixture *f = *state;

    WITHOUT_ASKING(OK(unit_ip_add(f->own, A, "10.0.0.2/24")));
    WITHOUT_ASKING(OK(unit_ip_add(f->own, A, "10.0.0.2/16")));
    WITHOUT_ASKING(OK(unit_ip_add(f->own, B, "fd01::1/64")));
    WITHOUT_ASKING(OK(unit_ip_add(f->own, B, "192.168.0.1/32")));
    WITHOUT_ASKING(OK(unit_ip_del(f->own, A, "10.0.0.2/16")));
    WITHOUT_ASKING(OK(unit_ip_del(f->own, B, "fd01::1/64")));
    WITHOUT_ASKING(OK(unit_ip_del(f->own, B, "192.168.0.1/32")));

    /* The others of a network go with its first, unless they are promoted. */
    WITHOUT_ASKING(OK(unit_ip_del(f->own, A, "10.0.0.1/24")));
    assert_int_equal(stats_of(f).overruns, 0);
}

static void
an_own_change_is_there_at_once(void **state)
{
    struct fixture *f = *state;
    struct in6_addr *addrs, *masks;
    size_t n_routes;

    OK(unit_ip_add(f->own, B, "192.168.0.1/24"));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(link_addrs_get(f->options.addrs, B, &addrs, &masks) >= 1);
    free(addrs);
    free(masks);

    n_routes = link_routes_count(f->options.routes);
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.9.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    assert_true(link_listener_catch_up(f->listener));
    assert_int_equal(link_routes_count(f->options.routes), n_routes + 1);

    assert_false(link_qdiscs_has_ingress(f->options.qdiscs, A));
    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_true(link_listener_catch_up(f->listener));
    assert_true(link_qdiscs_has_ingress(f->options.qdiscs, A));
}

static void
routes_come_and_go(void **state)
{
    struct fixture *f = *state;
    static const struct unit_route routes[] = {
        { .dst = "10.1.0.0/16", .ifindex = A },
        { .dst = "10.1.0.0/16", .ifindex = A, .priority = 100 },
        { .dst = "10.1.0.0/16", .ifindex = B, .priority = 200 },
        { .dst = "10.1.0.0/16", .ifindex = A, .table = 1000 },
        { .dst = "10.2.0.0/16", .gateway = "10.0.0.9" },
        { .dst = "0.0.0.0/0", .gateway = "10.0.0.9", .ifindex = A },
        { .dst = "10.3.0.1/32", .type = RTN_LOCAL, .ifindex = 1,
          .table = RT_TABLE_LOCAL },
        { .dst = "10.4.0.0/16", .type = RTN_BLACKHOLE },
        { .dst = "10.5.0.0/16", .type = RTN_UNREACHABLE },
        { .dst = "fd02::/64", .ifindex = A, .priority = 1024 },
        { .dst = "fd02::/64", .ifindex = A, .priority = 5 },
        { .dst = "fd03::/64", .gateway = "fd00::9" },
        { .dst = "::/0", .gateway = "fd00::9", .ifindex = A },
        { .dst = "fd04::/64", .type = RTN_BLACKHOLE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        WITHOUT_ASKING(OK(unit_route_add(f->own, &routes[i], NLM_F_EXCL)));
    }
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        WITHOUT_ASKING(OK(unit_route_del(f->own, &routes[i])));
    }
}

static void
replaced_routes_are_gone(void **state)
{
    static const struct {
        struct unit_route before, after;
    } tests[] = {
        { { .dst = "10.1.0.0/16", .gateway = "10.0.0.8" },
          { .dst = "10.1.0.0/16", .gateway = "10.0.0.9" } },
        { { .dst = "10.2.0.0/16", .ifindex = A },
          { .dst = "10.2.0.0/16", .ifindex = B } },
        { { .dst = "10.3.0.0/16", .ifindex = A },
          { .dst = "10.3.0.0/16", .type = RTN_BLACKHOLE } },
        { { .dst = "10.4.0.0/16", .ifindex = A },
          { .dst = "10.4.0.0/16", .ifindex = A, .ifindex2 = B } },
        { { .dst = "fd01::/64", .ifindex = A },
          { .dst = "fd01::/64", .ifindex = B } },
        { { .dst = "fd02::/64", .gateway = "fd00::8", .ifindex = A },
          { .dst = "fd02::/64", .gateway = "fd00::9", .ifindex = A } },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        OK(unit_route_add(f->own, &tests[i].before, NLM_F_EXCL));
        assert_equal(f);
        OK(unit_route_add(f->own, &tests[i].after, NLM_F_REPLACE));
        assert_equal(f);
        OK(unit_route_del(f->own, &tests[i].after));
        assert_equal(f);
    }
}

static void
several_next_hops_become_one_and_one_becomes_several(void **state)
{
    static const struct unit_route both = {
        .dst = "fd01::/64", .gateway = "fd00::8", .ifindex = A,
        .gateway2 = "fd00::9", .ifindex2 = A,
    };
    static const struct unit_route first = {
        .dst = "fd01::/64", .gateway = "fd00::8", .ifindex = A,
    };
    static const struct unit_route second = {
        .dst = "fd01::/64", .gateway = "fd00::9", .ifindex = A,
    };
    struct fixture *f = *state;

    OK(unit_route_add(f->own, &both, NLM_F_EXCL));
    assert_equal(f);
    OK(unit_route_del(f->own, &first));
    assert_equal(f);
    OK(unit_route_add(f->own, &first, NLM_F_APPEND));
    assert_equal(f);
    OK(unit_route_del(f->own, &second));
    assert_equal(f);
    OK(unit_route_del(f->own, &first));
    assert_equal(f);

    static const struct unit_route both4 = {
        .dst = "10.1.0.0/16", .ifindex = A, .ifindex2 = B,
    };
    OK(unit_route_add(f->own, &both4, NLM_F_EXCL));
    assert_equal(f);
    OK(unit_route_del(f->own, &both4));
    assert_equal(f);
}

/* Replaces a route 'n' times, each time another, and lets the listener run
 * after each. */
static void
replace_routes(struct fixture *f, int n)
{
    for (int i = 0; i < n; i++) {
        OK(unit_route_add(f->own, &(struct unit_route) {
            .dst = "10.1.0.0/16", .ifindex = i % 2 ? A : B,
            .priority = 100 }, NLM_F_REPLACE));
        link_listener_run(f->listener);
    }
}

static bool
routes_are_right(struct fixture *f)
{
    char *d = unit_routes_diff(f->options.routes, f->own);
    bool right = !d;

    free(d);
    return right;
}

static void
dumps_of_routes_keep_their_distance(void **state)
{
    struct fixture *f = *state;
    uint64_t before = n_stale(f);

    /* The first change waits for nothing, the next ones for the time. */
    unit_clock_stop(time_msec() + 1000000);
    replace_routes(f, 2);
    assert_int_equal(n_stale(f), before + 1);
    assert_true(routes_are_right(f));
    replace_routes(f, 50);
    unit_clock_advance(LINK_ROUTES_MS - 1);
    replace_routes(f, 50);
    assert_int_equal(n_stale(f), before + 1);
    assert_false(link_listener_is_current(f->listener));
    assert_false(routes_are_right(f));
    unit_clock_advance(1);
    link_listener_run(f->listener);
    assert_int_equal(n_stale(f), before + 2);
    assert_true(link_listener_is_current(f->listener));
    assert_true(routes_are_right(f));

    /* Then there is peace. */
    unit_clock_advance(100 * LINK_ROUTES_MS);
    link_listener_run(f->listener);
    assert_int_equal(n_stale(f), before + 2);

    /* Dumps that take long keep more of it. */
    dump_duration = 10 * LINK_ROUTES_MS;
    replace_routes(f, 1);
    assert_int_equal(n_stale(f), before + 3);
    unit_clock_advance(LINK_ROUTES_REST * dump_duration - 1);
    replace_routes(f, 50);
    assert_int_equal(n_stale(f), before + 3);
    unit_clock_advance(1);
    link_listener_run(f->listener);
    assert_int_equal(n_stale(f), before + 4);
    assert_true(routes_are_right(f));

    /* A loss does not wait. */
    dump_duration = 0;
    replace_routes(f, 2);
    assert_false(routes_are_right(f));
    link_listener_resync(f->listener);
    assert_true(link_listener_catch_up(f->listener));
    assert_int_equal(n_stale(f), before + 4);
    assert_true(routes_are_right(f));
}

/* However many it is of, as long as events are left none is asked for. */
static void
a_burst_of_changes_ends_in_one_dump_of_routes(void **state)
{
    struct fixture *f = *state;
    uint64_t before = n_stale(f);

    unit_clock_stop(time_msec() + 1000000);
    for (int i = 0; i < 3 * LINK_RUN_DATAGRAMS; i++) {
        OK(unit_route_add(f->own, &(struct unit_route) {
            .dst = "10.1.0.0/16", .ifindex = i % 2 ? A : B,
            .ifindex2 = i % 2 ? B : A }, i ? NLM_F_REPLACE : NLM_F_EXCL));
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(n_stale(f), before);
        unit_clock_advance(10 * LINK_ROUTES_MS);
        link_listener_run(f->listener);
    }
    for (int i = 0; i < 3; i++) {
        unit_clock_advance(10 * LINK_ROUTES_MS);
        link_listener_run(f->listener);
        assert_int_equal(n_stale(f), before + 1);
    }
    assert_true(routes_are_right(f));
}

/* The main loop wakes up when it is time for the next dump. */
static void
the_next_dump_of_routes_is_waited_for(void **state)
{
    struct fixture *f = *state;
    long long int start;

    do {
        replace_routes(f, 2);
    } while (link_listener_is_current(f->listener));
    start = unit_now();
    while (!link_listener_is_current(f->listener)) {
        link_listener_wait(f->listener);
        poll_timer_wait(UNIT_PATIENCE);
        poll_block();
        link_listener_run(f->listener);
    }
    assert_true(unit_now() - start < UNIT_PATIENCE / 2);
    assert_true(routes_are_right(f));
}

static void
next_hops_may_be_objects(void **state)
{
    struct fixture *f = *state;
    struct unit_route route = { .dst = "10.1.0.0/16", .nh_id = 7 };
    int error = unit_nexthop_set(f->own, 7, A);

    if (error == EOPNOTSUPP) {
        print_message("this kernel has no such objects\n");
        skip();
    }
    OK(error);
    OK(unit_route_add(f->own, &route, NLM_F_EXCL));
    assert_equal(f);
    OK(unit_nexthop_set(f->own, 7, B));
    assert_equal(f);
    OK(unit_nexthop_del(f->own, 7));
    assert_equal(f);
}

/* Routes that the table cannot tell apart. */
static void
routes_may_differ_in_their_source_alone(void **state)
{
    static const struct unit_route first = {
        .dst = "10.1.0.0/16", .ifindex = A, .source = "10.0.0.1",
    };
    static const struct unit_route second = {
        .dst = "10.1.0.0/16", .ifindex = A, .source = "10.0.0.2",
    };
    struct fixture *f = *state;

    OK(unit_ip_add(f->own, A, "10.0.0.2/24"));
    OK(unit_route_add(f->own, &first, NLM_F_EXCL));
    OK(unit_route_add(f->own, &second, NLM_F_APPEND));
    assert_equal(f);
    OK(unit_route_del(f->own, &first));
    assert_equal(f);
    OK(unit_route_del(f->own, &second));
    assert_equal(f);

    /* And if both were there when the listener started. */
    OK(unit_route_add(f->own, &first, NLM_F_EXCL));
    OK(unit_route_add(f->own, &second, NLM_F_APPEND));
    link_listener_resync(f->listener);
    assert_equal(f);
    OK(unit_route_del(f->own, &second));
    assert_equal(f);
}

static void
routes_go_with_the_address_that_they_prefer(void **state)
{
    struct fixture *f = *state;

    OK(unit_ip_add(f->own, B, "192.168.0.1/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .ifindex = A, .source = "192.168.0.1" }, 0));
    assert_equal(f);
    OK(unit_ip_del(f->own, B, "192.168.0.1/24"));
    assert_equal(f);

    /* The last address of a link takes its other routes along. */
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_ip_del(f->own, A, "10.0.0.1/24"));
    assert_equal(f);
    assert_true(n_stale(f) > 0);

    /* And those that claim to come with an address. */
    OK(unit_ip_add(f->own, A, "10.0.0.1/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .ifindex = A, .protocol = RTPROT_KERNEL }, 0));
    assert_equal(f);
    OK(unit_ip_del(f->own, A, "10.0.0.1/24"));
    assert_equal(f);
}

/* The kernel removes IPv4 routes without a word. */
static void
routes_go_with_a_link_that_goes_down(void **state)
{
    struct fixture *f = *state;

    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "fd01::/64", .gateway = "fd00::9", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, false));
    assert_equal(f);
    assert_int_equal(n_stale(f), 1);
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);

    /* Down and up again before anybody looks. */
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, false));
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);
}

static void
routes_of_ipv6_may_go_without_a_word(void **state)
{
    struct fixture *f = *state;

    set_sysctl("ipv6/route/skip_notify_on_dev_down", "1");
    OK(unit_ip_del(f->own, A, "10.0.0.1/24"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "fd01::/64", .gateway = "fd00::9", .ifindex = A }, 0));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, false));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);
    OK(unit_link_del(f->own, A));
    assert_equal(f);
}

static void
a_link_without_routes_makes_nothing_stale(void **state)
{
    struct fixture *f = *state;

    OK(unit_link_add(f->own, "ifb", B + 1, "c"));
    assert_equal(f);
    WITHOUT_ASKING(OK(unit_link_set_up(f->own, B + 1, true)));
    WITHOUT_ASKING(OK(unit_link_set_up(f->own, B + 1, false)));
    WITHOUT_ASKING(OK(unit_link_set_mtu(f->own, B + 1, 1300)));
    WITHOUT_ASKING(OK(unit_link_del(f->own, B + 1)));
}

static void
all_goes_with_a_link(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *other = unit_ns_create();

    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    OK(unit_qdisc_add(f->own, B, TC_H_ROOT, 0x10000, "htb"));
    OK(unit_route_add(f->own, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.0.0.9", .ifindex = A }, 0));
    assert_equal(f);

    /* To another namespace and back, where it has the same index and may have
     * what it has not here. */
    OK(unit_link_move(f->own, A, other, A));
    assert_equal(f);
    OK(unit_ip_add(other, A, "10.7.0.1/24"));
    assert_equal(f);
    OK(unit_link_move(other, A, f->own, A));
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);

    OK(unit_link_del(f->own, A));
    assert_equal(f);
    assert_int_equal(link_qdiscs_count(f->options.qdiscs), 0);
    unit_ns_destroy(other);
}

static void
queueing_disciplines_come_and_go(void **state)
{
    struct fixture *f = *state;

    OK(unit_qdisc_add(f->own, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    assert_equal(f);
    assert_true(link_qdiscs_has_ingress(f->options.qdiscs, A));
    OK(unit_qdisc_del(f->own, A, TC_H_INGRESS, 0xffff0000));
    assert_equal(f);
    assert_false(link_qdiscs_has_ingress(f->options.qdiscs, A));

    /* One in place of another, with a discipline of a class. */
    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x10000, "htb"));
    assert_equal(f);
    assert_true(link_qdiscs_has_root(f->options.qdiscs, A));
    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x20000, "htb"));
    assert_equal(f);
    OK(unit_qdisc_del(f->own, A, TC_H_ROOT, 0x20000));
    assert_equal(f);
    assert_false(link_qdiscs_has_root(f->options.qdiscs, A));

    /* They outlast that the link goes down. */
    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x10000, "htb"));
    OK(unit_link_set_up(f->own, A, false));
    assert_equal(f);
    OK(unit_link_set_up(f->own, A, true));
    assert_equal(f);
}

/* Of other namespaces, even where they share interface indexes. */
static void
other_namespaces_do_not_touch_ours(void **state)
{
    struct fixture *f = *state;
    struct unit_ns *other = unit_ns_create();

    /* IPv6 gives links that are up addresses some time later. */
    OK(unit_link_set_up(f->own, A, false));
    OK(unit_link_set_up(f->own, B, false));
    OK(unit_link_set_up(f->own, 1, false));
    OK(unit_ns_set_nsid(f->own, other, 4000));
    OK(unit_link_add_veth(other, A, "a", other, B, "b"));
    assert_equal(f);
    OK(unit_link_set_up(other, A, true));
    OK(unit_ip_add(other, A, "10.7.0.1/24"));
    OK(unit_route_add(other, &(struct unit_route) {
        .dst = "10.1.0.0/16", .gateway = "10.7.0.9", .ifindex = A }, 0));
    OK(unit_qdisc_add(other, A, TC_H_INGRESS, 0xffff0000, "ingress"));
    WITHOUT_ASKING(OK(unit_link_set_up(other, A, false)));
    WITHOUT_ASKING(OK(unit_link_del(other, A)));
    assert_true(stats_of(f).ignored_foreign > 0);
    unit_ns_destroy(other);
}

static void
filters_do_not_reach_the_listener(void **state)
{
    struct fixture *f = *state;
    struct link_listener_stats before;

    OK(unit_qdisc_add(f->own, A, TC_H_ROOT, 0x10000, "htb"));
    assert_equal(f);
    before = stats_of(f);
    for (int i = 0; i < 10; i++) {
        OK(unit_htb_class_add(f->own, A, 0x10001 + i));
    }
    assert_equal(f);
    assert_int_equal(stats_of(f).events_other, before.events_other);
    assert_int_equal(stats_of(f).events[LINK_MSG_NEWQDISC],
                     before.events[LINK_MSG_NEWQDISC]);
}

static void
a_resync_takes_all_anew(void **state)
{
    struct fixture *f = *state;

    for (int i = 1; i <= 2; i++) {
        OK(unit_ip_add(f->own, B, "192.168.0.1/24"));
        link_listener_resync(f->listener);
        OK(unit_ip_del(f->own, B, "192.168.0.1/24"));
        while (!link_listener_is_current(f->listener)) {
            link_listener_run(f->listener);
        }
        assert_equal(f);
        assert_int_equal(stats_of(f).resyncs, 1 + i);
    }
    assert_int_equal(stats_of(f).malformed, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
        TEST(what_was_there_before_is_asked_for_once),
        TEST(addresses_come_and_go),
        TEST(an_own_change_is_there_at_once),
        TEST(routes_come_and_go),
        TEST(replaced_routes_are_gone),
        TEST(several_next_hops_become_one_and_one_becomes_several),
        TEST(dumps_of_routes_keep_their_distance),
        TEST(a_burst_of_changes_ends_in_one_dump_of_routes),
        TEST(the_next_dump_of_routes_is_waited_for),
        TEST(next_hops_may_be_objects),
        TEST(routes_may_differ_in_their_source_alone),
        TEST(routes_go_with_the_address_that_they_prefer),
        TEST(routes_go_with_a_link_that_goes_down),
        TEST(routes_of_ipv6_may_go_without_a_word),
        TEST(a_link_without_routes_makes_nothing_stale),
        TEST(all_goes_with_a_link),
        TEST(queueing_disciplines_come_and_go),
        TEST(other_namespaces_do_not_touch_ours),
        TEST(filters_do_not_reach_the_listener),
        TEST(a_resync_takes_all_anew),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
