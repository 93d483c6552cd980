/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/takeover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bitmap.h"
#include "dpif-netlink/flow-chains.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/flow-stale.h"
#include "dpif-netlink/upcall-dest.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "ovs/compat-dpif.h"
#include "seq.h"
#include "timeval.h"
#include "upcall/upcall-channel.h"
#include "upcall/upcall-msg.h"
#include "upcall/upcall-table.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_takeover);

/* Flows listed at a time, as in Open vSwitch. */
#define MAX_BATCH 50

/* Port numbers of a datapath: the kernel has no more. */
#define MAX_PORTS 65536

/* Milliseconds after the end at which flows are revalidated: at once, and
 * again later, when a flow in use has counted a packet.  Few packets of a
 * rarely used flow take a suboptimal path. */
static const int revalidate_after[] = { 0, 20, 100, 500 };

/* Milliseconds after the end at which flows that still lead to chains of the
 * previous run are deleted.  Revalidators check each flow within a second,
 * unless there are too many flows. */
#define MAX_CHAINS_MSEC 60000

/* How often the main loop finds out during the hold whether a port had flows
 * that only tc has, in milliseconds: offload threads, which list them, do not
 * wake it. */
#define HOLD_MSEC 100

/* Flows of the previous run. */
struct legacy {
    int error;                  /* Error of listing the flows. */
    struct ovs_list doomed[FLOW_N_STALE];       /* Lists of "struct doomed":
                                                 * all flows except FLOW_FRESH
                                                 * ones. */
    size_t n_doomed, n_kept;
    uint32_t max_recirc_id;
    unsigned long *inputs;      /* Ports whose packets flows forward. */
};

/* Work on all flows, which would take the main thread too long. */
struct work {
    struct kdp_datapath *dp;
    void (*function)(struct work *);
    pthread_t thread;
    atomic_bool stop;           /* The main thread waits for the end of the
                                 * work. */
    atomic_bool done;           /* The thread ends. */
    const unsigned long *new_ports;     /* Port numbers that were assigned
                                         * again, or NULL. */
    struct legacy legacy;
    bool keep_chains;                   /* In DELETE: revalidators check all
                                         * flows at once after it. */
    struct flow_chains *chains;         /* Chains that stay after DELETE, or
                                         * NULL. */
};

struct takeover {
    enum { DONE, KEEP, SETTLE, DELETE } phase;
    unsigned int turns;         /* Turns until SETTLE may end. */
    unsigned int hold;          /* The longest hold, in seconds. */
    long long int upcalls_on;   /* Time at which SETTLE began. */
    atomic_bool hides;          /* Phase is not DONE; for revalidators. */
    unsigned long *new_ports;   /* Port numbers assigned since KEEP. */
    unsigned long *copied_ports;        /* Copy that 'work' has, or NULL. */
    bool ports_changed;         /* 'new_ports' has changed since the copy. */
    struct work work;
    bool working;               /* 'work' has a thread. */
    struct seq *seq;            /* Changes when work is done, from */
    uint64_t seqno;             /* this value. */
    size_t n_revalidated;       /* Number of 'revalidate_after' done. */
    long long int ended;        /* Time of the end. */
    atomic_uint n_dumps;        /* Dumps that revalidators began while there
                                 * were chains. */
    bool chains_deleted;        /* The chains are deleted, */
    unsigned int n_dumps_then;  /* and this was 'n_dumps' then. */
};

/* A flow to delete, now or when nothing leads to it any more. */
struct doomed {
    struct ovs_list list_node;
    struct dpif_op op;
    ovs_u128 ufid;
    struct nlattr key[];
};

static void list_flows(struct work *);

static takeover_hold_cb *hold_cb;
static takeover_recirc_cb *recirc_cb;

void
takeover_set_recirc_cb(takeover_recirc_cb *cb)
{
    recirc_cb = cb;
}

void
takeover_set_hold_cb(takeover_hold_cb *cb)
{
    hold_cb = cb;
}

static void
legacy_init(struct legacy *legacy)
{
    *legacy = (struct legacy) { .error = 0 };
    for (size_t i = 0; i < FLOW_N_STALE; i++) {
        ovs_list_init(&legacy->doomed[i]);
    }
}

/* Frees the contents of 'legacy'. */
static void
legacy_clear(struct legacy *legacy)
{
    struct doomed *doomed;

    for (size_t i = 0; i < FLOW_N_STALE; i++) {
        LIST_FOR_EACH_POP (doomed, list_node, &legacy->doomed[i]) {
            free(doomed);
        }
    }
    bitmap_free(legacy->inputs);
    legacy_init(legacy);
}

/* Threads. */

static void *
work_main(void *work_)
{
    struct work *work = work_;
    struct seq *seq = work->dp->takeover->seq;

    work->function(work);
    /* Release: see work_is_done(). */
    atomic_store_explicit(&work->done, true, memory_order_release);
    seq_change(seq);
    return NULL;
}

/* Creates a thread that calls 'function'.  The thread owns the work until
 * work_is_done() returns true. */
static void
work_start(struct kdp_datapath *dp, void (*function)(struct work *))
{
    struct takeover *t = dp->takeover;

    ovs_assert(!t->working);
    t->work.dp = dp;
    t->work.function = function;
    atomic_init(&t->work.stop, false);
    atomic_init(&t->work.done, false);
    t->working = true;
    t->seqno = seq_read(t->seq);
    t->work.thread = ovs_thread_create("takeover", work_main, &t->work);
}

static void
work_join(struct takeover *t)
{
    if (t->working) {
        xpthread_join(t->work.thread, NULL);
        t->working = false;
    }
}

/* True if there is no thread (any more). */
static bool
work_is_done(struct takeover *t)
{
    if (t->working) {
        bool done;

        atomic_read_explicit(&t->work.done, &done, memory_order_acquire);
        if (done) {
            work_join(t);
        }
    }
    return !t->working;
}

/* To be called by the thread between parts of its work. */
static bool
work_shall_stop(struct work *work)
{
    bool stop;

    ovsrcu_quiesce();
    atomic_read_relaxed(&work->stop, &stop);
    return stop;
}

void
takeover_create(struct kdp_datapath *dp)
{
    dp->takeover = xzalloc(sizeof *dp->takeover);
    dp->takeover->phase = DONE;
    dp->takeover->hold = TAKEOVER_HOLD_DEFAULT;
    atomic_init(&dp->takeover->hides, false);
    atomic_init(&dp->takeover->n_dumps, 0);
    dp->takeover->seq = seq_create();
    legacy_init(&dp->takeover->work.legacy);
    dp->takeover->n_revalidated = ARRAY_SIZE(revalidate_after);
}

/* Forgets the chains of the previous run, so that revalidators see all
 * flows. */
static void
forget_chains(struct kdp_datapath *dp)
{
    struct flow_chains *chains = ovsrcu_get_protected(struct flow_chains *,
                                                      &dp->chains);

    ovsrcu_set(&dp->chains, NULL);
    flow_chains_destroy(chains);
    dp->takeover->chains_deleted = false;
    legacy_clear(&dp->takeover->work.legacy);
}

/* Ends the work and frees its data. */
static void
stop_work(struct kdp_datapath *dp)
{
    struct work *work = &dp->takeover->work;

    atomic_store_relaxed(&work->stop, true);
    work_join(dp->takeover);
    flow_chains_destroy(work->chains);
    work->chains = NULL;
    forget_chains(dp);
}

/* Enters DONE with the chains that the work has found. */
static void
enter_done(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;

    ovsrcu_set(&dp->chains, t->work.chains);
    t->work.chains = NULL;
    t->phase = DONE;
    bitmap_free(t->new_ports);
    bitmap_free(t->copied_ports);
    t->new_ports = t->copied_ports = NULL;
    /* Release: a revalidator that sees flows also sees the deletions. */
    atomic_store_explicit(&t->hides, false, memory_order_release);
}

void
takeover_destroy(struct kdp_datapath *dp)
{
    stop_work(dp);
    enter_done(dp);
    seq_destroy(dp->takeover->seq);
    free(dp->takeover);
}

void
takeover_begin(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;

    if (t->phase == DONE) {
        stop_work(dp);
        t->phase = KEEP;
        t->new_ports = bitmap_allocate(MAX_PORTS);
        t->n_revalidated = ARRAY_SIZE(revalidate_after);
        atomic_store_explicit(&t->hides, true, memory_order_release);
        t->work.new_ports = NULL;
        if (!kdp_datapath_is_shadow()) {
            takeover_list(dp);
        }
    }
}

void
takeover_list(struct kdp_datapath *dp)
{
    kdp_flow_offload_keep_old(dp);
    work_start(dp, list_flows);
}

void
takeover_cancel(struct kdp_datapath *dp)
{
    stop_work(dp);
    enter_done(dp);
    dp->takeover->n_revalidated = ARRAY_SIZE(revalidate_after);
}

void
takeover_upcalls_on(struct kdp_datapath *dp)
{
    if (dp->takeover->phase == KEEP) {
        dp->takeover->phase = SETTLE;
        dp->takeover->turns = UPCALL_DEST_HOLD_TURNS;
        dp->takeover->upcalls_on = time_msec();
    }
}

void
takeover_set_hold(struct kdp_datapath *dp, unsigned int seconds)
{
    dp->takeover->hold = seconds;
}

void
takeover_port_added(struct kdp_datapath *dp, uint32_t port_no)
{
    if (dp->takeover->phase != DONE && port_no < MAX_PORTS) {
        bitmap_set1(dp->takeover->new_ports, port_no);
        dp->takeover->ports_changed = true;
    }
}

void
takeover_port_stays(struct kdp_datapath *dp, uint32_t port_no)
{
    if (dp->takeover->phase != DONE && port_no < MAX_PORTS) {
        bitmap_set0(dp->takeover->new_ports, port_no);
        dp->takeover->ports_changed = true;
    }
}

bool
takeover_refuses_flush(const struct kdp_datapath *dp)
{
    return dp->takeover->phase != DONE;
}

bool
takeover_hides_flows(const struct kdp_datapath *dp)
{
    bool hides;

    /* Acquire: see enter_done(). */
    atomic_read_explicit(&dp->takeover->hides, &hides, memory_order_acquire);
    return hides;
}

/* Looking at the flows. */

static bool
port_is_new(void *new_ports, uint32_t port_no)
{
    return (new_ports && port_no < MAX_PORTS
            && bitmap_is_set(new_ports, port_no));
}

static struct doomed *
doomed_create(const struct dpif_flow *flow)
{
    struct doomed *doomed = xzalloc(sizeof *doomed + flow->key_len);

    memcpy(doomed->key, flow->key, flow->key_len);
    doomed->ufid = flow->ufid;
    doomed->op = (struct dpif_op) {
        .type = DPIF_OP_FLOW_DEL,
        .flow_del = {
            .key = doomed->key,
            .key_len = flow->key_len,
            .ufid = flow->ufid_present ? &doomed->ufid : NULL,
            .terse = flow->ufid_present,
            .pmd_id = PMD_ID_NULL,
        },
    };
    return doomed;
}

/* Resets the statistics of the 'n' 'flows', because earlier counts do not
 * belong to the rules of this run.  Ignores flows that have gone meanwhile. */
static void
reset_statistics(struct dpif *inner, struct dpif_flow *const flows[], size_t n)
{
    struct dpif_op ops[MAX_BATCH], *opps[MAX_BATCH];

    for (size_t i = 0; i < n; i++) {
        const struct dpif_flow *flow = flows[i];

        ops[i] = (struct dpif_op) {
            .type = DPIF_OP_FLOW_PUT,
            .flow_put = {
                .flags = DPIF_FP_MODIFY | DPIF_FP_ZERO_STATS,
                .key = flow->key,
                .key_len = flow->key_len,
                .mask = flow->mask,
                .mask_len = flow->mask_len,
                .actions = flow->actions,
                .actions_len = flow->actions_len,
                .ufid = flow->ufid_present ? &flow->ufid : NULL,
                .pmd_id = PMD_ID_NULL,
            },
        };
        opps[i] = &ops[i];
    }
    if (n) {
        ovs_compat_operate(inner, opps, n);
    }
}

/* Notes that 'flow' forwards packets of its input port, if it does. */
static void
note_input(unsigned long *inputs, const struct dpif_flow *flow)
{
    const struct nlattr *a = nl_attr_find__(flow->key, flow->key_len,
                                            OVS_KEY_ATTR_IN_PORT);

    if (a && flow->actions_len && nl_attr_get_u32(a) < MAX_PORTS) {
        bitmap_set1(inputs, nl_attr_get_u32(a));
    }
}

/* Sorts 'n' of the kernel's flows.  The statistics of a flow that stays are
 * reset when it is listed for the first time.  That takes longer than to list
 * it, so flows that have counted nothing are left out: many flows have one
 * packet, which was an upcall and is not counted. */
static void
sort_flows(struct work *work, struct dpif_flow *flows, size_t n)
{
    struct legacy *legacy = &work->legacy;
    void *new_ports = CONST_CAST(unsigned long *, work->new_ports);
    struct dpif_flow *kept[MAX_BATCH];
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        enum flow_stale stale = flow_stale(&flows[i], port_is_new, new_ports,
                                           &legacy->max_recirc_id);

        note_input(legacy->inputs, &flows[i]);
        if ((stale == FLOW_FRESH || stale == FLOW_ROOT)
            && flows[i].stats.n_packets) {
            kept[n_kept++] = &flows[i];
        }
        if (stale != FLOW_FRESH) {
            ovs_list_push_back(&legacy->doomed[stale],
                               &doomed_create(&flows[i])->list_node);
        }
        legacy->n_doomed += (stale == FLOW_STALE || stale == FLOW_STALE_ROOT);
        legacy->n_kept += (stale == FLOW_FRESH || stale == FLOW_ROOT
                           || stale == FLOW_CHAIN);
    }
    if (!new_ports) {
        reset_statistics(work->dp->inner, kept, n_kept);
    }
}

/* Work: lists the kernel's flows. */
static void
list_flows(struct work *work)
{
    struct dpif_flow_dump_types types = { .ovs_flows = true };
    struct dpif *inner = work->dp->inner;
    const struct dpif_class *class = inner->dpif_class;
    struct dpif_flow_dump *dump = class->flow_dump_create(inner, false,
                                                          &types);
    struct dpif_flow_dump_thread *thread
        = class->flow_dump_thread_create(dump);
    struct dpif_flow flows[MAX_BATCH];
    int n;

    legacy_clear(&work->legacy);
    work->legacy.inputs = bitmap_allocate(MAX_PORTS);
    while (!work_shall_stop(work)
           && (n = class->flow_dump_next(thread, flows, MAX_BATCH)) > 0) {
        sort_flows(work, flows, n);
    }
    class->flow_dump_thread_destroy(thread);
    work->legacy.error = class->flow_dump_destroy(dump);
}

static void
operate(struct kdp_datapath *dp, struct dpif_op *ops[], size_t n)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);

    if (engine) {
        kdp_flow_operate(engine, ops, n);
    } else {
        ovs_compat_operate(dp->inner, ops, n);
    }
}

/* Deletes the flows in 'list', which contains "struct doomed", and frees the
 * list.  Returns 0, or a positive errno value if one of them may be left. */
static int
delete_flows(struct work *work, struct ovs_list *list)
{
    int error = 0;

    while (!ovs_list_is_empty(list) && !work_shall_stop(work)) {
        struct doomed *batch[MAX_BATCH];
        struct dpif_op *ops[MAX_BATCH];
        struct doomed *doomed;
        size_t n = 0;

        LIST_FOR_EACH_POP (doomed, list_node, list) {
            batch[n] = doomed;
            ops[n++] = &doomed->op;
            if (n == MAX_BATCH) {
                break;
            }
        }
        operate(work->dp, ops, n);
        while (n) {
            int op_error = ops[--n]->error;

            if (op_error && op_error != ENOENT) {
                error = op_error;
            }
            free(batch[n]);
        }
    }
    return error;
}

/* Deletes all flows. */
static void
flush(struct kdp_datapath *dp)
{
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    int error = (engine ? offload_flush(engine->offload)
                 : dp->inner->dpif_class->flow_flush(dp->inner));

    if (error) {
        VLOG_ERR("%s: flows of a previous run cannot be deleted (%s): packets "
                 "that they recirculate may take a wrong way", dp->name,
                 ovs_strerror(error));
    }
}

/* Waits until the kernel has finished all packets that matched a deleted
 * flow. */
static void
wait_for_packets(const struct kdp_datapath *dp)
{
    int error = upcall_grace_wait();

    if (error) {
        VLOG_WARN("%s: packets that flows of a previous run have met cannot "
                  "be waited for (%s): those that recirculate at this moment "
                  "may take a wrong way", dp->name, ovs_strerror(error));
    }
}

/* True if this run can allocate recirculation ids that are higher than all ids
 * of the previous run and that rules of tc have room for. */
static bool
ids_can_rise(const struct legacy *legacy)
{
    return legacy->max_recirc_id < UPCALL_RECIRC_RANGE;
}

static void
add_chains(struct flow_chains *chains, const struct legacy *legacy,
           enum flow_stale stale)
{
    const struct doomed *doomed;

    LIST_FOR_EACH (doomed, list_node, &legacy->doomed[stale]) {
        flow_chains_add(chains, &doomed->ufid, stale == FLOW_ROOT);
    }
}

/* Work: deletes flows that must not stay from the kernel datapath, and rules
 * of recirculation chains from tc.  If port numbers were assigned to other
 * ports, first lists the flows again, because these numbers were not known
 * before. */
static void
delete_stale(struct work *work)
{
    const char *name = work->dp->name;
    struct legacy *legacy = &work->legacy;
    int list_error = legacy->error;
    int error, other_error;
    size_t n_rules;

    if (work->new_ports) {
        list_flows(work);
        list_error = list_error ? list_error : legacy->error;
    }
    if (!work->keep_chains || !ids_can_rise(legacy)) {
        legacy->n_doomed += (ovs_list_size(&legacy->doomed[FLOW_ROOT])
                             + ovs_list_size(&legacy->doomed[FLOW_CHAIN]));
        ovs_list_push_back_all(&legacy->doomed[FLOW_STALE_ROOT],
                               &legacy->doomed[FLOW_ROOT]);
        ovs_list_push_back_all(&legacy->doomed[FLOW_STALE],
                               &legacy->doomed[FLOW_CHAIN]);
    }
    error = delete_flows(work, &legacy->doomed[FLOW_STALE_ROOT]);
    other_error = delete_flows(work, &legacy->doomed[FLOW_STALE]);
    if (work_shall_stop(work)) {
        return;
    }
    error = error ? error : other_error;
    if (list_error || error) {
        VLOG_WARN("%s: %s the flows of a previous run failed (%s); all are "
                  "deleted", name, list_error ? "listing" : "deleting",
                  ovs_strerror(list_error ? list_error : error));
        flush(work->dp);
        legacy->n_doomed += legacy->n_kept;
        legacy->n_kept = 0;
    }
    n_rules = kdp_flow_offload_delete_old_chains(work->dp);
    if (list_error || legacy->n_doomed || n_rules) {
        wait_for_packets(work->dp);
    }
    flow_chains_destroy(work->chains);
    work->chains = NULL;
    if (!ovs_list_is_empty(&legacy->doomed[FLOW_CHAIN])
        || !ovs_list_is_empty(&legacy->doomed[FLOW_ROOT])) {
        work->chains = flow_chains_create();
        add_chains(work->chains, legacy, FLOW_ROOT);
        add_chains(work->chains, legacy, FLOW_CHAIN);
    }
}

/* Work, in DONE: deletes roots that still lead to chains of the previous run,
 * and then the chains. */
static void
delete_chains(struct work *work)
{
    const struct flow_chains *chains = kdp_datapath_chains(work->dp);
    struct ovs_list *roots = &work->legacy.doomed[FLOW_ROOT];
    struct doomed *doomed;
    int error, chain_error;

    LIST_FOR_EACH_SAFE (doomed, list_node, roots) {
        if (!flow_chains_has_root(chains, &doomed->ufid)) {
            ovs_list_remove(&doomed->list_node);
            free(doomed);
        }
    }
    error = delete_flows(work, roots);
    wait_for_packets(work->dp);
    chain_error = delete_flows(work, &work->legacy.doomed[FLOW_CHAIN]);
    error = error ? error : chain_error;
    if (error) {
        VLOG_WARN("%s: deleting flows of recirculation chains of a previous "
                  "run failed (%s)", work->dp->name, ovs_strerror(error));
    }
}

/* The main loop. */

/* Flows of the previous run are in the kernel, or in tc alone. */
static bool
had_flows(const char *port_name, void *dp_)
{
    struct kdp_datapath *dp = dp_;
    const unsigned long *inputs = dp->takeover->work.legacy.inputs;
    struct kdp_flow_engine *engine = kdp_flow_engine_get(dp);
    struct ovs_vport vport;

    return (!vport_table_get_by_name(dp->vports, port_name, &vport)
            && ((vport.port_no < MAX_PORTS
                 && bitmap_is_set(inputs, vport.port_no))
                || (engine && offload_port_had_rules(engine->offload,
                                                     vport.port_no))));
}

static long long int
hold_ends(const struct takeover *t)
{
    return t->upcalls_on + t->hold * 1000LL;
}

/* True if the flows have to stay as they are, because a bridge waits for its
 * rules.  The work must be done. */
static bool
is_held(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;

    if (!hold_cb || !t->hold || !hold_cb(had_flows, dp)) {
        return false;
    }
    if (time_msec() >= hold_ends(t)) {
        VLOG_WARN("%s: flows of a previous run waited for rules of secure "
                  "bridges for %u s (other_config:restart-hold); they are "
                  "compared with the rules that there are", dp->name, t->hold);
        return false;
    }
    return true;
}

/* Creates a thread that deletes the flows that must not stay. */
static void
enter_delete(struct kdp_datapath *dp, bool bridges_run)
{
    struct takeover *t = dp->takeover;

    t->phase = DELETE;
    t->work.keep_chains = bridges_run;
    t->ports_changed = false;
    bitmap_free(t->copied_ports);
    t->copied_ports = (bitmap_is_all_zeros(t->new_ports, MAX_PORTS) ? NULL
                       : bitmap_clone(t->new_ports, MAX_PORTS));
    t->work.new_ports = t->copied_ports;
    work_start(dp, delete_stale);
}

static void
end(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;
    const struct legacy *legacy = &t->work.legacy;
    uint32_t first = (ids_can_rise(legacy)
                      ? MAX(legacy->max_recirc_id, UPCALL_RECIRC_STATIC) + 1
                      : UPCALL_RECIRC_STATIC + 1);

    if (recirc_cb) {
        recirc_cb(first);
    }
    upcall_table_set_first_recirc_id(dp->upcalls, first);
    kdp_flow_offload_end_old(dp);
    if (legacy->n_kept || legacy->n_doomed) {
        VLOG_INFO("%s: %"PRIuSIZE" flows of a previous run are translated "
                  "again, %"PRIuSIZE" were deleted; upcalls were held for "
                  "them for %lld ms", dp->name, legacy->n_kept,
                  legacy->n_doomed, time_msec() - t->upcalls_on);
    }
    if (!t->work.chains) {
        legacy_clear(&t->work.legacy);
    }
    enter_done(dp);
    t->n_revalidated = 0;
    t->ended = time_msec();
}

void
takeover_dump_begins(struct kdp_datapath *dp)
{
    unsigned int n;

    atomic_add(&dp->takeover->n_dumps, 1, &n);
    seq_change(dp->takeover->seq);
}

/* Deletes chains of the previous run when nothing leads to them, or after a
 * minute.  An earlier dump may still show the chains, so they are hidden until
 * revalidators begin the next dump. */
static void
run_chains(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;
    const struct flow_chains *chains = kdp_datapath_chains(dp);
    unsigned int n_dumps;

    if (!chains || !work_is_done(t)) {
        return;
    }
    t->seqno = seq_read(t->seq);
    atomic_read(&t->n_dumps, &n_dumps);
    if (t->chains_deleted) {
        if (n_dumps != t->n_dumps_then) {
            forget_chains(dp);
        }
    } else if (t->work.function == delete_chains) {
        t->chains_deleted = true;
        t->n_dumps_then = n_dumps;
    } else if (!flow_chains_n_roots(chains)
               || time_msec() >= t->ended + MAX_CHAINS_MSEC) {
        work_start(dp, delete_chains);
    }
}

void
takeover_operated(struct kdp_datapath *dp, struct dpif_op *ops[], size_t n,
                  bool revalidator)
{
    struct flow_chains *chains = kdp_datapath_chains(dp);

    for (size_t i = 0; chains && i < n; i++) {
        if (flow_chains_done(chains, ops[i])) {
            seq_change(dp->takeover->seq);
        } else if (ops[i]->type == DPIF_OP_FLOW_GET && !ops[i]->error
                   && revalidator) {
            flow_chains_disguise(chains, ops[i]->flow_get.flow);
        }
    }
}

void
takeover_run(struct kdp_datapath *dp, bool bridges_run)
{
    struct takeover *t = dp->takeover;

    if (t->phase == SETTLE) {
        t->turns -= t->turns > 0;
        if (!t->turns && work_is_done(t) && !is_held(dp)) {
            enter_delete(dp, bridges_run);
        }
    }
    if (t->phase == DELETE && work_is_done(t)) {
        if (t->ports_changed) {
            enter_delete(dp, bridges_run);
        } else {
            end(dp);
        }
    } else if (t->phase == DONE) {
        run_chains(dp);
    }
}

bool
takeover_revalidate(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;
    bool due = (t->n_revalidated < ARRAY_SIZE(revalidate_after)
                && (time_msec()
                    >= t->ended + revalidate_after[t->n_revalidated]));

    t->n_revalidated += due;
    return due;
}

void
takeover_wait(struct kdp_datapath *dp)
{
    const struct takeover *t = dp->takeover;

    if (t->phase == SETTLE && t->turns) {
        poll_immediate_wake();
    } else if (t->phase == SETTLE && !t->working) {
        poll_timer_wait_until(MIN(hold_ends(t), time_msec() + HOLD_MSEC));
    } else if (t->phase == SETTLE || t->phase == DELETE) {
        seq_wait(t->seq, t->seqno);
    } else if (t->n_revalidated < ARRAY_SIZE(revalidate_after)) {
        poll_timer_wait_until(t->ended + revalidate_after[t->n_revalidated]);
    }
    if (kdp_datapath_chains(dp)) {
        seq_wait(t->seq, t->seqno);
        if (!t->working) {
            poll_timer_wait_until(t->ended + MAX_CHAINS_MSEC);
        }
    }
}
