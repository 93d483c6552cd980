/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "harness/offload-engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/unit.h"
#include "harness/wait.h"
#include "util.h"

void
unit_offload_init(struct unit_offload *unit,
                  const struct offload_config *config_, uint32_t n_ports)
{
    static const struct offload_config default_config = OFFLOAD_CONFIG_DEFAULT;
    struct offload_kernel kernel;
    struct offload_backend backend;

    unit->fake = offload_fake_create();
    kernel = offload_fake_kernel(unit->fake);
    backend = offload_fake_backend(unit->fake);
    unit->offload = offload_create(&kernel, &backend,
                                   config_ ? config_ : &default_config);
    for (uint32_t i = 1; i <= n_ports; i++) {
        offload_port_add(unit->offload, i);
    }

    /* Nothing is offered until old rules have been looked for. */
    offload_barrier(unit->offload);
}

/* O6. */
static void
check_outcomes(struct unit_offload *unit)
{
    struct offload_engine_info info;
    uint64_t *n, done, open;

    offload_get_info(unit->offload, &info);
    n = info.total.counters;
    done = (n[OFFLOAD_INSERTED] + n[OFFLOAD_MODIFIED] + n[OFFLOAD_DELETED]
            + n[OFFLOAD_RETURNED] + n[OFFLOAD_REJECTED]
            + n[OFFLOAD_SUPERSEDED]);
    open = info.n_flows[OFFLOAD_STATE_PARKED];
    if (n[OFFLOAD_ENQUEUED] != done + open) {
        unit_die("%"PRIu64" requests, %"PRIu64" have an outcome, %"PRIu64
                 " wait", n[OFFLOAD_ENQUEUED], done, open);
    }
}

struct located {
    struct unit_offload *unit;
    bool tc;
};

/* Checks that the engine knows all copies. */
static void
check_copy(void *aux, const ovs_u128 *ufid, struct offload_desc *desc,
           const struct offload_stats *stats OVS_UNUSED,
           struct offload_rule *rule)
{
    struct located *located = aux;
    struct offload_flow_info info;

    if (offload_get_flow_info(located->unit->offload, ufid, &info)) {
        unit_die("flow %"PRIu64" is left behind in %s", ufid->u64.lo,
                 located->tc ? "tc" : "the kernel");
    }
    if (located->tc && info.state != OFFLOAD_STATE_IN_TC) {
        unit_die("flow %"PRIu64" is in tc and in state %s", ufid->u64.lo,
                 offload_state_to_string(info.state));
    }
    offload_rule_unref(rule);
    offload_desc_unref(desc);
}

uint64_t
unit_retried(struct unit_offload *unit)
{
    struct offload_engine_info info;

    offload_get_info(unit->offload, &info);
    return info.n_retried;
}

/* A message leads to others.  For example, the end of a port leads to requests
 * on its flows, then to its remaining rules, which may wait for a thread that
 * ends. */
void
unit_settle(struct unit_offload *unit)
{
    for (int i = 0; i < 4; i++) {
        offload_barrier(unit->offload);
        unit_wait_until(!unit_retried(unit));
    }
}

void
unit_offload_uninit(struct unit_offload *unit)
{
    struct located located = { .unit = unit };

    offload_fake_release(unit->fake);
    unit_settle(unit);
    check_outcomes(unit);
    offload_fake_dump(unit->fake, false, check_copy, &located);
    located.tc = true;
    offload_fake_dump(unit->fake, true, check_copy, &located);
    offload_destroy(unit->offload);
    offload_fake_destroy(unit->fake);
}

ovs_u128
unit_ufid(uint32_t flow)
{
    return (ovs_u128) { .u64 = { .lo = flow, .hi = 0x1234 } };
}

static struct offload_desc *
make_desc(uint32_t flow, uint32_t port, uint32_t recirc_id, uint32_t child,
          uint32_t kind, uint32_t key)
{
    struct offload_desc proto = {
        .ufid = unit_ufid(flow),
        .in_port = port,
        .recirc_id = recirc_id,
        .kind = kind,
        .children = &child,
        .n_children = child != 0,
        .key = &key, .key_len = sizeof key,
        .mask = "mask", .mask_len = 4,
        .actions = "actions", .actions_len = 7,
    };

    return offload_desc_create(&proto);
}

struct offload_desc *
unit_desc_full(uint32_t flow, uint32_t port, uint32_t recirc_id,
               uint32_t child, uint32_t kind)
{
    return make_desc(flow, port, recirc_id, child, kind, flow);
}

struct offload_desc *
unit_desc_spread(uint32_t flow, uint32_t port, uint32_t spread)
{
    struct offload_desc *plain = unit_desc_full(flow, port, 0, 0, 0), *desc;
    struct offload_desc proto = *plain;

    proto.spread = spread;
    desc = offload_desc_create(&proto);
    offload_desc_unref(plain);
    return desc;
}

struct offload_desc *
unit_desc_to(uint32_t flow, uint32_t port, uint32_t kind, uint32_t output,
             bool has_meter)
{
    struct offload_desc *plain = unit_desc_full(flow, port, 0, 0, kind);
    struct offload_desc proto = *plain, *desc;

    proto.outputs = &output;
    proto.n_outputs = output != 0;
    proto.has_meter = has_meter;
    proto.spread = flow + 1;
    desc = offload_desc_create(&proto);
    offload_desc_unref(plain);
    return desc;
}

struct offload_desc *
unit_desc_like(uint32_t flow, const struct offload_desc *other)
{
    return make_desc(flow, other->in_port, other->recirc_id, 0, 0,
                     other->ufid.u64.lo);
}

struct offload_desc *
unit_desc(uint32_t flow, uint32_t port)
{
    return unit_desc_full(flow, port, 0, 0, 0);
}

static void
operate(struct unit_offload *unit, struct offload_op *op)
{
    offload_operate(unit->offload, &op, 1);
}

int
unit_put(struct unit_offload *unit, struct offload_desc *desc,
         unsigned int flags)
{
    struct offload_op op = {
        .type = OFFLOAD_PUT, .flags = flags, .desc = desc,
    };

    operate(unit, &op);
    offload_desc_unref(desc);
    return op.error;
}

int
unit_del(struct unit_offload *unit, uint32_t flow, uint64_t *n_packets)
{
    struct offload_op op = { .type = OFFLOAD_DEL, .ufid = unit_ufid(flow) };

    operate(unit, &op);
    if (n_packets) {
        *n_packets = op.stats.n_packets;
    }
    return op.error;
}

int
unit_get(struct unit_offload *unit, uint32_t flow, uint64_t *n_packets,
         bool *in_tc)
{
    struct offload_op op = { .type = OFFLOAD_GET, .ufid = unit_ufid(flow) };

    operate(unit, &op);
    if (n_packets) {
        *n_packets = op.stats.n_packets;
    }
    if (in_tc) {
        *in_tc = op.in_tc;
    }
    offload_desc_unref(op.result);
    return op.error;
}

enum offload_hw
unit_get_hw(struct unit_offload *unit, uint32_t flow)
{
    struct offload_op op = { .type = OFFLOAD_GET, .ufid = unit_ufid(flow) };

    operate(unit, &op);
    unit_check(!op.error);
    offload_desc_unref(op.result);
    return op.hw;
}

struct walk {
    struct offload_dump dump;
    unsigned int *seen;
    size_t n_seen;
    size_t n;
};

static void
note(struct walk *walk, const ovs_u128 *ufid, struct offload_dumped *dumped)
{
    if (walk->seen && ufid->u64.lo < walk->n_seen) {
        walk->seen[ufid->u64.lo]++;
    }
    walk->n++;
    offload_desc_unref(dumped->desc);
}

static void
walk_copy(void *walk_, const ovs_u128 *ufid, struct offload_desc *desc,
          const struct offload_stats *stats, struct offload_rule *rule)
{
    struct walk *walk = walk_;
    struct offload_dumped dumped;

    if (offload_dump_kernel(&walk->dump, ufid, stats, &dumped)) {
        note(walk, ufid, &dumped);
    }
    offload_rule_unref(rule);
    offload_desc_unref(desc);
}

static size_t
dump(struct unit_offload *unit, bool lax, unsigned int seen[], size_t n)
{
    struct walk walk = { .seen = seen, .n_seen = n };
    struct offload_dumped dumped;

    if (offload_dump_start(unit->offload, OFFLOAD_DUMP_ALL, lax,
                           &walk.dump)) {
        unit_die("too many dumps");
    }
    offload_fake_dump(unit->fake, false, walk_copy, &walk);
    while (offload_dump_next(&walk.dump, &dumped, 1)) {
        ovs_u128 ufid = dumped.desc->ufid;

        note(&walk, &ufid, &dumped);
    }
    offload_dump_done(&walk.dump);
    return walk.n;
}

size_t
unit_dump(struct unit_offload *unit, unsigned int seen[], size_t n)
{
    return dump(unit, false, seen, n);
}

size_t
unit_dump_lax(struct unit_offload *unit, unsigned int seen[], size_t n)
{
    return dump(unit, true, seen, n);
}

unsigned int
unit_where(struct unit_offload *unit, uint32_t flow)
{
    ovs_u128 ufid = unit_ufid(flow);

    return offload_fake_where(unit->fake, &ufid);
}

/* Returns where the last packet went. */
unsigned int
unit_packets(struct unit_offload *unit, uint32_t flow, size_t n)
{
    ovs_u128 ufid = unit_ufid(flow);
    unsigned int where = 0;

    for (size_t i = 0; i < n; i++) {
        where = offload_fake_packet(unit->fake, &ufid, 100);
    }
    return where;
}

uint64_t
unit_counter(struct unit_offload *unit, enum offload_counter counter)
{
    struct offload_engine_info info;

    offload_get_info(unit->offload, &info);
    return info.total.counters[counter];
}

static struct offload_flow_info
flow_info(struct unit_offload *unit, uint32_t flow)
{
    struct offload_flow_info info;
    ovs_u128 ufid = unit_ufid(flow);

    if (offload_get_flow_info(unit->offload, &ufid, &info)) {
        unit_die("flow %"PRIu32" is not known", flow);
    }
    return info;
}

enum offload_state
unit_state(struct unit_offload *unit, uint32_t flow)
{
    return flow_info(unit, flow).state;
}

enum offload_reason
unit_reason(struct unit_offload *unit, uint32_t flow)
{
    return flow_info(unit, flow).reason;
}
