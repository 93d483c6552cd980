/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-adopt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(offload_adopt);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

/* Withdrawing flows. */

/* Sends a thread to the remaining rules of 'port', after the present
 * requests. */
static void
sweep_later(struct offload *offload, uint32_t port,
            const struct offload_place *place)
{
    const struct offload_control message = {
        .item.type = OFFLOAD_ITEM_SWEEP,
        .port = port,
        .located = true,
        .place = *place,
    };

    offload_send_to_port(offload, &message);
}

/* Is 'flow' in tc, or on its way there or back?  A flow that goes from tc to
 * nowhere goes there in any case: the user may have deleted it. */
static bool
is_concerned(const struct offload_flow *flow)
{
    return (flow->target != OFFLOAD_TARGET_NOWHERE
            && (offload_flow_needs_thread(flow) || flow->request));
}

/* Drops 'flow', whose port is gone, unless it may belong to the new port with
 * that number: flows of that port are offered only after
 * offload_ports_set_cleared(), and under the lock of the flow. */
static void
drop_flow(struct offload_flow *flow, void *offload_)
{
    struct offload *offload = offload_;

    if (is_concerned(flow)
        && !offload_ports_is_cleared(&offload->ports, flow->desc->in_port)) {
        offload_placement_drop(offload, flow);
    }
}

/* Drops remaining flows of an earlier port with number 'port'.  The message of
 * the port with 'id' may have overtaken the message about that. */
static void
withdraw_old(struct offload *offload, uint32_t port, uint64_t id)
{
    offload_table_visit_port(&offload->table, port, drop_flow,
                             offload);
    offload_ports_set_cleared(&offload->ports, port, id);
}

static int
compare_ports(const void *a_, const void *b_)
{
    const uint32_t *a = a_;
    const uint32_t *b = b_;

    return *a < *b ? -1 : *a > *b;
}

/* Does 'desc' send packets to one of the 'n' sorted 'ports'? */
static bool
sends_to(const struct offload_desc *desc, const uint32_t *ports, size_t n)
{
    for (size_t i = 0; i < desc->n_outputs; i++) {
        if (bsearch(&desc->outputs[i], ports, n, sizeof *ports,
                    compare_ports)) {
            return true;
        }
    }
    return false;
}

/* Returns flows that send packets to one of the 'n' sorted 'ports' to the
 * kernel.  Their rules name the device that the port had, and drop the packets
 * if another device has the number by now.  The next offer translates a flow
 * again. */
static void
return_senders(struct offload *offload, const uint32_t *ports, size_t n)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (is_concerned(flow)
                && (sends_to(flow->desc, ports, n)
                    || (flow->tc_desc && sends_to(flow->tc_desc, ports, n)))) {
                offload_placement_return(offload, flow,
                                         OFFLOAD_REASON_NO_PORT);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

/* Handles the removal of the ports of 'n' messages.  Visits each flow once,
 * and the flows of the ports once more. */
void
offload_withdraw_ports(struct offload *offload,
                       struct offload_control *const messages[], size_t n)
{
    uint32_t *ports = xmalloc(n * sizeof *ports);

    for (size_t i = 0; i < n; i++) {
        ports[i] = messages[i]->port;
        offload_table_visit_port(&offload->table, ports[i], drop_flow,
                                 offload);
    }
    qsort(ports, n, sizeof *ports, compare_ports);
    return_senders(offload, ports, n);
    free(ports);
    for (size_t i = 0; i < n; i++) {
        if (messages[i]->located) {
            sweep_later(offload, messages[i]->port, &messages[i]->place);
        }
    }
}

/* Handles that offload was turned off.  Stops when it is on again. */
void
offload_withdraw_all(struct offload *offload)
{
    struct offload_located_port *ports;
    size_t n;

    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;
        bool enabled;

        /* Read with the lock, so that a flow that was offered after offload
         * was turned on again is not moved back. */
        ovs_mutex_lock(&stripe->mutex);
        atomic_read_relaxed(&offload->enabled, &enabled);
        if (enabled) {
            ovs_mutex_unlock(&stripe->mutex);
            return;
        }
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (is_concerned(flow)) {
                offload_placement_return(offload, flow,
                                         OFFLOAD_REASON_DISABLED);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }

    n = offload_ports_list(&offload->ports, &ports);
    for (size_t i = 0; i < n; i++) {
        if (ports[i].located) {
            sweep_later(offload, ports[i].port, &ports[i].place);
        }
    }
    free(ports);
}

/* Adopting rules. */

/* A rule that the backend found. */
struct old_rule {
    ovs_u128 ufid;
    struct offload_desc *desc;  /* Or NULL. */
    struct offload_stats stats;
    struct offload_rule *rule;
};

/* All rules on a port, as tc reported them after 'n_gone' was stored. */
struct old_rules {
    struct old_rule *rules;
    size_t n, allocated;
    uint64_t n_gone[OFFLOAD_STRIPES];   /* 'n_rules_gone' of each stripe. */
};

/* Notes how many rules have gone so far, before tc is asked. */
static void
begin(struct offload *offload, struct old_rules *old)
{
    old->rules = NULL;
    old->n = old->allocated = 0;
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];

        ovs_mutex_lock(&stripe->mutex);
        old->n_gone[i] = stripe->n_rules_gone;
        ovs_mutex_unlock(&stripe->mutex);
    }
}

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

/* Makes a flow of an unknown rule.  The caller, who has claimed the flow,
 * finds out whether it is also in the kernel, as the last run may have ended
 * in the middle of a move. */
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

/* Asks the kernel for 'flow', which was adopted, and moves it to its
 * target. */
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

/* Makes a flow of a rule on 'port' that is to be deleted, and gives it to
 * 'thread'. */
static struct offload_flow *
adopt_stale(struct offload_stripe *stripe, const struct old_rule *rule,
            uint32_t port, unsigned int thread)
    OVS_REQUIRES(stripe->mutex)
{
    struct offload_flow *flow;

    flow = offload_flow_create_stale(stripe, &rule->ufid, port, &rule->stats,
                                     rule->rule);
    flow->thread = thread;
    flow->n_refs++;
    offload_flow_set_work(flow, OFFLOAD_WORK_BUSY);
    return flow;
}

/* May rules on the port of 'message' still become flows?  Not if the port is
 * gone, offload is off, or everything was flushed since the message was sent.
 * A thread that does one of these announces it before it goes through the
 * stripes.  So if a flow is made under the lock of a stripe because this is
 * true, that thread finds it. */
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

/* Does 'flow' have a rule, or may it get one soon? */
static bool
has_rule(const struct offload_flow *flow)
{
    return flow->tc != OFFLOAD_TC_NONE;
}

/* Is 'desc' part of a recirculation chain, or does it lead to one?  The ids of
 * chains have a meaning only in the run that chose them. */
static bool
is_of_chain(const struct offload_desc *desc)
{
    return desc->recirc_id || desc->n_children;
}

/* Does 'desc' describe a rule that never becomes a flow but stays for now?
 * Without the rule, its packets would become upcalls while no handler receives
 * upcalls. */
static bool
only_stays(const struct offload_desc *desc)
{
    return is_of_chain(desc) || desc->is_partial;
}

/* What happens to a rule that was found. */
enum fate {
    FATE_KNOWN,                 /* It is the rule of a flow. */
    FATE_IN_DOUBT,              /* It may have gone since tc reported it. */
    FATE_ADOPTED,
    FATE_KEPT,                  /* For now. */
    FATE_STALE,
};

/* Decides what happens to 'rule'.  If it is adopted or stale, stores the flow
 * in '*adopted'.  'sure' means that tc has confirmed that the rule exists. */
static enum fate
decide(struct offload *offload, unsigned int thread,
       const struct offload_control *message, const struct old_rules *old,
       struct old_rule *rule, bool sure, struct offload_flow **adopted)
{
    struct offload_stripe *stripe = offload_stripe(offload, &rule->ufid);
    struct offload_flow *flow;
    enum fate fate;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, &rule->ufid);
    if (offload_flow_find_deleting(stripe, &rule->ufid)
        || (flow && has_rule(flow))) {
        /* Maybe it was adopted and is reported again. */
        fate = FATE_KNOWN;
    } else if (!sure && stripe->n_rules_gone
                        != old->n_gone[stripe - offload->table.stripes]) {
        fate = FATE_IN_DOUBT;
    } else if (!flow && rule->desc && !only_stays(rule->desc)
               && may_adopt(offload, message)) {
        *adopted = adopt(offload, stripe, rule, thread);
        fate = FATE_ADOPTED;
        if (rule->desc->actions_len) {
            offload_ports_set_had_rules(&offload->ports, message->port,
                                        message->port_id);
        }
    } else if (message->item.type == OFFLOAD_ITEM_ADOPT
               && rule->desc && only_stays(rule->desc)
               && offload_ports_keeps_chain(&offload->ports, message->port,
                                            message->port_id)) {
        fate = FATE_KEPT;
    } else {
        *adopted = adopt_stale(stripe, rule, message->port, thread);
        fate = FATE_STALE;
    }
    ovs_mutex_unlock(&stripe->mutex);
    return fate;
}

/* Reads 'rule' alone from tc.  Returns false if it has gone.  A rule that is
 * there now stays, as there is no flow whose deletion would delete it. */
static bool
read_again(struct offload *offload, struct old_rule *rule)
{
    struct offload_copy_op op = {
        .type = OFFLOAD_COPY_GET, .ufid = rule->ufid, .desc = rule->desc,
        .rule = rule->rule,
    };

    offload_tc_operate(offload, &op);
    if (!op.error) {
        rule->stats = op.stats;
    }
    return !op.error;
}

/* A flow may lose its rule, and go, between tc's report of the rule and now.
 * Adopting such a rule would count its packets twice, and deleting it would
 * hit another rule that has its name by now.  So if rules have gone meanwhile,
 * tc is asked again, at a moment when no flow has the rule. */
static void
reconcile(struct offload *offload, unsigned int thread,
          const struct offload_control *message, const struct old_rules *old,
          struct old_rule *rule)
{
    struct offload_flow *adopted = NULL;
    enum fate fate = decide(offload, thread, message, old, rule, false,
                            &adopted);

    if (fate == FATE_IN_DOUBT) {
        if (!read_again(offload, rule)) {
            return;
        }
        fate = decide(offload, thread, message, old, rule, true, &adopted);
    }
    if (fate == FATE_ADOPTED) {
        finish(offload, adopted);
    } else if (fate == FATE_STALE) {
        offload_count(offload, thread, OFFLOAD_STALE);
        offload_step_flows(offload, &adopted, 1);
    }
}

/* Offers 'flow', which has waited for its port to be ready. */
static void
offer(struct offload_flow *flow, void *offload)
{
    offload_placement_revive(offload, flow);
    offload_placement_offer(offload, flow);
}

/* Marks the old rules on the port of 'message' as known, and offers the flows
 * that have waited for that. */
static void
set_ready(struct offload *offload, const struct offload_control *message)
{
    if (offload_ports_set_ready(&offload->ports, message->port,
                                message->port_id)) {
        offload_table_visit_port(&offload->table, message->port, offer,
                                 offload);
    }
}

static bool
leads_to_chain(const struct old_rule *rule)
{
    return rule->desc && rule->desc->n_children;
}

/* Lists the rules on the port of 'message', and compares them with the
 * table. */
static void
reconcile_all(struct offload *offload, unsigned int thread,
              const struct offload_control *message)
{
    struct old_rules old;
    int error = ENODEV;

    begin(offload, &old);
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
    /* No packet must be sent to a chain that is partly deleted. */
    for (size_t i = 0; i < old.n; i++) {
        if (leads_to_chain(&old.rules[i])) {
            reconcile(offload, thread, message, &old, &old.rules[i]);
        }
    }
    for (size_t i = 0; i < old.n; i++) {
        if (!leads_to_chain(&old.rules[i])) {
            reconcile(offload, thread, message, &old, &old.rules[i]);
        }
        offload_rule_unref(old.rules[i].rule);
        offload_desc_unref(old.rules[i].desc);
    }
    free(old.rules);
}

/* Compares the rules on the port of 'message', which belongs to 'thread', with
 * the table.  No flow of the port is offered before this is done.  Other
 * threads may still delete rules of flows of an earlier port with its number:
 * see reconcile().
 *
 * With 'ending', the engine ends.  It leaves the rules to the next run then,
 * unless they are to be deleted: the main thread waits for the end. */
void
offload_adopt_port(struct offload *offload, unsigned int thread, bool ending,
                   const struct offload_control *message)
{
    if (ending && may_adopt(offload, message)) {
        return;
    }
    withdraw_old(offload, message->port, message->port_id);
    reconcile_all(offload, thread, message);
    set_ready(offload, message);
}

/* Deletes rules without a flow in the place of the port of 'message', which
 * may be gone. */
void
offload_adopt_sweep(struct offload *offload, unsigned int thread,
                    const struct offload_control *message)
{
    reconcile_all(offload, thread, message);
}
