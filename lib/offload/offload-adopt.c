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

    flow = offload_flow_create(stripe, offload_desc_ref(rule->desc));
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

/* May rules on the port of 'message' still become flows?  Not if the port is
 * gone, offload is off, or everything was flushed since the message was sent:
 * whoever did that goes through the stripes after it has said so, so that a
 * flow that is made with the lock of one because this is true is found. */
static bool
may_adopt(struct offload *offload, const struct offload_control *message)
{
    uint64_t n_flushes;
    bool enabled;

    atomic_read_relaxed(&offload->enabled, &enabled);
    atomic_read_relaxed(&offload->n_flushes, &n_flushes);
    return (enabled && n_flushes == message->n_flushes
            && message->item.type == OFFLOAD_ITEM_ADOPT
            && offload_ports_exists(&offload->ports, message->port,
                                    message->port_id));
}

/* Has 'flow' a rule, or may it have one soon? */
static bool
has_rule(const struct offload_flow *flow)
{
    return flow->tc != OFFLOAD_TC_NONE;
}

/* Is 'desc' part of a recirculation chain, or leads to one?  The ids of chains
 * mean something to the run that chose them only. */
static bool
is_of_chain(const struct offload_desc *desc)
{
    return desc->recirc_id || desc->n_children;
}

static void
reconcile(struct offload *offload, unsigned int thread,
          const struct offload_control *message, struct old_rule *rule)
{
    struct offload_stripe *stripe = offload_stripe(offload, &rule->ufid);
    struct offload_flow *flow, *adopted = NULL;
    bool stale = false;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, &rule->ufid);
    if (offload_flow_find_deleting(stripe, &rule->ufid)
        || (flow && has_rule(flow))) {
        /* It is the rule of that flow, if only because it was adopted and told
         * once more. */
    } else if (!flow && rule->desc && !is_of_chain(rule->desc)
               && may_adopt(offload, message)) {
        adopted = adopt(offload, stripe, rule, thread);
    } else {
        stale = true;
    }
    ovs_mutex_unlock(&stripe->mutex);

    if (adopted) {
        finish(offload, adopted);
    } else if (stale) {
        delete_stale(offload, thread, message->port, rule);
    }
}

/* Says that the rules that were on the port of 'message' are known, and offers
 * the flows that waited for that. */
static void
set_ready(struct offload *offload, const struct offload_control *message)
{
    bool exists = offload_ports_set_ready(&offload->ports, message->port,
                                          message->port_id);

    for (size_t i = 0; exists && i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        const struct ovs_list *flows;
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        flows = offload_flows_of_port(stripe, message->port);
        if (flows) {
            LIST_FOR_EACH (flow, port_node, flows) {
                offload_placement_revive(offload, flow);
                offload_placement_offer(offload, flow);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

static bool
leads_to_chain(const struct old_rule *rule)
{
    return rule->desc && rule->desc->n_children;
}

/* Lists the rules of the port that 'message' is about, and compares them with
 * the table. */
static void
reconcile_all(struct offload *offload, unsigned int thread,
              const struct offload_control *message)
{
    struct old_rules old = { .n = 0 };
    int error = ENODEV;

    if (message->located) {
        error = offload->backend.dump(offload->backend.aux, message->port,
                                      &message->place,
                                      may_adopt(offload, message), collect,
                                      &old);
    }
    if (error && message->item.type == OFFLOAD_ITEM_ADOPT) {
        VLOG_INFO_RL(&rl, "rules on port %"PRIu32" cannot be listed: %s; what "
                     "is left of them by a previous run is not known",
                     message->port, ovs_strerror(error));
    }
    /* No packet shall be sent to a chain that is gone in part. */
    for (size_t i = 0; i < old.n; i++) {
        if (leads_to_chain(&old.rules[i])) {
            reconcile(offload, thread, message, &old.rules[i]);
        }
    }
    for (size_t i = 0; i < old.n; i++) {
        if (!leads_to_chain(&old.rules[i])) {
            reconcile(offload, thread, message, &old.rules[i]);
        }
        offload_rule_unref(old.rules[i].rule);
        offload_desc_unref(old.rules[i].desc);
    }
    free(old.rules);
}

/* Compares the rules that are on the port of 'message', which belongs to
 * 'thread', with the table.  Until this is done no flow of the port is
 * offered, so nobody else changes the rules. */
void
offload_adopt_port(struct offload *offload, unsigned int thread,
                   const struct offload_control *message)
{
    reconcile_all(offload, thread, message);
    set_ready(offload, message);
}

/* Deletes the rules where the port of 'message' was, or is, that no flow
 * has. */
void
offload_adopt_sweep(struct offload *offload, unsigned int thread,
                    const struct offload_control *message)
{
    offload_cleanup_retry_port(offload, message->port);
    reconcile_all(offload, thread, message);
}
