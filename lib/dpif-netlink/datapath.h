/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_DPIF_NETLINK_DATAPATH_H
#define KDP_DPIF_NETLINK_DATAPATH_H 1

/* What the files of the dpif provider share: dpif-netlink-kdp.c is the class
 * and the upcalls, ports.c the ports, datapath.c what all dpifs of a
 * datapath share, dpif-netlink/dispatch.c where the kernel sends upcalls to,
 * settings.c what the database says about that, show.c the commands, and
 * dpif-netlink/forward.c the functions that only pass on. */

#include <stdbool.h>

#include "dpif-provider.h"
#include "dpif-netlink/flow-offload.h"
#include "nl/ovs-genl.h"
#include "openvswitch/list.h"
#include "ovs-thread.h"
#include "upcall/upcall-table.h"
#include "vport/vport-table.h"

struct netdev;
struct smap;

/* Type of our dpifs, which Open vSwitch's table of ports knows, too. */
#define KDP_DPIF_TYPE "system"

/* Which socket the kernel sends an upcall to. */
enum kdp_dispatch {
    KDP_PER_PORT,               /* That of the port. */
    KDP_PER_CPU,                /* That of the CPU's handler. */
};

/* User features that say where upcalls go. */
#define KDP_DISPATCH_FEATURES (OVS_DP_F_VPORT_PIDS \
                               | OVS_DP_F_DISPATCH_UPCALL_PER_CPU)

/* A datapath of the kernel as this process uses it. */
struct kdp_datapath {
    struct ovs_list list_node;      /* In the list of all datapaths. */
    int refcount;                   /* Number of dpifs; under that list's
                                     * lock. */
    struct dpif *inner;             /* Of the stock class. */
    char *name;                     /* "system@NAME", for messages. */
    int ifindex;                    /* Of the local port; tells a datapath
                                     * from an earlier one of the same name. */
    struct upcall_table *upcalls;
    struct vport_table *vports;
    ATOMIC(struct kdp_offload *) offload;       /* NULL until it is used. */
    struct kdp_offload_config offload_config;   /* Main thread. */

    struct ovs_mutex mutex;
    struct ovs_genl genl OVS_GUARDED;       /* For requests. */
    struct nl_mcast *mcast OVS_GUARDED;     /* Group "ovs_datapath". */
    uint32_t user_features OVS_GUARDED;     /* OVS_DP_F_* that we want, but
                                             * KDP_DISPATCH_FEATURES. */
    enum kdp_dispatch dispatch OVS_GUARDED; /* As the kernel was told. */
    enum kdp_dispatch wanted_dispatch OVS_GUARDED;
    size_t max_sockets OVS_GUARDED; /* Budget, or 0 for no limit. */
    bool share_noted OVS_GUARDED;   /* That it is used up was logged. */
    uint64_t *share_last OVS_GUARDED; /* By port number: upcalls at the last
                                       * comparison.  NULL before that. */
    long long int balance_at OVS_GUARDED;   /* Next comparison. */
    char *config_max_sockets OVS_GUARDED;
    char *config_dispatch OVS_GUARDED;      /* Settings looked at last, or */
    char *config_engine OVS_GUARDED;        /* NULL. */
    bool linger OVS_GUARDED;        /* Channels of another dispatch mode, or
                                     * of fewer handlers, wait to be empty. */
    long long int linger_at OVS_GUARDED;    /* Not before this time. */
    bool per_cpu_known OVS_GUARDED; /* Kernel can dispatch by CPU. */
    bool recv OVS_GUARDED;          /* Upcalls are on. */
    bool refresh OVS_GUARDED;       /* Compare channels and vports. */
    long long int refresh_at OVS_GUARDED;   /* Not before this time. */
    uint64_t n_restored OVS_GUARDED; /* Times that the features had to be
                                      * restored. */
};

/* Opens datapath 'name', or creates it if 'create' is true.  Returns 0 and a
 * reference, or a positive errno value. */
int kdp_datapath_open(const char *name, bool create, struct kdp_datapath **);

/* Drops a reference.  The last one turns upcalls off. */
void kdp_datapath_close(struct kdp_datapath *);

/* Calls 'cb' for every datapath. */
void kdp_datapath_for_each(void (*cb)(struct kdp_datapath *, void *aux),
                           void *aux);

int kdp_datapath_recv_set(struct kdp_datapath *, bool enable);
int kdp_datapath_handlers_set(struct kdp_datapath *, uint32_t n_handlers);
int kdp_datapath_set_features(struct kdp_datapath *, uint32_t features);

/* Removes all that belongs to port 'port_no', which the kernel no longer
 * has. */
void kdp_datapath_forget_port(struct kdp_datapath *, uint32_t port_no);

/* settings.c.  Takes over what column 'other_config' of table Open_vSwitch
 * says.  Values that it must not have are logged and change nothing. */
void kdp_datapath_set_config(struct kdp_datapath *, const struct smap *);

/* Makes the channels those of the vports that the kernel has.  A port that
 * cannot have a channel gets no upcalls; the others do, and the attempt is
 * repeated. */
int kdp_datapath_refresh__(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* dpif-netlink/dispatch.c, all with the datapath's mutex held. */
uint32_t kdp_dispatch_features(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
const char *kdp_dispatch_name(enum kdp_dispatch);
bool kdp_dispatch_from_name(const char *name, enum kdp_dispatch *);
int kdp_dispatch_add_channel(struct kdp_datapath *dp, uint32_t port_no)
    OVS_REQUIRES(dp->mutex);

/* Dispatches as wanted, now that upcalls are on.  Returns 0 or the error that
 * kept the kernel from dispatching at all. */
int kdp_dispatch_start(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Changes the dispatch mode to the one that is wanted. */
void kdp_dispatch_change(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void kdp_dispatch_handlers_changed(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void kdp_dispatch_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void kdp_dispatch_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* dpif-netlink/socket-budget.c, all with the datapath's mutex held. */

/* The most ports that may have a channel of their own. */
size_t kdp_share_max_own(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
bool kdp_share_has_room(const struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void kdp_share_note(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void kdp_share_run(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);
void kdp_share_wait(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

/* Makes port 'port_no' share, or gives it a channel of its own, and tells the
 * kernel.  Returns 0 or a positive errno value, with which all is as it was,
 * except if it is ENODEV: the port went. */
int kdp_datapath_share_port(struct kdp_datapath *dp, uint32_t port_no,
                            const char *name)
    OVS_REQUIRES(dp->mutex);
int kdp_datapath_own_port(struct kdp_datapath *dp, uint32_t port_no,
                          const char *name)
    OVS_REQUIRES(dp->mutex);

/* Makes channels that are no longer used go when they are empty. */
void kdp_dispatch_linger(struct kdp_datapath *dp)
    OVS_REQUIRES(dp->mutex);

void kdp_datapath_run(struct kdp_datapath *);
void kdp_datapath_wait(struct kdp_datapath *);

/* dpif-netlink/show.c: registers the commands. */
void kdp_show_register(void);

/* A dpif of the class. */
struct dpif_kdp {
    struct dpif dpif;
    struct kdp_datapath *dp;
    struct vport_poller *poller;    /* For port_poll; NULL before that. */
};

extern const struct dpif_class dpif_netlink_kdp_class;

static inline struct dpif_kdp *
dpif_kdp_cast(const struct dpif *dpif)
{
    dpif_assert_class(dpif, &dpif_netlink_kdp_class);
    return CONTAINER_OF(dpif, struct dpif_kdp, dpif);
}

/* The inner dpif of 'dpif'. */
static inline struct dpif *
dpif_kdp_inner(const struct dpif *dpif)
{
    return dpif_kdp_cast(dpif)->dp->inner;
}

#define DPIF_KDP_DECLARE(NAME) \
    extern __typeof__(*((struct dpif_class *) 0)->NAME) dpif_kdp_##NAME

/* dpif-netlink/ports.c: functions of the class about ports. */
DPIF_KDP_DECLARE(port_add);
DPIF_KDP_DECLARE(port_del);
DPIF_KDP_DECLARE(port_get_pid);
DPIF_KDP_DECLARE(port_query_by_number);
DPIF_KDP_DECLARE(port_query_by_name);
DPIF_KDP_DECLARE(port_dump_start);
DPIF_KDP_DECLARE(port_dump_next);
DPIF_KDP_DECLARE(port_dump_done);
DPIF_KDP_DECLARE(port_poll);
DPIF_KDP_DECLARE(port_poll_wait);

/* Name of the netdev type of port 'vport', as stock Open vSwitch gives it. */
const char *kdp_vport_type_name(const struct ovs_vport *vport);

/* dpif-netlink/forward.c: each calls the function of the same name of the
 * inner dpif. */

DPIF_KDP_DECLARE(get_stats);
DPIF_KDP_DECLARE(queue_to_priority);
DPIF_KDP_DECLARE(get_datapath_version);
DPIF_KDP_DECLARE(ct_dump_start);
DPIF_KDP_DECLARE(ct_dump_next);
DPIF_KDP_DECLARE(ct_dump_done);
DPIF_KDP_DECLARE(ct_flush);
DPIF_KDP_DECLARE(ct_set_limits);
DPIF_KDP_DECLARE(ct_get_limits);
DPIF_KDP_DECLARE(ct_del_limits);
DPIF_KDP_DECLARE(ct_set_timeout_policy);
DPIF_KDP_DECLARE(ct_get_timeout_policy);
DPIF_KDP_DECLARE(ct_del_timeout_policy);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_start);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_next);
DPIF_KDP_DECLARE(ct_timeout_policy_dump_done);
DPIF_KDP_DECLARE(ct_get_timeout_policy_name);
DPIF_KDP_DECLARE(ct_get_features);
DPIF_KDP_DECLARE(meter_get_features);
DPIF_KDP_DECLARE(meter_set);
DPIF_KDP_DECLARE(meter_get);
DPIF_KDP_DECLARE(meter_del);
DPIF_KDP_DECLARE(cache_get_supported_levels);
DPIF_KDP_DECLARE(cache_get_name);
DPIF_KDP_DECLARE(cache_get_size);
DPIF_KDP_DECLARE(cache_set_size);

#endif /* lib/dpif-netlink/datapath.h */
