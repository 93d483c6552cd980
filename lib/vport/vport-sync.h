/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_SYNC_H
#define KDP_VPORT_SYNC_H 1

/* Keeping a vport table in sync with the kernel
 * =============================================
 *
 * Takes what the kernel announces on the sockets of a table, asks about the
 * ports that are in doubt, and dumps all ports at first and after a loss.  The
 * header of vport-table.h says what is in doubt, and what a loss is.
 *
 * Life cycle: vport_sync_open() when something is asked first,
 * vport_sync_close() with the table.
 *
 * Thread safety: all functions want the table's mutex held.
 *
 * Failure: while the sockets cannot be opened, or the dump fails, the table is
 * not in sync. */

#include "vport/vport-store.h"

/* More ports in doubt than this, and a dump is the cheaper answer. */
#define VPORT_MAX_ASKS 16

/* Opens the sockets, if they are not.  Returns 0 or a positive errno value. */
int vport_sync_open(struct vport_table *table)
    OVS_REQUIRES(table->mutex);
void vport_sync_close(struct vport_table *table)
    OVS_REQUIRES(table->mutex);

/* Asks the kernel about port 'port_no', at once, and takes the answer over,
 * which is also stored in '*vport'.  The sockets are open.  Returns 0 or the
 * positive errno value of the request. */
int vport_sync_ask(struct vport_table *table, uint32_t port_no,
                   enum vport_ask reason, struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex);

/* Takes everything that the kernel has said.  'table->in_sync' then tells
 * whether the table can be trusted. */
void vport_sync_catch_up(struct vport_table *table)
    OVS_REQUIRES(table->mutex);

#endif /* lib/vport/vport-sync.h */
