/* SPDX-License-Identifier: Apache-2.0 */

/* The list of all rules, to find those that no flow has (O9). */

#include <config.h>
#include "tc/tc-backend.h"

#include <linux/rtnetlink.h>

#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "netlink.h"
#include "tc/tc-places.h"
#include "tc/tc-rules.h"
#include "unit/tc/places-fixture.h"
#include "util.h"

#define KDP_HANDLE 0x10000000

static struct kdp_tc tc, other_tc;
static struct offload_backend backend;
static bool port_is_known, no_port_is_known;

static bool
is_known(void *listed OVS_UNUSED, uint32_t port,
         const struct offload_place *place)
{
    const struct tcf_id id = tc_make_tcf_id(PORT, 0, 0, TC_INGRESS);
    const struct offload_place expected = kdp_tc_place_for_engine(&id);

    if (port == UINT32_MAX) {
        return no_port_is_known;
    }
    assert_int_equal(port, PORT_NO);
    assert_memory_equal(place, &expected, sizeof expected);
    return port_is_known;
}

/* What was listed. */
struct listed {
    size_t n, n_named;
    struct offload_rule *last;  /* The latest that has a name, or NULL. */
    struct kdp_tc_rule told;    /* The latest. */
};

static void
note(void *listed_, const ovs_u128 *ufid, const void *told_)
{
    struct listed *listed = listed_;
    const struct kdp_tc_rule *told = told_;
    struct offload_rule *rule = backend.name(&tc, told);

    assert_true(ovs_u128_equals(*ufid, told->ufid));
    listed->told = *told;
    listed->n++;
    if (rule) {
        listed->n_named++;
        offload_rule_unref(listed->last);
        listed->last = rule;
    }
}

static size_t
n_listed(void)
{
    struct listed listed = { .n = 0 };

    backend.list_all(&tc, is_known, note, &listed);
    offload_rule_unref(listed.last);
    return listed.n;
}

static int
setup(void **state OVS_UNUSED)
{
    places_reset();
    places_twice = true;
    port_is_known = no_port_is_known = true;
    unit_tc_init();
    kdp_tc_init(&tc, "system", false);
    kdp_tc_init(&other_tc, "system", false);
    backend = kdp_tc_backend(&tc);
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    kdp_tc_destroy(&tc);
    kdp_tc_destroy(&other_tc);
    unit_tc_uninit();
    return 0;
}

static void
rules_are_listed_where_ports_are_known_or_none_is(void **state OVS_UNUSED)
{
    places_add_rule(PORT, KDP_HANDLE);
    places_add_rule(PORT, KDP_HANDLE + 1);
    places_add_rule(VM, KDP_HANDLE);
    places_add_rule(OTHER, KDP_HANDLE);
    assert_int_equal(n_listed(), 4);
    port_is_known = false;
    assert_int_equal(n_listed(), 2);

    /* The thread that lists them is to end. */
    no_port_is_known = false;
    assert_int_equal(n_listed(), 0);
}

/* A device is no port any more, and the other datapath is about to delete its
 * rules. */
static void
rules_of_other_datapaths_are_left_to_them(void **state OVS_UNUSED)
{
    struct kdp_tc_rule told = {
        .id = { .ifindex = VM, .parent = TC_INGRESS_PARENT,
                .handle = KDP_HANDLE },
    };
    struct offload_rule *rule;

    places_add_rule(VM, KDP_HANDLE);
    places_add_rule(OTHER, KDP_HANDLE);
    rule = backend.name(&other_tc, &told);
    assert_int_equal(n_listed(), 1);
    offload_rule_unref(rule);
    assert_int_equal(n_listed(), 2);
}

static void
only_rules_with_handles_of_ours_have_names(void **state OVS_UNUSED)
{
    static const struct {
        uint32_t handle;
        bool named;
    } cases[] = {
        { 1, false }, { KDP_HANDLE - 1, false }, { KDP_HANDLE, true },
        { 0xefffffff, true }, { 0xf0000000, false }, { UINT32_MAX, false },
    };
    struct listed listed = { .n = 0 };
    size_t n_named = 0;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        places_add_rule(VM, cases[i].handle);
        n_named += cases[i].named;
    }
    backend.list_all(&tc, is_known, note, &listed);
    assert_int_equal(listed.n, ARRAY_SIZE(cases));
    assert_int_equal(listed.n_named, n_named);
    offload_rule_unref(listed.last);
}

/* All of the name counts. */
static void
rule_is_what_was_told_if_all_of_its_name_is(void **state OVS_UNUSED)
{
    static const struct kdp_tc_id others[] = {
        { 2, 1, 1, KDP_HANDLE, 0 }, { 1, 2, 1, KDP_HANDLE, 0 },
        { 1, 1, 2, KDP_HANDLE, 0 }, { 1, 1, 1, KDP_HANDLE + 1, 0 },
        { 1, 1, 1, KDP_HANDLE, 1 },
    };
    struct kdp_tc_rule told = { .id = { 1, 1, 1, KDP_HANDLE, 0 } };
    struct offload_rule *rule = backend.name(&tc, &told);
    struct offload_rule *same = backend.name(&tc, &told);
    struct offload_stats stats;
    enum offload_hw hw;

    assert_true(kdp_tc_rule_is_same(rule, same));
    assert_true(backend.take(&tc, rule, &told, &stats, &hw));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct offload_rule *other;

        told.id = others[i];
        other = backend.name(&tc, &told);
        assert_false(kdp_tc_rule_is_same(rule, other));
        assert_false(backend.take(&tc, rule, &told, &stats, &hw));
        offload_rule_unref(other);
    }
    kdp_tc_rule_removed(same, false);
    assert_false(kdp_tc_rule_is_same(rule, same));
    offload_rule_unref(same);
    offload_rule_unref(rule);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_are_listed_where_ports_are_known_or_none_is),
        TEST(rules_of_other_datapaths_are_left_to_them),
        TEST(only_rules_with_handles_of_ours_have_names),
        TEST(rule_is_what_was_told_if_all_of_its_name_is),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-list", tests, NULL, NULL);
}
