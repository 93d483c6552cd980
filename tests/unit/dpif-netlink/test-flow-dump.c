/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of a datapath with offload: each flow once, wherever it is, and with
 * the statistics of both sides (O1, O2). */

#include <config.h>
#include "unit/dpif-netlink/flow-dump-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/flow-chains.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "openvswitch/thread.h"
#include "util.h"

static void
types_select_where_flows_are(void **state)
{
    static const int sizes[] = { 1, 3, 50, 64 };
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    /* The first 100 are in tc, the others in the kernel. */
    dump_put(u, 0, 100);
    unit_dpif_settle(u);
    dump_refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    dump_put(u, 100, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    assert_int_equal(unit_tc_count(), 100);
    assert_int_equal(unit_dpif_count(u), DUMP_N_FLOWS - 100);

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        assert_int_equal(dump_all(u, NULL, sizes[i], &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(seen.n_tc, 100);
        assert_int_equal(dump_all(u, &dump_both, sizes[i], &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(dump_all(u, &dump_tc, sizes[i], &seen), 0);
        dump_check_seen(&seen, 0, 100);
        assert_int_equal(seen.n_tc, 100);
        assert_int_equal(dump_all(u, &dump_ovs, sizes[i], &seen), 0);
        dump_check_seen(&seen, 100, DUMP_N_FLOWS);
        assert_int_equal(seen.n_tc, 0);
        assert_int_equal(dump_all(u, &dump_neither, sizes[i], &seen), 0);
        dump_check_seen(&seen, 0, 0);
    }
    dump_allow();
}

static void
statistics_are_those_of_both_sides(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    unit_dpif_settle(u);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_int_equal(seen.n_packets[i], 2);
    }
}

static void
flows_that_were_there_before_are_shown_once_and_learned(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        unit_dpif_add(u, unit_tc_desc(i, 1, 0));
    }
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    assert_int_equal(unit_tc_count(), DUMP_N_FLOWS);
    assert_int_equal(unit_dpif_count(u), 0);
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    assert_int_equal(seen.n_tc, DUMP_N_FLOWS);
}

/* O8. */
static void
flows_of_a_previous_run_are_shown_once_and_left_alone(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_learn = false;
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        unit_dpif_add(u, unit_tc_desc(i, 1, 0));
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(seen.n_tc, 0);
        unit_dpif_settle(u);
        assert_int_equal(unit_tc_count(), 0);
        assert_int_equal(unit_dpif_count(u), DUMP_N_FLOWS);
    }
    /* They are taken over when they have been looked at. */
    dump_learn = true;
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    unit_dpif_settle(u);
    assert_int_equal(unit_tc_count(), DUMP_N_FLOWS);
}

static void
flows_that_were_there_before_are_shown_once_while_offload_is_off(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    offload_set_enabled(u->engine->offload, false);
    atomic_store_relaxed(&u->engine->enabled, false);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        unit_dpif_add(u, unit_tc_desc(i, 1, 0));
    }
    assert_int_equal(dump_all(u, NULL, 1, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    assert_int_equal(unit_tc_count(), 0);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_int_equal(unit_dpif_del(u, i, NULL), 0);
    }
}

static void
flows_that_tc_does_not_tell_about_are_shown(void **state)
{
    static const enum unit_tc_fault faults[] = {
        UNIT_TC_UNANSWERED, UNIT_TC_CUT, UNIT_TC_NOT_SENT,
    };
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        const struct unit_tc_plan plan = {
            .fault = faults[i], .error = ENOBUFS, .type = RTM_GETTFILTER,
            .n = UINT_MAX,
        };

        unit_tc_plan(&plan);
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        dump_allow();
        assert_int_equal(unit_tc_count(), DUMP_N_FLOWS);
    }
}

static void
flows_whose_rules_vanished_are_shown_and_go_back(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    dump_refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i += 2) {
        const ovs_u128 ufid = unit_tc_ufid(i);

        assert_true(unit_tc_remove(&ufid));
    }
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    assert_int_equal(unit_dpif_count(u), DUMP_N_FLOWS / 2);
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    assert_int_equal(seen.n_tc, DUMP_N_FLOWS / 2);
    dump_allow();
}

static void
error_of_the_inner_dump_is_that_of_the_dump(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    ovs_mutex_lock(&u->mutex);
    u->dump_error = ENOBUFS;
    u->dump_limit = 60;
    ovs_mutex_unlock(&u->mutex);
    assert_int_equal(dump_all(u, NULL, 50, &seen), ENOBUFS);

    /* The engine knows the rest. */
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    ovs_mutex_lock(&u->mutex);
    u->dump_error = 0;
    ovs_mutex_unlock(&u->mutex);
    dump_allow();
}

static void
dump_of_too_many_shows_nothing_and_says_so(void **state)
{
    struct dpif_flow_dump *dumps[OFFLOAD_MAX_DUMPS];
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, 10);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        dumps[i] = dump_start(u, NULL);
    }
    assert_int_equal(dump_all(u, NULL, 50, &seen), EBUSY);
    dump_check_seen(&seen, 0, 0);
    for (size_t i = 0; i < OFFLOAD_MAX_DUMPS; i++) {
        memset(&seen, 0, sizeof seen);
        dump_walk(dumps[i], 50, &seen);
        dump_check_seen(&seen, 0, 10);
        assert_int_equal(kdp_flow_dump_destroy(dumps[i]), 0);
    }
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, 10);
}

static void
dump_that_is_not_finished_leaves_nothing(void **state)
{
    struct dpif_flow_dump_thread *threads[3];
    struct unit_dpif *u = *state;
    struct dpif_flow flows[5];
    struct dpif_flow_dump *d;

    dump_put(u, 0, 100);
    unit_dpif_settle(u);
    dump_refuse(RTM_NEWTFILTER, EOPNOTSUPP);
    dump_put(u, 100, DUMP_N_FLOWS);
    d = dump_start(u, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = kdp_flow_dump_thread_create(d);
        for (size_t j = 0; j < i * 10; j++) {
            kdp_flow_dump_next(threads[i], flows, ARRAY_SIZE(flows));
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        kdp_flow_dump_thread_destroy(threads[i]);
    }
    assert_int_equal(kdp_flow_dump_destroy(d), 0);
    dump_allow();
}

static size_t n_disguised;

void __wrap_flow_chains_disguise(const struct flow_chains *,
                                 struct dpif_flow *);
void
__wrap_flow_chains_disguise(const struct flow_chains *chains OVS_UNUSED,
                            struct dpif_flow *flow OVS_UNUSED)
{
    n_disguised++;
}

/* R5.  A revalidator must not translate roots of chains, wherever they are in
 * a batch.  What lies behind a batch is no flow. */
static void
each_flow_that_a_revalidator_sees_is_disguised_once(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    ovsrcu_set(&u->dp.chains, flow_chains_create());
    for (int revalidator = 0; revalidator < 2; revalidator++) {
        struct dpif_flow_dump *d = kdp_flow_dump_create(
            &u->dp, u->engine, &u->inner, dump_terse, dump_learn, revalidator,
            NULL);

        n_disguised = 0;
        memset(&seen, 0, sizeof seen);
        dump_walk(d, 50, &seen);
        assert_int_equal(kdp_flow_dump_destroy(d), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(n_disguised, revalidator ? DUMP_N_FLOWS : 0);
    }
    flow_chains_destroy(ovsrcu_get_protected(struct flow_chains *,
                                             &u->dp.chains));
    ovsrcu_set(&u->dp.chains, NULL);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, dump_setup, unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        TEST(types_select_where_flows_are),
        TEST(statistics_are_those_of_both_sides),
        TEST(flows_that_were_there_before_are_shown_once_and_learned),
        TEST(flows_of_a_previous_run_are_shown_once_and_left_alone),
        TEST(flows_that_were_there_before_are_shown_once_while_offload_is_off),
        TEST(flows_that_tc_does_not_tell_about_are_shown),
        TEST(flows_whose_rules_vanished_are_shown_and_go_back),
        TEST(error_of_the_inner_dump_is_that_of_the_dump),
        TEST(dump_of_too_many_shows_nothing_and_says_so),
        TEST(dump_that_is_not_finished_leaves_nothing),
        TEST(each_flow_that_a_revalidator_sees_is_disguised_once),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("flow-dump", tests, NULL, NULL);
}
