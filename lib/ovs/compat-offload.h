/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_OFFLOAD_H
#define KDP_OVS_COMPAT_OFFLOAD_H 1

/* Differences between versions of Open vSwitch: offload to tc
 * ===========================================================
 *
 * Open vSwitch has code that translates flows into rules of tc and back, and a
 * list of the ports that rules may name.  Until 3.6 these are the flow API of
 * tc and a table of ports for each type of datapath (netdev-offload.h).  From
 * 3.7 on they are an offload provider; each datapath has one with its own
 * ports (dpif-offload-provider.h).
 *
 * ovs-kdp uses the translation.  The offload engine, which is a part of the
 * dpif on each version, does everything else with tc: the provider claims to
 * have no flows of its own (DPIF_OFFLOAD_IMPL_FLOWS_DPIF_SYNCED).  Its list of
 * ports is used.
 *
 * Life cycle: ovs_compat_offload_register() replaces the stock functions by
 * ours, before a datapath is opened.  The bridge, and from 3.7 on the dpif
 * layer, add and delete ports.
 *
 * Thread safety: any thread, except _register(), _enable(), _prepare(), and
 * the functions for tests, which are for the main thread.  A returned netdev
 * has a reference of its own. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "openvswitch/ofp-meter.h"
#include "openvswitch/types.h"

struct dpif_flow_attrs;
struct dpif_flow_stats;
struct match;
struct netdev;
struct netdev_custom_stats;
struct nlattr;
struct ofpbuf;

/* Ports that tc may have rules for or to. */

/* Returns the device of port 'port_no' of a datapath of type 'dpif_type', for
 * the caller to close, or NULL. */
struct netdev *ovs_compat_ports_get(odp_port_t port_no,
                                    const char *dpif_type);

/* Calls 'cb' for each port of datapaths of type 'dpif_type' until it returns
 * true. */
void ovs_compat_ports_traverse(const char *dpif_type,
                               bool (*cb)(struct netdev *, odp_port_t port_no,
                                          void *aux),
                               void *aux);

/* Is the device with index 'ifindex' a port of a datapath? */
bool ovs_compat_ports_has_device(int ifindex);

/* May flows be translated for 'netdev'?  They may if it has been prepared. */
bool ovs_compat_offload_is_prepared(const struct netdev *netdev);

/* Was offload turned on since the process started? */
bool ovs_compat_offload_is_enabled(void);

/* Translation. */

/* Translates a flow, which Open vSwitch then sends to tc by nl_transact().
 * Returns 0 or an errno value, which may be negative. */
int ovs_compat_flow_put(struct netdev *, struct match *,
                        struct nlattr *actions, size_t actions_len,
                        const ovs_u128 *ufid, bool recirc_sharing);

/* Adds meter 'id' to tc, or changes it. */
void ovs_compat_meter_set(ofproto_meter_id id, struct ofputil_meter_config *);

/* Goes through the rules of port 'port_no', translated back. */
struct ovs_compat_rule_dump;
struct ovs_compat_rule_dump *ovs_compat_rule_dump_create(struct netdev *,
                                                         odp_port_t port_no);
bool ovs_compat_rule_dump_next(struct ovs_compat_rule_dump *, struct match *,
                               struct nlattr **actions,
                               struct dpif_flow_stats *,
                               struct dpif_flow_attrs *, ovs_u128 *ufid,
                               struct ofpbuf *rbuffer, struct ofpbuf *wbuffer);
void ovs_compat_rule_dump_destroy(struct ovs_compat_rule_dump *);

/* Preparing devices. */

/* The stock preparation: finds out, the first time, what the kernel supports,
 * and removes all rules from 'netdev'.  Returns 0 or a positive errno
 * value. */
int ovs_compat_offload_stock_init(struct netdev *);

/* Replacements for it.  All members are required. */
struct ovs_compat_offload_class {
    /* Prepares 'netdev' for rules.  Returns 0 or a positive errno value. */
    int (*init)(struct netdev *);

    /* Number of rules on 'netdev'. */
    uint64_t (*count)(struct netdev *);

    /* Fills '*stats' in for datapath 'dpif_name', such as "system@NAME".  From
     * 3.7 on; before, a function of the dpif class returns them.  Returns 0 or
     * a positive errno value. */
    int (*stats)(const char *dpif_name, struct netdev_custom_stats *stats);
};

/* Returns 0 or a positive errno value.  'class' must be constant. */
int ovs_compat_offload_register(const struct ovs_compat_offload_class *class);

/* Does the revalidator recognise a flow that moves between the kernel and tc,
 * as far as that depends on the provider? */
bool ovs_compat_offload_is_synced(void);

/* For tests, which have no bridge and no dpif layer. */

/* Turns offload on. */
void ovs_compat_offload_enable(void);

/* Prepares 'netdev' like a port that is added.  Returns 0 or a positive errno
 * value. */
int ovs_compat_offload_prepare(struct netdev *);

/* Says that 'netdev' has been prepared, or not. */
void ovs_compat_offload_set_prepared(struct netdev *, bool prepared);

/* Adds and removes ports of type "system", of a datapath that does not exist.
 * Both return 0 or a positive errno value. */
int ovs_compat_ports_insert(struct netdev *, odp_port_t port_no);
int ovs_compat_ports_remove(odp_port_t port_no, const char *dpif_type);

#endif /* lib/ovs/compat-offload.h */
