/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_PORTS_H
#define KDP_DPIF_NETLINK_FLOW_PORTS_H 1

/* Ports of the offload engine
 * ===========================
 *
 * A port is known to the engine while Open vSwitch has it in its table of
 * ports (ovs/compat-offload.h) that is prepared, it is one of the
 * datapath, and its device has an index: the main loop compares the two after
 * ports may have come or gone, and at most twice a second after devices have
 * changed.
 *
 * A port that Open vSwitch deletes from the datapath is removed from the
 * engine first, whose threads delete its rules.  One whose device goes by
 * itself is removed after it, when its rules are gone already; one that is
 * another device by then is removed and added.  While a port cannot be looked
 * up, it stays as it is.
 *
 * The members of a bond that the engine has are bound to its block while
 * offload is on (netdev-linux/lag.h).  After offload was turned off, or the
 * bond was removed, they are unbound as soon as tc has none of its rules.
 *
 * Thread safety: the main thread, but for kdp_flow_ports_changed(), which is
 * for any. */

#include <stdbool.h>
#include <stdint.h>

struct kdp_flow_engine;

/* _create() takes note that all ports are to be compared.  _destroy() leaves
 * members of bonds bound whose rules stay. */
void kdp_flow_ports_create(struct kdp_flow_engine *);
void kdp_flow_ports_destroy(struct kdp_flow_engine *);

/* Says that ports may have come, gone or changed. */
void kdp_flow_ports_changed(struct kdp_flow_engine *);

/* Says that port 'port_no' is about to be deleted from the datapath.  Waits
 * for nothing. */
void kdp_flow_ports_del(struct kdp_flow_engine *, uint32_t port_no);

/* Says that offload has been turned on, or off, for all ports, as
 * 'engine->enabled' says. */
void kdp_flow_ports_enable(struct kdp_flow_engine *, bool enable);

/* To be called in each turn of the main loop. */
void kdp_flow_ports_run(struct kdp_flow_engine *);
void kdp_flow_ports_wait(struct kdp_flow_engine *);

#endif /* lib/dpif-netlink/flow-ports.h */
