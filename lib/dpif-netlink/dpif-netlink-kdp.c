/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/dpif-netlink-kdp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ct-dpif.h"
#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/diagnose.h"
#include "dpif-netlink/dispatch.h"
#include "dpif-netlink/flow-api.h"
#include "dpif-netlink/flow-dump.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/forward.h"
#include "dpif-netlink/ports.h"
#include "dpif-netlink/settings.h"
#include "dpif-netlink/show.h"
#include "dpif-netlink/takeover-ports.h"
#include "dpif-netlink/takeover.h"
#include "dpif-netlink/upcall-dest.h"
#include "hmapx.h"
#include "netdev-linux/if-notifier-kdp.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-dpif.h"
#include "packets.h"
#include "simap.h"
#include "tc/tc-orphans.h"
#include "tc/tc-transact.h"
#include "unixctl/override.h"
#include "upcall/upcall-fq.h"
#include "upcall/upcall-show.h"
#include "upcall/upcall-store.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(dpif_netlink_kdp);

/* The daemon is about to end and leaves its flows. */
static atomic_bool leaving = ATOMIC_VAR_INIT(false);

/* Main thread only: the dpifs of bridges that are open, and whether one of
 * them ran in this turn of the main loop. */
static struct hmapx bridge_dpifs = HMAPX_INITIALIZER(&bridge_dpifs);
static bool bridge_dpif_ran;

/* Main thread only: the class is registered. */
static bool registered;

/* True if 'dpif' belongs to a bridge and this process is in the shadow of
 * another one: then the bridge may read the datapath, but not change it. */
static bool
is_in_shadow(const struct dpif *dpif)
{
    return dpif_kdp_cast(dpif)->is_bridge && kdp_datapath_is_shadow();
}

/* Opening and closing. */

static int
dpif_kdp_enumerate(struct sset *all_dps, const struct dpif_class *class)
{
    return dpif_netlink_class.enumerate(all_dps, class);
}

static int
dpif_kdp_open(const struct dpif_class *class, const char *name, bool create,
              struct dpif **dpifp)
{
    struct kdp_datapath *dp;
    struct dpif_kdp *dpif;
    int error;

    error = kdp_datapaths_open(name, create, &dp);
    if (error) {
        return error;
    }
    dpif = xzalloc(sizeof *dpif);
    dpif_init(&dpif->dpif, class, name, dp->ifindex, dp->ifindex);
    dpif->dp = dp;
    *dpifp = &dpif->dpif;
    return 0;
}

static void
dpif_kdp_close(struct dpif *dpif_)
{
    struct dpif_kdp *dpif = dpif_kdp_cast(dpif_);

    vport_poller_destroy(dpif->poller);
    kdp_datapaths_close(dpif->dp);
    free(dpif);
}

/* Makes upcalls wait as long as flows of a previous run are taken over. */
static void
hold_upcalls(struct kdp_datapath *dp)
{
    ovs_mutex_lock(&dp->mutex);
    upcall_dest_set_takeover(dp, takeover_hides_flows(dp));
    ovs_mutex_unlock(&dp->mutex);
}

/* Open vSwitch registers the function for upcalls with a bridge's dpif right
 * after opening the dpif, and unregisters it before closing the dpif.  This
 * provider does not call the function, but learns from the registration which
 * dpif belongs to a bridge. */
static void
dpif_kdp_register_upcall_cb(struct dpif *dpif_, upcall_callback *cb,
                            void *aux OVS_UNUSED)
{
    struct dpif_kdp *dpif = dpif_kdp_cast(dpif_);

    dpif->is_bridge = cb != NULL;
    if (cb) {
        hmapx_add(&bridge_dpifs, dpif);
        takeover_ports_forget(dpif->dp);
        takeover_begin(dpif->dp);
        hold_upcalls(dpif->dp);
    } else {
        hmapx_find_and_delete(&bridge_dpifs, dpif);
        /* Handlers have stopped. */
        takeover_cancel(dpif->dp);
    }
}

/* Work in each turn of the main loop, whether bridges run or not. */
static void
run_datapath(struct kdp_datapath *dp, bool bridges_run)
{
    takeover_run(dp, bridges_run);
    hold_upcalls(dp);
    takeover_ports_run(dp);
    if (dispatch_run(dp)) {
        kdp_flow_offload_ports_changed(dp);
    }
    kdp_flow_offload_run(dp);
}

static bool
dpif_kdp_run(struct dpif *dpif)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;
    bool taken_over, moved;

    bridge_dpif_ran |= dpif_kdp_cast(dpif)->is_bridge;
    run_datapath(dp, true);
    taken_over = takeover_revalidate(dp);
    moved = dispatch_revalidate(dp);
    return taken_over || moved;
}

void
dpif_netlink_kdp_configured(void)
{
    if (registered && hmapx_is_empty(&bridge_dpifs)) {
        upcall_store_end();
        kdp_tc_orphans_look(kdp_dpif_type, KDP_TC_ORPHANS_LAST);
    }
}

void
dpif_netlink_kdp_get_memory_usage(struct simap *usage)
{
    simap_increase(usage, "upcalls read ahead kB",
                   DIV_ROUND_UP(upcall_fq_total_bytes(), 1024));
}

void
dpif_netlink_kdp_exit(void)
{
    kdp_tc_orphans_stop(false);
}

bool
dpif_netlink_kdp_run_alone(void)
{
    bool alone = !hmapx_is_empty(&bridge_dpifs) && !bridge_dpif_ran;
    bool leave;

    bridge_dpif_ran = false;
    atomic_read(&leaving, &leave);
    if (alone && !leave) {
        struct hmapx_node *node;

        HMAPX_FOR_EACH (node, &bridge_dpifs) {
            const struct dpif_kdp *dpif = node->data;

            run_datapath(dpif->dp, false);
        }
    }
    return alone;
}

static void
dpif_kdp_wait(struct dpif *dpif)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;

    takeover_wait(dp);
    dispatch_wait(dp);
    kdp_flow_offload_wait(dp);
}

static int
dpif_kdp_set_config(struct dpif *dpif, const struct smap *other_config)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;

    kdp_diagnose_set_config(other_config);
    settings_set(dp, other_config);
    if (!is_in_shadow(dpif)) {
        kdp_flow_offload_set(dp, other_config);
    }
    return 0;
}

/* Ports. */

static int
dpif_kdp_port_add(struct dpif *dpif, struct netdev *netdev,
                  odp_port_t *port_no)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;
    int error;

    if (dpif_kdp_cast(dpif)->is_bridge
        && takeover_ports_claim(dp, netdev, port_no)) {
        return 0;
    } else if (is_in_shadow(dpif)) {
        return EBUSY;           /* The bridge tries again. */
    }
    error = ports_add(dp, netdev, port_no);
    if (!error) {
        takeover_port_added(dp, odp_to_u32(*port_no));
    } else if (netdev_vport_is_vport_class(netdev_get_class(netdev))) {
        if_notifier_kdp_tunnel_refused();
    }
    return error;
}

static int
dpif_kdp_port_del(struct dpif *dpif, odp_port_t port_no)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;

    if (dpif_kdp_cast(dpif)->is_bridge
        && (takeover_ports_keep(dp, port_no) || is_in_shadow(dpif))) {
        return 0;
    }
    return ports_del(dp, port_no);
}

static int
dpif_kdp_port_set_config(struct dpif *dpif, odp_port_t port_no,
                         const struct smap *config)
{
    settings_set_port(dpif_kdp_cast(dpif)->dp, odp_to_u32(port_no), config);
    return 0;
}

/* True if 'dpif' must not see port 'name', which the bridge has deleted. */
static bool
dpif_kdp_port_is_hidden(const struct dpif *dpif, const char *name)
{
    return (dpif_kdp_cast(dpif)->is_bridge
            && takeover_ports_hides(dpif_kdp_cast(dpif)->dp, name));
}

static int
dpif_kdp_port_query_by_number(const struct dpif *dpif, odp_port_t port_no,
                              struct dpif_port *port)
{
    return ports_query_by_number(dpif_kdp_cast(dpif)->dp, port_no, port);
}

static int
dpif_kdp_port_query_by_name(const struct dpif *dpif, const char *devname,
                            struct dpif_port *port)
{
    return (dpif_kdp_port_is_hidden(dpif, devname) ? ENODEV
            : ports_query_by_name(dpif_kdp_cast(dpif)->dp, devname, port));
}

static uint32_t
dpif_kdp_port_get_pid(const struct dpif *dpif, odp_port_t port_no)
{
    /* Also called for a port that does not exist (any more), such as
     * ODPP_NONE. */
    return upcall_dest_pid(dpif_kdp_cast(dpif)->dp, odp_to_u32(port_no));
}

static int
dpif_kdp_port_dump_start(const struct dpif *dpif, void **dumpp)
{
    *dumpp = ports_dump_start(dpif_kdp_cast(dpif)->dp);
    return 0;
}

static int
dpif_kdp_port_dump_next(const struct dpif *dpif, void *dump,
                        struct dpif_port *port)
{
    int error;

    do {
        error = ports_dump_next(dump, port);
    } while (!error && dpif_kdp_port_is_hidden(dpif, port->name));
    return error;
}

static int
dpif_kdp_port_dump_done(const struct dpif *dpif OVS_UNUSED, void *dump)
{
    return ports_dump_done(dump);
}

static int
dpif_kdp_port_poll(const struct dpif *dpif_, char **devnamep)
{
    struct dpif_kdp *dpif = dpif_kdp_cast(dpif_);
    int error;

    if (!dpif->poller) {
        dpif->poller = vport_poller_create(dpif->dp->vports);
    }
    error = vport_poller_next(dpif->poller, devnamep);
    if (error != EAGAIN) {
        if_notifier_kdp_catch_up();
    }
    return error;
}

static void
dpif_kdp_port_poll_wait(const struct dpif *dpif_)
{
    const struct dpif_kdp *dpif = dpif_kdp_cast(dpif_);

    if (dpif->poller) {
        vport_poller_wait(dpif->poller);
    } else {
        poll_immediate_wake();
    }
}

/* Flows: with offload, the engine knows where they are; without offload, the
 * inner dpif has them all. */

static struct kdp_flow_engine *
dpif_kdp_engine(const struct dpif *dpif)
{
    return kdp_flow_engine_get(dpif_kdp_cast(dpif)->dp);
}

static int
dpif_kdp_destroy(struct dpif *dpif)
{
    struct dpif *inner = dpif_kdp_inner(dpif);

    if (is_in_shadow(dpif)) {
        return 0;
    }
    takeover_ports_delete(dpif_kdp_cast(dpif)->dp);
    kdp_flow_offload_clean_up(dpif_kdp_cast(dpif)->dp);
    return inner->dpif_class->destroy(inner);
}

static int
dpif_kdp_flow_flush(struct dpif *dpif)
{
    struct kdp_flow_engine *engine = dpif_kdp_engine(dpif);
    struct dpif *inner = dpif_kdp_inner(dpif);

    if (dpif_kdp_cast(dpif)->is_bridge
        && takeover_refuses_flush(dpif_kdp_cast(dpif)->dp)) {
        return 0;
    }
    return (engine ? offload_flush(engine->offload)
            : inner->dpif_class->flow_flush(inner));
}

static bool
is_revalidator(void)
{
    return !strncmp(get_subprogram_name(), "revalidator", 11);
}

/* A flow dump remembers the dpif that created it.  A dump of the inner dpif
 * continues without passing here.  It must not look into tc, because it could
 * not change flows that it found there. */
static struct dpif_flow_dump *
dpif_kdp_flow_dump_create(const struct dpif *dpif, bool terse,
                          struct dpif_flow_dump_types *types)
{
    struct kdp_flow_engine *engine = dpif_kdp_engine(dpif);
    struct dpif_flow_dump_types kernel = {
        .ovs_flows = !types || types->ovs_flows,
    };
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;
    bool hidden = takeover_hides_flows(dp);
    struct dpif *inner = dp->inner;
    bool revalidator = is_revalidator();

    if (revalidator) {
        if (hidden) {
            struct dpif_flow_dump_types none = { .ovs_flows = false };

            return inner->dpif_class->flow_dump_create(inner, terse, &none);
        }
        upcall_dest_dump_begins(dp);
        if (kdp_datapath_chains(dp)) {
            takeover_dump_begins(dp);
        }
    }
    return (engine || (revalidator && kdp_datapath_chains(dp))
            ? kdp_flow_dump_create(dp, engine, dpif, terse, !hidden,
                                   revalidator, types)
            : inner->dpif_class->flow_dump_create(inner, terse, &kernel));
}

void
dpif_netlink_kdp_leave_flows(void)
{
    atomic_store(&leaving, true);
}

static void
halt_upcalls(struct kdp_datapath *dp, void *by_signal)
{
    upcall_table_halt(dp->upcalls, !by_signal);
}

void
dpif_netlink_kdp_leave_upcalls(void *by_signal)
{
    upcall_store_leave();
    if (upcall_store_is_left()) {
        kdp_datapaths_for_each(halt_upcalls, by_signal);
    }
}

/* Handing over, and taking over from a process that serves. */

/* True if 'dpif' has timeout policies of connection tracking.  A bridge that
 * starts deletes them. */
static bool
has_timeout_policies(const struct dpif_kdp *dpif)
{
    struct dpif *inner = dpif->dp->inner;
    const struct dpif_class *class = inner->dpif_class;
    struct ct_dpif_timeout_policy policy;
    void *state;
    bool has;

    if (class->ct_timeout_policy_dump_start(inner, &state)) {
        return false;           /* The kernel does not support them. */
    }
    has = !class->ct_timeout_policy_dump_next(inner, state, &policy);
    class->ct_timeout_policy_dump_done(inner, state);
    return has;
}

const char *
dpif_netlink_kdp_hand_over_check(void)
{
    struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &bridge_dpifs) {
        const struct dpif_kdp *dpif = node->data;

        if (kdp_flow_engine_get(dpif->dp)) {
            return "flows are offloaded, or were since the start "
                   "(other_config:hw-offload)";
        } else if (!dispatch_is_per_port(dpif->dp)) {
            return "upcalls are not dispatched by port "
                   "(other_config:upcall-dispatch)";
        } else if (takeover_hides_flows(dpif->dp)) {
            return "flows of a previous run are still being taken over";
        } else if (has_timeout_policies(dpif)) {
            return "zones of connection tracking have timeout policies";
        }
    }
    return registered ? NULL : "it runs on Open vSwitch's own providers";
}

int
dpif_netlink_kdp_hand_over(int sock)
{
    kdp_datapaths_for_each(halt_upcalls, NULL);
    dpif_netlink_kdp_leave_flows();
    return upcall_store_send(sock);
}

static void
go_on(struct kdp_datapath *dp, void *aux OVS_UNUSED)
{
    int error = dp->inner->dpif_class->flow_flush(dp->inner);

    if (error) {
        VLOG_WARN("%s: deleting the flows of another process failed (%s)",
                  dp->name, ovs_strerror(error));
    }
    dispatch_check(dp);
    upcall_table_go_on(dp->upcalls);
}

void
dpif_netlink_kdp_go_on(void)
{
    upcall_store_return();
    atomic_store(&leaving, false);
    kdp_datapaths_for_each(go_on, NULL);
}

void
dpif_netlink_kdp_enter_shadow(void)
{
    kdp_datapath_set_shadow(true);
}

int
dpif_netlink_kdp_leave_shadow(void)
{
    struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &bridge_dpifs) {
        const struct dpif_kdp *dpif = node->data;

        takeover_list(dpif->dp);
        if (dpif->recv_wanted) {
            int error = dispatch_recv_set(dpif->dp, true);

            if (error) {
                return error;
            }
            takeover_upcalls_on(dpif->dp);
            dispatch_handlers_set(dpif->dp, dpif->n_handlers);
        }
    }
    /* Until here, handlers got no upcalls: the takeover holds them. */
    kdp_datapath_set_shadow(false);
    return 0;
}

/* True if 'op' would change flows, which must stay as they are, or send a
 * packet that another process sends.  Then 'op' gets a successful result and
 * must not be carried out.
 *
 * In the shadow, bridges still probe the datapath's features, and get and
 * delete only flows that a probe put.  No such flow is made: the
 * revalidators of the process that serves would find it and delete it.  The
 * kernel checks a request to modify a flow before it looks for the flow, so a
 * probe only asks to modify one, which answer_probes() completes. */
static bool
leave_flow(struct dpif_op *op, bool shadow)
{
    struct dpif_flow_stats *stats = NULL;

    switch (op->type) {
    case DPIF_OP_FLOW_PUT:
        if (shadow && op->flow_put.flags & DPIF_FP_PROBE) {
            op->flow_put.flags &= ~DPIF_FP_CREATE;
            return false;
        }
        stats = op->flow_put.stats;
        break;
    case DPIF_OP_FLOW_DEL:
        stats = op->flow_del.stats;
        break;
    case DPIF_OP_FLOW_GET:
        if (!shadow) {
            return false;
        }
        op->flow_get.flow->ufid_present = op->flow_get.ufid != NULL;
        if (op->flow_get.ufid) {
            op->flow_get.flow->ufid = *op->flow_get.ufid;
        }
        break;
    case DPIF_OP_EXECUTE:
    default:
        if (!shadow || op->execute.probe) {
            return false;
        }
        break;
    }
    op->error = 0;
    if (stats) {
        memset(stats, 0, sizeof *stats);
    }
    return true;
}

/* ENOENT says that the kernel understood a probe, and found no flow to
 * modify. */
static void
answer_probes(struct dpif_op **ops, size_t n_ops)
{
    for (size_t i = 0; i < n_ops; i++) {
        if (ops[i]->type == DPIF_OP_FLOW_PUT && ops[i]->error == ENOENT) {
            ops[i]->error = 0;
        }
    }
}

/* Returns the operations among the '*n_ops' in 'ops' that the daemon still
 * carries out when it leaves its flows.  Stores their number in '*n_ops'.  The
 * caller frees the array. */
static struct dpif_op **
leave_flows(struct dpif_op **ops, size_t *n_ops, bool shadow)
{
    struct dpif_op **rest = xmalloc(*n_ops * sizeof *rest);
    size_t n = 0;

    for (size_t i = 0; i < *n_ops; i++) {
        if (!leave_flow(ops[i], shadow)) {
            rest[n++] = ops[i];
        }
    }
    *n_ops = n;
    return rest;
}

/* Open vSwitch's offload types are for full devices, which the engine handles
 * by itself.  Operations that request tc at once get an error that says it is
 * not supported. */
static void
dpif_kdp_operate(struct dpif *dpif, struct dpif_op **ops,
                 size_t n_ops OVS_COMPAT_OPERATE_PARAM)
{
    struct kdp_flow_engine *engine = dpif_kdp_engine(dpif);
    struct dpif *inner = dpif_kdp_inner(dpif);
    struct dpif_op **rest = NULL;
    bool shadow = is_in_shadow(dpif);
    bool leave;

    atomic_read(&leaving, &leave);
    if (shadow || (leave && dpif_kdp_cast(dpif)->is_bridge)) {
        ops = rest = leave_flows(ops, &n_ops, shadow);
    }
    if (OVS_COMPAT_OPERATE_TC_ONLY) {
        for (size_t i = 0; i < n_ops; i++) {
            ops[i]->error = EOPNOTSUPP;
        }
    } else if (engine) {
        kdp_flow_operate(engine, ops, n_ops);
    } else {
        ovs_compat_operate(inner, ops, n_ops);
    }
    if (shadow) {
        answer_probes(ops, n_ops);
    }
    if (kdp_datapath_chains(dpif_kdp_cast(dpif)->dp)) {
        takeover_operated(dpif_kdp_cast(dpif)->dp, ops, n_ops,
                          is_revalidator());
    }
    free(rest);
}

OVS_UNUSED static int
dpif_kdp_offload_stats_get(struct dpif *dpif,
                           struct netdev_custom_stats *stats)
{
    struct kdp_flow_engine *engine = dpif_kdp_engine(dpif);

    return engine ? show_offload_stats(engine, stats) : EOPNOTSUPP;
}

static int
dpif_kdp_set_features(struct dpif *dpif, uint32_t user_features)
{
    return dispatch_set_features(dpif_kdp_cast(dpif)->dp, user_features);
}

OVS_UNUSED static uint32_t
dpif_kdp_get_features(struct dpif *dpif)
{
    return ovs_compat_get_features(dpif_kdp_inner(dpif));
}

/* Upcalls. */

static int
dpif_kdp_recv_set(struct dpif *dpif, bool enable)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;
    int error;

    if (is_in_shadow(dpif)) {
        dpif_kdp_cast(dpif)->recv_wanted = enable;
        return 0;
    }
    error = dispatch_recv_set(dp, enable);
    if (enable && !error) {
        takeover_upcalls_on(dp);
    }
    return error;
}

static int
dpif_kdp_handlers_set(struct dpif *dpif, uint32_t n_handlers)
{
    struct kdp_datapath *dp = dpif_kdp_cast(dpif)->dp;

    if (is_in_shadow(dpif)) {
        /* The handlers' threads wait in them. */
        dpif_kdp_cast(dpif)->n_handlers = n_handlers;
        return upcall_table_set_handlers(dp->upcalls, n_handlers);
    }
    dispatch_handlers_set(dp, n_handlers);
    return 0;
}

static bool
dpif_kdp_number_handlers_required(struct dpif *dpif OVS_UNUSED,
                                  uint32_t *n_handlers OVS_UNUSED)
{
    return false;
}

/* Type of the packet in 'view': Ethernet, or what its flow key says. */
static ovs_be32
upcall_packet_type(const struct upcall_view *view)
{
    const struct nlattr *ethertype;

    if (nl_attr_find__(view->key, view->key_len, OVS_KEY_ATTR_ETHERNET)) {
        return htonl(PT_ETH);
    }
    ethertype = nl_attr_find__(view->key, view->key_len,
                               OVS_KEY_ATTR_ETHERTYPE);
    return PACKET_TYPE_BE(OFPHTN_ETHERTYPE,
                          (ethertype
                           && nl_attr_get_size(ethertype) == sizeof(ovs_be16)
                           ? ntohs(nl_attr_get_be16(ethertype)) : 0));
}

static void
upcall_view_to_dpif(const struct upcall_view *view, struct dpif_upcall *upcall)
{
    struct dp_packet *packet = &upcall->packet;

    upcall->type = view->type == UPCALL_MISS ? DPIF_UC_MISS : DPIF_UC_ACTION;
    upcall->key = view->key;
    upcall->key_len = view->key_len;
    odp_flow_key_hash(upcall->key, upcall->key_len, &upcall->ufid);
    upcall->userdata = view->userdata;
    upcall->out_tun_key = view->egress_tun_key;
    upcall->actions = view->actions;
    upcall->mru = view->mru;
    upcall->hash = view->hash;
    ovs_compat_upcall_set_pid(upcall, view->pid);

    /* The packet stays in its receive buffer until its batch is over. */
    dp_packet_use_stub(packet, (char *) view->packet - view->headroom,
                       view->headroom + view->packet_len);
    dp_packet_set_data(packet, view->packet);
    dp_packet_set_size(packet, view->packet_len);
    packet->packet_type = upcall_packet_type(view);
    if (packet->packet_type != htonl(PT_ETH)) {
        dp_packet_set_l3(packet, dp_packet_data(packet));
    }
}

static int
dpif_kdp_recv(struct dpif *dpif, uint32_t handler_id,
              struct dpif_upcall *upcall, struct ofpbuf *buf OVS_UNUSED)
{
    struct upcall_view view;
    int error;

    error = upcall_table_recv(dpif_kdp_cast(dpif)->dp->upcalls, handler_id,
                              &view);
    if (!error) {
        upcall_view_to_dpif(&view, upcall);
    }
    return error;
}

static void
dpif_kdp_recv_wait(struct dpif *dpif, uint32_t handler_id)
{
    upcall_table_recv_wait(dpif_kdp_cast(dpif)->dp->upcalls, handler_id);
}

static void
dpif_kdp_recv_purge(struct dpif *dpif)
{
    upcall_table_purge(dpif_kdp_cast(dpif)->dp->upcalls);
}

static const struct dpif_class dpif_netlink_kdp_class;

/* Forbids offload if its interfaces to Open vSwitch do not work. */
static void
check_offload(void)
{
    if (!kdp_tc_check()) {
        VLOG_ERR("Open vSwitch does not send requests to tc by the function "
                 "of ovs-kdp in this program; there is no offload");
    } else if (!ovs_compat_keeps_statistics(&dpif_netlink_kdp_class)) {
        VLOG_ERR("Open vSwitch takes flows in tc for other flows in this "
                 "program; there is no offload");
    } else {
        return;
    }
    kdp_flow_offload_forbid();
}

int
dpif_netlink_kdp_register(void)
{
    int error;

    show_register();
    kdp_diagnose_register();
    kdp_flow_api_register();
    check_offload();
    error = dp_unregister_provider(kdp_dpif_type);
    if (!error) {
        error = dp_register_provider(&dpif_netlink_kdp_class);
    }
    registered = !error;
    return error;
}

int
dpif_netlink_kdp_limit_handlers(int n)
{
    return registered ? settings_limit_handlers(n) : n;
}

/* Functions that are missing here are null in the stock class, too;
 * port_set_config is null there. */
static const struct dpif_class dpif_netlink_kdp_class = {
    .type = kdp_dpif_type,
    OVS_COMPAT_SYNCED_DP_LAYERS
    .enumerate = dpif_kdp_enumerate,
    .open = dpif_kdp_open,
    .close = dpif_kdp_close,
    .destroy = dpif_kdp_destroy,
    .run = dpif_kdp_run,
    .wait = dpif_kdp_wait,
    .get_stats = dpif_kdp_get_stats,
    .set_features = dpif_kdp_set_features,
    OVS_COMPAT_GET_FEATURES(dpif_kdp_get_features)
    .set_config = dpif_kdp_set_config,
    .port_add = dpif_kdp_port_add,
    .port_del = dpif_kdp_port_del,
    .port_set_config = dpif_kdp_port_set_config,
    .port_query_by_number = dpif_kdp_port_query_by_number,
    .port_query_by_name = dpif_kdp_port_query_by_name,
    .port_get_pid = dpif_kdp_port_get_pid,
    .port_dump_start = dpif_kdp_port_dump_start,
    .port_dump_next = dpif_kdp_port_dump_next,
    .port_dump_done = dpif_kdp_port_dump_done,
    .port_poll = dpif_kdp_port_poll,
    .port_poll_wait = dpif_kdp_port_poll_wait,
    .flow_flush = dpif_kdp_flow_flush,
    .flow_dump_create = dpif_kdp_flow_dump_create,
    .flow_dump_destroy = kdp_flow_dump_destroy,
    .flow_dump_thread_create = kdp_flow_dump_thread_create,
    .flow_dump_thread_destroy = kdp_flow_dump_thread_destroy,
    .flow_dump_next = kdp_flow_dump_next,
    .operate = dpif_kdp_operate,
    OVS_COMPAT_OFFLOAD_STATS_GET(dpif_kdp_offload_stats_get)
    .register_upcall_cb = dpif_kdp_register_upcall_cb,
    .recv_set = dpif_kdp_recv_set,
    .handlers_set = dpif_kdp_handlers_set,
    .number_handlers_required = dpif_kdp_number_handlers_required,
    .queue_to_priority = dpif_kdp_queue_to_priority,
    .recv = dpif_kdp_recv,
    .recv_wait = dpif_kdp_recv_wait,
    .recv_purge = dpif_kdp_recv_purge,
    .get_datapath_version = dpif_kdp_get_datapath_version,
    .ct_dump_start = dpif_kdp_ct_dump_start,
    .ct_dump_next = dpif_kdp_ct_dump_next,
    .ct_dump_done = dpif_kdp_ct_dump_done,
    .ct_flush = dpif_kdp_ct_flush,
    .ct_set_limits = dpif_kdp_ct_set_limits,
    .ct_get_limits = dpif_kdp_ct_get_limits,
    .ct_del_limits = dpif_kdp_ct_del_limits,
    .ct_set_timeout_policy = dpif_kdp_ct_set_timeout_policy,
    .ct_get_timeout_policy = dpif_kdp_ct_get_timeout_policy,
    .ct_del_timeout_policy = dpif_kdp_ct_del_timeout_policy,
    .ct_timeout_policy_dump_start = dpif_kdp_ct_timeout_policy_dump_start,
    .ct_timeout_policy_dump_next = dpif_kdp_ct_timeout_policy_dump_next,
    .ct_timeout_policy_dump_done = dpif_kdp_ct_timeout_policy_dump_done,
    .ct_get_timeout_policy_name = dpif_kdp_ct_get_timeout_policy_name,
    .ct_get_features = dpif_kdp_ct_get_features,
    .meter_get_features = dpif_kdp_meter_get_features,
    .meter_set = dpif_kdp_meter_set,
    .meter_get = dpif_kdp_meter_get,
    .meter_del = dpif_kdp_meter_del,
    .cache_get_supported_levels = dpif_kdp_cache_get_supported_levels,
    .cache_get_name = dpif_kdp_cache_get_name,
    .cache_get_size = dpif_kdp_cache_get_size,
    .cache_set_size = dpif_kdp_cache_set_size,
};
