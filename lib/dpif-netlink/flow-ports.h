/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_PORTS_H
#define KDP_DPIF_NETLINK_FLOW_PORTS_H 1

/* Ports of the offload engine
 * ===========================
 *
 * The engine has a port while Open vSwitch's table of ports
 * (ovs/compat-offload.h) has it, the datapath has it, and its device has an
 * index.  The main loop compares the engine's ports with these after ports may
 * have been added or deleted, and at most twice a second after devices have
 * changed.
 *
 * When Open vSwitch deletes a port from the datapath, this module removes the
 * port from the engine first, and the engine's threads delete its rules.  When
 * a device disappears by itself, its rules are gone already, and the port is
 * removed afterwards.  A port whose device was replaced is removed and added
 * again.  While a port cannot be looked up, it stays as it is.
 *
 * While offload is on, the members of a bond that is a port of the engine are
 * bound to the bond's block (netdev-linux/lag.h).  After offload was turned
 * off, or the bond was removed, they are unbound as soon as tc has none of the
 * bond's rules.
 *
 * Thread safety: the main thread, except kdp_flow_ports_changed(), which any
 * thread may call. */

#include <stdbool.h>
#include <stdint.h>

struct kdp_flow_engine;

/* _create() requests a comparison of all ports.  _destroy() leaves members of
 * bonds bound if the rules stay. */
void kdp_flow_ports_create(struct kdp_flow_engine *);
void kdp_flow_ports_destroy(struct kdp_flow_engine *);

/* Says that ports may have been added, deleted or changed. */
void kdp_flow_ports_changed(struct kdp_flow_engine *);

/* Says that port 'port_no' is about to be deleted from the datapath.  Does not
 * block. */
void kdp_flow_ports_del(struct kdp_flow_engine *, uint32_t port_no);

/* Says that offload has been turned on or off for all ports, as in
 * 'engine->enabled'. */
void kdp_flow_ports_enable(struct kdp_flow_engine *, bool enable);

/* To be called in each turn of the main loop. */
void kdp_flow_ports_run(struct kdp_flow_engine *);
void kdp_flow_ports_wait(struct kdp_flow_engine *);

#endif /* lib/dpif-netlink/flow-ports.h */
