/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of a datapath with offload by several threads, while flows move: each
 * flow once (O1, O2). */

#include <config.h>
#include "unit/dpif-netlink/flow-dump-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fake/tc-fake.h"
#include "harness/prng.h"
#include "harness/unit.h"
#include "openvswitch/thread.h"
#include "util.h"

/* With others. */

#define N_DUMPERS 3
#define N_DUMPS 200

/* Flows that are changed, so that they move, and have to be seen by each dump
 * of all; the others come and go. */
#define N_STABLE 120

struct race {
    struct unit_dpif *u;
    struct dpif_flow_dump *dump;
    int max_flows;
    struct dump_seen seen[N_DUMPERS];
    unsigned int next_dumper;
    struct ovs_mutex mutex;
    atomic_bool stop;
    atomic_count n_changes;
};

static void *
dumper(void *race_)
{
    struct race *race = race_;
    unsigned int i;

    ovs_mutex_lock(&race->mutex);
    i = race->next_dumper++;
    ovs_mutex_unlock(&race->mutex);
    dump_walk(race->dump, race->max_flows, &race->seen[i]);
    return NULL;
}

/* Changes flows, so that they move back and forth. */
static void *
changer(void *race_)
{
    struct race *race = race_;
    bool stop = false;

    unit_random_stream(1);
    while (!stop) {
        uint32_t flow = unit_random(N_STABLE);

        unit_check(!unit_dpif_put(race->u, unit_tc_desc(flow, 1, 0),
                                  DPIF_FP_MODIFY, NULL));
        unit_check(unit_dpif_packet(race->u, flow, 100));
        flow = N_STABLE + unit_random(DUMP_N_FLOWS - N_STABLE);
        unit_dpif_put(race->u, unit_tc_desc(flow, 1, 0), DPIF_FP_CREATE, NULL);
        flow = N_STABLE + unit_random(DUMP_N_FLOWS - N_STABLE);
        unit_dpif_del(race->u, flow, NULL);
        atomic_count_inc(&race->n_changes);
        atomic_read_relaxed(&race->stop, &stop);
    }
    return NULL;
}

/* Checks that all dumpers together have seen each of the flows that stay
 * once. */
static void
check_race(const struct race *race)
{
    for (size_t i = 0; i < N_STABLE; i++) {
        unsigned int n = 0;

        for (size_t j = 0; j < N_DUMPERS; j++) {
            n += race->seen[j].n[i];
        }
        if (n != 1) {
            unit_die("flow %"PRIuSIZE" was shown %u times", i, n);
        }
    }
}

static void
several_threads_show_flows_that_move_once(void **state)
{
    struct race race = { .u = *state, .stop = false };
    pthread_t changers[2], dumpers[N_DUMPERS];

    ovs_mutex_init(&race.mutex);
    dump_put(*state, 0, N_STABLE);
    for (size_t i = 0; i < ARRAY_SIZE(changers); i++) {
        changers[i] = ovs_thread_create("changer", changer, &race);
    }
    for (int i = 0; i < N_DUMPS; i++) {
        memset(race.seen, 0, sizeof race.seen);
        race.next_dumper = 0;
        race.max_flows = i % 2 ? 1 : 50;
        unit_tc_set_in_hw(i % 10 >= 5);
        dump_terse = i % 4 >= 2;
        unit_wait_until(atomic_count_get(&race.n_changes) > i * 10u);
        race.dump = dump_start(*state, i % 3 ? NULL : &dump_both);
        for (size_t j = 0; j < N_DUMPERS; j++) {
            dumpers[j] = ovs_thread_create("dumper", dumper, &race);
        }
        for (size_t j = 0; j < N_DUMPERS; j++) {
            xpthread_join(dumpers[j], NULL);
        }
        assert_int_equal(kdp_flow_dump_destroy(race.dump), 0);
        check_race(&race);
    }
    atomic_store_relaxed(&race.stop, true);
    for (size_t i = 0; i < ARRAY_SIZE(changers); i++) {
        xpthread_join(changers[i], NULL);
    }
    ovs_mutex_destroy(&race.mutex);
}

/* Takes flows over that nobody changes, from several threads. */
static void
several_threads_learn_flows_once(void **state)
{
    struct race race = { .u = *state, .max_flows = 50 };
    pthread_t dumpers[N_DUMPERS];
    struct dump_seen seen;

    ovs_mutex_init(&race.mutex);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        unit_dpif_add(*state, unit_tc_desc(i, 1, 0));
    }
    race.dump = dump_start(*state, NULL);
    for (size_t j = 0; j < N_DUMPERS; j++) {
        dumpers[j] = ovs_thread_create("dumper", dumper, &race);
    }
    for (size_t j = 0; j < N_DUMPERS; j++) {
        xpthread_join(dumpers[j], NULL);
    }
    assert_int_equal(kdp_flow_dump_destroy(race.dump), 0);
    check_race(&race);
    assert_int_equal(dump_all(*state, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    ovs_mutex_destroy(&race.mutex);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, dump_setup, unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        TEST(several_threads_show_flows_that_move_once),
        TEST(several_threads_learn_flows_once),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("flow-dump-race", tests, NULL, NULL);
}
