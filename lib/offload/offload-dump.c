/* SPDX-License-Identifier: Apache-2.0 */

/* Reading flows, one by one and all.
 *
 * A dump goes through what the kernel has, then through what tc has, and at
 * last through the engine's own table.  Each flow is marked when it is shown,
 * so that one that moves meanwhile is shown once; the last pass finds those
 * that moved away each time.  What the kernel and tc said of a flow that has
 * moved since the start is outdated, and it is read again, unless the dump is
 * lax and what is known of the flow is not older than the dump.  A flow with
 * copies in both is shown when the second of them is told. */

#include <config.h>
#include "offload/offload.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "offload/offload-read.h"
#include "util.h"

/* What is remembered of a flow in a dump: the dump's id when the flow was
 * shown, or that and which of its copies was told, while the other one was
 * not. */
#define TOLD_KERNEL 1u
#define TOLD_TC 2u
#define TOLD_BOTH (TOLD_KERNEL | TOLD_TC)

/* Starts a dump of the flows of 'type'.  Returns 0 or, if OFFLOAD_MAX_DUMPS
 * are under way, EBUSY.  Several threads may share it: all that are at it call
 * offload_dump_kernel() for each flow that the kernel has, then
 * offload_dump_tc() for each that tc has, then offload_dump_next() until it
 * returns false; either of the first two may be left out, at the price of a
 * request for each flow there. */
int
offload_dump_start(struct offload *offload, enum offload_dump_type type,
                   struct offload_dump *dump)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    *dump = (struct offload_dump) { .offload = offload, .type = type };
    ovs_mutex_lock(&offload->dumps_mutex);
    for (unsigned int i = 0; i < OFFLOAD_MAX_DUMPS && !dump->id; i++) {
        if (!offload->dump_ids[i]) {
            do {
                dump->id = offload->last_dump += TOLD_BOTH + 1;
            } while (!dump->id);
            offload->dump_ids[i] = dump->id;
            dump->slot = i;
        }
    }
    ovs_mutex_unlock(&offload->dumps_mutex);
    if (!dump->id) {
        return EBUSY;
    }
    dump->start = offload_table_clock(&offload->table);
    ovs_mutex_init(&dump->mutex);
    return 0;
}

/* Ends a dump that was started successfully. */
void
offload_dump_done(struct offload_dump *dump)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload *offload = dump->offload;

    while (dump->n_flows) {
        struct offload_flow *flow = dump->flows[--dump->n_flows];
        struct ovs_mutex *mutex = &flow->stripe->mutex;

        ovs_mutex_lock(mutex);
        offload_flow_unref(flow);
        ovs_mutex_unlock(mutex);
    }
    free(dump->flows);
    ovs_mutex_destroy(&dump->mutex);
    ovs_mutex_lock(&offload->dumps_mutex);
    offload->dump_ids[dump->slot] = 0;
    ovs_mutex_unlock(&offload->dumps_mutex);
}

static bool
is_shown(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return flow->shown[dump->slot] == dump->id;
}

/* Takes note that a copy of 'flow', which is not shown yet, was told.  Returns
 * true if both were. */
static bool
tell(const struct offload_dump *dump, struct offload_flow *flow, bool in_tc)
{
    uint32_t told = flow->shown[dump->slot] - dump->id;

    told = (told <= TOLD_BOTH ? told : 0) | (in_tc ? TOLD_TC : TOLD_KERNEL);
    flow->shown[dump->slot] = dump->id + told;
    return told == TOLD_BOTH;
}

/* Has nobody changed 'flow' since the start, so that statistics that were read
 * since then are those of its copy? */
static bool
is_quiet(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return (flow->moved <= dump->start && !offload_flow_is_busy(flow)
            && !flow->kernel_claimed);
}

/* Has the only copy of 'flow' been made since the start, or the last one but
 * this been told then? */
static bool
is_new(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return (flow->known > dump->start
            && offload_flow_in_tc(flow) != offload_flow_in_kernel(flow)
            && !offload_flow_is_busy(flow) && !flow->kernel_claimed
            && !flow->discard_tc);
}

/* Is 'flow' where 'dump' looks? */
static bool
is_of_type(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return (offload_flow_in_tc(flow) ? dump->type & OFFLOAD_DUMP_TC
            : flow->life == OFFLOAD_LIFE_PRESENT
            && dump->type & OFFLOAD_DUMP_KERNEL);
}

/* Stores what is known of 'flow'. */
static void
show_known(const struct offload_flow *flow, struct offload_dumped *dumped)
{
    dumped->in_tc = offload_flow_in_tc(flow);
    dumped->in_hw = dumped->in_tc && flow->in_hw;
    dumped->stats = flow->base;
    if (offload_flow_in_kernel(flow)) {
        offload_stats_add(&dumped->stats, &flow->kernel_seen);
    }
    if (dumped->in_tc) {
        offload_stats_add(&dumped->stats, &flow->tc_seen);
    }
}

/* Shows 'flow', a copy of which has 'stats' unless it has moved. */
static bool
show(struct offload_dump *dump, struct offload_flow *flow,
     const struct offload_stats *stats, bool in_tc, bool in_hw,
     struct offload_dumped *dumped)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    bool exists = true;
    bool told;

    if (!is_of_type(dump, flow) || is_shown(dump, flow)) {
        return false;
    }
    told = (stats && is_quiet(dump, flow) && !flow->discard_tc
            && (in_tc ? offload_flow_in_tc(flow)
                : offload_flow_in_kernel(flow)));
    if (told) {
        if (in_tc) {
            offload_flow_saw_tc(flow, stats, in_hw);
        } else {
            offload_flow_saw_kernel(flow, stats);
        }
        if (offload_flow_in_tc(flow) && offload_flow_in_kernel(flow)
            && !tell(dump, flow, in_tc)) {
            return false;
        }
    }
    flow->shown[dump->slot] = dump->id;
    flow->n_refs++;
    if (told || (dump->lax && is_new(dump, flow))) {
        show_known(flow, dumped);
    } else {
        exists = offload_read_flow(dump->offload, flow, &dumped->stats,
                                   &dumped->in_tc, &dumped->in_hw);
    }
    if (exists) {
        dumped->desc = offload_desc_ref(flow->desc);
    }
    offload_placement_offer(dump->offload, flow);
    offload_flow_unref(flow);
    return exists;
}

static bool
dump_one(struct offload_dump *dump, const ovs_u128 *ufid,
         const struct offload_stats *stats, bool in_tc, bool in_hw,
         struct offload_dumped *dumped)
{
    struct offload_stripe *stripe = offload_stripe(dump->offload, ufid);
    struct offload_flow *flow;
    bool shown = false;

    *dumped = (struct offload_dumped) { .stats = *stats };
    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, ufid);
    if (flow) {
        shown = show(dump, flow, stats, in_tc, in_hw, dumped);
    } else {
        /* A rule of a flow that is being deleted, or of another run.  Flows
         * that the kernel has are shown whoever made them. */
        shown = !in_tc;
    }
    ovs_mutex_unlock(&stripe->mutex);
    return shown;
}

/* Decides about a flow that the kernel has, with statistics that it reported
 * since the start of the dump.  Returns true if it has to be shown, with what
 * is stored in '*dumped'.  Flows that are in the kernel only and may be in tc
 * are offered. */
bool
offload_dump_kernel(struct offload_dump *dump, const ovs_u128 *ufid,
                    const struct offload_stats *stats,
                    struct offload_dumped *dumped)
{
    return dump_one(dump, ufid, stats, false, false, dumped);
}

/* Likewise, for a rule in tc, which the device does if 'in_hw'. */
bool
offload_dump_tc(struct offload_dump *dump, const ovs_u128 *ufid,
                const struct offload_stats *stats, bool in_hw,
                struct offload_dumped *dumped)
{
    return dump_one(dump, ufid, stats, true, in_hw, dumped);
}

/* Collects flows of the next stripe that were not shown.  Returns false if
 * there are no more stripes. */
static bool
collect(struct offload_dump *dump)
    OVS_REQUIRES(dump->mutex)
{
    struct offload_stripe *stripe;
    struct offload_flow *flow;

    if (dump->next_stripe >= OFFLOAD_STRIPES) {
        return false;
    }
    stripe = &dump->offload->table.stripes[dump->next_stripe++];
    ovs_mutex_lock(&stripe->mutex);
    HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
        if (!is_shown(dump, flow) && is_of_type(dump, flow)) {
            if (dump->n_flows == dump->allocated_flows) {
                dump->flows = x2nrealloc(dump->flows, &dump->allocated_flows,
                                         sizeof *dump->flows);
            }
            flow->n_refs++;
            dump->flows[dump->n_flows++] = flow;
        }
    }
    ovs_mutex_unlock(&stripe->mutex);
    return true;
}

/* Stores a flow that was not shown yet in '*dumped' and returns true, or
 * returns false if there is none. */
bool
offload_dump_next(struct offload_dump *dump, struct offload_dumped *dumped)
{
    for (;;) {
        struct offload_flow *flow = NULL;
        struct ovs_mutex *mutex;
        bool more = true, shown;

        ovs_mutex_lock(&dump->mutex);
        if (dump->n_flows) {
            flow = dump->flows[--dump->n_flows];
        } else {
            more = collect(dump);
        }
        ovs_mutex_unlock(&dump->mutex);
        if (!more) {
            return false;
        }
        if (!flow) {
            continue;
        }

        *dumped = (struct offload_dumped) { .desc = NULL };
        mutex = &flow->stripe->mutex;
        ovs_mutex_lock(mutex);
        shown = (offload_flow_in_table(flow)
                 && show(dump, flow, NULL, false, false, dumped));
        offload_flow_unref(flow);
        ovs_mutex_unlock(mutex);
        if (shown) {
            return true;
        }
    }
}

/* Calls 'cb' for the rule of each flow that is in tc, or that is being put
 * there. */
void
offload_for_each_rule(struct offload *offload, offload_rule_cb *cb, void *aux)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];
        struct offload_flow *flow;

        ovs_mutex_lock(&stripe->mutex);
        HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
            if (flow->rule) {
                cb(aux, &flow->ufid, flow->rule);
            }
        }
        ovs_mutex_unlock(&stripe->mutex);
    }
}

/* Returns the rule of the flow of 'ufid', with a reference for the caller, or
 * NULL if there is no such flow, or it is not in tc. */
struct offload_rule *
offload_get_rule(struct offload *offload, const ovs_u128 *ufid)
{
    struct offload_stripe *stripe = offload_stripe(offload, ufid);
    const struct offload_flow *flow;
    struct offload_rule *rule;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, ufid);
    rule = flow ? offload_rule_ref(flow->rule) : NULL;
    ovs_mutex_unlock(&stripe->mutex);
    return rule;
}
