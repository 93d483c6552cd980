/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_NETDEV_LINUX_LINKS_SHOW_H
#define KDP_NETDEV_LINUX_LINKS_SHOW_H 1

/* Commands and findings about links.  link-table/show shows the state of the
 * listener and its tables, notices to the bridge, and calls that took the RTNL
 * lock.  link-table/resync lists all links again, as after a loss.
 *
 * Thread safety: the main thread. */

#include <stddef.h>
#include <stdint.h>

#include "netdev-linux/rtnl-count.h"

struct ds;
struct findings;
struct json;
struct link_listener_stats;
struct link_ns_info;

/* Registers the commands, once. */
void kdp_links_show_register(void);

/* Parts of link-table/show, for tests: the number of open devices, and those
 * whose state is not that in the link table of our own namespace.
 *
 *   - elsewhere: in another namespace;
 *   - absent: there is no such device;
 *   - behind: the table is newer than the device, or the device's event is
 *     still to come.
 *
 * The first appends a line to 's'; the caller owns the result of the
 * second. */
void links_show_devices_text(struct ds *s);
struct json *links_show_devices_json(void);

/* Registers findings of kdp/doctor about link tables and the RTNL lock
 * (unixctl/findings.h). */
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

#endif /* lib/netdev-linux/links-show.h */
