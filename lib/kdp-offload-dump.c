/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of flows from both sides.
 *
 * As the engine wants it (offload/offload.h), all threads of a dump go through
 * the flows of the kernel, by a dump of the inner dpif that they share, then
 * through the rules in tc, a port at a time, each port by one thread, and then
 * through what the engine has besides. */

#include <config.h>
#include "kdp-offload-private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink-kdp-private.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_offload_dump);

/* Flows shown at a time, as in Open vSwitch. */
#define MAX_BATCH 50

struct kdp_dump {
    struct dpif_flow_dump up;
    struct kdp_offload *offload;
    struct dpif_flow_dump *inner;       /* Or NULL: not of the kernel. */
    struct offload_dump engine;
    bool started;               /* 'engine' is under way. */
    atomic_int error;           /* Of a part of it, or 0. */

    uint32_t *ports;            /* Those that have rules. */
    size_t n_ports;
    atomic_count next_port;
};

enum phase { PHASE_KERNEL, PHASE_TC, PHASE_REST, PHASE_DONE };

struct kdp_dump_thread {
    struct dpif_flow_dump_thread up;
    struct kdp_dump *dump;
    enum phase phase;
    struct dpif_flow_dump_thread *inner;

    /* PHASE_TC. */
    struct kdp_tc_dump tc;
    struct ofpbuf buffer;
    bool tc_open;

    /* Descriptions that flows shown last point into. */
    struct offload_desc *descs[MAX_BATCH];
    size_t n_descs;
};

static struct kdp_dump *
kdp_dump_cast(struct dpif_flow_dump *dump)
{
    return CONTAINER_OF(dump, struct kdp_dump, up);
}

static struct kdp_dump_thread *
kdp_dump_thread_cast(struct dpif_flow_dump_thread *thread)
{
    return CONTAINER_OF(thread, struct kdp_dump_thread, up);
}

struct dpif_flow_dump *
kdp_offload_dump_create(struct kdp_offload *offload, const struct dpif *dpif,
                        bool terse, const struct dpif_flow_dump_types *types)
{
    struct kdp_dump *dump = xzalloc(sizeof *dump);
    struct dpif_flow_dump_types kernel_only = { .ovs_flows = true };
    struct dpif *inner = offload->dp->inner;
    enum offload_dump_type type = OFFLOAD_DUMP_ALL;
    int error;

    if (types) {
        type = ((types->ovs_flows ? OFFLOAD_DUMP_KERNEL : 0)
                | (types->netdev_flows ? OFFLOAD_DUMP_TC : 0));
    }
    dpif_flow_dump_init(&dump->up, dpif);
    dump->up.terse = terse;
    dump->offload = offload;
    atomic_count_init(&dump->next_port, 0);
    error = offload_dump_start(offload->engine, type, &dump->engine);
    atomic_init(&dump->error, error);
    dump->started = !error;
    if (type & OFFLOAD_DUMP_KERNEL) {
        dump->inner = inner->dpif_class->flow_dump_create(inner, terse,
                                                          &kernel_only);
    }
    if (type & OFFLOAD_DUMP_TC) {
        dump->n_ports = offload_ports_with_rules(offload->engine,
                                                 &dump->ports);
    }
    return &dump->up;
}

int
kdp_offload_dump_destroy(struct dpif_flow_dump *dump_)
{
    struct kdp_dump *dump = kdp_dump_cast(dump_);
    int error;

    atomic_read_relaxed(&dump->error, &error);
    if (dump->inner) {
        struct dpif *inner = dump->inner->dpif;
        int retval = inner->dpif_class->flow_dump_destroy(dump->inner);

        error = error ? error : retval;
    }
    if (dump->started) {
        offload_dump_done(&dump->engine);
    }
    free(dump->ports);
    free(dump);
    return error;
}

struct dpif_flow_dump_thread *
kdp_offload_dump_thread_create(struct dpif_flow_dump *dump_)
{
    struct kdp_dump *dump = kdp_dump_cast(dump_);
    struct kdp_dump_thread *thread = xzalloc(sizeof *thread);

    dpif_flow_dump_thread_init(&thread->up, &dump->up);
    thread->dump = dump;
    thread->phase = (!dump->started ? PHASE_DONE
                     : dump->inner ? PHASE_KERNEL : PHASE_TC);
    if (dump->inner) {
        struct dpif *inner = dump->inner->dpif;

        thread->inner = inner->dpif_class->flow_dump_thread_create(
            dump->inner);
    }
    ofpbuf_init(&thread->buffer, dump->n_ports ? NL_DUMP_BUFSIZE : 0);
    return &thread->up;
}

static void
release_descs(struct kdp_dump_thread *thread)
{
    while (thread->n_descs) {
        offload_desc_unref(thread->descs[--thread->n_descs]);
    }
}

/* Ends the dump of a port's rules. */
static void
close_tc(struct kdp_dump_thread *thread)
{
    if (thread->tc_open) {
        static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 5);
        int error = kdp_tc_dump_done(&thread->tc);

        /* Flows that it did not show are read one by one. */
        if (error && error != ENODEV) {
            VLOG_INFO_RL(&rl, "listing rules in tc failed (%s)",
                         ovs_strerror(error));
        }
        thread->tc_open = false;
    }
}

void
kdp_offload_dump_thread_destroy(struct dpif_flow_dump_thread *thread_)
{
    struct kdp_dump_thread *thread = kdp_dump_thread_cast(thread_);

    close_tc(thread);
    release_descs(thread);
    if (thread->inner) {
        struct dpif *inner = thread->inner->dpif;

        inner->dpif_class->flow_dump_thread_destroy(thread->inner);
    }
    ofpbuf_uninit(&thread->buffer);
    free(thread);
}

/* Fills '*flow' in from 'dumped', whose description the thread keeps. */
static void
show_dumped(struct kdp_dump_thread *thread,
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
            .offloaded = dumped->in_hw,
            .dp_layer = dumped->in_tc ? "tc" : "ovs",
        },
    };
    kdp_stats_to_dpif(&dumped->stats, &flow->stats);
}

/* Gets the next of the kernel's flows.  Returns 0 only if there are no more. */
static int
next_from_kernel(struct kdp_dump_thread *thread, struct dpif_flow *flows,
                 int max_flows)
{
    struct dpif *inner = thread->inner->dpif;
    int n_in, n;

    do {
        n_in = inner->dpif_class->flow_dump_next(thread->inner, flows,
                                                 max_flows);
        n = 0;
        for (int i = 0; i < n_in; i++) {
            struct offload_dumped dumped;
            struct offload_stats stats;

            kdp_stats_from_dpif(&flows[i].stats, &stats);
            if (!offload_dump_kernel(&thread->dump->engine, &flows[i].ufid,
                                     &stats, &dumped)) {
                continue;
            }
            if (dumped.desc) {
                show_dumped(thread, &dumped, &flows[n++]);
            } else {
                flows[n++] = flows[i];
            }
        }
    } while (n_in && !n);
    return n;
}

/* Starts with the rules of the next port.  Returns false if there are none
 * left. */
static bool
open_tc(struct kdp_dump_thread *thread)
{
    struct kdp_dump *dump = thread->dump;

    while (!thread->tc_open) {
        unsigned int i = atomic_count_inc(&dump->next_port);

        if (i >= dump->n_ports) {
            return false;
        }
        thread->tc_open = !kdp_tc_dump_start(&dump->offload->tc,
                                             dump->ports[i], true,
                                             &thread->tc);
    }
    return true;
}

static int
next_from_tc(struct kdp_dump_thread *thread, struct dpif_flow *flows,
             int max_flows)
{
    int n = 0;

    while (n < max_flows && open_tc(thread)) {
        struct offload_dumped dumped;
        struct kdp_tc_rule rule;

        if (!kdp_tc_dump_next(&thread->tc, &thread->buffer, &rule)) {
            close_tc(thread);
        } else if (offload_dump_tc(&thread->dump->engine, &rule.ufid,
                                   &rule.stats, rule.in_hw, &dumped)) {
            show_dumped(thread, &dumped, &flows[n++]);
        }
    }
    return n;
}

static int
next_of_rest(struct kdp_dump_thread *thread, struct dpif_flow *flows,
             int max_flows)
{
    struct offload_dumped dumped;
    int n = 0;

    while (n < max_flows
           && offload_dump_next(&thread->dump->engine, &dumped)) {
        show_dumped(thread, &dumped, &flows[n++]);
    }
    return n;
}

int
kdp_offload_dump_next(struct dpif_flow_dump_thread *thread_,
                      struct dpif_flow *flows, int max_flows)
{
    struct kdp_dump_thread *thread = kdp_dump_thread_cast(thread_);
    int n = 0;

    max_flows = MIN(max_flows, MAX_BATCH);
    release_descs(thread);
    for (; !n && thread->phase != PHASE_DONE; thread->phase += !n) {
        switch (thread->phase) {
        case PHASE_KERNEL:
            n = next_from_kernel(thread, flows, max_flows);
            break;
        case PHASE_TC:
            n = next_from_tc(thread, flows, max_flows);
            break;
        case PHASE_REST:
        case PHASE_DONE:
        default:
            n = next_of_rest(thread, flows, max_flows);
            break;
        }
    }
    return n;
}
