/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_TAKEOVER_H
#define KDP_DPIF_NETLINK_TAKEOVER_H 1

/* Taking over the flows of a previous run
 * =======================================
 *
 * When the daemon ends, its flows stay in the kernel and in tc and forward the
 * packets that they match.  Open vSwitch deletes them when it starts, before
 * it knows ports and rules.  What comes until then is lost.
 *
 * Here they are kept until they can be compared with what the new run makes of
 * ports and rules:
 *
 *      phase     flows of the previous run         upcalls           ends with
 *      -------   -------------------------------   ---------------   ---------
 *      KEEP      forward; Open vSwitch's flushes   lost, as nobody   upcalls
 *                are not carried out, and its      listens           turned on
 *                revalidators see no flows
 *      SETTLE    the same                          wait on their     turns, the
 *                                                  sockets           list, and
 *                                                                    the hold
 *      DELETE    those that must not stay are      the same          the last
 *                deleted (flow-stale.h)                              of them
 *      DONE      revalidators see all flows, and   handed out
 *                translate them at once: they
 *                keep, change or delete them
 *
 * All work that takes longer with more flows is done by a thread.  It lists
 * the flows from the beginning of KEEP on, resets the statistics of those that
 * stay, and remembers the others.  In DELETE another one deletes these.  So no
 * turn of the main loop takes longer for many flows, and upcalls wait for
 * deletions, and for the list only if that is not complete by then.  Packets
 * that a flow counts in KEEP after it was listed are added to the rules that
 * the translation finds.
 *
 * Numbers of ports that were given to other ports are not known in KEEP.  If
 * there are any, the flows are listed once more in DELETE.
 *
 * With other_config:flow-restore-wait, Open vSwitch turns upcalls on when the
 * wait is over, otherwise while it makes its first bridge.  In both cases the
 * translation knows all ports and rules after the next turn of the main loop
 * has begun (upcall-dest.h has the same number of turns).
 *
 * A bridge whose fail mode is "secure" has no rules until its controller sends
 * them, unless somebody restored them.  If DONE came before that, revalidators
 * would delete the flows of its ports, and established connections would break.
 * So while such a bridge waits for rules, and flows of the previous run forward
 * packets of its ports, SETTLE goes on: this is the hold.  It ends after
 * other_config:restart-hold seconds at the latest.  The daemon knows the bridges
 * and says whether one waits (takeover_set_hold_cb()).
 *
 * While the connection to the database is lost, bridges do not run.  The
 * takeover ends nevertheless: the bridge adds its ports and tells the
 * translation of them in the turn that turns upcalls on.  A revalidator
 * translates flows that it has not seen before without being told to; that it
 * is to look at them again waits for the bridges.  So does the moment at which
 * roots lead to chains of this run.  Until then new flows of a chain would be
 * lost, so DELETE deletes roots and chains in this case.
 *
 * Only the bridge's own dpif is refused a flush: whoever asks with
 * "ovs-appctl dpctl/del-flows" has his way, and so has everybody in DONE.
 *
 * A revalidator translates the flows that it sees without statistics of its
 * own, and deletes those whose ports or rules are gone.  What the translation
 * learns from packets, such as the ports of MAC addresses, it learns from
 * packets that were counted since the flow was listed.  So flows are
 * revalidated again soon after.
 *
 * Recirculation ids
 * -----------------
 *
 * At the end of DELETE the highest recirculation id of all old flows is known.
 * From then on Open vSwitch gives higher ones, except to bonds, so an old id has
 * no meaning in this run (O8).  Old flows with such ids, and those that lead to
 * them, stay (flow-chains.h).  In DONE, revalidators make roots lead to chains of
 * this run.  When no root leads to an old chain, or after a minute, a thread
 * deletes the old chains.
 *
 * A packet with an old id that matches no flow becomes an upcall, which is
 * dropped and counted (upcall_table_set_first_recirc_id()).
 *
 * If an id is 2^27 or higher, rules of tc have no room for higher ones.  Then
 * this run begins with low ids again.  DELETE deletes all flows with ids, roots
 * first, and waits until no packet is under way any more that met one.
 *
 * Rules in tc stay until DELETE.  Those of recirculation chains, and those that
 * lead to one, are deleted there.  What becomes of others is up to offload
 * (flow-offload.h).
 *
 * When flows cannot be listed, or one of them not be deleted, they are all
 * deleted, as Open vSwitch would.
 * There is a limit to the number of flows that revalidators keep, which is
 * Open vSwitch's: it begins with 10,000, and above twice that they delete
 * all.
 *
 * Thread safety: takeover_hides_flows() is for any thread, the others are for
 * the main thread. */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"

struct dpif_op;

/* Seconds of the hold: the default, and the most.  The default is enough for a
 * controller that connects again every 8 seconds, as Open vSwitch does, and then
 * sends rules for some seconds. */
#define TAKEOVER_HOLD_DEFAULT 30
#define TAKEOVER_HOLD_MAX 3600

/* Returns true if a flow of the previous run forwards packets that come from the
 * port of the datapath that is named 'port'. */
typedef bool takeover_had_flows_cb(const char *port, void *aux);

/* Returns true if a bridge waits for the rules of its controller and
 * 'had_flows', which takes 'aux', returns true for one of its ports. */
typedef bool takeover_hold_cb(takeover_had_flows_cb *had_flows, void *aux);

/* Says what tells of bridges that wait for rules.  Before the first datapath is
 * opened.  Without it there is no hold. */
void takeover_set_hold_cb(takeover_hold_cb *);

/* Makes 'first' the lowest recirculation id that Open vSwitch gives from now
 * on, unless its next one is higher. */
typedef void takeover_recirc_cb(uint32_t first);

/* Says what does that.  Before the first datapath is opened. */
void takeover_set_recirc_cb(takeover_recirc_cb *);

void takeover_create(struct kdp_datapath *);
void takeover_destroy(struct kdp_datapath *);

/* Says that a bridge has opened 'dp', or that it is about to close it. */
void takeover_begin(struct kdp_datapath *dp);
void takeover_cancel(struct kdp_datapath *dp);

/* Begins the list of flows.  takeover_begin() does that itself, except in the
 * shadow of another process, whose flows they are.  Before upcalls are on. */
void takeover_list(struct kdp_datapath *dp);

/* Says that the bridge has turned upcalls on. */
void takeover_upcalls_on(struct kdp_datapath *dp);

/* Sets how many seconds the hold takes at most, from the moment that upcalls are
 * turned on.  0 is for no hold. */
void takeover_set_hold(struct kdp_datapath *dp, unsigned int seconds);

/* Says that the bridge has added port 'port_no'. */
void takeover_port_added(struct kdp_datapath *dp, uint32_t port_no);

/* Takes that back: the number is that of the same port as before. */
void takeover_port_stays(struct kdp_datapath *dp, uint32_t port_no);

/* True if a flush that the bridge wants is not to be carried out. */
bool takeover_refuses_flush(const struct kdp_datapath *dp);

/* True if revalidators are to see no flows.  Any thread. */
bool takeover_hides_flows(const struct kdp_datapath *dp);

/* Says that the 'n' operations 'ops' have been carried out, for a 'revalidator'
 * or another thread, and what a revalidator gets to see of a flow.  Any
 * thread. */
void takeover_operated(struct kdp_datapath *dp, struct dpif_op *ops[],
                       size_t n, bool revalidator);

/* Says that a revalidator begins a dump of all flows, after all threads have
 * ended the one before, while there are chains (kdp_datapath_chains()).  Any
 * thread. */
void takeover_dump_begins(struct kdp_datapath *dp);

/* In each turn of the main loop, before upcalls are handed out.  'bridges_run'
 * is false while the connection to the database is lost. */
void takeover_run(struct kdp_datapath *dp, bool bridges_run);

/* After that, in each turn in which bridges run: returns true if dpif_run() is
 * to return true, which makes revalidators look at all flows. */
bool takeover_revalidate(struct kdp_datapath *dp);
void takeover_wait(struct kdp_datapath *dp);

#endif /* lib/dpif-netlink/takeover.h */
