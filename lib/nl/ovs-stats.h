/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_STATS_H
#define KDP_OVS_STATS_H 1

/* Statistics of vports
 * ====================
 *
 * The openvswitch kernel module's counters of each vport, requested by name
 * or, in one request, for a whole datapath.  Neither takes the RTNL lock.
 *
 * Thread safety: that of the connection (ovs-genl.h). */

#include <net/if.h>
#include <stdint.h>

#include "nl/ovs-genl.h"
#include "odp-netlink.h"

struct ovs_vport_counters {
    int dp_ifindex;             /* Of the vport's datapath. */
    char name[IFNAMSIZ];
    struct ovs_vport_stats stats;

    /* Packets with upcalls, and packets for which the upcall failed.
     * UINT64_MAX if the kernel does not report them, as before Linux 6.2. */
    uint64_t upcall_packets;
    uint64_t upcall_errors;
};

/* Parses 'nlh', a message of the vport family.  Returns 0, EINVAL if it is
 * malformed, or ENODATA if it has no statistics. */
int ovs_vport_counters_parse(const struct nlmsghdr *nlh,
                             struct ovs_vport_counters *);

/* Requests the counters of the vport called 'name', in any datapath.  Returns
 * 0, ENODEV if there is none, or another positive errno value. */
int ovs_vport_counters_get(struct ovs_genl *, const char *name,
                           struct ovs_vport_counters *);

/* Calls 'cb' with the counters of every vport of datapath 'dp_ifindex'.
 * Returns 0, ENODEV if there is no such datapath, or another positive errno
 * value. */
typedef void ovs_vport_counters_func(const struct ovs_vport_counters *,
                                     void *aux);
int ovs_vport_counters_dump(struct ovs_genl *, int dp_ifindex,
                            ovs_vport_counters_func *cb, void *aux);

#endif /* lib/nl/ovs-stats.h */
