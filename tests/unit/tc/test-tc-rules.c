/* SPDX-License-Identifier: Apache-2.0 */

/* What we know of rules: names, statistics (O2), numbers by device. */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "dpif-netlink/datapath.h"
#include "harness/unit.h"
#include "tc.h"
#include "tc/tc-handle.h"
#include "util.h"

/* Handles that went back to the pool, and the last of them. */
static unsigned int n_freed;
static uint32_t last_freed;

void __wrap_kdp_tc_handle_free(uint32_t);
void __real_kdp_tc_handle_free(uint32_t);

void
__wrap_kdp_tc_handle_free(uint32_t handle)
{
    n_freed++;
    last_freed = handle;
    __real_kdp_tc_handle_free(handle);
}

/* Bytes that a packet of 'flags' counts more than tc tells. */
static uint64_t
overhead(struct kdp_tc *tc, uint32_t parent, unsigned int flags)
{
    struct kdp_tc_known known;
    struct offload_copy_op op;

    backend_hook = parent;
    assert_int_equal(backend_put(tc, unit_tc_desc(1, 1, flags)), 0);
    backend_packets(1, 3);
    op = backend_operate(tc, OFFLOAD_COPY_GET, 1, NULL);
    assert_int_equal(op.stats.n_packets, 3);
    assert_int_equal(op.stats.n_bytes % 3, 0);

    /* Lists count alike. */
    assert_true(kdp_tc_rule_get(backend_rules[1], &known));
    assert_int_equal(known.overhead, op.stats.n_bytes / 3 - BACKEND_PACKET);
    assert_int_equal(
        backend_operate(tc, OFFLOAD_COPY_DEL, 1, NULL).stats.n_bytes,
        op.stats.n_bytes);
    return op.stats.n_bytes / 3 - BACKEND_PACKET;
}

static void
bytes_can_be_those_that_the_kernel_datapath_would_count(void **state)
{
    const unsigned int bare_vlan = UNIT_TC_VLAN | UNIT_TC_NO_ETHERNET;

    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, 0), 14);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, UNIT_TC_VLAN), 18);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, UNIT_TC_NO_VLAN),
                     14);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT,
                              UNIT_TC_NO_ETHERNET), 0);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, bare_vlan), 4);
    assert_int_equal(overhead(*state, TC_EGRESS_PARENT, 0), 0);
    assert_int_equal(overhead(*state, TC_EGRESS_PARENT, UNIT_TC_VLAN), 4);
}

static void
bytes_are_those_of_tc_unless_it_is_asked_for_headers(void **state)
{
    struct kdp_tc tc;

    kdp_tc_init(&tc, kdp_dpif_type, false);
    assert_int_equal(overhead(&tc, TC_INGRESS_PARENT, 0), 0);
    assert_int_equal(overhead(&tc, TC_INGRESS_PARENT, UNIT_TC_VLAN), 0);
    assert_int_equal(overhead(&tc, TC_EGRESS_PARENT, UNIT_TC_VLAN), 0);
    backend_forget_all();
    kdp_tc_destroy(&tc);
    assert_int_equal(overhead(*state, TC_INGRESS_PARENT, 0), 14);
}

/* The memory may have had other content. */
static void
set_up_does_not_depend_on_what_was_there(void **state OVS_UNUSED)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    static const char type[] = "a type";
    struct tcf_id *places;
    struct kdp_tc tc;
    bool count_headers;

    for (int i = 0; i < 2; i++) {
        memset(&tc, i, sizeof tc);     /* A bool has no other values. */
        kdp_tc_init(&tc, type, i);
        assert_ptr_equal(tc.dpif_type, type);
        assert_int_equal(tc.recirc_sharing, i);
        atomic_read_relaxed(&tc.count_headers, &count_headers);
        assert_false(count_headers);
        assert_null(tc.begin);
        assert_false(tc.begun);
        assert_int_equal(kdp_tc_count(&tc, 1), 0);
        assert_int_equal(kdp_tc_places_in_hw(&tc, &places), 0);
        free(places);
        kdp_tc_destroy(&tc);
    }
}

static void
bytes_of_a_rule_are_counted_alike_as_long_as_it_lives(void **state)
{
    struct kdp_tc *tc = *state;

    assert_int_equal(PUT(1), 0);
    backend_packets(1, 3);
    assert_int_equal(GET(1).stats.n_bytes, 3 * (BACKEND_PACKET + 14));
    atomic_store_relaxed(&tc->count_headers, false);
    assert_int_equal(PUT(2), 0);
    backend_packets(2, 3);
    assert_int_equal(GET(1).stats.n_bytes, 3 * (BACKEND_PACKET + 14));
    assert_int_equal(GET(2).stats.n_bytes, 3 * BACKEND_PACKET);
    assert_int_equal(DEL(1).stats.n_bytes, 3 * (BACKEND_PACKET + 14));
    assert_int_equal(DEL(2).stats.n_bytes, 3 * BACKEND_PACKET);
}

static void
packets_of_the_device_are_counted_as_they_are(void **state OVS_UNUSED)
{
    const struct kdp_tc_rule rule = {
        .stats = { .n_packets = 10, .n_bytes = 1000, .used = 5 },
        .n_sw_packets = 3,
    };
    struct offload_stats stats = kdp_tc_stats(&rule, 14);

    assert_int_equal(stats.n_packets, 10);
    assert_int_equal(stats.n_bytes, 1000 + 3 * 14);
    assert_int_equal(stats.used, 5);
}

/* Tc tells how many packets there are in all, and how many of these the card
 * has counted.  Only the others lack their headers. */
static void
packets_that_the_card_counts_are_told_apart(void **state)
{
    struct offload_copy_op op;

    assert_int_equal(PUT(1), 0);
    backend_packets(1, 10);
    unit_tc_set_packets_in_hw(7);
    op = GET(1);
    assert_int_equal(op.error, 0);
    assert_int_equal(op.stats.n_packets, 10);
    assert_int_equal(op.stats.n_bytes, 10 * BACKEND_PACKET + 3 * 14);

    /* All of them. */
    unit_tc_set_packets_in_hw(10);
    op = GET(1);
    assert_int_equal(op.stats.n_packets, 10);
    assert_int_equal(op.stats.n_bytes, 10 * BACKEND_PACKET);
    op = DEL(1);
    assert_int_equal(op.stats.n_packets, 10);
    assert_int_equal(op.stats.n_bytes, 10 * BACKEND_PACKET);
}

static void
packets_of_a_meter_are_not_those_of_the_flow(void **state)
{
    struct offload_copy_op op;

    /* One that all flows of the meter share. */
    assert_int_equal(PUT(1), 0);
    backend_packets(1, 3);
    unit_tc_set_policer(1000, false);
    op = GET(1);
    assert_int_equal(op.error, 0);
    assert_int_equal(op.stats.n_packets, 3);
    assert_int_equal(op.stats.n_bytes, 3 * (BACKEND_PACKET + 14));
    assert_int_equal(op.stats.used, 0);

    /* One of the rule itself. */
    unit_tc_set_policer(4, true);
    op = GET(1);
    assert_int_equal(op.stats.n_packets, 4);
    assert_int_not_equal(op.stats.used, 0);
    unit_tc_set_policer(1000, false);
    assert_int_equal(DEL(1).stats.n_packets, 3);
}

#define N_RULES 300

static void
handles_are_unique_and_of_one_range(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_copy_op ops[N_RULES], *opps[N_RULES];
    uint32_t handles[N_RULES];

    for (uint32_t i = 0; i < N_RULES; i++) {
        opps[i] = &ops[i];
        ops[i] = (struct offload_copy_op) {
            .type = OFFLOAD_COPY_PUT,
            .ufid = unit_tc_ufid(i),
            .desc = unit_tc_desc(i, 1, 0),
            .rule = backend_rules[i] = backend.create_rule(backend.aux),
        };
    }
    backend.operate(backend.aux, opps, N_RULES);
    for (uint32_t i = 0; i < N_RULES; i++) {
        assert_int_equal(ops[i].error, 0);
        offload_desc_unref(CONST_CAST(struct offload_desc *, ops[i].desc));
        ops[i].type = OFFLOAD_COPY_DEL;
    }

    assert_int_equal(backend_n_known(), N_RULES);
    for (size_t i = 0; i < N_RULES; i++) {
        struct kdp_tc_known known;

        assert_true(kdp_tc_rule_get(backend_rules[i], &known));
        handles[i] = known.id.handle;
        assert_in_range(handles[i], 0x10000000, 0xefffffff);
        assert_int_equal(handles[i] >> 24, handles[0] >> 24);
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(handles[i], handles[j]);
        }
    }
    assert_int_equal(kdp_tc_count(*state, 1), N_RULES);
    assert_int_equal(kdp_tc_count(*state, 2), 0);
    backend.operate(backend.aux, opps, N_RULES);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(backend_n_known(), 0);
    assert_int_equal(kdp_tc_count(*state, 1), 0);
}

static uint32_t
handle_of(uint32_t flow)
{
    struct kdp_tc_known known;

    assert_true(kdp_tc_rule_get(backend_rules[flow], &known));
    return known.id.handle;
}

/* A handle goes back to the pool once: when its rule is deleted, or when
 * nobody needs a rule any more that is still in tc. */
static void
handle_of_a_rule_is_freed_once(void **state)
{
    uint32_t handle;

    n_freed = 0;
    assert_int_equal(PUT(1), 0);
    handle = handle_of(1);
    assert_int_equal(n_freed, 0);
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(n_freed, 1);
    assert_int_equal(last_freed, handle);

    assert_int_equal(PUT(2), 0);
    handle = handle_of(2);
    backend_forget(2);
    assert_int_equal(n_freed, 2);
    assert_int_equal(last_freed, handle);

    /* A rule that tc refuses. */
    backend_fail(UNIT_TC_REFUSED, RTM_NEWTFILTER, ENOSPC, 1);
    assert_int_equal(PUT(3), ENOSPC);
    assert_int_equal(n_freed, 3);

    /* If a rule of somebody else may have the handle, nobody else gets it. */
    backend_fail(UNIT_TC_REFUSED, 0, EEXIST, 2);
    assert_int_equal(PUT(4), EEXIST);
    assert_int_equal(n_freed, 3);
}

/* The handle of a rule that was found is not of the pool. */
static void
handle_that_was_found_is_not_freed(void **state)
{
    const struct kdp_tc_id id = { .ifindex = 1, .handle = 7 };

    n_freed = 0;
    for (int i = 0; i < 2; i++) {
        struct offload_rule *rule = kdp_tc_rule_create(*state);

        kdp_tc_rule_set(rule, 1, &id, NULL, false);
        if (i) {
            kdp_tc_rule_removed(rule, true);
        }
        offload_rule_unref(rule);
    }
    assert_int_equal(n_freed, 0);
}

/* Somebody reads that 'n' devices do the rule of 'flow', or if 'n' is -1, that
 * some do. */
static enum offload_hw
saw(uint32_t flow, int n)
{
    const struct kdp_tc_rule told = {
        .in_hw = n != 0, .n_devices = MAX(n, 0),
    };

    return kdp_tc_rule_saw(backend_rules[flow], &told);
}

/* Checks that there are 'n' places with rules in the device, and 'place' is
 * the first of them. */
static void
check_places(struct kdp_tc *tc, size_t n, struct tcf_id place)
{
    struct tcf_id *places;

    assert_int_equal(kdp_tc_places_in_hw(tc, &places), n);
    if (n) {
        assert_int_equal(places[0].ifindex, place.ifindex);
        assert_int_equal(places[0].block_id, place.block_id);
        assert_int_equal(places[0].hook, place.hook);
    }
    free(places);
}

static void
rules_of_a_bond_are_counted_for_it(void **state)
{
    backend_block = 77;
    assert_int_equal(PUT(1), 0);
    backend_block = 78;
    assert_int_equal(PUT(2), 0);
    assert_int_equal(kdp_tc_count(*state, 77), 1);
    assert_int_equal(kdp_tc_count(*state, 78), 1);
    assert_int_equal(kdp_tc_count(*state, TCM_IFINDEX_MAGIC_BLOCK), 0);
    saw(1, 1);
    check_places(*state, 1, (struct tcf_id) { .ifindex = 77, .block_id = 77 });
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(kdp_tc_count(*state, 77), 0);
    assert_int_equal(kdp_tc_count(*state, 78), 1);
    assert_int_equal(DEL(2).error, 0);
    assert_int_equal(kdp_tc_count(*state, 78), 0);
}

static void
places_with_rules_in_the_device_are_known(void **state)
{
    const struct tcf_id one = { .ifindex = 1, .hook = TC_INGRESS };
    const struct tcf_id egress = { .ifindex = 1, .hook = TC_EGRESS };
    const struct tcf_id none = { .ifindex = 0 };
    struct kdp_tc *tc = *state;

    check_places(tc, 0, none);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(backend_put(tc, unit_tc_desc(i, i < 2 ? 1 : 2, 0)),
                         0);
    }
    check_places(tc, 0, none);

    /* One in the device is enough. */
    assert_int_equal(saw(1, 1), OFFLOAD_HW_ALL);
    check_places(tc, 1, one);
    /* A new one is taken to be there, too. */
    assert_int_equal(backend_put(tc, unit_tc_desc(9, 1, 0)), 0);
    assert_int_equal(DEL(1).error, 0);
    check_places(tc, 1, one);

    /* Until it is read. */
    assert_int_equal(GET(9).error, 0);
    check_places(tc, 0, none);
    unit_tc_set_in_hw(true);
    assert_int_equal(GET(9).error, 0);
    check_places(tc, 1, one);
    assert_int_equal(DEL(9).error, 0);
    check_places(tc, 0, none);

    assert_int_equal(DEL(0).error, 0);
    backend_hook = TC_EGRESS_PARENT;
    assert_int_equal(PUT(9), 0);
    assert_int_equal(GET(9).error, 0);
    check_places(tc, 1, egress);
}

/* Of rules that members of a bond share, one may be in the card of one member
 * only. */
static void
rule_that_not_all_devices_do_is_partly_in_hardware(void **state)
{
    backend_block = 77;
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(PUT(i), 0);
        assert_int_equal(saw(i, i == 1), i == 1 ? OFFLOAD_HW_ALL
                         : OFFLOAD_HW_NONE);
    }
    assert_int_equal(saw(2, 2), OFFLOAD_HW_ALL);
    assert_int_equal(saw(1, 1), OFFLOAD_HW_PARTLY);
    assert_int_equal(saw(3, 0), OFFLOAD_HW_NONE);

    /* Lists do not say how many. */
    assert_int_equal(saw(1, -1), OFFLOAD_HW_PARTLY);
    assert_int_equal(saw(2, -1), OFFLOAD_HW_ALL);
    assert_int_equal(saw(3, -1), OFFLOAD_HW_PARTLY);

    /* More than are counted are as many as those. */
    assert_int_equal(saw(2, 1000), OFFLOAD_HW_ALL);
    assert_int_equal(saw(1, 8), OFFLOAD_HW_ALL);
    assert_int_equal(saw(1, 1), OFFLOAD_HW_PARTLY);

    /* The bond has lost a member: what is left is all. */
    assert_int_equal(DEL(2).error, 0);
    assert_int_equal(saw(1, 1), OFFLOAD_HW_ALL);
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(DEL(3).error, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, backend_setup, backend_teardown)
    const struct CMUnitTest tests[] = {
        TEST(bytes_can_be_those_that_the_kernel_datapath_would_count),
        TEST(bytes_are_those_of_tc_unless_it_is_asked_for_headers),
        TEST(set_up_does_not_depend_on_what_was_there),
        TEST(bytes_of_a_rule_are_counted_alike_as_long_as_it_lives),
        TEST(packets_of_the_device_are_counted_as_they_are),
        TEST(packets_that_the_card_counts_are_told_apart),
        TEST(packets_of_a_meter_are_not_those_of_the_flow),
        TEST(handles_are_unique_and_of_one_range),
        TEST(handle_of_a_rule_is_freed_once),
        TEST(handle_that_was_found_is_not_freed),
        TEST(rules_of_a_bond_are_counted_for_it),
        TEST(places_with_rules_in_the_device_are_known),
        TEST(rule_that_not_all_devices_do_is_partly_in_hardware),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-rules", tests, NULL, NULL);
}
