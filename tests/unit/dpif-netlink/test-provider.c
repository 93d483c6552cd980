/* SPDX-License-Identifier: Apache-2.0 */

/* What the provider does with a request of Open vSwitch: which part it asks
 * for what, in which order, for a bridge, for a command, and for a bridge in
 * the shadow of another process (R6).  The parts, and the inner dpif, only
 * note what they are asked. */

#include <config.h>
#include "dpif-netlink/dpif-netlink-kdp.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ct-dpif.h"
#include "dpif-netlink/datapath.h"
#include "dpif-netlink/datapaths.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/forward.h"
#include "dpif-netlink/ports.h"
#include "harness/unit.h"
#include "netdev-provider.h"
#include "ovs/compat-dpif.h"
#include "ovs-features.h"
#include "simap.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

#define PORT 7

/* The log, a file without a name. */
static int log_fd;

/* What the parts were asked, separated by commas. */
static char journal[2048];

static void OVS_PRINTF_FORMAT(1, 2)
note(const char *format, ...)
{
    size_t n = strlen(journal);
    va_list args;

    if (n) {
        n += snprintf(journal + n, sizeof journal - n, ", ");
    }
    va_start(args, format);
    vsnprintf(journal + n, sizeof journal - n, format, args);
    va_end(args);
    assert_true(strlen(journal) < sizeof journal - 1);
}

/* Asserts that the parts were asked for 'expected', and nothing else, since
 * the last check. */
static void
check(const char *expected)
{
    assert_string_equal(journal, expected);
    journal[0] = '\0';
}

/* Asserts that 'expected' was logged since the last check, or that nothing was
 * if it is NULL. */
static void
check_log(const char *expected)
{
    char buf[1024];
    ssize_t n = pread(log_fd, buf, sizeof buf - 1, 0);

    assert_true(n >= 0);
    buf[n] = '\0';
    assert_int_equal(ftruncate(log_fd, 0), 0);
    if (!expected) {
        assert_string_equal(buf, "");
    } else if (!strstr(buf, expected)) {
        fail_msg("no \"%s\" in: %s", expected, buf);
    }
}

/* What the parts answer. */
static struct {
    int open_error, unregister_error, register_error;
    bool tc_works, not_synced;
    bool hides_flows, refuses_flush;
    bool taken_over, moved, ports_gone;
    bool claims, keeps;
    const char *hidden;         /* A port that takeover_ports_hides(). */
    int port_error, query_error, dump_error;
    int dispatch_error;
    bool per_port;
    int poll_error;
    bool is_left;
    int send_error, handlers_error, features_error, stats_error;
    int probe_error;
    int inner_error;            /* Of functions of the inner dpif. */
    size_t n_policies;          /* Timeout policies; SIZE_MAX if the kernel
                                 * supports none. */
} answer;

/* The datapath.  Nobody looks into its tables. */
static struct dpif inner;
static struct kdp_datapath dp;
static struct kdp_flow_engine engine;
static char upcalls, vports, poller, chains;

/* The class that was registered. */
static const struct dpif_class *class;

#define WRAP(TYPE, NAME, ...)           \
    TYPE __wrap_##NAME(__VA_ARGS__);    \
    TYPE __wrap_##NAME(__VA_ARGS__)

/* A part whose function has the datapath as its only argument. */
#define WRAP_DP(TYPE, NAME, RESULT)                     \
    WRAP(TYPE, NAME, const struct kdp_datapath *dp_)    \
    {                                                   \
        assert_ptr_equal(dp_, &dp);                     \
        note(#NAME);                                    \
        return RESULT;                                  \
    }

WRAP_DP(void, dispatch_check,)
WRAP_DP(void, dispatch_wait,)
WRAP_DP(void, kdp_flow_offload_clean_up,)
WRAP_DP(void, kdp_flow_offload_ports_changed,)
WRAP_DP(void, kdp_flow_offload_run,)
WRAP_DP(void, kdp_flow_offload_wait,)
WRAP_DP(void, takeover_begin,)
WRAP_DP(void, takeover_cancel,)
WRAP_DP(void, takeover_dump_begins,)
WRAP_DP(void, takeover_list,)
WRAP_DP(void, takeover_ports_delete,)
WRAP_DP(void, takeover_ports_forget,)
WRAP_DP(void, takeover_ports_run,)
WRAP_DP(void, takeover_upcalls_on,)
WRAP_DP(void, takeover_wait,)
WRAP_DP(void, upcall_dest_dump_begins,)
WRAP_DP(bool, dispatch_run, answer.ports_gone)
WRAP_DP(bool, dispatch_revalidate, answer.moved)
WRAP_DP(bool, takeover_revalidate, answer.taken_over)

/* Questions that are asked all the time are not noted. */
WRAP(bool, dispatch_is_per_port, struct kdp_datapath *dp_)
{
    assert_ptr_equal(dp_, &dp);
    return answer.per_port;
}

WRAP(bool, takeover_hides_flows, const struct kdp_datapath *dp_)
{
    assert_ptr_equal(dp_, &dp);
    return answer.hides_flows;
}

WRAP(bool, takeover_refuses_flush, const struct kdp_datapath *dp_)
{
    assert_ptr_equal(dp_, &dp);
    return answer.refuses_flush;
}

WRAP(bool, takeover_ports_hides, const struct kdp_datapath *dp_,
     const char *name)
{
    assert_ptr_equal(dp_, &dp);
    return answer.hidden && !strcmp(name, answer.hidden);
}

WRAP(void, takeover_run, struct kdp_datapath *dp_, bool bridges_run)
{
    assert_ptr_equal(dp_, &dp);
    note("takeover_run %d", bridges_run);
}

WRAP(void, upcall_dest_set_takeover, struct kdp_datapath *dp_, bool takeover)
{
    assert_ptr_equal(dp_, &dp);
    note("hold %d", takeover);
}

WRAP(int, dispatch_recv_set, struct kdp_datapath *dp_, bool enable)
{
    assert_ptr_equal(dp_, &dp);
    note("recv_set %d", enable);
    return answer.dispatch_error;
}

WRAP(void, dispatch_handlers_set, struct kdp_datapath *dp_, uint32_t n)
{
    assert_ptr_equal(dp_, &dp);
    note("handlers_set %"PRIu32, n);
}

WRAP(int, dispatch_set_features, struct kdp_datapath *dp_, uint32_t features)
{
    assert_ptr_equal(dp_, &dp);
    note("set_features %"PRIu32, features);
    return answer.features_error;
}

WRAP(void, takeover_port_added, struct kdp_datapath *dp_, uint32_t port_no)
{
    assert_ptr_equal(dp_, &dp);
    note("port_added %"PRIu32, port_no);
}

WRAP(void, takeover_operated, struct kdp_datapath *dp_,
     struct dpif_op *ops[] OVS_UNUSED, size_t n, bool revalidator)
{
    assert_ptr_equal(dp_, &dp);
    note("operated %"PRIuSIZE" %d", n, revalidator);
}

/* Ports. */

WRAP(bool, takeover_ports_claim, struct kdp_datapath *dp_,
     struct netdev *netdev OVS_UNUSED, odp_port_t *port_no)
{
    assert_ptr_equal(dp_, &dp);
    note("claim");
    if (answer.claims) {
        *port_no = u32_to_odp(PORT);
    }
    return answer.claims;
}

WRAP(bool, takeover_ports_keep, struct kdp_datapath *dp_, odp_port_t port_no)
{
    assert_ptr_equal(dp_, &dp);
    note("keep %"PRIu32, odp_to_u32(port_no));
    return answer.keeps;
}

WRAP(int, ports_add, struct kdp_datapath *dp_, struct netdev *netdev,
     odp_port_t *port_no)
{
    assert_ptr_equal(dp_, &dp);
    note("add %s", netdev_get_name(netdev));
    if (!answer.port_error) {
        *port_no = u32_to_odp(PORT);
    }
    return answer.port_error;
}

WRAP(int, ports_del, struct kdp_datapath *dp_, odp_port_t port_no)
{
    assert_ptr_equal(dp_, &dp);
    note("del %"PRIu32, odp_to_u32(port_no));
    return answer.port_error;
}

WRAP(int, ports_query_by_number, const struct kdp_datapath *dp_,
     odp_port_t port_no, struct dpif_port *port)
{
    assert_ptr_equal(dp_, &dp);
    port->port_no = port_no;
    return answer.query_error;
}

WRAP(int, ports_query_by_name, const struct kdp_datapath *dp_,
     const char *name, struct dpif_port *port)
{
    assert_ptr_equal(dp_, &dp);
    port->name = CONST_CAST(char *, name);
    return answer.query_error;
}

WRAP(uint32_t, upcall_dest_pid, const struct kdp_datapath *dp_,
     uint32_t port_no)
{
    assert_ptr_equal(dp_, &dp);
    return port_no + 1000;
}

/* The next ports of a dump.  NULL follows the last one. */
static const char *const *next_dumped;

WRAP(struct ports_dump *, ports_dump_start, struct kdp_datapath *dp_)
{
    static const char *const names[] = { "a", "b", "c", "d", NULL };

    assert_ptr_equal(dp_, &dp);
    next_dumped = names;
    return (struct ports_dump *) names;
}

WRAP(int, ports_dump_next, struct ports_dump *dump OVS_UNUSED,
     struct dpif_port *port)
{
    if (!*next_dumped) {
        return EOF;
    }
    port->name = CONST_CAST(char *, *next_dumped++);
    return 0;
}

WRAP(int, ports_dump_done, struct ports_dump *dump OVS_UNUSED)
{
    note("dump_done");
    return answer.dump_error;
}

WRAP(void, if_notifier_kdp_tunnel_refused, void)
{
    note("tunnel_refused");
}

WRAP(void, if_notifier_kdp_catch_up, void)
{
    note("catch_up");
}

WRAP(struct vport_poller *, vport_poller_create, struct vport_table *table)
{
    assert_ptr_equal(table, &vports);
    note("poller_create");
    return (struct vport_poller *) &poller;
}

WRAP(void, vport_poller_destroy, struct vport_poller *poller_)
{
    note("poller_destroy %d", poller_ != NULL);
}

WRAP(int, vport_poller_next, struct vport_poller *poller_, char **namep)
{
    assert_ptr_equal(poller_, &poller);
    *namep = answer.poll_error ? NULL : xstrdup("p");
    return answer.poll_error;
}

WRAP(void, vport_poller_wait, struct vport_poller *poller_)
{
    assert_ptr_equal(poller_, &poller);
    note("poller_wait");
}

/* Threads of Open vSwitch call it, too. */
static pthread_t main_thread;

void __real_poll_immediate_wake_at(const char *where);
WRAP(void, poll_immediate_wake_at, const char *where)
{
    if (pthread_equal(pthread_self(), main_thread)) {
        note("wake");
    } else {
        __real_poll_immediate_wake_at(where);
    }
}

/* Settings. */

static const struct smap config = SMAP_INITIALIZER(&config);

WRAP(void, kdp_diagnose_set_config, const struct smap *config_)
{
    assert_ptr_equal(config_, &config);
    note("diagnose");
}

WRAP(void, settings_set, struct kdp_datapath *dp_, const struct smap *config_)
{
    assert_ptr_equal(dp_, &dp);
    assert_ptr_equal(config_, &config);
    note("settings");
}

WRAP(void, settings_set_port, struct kdp_datapath *dp_, uint32_t port_no,
     const struct smap *config_)
{
    assert_ptr_equal(dp_, &dp);
    assert_ptr_equal(config_, &config);
    note("settings of %"PRIu32, port_no);
}

WRAP(void, kdp_flow_offload_set, struct kdp_datapath *dp_,
     const struct smap *config_)
{
    assert_ptr_equal(dp_, &dp);
    assert_ptr_equal(config_, &config);
    note("offload_set");
}

WRAP(int, settings_limit_handlers, int n)
{
    return n - 1;
}

/* Upcalls. */

WRAP(void, upcall_table_halt, struct upcall_table *table, bool all)
{
    assert_ptr_equal(table, &upcalls);
    note("halt%s", all ? " all" : "");
}

WRAP(void, upcall_table_go_on, struct upcall_table *table)
{
    assert_ptr_equal(table, &upcalls);
    note("go_on");
}

WRAP(void, upcall_table_purge, struct upcall_table *table)
{
    assert_ptr_equal(table, &upcalls);
    note("purge");
}

WRAP(void, upcall_table_recv_wait, struct upcall_table *table,
     uint32_t handler_id)
{
    assert_ptr_equal(table, &upcalls);
    note("recv_wait %"PRIu32, handler_id);
}

WRAP(int, upcall_table_recv, struct upcall_table *table, uint32_t handler_id,
     struct upcall_view *view OVS_UNUSED)
{
    assert_ptr_equal(table, &upcalls);
    note("recv %"PRIu32, handler_id);
    return EAGAIN;
}

WRAP(int, upcall_table_set_handlers, struct upcall_table *table, uint32_t n)
{
    assert_ptr_equal(table, &upcalls);
    note("table_set_handlers %"PRIu32, n);
    return answer.handlers_error;
}

WRAP(void, upcall_store_end, void)
{
    note("store_end");
}

WRAP(void, upcall_store_leave, void)
{
    note("store_leave");
}

WRAP(bool, upcall_store_is_left, void)
{
    return answer.is_left;
}

WRAP(int, upcall_store_send, int sock)
{
    note("store_send %d", sock);
    return answer.send_error;
}

WRAP(void, upcall_store_return, void)
{
    note("store_return");
}

WRAP(uint64_t, upcall_fq_total_bytes, void)
{
    return 1024 * 1024 + 1;
}

/* Flows in tc. */

WRAP(bool, kdp_tc_check, void)
{
    return answer.tc_works;
}

/* From 3.1.1 to 3.6 the class says that itself. */
WRAP(bool, ovs_compat_offload_is_synced, void)
{
    return !answer.not_synced;
}

WRAP(void, kdp_flow_offload_forbid, void)
{
    note("forbid");
}

WRAP(void, kdp_tc_orphans_look, const char *type, unsigned int flags)
{
    assert_ptr_equal(type, kdp_dpif_type);
    note("orphans_look %u", flags);
}

WRAP(void, kdp_tc_orphans_stop, bool finish)
{
    note("orphans_stop %d", finish);
}

WRAP(int, offload_flush, struct offload *offload)
{
    assert_ptr_equal(offload, engine.offload);
    note("offload_flush");
    return EIO;
}

WRAP(void, kdp_flow_operate, struct kdp_flow_engine *engine_,
     struct dpif_op **ops OVS_UNUSED, size_t n)
{
    assert_ptr_equal(engine_, &engine);
    note("flow_operate %"PRIuSIZE, n);
}

static struct dpif_flow_dump outer_dump, inner_dump;

WRAP(struct dpif_flow_dump *, kdp_flow_dump_create, struct kdp_datapath *dp_,
     struct kdp_flow_engine *engine_, const struct dpif *dpif OVS_UNUSED,
     bool terse, bool learn, bool revalidator,
     struct dpif_flow_dump_types *types)
{
    assert_ptr_equal(dp_, &dp);
    note("dump engine %d terse %d learn %d revalidator %d types %d",
         engine_ != NULL, terse, learn, revalidator, types != NULL);
    return &outer_dump;
}

WRAP(int, show_offload_stats, struct kdp_flow_engine *engine_,
     struct netdev_custom_stats *stats OVS_UNUSED)
{
    assert_ptr_equal(engine_, &engine);
    return answer.stats_error;
}

/* Registration. */

WRAP(void, show_register, void)
{
    note("show");
}

WRAP(void, kdp_diagnose_register, void)
{
    note("diagnose");
}

WRAP(void, kdp_flow_api_register, void)
{
    note("flow_api");
}

WRAP(int, dp_unregister_provider, const char *type)
{
    note("unregister %s", type);
    return answer.unregister_error;
}

WRAP(int, dp_register_provider, const struct dpif_class *class_)
{
    note("register %s", class_->type);
    class = class_;
    return answer.register_error;
}

/* The list of datapaths. */

WRAP(int, kdp_datapaths_open, const char *name, bool create,
     struct kdp_datapath **dpp)
{
    note("open %s %d", name, create);
    *dpp = answer.open_error ? NULL : &dp;
    return answer.open_error;
}

WRAP(void, kdp_datapaths_close, struct kdp_datapath *dp_)
{
    assert_ptr_equal(dp_, &dp);
    note("close");
}

WRAP(void, kdp_datapaths_for_each, void (*cb)(struct kdp_datapath *, void *),
     void *aux)
{
    cb(&dp, aux);
}

/* The inner class. */

static int
inner_get_stats(const struct dpif *dpif OVS_UNUSED,
                struct dpif_dp_stats *stats OVS_UNUSED)
{
    return 0;
}

static int
inner_destroy(struct dpif *dpif)
{
    assert_ptr_equal(dpif, &inner);
    note("inner destroy");
    return answer.inner_error;
}

static int
inner_flow_flush(struct dpif *dpif)
{
    assert_ptr_equal(dpif, &inner);
    note("inner flush");
    return answer.inner_error;
}

static struct dpif_flow_dump *
inner_flow_dump_create(const struct dpif *dpif, bool terse,
                       struct dpif_flow_dump_types *types)
{
    assert_ptr_equal(dpif, &inner);
    assert_false(types->OVS_COMPAT_TC_FLOWS);
    note("inner dump terse %d flows %d", terse, types->ovs_flows);
    return &inner_dump;
}

static void
inner_operate(struct dpif *dpif, struct dpif_op **ops,
              size_t n OVS_COMPAT_OPERATE_PARAM)
{
    assert_ptr_equal(dpif, &inner);
    assert_false(OVS_COMPAT_OPERATE_TC_ONLY);
    for (size_t i = 0; i < n; i++) {
        bool probe = (ops[i]->type == DPIF_OP_FLOW_PUT
                      ? ops[i]->flow_put.flags & DPIF_FP_PROBE
                      : ops[i]->type == DPIF_OP_EXECUTE
                      && ops[i]->execute.probe);

        note("%s%s", (ops[i]->type == DPIF_OP_FLOW_PUT ? "put"
                      : ops[i]->type == DPIF_OP_FLOW_DEL ? "del"
                      : ops[i]->type == DPIF_OP_FLOW_GET ? "get" : "execute"),
             probe ? " probe" : "");
        ops[i]->error = (probe && ops[i]->type == DPIF_OP_FLOW_PUT
                         && !(ops[i]->flow_put.flags & DPIF_FP_CREATE)
                         ? answer.probe_error : EIO);
    }
}

static size_t n_policies_left;

static int
inner_policy_dump_start(struct dpif *dpif, void **statep)
{
    assert_ptr_equal(dpif, &inner);
    if (answer.n_policies == SIZE_MAX) {
        return EOPNOTSUPP;
    }
    *statep = &n_policies_left;
    n_policies_left = answer.n_policies;
    note("policies");
    return 0;
}

static int
inner_policy_dump_next(struct dpif *dpif, void *state,
                       struct ct_dpif_timeout_policy *policy OVS_UNUSED)
{
    assert_ptr_equal(dpif, &inner);
    assert_ptr_equal(state, &n_policies_left);
    return n_policies_left ? n_policies_left--, 0 : EOF;
}

static int
inner_policy_dump_done(struct dpif *dpif, void *state)
{
    assert_ptr_equal(dpif, &inner);
    assert_ptr_equal(state, &n_policies_left);
    note("policies done");
    return 0;
}

static int
stock_enumerate(struct sset *all_dps,
                const struct dpif_class *class_ OVS_UNUSED)
{
    sset_add(all_dps, "ovs-system");
    return answer.inner_error;
}

static const struct dpif_class inner_class = {
    .type = "unit",
    .destroy = inner_destroy,
    .get_stats = inner_get_stats,
    .flow_flush = inner_flow_flush,
    .flow_dump_create = inner_flow_dump_create,
    .operate = inner_operate,
    .ct_timeout_policy_dump_start = inner_policy_dump_start,
    .ct_timeout_policy_dump_next = inner_policy_dump_next,
    .ct_timeout_policy_dump_done = inner_policy_dump_done,
};

extern const struct dpif_class __wrap_dpif_netlink_class;
const struct dpif_class __wrap_dpif_netlink_class = {
    .type = "system",
    .enumerate = stock_enumerate,
};

/* Tests. */

/* Two dpifs of the datapath. */
struct fixture {
    struct dpif *bridge, *command;
};

static void
upcall_cb(void)
{
}

static void
set_bridge(struct dpif *dpif, bool is_bridge)
{
    class->register_upcall_cb(
        dpif, is_bridge ? (upcall_callback *) upcall_cb : NULL, NULL);
}

static int
setup(void **state)
{
    struct fixture *f = xzalloc(sizeof *f);

    memset(&answer, 0, sizeof answer);
    answer.n_policies = SIZE_MAX;
    answer.per_port = true;
    inner.dpif_class = &inner_class;
    dp.inner = &inner;
    dp.name = CONST_CAST(char *, "system@dp");
    dp.ifindex = 31;
    dp.upcalls = (struct upcall_table *) &upcalls;
    dp.vports = (struct vport_table *) &vports;
    ovs_mutex_init(&dp.mutex);
    kdp_flow_engine_set(&dp, NULL);
    engine.offload = (struct offload *) &engine;
    assert_int_equal(class->open(class, "dp", true, &f->bridge), 0);
    assert_int_equal(class->open(class, "dp", false, &f->command), 0);
    set_bridge(f->bridge, true);
    journal[0] = '\0';
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    set_bridge(f->bridge, false);
    dpif_uninit(f->bridge, true);
    dpif_uninit(f->command, true);
    ovs_mutex_destroy(&dp.mutex);
    journal[0] = '\0';
    free(f);
    return 0;
}

/* The first test: nothing undoes a registration. */
static void
stock_provider_stays_if_it_cannot_be_replaced(void **state OVS_UNUSED)
{
    answer.tc_works = true;
    answer.unregister_error = EBUSY;
    assert_int_equal(dpif_netlink_kdp_register(), EBUSY);
    check("show, diagnose, flow_api, unregister system");
    answer.unregister_error = 0;
    answer.register_error = EEXIST;
    assert_int_equal(dpif_netlink_kdp_register(), EEXIST);
    check("show, diagnose, flow_api, unregister system, register system");

    dpif_netlink_kdp_configured();
    check("");
    assert_int_equal(dpif_netlink_kdp_limit_handlers(7), 7);
    assert_string_equal(dpif_netlink_kdp_hand_over_check(),
                        "it runs on Open vSwitch's own providers");

    /* Without its function for requests to tc there is no offload. */
    check_log(NULL);
    answer.tc_works = false;
    answer.register_error = 0;
    assert_int_equal(dpif_netlink_kdp_register(), 0);
    check("show, diagnose, flow_api, forbid, unregister system, "
          "register system");
    check_log("does not send requests to tc by the function of ovs-kdp in "
              "this program; there is no offload\n");
    answer.tc_works = true;

    /* Nor is there if flows in tc would be taken for other flows. */
#if !OVS_HAVE_SYNCED_DP_LAYERS
    answer.not_synced = true;
    assert_int_equal(dpif_netlink_kdp_register(), 0);
    check("show, diagnose, flow_api, forbid, unregister system, "
          "register system");
    check_log("takes flows in tc for other flows in this program; there is no "
              "offload\n");
    answer.not_synced = false;
#endif
    assert_int_equal(dpif_netlink_kdp_register(), 0);
    check("show, diagnose, flow_api, unregister system, register system");
    check_log(NULL);
    assert_int_equal(dpif_netlink_kdp_limit_handlers(7), 6);
}

static void
datapaths_are_opened_and_closed(void **state OVS_UNUSED)
{
    struct sset names = SSET_INITIALIZER(&names);
    struct dpif *dpif = NULL;

    answer.open_error = ENODEV;
    assert_int_equal(class->open(class, "dp", false, &dpif), ENODEV);
    check("open dp 0");
    assert_null(dpif);
    answer.open_error = 0;
    assert_int_equal(class->open(class, "dp", true, &dpif), 0);
    check("open dp 1");
    assert_non_null(dpif);
    assert_ptr_equal(dpif->dpif_class, class);
    assert_string_equal(dpif_base_name(dpif), "dp");
    assert_string_equal(dpif_name(dpif), "system@dp");
    assert_int_equal(dpif->netflow_engine_type, 31);
    assert_int_equal(dpif->netflow_engine_id, 31);
    dpif_uninit(dpif, true);
    check("poller_destroy 0, close");

    assert_int_equal(class->enumerate(&names, class), 0);
    assert_int_equal(sset_count(&names), 1);
    assert_true(sset_contains(&names, "ovs-system"));
    answer.inner_error = EPERM;
    assert_int_equal(class->enumerate(&names, class), EPERM);
    sset_destroy(&names);
}

static void
a_bridge_begins_and_ends_taking_over(void **state)
{
    struct fixture *f = *state;

    answer.hides_flows = true;
    set_bridge(f->command, true);
    check("takeover_ports_forget, takeover_begin, hold 1");
    set_bridge(f->command, false);
    check("takeover_cancel");
}

static void
a_datapath_runs_part_by_part(void **state)
{
    struct fixture *f = *state;

    /* Both are asked whatever the other one says. */
    for (int i = 0; i < 4; i++) {
        answer.taken_over = i & 1;
        answer.moved = i & 2;
        assert_int_equal(class->run(f->bridge), i != 0);
        check("takeover_run 1, hold 0, takeover_ports_run, dispatch_run, "
              "kdp_flow_offload_run, takeover_revalidate, "
              "dispatch_revalidate");
    }
    answer.hides_flows = answer.ports_gone = true;
    class->run(f->command);
    check("takeover_run 1, hold 1, takeover_ports_run, dispatch_run, "
          "kdp_flow_offload_ports_changed, kdp_flow_offload_run, "
          "takeover_revalidate, dispatch_revalidate");
    class->wait(f->bridge);
    check("takeover_wait, dispatch_wait, kdp_flow_offload_wait");
}

static void
a_datapath_runs_without_its_bridge(void **state)
{
    static const char alone[] = "takeover_run 0, hold 0, takeover_ports_run, "
                                "dispatch_run, kdp_flow_offload_run";
    struct fixture *f = *state;

    dpif_netlink_kdp_run_alone();
    journal[0] = '\0';
    assert_true(dpif_netlink_kdp_run_alone());
    check(alone);

    /* A command runs it as little as nobody. */
    class->run(f->command);
    journal[0] = '\0';
    assert_true(dpif_netlink_kdp_run_alone());
    check(alone);
    class->run(f->bridge);
    class->run(f->command);
    journal[0] = '\0';
    assert_false(dpif_netlink_kdp_run_alone());
    check("");
    assert_true(dpif_netlink_kdp_run_alone());
    check(alone);

    /* Unless the daemon is about to end. */
    dpif_netlink_kdp_leave_flows();
    assert_true(dpif_netlink_kdp_run_alone());
    check("");
    dpif_netlink_kdp_go_on();
    journal[0] = '\0';
    assert_true(dpif_netlink_kdp_run_alone());
    check(alone);

    set_bridge(f->bridge, false);
    journal[0] = '\0';
    assert_false(dpif_netlink_kdp_run_alone());
    check("");
}

static void
rules_of_a_previous_run_are_looked_for_without_bridges(void **state)
{
    struct fixture *f = *state;

    dpif_netlink_kdp_configured();
    check("");
    set_bridge(f->bridge, false);
    journal[0] = '\0';
    dpif_netlink_kdp_configured();
    check("store_end, orphans_look 2");
    dpif_netlink_kdp_exit();
    check("orphans_stop 0");
}

static void
memory_is_told_in_full_kilobytes(void **state OVS_UNUSED)
{
    struct simap usage = SIMAP_INITIALIZER(&usage);

    dpif_netlink_kdp_get_memory_usage(&usage);
    assert_int_equal(simap_count(&usage), 1);
    assert_int_equal(simap_get(&usage, "upcalls read ahead kB"),
                     1025);
    dpif_netlink_kdp_get_memory_usage(&usage);
    assert_int_equal(simap_get(&usage, "upcalls read ahead kB"),
                     2050);
    simap_destroy(&usage);
}

static void
settings_go_to_each_part(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(class->set_config(f->bridge, &config), 0);
    check("diagnose, settings, offload_set");
    assert_int_equal(class->port_set_config(f->bridge, u32_to_odp(PORT),
                                            &config), 0);
    check("settings of 7");
    assert_int_equal(class->set_features(f->bridge, 6), 0);
    check("set_features 6");
    answer.features_error = EOPNOTSUPP;
    assert_int_equal(class->set_features(f->bridge, 8), EOPNOTSUPP);
    check("set_features 8");

    dpif_netlink_kdp_enter_shadow();
    assert_int_equal(class->set_config(f->bridge, &config), 0);
    check("diagnose, settings");
    assert_int_equal(class->set_config(f->command, &config), 0);
    check("diagnose, settings, offload_set");
    dpif_netlink_kdp_leave_shadow();
}

/* Adds 'netdev', and returns its number or 0. */
static uint32_t
add(struct dpif *dpif, struct netdev *netdev, int error)
{
    odp_port_t port_no = u32_to_odp(0);

    assert_int_equal(class->port_add(dpif, netdev, &port_no), error);
    return odp_to_u32(port_no);
}

static void
ports_are_added(void **state)
{
    static const struct netdev_class device_class = { .type = "unit" };
    struct netdev device = {
        .name = CONST_CAST(char *, "dev"), .netdev_class = &device_class,
    };
    struct fixture *f = *state;
    struct netdev *tunnel;

    assert_int_equal(netdev_open("tun", "vxlan", &tunnel), 0);
    assert_int_equal(add(f->command, &device, 0), PORT);
    check("add dev, port_added 7");
    assert_int_equal(add(f->bridge, &device, 0), PORT);
    check("claim, add dev, port_added 7");

    /* A tunnel may wait for another one to go. */
    answer.port_error = EBUSY;
    assert_int_equal(add(f->bridge, &device, EBUSY), 0);
    check("claim, add dev");
    assert_int_equal(add(f->bridge, tunnel, EBUSY), 0);
    check("claim, add tun, tunnel_refused");
    answer.port_error = 0;
    assert_int_equal(add(f->bridge, tunnel, 0), PORT);
    check("claim, add tun, port_added 7");

    dpif_netlink_kdp_enter_shadow();
    assert_int_equal(add(f->bridge, &device, EBUSY), 0);
    check("claim");
    assert_int_equal(add(f->command, &device, 0), PORT);
    check("add dev, port_added 7");
    answer.claims = true;
    assert_int_equal(add(f->bridge, &device, 0), PORT);
    check("claim");
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), 0);
    journal[0] = '\0';

    assert_int_equal(add(f->bridge, &device, 0), PORT);
    check("claim");
    assert_int_equal(add(f->command, &device, 0), PORT);
    check("add dev, port_added 7");
    netdev_close(tunnel);
}

static void
ports_are_deleted(void **state)
{
    const odp_port_t port_no = u32_to_odp(PORT);
    struct fixture *f = *state;

    assert_int_equal(class->port_del(f->command, port_no), 0);
    check("del 7");
    assert_int_equal(class->port_del(f->bridge, port_no), 0);
    check("keep 7, del 7");
    answer.port_error = ENODEV;
    assert_int_equal(class->port_del(f->command, port_no), ENODEV);
    check("del 7");
    assert_int_equal(class->port_del(f->bridge, port_no), ENODEV);
    check("keep 7, del 7");

    dpif_netlink_kdp_enter_shadow();
    assert_int_equal(class->port_del(f->bridge, port_no), 0);
    check("keep 7");
    assert_int_equal(class->port_del(f->command, port_no), ENODEV);
    check("del 7");
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), 0);
    journal[0] = '\0';

    answer.keeps = true;
    assert_int_equal(class->port_del(f->bridge, port_no), 0);
    check("keep 7");
    assert_int_equal(class->port_del(f->command, port_no), ENODEV);
    check("del 7");
}

static void
a_bridge_does_not_see_the_ports_that_it_has_deleted(void **state)
{
    struct fixture *f = *state;
    struct dpif_port port;

    answer.hidden = "b";
    assert_int_equal(class->port_query_by_name(f->bridge, "b", &port),
                     ENODEV);
    assert_int_equal(class->port_query_by_name(f->bridge, "a", &port), 0);
    assert_string_equal(port.name, "a");
    assert_int_equal(class->port_query_by_name(f->command, "b", &port), 0);
    assert_string_equal(port.name, "b");
    answer.query_error = EIO;
    assert_int_equal(class->port_query_by_name(f->command, "b", &port), EIO);
    assert_int_equal(class->port_query_by_name(f->bridge, "a", &port), EIO);
    assert_int_equal(class->port_query_by_number(f->bridge, u32_to_odp(PORT),
                                                 &port), EIO);
    answer.query_error = 0;
    assert_int_equal(class->port_query_by_number(f->bridge, u32_to_odp(PORT),
                                                 &port), 0);
    assert_int_equal(odp_to_u32(port.port_no), PORT);
    assert_int_equal(class->port_get_pid(f->bridge, u32_to_odp(PORT)),
                     PORT + 1000);
}

static void
check_dump(struct dpif *dpif, const char *expected)
{
    struct dpif_port port;
    char seen[8] = "";
    void *dump;
    int error;

    assert_int_equal(class->port_dump_start(dpif, &dump), 0);
    while (!(error = class->port_dump_next(dpif, dump, &port))) {
        strcat(seen, port.name);
    }
    assert_int_equal(error, EOF);
    assert_int_equal(class->port_dump_done(dpif, dump), answer.dump_error);
    check("dump_done");
    assert_string_equal(seen, expected);
}

static void
nor_does_it_list_them(void **state)
{
    static const struct {
        const char *hidden, *expected;
    } tests[] = {
        { NULL, "abcd" }, { "a", "bcd" }, { "c", "abd" }, { "d", "abc" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        answer.dump_error = i ? 0 : EIO;
        answer.hidden = tests[i].hidden;
        check_dump(f->bridge, tests[i].expected);
        check_dump(f->command, "abcd");
    }
}

static void
changes_of_ports_are_polled(void **state)
{
    struct fixture *f = *state;
    char *name;

    /* The first answer is that any port may have changed. */
    class->port_poll_wait(f->command);
    check("wake");
    answer.poll_error = ENOBUFS;
    assert_int_equal(class->port_poll(f->command, &name), ENOBUFS);
    check("poller_create, catch_up");
    class->port_poll_wait(f->command);
    check("poller_wait");
    answer.poll_error = EAGAIN;
    assert_int_equal(class->port_poll(f->command, &name), EAGAIN);
    check("");
    answer.poll_error = 0;
    assert_int_equal(class->port_poll(f->command, &name), 0);
    check("catch_up");
    assert_string_equal(name, "p");
    free(name);

    /* Each dpif has a poller of its own. */
    answer.poll_error = EAGAIN;
    assert_int_equal(class->port_poll(f->bridge, &name), EAGAIN);
    check("poller_create");
    dpif_uninit(f->command, true);
    check("poller_destroy 1, close");
    assert_int_equal(class->open(class, "dp", false, &f->command), 0);
}

static void
a_datapath_is_deleted_after_what_belongs_to_it(void **state)
{
    struct fixture *f = *state;

    dpif_netlink_kdp_enter_shadow();
    answer.inner_error = EBUSY;
    assert_int_equal(class->destroy(f->bridge), 0);
    check("");
    assert_int_equal(class->destroy(f->command), EBUSY);
    check("takeover_ports_delete, kdp_flow_offload_clean_up, inner destroy");
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), 0);
    journal[0] = '\0';
    assert_int_equal(class->destroy(f->bridge), EBUSY);
    check("takeover_ports_delete, kdp_flow_offload_clean_up, inner destroy");
    answer.inner_error = 0;
    assert_int_equal(class->destroy(f->bridge), 0);
    journal[0] = '\0';
}

static void
flows_are_flushed_unless_they_are_taken_over(void **state)
{
    struct fixture *f = *state;

    answer.inner_error = EPERM;
    assert_int_equal(class->flow_flush(f->bridge), EPERM);
    check("inner flush");
    answer.refuses_flush = true;
    assert_int_equal(class->flow_flush(f->bridge), 0);
    check("");
    assert_int_equal(class->flow_flush(f->command), EPERM);
    check("inner flush");
    kdp_flow_engine_set(&dp, &engine);
    assert_int_equal(class->flow_flush(f->command), EIO);
    check("offload_flush");
    assert_int_equal(class->flow_flush(f->bridge), 0);
    check("");
}

/* Begins a dump in a thread called 'name'.  It is the inner dpif's if 'inner'
 * is true. */
static void
begin_dump(struct dpif *dpif, const char *name, bool is_inner, bool terse,
           struct dpif_flow_dump_types *types)
{
    char *old = xstrdup(get_subprogram_name());

    set_subprogram_name(name);
    assert_ptr_equal(class->flow_dump_create(dpif, terse, types),
                     is_inner ? &inner_dump : &outer_dump);
    set_subprogram_name(old);
    free(old);
}

/* R1, R5: revalidators see neither flows that are still to be taken over, nor
 * the chains of a previous run. */
static void
flows_are_dumped_by_the_part_that_knows_them(void **state)
{
    struct dpif_flow_dump_types none = { .ovs_flows = false };
    struct dpif_flow_dump_types kernel = { .ovs_flows = true };
    struct fixture *f = *state;

    /* Without offload. */
    begin_dump(f->bridge, "main", true, true, NULL);
    check("inner dump terse 1 flows 1");
    begin_dump(f->bridge, "main", true, false, &kernel);
    check("inner dump terse 0 flows 1");
    begin_dump(f->bridge, "main", true, false, &none);
    check("inner dump terse 0 flows 0");
    begin_dump(f->bridge, "revalidator7", true, false, NULL);
    check("upcall_dest_dump_begins, inner dump terse 0 flows 1");
    begin_dump(f->bridge, "revalidato", true, false, NULL);
    check("inner dump terse 0 flows 1");

    /* With offload. */
    kdp_flow_engine_set(&dp, &engine);
    begin_dump(f->bridge, "main", false, true, NULL);
    check("dump engine 1 terse 1 learn 1 revalidator 0 types 0");
    begin_dump(f->bridge, "revalidator7", false, false, &kernel);
    check("upcall_dest_dump_begins, "
          "dump engine 1 terse 0 learn 1 revalidator 1 types 1");
    answer.hides_flows = true;
    begin_dump(f->bridge, "main", false, false, NULL);
    check("dump engine 1 terse 0 learn 0 revalidator 0 types 0");
    begin_dump(f->bridge, "revalidator7", true, true, NULL);
    check("inner dump terse 1 flows 0");
    answer.hides_flows = false;
    kdp_flow_engine_set(&dp, NULL);

    /* With chains of a previous run. */
    ovsrcu_init(&dp.chains, (struct flow_chains *) &chains);
    begin_dump(f->bridge, "main", true, false, NULL);
    check("inner dump terse 0 flows 1");
    begin_dump(f->bridge, "revalidator7", false, false, NULL);
    check("upcall_dest_dump_begins, takeover_dump_begins, "
          "dump engine 0 terse 0 learn 1 revalidator 1 types 0");
    ovsrcu_init(&dp.chains, NULL);
}

/* Every kind of operation, and how it ends. */
enum {
    PUT, PUT_PROBE, DEL, GET, EXECUTE, EXECUTE_PROBE, PUT_BLIND, N_OPS
};
static struct dpif_op ops[N_OPS];
static struct dpif_flow_stats put_stats, del_stats;
static const ovs_u128 probe_ufid = { .u32 = { 1, 2, 3, 4 } };
static struct dpif_flow found;

static void
operate(struct dpif *dpif)
{
    struct dpif_op *pointers[N_OPS];

    memset(ops, 0, sizeof ops);
    put_stats.n_packets = del_stats.n_packets = 77;
    ops[PUT].type = ops[PUT_PROBE].type = DPIF_OP_FLOW_PUT;
    ops[PUT].flow_put.stats = &put_stats;
    ops[PUT_PROBE].flow_put.flags = (DPIF_FP_PROBE | DPIF_FP_CREATE
                                     | DPIF_FP_MODIFY);
    ops[PUT_BLIND].type = DPIF_OP_FLOW_PUT;
    ops[PUT_BLIND].flow_put.flags = DPIF_FP_CREATE | DPIF_FP_MODIFY;
    ops[DEL].type = DPIF_OP_FLOW_DEL;
    ops[DEL].flow_del.stats = &del_stats;
    ops[GET].type = DPIF_OP_FLOW_GET;
    ops[GET].flow_get.ufid = &probe_ufid;
    ops[GET].flow_get.flow = &found;
    memset(&found, 0, sizeof found);
    ops[EXECUTE].type = ops[EXECUTE_PROBE].type = DPIF_OP_EXECUTE;
    ops[EXECUTE_PROBE].execute.probe = true;
    for (size_t i = 0; i < N_OPS; i++) {
        ops[i].error = -1;
        pointers[i] = &ops[i];
    }
    ovs_compat_operate(dpif, pointers, N_OPS);
}

/* Asserts that operations in the bitmap 'left' have succeeded without being
 * carried out, and that all others were. */
static void
check_left(unsigned int left)
{
    for (size_t i = 0; i < N_OPS; i++) {
        assert_int_equal(ops[i].error, left & 1u << i ? 0 : EIO);
    }
    assert_int_equal(put_stats.n_packets, left & 1u << PUT ? 0 : 77);
    assert_int_equal(del_stats.n_packets, left & 1u << DEL ? 0 : 77);
}

static void
operations_are_left_out_where_flows_must_stay(void **state)
{
    static const char all[] = "put, put probe, del, get, execute, "
                              "execute probe, put";
    struct fixture *f = *state;

    operate(f->bridge);
    check(all);
    check_left(0);
    operate(f->command);
    check(all);
    check_left(0);

    /* A bridge in the shadow finds out what the kernel can do, without a flow
     * (R6). */
    dpif_netlink_kdp_enter_shadow();
    answer.probe_error = ENOENT;
    operate(f->bridge);
    check("put probe, execute probe");
    check_left(1u << PUT | 1u << PUT_PROBE | 1u << DEL | 1u << GET
               | 1u << EXECUTE | 1u << PUT_BLIND);
    assert_true(found.ufid_present);
    assert_true(ovs_u128_equals(found.ufid, probe_ufid));
    answer.probe_error = EINVAL;
    operate(f->bridge);
    check("put probe, execute probe");
    assert_int_equal(ops[PUT_PROBE].error, EINVAL);
    operate(f->command);
    check(all);
    check_left(0);
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), 0);
    journal[0] = '\0';

    /* The daemon is about to end (R1). */
    dpif_netlink_kdp_leave_flows();
    operate(f->bridge);
    check("get, execute, execute probe");
    check_left(1u << PUT | 1u << PUT_PROBE | 1u << DEL | 1u << PUT_BLIND);
    operate(f->command);
    check(all);
    check_left(0);

    /* It does not end. */
    dpif_netlink_kdp_go_on();
    journal[0] = '\0';
    operate(f->bridge);
    check(all);
    check_left(0);
}

static void
operations_go_to_the_engine(void **state)
{
    struct fixture *f = *state;

    kdp_flow_engine_set(&dp, &engine);
    operate(f->bridge);
    check("flow_operate 7");
    dpif_netlink_kdp_leave_flows();
    operate(f->bridge);
    check("flow_operate 3");

    /* The chains of a previous run end when no flow leads to them. */
    ovsrcu_init(&dp.chains, (struct flow_chains *) &chains);
    operate(f->bridge);
    check("flow_operate 3, operated 3 0");
    dpif_netlink_kdp_go_on();
    journal[0] = '\0';
    set_subprogram_name("revalidator9");
    operate(f->bridge);
    set_subprogram_name("main");
    check("flow_operate 7, operated 7 1");
    ovsrcu_init(&dp.chains, NULL);

#if OVS_HAVE_OPERATE_TYPE
    struct dpif_op *op = &ops[GET];

    class->operate(f->bridge, &op, 1, DPIF_OFFLOAD_ALWAYS);
    assert_int_equal(op->error, EOPNOTSUPP);
    check("");
#endif
}

#if !OVS_HAVE_DPIF_OFFLOAD
static void
statistics_of_offload_need_an_engine(void **state)
{
    struct netdev_custom_stats stats;
    struct fixture *f = *state;

    assert_int_equal(class->offload_stats_get(f->command, &stats),
                     EOPNOTSUPP);
    kdp_flow_engine_set(&dp, &engine);
    assert_int_equal(class->offload_stats_get(f->command, &stats), 0);
    answer.stats_error = ENOMEM;
    assert_int_equal(class->offload_stats_get(f->command, &stats), ENOMEM);
}
#endif

static void
upcalls_are_turned_on_and_received(void **state)
{
    struct fixture *f = *state;
    struct dpif_upcall upcall;
    uint32_t n = 5;

    assert_int_equal(class->recv_set(f->bridge, true), 0);
    check("recv_set 1, takeover_upcalls_on");
    class->handlers_set(f->bridge, 4);
    check("handlers_set 4");
    class->recv_wait(f->bridge, 3);
    check("recv_wait 3");
    assert_int_equal(class->recv(f->bridge, 2, &upcall, NULL), EAGAIN);
    check("recv 2");
    class->recv_purge(f->bridge);
    check("purge");
    assert_int_equal(class->recv_set(f->bridge, false), 0);
    check("recv_set 0");
    answer.dispatch_error = EMFILE;
    assert_int_equal(class->recv_set(f->bridge, true), EMFILE);
    check("recv_set 1");
    assert_false(class->number_handlers_required(f->bridge, &n));
    assert_int_equal(n, 5);
}

/* R6: in the shadow of another process the bridge's threads wait for upcalls,
 * which come when the other process ends. */
static void
upcalls_of_a_bridge_in_the_shadow_come_later(void **state)
{
    struct fixture *f = *state;

    dpif_netlink_kdp_enter_shadow();
    check("");
    assert_int_equal(class->recv_set(f->bridge, true), 0);
    check("");
    answer.handlers_error = ENOMEM;
    assert_int_equal(class->handlers_set(f->bridge, 4), ENOMEM);
    check("table_set_handlers 4");
    answer.handlers_error = 0;
    assert_int_equal(class->handlers_set(f->bridge, 5), 0);
    check("table_set_handlers 5");
    assert_int_equal(class->handlers_set(f->command, 6), 0);
    check("handlers_set 6");
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), 0);
    check("takeover_list, recv_set 1, takeover_upcalls_on, handlers_set 5");

    /* They were refused: this process cannot serve, and changes nothing. */
    dpif_netlink_kdp_enter_shadow();
    answer.dispatch_error = EMFILE;
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), EMFILE);
    check("takeover_list, recv_set 1");
    assert_int_equal(class->destroy(f->bridge), 0);
    check("");

    /* They were turned off again. */
    assert_int_equal(class->recv_set(f->bridge, false), 0);
    assert_int_equal(dpif_netlink_kdp_leave_shadow(), 0);
    check("takeover_list");
}

static void
what_forbids_a_hand_over_is_named(void **state)
{
    struct fixture *f = *state;

    assert_null(dpif_netlink_kdp_hand_over_check());
    check("");
    answer.n_policies = 0;
    assert_null(dpif_netlink_kdp_hand_over_check());
    check("policies, policies done");
    answer.n_policies = 1;
    assert_string_equal(dpif_netlink_kdp_hand_over_check(),
                        "zones of connection tracking have timeout policies");
    check("policies, policies done");
    answer.hides_flows = true;
    assert_string_equal(dpif_netlink_kdp_hand_over_check(),
                        "flows of a previous run are still being taken over");
    answer.per_port = false;
    assert_string_equal(dpif_netlink_kdp_hand_over_check(),
                        "upcalls are not dispatched by port "
                        "(other_config:upcall-dispatch)");
    kdp_flow_engine_set(&dp, &engine);
    assert_string_equal(dpif_netlink_kdp_hand_over_check(),
                        "flows are offloaded, or were since the start "
                        "(other_config:hw-offload)");
    check("");

    /* Only datapaths of bridges matter. */
    set_bridge(f->bridge, false);
    assert_null(dpif_netlink_kdp_hand_over_check());
}

static void
sockets_are_handed_over_and_come_back(void **state)
{
    struct fixture *f = *state;

    check_log(NULL);
    answer.send_error = EPIPE;
    assert_int_equal(dpif_netlink_kdp_hand_over(17), EPIPE);
    check("halt all, store_send 17");
    dpif_netlink_kdp_go_on();
    check("store_return, inner flush, dispatch_check, go_on");
    check_log(NULL);

    /* Upcalls go on even if the other process's flows stay. */
    answer.send_error = 0;
    answer.inner_error = EPERM;
    assert_int_equal(dpif_netlink_kdp_hand_over(18), 0);
    check("halt all, store_send 18");
    operate(f->bridge);                 /* The flows are the other's. */
    check("get, execute, execute probe");
    dpif_netlink_kdp_go_on();
    check("store_return, inner flush, dispatch_check, go_on");
    check_log("system@dp: deleting the flows of another process failed "
              "(Operation not permitted)\n");
}

static void
waiting_upcalls_are_left_to_the_next_process(void **state OVS_UNUSED)
{
    dpif_netlink_kdp_leave_upcalls(NULL);
    check("store_leave");
    answer.is_left = true;
    dpif_netlink_kdp_leave_upcalls(NULL);
    check("store_leave, halt all");
    dpif_netlink_kdp_leave_upcalls(&answer);
    check("store_leave, halt");
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(stock_provider_stays_if_it_cannot_be_replaced),
        TEST(datapaths_are_opened_and_closed),
        TEST(a_bridge_begins_and_ends_taking_over),
        TEST(a_datapath_runs_part_by_part),
        TEST(a_datapath_runs_without_its_bridge),
        TEST(rules_of_a_previous_run_are_looked_for_without_bridges),
        TEST(memory_is_told_in_full_kilobytes),
        TEST(settings_go_to_each_part),
        TEST(ports_are_added),
        TEST(ports_are_deleted),
        TEST(a_bridge_does_not_see_the_ports_that_it_has_deleted),
        TEST(nor_does_it_list_them),
        TEST(changes_of_ports_are_polled),
        TEST(a_datapath_is_deleted_after_what_belongs_to_it),
        TEST(flows_are_flushed_unless_they_are_taken_over),
        TEST(flows_are_dumped_by_the_part_that_knows_them),
        TEST(operations_are_left_out_where_flows_must_stay),
        TEST(operations_go_to_the_engine),
#if !OVS_HAVE_DPIF_OFFLOAD
        TEST(statistics_of_offload_need_an_engine),
#endif
        TEST(upcalls_are_turned_on_and_received),
        TEST(upcalls_of_a_bridge_in_the_shadow_come_later),
        TEST(what_forbids_a_hand_over_is_named),
        TEST(sockets_are_handed_over_and_come_back),
        TEST(waiting_upcalls_are_left_to_the_next_process),
    };

    main_thread = pthread_self();
    unit_init(argv[0]);
    log_fd = unit_log_open();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
