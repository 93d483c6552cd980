/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-adopt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "offload/offload-cleanup.h"
#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "offload/offload-step.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(offload_adopt);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* A rule that the backend found. */
struct old_rule {
    ovs_u128 ufid;
    struct offload_desc *desc;  /* Or NULL. */
    struct offload_stats stats;
    struct offload_rule *rule;
};

/* All of a port. */
struct old_rules {
    struct old_rule *rules;
    size_t n, allocated;
};

static void
collect(void *old_, const ovs_u128 *ufid, struct offload_desc *desc,
        const struct offload_stats *stats, struct offload_rule *rule)
{
    struct old_rules *old = old_;

    if (old->n == old->allocated) {
        old->rules = x2nrealloc(old->rules, &old->allocated,
                                sizeof *old->rules);
    }
    old->rules[old->n++] = (struct old_rule) {
        .ufid = *ufid, .desc = desc, .stats = *stats, .rule = rule,
    };
}

/* Makes a flow of a rule that nobody knows.  Whether it is in the kernel too,
 * because the last run ended in the middle of a move, is asked for by the
 * caller, who has claimed it. */
static struct offload_flow *
adopt(struct offload *offload, struct offload_stripe *stripe,
      struct old_rule *rule, unsigned int thread)
    OVS_REQUIRES(stripe->mutex)
{
    struct offload_flow *flow;

    flow = offload_flow_create(stripe, rule->desc);
    rule->desc = NULL;
    offload_flow_set_present(flow);
    offload_flow_set_tc_adopted(flow, offload_rule_ref(rule->rule),
                                &rule->stats);
    offload_flow_set_target(flow, OFFLOAD_TARGET_TC);
    flow->thread = thread;
    offload_flow_set_work(flow, OFFLOAD_WORK_BUSY);
    offload_flow_claim(flow);
    offload_chains_add(&offload->chains, flow->tc_desc);
    return flow;
}

/* Asks the kernel for 'flow', which was adopted, and brings it to where it
 * shall be. */
static void
finish(struct offload *offload, struct offload_flow *flow)
{
    struct offload_desc *tc_desc = offload_desc_ref(flow->tc_desc);
    struct offload_copy_op op = {
        .type = OFFLOAD_COPY_GET, .ufid = flow->ufid, .desc = tc_desc,
    };

    offload_kernel_operate(offload, &op);
    ovs_mutex_lock(&flow->stripe->mutex);
    offload_flow_release(flow);
    if (!op.error) {
        offload_flow_set_kernel(flow, OFFLOAD_KERNEL_PRESENT);
    }
    offload_flow_moved(flow);
    ovs_mutex_unlock(&flow->stripe->mutex);

    offload_count(offload, flow->thread, OFFLOAD_ADOPTED);
    offload_step_flows(offload, &flow, 1);
    offload_placement_wake_children(offload, tc_desc);
    offload_desc_unref(tc_desc);
}

/* Deletes a rule of 'port' that is not ours any more. */
static void
delete_stale(struct offload *offload, unsigned int thread, uint32_t port,
             const struct old_rule *rule)
{
    int error = offload_cleanup_rule(offload, &rule->ufid, rule->rule,
                                     rule->desc);

    if (error) {
        offload_cleanup_later(offload, thread, &rule->ufid, port, rule->rule,
                              rule->desc, error);
    } else {
        offload_count(offload, thread, OFFLOAD_STALE);
    }
}

static void
reconcile(struct offload *offload, unsigned int thread, uint32_t port,
          struct old_rule *rule)
{
    struct offload_stripe *stripe = offload_stripe(offload, &rule->ufid);
    struct offload_flow *flow, *adopted = NULL;
    bool stale = false;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, &rule->ufid);
    if (!flow && rule->desc
        && !offload_flow_find_deleting(stripe, &rule->ufid)) {
        adopted = adopt(offload, stripe, rule, thread);
    } else {
        /* A flow that has a rule, or is on its way out, was adopted, and this
         * is its rule once more. */
        stale = (flow ? !offload_flow_in_tc(flow)
                 : !offload_flow_find_deleting(stripe, &rule->ufid));
    }
    ovs_mutex_unlock(&stripe->mutex);

    if (adopted) {
        finish(offload, adopted);
    } else if (stale) {
        delete_stale(offload, thread, port, rule);
    }
    offload_rule_unref(rule->rule);
    offload_desc_unref(rule->desc);
}

/* Says that the rules that were on 'port' are known, and offers the flows that
 * waited for that. */
static void
set_ready(struct offload *offload, uint32_t port)
{
    bool exists = offload_ports_set_ready(&offload->ports, port);

    for (size_t i = 0; exists && i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->desc->in_port == port) {
                offload_placement_offer(offload, flow);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

/* Compares the rules that are on 'port', which belongs to 'thread', with the
 * table.  Until this is done no flow of the port is offered, so nobody else
 * changes the rules. */
void
offload_adopt_port(struct offload *offload, unsigned int thread, uint32_t port)
{
    struct offload_desc any = { .in_port = port };
    struct old_rules old = { .n = 0 };
    uint64_t port_seq;
    bool enabled;
    int error;

    atomic_read_relaxed(&offload->enabled, &enabled);
    if (offload_ports_admit(&offload->ports, &any, &port_seq)
        == OFFLOAD_REASON_NO_PORT) {
        /* It has gone again, which deletes the rules. */
        return;
    }
    if (!enabled) {
        offload_cleanup_port(offload, port);
        set_ready(offload, port);
        return;
    }
    error = offload->backend.dump(offload->backend.aux, port, collect, &old);
    if (error) {
        VLOG_INFO_RL(&rl, "rules on port %"PRIu32" cannot be listed: %s; what "
                     "is left of them by a previous run is not known", port,
                     ovs_strerror(error));
    }
    for (size_t i = 0; i < old.n; i++) {
        reconcile(offload, thread, port, &old.rules[i]);
    }
    free(old.rules);
    set_ready(offload, port);
}
