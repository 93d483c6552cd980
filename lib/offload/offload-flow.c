/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-flow.h"

#include <stdlib.h>

#include "hash.h"
#include "offload/offload-waiter.h"
#include "timeval.h"
#include "util.h"

void
offload_table_init(struct offload_table *table)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    atomic_init(&table->move_clock, 0);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &table->stripes[i];

        ovs_mutex_init(&stripe->mutex);
        xpthread_cond_init(&stripe->cond, NULL);
        hmap_init(&stripe->flows);
        hmap_init(&stripe->ports);
        hmap_init(&stripe->deleting);
        atomic_init(&stripe->n_tc_only, 0);
        for (size_t j = 0; j < OFFLOAD_N_SLOTS; j++) {
            ovs_list_init(&stripe->due[j]);
        }
        stripe->move_clock = &table->move_clock;
    }
}

static struct offload_port_flows *
port_flows_find(const struct offload_stripe *stripe, uint32_t port)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_port_flows *flows;

    HMAP_FOR_EACH_WITH_HASH (flows, node, hash_int(port, 0), &stripe->ports) {
        if (flows->port == port) {
            return flows;
        }
    }
    return NULL;
}

/* Puts 'flow' into the list of its port. */
static void
list(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_stripe *stripe = flow->stripe;
    uint32_t port = flow->desc->in_port;
    struct offload_port_flows *flows = port_flows_find(stripe, port);

    if (!flows) {
        flows = xmalloc(sizeof *flows);
        flows->port = port;
        ovs_list_init(&flows->flows);
        hmap_insert(&stripe->ports, &flows->node, hash_int(port, 0));
    }
    ovs_list_push_back(&flows->flows, &flow->port_node);
}

/* Takes 'flow' out of that list. */
static void
unlist(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_stripe *stripe = flow->stripe;
    struct offload_port_flows *flows = port_flows_find(stripe,
                                                       flow->desc->in_port);

    ovs_list_remove(&flow->port_node);
    if (ovs_list_is_empty(&flows->flows)) {
        hmap_remove(&stripe->ports, &flows->node);
        free(flows);
    }
}

/* Calls 'visitor' with 'aux' for each flow with input port 'port', one stripe
 * after the other. */
void
offload_table_visit_port(struct offload_table *table, uint32_t port,
                         offload_flow_visitor *visitor, void *aux)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &table->stripes[i];
        const struct offload_port_flows *flows;
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        flows = port_flows_find(stripe, port);
        if (flows) {
            LIST_FOR_EACH (flow, port_node, &flows->flows) {
                visitor(flow, aux);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

/* Frees the flows that are left, which no thread uses. */
void
offload_table_destroy(struct offload_table *table)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &table->stripes[i];
        struct offload_flow *flow;

        HMAP_FOR_EACH_POP (flow, hmap_node, &stripe->flows) {
            unlist(flow);
            offload_flow_unref(flow);
        }
        ovs_assert(hmap_is_empty(&stripe->ports));
        hmap_destroy(&stripe->ports);
        ovs_assert(hmap_is_empty(&stripe->deleting));
        hmap_destroy(&stripe->flows);
        hmap_destroy(&stripe->deleting);
        xpthread_cond_destroy(&stripe->cond);
        ovs_mutex_destroy(&stripe->mutex);
    }
}

/* Returns the move clock. */
uint64_t
offload_table_clock(struct offload_table *table)
{
    uint64_t clock;

    atomic_read_relaxed(&table->move_clock, &clock);
    return clock;
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return hash_bytes(ufid, sizeof *ufid, 0);
}

/* The stripe of 'ufid'. */
struct offload_stripe *
offload_table_stripe(struct offload_table *table, const ovs_u128 *ufid)
{
    /* The table uses the low bits of the hash. */
    return &table->stripes[(ufid_hash(ufid) >> 16) % OFFLOAD_STRIPES];
}

/* Creates a flow without copies and puts it into the table, which has the only
 * reference.  Takes over the caller's reference to 'desc'. */
struct offload_flow *
offload_flow_create(struct offload_stripe *stripe, struct offload_desc *desc)
{
    struct offload_flow *flow = xzalloc(sizeof *flow);

    flow->item.type = OFFLOAD_ITEM_FLOW;
    flow->stripe = stripe;
    flow->ufid = desc->ufid;
    flow->created = time_msec();
    flow->n_refs = 1;
    flow->desc = desc;
    flow->keep_kernel = desc->recirc_id != 0;
    hmap_insert(&stripe->flows, &flow->hmap_node, ufid_hash(&flow->ufid));
    list(flow);
    return flow;
}

/* Creates a flow without copies and content, to be claimed only. */
struct offload_flow *
offload_flow_create_placeholder(struct offload_stripe *stripe,
                                const ovs_u128 *ufid)
{
    struct offload_desc proto = { .ufid = *ufid, .in_port = UINT32_MAX };

    return offload_flow_create(stripe, offload_desc_create(&proto));
}

/* Creates a flow for 'rule', which tc has for 'ufid' on 'port' with 'stats'
 * and which is to be deleted: a flow that is being deleted, without a thread.
 * Nothing else is known about it, so no chain depends on it.  The table of
 * flows that are being deleted has the only reference. */
struct offload_flow *
offload_flow_create_stale(struct offload_stripe *stripe, const ovs_u128 *ufid,
                          uint32_t port, const struct offload_stats *stats,
                          const struct offload_rule *rule)
{
    const struct offload_desc desc = { .ufid = *ufid, .in_port = port };
    struct offload_flow *flow;

    flow = offload_flow_create(stripe, offload_desc_create(&desc));
    offload_flow_set_present(flow);
    offload_flow_set_tc_adopted(flow, offload_rule_ref(rule), stats);
    offload_flow_remove(flow);
    return flow;
}

static struct offload_flow *
find(const struct hmap *hmap, const ovs_u128 *ufid)
{
    struct offload_flow *flow;

    HMAP_FOR_EACH_WITH_HASH (flow, hmap_node, ufid_hash(ufid), hmap) {
        if (ovs_u128_equals(flow->ufid, *ufid)) {
            return flow;
        }
    }
    return NULL;
}

struct offload_flow *
offload_flow_find(struct offload_stripe *stripe, const ovs_u128 *ufid)
{
    return find(&stripe->flows, ufid);
}

/* Returns the flow of 'ufid' that is being deleted from tc, or NULL. */
struct offload_flow *
offload_flow_find_deleting(const struct offload_stripe *stripe,
                           const ovs_u128 *ufid)
{
    return find(&stripe->deleting, ufid);
}

void
offload_flow_unref(struct offload_flow *flow)
{
    if (--flow->n_refs) {
        return;
    }
    ovs_assert(flow->work == OFFLOAD_WORK_IDLE);
    offload_desc_unref(flow->desc);
    offload_desc_unref(flow->tc_desc);
    offload_rule_unref(flow->rule);
    free(flow);
}

/* Claims the kernel copy of 'flow', which is not claimed, for the caller, who
 * also takes a reference. */
void
offload_flow_claim(struct offload_flow *flow)
{
    ovs_assert(!flow->kernel_claimed);
    flow->kernel_claimed = true;
    flow->n_refs++;
}

/* Ends the claim.  The caller keeps the reference. */
void
offload_flow_release(struct offload_flow *flow)
{
    flow->kernel_claimed = false;
    xpthread_cond_broadcast(&flow->stripe->cond);
}

/* Sets the description of 'flow' to 'desc', and takes over the caller's
 * reference.  This makes the flow's rule, if it has one, outdated. */
void
offload_flow_describe(struct offload_flow *flow, struct offload_desc *desc)
{
    bool other_port = flow->desc->in_port != desc->in_port;

    if (other_port) {
        unlist(flow);
    }
    offload_desc_unref(flow->desc);
    flow->desc = desc;
    if (other_port) {
        list(flow);
    }
    flow->keep_kernel = desc->recirc_id != 0;
}

/* Records that copies of 'flow', or what is added to their statistics, have
 * changed. */
void
offload_flow_moved(struct offload_flow *flow)
{
    uint64_t orig;

    atomic_add_relaxed(flow->stripe->move_clock, 1, &orig);
    flow->moved = orig + 1;
    xpthread_cond_broadcast(&flow->stripe->cond);
}

/* Changes of state.  Each of these functions is the only one that changes its
 * state, and updates everything that depends on it. */

/* Updates the count of flows that are in tc only, after copies of 'flow' have
 * changed. */
static void
count_tc_only(struct offload_flow *flow)
{
    bool tc_only = offload_flow_in_tc(flow) && !offload_flow_in_kernel(flow);
    uint32_t n;

    if (tc_only != flow->tc_only) {
        flow->tc_only = tc_only;
        atomic_read_relaxed(&flow->stripe->n_tc_only, &n);
        atomic_store_relaxed(&flow->stripe->n_tc_only,
                             tc_only ? n + 1 : n - 1);
    }
}

/* Sets the state of the kernel copy.  If the copy has gone, adds its
 * statistics to 'base'. */
void
offload_flow_set_kernel(struct offload_flow *flow,
                        enum offload_kernel_copy kernel)
{
    if (flow->kernel == kernel) {
        return;
    }
    if (flow->kernel == OFFLOAD_KERNEL_PRESENT) {
        offload_stats_add(&flow->base, &flow->kernel_seen);
    }
    if (kernel == OFFLOAD_KERNEL_PRESENT) {
        flow->kernel_seen = (struct offload_stats) { .n_packets = 0 };
    }
    flow->kernel = kernel;
    count_tc_only(flow);
    offload_flow_moved(flow);
}

/* Puts 'flow', which is in tc, into the slot in which its rule is to be read:
 * at 'due', or in the last slot if 'due' is too far from 'now'. */
void
offload_flow_schedule(struct offload_flow *flow, long long int due,
                      long long int now)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    const long long int last = now + ((OFFLOAD_N_SLOTS - 1)
                                      * OFFLOAD_SLOT_MSEC);
    unsigned int slot = (MAX(MIN(due, last), now) / OFFLOAD_SLOT_MSEC
                         % OFFLOAD_N_SLOTS);

    ovs_list_remove(&flow->due_node);
    ovs_list_push_back(&flow->stripe->due[slot], &flow->due_node);
}

static void
set_tc(struct offload_flow *flow, enum offload_tc_copy tc)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_stripe *stripe = flow->stripe;

    if (flow->tc == OFFLOAD_TC_PRESENT) {
        ovs_list_remove(&flow->due_node);
        stripe->n_rules--;
    } else if (tc == OFFLOAD_TC_PRESENT) {
        /* The reader thread decides when to read it. */
        ovs_list_push_back(&stripe->due[time_msec() / OFFLOAD_SLOT_MSEC
                                        % OFFLOAD_N_SLOTS],
                           &flow->due_node);
        stripe->n_rules++;
    }
    stripe->n_rules_gone += tc == OFFLOAD_TC_NONE;
    flow->tc = tc;
    count_tc_only(flow);
}

/* Records that a copy is about to be put into tc as 'rule', and takes over the
 * caller's reference to it. */
void
offload_flow_set_tc_inserting(struct offload_flow *flow,
                              struct offload_rule *rule)
{
    set_tc(flow, OFFLOAD_TC_INSERTING);
    flow->rule = rule;
    flow->tc_seen = (struct offload_stats) { .n_packets = 0 };
    flow->hw = OFFLOAD_HW_UNKNOWN;
    flow->round = 0;
}

/* Records that the copy is in tc, made from 'desc'. */
void
offload_flow_set_tc_present(struct offload_flow *flow,
                            const struct offload_desc *desc)
{
    set_tc(flow, OFFLOAD_TC_PRESENT);
    flow->tc_desc = offload_desc_ref(desc);
    offload_flow_moved(flow);
    flow->tc_since = flow->moved;
    flow->read = time_msec();
    flow->came = flow->read;
}

/* Records that a copy was found in tc as 'rule', made from the flow's
 * description, and takes over the caller's reference to it.  'stats' were its
 * statistics at some earlier time.  They are subtracted: a previous run
 * counted those packets, and users add up what the flow counts from now on. */
void
offload_flow_set_tc_adopted(struct offload_flow *flow,
                            struct offload_rule *rule,
                            const struct offload_stats *stats)
{
    set_tc(flow, OFFLOAD_TC_PRESENT);
    flow->rule = rule;
    flow->tc_desc = offload_desc_ref(flow->desc);
    flow->tc_seen = *stats;
    /* The sum is right, as unsigned numbers wrap. */
    flow->base.n_packets -= stats->n_packets;
    flow->base.n_bytes -= stats->n_bytes;
    flow->read = time_msec();
    flow->came = flow->read;
    offload_flow_moved(flow);
}

/* Records that the copy in tc has gone or was not made.  Adds its statistics
 * to 'base'. */
void
offload_flow_set_tc_none(struct offload_flow *flow)
{
    bool was_present = offload_flow_in_tc(flow);

    set_tc(flow, OFFLOAD_TC_NONE);
    offload_rule_unref(flow->rule);
    flow->rule = NULL;
    flow->n_tc_failures = 0;
    if (was_present) {
        if (!flow->discard_tc) {
            offload_stats_add(&flow->base, &flow->tc_seen);
        }
        offload_desc_unref(flow->tc_desc);
        flow->tc_desc = NULL;
        offload_flow_moved(flow);
    }
    flow->discard_tc = false;
}

void
offload_flow_set_target(struct offload_flow *flow, enum offload_target target)
{
    flow->target = target;
}

/* Sets the state, and wakes threads that wait until no thread works on the
 * flow. */
void
offload_flow_set_work(struct offload_flow *flow, enum offload_work work)
{
    if (flow->work == OFFLOAD_WORK_BUSY) {
        xpthread_cond_broadcast(&flow->stripe->cond);
    }
    flow->work = work;
}

/* Makes 'flow', which is new, visible. */
void
offload_flow_set_present(struct offload_flow *flow)
{
    if (flow->life == OFFLOAD_LIFE_NEW) {
        flow->life = OFFLOAD_LIFE_PRESENT;
    }
}

/* Removes 'flow', which could not be created, from the table. */
void
offload_flow_discard(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    flow->life = OFFLOAD_LIFE_GONE;
    unlist(flow);
    hmap_remove(&flow->stripe->flows, &flow->hmap_node);
    xpthread_cond_broadcast(&flow->stripe->cond);
    offload_flow_unref(flow);
}

/* Moves 'flow' from the table to the flows that are being deleted. */
void
offload_flow_remove(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_stripe *stripe = flow->stripe;

    flow->life = OFFLOAD_LIFE_DELETING;
    offload_flow_set_target(flow, OFFLOAD_TARGET_NOWHERE);
    unlist(flow);
    hmap_remove(&stripe->flows, &flow->hmap_node);
    hmap_insert(&stripe->deleting, &flow->hmap_node, ufid_hash(&flow->ufid));
}

/* Ends the deletion of 'flow', unless it has already ended: a flow may come
 * out of a thread's queue later. */
void
offload_flow_gone(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    if (flow->life != OFFLOAD_LIFE_GONE) {
        flow->life = OFFLOAD_LIFE_GONE;
        offload_flow_tell(flow);
        hmap_remove(&flow->stripe->deleting, &flow->hmap_node);
        offload_flow_unref(flow);
    }
}

/* Stores all known statistics of 'flow' in '*stats', and restarts them from 0:
 * the user considers the flow deleted, though tc still has it. */
void
offload_flow_report(struct offload_flow *flow, struct offload_stats *stats)
{
    *stats = flow->base;
    if (offload_flow_in_kernel(flow)) {
        offload_stats_add(stats, &flow->kernel_seen);
    }
    if (flow->tc != OFFLOAD_TC_NONE && !flow->discard_tc) {
        offload_stats_add(stats, &flow->tc_seen);
    }

    /* The sum with what the copies count is right, as unsigned numbers
     * wrap. */
    flow->base.n_packets -= stats->n_packets;
    flow->base.n_bytes -= stats->n_bytes;
    offload_flow_moved(flow);
}

/* Notifies the user that has deleted 'flow', if it waits. */
void
offload_flow_tell(struct offload_flow *flow)
{
    if (flow->final) {
        offload_flow_report(flow, flow->final);
        flow->final = NULL;
    }
    if (flow->waiter) {
        offload_waiter_done(flow->waiter);
        flow->waiter = NULL;
    }
}

/* Returns 'flow', which is being deleted and whose rule tc does not delete, to
 * the table, unless there is another one with its ufid.  Packets still use the
 * rule, so dumps have to show it and users have to learn its statistics.  It
 * is still to be deleted. */
void
offload_flow_restore(struct offload_flow *flow)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_stripe *stripe = flow->stripe;

    if (flow->life == OFFLOAD_LIFE_DELETING
        && !offload_flow_find(stripe, &flow->ufid)) {
        flow->life = OFFLOAD_LIFE_PRESENT;
        hmap_remove(&stripe->deleting, &flow->hmap_node);
        hmap_insert(&stripe->flows, &flow->hmap_node, ufid_hash(&flow->ufid));
        list(flow);
        offload_flow_moved(flow);
    }
}

/* Records what tc, asked at 'when' in ms, reported about the copy of 'flow',
 * unless a later report is known: several threads may read it in any order. */
void
offload_flow_saw_tc(struct offload_flow *flow,
                    const struct offload_stats *stats, enum offload_hw hw,
                    long long int when)
{
    const struct offload_stats last = flow->tc_seen;

    if (stats->n_packets < last.n_packets) {
        return;
    }
    flow->tc_seen = *stats;
    flow->hw = hw;
    flow->read = MAX(flow->read, when);
    if (!stats->used) {
        flow->tc_seen.used = (stats->n_packets != last.n_packets
                              ? time_msec() : last.used);
    }
}

/* The same for the kernel. */
void
offload_flow_saw_kernel(struct offload_flow *flow,
                        const struct offload_stats *stats)
{
    if (stats->n_packets >= flow->kernel_seen.n_packets) {
        flow->kernel_seen = *stats;
    }
}

/* Returns the state of 'flow' that users see. */
enum offload_state
offload_flow_state(const struct offload_flow *flow)
{
    switch (flow->target) {
    case OFFLOAD_TARGET_NOWHERE:
        return (offload_flow_in_table(flow) && !offload_flow_needs_thread(flow)
                ? OFFLOAD_STATE_REJECTED : OFFLOAD_STATE_DELETING);
    case OFFLOAD_TARGET_TC:
        return (flow->work == OFFLOAD_WORK_WAITING ? OFFLOAD_STATE_PARKED
                : !offload_flow_in_tc(flow) ? OFFLOAD_STATE_QUEUED
                : offload_flow_is_current(flow) ? OFFLOAD_STATE_IN_TC
                : OFFLOAD_STATE_MOVING_BACK);
    case OFFLOAD_TARGET_KERNEL:
    default:
        return (offload_flow_in_tc(flow) || flow->request
                ? OFFLOAD_STATE_MOVING_BACK
                : offload_reason_is_rejection(flow->reason)
                ? OFFLOAD_STATE_REJECTED : OFFLOAD_STATE_KERNEL);
    }
}
