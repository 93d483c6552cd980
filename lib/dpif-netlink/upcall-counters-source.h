/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_COUNTERS_SOURCE_H
#define KDP_DPIF_NETLINK_UPCALL_COUNTERS_SOURCE_H 1

/* Passes upcall counters of ports to the statistics of devices
 * (netdev-linux/upcall-counters.h).  Finds a device by its port's name in the
 * table of ports, without a request to the kernel in steady state.
 *
 * Thread safety: the main thread, before other threads exist. */

void upcall_counters_source_register(void);

#endif /* lib/dpif-netlink/upcall-counters-source.h */
