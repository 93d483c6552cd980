/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of a datapath with offload whose rules are listed device by device:
 * each flow once (O2). */

#include <config.h>
#include "unit/dpif-netlink/flow-dump-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fake/tc-fake.h"
#include "harness/clock.h"
#include "harness/unit.h"
#include "openvswitch/thread.h"
#include "util.h"

static void
rules_in_devices_are_listed_and_shown_once(void **state)
{
    size_t n_messages, n_before, n_after;
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    unit_tc_set_in_hw(true);

    /* The first time they are asked for by name. */
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    assert_int_equal(seen.n_hw, DUMP_N_FLOWS);
    unit_tc_get_load(&n_messages, &n_before);
    for (int max_flows = 1; max_flows <= 64; max_flows += 21) {
        assert_int_equal(dump_all(u, NULL, max_flows, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(seen.n_hw, DUMP_N_FLOWS);
        for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
            assert_int_equal(seen.n_packets[i], 1);
        }
    }
    assert_int_equal(dump_all(u, &dump_ovs, 50, &seen), 0);
    dump_check_seen(&seen, 0, 0);
    unit_tc_get_load(&n_messages, &n_after);
    assert_int_equal(n_after, n_before);

    /* They leave the devices. */
    unit_tc_set_in_hw(false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(seen.n_hw, 0);
    }
    unit_tc_get_load(&n_messages, &n_after);
    assert_int_equal(n_after, n_before + DUMP_N_FLOWS);
}

static void
rules_in_devices_that_are_not_listed_are_shown(void **state)
{
    static const unsigned int limits[] = { 0, 1, 60 };
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    unit_tc_set_in_hw(true);
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    for (size_t i = 0; i < 2 * ARRAY_SIZE(limits); i++) {
        unit_tc_fail_dumps(ENOBUFS, limits[i / 2]);
        dump_terse = i % 2;
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
    }
    unit_tc_fail_dumps(0, 0);
}

/* Number of requests by name that a dump makes, which has to show all flows
 * with one packet. */
static size_t
n_requests_of_dump(struct unit_dpif *u, struct dump_seen *seen)
{
    size_t n_messages, before, after;

    unit_tc_get_load(&n_messages, &before);
    assert_int_equal(dump_all(u, NULL, 50, seen), 0);
    unit_tc_get_load(&n_messages, &after);
    dump_check_seen(seen, 0, DUMP_N_FLOWS);
    assert_int_equal(seen->n_tc, DUMP_N_FLOWS);
    assert_int_equal(seen->n_hw, 0);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_int_equal(seen->n_packets[i], 1);
    }
    return after - before;
}

static void
revalidators_list_many_rules(void **state)
{
    struct unit_dpif *u = *state;
    struct dump_seen seen, again;
    long long int start;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);

    /* No part of a list takes long, however loaded the machine is. */
    start = time_msec();
    unit_clock_stop(start);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    dump_terse = true;
    assert_int_equal(n_requests_of_dump(u, &seen), 0);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_true(seen.used[i] >= start);
    }

    /* What has met no more packets was not used. */
    unit_clock_advance(2);
    assert_int_equal(n_requests_of_dump(u, &again), 0);
    assert_memory_equal(seen.used, again.used, sizeof seen.used);

    /* Others want to know when exactly. */
    dump_terse = false;
    assert_int_equal(n_requests_of_dump(u, &seen), DUMP_N_FLOWS);

    /* Few are asked for by name. */
    dump_terse = true;
    for (uint32_t i = 99; i < DUMP_N_FLOWS; i++) {
        assert_int_equal(unit_dpif_del(u, i, NULL), 0);
    }
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    dump_check_seen(&seen, 0, 99);
    unit_clock_run();
}

/* Shows what thread 'd' of a dump gets until 'n' flows or more were shown. */
static void
walk_some(struct dpif_flow_dump_thread *d, unsigned int n,
          struct dump_seen *seen)
{
    struct dpif_flow flows[10];
    unsigned int shown = 0;
    int batch;

    while (shown < n && (batch = kdp_flow_dump_next(d, flows, 10)) > 0) {
        for (int i = 0; i < batch; i++) {
            dump_note(seen, &flows[i]);
        }
        shown += batch;
    }
}

static void
revalidators_share_the_list_of_a_device(void **state)
{
    struct dpif_flow_dump_thread *threads[2];
    size_t n_messages, before, after;
    struct unit_dpif *u = *state;
    struct dpif_flow_dump *d;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    unit_clock_stop(time_msec());
    dump_terse = true;
    for (unsigned int n = 0; n <= 3; n++) {
        unit_tc_get_load(&n_messages, &before);
        memset(&seen, 0, sizeof seen);
        d = dump_start(u, NULL);
        for (size_t i = 0; i < 2; i++) {
            threads[i] = kdp_flow_dump_thread_create(d);
        }
        /* The first is in the midst of the list when the second joins. */
        walk_some(threads[0], n * 50, &seen);
        walk_some(threads[1], UINT_MAX, &seen);
        walk_some(threads[0], UINT_MAX, &seen);
        for (size_t i = 0; i < 2; i++) {
            kdp_flow_dump_thread_destroy(threads[i]);
        }
        assert_int_equal(kdp_flow_dump_destroy(d), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        unit_tc_get_load(&n_messages, &after);
        assert_int_equal(after, before);
        assert_int_equal(unit_tc_n_dumps(), 0);
    }
    unit_clock_run();
}

static void
revalidators_ask_by_name_where_lists_are_slow(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_dump *d;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
        assert_true(unit_dpif_packet(u, i, 100));
    }
    dump_terse = true;
    unit_tc_delay_dumps(KDP_TC_SLOW_DUMP + 1);
    assert_int_equal(n_requests_of_dump(u, &seen), 0);
    unit_tc_delay_dumps(0);
    assert_int_equal(n_requests_of_dump(u, &seen), DUMP_N_FLOWS);
    assert_int_equal(n_requests_of_dump(u, &seen), DUMP_N_FLOWS);
    atomic_store_relaxed(&u->engine->tc.dump_after, 0);
    assert_int_equal(n_requests_of_dump(u, &seen), 0);

    /* One that starts meanwhile skips the devices, and reads what they have
     * one by one. */
    d = dump_start(u, NULL);
    kdp_tc_dump_waited(&u->engine->tc, KDP_TC_SLOW_DUMP);
    memset(&seen, 0, sizeof seen);
    dump_walk(d, 50, &seen);
    assert_int_equal(kdp_flow_dump_destroy(d), 0);
    dump_check_seen(&seen, 0, DUMP_N_FLOWS);
}

static void
revalidators_do_not_ask_for_flows_that_have_just_come(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_dump *d;
    struct dump_seen seen;

    for (int i = 0; i < 2; i++) {
        const size_t n_expected = i ? 0 : DUMP_N_FLOWS;
        size_t n_messages, before, after;

        /* Flows that have met a packet in the kernel come to tc, and meet one
         * more there, once the dump has started. */
        dump_terse = i;
        offload_set_enabled(u->engine->offload, false);
        dump_put(u, 0, DUMP_N_FLOWS);
        for (uint32_t j = 0; j < DUMP_N_FLOWS; j++) {
            assert_true(unit_dpif_packet(u, j, 100));
        }
        d = dump_start(u, &dump_tc);
        offload_set_enabled(u->engine->offload, true);
        assert_int_equal(dump_all(u, &dump_ovs, 50, &seen), 0);
        unit_dpif_settle(u);
        assert_int_equal(unit_tc_count(), DUMP_N_FLOWS);
        for (uint32_t j = 0; j < DUMP_N_FLOWS; j++) {
            assert_true(unit_dpif_packet(u, j, 100));
        }

        unit_tc_get_load(&n_messages, &before);
        memset(&seen, 0, sizeof seen);
        dump_walk(d, 50, &seen);
        unit_tc_get_load(&n_messages, &after);
        assert_int_equal(kdp_flow_dump_destroy(d), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(after - before, n_expected);
        for (uint32_t j = 0; j < DUMP_N_FLOWS; j++) {
            assert_int_equal(seen.n_packets[j], dump_terse ? 1 : 2);
        }

        /* The next one knows. */
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        for (uint32_t j = 0; j < DUMP_N_FLOWS; j++) {
            assert_int_equal(seen.n_packets[j], 2);
            assert_int_equal(unit_dpif_del(u, j, NULL), 0);
        }
    }
}

static void
dump_of_devices_that_is_not_finished_leaves_nothing(void **state)
{
    struct dpif_flow_dump_thread *threads[3];
    struct unit_dpif *u = *state;
    struct dpif_flow flows[5];
    struct dpif_flow_dump *d;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    unit_tc_set_in_hw(true);
    assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
    d = dump_start(u, &dump_tc);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        threads[i] = kdp_flow_dump_thread_create(d);
        kdp_flow_dump_next(threads[i], flows, ARRAY_SIZE(flows));
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        kdp_flow_dump_thread_destroy(threads[i]);
    }
    assert_int_equal(kdp_flow_dump_destroy(d), 0);
    assert_int_equal(unit_tc_n_dumps(), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, dump_setup, unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_in_devices_are_listed_and_shown_once),
        TEST(rules_in_devices_that_are_not_listed_are_shown),
        TEST(revalidators_list_many_rules),
        TEST(revalidators_share_the_list_of_a_device),
        TEST(revalidators_ask_by_name_where_lists_are_slow),
        TEST(revalidators_do_not_ask_for_flows_that_have_just_come),
        TEST(dump_of_devices_that_is_not_finished_leaves_nothing),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("flow-dump-devices", tests, NULL, NULL);
}
