/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of all flows.
 *
 * A dump goes through the kernel's flows, then through the engine's own table.
 * Each flow is marked when it is shown, so that a flow that moves meanwhile is
 * shown once.  The second pass finds flows that the first one missed because
 * they moved.
 *
 * Before that, all rules are read from tc in a round (offload-reader.h).  A
 * lax dump never asks tc but uses what the reader thread has read.  If a flow
 * has moved since the start, what the kernel reported about it is outdated and
 * the flow is read again by itself, unless the dump is lax and what is known
 * is not older than the dump. */

#include <config.h>
#include "offload/offload.h"

#include <errno.h>
#include <stdlib.h>

#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "timeval.h"
#include "util.h"

/* Starts a dump of the flows of 'type'.  Returns 0, or EBUSY if
 * OFFLOAD_MAX_DUMPS are in progress.  Unless 'lax', waits until tc was read.
 *
 * A 'lax' dump shows the last known statistics of flows in tc.  So a caller
 * that looks at flows again and again does not wait for tc, and still sees new
 * statistics within the interval of the reader thread, or the duration of a
 * round.  A flow looks as idle as it was when it was read, not more.
 *
 * Several threads may share the dump.  Each calls offload_dump_kernel() for
 * each flow that the kernel has, then offload_dump_next() until it returns 0.
 * The former may be left out, at the price of a request for each flow in the
 * kernel. */
int
offload_dump_start(struct offload *offload, enum offload_dump_type type,
                   bool lax, struct offload_dump *dump)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    *dump = (struct offload_dump) {
        .offload = offload, .type = type, .lax = lax,
    };
    ovs_mutex_lock(&offload->dumps_mutex);
    for (unsigned int i = 0; i < OFFLOAD_MAX_DUMPS && !dump->id; i++) {
        if (!offload->dump_ids[i]) {
            do {
                dump->id = ++offload->last_dump;
            } while (!dump->id);
            offload->dump_ids[i] = dump->id;
            dump->slot = i;
        }
    }
    ovs_mutex_unlock(&offload->dumps_mutex);
    if (!dump->id) {
        return EBUSY;
    }
    if (!lax && type & OFFLOAD_DUMP_TC) {
        dump->round = offload_read_rules(offload);
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

/* Has 'flow' not changed since the start, so that its copy has the statistics
 * that were read since then? */
static bool
is_quiet(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return (flow->moved <= dump->start && !offload_flow_is_busy(flow)
            && !flow->kernel_claimed);
}

/* Is 'flow' where 'dump' looks? */
static bool
is_of_type(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return (offload_flow_in_tc(flow) ? dump->type & OFFLOAD_DUMP_TC
            : flow->life == OFFLOAD_LIFE_PRESENT
            && dump->type & OFFLOAD_DUMP_KERNEL);
}

/* Stores what is known about 'flow'.  In a lax dump, a flow in tc looks as
 * idle as it was when it was read: later packets are not known yet, and flows
 * in use must not expire because they were read some time ago. */
static void
show_known(const struct offload_dump *dump, const struct offload_flow *flow,
           struct offload_dumped *dumped)
{
    struct offload_stats *stats = &dumped->stats;

    dumped->in_tc = offload_flow_in_tc(flow);
    dumped->hw = dumped->in_tc ? flow->hw : OFFLOAD_HW_UNKNOWN;
    *stats = flow->base;
    if (offload_flow_in_kernel(flow)) {
        offload_stats_add(stats, &flow->kernel_seen);
    }
    if (flow->tc != OFFLOAD_TC_NONE && !flow->discard_tc) {
        offload_stats_add(stats, &flow->tc_seen);
    }
    if (dump->lax && dumped->in_tc) {
        long long int now = time_msec();

        stats->used = MIN(now, (MAX(stats->used, flow->created)
                                + MAX(now - flow->read, 0)));
    }
}

/* Are the statistics of the kernel copy of 'flow' known?  'stats' is what the
 * kernel has reported in this dump, or NULL. */
static bool
kernel_is_known(const struct offload_dump *dump, struct offload_flow *flow,
                const struct offload_stats *stats)
{
    if (!offload_flow_in_kernel(flow)) {
        return true;
    }
    if (stats && (is_quiet(dump, flow)
                  || (dump->lax && flow->moved <= dump->start))) {
        offload_flow_saw_kernel(flow, stats);
        return true;
    }
    return dump->lax && flow->known > dump->start;
}

/* The same for the copy in tc. */
static bool
tc_is_known(const struct offload_dump *dump, const struct offload_flow *flow)
{
    return (dump->lax || flow->tc == OFFLOAD_TC_NONE
            || (offload_flow_in_tc(flow) && !flow->discard_tc
                && (int32_t) (flow->round - dump->round) >= 0));
}

/* Is 'flow' lost, or was its rule deleted late, so that its packets are
 * upcalls as long as it is in the table?  Then it is shown as completely idle:
 * the user deletes it soon, and the next packet makes a new one. */
static bool
is_useless(const struct offload_flow *flow)
{
    return (flow->target == OFFLOAD_TARGET_NOWHERE
            && flow->reason == OFFLOAD_REASON_ERROR
            && !offload_flow_in_kernel(flow)
            && !offload_flow_needs_thread(flow));
}

/* Shows 'flow'.  'stats' is what the kernel has reported about its copy there,
 * or NULL. */
static bool
show(struct offload_dump *dump, struct offload_flow *flow,
     const struct offload_stats *stats, struct offload_dumped *dumped)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    bool exists = true;
    bool known;

    if (!is_of_type(dump, flow) || is_shown(dump, flow)) {
        return false;
    }
    known = kernel_is_known(dump, flow, stats) && tc_is_known(dump, flow);
    flow->shown[dump->slot] = dump->id;
    flow->n_refs++;
    if (known) {
        show_known(dump, flow, dumped);
    } else {
        exists = offload_placement_read(dump->offload, flow, &dumped->stats,
                                        &dumped->in_tc, &dumped->hw);
    }
    if (exists) {
        if (is_useless(flow)) {
            dumped->stats.used = 1;
        }
        dumped->desc = offload_desc_ref(flow->desc);
    }
    offload_placement_offer(dump->offload, flow);
    offload_flow_unref(flow);
    return exists;
}

/* Handles a flow that the kernel has, with statistics that it reported since
 * the start of the dump.  Returns true if the flow has to be shown, as stored
 * in '*dumped'.  Offers flows that are in the kernel only and may go to tc. */
bool
offload_dump_kernel(struct offload_dump *dump, const ovs_u128 *ufid,
                    const struct offload_stats *stats,
                    struct offload_dumped *dumped)
{
    struct offload_stripe *stripe = offload_stripe(dump->offload, ufid);
    struct offload_flow *flow;
    bool shown;

    *dumped = (struct offload_dumped) { .stats = *stats };
    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, ufid);

    /* Flows in the kernel are shown whoever made them. */
    shown = !flow || show(dump, flow, stats, dumped);
    ovs_mutex_unlock(&stripe->mutex);
    return shown;
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

/* Takes up to 'n' of the collected flows, which are all of one stripe.
 * Returns their number, or -1 if there are no more. */
static int
take_collected(struct offload_dump *dump, struct offload_flow *flows[],
               size_t n)
{
    size_t taken = 0;
    bool more = true;

    ovs_mutex_lock(&dump->mutex);
    if (!dump->n_flows) {
        more = collect(dump);
    }
    while (taken < n && dump->n_flows) {
        flows[taken++] = dump->flows[--dump->n_flows];
    }
    ovs_mutex_unlock(&dump->mutex);
    return more ? taken : -1;
}

/* Prefetches 'flow', which is used soon.  With many flows none is in the
 * caches, and a dump mostly waits for memory.  This waits for all flows of a
 * batch together. */
static void
prefetch(const struct offload_flow *flow)
{
    for (size_t i = 0; i < sizeof *flow; i += CACHE_LINE_SIZE) {
        OVS_PREFETCH((const char *) flow + i);
    }
}

/* Stores at most 'n' or OFFLOAD_BATCH flows that were not shown yet in
 * 'dumped'.  Returns their number, 0 only if there are none. */
size_t
offload_dump_next(struct offload_dump *dump, struct offload_dumped dumped[],
                  size_t n)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_flow *flows[OFFLOAD_BATCH];
    size_t n_shown = 0;

    while (!n_shown) {
        int taken = take_collected(dump, flows, MIN(n, OFFLOAD_BATCH));
        struct ovs_mutex *mutex;

        if (taken < 0) {
            break;
        }
        if (!taken) {
            continue;
        }
        for (int i = 0; i < taken; i++) {
            prefetch(flows[i]);
        }
        mutex = &flows[0]->stripe->mutex;
        ovs_mutex_lock(mutex);
        for (int i = 0; i < taken; i++) {
            dumped[n_shown] = (struct offload_dumped) { .desc = NULL };
            n_shown += (offload_flow_in_table(flows[i])
                        && show(dump, flows[i], NULL, &dumped[n_shown]));
            offload_flow_unref(flows[i]);
        }
        ovs_mutex_unlock(mutex);
    }
    return n_shown;
}
