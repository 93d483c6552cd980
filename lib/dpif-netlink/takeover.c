/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/takeover.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bitmap.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-offload.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/flow-stale.h"
#include "dpif-netlink/upcall-dest.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs/compat-dpif.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_takeover);

/* Flows listed at a time, as in Open vSwitch. */
#define MAX_BATCH 50

/* Port numbers of a datapath: the kernel has no more. */
#define MAX_PORTS 65536

/* Milliseconds after the end of SETTLE at which flows are revalidated: at once, and
 * again.  Of a flow that is in use, a packet was counted by then; and of one that
 * is used less, not many packets take a way that is not the best. */
static const int revalidate_after[] = { 0, 20, 100, 500 };

struct takeover {
    enum { DONE, KEEP, SETTLE } phase;
    unsigned int turns;         /* In SETTLE: until it ends. */
    atomic_bool hides;          /* Not DONE; for revalidators. */
    unsigned long *new_ports;   /* Numbers that were given since KEEP. */
    size_t n_revalidated;       /* Those of 'revalidate_after' that are over. */
    long long int ended;        /* Time of the end of SETTLE. */
};

/* What the previous run left. */
struct legacy {
    struct ovs_list roots;      /* Of "struct doomed". */
    struct ovs_list others;
    size_t n_doomed, n_kept;
};

/* A flow that is to be deleted. */
struct doomed {
    struct ovs_list list_node;
    struct dpif_op op;
    ovs_u128 ufid;
    struct nlattr key[];
};

void
takeover_create(struct kdp_datapath *dp)
{
    dp->takeover = xzalloc(sizeof *dp->takeover);
    dp->takeover->phase = DONE;
    atomic_init(&dp->takeover->hides, false);
    dp->takeover->n_revalidated = ARRAY_SIZE(revalidate_after);
}

static void
enter_done(struct takeover *t)
{
    t->phase = DONE;
    bitmap_free(t->new_ports);
    t->new_ports = NULL;
    /* Release: a revalidator that sees flows sees what was deleted, too. */
    atomic_store_explicit(&t->hides, false, memory_order_release);
}

void
takeover_destroy(struct kdp_datapath *dp)
{
    enter_done(dp->takeover);
    free(dp->takeover);
}

void
takeover_begin(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;

    if (t->phase == DONE) {
        t->phase = KEEP;
        t->new_ports = bitmap_allocate(MAX_PORTS);
        t->n_revalidated = ARRAY_SIZE(revalidate_after);
        atomic_store_explicit(&t->hides, true, memory_order_release);
        kdp_flow_offload_keep_old(dp);
    }
}

void
takeover_cancel(struct kdp_datapath *dp)
{
    enter_done(dp->takeover);
    dp->takeover->n_revalidated = ARRAY_SIZE(revalidate_after);
}

void
takeover_upcalls_on(struct kdp_datapath *dp)
{
    if (dp->takeover->phase == KEEP) {
        dp->takeover->phase = SETTLE;
        dp->takeover->turns = UPCALL_DEST_HOLD_TURNS;
    }
}

void
takeover_port_added(struct kdp_datapath *dp, uint32_t port_no)
{
    if (dp->takeover->phase != DONE && port_no < MAX_PORTS) {
        bitmap_set1(dp->takeover->new_ports, port_no);
    }
}

void
takeover_port_stays(struct kdp_datapath *dp, uint32_t port_no)
{
    if (dp->takeover->phase != DONE && port_no < MAX_PORTS) {
        bitmap_set0(dp->takeover->new_ports, port_no);
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
port_is_new(void *t_, uint32_t port_no)
{
    const struct takeover *t = t_;

    return port_no < MAX_PORTS && bitmap_is_set(t->new_ports, port_no);
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

/* Has the statistics of the 'n' 'flows' begin anew: what was counted so far is
 * no matter of the rules of this run.  One that went meanwhile is no matter
 * either. */
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

/* Sorts 'n' of the kernel's flows. */
static void
sort_flows(struct kdp_datapath *dp, struct legacy *legacy,
           struct dpif_flow *flows, size_t n)
{
    struct dpif_flow *kept[MAX_BATCH];
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        enum flow_stale stale = flow_stale(&flows[i], port_is_new,
                                           dp->takeover);

        if (stale == FLOW_FRESH) {
            kept[n_kept++] = &flows[i];
        } else {
            ovs_list_push_back((stale == FLOW_STALE_ROOT ? &legacy->roots
                                : &legacy->others),
                               &doomed_create(&flows[i])->list_node);
            legacy->n_doomed++;
        }
    }
    reset_statistics(dp->inner, kept, n_kept);
    legacy->n_kept += n_kept;
}

/* Lists the kernel's flows.  Returns 0 or a positive errno value. */
static int
list_flows(struct kdp_datapath *dp, struct legacy *legacy)
{
    struct dpif_flow_dump_types types = { .ovs_flows = true };
    const struct dpif_class *class = dp->inner->dpif_class;
    struct dpif_flow_dump *dump = class->flow_dump_create(dp->inner, false,
                                                          &types);
    struct dpif_flow_dump_thread *thread
        = class->flow_dump_thread_create(dump);
    struct dpif_flow flows[MAX_BATCH];
    int n;

    while ((n = class->flow_dump_next(thread, flows, MAX_BATCH)) > 0) {
        sort_flows(dp, legacy, flows, n);
    }
    class->flow_dump_thread_destroy(thread);
    return class->flow_dump_destroy(dump);
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

/* Deletes the flows of 'list', which is of "struct doomed", and frees it.
 * Returns 0, or a positive errno value if one of them may be left. */
static int
delete_flows(struct kdp_datapath *dp, struct ovs_list *list)
{
    int error = 0;

    while (!ovs_list_is_empty(list)) {
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
        operate(dp, ops, n);
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
    int error = (engine ? kdp_flow_flush(engine)
                 : dp->inner->dpif_class->flow_flush(dp->inner));

    if (error) {
        VLOG_ERR("%s: flows of a previous run cannot be deleted (%s): packets "
                 "that they recirculate may take a wrong way", dp->name,
                 ovs_strerror(error));
    }
}

/* Waits until no packet is under way any more that met a flow which has been
 * deleted: the kernel forwards a packet within one RCU read-side section.
 * Some ten milliseconds.
 *
 * The kernel does not wait where it has one CPU, on which a packet is never
 * half-way while others run, but for PREEMPT_RT.  It refuses where CPUs have no
 * tick.  There, to close a packet socket waits in the same way, as packets may
 * be on their way to it. */
static void
wait_for_packets(const struct kdp_datapath *dp)
{
    int fd;

    if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) {
        return;
    }
    fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        VLOG_WARN("%s: packets that flows of a previous run have met cannot "
                  "be waited for (%s): those that recirculate at this moment "
                  "may take a wrong way", dp->name, ovs_strerror(errno));
        return;
    }
    close(fd);
}

static void
look_at_flows(struct kdp_datapath *dp)
{
    struct legacy legacy = {
        .roots = OVS_LIST_INITIALIZER(&legacy.roots),
        .others = OVS_LIST_INITIALIZER(&legacy.others),
    };
    int list_error = list_flows(dp, &legacy);
    int error = delete_flows(dp, &legacy.roots);
    int other_error = delete_flows(dp, &legacy.others);
    size_t n_rules = kdp_flow_offload_end_old(dp);

    error = error ? error : other_error;
    if (list_error || error) {
        VLOG_WARN("%s: %s the flows of a previous run failed (%s); all are "
                  "deleted", dp->name, list_error ? "listing" : "deleting",
                  ovs_strerror(list_error ? list_error : error));
        flush(dp);
    } else if (legacy.n_kept || legacy.n_doomed) {
        VLOG_INFO("%s: %"PRIuSIZE" flows of a previous run are translated "
                  "anew, %"PRIuSIZE" were deleted", dp->name, legacy.n_kept,
                  legacy.n_doomed);
    }
    if (list_error || legacy.n_doomed || n_rules) {
        wait_for_packets(dp);
    }
}

/* The main loop. */

void
takeover_run(struct kdp_datapath *dp)
{
    struct takeover *t = dp->takeover;

    if (t->phase == SETTLE && !--t->turns) {
        look_at_flows(dp);
        enter_done(t);
        t->n_revalidated = 0;
        t->ended = time_msec();
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

    if (t->phase == SETTLE) {
        poll_immediate_wake();
    } else if (t->n_revalidated < ARRAY_SIZE(revalidate_after)) {
        poll_timer_wait_until(t->ended + revalidate_after[t->n_revalidated]);
    }
}
