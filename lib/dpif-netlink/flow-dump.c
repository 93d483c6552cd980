/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpif-netlink/flow-dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "dpif-netlink/flow-engine.h"
#include "dpif-netlink/flow-operate.h"
#include "dpif-netlink/flow-stats.h"
#include "netdev-offload.h"
#include "netdev.h"
#include "openvswitch/vlog.h"
#include "tc/tc-transact.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(kdp_flow_dump);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 1);

/* Flows shown at a time, as in Open vSwitch. */
#define MAX_BATCH 50

/* Rules of a device that are many. */
#define MANY_RULES 100

struct flow_dump {
    struct dpif_flow_dump up;
    struct kdp_flow_engine *engine;
    struct dpif_flow_dump *inner;       /* Or NULL: not of the kernel. */
    struct offload_dump view;   /* What the engine makes of it. */
    bool started;               /* 'view' is under way. */
    bool learn;                 /* Take over flows that it does not know. */
    atomic_int error;           /* Of a part of it, or 0. */

    struct kdp_tc_list list;    /* What is in tc at the start. */
    atomic_count next_chunk;    /* MAX_BATCH of the rules. */

    struct ovs_mutex mutex;
    size_t next_device OVS_GUARDED;
    struct listing *listing OVS_GUARDED;        /* That threads join. */
};

/* A device whose rules are being listed, by several threads. */
struct listing {
    struct nl_dump nl_dump;
    bool in_hw;
    unsigned int n_threads;     /* Guarded by the mutex of the dump. */
};

enum phase {
    PHASE_KERNEL,
    PHASE_TC,
    PHASE_DEVICES,
    PHASE_REST,
    PHASE_DONE
};

struct flow_dump_thread {
    struct dpif_flow_dump_thread up;
    struct flow_dump *dump;
    enum phase phase;
    struct dpif_flow_dump_thread *inner;
    struct listing *listing;    /* PHASE_DEVICES.  Or NULL. */
    struct ofpbuf buffer;

    /* Flows to show, from 'next' to 'n', and the descriptions that those
     * before point into, too. */
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
kdp_flow_dump_create(struct kdp_flow_engine *engine, const struct dpif *dpif,
                     bool terse, const struct dpif_flow_dump_types *types)
{
    struct flow_dump *dump = xzalloc(sizeof *dump);
    struct dpif_flow_dump_types kernel_only = { .ovs_flows = true };
    struct dpif *inner = engine->dp->inner;
    enum offload_dump_type type = OFFLOAD_DUMP_ALL;
    int error;

    if (types) {
        type = ((types->ovs_flows ? OFFLOAD_DUMP_KERNEL : 0)
                | (types->netdev_flows ? OFFLOAD_DUMP_TC : 0));
    }
    dpif_flow_dump_init(&dump->up, dpif);
    dump->up.terse = terse;
    dump->engine = engine;
    atomic_count_init(&dump->next_chunk, 0);
    ovs_mutex_init(&dump->mutex);
    error = offload_dump_start(engine->offload, type, &dump->view);
    atomic_init(&dump->error, error);
    dump->started = !error;

    /* Revalidators come again soon. */
    dump->view.lax = terse;
    atomic_read_relaxed(&engine->enabled, &dump->learn);
    if (type & OFFLOAD_DUMP_KERNEL) {
        dump->inner = inner->dpif_class->flow_dump_create(inner, terse,
                                                          &kernel_only);
    }
    kdp_tc_list_init(&dump->list, (terse && kdp_tc_may_dump(&engine->tc)
                                   ? MANY_RULES : UINT64_MAX));
    if (type & OFFLOAD_DUMP_TC) {
        offload_for_each_rule(engine->offload, kdp_tc_list_add, &dump->list);
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
        struct dpif *inner = dump->inner->dpif;
        int retval = inner->dpif_class->flow_dump_destroy(dump->inner);

        error = error ? error : retval;
    }
    if (dump->started) {
        offload_dump_done(&dump->view);
    }
    kdp_tc_list_uninit(&dump->list);
    ovs_mutex_destroy(&dump->mutex);
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
    ofpbuf_init(&thread->buffer, NL_DUMP_BUFSIZE);
    thread->phase = (!dump->started ? PHASE_DONE
                     : dump->inner ? PHASE_KERNEL : PHASE_TC);
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

/* Leaves the listing of a device's rules, which no other thread joins any more
 * if it has 'ended'.  What was not shown is read one by one. */
static void
leave_listing(struct flow_dump_thread *thread, bool ended)
{
    struct flow_dump *dump = thread->dump;
    struct listing *listing = thread->listing;

    if (!listing) {
        return;
    }
    ovs_mutex_lock(&dump->mutex);
    if (!--listing->n_threads || ended) {
        dump->listing = dump->listing == listing ? NULL : dump->listing;
    }
    if (!listing->n_threads) {
        kdp_tc_dump_done(&listing->nl_dump);
        free(listing);
    }
    ovs_mutex_unlock(&dump->mutex);
    ofpbuf_clear(&thread->buffer);
    thread->listing = NULL;
}

void
kdp_flow_dump_thread_destroy(struct dpif_flow_dump_thread *thread_)
{
    struct flow_dump_thread *thread = flow_dump_thread_cast(thread_);

    leave_listing(thread, false);
    ofpbuf_uninit(&thread->buffer);
    release_descs(thread);
    if (thread->inner) {
        struct dpif *inner = thread->inner->dpif;

        inner->dpif_class->flow_dump_thread_destroy(thread->inner);
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
            .offloaded = dumped->in_hw,
            .dp_layer = dumped->in_tc ? "tc" : "ovs",
        },
    };
    flow->stats = kdp_flow_stats_to_dpif(&dumped->stats);
}

/* Decides about a flow of the kernel, as offload_dump_kernel() does.  One that
 * the engine does not know yet is taken over first: otherwise the engine would
 * show it once more at the end. */
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

/* Stores the next of the kernel's flows in 'flows'.  Returns 0 only if there
 * are no more. */
static int
next_from_kernel(struct flow_dump_thread *thread, struct dpif_flow *flows)
{
    struct dpif *inner = thread->inner->dpif;
    int n_in, n;

    do {
        n_in = inner->dpif_class->flow_dump_next(thread->inner, flows,
                                                 MAX_BATCH);
        n = 0;
        for (int i = 0; i < n_in; i++) {
            struct offload_dumped dumped;

            if (!dump_kernel_flow(thread->dump, &flows[i], &dumped)) {
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

/* Takes what tc said of a rule with 'overhead'.  Returns false if that is not
 * to be shown. */
static bool
dump_rule(struct flow_dump *dump, const struct kdp_tc_rule *rule,
          uint16_t overhead, struct offload_dumped *dumped)
{
    struct offload_stats stats = kdp_tc_stats(rule, overhead);

    return offload_dump_tc(&dump->view, &rule->ufid, &stats, rule->in_hw,
                           dumped);
}

/* Reads the rules of a chunk of the list, from 'first'. */
static int
read_rules(struct flow_dump_thread *thread, size_t first,
           struct dpif_flow *flows)
{
    struct flow_dump *dump = thread->dump;
    const struct kdp_tc_list_rule *rules = &dump->list.rules[first];
    size_t n = MIN(dump->list.n_rules - first, MAX_BATCH);
    struct kdp_tc_request *requests = xmalloc(n * sizeof *requests);
    struct kdp_tc_request *sent[MAX_BATCH];
    int n_flows = 0;

    for (size_t i = 0; i < n; i++) {
        requests[i].type = KDP_TC_GET;
        requests[i].id = rules[i].known.id;
        sent[i] = &requests[i];
    }
    kdp_tc_transact(sent, n);
    for (size_t i = 0; i < n; i++) {
        const struct kdp_tc_rule *rule = &requests[i].reply;
        struct offload_dumped dumped;

        /* The name may be another rule's by now. */
        if (requests[i].error || !ovs_u128_equals(rule->ufid, rules[i].ufid)) {
            continue;
        }
        if (rule->in_hw) {
            kdp_tc_rule_saw(rules[i].rule, true);
        }
        if (dump_rule(dump, rule, rules[i].known.overhead, &dumped)) {
            show_dumped(thread, &dumped, &flows[n_flows++]);
        }
    }
    free(requests);
    return n_flows;
}

/* Gets the next flows in tc, MAX_BATCH at most.  Returns 0 only if there are
 * no more. */
static int
next_from_tc(struct flow_dump_thread *thread, struct dpif_flow *flows)
{
    struct flow_dump *dump = thread->dump;
    int n = 0;

    while (!n) {
        size_t first = (size_t) atomic_count_inc(&dump->next_chunk)
                       * MAX_BATCH;

        if (first >= dump->list.n_rules) {
            break;
        }
        n = read_rules(thread, first, flows);
    }
    return n;
}

/* The start of a part of a list. */
struct part {
    long long int start;
    struct rusage usage;
};

static void
start_part(struct part *part)
{
    memset(&part->usage, 0, sizeof part->usage);
    getrusage(RUSAGE_THREAD, &part->usage);
    part->start = time_msec();
}

/* Takes note of how long 'part' took, if that was for a lock: who waits for
 * one sleeps, or spins while its holder runs.  Otherwise other threads ran
 * because the thread's time was up. */
static void
end_part(struct kdp_tc *tc, const struct part *part)
{
    long long int duration = time_msec() - part->start;
    struct rusage usage;

    if (duration >= KDP_TC_SLOW_DUMP
        && !getrusage(RUSAGE_THREAD, &usage)
        && (usage.ru_nvcsw != part->usage.ru_nvcsw
            || usage.ru_nivcsw == part->usage.ru_nivcsw)) {
        VLOG_INFO_RL(&rl, "a list of rules in tc waited %lld ms for the "
                     "kernel's RTNL lock; rules are asked for by name for %d "
                     "s, which takes the revalidators longer", duration,
                     KDP_TC_DUMP_PAUSE / 1000);
        kdp_tc_dump_waited(tc, duration);
    }
}

/* Starts to list the rules of 'device'.  Returns NULL if that fails. */
static struct listing *
start_listing(struct flow_dump *dump, const struct kdp_tc_device *device)
{
    struct kdp_tc *tc = &dump->engine->tc;
    struct netdev *netdev = netdev_ports_get(u32_to_odp(device->port_no),
                                             tc->dpif_type);
    struct listing *listing;
    struct part part;
    int error;

    if (!netdev) {
        return NULL;
    }
    listing = xmalloc(sizeof *listing);
    listing->in_hw = device->in_hw;
    listing->n_threads = 0;
    start_part(&part);
    error = kdp_tc_dump_start(netdev, dump->up.terse, &listing->nl_dump);
    if (error) {
        free(listing);
        listing = NULL;
    } else if (!device->in_hw) {
        end_part(tc, &part);
    }
    netdev_close(netdev);
    return listing;
}

/* Joins the listing of a device, or starts the next one, unless the thread is
 * at one.  Returns false if there are none left. */
static bool
join_listing(struct flow_dump_thread *thread)
{
    struct flow_dump *dump = thread->dump;

    if (thread->listing) {
        return true;
    }
    /* Held during the request that starts a list, so that other threads join
     * it instead of reading its rules one by one. */
    ovs_mutex_lock(&dump->mutex);
    while (!dump->listing && dump->next_device < dump->list.n_devices) {
        const struct kdp_tc_device *device
            = &dump->list.devices[dump->next_device++];

        if (device->in_hw || kdp_tc_may_dump(&dump->engine->tc)) {
            dump->listing = start_listing(dump, device);
        }
    }
    thread->listing = dump->listing;
    if (thread->listing) {
        thread->listing->n_threads++;
    }
    ovs_mutex_unlock(&dump->mutex);
    return thread->listing != NULL;
}

/* Gets the next rule of the device.  Returns false if there is none.  (To end
 * a list early would save nothing: the rest is received nevertheless.) */
static bool
next_listed(struct flow_dump_thread *thread, struct kdp_tc_rule *rule)
{
    struct listing *listing = thread->listing;
    bool measure = !thread->buffer.size && !listing->in_hw;
    struct part part;
    bool found;

    if (measure) {
        start_part(&part);
    }
    found = kdp_tc_dump_next(&listing->nl_dump, &thread->buffer, rule);
    if (measure) {
        end_part(&thread->dump->engine->tc, &part);
    }
    return found;
}

/* Takes note of where 'rule', which a device told, is, and returns its
 * overhead. */
static uint16_t
saw_rule(struct flow_dump *dump, const struct kdp_tc_rule *rule)
{
    struct offload_rule *known = offload_get_rule(dump->engine->offload,
                                                  &rule->ufid);
    uint16_t overhead = known ? kdp_tc_rule_saw(known, rule->in_hw) : 0;

    offload_rule_unref(known);
    return overhead;
}

/* Gets the next flows of devices, MAX_BATCH at most.  Returns 0 only if there
 * are no more. */
static int
next_from_devices(struct flow_dump_thread *thread, struct dpif_flow *flows)
{
    struct flow_dump *dump = thread->dump;
    int n = 0;

    while (n < MAX_BATCH && join_listing(thread)) {
        struct offload_dumped dumped;
        struct kdp_tc_rule rule;

        if (!next_listed(thread, &rule)) {
            leave_listing(thread, true);
        } else if (dump_rule(dump, &rule, saw_rule(dump, &rule), &dumped)) {
            show_dumped(thread, &dumped, &flows[n++]);
        }
    }
    return n;
}

static int
next_of_rest(struct flow_dump_thread *thread, struct dpif_flow *flows)
{
    struct offload_dumped dumped;
    int n = 0;

    while (n < MAX_BATCH
           && offload_dump_next(&thread->dump->view, &dumped)) {
        show_dumped(thread, &dumped, &flows[n++]);
    }
    return n;
}

/* Gets flows to show. */
static void
fill(struct flow_dump_thread *thread)
{
    int n = 0;

    release_descs(thread);
    for (; !n && thread->phase != PHASE_DONE; thread->phase += !n) {
        switch (thread->phase) {
        case PHASE_KERNEL:
            n = next_from_kernel(thread, thread->flows);
            break;
        case PHASE_TC:
            n = next_from_tc(thread, thread->flows);
            break;
        case PHASE_DEVICES:
            n = next_from_devices(thread, thread->flows);
            break;
        case PHASE_REST:
        case PHASE_DONE:
        default:
            n = next_of_rest(thread, thread->flows);
            break;
        }
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
