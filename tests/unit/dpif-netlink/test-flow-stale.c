/* SPDX-License-Identifier: Apache-2.0 */

/* Which flows of a previous run must not stay (R3), and which chains may
 * (R5). */

#include <config.h>
#include "dpif-netlink/flow-stale.h"

#include "dpif.h"
#include "harness/unit.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "upcall/upcall-msg.h"
#include "util.h"

#define OLD_PORT 1
#define NEW_PORT 2

static bool
is_new(void *aux OVS_UNUSED, uint32_t port_no)
{
    return port_no == NEW_PORT;
}

/* A flow that is being made. */
struct unit_flow {
    struct ofpbuf key, actions;
};

static int
setup(void **state)
{
    struct unit_flow *u = xmalloc(sizeof *u);

    ofpbuf_init(&u->key, 0);
    ofpbuf_init(&u->actions, 0);
    *state = u;
    return 0;
}

static int
teardown(void **state)
{
    struct unit_flow *u = *state;

    ofpbuf_uninit(&u->key);
    ofpbuf_uninit(&u->actions);
    free(u);
    return 0;
}

/* The highest recirculation id in the last flow that was checked. */
static uint32_t max_id;

static bool no_ufid;

static void
check(struct unit_flow *u, enum flow_stale expected)
{
    const struct dpif_flow flow = {
        .key = u->key.data, .key_len = u->key.size,
        .actions = u->actions.data, .actions_len = u->actions.size,
        .ufid_present = !no_ufid,
    };

    max_id = 0;
    assert_int_equal(flow_stale(&flow, is_new, NULL, &max_id), expected);
}

static void
put_key(struct unit_flow *u, uint32_t recirc_id, uint32_t in_port)
{
    nl_msg_put_u32(&u->key, OVS_KEY_ATTR_RECIRC_ID, recirc_id);
    nl_msg_put_u32(&u->key, OVS_KEY_ATTR_IN_PORT, in_port);
}

static void
put_output(struct unit_flow *u, uint32_t port_no)
{
    nl_msg_put_u32(&u->actions, OVS_ACTION_ATTR_OUTPUT, port_no);
}

static void
put_userspace(struct unit_flow *u)
{
    size_t start = nl_msg_start_nested(&u->actions,
                                       OVS_ACTION_ATTR_USERSPACE);

    nl_msg_put_u32(&u->actions, OVS_USERSPACE_ATTR_PID, 77);
    nl_msg_end_nested(&u->actions, start);
}

static void
flow_that_only_forwards_stays(void **state)
{
    struct unit_flow *u = *state;

    check(u, FLOW_FRESH);               /* One that drops. */
    put_key(u, 0, OLD_PORT);
    nl_msg_put_u32(&u->actions, OVS_ACTION_ATTR_METER, 3);
    put_output(u, OLD_PORT);
    put_output(u, 3);
    check(u, FLOW_FRESH);
}

static void
put_recirc(struct unit_flow *u, uint32_t id)
{
    nl_msg_put_u32(&u->actions, OVS_ACTION_ATTR_RECIRC, id);
}

static void
flow_of_a_chain_stays(void **state)
{
    struct unit_flow *u = *state;

    put_key(u, 2000, OLD_PORT);
    put_output(u, OLD_PORT);
    check(u, FLOW_CHAIN);
    assert_int_equal(max_id, 2000);
    put_recirc(u, 1999);
    check(u, FLOW_CHAIN);
    assert_int_equal(max_id, 2000);
    put_recirc(u, 2001);
    check(u, FLOW_CHAIN);
    assert_int_equal(max_id, 2001);
    no_ufid = true;
    check(u, FLOW_STALE);
    no_ufid = false;
    put_output(u, NEW_PORT);
    check(u, FLOW_STALE);
    assert_int_equal(max_id, 2001);
}

static void
flow_that_leads_to_a_chain_stays(void **state)
{
    struct unit_flow *u = *state;
    size_t start;

    put_key(u, 0, OLD_PORT);
    start = nl_msg_start_nested(&u->actions, OVS_ACTION_ATTR_CLONE);
    put_recirc(u, 2000);
    nl_msg_end_nested(&u->actions, start);
    put_recirc(u, UPCALL_RECIRC_STATIC + 1);
    check(u, FLOW_ROOT);
    assert_int_equal(max_id, 2000);
    no_ufid = true;
    check(u, FLOW_STALE_ROOT);
    no_ufid = false;
    put_output(u, NEW_PORT);
    check(u, FLOW_STALE_ROOT);
}

/* Both branches, whatever the first one says. */
static void
all_actions_are_looked_at_for_ids(void **state)
{
    struct unit_flow *u = *state;
    size_t start, branch;

    put_key(u, 0, OLD_PORT);
    start = nl_msg_start_nested(&u->actions, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    branch = nl_msg_start_nested(&u->actions,
                                 OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER);
    put_output(u, NEW_PORT);
    nl_msg_end_nested(&u->actions, branch);
    branch = nl_msg_start_nested(
        &u->actions, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
    put_output(u, NEW_PORT);
    put_recirc(u, 3000);
    nl_msg_end_nested(&u->actions, branch);
    nl_msg_end_nested(&u->actions, start);
    check(u, FLOW_STALE_ROOT);
    assert_int_equal(max_id, 3000);
}

static void
flow_of_a_chain_of_a_bond_goes_last(void **state)
{
    struct unit_flow *u = *state;

    put_key(u, 5, OLD_PORT);
    put_recirc(u, 2000);
    check(u, FLOW_STALE);
}

static void
flow_that_leads_to_a_chain_of_a_bond_goes(void **state)
{
    struct unit_flow *u = *state;

    put_key(u, 0, OLD_PORT);
    put_output(u, OLD_PORT);
    put_recirc(u, UPCALL_RECIRC_STATIC);
    check(u, FLOW_STALE_ROOT);
}

static void
flow_that_names_a_socket_goes(void **state)
{
    struct unit_flow *u = *state;

    put_key(u, 0, OLD_PORT);
    put_userspace(u);
    put_output(u, OLD_PORT);
    check(u, FLOW_STALE_ROOT);
}

static void
flow_that_samples_to_a_socket_stays(void **state)
{
    struct unit_flow *u = *state;
    size_t sample, actions;

    put_key(u, 0, OLD_PORT);
    sample = nl_msg_start_nested(&u->actions, OVS_ACTION_ATTR_SAMPLE);
    nl_msg_put_u32(&u->actions, OVS_SAMPLE_ATTR_PROBABILITY, 1 << 20);
    actions = nl_msg_start_nested(&u->actions, OVS_SAMPLE_ATTR_ACTIONS);
    put_userspace(u);
    nl_msg_end_nested(&u->actions, actions);
    nl_msg_end_nested(&u->actions, sample);
    put_output(u, OLD_PORT);
    check(u, FLOW_FRESH);
}

static void
flow_of_a_port_with_a_new_number_goes(void **state)
{
    struct unit_flow *u = *state;

    put_key(u, 0, NEW_PORT);
    put_output(u, OLD_PORT);
    check(u, FLOW_STALE_ROOT);
}

static void
flow_to_a_port_with_a_new_number_goes(void **state)
{
    struct unit_flow *u = *state;

    put_key(u, 0, OLD_PORT);
    put_output(u, OLD_PORT);
    put_output(u, NEW_PORT);
    check(u, FLOW_STALE_ROOT);
}

static void
actions_within_actions_are_looked_at(void **state)
{
    static const uint16_t branches[] = {
        OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER,
        OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL,
    };
    struct unit_flow *u = *state;
    size_t start, branch;

    put_key(u, 0, OLD_PORT);
    for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
        ofpbuf_clear(&u->actions);
        start = nl_msg_start_nested(&u->actions,
                                    OVS_ACTION_ATTR_CHECK_PKT_LEN);
        nl_msg_put_u16(&u->actions, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, 1500);
        branch = nl_msg_start_nested(&u->actions, branches[i]);
        put_userspace(u);
        nl_msg_end_nested(&u->actions, branch);
        nl_msg_end_nested(&u->actions, start);
        check(u, FLOW_STALE_ROOT);
    }

    ofpbuf_clear(&u->actions);
    start = nl_msg_start_nested(&u->actions, OVS_ACTION_ATTR_CLONE);
    put_output(u, NEW_PORT);
    nl_msg_end_nested(&u->actions, start);
    check(u, FLOW_STALE_ROOT);
}

static void
endless_nesting_ends(void **state)
{
    struct unit_flow *u = *state;
    size_t starts[100];

    for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
        starts[i] = nl_msg_start_nested(&u->actions, OVS_ACTION_ATTR_CLONE);
    }
    for (size_t i = ARRAY_SIZE(starts); i-- > 0; ) {
        nl_msg_end_nested(&u->actions, starts[i]);
    }
    check(u, FLOW_STALE_ROOT);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(flow_that_only_forwards_stays),
        TEST(flow_of_a_chain_stays),
        TEST(flow_that_leads_to_a_chain_stays),
        TEST(all_actions_are_looked_at_for_ids),
        TEST(flow_of_a_chain_of_a_bond_goes_last),
        TEST(flow_that_leads_to_a_chain_of_a_bond_goes),
        TEST(flow_that_names_a_socket_goes),
        TEST(flow_that_samples_to_a_socket_stays),
        TEST(flow_of_a_port_with_a_new_number_goes),
        TEST(flow_to_a_port_with_a_new_number_goes),
        TEST(actions_within_actions_are_looked_at),
        TEST(endless_nesting_ends),
    };

    unit_init(argv[0]);
    return cmocka_run_group_tests_name("flow-stale", tests, NULL, NULL);
}
