/* SPDX-License-Identifier: Apache-2.0 */

/* Rules of a previous run on devices that are no ports (O5). */

#include <config.h>
#include "tc/tc-orphans.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "netdev-linux/ingress-qdisc.h"
#include "openvswitch/dynamic-string.h"
#include "ovs-thread.h"
#include "unit/tc/places-fixture.h"
#include "util.h"

static unsigned int n_created, n_joined;

pthread_t __wrap_ovs_thread_create(const char *name, void *(*start)(void *),
                                   void *arg);
pthread_t __real_ovs_thread_create(const char *name, void *(*start)(void *),
                                   void *arg);

pthread_t
__wrap_ovs_thread_create(const char *name, void *(*start)(void *), void *arg)
{
    if (!strcmp(name, "rule_orphan")) {
        n_created++;
    }
    return __real_ovs_thread_create(name, start, arg);
}

void __wrap_xpthread_join(pthread_t thread, void **result);
void __real_xpthread_join(pthread_t thread, void **result);

void
__wrap_xpthread_join(pthread_t thread, void **result)
{
    n_joined++;
    __real_xpthread_join(thread, result);
}

static void
vm_becomes_port(void)
{
    kdp_tc_orphans_spare(VM);
}

#define SPARE KDP_TC_ORPHANS_SPARE_PORTS
#define LAST KDP_TC_ORPHANS_LAST

/* Makes a pass.  Returns how many rules are left. */
static size_t
look(unsigned int flags)
{
    kdp_tc_orphans_look("system", flags);
    kdp_tc_orphans_stop(true);
    return unit_tc_count();
}

static struct kdp_tc_orphans_info
get_info(void)
{
    struct kdp_tc_orphans_info info;

    kdp_tc_orphans_get_info(&info);
    return info;
}

/* What passes have done since the test began. */
static struct kdp_tc_orphans_info before;

static uint64_t
n_deleted(void)
{
    return get_info().n_deleted - before.n_deleted;
}

static uint64_t
n_passes(void)
{
    return get_info().n_passes - before.n_passes;
}

static int
setup(void **state OVS_UNUSED)
{
    places_reset();
    unit_tc_init();
    before = get_info();
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    kdp_tc_orphans_stop(false);
    assert_false(get_info().under_way);
    unit_tc_uninit();
    return 0;
}

/* Each thread is joined: when passes end, or before the next thread begins. */
static void
no_thread_is_left_behind(void **state OVS_UNUSED)
{
    n_created = n_joined = 0;
    for (unsigned int i = 0; i < 3; i++) {
        kdp_tc_orphans_look("system", SPARE);
        assert_int_equal(n_created, i + 1);
        assert_int_equal(n_joined, i);
        unit_wait_until(!get_info().under_way);
    }
    kdp_tc_orphans_stop(true);
    assert_int_equal(n_joined, 3);
    kdp_tc_orphans_stop(false);
    assert_int_equal(look(SPARE), 0);
    assert_int_equal(n_created, 4);
    assert_int_equal(n_joined, 4);
}

static void
rules_of_no_port_go(void **state OVS_UNUSED)
{
    for (uint32_t i = 0; i < 100; i++) {
        places_add_rule(i % 2 ? VM : OTHER, 0x10000000 + i);
    }
    places_add_rule(PORT, 0x10000000);
    places_add_rule(PORT, 0x10000001);
    places_twice = true;
    assert_int_equal(look(SPARE), 2);
    assert_int_equal(n_deleted(), 100);
    assert_int_equal(n_passes(), 1);
    assert_int_equal(look(SPARE), 2);
    assert_int_equal(n_deleted(), 100);
    assert_int_equal(n_passes(), 2);
}

static void
rules_of_ports_go_too_if_no_engine_has_them(void **state OVS_UNUSED)
{
    places_add_rule(VM, 0x10000000);
    places_add_rule(PORT, 0x10000000);
    places_add_rule(PORT, 1);
    assert_int_equal(look(0), 1);
    assert_int_equal(n_deleted(), 2);
}

static void
only_rules_with_our_handles_go(void **state OVS_UNUSED)
{
    static const uint32_t others[] = { 1, 0x0fffffff, 0xf0000000, UINT32_MAX };
    static const uint32_t ours[] = { 0x10000000, 0x12345678, 0xefffffff };

    for (uint32_t i = 0; i < ARRAY_SIZE(others); i++) {
        places_add_rule(VM, others[i]);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(ours); i++) {
        places_add_rule(VM, ours[i]);
    }
    assert_int_equal(look(SPARE), ARRAY_SIZE(others));
    assert_int_equal(n_deleted(), ARRAY_SIZE(ours));
}

/* As ufids are: version 4, variant 1. */
static const ovs_u128 stock_ufid = {
    .u32 = { 0x12345678, 0x9abc4ef0, 0x80000001, 7 },
};

static void
rules_of_the_stock_daemon_go_where_a_port_was(void **state OVS_UNUSED)
{
    ovs_u128 other = stock_ufid;

    places_add_rule_of(&stock_ufid, VM, 1);
    assert_int_equal(look(SPARE), 1);
    other.u32[1] ^= 0x1000;
    places_add_rule_of(&other, VM, 2);
    other = stock_ufid;
    other.u32[2] ^= 0x40000000;
    places_add_rule_of(&other, VM, 3);
    other = stock_ufid;
    other.u32[3]++;
    places_add_rule_of(&other, OTHER, 1);
    places_add_rule_of(&stock_ufid, PORT, 1);
    kdp_tc_orphans_was_port(VM);
    kdp_tc_orphans_was_port(PORT);

    /* A pass that does not succeed forgets nothing. */
    places_error = ENOBUFS;
    places_meanwhile = vm_becomes_port;
    assert_int_equal(look(SPARE | LAST), 5);
    places_error = 0;
    places_meanwhile = NULL;
    assert_int_equal(look(SPARE), 4);
    assert_int_equal(n_deleted(), 1);

    /* A port that stays, as those of tunnels do, has no engine now. */
    assert_int_equal(look(LAST), 3);

    /* A new user of the device may have such cookies from then on. */
    places_add_rule_of(&stock_ufid, VM, 1);
    assert_int_equal(look(SPARE), 4);
}

static void
rule_that_cannot_be_deleted_is_told_and_tried_again(void **state OVS_UNUSED)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .type = RTM_DELTFILTER, .error = EBUSY,
        .n = 1,
    };
    struct ds s = DS_EMPTY_INITIALIZER;

    places_add_rule(VM, 0x10000000);
    places_add_rule(VM, 0x10000001);
    unit_tc_plan(&plan);
    assert_int_equal(look(SPARE), 1);
    assert_int_equal(get_info().n_failed, 1);
    assert_int_equal(n_deleted(), 1);
    kdp_tc_orphans_show_text(&s);
    assert_non_null(strstr(ds_cstr(&s), "could not be deleted 1, "));
    ds_destroy(&s);

    /* What cannot be listed is not known. */
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(look(SPARE), 1);
    unit_tc_fail_dumps(0, 0);
    assert_int_equal(look(SPARE), 0);
    assert_int_equal(get_info().n_failed, 0);
    assert_int_equal(n_deleted(), 2);
}

/* No packet shall be sent to a chain that is gone. */
static void
rules_that_lead_to_chains_go_first(void **state OVS_UNUSED)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .type = RTM_DELTFILTER, .error = EBUSY,
        .n = 1,
    };
    ovs_u128 ufid;

    for (uint32_t i = 0; i < 10; i++) {
        places_add_rule(VM, 0x10000000 + i);
    }
    ufid = unit_tc_ufid(5);
    unit_tc_set_jump(&ufid);
    unit_tc_plan(&plan);
    assert_int_equal(look(SPARE), 1);
    assert_true(unit_tc_packet(&ufid, 100));
}

static void
device_that_becomes_a_port_is_spared(void **state OVS_UNUSED)
{
    places_add_rule(VM, 0x10000000);
    places_add_rule(OTHER, 0x10000000);
    places_meanwhile = vm_becomes_port;
    assert_int_equal(look(SPARE), 1);

    /* It is none any more, if no pass is told of it. */
    places_meanwhile = NULL;
    kdp_tc_orphans_spare(VM);
    assert_int_equal(look(SPARE), 0);
}

static void
passes_follow_each_other(void **state OVS_UNUSED)
{
    unit_tc_delay_dumps(20);
    for (int i = 0; i < 5; i++) {
        kdp_tc_orphans_look("system", SPARE);
    }
    kdp_tc_orphans_stop(true);
    unit_tc_delay_dumps(0);
    assert_true(n_passes() >= 2 && n_passes() <= 5);
}

static void
pass_can_be_stopped(void **state OVS_UNUSED)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct qdisc_lock *lock = qdisc_lock_get(VM);

    /* One device, so that the pass has to wait for the lock. */
    for (uint32_t i = 0; i < 100; i++) {
        places_add_rule(VM, 0x10000000 + i);
    }
    qdisc_lock_acquire(lock);
    kdp_tc_orphans_look("system", SPARE);
    assert_true(get_info().under_way);
    assert_int_equal(unit_tc_count(), 100);
    qdisc_lock_release(lock);
    kdp_tc_orphans_stop(false);
    assert_false(get_info().under_way);
    assert_int_equal(look(SPARE), 0);
}

/* A block that has rules of others, or that cannot be listed, is left alone.
 * The rules of a block name no device. */
static void
blocks_of_others_are_told_from_ours(void **state OVS_UNUSED)
{
    assert_true(kdp_tc_orphans_may_unbind(77));
    places_add_rule(0, 0x10000000);
    places_add_rule(0, 0xefffffff);
    assert_true(kdp_tc_orphans_may_unbind(77));
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_false(kdp_tc_orphans_may_unbind(77));
    unit_tc_fail_dumps(ENOBUFS, 2);
    assert_false(kdp_tc_orphans_may_unbind(77));
    /* There is no such block. */
    unit_tc_fail_dumps(ENOENT, 0);
    assert_true(kdp_tc_orphans_may_unbind(77));
    unit_tc_fail_dumps(0, 0);
    places_add_rule(0, 1);
    assert_false(kdp_tc_orphans_may_unbind(77));
}

/* What failed is tried again without another pass being asked for. */
static void
what_failed_is_tried_again(void **state OVS_UNUSED)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .type = RTM_DELTFILTER, .error = ENOMEM,
        .n = 1,
    };

    places_add_rule(VM, 0x10000000);
    unit_tc_plan(&plan);
    kdp_tc_orphans_look("system", SPARE | LAST);
    unit_wait_until(!get_info().under_way);
    assert_true(kdp_tc_orphans_last_ended());
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(n_passes(), 2);
    assert_int_equal(get_info().n_failed, 0);

    /* So is a list that could not be had. */
    places_error = ENOBUFS;
    kdp_tc_orphans_look("system", SPARE | LAST);
    unit_wait_until(kdp_tc_orphans_last_ended());
    assert_int_equal(get_info().n_failed, 1);
    assert_true(get_info().under_way);
    /* Nobody waits for that.  It may have been tried again already. */
    kdp_tc_orphans_stop(true);
    assert_false(get_info().under_way);
    assert_true(n_passes() >= 3);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(no_thread_is_left_behind),
        TEST(rules_of_no_port_go),
        TEST(rules_of_ports_go_too_if_no_engine_has_them),
        TEST(only_rules_with_our_handles_go),
        TEST(rules_of_the_stock_daemon_go_where_a_port_was),
        TEST(rule_that_cannot_be_deleted_is_told_and_tried_again),
        TEST(what_failed_is_tried_again),
        TEST(blocks_of_others_are_told_from_ours),
        TEST(rules_that_lead_to_chains_go_first),
        TEST(device_that_becomes_a_port_is_spared),
        TEST(passes_follow_each_other),
        TEST(pass_can_be_stopped),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-orphans", tests, NULL, NULL);
}
