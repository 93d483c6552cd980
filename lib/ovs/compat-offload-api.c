/* SPDX-License-Identifier: Apache-2.0 */

/* Offload to tc where Open vSwitch has a flow API (until 3.6). */

#include <config.h>
#include "ovs/compat-offload.h"

#include "ovs-features.h"

#if !OVS_HAVE_DPIF_OFFLOAD

#include <errno.h>

#include "dpif.h"
#include "netdev-offload-provider.h"
#include "netdev-offload.h"
#include "netdev-provider.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

static const struct ovs_compat_offload_class *ours;

/* Ports. */

struct netdev *
ovs_compat_ports_get(odp_port_t port_no, const char *dpif_type)
{
    return netdev_ports_get(port_no, dpif_type);
}

void
ovs_compat_ports_traverse(const char *dpif_type,
                          bool (*cb)(struct netdev *, odp_port_t, void *aux),
                          void *aux)
{
    netdev_ports_traverse(dpif_type, cb, aux);
}

bool
ovs_compat_ports_has_device(int ifindex)
{
    /* 0 for none: it is the local port of a datapath, which rules do not lead
     * to. */
    return odp_to_u32(netdev_ifindex_to_odp_port(ifindex)) != 0;
}

bool
ovs_compat_offload_is_prepared(const struct netdev *netdev)
{
    return ovsrcu_get(const struct netdev_flow_api *, &netdev->flow_api);
}

bool
ovs_compat_offload_is_enabled(void)
{
    return netdev_is_flow_api_enabled();
}

/* Translation. */

int
ovs_compat_flow_put(struct netdev *netdev, struct match *match,
                    struct nlattr *actions, size_t actions_len,
                    const ovs_u128 *ufid, bool recirc_sharing)
{
    struct offload_info info = { .recirc_id_shared_with_tc = recirc_sharing };

    return netdev_flow_put(netdev, match, actions, actions_len, ufid, &info,
                           NULL);
}

void
ovs_compat_meter_set(ofproto_meter_id id OVS_UNUSED,
                     struct ofputil_meter_config *config OVS_UNUSED)
{
    /* Otherwise flows with a meter are not translated either. */
#if OVS_HAVE_METER_OFFLOAD
    meter_offload_set(id, config);
#endif
}

static struct netdev_flow_dump *
netdev_dump(struct ovs_compat_rule_dump *dump)
{
    return (struct netdev_flow_dump *) dump;
}

struct ovs_compat_rule_dump *
ovs_compat_rule_dump_create(struct netdev *netdev, odp_port_t port_no)
{
    struct netdev_flow_dump *dump;

    if (netdev_flow_dump_create(netdev, &dump, false)) {
        return NULL;
    }
    dump->port = port_no;
    return (struct ovs_compat_rule_dump *) dump;
}

bool
ovs_compat_rule_dump_next(struct ovs_compat_rule_dump *dump,
                          struct match *match, struct nlattr **actions,
                          struct dpif_flow_stats *stats,
                          struct dpif_flow_attrs *attrs, ovs_u128 *ufid,
                          struct ofpbuf *rbuffer, struct ofpbuf *wbuffer)
{
    return netdev_flow_dump_next(netdev_dump(dump), match, actions, stats,
                                 attrs, ufid, rbuffer, wbuffer);
}

void
ovs_compat_rule_dump_destroy(struct ovs_compat_rule_dump *dump)
{
    netdev_flow_dump_destroy(netdev_dump(dump));
}

/* Preparing devices. */

int
ovs_compat_offload_stock_init(struct netdev *netdev)
{
    return netdev_offload_tc.init_flow_api(netdev);
}

static int
api_init(struct netdev *netdev)
{
    return ours->init(netdev);
}

/* The stock flow API does not know our rules, so this counts them. */
static int
api_get_n_flows(struct netdev *netdev, uint64_t *n_flows)
{
    n_flows[0] = ours->count(netdev);
    return 0;
}

int
ovs_compat_offload_register(const struct ovs_compat_offload_class *class)
{
    static struct netdev_flow_api api;
    struct sset types = SSET_INITIALIZER(&types);
    int error;

    ours = class;

    /* The stock flow API is registered at the first call of any netdev
     * function. */
    netdev_enumerate_types(&types);
    sset_destroy(&types);

    api = netdev_offload_tc;
    api.init_flow_api = api_init;
    api.flow_get_n_flows = api_get_n_flows;
    error = netdev_unregister_flow_api_provider(api.type);
    return error ? error : netdev_register_flow_api_provider(&api);
}

bool
ovs_compat_offload_is_synced(void)
{
    return true;                /* It depends on the dpif class. */
}

/* For tests. */

void
ovs_compat_offload_enable(void)
{
    struct smap config = SMAP_INITIALIZER(&config);

    smap_add(&config, "hw-offload", "true");
    netdev_set_flow_api_enabled(&config);
    smap_destroy(&config);
}

int
ovs_compat_offload_prepare(struct netdev *netdev)
{
    return netdev_init_flow_api(netdev);
}

void
ovs_compat_offload_set_prepared(struct netdev *netdev, bool prepared)
{
    ovsrcu_set(&netdev->flow_api, prepared ? &netdev_offload_tc : NULL);
}

int
ovs_compat_ports_insert(struct netdev *netdev, odp_port_t port_no)
{
    struct dpif_port port = {
        .name = CONST_CAST(char *, netdev_get_name(netdev)),
        .type = "system",
        .port_no = port_no,
    };

    return netdev_ports_insert(netdev, &port);
}

int
ovs_compat_ports_remove(odp_port_t port_no, const char *dpif_type)
{
    return netdev_ports_remove(port_no, dpif_type);
}

#endif /* !OVS_HAVE_DPIF_OFFLOAD */
