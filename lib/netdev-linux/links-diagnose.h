/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_DIAGNOSE_H
#define KDP_NETDEV_LINUX_LINKS_DIAGNOSE_H 1

/* Findings of kdp/doctor about link tables and the RTNL lock
 * (unixctl/findings.h). */

#include <stddef.h>
#include <stdint.h>

#include "netdev-linux/rtnl-count.h"

struct findings;
struct link_listener_stats;
struct link_ns_info;

/* Registers these findings.  Main thread. */
void kdp_links_diagnose_register(void);

/* For the above and for tests; pure functions of their arguments. */

/* Finds namespaces, among the 'n' in 'ns', whose links could not be listed,
 * and frequent losses of events. */
void kdp_links_diagnose_tables(const struct link_listener_stats *,
                               const struct link_ns_info *ns, size_t n,
                               struct findings *);

/* Finds frequent calls that take the RTNL lock.  'counts' are the calls in
 * 'seconds'. */
void kdp_links_diagnose_rtnl(const uint64_t counts[KDP_N_RTNL_CALLS],
                             unsigned int seconds, struct findings *);

#endif /* lib/netdev-linux/links-diagnose.h */
