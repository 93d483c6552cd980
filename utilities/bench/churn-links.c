/* SPDX-License-Identifier: Apache-2.0 */

/* Measures what a resync of all links takes, and how long it holds the main
 * loop, while pairs of links come and go: see utilities/bench-link.
 *
 * usage: churn-links LINKS RATE ROUNDS
 *
 * LINKS veth devices, an even number, are made in a network namespace of the
 * program's own.  Another process makes and deletes RATE pairs a second. */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "link/link-addr.h"
#include "link/link-listener.h"
#include "link/link-qdisc.h"
#include "link/link-table.h"
#include "nl/nl-conn.h"
#include "openvswitch/poll-loop.h"
#include "ovs/compat-util.h"
#include "util.h"

#define REQUEST_SIZE 512

/* Pairs that come and go and are there at a time. */
#define N_CHURN 50

/* Before the first resync, and between two. */
#define REST_MS 3000

struct bench {
    struct nl_conn *conn;
    struct link_table *table;
    struct link_listener *listener;
    uint32_t n_links, rate;
    atomic_uint *n_pairs;       /* Shared with the other process. */
    uint64_t n_turns;

    /* Of the turns since these were set to 0. */
    uint64_t longest_ns;
    uint64_t longest_cpu_ns;
};

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec ts;

    ovs_compat_ignore(clock_gettime(clock, &ts));
    return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static uint64_t
now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static struct nlmsghdr *
put_request(void *buf, uint16_t type, uint16_t flags)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    return nlh;
}

static void
transact(struct nl_conn *conn, struct nlmsghdr *nlh, const char *what)
{
    int error = nl_conn_transact(conn, nlh, NULL, NULL);

    if (error) {
        ovs_fatal(error, "%s failed", what);
    }
}

static struct nl_conn *
connect_to_kernel(void)
{
    struct nl_conn *conn;
    int error = nl_conn_open(NETLINK_ROUTE, &conn);

    if (error) {
        ovs_fatal(error, "opening a netlink socket failed");
    }
    return conn;
}

static void
put_name(struct nlmsghdr *nlh, const char *prefix, uint32_t i)
{
    char name[IFNAMSIZ];

    snprintf(name, sizeof name, "%s%"PRIu32, prefix, i);
    mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
}

/* Makes a pair of veths.  The kernel raises the first one with 'up'. */
static void
add_veths(struct nl_conn *conn, const char *a, const char *b, uint32_t i,
          bool up)
{
    char buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = put_request(buf, RTM_NEWLINK,
                                       NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
    struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    ifi->ifi_flags = ifi->ifi_change = up ? IFF_UP : 0;
    put_name(nlh, a, i);
    struct nlattr *info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
    mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
    struct nlattr *data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
    struct nlattr *peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
    mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
    put_name(nlh, b, i);
    mnl_attr_nest_end(nlh, peer);
    mnl_attr_nest_end(nlh, data);
    mnl_attr_nest_end(nlh, info);
    transact(conn, nlh, "making a veth");
}

static void
del_veths(struct nl_conn *conn, const char *a, uint32_t i)
{
    char buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = put_request(buf, RTM_DELLINK, NLM_F_ACK);

    put_name(nlh, a, i);
    transact(conn, nlh, "deleting a veth");
}

/* The other process. */
static void
churn(struct bench *b)
{
    struct nl_conn *conn = connect_to_kernel();
    uint64_t next = now_ns();

    for (uint32_t i = 0;; i++) {
        add_veths(conn, "c", "d", i, true);
        if (i >= N_CHURN) {
            del_veths(conn, "c", i - N_CHURN);
        }
        atomic_store(b->n_pairs, i + 1);
        next += UINT64_C(1000000000) / b->rate;

        uint64_t now = now_ns();
        if (now < next) {
            struct timespec ts = { .tv_nsec = next - now };

            ovs_compat_ignore(nanosleep(&ts, NULL));
        } else {
            next = now;         /* What is late is not made up for. */
        }
    }
}

/* A turn of the main loop. */
static void
turn(struct bench *b)
{
    uint64_t cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t start = now_ns(), ns;

    link_listener_run(b->listener);
    ns = now_ns() - start;
    b->longest_ns = MAX(b->longest_ns, ns);
    ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
    b->longest_cpu_ns = MAX(b->longest_cpu_ns, ns);
    b->n_turns++;
}

/* Waits for the next one, until 'deadline' at most. */
static void
wait_for_turn(struct bench *b, uint64_t deadline)
{
    link_listener_wait(b->listener);
    poll_timer_wait_until(deadline / 1000000);
    poll_block();
}

static void
rest(struct bench *b)
{
    uint64_t deadline = now_ns() + REST_MS * UINT64_C(1000000);

    while (now_ns() < deadline) {
        turn(b);
        wait_for_turn(b, deadline);
    }
}

static uint64_t
n_requests(const struct bench *b)
{
    struct link_listener_stats stats;
    uint64_t n = 0;

    link_listener_get_stats(b->listener, &stats);
    for (int i = 0; i < LINK_N_REASONS; i++) {
        n += stats.rtnl[i];
    }
    return n;
}

static void
measure(struct bench *b, uint32_t round)
{
    uint64_t start, turns, requests, pairs;

    rest(b);
    b->longest_ns = b->longest_cpu_ns = 0;
    start = now_ns();
    turns = b->n_turns;
    requests = n_requests(b);
    pairs = atomic_load(b->n_pairs);
    link_listener_resync(b->listener);
    while (turn(b), link_table_is_pending(b->table, LINK_NSID_LOCAL)) {
        wait_for_turn(b, UINT64_MAX);
    }

    uint64_t ns = now_ns() - start;
    printf("%s  {\"round\": %"PRIu32", \"ms\": %.3f, \"turns\": %"PRIu64", "
           "\"longest_turn_ms\": %.3f, \"longest_turn_cpu_ms\": %.3f, "
           "\"requests\": %"PRIu64", "
           "\"pairs_per_s\": %.1f}", round ? ",\n" : "", round, ns / 1e6,
           b->n_turns - turns, b->longest_ns / 1e6,
           b->longest_cpu_ns / 1e6, n_requests(b) - requests,
           (atomic_load(b->n_pairs) - pairs) * 1e9 / ns);
}

/* What the kernel says. */
struct comparison {
    struct link_table *table;
    size_t n;
};

static int
compare(const struct nlmsghdr *nlh, void *comparison_)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
    struct comparison *comparison = comparison_;
    struct link_info info;

    comparison->n++;
    return (link_table_find(comparison->table, LINK_NSID_LOCAL,
                            ifi->ifi_index, &info)
            && info.flags == ifi->ifi_flags ? 0 : ENOENT);
}

/* True if the table has what the kernel says, and nothing else. */
static bool
is_equal(struct bench *b)
{
    char buf[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
    struct nlmsghdr *nlh = put_request(buf, RTM_GETLINK, NLM_F_DUMP);
    struct comparison comparison = { .table = b->table };
    size_t n;

    free(link_table_get_links(b->table, LINK_NSID_LOCAL, &n));
    return (!nl_conn_transact(b->conn, nlh, compare, &comparison)
            && n == comparison.n && n > b->n_links);
}

static void
run(struct bench *b, uint32_t n_rounds)
{
    pid_t pid = fork();
    uint64_t start;

    if (!pid) {
        churn(b);
    }
    printf("{\"rounds\": [\n");
    for (uint32_t round = 0; round < n_rounds; round++) {
        measure(b, round);
    }

    /* Quiet. */
    b->longest_ns = 0;
    kill(pid, SIGSTOP);
    start = now_ns();
    while (turn(b), !link_listener_is_current(b->listener)) {
        wait_for_turn(b, UINT64_MAX);
    }
    printf("],\n \"quiet_ms\": %.3f, \"quiet_longest_turn_ms\": %.3f, ",
           (now_ns() - start) / 1e6, b->longest_ns / 1e6);
    kill(pid, SIGKILL);
    ovs_compat_ignore(waitpid(pid, NULL, 0));

    /* It may have been stopped between two steps. */
    rest(b);
    printf("\"links\": %"PRIu32", \"equal\": %s}\n", b->n_links,
           is_equal(b) ? "true" : "false");
}

int
main(int argc, char *argv[])
{
    struct link_listener_options options = { .on_demand = true };
    struct bench b = { .conn = NULL };
    unsigned int n_rounds;
    int error;

    set_program_name(argv[0]);
    if (argc != 4 || !str_to_uint(argv[1], 10, &b.n_links) || b.n_links % 2
        || !str_to_uint(argv[2], 10, &b.rate) || !b.rate
        || !str_to_uint(argv[3], 10, &n_rounds) || !n_rounds) {
        ovs_fatal(0, "usage: churn-links LINKS RATE ROUNDS "
                  "(LINKS an even number)");
    }
    if (unshare(CLONE_NEWNET)) {
        ovs_fatal(errno, "making a network namespace failed");
    }
    b.n_pairs = mmap(NULL, sizeof *b.n_pairs, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b.n_pairs == MAP_FAILED) {
        ovs_fatal(errno, "no shared memory");
    }
    b.conn = connect_to_kernel();
    for (uint32_t i = 0; i < b.n_links / 2; i++) {
        add_veths(b.conn, "a", "b", i, false);
    }
    b.table = link_table_create();
    options.addrs = link_addrs_create();
    options.qdiscs = link_qdiscs_create();
    error = link_listener_open(b.table, &options, &b.listener);
    if (error) {
        ovs_fatal(error, "listening to links failed");
    }
    link_listener_catch_up(b.listener);
    run(&b, n_rounds);
    link_listener_close(b.listener);
    link_table_destroy(b.table);
    link_addrs_destroy(options.addrs);
    link_qdiscs_destroy(options.qdiscs);
    nl_conn_close(b.conn);
    return 0;
}
