/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_API_H
#define KDP_DPIF_NETLINK_FLOW_API_H 1

/* Answers questions about datapaths from the flow API for devices
 * (tc/tc-prepare.h), which does not know datapaths. */

/* Registers the flow API.  To be called once, by the main thread. */
void kdp_flow_api_register(void);

#endif /* lib/dpif-netlink/flow-api.h */
