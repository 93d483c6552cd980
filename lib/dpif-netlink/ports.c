/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/ports.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink.h"
#include "dpif-netlink/datapath.h"
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/upcall-dest.h"
#include "dpif-netlink/upcall-queues.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-linux.h"
#include "netdev-vport.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-dpif.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_ports);

/* ethtool's flag for large receive offload, under its old name. */
#ifndef ETH_FLAG_LRO
#define ETH_FLAG_LRO (1 << 15)
#endif

/* Adding. */

/* Creates a vport, and the sockets for its upcalls. */
static int
add_vport(struct kdp_datapath *dp, const char *name, enum ovs_vport_type type,
          const struct ofpbuf *options, odp_port_t *port_no)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
    struct ovs_vport vport = {
        .dp_ifindex = dp->ifindex,
        .port_no = odp_to_u32(*port_no),
        .type = type,
    };
    unsigned int max_queues = upcall_dest_max_queues(dp);
    struct upcall_dest_new dest;
    unsigned int n_queues = 0;
    int error;

    if (strlen(name) >= sizeof vport.name) {
        return ENAMETOOLONG;
    }
    ovs_strlcpy(vport.name, name, sizeof vport.name);
    if (dispatch_is_on(dp)) {
        n_queues = upcall_queues_admit(dp, name, type);
    }
    error = upcall_dest_prepare(dp, n_queues, name, &dest);
    if (error) {
        VLOG_WARN_RL(&rl, "%s: port %s is not added: no socket for its "
                     "upcalls (%s)", dp->name, name, ovs_strerror(error));
        return error;
    }

    do {
        error = ovs_vport_new(&dp->genl, &vport, dest.pids, dest.n_pids,
                              options ? options->data : NULL,
                              options ? options->size : 0);
    } while (upcall_dest_refused(dp, &dest, error));
    if (error) {
        upcall_dest_allow(dp, max_queues);
        if (error == EBUSY && *port_no != ODPP_NONE) {
            VLOG_INFO("%s: requested port %"PRIu32" is in use", dp->name,
                      *port_no);
        }
        goto error;
    }

    error = upcall_dest_commit(dp, &dest, vport.port_no, name);
    if (error) {
        VLOG_WARN("%s: could not add channel for port %s (%s)", dp->name,
                  name, ovs_strerror(error));
        ovs_vport_del(&dp->genl, dp->ifindex, vport.port_no);
        goto error;
    }
    upcall_queues_port_added(dp, vport.port_no, name, vport.type);
    *port_no = u32_to_odp(vport.port_no);
    return 0;

error:
    upcall_dest_abort(&dest);
    return error;
}

/* Adds tunnel 'netdev' as a device created with rtnetlink.  Returns EOPNOTSUPP
 * if it is not a tunnel, or the kernel cannot create that tunnel as a
 * device. */
static int
add_as_device(struct kdp_datapath *dp, struct netdev *netdev,
              odp_port_t *port_no)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);
    char namebuf[NETDEV_VPORT_NAME_BUFSIZE];
    const char *name;
    int error;

    error = ovs_compat_tunnel_create(netdev);
    if (error) {
        if (error != EOPNOTSUPP) {
            VLOG_WARN_RL(&rl, "Failed to create %s with rtnetlink: %s",
                         netdev_get_name(netdev), ovs_strerror(error));
        }
        return error;
    }

    name = netdev_vport_get_dpif_port(netdev, namebuf, sizeof namebuf);
    error = add_vport(dp, name, OVS_VPORT_TYPE_NETDEV, NULL, port_no);
    if (error) {
        ovs_compat_tunnel_destroy(name, netdev_get_type(netdev));
    }
    return error;
}

/* Appends the options for a tunnel that the openvswitch module itself
 * creates. */
static void
put_tunnel_options(const struct netdev_tunnel_config *config,
                   struct ofpbuf *options)
{
    if (config->dst_port) {
        nl_msg_put_u16(options, OVS_TUNNEL_ATTR_DST_PORT,
                       ntohs(config->dst_port));
    }
    if (config->exts) {
        size_t start = nl_msg_start_nested(options, OVS_TUNNEL_ATTR_EXTENSION);

        for (int i = 0; i < 32; i++) {
            if (config->exts & UINT32_C(1) << i) {
                nl_msg_put_flag(options, i);
            }
        }
        nl_msg_end_nested(options, start);
    }
}

/* Adds 'netdev' as a vport of its own type. */
static int
add_as_vport(struct kdp_datapath *dp, struct netdev *netdev,
             odp_port_t *port_no)
    OVS_REQUIRES(dp->mutex)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);
    const struct netdev_tunnel_config *config;
    const char *type = netdev_get_type(netdev);
    enum ovs_vport_type vport_type = netdev_to_ovs_vport_type(type);
    char namebuf[NETDEV_VPORT_NAME_BUFSIZE];
    uint64_t options_stub[64 / 8];
    struct ofpbuf options;
    const char *name;
    int error;

    name = netdev_vport_get_dpif_port(netdev, namebuf, sizeof namebuf);
    if (vport_type == OVS_VPORT_TYPE_UNSPEC) {
        VLOG_WARN_RL(&rl, "%s: cannot create port `%s' because it has "
                     "unsupported type `%s'", dp->name, name, type);
        return EINVAL;
    }
    if (vport_type == OVS_VPORT_TYPE_NETDEV) {
        /* Packets merged on reception could not be forwarded. */
        netdev_linux_ethtool_set_flag(netdev, ETH_FLAG_LRO, "LRO", false);
    }

    ofpbuf_use_stub(&options, options_stub, sizeof options_stub);
    config = netdev_get_tunnel_config(netdev);
    if (config) {
        put_tunnel_options(config, &options);
    }
    error = add_vport(dp, name, vport_type, &options, port_no);
    ofpbuf_uninit(&options);
    return error;
}

static bool out_of_tree;

static void
probe_out_of_tree(void)
{
    out_of_tree = ovs_compat_probe_tunnels_out_of_tree();
}

/* True if the openvswitch module creates tunnels itself instead of devices of
 * their own, as the module of the Open vSwitch project once did. */
static bool
tunnels_out_of_tree(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, probe_out_of_tree);
    return out_of_tree;
}

int
ports_add(struct kdp_datapath *dp, struct netdev *netdev, odp_port_t *port_no)
{
    long long int start = kdp_rtnl_begin();
    int error;

    ovs_mutex_lock(&dp->mutex);
    error = (tunnels_out_of_tree()
             ? EOPNOTSUPP : add_as_device(dp, netdev, port_no));
    if (error) {
        error = add_as_vport(dp, netdev, port_no);
    }
    ovs_mutex_unlock(&dp->mutex);
    vport_table_expire(dp->vports);

    /* A device may have been created with the port, or changed. */
    kdp_rtnl_end(KDP_RTNL_PORT_ADD, start);
    kdp_links_catch_up();
    kdp_flow_offload_ports_changed(dp);
    return error;
}

/* Name of the netdev type of 'vport', as in stock Open vSwitch. */
static const char *
type_name(const struct ovs_vport *vport)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);
    static const char *const types[] = {
        [OVS_VPORT_TYPE_INTERNAL] = "internal",
        [OVS_VPORT_TYPE_GRE] = "gre",
        [OVS_VPORT_TYPE_VXLAN] = "vxlan",
        [OVS_VPORT_TYPE_GENEVE] = "geneve",
        OVS_COMPAT_VPORT_TYPES
        [OVS_VPORT_TYPE_ERSPAN] = "erspan",
        [OVS_VPORT_TYPE_IP6ERSPAN] = "ip6erspan",
        [OVS_VPORT_TYPE_IP6GRE] = "ip6gre",
        [OVS_VPORT_TYPE_GTPU] = "gtpu",
        [OVS_VPORT_TYPE_BAREUDP] = "bareudp",
    };

    if (vport->type == OVS_VPORT_TYPE_NETDEV) {
        const char *type = netdev_get_type_from_name(vport->name);

        return type ? type : "system";
    } else if (vport->type < ARRAY_SIZE(types) && types[vport->type]) {
        return types[vport->type];
    }
    VLOG_WARN_RL(&rl, "dp%d: port `%s' has unsupported type %"PRIu32,
                 vport->dp_ifindex, vport->name, vport->type);
    return "unknown";
}

/* Deleting. */

int
ports_del(struct kdp_datapath *dp, odp_port_t port_no_)
{
    uint32_t port_no = odp_to_u32(port_no_);
    struct ovs_vport vport;
    int error;

    error = vport_table_get_by_number(dp->vports, port_no, &vport);
    if (error && error != ENODEV) {
        return error;           /* The port may exist and need its channel. */
    }
    kdp_flow_offload_port_del(dp, port_no);
    if (!error) {
        long long int start = kdp_rtnl_begin();

        ovs_mutex_lock(&dp->mutex);
        error = ovs_vport_del(&dp->genl, dp->ifindex, port_no);
        ovs_mutex_unlock(&dp->mutex);
        kdp_rtnl_end(KDP_RTNL_PORT_DEL, start);
        vport_table_expire(dp->vports);
        if_notifier_kdp_catch_up();
        if (error == ENODEV) {
            vport_table_recheck(dp->vports, port_no);
        } else if (error) {
            return error;       /* The port exists and needs its channel. */
        }
        if (vport.nsid == OVS_VPORT_LOCAL) {
            kdp_flow_offload_was_port(dp, vport.ifindex);
        }
    }
    ovs_mutex_lock(&dp->mutex);
    upcall_queues_port_gone(dp, port_no);
    ovs_mutex_unlock(&dp->mutex);
    if (!error && !tunnels_out_of_tree()) {
        error = ovs_compat_tunnel_destroy(vport.name, type_name(&vport));
        error = error == EOPNOTSUPP ? 0 : error;
    }
    return error;
}

/* Queries. */

/* Ends a query with result 'error' and 'vport'. */
static int
port_query_end(int error, const struct ovs_vport *vport,
               struct dpif_port *port)
{
    if (!error && port) {
        port->name = xstrdup(vport->name);
        port->type = xstrdup(type_name(vport));
        port->port_no = u32_to_odp(vport->port_no);
    }
    return error;
}

int
ports_query_by_number(const struct kdp_datapath *dp, odp_port_t port_no,
                      struct dpif_port *port)
{
    struct ovs_vport vport;
    int error = vport_table_get_by_number(dp->vports, odp_to_u32(port_no),
                                          &vport);

    return port_query_end(error, &vport, port);
}

int
ports_query_by_name(const struct kdp_datapath *dp, const char *devname,
                    struct dpif_port *port)
{
    struct ovs_vport vport;
    int error = vport_table_get_by_name(dp->vports, devname, &vport);

    return port_query_end(error, &vport, port);
}

/* Dumps. */

struct ports_dump {
    struct ovs_vport *vports;
    size_t n;
    size_t next;
    int error;                  /* Error of listing the ports. */
};

struct ports_dump *
ports_dump_start(struct kdp_datapath *dp)
{
    struct ports_dump *dump = xzalloc(sizeof *dump);

    /* As in the stock class, a dump that fails starts and is empty: when a
     * datapath is destroyed, its ports are listed once more. */
    dump->error = vport_table_list(dp->vports, &dump->vports, &dump->n);
    return dump;
}

int
ports_dump_next(struct ports_dump *dump, struct dpif_port *port)
{
    struct ovs_vport *vport;

    if (dump->next >= dump->n) {
        return EOF;
    }
    vport = &dump->vports[dump->next++];
    port->name = vport->name;
    port->type = CONST_CAST(char *, type_name(vport));
    port->port_no = u32_to_odp(vport->port_no);
    return 0;
}

int
ports_dump_done(struct ports_dump *dump)
{
    int error = dump->error;

    free(dump->vports);
    free(dump);
    return error;
}
