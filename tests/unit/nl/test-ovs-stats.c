/* SPDX-License-Identifier: Apache-2.0 */

/* Parser of the statistics of vports. */

#include <config.h>
#include "nl/ovs-stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/kernel-messages.h"
#include "harness/unit.h"
#include "ovs/compat-util.h"
#include "unaligned.h"
#include "util.h"

#define FAMILY 0x22

static void
begin(struct unit_msg *msg, const char *name)
{
    unit_msg_init(msg, FAMILY, OVS_VPORT_CMD_NEW, UNIT_DP_IFINDEX);
    if (name) {
        unit_msg_put(msg, OVS_VPORT_ATTR_NAME, name, strlen(name) + 1);
    }
}

/* Adds 'n' bytes of statistics. */
static void
put_stats(struct unit_msg *msg, size_t n)
{
    uint64_t values[] = { 1, 2, 3, 4, 5, 6, 7, UINT64_MAX, 9, 10 };

    unit_check(n <= sizeof values);
    unit_msg_put(msg, OVS_VPORT_ATTR_STATS, values, n);
}

/* Parses and frees 'msg'. */
static int
parse(struct unit_msg *msg, struct ovs_vport_counters *counters)
{
    int error;

    memset(counters, 0xcc, sizeof *counters);
    error = ovs_vport_counters_parse((struct nlmsghdr *) msg->buf, counters);
    unit_msg_uninit(msg);
    return error;
}

static void
assert_stats(const struct ovs_vport_stats *stats)
{
    assert_int_equal(get_32aligned_u64(&stats->rx_packets), 1);
    assert_int_equal(get_32aligned_u64(&stats->tx_packets), 2);
    assert_int_equal(get_32aligned_u64(&stats->rx_bytes), 3);
    assert_int_equal(get_32aligned_u64(&stats->tx_bytes), 4);
    assert_int_equal(get_32aligned_u64(&stats->rx_errors), 5);
    assert_int_equal(get_32aligned_u64(&stats->tx_errors), 6);
    assert_int_equal(get_32aligned_u64(&stats->rx_dropped), 7);
    assert_true(get_32aligned_u64(&stats->tx_dropped) == UINT64_MAX);
}

static void
counters_are_told_in_full(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, "fifteen-letters");
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), 0);
    assert_int_equal(counters.dp_ifindex, UNIT_DP_IFINDEX);
    assert_string_equal(counters.name, "fifteen-letters");
    assert_stats(&counters.stats);
}

/* Attributes are aligned to 4 bytes, the counters have 8. */
static void
counters_may_be_anywhere(void **state OVS_UNUSED)
{
    for (int i = 0; i < 2; i++) {
        struct ovs_vport_counters counters;
        uint32_t port = 5;
        struct unit_msg msg;

        begin(&msg, "eth0");
        if (i) {
            unit_msg_put(&msg, OVS_VPORT_ATTR_PORT_NO, &port, sizeof port);
            unit_msg_put(&msg, OVS_VPORT_ATTR_TYPE, "", 0);
        }
        put_stats(&msg, sizeof counters.stats);
        assert_int_equal(parse(&msg, &counters), 0);
        assert_stats(&counters.stats);
    }
}

/* A later kernel may count more. */
static void
further_counters_are_ignored(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, "eth0");
    put_stats(&msg, sizeof counters.stats + 16);
    assert_int_equal(parse(&msg, &counters), 0);
    assert_stats(&counters.stats);
}

static void
too_few_counters_are_refused(void **state OVS_UNUSED)
{
    static const size_t sizes[] = { 0, 8, sizeof(struct ovs_vport_stats) - 8,
                                    sizeof(struct ovs_vport_stats) - 1 };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct ovs_vport_counters counters;
        struct unit_msg msg;

        begin(&msg, "eth0");
        put_stats(&msg, sizes[i]);
        assert_int_equal(parse(&msg, &counters), EINVAL);
    }
}

/* Adds the counters of upcalls: of 'sizes', 0 for one that is left out. */
static void
put_upcalls(struct unit_msg *msg, size_t success_size, size_t fail_size)
{
    const uint64_t success = UINT64_C(0x1234567890), fail = 3;
    char nested[64] __attribute__((aligned(4)));
    const struct {
        uint16_t type;
        size_t size;
        const uint64_t *value;
    } attrs[] = {
        /* A later kernel may count more. */
        { 7, sizeof fail, &fail },
        { OVS_COMPAT_VPORT_UPCALL_ATTR_SUCCESS, success_size, &success },
        { OVS_COMPAT_VPORT_UPCALL_ATTR_FAIL, fail_size, &fail },
    };
    size_t n = 0;

    memset(nested, 0, sizeof nested);
    for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
        if (attrs[i].size) {
            struct nlattr nla = { .nla_len = sizeof nla + attrs[i].size,
                                  .nla_type = attrs[i].type };

            memcpy(nested + n, &nla, sizeof nla);
            memcpy(nested + n + sizeof nla, attrs[i].value, attrs[i].size);
            n += sizeof nla + attrs[i].size;
        }
    }
    unit_msg_put(msg, OVS_COMPAT_VPORT_ATTR_UPCALL_STATS, nested, n);
}

static void
upcalls_are_counted_by_newer_kernels(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, "eth0");
    put_stats(&msg, sizeof counters.stats);
    put_upcalls(&msg, 8, 8);
    assert_int_equal(parse(&msg, &counters), 0);
    assert_stats(&counters.stats);
    assert_int_equal(counters.upcall_packets, 0x1234567890);
    assert_int_equal(counters.upcall_errors, 3);
}

static void
upcalls_that_are_not_counted_are_unknown(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, "eth0");
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), 0);
    assert_true(counters.upcall_packets == UINT64_MAX);
    assert_true(counters.upcall_errors == UINT64_MAX);

    begin(&msg, "eth0");
    put_stats(&msg, sizeof counters.stats);
    put_upcalls(&msg, 0, 8);
    assert_int_equal(parse(&msg, &counters), 0);
    assert_true(counters.upcall_packets == UINT64_MAX);
    assert_int_equal(counters.upcall_errors, 3);
}

static void
counters_of_upcalls_cut_short_are_refused(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, "eth0");
    put_stats(&msg, sizeof counters.stats);
    put_upcalls(&msg, 4, 8);
    assert_int_equal(parse(&msg, &counters), EINVAL);
}

static void
a_vport_without_counters_is_not_malformed(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, "eth0");
    assert_int_equal(parse(&msg, &counters), ENODATA);
}

static void
names_that_do_not_fit_are_refused(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;

    begin(&msg, NULL);
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), EINVAL);
    begin(&msg, "");
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), EINVAL);
    begin(&msg, "sixteen--letters");
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), EINVAL);
    begin(&msg, NULL);
    unit_msg_put(&msg, OVS_VPORT_ATTR_NAME, "\0eth0", 6);
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), EINVAL);
    begin(&msg, NULL);
    unit_msg_put(&msg, OVS_VPORT_ATTR_NAME, "eth0", 4);
    put_stats(&msg, sizeof counters.stats);
    assert_int_equal(parse(&msg, &counters), EINVAL);
}

static void
messages_cut_short_are_refused(void **state OVS_UNUSED)
{
    struct ovs_vport_counters counters;
    struct unit_msg msg;
    size_t n;

    begin(&msg, "eth0");
    put_stats(&msg, sizeof counters.stats);
    n = msg.len;
    unit_msg_uninit(&msg);

    /* In memory of just that size. */
    for (size_t len = NLMSG_HDRLEN; len < n; len++) {
        struct nlmsghdr *copy;
        int error;

        begin(&msg, "eth0");
        put_stats(&msg, sizeof counters.stats);
        copy = xmemdup(msg.buf, len);
        copy->nlmsg_len = len;
        unit_msg_uninit(&msg);
        error = ovs_vport_counters_parse(copy, &counters);
        assert_true(error == EINVAL || error == ENODATA);
        free(copy);
    }
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_told_in_full),
        cmocka_unit_test(counters_may_be_anywhere),
        cmocka_unit_test(further_counters_are_ignored),
        cmocka_unit_test(upcalls_are_counted_by_newer_kernels),
        cmocka_unit_test(upcalls_that_are_not_counted_are_unknown),
        cmocka_unit_test(counters_of_upcalls_cut_short_are_refused),
        cmocka_unit_test(too_few_counters_are_refused),
        cmocka_unit_test(a_vport_without_counters_is_not_malformed),
        cmocka_unit_test(names_that_do_not_fit_are_refused),
        cmocka_unit_test(messages_cut_short_are_refused),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
