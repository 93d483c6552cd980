/* SPDX-License-Identifier: Apache-2.0 */

/* Rules that are on a device: those that a previous run left, and those that
 * go with the port (O5, O8). */

#include <config.h>
#include "unit/tc/backend-fixture.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "harness/unit.h"
#include "netdev-provider.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-thread.h"
#include "tc/tc-adopt.h"
#include "tc/tc-transact.h"
#include "util.h"

/* Rules that are found. */

/* A rule of flow 'flow' on port 1 that 'tc' does not know. */
static void
add_unknown(uint32_t flow, uint32_t handle)
{
    const ovs_u128 ufid = unit_tc_ufid(flow);
    struct kdp_tc_request request = { .type = KDP_TC_ADD };
    struct ofpbuf rule;
    struct tcmsg *tcm;

    ofpbuf_init(&rule, 0);
    unit_tc_make_rule(&ufid, 4 << 16 | 8, 0, &rule);
    tcm = ofpbuf_at_assert(&rule, NLMSG_HDRLEN, sizeof *tcm);
    tcm->tcm_ifindex = 1;
    request.rule = &rule;
    kdp_tc_id_parse(&rule, &request.id);
    request.id.handle = handle;
    kdp_tc_transact((struct kdp_tc_request *[]) { &request }, 1);
    assert_int_equal(request.error, 0);
    ofpbuf_uninit(&rule);
}

/* Rules that were found. */
struct found {
    unsigned int n;
    struct offload_rule *rules[16];
    ovs_u128 ufids[16];
};

static void
note_found(void *found_, const ovs_u128 *ufid, struct offload_desc *desc,
           const struct offload_stats *stats OVS_UNUSED,
           struct offload_rule *rule)
{
    struct found *found = found_;

    assert_null(desc);
    assert_true(found->n < ARRAY_SIZE(found->rules));
    found->ufids[found->n] = *ufid;
    found->rules[found->n++] = rule;
}

/* Looks for rules in 'place'.  Returns the error. */
static int
find(struct kdp_tc *tc, const struct offload_place *place,
     struct found *found)
{
    struct offload_backend backend = kdp_tc_backend(tc);

    found->n = 0;
    return backend.dump(backend.aux, 1, place, false, note_found, found);
}

/* Deletes those that were found, as the engine does.  Returns how often that
 * failed. */
static unsigned int
delete_found(struct kdp_tc *tc, struct found *found)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    unsigned int n_failed = 0;

    for (size_t i = 0; i < found->n; i++) {
        struct offload_copy_op op = {
            .type = OFFLOAD_COPY_DEL,
            .ufid = found->ufids[i],
            .rule = found->rules[i],
        };

        backend.operate(backend.aux, (struct offload_copy_op *[]) { &op }, 1);
        n_failed += op.error != 0;
        offload_rule_unref(found->rules[i]);
    }
    return n_failed;
}

static struct offload_place
locate(struct kdp_tc *tc, uint32_t port_no)
{
    struct offload_backend backend = kdp_tc_backend(tc);
    struct offload_place place;

    assert_true(backend.locate(backend.aux, port_no, &place));
    return place;
}

static void
rules_are_found_where_their_port_was(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_place place = locate(*state, 1);
    struct offload_place other;
    struct found found;

    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(backend_put(*state, unit_tc_desc(i, 1 + i % 2, 0)),
                         0);
    }
    add_unknown(100, 0x10000001);
    add_unknown(101, 1);
    assert_false(backend.locate(backend.aux, 99, &other));
    unit_tc_ports_del(BACKEND_N_PORTS);
    assert_false(backend.locate(backend.aux, 1, &other));
    assert_int_equal(find(*state, &place, &found), 0);
    assert_int_equal(found.n, 7);
    assert_int_equal(delete_found(*state, &found), 0);
    assert_int_equal(unit_tc_count(), 5);
    for (uint32_t i = 0; i < 10; i += 2) {
        assert_int_equal(GET(i).error, ENOENT);
        backend_forget(i);
    }
    assert_int_equal(backend_n_known(), 5);
    unit_tc_ports_add(BACKEND_N_PORTS);
}

/* A port of that number may be another one by now. */
static void
rules_of_another_device_are_not_found(void **state)
{
    struct offload_place place = locate(*state, 1);
    struct found found;

    assert_int_equal(backend_put(*state, unit_tc_desc(1, 2, 0)), 0);
    unit_tc_port_replace(2, BACKEND_N_PORTS + 2);
    unit_tc_port_replace(1, 2);
    assert_int_equal(find(*state, &place, &found), 0);
    assert_int_equal(found.n, 0);
    unit_tc_port_replace(1, 1);
    unit_tc_port_replace(2, 2);
}

static void
rules_that_cannot_be_listed_or_deleted_are_told(void **state)
{
    struct offload_place place = locate(*state, 1);
    struct found found;

    assert_int_equal(PUT(1), 0);
    assert_int_equal(PUT(2), 0);
    assert_int_equal(find(*state, &place, &found), 0);
    backend_fail(UNIT_TC_REFUSED, RTM_DELTFILTER, EBUSY, 1);
    assert_int_equal(delete_found(*state, &found), 1);
    assert_int_equal(unit_tc_count(), 1);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(find(*state, &place, &found), ENOBUFS);
    unit_tc_fail_dumps(ENODEV, 0);
    assert_int_equal(find(*state, &place, &found), 0);
    unit_tc_fail_dumps(0, 0);
    assert_int_equal(unit_tc_n_dumps(), 0);
}

static void
note_unknown(void *n, const ovs_u128 *ufid OVS_UNUSED,
             struct offload_desc *desc, const struct offload_stats *stats,
             struct offload_rule *rule)
{
    assert_null(desc);
    assert_int_equal(stats->n_packets, 3);
    backend_rules[1] = rule;
    ++*(unsigned int *) n;
}

static void
rules_that_cannot_be_told_are_found_and_can_be_deleted(void **state)
{
    struct offload_backend backend = kdp_tc_backend(*state);
    struct offload_place places[] = { locate(*state, 1), locate(*state, 2) };
    unsigned int n = 0;

    add_unknown(1, 0x10000001);
    backend_packets(1, 3);
    assert_int_equal(backend.dump(backend.aux, 2, &places[1], true,
                                  note_unknown, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(backend.dump(backend.aux, 1, &places[0], true,
                                  note_unknown, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(backend_n_known(), 1);
    assert_int_equal(DEL(1).error, 0);
    assert_int_equal(unit_tc_count(), 0);
    assert_int_equal(backend_n_known(), 0);
    unit_tc_fail_dumps(ENOBUFS, 0);
    assert_int_equal(backend.dump(backend.aux, 1, &places[0], true,
                                  note_unknown, &n), ENOBUFS);
    unit_tc_fail_dumps(0, 0);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) \
    cmocka_unit_test_setup_teardown(NAME, backend_setup, backend_teardown)
    const struct CMUnitTest tests[] = {
        TEST(rules_are_found_where_their_port_was),
        TEST(rules_of_another_device_are_not_found),
        TEST(rules_that_cannot_be_listed_or_deleted_are_told),
        TEST(rules_that_cannot_be_told_are_found_and_can_be_deleted),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("tc-adopt", tests, NULL, NULL);
}
