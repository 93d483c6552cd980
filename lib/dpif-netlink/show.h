/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SHOW_H
#define KDP_DPIF_NETLINK_SHOW_H 1

/* Commands about upcalls, ports and offload: upcall/show, upcall/reset,
 * vport-table/show, offload/show and offload/why; and the statistics for
 * dpctl/offload-stats-show. */

struct kdp_flow_engine;
struct netdev_custom_stats;

/* Registers the commands.  To be called once, by the main thread. */
void show_register(void);

/* Like the dpif function offload_stats_get().  Any thread. */
int show_offload_stats(struct kdp_flow_engine *, struct netdev_custom_stats *);

#endif /* lib/dpif-netlink/show.h */
