/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_SYNC_H
#define KDP_DPIF_NETLINK_UPCALL_SYNC_H 1

/* Synchronizing the destinations of upcalls with the kernel's ports
 * =================================================================
 *
 * This process and others add and delete ports in the kernel.  A port that
 * this process adds has a destination from the start (upcall-dest.h).  For the
 * others, this module compares all ports when upcalls are turned on, when the
 * mode changes, and when the vport table says that it may have missed an
 * event, and single ports when the vport table says that they are gone.
 *
 * A port that cannot have its intended destination keeps the destination that
 * the kernel has, or gets no upcalls if there is none.  The other ports get
 * theirs, and the attempt is repeated after RETRY_INTERVAL.
 *
 * Thread safety: with the datapath's mutex held. */

#include <stdbool.h>

#include "dpif-netlink/datapath.h"

void upcall_sync_create(struct kdp_datapath *);
void upcall_sync_destroy(struct kdp_datapath *);

/* Compares all ports now.  Returns 0, or the error that prevented a port's
 * destination.  The comparison will be repeated then. */
int upcall_sync_all(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* _request() requests a comparison of all ports in the next turn of the main
 * loop; _cancel() cancels it. */
void upcall_sync_request(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_sync_cancel(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* To be called in each turn of the main loop.  _run() returns true if ports
 * may be gone. */
bool upcall_sync_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_sync_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/upcall-sync.h */
