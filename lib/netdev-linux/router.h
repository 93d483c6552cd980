/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_ROUTER_H
#define KDP_NETDEV_LINUX_ROUTER_H 1

/* Routes in Open vSwitch's router
 * ===============================
 *
 * Open vSwitch's router (ovs-router.h) can insert one route, and remove all.
 * This module knows which ones it has from the kernel, and inserts and removes
 * what has changed.  A change thus costs the same however many routes and
 * devices there are.
 *
 * With the routes go the addresses at which tunnels receive: a device has its
 * own there (tnl-ports.h) while there is a route through it.
 *
 * How one route is removed: the router's classifier is private to Open
 * vSwitch.  The build gives its symbol a second name (build-aux/ovs-build),
 * and a rule is found and removed there by the functions of classifier.h.
 * That the rule is the first member of the router's structure, which is freed
 * with it, is checked by the build.
 *
 * Routes that a user added (ovs/route/add) have another priority and are left
 * alone.
 *
 * Life cycle: router_set() and router_remove().  Nothing is freed, as the
 * router lives as long as the process.
 *
 * Thread safety: the main thread, which is the only one that changes the
 * router.  Others look routes up meanwhile, under RCU.
 *
 * Failure: a route is refused if its device has no address that could be the
 * source of packets. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link-route.h"

struct router_stats {
    uint64_t inserted, removed, refused;
};

/* Makes the router's route to 'dest' lead as 'route' says, through the device
 * 'name'.  Returns true if it does.  Does nothing if it did before, unless
 * 'touched': then addresses of the device may have changed. */
bool router_set(const struct link_dest_key *dest,
                const struct link_route *route, const char *name,
                bool touched);

/* Removes the route to 'dest', if there is one.  Returns true if so. */
bool router_remove(const struct link_dest_key *dest);

/* True if 'route' is what the router has for its destination. */
bool router_has(const struct link_route *route);

/* Number of routes that are in the router. */
size_t router_count(void);
void router_get_stats(struct router_stats *);

#endif /* lib/netdev-linux/router.h */
