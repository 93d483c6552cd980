/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that are in tc when a port comes: those of a previous run. */

#include <config.h>
#include "offload/offload-private.h"

#include <errno.h>
#include <stdlib.h>

#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(offload_adopt);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);

struct found {
    ovs_u128 ufid;
    struct offload_desc *desc;  /* Or NULL. */
    struct offload_stats stats;
};

struct dump {
    struct found *found;
    size_t n, allocated;
};

static void
collect(void *dump_, const ovs_u128 *ufid, struct offload_desc *desc,
        const struct offload_stats *stats)
{
    struct dump *dump = dump_;

    if (dump->n == dump->allocated) {
        dump->found = x2nrealloc(dump->found, &dump->allocated,
                                 sizeof *dump->found);
    }
    dump->found[dump->n++] = (struct found) {
        .ufid = *ufid, .desc = desc, .stats = *stats,
    };
}

/* Makes a flow of a rule that nobody knows.  Whether it is in the kernel too,
 * because the last run ended in the middle of a move, is asked for by the
 * caller, who has claimed it. */
static struct offload_flow *
adopt(struct offload *offload, struct offload_stripe *stripe,
      struct found *found, unsigned int thread)
    OVS_REQUIRES(stripe->mutex)
{
    struct offload_flow *flow;

    flow = offload_flow_create(stripe, found->desc);
    found->desc = NULL;
    offload_flow_set_present(flow);
    offload_flow_set_tc(flow, OFFLOAD_TC_PRESENT, flow->desc);
    flow->tc_seen = found->stats;
    offload_flow_set_target(flow, OFFLOAD_TARGET_TC);
    flow->thread = thread;
    offload_flow_set_work(flow, OFFLOAD_WORK_BUSY);
    flow->kernel_claimed = true;
    flow->n_refs++;
    offload_chains_add(offload, flow->tc_desc);
    return flow;
}

/* Asks the kernel for 'flow', which was adopted, and settles it. */
static void
settle(struct offload_thread *thread, struct offload_flow *flow)
{
    struct offload *offload = thread->offload;
    struct offload_desc *tc_desc = offload_desc_ref(flow->tc_desc);
    struct offload_copy_op op = {
        .type = OFFLOAD_COPY_GET, .ufid = flow->ufid, .desc = tc_desc,
    };

    offload->kernel.operate(offload->kernel.aux,
                            (struct offload_copy_op *[]) { &op }, 1);
    ovs_mutex_lock(&flow->stripe->mutex);
    flow->kernel_claimed = false;
    if (!op.error) {
        offload_flow_set_kernel(flow, OFFLOAD_KERNEL_PRESENT);
    }
    offload_flow_moved(flow);
    ovs_mutex_unlock(&flow->stripe->mutex);

    offload_count(offload, thread->id, OFFLOAD_ADOPTED);
    offload_step_flows(thread, &flow, 1);
    offload_chains_wake(offload, tc_desc);
    offload_desc_unref(tc_desc);
}

/* Deletes a rule of 'port' that is not ours any more. */
static void
delete_stale(struct offload_thread *thread, uint32_t port,
             const struct found *found)
{
    struct offload *offload = thread->offload;
    int error = offload_delete_rule(offload, &found->ufid, found->desc);

    if (error) {
        offload_leaked(offload, thread->id, &found->ufid, port, found->desc,
                       error);
    } else {
        offload_count(offload, thread->id, OFFLOAD_STALE);
    }
}

static void
reconcile(struct offload_thread *thread, uint32_t port, struct found *found)
{
    struct offload *offload = thread->offload;
    struct offload_stripe *stripe = offload_stripe(offload, &found->ufid);
    struct offload_flow *flow, *adopted = NULL;
    bool stale = false;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, &found->ufid);
    if (!flow && found->desc
        && !offload_flow_is_deleting(stripe, &found->ufid)) {
        adopted = adopt(offload, stripe, found, thread->id);
    } else {
        /* A flow that has a rule, or is on its way out, was adopted, and this
         * is its rule once more. */
        stale = (flow ? !offload_flow_in_tc(flow)
                 : !offload_flow_is_deleting(stripe, &found->ufid));
    }
    ovs_mutex_unlock(&stripe->mutex);

    if (adopted) {
        settle(thread, adopted);
    } else if (stale) {
        delete_stale(thread, port, found);
    }
    offload_desc_unref(found->desc);
}

/* Compares the rules that are on 'port' with the table.  Until this is done no
 * flow of the port is offered, so nobody else changes the rules. */
void
offload_adopt_port(struct offload_thread *thread, uint32_t port)
{
    struct offload *offload = thread->offload;
    struct offload_desc any = { .in_port = port };
    struct dump dump = { .n = 0 };
    uint64_t port_seq;
    bool enabled;
    int error;

    atomic_read_relaxed(&offload->enabled, &enabled);
    if (offload_port_admit(offload, &any, &port_seq)
        == OFFLOAD_REASON_NO_PORT) {
        /* It has gone again, which deletes the rules. */
        return;
    }
    if (!enabled) {
        offload_flush_port(offload, port);
        offload_port_ready(offload, port);
        return;
    }
    error = offload->backend.dump(offload->backend.aux, port, collect, &dump);
    if (error) {
        VLOG_INFO_RL(&rl, "rules on port %"PRIu32" cannot be listed: %s; what "
                     "is left of them by a previous run is not known", port,
                     ovs_strerror(error));
    }
    for (size_t i = 0; i < dump.n; i++) {
        reconcile(thread, port, &dump.found[i]);
    }
    free(dump.found);
    offload_port_ready(offload, port);
}
