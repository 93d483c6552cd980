/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DATAPATHS_H
#define KDP_DPIF_NETLINK_DATAPATHS_H 1

/* Registry of datapaths
 * =====================
 *
 * All datapaths that are open in this process.  The first open creates a
 * datapath with its parts, and the last close destroys it.  All dpifs opened
 * by a name get the same datapath, as long as the kernel has this datapath
 * under the name.
 *
 * Sharing is necessary.  Whenever the stock class opens a datapath, it sets
 * the kernel's user features to its own choice, including the dispatch of
 * upcalls by CPU, so that the upcalls of a working daemon are lost.
 * "ovs-appctl dpctl/show" opens a datapath.
 *
 * Thread safety: any thread.  'cb' of kdp_datapaths_for_each() must neither
 * open or close datapaths nor wait for a thread that does. */

#include <stdbool.h>

struct kdp_datapath;

/* Opens datapath 'name', or creates it if 'create' is true.  Returns 0 and a
 * reference, or a positive errno value. */
int kdp_datapaths_open(const char *name, bool create, struct kdp_datapath **);

/* Drops a reference.  Dropping the last one turns upcalls off and ends
 * offload. */
void kdp_datapaths_close(struct kdp_datapath *);

/* Calls 'cb' for every datapath. */
void kdp_datapaths_for_each(void (*cb)(struct kdp_datapath *, void *aux),
                            void *aux);

#endif /* lib/dpif-netlink/datapaths.h */
