/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_COUNTERS_SOURCE_H
#define KDP_DPIF_NETLINK_UPCALL_COUNTERS_SOURCE_H 1

/* Tells the statistics of devices (netdev-linux/upcall-counters.h) what became
 * of the upcalls of ports.  A device is found by the name of its port, from
 * the table of ports, without a request to the kernel in steady state.
 *
 * Thread safety: the main thread, before there is another one. */

void upcall_counters_source_register(void);

#endif /* lib/dpif-netlink/upcall-counters-source.h */
