/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_SETTINGS_H
#define KDP_DPIF_NETLINK_SETTINGS_H 1

/* Settings about upcalls and restarts: keys of column other_config of table
 * Open_vSwitch.
 *
 *      key                     set where
 *      -------------------     ----------------------------------
 *      upcall-dispatch         dispatch.h
 *      upcall-engine           upcall/upcall-table.h
 *      upcall-max-sockets      socket-budget.h
 *      upcall-buffer-max       upcall/upcall-rcvbuf.h
 *      upcall-target-delay     upcall/upcall-shed.h
 *      upcall-group-size       upcall/upcall-table.h
 *      upcall-port-queues      upcall-queues.h; also of an interface
 *      restart-hold            takeover.h
 *
 *      n-handler-threads       Open vSwitch, by dispatch.h
 *
 * flow-offload.h has the settings about offload.
 *
 * Thread safety: the main thread. */

#include <stdint.h>

struct kdp_datapath;
struct smap;

void settings_create(struct kdp_datapath *);
void settings_destroy(struct kdp_datapath *);

/* Applies 'other_config'.  Invalid values are logged and change nothing. */
void settings_set(struct kdp_datapath *, const struct smap *other_config);

/* The same for column other_config of the interface that is port 'port_no'. */
void settings_set_port(struct kdp_datapath *, uint32_t port_no,
                       const struct smap *other_config);

/* Returns the number of handlers to pass to Open vSwitch when
 * n-handler-threads is 'n': 'n', or if that is too large, the last number that
 * was not.  0 lets Open vSwitch choose.  Open vSwitch stops all threads and
 * deletes all flows before it requests another number from the dpif, and at
 * the start it does so before it passes any setting to the dpif. */
int settings_limit_handlers(int n);

#endif /* lib/dpif-netlink/settings.h */
