/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-chains.h"

#include <errno.h>
#include <stdint.h>

#include "dpif.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/hmap.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "util.h"

struct chain_flow {
    struct hmap_node node;
    ovs_u128 ufid;
    bool root;
    atomic_bool done;           /* A root that no longer leads to a chain. */
};

struct flow_chains {
    struct hmap flows;          /* Contains "struct chain_flow". */
    atomic_size_t n_roots;      /* Roots that are not done. */
};

/* Truncates packets to a length that none exceeds.  Open vSwitch puts an
 * output after each such action, but this one is the last action. */
static const struct {
    struct nlattr attr;
    struct ovs_action_trunc trunc;
} no_translation = {
    .attr = { .nla_len = sizeof no_translation,
              .nla_type = OVS_ACTION_ATTR_TRUNC },
    .trunc = { .max_len = UINT32_MAX },
};

struct flow_chains *
flow_chains_create(void)
{
    struct flow_chains *chains = xmalloc(sizeof *chains);

    hmap_init(&chains->flows);
    atomic_init(&chains->n_roots, 0);
    return chains;
}

static void
flow_chains_free(struct flow_chains *chains)
{
    struct chain_flow *flow;

    HMAP_FOR_EACH_POP (flow, node, &chains->flows) {
        free(flow);
    }
    hmap_destroy(&chains->flows);
    free(chains);
}

void
flow_chains_destroy(struct flow_chains *chains)
{
    if (chains) {
        ovsrcu_postpone(flow_chains_free, chains);
    }
}

/* A ufid is random. */
static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return ufid->u32[0];
}

static struct chain_flow *
find(const struct flow_chains *chains, const ovs_u128 *ufid)
{
    struct chain_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, node, ufid_hash(ufid), &chains->flows) {
        if (ovs_u128_equals(flow->ufid, *ufid)) {
            return flow;
        }
    }
    return NULL;
}

void
flow_chains_add(struct flow_chains *chains, const ovs_u128 *ufid, bool root)
{
    struct chain_flow *flow = xmalloc(sizeof *flow);
    size_t n;

    flow->ufid = *ufid;
    flow->root = root;
    atomic_init(&flow->done, false);
    hmap_insert(&chains->flows, &flow->node, ufid_hash(ufid));
    atomic_add_relaxed(&chains->n_roots, root, &n);
}

size_t
flow_chains_n_roots(const struct flow_chains *chains)
{
    size_t n;

    atomic_read_relaxed(&CONST_CAST(struct flow_chains *, chains)->n_roots,
                        &n);
    return n;
}

static struct chain_flow *
find_root(const struct flow_chains *chains, const ovs_u128 *ufid)
{
    struct chain_flow *flow = find(chains, ufid);
    bool done;

    if (!flow || !flow->root) {
        return NULL;
    }
    atomic_read_relaxed(&flow->done, &done);
    return done ? NULL : flow;
}

bool
flow_chains_has_root(const struct flow_chains *chains, const ovs_u128 *ufid)
{
    return find_root(chains, ufid) != NULL;
}

bool
flow_chains_has(const struct flow_chains *chains, const ovs_u128 *ufid)
{
    const struct chain_flow *flow = find(chains, ufid);

    return flow && !flow->root;
}

void
flow_chains_disguise(const struct flow_chains *chains, struct dpif_flow *flow)
{
    if (flow->ufid_present && flow->actions_len
        && flow_chains_has_root(chains, &flow->ufid)) {
        flow->actions = &no_translation.attr;
        flow->actions_len = sizeof no_translation;
    }
}

bool
flow_chains_done(struct flow_chains *chains, const struct dpif_op *op)
{
    const ovs_u128 *ufid = (op->type == DPIF_OP_FLOW_PUT ? op->flow_put.ufid
                            : op->type == DPIF_OP_FLOW_DEL ? op->flow_del.ufid
                            : NULL);
    struct chain_flow *flow;
    bool done = false;
    size_t n;

    /* A flow that does not exist leads nowhere. */
    if (!ufid || (op->error && op->error != ENOENT)) {
        return false;
    }
    flow = find_root(chains, ufid);
    if (!flow
        || !atomic_compare_exchange_strong(&flow->done, &done, true)) {
        return false;
    }
    atomic_sub_relaxed(&chains->n_roots, 1, &n);
    return n == 1;
}
