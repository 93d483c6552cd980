/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/route-table-kdp.h"

#include <stdint.h>

#include "netdev-linux/links.h"
#include "netdev-linux/router.h"
#include "link/link-route.h"
#include "link/link-table.h"
#include "openvswitch/poll-loop.h"
#include "ovs-atomic.h"
#include "ovs-router.h"
#include "ovs/compat-netdev.h"
#include "route-table.h"
#include "util.h"

/* The originals. */
uint64_t kdp_stock_route_table_get_change_seq(void);
void kdp_stock_route_table_init(void);
void kdp_stock_route_table_run(void);
void kdp_stock_route_table_wait(void);

/* Changes of a link that change the carrier of the tunnels through it. */
#define CARRIER_CHANGES (LINK_CHANGE_FLAGS | LINK_CHANGE_OPERSTATE \
                         | LINK_CHANGE_CARRIER)

/* Changes of a link that change what the routes through it are in the
 * router. */
#define ROUTE_CHANGES (LINK_CHANGE_NEW | LINK_CHANGE_GONE | LINK_CHANGE_NAME \
                       | LINK_CHANGE_ADDRS)

static bool initialized;

/* Increases whenever the router has changed, and when tunnels are to look
 * again at the devices that their routes lead to. */
static atomic_uint64_t change_seq;

static bool carrier_changed;            /* Of a link with routes. */

/* Do we fill the router?  Not if it has a classifier for each routing table,
 * and rules that choose among them: that is left to Open vSwitch. */
static bool
is_ours(void)
{
    return kdp_links_enabled() && ovs_compat_router_classifier();
}

/* Forgets which destinations have changed, as nobody asks. */
static void
forget_changes(void)
{
    struct link_dest_key dest;
    int touched;

    while (kdp_links_enabled()
           && link_routes_next_changed(kdp_links_routes(), &dest, &touched)) {
        /* Nothing to do. */
    }
}

uint64_t
route_table_get_change_seq(void)
{
    uint64_t seq;

    if (!is_ours()) {
        return kdp_stock_route_table_get_change_seq();
    }
    atomic_read_relaxed(&change_seq, &seq);
    return seq;
}

static void
bump_change_seq(void)
{
    uint64_t orig;

    atomic_add_relaxed(&change_seq, 1, &orig);
}

/* Makes the router's route to 'dest' the preferred one of those that it takes.
 * Link 'touched' of it has changed.  Returns true if the route may have. */
static bool
update_dest(const struct link_dest_key *dest, int touched)
{
    struct link_route route;
    struct link_info link;
    struct router_stats before, after;

    router_get_stats(&before);
    for (size_t i = 0;; i++) {
        if (!link_routes_get_nth(kdp_links_routes(), dest, i, &route)) {
            return router_remove(dest);
        }
        if (link_table_find(kdp_links_table(), LINK_NSID_LOCAL, route.ifindex,
                            &link)
            && router_set(dest, &route, link.name,
                          touched == LINK_DEST_SEVERAL
                          || touched == route.ifindex)) {
            router_get_stats(&after);
            return after.inserted != before.inserted;
        }
    }
}

/* Takes over the changes of at most 'n' destinations. */
static void
update_router(size_t n)
{
    struct link_dest_key dest;
    bool changed = false;
    int touched;

    while (n-- > 0
           && link_routes_next_changed(kdp_links_routes(), &dest, &touched)) {
        changed |= update_dest(&dest, touched);
    }
    if (changed) {
        bump_change_seq();
    }
}

/* A link that has routes may have a new name or other addresses, or tunnels
 * another carrier. */
static void
link_changed(const struct link_change *change, void *aux OVS_UNUSED)
{
    int ifindex = change->link->ifindex;

    if (change->what & ROUTE_CHANGES) {
        link_routes_touch_link(kdp_links_routes(), ifindex);
    }
    carrier_changed |= (change->what & CARRIER_CHANGES
                        && link_routes_has_link(kdp_links_routes(), ifindex));
}

void
route_table_kdp_register(void)
{
    if (is_ours()) {
        link_table_subscribe(kdp_links_table(), LINK_NSID_LOCAL,
                             ROUTE_CHANGES | CARRIER_CHANGES, link_changed,
                             NULL);
    }
}

void
route_table_init(void)
{
    if (!is_ours()) {
        kdp_stock_route_table_init();
        return;
    }
    ovs_assert(!initialized);
    initialized = true;
    ovs_router_init();
    update_router(SIZE_MAX);
    bump_change_seq();
}

void
route_table_run(void)
{
    if (!is_ours()) {
        forget_changes();
        kdp_stock_route_table_run();
        return;
    }
    if (initialized) {
        update_router(ROUTE_TABLE_TURN);
    }
    if (carrier_changed && kdp_links_are_idle()) {
        carrier_changed = false;
        bump_change_seq();
    }
}

void
route_table_wait(void)
{
    if (!is_ours()) {
        kdp_stock_route_table_wait();
        return;
    }
    if ((initialized && link_routes_has_changed(kdp_links_routes()))
        || (carrier_changed && kdp_links_are_idle())) {
        /* The listener ran after this did, or a turn was not enough. */
        poll_immediate_wake();
    }
}
