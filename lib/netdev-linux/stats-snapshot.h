/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_STATS_SNAPSHOT_H
#define KDP_STATS_SNAPSHOT_H 1

/* Counters of all devices at one time
 * ===================================
 *
 * Private to lib/netdev-linux.  Holds what datapaths say of their vports and
 * what the kernel says of the devices of our namespace, by name.
 *
 * A snapshot is there for a moment, once every few seconds, and it is the
 * larger the more ports there are.  Blocks of memory for each device would be
 * strewn among others that stay, and when they are freed nothing that needs
 * more room could use it.  So there are two arrays, sorted by name.
 *
 * Life cycle: all zeros are an empty snapshot.  Fill it with
 * stats_snapshot_add_*(), then call stats_snapshot_sort(), then look for
 * counters.  stats_snapshot_clear() makes it empty and frees its memory.
 *
 * Thread safety: none; the caller has a mutex.
 *
 * Failure: none. */

#include <stddef.h>

#include "nl/ovs-stats.h"
#include "stats/proc-net-dev.h"

struct stats_snapshot {
    struct ovs_vport_counters *vports;
    size_t n_vports, allocated_vports;
    struct proc_net_dev *devs;
    size_t n_devs, allocated_devs;
};

void stats_snapshot_clear(struct stats_snapshot *);
void stats_snapshot_add_vport(struct stats_snapshot *,
                              const struct ovs_vport_counters *);
void stats_snapshot_add_dev(struct stats_snapshot *,
                            const struct proc_net_dev *);
void stats_snapshot_sort(struct stats_snapshot *);

/* What is there under 'name', or NULL.  If there is more than one, as vports
 * of two datapaths can have the same name in two namespaces, any of them, but
 * always the same one of the same snapshot. */
const struct ovs_vport_counters *
stats_snapshot_find_vport(const struct stats_snapshot *, const char *name);
const struct proc_net_dev *
stats_snapshot_find_dev(const struct stats_snapshot *, const char *name);

#endif /* lib/netdev-linux/stats-snapshot.h */
