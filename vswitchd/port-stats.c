/* SPDX-License-Identifier: Apache-2.0 */

/* What OpenFlow says of a port's statistics.
 *
 * Our devices have counters of upcalls (netdev-linux/upcall-counters.h) among
 * what Open vSwitch calls custom statistics, for column "statistics" of
 * Interface.  The stock daemon has no custom statistics for devices of the
 * kernel.  In OpenFlow 1.4 and later Open vSwitch sends them as a property of
 * an experimenter, whose data is as long as the names of the counters.
 * Libraries of controllers, os-ken for one, take it for an array of words, and
 * cannot read a reply in which it is not.  So replies leave these counters
 * out, and look as those of the stock daemon.
 *
 * Thread safety: any thread. */

#include <config.h>

#include <string.h>

#include "openvswitch/ofp-port.h"

void __real_ofputil_append_port_stat(struct ovs_list *replies,
                                     const struct ofputil_port_stats *);
void __wrap_ofputil_append_port_stat(struct ovs_list *replies,
                                     const struct ofputil_port_stats *);

/* True if 'stats' are custom statistics of ours. */
static bool
are_upcalls(const struct netdev_custom_stats *stats)
{
    return stats->size && !strncmp(stats->counters[0].name, "upcall_", 7);
}

/* Around Open vSwitch's function, which the linker calls __real. */
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
