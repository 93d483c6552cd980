/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/takeover-ports.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/ports.h"
#include "dpif-netlink/takeover.h"
#include "netdev-linux/links.h"
#include "netdev-linux/rtnl-count.h"
#include "netdev-vport.h"
#include "netdev.h"
#include "odp-util.h"
#include "openvswitch/list.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-dpif.h"
#include "ovs-thread.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_takeover_ports);

struct takeover_ports {
    struct ovs_mutex mutex;
    struct ovs_list kept OVS_GUARDED;   /* Contains "struct kept_port". */
};

/* A port that the bridge has deleted but the kernel still has. */
struct kept_port {
    struct ovs_list list_node;
    char name[IFNAMSIZ];
    uint32_t port_no;
    int ifindex;
};

void
takeover_ports_create(struct kdp_datapath *dp)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    dp->takeover_ports = xzalloc(sizeof *dp->takeover_ports);
    ovs_mutex_init(&dp->takeover_ports->mutex);
    ovs_list_init(&dp->takeover_ports->kept);
}

void
takeover_ports_destroy(struct kdp_datapath *dp)
{
    takeover_ports_forget(dp);
    ovs_mutex_destroy(&dp->takeover_ports->mutex);
    free(dp->takeover_ports);
}

static struct kept_port *
find_kept(const struct takeover_ports *ports, const char *name)
    OVS_REQUIRES(ports->mutex)
{
    struct kept_port *kept;

    LIST_FOR_EACH (kept, list_node, &ports->kept) {
        if (!strcmp(kept->name, name)) {
            return kept;
        }
    }
    return NULL;
}

/* Takes port 'name', or any port if that is NULL, out of the list.  Returns
 * NULL if there is none. */
static struct kept_port *
take_kept(struct takeover_ports *ports, const char *name)
{
    struct kept_port *kept = NULL;

    ovs_mutex_lock(&ports->mutex);
    if (name) {
        kept = find_kept(ports, name);
    } else if (!ovs_list_is_empty(&ports->kept)) {
        kept = CONTAINER_OF(ovs_list_front(&ports->kept), struct kept_port,
                            list_node);
    }
    if (kept) {
        ovs_list_remove(&kept->list_node);
    }
    ovs_mutex_unlock(&ports->mutex);
    return kept;
}

bool
takeover_ports_keep(struct kdp_datapath *dp, odp_port_t port_no)
{
    struct takeover_ports *ports = dp->takeover_ports;
    struct ovs_vport vport;
    struct kept_port *kept;

    if (!takeover_refuses_flush(dp)
        || vport_table_get_by_number(dp->vports, odp_to_u32(port_no), &vport)
        || vport.type != OVS_VPORT_TYPE_NETDEV || !vport.ifindex
        || !netdev_is_reserved_name(vport.name)) {
        return false;
    }

    kept = xzalloc(sizeof *kept);
    ovs_strlcpy(kept->name, vport.name, sizeof kept->name);
    kept->port_no = vport.port_no;
    kept->ifindex = vport.ifindex;
    ovs_mutex_lock(&ports->mutex);
    ovs_list_push_back(&ports->kept, &kept->list_node);
    ovs_mutex_unlock(&ports->mutex);
    takeover_port_added(dp, kept->port_no);
    kdp_flow_offload_was_port(dp, kept->ifindex);
    return true;
}

/* True if the kernel still has the port.  In a handover the other process may
 * have deleted it, and given its number to another port. */
static bool
still_exists(const struct kdp_datapath *dp, const struct kept_port *kept)
{
    struct ovs_vport vport;

    return (!vport_table_get_by_number(dp->vports, kept->port_no, &vport)
            && !strcmp(vport.name, kept->name)
            && vport.ifindex == kept->ifindex);
}

/* Deletes the port, and frees 'kept'. */
static void
delete_kept(struct kdp_datapath *dp, struct kept_port *kept)
{
    int error = (kdp_datapath_is_shadow() ? 0
                 : ports_del(dp, u32_to_odp(kept->port_no)));

    if (error && error != ENODEV) {
        VLOG_WARN("%s: deleting port %s of a previous run failed (%s)",
                  dp->name, kept->name, ovs_strerror(error));
    }
    free(kept);
}

/* Makes Open vSwitch compare the device of 'kept' with the configuration of
 * 'netdev'.  Returns true if they are the same and the device still exists. */
static bool
is_as_wanted(const struct kept_port *kept, struct netdev *netdev)
{
    long long int start = kdp_rtnl_begin();
    int error = ovs_compat_tunnel_create(netdev);

    kdp_rtnl_end(KDP_RTNL_PORT_ADD, start);
    return !error && if_nametoindex(kept->name) == kept->ifindex;
}

bool
takeover_ports_claim(struct kdp_datapath *dp, struct netdev *netdev,
                     odp_port_t *port_no)
{
    char namebuf[NETDEV_VPORT_NAME_BUFSIZE];
    struct kept_port *kept;

    kept = take_kept(dp->takeover_ports,
                     netdev_vport_get_dpif_port(netdev, namebuf,
                                                sizeof namebuf));
    if (!kept) {
        return false;
    }
    if (!still_exists(dp, kept)) {
        free(kept);
        return false;
    }
    if ((*port_no != ODPP_NONE && odp_to_u32(*port_no) != kept->port_no)
        || (!kdp_datapath_is_shadow() && !is_as_wanted(kept, netdev))) {
        delete_kept(dp, kept);
        return false;
    }

    VLOG_INFO("%s: port %s of a previous run stays", dp->name, kept->name);
    *port_no = u32_to_odp(kept->port_no);
    takeover_port_stays(dp, kept->port_no);
    free(kept);
    kdp_links_catch_up();
    kdp_flow_offload_ports_changed(dp);
    return true;
}

bool
takeover_ports_hides(const struct kdp_datapath *dp, const char *name)
{
    struct takeover_ports *ports = dp->takeover_ports;
    bool hides;

    ovs_mutex_lock(&ports->mutex);
    hides = find_kept(ports, name) != NULL;
    ovs_mutex_unlock(&ports->mutex);
    return hides;
}

void
takeover_ports_run(struct kdp_datapath *dp)
{
    if (!takeover_refuses_flush(dp)) {
        takeover_ports_delete(dp);
    }
}

void
takeover_ports_delete(struct kdp_datapath *dp)
{
    struct kept_port *kept;

    while ((kept = take_kept(dp->takeover_ports, NULL))) {
        if (still_exists(dp, kept)) {
            delete_kept(dp, kept);
        } else {
            free(kept);
        }
    }
}

void
takeover_ports_forget(struct kdp_datapath *dp)
{
    struct kept_port *kept;

    while ((kept = take_kept(dp->takeover_ports, NULL))) {
        free(kept);
    }
}
