/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_QUEUES_H
#define KDP_DPIF_NETLINK_UPCALL_QUEUES_H 1

/* How many queues a port has
 * ==========================
 *
 * A socket has one owner at a time, so a port with one socket has one handler
 * at a time.  That is enough for the port of a virtual machine.  All traffic
 * of other machines comes on one port, that of a tunnel or an uplink, and needs
 * several handlers, so several sockets (upcall-dest.h).
 *
 * other_config:upcall-port-queues of an interface says how many, or else that
 * of the Open_vSwitch table, or else ("auto") this is the number:
 *
 *   - Wide ports, which are tunnels and physical uplinks, have as many as there
 *     are handlers and CPUs, but at most UPCALL_QUEUES_AUTO.  A tunnel is a
 *     vport of a tunnel's type, or a device that has the name of one of Open
 *     vSwitch's.  An uplink is a device that is the only network device of a
 *     device on a bus.  (A NIC in switchdev mode has several, its
 *     representors, and each is that of a virtual machine.)
 *
 *   - Other ports have one.
 *
 *   - A port of either kind gets one more when handlers spent more than
 *     UPCALL_QUEUES_BUSY % of a second on it for each of its queues, so that
 *     each of these had a handler nearly all the time, and the time that all
 *     handlers slept in that second is as much of one handler.  How long
 *     handlers worked for a port is not measured; the port has its part of the
 *     upcalls in the time that they worked.  The port gives a queue back when
 *     one fewer would have been busy for less than half of the time, for
 *     UPCALL_QUEUES_QUIET seconds.
 *
 * Queues count in the budget of sockets (socket-budget.h).  While a port has to
 * share, no other has more than one.  A port has fewer queues than it is to
 * have where the budget has no room.  Old and new queues count both while they
 * are replaced.
 *
 * Several interfaces of the database may be one port of the datapath: all
 * tunnels of a type.  The largest number of those counts.
 *
 * Thread safety: with the datapath's mutex held. */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"

/* The most queues that a port begins with: handlers that work for one port
 * leave the others to other ports. */
#define UPCALL_QUEUES_AUTO 4

void upcall_queues_create(struct kdp_datapath *);
void upcall_queues_destroy(struct kdp_datapath *);

/* Sets the number of queues that ports are to have, at most UPCALL_MAX_QUEUES,
 * 0 for "auto": by default, and for port 'port_no', where 0 stands for the
 * default. */
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

/* Returns the number of sockets to make for a port whose device is called
 * 'name', which is a vport of type 'type', or 0 if it is to share. */
unsigned int upcall_queues_admit(struct kdp_datapath *dp, const char *name,
                                 uint32_t type)
    OVS_REQUIRES(dp->mutex);

/* Says that there is a port, which has its destination, or that the kernel has
 * it no longer: its destination goes. */
void upcall_queues_port_added(struct kdp_datapath *dp, uint32_t port_no,
                              const char *name, uint32_t type)
    OVS_REQUIRES(dp->mutex);
void upcall_queues_port_gone(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Forgets all ports. */
void upcall_queues_clear(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* True if 'name' is a physical uplink; 'sysfs' is where devices are, for
 * tests. */
#define UPCALL_QUEUES_SYSFS "/sys/class/net"
bool upcall_queues_is_uplink(const char *sysfs, const char *name);

#define UPCALL_QUEUES_BUSY 80
#define UPCALL_QUEUES_QUIET 60

/* A second, or somewhat more, of handlers and of a port. */
struct upcall_queues_second {
    uint64_t usec;              /* Its length. */
    uint64_t busy_usec;         /* That all handlers worked. */
    uint64_t n_upcalls;         /* For so many upcalls. */
    uint64_t n_of_port;         /* Of these, of the port. */
    unsigned int n_handlers;
    unsigned int n_queues;      /* Of the port. */
};

/* Returns 1 if the port should have one queue more, -1 if one fewer would have
 * done, else 0. */
int upcall_queues_judge(const struct upcall_queues_second *);

/* To be called in each turn of the main loop. */
void upcall_queues_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_queues_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/upcall-queues.h */
