/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_UPCALL_SYNC_H
#define KDP_DPIF_NETLINK_UPCALL_SYNC_H 1

/* Keeping the destinations of upcalls those of the kernel's ports
 * ================================================================
 *
 * Ports come and go in the kernel with and without our doing.  What comes by
 * us has a destination from the start (upcall-dest.h).  For the rest all ports
 * are compared when upcalls are turned on, when the mode changes, and when the
 * vport table says that it may have missed something, and single ports when it
 * says that they went.
 *
 * A port that cannot have the destination that it is to have keeps the one
 * that the kernel knows, or gets no upcalls if that is none; the others do,
 * and the attempt is repeated after RETRY_INTERVAL.
 *
 * Thread safety: with the datapath's mutex held. */

#include <stdbool.h>

#include "dpif-netlink/datapath.h"

void upcall_sync_create(struct kdp_datapath *);
void upcall_sync_destroy(struct kdp_datapath *);

/* Compares all ports now.  Returns 0, or the error that kept a port from
 * having a destination, and for which the comparison will be repeated. */
int upcall_sync_all(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Has all ports compared in the next turn of the main loop, or not at all. */
void upcall_sync_request(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_sync_cancel(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* To be called in each turn of the main loop.  _run() returns true if ports
 * may have gone. */
bool upcall_sync_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void upcall_sync_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

#endif /* lib/dpif-netlink/upcall-sync.h */
