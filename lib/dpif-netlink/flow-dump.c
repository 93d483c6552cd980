/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "dpif-netlink/flow-chains.h"
#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-operate.h"
#include "ovs/compat-dpif.h"
#include "util.h"

/* Flows shown at a time, as in Open vSwitch. */
#define MAX_BATCH 50

struct flow_dump {
    struct dpif_flow_dump up;
    struct kdp_datapath *dp;
    struct kdp_flow_engine *engine;     /* Or NULL. */
    struct dpif_flow_dump *inner;       /* NULL if the dump excludes the
                                         * kernel. */
    struct offload_dump view;   /* The engine's view of the dump. */
    bool started;               /* 'view' has been started. */
    bool learn;                 /* Take over flows that the engine does not
                                 * know. */
    bool revalidator;           /* The dump is for a revalidator. */
    atomic_int error;           /* Error of a part of the dump, or 0. */
};

enum phase {
    PHASE_KERNEL,
    PHASE_REST,
    PHASE_DONE
};

struct flow_dump_thread {
    struct dpif_flow_dump_thread up;
    struct flow_dump *dump;
    enum phase phase;
    struct dpif_flow_dump_thread *inner;

    /* Flows to show, from 'next' to 'n', and the descriptions that these and
     * earlier flows point into. */
    struct dpif_flow flows[MAX_BATCH];
    int next, n;
    struct offload_desc *descs[MAX_BATCH];
    size_t n_descs;
};

static struct flow_dump *
flow_dump_cast(struct dpif_flow_dump *dump)
{
    return CONTAINER_OF(dump, struct flow_dump, up);
}

static struct flow_dump_thread *
flow_dump_thread_cast(struct dpif_flow_dump_thread *thread)
{
    return CONTAINER_OF(thread, struct flow_dump_thread, up);
}

struct dpif_flow_dump *
kdp_flow_dump_create(struct kdp_datapath *dp, struct kdp_flow_engine *engine,
                     const struct dpif *dpif, bool terse, bool learn,
                     bool revalidator,
                     const struct dpif_flow_dump_types *types)
{
    struct flow_dump *dump = xzalloc(sizeof *dump);
    struct dpif_flow_dump_types kernel_only = { .ovs_flows = true };
    struct dpif *inner = dp->inner;
    enum offload_dump_type type = OFFLOAD_DUMP_ALL;

    if (types) {
        type = ((types->ovs_flows ? OFFLOAD_DUMP_KERNEL : 0)
                | (types->OVS_COMPAT_TC_FLOWS ? OFFLOAD_DUMP_TC : 0));
    }
    ovs_compat_flow_dump_init(&dump->up, dpif, terse);
    dump->dp = dp;
    dump->engine = engine;
    dump->revalidator = revalidator;
    atomic_init(&dump->error, 0);
    if (engine) {
        /* Revalidators come again soon. */
        int error = offload_dump_start(engine->offload, type, terse,
                                       &dump->view);

        atomic_init(&dump->error, error);
        dump->started = !error;
        if (learn) {
            atomic_read_relaxed(&engine->enabled, &dump->learn);
        }
    }
    if (type & OFFLOAD_DUMP_KERNEL) {
        dump->inner = inner->dpif_class->flow_dump_create(inner, terse,
                                                          &kernel_only);
    }
    return &dump->up;
}

int
kdp_flow_dump_destroy(struct dpif_flow_dump *dump_)
{
    struct flow_dump *dump = flow_dump_cast(dump_);
    int error;

    atomic_read_relaxed(&dump->error, &error);
    if (dump->inner) {
        int retval = ovs_compat_flow_dump_destroy(dump->inner);

        error = error ? error : retval;
    }
    if (dump->started) {
        offload_dump_done(&dump->view);
    }
    free(dump);
    return error;
}

struct dpif_flow_dump_thread *
kdp_flow_dump_thread_create(struct dpif_flow_dump *dump_)
{
    struct flow_dump *dump = flow_dump_cast(dump_);
    struct flow_dump_thread *thread = xzalloc(sizeof *thread);

    dpif_flow_dump_thread_init(&thread->up, &dump->up);
    thread->dump = dump;
    thread->phase = (dump->engine && !dump->started ? PHASE_DONE
                     : dump->inner ? PHASE_KERNEL : PHASE_REST);
    if (dump->inner) {
        struct dpif *inner = dump->inner->dpif;

        thread->inner = inner->dpif_class->flow_dump_thread_create(
            dump->inner);
    }
    return &thread->up;
}

static void
release_descs(struct flow_dump_thread *thread)
{
    while (thread->n_descs) {
        offload_desc_unref(thread->descs[--thread->n_descs]);
    }
}

void
kdp_flow_dump_thread_destroy(struct dpif_flow_dump_thread *thread_)
{
    struct flow_dump_thread *thread = flow_dump_thread_cast(thread_);

    release_descs(thread);
    if (thread->inner) {
        ovs_compat_flow_dump_thread_destroy(thread->dump->inner->dpif,
                                            thread->inner);
    }
    free(thread);
}

/* Fills '*flow' in from 'dumped', whose description the thread keeps. */
static void
show_dumped(struct flow_dump_thread *thread,
            const struct offload_dumped *dumped, struct dpif_flow *flow)
{
    struct offload_desc *desc = dumped->desc;

    thread->descs[thread->n_descs++] = desc;
    *flow = (struct dpif_flow) {
        .key = desc->key,
        .key_len = desc->key_len,
        .mask = desc->mask,
        .mask_len = desc->mask_len,
        .actions = desc->actions,
        .actions_len = desc->actions_len,
        .ufid = desc->ufid,
        .ufid_present = true,
        .pmd_id = PMD_ID_NULL,
        .attrs = {
            .offloaded = offload_in_hw(dumped->hw),
            .dp_layer = dumped->in_tc ? "tc" : "ovs",
        },
    };
    flow->stats = kdp_flow_stats_to_dpif(&dumped->stats);
}

/* Decides about a flow of the kernel like offload_dump_kernel().  A flow that
 * the engine does not know yet is taken over first: otherwise the engine would
 * show it a second time at the end. */
static bool
dump_kernel_flow(struct flow_dump *dump, const struct dpif_flow *flow,
                 struct offload_dumped *dumped)
{
    struct offload_stats stats = kdp_flow_stats_from_dpif(&flow->stats);

    if (!offload_dump_kernel(&dump->view, &flow->ufid, &stats, dumped)) {
        return false;
    }
    if (dumped->desc || !flow->ufid_present || !dump->learn) {
        return true;
    }
    kdp_flow_learn(dump->engine, &flow->ufid);
    return offload_dump_kernel(&dump->view, &flow->ufid, &stats, dumped);
}

/* Shows the kernel's 'flow' as '*out'.  Returns false if the flow must not be
 * shown.  'chains' are the chains of a previous run, or NULL. */
static bool
show_kernel_flow(struct flow_dump_thread *thread,
                 const struct flow_chains *chains,
                 const struct dpif_flow *flow, struct dpif_flow *out)
{
    struct flow_dump *dump = thread->dump;
    struct offload_dumped dumped = { .desc = NULL };
    bool in_chain = (chains && flow->ufid_present
                     && flow_chains_has(chains, &flow->ufid));

    if (in_chain && dump->revalidator) {
        return false;
    } else if (in_chain || !dump->engine) {
        *out = *flow;
    } else if (!dump_kernel_flow(dump, flow, &dumped)) {
        return false;
    } else if (dumped.desc) {
        show_dumped(thread, &dumped, out);
    } else {
        *out = *flow;
    }
    return true;
}

/* Stores the next of the kernel's flows in 'flows'.  Returns 0 only if there
 * are no more. */
static int
next_from_kernel(struct flow_dump_thread *thread, struct dpif_flow *flows)
{
    const struct flow_chains *chains = kdp_datapath_chains(thread->dump->dp);
    struct dpif *inner = thread->dump->inner->dpif;
    int n_in, n;

    do {
        n_in = inner->dpif_class->flow_dump_next(thread->inner, flows,
                                                 MAX_BATCH);
        n = 0;
        for (int i = 0; i < n_in; i++) {
            n += show_kernel_flow(thread, chains, &flows[i], &flows[n]);
        }
    } while (n_in && !n);
    return n;
}

static int
next_of_rest(struct flow_dump_thread *thread, struct dpif_flow *flows)
{
    struct offload_dumped dumped[MAX_BATCH];
    size_t n;

    if (!thread->dump->engine) {
        return 0;
    }
    n = offload_dump_next(&thread->dump->view, dumped, MAX_BATCH);
    for (size_t i = 0; i < n; i++) {
        show_dumped(thread, &dumped[i], &flows[i]);
    }
    return n;
}

/* Gets flows to show. */
static void
fill(struct flow_dump_thread *thread)
{
    const struct flow_chains *chains = kdp_datapath_chains(thread->dump->dp);
    int n = 0;

    release_descs(thread);
    for (; !n && thread->phase != PHASE_DONE; thread->phase += !n) {
        switch (thread->phase) {
        case PHASE_KERNEL:
            n = next_from_kernel(thread, thread->flows);
            break;
        case PHASE_REST:
        case PHASE_DONE:
        default:
            n = next_of_rest(thread, thread->flows);
            break;
        }
    }
    for (int i = 0; chains && thread->dump->revalidator && i < n; i++) {
        flow_chains_disguise(chains, &thread->flows[i]);
    }
    thread->next = 0;
    thread->n = n;
}

int
kdp_flow_dump_next(struct dpif_flow_dump_thread *thread_,
                   struct dpif_flow *flows, int max_flows)
{
    struct flow_dump_thread *thread = flow_dump_thread_cast(thread_);
    int n;

    if (thread->next == thread->n) {
        fill(thread);
    }
    n = MIN(max_flows, thread->n - thread->next);
    memcpy(flows, &thread->flows[thread->next], n * sizeof *flows);
    thread->next += n;
    return n;
}
