/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_API_H
#define KDP_DPIF_NETLINK_FLOW_API_H 1

/* Answers questions about datapaths from files that know devices and not
 * datapaths: the flow API (tc/tc-prepare.h), and the statistics of devices,
 * which have the upcalls of their ports (netdev-linux/upcall-counters.h). */

/* Registers the flow API and the source of these counters.  To be called once,
 * by the main thread, before other threads exist. */
void kdp_flow_api_register(void);

#endif /* lib/dpif-netlink/flow-api.h */
