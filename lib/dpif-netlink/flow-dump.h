/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_DUMP_H
#define KDP_DPIF_NETLINK_FLOW_DUMP_H 1

/* Dumps of flows from both sides
 * ==============================
 *
 * As the engine requires (offload/offload.h), all threads of a dump go through
 * the flows of the kernel, in a shared dump of the inner dpif, and then
 * through the other flows of the engine.
 *
 * No dump reads the rules in tc by itself.  Before a dump that is not terse,
 * the engine reads all rules.  Terse dumps of revalidators show what the
 * engine's reader thread has read in its latest round
 * (offload/offload-reader.h), so that they wait for neither tc nor the RTNL
 * lock.
 *
 * A dump that fails shows what it can, and returns the error when it is
 * destroyed.
 *
 * Thread safety: any thread may call the functions, but only one at a time for
 * each thread of a dump. */

#include <stdbool.h>

struct dpif;
struct dpif_flow;
struct dpif_flow_dump;
struct dpif_flow_dump_thread;
struct dpif_flow_dump_types;
struct kdp_datapath;
struct kdp_flow_engine;

/* Like the dpif functions of the same names, for datapath 'dp' with its
 * engine, which may be NULL.  If 'learn' is true, flows of the kernel that the
 * engine does not know yet are offered to tc.  It is false while flows of a
 * previous run are taken over (takeover.h).  Recirculation chains of a
 * previous run are never offered, and a 'revalidator' does not see them
 * (flow-chains.h). */
struct dpif_flow_dump *kdp_flow_dump_create(
    struct kdp_datapath *dp, struct kdp_flow_engine *, const struct dpif *,
    bool terse, bool learn, bool revalidator,
    const struct dpif_flow_dump_types *);
int kdp_flow_dump_destroy(struct dpif_flow_dump *);
struct dpif_flow_dump_thread *kdp_flow_dump_thread_create(
    struct dpif_flow_dump *);
void kdp_flow_dump_thread_destroy(struct dpif_flow_dump_thread *);
int kdp_flow_dump_next(struct dpif_flow_dump_thread *, struct dpif_flow *,
                       int max_flows);

#endif /* lib/dpif-netlink/flow-dump.h */
