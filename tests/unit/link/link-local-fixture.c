/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "unit/link/link-local-fixture.h"

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
#include "harness/unit.h"
#include "util.h"

/* IF_OPER_UP of <linux/if.h>, which is at odds with <net/if.h>. */
#define OPER_UP 6

/* How long a dump of routes takes, if time stands still. */
long long int dump_duration;

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

void
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

char *
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

void
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

struct link_listener_stats
stats_of(struct fixture *f)
{
    struct link_listener_stats stats;

    link_listener_get_stats(f->listener, &stats);
    return stats;
}

uint64_t
n_stale(struct fixture *f)
{
    return stats_of(f).rtnl[LINK_REASON_ROUTES];
}

static void
open_listener(struct fixture *f)
{
    f->table = link_table_create();
    f->options.addrs = link_addrs_create();
    f->options.routes = link_routes_create();
    f->options.qdiscs = link_qdiscs_create();
    OK(link_listener_open(f->table, &f->options, &f->listener));
    assert_true(link_listener_catch_up(f->listener));
}

static void
close_listener(struct fixture *f)
{
    link_listener_close(f->listener);
    link_table_destroy(f->table);
    link_addrs_destroy(f->options.addrs);
    link_routes_destroy(f->options.routes);
    link_qdiscs_destroy(f->options.qdiscs);
}

/* True if the kernel has announced that link 'ifindex' has a carrier, and all
 * that comes with it.  A new link is said to be running before. */
static bool
is_running(struct fixture *f, int ifindex)
{
    struct link_info link;

    link_listener_run(f->listener);
    return (link_table_find(f->table, LINK_NSID_LOCAL, ifindex, &link)
            && link.carrier && link.operstate == OPER_UP);
}

/* Waits until the kernel has said all about the links and addresses that were
 * made.  What it says later comes between what a test does. */
static void
wait_until_settled(struct fixture *f)
{
    open_listener(f);
    unit_wait_until(is_running(f, A) && is_running(f, B));
    assert_equal(f);
    close_listener(f);
}

int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    unit_check(!unshare(CLONE_NEWNET));
    f->own = unit_ns_own();
    OK(unit_link_add_veth(f->own, A, "a", f->own, B, "b"));
    OK(unit_link_set_no_addresses(f->own, A));
    OK(unit_link_set_no_addresses(f->own, B));
    OK(unit_link_set_up(f->own, 1, true));
    OK(unit_link_set_up(f->own, A, true));
    OK(unit_link_set_up(f->own, B, true));
    OK(unit_ip_add(f->own, A, "10.0.0.1/24"));
    OK(unit_ip_add(f->own, A, "fd00::1/64"));
    wait_until_settled(f);
    open_listener(f);
    assert_equal(f);
    *state = f;
    return 0;
}

int
teardown(void **state)
{
    struct fixture *f = *state;

    unit_clock_run();
    dump_duration = 0;
    close_listener(f);
    unit_ns_destroy(f->own);
    free(f);
    return 0;
}
