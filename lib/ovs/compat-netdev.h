/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_NETDEV_H
#define KDP_OVS_COMPAT_NETDEV_H 1

/* Differences between versions of Open vSwitch: devices, routes
 * =============================================================
 *
 * The OVS_HAVE_* constants come from build-aux/ovs-features, which looks at
 * the declarations of the tree that is built on.  Each is 1 or 0, so that
 * plain C can test them, too.  lib/ovs/README.md says more.
 *
 * Thread safety: that of Open vSwitch's own function. */

#include <string.h>

#include "netdev-linux-private.h"
#include "netdev-provider.h"
#include "openvswitch/netdev.h"
#include "ovs-features.h"
#include "ovs-router.h"
#include "util.h"

/* Does the router have the kernel's routing tables, and rules that select
 * them? It does from 3.7 on. */
static inline bool
ovs_compat_router_has_tables(void)
{
    return OVS_HAVE_ROUTER_TABLES;
}

/* Removes the kernel's routes from the router. */
static inline void
ovs_compat_router_flush(void)
{
#if OVS_HAVE_ROUTER_TABLES
    ovs_router_flush(false);
#else
    ovs_router_flush();
#endif
}

/* Sets whether the device is the master of others, such as a bond.  The member
 * has another name since 3.5. */
static inline void
ovs_compat_netdev_set_lag(struct netdev_linux *netdev, bool is_lag)
{
#if OVS_HAVE_LAG_PRIMARY
    netdev->is_lag_primary = is_lag;
#else
    netdev->is_lag_master = is_lag;
#endif
}

/* The part of a device's link settings that the class stores only in versions
 * with separate functions for speed and duplex. */
struct ovs_compat_link_settings {
    uint32_t speed;
    uint8_t duplex;
};

static inline void
ovs_compat_netdev_get_link_settings(const struct netdev_linux *netdev
                                    OVS_UNUSED,
                                    struct ovs_compat_link_settings *settings)
{
    memset(settings, 0, sizeof *settings);
#if OVS_HAVE_CURRENT_SPEED
    settings->speed = netdev->current_speed;
#endif
#if OVS_HAVE_CURRENT_DUPLEX
    settings->duplex = netdev->current_duplex;
#endif
}

static inline void
ovs_compat_netdev_set_link_settings(
    struct netdev_linux *netdev OVS_UNUSED,
    const struct ovs_compat_link_settings *settings OVS_UNUSED)
{
#if OVS_HAVE_CURRENT_SPEED
    netdev->current_speed = settings->speed;
#endif
#if OVS_HAVE_CURRENT_DUPLEX
    netdev->current_duplex = settings->duplex;
#endif
}

/* Returns the speed in Mbit/s that the class last read, or 0 if it is unknown.
 * The bridge computes rates and path costs from it. */
static inline uint32_t
ovs_compat_netdev_get_speed_read(const struct netdev_linux *netdev)
{
    if (netdev->get_features_error) {
        return 0;
    }
#if OVS_HAVE_CURRENT_SPEED
    /* SPEED_UNKNOWN of <linux/ethtool.h>. */
    return netdev->current_speed == UINT32_MAX ? 0 : netdev->current_speed;
#else
    return netdev_features_to_bps(netdev->current, 0) / 1000000;
#endif
}

/* Since 3.2, statistics of a device include the packets of its port that
 * upcalls were sent for, and could not be sent for.  UINT64_MAX means
 * unknown. */
static inline void
ovs_compat_netdev_set_upcalls(struct netdev_stats *stats OVS_UNUSED,
                              uint64_t packets OVS_UNUSED,
                              uint64_t errors OVS_UNUSED)
{
#if OVS_HAVE_UPCALL_STATS
    stats->upcall_packets = packets;
    stats->upcall_errors = errors;
#endif
}

/* Are these counters in 'stats'?  For tests. */
static inline bool
ovs_compat_netdev_get_upcalls(const struct netdev_stats *stats OVS_UNUSED,
                              uint64_t *packets OVS_UNUSED,
                              uint64_t *errors OVS_UNUSED)
{
#if OVS_HAVE_UPCALL_STATS
    *packets = stats->upcall_packets;
    *errors = stats->upcall_errors;
#endif
    return OVS_HAVE_UPCALL_STATS;
}

/* Functions of the class of a device that return its speed in Mbit/s (since
 * 3.2) and whether it is duplex (since 3.3.9 and 3.7, and not in all versions
 * in between).  Earlier versions have both in the features of the device. */
typedef int ovs_compat_get_speed_func(const struct netdev *,
                                      uint32_t *current, uint32_t *max);
typedef int ovs_compat_get_duplex_func(const struct netdev *,
                                       bool *full_duplex);

/* Sets these functions in 'class', each if 'stock' has one, too. */
static inline void
ovs_compat_netdev_class_set_speed(
    struct netdev_class *class OVS_UNUSED,
    const struct netdev_class *stock OVS_UNUSED,
    ovs_compat_get_speed_func *get_speed OVS_UNUSED,
    ovs_compat_get_duplex_func *get_duplex OVS_UNUSED)
{
#if OVS_HAVE_GET_SPEED
    class->get_speed = stock->get_speed ? get_speed : NULL;
#endif
#if OVS_HAVE_GET_DUPLEX
    class->get_duplex = stock->get_duplex ? get_duplex : NULL;
#endif
}

/* Calls these functions of 'class', which must have them. */
static inline int
ovs_compat_netdev_class_get_speed(const struct netdev_class *class OVS_UNUSED,
                                  const struct netdev *netdev OVS_UNUSED,
                                  uint32_t *current OVS_UNUSED,
                                  uint32_t *max OVS_UNUSED)
{
#if OVS_HAVE_GET_SPEED
    return class->get_speed(netdev, current, max);
#else
    OVS_NOT_REACHED();
#endif
}

static inline int
ovs_compat_netdev_class_get_duplex(const struct netdev_class *class OVS_UNUSED,
                                   const struct netdev *netdev OVS_UNUSED,
                                   bool *full_duplex OVS_UNUSED)
{
#if OVS_HAVE_GET_DUPLEX
    return class->get_duplex(netdev, full_duplex);
#else
    OVS_NOT_REACHED();
#endif
}

/* Returns the speed of 'netdev' in Mbit/s, and whether it is duplex, as the
 * bridge reads them.  Both return 0 or a positive errno value. */
static inline int
ovs_compat_netdev_get_speed(const struct netdev *netdev, uint32_t *current)
{
#if OVS_HAVE_GET_SPEED
    return netdev_get_speed(netdev, current, NULL);
#else
    enum netdev_features features;
    int error = netdev_get_features(netdev, &features, NULL, NULL, NULL);

    *current = netdev_features_to_bps(features, 0) / 1000000;
    return error;
#endif
}

static inline int
ovs_compat_netdev_get_duplex(const struct netdev *netdev, bool *full_duplex)
{
#if OVS_HAVE_GET_DUPLEX
    return netdev_get_duplex(netdev, full_duplex);
#else
    enum netdev_features features;
    int error = netdev_get_features(netdev, &features, NULL, NULL, NULL);

    *full_duplex = netdev_features_is_full_duplex(features);
    return error;
#endif
}

#endif /* lib/ovs/compat-netdev.h */
