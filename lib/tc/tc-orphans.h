/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_TC_TC_ORPHANS_H
#define KDP_TC_TC_ORPHANS_H 1

/* Rules of no port
 * ================
 *
 * A rule forwards packets as long as its device exists, whether or not the
 * device is still a port.  The offload engine looks at the devices of its
 * ports only.  So if a port goes from the database while no daemon runs, its
 * rules stay: the packets of what was a VM's device go on to the ports of
 * others.
 *
 * A pass goes through all places for rules that the kernel has: the ingress
 * and the egress of devices, and the blocks that devices share.  It deletes
 * each rule of a previous run ("orphan") that is not in the place of a port:
 *
 *      place            rules that the pass deletes
 *      ---------------  --------------------------------------------------
 *      of a port        none with KDP_TC_ORPHANS_SPARE_PORTS; else as below
 *      of a device      rules of ovs-kdp, and of the stock daemon
 *      that was a port
 *      any other        rules of ovs-kdp
 *
 * A rule is from ovs-kdp if its handle is from our ranges (tc-handle.h), its
 * first cookie has the size of a ufid, and it has only actions that Open
 * vSwitch makes (tc-parse.h).  The kernel chooses the handles of the stock
 * daemon's rules, so only the cookie identifies these, and other programs may
 * use such cookies.  So the pass considers a rule to be the stock daemon's
 * only if the cookie has the bits of a version 4 UUID, as all ufids of Open
 * vSwitch have, and only on a device that was a port when this daemon opened
 * the datapath and that the bridge then deleted from it: there the stock
 * daemon deletes the rules of every program.
 *
 * Rules never leave the network namespace of the process: the kernel removes
 * the queueing disciplines of a device that moves to another one.  A pass
 * cannot see the rules of a daemon that ran in another namespace.
 *
 * Passes run in a thread of their own, so that no other thread waits for tc or
 * for the RTNL lock.  kdp_tc_orphans_look() may be called at any rate.
 *
 * Races
 * -----
 *
 * A pass knows the ports as they were at its start.  A device that becomes a
 * port during the pass has to be spared before the engine adds or adopts a
 * rule there: see kdp_tc_orphans_spare().
 *
 * A list of queueing disciplines may miss a device if another one goes while
 * the kernel makes the list.  A daemon whose bridges have ports makes two
 * passes.
 *
 * Failure: a rule that cannot be deleted is logged and counted, and so is a
 * place whose rules cannot be listed.  The thread makes one more pass after a
 * pause, which grows from one second to about a minute, until nothing fails.
 *
 * Thread safety: _look(), _stop() and _was_port() belong to the main thread.
 * The others are for any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ds;
struct json;

/* Rules in the places of ports stay: an engine takes them over, or flows of
 * the previous run are to keep forwarding. */
#define KDP_TC_ORPHANS_SPARE_PORTS (1u << 0)

/* No port of the previous run will be deleted or taken over any more.  From
 * now on, a new user of a former port's device may have cookies like the stock
 * daemon's.  So after the pass, what kdp_tc_orphans_was_port() said is
 * forgotten. */
#define KDP_TC_ORPHANS_LAST (1u << 1)

/* Starts a pass over the devices of this network namespace, or another one
 * after the pass in progress.  Only ports of datapaths of type 'dpif_type', a
 * constant string, count as ports.  'flags' are KDP_TC_ORPHANS_*. */
void kdp_tc_orphans_look(const char *dpif_type, unsigned int flags);

/* Ends passes.  With 'finish', waits until all requested passes are done, else
 * only for the request or dump in progress.  Failures are not retried. */
void kdp_tc_orphans_stop(bool finish);

/* Has a pass with KDP_TC_ORPHANS_LAST ended since the last
 * kdp_tc_orphans_look(), whether or not something failed? */
bool kdp_tc_orphans_last_ended(void);

/* May a previous run have bound devices to block 'block_id'?  Returns true if
 * the block has rules of ovs-kdp only, or none; false if the kernel does not
 * list all of them.  Takes the RTNL lock. */
bool kdp_tc_orphans_may_unbind(uint32_t block_id);

/* Says that device 'ifindex' was a port of a previous run, which the bridge
 * has deleted. */
void kdp_tc_orphans_was_port(int ifindex);

/* Says that rules on device 'ifindex', or in its block if it is a bond, belong
 * to a port from now on.  If a pass is just deleting a rule of the device,
 * waits for that. */
void kdp_tc_orphans_spare(int ifindex);

/* What passes have done since the process started. */
struct kdp_tc_orphans_info {
    uint64_t n_passes;          /* Ended regularly. */
    uint64_t n_deleted;
    uint64_t n_failed;          /* Rules that the latest pass could not
                                 * delete. */
    bool under_way;
};

void kdp_tc_orphans_get_info(struct kdp_tc_orphans_info *);

/* Output of offload/show. */
void kdp_tc_orphans_show_text(struct ds *);
struct json *kdp_tc_orphans_show_json(void);

#endif /* lib/tc/tc-orphans.h */
