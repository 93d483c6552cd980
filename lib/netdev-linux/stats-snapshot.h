/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_STATS_SNAPSHOT_H
#define KDP_STATS_SNAPSHOT_H 1

/* Counters of all devices at one time
 * ===================================
 *
 * Private to lib/netdev-linux.  Holds the datapaths' counters of their vports,
 * and the kernel's counters of the devices of our namespace, by name.
 *
 * A snapshot exists only for a moment, every few seconds, and grows with the
 * number of ports.  Small blocks of memory for each device would fragment the
 * heap, and the space between long-lived blocks could not be used for anything
 * bigger.  So there are two arrays, sorted by name.
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

/* Each returns the counters of 'name', or NULL, also if several vports, in two
 * datapaths or namespaces, have that name: only the kernel knows which one it
 * finds by name. */
const struct ovs_vport_counters *
stats_snapshot_find_vport(const struct stats_snapshot *, const char *name);
const struct proc_net_dev *
stats_snapshot_find_dev(const struct stats_snapshot *, const char *name);

#endif /* lib/netdev-linux/stats-snapshot.h */
