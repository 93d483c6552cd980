/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_REVALIDATION_H
#define KDP_DPIF_NETLINK_REVALIDATION_H 1

/* Having flows revalidated
 * ========================
 *
 * Flows that send packets to a controller, to sFlow or to the slow path have a
 * netlink port id ("pid") in their actions.  When upcalls of a port are to go
 * to another socket, these flows keep the pid of the old one until Open
 * vSwitch translates them again.  So whoever changes a pid asks for that, and
 * keeps the old socket until it was done.
 *
 * Open vSwitch revalidates all flows when dpif_run() returns true.  It does
 * not say when it has finished.  That is known from what can be seen:
 *
 *      state      goes on when
 *      -------    -------------------------------------------------------
 *      REST       a change asks for it: dpif_run() returns true
 *      TOLD       it is the next turn of the main loop: Open vSwitch has
 *                 passed it on to its threads
 *      GRACE      an RCU grace period is over: whoever translated a packet
 *                 before has installed the flow by then
 *      DUMPING    revalidators have begun REVALIDATION_DUMPS dumps of all
 *                 flows since
 *
 * A revalidator begins a dump when it is done with the one before, so that the
 * first of these dumps says that one from before is over, and each further one
 * that all flows were looked at.  They are looked at twice because a
 * revalidator leaves a flow out that another thread has in hand.
 *
 * Changes that come meanwhile are the next round's, so that there is one
 * revalidation in a round however many ports change.
 *
 * Without revalidators a round does not end, and old sockets stay.
 *
 * Thread safety: _dump_begins() is for any thread; the caller of the others
 * holds a mutex. */

#include <stdbool.h>
#include <stdint.h>

struct revalidation;

struct revalidation *revalidation_create(void);
void revalidation_destroy(struct revalidation *);

/* Asks for flows to be revalidated because of a change.  Returns the number of
 * the change, above 0, for revalidation_is_done(). */
uint64_t revalidation_request(struct revalidation *);

/* True if flows were revalidated after change 'change', or that is 0. */
bool revalidation_is_done(const struct revalidation *, uint64_t change);

/* To be called once in each turn of the main loop.  Returns true if dpif_run()
 * is to return true. */
bool revalidation_run(struct revalidation *);

/* Makes poll_block() wake up when there is something to do that does not wait
 * for others. */
void revalidation_wait(const struct revalidation *);

/* Says that a revalidator is about to begin a dump of all flows. */
#define REVALIDATION_DUMPS 3
void revalidation_dump_begins(struct revalidation *);

#endif /* lib/dpif-netlink/revalidation.h */
