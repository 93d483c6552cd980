/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "fake/dpif-fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/offload-info.h"
#include "openvswitch/ofpbuf.h"
#include "ovs/compat-dpif.h"
#include "packets.h"
#include "timeval.h"
#include "dpif-netlink/flow-operate.h"
#include "fake/tc-fake.h"
#include "tc/tc-backend.h"
#include "tc/tc-desc.h"
#include "harness/unit.h"
#include "util.h"

struct unit_dpif_flow {
    struct offload_desc *desc;
    struct dpif_flow_stats stats;
};

static struct unit_dpif *
unit_dpif_cast(const struct dpif *dpif)
{
    return CONTAINER_OF(dpif, struct unit_dpif, inner);
}

/* Flows. */

static struct unit_dpif_flow **
find_slot(struct unit_dpif *u, const ovs_u128 *ufid)
    OVS_REQUIRES(u->mutex)
{
    for (size_t i = 0; i < UNIT_DPIF_SLOTS; i++) {
        if (u->slots[i] && ovs_u128_equals(u->slots[i]->desc->ufid, *ufid)) {
            return &u->slots[i];
        }
    }
    return NULL;
}

static struct unit_dpif_flow *
add_flow(struct unit_dpif *u, struct offload_desc *desc)
    OVS_REQUIRES(u->mutex)
{
    struct unit_dpif_flow *flow = xzalloc(sizeof *flow);

    /* Not next to each other, so that dumps meet them in another order. */
    do {
        u->next_slot = (u->next_slot + 389) % UNIT_DPIF_SLOTS;
    } while (u->slots[u->next_slot]);
    u->slots[u->next_slot] = flow;
    flow->desc = desc;
    return flow;
}

static void
remove_flow(struct unit_dpif_flow **slot)
{
    offload_desc_unref((*slot)->desc);
    free(*slot);
    *slot = NULL;
}

/* Fills '*out' in, with copies of the attributes in 'buffer'. */
static void
copy_flow(const struct unit_dpif_flow *flow, struct ofpbuf *buffer,
          struct dpif_flow *out)
{
    const struct offload_desc *desc = flow->desc;
    char *p = ofpbuf_put_zeros(buffer, (desc->key_len + desc->mask_len
                                        + desc->actions_len));

    *out = (struct dpif_flow) {
        .key = memcpy(p, desc->key, desc->key_len),
        .key_len = desc->key_len,
        .mask = memcpy(p + desc->key_len, desc->mask, desc->mask_len),
        .mask_len = desc->mask_len,
        .actions = memcpy(p + desc->key_len + desc->mask_len, desc->actions,
                          desc->actions_len),
        .actions_len = desc->actions_len,
        .ufid = desc->ufid,
        .ufid_present = true,
        .pmd_id = PMD_ID_NULL,
        .stats = flow->stats,
        .attrs = { .dp_layer = "ovs" },
    };
}

/* Operations. */

static int
do_put(struct unit_dpif *u, const struct dpif_flow_put *put)
    OVS_REQUIRES(u->mutex)
{
    static const ovs_u128 no_ufid;
    struct unit_dpif_flow **slot, *flow;
    struct offload_desc *desc;

    slot = put->ufid ? find_slot(u, put->ufid) : NULL;
    if (slot ? !(put->flags & DPIF_FP_MODIFY)
        : !(put->flags & DPIF_FP_CREATE)) {
        return slot ? EEXIST : ENOENT;
    }
    if (put->flags & DPIF_FP_PROBE || !put->ufid) {
        return 0;
    }
    desc = kdp_tc_desc_create(put->ufid ? put->ufid : &no_ufid,
                              put->key, put->key_len, put->mask, put->mask_len,
                              put->actions, put->actions_len);
    if (slot) {
        flow = *slot;
        offload_desc_unref(flow->desc);
        flow->desc = desc;
    } else {
        flow = add_flow(u, desc);
    }
    if (put->flags & DPIF_FP_ZERO_STATS) {
        memset(&flow->stats, 0, sizeof flow->stats);
    }
    return 0;
}

static int
do_op(struct unit_dpif *u, struct dpif_op *op)
    OVS_REQUIRES(u->mutex)
{
    struct unit_dpif_flow **slot;

    switch (op->type) {
    case DPIF_OP_FLOW_PUT:
        return do_put(u, &op->flow_put);
    case DPIF_OP_FLOW_DEL:
        unit_check(!op->flow_del.key == !op->flow_del.key_len);
        slot = op->flow_del.ufid ? find_slot(u, op->flow_del.ufid) : NULL;
        if (!slot) {
            return ENOENT;
        }
        if (op->flow_del.stats) {
            *op->flow_del.stats = (*slot)->stats;
        }
        remove_flow(slot);
        return 0;
    case DPIF_OP_FLOW_GET:
        slot = op->flow_get.ufid ? find_slot(u, op->flow_get.ufid) : NULL;
        if (!slot) {
            return ENOENT;
        }
        copy_flow(*slot, op->flow_get.buffer, op->flow_get.flow);
        return 0;
    case DPIF_OP_EXECUTE:
    default:
        return 0;
    }
}

static void
log_op(struct unit_dpif *u, const struct dpif_op *op)
    OVS_REQUIRES(u->mutex)
{
    const ovs_u128 *ufid = (op->type == DPIF_OP_FLOW_PUT ? op->flow_put.ufid
                            : op->type == DPIF_OP_FLOW_DEL ? op->flow_del.ufid
                            : NULL);

    if (op->type != DPIF_OP_FLOW_GET && u->n_log < UNIT_DPIF_LOG) {
        u->log[u->n_log].type = op->type;
        u->log[u->n_log++].flow = ufid ? ufid->u32[0] : 0;
    }
}

static void
inner_operate(struct dpif *dpif, struct dpif_op **ops,
              size_t n OVS_COMPAT_OPERATE_PARAM)
{
    struct unit_dpif *u = unit_dpif_cast(dpif);

    unit_check(!OVS_COMPAT_OPERATE_TC_ONLY);
    ovs_mutex_lock(&u->mutex);
    for (size_t i = 0; i < n; i++) {
        log_op(u, ops[i]);
        if (u->n_fail && u->fail_type == ops[i]->type) {
            u->n_fail--;
            ops[i]->error = u->fail_error;
        } else {
            ops[i]->error = do_op(u, ops[i]);
        }
    }
    ovs_mutex_unlock(&u->mutex);
}

/* Dumps. */

struct inner_dump {
    struct dpif_flow_dump up;
    size_t slot;                /* Under the mutex of the dpif. */
    size_t n;                   /* Flows so far. */
    bool empty;                 /* The caller wants no flows. */
};

struct inner_thread {
    struct dpif_flow_dump_thread up;
    struct inner_dump *dump;
    struct ofpbuf buffers[64];  /* Of the flows handed out last. */
    size_t n_buffers;
};

static struct dpif_flow_dump *
inner_dump_create(const struct dpif *dpif, bool terse,
                  struct dpif_flow_dump_types *types)
{
    struct inner_dump *dump = xzalloc(sizeof *dump);

    unit_check(types && !types->OVS_COMPAT_TC_FLOWS);
    dump->empty = !types->ovs_flows;
    ovs_compat_flow_dump_init(&dump->up, dpif, terse);
    return &dump->up;
}

static int
inner_dump_destroy(struct dpif_flow_dump *dump_)
{
    struct inner_dump *dump = CONTAINER_OF(dump_, struct inner_dump, up);
    struct unit_dpif *u = unit_dpif_cast(dump->up.dpif);
    int error;

    ovs_mutex_lock(&u->mutex);
    error = u->dump_error;
    ovs_mutex_unlock(&u->mutex);
    free(dump);
    return error;
}

static struct dpif_flow_dump_thread *
inner_thread_create(struct dpif_flow_dump *dump)
{
    struct inner_thread *thread = xzalloc(sizeof *thread);

    dpif_flow_dump_thread_init(&thread->up, dump);
    thread->dump = CONTAINER_OF(dump, struct inner_dump, up);
    return &thread->up;
}

static void
release_buffers(struct inner_thread *thread)
{
    while (thread->n_buffers) {
        ofpbuf_uninit(&thread->buffers[--thread->n_buffers]);
    }
}

static void
inner_thread_destroy(struct dpif_flow_dump_thread *thread_)
{
    struct inner_thread *thread = CONTAINER_OF(thread_, struct inner_thread,
                                               up);

    release_buffers(thread);
    free(thread);
}

/* Hands out a few flows at a time, as the kernel does. */
static int
inner_dump_next(struct dpif_flow_dump_thread *thread_,
                struct dpif_flow *flows, int max_flows)
{
    struct inner_thread *thread = CONTAINER_OF(thread_, struct inner_thread,
                                               up);
    struct inner_dump *dump = thread->dump;
    struct unit_dpif *u = unit_dpif_cast(dump->up.dpif);
    int n = 0;

    release_buffers(thread);
    ovs_mutex_lock(&u->mutex);
    for (; !dump->empty && dump->slot < UNIT_DPIF_SLOTS
         && n < MIN(max_flows, 7);
         dump->slot++) {
        if (u->dump_error && dump->n >= u->dump_limit) {
            break;
        }
        if (u->slots[dump->slot]) {
            struct ofpbuf *buffer = &thread->buffers[thread->n_buffers++];

            ofpbuf_init(buffer, 0);
            copy_flow(u->slots[dump->slot], buffer, &flows[n++]);
            dump->n++;
        }
    }
    ovs_mutex_unlock(&u->mutex);
    return n;
}

static int
inner_get_stats(const struct dpif *dpif, struct dpif_dp_stats *stats)
{
    *stats = (struct dpif_dp_stats) {
        .n_flows = unit_dpif_count(unit_dpif_cast(dpif)),
        .n_lost = unit_dpif_cast(dpif)->n_lost,
    };
    return 0;
}

static int
inner_meter_set(struct dpif *inner OVS_UNUSED,
                ofproto_meter_id id OVS_UNUSED,
                struct ofputil_meter_config *config OVS_UNUSED)
{
    return 0;
}

static int
inner_meter_del(struct dpif *inner OVS_UNUSED,
                ofproto_meter_id id OVS_UNUSED,
                struct ofputil_meter_stats *stats OVS_UNUSED,
                uint16_t n_bands OVS_UNUSED)
{
    return 0;
}

static const struct dpif_class inner_class = {
    .type = "unit",
    .get_stats = inner_get_stats,
    .flow_dump_create = inner_dump_create,
    .flow_dump_destroy = inner_dump_destroy,
    .flow_dump_thread_create = inner_thread_create,
    .flow_dump_thread_destroy = inner_thread_destroy,
    .flow_dump_next = inner_dump_next,
    .operate = inner_operate,
    .meter_set = inner_meter_set,
    .meter_del = inner_meter_del,
};

/* The datapath. */

/* The one that is flushed. */
static struct unit_dpif *current;

int __wrap_ovs_flow_flush(struct ovs_genl *, int ifindex);

int
__wrap_ovs_flow_flush(struct ovs_genl *genl OVS_UNUSED, int ifindex OVS_UNUSED)
{
    ovs_mutex_lock(&current->mutex);
    for (size_t i = 0; i < UNIT_DPIF_SLOTS; i++) {
        if (current->slots[i]) {
            remove_flow(&current->slots[i]);
        }
    }
    ovs_mutex_unlock(&current->mutex);
    return 0;
}

void
unit_dpif_start_threads(void)
{
    /* Registers commands, as the first thread does, too. */
    unit_tc_ports_add(1);
    unit_tc_ports_del(1);
    unit_start_threads();
}

void
unit_dpif_init(struct unit_dpif *u, uint32_t n_ports)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    static const struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_kernel kernel;
    struct offload_backend backend;

    memset(u, 0, sizeof *u);
    current = u;
    ovs_mutex_init(&u->mutex);
    u->inner.dpif_class = &inner_class;
    u->dp.inner = &u->inner;
    u->dp.name = "system@unit";
    ovs_mutex_init(&u->dp.mutex);

    unit_tc_init();
    unit_tc_ports_add(n_ports);
    u->n_ports = n_ports;
    u->engine = xzalloc(sizeof *u->engine);
    u->engine->dp = &u->dp;
    kdp_tc_init(&u->engine->tc, kdp_dpif_type, true);
    atomic_store_relaxed(&u->engine->tc.count_headers, true);
    atomic_init(&u->engine->enabled, true);
    kernel = kdp_flow_kernel(u->engine);
    backend = kdp_tc_backend(&u->engine->tc);
    u->engine->offload = offload_create(&kernel, &backend, &config);
    kdp_flow_engine_set(&u->dp, u->engine);
    for (uint32_t i = 1; i <= n_ports; i++) {
        offload_port_add(u->engine->offload, i);
    }
    offload_barrier(u->engine->offload);
}

void
unit_dpif_uninit(struct unit_dpif *u)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_flow_info info;

    unit_dpif_settle(u);
    for (size_t i = 0; i < UNIT_DPIF_SLOTS; i++) {
        unit_check(!u->slots[i]
                   || !offload_get_flow_info(u->engine->offload,
                                             &u->slots[i]->desc->ufid, &info));
    }
    unit_check(!offload_flush(u->engine->offload));
    unit_check(!unit_dpif_count(u));
    unit_dpif_settle(u);
    unit_check(!unit_tc_count());
    offload_destroy(u->engine->offload);
    kdp_tc_destroy(&u->engine->tc);
    free(u->engine);
    unit_tc_ports_del(u->n_ports);
    unit_tc_uninit();
    ovs_mutex_destroy(&u->dp.mutex);
    ovs_mutex_destroy(&u->mutex);
    current = NULL;
}

int
unit_dpif_setup(void **state)
{
    struct unit_dpif *u = xzalloc(sizeof *u);

    unit_dpif_init(u, 2);
    *state = u;
    return 0;
}

int
unit_dpif_teardown(void **state)
{
    unit_dpif_uninit(*state);
    free(*state);
    return 0;
}

void
unit_dpif_fail(struct unit_dpif *u, enum dpif_op_type type, int error,
               unsigned int n)
{
    ovs_mutex_lock(&u->mutex);
    u->fail_type = type;
    u->fail_error = error;
    u->n_fail = n;
    ovs_mutex_unlock(&u->mutex);
}

size_t
unit_dpif_count(struct unit_dpif *u)
{
    size_t n = 0;

    ovs_mutex_lock(&u->mutex);
    for (size_t i = 0; i < UNIT_DPIF_SLOTS; i++) {
        n += u->slots[i] != NULL;
    }
    ovs_mutex_unlock(&u->mutex);
    return n;
}

bool
unit_dpif_has(struct unit_dpif *u, uint32_t flow)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    bool has;

    ovs_mutex_lock(&u->mutex);
    has = find_slot(u, &ufid) != NULL;
    ovs_mutex_unlock(&u->mutex);
    return has;
}

void
unit_dpif_add(struct unit_dpif *u, struct offload_desc *desc)
{
    ovs_mutex_lock(&u->mutex);
    add_flow(u, desc);
    ovs_mutex_unlock(&u->mutex);
}

/* A packet meets 'ufid' in the kernel. */
static bool
kernel_packet(struct unit_dpif *u, const ovs_u128 *ufid, unsigned int n_bytes)
{
    struct unit_dpif_flow **slot;

    ovs_mutex_lock(&u->mutex);
    slot = find_slot(u, ufid);
    if (slot) {
        (*slot)->stats.n_packets++;
        (*slot)->stats.n_bytes += n_bytes;
        (*slot)->stats.used = time_msec();
        (*slot)->stats.tcp_flags |= 0x10;
    }
    ovs_mutex_unlock(&u->mutex);
    return slot != NULL;
}

bool
unit_dpif_packet(struct unit_dpif *u, uint32_t flow, unsigned int n_bytes)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);

    /* A real packet looks at both sides under RCU: one that misses in tc may
     * find a flow in the kernel that has been moved meanwhile.  Here it looks
     * again. */
    for (int i = 0; i < 1000; i++) {
        if (unit_tc_packet(&ufid, n_bytes - ETH_HEADER_LEN)
            || kernel_packet(u, &ufid, n_bytes)) {
            return true;
        }
    }
    return false;
}

/* A user's operations. */

int
unit_dpif_put(struct unit_dpif *u, struct offload_desc *desc,
              enum dpif_flow_put_flags flags, struct dpif_flow_stats *stats)
{
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_PUT,
        .error = -1,
        .flow_put = {
            .flags = flags,
            .key = desc->key, .key_len = desc->key_len,
            .mask = desc->mask, .mask_len = desc->mask_len,
            .actions = desc->actions, .actions_len = desc->actions_len,
            .ufid = &desc->ufid,
            .pmd_id = PMD_ID_NULL,
            .stats = stats,
        },
    };

    kdp_flow_operate(u->engine, (struct dpif_op *[]) { &op }, 1);
    offload_desc_unref(desc);
    return op.error;
}

int
unit_dpif_del(struct unit_dpif *u, uint32_t flow,
              struct dpif_flow_stats *stats)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_DEL,
        .error = -1,
        .flow_del = { .ufid = &ufid, .pmd_id = PMD_ID_NULL, .stats = stats },
    };

    kdp_flow_operate(u->engine, (struct dpif_op *[]) { &op }, 1);
    return op.error;
}

int
unit_dpif_get(struct unit_dpif *u, uint32_t flow, struct ofpbuf *buffer,
              struct dpif_flow *out)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_GET,
        .error = -1,
        .flow_get = {
            .ufid = &ufid, .pmd_id = PMD_ID_NULL, .buffer = buffer,
            .flow = out,
        },
    };

    kdp_flow_operate(u->engine, (struct dpif_op *[]) { &op }, 1);
    return op.error;
}

void
unit_dpif_settle(struct unit_dpif *u)
{
    /* The second one is for what the first one set off. */
    offload_barrier(u->engine->offload);
    offload_barrier(u->engine->offload);
}
