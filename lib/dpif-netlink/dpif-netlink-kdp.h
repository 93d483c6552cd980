/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DPIF_NETLINK_KDP_H
#define KDP_DPIF_NETLINK_DPIF_NETLINK_KDP_H 1

#include <stdbool.h>

struct simap;

/* Provider of kernel datapaths
 * ============================
 *
 * A dpif provider of type "system" that stands in front of Open vSwitch's own
 * and takes the reception of upcalls and the ports away from it.  It is a
 * composition: each of its dpifs has an inner dpif of the stock class, to
 * which it forwards what it does not change.  The inner dpif never learns that
 * there are upcalls.
 *
 * All dpifs of one datapath in this process share one "struct kdp_datapath":
 * the inner dpif, the upcall table, the vport table and what was negotiated
 * with the kernel.  That is more than thrift.  The stock class, whenever it
 * opens a datapath, sends the kernel user features of its own choice, among
 * them the dispatch of upcalls by CPU, and thereby sends the upcalls of a
 * working daemon nowhere.  "ovs-appctl dpctl/show" opens a datapath.
 *
 * Another process can do the same (the stock "ovs-dpctl show" does).  Against
 * that the datapath has two defences:
 *
 *   - The channel that belongs to no port is given to the kernel as the socket
 *     of every CPU.  While the kernel dispatches by CPU, upcalls come there,
 *     and none is lost.
 *
 *   - The kernel announces the change to the "ovs_datapath" multicast group.
 *     The main loop then restores the features.
 *
 * Thread safety: as the dpif provider interface demands.  recv and recv_wait
 * belong to handler threads, operate and the flow dumps to any, the rest to
 * the main thread; "struct kdp_datapath" has a mutex of its own all the same,
 * as dpif_port_get_pid() and others may come from any thread. */

/* Puts the provider in the place of the stock one.  Call once, before any dpif
 * is opened, in the main thread.  Returns 0, or a positive errno value if the
 * stock provider cannot be replaced. */
int dpif_netlink_kdp_register(void);

/* Main thread, before Open vSwitch is told that other_config:n-handler-threads
 * is 'n'.  Returns what it is to be told instead (settings.h); 'n' if the
 * provider was not registered. */
int dpif_netlink_kdp_limit_handlers(int n);

/* Main thread.  Says that bridges have been configured as the database says,
 * for the first time.  If none of them has a datapath, nothing else looks for
 * the rules in tc that a previous run left. */
void dpif_netlink_kdp_configured(void);

/* Main thread, in each turn of the main loop, after bridge_run().
 *
 * While the connection to the database is lost, Open vSwitch does not run its
 * bridges, nor their datapaths.  Yet it waits for what their turns would read,
 * which is there at once, again and again.  Returns true if there are
 * datapaths of bridges that did not run in this turn.  Then it has done what
 * must go on: taken over flows of a previous run, restored the dispatch mode
 * if somebody changed it, given ports their sockets, and looked after
 * offloaded flows.  What is to be revalidated waits for the bridges. */
bool dpif_netlink_kdp_run_alone(void);

/* Main thread, before bridge_exit(), if the datapaths stay.  From then on
 * flows that bridges add, change or delete stay as they are.  While a bridge
 * goes, its ports go before its threads, which then delete flows of unknown
 * ports, and have the kernel drop their packets: until the next run, nobody
 * would forward what the flows did. */
void dpif_netlink_kdp_leave_flows(void);

/* Before that, or by the thread that ends the process for a signal.  If
 * sockets for upcalls outlive the process, leaves what waits on them to the
 * next one, and waits until handlers are done with what they have taken.  The
 * argument is of no use. */
void dpif_netlink_kdp_leave_upcalls(void *);

/* Handing over to another process, without a pause
 * ------------------------------------------------
 *
 * The next process makes its bridges in the shadow of this one: they look at
 * the datapath and change nothing.  All in the main thread. */

/* Returns NULL if this process can hand over, otherwise the reason why not, a
 * constant. */
const char *dpif_netlink_kdp_hand_over_check(void);

/* Halts upcalls, leaves the flows, and sends the sockets for upcalls to the
 * next process through 'sock'.  Returns 0 or a positive errno value. */
int dpif_netlink_kdp_hand_over(int sock);

/* Takes that back, after the next process has gone.  Its flows are deleted:
 * recirculation ids have another meaning here. */
void dpif_netlink_kdp_go_on(void);

/* Says that this is the next process, before bridge_init(); and that it
 * serves from now on, with the sockets that upcall_store_receive() got. */
void dpif_netlink_kdp_enter_shadow(void);
void dpif_netlink_kdp_leave_shadow(void);

/* Any thread.  Adds what the provider needs to 'usage', for "memory/show". */
void dpif_netlink_kdp_get_memory_usage(struct simap *usage);

/* Main thread, after bridge_exit().  Ends what goes on without datapaths. */
void dpif_netlink_kdp_exit(void);

#endif /* lib/dpif-netlink/dpif-netlink-kdp.h */
