/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DATAPATH_H
#define KDP_DPIF_NETLINK_DATAPATH_H 1

/* A datapath of the kernel as this process uses it
 * ================================================
 *
 * All dpifs of a datapath share an inner dpif of the stock class, the tables
 * of upcall channels and of vports, and a connection for requests to the
 * kernel.
 *
 * The files above this one do most of the work.  Each keeps its state behind
 * one of the pointers in the structure, and no other file follows that
 * pointer.
 *
 * Life cycle: see datapaths.h, which also has the list of datapaths.
 *
 * Thread safety
 * -------------
 *
 *      inner, name, ifindex,
 *      lost_before             constant
 *      upcalls, vports         constant; see upcall-table.h, vport-table.h
 *      genl, user_features,
 *      per_cpu_known           under the mutex
 *      parts                   as their headers say; all of them are set up
 *                              before the datapath is known to others */

#include <stdbool.h>
#include <stdint.h>

#include "dpif-provider.h"
#include "nl/ovs-genl.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "upcall/upcall-table.h"
#include "vport/vport-table.h"

struct dispatch;
struct kdp_flow_engine;
struct kdp_flow_meters;
struct kdp_flow_offload;
struct settings;
struct socket_budget;
struct flow_chains;
struct takeover;
struct takeover_ports;
struct upcall_dests;
struct upcall_queues;
struct upcall_sync;

/* Type of our dpifs, "system".  Open vSwitch's table of ports
 * (ovs/compat-offload.h) compares types by address, so all code must use this
 * string. */
extern const char kdp_dpif_type[];

/* User features that say where upcalls go. */
#define KDP_DISPATCH_FEATURES (OVS_DP_F_VPORT_PIDS \
                               | OVS_DP_F_DISPATCH_UPCALL_PER_CPU)

struct kdp_datapath {
    struct dpif *inner;             /* Dpif of the stock class. */
    char *name;                     /* "system@NAME", for messages. */
    int ifindex;                    /* Interface index of the local port; tells
                                     * a datapath from an earlier one of the
                                     * same name. */
    uint64_t lost_before;           /* Upcalls that the kernel lost before this
                                     * process opened the datapath. */
    struct upcall_table *upcalls;
    struct vport_table *vports;

    struct ovs_mutex mutex;
    struct ovs_genl genl OVS_GUARDED;       /* For requests. */
    uint32_t user_features OVS_GUARDED;     /* OVS_DP_F_* that we want, without
                                             * KDP_DISPATCH_FEATURES. */
    bool per_cpu_known OVS_GUARDED; /* The kernel can dispatch by CPU. */

    /* Parts. */
    struct upcall_dests *dests;         /* upcall-dest.h. */
    struct socket_budget *budget;       /* socket-budget.h. */
    struct upcall_queues *queues;       /* upcall-queues.h. */
    struct upcall_sync *sync;           /* upcall-sync.h. */
    struct dispatch *dispatch;          /* dispatch.h. */
    struct settings *settings;          /* settings.h. */
    struct takeover *takeover;          /* takeover.h. */
    OVSRCU_TYPE(struct flow_chains *) chains;   /* Chains of a previous run, or
                                                 * NULL; see flow-chains.h. */
    struct takeover_ports *takeover_ports;      /* takeover-ports.h. */
    ATOMIC(struct kdp_flow_engine *) engine;    /* flow-engine.h. */
    struct kdp_flow_offload *offload;   /* flow-offload.h. */
    struct kdp_flow_meters *meters;     /* flow-offload.c. */

    struct ovs_list list_node;      /* datapaths.c. */
    int refcount;                   /* datapaths.c. */
};

/* _set_shadow() says whether this process is in the shadow of another one,
 * which serves the datapaths.  Then nothing that bridges do may disturb the
 * other process.  The main thread calls _set_shadow(); any thread may call the
 * other function. */
void kdp_datapath_set_shadow(bool);
bool kdp_datapath_is_shadow(void);

/* Opens datapath 'name' of the kernel, after creating it if 'create' is true,
 * and stores it in '*dpp', without parts.  Returns 0 or a positive errno
 * value. */
int kdp_datapath_create(const char *name, bool create,
                        struct kdp_datapath **dpp);

/* Frees 'dp'.  The caller has freed the parts. */
void kdp_datapath_destroy(struct kdp_datapath *dp);

/* Number of upcalls that the kernel has lost since this process opened the
 * datapath, for whatever reason, or 0 if the kernel does not say.  Makes a
 * request to the kernel. */
uint64_t kdp_datapath_n_lost(const struct kdp_datapath *dp);

/* Returns the recirculation chains of a previous run that still forward, or
 * NULL.  The result is valid until the calling thread is quiescent.  Any
 * thread. */
static inline struct flow_chains *
kdp_datapath_chains(const struct kdp_datapath *dp)
{
    return ovsrcu_get(struct flow_chains *, &dp->chains);
}

/* True if 'dp' is the kernel's present datapath called 'name'. */
bool kdp_datapath_is_current(struct kdp_datapath *dp, const char *name);

#endif /* lib/dpif-netlink/datapath.h */
