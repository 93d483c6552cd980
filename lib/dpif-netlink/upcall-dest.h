/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_DEST_H
#define KDP_DPIF_NETLINK_UPCALL_DEST_H 1

/* Where the upcalls of a port go
 * ==============================
 *
 * The kernel sends an upcall to the socket whose port id ("pid") it was told:
 *
 *      mode        destination of a port         isolation
 *      --------    --------------------------    ------------------------
 *      per-port    a socket of its own, or       a port fills its own
 *                  several (its queues)
 *                  the shared socket, without    ports fill it together
 *                  room for one of its own
 *      per-cpu     that of the CPU's handler     ports of a CPU share
 *
 * Upcalls of no port, which are those of CFM, BFD, LACP and STP, have a socket
 * of their own, which is served first, so that a flood of a port does not make
 * links look dead.  While upcalls are dispatched by CPU, the kernel does not
 * tell them from others.
 *
 * The shared socket belongs to no port.  Besides, the kernel is told that it
 * is the socket of every CPU while upcalls are dispatched by port, and that of
 * every port while they are dispatched by CPU, for the moments in which
 * another process has changed the mode.
 *
 * This module is the only one that changes which sockets there are and that
 * tells the kernel about those of ports.  Those above it decide: dispatch.h
 * about the mode, socket-budget.h about which ports have sockets of their own,
 * upcall-sync.h about which ports there are.
 *
 * Changes
 * -------
 *
 * The new socket is made first, then the kernel is told, then flows are
 * revalidated, because their actions name sockets, too (revalidation.h), and
 * then the old socket is drained: it is removed when it is empty.  The kernel
 * tells nobody when the last packet that was on its way to the old socket has
 * been queued.  That is a matter of an RCU grace period, so that no socket is
 * looked at before DRAIN_DELAY.  When a port comes to share, or shares no
 * longer, its upcalls may be handled out of order for that time.
 *
 * Queues
 * ------
 *
 * A port may have several sockets, from which the kernel chooses one by the
 * hash of the packet.  A change of their number replaces all of them, and
 * keeps the order of upcalls (upcall_table_change()).  The old ones go as
 * above.
 *
 * The actions of flows name the first socket of a port.  So upcalls of a flow
 * that sends packets to user space come on that one, all of them, and those of
 * packets that missed before the flow was there may be on another.
 *
 * Linux versions differ in how many sockets they take for a port.  One that
 * refuses as many as there are is told of fewer, of as many as there are CPUs
 * or else of one, and so are all ports from then on.
 *
 * When the kernel does not take another socket for a port, the port keeps the
 * one that the kernel knows.
 *
 * When the system is short of descriptors, memory or epoll's watches, a port
 * that was to have a socket of its own shares.  The balancing of the budget
 * (socket-budget.h) tries again every second.
 *
 * Thread safety: with the datapath's mutex held, but for upcall_dest_pid() and
 * upcall_dest_dump_begins(), which are for any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"

/* Turns of the main loop before the upcalls of a new port are handed out, and
 * those of all ports when upcalls are turned on.  The bridge that adds a port
 * has the translation of packets know of it in its next turn, after that
 * turn's dpif_run(). */
#define UPCALL_DEST_HOLD_TURNS 2

/* Which socket the kernel sends an upcall to. */
enum dispatch_mode {
    DISPATCH_PER_PORT,          /* That of the port. */
    DISPATCH_PER_CPU,           /* That of the CPU's handler. */
};

/* Destination of a port. */
enum upcall_dest {
    UPCALL_DEST_NONE,           /* The port has none. */
    UPCALL_DEST_OWN,            /* A socket of its own. */
    UPCALL_DEST_SHARED,         /* The shared socket. */
    UPCALL_DEST_CPU,            /* That of the CPU's handler. */
};

void upcall_dests_create(struct kdp_datapath *);
void upcall_dests_destroy(struct kdp_datapath *);

/* The mode in use. */
enum dispatch_mode upcall_dest_mode(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Takes note of the mode.  The caller tells the kernel, and has the
 * destinations of all ports changed (upcall_dest_sync()). */
void upcall_dest_set_mode(struct kdp_datapath *dp, enum dispatch_mode)
    OVS_REQUIRES(dp->mutex);

/* The destination of port 'port_no'. */
enum upcall_dest upcall_dest_of(const struct kdp_datapath *dp,
                                uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* The pid that upcalls of port 'port_no', or UPCALL_PORT_NONE, are to be sent
 * to; for a port that has none, that of the shared socket.  0 while upcalls
 * are off.  Any thread. */
uint32_t upcall_dest_pid(const struct kdp_datapath *dp, uint32_t port_no);

/* The pid that upcalls of CPU 'cpu' are to be sent to. */
uint32_t upcall_dest_cpu_pid(const struct kdp_datapath *dp, size_t cpu)
    OVS_REQUIRES(dp->mutex);

/* Says that the kernel has taken the pids of all CPUs. */
void upcall_dest_cpus_told(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Number of sockets that belong to ports, those that are drained included. */
size_t upcall_dest_n_own(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Add the shared socket and that for upcalls of no port, and those of the
 * handlers for their CPUs, unless they are there.  Return 0 or a positive
 * errno value. */
int upcall_dest_add_shared(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
int upcall_dest_add_cpus(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Destination of a port that is about to be added.  The kernel learns its pid
 * in the request that creates the vport, so that the first packet already has
 * somewhere to go.
 *
 * Open vSwitch refuses packets of a port that its translation does not know
 * yet, and has the kernel drop those that follow.  So what comes to the socket
 * of a new port waits there for UPCALL_DEST_HOLD_TURNS, in which the bridge
 * that adds the port lets the translation know.
 *
 * _prepare() makes 'n_queues' sockets for the port, called 'name', or as many
 * as are possible; if that is 0, it takes the shared one.  It is followed by
 * either _commit(), when the kernel has a vport with 'new->pids', or _abort().
 * _prepare() and _commit() return 0 or a positive errno value.  When _commit()
 * fails, the port has no destination, and _abort() has to follow. */
struct upcall_dest_new {
    struct upcall_channel *channels[UPCALL_MAX_QUEUES];
    size_t n_channels;          /* 0 for the shared one. */
    uint32_t pids[UPCALL_MAX_QUEUES];   /* For the kernel; a single 0 while
                                         * upcalls are off. */
    size_t n_pids;
};
int upcall_dest_prepare(struct kdp_datapath *dp, unsigned int n_queues,
                        const char *name, struct upcall_dest_new *new)
    OVS_REQUIRES(dp->mutex);

/* True if the kernel may take fewer pids than 'new->n_pids', which it refused
 * with 'error'; 'new' has fewer then.  If the kernel refuses the port with any
 * number of them, the refusal has another reason, and _allow() restores what
 * upcall_dest_max_queues() said before. */
void upcall_dest_allow(struct kdp_datapath *dp, unsigned int max_queues)
    OVS_REQUIRES(dp->mutex);
bool upcall_dest_refused(struct kdp_datapath *dp, struct upcall_dest_new *new,
                         int error)
    OVS_REQUIRES(dp->mutex);
int upcall_dest_commit(struct kdp_datapath *dp, struct upcall_dest_new *new,
                       uint32_t port_no, const char *name)
    OVS_REQUIRES(dp->mutex);
void upcall_dest_abort(struct upcall_dest_new *new);

/* Gives port 'port_no', which has sockets of its own, 'n' in their place, and
 * tells the kernel.  EBUSY while those before are still needed.  Returns 0 or
 * a positive errno value, with which all is as it was. */
int upcall_dest_set_queues(struct kdp_datapath *dp, uint32_t port_no,
                           unsigned int n)
    OVS_REQUIRES(dp->mutex);

/* Number of queues of port 'port_no', and the most that the kernel takes for a
 * port as far as is known. */
unsigned int upcall_dest_n_queues(const struct kdp_datapath *dp,
                                  uint32_t port_no)
    OVS_REQUIRES(dp->mutex);
unsigned int upcall_dest_max_queues(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Gives port 'port_no', called 'name', a socket of its own, or the shared one,
 * and tells the kernel.  Return 0 or a positive errno value, with which all is
 * as it was, except if it is ENODEV: the port went. */
int upcall_dest_to_own(struct kdp_datapath *dp, uint32_t port_no,
                       const char *name)
    OVS_REQUIRES(dp->mutex);
int upcall_dest_to_shared(struct kdp_datapath *dp, uint32_t port_no,
                          const char *name)
    OVS_REQUIRES(dp->mutex);

/* Makes the destination of 'vport', which is what the kernel has just said,
 * sockets of its own, 'n_queues' if it has none, or the shared one if that is
 * 0 or there can be no other, and tells the kernel unless it knows.  Returns 0
 * or a positive errno value.  A port for which the kernel does not take another
 * socket has the one that the kernel knows.  One that went meanwhile has none,
 * but that is no error. */
int upcall_dest_sync(struct kdp_datapath *dp, const struct ovs_vport *vport,
                     unsigned int n_queues)
    OVS_REQUIRES(dp->mutex);

/* True if the kernel was told where the upcalls of port 'port_no' go, and the
 * port was not forgotten since. */
bool upcall_dest_is_known(const struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Removes the destination of port 'port_no', which the kernel no longer
 * has. */
void upcall_dest_forget(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Has the sockets that are added in the next UPCALL_DEST_HOLD_TURNS held until
 * these are over: a bridge that turns upcalls on has not added its ports
 * yet. */
void upcall_dest_hold_all(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Says whether flows of a previous run are being taken over (takeover.h).  In
 * that time the turns in which upcalls are held do not count
 * (upcall_dest_hold_all()), and what comes on adopted sockets waited for this
 * run (upcall_channel_end_adopted()). */
void upcall_dest_set_takeover(struct kdp_datapath *dp, bool takeover)
    OVS_REQUIRES(dp->mutex);

/* Removes all sockets.  The kernel knows none of them any more. */
void upcall_dest_clear(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Says that sockets of any port or CPU may not be used any more: those are
 * drained. */
void upcall_dest_drain(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if flows are to be revalidated: what dpif_run() returns.  To be called
 * once in each turn of the main loop. */
bool upcall_dest_revalidate(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Says that a revalidator is about to begin a dump of all flows.  Any
 * thread. */
void upcall_dest_dump_begins(struct kdp_datapath *dp);

/* To be called in each turn of the main loop. */
void upcall_dest_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_dest_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/upcall-dest.h */
