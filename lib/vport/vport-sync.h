/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_VPORT_SYNC_H
#define KDP_VPORT_SYNC_H 1

/* Keeping a vport table in sync with the kernel
 * =============================================
 *
 * Processes the kernel's announcements, asks about uncertain ports, and dumps
 * all ports at first and after a loss.  vport-table.h says which ports are
 * uncertain and what a loss is.
 *
 * Life cycle: vport_sync_open() at the first lookup, vport_sync_close() with
 * the table.
 *
 * Thread safety: all functions need the table's mutex.
 *
 * Failure: while the sockets cannot be opened, or the dump fails, the table is
 * not in sync. */

#include "vport/vport-store.h"

/* With more uncertain ports than this, a dump is cheaper. */
#define VPORT_MAX_ASKS 16

/* Opens the sockets, unless they are open.  Returns 0 or a positive errno
 * value. */
int vport_sync_open(struct vport_table *table)
    OVS_REQUIRES(table->mutex);
void vport_sync_close(struct vport_table *table)
    OVS_REQUIRES(table->mutex);

/* Requests port 'port_no' at once, stores the answer in '*vport' and updates
 * the table.  The sockets must be open.  Returns 0 or the positive errno value
 * of the request. */
int vport_sync_ask(struct vport_table *table, uint32_t port_no,
                   enum vport_ask reason, struct ovs_vport *vport)
    OVS_REQUIRES(table->mutex);

/* Processes everything that the kernel has announced.  Then 'table->in_sync'
 * says whether the table is reliable. */
void vport_sync_catch_up(struct vport_table *table)
    OVS_REQUIRES(table->mutex);

#endif /* lib/vport/vport-sync.h */
