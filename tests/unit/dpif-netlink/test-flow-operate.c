/* SPDX-License-Identifier: Apache-2.0 */

/* Operations and dumps of a datapath with offload: what its users see of
 * flows that are in the kernel, in tc, or on the way (O1, O2, O3, O6). */

#include <config.h>
#include "fake/dpif-fake.h"

#include "dpif-netlink/flow-operate.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/ofpbuf.h"
#include "fake/tc-fake.h"
#include "harness/unit.h"
#include "harness/wait.h"
#include "util.h"

static void
put(struct unit_dpif *u, uint32_t flow)
{
    assert_int_equal(unit_dpif_put(u, unit_tc_desc(flow, 1, 0),
                                   DPIF_FP_CREATE, NULL), 0);
}

/* Puts a flow that tc cannot have. */
static void
put_odd(struct unit_dpif *u, uint32_t flow)
{
    assert_int_equal(unit_dpif_put(u, unit_tc_desc(flow, 1, UNIT_TC_ODD),
                                   DPIF_FP_CREATE, NULL), 0);
}

static void
packets(struct unit_dpif *u, uint32_t flow, unsigned int n)
{
    while (n--) {
        assert_true(unit_dpif_packet(u, flow, 100));
    }
}

static void
check_stats(const struct dpif_flow_stats *stats, uint64_t n_packets)
{
    assert_int_equal(stats->n_packets, n_packets);
    assert_int_equal(stats->n_bytes, n_packets * 100);
}

/* Is what 'flow' points to in 'buffer'? */
static void
check_inside(const struct ofpbuf *buffer, const void *p, size_t n)
{
    assert_true((const char *) p >= (const char *) buffer->data);
    assert_true((const char *) p + n <= (const char *) ofpbuf_tail(buffer));
}

static void
check_get(struct unit_dpif *u, uint32_t flow, const char *layer,
          uint64_t n_packets)
{
    struct offload_desc *desc = unit_tc_desc(flow, 1, 0);
    uint64_t stub[16];
    struct dpif_flow found;
    struct ofpbuf buffer;

    /* Too small at first, and not empty. */
    ofpbuf_use_stub(&buffer, stub, sizeof stub);
    ofpbuf_put(&buffer, "before", 6);
    memset(&found, 0xee, sizeof found);
    assert_int_equal(unit_dpif_get(u, flow, &buffer, &found), 0);
    assert_int_equal(found.key_len, desc->key_len);
    assert_memory_equal(found.key, desc->key, desc->key_len);
    assert_int_equal(found.mask_len, desc->mask_len);
    assert_memory_equal(found.mask, desc->mask, desc->mask_len);
    assert_int_equal(found.actions_len, desc->actions_len);
    assert_memory_equal(found.actions, desc->actions, desc->actions_len);
    check_inside(&buffer, found.key, found.key_len);
    check_inside(&buffer, found.mask, found.mask_len);
    check_inside(&buffer, found.actions, found.actions_len);
    assert_memory_equal(buffer.data, "before", 6);
    assert_true(ovs_u128_equals(found.ufid, desc->ufid));
    assert_true(found.ufid_present);
    assert_int_equal(found.pmd_id, PMD_ID_NULL);
    assert_false(found.attrs.offloaded);
    assert_string_equal(found.attrs.dp_layer, layer);
    assert_null(found.attrs.dp_extra_info);
    check_stats(&found.stats, n_packets);
    ofpbuf_uninit(&buffer);
    offload_desc_unref(desc);
}

static void
kinds_of_actions_are_loaded_once_with_the_first_port(void **state OVS_UNUSED)
{
    assert_int_equal(unit_tc_n_kinds(), 10);
}

static void
flow_is_found_with_its_statistics_wherever_it_is(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_stats stats;

    offload_set_enabled(u->engine->offload, false);
    put(u, 1);
    packets(u, 1, 2);
    check_get(u, 1, "ovs", 2);
    offload_set_enabled(u->engine->offload, true);

    put(u, 2);
    unit_dpif_settle(u);
    assert_false(unit_dpif_has(u, 2));
    packets(u, 2, 3);
    check_get(u, 2, "tc", 3);
    assert_int_equal(unit_dpif_del(u, 2, &stats), 0);
    check_stats(&stats, 3);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(unit_dpif_del(u, 2, &stats), ENOENT);

    assert_int_equal(unit_dpif_del(u, 1, &stats), 0);
    check_stats(&stats, 2);
    assert_int_equal(stats.tcp_flags, 0x10);
    assert_true(stats.used > 0);
}

static void
statistics_of_both_sides_are_added(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_stats stats;

    offload_set_enabled(u->engine->offload, false);
    put(u, 1);
    packets(u, 1, 2);
    offload_set_enabled(u->engine->offload, true);
    assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0), DPIF_FP_MODIFY,
                                   &stats), 0);
    check_stats(&stats, 2);
    unit_dpif_settle(u);
    assert_false(unit_dpif_has(u, 1));
    packets(u, 1, 5);
    check_get(u, 1, "tc", 7);
    offload_set_enabled(u->engine->offload, false);
    unit_dpif_settle(u);
    assert_true(unit_dpif_has(u, 1));
    packets(u, 1, 1);
    check_get(u, 1, "ovs", 8);

    /* A put may set them to zero. */
    assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0),
                                   DPIF_FP_MODIFY | DPIF_FP_ZERO_STATS,
                                   &stats), 0);
    check_stats(&stats, 0);
    offload_set_enabled(u->engine->offload, true);
}

static void
statistics_seen_last_count_if_the_final_ones_are_lost(void **state)
{
    static const enum unit_tc_fault faults[] = {
        UNIT_TC_UNANSWERED, UNIT_TC_CUT, UNIT_TC_MISTAKEN, UNIT_TC_REPEATED,
    };
    struct unit_dpif *u = *state;

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        const struct unit_tc_plan plan = {
            .fault = faults[i], .type = RTM_DELTFILTER, .n = 1,
        };
        struct dpif_flow_stats stats;

        put(u, 1);
        unit_dpif_settle(u);
        packets(u, 1, 3);
        check_get(u, 1, "tc", 3);
        unit_tc_plan(&plan);
        assert_int_equal(unit_dpif_del(u, 1, &stats), 0);
        check_stats(&stats, 3);
        assert_int_equal(unit_tc_count(), 0);
    }
}

static void
put_says_whether_the_flow_may_or_must_exist(void **state)
{
    struct unit_dpif *u = *state;
    struct dpif_flow_stats stats;

    for (int in_tc = 0; in_tc < 2; in_tc++) {
        offload_set_enabled(u->engine->offload, in_tc);
        assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0),
                                       DPIF_FP_MODIFY, NULL), ENOENT);
        put(u, 1);
        unit_dpif_settle(u);
        assert_int_equal(unit_tc_count(), in_tc);
        assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0),
                                       DPIF_FP_CREATE, &stats), EEXIST);
        assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0),
                                       DPIF_FP_CREATE | DPIF_FP_MODIFY,
                                       NULL), 0);
        assert_int_equal(unit_dpif_del(u, 1, NULL), 0);
    }
}

/* A user's batch. */
struct batch {
    struct dpif_op ops[8];
    struct dpif_op *opps[8];
    struct offload_desc *descs[8];
    size_t n;
};

static struct dpif_op *
add_op(struct batch *batch, enum dpif_op_type type)
{
    struct dpif_op *op = &batch->ops[batch->n];

    memset(op, 0, sizeof *op);
    op->type = type;
    op->error = -1;
    batch->opps[batch->n++] = op;
    return op;
}

static struct dpif_op *
add_put(struct batch *batch, uint32_t flow, bool ufid, bool probe)
{
    struct offload_desc *desc = unit_tc_desc(flow, 1, 0);
    struct dpif_op *op = add_op(batch, DPIF_OP_FLOW_PUT);

    batch->descs[batch->n - 1] = desc;
    op->flow_put = (struct dpif_flow_put) {
        .flags = DPIF_FP_CREATE | (probe ? DPIF_FP_PROBE : 0),
        .key = desc->key, .key_len = desc->key_len,
        .mask = desc->mask, .mask_len = desc->mask_len,
        .actions = desc->actions, .actions_len = desc->actions_len,
        .ufid = ufid ? &desc->ufid : NULL,
        .pmd_id = PMD_ID_NULL,
    };
    return op;
}

static void
batch_done(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        offload_desc_unref(batch->descs[i]);
    }
}

static void
flows_come_first_and_the_rest_in_order(void **state)
{
    static const struct {
        enum dpif_op_type type;
        uint32_t flow;
    } expected[] = {
        { DPIF_OP_FLOW_PUT, 1 },
        { DPIF_OP_FLOW_PUT, 4 },
        { DPIF_OP_EXECUTE, 0 },
        { DPIF_OP_FLOW_PUT, 2 },        /* The probe. */
        { DPIF_OP_FLOW_PUT, 0 },        /* The one without ufid. */
        { DPIF_OP_FLOW_DEL, 0 },        /* The same. */
        { DPIF_OP_EXECUTE, 0 },
    };
    struct batch batch = { .n = 0 };
    struct unit_dpif *u = *state;

    offload_set_enabled(u->engine->offload, false);
    add_op(&batch, DPIF_OP_EXECUTE);
    add_put(&batch, 1, true, false);
    add_put(&batch, 2, true, true);
    add_put(&batch, 3, false, false);
    add_op(&batch, DPIF_OP_FLOW_DEL);
    add_put(&batch, 4, true, false);
    add_op(&batch, DPIF_OP_EXECUTE);
    kdp_flow_operate(u->engine, batch.opps, batch.n);

    for (size_t i = 0; i < batch.n; i++) {
        assert_int_equal(batch.ops[i].error, i == 4 ? ENOENT : 0);
    }
    ovs_mutex_lock(&u->mutex);
    assert_int_equal(u->n_log, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_int_equal(u->log[i].type, expected[i].type);
        assert_int_equal(u->log[i].flow, expected[i].flow);
    }
    ovs_mutex_unlock(&u->mutex);
    batch_done(&batch);
    offload_set_enabled(u->engine->offload, true);

    kdp_flow_operate(u->engine, NULL, 0);
}

static void
operations_on_one_flow_are_done_in_order(void **state)
{
    const ovs_u128 ufid = unit_tc_ufid(1);
    struct batch batch = { .n = 0 };
    struct unit_dpif *u = *state;
    struct dpif_flow flow;
    struct ofpbuf buffer;
    struct dpif_op *op;

    ofpbuf_init(&buffer, 0);
    for (int i = 0; i < 2; i++) {
        add_put(&batch, 1, true, false);
        op = add_op(&batch, DPIF_OP_FLOW_GET);
        op->flow_get = (struct dpif_flow_get) {
            .ufid = &ufid, .pmd_id = PMD_ID_NULL, .buffer = &buffer,
            .flow = &flow,
        };
        op = add_op(&batch, DPIF_OP_FLOW_DEL);
        op->flow_del = (struct dpif_flow_del) {
            .ufid = &ufid, .pmd_id = PMD_ID_NULL,
        };
    }
    kdp_flow_operate(u->engine, batch.opps, batch.n);
    for (size_t i = 0; i < batch.n; i++) {
        assert_int_equal(batch.ops[i].error, 0);
    }
    assert_int_equal(unit_dpif_count(u), 0);
    batch_done(&batch);
    ofpbuf_uninit(&buffer);
}

static void
errors_of_the_kernel_are_the_users(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EMFILE, EINVAL };
    struct unit_dpif *u = *state;
    struct dpif_flow_stats stats;
    struct dpif_flow flow;
    struct ofpbuf buffer;

    ofpbuf_init(&buffer, 0);
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        unit_dpif_fail(u, DPIF_OP_FLOW_PUT, errors[i], 1);
        assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0),
                                       DPIF_FP_CREATE, &stats), errors[i]);
        unit_dpif_settle(u);
        assert_int_equal(unit_tc_count(), 0);
        assert_int_equal(unit_dpif_get(u, 1, &buffer, &flow), ENOENT);

        put_odd(u, 1);
        unit_dpif_fail(u, DPIF_OP_FLOW_DEL, errors[i], 1);
        assert_int_equal(unit_dpif_del(u, 1, &stats), errors[i]);
        assert_true(unit_dpif_has(u, 1));
        assert_int_equal(unit_dpif_del(u, 1, &stats), 0);

        /* The last copy in the kernel stays until the next attempt. */
        unit_dpif_fail(u, DPIF_OP_FLOW_DEL, errors[i], 1);
        put(u, 1);
        unit_dpif_settle(u);
        packets(u, 1, 3);
        assert_int_equal(unit_dpif_del(u, 1, &stats), 0);
        check_stats(&stats, 3);
        assert_int_equal(unit_tc_count(), 0);
        assert_int_equal(unit_dpif_count(u), 0);
    }
    ofpbuf_uninit(&buffer);
}

static void
errors_of_tc_leave_the_flow_in_the_kernel(void **state)
{
    static const int errors[] = { ENOMEM, ENOBUFS, EMFILE, ENOSPC, EBUSY };
    struct unit_dpif *u = *state;

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        const struct unit_tc_plan plan = {
            .fault = UNIT_TC_NOT_SENT, .error = errors[i], .n = UINT_MAX,
        };
        struct dpif_flow_stats stats;

        unit_tc_plan(&plan);
        put(u, 1);
        unit_dpif_settle(u);
        assert_true(unit_dpif_has(u, 1));
        packets(u, 1, 2);
        check_get(u, 1, "ovs", 2);
        unit_tc_plan(&(struct unit_tc_plan) { .n = 0 });
        assert_int_equal(unit_dpif_del(u, 1, &stats), 0);
        check_stats(&stats, 2);
    }
}

static void
rule_that_could_not_be_deleted_goes_before_the_next(void **state)
{
    const struct unit_tc_plan plan = {
        .fault = UNIT_TC_REFUSED, .error = EBUSY, .type = RTM_DELTFILTER,
        .n = 3,
    };
    struct unit_dpif *u = *state;
    struct dpif_flow_stats stats;

    put(u, 1);
    unit_dpif_settle(u);

    /* The kernel has the new content until that has succeeded. */
    unit_tc_plan(&plan);
    assert_int_equal(unit_dpif_put(u, unit_tc_desc(1, 1, 0), DPIF_FP_MODIFY,
                                   NULL), 0);
    unit_wait_until(!unit_dpif_has(u, 1));
    assert_int_equal(unit_tc_count(), 1);
    packets(u, 1, 3);
    check_get(u, 1, "tc", 3);
    assert_int_equal(unit_dpif_del(u, 1, &stats), 0);
    check_stats(&stats, 3);
    assert_int_equal(unit_tc_count(), 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, unit_dpif_setup, \
                                    unit_dpif_teardown)
    const struct CMUnitTest tests[] = {
        TEST(kinds_of_actions_are_loaded_once_with_the_first_port),
        TEST(flow_is_found_with_its_statistics_wherever_it_is),
        TEST(statistics_of_both_sides_are_added),
        TEST(statistics_seen_last_count_if_the_final_ones_are_lost),
        TEST(put_says_whether_the_flow_may_or_must_exist),
        TEST(flows_come_first_and_the_rest_in_order),
        TEST(operations_on_one_flow_are_done_in_order),
        TEST(errors_of_the_kernel_are_the_users),
        TEST(rule_that_could_not_be_deleted_goes_before_the_next),
        TEST(errors_of_tc_leave_the_flow_in_the_kernel),
    };

    unit_init(argv[0]);
    unit_dpif_start_threads();
    return cmocka_run_group_tests_name("offload-dpif", tests, NULL, NULL);
}
