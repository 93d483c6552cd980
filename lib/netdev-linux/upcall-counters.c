/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "netdev-linux/upcall-counters.h"

#include <errno.h>

#include "netdev-provider.h"
#include "openvswitch/netdev.h"
#include "ovs-features.h"
#include "util.h"

static netdev_kdp_upcalls_cb *source;

void
netdev_kdp_upcalls_set_source(netdev_kdp_upcalls_cb *cb)
{
    source = cb;
}

static void
put(struct netdev_custom_stats *stats, const char *name, uint64_t value)
{
    struct netdev_custom_counter *counter = &stats->counters[stats->size++];

    ovs_strlcpy(counter->name, name, sizeof counter->name);
    counter->value = value;
}

int
netdev_kdp_upcalls_get(const struct netdev *netdev,
                       struct netdev_custom_stats *stats)
{
    struct netdev_kdp_upcalls upcalls;

    stats->size = 0;
    stats->counters = NULL;
    if (!source || !source(netdev_get_name(netdev), &upcalls)) {
        return EOPNOTSUPP;
    }
    stats->counters = xcalloc(3, sizeof *stats->counters);
    if (!OVS_HAVE_UPCALL_STATS) {
        put(stats, "upcall_packets", upcalls.packets);
        put(stats, "upcall_errors", upcalls.errors);
    }
    put(stats, "upcall_shed", upcalls.shed);
    return 0;
}
