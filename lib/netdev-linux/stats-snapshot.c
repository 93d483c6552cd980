/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/stats-snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

void
stats_snapshot_clear(struct stats_snapshot *snapshot)
{
    free(snapshot->vports);
    free(snapshot->devs);
    memset(snapshot, 0, sizeof *snapshot);
}

void
stats_snapshot_add_vport(struct stats_snapshot *snapshot,
                         const struct ovs_vport_counters *vport)
{
    if (snapshot->n_vports >= snapshot->allocated_vports) {
        snapshot->vports = x2nrealloc(snapshot->vports,
                                      &snapshot->allocated_vports,
                                      sizeof *snapshot->vports);
    }
    snapshot->vports[snapshot->n_vports++] = *vport;
}

void
stats_snapshot_add_dev(struct stats_snapshot *snapshot,
                       const struct proc_net_dev *dev)
{
    if (snapshot->n_devs >= snapshot->allocated_devs) {
        snapshot->devs = x2nrealloc(snapshot->devs, &snapshot->allocated_devs,
                                    sizeof *snapshot->devs);
    }
    snapshot->devs[snapshot->n_devs++] = *dev;
}

static int
compare_vports(const void *a_, const void *b_)
{
    const struct ovs_vport_counters *a = a_;
    const struct ovs_vport_counters *b = b_;

    return strcmp(a->name, b->name);
}

static int
compare_devs(const void *a_, const void *b_)
{
    const struct proc_net_dev *a = a_;
    const struct proc_net_dev *b = b_;

    return strcmp(a->name, b->name);
}

void
stats_snapshot_sort(struct stats_snapshot *snapshot)
{
    if (snapshot->n_vports) {
        qsort(snapshot->vports, snapshot->n_vports, sizeof *snapshot->vports,
              compare_vports);
    }
    if (snapshot->n_devs) {
        qsort(snapshot->devs, snapshot->n_devs, sizeof *snapshot->devs,
              compare_devs);
    }
}

static int
compare_name_to_vport(const void *name, const void *vport_)
{
    const struct ovs_vport_counters *vport = vport_;

    return strcmp(name, vport->name);
}

static int
compare_name_to_dev(const void *name, const void *dev_)
{
    const struct proc_net_dev *dev = dev_;

    return strcmp(name, dev->name);
}

const struct ovs_vport_counters *
stats_snapshot_find_vport(const struct stats_snapshot *snapshot,
                          const char *name)
{
    const struct ovs_vport_counters *first = snapshot->vports, *vport;
    size_t n = snapshot->n_vports;

    vport = (n ? bsearch(name, first, n, sizeof *first, compare_name_to_vport)
             : NULL);
    return (!vport
            || (vport > first && !compare_vports(vport, vport - 1))
            || (vport < &first[n - 1] && !compare_vports(vport, vport + 1))
            ? NULL : vport);
}

const struct proc_net_dev *
stats_snapshot_find_dev(const struct stats_snapshot *snapshot,
                        const char *name)
{
    return (snapshot->n_devs
            ? bsearch(name, snapshot->devs, snapshot->n_devs,
                      sizeof *snapshot->devs, compare_name_to_dev)
            : NULL);
}
