/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_UPCALL_COUNTERS_H
#define KDP_NETDEV_LINUX_UPCALL_COUNTERS_H 1

/* Upcalls in the statistics of devices
 * ====================================
 *
 * Shows what happened to the upcalls of a port in column "statistics" of its
 * interface, where monitoring tools look for it:
 *
 *      upcall_packets      packets that the kernel sent up
 *      upcall_errors       packets that it could not send up
 *      upcall_shed         packets that came up but waited too long
 *
 * Open vSwitch 3.2 and later get the first two from a kernel that counts them
 * (Linux 6.2), so they are left out there.  Earlier versions have no members
 * for them in the statistics of a device, so they are custom statistics.
 *
 * This module does not know the datapath; the dpif provider sets the source.
 *
 * Thread safety: any thread; the source must be set before there is a second
 * one. */

#include <stdbool.h>
#include <stdint.h>

struct netdev;
struct netdev_custom_stats;

struct netdev_kdp_upcalls {
    uint64_t packets;
    uint64_t errors;
    uint64_t shed;
};

/* Stores the counters of the port whose device is 'name'.  Returns false if
 * there is no such port. */
typedef bool netdev_kdp_upcalls_cb(const char *name,
                                   struct netdev_kdp_upcalls *);

void netdev_kdp_upcalls_set_source(netdev_kdp_upcalls_cb *);

/* A callback of the device classes. */
int netdev_kdp_upcalls_get(const struct netdev *,
                           struct netdev_custom_stats *);

#endif /* lib/netdev-linux/upcall-counters.h */
