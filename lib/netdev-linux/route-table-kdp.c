/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/route-table-kdp.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "netdev-linux/links.h"
#include "link/link-addr.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs/compat-netdev.h"
#include "route-table.h"
#include "timeval.h"
#include "util.h"

/* The originals. */
uint64_t kdp_stock_route_table_get_change_seq(void);
void kdp_stock_route_table_init(void);
void kdp_stock_route_table_run(void);
void kdp_stock_route_table_wait(void);

/* Changes of a link that change the carrier of the tunnels through it. */
#define CARRIER_CHANGES (LINK_CHANGE_FLAGS | LINK_CHANGE_OPERSTATE \
                         | LINK_CHANGE_CARRIER)

static bool initialized;

/* Increases whenever the router was filled, and when tunnels are to look again
 * at the devices that their routes lead to. */
static atomic_uint64_t change_seq;

/* What the router was filled from. */
static uint64_t routes_seqno;
static uint64_t addrs_seqno;
static bool renamed;                    /* A link was since. */
static bool carrier_changed;            /* Of a link with routes. */

/* Filling the router anew with very many routes takes long, so it rests for
 * this many times as long after that: a routing daemon that changes routes all
 * the time has a fifth of the main loop's time at most. */
#define FILL_REST 4
static long long int fill_at;           /* Not before, in milliseconds. */

uint64_t
route_table_get_change_seq(void)
{
    uint64_t seq;

    if (!kdp_links_enabled()) {
        return kdp_stock_route_table_get_change_seq();
    }
    atomic_read_relaxed(&change_seq, &seq);
    return seq;
}

static int
table_rank(uint32_t table)
{
    return table == RT_TABLE_LOCAL ? 2 : table == RT_TABLE_MAIN ? 1 : 0;
}

/* Sorts the route last that wins if several have the same destination: Open
 * vSwitch knows neither tables nor metrics.  The local table comes after all,
 * the main one after all others, such as those of VRFs, whatever their
 * numbers; within a table the lowest metric is the kernel's choice. */
static int
compare_routes(const void *a_, const void *b_)
{
    const struct link_route *a = a_;
    const struct link_route *b = b_;
    int a_rank = table_rank(a->table);
    int b_rank = table_rank(b->table);

    if (a_rank != b_rank) {
        return a_rank < b_rank ? -1 : 1;
    } else if (a->table != b->table) {
        return a->table < b->table ? -1 : 1;
    } else if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    return a->ifindex < b->ifindex ? -1 : a->ifindex > b->ifindex;
}

static void
fill_router(void)
{
    const struct link_table *table = kdp_links_table();
    long long int start = time_msec(), end;
    struct link_route *routes;
    uint64_t orig;
    size_t n;

    routes_seqno = link_routes_seqno(kdp_links_routes());
    addrs_seqno = link_addrs_seqno(kdp_links_addrs());
    renamed = false;
    atomic_add_relaxed(&change_seq, 1, &orig);

    ovs_router_flush();
    routes = link_routes_get(kdp_links_routes(), &n);
    qsort(routes, n, sizeof *routes, compare_routes);
    for (size_t i = 0; i < n; i++) {
        const struct link_route *route = &routes[i];
        struct link_info link;

        if (link_table_find(table, LINK_NSID_LOCAL, route->ifindex, &link)) {
            ovs_compat_router_insert(route->mark, &route->dst,
                                     route->dst_len, route->local, link.name,
                                     &route->gateway, &route->source);
        }
    }
    free(routes);
    end = time_msec();
    fill_at = end + (end - start) * FILL_REST;
}

/* A link that has routes may have a new name, or tunnels another carrier. */
static void
link_changed(const struct link_change *change, void *aux OVS_UNUSED)
{
    renamed |= (change->what & LINK_CHANGE_NAME) != 0;
    carrier_changed |= (change->what & CARRIER_CHANGES
                        && link_routes_has_link(kdp_links_routes(),
                                                change->link->ifindex));
}

void
route_table_kdp_register(void)
{
    if (kdp_links_enabled()) {
        link_table_subscribe(kdp_links_table(), LINK_NSID_LOCAL,
                             LINK_CHANGE_NAME | CARRIER_CHANGES, link_changed,
                             NULL);
    }
}

void
route_table_init(void)
{
    if (!kdp_links_enabled()) {
        kdp_stock_route_table_init();
        return;
    }
    ovs_assert(!initialized);
    initialized = true;
    ovs_router_init();
    fill_router();
}

/* True if the router is to be filled anew. */
static bool
is_outdated(void)
{
    return (initialized && kdp_links_are_idle()
            && (renamed
                || routes_seqno != link_routes_seqno(kdp_links_routes())
                || addrs_seqno != link_addrs_seqno(kdp_links_addrs())));
}

void
route_table_run(void)
{
    if (!kdp_links_enabled()) {
        kdp_stock_route_table_run();
        return;
    }
    if (is_outdated() && time_msec() >= fill_at) {
        fill_router();
    }
    if (carrier_changed && kdp_links_are_idle()) {
        uint64_t orig;

        carrier_changed = false;
        atomic_add_relaxed(&change_seq, 1, &orig);
    }
}

void
route_table_wait(void)
{
    if (!kdp_links_enabled()) {
        kdp_stock_route_table_wait();
        return;
    }
    if (carrier_changed && kdp_links_are_idle()) {
        poll_immediate_wake();
    }
    if (is_outdated()) {
        /* The listener ran after this did, or it was not time yet. */
        poll_timer_wait_until(fill_at);
    }
}
