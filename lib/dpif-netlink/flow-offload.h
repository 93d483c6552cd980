/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_OFFLOAD_H
#define KDP_DPIF_NETLINK_FLOW_OFFLOAD_H 1

/* Offload of a datapath's flows: life cycle and settings
 * =======================================================
 *
 * A datapath has an engine (flow-engine.h) from the first time that
 * other_config:hw-offload is true, until it is closed.  When hw-offload
 * becomes false, all flows move back to the kernel and none is offered until
 * it is true again.
 *
 * What a previous run left in tc stays as long as its flows in the kernel do
 * (takeover.h).  Then rules of recirculation chains are deleted, and the others
 * are if there is no offload; with offload, the engine has taken them over
 * meanwhile.  Rules of a previous run on devices that are no ports are deleted
 * as soon as the bridge has added its ports (tc/tc-orphans.h).
 *
 *      key                     meaning
 *      -------------------     ------------------------------------------
 *      hw-offload              flows are offered to tc
 *      n-offload-threads       threads of the engine
 *      offload-delay           age of a flow that is offered, in ms
 *      offload-bytes           how bytes of rules are counted
 *      offload-rebalance       flows with more packets get the places of
 *                              others in full cards
 *
 * Thread safety: the main thread, except kdp_flow_offload_ports_changed() and
 * kdp_flow_offload_delete_old_chains(), which are for any. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kdp_datapath;
struct smap;

/* Without an engine.  _destroy() ends offload: rules stay, for the next run to
 * take over. */
void kdp_flow_offload_create(struct kdp_datapath *);
void kdp_flow_offload_destroy(struct kdp_datapath *);

/* Ends offload on a datapath that is deleted: no rule stays. */
void kdp_flow_offload_clean_up(struct kdp_datapath *);

/* Takes over the settings in 'other_config'.  Values that they must not have
 * are logged and change nothing. */
void kdp_flow_offload_set(struct kdp_datapath *,
                          const struct smap *other_config);

/* Says that what a previous run left in tc stays for now, as it does from the
 * beginning: ports are prepared before a bridge says anything. */
void kdp_flow_offload_keep_old(struct kdp_datapath *);

/* Deletes rules of recirculation chains that a previous run left on ports.
 * Waits for tc and the RTNL lock.  Returns how many were deleted: none of them
 * is left, except those that tc did not delete.  Any thread. */
size_t kdp_flow_offload_delete_old_chains(struct kdp_datapath *);

/* Says that what a previous run left does not stay any longer. */
void kdp_flow_offload_end_old(struct kdp_datapath *);

/* True between the two. */
bool kdp_flow_offload_keeps_old(const struct kdp_datapath *);

/* Says that the bridge has deleted the port of device 'ifindex', whether or not
 * the kernel still has it. */
void kdp_flow_offload_was_port(struct kdp_datapath *, int ifindex);

/* From now on there is no offload, in no datapath, whatever settings say.  Why
 * is the caller's to log.  To be called before there are datapaths. */
void kdp_flow_offload_forbid(void);

/* As the functions of flow-ports.h, if there is an engine. */
void kdp_flow_offload_ports_changed(struct kdp_datapath *);
void kdp_flow_offload_port_del(struct kdp_datapath *, uint32_t port_no);
void kdp_flow_offload_run(struct kdp_datapath *);
void kdp_flow_offload_wait(struct kdp_datapath *);

#endif /* lib/dpif-netlink/flow-offload.h */
