/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_FLOW_METERS_H
#define KDP_DPIF_NETLINK_FLOW_METERS_H 1

/* Meters of a datapath, for tc
 * ============================
 *
 * Tc has a policer for each meter, which Open vSwitch makes and changes
 * together with the meter, if offload is on at that time.  Those that were
 * made before are remembered here, and made in tc when offload begins, by an
 * offload thread before the first flow is offered (kdp_flow_meters_offload()).
 * Each time that there is another meter for flows to use, the engine is told,
 * which may have been refused flows without it.
 *
 * Thread safety: any thread.  A mutex is held while a meter is changed, so
 * that one does not come twice: who changes one may wait for tc as long as it
 * takes for one more. */

#include <stdint.h>

#include "openvswitch/ofp-meter.h"

struct dpif;
struct kdp_datapath;
struct kdp_flow_meters;

struct kdp_flow_meters *kdp_flow_meters_create(void);
void kdp_flow_meters_destroy(struct kdp_flow_meters *);

/* Do what the dpif functions of those names do on the inner dpif of 'dp', and
 * take note of it. */
int kdp_flow_meters_set(struct kdp_datapath *dp, ofproto_meter_id,
                        struct ofputil_meter_config *);
int kdp_flow_meters_del(struct kdp_datapath *dp, ofproto_meter_id,
                        struct ofputil_meter_stats *, uint16_t n_bands);

/* Makes the meters in tc that are not there, now that offload is on.  'dp' is
 * a struct kdp_datapath.  For struct kdp_tc. */
void kdp_flow_meters_offload(void *dp);

#endif /* lib/dpif-netlink/flow-meters.h */
