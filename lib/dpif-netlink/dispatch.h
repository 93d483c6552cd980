/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DISPATCH_H
#define KDP_DPIF_NETLINK_DISPATCH_H 1

/* Dispatch of upcalls
 * ===================
 *
 * Turns upcalls on and off, and sets the mode in which the kernel chooses the
 * socket of an upcall (see upcall-dest.h).
 *
 * Every possible CPU of the machine is mapped to a socket, so neither hot-plug
 * nor a change of the process's CPU affinity needs any action.
 *
 * A change of the mode first creates the sockets of the new mode, then sets
 * the mode in the kernel, and then drains the sockets of the old mode.  If the
 * kernel refuses a change, the mode stays as it was.  Sockets that the kernel
 * may still send to stay.  If the kernel refuses another request (to go back
 * from CPUs to ports, to use other sockets of CPUs, to restore a mode that
 * another process changed), this module repeats the request every second until
 * it succeeds.
 *
 * Open vSwitch stops its threads before it requests another number of
 * handlers, and starts none if the request fails.  So the request always
 * succeeds.  This module creates missing handlers as soon as it can; until
 * then their threads find no upcalls.
 *
 * Another process can change the mode, too: the stock "ovs-dpctl show" does.
 * There are two defences:
 *
 *   - The shared socket is registered in the kernel as the socket of every
 *     CPU.  If the kernel dispatches by CPU, upcalls arrive on the shared
 *     socket, and none is lost.
 *
 *   - The kernel announces the change to the "ovs_datapath" multicast group.
 *     The main loop then restores the mode.
 *
 * Thread safety: dispatch_run(), dispatch_revalidate() and dispatch_wait()
 * belong to the main thread, the others to any thread.  All take the
 * datapath's mutex, unless the declaration says that the caller holds it. */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/upcall-dest.h"

/* _destroy() turns upcalls off. */
void dispatch_create(struct kdp_datapath *);
void dispatch_destroy(struct kdp_datapath *);

/* Turns upcalls on or off.  Returns 0, or a positive errno value and leaves
 * them off. */
int dispatch_recv_set(struct kdp_datapath *, bool enable);

/* Creates 'n_handlers' handlers, now or when upcalls are turned on. */
void dispatch_handlers_set(struct kdp_datapath *, uint32_t n_handlers);

/* Adds 'features' to the features that the datapath should have.  Returns 0,
 * EOPNOTSUPP if the kernel has none of them, or another positive errno
 * value. */
int dispatch_set_features(struct kdp_datapath *, uint32_t features);

/* True if upcalls are on. */
bool dispatch_is_on(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Changes the mode to 'mode', now or when upcalls are turned on. */
void dispatch_set_mode(struct kdp_datapath *dp, enum dispatch_mode mode)
    OVS_REQUIRES(dp->mutex);

/* Number of times that the mode had to be restored. */
uint64_t dispatch_n_restored(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if dispatch by port is both the configured and the present mode. */
bool dispatch_is_per_port(struct kdp_datapath *);

/* Sets the mode and the sockets of ports in the kernel again.  Another process
 * may have changed them. */
void dispatch_check(struct kdp_datapath *);

const char *dispatch_mode_name(enum dispatch_mode);
bool dispatch_mode_from_name(const char *name, enum dispatch_mode *);

/* To be called in each turn of the main loop.  _run() returns true if ports
 * may have gone. */
bool dispatch_run(struct kdp_datapath *);

/* To be called after _run(): true if flows must be revalidated. */
bool dispatch_revalidate(struct kdp_datapath *);
void dispatch_wait(struct kdp_datapath *);

#endif /* lib/dpif-netlink/dispatch.h */
