/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps of a datapath with offload whose rules are in devices, and those of
 * revalidators: each flow once (O2). */

#include <config.h>
#include "unit/dpif-netlink/flow-dump-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "fake/tc-fake.h"
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

    /* The first dump requests each rule by name. */
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

static void
revalidators_ask_tc_for_nothing(void **state)
{
    size_t messages_before, messages, requests_before, requests;
    struct unit_dpif *u = *state;
    struct dump_seen seen;

    dump_put(u, 0, DUMP_N_FLOWS);
    unit_dpif_settle(u);
    for (int in_hw = 0; in_hw < 2; in_hw++) {
        unit_tc_set_in_hw(in_hw);
        for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
            assert_true(unit_dpif_packet(u, i, 100));
        }
        unit_tc_get_load(&messages_before, &requests_before);
        dump_terse = true;
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(seen.n_tc, DUMP_N_FLOWS);
        assert_int_equal(seen.n_hw, 0);
        unit_tc_get_load(&messages, &requests);
        assert_int_equal(messages, messages_before);
        assert_int_equal(requests, requests_before);

        /* They see what was read last. */
        for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
            assert_int_equal(seen.n_packets[i], in_hw);
        }
        offload_read_rules(u->engine->offload);
        assert_int_equal(dump_all(u, NULL, 50, &seen), 0);
        dump_check_seen(&seen, 0, DUMP_N_FLOWS);
        assert_int_equal(seen.n_hw, in_hw ? DUMP_N_FLOWS : 0);
        for (uint32_t i = 0; i < DUMP_N_FLOWS; i++) {
            assert_int_equal(seen.n_packets[i], 1 + in_hw);
        }
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, dump_setup, unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_in_devices_are_listed_and_shown_once),
        TEST(rules_in_devices_that_are_not_listed_are_shown),
        TEST(revalidators_ask_tc_for_nothing),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("flow-dump-devices", tests, NULL, NULL);
}
