/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DATAPATHS_H
#define KDP_DPIF_NETLINK_DATAPATHS_H 1

/* Registry of datapaths
 * =====================
 *
 * All datapaths that are open in this process.  A datapath is put together
 * from its parts when it is first opened and taken apart when it is closed as
 * often.  All dpifs that are opened by a name get the same datapath while the
 * kernel has that one under the name.
 *
 * That is more than thrift.  The stock class, whenever it opens a datapath,
 * sends the kernel user features of its own choice, among them the dispatch of
 * upcalls by CPU, and thereby sends the upcalls of a working daemon nowhere.
 * "ovs-appctl dpctl/show" opens a datapath.
 *
 * Thread safety: any thread.  'cb' of kdp_datapaths_for_each() must not open
 * or close datapaths, nor wait for a thread that does. */

#include <stdbool.h>

struct kdp_datapath;

/* Opens datapath 'name', or creates it if 'create' is true.  Returns 0 and a
 * reference, or a positive errno value. */
int kdp_datapaths_open(const char *name, bool create, struct kdp_datapath **);

/* Drops a reference.  The last one turns upcalls off, and ends offload. */
void kdp_datapaths_close(struct kdp_datapath *);

/* Calls 'cb' for every datapath. */
void kdp_datapaths_for_each(void (*cb)(struct kdp_datapath *, void *aux),
                            void *aux);

#endif /* lib/dpif-netlink/datapaths.h */
