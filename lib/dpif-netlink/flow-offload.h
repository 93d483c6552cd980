/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_OFFLOAD_H
#define KDP_DPIF_NETLINK_FLOW_OFFLOAD_H 1

/* Offload of a datapath's flows: life cycle and settings
 * =======================================================
 *
 * A datapath has an engine (flow-engine.h) from the first time that
 * other_config:hw-offload is true until the datapath is closed.  When
 * hw-offload becomes false, all flows move back to the kernel and none is
 * offered until it is true again.
 *
 * Rules in tc of a previous run stay as long as the flows of that run in the
 * kernel (takeover.h).  Then rules of recirculation chains are deleted.  The
 * other rules are deleted if there is no offload; with offload, the engine has
 * taken them over meanwhile.  Rules of a previous run on devices that are not
 * ports are deleted as soon as the bridge has added its ports
 * (tc/tc-orphans.h).
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
 * Meters
 * ------
 *
 * Tc has a policer for each meter.  Open vSwitch creates and changes the
 * policer together with the meter, if offload is on at that time.  It
 * remembers meters that were created before.  When offload begins, an offload
 * thread creates their policers before the first flow is offered
 * (kdp_flow_meters_offload()).  The engine is notified of each new policer,
 * because tc may have refused flows without it.
 *
 * Thread safety: the main thread, except kdp_flow_offload_ports_changed() and
 * kdp_flow_offload_delete_old_chains(), which any thread may call. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/ofp-meter.h"

struct kdp_datapath;
struct smap;

/* _create() creates no engine yet.  _destroy() ends offload, but leaves the
 * rules for the next run to take over. */
void kdp_flow_offload_create(struct kdp_datapath *);
void kdp_flow_offload_destroy(struct kdp_datapath *);

/* Ends offload on a datapath that is deleted, and removes all rules. */
void kdp_flow_offload_clean_up(struct kdp_datapath *);

/* Applies the settings in 'other_config'.  Invalid values are logged and
 * change nothing. */
void kdp_flow_offload_set(struct kdp_datapath *,
                          const struct smap *other_config);

/* Says that rules of a previous run in tc stay for now.  They also stay from
 * the start, because ports are prepared before a bridge makes any request. */
void kdp_flow_offload_keep_old(struct kdp_datapath *);

/* Deletes rules of recirculation chains that a previous run left on ports.
 * Waits for tc and the RTNL lock.  Returns how many were deleted; only rules
 * that tc failed to delete are left.  Any thread. */
size_t kdp_flow_offload_delete_old_chains(struct kdp_datapath *);

/* Says that rules of a previous run no longer have to stay. */
void kdp_flow_offload_end_old(struct kdp_datapath *);

/* True between _keep_old() and _end_old(). */
bool kdp_flow_offload_keeps_old(const struct kdp_datapath *);

/* Says that the bridge has deleted the port of device 'ifindex', whether or
 * not the kernel still has it. */
void kdp_flow_offload_was_port(struct kdp_datapath *, int ifindex);

/* Disables offload in all datapaths, whatever the settings say.  The caller
 * logs the reason.  To be called before there are datapaths. */
void kdp_flow_offload_forbid(void);

/* Like the functions in flow-ports.h, if there is an engine. */
void kdp_flow_offload_ports_changed(struct kdp_datapath *);
void kdp_flow_offload_port_del(struct kdp_datapath *, uint32_t port_no);
void kdp_flow_offload_run(struct kdp_datapath *);
void kdp_flow_offload_wait(struct kdp_datapath *);

/* Like the dpif functions of the same names on the inner dpif of 'dp'; also
 * remember the meter.  Any thread.  A mutex is held while a meter is changed,
 * so that no policer is created twice.  A thread that changes a meter may wait
 * for tc to create one other policer. */
int kdp_flow_meters_set(struct kdp_datapath *dp, ofproto_meter_id,
                        struct ofputil_meter_config *);
int kdp_flow_meters_del(struct kdp_datapath *dp, ofproto_meter_id,
                        struct ofputil_meter_stats *, uint16_t n_bands);

#endif /* lib/dpif-netlink/flow-offload.h */
