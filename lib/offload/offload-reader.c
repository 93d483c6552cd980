/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "offload/offload-reader.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "latch.h"
#include "offload/offload-audit.h"
#include "offload/offload-engine.h"
#include "offload/offload-placement.h"
#include "offload/offload-rebalance.h"
#include "openvswitch/poll-loop.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

/* After a round that took so much time of a processor the thread sleeps this
 * many times as long, at least: with 100,000 rules, of which each takes a few
 * microseconds, it would be at it all the time. */
#define READER_SHARE 8

struct offload_reader {
    struct offload *offload;
    unsigned int interval;      /* In ms. */
    pthread_t thread;
    struct latch stop;
};

/* A round, or what a thread does of it. */
struct round {
    struct offload *offload;
    uint32_t number;
    long long int start;        /* In ms. */
    uint64_t clock;             /* Move clock at the start. */
    unsigned int interval;      /* Time in ms for which what is known of a rule
                                 * is new enough; 0 if it never is. */
    bool audit;                 /* All rules in tc are listed. */
    struct latch *stop;         /* Ends the round early; NULL if the caller may
                                 * have pointers that RCU guards. */

    /* Flows that are to be read, with references. */
    struct offload_flow *flows[OFFLOAD_BATCH];
    size_t n;
};

static bool
is_stopped(const struct round *round)
{
    return round->stop && latch_is_set(round->stop);
}

static void
quiesce_start(const struct round *round)
{
    if (round->stop) {
        ovsrcu_quiesce_start();
    }
}

static void
quiesce_end(const struct round *round)
{
    if (round->stop) {
        ovsrcu_quiesce_end();
    }
}

/* Is 'a' a later round than 'b'?  Numbers wrap. */
static bool
is_later(uint32_t a, uint32_t b)
{
    return (int32_t) (a - b) > 0;
}

/* Takes note of what tc said of the rule of 'flow'. */
static void
saw(const struct round *round, struct offload_flow *flow,
    const struct offload_stats *stats, enum offload_hw hw)
{
    offload_flow_saw_tc(flow, stats, hw, round->start);
    if (is_later(round->number, flow->round)) {
        flow->round = round->number;
    }
}

/* A device told of a rule.  Where only tc's software has it, it is better read
 * by itself, which tells when it was used. */
static void
take_listed(void *round_, const ovs_u128 *ufid, const void *told_)
{
    struct round *round = round_;
    struct offload *offload = round->offload;
    struct offload_stripe *stripe = offload_stripe(offload, ufid);
    enum offload_told told = OFFLOAD_TOLD_OTHER;
    struct offload_stats stats;
    struct offload_flow *flow;
    enum offload_hw hw;
    bool known;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, ufid);
    if (flow && flow->tc != OFFLOAD_TC_NONE) {
        told = offload->backend.take(offload->backend.aux, flow->rule, told_,
                                     &stats, &hw);
    }
    if (told == OFFLOAD_TOLD_STATS && offload_flow_in_tc(flow)
        && flow->moved <= round->clock
        && (!round->audit || offload_in_hw(hw))) {
        saw(round, flow, &stats, hw);
    }
    known = (told != OFFLOAD_TOLD_OTHER
             || offload_flow_find_deleting(stripe, ufid));
    ovs_mutex_unlock(&stripe->mutex);

    if (round->audit && !known) {
        offload_audit_suspect(offload, ufid, told_);
    }
}

/* Are rules in 'place', of 'port', to be listed? */
static bool
is_known(void *round_, uint32_t port, const struct offload_place *place)
{
    struct round *round = round_;

    return offload_ports_is_known(&round->offload->ports, port, place);
}

/* Takes what 'op' told of the rule of 'flow', which had moved at 'moved'. */
static void
take_read(struct round *round, struct offload_flow *flow, uint64_t moved,
          const struct offload_copy_op *op)
    OVS_REQUIRES(flow->stripe->mutex)
{
    if (flow->moved != moved) {
        return;
    }
    if (!op->error) {
        saw(round, flow, &op->stats, op->hw);
        if (op->conflict) {
            offload_placement_renew(round->offload, flow);
        }
    } else if (op->error == ENOENT && !offload_flow_is_busy(flow)
               && !flow->kernel_claimed) {
        offload_placement_rule_vanished(round->offload, flow);
    }
}

/* Reads the flows that were collected, and gives them up. */
static void
read_batch(struct round *round)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct offload_copy_op ops[OFFLOAD_BATCH], *opps[OFFLOAD_BATCH];
    struct offload_backend *backend = &round->offload->backend;
    uint64_t moved[OFFLOAD_BATCH];
    size_t n_ops = 0;

    for (size_t i = 0; i < round->n; i++) {
        struct offload_flow *flow = round->flows[i];
        struct ovs_mutex *mutex = &flow->stripe->mutex;

        ovs_mutex_lock(mutex);
        if (offload_flow_in_tc(flow)) {
            ops[n_ops] = (struct offload_copy_op) {
                .type = OFFLOAD_COPY_GET,
                .ufid = flow->ufid,
                .desc = offload_desc_ref(flow->tc_desc),
                .rule = offload_rule_ref(flow->rule),
            };
            opps[n_ops] = &ops[n_ops];
            moved[n_ops] = flow->moved;
            round->flows[n_ops++] = flow;
        } else {
            offload_flow_unref(flow);
        }
        ovs_mutex_unlock(mutex);
    }
    round->n = 0;
    if (!n_ops) {
        return;
    }
    if (is_stopped(round)) {
        for (size_t i = 0; i < n_ops; i++) {
            ops[i].error = EAGAIN;
        }
    } else {
        quiesce_start(round);
        backend->operate(backend->aux, opps, n_ops);
        quiesce_end(round);
    }
    for (size_t i = 0; i < n_ops; i++) {
        struct offload_flow *flow = round->flows[i];
        struct ovs_mutex *mutex = &flow->stripe->mutex;

        ovs_mutex_lock(mutex);
        take_read(round, flow, moved[i], &ops[i]);
        offload_flow_unref(flow);
        ovs_mutex_unlock(mutex);
        offload_rule_unref(ops[i].rule);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i].desc));
    }
}

/* Is 'flow' in tc, and to be read by itself?  One that has just come need not
 * be: it was known how much it had counted, and in a burst of new flows there
 * would be more to read than to add. */
static bool
is_due(const struct round *round, const struct offload_flow *flow)
{
    return (offload_flow_in_tc(flow) && is_later(round->number, flow->round)
            && (!round->interval
                || flow->read + round->interval <= round->start));
}

/* Reads the rules of 'stripe' that are to be read by themselves. */
static void
read_stripe(struct round *round, struct offload_stripe *stripe)
{
    struct offload_flow **flows = NULL, *flow;
    size_t n = 0, allocated = 0;

    ovs_mutex_lock(&stripe->mutex);
    HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
        if (is_due(round, flow)) {
            if (n == allocated) {
                flows = x2nrealloc(flows, &allocated, sizeof *flows);
            }
            flow->n_refs++;
            flows[n++] = flow;
        }
    }
    ovs_mutex_unlock(&stripe->mutex);
    for (size_t i = 0; i < n; i++) {
        round->flows[round->n++] = flows[i];
        if (round->n == OFFLOAD_BATCH) {
            read_batch(round);
        }
    }
    free(flows);
}

/* If 'audit', which takes the reader thread, also looks for rules that no flow
 * has. */
static uint32_t
run_round(struct offload *offload, bool exact, bool audit,
          unsigned int interval, struct latch *stop)
{
    struct offload_backend *backend = &offload->backend;
    struct round round = {
        .offload = offload,
        .start = time_msec(),
        .clock = offload_table_clock(&offload->table),
        .interval = interval,
        .stop = stop,
    };

    atomic_add_relaxed(&offload->last_round, 1, &round.number);
    round.number++;
    if (audit && !is_stopped(&round)) {
        quiesce_start(&round);
        offload_audit_judge(offload);
        quiesce_end(&round);
        round.audit = offload_audit_is_due(offload, round.start);
    }
    if (round.audit) {
        quiesce_start(&round);
        backend->list_all(backend->aux, is_known, take_listed, &round);
        quiesce_end(&round);
    } else if (backend->list && !is_stopped(&round)) {
        quiesce_start(&round);
        backend->list(backend->aux, exact, take_listed, &round);
        quiesce_end(&round);
    }
    for (size_t i = 0; i < OFFLOAD_STRIPES && !is_stopped(&round); i++) {
        read_stripe(&round, &offload->table.stripes[i]);
    }
    read_batch(&round);
    return round.number;
}

/* Reads what tc has counted for all rules, and when they were used, which the
 * reader thread knows of some only as of the round in which it found that they
 * had been.  Waits for tc.  Returns the number of the round. */
uint32_t
offload_read_rules(struct offload *offload)
{
    return run_round(offload, true, false, 0, NULL);
}

/* A round of the reader thread, or of a test, of the rules of which nothing
 * was learnt for 'interval' ms.  It ends early when 'stop' is set: whoever
 * ends the thread does not wait for all rules of a slow card, but for the
 * request that is under way. */
void
offload_reader_round(struct offload *offload, unsigned int interval,
                     struct latch *stop)
{
    run_round(offload, false, true, interval, stop);
}

/* Time of a processor that the thread has taken, in ms. */
static long long int
cpu_msec(void)
{
    struct timespec ts;

    return (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) ? 0
            : ts.tv_sec * 1000LL + ts.tv_nsec / 1000000);
}

/* After a round: has flows change places in full cards, if it is time for
 * that since '*last', and wanted. */
static void
rebalance(struct offload *offload, long long int *last)
{
    unsigned int interval;

    atomic_read_relaxed(&offload->rebalance_interval, &interval);
    if (interval && time_msec() >= *last + interval) {
        *last = time_msec();
        offload_rebalance_run(offload);
    }
}

static void *
reader_main(void *reader_)
{
    struct offload_reader *reader = reader_;
    long long int next = time_msec() + reader->interval;
    long long int last_rebalance = time_msec();

    while (!latch_is_set(&reader->stop)) {
        if (time_msec() >= next) {
            long long int start = time_msec();
            long long int cpu = cpu_msec();

            offload_reader_round(reader->offload, reader->interval,
                                 &reader->stop);
            rebalance(reader->offload, &last_rebalance);
            cpu = cpu_msec() - cpu;
            next = MAX(start + reader->interval,
                       time_msec() + cpu * READER_SHARE);
        }
        poll_timer_wait_until(next);
        latch_wait(&reader->stop);
        poll_block();
    }
    return NULL;
}

/* Makes the thread that reads rules each 'read_interval' ms, none if that is
 * 0. */
void
offload_reader_start(struct offload *offload, unsigned int read_interval)
{
    struct offload_reader *reader;

    if (!read_interval) {
        return;
    }
    reader = xmalloc(sizeof *reader);
    reader->offload = offload;
    reader->interval = read_interval;
    latch_init(&reader->stop);
    offload->reader = reader;
    reader->thread = ovs_thread_create("rule_reader", reader_main, reader);
}

/* Ends the thread, if there is one, after the request that it waits for. */
void
offload_reader_stop(struct offload *offload)
{
    struct offload_reader *reader = offload->reader;

    if (reader) {
        latch_set(&reader->stop);
        xpthread_join(reader->thread, NULL);
        latch_destroy(&reader->stop);
        free(reader);
        offload->reader = NULL;
    }
}
