/* SPDX-License-Identifier: Apache-2.0 */

/* Offload to tc where Open vSwitch has offload providers (since 3.7).
 *
 * The list of their classes is fixed, but tc's class is a variable: it is
 * changed before it is used.  Each datapath opens one provider, which has the
 * ports of the datapath.  Open vSwitch makes none for translations that no
 * dpif requests, so there is one more, of a dpif that stands for all and knows
 * the ports of all others. */

#include <config.h>
#include "ovs/compat-offload.h"

#include "ovs-features.h"

#if OVS_HAVE_DPIF_OFFLOAD

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-offload-provider.h"
#include "dpif-offload-tc-private.h"
#include "dpif-provider.h"
#include "netdev-provider.h"
#include "openvswitch/list.h"
#include "openvswitch/match.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "smap.h"
#include "tc.h"
#include "util.h"
#include "vswitch-idl.h"

VLOG_DEFINE_THIS_MODULE(kdp_compat_offload);

/* A provider. */
struct provider {
    struct dpif_offload up;
    struct ovs_list node;       /* In 'providers'. */
    char *dpif_name;
    struct ovsthread_once once; /* Whether offload was turned on. */
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list providers OVS_GUARDED_BY(mutex)
    = OVS_LIST_INITIALIZER(&providers);

/* The argument of ovs_compat_offload_register(), or NULL. */
static const struct ovs_compat_offload_class *ours;

/* The dpif that stands for all. */
static const struct dpif_class any_class = { .type = "system" };
static struct dpif any_dpif;
static struct provider *any_provider;

static struct provider *
provider_cast(const struct dpif_offload *offload)
{
    dpif_offload_assert_class(offload, &dpif_offload_tc_class);
    return CONTAINER_OF(CONST_CAST(struct dpif_offload *, offload),
                        struct provider, up);
}

/* Ports of a provider. */

static int
prepare_device(struct dpif_offload *offload, struct netdev *netdev)
{
    int error = ours ? ours->init(netdev) : EOPNOTSUPP;

    if (!error) {
        dpif_offload_set_netdev_offload(netdev, offload);
        VLOG_INFO("%s: Assigned flow API 'tc'", netdev_get_name(netdev));
    }
    return error;
}

/* Adds a port.  One that cannot be prepared, which is logged, has no
 * offload. */
static int
provider_port_add(struct dpif_offload *offload, struct netdev *netdev,
                  odp_port_t port_no)
{
    struct dpif_offload_port *port = xmalloc(sizeof *port);

    if (!dpif_offload_port_mgr_add(offload, port, netdev, port_no, true)) {
        free(port);
        return EEXIST;
    }
    if (dpif_offload_enabled()) {
        prepare_device(offload, netdev);
    }
    return 0;
}

static void
port_free(struct dpif_offload_port *port)
{
    netdev_close(port->netdev);
    free(port);
}

static int
provider_port_del(struct dpif_offload *offload, odp_port_t port_no)
{
    struct dpif_offload_port *port;

    port = dpif_offload_port_mgr_remove(offload, port_no);
    if (port) {
        dpif_offload_set_netdev_offload(port->netdev, NULL);
        ovsrcu_postpone(port_free, port);
    }
    return 0;
}

/* The result is valid until the next quiescent period. */
static struct netdev *
find_netdev(const struct dpif_offload *offload, odp_port_t port_no)
{
    struct dpif_offload_port *port
        = dpif_offload_port_mgr_find_by_odp_port(offload, port_no);

    return port ? port->netdev : NULL;
}

static struct netdev *
find_in_all(odp_port_t port_no)
    OVS_REQUIRES(mutex)
{
    struct netdev *netdev = NULL;
    struct provider *provider;

    LIST_FOR_EACH (provider, node, &providers) {
        netdev = find_netdev(&provider->up, port_no);
        if (netdev) {
            break;
        }
    }
    return netdev;
}

static struct netdev *
provider_get_netdev(const struct dpif_offload *offload, odp_port_t port_no)
{
    struct netdev *netdev;

    if (!any_provider || offload != &any_provider->up) {
        return find_netdev(offload, port_no);
    }
    ovs_mutex_lock(&mutex);
    netdev = find_in_all(port_no);
    ovs_mutex_unlock(&mutex);
    return netdev;
}

/* Life cycle of a provider. */

static int
provider_open(const struct dpif_offload_class *class, struct dpif *dpif,
              struct dpif_offload **offloadp)
{
    struct provider *provider = xzalloc(sizeof *provider);

    dpif_offload_init(&provider->up, class, dpif);
    provider->dpif_name = xstrdup(dpif_name(dpif));
    provider->once = (struct ovsthread_once) OVSTHREAD_ONCE_INITIALIZER;
    tc_meter_init();
    if (dpif == &any_dpif) {
        any_provider = provider;
    }
    ovs_mutex_lock(&mutex);
    ovs_list_push_back(&providers, &provider->node);
    ovs_mutex_unlock(&mutex);
    *offloadp = &provider->up;
    return 0;
}

static void
provider_close(struct dpif_offload *offload)
{
    struct provider *provider = provider_cast(offload);
    struct dpif_offload_port *port;

    ovs_mutex_lock(&mutex);
    ovs_list_remove(&provider->node);
    ovs_mutex_unlock(&mutex);
    DPIF_OFFLOAD_PORT_FOR_EACH (port, offload) {
        provider_port_del(offload, port->port_no);
    }
    ovsthread_once_destroy(&provider->once);
    dpif_offload_destroy(offload);
    free(provider->dpif_name);
    free(provider);
}

/* Reads the settings that Open vSwitch itself uses.  The dpif gets the
 * rest. */
static void
provider_set_config(struct dpif_offload *offload, const struct smap *other_cfg)
{
    struct provider *provider = provider_cast(offload);
    struct dpif_offload_port *port;

    if (!smap_get_bool(other_cfg, "hw-offload", false)
        || !ovsthread_once_start(&provider->once)) {
        return;
    }
    tc_set_policy(smap_get_def(other_cfg, "tc-policy", TC_POLICY_DEFAULT));
    DPIF_OFFLOAD_PORT_FOR_EACH (port, offload) {
        if (!ovs_compat_offload_is_prepared(port->netdev)) {
            prepare_device(offload, port->netdev);
        }
    }
    ovsthread_once_done(&provider->once);
}

static uint64_t
provider_flow_count(const struct dpif_offload *offload)
{
    struct dpif_offload_port *port;
    uint64_t n = 0;

    if (ours) {
        DPIF_OFFLOAD_PORT_FOR_EACH (port, offload) {
            n += ours->count(port->netdev);
        }
    }
    return n;
}

static int
provider_get_global_stats(const struct dpif_offload *offload,
                          struct netdev_custom_stats *stats)
{
    return (ours ? ours->stats(provider_cast(offload)->dpif_name, stats)
            : EOPNOTSUPP);
}

/* Replaces functions of the class by ours, once.  The remaining stock
 * functions need only the list of ports. */
static void
take_class(void)
{
    struct dpif_offload_class *class = &dpif_offload_tc_class;

    class->impl_type = DPIF_OFFLOAD_IMPL_FLOWS_DPIF_SYNCED;
    class->open = provider_open;
    class->close = provider_close;
    class->set_config = provider_set_config;
    class->get_global_stats = provider_get_global_stats;
    class->port_add = provider_port_add;
    class->port_del = provider_port_del;
    class->get_netdev = provider_get_netdev;
    class->flow_count = provider_flow_count;

    /* The dpif does these. */
    class->operate = NULL;
    class->flow_flush = NULL;
    class->flow_dump_create = NULL;
    class->flow_dump_next = NULL;
    class->flow_dump_destroy = NULL;
    class->flow_dump_thread_create = NULL;
    class->flow_dump_thread_destroy = NULL;
}

static void
begin__(void)
{
    take_class();
    dpif_offload_module_init();
    dpif_init(&any_dpif, &any_class, "ovs-kdp", 0, 0);
    dpif_attach_offload_providers(&any_dpif);
    ovs_assert(any_provider);
}

static void
begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin__);
}

int
ovs_compat_offload_register(const struct ovs_compat_offload_class *class)
{
    ours = class;
    begin();
    return 0;
}

bool
ovs_compat_offload_is_synced(void)
{
    return (dpif_offload_get_impl_type_by_class("tc")
            == DPIF_OFFLOAD_IMPL_FLOWS_DPIF_SYNCED);
}

/* Ports of all. */

struct netdev *
ovs_compat_ports_get(odp_port_t port_no, const char *dpif_type)
{
    struct netdev *netdev;

    ovs_mutex_lock(&mutex);
    netdev = find_in_all(port_no);
    if (netdev && !nullable_string_is_equal(netdev_get_dpif_type(netdev),
                                            dpif_type)) {
        netdev = NULL;
    }
    netdev_ref(netdev);
    ovs_mutex_unlock(&mutex);
    return netdev;
}

void
ovs_compat_ports_traverse(const char *dpif_type,
                          bool (*cb)(struct netdev *, odp_port_t, void *aux),
                          void *aux)
{
    struct provider *provider;
    bool done = false;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (provider, node, &providers) {
        struct dpif_offload_port *port;

        DPIF_OFFLOAD_PORT_FOR_EACH (port, &provider->up) {
            if (!done
                && nullable_string_is_equal(netdev_get_dpif_type(port->netdev),
                                            dpif_type)) {
                done = cb(port->netdev, port->port_no, aux);
            }
        }
    }
    ovs_mutex_unlock(&mutex);
}

bool
ovs_compat_ports_has_device(int ifindex)
{
    struct provider *provider;
    bool found = false;

    ovs_mutex_lock(&mutex);
    LIST_FOR_EACH (provider, node, &providers) {
        found |= dpif_offload_port_mgr_find_by_ifindex(&provider->up,
                                                       ifindex) != NULL;
    }
    ovs_mutex_unlock(&mutex);
    return found;
}

bool
ovs_compat_offload_is_prepared(const struct netdev *netdev)
{
    return ovsrcu_get(const struct dpif_offload *, &netdev->dpif_offload);
}

bool
ovs_compat_offload_is_enabled(void)
{
    return dpif_offload_enabled();
}

/* Translation. */

int
ovs_compat_flow_put(struct netdev *netdev, struct match *match,
                    struct nlattr *actions, size_t actions_len,
                    const ovs_u128 *ufid, bool recirc_sharing)
{
    struct tc_offload_info info = {
        .recirc_id_shared_with_tc = recirc_sharing,
    };

    if (!ovs_compat_offload_is_prepared(netdev)) {
        return EOPNOTSUPP;
    }
    return tc_netdev_flow_put(&any_dpif, netdev, match, actions, actions_len,
                              ufid, &info, NULL);
}

void
ovs_compat_meter_set(ofproto_meter_id id, struct ofputil_meter_config *config)
{
    tc_meter_set(&any_provider->up, id, config);
}

static struct netdev_tc_flow_dump *
netdev_dump(struct ovs_compat_rule_dump *dump)
{
    return (struct netdev_tc_flow_dump *) dump;
}

struct ovs_compat_rule_dump *
ovs_compat_rule_dump_create(struct netdev *netdev, odp_port_t port_no)
{
    struct netdev_tc_flow_dump *dump;

    if (!ovs_compat_offload_is_prepared(netdev)
        || tc_netdev_flow_dump_create(netdev, &dump, false)) {
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
    return tc_netdev_flow_dump_next(netdev_dump(dump), match, actions, stats,
                                    attrs, ufid, rbuffer, wbuffer);
}

void
ovs_compat_rule_dump_destroy(struct ovs_compat_rule_dump *dump)
{
    tc_netdev_flow_dump_destroy(netdev_dump(dump));
}

int
ovs_compat_offload_stock_init(struct netdev *netdev)
{
    return tc_netdev_init(netdev);
}

/* For tests. */

void
ovs_compat_offload_enable(void)
{
    struct ovsrec_open_vswitch config;

    begin();
    memset(&config, 0, sizeof config);
    smap_init(&config.other_config);
    smap_add(&config.other_config, "hw-offload", "true");
    dpif_offload_set_global_cfg(&config);
    smap_destroy(&config.other_config);
}

int
ovs_compat_offload_prepare(struct netdev *netdev)
{
    begin();
    return (dpif_offload_enabled()
            ? prepare_device(&any_provider->up, netdev) : EOPNOTSUPP);
}

void
ovs_compat_offload_set_prepared(struct netdev *netdev, bool prepared)
{
    begin();
    dpif_offload_set_netdev_offload(netdev,
                                    prepared ? &any_provider->up : NULL);
}

int
ovs_compat_ports_insert(struct netdev *netdev, odp_port_t port_no)
{
    struct dpif_offload_port *port = xmalloc(sizeof *port);

    /* Otherwise no port is found. */
    ovs_compat_offload_enable();
    if (!dpif_offload_port_mgr_add(&any_provider->up, port, netdev, port_no,
                                   true)) {
        free(port);
        return EEXIST;
    }
    return 0;
}

int
ovs_compat_ports_remove(odp_port_t port_no, const char *dpif_type OVS_UNUSED)
{
    return provider_port_del(&any_provider->up, port_no);
}

#endif /* OVS_HAVE_DPIF_OFFLOAD */
