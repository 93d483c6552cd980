/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-operate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-engine.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "ovs/compat-dpif.h"
#include "tc/tc-desc.h"
#include "util.h"

/* Operations that are passed to the inner dpif together: as many as the engine
 * has at a time. */
#define MAX_KERNEL_OPS OFFLOAD_BATCH

/* Operations of a user that are not for the engine, mostly packets.  They go
 * to the kernel together with the engine's operations for that user. */
struct others {
    struct dpif_op **ops;
    size_t n;
};

/* The thread's operations, or NULL. */
DEFINE_STATIC_PER_THREAD_DATA(struct others *, others, NULL);

/* The kernel side. */

/* An operation of the engine, converted for a dpif. */
struct kernel_op {
    struct offload_copy_op *copy_op;
    struct dpif_op *op;         /* '&own', or the user's. */
    struct dpif_op own;
    struct dpif_flow_stats stats;
    struct dpif_flow flow;
    struct ofpbuf buffer;       /* For a get that is not from a user. */
};

static enum dpif_flow_put_flags
put_flags(unsigned int flags)
{
    return ((flags & OFFLOAD_PUT_CREATE ? DPIF_FP_CREATE : 0)
            | (flags & OFFLOAD_PUT_MODIFY ? DPIF_FP_MODIFY : 0)
            | (flags & OFFLOAD_PUT_ZERO_STATS ? DPIF_FP_ZERO_STATS : 0));
}

static void
kernel_op_init(struct kernel_op *k, struct offload_copy_op *copy_op)
{
    const struct offload_desc *desc = copy_op->desc;
    const struct dpif_op *user = copy_op->cookie;
    struct dpif_op *op = &k->own;

    k->copy_op = copy_op;
    k->op = op;
    op->error = 0;
    ofpbuf_init(&k->buffer, (copy_op->type == OFFLOAD_COPY_GET && !user
                             ? DPIF_FLOW_BUFSIZE : 0));
    memset(&k->stats, 0, sizeof k->stats);

    switch (copy_op->type) {
    case OFFLOAD_COPY_PUT:
        op->type = DPIF_OP_FLOW_PUT;
        op->flow_put = (struct dpif_flow_put) {
            .flags = put_flags(copy_op->flags),
            .key = desc->key,
            .key_len = desc->key_len,
            .mask = desc->mask,
            .mask_len = desc->mask_len,
            .actions = desc->actions,
            .actions_len = desc->actions_len,
            .ufid = &copy_op->ufid,
            .pmd_id = PMD_ID_NULL,
        };
        break;

    case OFFLOAD_COPY_DEL:
        op->type = DPIF_OP_FLOW_DEL;
        op->flow_del = (struct dpif_flow_del) {
            .key = user ? user->flow_del.key : desc ? desc->key : NULL,
            .key_len = (user ? user->flow_del.key_len
                        : desc ? desc->key_len : 0),
            .ufid = &copy_op->ufid,
            .terse = true,
            .pmd_id = PMD_ID_NULL,
            .stats = &k->stats,
        };
        break;

    case OFFLOAD_COPY_GET:
    default:
        op->type = DPIF_OP_FLOW_GET;
        op->flow_get = (struct dpif_flow_get) {
            .ufid = &copy_op->ufid,
            .pmd_id = PMD_ID_NULL,
            .buffer = &k->buffer,
            .flow = &k->flow,
        };
        if (user) {
            /* The result is for the user. */
            op->flow_get.buffer = user->flow_get.buffer;
            op->flow_get.flow = user->flow_get.flow;
        }
        break;
    }
}

static void
kernel_op_finish(struct kernel_op *k)
{
    struct offload_copy_op *copy_op = k->copy_op;

    copy_op->error = k->op->error;
    if (copy_op->type == OFFLOAD_COPY_GET && !copy_op->error) {
        copy_op->stats
            = kdp_flow_stats_from_dpif(&k->op->flow_get.flow->stats);
    } else {
        copy_op->stats = kdp_flow_stats_from_dpif(&k->stats);
    }
    ofpbuf_uninit(&k->buffer);
}

/* Carries out 'n' operations of the engine, at most MAX_KERNEL_OPS, and the
 * user's other operations in one request.  The number of the others becomes
 * 0. */
static void
kernel_operate_chunk(struct dpif *inner, struct offload_copy_op *copy_ops[],
                     size_t n, struct others *others)
{
    size_t n_others = others ? others->n : 0;
    struct kernel_op *kernel_ops = xmalloc(n * sizeof *kernel_ops);
    struct dpif_op **ops = xmalloc((n + n_others) * sizeof *ops);

    for (size_t i = 0; i < n; i++) {
        kernel_op_init(&kernel_ops[i], copy_ops[i]);
        ops[i] = kernel_ops[i].op;
    }
    for (size_t i = 0; i < n_others; i++) {
        ops[n + i] = others->ops[i];
    }
    if (others) {
        others->n = 0;
    }
    ovs_compat_operate(inner, ops, n + n_others);
    for (size_t i = 0; i < n; i++) {
        kernel_op_finish(&kernel_ops[i]);
    }
    free(ops);
    free(kernel_ops);
}

static void
kernel_operate(void *engine_, struct offload_copy_op *copy_ops[], size_t n)
{
    struct kdp_flow_engine *engine = engine_;

    while (n) {
        size_t chunk = MIN(n, MAX_KERNEL_OPS);

        kernel_operate_chunk(engine->dp->inner, copy_ops, chunk,
                             chunk == n ? *others_get() : NULL);
        copy_ops += chunk;
        n -= chunk;
    }
}

static int
kernel_flush(void *engine_)
{
    struct kdp_flow_engine *engine = engine_;
    struct kdp_datapath *dp = engine->dp;
    int error;

    ovs_mutex_lock(&dp->mutex);
    error = ovs_flow_flush(&dp->genl, dp->ifindex);
    ovs_mutex_unlock(&dp->mutex);
    return error;
}

/* How often handlers and revalidators have found more flows than Open
 * vSwitch's limit.  The limit depends on the duration of a dump and is
 * available nowhere else.  Above it, flows that were not used for 0.1 s are
 * deleted.  NULL in programs without handlers and revalidators. */
extern struct coverage_counter counter_upcall_flow_limit_hit
    __attribute__((weak));

/* For struct offload_kernel.  Reads the counter without its lock, which is
 * private to Open vSwitch: only a change of the counter matters. */
static bool
kernel_is_crowded(void *engine_)
{
    struct kdp_flow_engine *engine = engine_;
    unsigned long long int before = engine->n_limit_hits;

    if (&counter_upcall_flow_limit_hit) {
        engine->n_limit_hits = counter_upcall_flow_limit_hit.total;
    }
    return engine->n_limit_hits != before;
}

struct offload_kernel
kdp_flow_kernel(struct kdp_flow_engine *engine)
{
    return (struct offload_kernel) {
        .operate = kernel_operate,
        .flush = kernel_flush,
        .is_crowded = kernel_is_crowded,
        .aux = engine,
    };
}

/* Users. */

/* Converts 'put' into '*op'.  Returns false if it is not for the engine: a
 * flow without ufid, or a flow that only probes the datapath. */
static bool
put_init(struct offload_op *op, const struct dpif_flow_put *put)
{
    if (!put->ufid || put->flags & DPIF_FP_PROBE) {
        return false;
    }
    *op = (struct offload_op) {
        .type = OFFLOAD_PUT,
        .flags = ((put->flags & DPIF_FP_CREATE ? OFFLOAD_PUT_CREATE : 0)
                  | (put->flags & DPIF_FP_MODIFY ? OFFLOAD_PUT_MODIFY : 0)
                  | (put->flags & DPIF_FP_ZERO_STATS
                     ? OFFLOAD_PUT_ZERO_STATS : 0)),
        .desc = kdp_tc_desc_create(put->ufid, put->key, put->key_len,
                                   put->mask, put->mask_len,
                                   put->actions, put->actions_len),
        .want_stats = put->stats != NULL,
    };
    return true;
}

/* Makes '*op' an operation of 'type' on flow 'ufid'.  Returns false if that is
 * not for the engine: a flow without ufid. */
static bool
ufid_init(struct offload_op *op, enum offload_op_type type,
          const ovs_u128 *ufid)
{
    if (!ufid) {
        return false;
    }
    *op = (struct offload_op) { .type = type, .ufid = *ufid };
    return true;
}

/* Converts 'dpif_op' into '*op'.  Returns false if it is not for the
 * engine. */
static bool
user_op_init(struct offload_op *op, struct dpif_op *dpif_op)
{
    bool ours;

    switch (dpif_op->type) {
    case DPIF_OP_FLOW_PUT:
        ours = put_init(op, &dpif_op->flow_put);
        break;
    case DPIF_OP_FLOW_DEL:
        ours = ufid_init(op, OFFLOAD_DEL, dpif_op->flow_del.ufid);
        break;
    case DPIF_OP_FLOW_GET:
        ours = ufid_init(op, OFFLOAD_GET, dpif_op->flow_get.ufid);
        break;
    case DPIF_OP_EXECUTE:
    default:
        ours = false;
        break;
    }
    if (ours) {
        op->cookie = dpif_op;
    }
    return ours;
}

/* Stores the flow that 'op' found, which the engine knows, for 'get'.  The
 * flow points into the buffer of 'get'. */
static void
store_flow(const struct offload_op *op, const struct dpif_flow_get *get)
{
    const struct offload_desc *desc = op->result;
    struct ofpbuf *buffer = get->buffer;
    struct dpif_flow *flow = get->flow;
    size_t key_len = ROUND_UP(desc->key_len, NLA_ALIGNTO);
    size_t mask_len = ROUND_UP(desc->mask_len, NLA_ALIGNTO);
    size_t actions_len = ROUND_UP(desc->actions_len, NLA_ALIGNTO);
    char *p = ofpbuf_put_zeros(buffer, key_len + mask_len + actions_len);

    memset(flow, 0, sizeof *flow);
    flow->key = memcpy(p, desc->key, desc->key_len);
    flow->key_len = desc->key_len;
    p += key_len;
    flow->mask = memcpy(p, desc->mask, desc->mask_len);
    flow->mask_len = desc->mask_len;
    p += mask_len;
    flow->actions = memcpy(p, desc->actions, desc->actions_len);
    flow->actions_len = desc->actions_len;
    flow->ufid = desc->ufid;
    flow->ufid_present = true;
    flow->pmd_id = PMD_ID_NULL;
    flow->stats = kdp_flow_stats_to_dpif(&op->stats);
    flow->attrs.offloaded = op->in_tc && offload_in_hw(op->hw);
    flow->attrs.dp_layer = op->in_tc ? "tc" : "ovs";
}

/* Passes the results of 'op' to its user. */
static void
user_op_finish(struct offload_op *op)
{
    struct dpif_op *dpif_op = op->cookie;

    dpif_op->error = op->error;
    switch (op->type) {
    case OFFLOAD_PUT:
        if (!op->error && dpif_op->flow_put.stats) {
            *dpif_op->flow_put.stats = kdp_flow_stats_to_dpif(&op->stats);
        }
        offload_desc_unref(op->desc);
        break;
    case OFFLOAD_DEL:
        if (!op->error && dpif_op->flow_del.stats) {
            *dpif_op->flow_del.stats = kdp_flow_stats_to_dpif(&op->stats);
        }
        break;
    case OFFLOAD_GET:
    default:
        if (!op->error && op->tracked) {
            store_flow(op, &dpif_op->flow_get);
        }
        offload_desc_unref(op->result);
        break;
    }
}

void
kdp_flow_operate(struct kdp_flow_engine *engine, struct dpif_op **dpif_ops,
                 size_t n)
{
    struct dpif *inner = engine->dp->inner;
    struct offload_op *ops = xmalloc(n * sizeof *ops);
    struct offload_op **opps = xmalloc(n * sizeof *opps);
    struct others rest = { .ops = xmalloc(n * sizeof *rest.ops) };
    size_t n_ops = 0;

    for (size_t i = 0; i < n; i++) {
        if (user_op_init(&ops[n_ops], dpif_ops[i])) {
            opps[n_ops] = &ops[n_ops];
            n_ops++;
        } else {
            rest.ops[rest.n++] = dpif_ops[i];
        }
    }
    if (n_ops) {
        *others_get() = &rest;
        offload_operate(engine->offload, opps, n_ops);
        *others_get() = NULL;
    }
    for (size_t i = 0; i < n_ops; i++) {
        user_op_finish(&ops[i]);
    }
    if (rest.n) {
        /* The engine had nothing to do in the kernel. */
        ovs_compat_operate(inner, rest.ops, rest.n);
    }
    free(rest.ops);
    free(opps);
    free(ops);
}

/* Reads flow 'ufid' from the kernel. */
static struct offload_desc *
get_from_kernel(void *engine_, const ovs_u128 *ufid)
{
    struct kdp_flow_engine *engine = engine_;
    struct dpif *inner = engine->dp->inner;
    struct offload_desc *desc = NULL;
    struct dpif_flow flow;
    struct ofpbuf buffer;
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_GET,
        .flow_get = {
            .ufid = ufid,
            .pmd_id = PMD_ID_NULL,
            .buffer = &buffer,
            .flow = &flow,
        },
    };

    ofpbuf_init(&buffer, DPIF_FLOW_BUFSIZE);
    ovs_compat_operate(inner, (struct dpif_op *[]) { &op }, 1);
    if (!op.error) {
        desc = kdp_tc_desc_create(ufid, flow.key, flow.key_len, flow.mask,
                                  flow.mask_len, flow.actions,
                                  flow.actions_len);
    }
    ofpbuf_uninit(&buffer);
    return desc;
}

void
kdp_flow_learn(struct kdp_flow_engine *engine, const ovs_u128 *ufid)
{
    offload_learn(engine->offload, ufid, get_from_kernel, engine);
}
