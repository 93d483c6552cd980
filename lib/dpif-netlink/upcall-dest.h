/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_DEST_H
#define KDP_DPIF_NETLINK_UPCALL_DEST_H 1

/* Where the upcalls of a port go
 * ==============================
 *
 * The kernel sends an upcall to the socket whose port id ("pid") is
 * configured:
 *
 *      mode        destination of a port         isolation
 *      --------    --------------------------    ------------------------
 *      per-port    a socket of its own, or       a port fills its own
 *                  several (its queues)
 *                  the shared socket, without    ports fill it together
 *                  room for one of its own
 *      per-cpu     the CPU's handler's socket    ports of a CPU share
 *
 * Upcalls of no port, which are for CFM, BFD, LACP and STP, have a socket of
 * their own.  Handlers serve this socket first, so that a flood of a port does
 * not make links look dead.  While upcalls are dispatched by CPU, the kernel
 * does not distinguish these upcalls from others.
 *
 * The shared socket belongs to no port.  It is also registered in the kernel
 * as the socket of every CPU while upcalls are dispatched by port, and as the
 * socket of every port while they are dispatched by CPU, for the moments in
 * which another process has changed the mode.
 *
 * Only this module creates and removes sockets, and passes the sockets of
 * ports to the kernel.  The modules above decide: dispatch.h about the mode,
 * socket-budget.h about the ports that have sockets of their own,
 * upcall-sync.h about the ports that exist.
 *
 * Changes
 * -------
 *
 * A change has four steps: this module creates the new socket, passes it to
 * the kernel, requests a revalidation of flows, because their actions name
 * sockets, too (revalidation.h), and drains the old socket, which it removes
 * when empty.  The kernel does not report when it has queued the last packet
 * that was on its way to the old socket.  That takes an RCU grace period, so
 * this module does not look at a socket before DRAIN_DELAY.  When a port
 * begins or ends sharing, its upcalls may be handled out of order for that
 * time.
 *
 * Queues
 * ------
 *
 * A port may have several sockets, from which the kernel chooses one by the
 * hash of the packet.  A change of their number replaces all of them, and
 * keeps the order of upcalls (upcall_table_change()).  The old sockets are
 * drained as above.
 *
 * The actions of flows name the first socket of a port.  So all upcalls of a
 * flow that sends packets to user space arrive on the first socket.  Upcalls
 * of packets that missed before the flow existed may be on another socket.
 *
 * Linux versions differ in how many sockets they accept for a port.  If the
 * kernel refuses the number, this module tries as many sockets as there are
 * CPUs, and then one.  All ports keep to that number from then on.
 *
 * If the kernel refuses another socket for a port, the port keeps the socket
 * that the kernel has.
 *
 * If the system is short of descriptors, memory or epoll's watches, a port
 * that should have a socket of its own shares.  The balancing of the budget
 * (socket-budget.h) tries again every second.
 *
 * Thread safety: with the datapath's mutex held, except for upcall_dest_pid()
 * and upcall_dest_dump_begins(), which any thread may call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"

/* Turns of the main loop before the upcalls of a new port are handed out; the
 * same for all ports when upcalls are turned on.  The bridge that adds a port
 * makes it known to the translation in its next turn, after that turn's
 * dpif_run(). */
#define UPCALL_DEST_HOLD_TURNS 2

/* Which socket the kernel sends an upcall to. */
enum dispatch_mode {
    DISPATCH_PER_PORT,          /* The socket of the port. */
    DISPATCH_PER_CPU,           /* The socket of the CPU's handler. */
};

/* Destination of a port. */
enum upcall_dest {
    UPCALL_DEST_NONE,           /* The port has none. */
    UPCALL_DEST_OWN,            /* A socket of its own. */
    UPCALL_DEST_SHARED,         /* The shared socket. */
    UPCALL_DEST_CPU,            /* The socket of the CPU's handler. */
};

void upcall_dests_create(struct kdp_datapath *);
void upcall_dests_destroy(struct kdp_datapath *);

/* The mode in use. */
enum dispatch_mode upcall_dest_mode(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Stores the mode.  The caller sets it in the kernel, and changes the
 * destinations of all ports (upcall_dest_sync()). */
void upcall_dest_set_mode(struct kdp_datapath *dp, enum dispatch_mode)
    OVS_REQUIRES(dp->mutex);

/* The destination of port 'port_no'. */
enum upcall_dest upcall_dest_of(const struct kdp_datapath *dp,
                                uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* The pid for upcalls of port 'port_no', or UPCALL_PORT_NONE; for a port
 * without a socket, the pid of the shared socket.  0 while upcalls are off.
 * Any thread. */
uint32_t upcall_dest_pid(const struct kdp_datapath *dp, uint32_t port_no);

/* The pid for upcalls of CPU 'cpu'. */
uint32_t upcall_dest_cpu_pid(const struct kdp_datapath *dp, size_t cpu)
    OVS_REQUIRES(dp->mutex);

/* Says that the kernel has accepted the pids of all CPUs. */
void upcall_dest_cpus_told(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Number of sockets that belong to ports, including sockets that are being
 * drained. */
size_t upcall_dest_n_own(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Add the shared socket and the socket for upcalls of no port, and the
 * handlers' sockets for their CPUs, unless these exist.  Return 0 or a
 * positive errno value. */
int upcall_dest_add_shared(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
int upcall_dest_add_cpus(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Destination of a port that is about to be added.  The kernel learns its pid
 * in the request that creates the vport, so that the first packet already has
 * somewhere to go.
 *
 * Open vSwitch refuses packets of a port that its translation does not know
 * yet, and makes the kernel drop the following ones.  So upcalls on the socket
 * of a new port wait for UPCALL_DEST_HOLD_TURNS, in which the bridge that adds
 * the port makes it known to the translation.
 *
 * _prepare() creates 'n_queues' sockets for the port, called 'name', or as
 * many as possible; if that is 0, the port gets the shared socket.  The caller
 * then calls either _commit(), when the kernel has a vport with 'new->pids',
 * or _abort().  _prepare() and _commit() return 0 or a positive errno value.
 * If _commit() fails, the port has no destination, and the caller must call
 * _abort(). */
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

/* _refused() returns true if the kernel may accept fewer pids than
 * 'new->n_pids', which it refused with 'error'; it reduces the number in 'new'
 * then.  If the kernel refuses the port with any number of pids, the refusal
 * has another reason, and _allow() restores the former
 * upcall_dest_max_queues(). */
void upcall_dest_allow(struct kdp_datapath *dp, unsigned int max_queues)
    OVS_REQUIRES(dp->mutex);
bool upcall_dest_refused(struct kdp_datapath *dp, struct upcall_dest_new *new,
                         int error)
    OVS_REQUIRES(dp->mutex);
int upcall_dest_commit(struct kdp_datapath *dp, struct upcall_dest_new *new,
                       uint32_t port_no, const char *name)
    OVS_REQUIRES(dp->mutex);
void upcall_dest_abort(struct upcall_dest_new *new);

/* Replaces the sockets of port 'port_no', which has sockets of its own, with
 * 'n' new ones, and passes these to the kernel.  If the system is short of a
 * resource, there are fewer new ones, but if the port has fewer than 'n', more
 * than the port has.  Returns 0, EBUSY while earlier sockets are still needed,
 * or another positive errno value.  After an error, nothing has changed. */
int upcall_dest_set_queues(struct kdp_datapath *dp, uint32_t port_no,
                           unsigned int n)
    OVS_REQUIRES(dp->mutex);

/* Number of queues of port 'port_no', and the most that the kernel is known to
 * accept for a port. */
unsigned int upcall_dest_n_queues(const struct kdp_datapath *dp,
                                  uint32_t port_no)
    OVS_REQUIRES(dp->mutex);
unsigned int upcall_dest_max_queues(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Give port 'port_no', called 'name', a socket of its own, or the shared
 * socket, and pass that to the kernel.  Return 0 or a positive errno value.
 * After an error, nothing has changed, except with ENODEV: the port is
 * gone. */
int upcall_dest_to_own(struct kdp_datapath *dp, uint32_t port_no,
                       const char *name)
    OVS_REQUIRES(dp->mutex);
int upcall_dest_to_shared(struct kdp_datapath *dp, uint32_t port_no,
                          const char *name)
    OVS_REQUIRES(dp->mutex);

/* Updates the destination of 'vport', which the kernel has just reported: the
 * port keeps its own sockets, or gets 'n_queues' if it has none, or the shared
 * socket if that is 0 or no other is possible.  Passes the sockets to the
 * kernel, unless it has them already.  Returns 0 or a positive errno value.
 * If the kernel refuses another socket for the port, the port has the socket
 * that the kernel has.  A port that has gone meanwhile has none, but that is
 * no error. */
int upcall_dest_sync(struct kdp_datapath *dp, const struct ovs_vport *vport,
                     unsigned int n_queues)
    OVS_REQUIRES(dp->mutex);

/* True if the destination of port 'port_no' was passed to the kernel, and the
 * port was not forgotten since. */
bool upcall_dest_is_known(const struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Removes the destination of port 'port_no', which the kernel no longer
 * has. */
void upcall_dest_forget(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Holds the sockets that are added in the next UPCALL_DEST_HOLD_TURNS until
 * these turns are over: a bridge that turns upcalls on has not added its ports
 * yet. */
void upcall_dest_hold_all(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Says whether flows of a previous run are being taken over (takeover.h).
 * During that time, turns do not count towards the hold
 * (upcall_dest_hold_all()), and upcalls on adopted sockets count as waiting
 * for this run (upcall_channel_end_adopted()). */
void upcall_dest_set_takeover(struct kdp_datapath *dp, bool takeover)
    OVS_REQUIRES(dp->mutex);

/* Removes all sockets.  The kernel no longer uses any of them. */
void upcall_dest_clear(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Says that sockets of any port or CPU may have become unused: unused sockets
 * are drained. */
void upcall_dest_drain(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if flows must be revalidated: the result of dpif_run().  To be called
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
