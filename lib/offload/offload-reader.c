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

/* Shares of a CPU's time that the thread may take, as divisors: to read rules
 * by themselves, to read and list them, to list all of them for the audit, and
 * to rank flows. */
#define READ_SHARE 5
#define READER_SHARE 4
#define AUDIT_SHARE 20
#define REBALANCE_SHARE 10

/* CPU time in ns that a rule is assumed to need before a round has measured
 * it. */
#define READ_NSEC 10000

struct offload_reader {
    struct offload *offload;
    unsigned int interval;      /* In ms. */
    uint64_t read_nsec;         /* CPU time that a rule needs. */
    pthread_t thread;
    struct latch stop;
};

/* A round, or the part of it that a thread does. */
struct round {
    struct offload *offload;
    uint32_t number;
    long long int start;        /* In ms. */
    uint64_t clock;             /* Move clock at the start. */
    struct offload_reader_pace pace;    /* All zeros: all rules are read. */
    unsigned int max_idle;      /* In ms. */
    unsigned int fair;          /* Time in ms in which each rule could be read
                                 * once. */
    bool audit;                 /* All rules in tc are listed. */
    struct latch *stop;         /* Ends the round early; NULL if the caller may
                                 * have pointers that RCU guards. */

    /* Flows that are to be read, with references. */
    struct offload_flow *flows[OFFLOAD_BATCH];
    size_t n;

    size_t n_read;              /* Rules that were read by themselves. */
    uint64_t read_nsec;         /* CPU time for these, in ns. */
    uint64_t audit_nsec;        /* CPU time for the list of all rules, in
                                 * ns. */
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

/* Records what tc reported about the rule of 'flow'. */
static void
saw(const struct round *round, struct offload_flow *flow,
    const struct offload_stats *stats, enum offload_hw hw)
{
    offload_flow_saw_tc(flow, stats, hw, round->start);
    if (is_later(round->number, flow->round)) {
        flow->round = round->number;
    }
}

/* Handles a rule in a list of a device.  If only tc's software has it, it is
 * better read by itself, which returns the time of its last use. */
static void
take_listed(void *round_, const ovs_u128 *ufid, const void *listed)
{
    struct round *round = round_;
    struct offload *offload = round->offload;
    struct offload_stripe *stripe = offload_stripe(offload, ufid);
    struct offload_stats stats;
    struct offload_flow *flow;
    enum offload_hw hw;
    bool known = false;

    ovs_mutex_lock(&stripe->mutex);
    flow = offload_flow_find(stripe, ufid);
    if (flow && flow->tc != OFFLOAD_TC_NONE) {
        known = offload->backend.take(offload->backend.aux, flow->rule, listed,
                                      &stats, &hw);
    }
    if (known && offload_flow_in_tc(flow)
        && flow->moved <= round->clock
        && (!round->audit || offload_in_hw(hw))) {
        saw(round, flow, &stats, hw);
    }
    known = known || offload_flow_find_deleting(stripe, ufid);
    ovs_mutex_unlock(&stripe->mutex);

    if (round->audit && !known) {
        offload_audit_suspect(offload, ufid, listed);
    }
}

/* Are rules in 'place', of 'port' or of no port, to be listed? */
static bool
is_known(void *round_, uint32_t port, const struct offload_place *place)
{
    struct round *round = round_;

    return (!is_stopped(round)
            && (port == UINT32_MAX
                || offload_ports_is_known(&round->offload->ports, port,
                                          place)));
}

/* Returns when the rule of 'flow' is to be read, in ms: when the user would
 * delete the flow unless it has been used, or when it is its turn, whichever
 * is first. */
static long long int
due_of(const struct round *round, const struct offload_flow *flow)
{
    long long int used = MAX(flow->created,
                             MAX(flow->base.used, flow->tc_seen.used));

    if (offload_flow_in_kernel(flow)) {
        used = MAX(used, flow->kernel_seen.used);
    }
    return MAX(flow->read + round->pace.interval,
               MIN(used + round->max_idle, flow->read + round->fair));
}

/* Records what 'op' has read about the rule of 'flow', whose move clock was
 * 'moved'. */
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
    } else if (op->error == ENOENT && !offload_flow_is_busy(flow)
               && !flow->kernel_claimed) {
        offload_placement_rule_vanished(round->offload, flow);
    }
}

/* Reads the collected flows, and gives up their references. */
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
        if (round->pace.interval && offload_flow_in_tc(flow)) {
            offload_flow_schedule(flow, MAX(due_of(round, flow),
                                            round->start
                                            + round->pace.interval),
                                  round->start);
        }
        offload_flow_unref(flow);
        ovs_mutex_unlock(mutex);
        offload_rule_unref(ops[i].rule);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i].desc));
    }
}

/* Adds 'flow' to the 'n' flows in '*flows', with a reference. */
static void
collect(struct offload_flow ***flows, size_t *n, size_t *allocated,
        struct offload_flow *flow)
{
    if (*n == *allocated) {
        *flows = x2nrealloc(*flows, allocated, sizeof **flows);
    }
    flow->n_refs++;
    (*flows)[(*n)++] = flow;
}

/* Reads the rules of 'flows', and gives up their references and memory. */
static void
read_flows(struct round *round, struct offload_flow **flows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        round->flows[round->n++] = flows[i];
        if (round->n == OFFLOAD_BATCH) {
            read_batch(round);
        }
    }
    free(flows);
}

/* Reads the rules of 'stripe' that were not listed in this round. */
static void
read_stripe(struct round *round, struct offload_stripe *stripe)
{
    struct offload_flow **flows = NULL, *flow;
    size_t n = 0, allocated = 0;

    ovs_mutex_lock(&stripe->mutex);
    HMAP_FOR_EACH (flow, hmap_node, &stripe->flows) {
        if (offload_flow_in_tc(flow)
            && is_later(round->number, flow->round)) {
            collect(&flows, &n, &allocated, flow);
        }
    }
    ovs_mutex_unlock(&stripe->mutex);
    read_flows(round, flows, n);
}

/* Reads the rules of 'stripe' in 'slot' that are due, or with 'ahead' those
 * that were not read within the interval.  Returns false if there are more
 * than the pace allows. */
static bool
read_slot(struct round *round, struct offload_stripe *stripe,
          unsigned int slot, bool ahead)
{
    const unsigned int interval = round->pace.interval;
    struct ovs_list *list = &stripe->due[slot];
    struct ovs_list rest = OVS_LIST_INITIALIZER(&rest);
    struct offload_flow **flows = NULL;
    size_t n = 0, allocated = 0;
    bool all;

    ovs_mutex_lock(&stripe->mutex);
    ovs_list_push_back_all(&rest, list);
    while (!ovs_list_is_empty(&rest)) {
        struct offload_flow *flow = CONTAINER_OF(
            ovs_list_front(&rest), struct offload_flow, due_node);
        long long int due = (!offload_flow_in_table(flow)
                             ? round->start + OFFLOAD_SLOT_MSEC
                             : ahead ? flow->read + interval
                             : due_of(round, flow));

        if (due <= round->start) {
            if (round->n_read >= round->pace.max_reads) {
                break;
            }
            round->n_read++;
            collect(&flows, &n, &allocated, flow);
            due = round->start + interval;
        }
        if (ahead) {
            ovs_list_remove(&flow->due_node);
            ovs_list_push_back(list, &flow->due_node);
        } else {
            offload_flow_schedule(flow, due, round->start);
        }
    }
    all = ovs_list_is_empty(&rest);
    ovs_list_push_back_all(&rest, list);
    ovs_list_push_back_all(list, &rest);
    ovs_mutex_unlock(&stripe->mutex);
    read_flows(round, flows, n);
    return all;
}

/* Does the same in the slot of second 'second' of all stripes.  Returns false
 * if the round is to end. */
static bool
read_second(struct round *round, long long int second, bool ahead)
{
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        if (is_stopped(round)
            || !read_slot(round, &round->offload->table.stripes[i],
                          second % OFFLOAD_N_SLOTS, ahead)) {
            return false;
        }
    }
    return true;
}

static size_t
count_rules(struct offload *offload)
{
    size_t n = 0;

    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        struct offload_stripe *stripe = &offload->table.stripes[i];

        ovs_mutex_lock(&stripe->mutex);
        n += stripe->n_rules;
        ovs_mutex_unlock(&stripe->mutex);
    }
    return n;
}

/* Reads rules by themselves, in the order in which they are due and as many as
 * the pace allows.  Begins where the previous round ended. */
static void
read_due(struct round *round)
{
    const struct offload_reader_pace *pace = &round->pace;
    struct offload *offload = round->offload;
    const long long int now = round->start / OFFLOAD_SLOT_MSEC;
    long long int second = MAX(offload->next_second,
                               now - OFFLOAD_N_SLOTS + 1);

    round->fair = MIN((double) count_rules(offload) * pace->interval
                      / pace->max_reads, INT_MAX);
    while (second <= now && read_second(round, second, false)) {
        second++;
    }
    offload->next_second = MIN(second, now);

    /* Those that have been idle longest come first. */
    while (pace->crowded && second > now && second < now + OFFLOAD_N_SLOTS
           && read_second(round, second, true)) {
        second++;
    }
    read_batch(round);
}

/* Returns the CPU time that the thread has taken, in ns. */
static uint64_t
cpu_nsec(void)
{
    struct timespec ts;

    return (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) ? 0
            : ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec);
}

static void
list_rules(struct round *round, bool exact)
{
    struct offload_backend *backend = &round->offload->backend;
    uint64_t cpu = cpu_nsec();

    quiesce_start(round);
    if (round->audit) {
        backend->list_all(backend->aux, is_known, take_listed, round);
    } else if (backend->list && !is_stopped(round)) {
        backend->list(backend->aux, exact, take_listed, round);
    }
    quiesce_end(round);
    round->audit_nsec = round->audit ? cpu_nsec() - cpu : 0;
}

/* Reads the counters of all rules, and when they were last used, which the
 * reader thread knows for some rules only with the precision of a round.
 * Waits for tc.  Returns the number of the round. */
uint32_t
offload_read_rules(struct offload *offload)
{
    struct round round = {
        .offload = offload,
        .start = time_msec(),
        .clock = offload_table_clock(&offload->table),
    };

    atomic_add_relaxed(&offload->last_round, 1, &round.number);
    round.number++;
    list_rules(&round, true);
    for (size_t i = 0; i < OFFLOAD_STRIPES; i++) {
        read_stripe(&round, &offload->table.stripes[i]);
    }
    read_batch(&round);
    return round.number;
}

static void
run_round(struct round *round, struct offload *offload,
          const struct offload_reader_pace *pace, struct latch *stop)
{
    uint64_t cpu;

    *round = (struct round) {
        .offload = offload,
        .start = time_msec(),
        .clock = offload_table_clock(&offload->table),
        .pace = *pace,
        .stop = stop,
    };
    atomic_read_relaxed(&offload->max_idle, &round->max_idle);
    atomic_add_relaxed(&offload->last_round, 1, &round->number);
    round->number++;
    if (!is_stopped(round)) {
        quiesce_start(round);
        offload_audit_judge(offload);
        quiesce_end(round);
        round->audit = offload_audit_is_due(offload, round->start);
    }
    list_rules(round, false);
    cpu = cpu_nsec();
    read_due(round);
    round->read_nsec = cpu_nsec() - cpu;
}

/* A round of the reader thread, or of a test in its place.  It ends early when
 * 'stop' is set: ending the thread waits for the batch of rules that is being
 * read, or the list in progress, of one place in an audit and of all devices
 * with rules in cards otherwise.  If 'stop' is NULL, the caller may have
 * pointers that RCU guards. */
void
offload_reader_round(struct offload *offload,
                     const struct offload_reader_pace *pace,
                     struct latch *stop)
{
    struct round round;

    run_round(&round, offload, pace, stop);
}

/* After a round: exchanges flows in full cards if that is wanted, and it is
 * time for it at '*next'. */
static void
rebalance(struct offload *offload, long long int *next)
{
    unsigned int interval;

    atomic_read_relaxed(&offload->rebalance_interval, &interval);
    if (interval && time_msec() >= *next) {
        long long int start = time_msec();
        uint64_t cpu = cpu_nsec();

        offload_rebalance_run(offload);
        *next = start + MAX(interval, ((cpu_nsec() - cpu) * REBALANCE_SHARE
                                       / 1000000));
    }
}

/* Returns how much the next round may read, given the measured cost of a
 * rule. */
static struct offload_reader_pace
choose_pace(const struct offload_reader *reader)
{
    const struct offload_kernel *kernel = &reader->offload->kernel;
    uint64_t share = reader->interval * UINT64_C(1000000) / READ_SHARE;

    return (struct offload_reader_pace) {
        .interval = reader->interval,
        .max_reads = MAX(share / reader->read_nsec, OFFLOAD_BATCH),
        .crowded = kernel->is_crowded && kernel->is_crowded(kernel->aux),
    };
}

/* Updates the cost of a rule from 'round', unless that had too few. */
static void
learn_cost(struct offload_reader *reader, const struct round *round)
{
    if (round->n_read >= OFFLOAD_BATCH) {
        uint64_t nsec = round->read_nsec / round->n_read;

        reader->read_nsec = MAX((reader->read_nsec * 3 + nsec) / 4, 1);
    }
}

static void *
reader_main(void *reader_)
{
    struct offload_reader *reader = reader_;
    long long int next = time_msec() + reader->interval;
    long long int next_rebalance = 0;

    while (!latch_is_set(&reader->stop)) {
        if (time_msec() >= next) {
            struct offload_reader_pace pace = choose_pace(reader);
            uint64_t cpu = cpu_nsec();
            struct round round;

            run_round(&round, reader->offload, &pace, &reader->stop);
            cpu = cpu_nsec() - cpu - round.audit_nsec;
            next = round.start + MAX(reader->interval,
                                     cpu * READER_SHARE / 1000000);
            learn_cost(reader, &round);
            offload_audit_postpone(reader->offload,
                                   (round.start + AUDIT_SHARE
                                    * round.audit_nsec / 1000000));
            rebalance(reader->offload, &next_rebalance);
        }
        poll_timer_wait_until(next);
        latch_wait(&reader->stop);
        poll_block();
    }
    return NULL;
}

/* Creates the thread that reads rules every 'read_interval' ms, or none if
 * that is 0. */
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
    reader->read_nsec = READ_NSEC;
    latch_init(&reader->stop);
    offload->reader = reader;
    reader->thread = ovs_thread_create("rule_reader", reader_main, reader);
}

/* Ends the thread, if there is one, after the request in progress. */
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
