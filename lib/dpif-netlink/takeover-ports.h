/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_TAKEOVER_PORTS_H
#define KDP_DPIF_NETLINK_TAKEOVER_PORTS_H 1

/* Taking over the ports of tunnels
 * ================================
 *
 * All tunnels of a type share one port of the datapath, "genev_sys_6081" for
 * one.  The database has no interface of that name.  So Open vSwitch takes the
 * port that it finds for one that nobody needs: when it starts, it deletes the
 * port and its device, and makes both again when it adds the first tunnel.
 * What comes meanwhile is lost.
 *
 * Here such a port stays while flows of the previous run are taken over
 * (takeover.h):
 *
 *      state       the bridge                      goes on when
 *      --------    ----------------------------    -----------------------
 *      kept        has deleted it, and sees no     it adds a tunnel:
 *                  such port                       claimed; the takeover
 *                                                  ends: deleted
 *      claimed     has added it
 *
 * A port is claimed if its device is as the tunnel wants it; Open vSwitch
 * compares them, and makes one that is not again.  Its number stays, and so do
 * the flows that name it.  The number of a port that is only kept is as one
 * that was given to another port: its flows go at the end of the takeover.
 *
 * Only ports that are devices are kept, which is all with the module of Linux.
 *
 * When a port that is kept cannot be deleted, that is logged, and the next
 * start finds it again.
 *
 * Thread safety: _hides() is for any thread, the others are for the main
 * thread. */

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
 * ODPP_NONE.  Returns true if a port that was kept is the one, and stores its
 * number in '*port_no'. */
bool takeover_ports_claim(struct kdp_datapath *, struct netdev *netdev,
                          odp_port_t *port_no);

/* True if port 'name' is kept: the bridge is not to see it.  Any thread. */
bool takeover_ports_hides(const struct kdp_datapath *, const char *name);

/* To be called in each turn of the main loop, after takeover_run(): deletes
 * ports that nobody has claimed when the takeover is over. */
void takeover_ports_run(struct kdp_datapath *);

/* Deletes the ports that are kept.  The datapath is about to be deleted, which
 * leaves the devices of its tunnels. */
void takeover_ports_delete(struct kdp_datapath *);

/* Says that a bridge opens the datapath, and finds all ports again. */
void takeover_ports_forget(struct kdp_datapath *);

#endif /* lib/dpif-netlink/takeover-ports.h */
