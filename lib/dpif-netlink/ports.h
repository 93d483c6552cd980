/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_PORTS_H
#define KDP_DPIF_NETLINK_PORTS_H 1

/* Ports of a datapath
 * ===================
 *
 * Adds and deletes ports, and answers questions about them from the vport
 * table (vport/vport-table.h).
 *
 * A new port has a destination for its upcalls before the kernel sends the
 * first one.  If the system lacks the resources for another socket, the
 * destination is the shared socket; without any destination, the port is not
 * added.  A port that the kernel does not delete keeps its destination.
 *
 * Thread safety: _add() and _del() belong to the main thread, the others to
 * any thread. */

#include "openvswitch/types.h"

struct dpif_port;
struct kdp_datapath;
struct netdev;
struct ports_dump;

/* Like the functions of struct dpif_class for ports. */
int ports_add(struct kdp_datapath *, struct netdev *, odp_port_t *port_no);
int ports_del(struct kdp_datapath *, odp_port_t port_no);
int ports_query_by_number(const struct kdp_datapath *, odp_port_t port_no,
                          struct dpif_port *);
int ports_query_by_name(const struct kdp_datapath *, const char *devname,
                        struct dpif_port *);
struct ports_dump *ports_dump_start(struct kdp_datapath *);
int ports_dump_next(struct ports_dump *, struct dpif_port *);
int ports_dump_done(struct ports_dump *);

#endif /* lib/dpif-netlink/ports.h */
