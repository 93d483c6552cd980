/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_NETDEV_H
#define KDP_OVS_COMPAT_NETDEV_H 1

/* Differences between versions of Open vSwitch: devices, routes
 * =============================================================
 *
 * The OVS_HAVE_* constants come from build-aux/ovs-features, which looks at the
 * declarations of the tree that is built upon.  Each is 1 or 0, so that plain C
 * can test them, too.  lib/ovs/README.md says more.
 *
 * Thread safety: that of the function of Open vSwitch that stands behind. */

#include "netdev-linux-private.h"
#include "ovs-features.h"
#include "ovs-router.h"

/* Preferred source address of a route, since 3.2.  'source' is all zeros for a
 * route without one. */
static inline void
ovs_compat_router_insert(uint32_t mark, const struct in6_addr *dst,
                         uint8_t dst_len, bool local, const char *output,
                         const struct in6_addr *gateway,
                         const struct in6_addr *source OVS_UNUSED)
{
#if OVS_HAVE_ROUTER_PREFSRC
    ovs_router_insert(mark, dst, dst_len, local, output, gateway, source);
#else
    ovs_router_insert(mark, dst, dst_len, local, output, gateway);
#endif
}

/* Is the device the master of others, such as a bond?  The member got another
 * name in 3.5. */
static inline void
ovs_compat_netdev_set_lag(struct netdev_linux *netdev, bool is_lag)
{
#if OVS_HAVE_LAG_PRIMARY
    netdev->is_lag_primary = is_lag;
#else
    netdev->is_lag_master = is_lag;
#endif
}

#endif /* lib/ovs/compat-netdev.h */
