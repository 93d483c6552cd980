/* SPDX-License-Identifier: Apache-2.0 */

#ifndef KDP_OVS_GENL_H
#define KDP_OVS_GENL_H 1

/* Requests to the openvswitch kernel module
 * =========================================
 *
 * The part of the module's generic netlink interface that decides where
 * upcalls go: the user features of a datapath and the netlink port ids of its
 * vports.  Also the deletion of all flows.  The kernel sends an upcall
 *
 *   - to the netlink port id of the vport that received the packet, if the
 *     datapath has OVS_DP_F_VPORT_PIDS and not the following feature;
 *   - to the id that OVS_DP_ATTR_PER_CPU_PIDS gives for the CPU that received
 *     the packet, if it has OVS_DP_F_DISPATCH_UPCALL_PER_CPU (Linux 5.15);
 *   - nowhere, counting the packet as lost, if that id is 0 or unused.
 *
 * A datapath keeps its ids for CPUs even while it dispatches by vport.  Every
 * OVS_DP_CMD_SET that carries user features replaces all of them, whoever
 * sends it.
 *
 * Thread safety: a "struct ovs_genl" belongs to one thread at a time (see
 * nl-conn.h).  Functions block until the kernel has answered. */

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "nl/nl-conn.h"

struct ovs_genl {
    struct nl_conn *conn;
    struct genl_family datapath;    /* With multicast group "ovs_datapath". */
    struct genl_family vport;       /* With multicast group "ovs_vport". */
    struct genl_family packet;
    struct genl_family flow;
};

/* Opens a connection and looks the families up.  Returns 0, ENOENT if the
 * openvswitch module is not loaded, or another positive errno value.  On
 * failure there is nothing to close. */
int ovs_genl_open(struct ovs_genl *);
void ovs_genl_close(struct ovs_genl *);

/* Datapaths. */
struct ovs_datapath {
    int ifindex;                    /* Of the datapath's local port. */
    char name[IFNAMSIZ];
    uint32_t user_features;         /* OVS_DP_F_*. */
};

/* Parses 'nlh', a message of the datapath family.  Returns 0 or EINVAL. */
int ovs_datapath_parse(const struct nlmsghdr *nlh, struct ovs_datapath *);

/* Requests the datapath called 'name'.  ENODEV if there is none. */
int ovs_datapath_get(struct ovs_genl *, const char *name,
                     struct ovs_datapath *);

/* Replaces the user features of datapath 'ifindex' by 'user_features'.  If
 * 'n_pids' is not 0, sets the netlink port ids of the CPUs with numbers 0 to
 * 'n_pids - 1' to 'pids', which the kernel accepts only together with
 * OVS_DP_F_DISPATCH_UPCALL_PER_CPU.  Stores the outcome in '*dp' if that is
 * not NULL.  EOPNOTSUPP if the kernel does not support one of the features. */
int ovs_datapath_set_features(struct ovs_genl *, int ifindex,
                              uint32_t user_features, const uint32_t pids[],
                              size_t n_pids, struct ovs_datapath *dp);

/* Deletes all flows of datapath 'ifindex'.  ENODEV if there is no such
 * datapath. */
int ovs_flow_flush(struct ovs_genl *, int ifindex);

/* Vports. */
struct ovs_vport {
    uint8_t cmd;                    /* OVS_VPORT_CMD_*. */
    int dp_ifindex;
    uint32_t port_no;
    uint32_t type;                  /* OVS_VPORT_TYPE_*. */
    char name[IFNAMSIZ];
    uint32_t n_pids;                /* Number of netlink port ids. */
    uint32_t pid;                   /* First of them. */
    int ifindex;                    /* Of the device, or 0 if unknown. */
    int32_t nsid;                   /* Id of the device's namespace, or
                                     * OVS_VPORT_LOCAL or NL_NSID_NONE. */
};

/* In struct ovs_vport: the device is in the datapath's own namespace.  An id
 * of NL_NSID_NONE means that it is in another namespace that has no id. */
#define OVS_VPORT_LOCAL INT32_MIN

/* The kernel accepts port numbers below this one. */
#define OVS_VPORT_MAX_PORTS 65535

/* Parses 'nlh', a message of the vport family.  Returns 0 or EINVAL. */
int ovs_vport_parse(const struct nlmsghdr *nlh, struct ovs_vport *);

/* Creates the vport that 'dp_ifindex', 'type', 'name' and 'port_no' of
 * '*vport' describe (port number UINT32_MAX lets the kernel choose).  Its
 * upcalls go to the 'n_pids' netlink port ids 'pids', as with
 * ovs_vport_set_pids().  'options' are the type's options, 'options_len' bytes
 * of attributes.  On success stores the new vport in '*vport'.  EBUSY if
 * 'port_no' is taken. */
int ovs_vport_new(struct ovs_genl *, struct ovs_vport *vport,
                  const uint32_t pids[], size_t n_pids,
                  const void *options, size_t options_len);

/* Requests port 'port_no' of datapath 'dp_ifindex', or the port whose device
 * is called 'name'.  ENODEV if there is none.  A device that was renamed after
 * it became a port can be found by its number only. */
int ovs_vport_get_by_number(struct ovs_genl *, int dp_ifindex,
                            uint32_t port_no, struct ovs_vport *);
int ovs_vport_get_by_name(struct ovs_genl *, int dp_ifindex, const char *name,
                          struct ovs_vport *);

/* Stores the netlink port ids of port 'port_no' in 'pids', which has room for
 * 'max', and their number in '*n'.  ENODEV if there is no such port, E2BIG if
 * there are more. */
int ovs_vport_get_pids(struct ovs_genl *, int dp_ifindex, uint32_t port_no,
                       uint32_t pids[], size_t max, size_t *n);

/* Sends the upcalls of port 'port_no' to the 'n' netlink port ids 'pids', at
 * least one; a hash of the packet chooses one of them.  A single id of 0 stops
 * upcalls.  ENODEV if there is no such port.  EINVAL if there are more than
 * the kernel accepts. */
int ovs_vport_set_pids(struct ovs_genl *, int dp_ifindex, uint32_t port_no,
                       const uint32_t pids[], size_t n);

/* Deletes port 'port_no'. */
int ovs_vport_del(struct ovs_genl *, int dp_ifindex, uint32_t port_no);

/* Calls 'cb' with every vport of datapath 'dp_ifindex' until it returns a
 * value other than 0, which is then returned.  Does not repeat interrupted
 * dumps: the module does not detect them, and its multicast group announces
 * what has changed meanwhile. */
typedef int ovs_vport_func(const struct ovs_vport *, void *aux);
int ovs_vport_dump(struct ovs_genl *, int dp_ifindex, ovs_vport_func *cb,
                   void *aux);

#endif /* lib/nl/ovs-genl.h */
