/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DISPATCH_H
#define KDP_DPIF_NETLINK_DISPATCH_H 1

/* Dispatch of upcalls
 * ===================
 *
 * Turns upcalls on and off, and sets the mode in which the kernel chooses the
 * socket of an upcall (see upcall-dest.h).
 *
 * Every CPU that the machine can have is mapped to a socket, so neither
 * hot-plug nor a change of the CPUs that the process may use needs anything
 * done.
 *
 * A change of the mode first makes the sockets of the new mode, then tells the
 * kernel, and has the sockets of the old mode drained.  One that the kernel
 * refuses leaves the mode as it was.  Sockets that the kernel may still send
 * to stay.  If the kernel refuses another request (to go back from CPUs to
 * ports, to use other sockets of CPUs, to restore a mode that another process
 * changed), this module repeats the request every second until it succeeds.
 *
 * Open vSwitch stops its threads before it asks for another number of
 * handlers, and starts none if that fails.  So the request always succeeds.
 * This module makes missing handlers as soon as it can; until then their
 * threads find no upcalls.
 *
 * Another process can change the mode, too: the stock "ovs-dpctl show" does.
 * Against that there are two defences:
 *
 *   - The shared socket is given to the kernel as that of every CPU.  While
 *     the kernel dispatches by CPU, upcalls come there, and none is lost.
 *
 *   - The kernel announces the change to the "ovs_datapath" multicast group.
 *     The main loop then restores the mode.
 *
 * Thread safety: any thread, but dispatch_run(), dispatch_revalidate() and
 * dispatch_wait() belong to the main thread.  All take the datapath's mutex,
 * except where it is said that the caller has it. */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/upcall-dest.h"

/* _destroy() turns upcalls off. */
void dispatch_create(struct kdp_datapath *);
void dispatch_destroy(struct kdp_datapath *);

/* Turns upcalls on or off.  Returns 0 or a positive errno value, with which
 * they are off. */
int dispatch_recv_set(struct kdp_datapath *, bool enable);

/* Makes 'n_handlers' handlers, while upcalls are on, now or later. */
void dispatch_handlers_set(struct kdp_datapath *, uint32_t n_handlers);

/* Adds 'features' to those that the datapath is to have.  Returns 0,
 * EOPNOTSUPP if the kernel has none of them, or another positive errno
 * value. */
int dispatch_set_features(struct kdp_datapath *, uint32_t features);

/* Are upcalls on? */
bool dispatch_is_on(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Changes the mode to 'mode', now or when upcalls are turned on. */
void dispatch_set_mode(struct kdp_datapath *dp, enum dispatch_mode mode)
    OVS_REQUIRES(dp->mutex);

/* Times that the mode had to be restored. */
uint64_t dispatch_n_restored(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if the mode is to be, and is, dispatch by port. */
bool dispatch_is_per_port(struct kdp_datapath *);

/* Tells the kernel the mode and the sockets of ports again, which another
 * process may have changed. */
void dispatch_check(struct kdp_datapath *);

const char *dispatch_mode_name(enum dispatch_mode);
bool dispatch_mode_from_name(const char *name, enum dispatch_mode *);

/* To be called in each turn of the main loop.  _run() returns true if ports
 * may have gone. */
bool dispatch_run(struct kdp_datapath *);

/* After that, in each turn: true if flows are to be revalidated. */
bool dispatch_revalidate(struct kdp_datapath *);
void dispatch_wait(struct kdp_datapath *);

#endif /* lib/dpif-netlink/dispatch.h */
