/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_KDP_OFFLOAD_PRIVATE_H
#define KDP_KDP_OFFLOAD_PRIVATE_H 1

/* What the files of kdp-offload.h share. */

#include "kdp-offload.h"
#include "netlink-socket.h"
#include "offload/offload.h"
#include "openvswitch/hmap.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tc.h"

struct netdev;
struct ofpbuf;

/* The tc side of a datapath: kdp-offload-tc.c.
 *
 * Rules are made and deleted by the flow API of Open vSwitch, which remembers
 * them by ufid.  Those that a previous run left it does not know; they are
 * read and deleted by what tc calls them.
 *
 * Thread safety: any thread, see struct offload_backend. */
struct kdp_tc {
    const char *dpif_type;      /* As netdev_ports_get() needs it. */
    bool recirc_sharing;        /* Tc's chains are known to the datapath. */

    struct ovs_mutex mutex;
    struct hmap rules OVS_GUARDED;      /* By ufid. */
};

void kdp_tc_init(struct kdp_tc *, bool recirc_sharing);
void kdp_tc_destroy(struct kdp_tc *);
struct offload_backend kdp_tc_backend(struct kdp_tc *);

/* Goes through the rules of ours on a port. */
struct kdp_tc_dump {
    struct nl_dump nl_dump;
    struct tcf_id id;
    bool terse;
};

struct kdp_tc_rule {
    ovs_u128 ufid;
    struct tcf_id id;
    struct offload_stats stats;
    bool in_hw;
};

/* Starts going through the rules of port 'port_no'.  A 'terse' dump has no
 * times of use.  Returns 0 or a positive errno value. */
int kdp_tc_dump_start(struct kdp_tc *, uint32_t port_no, bool terse,
                      struct kdp_tc_dump *);

/* Returns false if there are no more.  'buffer', of NL_DUMP_BUFSIZE bytes,
 * belongs to one thread for one dump. */
bool kdp_tc_dump_next(struct kdp_tc_dump *, struct ofpbuf *buffer,
                      struct kdp_tc_rule *);
int kdp_tc_dump_done(struct kdp_tc_dump *);

/* Name of rules of 'netdev', a device whose index is 'ifindex'. */
struct tcf_id kdp_tc_id(struct netdev *netdev, int ifindex);

/* Offload of a datapath. */
struct kdp_offload {
    struct kdp_datapath *dp;
    struct offload *engine;
    struct kdp_tc tc;
    atomic_bool ports_dirty;    /* Compare the ports. */

    /* Main thread. */
    struct hmap ports;          /* Those that the engine has. */
    bool enabled;
};

/* Description of a flow, with a reference for the caller.  The attributes are
 * copied. */
struct offload_desc *kdp_offload_desc(
    const ovs_u128 *ufid, const struct nlattr *key, size_t key_len,
    const struct nlattr *mask, size_t mask_len, const struct nlattr *actions,
    size_t actions_len);

/* The kernel side, whose 'aux' is a struct kdp_offload. */
struct offload_kernel kdp_offload_kernel(struct kdp_offload *);

void kdp_stats_from_dpif(const struct dpif_flow_stats *,
                         struct offload_stats *);
void kdp_stats_to_dpif(const struct offload_stats *,
                       struct dpif_flow_stats *);

/* kdp-offload-api.c */
void kdp_offload_api_register(void);

/* kdp-offload-show.c */
void kdp_offload_show_register(void);

#endif /* lib/kdp-offload-private.h */
