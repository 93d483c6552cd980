/* SPDX-License-Identifier: Apache-2.0 */

/* Statistics of ports in OpenFlow.
 *
 * Our devices have counters of upcalls (netdev-linux/upcall-counters.h) among
 * Open vSwitch's custom statistics, for column "statistics" of Interface.  The
 * stock daemon has no custom statistics for devices of the kernel.  In
 * OpenFlow 1.4 and later Open vSwitch sends custom statistics as an
 * experimenter property, whose length depends on the names of the counters.
 * Controller libraries, for example os-ken, parse its data as an array of
 * 32-bit words and cannot read a reply with another length.  So replies omit
 * these counters, and look like the stock daemon's replies.
 *
 * Thread safety: any thread. */

#include <config.h>

#include <string.h>

#include "openvswitch/ofp-port.h"

void __real_ofputil_append_port_stat(struct ovs_list *replies,
                                     const struct ofputil_port_stats *);
void __wrap_ofputil_append_port_stat(struct ovs_list *replies,
                                     const struct ofputil_port_stats *);

/* True if 'stats' are our own custom statistics. */
static bool
are_upcalls(const struct netdev_custom_stats *stats)
{
    return stats->size && !strncmp(stats->counters[0].name, "upcall_", 7);
}

/* Wraps Open vSwitch's function, which the linker names __real. */
void
__wrap_ofputil_append_port_stat(struct ovs_list *replies,
                                const struct ofputil_port_stats *stats)
{
    struct ofputil_port_stats shown = *stats;

    if (are_upcalls(&shown.custom_stats)) {
        shown.custom_stats.size = 0;
        shown.custom_stats.counters = NULL;
    }
    __real_ofputil_append_port_stat(replies, &shown);
}
