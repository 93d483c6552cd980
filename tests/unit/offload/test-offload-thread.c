/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: what a thread does first, and what becomes of its work
 * when it ends.
 *
 *   O3  deletes_and_changes_overtake_offers, thread_that_goes_hands_over
 *   O5  rules_that_are_to_go_do_so_before_the_engine_ends
 *   O6  threads_come_and_go, and each test at its end
 *   O7  old_rules_wait_for_the_next_run
 *
 * The order of operations is noted where they are carried out, and a thread is
 * held up until it has been asked for something, so that nothing depends on
 * how fast threads are. */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ovs-thread.h"
#include "harness/unit.h"
#include "offload/offload-engine.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

/* Flows from this one on are only offered. */
#define FIRST_OFFER 100

/* What was done, noted with the lock of the fake. */
struct journal {
    unsigned int n_offers;      /* That tc took. */

    /* The first change of each other flow. */
    struct {
        bool made;
        bool tc;
        unsigned int n_offers;  /* Before it. */
    } first[FIRST_OFFER];

    /* Threads that took offers to tc. */
    pthread_t threads[2];
    unsigned int n_by_thread[2];
    size_t n_threads;
};

static void
note_offer(struct journal *journal)
{
    size_t i;

    for (i = 0; i < journal->n_threads; i++) {
        if (pthread_equal(journal->threads[i], pthread_self())) {
            break;
        }
    }
    unit_check(i < ARRAY_SIZE(journal->threads));
    journal->threads[i] = pthread_self();
    journal->n_by_thread[i]++;
    journal->n_threads = MAX(journal->n_threads, i + 1);
    journal->n_offers++;
}

static int
note_operation(void *journal_, bool tc, const struct offload_copy_op *op)
{
    struct journal *journal = journal_;
    uint64_t flow = op->ufid.u64.lo;

    if (op->type == OFFLOAD_COPY_GET) {
        return 0;
    }
    if (flow >= FIRST_OFFER) {
        if (tc && op->type == OFFLOAD_COPY_PUT) {
            note_offer(journal);
        }
    } else if (!journal->first[flow].made) {
        journal->first[flow].made = true;
        journal->first[flow].tc = tc;
        journal->first[flow].n_offers = journal->n_offers;
    }
    return 0;
}

/* Lets go what is held up as soon as the calling thread waits for another one
 * to end, which it has told to. */
static struct offload_fake *held_until_join;

int __wrap_pthread_join(pthread_t, void **);
int __real_pthread_join(pthread_t, void **);
int
__wrap_pthread_join(pthread_t thread, void **retval)
{
    if (held_until_join) {
        offload_fake_release(held_until_join);
        held_until_join = NULL;
    }
    return __real_pthread_join(thread, retval);
}

/* Offers 'n' flows of 'port' while the thread that gets them is held up at the
 * first batch. */
static void
offer_held(struct unit_offload *unit, uint32_t n, uint32_t port)
{
    offload_fake_hold(unit->fake);
    for (uint32_t i = 0; i < n; i++) {
        unit_put(unit, unit_desc(FIRST_OFFER + i, port), CREATE);
    }
    offload_fake_wait_held(unit->fake, 1);
}

struct deleter {
    struct unit_offload *unit;
    uint32_t flow;
    int error;
    pthread_t thread;
};

static void *
delete_main(void *deleter_)
{
    struct deleter *deleter = deleter_;

    deleter->error = unit_del(deleter->unit, deleter->flow, NULL);
    return NULL;
}

/* Has a thread delete 'flow', and waits until it has asked for that. */
static void
deleter_start(struct deleter *deleter, struct unit_offload *unit,
              uint32_t flow)
{
    deleter->unit = unit;
    deleter->flow = flow;
    deleter->thread = ovs_thread_create("delete", delete_main, deleter);
    unit_wait_until(unit_get(unit, flow, NULL, NULL) == ENOENT);
}

static void
deletes_and_changes_overtake_offers(void **state OVS_UNUSED)
{
    enum { N = 1000 };
    struct journal journal = { .n_offers = 0 };
    struct deleter deleters[2];
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(2);
    struct offload_desc *desc, *rule;

    unit_offload_init(&unit, NULL, 2);
    for (uint32_t i = 1; i <= 3; i++) {
        unit_put(&unit, unit_desc(i, i == 3 ? 2 : 1), CREATE);
    }
    offload_barrier(unit.offload);
    offer_held(&unit, N, 1);
    offload_fake_set_fail(unit.fake, note_operation, &journal);
    desc = unit_desc(2, 1);
    unit_put(&unit, offload_desc_ref(desc), MODIFY);
    offload_port_del(unit.offload, 2);
    deleter_start(&deleters[0], &unit, 1);
    deleter_start(&deleters[1], &unit, 3);
    offload_fake_release(unit.fake);
    for (size_t i = 0; i < ARRAY_SIZE(deleters); i++) {
        xpthread_join(deleters[i].thread, NULL);
        assert_int_equal(deleters[i].error, 0);
    }
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_where(&unit, 3), 0);
    rule = offload_fake_rule(unit.fake, &ufid);
    assert_ptr_equal(rule, desc);

    /* The thread was at one batch when it was asked. */
    offload_barrier(unit.offload);
    assert_int_equal(journal.n_offers, N);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_true(journal.first[i].made);
        assert_true(journal.first[i].n_offers <= OFFLOAD_BATCH);
    }
    offload_desc_unref(rule);
    offload_desc_unref(desc);
    unit_offload_uninit(&unit);
}

static void
flow_whose_rule_vanished_overtakes_offers(void **state OVS_UNUSED)
{
    enum { N = 1000 };
    struct journal journal = { .n_offers = 0 };
    struct unit_offload unit;
    ovs_u128 ufid = unit_ufid(1);

    unit_offload_init(&unit, NULL, 2);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    offer_held(&unit, N, 1);
    offload_fake_remove(unit.fake, true, &ufid);
    assert_int_equal(unit_get(&unit, 1, NULL, NULL), 0);
    assert_int_equal(unit_where(&unit, 1), 0);
    offload_fake_set_fail(unit.fake, note_operation, &journal);
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), KERNEL);
    assert_int_equal(journal.n_offers, N);
    assert_true(journal.first[1].made);
    assert_false(journal.first[1].tc);
    assert_true(journal.first[1].n_offers <= OFFLOAD_BATCH);
    unit_offload_uninit(&unit);
}

static void
threads_come_and_go(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    struct offload_engine_info info;

    config.n_threads = 10;
    unit_offload_init(&unit, &config, 50);
    for (uint32_t i = 0; i < 500; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 50), CREATE);
        if (i % 100 == 50) {
            config.n_threads = 1 + (config.n_threads + 6) % 10;
            offload_configure(unit.offload, &config);
        }
    }
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), 500);
    offload_get_info(unit.offload, &info);
    assert_int_equal(info.n_threads, 10);
    assert_int_equal(info.total.counters[OFFLOAD_INSERTED], 500);
    assert_int_equal(info.total.cumulative.n, 500);
    unit_offload_uninit(&unit);
}

static void
thread_that_goes_hands_over(void **state OVS_UNUSED)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;
    struct unit_offload unit;
    struct offload_engine_info info;
    struct journal journal = { .n_offers = 0 };
    enum { N = 300 };
    uint32_t port;

    config.n_threads = 2;
    unit_offload_init(&unit, &config, 8);

    /* A port of the second thread. */
    for (port = 1; ; port++) {
        unit_put(&unit, unit_desc(port, port), CREATE);
        offload_barrier(unit.offload);
        offload_get_info(unit.offload, &info);
        if (info.threads[1].counters[OFFLOAD_INSERTED]) {
            break;
        }
    }
    offer_held(&unit, N, port);
    offload_fake_set_fail(unit.fake, note_operation, &journal);
    held_until_join = unit.fake;
    config.n_threads = 1;
    offload_configure(unit.offload, &config);
    assert_null(held_until_join);
    offload_get_info(unit.offload, &info);
    assert_false(info.threads[1].running);

    /* It finished its batch, and the other thread did the rest. */
    offload_barrier(unit.offload);
    assert_int_equal(offload_fake_count(unit.fake, true), N + port);
    assert_int_equal(journal.n_threads, 2);
    assert_true(journal.n_by_thread[0] <= OFFLOAD_BATCH);
    assert_int_equal(journal.n_offers, N);
    unit_offload_uninit(&unit);
}

static void
destroy_drops_offers_and_does_the_rest(void **state OVS_UNUSED)
{
    enum { N = 10, N_OFFERS = 2000 };
    struct offload_desc *changed[N];
    struct unit_offload unit;
    ovs_u128 vanished = unit_ufid(N);
    size_t n_tc;

    unit_offload_init(&unit, NULL, 1);
    for (uint32_t i = 0; i <= N; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    unit_put(&unit, unit_desc_full(N + 1, 1, 1, 0, 0), CREATE);
    offload_barrier(unit.offload);
    offer_held(&unit, N_OFFERS, 1);
    for (uint32_t i = 0; i < N; i++) {
        changed[i] = unit_desc(i, 1);
        unit_put(&unit, offload_desc_ref(changed[i]), MODIFY);
    }
    offload_fake_remove(unit.fake, true, &vanished);
    unit_get(&unit, N, NULL, NULL);
    held_until_join = unit.fake;
    offload_destroy(unit.offload);
    assert_null(held_until_join);

    /* The thread was at a batch. */
    n_tc = offload_fake_count(unit.fake, true);
    assert_in_range(n_tc, N + 1, N + OFFLOAD_BATCH);
    assert_int_equal(offload_fake_count(unit.fake, false),
                     N_OFFERS + 2 - (n_tc - N));
    for (uint32_t i = 0; i < N; i++) {
        struct offload_desc *rule = offload_fake_rule(unit.fake,
                                                      &changed[i]->ufid);

        assert_ptr_equal(rule, changed[i]);
        assert_int_equal(unit_where(&unit, i), TC);
        offload_desc_unref(rule);
        offload_desc_unref(changed[i]);
    }
    assert_int_equal(unit_where(&unit, N), KERNEL);
    assert_int_equal(unit_where(&unit, N + 1), KERNEL);
    offload_fake_destroy(unit.fake);
    offload_destroy(NULL);
    offload_fake_destroy(NULL);
}

/* Counts the reads of flows in the kernel. */
static int
count_gets(void *n, bool tc, const struct offload_copy_op *op)
{
    *(unsigned int *) n += !tc && op->type == OFFLOAD_COPY_GET;
    return 0;
}

static unsigned int n_lists;

static int
list_nothing(void *aux OVS_UNUSED, uint32_t port OVS_UNUSED,
             const struct offload_place *place OVS_UNUSED,
             bool describe OVS_UNUSED, offload_dump_cb *cb OVS_UNUSED,
             void *cb_aux OVS_UNUSED)
{
    n_lists++;
    return 0;
}

enum { N_OLD = 10 };

/* Makes '*unit' an engine whose thread is held up before it looks at the rules
 * that a previous run left on port 2. */
static void
init_with_old_rules(struct unit_offload *unit)
{
    unit_offload_init(unit, NULL, 1);
    for (uint32_t i = 1; i <= N_OLD; i++) {
        struct offload_desc *desc = unit_desc(i, 2);

        offload_fake_add(unit->fake, true, desc);
        offload_desc_unref(desc);
    }
    offload_fake_hold(unit->fake);
    unit_put(unit, unit_desc(FIRST_OFFER, 1), CREATE);
    offload_fake_wait_held(unit->fake, 1);
    offload_port_add(unit->offload, 2);
}

static void
destroy_held(struct unit_offload *unit)
{
    held_until_join = unit->fake;
    offload_destroy(unit->offload);
    assert_null(held_until_join);
}

/* A thread that destroys the engine should not wait for flows that nobody
 * uses. */
static void
old_rules_wait_for_the_next_run(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    unsigned int n_gets = 0;

    init_with_old_rules(&unit);
    unit.offload->backend.dump = list_nothing;
    n_lists = 0;
    offload_fake_set_fail(unit.fake, count_gets, &n_gets);
    destroy_held(&unit);
    assert_int_equal(n_lists, 0);
    assert_int_equal(n_gets, 0);
    assert_int_equal(offload_fake_count(unit.fake, true), N_OLD + 1);
    offload_fake_destroy(unit.fake);
}

/* Everything is to leave tc, or the port was deleted. */
static void
rules_that_are_to_go_do_so_before_the_engine_ends(void **state OVS_UNUSED)
{
    for (int i = 0; i < 3; i++) {
        struct unit_offload unit;

        init_with_old_rules(&unit);
        if (i == 0) {
            offload_set_enabled(unit.offload, false);
        } else if (i == 1) {
            assert_int_equal(offload_flush(unit.offload), 0);
        } else {
            offload_port_del(unit.offload, 2);
        }
        destroy_held(&unit);
        assert_int_equal(offload_fake_count(unit.fake, true), i == 2);
        offload_fake_destroy(unit.fake);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(deletes_and_changes_overtake_offers),
        cmocka_unit_test(flow_whose_rule_vanished_overtakes_offers),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(thread_that_goes_hands_over),
        cmocka_unit_test(destroy_drops_offers_and_does_the_rest),
        cmocka_unit_test(old_rules_wait_for_the_next_run),
        cmocka_unit_test(rules_that_are_to_go_do_so_before_the_engine_ends),
    };

    unit_init("test-offload-thread");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-thread", tests, NULL, NULL);
}
