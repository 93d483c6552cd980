/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_METERS_H
#define KDP_DPIF_NETLINK_FLOW_METERS_H 1

/* Meters of a datapath, for tc
 * ============================
 *
 * Tc has a policer for each meter.  Open vSwitch creates and changes the
 * policer together with the meter, if offload is on at that time.  This module
 * remembers meters that were created before.  When offload begins, an offload
 * thread creates their policers before the first flow is offered
 * (kdp_flow_meters_offload()).  The engine is notified of each new policer,
 * because tc may have refused flows without it.
 *
 * Thread safety: any thread.  A mutex is held while a meter is changed, so
 * that no policer is created twice.  A thread that changes a meter may wait
 * for tc to create one other policer. */

#include <stdint.h>

#include "openvswitch/ofp-meter.h"

struct dpif;
struct kdp_datapath;
struct kdp_flow_meters;

struct kdp_flow_meters *kdp_flow_meters_create(void);
void kdp_flow_meters_destroy(struct kdp_flow_meters *);

/* Like the dpif functions of the same names on the inner dpif of 'dp'; also
 * remember the meter. */
int kdp_flow_meters_set(struct kdp_datapath *dp, ofproto_meter_id,
                        struct ofputil_meter_config *);
int kdp_flow_meters_del(struct kdp_datapath *dp, ofproto_meter_id,
                        struct ofputil_meter_stats *, uint16_t n_bands);

/* Creates the missing policers in tc, now that offload is on.  'dp' is a
 * struct kdp_datapath.  For struct kdp_tc. */
void kdp_flow_meters_offload(void *dp);

#endif /* lib/dpif-netlink/flow-meters.h */
