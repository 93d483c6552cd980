/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_TAKEOVER_H
#define KDP_DPIF_NETLINK_TAKEOVER_H 1

/* Taking over the flows of a previous run
 * =======================================
 *
 * When the daemon ends, its flows stay in the kernel and in tc and forward the
 * packets that they match.  Open vSwitch deletes the flows when it starts,
 * before it knows ports and rules.  Packets are lost until it knows these.
 *
 * This module keeps the flows until they can be compared with what the new run
 * makes of ports and rules:
 *
 *      phase     flows of the previous run         upcalls           ends with
 *      -------   -------------------------------   ---------------   ---------
 *      KEEP      forward; Open vSwitch's flushes   wait on sockets   upcalls
 *                are not carried out, and its      that were kept,   turned on
 *                revalidators see no flows         or are lost
 *      SETTLE    the same                          wait on their     turns,
 *                                                  sockets           list and
 *                                                                    hold
 *      DELETE    flows that must not stay are      the same          the last
 *                deleted (flow-stale.h)                              deletion
 *      DONE      revalidators see all flows, and   handed out
 *                translate them at once: they
 *                keep, change or delete them
 *
 * A thread does all work that takes longer with more flows.  From the
 * beginning of KEEP on, it lists the flows, resets the statistics of flows
 * that stay, and remembers the others.  In DELETE another thread deletes
 * these.  So no turn of the main loop takes longer for many flows.  Upcalls
 * wait for the deletions, and for the list only if it is not complete by then.
 * Packets that a flow counts in KEEP after it was listed are added to the
 * rules that the translation finds.
 *
 * In KEEP the daemon does not know which port numbers were assigned to other
 * ports.  If there are any, the flows are listed once more in DELETE.
 *
 * With other_config:flow-restore-wait, Open vSwitch turns upcalls on when the
 * wait is over, otherwise while it creates its first bridge.  In both cases
 * the translation knows all ports and rules after the next turn of the main
 * loop has begun (upcall-dest.h has the same number of turns).
 *
 * A bridge whose fail mode is "secure" has no rules until its controller sends
 * them, unless ovs-ofctl restored them.  If DONE came before that,
 * revalidators would delete the flows of its ports, and established
 * connections would break.  So while such a bridge waits for rules, and flows
 * of the previous run, in the kernel or in tc, forward packets of its ports,
 * SETTLE goes on: this is the hold.  It ends after other_config:restart-hold
 * seconds at the latest.  The daemon knows the bridges and says whether one
 * waits (takeover_set_hold_cb()).
 *
 * While the connection to the database is lost, bridges do not run.  The
 * takeover ends nevertheless: the bridge adds its ports and tells the
 * translation of them in the turn that turns upcalls on.  A revalidator
 * translates flows that it has not seen before without a request; the request
 * to revalidate them again waits for the bridges.  Until then roots would lead
 * to old chains, and new flows of these would be lost.  So in this case DELETE
 * deletes roots and chains.
 *
 * A flush is refused only on the bridge's own dpif: "ovs-appctl
 * dpctl/del-flows" always deletes all flows, and in DONE every flush does.
 *
 * A revalidator translates each flow that it has no statistics of, and deletes
 * flows whose ports or rules are gone.  The translation learns, for example
 * the ports of MAC addresses, from packets that were counted since the flow
 * was listed.  So flows are revalidated again soon after.
 *
 * Recirculation ids
 * -----------------
 *
 * At the end of DELETE the highest recirculation id of all old flows is known.
 * From then on Open vSwitch allocates higher ids, except for bonds, so an old
 * id has no meaning in this run (O8).  Old flows with such ids, and flows that
 * lead to these, stay (flow-chains.h).  In DONE, revalidators make roots lead
 * to chains of this run.  When no root leads to an old chain, or after a
 * minute, a thread deletes the old chains.
 *
 * A packet with an old id that matches no flow becomes an upcall, which
 * handlers drop and count (upcall_table_set_first_recirc_id()).
 *
 * If an id is 2^27 or higher, rules of tc have no room for higher ones.  Then
 * this run begins with low ids again.  DELETE deletes all flows with ids,
 * roots first, and waits until the kernel has finished all packets that
 * matched one.
 *
 * Rules in tc stay until DELETE.  Then rules of recirculation chains, and
 * rules that lead to a chain, are deleted.  Offload decides about the others
 * (flow-offload.h).
 *
 * If flows cannot be listed, or one of them cannot be deleted, all are
 * deleted, as Open vSwitch would do.  Open vSwitch limits the number of flows
 * that revalidators keep: the limit begins with 10,000, and above twice the
 * limit revalidators delete all flows.
 *
 * Thread safety: functions belong to the main thread, unless their comment
 * says "any thread". */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-netlink/datapath.h"

struct dpif_op;

/* Default and maximum of the hold, in seconds.  The default is enough for a
 * controller that connects again every 8 seconds, as Open vSwitch does, and
 * then sends rules for some seconds. */
#define TAKEOVER_HOLD_DEFAULT 30
#define TAKEOVER_HOLD_MAX 3600

/* Returns true if a flow of the previous run forwards packets from the
 * datapath's port 'port'. */
typedef bool takeover_had_flows_cb(const char *port, void *aux);

/* Returns true if a bridge waits for the rules of its controller and
 * 'had_flows', which takes 'aux', returns true for one of its ports. */
typedef bool takeover_hold_cb(takeover_had_flows_cb *had_flows, void *aux);

/* Sets the callback that says whether a bridge waits for rules.  To be called
 * before the first datapath is opened.  Without a callback there is no
 * hold. */
void takeover_set_hold_cb(takeover_hold_cb *);

/* Makes 'first' the lowest recirculation id that Open vSwitch allocates from
 * now on, unless its next id is higher. */
typedef void takeover_recirc_cb(uint32_t first);

/* Sets the callback that does that.  To be called before the first datapath is
 * opened. */
void takeover_set_recirc_cb(takeover_recirc_cb *);

void takeover_create(struct kdp_datapath *);
void takeover_destroy(struct kdp_datapath *);

/* Say that a bridge has opened 'dp', or that it is about to close 'dp'. */
void takeover_begin(struct kdp_datapath *dp);
void takeover_cancel(struct kdp_datapath *dp);

/* Begins the list of flows.  takeover_begin() does that itself, except in the
 * shadow of another process, which owns the flows.  To be called before
 * upcalls are on. */
void takeover_list(struct kdp_datapath *dp);

/* Says that the bridge has turned upcalls on. */
void takeover_upcalls_on(struct kdp_datapath *dp);

/* Sets how many seconds the hold lasts at most after upcalls are turned on, or
 * 0 for no hold. */
void takeover_set_hold(struct kdp_datapath *dp, unsigned int seconds);

/* Says that the bridge has added port 'port_no'. */
void takeover_port_added(struct kdp_datapath *dp, uint32_t port_no);

/* Undoes that: the number belongs to the same port as before. */
void takeover_port_stays(struct kdp_datapath *dp, uint32_t port_no);

/* True if a flush that the bridge requests must not be carried out. */
bool takeover_refuses_flush(const struct kdp_datapath *dp);

/* True if revalidators must not see any flows.  Any thread. */
bool takeover_hides_flows(const struct kdp_datapath *dp);

/* Says that the 'n' operations 'ops' have been carried out, for a
 * 'revalidator' or another thread.  Adjusts the flows that a revalidator gets
 * to see.  Any thread. */
void takeover_operated(struct kdp_datapath *dp, struct dpif_op *ops[],
                       size_t n, bool revalidator);

/* Says that a revalidator begins a dump of all flows, after all threads have
 * ended the previous dump, while there are chains (kdp_datapath_chains()).
 * Any thread. */
void takeover_dump_begins(struct kdp_datapath *dp);

/* To be called in each turn of the main loop, before upcalls are handed out.
 * 'bridges_run' is false while the connection to the database is lost. */
void takeover_run(struct kdp_datapath *dp, bool bridges_run);

/* To be called after that, in each turn in which bridges run.  Returns true if
 * dpif_run() must return true, which makes revalidators check all flows. */
bool takeover_revalidate(struct kdp_datapath *dp);
void takeover_wait(struct kdp_datapath *dp);

#endif /* lib/dpif-netlink/takeover.h */
