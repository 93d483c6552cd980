/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_COMPAT_DPIF_H
#define KDP_OVS_COMPAT_DPIF_H 1

/* Differences between versions of Open vSwitch: dpif classes
 * ==========================================================
 *
 * The OVS_HAVE_* constants come from build-aux/ovs-features, which looks at
 * the declarations of the tree that is built on.  Each is 1 or 0, so that
 * plain C can test them, too.  lib/ovs/README.md says more.
 *
 * Thread safety: that of Open vSwitch's own function. */

#include <stddef.h>

#include "dpif-netlink-rtnl.h"
#include "dpif-provider.h"
#include "ovs-features.h"
#include "ovs/compat-offload.h"
#if OVS_HAVE_DPIF_OFFLOAD
#include "dpif-offload-provider.h"
#endif

/* Default limit of connections.  Before 3.3, the functions of the dpif class
 * about limits have it as an argument.  Later it is the limit of a special
 * zone in the lists.  Then these expand to nothing; the comma is part of
 * them. */
#if OVS_HAVE_CT_DEFAULT_LIMIT
#define OVS_COMPAT_CT_DEFAULT_PARAM(TYPE) TYPE default_limit,
#define OVS_COMPAT_CT_DEFAULT_ARG default_limit,
#else
#define OVS_COMPAT_CT_DEFAULT_PARAM(TYPE)
#define OVS_COMPAT_CT_DEFAULT_ARG
#endif

/* Member of struct dpif_class, from 3.1.1 to 3.6.  It says that a dump shows a
 * flow once, with the statistics of all its copies, so that the revalidator
 * does not mistake another copy for a new flow.  Expands to its initializer,
 * with a comma. */
#if OVS_HAVE_SYNCED_DP_LAYERS
#define OVS_COMPAT_SYNCED_DP_LAYERS .synced_dp_layers = true,
#else
#define OVS_COMPAT_SYNCED_DP_LAYERS
#endif

/* Does the revalidator keep its data about a flow of a dpif of 'class' when
 * the flow moves?  Before 3.1.1 always; from 3.7 on the offload provider says
 * so. */
static inline bool
ovs_compat_keeps_statistics(const struct dpif_class *class OVS_UNUSED)
{
#if OVS_HAVE_SYNCED_DP_LAYERS
    return class->synced_dp_layers;
#else
    return ovs_compat_offload_is_synced();
#endif
}

/* Does the dpif's number of flows have to include flows that are in tc only?
 * Open vSwitch adds them itself, unless the class has the member above. */
static inline bool
ovs_compat_counts_tc_flows(void)
{
    return OVS_HAVE_SYNCED_DP_LAYERS || OVS_HAVE_DPIF_OFFLOAD;
}

/* Operations.  Until 3.6, those of a dpif class have an argument that says
 * whether they are also for tc.  Later a dpif gets only those that are not for
 * tc alone. */

/* Makes 'inner', of the stock class, carry out 'n_ops' operations in the
 * kernel. */
static inline void
ovs_compat_operate(struct dpif *inner, struct dpif_op **ops, size_t n_ops)
{
#if OVS_HAVE_OPERATE_TYPE
    inner->dpif_class->operate(inner, ops, n_ops, DPIF_OFFLOAD_NEVER);
#else
    inner->dpif_class->operate(inner, ops, n_ops);
#endif
}

/* Additional parameter of such a function, and whether it says that the kernel
 * must not have the flows. */
#if OVS_HAVE_OPERATE_TYPE
#define OVS_COMPAT_OPERATE_PARAM , enum dpif_offload_type offload_type
#define OVS_COMPAT_OPERATE_TC_ONLY (offload_type == DPIF_OFFLOAD_ALWAYS)
#else
#define OVS_COMPAT_OPERATE_PARAM
#define OVS_COMPAT_OPERATE_TC_ONLY false
#endif

/* Dumps of flows.  From 3.7 on the dpif layer itself adds flows in tc from the
 * offload provider.  Ours has none. */

/* Name of the member of struct dpif_flow_dump_types that selects flows in
 * tc. */
#if OVS_HAVE_DPIF_OFFLOAD
#define OVS_COMPAT_TC_FLOWS offloaded_flows
#else
#define OVS_COMPAT_TC_FLOWS netdev_flows
#endif

static inline void
ovs_compat_flow_dump_init(struct dpif_flow_dump *dump, const struct dpif *dpif,
                          bool terse)
{
#if OVS_HAVE_DPIF_OFFLOAD
    struct dpif_flow_dump_types types = { .ovs_flows = true };

    dpif_flow_dump_init(dump, dpif, terse, &types);
#else
    dpif_flow_dump_init(dump, dpif);
    dump->terse = terse;
#endif
}

/* Destroys a dump of the kernel's flows that the class of the dpif made,
 * without the dpif layer. */
static inline int
ovs_compat_flow_dump_destroy(struct dpif_flow_dump *dump)
{
#if OVS_HAVE_DPIF_OFFLOAD
    dpif_offload_flow_dump_destroy(dump);
#endif
    return dump->dpif->dpif_class->flow_dump_destroy(dump);
}

/* The same for a thread of a dump. */
static inline void
ovs_compat_flow_dump_thread_destroy(struct dpif *dpif,
                                    struct dpif_flow_dump_thread *thread)
{
#if OVS_HAVE_DPIF_OFFLOAD
    dpif_offload_flow_dump_thread_destroy(thread);
#endif
    dpif->dpif_class->flow_dump_thread_destroy(thread);
}

/* Members of struct dpif_class: the one for dpctl/offload-stats-show, until
 * 3.6 (later the offload provider has it), and the one for the user features
 * of the datapath, since 3.7.  Expand to their initializers, with a comma. */
#if OVS_HAVE_DPIF_OFFLOAD
#define OVS_COMPAT_OFFLOAD_STATS_GET(FUNCTION)
#else
#define OVS_COMPAT_OFFLOAD_STATS_GET(FUNCTION) .offload_stats_get = FUNCTION,
#endif
#if OVS_HAVE_DPIF_GET_FEATURES
#define OVS_COMPAT_GET_FEATURES(FUNCTION) .get_features = FUNCTION,
#else
#define OVS_COMPAT_GET_FEATURES(FUNCTION)
#endif

/* Returns the user features of the datapath of 'inner', of the stock class. */
static inline uint32_t
ovs_compat_get_features(struct dpif *inner OVS_UNUSED)
{
#if OVS_HAVE_DPIF_GET_FEATURES
    return inner->dpif_class->get_features(inner);
#else
    return 0;
#endif
}

/* Sets the port id of the socket that 'upcall' was received from, which is
 * passed back to the kernel when packets are executed for the upcall.  Since
 * 3.6. */
static inline void
ovs_compat_upcall_set_pid(struct dpif_upcall *upcall OVS_UNUSED,
                          uint32_t pid OVS_UNUSED)
{
#if OVS_HAVE_UPCALL_PID
    upcall->pid = pid;
#endif
}

/* Tunnels as devices, which rtnetlink creates and destroys.  Each returns 0 or
 * a positive errno value. */
static inline int
ovs_compat_tunnel_create(struct netdev *netdev)
{
#if OVS_HAVE_RTNL_PORT_CREATE
    return dpif_netlink_rtnl_port_create(netdev);
#else
    return dpif_netlink_rtnl_tunnel_create(netdev);
#endif
}

static inline int
ovs_compat_tunnel_destroy(const char *name, const char *type)
{
#if OVS_HAVE_RTNL_PORT_CREATE
    return dpif_netlink_rtnl_port_destroy(name, type);
#else
    return dpif_netlink_rtnl_tunnel_destroy(name, type);
#endif
}

/* Types of vports that only the openvswitch module of Open vSwitch's own tree
 * knows, as entries of an array of names. */
#if OVS_HAVE_VPORT_LISP
#define OVS_COMPAT_VPORT_TYPES \
    [OVS_VPORT_TYPE_LISP] = "lisp", \
    [OVS_VPORT_TYPE_STT] = "stt",
#else
#define OVS_COMPAT_VPORT_TYPES
#endif

/* Is the openvswitch module the one in Open vSwitch's own tree, which creates
 * tunnels itself?  It is not supported from 3.7 on. */
static inline bool
ovs_compat_probe_tunnels_out_of_tree(void)
{
#if OVS_HAVE_RTNL_PORT_CREATE
    return dpif_netlink_rtnl_probe_oot_tunnels();
#else
    return false;
#endif
}

#endif /* lib/ovs/compat-dpif.h */
