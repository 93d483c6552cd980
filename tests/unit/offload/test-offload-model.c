/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine under random operations of several threads, compared with
 * a model.
 *
 * The model of a flow is whether it is installed and how many packets met it.
 * Operators create, change, delete and read flows; senders send packets;
 * dumpers go through all flows; a manager adds and removes ports, turns
 * offload off and on, flushes, changes the number of threads, and makes and
 * deletes the meter that some flows name.  Somebody else deletes rules, and
 * adds rules that no flow has.  Tc is slow and fails by
 * chance.  Between phases the engine is destroyed, and
 * another one finds the rules that are there.  After each step:
 *
 *   O1  A packet to an installed flow finds it, unless its port is gone.
 *   O2  A delete reports exactly the packets sent.  A get or a dump reports no
 *       fewer than were sent before and no more than were sent after, and
 *       never fewer than before.  A dump shows no flow twice, and shows each
 *       that was installed all the time.
 *   O3  At the end each flow whose parent is in tc is in tc, with its latest
 *       content.
 *   O4  A put of a new flow ends while tc is held up (see test-offload.c).
 *   O5  After a port was removed, offload disabled or everything flushed, tc
 *       has no rule that it must not have.
 *   O6  Each request has one outcome (unit_offload_uninit()).
 *   O9  Rules that no flow has go, and no others; flows whose rules somebody
 *       has deleted get places again.
 *   O8  Another engine takes no flow over that has to do with chains, leaves
 *       their rules alone as long as it is told to, and takes over all
 *       others that are in tc. */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "harness/prng.h"
#include "hash.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "harness/unit.h"
#include "harness/wait.h"
#include "harness/watchdog.h"
#include "unit/offload/model.h"
#include "util.h"

/* Flows: parents, then children of the chains of the parents, then others, of
 * which each fourth one names a meter. */
#define N_PARENTS 8
#define N_CHILDREN 16
#define N_FLOWS 48
#define N_ORPHANS 8             /* Numbers after these, of rules of no flow. */
#define N_PORTS 6

#define N_OPERATORS 2
#define N_SENDERS 2
#define N_STEPS 4000            /* Of each operator in a phase. */
#define MAX_PHASES 30           /* Until each outcome has occurred. */
#define MAX_BATCH 8

static struct model models[N_FLOWS + N_ORPHANS];
static struct unit_offload unit;
static atomic_bool stop;
static atomic_bool failing;
static char by_user;            /* Cookie of the operations of operators. */

static uint32_t
port_of(uint32_t flow)
{
    return 1 + flow % N_PORTS;
}

/* Is the meter there?  Tc refuses flows that name it otherwise. */
static atomic_bool meter_there;

static bool
is_of_chain(uint32_t flow)
{
    return flow < N_PARENTS + N_CHILDREN;
}

static bool
names_meter(uint32_t flow)
{
    return !is_of_chain(flow) && flow % 4 == 3;
}

static struct offload_desc *
make_desc(uint32_t flow)
{
    uint32_t kind = unit_random(3);

    if (flow < N_PARENTS) {
        return unit_desc_full(flow, port_of(flow), 0, 100 + flow, kind);
    } else if (flow < N_PARENTS + N_CHILDREN) {
        return unit_desc_full(flow, port_of(flow), 100 + flow % N_PARENTS, 0,
                              kind);
    } else {
        return unit_desc_to(flow, port_of(flow), kind + 3 * names_meter(flow),
                            1 + unit_random(N_PORTS), names_meter(flow));
    }
}

/* Of each port: odd from when it begins to go until it is there again and its
 * flows have places. */
static atomic_uint64_t port_changes[N_PORTS + 1];

static uint64_t
port_change(uint32_t flow)
{
    uint64_t n;

    atomic_read(&port_changes[port_of(flow)], &n);
    return n;
}

static void
port_changed(uint32_t port)
{
    uint64_t orig;

    atomic_add(&port_changes[port], 1, &orig);
}

/* Any thread of the engine asks, with the lock of the fake, so that there is
 * one stream for all: 'n_calls_' is where it is. */
static uint32_t
chance(void *n_calls_, uint32_t n)
{
    uint32_t *n_calls = n_calls_;

    return hash_int(++*n_calls, unit_seed()) % n;
}

/* Makes operations fail by chance.  A deletion from the kernel by the engine
 * fails once at most, so that it does not give up; one from tc several times,
 * so that there are pauses, but not so often that it is stuck. */
static int
fail_by_chance(void *n_calls, bool tc, const struct offload_copy_op *op)
{
    static const int errors[] = { EOPNOTSUPP, ENOSPC, ENODEV, EEXIST, EINVAL };
    struct model *model = &models[op->ufid.u64.lo];
    const unsigned int max_failures = tc ? 5 : 1;
    bool on, there;

    atomic_read_relaxed(&failing, &on);
    atomic_read(&meter_there, &there);
    if (tc && op->type == OFFLOAD_COPY_PUT && op->desc->has_meter && !there) {
        return EOPNOTSUPP;
    }
    if (op->type == OFFLOAD_COPY_GET) {
        return 0;
    }
    if (op->type == OFFLOAD_COPY_PUT) {
        if (!on || chance(n_calls, 10)) {
            return 0;
        }
        return (tc ? errors[chance(n_calls, ARRAY_SIZE(errors))]
                : op->cookie ? ENOMEM : 0);
    }
    if (on && !op->cookie && model->n_failed[tc] < max_failures
        && !chance(n_calls, model->n_failed[tc] ? 2 : 10)) {
        model->n_failed[tc]++;
        return EBUSY;
    }
    model->n_failed[tc] = 0;
    return 0;
}

/* With the lock for writing: creates the flow, or deletes it. */
static void
create_or_delete(struct model *model)
{
    uint32_t flow = model - models;
    struct offload_op op = { .cookie = &by_user };
    struct offload_op *ops[] = { &op };

    if (model->installed) {
        op.type = OFFLOAD_DEL;
        op.ufid = unit_ufid(flow);
        offload_operate(unit.offload, ops, 1);
        unit_check(!op.error);
        model_check_final(model, &op.stats);
        unit_check(!(unit_where(&unit, flow)));
        model_deleted(model);
    } else {
        op.type = OFFLOAD_PUT;
        op.flags = OFFLOAD_PUT_CREATE;
        op.desc = make_desc(flow);
        offload_operate(unit.offload, ops, 1);
        unit_check(!op.error || op.error == ENOMEM);
        if (op.error) {
            offload_desc_unref(op.desc);
        } else {
            model_created(model, op.desc);
        }
    }
}

/* With the lock for reading: reads the flow, or changes it. */
static void
get_or_modify(struct model *model)
{
    uint32_t flow = model - models;
    struct offload_op op = { .want_stats = true, .cookie = &by_user };
    struct offload_op *ops[] = { &op };
    struct bounds bounds = bounds_begin(model);

    if (!model->installed) {
        unit_check(unit_get(&unit, flow, NULL, NULL) == ENOENT);
        return;
    }
    if (unit_random(2)) {
        op.type = OFFLOAD_GET;
        op.ufid = unit_ufid(flow);
        offload_operate(unit.offload, ops, 1);
        unit_check(!op.error && op.tracked);
        offload_desc_unref(op.result);
    } else {
        op.type = OFFLOAD_PUT;
        op.flags = OFFLOAD_PUT_MODIFY;
        op.desc = make_desc(flow);

        /* So that the model knows which of two is the latest. */
        pthread_mutex_lock(&model->change);
        offload_operate(unit.offload, ops, 1);
        if (op.error) {
            unit_check(op.error == ENOMEM);
            offload_desc_unref(op.desc);
        } else {
            offload_desc_unref(model->desc);
            model->desc = op.desc;
        }
        pthread_mutex_unlock(&model->change);
    }
    if (!op.error) {
        bounds_end(model, &bounds, op.stats.n_packets);
    }
}

static int
compare_numbers(const void *a, const void *b)
{
    return *(const uint32_t *) a - *(const uint32_t *) b;
}

/* Deletes several flows, or creates those that there are not, at once. */
static void
batch(void)
{
    uint32_t chosen[MAX_BATCH], n = 0, n_ops = 0;
    struct offload_op ops_[MAX_BATCH], *ops[MAX_BATCH];

    /* Sorted, so that nobody waits for each other's locks. */
    for (size_t i = 0; i < MAX_BATCH; i++) {
        chosen[n++] = unit_random(N_FLOWS);
    }
    qsort(chosen, n, sizeof *chosen, compare_numbers);
    for (size_t i = 0; i < n; i++) {
        struct model *model = &models[chosen[i]];

        if (i && chosen[i] == chosen[i - 1]) {
            continue;
        }
        pthread_rwlock_wrlock(&model->rwlock);
        chosen[n_ops] = chosen[i];
        ops_[n_ops] = (struct offload_op) {
            .type = model->installed ? OFFLOAD_DEL : OFFLOAD_PUT,
            .flags = OFFLOAD_PUT_CREATE,
            .ufid = unit_ufid(chosen[i]),
            .cookie = &by_user,
        };
        if (!model->installed) {
            ops_[n_ops].desc = make_desc(chosen[i]);
        }
        ops[n_ops] = &ops_[n_ops];
        n_ops++;
    }
    offload_operate(unit.offload, ops, n_ops);
    for (size_t i = 0; i < n_ops; i++) {
        struct model *model = &models[chosen[i]];

        if (ops[i]->type == OFFLOAD_DEL) {
            unit_check(!ops[i]->error);
            model_check_final(model, &ops[i]->stats);
            model_deleted(model);
        } else if (!ops[i]->error) {
            model_created(model, ops[i]->desc);
        } else {
            unit_check(ops[i]->error == ENOMEM);
            offload_desc_unref(ops[i]->desc);
        }
        pthread_rwlock_unlock(&model->rwlock);
    }
}

static void *
operator_main(void *stream)
{
    unit_random_stream(*(uint32_t *) stream);
    for (int i = 0; i < N_STEPS; i++) {
        struct model *model = &models[unit_random(N_FLOWS)];
        uint32_t what = unit_random(20);

        if (!what) {
            batch();
        } else if (what < 5) {
            pthread_rwlock_wrlock(&model->rwlock);
            create_or_delete(model);
            pthread_rwlock_unlock(&model->rwlock);
        } else {
            pthread_rwlock_rdlock(&model->rwlock);
            get_or_modify(model);
            pthread_rwlock_unlock(&model->rwlock);
        }
    }
    return NULL;
}

static bool
is_stopped(void)
{
    bool stopped;

    atomic_read_relaxed(&stop, &stopped);
    return stopped;
}

static void *
sender_main(void *stream)
{
    unit_random_stream(*(uint32_t *) stream);
    while (!is_stopped()) {
        struct model *model = &models[unit_random(N_FLOWS)];
        uint64_t orig;

        pthread_rwlock_rdlock(&model->rwlock);
        for (int i = 0; model->installed && i < 20; i++) {
            uint64_t change = port_change(model->flow);

            atomic_add(&model->begun, 1, &orig);
            if (unit_packets(&unit, model->flow, 1)) {
                atomic_add(&model->sent, 1, &orig);
            } else if (!(change % 2) && port_change(model->flow) == change) {
                unit_die("flow %"PRIu32" is nowhere", model->flow);
            }
        }
        pthread_rwlock_unlock(&model->rwlock);
        if (!unit_random(8)) {
            unit_sleep_us(50);
        }
    }
    return NULL;
}

/* All flows at one time. */
struct snapshot {
    uint32_t epochs[N_FLOWS];
    bool installed[N_FLOWS];
};

static void
take_snapshot(struct snapshot *snapshot)
{
    for (size_t i = 0; i < N_FLOWS; i++) {
        pthread_rwlock_rdlock(&models[i].rwlock);
        snapshot->epochs[i] = models[i].epoch;
        snapshot->installed[i] = models[i].installed;
        pthread_rwlock_unlock(&models[i].rwlock);
    }
}

/* Of an engine with a thread that is always reading. */
static struct offload_config engine_config;

static void *
dumper_main(void *stream OVS_UNUSED)
{
    for (bool lax = false; !is_stopped(); lax = !lax) {
        unsigned int seen[N_FLOWS] = { 0 };
        struct snapshot before, after;

        take_snapshot(&before);
        if (lax) {
            unit_dump_lax(&unit, seen, N_FLOWS);
        } else {
            unit_dump(&unit, seen, N_FLOWS);
        }
        take_snapshot(&after);
        for (size_t i = 0; i < N_FLOWS; i++) {
            bool same = before.epochs[i] == after.epochs[i];

            if (same && seen[i] != before.installed[i]) {
                unit_die("flow %"PRIuSIZE" was%s there all the time and was "
                         "shown %u times", i,
                         before.installed[i] ? "" : " not", seen[i]);
            }
        }
        unit_sleep_us(500);
    }
    return NULL;
}

/* O5 for one port, or for all if it is 0. */
static void
check_no_rules(uint32_t port)
{
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        if (!port || port_of(i) == port) {
            unit_check(!(unit_where(&unit, i) & OFFLOAD_FAKE_TC));
        }
    }
}

static void
flush_all(void)
{
    for (size_t i = 0; i < N_FLOWS; i++) {
        pthread_rwlock_wrlock(&models[i].rwlock);
    }
    unit_check(!offload_flush(unit.offload));
    unit_check(!offload_fake_count(unit.fake, false));
    unit_settle(&unit);
    unit_check(!offload_fake_count(unit.fake, true));
    for (size_t i = 0; i < N_FLOWS; i++) {
        if (models[i].installed) {
            model_deleted(&models[i]);
        }
        pthread_rwlock_unlock(&models[i].rwlock);
    }
}

/* Somebody else adds rules of ours, on a port or where no port is, and waits
 * until the engine has deleted them. */
static void
add_orphans(void)
{
    for (uint32_t i = N_FLOWS; i < N_FLOWS + N_ORPHANS; i++) {
        struct offload_desc *desc = unit_desc(i, (unit_random(2)
                                                  ? port_of(i)
                                                  : OFFLOAD_FAKE_NO_PORT));

        offload_fake_add(unit.fake, true, desc);
        offload_desc_unref(desc);
    }
    for (uint32_t i = N_FLOWS; i < N_FLOWS + N_ORPHANS; i++) {
        unit_wait_until(!unit_where(&unit, i));
    }
}

/* Somebody else deletes the rule of a flow, if it has one, after a user has
 * learnt what it counted, and before another packet comes.  A thread that is
 * at the flow may delete the copy in the kernel then, and does not know
 * better.  The next thread that reads the flow finds out, and then the flow
 * has a place again. */
static void
remove_rule(struct model *model)
{
    const ovs_u128 ufid = unit_ufid(model->flow);

    pthread_rwlock_wrlock(&model->rwlock);
    if (model->installed) {
        uint64_t n, sent;

        unit_check(!unit_get(&unit, model->flow, &n, NULL));
        atomic_read(&model->sent, &sent);
        unit_check(n == sent);
        offload_fake_remove(unit.fake, true, &ufid);
        unit_settle(&unit);
        unit_check(!unit_get(&unit, model->flow, NULL, NULL));
        unit_settle(&unit);
        unit_check(unit_where(&unit, model->flow));
    }
    pthread_rwlock_unlock(&model->rwlock);
}

static void *
manager_main(void *stream)
{
    unit_random_stream(*(uint32_t *) stream);
    while (!is_stopped()) {
        struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
        uint32_t port = 1 + unit_random(N_PORTS);

        switch (unit_random(20)) {
        case 18:
            add_orphans();
            break;

        case 19:
            remove_rule(&models[unit_random(N_FLOWS)]);
            break;

        case 16:
            atomic_store(&meter_there, true);
            offload_meters_changed(unit.offload);
            break;

        case 17:
            atomic_store(&meter_there, false);
            break;

        case 0:
        case 1:
            port_changed(port);
            offload_port_del(unit.offload, port);
            if (unit_random(2)) {
                unit_settle(&unit);
                check_no_rules(port);
            }
            offload_port_add(unit.offload, port);
            unit_settle(&unit);
            port_changed(port);
            break;

        case 2:
            offload_set_enabled(unit.offload, false);
            if (unit_random(2)) {
                unit_settle(&unit);
                check_no_rules(0);
            }
            offload_set_enabled(unit.offload, true);
            break;

        case 3:
            flush_all();
            break;

        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
            offload_port_changed(unit.offload, port);
            break;

        default:
            config.n_threads = 1 + unit_random(OFFLOAD_MAX_THREADS);
            config.max_queued = 1 + unit_random(20);
            config.backoff = 1;
            config.rebalance_interval = unit_random(2);
            offload_configure(unit.offload, &config);
            break;

        case 10:
            /* A card, which has taken rules that it has no room for any more,
             * or has room again. */
            offload_fake_set_card(unit.fake, unit_random(N_FLOWS), false);
            break;

        case 11:
            offload_read_rules(unit.offload);
            break;
        }
        unit_sleep_us(500);
    }
    return NULL;
}

/* At rest, and with nothing that fails: everything is in tc that can be. */
static void
check_at_rest(void)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;

    atomic_store_relaxed(&failing, false);
    offload_fake_set_delay(unit.fake, 0, 0);
    offload_fake_set_card(unit.fake, 0, false);

    /* What was failing when that ended is rejected before the ports change,
     * which lets it be offered again. */
    unit_settle(&unit);
    offload_configure(unit.offload, &config);
    for (uint32_t i = 1; i <= N_PORTS; i++) {
        offload_port_changed(unit.offload, i);
    }
    atomic_store(&meter_there, true);
    offload_meters_changed(unit.offload);

    /* Offers what was rejected, parents first or not. */
    for (int i = 0; i < 3; i++) {
        unit_dump(&unit, NULL, 0);
        offload_barrier(unit.offload);
    }
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        struct model *model = &models[i];
        bool child = i >= N_PARENTS && i < N_PARENTS + N_CHILDREN;
        unsigned int expected = (!model->installed ? 0
                                 : !child ? OFFLOAD_FAKE_TC
                                 : OFFLOAD_FAKE_KERNEL
                                 | (models[i % N_PARENTS].installed
                                    ? OFFLOAD_FAKE_TC : 0));
        unsigned int where = unit_where(&unit, i);
        struct offload_desc *rule;
        ovs_u128 ufid = unit_ufid(i);

        /* A child may have been offered while its parent was there. */
        if (where != expected
            && !(child && model->installed && where == (OFFLOAD_FAKE_KERNEL
                                                        | OFFLOAD_FAKE_TC))) {
            unit_die("flow %"PRIu32" is in %u, should be in %u (state %s)", i,
                     where, expected,
                     model->installed ? offload_state_to_string(
                         unit_state(&unit, i)) : "-");
        }
        rule = offload_fake_rule(unit.fake, &ufid);
        unit_check(!rule || rule == model->desc);
        offload_desc_unref(rule);
    }
}

/* At rest, when all flows are in tc that can be: the daemon starts again, with
 * a kernel that it has flushed.  If 'keep', rules of chains forward for a
 * while. */
static void
restart(bool keep)
{
    struct offload_kernel kernel = offload_fake_kernel(unit.fake);
    struct offload_backend backend = offload_fake_backend(unit.fake);
    uint64_t n_adopted = 0;
    size_t n_rules;

    offload_destroy(unit.offload);
    unit_check(!kernel.flush(kernel.aux));
    unit.offload = offload_create(&kernel, &backend, &engine_config);
    offload_keep_chains(unit.offload, keep);
    n_rules = offload_fake_count(unit.fake, true);
    for (uint32_t i = 1; i <= N_PORTS; i++) {
        offload_port_add(unit.offload, i);
    }
    unit_settle(&unit);
    if (keep) {
        unit_check(offload_fake_count(unit.fake, true) == n_rules);
        offload_keep_chains(unit.offload, false);
        unit_settle(&unit);
    }
    unit_check(!offload_fake_count(unit.fake, false));
    for (uint32_t i = 0; i < N_FLOWS; i++) {
        struct model *model = &models[i];

        if (model->installed && !is_of_chain(i)) {
            unit_check(unit_where(&unit, i) == OFFLOAD_FAKE_TC);
            unit_check(unit_state(&unit, i) == OFFLOAD_STATE_IN_TC);
            n_adopted++;

            /* What the rule had counted is no matter of this run. */
            atomic_store(&model->begun, 0);
            atomic_store(&model->sent, 0);
            atomic_store(&model->reported, 0);
        } else {
            unit_check(!unit_where(&unit, i));
            if (model->installed) {
                model_deleted(model);
            }
        }
    }
    unit_check(unit_counter(&unit, OFFLOAD_ADOPTED) == n_adopted);
}

static void
run_phase(unsigned int max_delay, uint32_t first_stream)
{
    enum { N_OTHERS = N_SENDERS + 2 };
    pthread_t operators[N_OPERATORS], others[N_OTHERS];
    uint32_t streams[N_OPERATORS + N_OTHERS];

    for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
        streams[i] = first_stream + i;
    }
    offload_fake_set_delay(unit.fake, 0, max_delay);
    atomic_store_relaxed(&stop, false);
    atomic_store_relaxed(&failing, true);
    for (size_t i = 1; i < N_OTHERS; i++) {
        others[i] = ovs_thread_create(
            "other", i == 1 ? dumper_main : sender_main,
            &streams[N_OPERATORS + i]);
    }
    for (size_t i = 0; i < N_OPERATORS; i++) {
        operators[i] = ovs_thread_create("operator", operator_main,
                                         &streams[i]);
    }
    /* It makes threads, which only one thread may do at a time. */
    others[0] = ovs_thread_create("other", manager_main,
                                  &streams[N_OPERATORS]);
    for (size_t i = 0; i < N_OPERATORS; i++) {
        xpthread_join(operators[i], NULL);
    }
    atomic_store_relaxed(&stop, true);
    for (size_t i = 0; i < N_OTHERS; i++) {
        xpthread_join(others[i], NULL);
    }
    check_at_rest();
}

/* What has occurred in all phases. */
static bool occurred[OFFLOAD_N_COUNTERS];

/* What cannot: no deletion fails for long, no two flows have the same key, and
 * the kernel takes what goes back. */
static bool
may_occur(enum offload_counter counter)
{
    return (counter != OFFLOAD_LEAKED && counter != OFFLOAD_OVERLAPPED
            && counter != OFFLOAD_LOST);
}

/* Has each outcome of a request, and whatever else is counted, occurred? */
static bool
everything_occurred(void)
{
    bool all = true;

    for (enum offload_counter i = 0; i < OFFLOAD_N_COUNTERS; i++) {
        occurred[i] = occurred[i] || unit_counter(&unit, i);
        all = all && (occurred[i] || !may_occur(i));
    }
    return all;
}

static void
engine_agrees_with_the_model(void **state OVS_UNUSED)
{
    static const unsigned int delays[] = { 0, 50, 500 };
    uint32_t n_failures = 0;

    for (size_t i = 0; i < N_FLOWS; i++) {
        model_init(&models[i], i);
    }
    engine_config = (struct offload_config) OFFLOAD_CONFIG_DEFAULT;
    engine_config.read_interval = 1;
    engine_config.audit_interval = 1;
    unit_offload_init(&unit, &engine_config, N_PORTS);
    offload_fake_set_fail(unit.fake, fail_by_chance, &n_failures);
    atomic_init(&meter_there, true);
    for (size_t i = 0; i < ARRAY_SIZE(delays)
         || (i < MAX_PHASES && !everything_occurred()); i++) {
        unit_watchdog_progress();
        if (i) {
            restart(i % 2);
        }
        run_phase(delays[i % ARRAY_SIZE(delays)], 100 * (i + 1));
        everything_occurred();
    }
    assert_true(everything_occurred());
    unit_offload_uninit(&unit);
    for (size_t i = 0; i < N_FLOWS; i++) {
        model_uninit(&models[i]);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine_agrees_with_the_model),
    };

    unit_init("test-offload-model");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-model", tests, NULL, NULL);
}
