/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_UPCALL_COUNTERS_H
#define KDP_NETDEV_LINUX_UPCALL_COUNTERS_H 1

/* Upcalls in the statistics of devices
 * ====================================
 *
 * What became of the upcalls of a port, in column "statistics" of its
 * interface, where what watches a switch finds it:
 *
 *      upcall_packets      packets that the kernel sent up
 *      upcall_errors       packets that it could not send up
 *      upcall_shed         packets that came up, and waited too long
 *
 * The first two are those that Open vSwitch 3.2 and later take from a kernel
 * that counts them (Linux 6.2).  On these versions they are left to that.
 * Earlier ones have no place for them among the statistics of a device, so
 * they are custom ones.
 *
 * This module knows no datapath; the provider of dpifs says whom to ask.
 *
 * Thread safety: any thread; set_source before there is a second one. */

#include <stdbool.h>
#include <stdint.h>

struct netdev;
struct netdev_custom_stats;

struct netdev_kdp_upcalls {
    uint64_t packets;
    uint64_t errors;
    uint64_t shed;
};

/* Stores what is known of the port that device 'name' is.  Returns false if it
 * is none. */
typedef bool netdev_kdp_upcalls_cb(const char *name,
                                   struct netdev_kdp_upcalls *);

void netdev_kdp_upcalls_set_source(netdev_kdp_upcalls_cb *);

/* The callback of classes of devices. */
int netdev_kdp_upcalls_get(const struct netdev *,
                           struct netdev_custom_stats *);

#endif /* lib/netdev-linux/upcall-counters.h */
