/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_REVALIDATION_H
#define KDP_DPIF_NETLINK_REVALIDATION_H 1

/* Revalidation of flows
 * =====================
 *
 * Flows that send packets to a controller, to sFlow or to the slow path have a
 * netlink port id ("pid") in their actions.  When the upcalls of a port move
 * to another socket, these flows keep the pid of the old socket until Open
 * vSwitch translates them again.  So code that changes a pid requests a
 * revalidation, and keeps the old socket until the revalidation is done.
 *
 * Open vSwitch revalidates all flows when dpif_run() returns true.  It does
 * not say when it has finished.  This module infers that from events:
 *
 *      state      goes on when
 *      -------    -------------------------------------------------------
 *      REST       a change requests it: dpif_run() returns true
 *      TOLD       the next turn of the main loop begins: Open vSwitch has
 *                 passed the request on to its threads
 *      GRACE      an RCU grace period is over: a thread that translated a
 *                 packet before has installed the flow by then
 *      DUMPING    revalidators have begun REVALIDATION_DUMPS dumps of all
 *                 flows since
 *
 * A revalidator begins a dump when it has finished the previous one.  So the
 * first of these dumps means that an earlier dump is over, and each further
 * dump means that revalidators have checked all flows.  Two checks are
 * necessary because a revalidator skips a flow that another thread holds.
 *
 * Changes during a round belong to the next round, so that there is one
 * revalidation in a round, however many ports change.
 *
 * Without revalidators a round does not end, and old sockets stay.
 *
 * Thread safety: any thread may call _dump_begins(); the caller of the others
 * holds a mutex. */

#include <stdbool.h>
#include <stdint.h>

struct revalidation;

struct revalidation *revalidation_create(void);
void revalidation_destroy(struct revalidation *);

/* Requests a revalidation of flows because of a change.  Returns the number of
 * the change, above 0, for revalidation_is_done(). */
uint64_t revalidation_request(struct revalidation *);

/* True if flows were revalidated after change 'change', or if 'change' is
 * 0. */
bool revalidation_is_done(const struct revalidation *, uint64_t change);

/* To be called once in each turn of the main loop.  Returns true if dpif_run()
 * must return true. */
bool revalidation_run(struct revalidation *);

/* Makes poll_block() wake up when there is work that does not wait for other
 * threads. */
void revalidation_wait(const struct revalidation *);

/* Says that a revalidator is about to begin a dump of all flows. */
#define REVALIDATION_DUMPS 3
void revalidation_dump_begins(struct revalidation *);

#endif /* lib/dpif-netlink/revalidation.h */
