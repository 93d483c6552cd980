/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_DUMP_H
#define KDP_DPIF_NETLINK_FLOW_DUMP_H 1

/* Dumps of flows from both sides
 * ==============================
 *
 * As the engine wants it (offload/offload.h), all threads of a dump go through
 * the flows of the kernel, by a dump of the inner dpif that they share, then
 * through the rules in tc, and then through what the engine has besides.
 *
 * Rules are asked for by name, many in a message, or listed device by device.
 * The latter takes the RTNL lock for each part of the list, and a third of the
 * time for a rule if only statistics are wanted.  So that is done
 *
 *   - for devices that were found to have rules themselves: their drivers may
 *     want the lock for each rule that is asked for by name;
 *   - by revalidators, whose dumps are terse, for devices with many rules,
 *     while the lock is to be had at once (kdp_tc_may_dump()).  When a rule
 *     was used is then told by its count, as in Open vSwitch.
 *
 * All threads list one device together, then the next.
 *
 * A dump that fails shows what it can, and tells the error when it is
 * destroyed.
 *
 * Thread safety: any thread; each thread of a dump by one thread at a time. */

#include <stdbool.h>

struct dpif;
struct dpif_flow;
struct dpif_flow_dump;
struct dpif_flow_dump_thread;
struct dpif_flow_dump_types;
struct kdp_flow_engine;

/* As the dpif functions of those names, for a datapath that has an engine.
 * Flows of the kernel that the engine does not know yet are offered to tc if
 * 'learn' is true: not while they are those of a previous run (takeover.h),
 * whose chains mean nothing to this one. */
struct dpif_flow_dump *kdp_flow_dump_create(
    struct kdp_flow_engine *, const struct dpif *, bool terse, bool learn,
    const struct dpif_flow_dump_types *);
int kdp_flow_dump_destroy(struct dpif_flow_dump *);
struct dpif_flow_dump_thread *kdp_flow_dump_thread_create(
    struct dpif_flow_dump *);
void kdp_flow_dump_thread_destroy(struct dpif_flow_dump_thread *);
int kdp_flow_dump_next(struct dpif_flow_dump_thread *, struct dpif_flow *,
                       int max_flows);

#endif /* lib/dpif-netlink/flow-dump.h */
