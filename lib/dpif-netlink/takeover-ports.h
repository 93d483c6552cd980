/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_TAKEOVER_PORTS_H
#define KDP_DPIF_NETLINK_TAKEOVER_PORTS_H 1

/* Taking over the ports of tunnels
 * ================================
 *
 * All tunnels of a type share one port of the datapath, for example
 * "genev_sys_6081".  The database has no interface of that name, so Open
 * vSwitch considers the port that it finds unused: when it starts, it deletes
 * the port and its device, and creates both again when it adds the first
 * tunnel.  Packets that arrive in the meantime are lost.
 *
 * This module keeps such a port while flows of the previous run are taken over
 * (takeover.h):
 *
 *      state       the bridge                      goes on when
 *      --------    ----------------------------    -----------------------
 *      kept        has deleted it, and sees no     it adds a tunnel:
 *                  such port                       claimed; the takeover
 *                                                  ends: deleted
 *      claimed     has added it
 *
 * A port is claimed if its device is configured as the tunnel requires; Open
 * vSwitch compares them, and creates a device that differs again.  The number
 * of a claimed port stays, and so do the flows that name it.  The number of a
 * port that is only kept is treated as if it was assigned to another port: its
 * flows are deleted at the end of the takeover.
 *
 * During a handover, the old process may delete a kept port and give its
 * number to another one.  Before a port is claimed or deleted, its name and
 * the index of its device are compared with the kernel's.  If they differ, the
 * kept port is forgotten.
 *
 * Only ports that are devices are kept.  With Linux's own module, these are
 * all ports.
 *
 * If a kept port cannot be deleted, this is logged, and the next start finds
 * the port again.
 *
 * Thread safety: any thread may call _hides(), the main thread the others. */

#include <stdbool.h>

#include "openvswitch/types.h"

struct kdp_datapath;
struct netdev;

void takeover_ports_create(struct kdp_datapath *);
void takeover_ports_destroy(struct kdp_datapath *);

/* Says that the bridge deletes port 'port_no'.  Returns true if the port is
 * kept. */
bool takeover_ports_keep(struct kdp_datapath *, odp_port_t port_no);

/* Says that the bridge adds 'netdev', with number '*port_no' unless that is
 * ODPP_NONE.  Returns true if a kept port takes this role, and stores its
 * number in '*port_no'. */
bool takeover_ports_claim(struct kdp_datapath *, struct netdev *netdev,
                          odp_port_t *port_no);

/* True if port 'name' is kept: the bridge must not see it.  Any thread. */
bool takeover_ports_hides(const struct kdp_datapath *, const char *name);

/* To be called in each turn of the main loop, after takeover_run(): deletes
 * ports that were not claimed when the takeover is over. */
void takeover_ports_run(struct kdp_datapath *);

/* Deletes the kept ports.  To be called before the datapath is deleted,
 * because that leaves the devices of its tunnels. */
void takeover_ports_delete(struct kdp_datapath *);

/* Says that a bridge opens the datapath and finds all ports again. */
void takeover_ports_forget(struct kdp_datapath *);

#endif /* lib/dpif-netlink/takeover-ports.h */
