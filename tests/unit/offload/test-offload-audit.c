/* SPDX-License-Identifier: Apache-2.0 */

/* The offload engine: rules in tc that no flow has, and flows whose rules tc
 * does not have.
 *
 *   O7  thread_that_ends_lists_no_more_places
 *   O9  the others */

#include <config.h>
#include "harness/offload-engine.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/clock.h"
#include "harness/unit.h"
#include "harness/wait.h"
#include "latch.h"
#include "offload/offload-audit.h"
#include "offload/offload-engine.h"
#include "offload/offload-reader.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

#define KERNEL OFFLOAD_FAKE_KERNEL
#define TC OFFLOAD_FAKE_TC
#define CREATE OFFLOAD_PUT_CREATE
#define MODIFY OFFLOAD_PUT_MODIFY

/* An engine with 'n_ports' ports and an audit each 'interval' ms. */
static void
init_with(struct unit_offload *unit, unsigned int interval, uint32_t n_ports)
{
    struct offload_config config = OFFLOAD_CONFIG_DEFAULT;

    config.audit_interval = interval;
    config.backoff = 1;
    unit_offload_init(unit, &config, n_ports);
}

/* An engine with two ports and an audit in each round. */
static void
init(struct unit_offload *unit)
{
    init_with(unit, 1, 2);
}

/* A round of the reader thread, which is due if it is the first one, or when
 * time has passed. */
static void
round_of(struct unit_offload *unit)
{
    static const struct offload_reader_pace pace = {
        .interval = 1, .max_reads = SIZE_MAX,
    };

    unit_clock_advance(1);
    offload_reader_round(unit->offload, &pace, NULL);
}

/* Puts a rule into tc that no flow has. */
static void
add_orphan(struct unit_offload *unit, uint32_t flow, uint32_t port)
{
    struct offload_desc *desc = unit_desc(flow, port);

    offload_fake_add(unit->fake, true, desc);
    offload_desc_unref(desc);
}

static uint64_t
n_audits(struct unit_offload *unit)
{
    struct offload_engine_info info;

    offload_get_info(unit->offload, &info);
    return info.n_audits;
}

static void
rule_of_no_flow_goes_in_the_round_after_it_was_found(void **state OVS_UNUSED)
{
    enum { N = 100 };
    struct unit_offload unit;
    uint64_t n;

    init(&unit);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_barrier(unit.offload);
    unit_packets(&unit, 1, 5);
    for (uint32_t i = 0; i < N; i++) {
        /* Half of them where no port is. */
        add_orphan(&unit, 1000 + i, i % 2 ? 2 : OFFLOAD_FAKE_NO_PORT);
    }
    round_of(&unit);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), N + 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 0);
    round_of(&unit);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), 1);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), N);
    assert_int_equal(unit_counter(&unit, OFFLOAD_VANISHED), 0);
    assert_int_equal(n_audits(&unit), 2);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_get(&unit, 1, &n, NULL), 0);
    assert_int_equal(n, 5);
    unit_offload_uninit(&unit);
}

/* Rules on ports that nobody has reconciled may become flows yet. */
static void
rules_of_ports_that_are_not_known_stay(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init(&unit);
    add_orphan(&unit, 1, 3);
    for (int i = 0; i < 3; i++) {
        round_of(&unit);
        unit_settle(&unit);
        assert_int_equal(unit_where(&unit, 1), TC);
    }
    offload_port_add(unit.offload, 3);
    unit_settle(&unit);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ADOPTED), 1);
    for (int i = 0; i < 3; i++) {
        round_of(&unit);
        unit_settle(&unit);
    }
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 0);
    unit_offload_uninit(&unit);
}

static void
there_is_no_audit_while_old_chains_are_kept(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init(&unit);
    offload_keep_chains(unit.offload, true);
    add_orphan(&unit, 1, 1);
    round_of(&unit);
    round_of(&unit);
    assert_int_equal(n_audits(&unit), 0);
    assert_int_equal(unit_where(&unit, 1), TC);
    offload_keep_chains(unit.offload, false);
    round_of(&unit);
    round_of(&unit);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), 0);
    unit_offload_uninit(&unit);
}

static void
there_is_no_audit_without_an_interval(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    ovs_u128 ufid;

    init_with(&unit, 0, 2);
    add_orphan(&unit, 1, 1);
    for (int i = 0; i < 3; i++) {
        round_of(&unit);
    }
    unit_settle(&unit);
    assert_int_equal(n_audits(&unit), 0);
    assert_int_equal(unit_where(&unit, 1), TC);

    /* The end of the test would complain. */
    ufid = unit_ufid(1);
    offload_fake_remove(unit.fake, true, &ufid);
    unit_offload_uninit(&unit);
}

static void
there_is_no_audit_of_a_tc_that_does_not_list_all(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init(&unit);
    unit.offload->backend.list_all = NULL;
    for (int i = 0; i < 3; i++) {
        round_of(&unit);
    }
    assert_int_equal(n_audits(&unit), 0);
    unit_offload_uninit(&unit);
}

/* The interval grows with the number of ports. */
static void
audits_are_as_far_apart_as_is_configured(void **state OVS_UNUSED)
{
    enum { INTERVAL = 10 };
    static const struct {
        uint32_t n_ports;
        unsigned int factor;
    } cases[] = {
        { 0, 1 },
        { OFFLOAD_AUDIT_PORTS - 1, 1 },
        { OFFLOAD_AUDIT_PORTS, 2 },
        { 2 * OFFLOAD_AUDIT_PORTS, 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const unsigned int factor = cases[i].factor;
        struct unit_offload unit;

        init_with(&unit, INTERVAL, cases[i].n_ports);
        round_of(&unit);
        assert_int_equal(n_audits(&unit), 1);
        for (unsigned int j = 1; j < INTERVAL * factor; j++) {
            round_of(&unit);
            assert_int_equal(n_audits(&unit), 1);
        }
        round_of(&unit);
        assert_int_equal(n_audits(&unit), 2);

        /* An earlier time does not count. */
        offload_audit_postpone(unit.offload, time_msec());
        for (unsigned int j = 1; j < INTERVAL * factor; j++) {
            round_of(&unit);
        }
        assert_int_equal(n_audits(&unit), 2);
        offload_audit_postpone(unit.offload, time_msec() + 5);
        for (unsigned int j = 1; j < 5; j++) {
            round_of(&unit);
        }
        assert_int_equal(n_audits(&unit), 2);
        round_of(&unit);
        assert_int_equal(n_audits(&unit), 3);
        unit_offload_uninit(&unit);
    }
}

static void *
delete_main(void *unit)
{
    unit_del(unit, 1, NULL);
    return NULL;
}

/* Tc has a rule before the put has returned, and after a deletion was asked
 * for. */
static void
rules_under_way_are_no_orphans(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    pthread_t user;

    init(&unit);
    offload_fake_hold_returns(unit.fake);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    offload_fake_wait_held(unit.fake, 1);
    for (int i = 0; i < 3; i++) {
        round_of(&unit);
    }
    offload_fake_release(unit.fake);
    offload_barrier(unit.offload);
    assert_int_equal(unit_where(&unit, 1), TC);

    offload_fake_hold(unit.fake);
    user = ovs_thread_create("user", delete_main, &unit);
    offload_fake_wait_held(unit.fake, 1);
    for (int i = 0; i < 3; i++) {
        round_of(&unit);
    }
    offload_fake_release(unit.fake);
    xpthread_join(user, NULL);
    assert_int_equal(unit_where(&unit, 1), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_DELETED), 1);
    unit_offload_uninit(&unit);
}

static void *
round_main(void *unit)
{
    round_of(unit);
    return NULL;
}

/* The list tells of rules that are gone, or replaced, by the time when it is
 * read. */
static void
outdated_list_harms_nobody(void **state OVS_UNUSED)
{
    struct unit_offload unit;
    pthread_t reader;

    init(&unit);
    for (uint32_t i = 1; i <= 3; i++) {
        unit_put(&unit, unit_desc(i, 1), CREATE);
    }
    offload_barrier(unit.offload);
    offload_fake_hold_lists(unit.fake);
    reader = ovs_thread_create("reader", round_main, &unit);
    offload_fake_wait_held(unit.fake, 1);
    unit_put(&unit, unit_desc(1, 1), MODIFY);
    unit_del(&unit, 2, NULL);
    unit_del(&unit, 3, NULL);
    unit_put(&unit, unit_desc(3, 1), CREATE);
    offload_barrier(unit.offload);
    offload_fake_release(unit.fake);
    xpthread_join(reader, NULL);
    round_of(&unit);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_where(&unit, 2), 0);
    assert_int_equal(unit_where(&unit, 3), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 0);
    assert_int_equal(unit_counter(&unit, OFFLOAD_VANISHED), 0);
    unit_offload_uninit(&unit);
}

/* A flow of the same ufid waits until the orphan is gone, and has a rule of
 * its own then. */
static void
flow_comes_after_the_orphan_of_its_ufid(void **state OVS_UNUSED)
{
    struct unit_offload unit;

    init(&unit);
    add_orphan(&unit, 1, 1);
    round_of(&unit);
    offload_fake_hold(unit.fake);
    round_of(&unit);
    offload_fake_wait_held(unit.fake, 1);
    unit_put(&unit, unit_desc(1, 1), CREATE);
    round_of(&unit);
    round_of(&unit);
    offload_fake_release(unit.fake);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_state(&unit, 1), OFFLOAD_STATE_IN_TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 1);
    round_of(&unit);
    round_of(&unit);
    unit_settle(&unit);
    assert_int_equal(unit_where(&unit, 1), TC);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 1);
    unit_offload_uninit(&unit);
}

static void
orphan_that_tc_does_not_delete_is_tried_again(void **state OVS_UNUSED)
{
    struct offload_fake_failure failure = {
        .tc = true, .type = OFFLOAD_COPY_DEL, .error = EBUSY, .n = 3,
    };
    struct unit_offload unit;

    /* The thread waits between. */
    unit_clock_run();
    init(&unit);
    offload_fake_fail_next(unit.fake, &failure);
    add_orphan(&unit, 1, OFFLOAD_FAKE_NO_PORT);

    /* Meanwhile it is found again, which changes nothing. */
    unit_wait_until((round_of(&unit), !unit_where(&unit, 1)));
    unit_settle(&unit);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 1);
    unit_offload_uninit(&unit);
}

static void
rule_that_somebody_has_deleted_is_made_again(void **state OVS_UNUSED)
{
    enum { N = 100 };
    struct unit_offload unit;
    ovs_u128 ufid;

    init(&unit);
    for (uint32_t i = 0; i < N; i++) {
        unit_put(&unit, unit_desc(i, 1 + i % 2), CREATE);
    }
    unit_settle(&unit);
    for (uint32_t i = 0; i < N; i++) {
        ufid = unit_ufid(i);
        offload_fake_remove(unit.fake, true, &ufid);
    }
    round_of(&unit);
    assert_int_equal(unit_counter(&unit, OFFLOAD_VANISHED), N);
    assert_int_equal(unit_counter(&unit, OFFLOAD_REMADE), 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, false), N);
    unit_clock_advance(1);
    unit_dump_lax(&unit, NULL, 0);
    unit_settle(&unit);
    assert_int_equal(offload_fake_count(unit.fake, true), N);
    assert_int_equal(unit_counter(&unit, OFFLOAD_REMADE), N);
    assert_int_equal(unit_counter(&unit, OFFLOAD_ORPHANS), 0);
    unit_offload_uninit(&unit);
}

static int
setup(void **state OVS_UNUSED)
{
    unit_clock_stop(1000000);
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    unit_clock_run();
    return 0;
}

/* Lists the places of 'listed_ports', and ends the thread in between. */
static uint32_t listed_ports[2];
static unsigned int n_places_listed;
static struct latch stop_in_list;

static void
list_two_places(void *aux OVS_UNUSED, offload_is_known_cb *is_known,
                offload_list_cb *cb OVS_UNUSED, void *cb_aux)
{
    for (size_t i = 0; i < ARRAY_SIZE(listed_ports); i++) {
        const struct offload_place place = { .data = { listed_ports[i] } };

        n_places_listed += is_known(cb_aux, listed_ports[i], &place);
        latch_set(&stop_in_list);
    }
}

/* A list takes the RTNL lock for each place, and there may be thousands, of
 * devices that are no ports, too. */
static void
thread_that_ends_lists_no_more_places(void **state OVS_UNUSED)
{
    static const struct offload_reader_pace pace = {
        .interval = 1, .max_reads = SIZE_MAX,
    };
    static const uint32_t cases[][2] = { { 1, 2 }, { UINT32_MAX, 1 },
                                         { 1, UINT32_MAX } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct unit_offload unit;

        init(&unit);
        unit.offload->backend.list_all = list_two_places;
        memcpy(listed_ports, cases[i], sizeof listed_ports);
        latch_init(&stop_in_list);
        n_places_listed = 0;
        unit_clock_advance(1);
        offload_reader_round(unit.offload, &pace, &stop_in_list);
        assert_int_equal(n_places_listed, 1);
        assert_int_equal(n_audits(&unit), 1);
        latch_destroy(&stop_in_list);
        unit_offload_uninit(&unit);
    }
}

int
main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(rule_of_no_flow_goes_in_the_round_after_it_was_found),
        TEST(rules_of_ports_that_are_not_known_stay),
        TEST(there_is_no_audit_while_old_chains_are_kept),
        TEST(there_is_no_audit_without_an_interval),
        TEST(there_is_no_audit_of_a_tc_that_does_not_list_all),
        TEST(thread_that_ends_lists_no_more_places),
        TEST(audits_are_as_far_apart_as_is_configured),
        TEST(rules_under_way_are_no_orphans),
        TEST(outdated_list_harms_nobody),
        TEST(flow_comes_after_the_orphan_of_its_ufid),
        TEST(orphan_that_tc_does_not_delete_is_tried_again),
        TEST(rule_that_somebody_has_deleted_is_made_again),
    };

    unit_init("test-offload-audit");
    unit_start_threads();
    return cmocka_run_group_tests_name("offload-audit", tests, NULL, NULL);
}
