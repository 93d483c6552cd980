/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_QUEUES_H
#define KDP_DPIF_NETLINK_UPCALL_QUEUES_H 1

/* How many queues a port has
 * ==========================
 *
 * A socket has one owner at a time, so one handler at a time serves a port
 * with one socket.  That is enough for the port of a virtual machine.  All
 * traffic of other machines arrives on one port, a tunnel or an uplink, which
 * needs several handlers and so several sockets (upcall-dest.h).
 *
 * other_config:upcall-port-queues of an interface sets the number of queues.
 * If it is not set, the key of the Open_vSwitch table does.  With "auto", the
 * default, this is the number:
 *
 *   - Wide ports, which are tunnels and physical uplinks, have as many queues
 *     as handlers or CPUs, whichever are fewer, but at most
 *     UPCALL_QUEUES_AUTO.  A tunnel is a vport of a tunnel type, or a device
 *     with the name of an Open vSwitch tunnel device.  An uplink is the only
 *     network device of a device on a bus.  (A NIC in switchdev mode has
 *     several network devices, its representors, each for a virtual machine.)
 *
 *   - Other ports have one queue.
 *
 *   - A port of either kind gets one more queue if two conditions hold for a
 *     second.  First, handlers spent at least UPCALL_QUEUES_BUSY % of it on
 *     the port for each of its queues, so that each queue had a handler nearly
 *     all the time.  Second, all handlers together slept for at least the same
 *     part of it, so that there is a handler for one more queue.  The time
 *     that handlers worked for a port is not measured, but estimated from the
 *     port's part of the upcalls.  The port gives a queue back if one queue
 *     fewer would have been busy for less than half of the time, for
 *     UPCALL_QUEUES_QUIET seconds.
 *
 * Queues count in the budget of sockets (socket-budget.h).  While a port has
 * to share, no other port has more than one queue.  Without room in the
 * budget, a port has fewer queues than it should have, until there is room
 * again.  Both old and new queues count while they are replaced.
 *
 * Several interfaces of the database may be one port of the datapath: all
 * tunnels of a type.  The largest number among these interfaces counts.
 *
 * Thread safety: with the datapath's mutex held. */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"

/* The most queues that a port begins with, so that some handlers are left for
 * other ports. */
#define UPCALL_QUEUES_AUTO 4

void upcall_queues_create(struct kdp_datapath *);
void upcall_queues_destroy(struct kdp_datapath *);

/* Set the number of queues that ports should have, at most UPCALL_MAX_QUEUES:
 * _set() the default, with 0 for "auto", and _set_port() the number for port
 * 'port_no', with 0 for the default. */
void upcall_queues_set(struct kdp_datapath *dp, unsigned int n)
    OVS_REQUIRES(dp->mutex);
unsigned int upcall_queues_get(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_queues_set_port(struct kdp_datapath *dp, uint32_t port_no,
                            unsigned int n)
    OVS_REQUIRES(dp->mutex);

/* Says that the number of handlers may have changed. */
void upcall_queues_handlers_changed(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Returns the number of sockets to create for a port of vport type 'type'
 * whose device is called 'name', or 0 if the port must share. */
unsigned int upcall_queues_admit(struct kdp_datapath *dp, const char *name,
                                 uint32_t type)
    OVS_REQUIRES(dp->mutex);

/* _port_added() says that there is a port, which has its destination.
 * _port_gone() says that the kernel no longer has the port, and removes the
 * destination. */
void upcall_queues_port_added(struct kdp_datapath *dp, uint32_t port_no,
                              const char *name, uint32_t type)
    OVS_REQUIRES(dp->mutex);
void upcall_queues_port_gone(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Forgets all ports. */
void upcall_queues_clear(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if 'name' is a physical uplink.  Tests pass another directory as
 * 'sysfs'. */
#define UPCALL_QUEUES_SYSFS "/sys/class/net"
bool upcall_queues_is_uplink(const char *sysfs, const char *name);

#define UPCALL_QUEUES_BUSY 80
#define UPCALL_QUEUES_QUIET 60

/* The work of handlers, and for a port, in about a second. */
struct upcall_queues_second {
    uint64_t usec;              /* Its length. */
    uint64_t busy_usec;         /* Work of all handlers. */
    uint64_t n_upcalls;         /* Upcalls of all ports. */
    uint64_t n_of_port;         /* Upcalls of the port. */
    unsigned int n_handlers;
    unsigned int n_queues;      /* Queues of the port. */
};

/* Returns 1 if the port should have one queue more, -1 if one queue fewer
 * would have been enough, else 0. */
int upcall_queues_judge(const struct upcall_queues_second *);

/* To be called in each turn of the main loop. */
void upcall_queues_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_queues_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/upcall-queues.h */
