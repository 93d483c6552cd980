/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DPIF_NETLINK_KDP_H
#define KDP_DPIF_NETLINK_DPIF_NETLINK_KDP_H 1

#include <stdbool.h>

struct simap;

/* Provider of kernel datapaths
 * ============================
 *
 * A dpif provider of type "system" that stands in front of Open vSwitch's own
 * provider and takes over ports and the reception of upcalls.  It is a
 * composition: each of its dpifs has an inner dpif of the stock class, to
 * which it forwards everything that it does not change.  The inner dpif does
 * not know of upcalls.
 *
 * All dpifs of one datapath in this process share one "struct kdp_datapath":
 * the inner dpif, the upcall table, the vport table and the negotiated
 * features.  datapaths.h says why.
 *
 * Another process can change the kernel's features (the stock "ovs-dpctl show"
 * does).  The datapath has two defences:
 *
 *   - The shared channel is registered in the kernel as the socket of every
 *     CPU.  If the kernel dispatches by CPU, upcalls arrive there, and none is
 *     lost.
 *
 *   - The kernel announces the change to the "ovs_datapath" multicast group.
 *     The main loop then restores the features.
 *
 * Thread safety: as the dpif provider interface demands.  recv and recv_wait
 * belong to handler threads, operate and the flow dumps to any thread, the
 * rest to the main thread.  "struct kdp_datapath" still has a mutex of its
 * own, because any thread may call dpif_port_get_pid() and others. */

/* Replaces the stock provider with this one.  Call once, before any dpif is
 * opened, in the main thread.  Returns 0, or a positive errno value if the
 * stock provider cannot be replaced. */
int dpif_netlink_kdp_register(void);

/* Main thread, before Open vSwitch reads 'n' from
 * other_config:n-handler-threads.  Returns the number to pass to Open vSwitch
 * instead (settings.h), or 'n' if the provider was not registered. */
int dpif_netlink_kdp_limit_handlers(int n);

/* Main thread.  Says that bridges have been configured from the database for
 * the first time.  If no bridge has a datapath, only this call looks for the
 * rules in tc that a previous run left. */
void dpif_netlink_kdp_configured(void);

/* Main thread, in each turn of the main loop, after bridge_run().
 *
 * While the connection to the database is lost, Open vSwitch does not run its
 * bridges or their datapaths.  But it waits for events that only their turns
 * would consume, so that it wakes up again and again.  Returns true if there
 * are datapaths of bridges that did not run in this turn.  Then the function
 * has done what must go on: taken over flows of a previous run, restored the
 * dispatch mode if another process changed it, given ports their sockets, and
 * maintained offloaded flows.  Revalidation waits for the bridges. */
bool dpif_netlink_kdp_run_alone(void);

/* Main thread, before bridge_exit(), if the datapaths stay.  From then on,
 * flows that bridges add, change or delete stay as they are.  When a bridge is
 * destroyed, its ports go before its threads.  The threads would delete flows
 * of unknown ports or make the kernel drop their packets, and until the next
 * run nothing would forward this traffic. */
void dpif_netlink_kdp_leave_flows(void);

/* Called before that, or by the thread that ends the process for a signal.  If
 * sockets for upcalls outlive the process, leaves the waiting upcalls to the
 * next process, and waits until handlers have processed the upcalls that they
 * took.  It also waits for those that they read ahead unless 'by_signal' is
 * not NULL, when no handler begins another batch. */
void dpif_netlink_kdp_leave_upcalls(void *by_signal);

/* Handing over to another process, without a pause
 * ------------------------------------------------
 *
 * The next process creates its bridges in the shadow of this one: they read
 * the datapath and change nothing.  The main thread calls all functions. */

/* Returns NULL if this process can hand over, otherwise the reason why it
 * cannot, as a constant string. */
const char *dpif_netlink_kdp_hand_over_check(void);

/* Halts upcalls, leaves the flows, and sends the sockets for upcalls to the
 * next process through 'sock'.  Returns 0 or a positive errno value. */
int dpif_netlink_kdp_hand_over(int sock);

/* Undoes that after the next process has ended.  Deletes the flows of the next
 * process, because recirculation ids have another meaning here. */
void dpif_netlink_kdp_go_on(void);

/* _enter_shadow() says that this is the next process, before bridge_init().
 * _leave_shadow() says that this process serves from now on, with the sockets
 * that upcall_store_receive() got.  Returns 0, or a positive errno value if
 * upcalls cannot be turned on.  Then this process must end.  No port's socket
 * is taken away, because the other process may go on. */
void dpif_netlink_kdp_enter_shadow(void);
int dpif_netlink_kdp_leave_shadow(void);

/* Any thread.  Adds the provider's memory to 'usage', for "memory/show". */
void dpif_netlink_kdp_get_memory_usage(struct simap *usage);

/* Main thread, after bridge_exit().  Ends what runs without datapaths. */
void dpif_netlink_kdp_exit(void);

#endif /* lib/dpif-netlink/dpif-netlink-kdp.h */
