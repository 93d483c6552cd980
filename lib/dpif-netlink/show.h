/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SHOW_H
#define KDP_DPIF_NETLINK_SHOW_H 1

/* Commands about upcalls and ports: upcall/show, upcall/reset and
 * vport-table/show. */

/* Registers the commands.  To be called once, by the main thread. */
void show_register(void);

#endif /* lib/dpif-netlink/show.h */
